"""What a body says when its frontmatter is silent."""

from __future__ import annotations

import time

import pytest

from oneiro_vault.core.markdown import inferred
from tests.box import patient


@pytest.mark.parametrize(
    ("body", "heading"),
    [
        ("# Title\ntext", "Title"), ("\n# A **bold** [[Link|name]] ##\n", "A bold name"),
        ("Under\r\n=====\r\n", "Under"),
        ("Under\n---\n", ""), ("## Log\n", ""), ("Words.\n\n# Log\n", ""), ("## Log\n# Later", ""),
        ("[![build](b.svg)](u)\n<p>\n#boat #sea\n\n---\n\n# Yes", "Yes"),
        ("```\n# no\n```\n# yes", "yes"), ("~~~\n# never closed", ""), ("#tag\n", ""), ("", ""),
        ("words - more", ""),
        ("a\n\n---\n\nb", ""), ("# \n## x", ""),
        ("# C#\n", "C"), ("# a\rb", "a"), ("# " + " " * 30_000 + "x", "x"),
        ("# x" + " #" * 15_000 + " y", None),
    ],
)  # fmt: skip
def test_top_heading(body: str, heading: str | None) -> None:
    began = time.process_time()
    assert heading in (None, inferred.top_heading(body))
    assert time.process_time() - began < patient(1)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("# T\n\nFirst one. Second.", "First one."),
        ("No end", "No end"),
        ("Over\ntwo lines! Next", "Over two lines!"),
        (
            "- [ ] buy **milk** and [tea](x.md)\n- more",
            "buy milk and tea - more".replace(" - more", " more"),
        ),
        ("> [!note] Callout says. So", "Callout says."),
        ("1. Met [[Peter Smith|Pete]] at `WOBS`.", "Met Pete at WOBS."),
        ("Dr. Smith paid 3.50 to e.g. Bob. Then", "Dr. Smith paid 3.50 to e.g. Bob."),
        ("Wirklich?! Ja", "Wirklich?!"),
        ("日本語です。次", "日本語です。"),
        ("---\n\n![img](a.png)\n| a | b |\nText here.", "Text here."),
        ("```\ncode\n```\nWords", "Words"),
        ("Title\n=====\n\nWords", "Title"),
        ("snake_case and 2*3*4 _em_", "snake_case and 2*3*4 em"),
        ("", ""),
        ("\n\n", ""),
    ],
)
def test_first_sentence(body: str, sentence: str) -> None:
    assert inferred.first_sentence(body) == sentence


def test_a_long_sentence_is_cut_at_a_word() -> None:
    text = inferred.first_sentence("word " * 100)
    assert text.endswith("word…")
    assert len(text) <= inferred.LONGEST
    assert len(inferred.first_sentence("x" * 500)) == inferred.LONGEST
    assert inferred.first_sentence("a " * 98 + "end. Next") == "a " * 98 + "end."


@pytest.mark.parametrize(
    ("body", "tags"),
    [
        ("#one and #two/three, (#four) x#five", ["one", "two/three"]),
        ("# Heading\n#42 #4a #-", ["4a"]),
        ("```\n#no\n```\n`#no` %% #no %%\n#yes", ["yes"]),
        ("para\n\n    #code\n\n#yes", ["yes"]),
        ("- a\n    - #nested", ["nested"]),
        ("[[Note #no]] #yes https://x.org/#no", ["yes"]),
        ("[[Open #yes", ["yes"][:0]),
        ("[[Open\n#yes", ["yes"]),
        ("#été #日本 #😀", ["été", "日本", "😀"]),
        ("#a/ #/b", ["a", "b"]),
        ("nothing", []),
    ],
)
def test_tags(body: str, tags: list[str]) -> None:
    assert inferred.tags(body) == tags
