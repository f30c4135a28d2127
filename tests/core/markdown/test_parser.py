"""Structure of a body: offsets are exact, code is left alone, plain paragraphs are cheap."""

from __future__ import annotations

import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneiro_vault.core.markdown import parser
from oneiro_vault.core.markdown.parser import Link, parse
from oneiro_vault.core.markdown.taxonomy import CATEGORIES, CATEGORY, KINDS, RELATIONS
from tests.box import patient

NOTE = """Before any heading.

# Peter

Peter works at [[WOBS]], see [notes](../x/notes%20a.md#Top) and `[[no]]`.

## Relations

- works_for [[WOBS]]
- works_on [[Anderson order|Anderson]], [[Second]]
  - nested with [[Deep#Heading]]
- [ ] task ![[embed.png]]

> [!NOTE]- Title here
> Some [[callout]] text

```python
x = "[[not a link]]"
# not a heading
```

Under
-----

    [[indented code]]

1. First %% [[hidden]] %%
2. Second [[Block#^abc]]
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_whole_note(newline: str) -> None:
    body = NOTE.replace("\n", newline)
    found = parse(body)
    assert [text for _, _, text in found.sections] == ["", "Peter", "Relations", "Under"]
    assert "".join(body[start:end] for start, end, _ in found.sections) == body
    assert [body[start:end] for start, end in found.items] == [
        "- works_for [[WOBS]]",
        "- works_on [[Anderson order|Anderson]], [[Second]]",
        "  - nested with [[Deep#Heading]]",
        "- [ ] task ![[embed.png]]",
        "1. First %% [[hidden]] %%",
        "2. Second [[Block#^abc]]",
    ]
    assert [(x.target, x.heading, x.label, x.relation, x.embedded) for x in found.links] == [
        ("WOBS", "", "", "mentions", False),
        ("../x/notes a.md", "Top", "notes", "mentions", False),
        ("WOBS", "", "", "works_for", False),
        ("Anderson order", "", "Anderson", "works_on", False),
        ("Second", "", "", "works_on", False),
        ("Deep", "Heading", "", "mentions", False),
        ("embed.png", "", "", "mentions", True),
        ("callout", "", "", "mentions", False),
        ("Block", "^abc", "", "mentions", False),
    ]
    assert [body[x.start : x.end] for x in found.links][:2] == [
        "[[WOBS]]",
        "[notes](../x/notes%20a.md#Top)",
    ]
    assert [(text, body[start]) for start, _, text in found.sections if text] == [
        ("Peter", "#"),
        ("Relations", "#"),
        ("Under", "U"),
    ]
    (callout,) = found.callouts
    assert (callout.kind, callout.title) == ("note", "Title here")
    assert (
        body[callout.start : callout.end].strip()
        == f"> [!NOTE]- Title here{newline}> Some [[callout]] text"
    )
    assert [body[start:end].strip()[:9] for start, end in found.code] == [
        "`[[no]]`",
        "```python",
        "[[indente",
        "%% [[hidd",
    ]


def links(body: str) -> list[tuple[str, str, str, str]]:
    return [(x.target, x.heading, x.label, x.relation) for x in parse(body).links]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("[[A]]", [("A", "", "", "mentions")]),
        ("![[A]]", [("A", "", "", "mentions")]),
        ("[[ A | b ]]", [("A", "", "b", "mentions")]),
        ("[[A#H]] [[A#H#I|l]]", [("A", "H", "", "mentions"), ("A", "H#I", "l", "mentions")]),
        ("[[#H]]", [("", "H", "", "mentions")]),
        ("[[A^b1]]", [("A", "^b1", "", "mentions")]),
        ("| [[A\\|b]] |", [("A", "", "b", "mentions")]),
        ("[[]] [[ ]] [[|x]] [[a\nb]] [[a", []),
        ("[[a[b]]", []),
        ("[[é 😀/日本]]", [("é 😀/日本", "", "", "mentions")]),
        ("[t](n.md) [t](<a b.md>) [t](n.md \"title\")", [("n.md", "", "t", "mentions"), ("a b.md", "", "t", "mentions"),
        ("n.md", "", "t", "mentions")]),
        ("[t](https://x.org/a.md) [t](mailto:a.md) [t](/abs.md) [t](pic.png) [t](#h)", []),
        ("[t](b%C3%A9%20c.MD#x)", [("bé c.MD", "x", "t", "mentions")]),
        ("`[[a]]` ``[[b]] ` [[c]]`` [[d]]", [("d", "", "", "mentions")]),
        ("a ` b [[c]]", [("c", "", "", "mentions")]),
        ("a ` b\n\n[[c]] ` d", [("c", "", "", "mentions")]),
        ("%% [[a]] %% [[b]] %% [[c]]", [("b", "", "", "mentions"), ("c", "", "", "mentions")]),
        ("~~~\n[[a]]\n~~~\n[[b]]", [("b", "", "", "mentions")]),
        ("```\n[[never closed]]", []),
        ("`%%` [[a]] `%%`", [("a", "", "", "mentions")]),
        ("- works_for [[A]]", [("A", "", "", "works_for")]),
        ("* works for: [[A]]", [("A", "", "", "works_for")]),
        ("1. Works-For:: [[A]] since 2024", [("A", "", "", "works_for")]),
        ("- [x] owns [[A]]", [("A", "", "", "owns")]),
        ("> - owns [[A]]", [("A", "", "", "owns")]),
        ("- uses [t](n.md)", [("n.md", "", "t", "uses")]),
        ("- admires [[A]] (a lot)", [("A", "", "", "admires")]),
        ("- inspired_by [[A]], [[B]]", [("A", "", "", "inspired_by"), ("B", "", "", "inspired_by")]),
        ("- met [[A]] yesterday", [("A", "", "", "mentions")]),
        ("- Met [[A]]", [("A", "", "", "mentions")]),
        ("- two words [[A]]", [("A", "", "", "mentions")]),
        ("- owns [[A]]\n- [[B]]\n- uses [[C]]", [("A", "", "", "owns"), ("B", "", "", "mentions"), ("C", "", "", "uses")]),
        ("owns [[A]]", [("A", "", "", "mentions")]),
    ],
)  # fmt: skip
def test_links(body: str, expected: list[tuple[str, str, str, str]]) -> None:
    assert links(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("- [[Dana]] manages [[Peter]]", ("Peter", "manages", "Dana")),
        ("- [[Dana]] works for: [[WOBS]], [[Acme]]", ("Acme", "works_for", "Dana")),
        ("1. [Dana](dana.md) near [[Bath]]", ("Bath", "near", "dana.md")),
        ("- [[Dana]] and [[Peter]]", ("Peter", "mentions", "")),
        ("- [[Dana]] met [[Peter]]", ("Peter", "mentions", "")),
        ("[[Dana]] manages [[Peter]]", ("Peter", "mentions", "")),
        ("- knows [[Dana]] manages [[Peter]]", ("Peter", "knows", "")),
        ("- [[Dana]] manages [[Peter]]\n- [[Ann]]", ("Ann", "mentions", "")),
    ],
)
def test_an_item_may_state_a_relation_of_somebody_else(
    body: str, expected: tuple[str, str, str]
) -> None:
    last = parse(body).links[-1]
    assert (last.target, last.relation, last.subject) == expected


def test_empty_and_plain_bodies() -> None:
    assert parse("") == parser.Structure(())
    assert parse("Just words.\r\nTwo lines.") == parser.Structure(((0, 23, ""),))
    assert parse("See [[A]].").links == (Link("A", start=4, end=9),)
    assert "markdown_it" in sys.modules or parse("# H").sections


def test_setext_and_closed_headings_and_quotes() -> None:
    found = parse("# a #\n\nb\n=\n\n> # quoted\n\n####### seven\n#none").sections
    assert [text for _, _, text in found] == ["a", "b"]


def test_empty_items_are_no_items_and_nested_ones_do_not_overlap() -> None:
    body = "- a\n  - b\n    - c\n  more a\n-\n- \n- d\n"
    assert [body[start:end] for start, end in parse(body).items] == [
        "- a",
        "  - b",
        "    - c\n  more a",
        "-",
        "-",
        "- d",
    ]


def test_relations_have_an_inverse() -> None:
    assert RELATIONS["works_for"] == "employs"
    assert RELATIONS["near"] == "near"
    assert all(RELATIONS[RELATIONS[name]] == name for name in RELATIONS)
    assert all(name.replace("_", "").isalpha() and name.islower() for name in RELATIONS)


def test_the_taxonomy_is_complete() -> None:
    counts = {name: len(kinds) for name, kinds in KINDS.items()}
    assert counts == {"entity": 10, "fact": 6, "event": 5, "opinion": 3, "attribute": 8}
    assert set(CATEGORIES) - {"text"} == {
        "organizational", "project", "social", "spatial", "tool", "conceptual", "causal",
    }  # fmt: skip
    assert CATEGORY.keys() == RELATIONS.keys()


PIECES = [
    "# h",
    "- a",
    "  - b",
    "1. x",
    "```",
    "~~~",
    "`",
    "``",
    "> q",
    "> [!note] t",
    "[[a]]",
    "[[a|b]]",
    "%%",
    "    code",
    "\t",
    "---",
    "===",
    "",
    "é😀",
    "\r",
]


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=14),
    st.sampled_from(["\n", "\r\n", "\n\n", " "]),
)
@settings(max_examples=300)
def test_offsets_fit_any_text(lines: list[str], newline: str) -> None:
    body = newline.join(lines)
    found = parse(body)
    assert "".join(body[start:end] for start, end, _ in found.sections) == body
    for start, end in found.items:
        assert body[start:end].strip()
    assert all(a[1] <= b[0] for a, b in zip(found.items, found.items[1:], strict=False))
    assert all(0 <= start < end <= len(body) for start, end in found.code)
    for link in found.links:
        assert body[link.start : link.end].endswith(("]]", ")"))
        assert link.target in body
        assert not parser.inside(link.start, found.code)
    for start, end, text in found.sections:
        assert all(word in body[start:end] for word in text.split()) or "\x00" in body


@pytest.mark.parametrize(
    "piece",
    [
        "[[",
        "[[a|",
        "- works_for ",
        "`",
        "``a",
        "![](",
        "[a](",
        "> ",
        "- \n",
        "%%",
        "# ",
        "(",
        "*a ",
        "1. ",
        "```\n",
        "[[a]] ",
        "- [[a]] [[b]]\n",
        "\r",
        "- - ",
    ],
)
def test_hostile_bodies_take_no_longer_than_they_are(piece: str) -> None:
    body = piece * (200_000 // len(piece))
    began = time.process_time()
    parse(body)
    assert time.process_time() - began < patient(4)


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
    assert heading in (None, parser.top_heading(body))
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
        (
            "mama muss am 10. dezember um 9 zu dr. hempel. ja",
            "mama muss am 10. dezember um 9 zu dr. hempel.",
        ),
        ("日本語です。次", "日本語です。"),
        ("%% How? %%\n\nShort. Plain.", "Short."),
        ("---\n\n![img](a.png)\n| a | b |\nText here.", "Text here."),
        ("```\ncode\n```\nWords", "Words"),
        ("Title\n=====\n\nWords", "Title"),
        ("snake_case and 2*3*4 _em_", "snake_case and 2*3*4 em"),
        ("", ""),
        ("\n\n", ""),
    ],
)
def test_first_sentence(body: str, sentence: str) -> None:
    assert parser.first_sentence(body) == sentence


def test_a_long_sentence_is_cut_at_a_word() -> None:
    text = parser.first_sentence("word " * 100)
    assert text.endswith("word…")
    assert len(text) <= parser.LONGEST
    assert len(parser.first_sentence("x" * 500)) == parser.LONGEST
    assert parser.first_sentence("a " * 98 + "end. Next") == "a " * 98 + "end."


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
    assert parser.tags(body) == tags
