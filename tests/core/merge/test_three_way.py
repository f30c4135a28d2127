"""A merge holds the words of both sides, says where they clash, and does not depend on which side
is called ours."""

from __future__ import annotations

import json
import tomllib
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.merge.three_way import Merged, merge, merge_file
from tests.core.merges import case, hold

BASE = """---
id: 7k2m9x4q8w3n
type: semantic
title: The boat
description: A boat.
tags:
  - boat
  - red
created: 2026-11-01T10:00:00+00:00
timestamp: 2026-11-01T10:00:00+00:00
importance: 1.10
mood: calm
---
# The boat

The boat is red.

- one
- two

The end.
"""
LATER = ("2026-11-01T10:00:00+00:00\nimportance", "2026-11-02T10:00:00+00:00\nimportance")
LATEST = ("2026-11-01T10:00:00+00:00\nimportance", "2026-11-03T10:00:00+00:00\nimportance")
OTHER = "> [!conflict] Changed on both sides; this is the other version"


def changed(*pairs: tuple[str, str], text: str = BASE) -> str:
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def both(base: str | None, ours: str, theirs: str) -> Merged:
    """The merge, after a look that the other way round gives the same."""
    versions = [text.encode() for text in (ours, theirs)]
    old = None if base is None else base.encode()
    found = merge(old, *versions)
    assert merge(old, *versions[::-1]) == found
    return found


def clean(base: str | None, ours: str, theirs: str) -> str:
    found = both(base, ours, theirs)
    assert found.clashes == 0
    return found.data.decode()


@settings(max_examples=120)
@given(st.integers(0, 10**9))
def test_any_two_sides(seed: int) -> None:
    hold(*case(Random(seed)))


@settings(max_examples=40)
@given(st.integers(0, 10**9))
def test_reading_by_lines_is_reading_yaml(seed: int) -> None:
    """A key that only a YAML reader takes changes how the frontmatter is read, and nothing of what
    comes out."""
    odd = b'---\nodd: "\\x41"\n'
    versions = case(Random(seed))
    if all(data is None or data.startswith(b"---\n") for data in versions):
        plain = merge(*versions)
        base, ours, theirs = (data and data.replace(b"---\n", odd, 1) for data in versions)
        assert merge(base, ours or b"", theirs or b"") == Merged(
            plain.data.replace(b"---\n", odd, 1), plain.clashes
        )


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        ([("is red", "is blue")], [("The end.", "The end, at last.")], [("is red", "is blue"), ("The end.", "The end, at last.")]),
        ([("- two\n", "- two\n- ours\n")], [("- one\n", "- zero\n- one\n")], [("- one\n- two\n", "- zero\n- one\n- two\n- ours\n")]),
        ([("The boat is red.\n\n", "")], [("- two\n", "")], [("The boat is red.\n\n", ""), ("- two\n", "")]),
        ([("  - red\n", "  - fast\n")], [("  - red\n", "  - red\n  - wet\n")], [("  - red\n", "  - wet\n  - fast\n")]),
        ([("mood: calm\n", "")], [("importance: 1.10", "importance: 1.20  # more")], [("mood: calm\n", ""), ("importance: 1.10", "importance: 1.20  # more")]),
        ([("mood: calm", "# how\nmood: calm")], [("mood: calm", "mood: wild")], [("mood: calm", "# how\nmood: wild")]),
        ([("created: 2026-11-01", "created: 2026-10-02")], [("created: 2026-11-01", "created: 2026-10-05")], [("created: 2026-11-01", "created: 2026-10-02")]),
        ([LATER], [LATEST], [LATEST]),
        ([("mood: calm\n", "mood: calm\ntrust: user\n")], [("mood: calm\n", "mood: calm\ntrust: "
                                                                            "external\n")], [("mood: calm\n", "mood: calm\ntrust: external\n")]),
        ([("mood: calm\n", "mood: calm\nstatus: superseded\n"), LATER], [("mood: calm\n", "mood: calm\nstatus: dormant\n"), LATEST], [("mood: calm\n", "mood: calm\nstatus: superseded\n"), LATEST]),
        ([("mood: calm\n", "mood: calm\nstatus: superseded\n")], [("is red", "is blue"), LATER], [("mood: calm\n", "mood: calm\nstatus: superseded\n"), ("is red", "is blue"), LATER]),
        ([("importance: 1.10", "importance: 0.2"), LATER], [("importance: 1.10", "importance: 0.3"), LATEST], [("importance: 1.10", "importance: 0.3"), LATEST]),
        ([("The boat is red.\n\n- one\n- two\n", "- one\n- two\n\nThe boat is red.\n")], [("is red", "is blue")], [("The boat is red.\n\n- one\n- two\n", "- one\n- two\n\nThe boat is blue.\n")]),
        ([("The boat is red.", "The boat\nis red.")], [("is red", "is blue")], [("is red", "is blue")]),
        ([("- two\n", "- two\n- works_for [[Ana]]\n")], [("- two\n", "- two\n- works_for  "
                                                                     "[[Ana]]\n- part_of "
                                                                     "[[Fleet]]\n")], [("- two\n",
                                                                     "- two\n- works_for [[Ana]]\n"
                                                                     "- part_of [[Fleet]]\n")]),
        ([("The end.", "The end.\n\n## Later\n\nMore of ours.")], [("The end.", "The end.\n\n## "
                                                                                "Later\n\nMore of "
                                                                                "theirs.")], [("The end.", "The end.\n\n## Later\n\nMore of theirs.\n\nMore of ours.")]),
        ([("The end.", "The end.\n\n## B\n\nMore.")], [("The end.", "The end.\n\n## A\n\nMore.")], [("The end.", "The end.\n\n## B\n\nMore.\n\n## A\n\nMore.")]),
        ([("is red.", "is red and fast.")], [("is red.", "is red and fast. It is ours.")], [("is red.", "is red and fast. It is ours.")]),
        ([("is red.", "is red."), ("The end.\n", "The end.")], [("is red", "is blue")], [("is red", "is blue"), ("The end.\n", "The end.")]),
    ],
)  # fmt: skip
def test_what_does_not_clash(
    ours: list[tuple[str, str]], theirs: list[tuple[str, str]], merged: list[tuple[str, str]]
) -> None:
    assert clean(BASE, changed(*ours), changed(*theirs)) in (
        changed(*merged),
        changed(*merged).replace("works_for [[", "works_for  [["),
    )


def retired(until: str, by: str = "b", *more: tuple[str, str]) -> str:
    """The boat as a night left it that replaced it."""
    return changed(
        (
            "mood: calm\n",
            f"mood: calm\nstatus: superseded\nsuperseded_by: {by * 12}\nvalid_until: {until}\n",
        ),
        *more,
    )


@pytest.mark.parametrize("odd", ["", 'odd: "\\x41"\n'])
def test_two_nights_that_retire_one_memory_saw_one_end(odd: str) -> None:
    """Each machine stamps its own moment: the earlier one holds, whoever's words come first, and
    nobody is asked."""
    early, late = "2026-11-05T02:00:00+01:00", "2026-11-05T01:30:00+00:00"
    base, *sides = (
        text.replace("---\n", f"---\n{odd}", 1)
        for text in (BASE, retired(early), retired(late, "b", LATEST))
    )
    assert clean(base, *sides) == retired(early, "b", LATEST).replace("---\n", f"---\n{odd}", 1)
    assert f"valid_until: {early}\n" in clean(
        base, sides[0], retired(late, "c").replace("---\n", f"---\n{odd}", 1)
    )


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        (BASE, retired("2026-11-05"), retired("2026-11-04T10:00:00+00:00")),
        (
            BASE,
            retired("2026-11-05T10:00:00+00:00"),
            changed(("calm\n", "calm\nvalid_until: 2026-11-04T10:00:00+00:00\n")),
        ),
        (
            retired("2026-11-01T10:00:00Z"),
            retired("2026-11-05T10:00:00Z"),
            retired("2026-11-04T10:00:00Z"),
        ),
    ],
    ids=["a day is a person's", "one side only ended it", "it was retired before"],
)
def test_any_other_two_ends_are_a_question(base: str, ours: str, theirs: str) -> None:
    assert both(base, ours, theirs).clashes == 1


def test_one_side_alone_comes_out_byte_for_byte() -> None:
    odd = b"---\r\nbroken: [\n\xff\x00"
    assert (
        merge(BASE.encode(), BASE.encode(), odd)
        == merge(BASE.encode(), odd, BASE.encode())
        == Merged(odd)
    )
    assert (
        merge(BASE.encode(), odd, odd) == merge_file("x.md", BASE.encode(), odd, odd) == Merged(odd)
    )
    assert (
        merge_file("x.md", BASE.encode(), BASE.encode(), odd)
        == merge_file("x.md", BASE.encode(), odd, BASE.encode())
        == Merged(odd)
    )


def test_the_later_side_stays_in_place_and_the_other_stands_below() -> None:
    found = both(
        BASE, changed(("is red", "is blue"), LATEST), changed(("is red", "is green"), LATER)
    )
    callout = f"The boat is blue.\n\n{OTHER} (2026-11-02T10:00:00+00:00)\n> The boat is green."
    assert found.data.decode() == changed(
        ("The boat is red.", callout), LATEST, ("calm\n", "calm\nflags:\n  - conflict\n")
    )
    assert found.clashes == 1


def test_a_persons_words_stay_in_place_whatever_the_dates_say() -> None:
    text = both(
        BASE, changed(("is red", "is mine")), changed(("is red", "is the machine's"), LATEST)
    ).data.decode()
    assert "The boat is mine.\n\n> [!conflict]" in text
    assert "> The boat is the machine's." in text
    assert "2026-11-03" in text.split("---")[1]


def test_a_clash_in_a_list_stays_in_the_list() -> None:
    text = both(
        BASE, changed(("- one", "- uno"), LATER), changed(("- one", "- eins"), LATEST)
    ).data.decode()
    assert f"- eins\n  {OTHER} (2026-11-02T10:00:00+00:00)\n  > - uno\n- two\n" in text


def test_what_one_side_deleted_and_the_other_changed_is_kept() -> None:
    gone = ("The boat is red.\n\n", "")
    assert "The boat is blue.\n" in clean(
        BASE, changed(gone, LATER), changed(("is red", "is blue"), LATEST)
    )
    text = both(BASE, changed(gone, LATEST), changed(("is red", "is blue"), LATER)).data.decode()
    assert (
        "> [!conflict] Deleted on one side, changed on the other; this is the changed version "
        "(2026-11-02T10:00:00+00:00)\n> The boat is blue.\n" in text
    )


def test_values_that_nobody_says_any_more_are_told_at_the_end() -> None:
    found = both(
        BASE,
        changed(("title: The boat", 'title: "Petrel: a boat"'), LATER),
        changed(("title: The boat", "title: Gull"), LATEST),
    )
    assert found.data.decode().endswith(
        "The end.\n\n> [!conflict] Changed on both sides; these are the other values "
        '(2026-11-02T10:00:00+00:00)\n> title: "Petrel: a boat"\n'
    )
    assert "title: Gull\n" in found.data.decode()
    assert found.clashes == 1
    taken = both(
        BASE, changed(("mood: calm\n", ""), LATEST), changed(("mood: calm", "mood: wild"), LATER)
    ).data.decode()
    assert taken.endswith("> mood: wild\n")


def test_a_whole_rewriting_on_both_sides_is_one_clash() -> None:
    head, body = BASE.split("# The boat")[0], "# The boat" + BASE.split("# The boat")[1]
    ours, theirs = (
        changed((body, text), pair, text=head + body)
        for text, pair in (
            ("Alpha beta.\n\nGamma.\n", LATER),
            ("Delta.\n\nEpsilon zeta.\n", LATEST),
        )
    )
    found = both(BASE, ours, theirs)
    assert found.clashes == 1
    assert (
        f"Delta.\n\nEpsilon zeta.\n\n{OTHER} (2026-11-02T10:00:00+00:00)\n> Alpha beta.\n>\n> "
        f"Gamma.\n" in found.data.decode()
    )


def test_lines_of_code_and_rows_of_a_table_merge_by_themselves() -> None:
    base = "```sh\none\ntwo\nthree\nfour\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    ours = base.replace("one", "ONE") + "| 3 | 4 |\n"
    theirs = base.replace("four", "FOUR") + "| 5 | 6 |\n"
    assert set(clean(base, ours, theirs).splitlines()) == set(
        base.replace("one", "ONE").replace("four", "FOUR").splitlines()
    ) | {
        "| 3 | 4 |",
        "| 5 | 6 |",
    }
    assert both(base, base.replace("two", "2"), base.replace("two", "zwei")).clashes == 1


def test_a_second_merge_of_the_same_adds_nothing() -> None:
    for ours, theirs in (
        (
            changed(("is red", "is blue"), ("- one", "- uno")),
            changed(("is red", "is green"), ("- one", "- eins"), LATEST),
        ),
        (
            changed(("title: The boat", "title: Gull"), LATER),
            changed(("title: The boat", "title: Petrel"), LATEST),
        ),
    ):
        merged = both(BASE, ours, theirs).data.decode()
        assert clean(BASE, merged, ours) == clean(BASE, merged, theirs) == merged


def test_a_note_without_frontmatter_gets_a_flag_only_when_it_clashes() -> None:
    assert clean("A.\n\nB.\n", "A!\n\nB.\n", "A.\n\nB!\n") == "A!\n\nB!\n"
    assert (
        both("A.\n", "A!\n", "A?\n").data.decode()
        == f"---\nflags:\n  - conflict\n---\nA?\n\n{OTHER}\n> A!\n"
    )


def test_flags_are_kept_in_the_style_they_are_in() -> None:
    for style in ("flags: [old]", "flags:\n  - old"):
        base = BASE.replace("mood: calm", style)
        text = both(
            base, base.replace("is red", "is blue"), base.replace("is red", "is green")
        ).data.decode()
        assert yaml_block.read(text)[0]["flags"] == ["old", "conflict"]
    text = both(
        base.replace("old", "conflict"),
        base.replace("old", "conflict").replace("is red", "is blue"),
        base.replace("old", "conflict").replace("is red", "is green"),
    ).data.decode()
    assert yaml_block.read(text)[0]["flags"] == ["conflict"]


@pytest.mark.parametrize("word", ["null", "yes", "Off"])
def test_a_word_that_yaml_reads_as_something_else_stays_text(word: str) -> None:
    tags = "tags:\n  - boat\n  - red\n"
    base = changed((tags, "tags: [boat]\n"))
    one = changed((tags, "tags: [boat, red]\n"))
    other = changed((tags, f'tags:\n  - boat\n  - "{word}"\n'))
    text = both(base, one, other).data.decode()
    assert set(yaml_block.read(text)[0]["tags"]) == {"boat", "red", word}  # type: ignore[call-overload]  # a list
    assert f'"{word}"' in text


def test_without_a_base_both_are_in_it() -> None:
    text = clean(
        None, BASE, changed(("The end.", "The end.\n\nAnd more."), ("  - red\n", "  - wet\n"))
    )
    assert "And more." in text
    assert set(yaml_block.read(text)[0]["tags"]) == {"boat", "red", "wet"}  # type: ignore[call-overload]  # YAML may hold anything
    assert both(b"".decode(), BASE, changed(("is red", "is blue"))) == both(
        None, BASE, changed(("is red", "is blue"))
    )


def test_two_memories_under_one_name() -> None:
    found = both(None, BASE, changed(("7k2m9x4q8w3n", "zzzzzzzzzzzz"), ("is red", "is not ours")))
    assert found.clashes == 1
    assert "Two memories came under one name" in found.data.decode()
    assert (
        "> The boat is not ours." in found.data.decode()
        or "> The boat is red." in found.data.decode()
    )
    assert len(yaml_block.read(found.data.decode())[0]["id"]) == 12  # type: ignore[arg-type]  # the same


@pytest.mark.parametrize(
    "broken",
    [
        BASE.replace("title: The boat", "title: [").replace("is red", "is ours").encode(),
        BASE.replace("is red", "is ours \xe9").encode("latin-1"),
        b"\x00\x01 ours",
        BASE.replace("is red", "is ours").encode("utf-16"),
        BASE.replace("is red", "is\n<<<<<<< HEAD\nours\n=======\nb\n>>>>>>> c").encode(),
    ],
)
def test_what_cannot_be_read_goes_into_what_can(broken: bytes) -> None:
    good = changed(("is red", "is blue")).encode()
    found = merge(BASE.encode(), good, broken)
    assert found == merge(BASE.encode(), broken, good)
    assert found.clashes == 1
    meta, body = yaml_block.read(found.data.decode())
    assert meta["flags"] == ["conflict"]
    assert body.startswith("# The boat\n\nThe boat is blue.\n")
    assert "ours" in body
    assert merge(BASE.encode(), found.data, broken).data == found.data
    assert merge(broken, good, BASE.encode()).data.startswith(b"---\nid: 7k2m9x4q8w3n")


def test_two_that_cannot_be_read() -> None:
    one, other = (
        BASE.replace("title: The boat", "title: [").replace("is red", f"is {word}").encode()
        for word in ("blue", "green")
    )
    found = merge(BASE.encode(), one, other)
    assert found == merge(BASE.encode(), other, one)
    assert b"> The boat is blue." in found.data
    assert found.data.startswith(other)


@pytest.mark.parametrize(
    "style",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("title: The boat", "title: >-\n  The\n  boat"),
        lambda text: text.replace("tags:\n  - boat\n  - red\n", "tags: [boat, red]\n"),
        lambda text: text.replace("tags:\n  - boat\n  - red\n", "tags: boat, red\n"),
        lambda text: text.replace("tags:\n  - boat\n  - red\n", "tags:\n- boat\n- red\n"),
        lambda text: text.replace("mood: calm\n", "? mood\n: calm\n"),
        lambda text: text.replace("---\nid: 7k2m9x4q8w3n\n", "---\n# first\nid: 7k2m9x4q8w3n\n# "
                                                             "last\n", 1),
        lambda text: "---\n{id: 7k2m9x4q8w3n, tags: [boat, red], mood: calm}\n---\n" + text.partition("mood: calm\n---\n")[2],
    ],
)  # fmt: skip
def test_styles_are_kept(style: object) -> None:
    assert callable(style)
    base = str(style(BASE))
    ours, theirs = (
        base.replace("is red", "is blue"),
        base.replace("The end.", "At last.").replace("calm", "wild"),
    )
    assert clean(base, ours, theirs) == base.replace("is red", "is blue").replace(
        "The end.", "At last."
    ).replace("calm", "wild")
    found = both(base, base.replace("red", "blue"), base.replace("red", "green"))
    meta, body = yaml_block.read(found.data.decode())
    assert "blue" in body
    assert "green" in body
    assert {"blue", "green"} <= set(
        str(meta["tags"]).replace(",", " ").replace("'", " ").replace("]", " ").split()
    )


@pytest.mark.parametrize("broken", ["title: A: B\n", "mood: wild\nmood: mild\n"])
def test_a_file_with_windows_line_ends_keeps_them_beside_one_that_cannot_be_read(
    broken: str,
) -> None:
    windows = changed(("is red", "is blue")).replace("\n", "\r\n").encode()
    found = both(BASE, windows.decode(), BASE.replace("mood: calm\n", broken))
    assert found.data.count(b"\n") == found.data.count(b"\r\n")
    meta, body = yaml_block.read(found.data.decode())
    assert (meta["id"], meta["flags"]) == ("7k2m9x4q8w3n", ["conflict"])
    assert f"> {broken.splitlines()[0]}\r\n" in body


def test_line_ends_and_marks_follow_the_side_that_changed_them() -> None:
    windows = BASE.replace("\n", "\r\n")
    assert clean(BASE, windows, changed(("is red", "is blue"))) == changed(
        ("is red", "is blue")
    ).replace("\n", "\r\n")
    assert clean(windows, BASE, windows.replace("is red", "is blue")) == changed(
        ("is red", "is blue")
    )
    assert clean(None, windows, changed(("The end.", "The end.\n\nMore."))) == changed(
        ("The end.", "The end.\n\nMore.")
    )


def test_ledgers_are_unions() -> None:
    def lines(*numbers: int) -> bytes:
        return b"".join(
            json.dumps({"t": f"2026-11-{number:02d}", "e": "use", "n": str(number)}).encode()
            + b"\n"
            for number in numbers
        )

    name = "ledger/laptop/2026-11.jsonl"
    assert merge_file(name, lines(1), lines(1, 4, 2), lines(1, 3)).data == lines(1, 2, 3, 4)
    assert merge_file(name, lines(1), lines(1, 3), lines(1, 4, 2)).data == lines(1, 2, 3, 4)
    assert merge_file(name, lines(2, 1), lines(2), lines(2, 1, 3)).data == lines(2, 1, 3)
    assert merge_file(name, None, lines(1, 2)[:-1], lines(2, 3)).data == lines(1, 2, 3)
    torn = merge_file(name, None, b'{"torn\n[1]\n', lines(1))
    assert torn == Merged(b'[1]\n{"torn\n' + lines(1))
    deep = b"[" * 100_000 + b"\n"
    assert merge_file(name, None, deep, lines(1)).data == deep + lines(1)


def test_settings_never_get_conflict_markers() -> None:
    base = b"[recall]\nk = 10\n\n[edits]\nquiet = 30.0\n"
    assert merge_file(
        "oneiro.toml", base, base.replace(b"10", b"12"), base.replace(b"30", b"60")
    ).data == base.replace(b"10", b"12").replace(b"30", b"60")
    found = merge_file("oneiro.toml", base, base.replace(b"10", b"12"), base.replace(b"10", b"14"))
    assert found == merge_file(
        "oneiro.toml", base, base.replace(b"10", b"14"), base.replace(b"10", b"12")
    )
    assert found == Merged(
        base.replace(b"10", b"14")
        + b"# changed on both sides; the other version said:\n# k = 12\n",
        1,
    )
    both = base.replace(b"10", b"14").replace(b"30", b"60")
    found = merge_file("oneiro.toml", base, both, base.replace(b"10", b"12"))
    assert found == Merged(
        both + b"# changed on both sides; the other version said:\n# k = 12\n", 1
    )  # what it left alone it did not say
    above, below = b"[dreams]\nbrake = 0.2\n\n" + base, base + b"\n[dreams]\nbrake = 0.3\n"
    twice = merge_file("oneiro.toml", base, above, below)
    assert tomllib.loads(twice.data.decode())["dreams"]["brake"] in (0.2, 0.3)
    assert twice.clashes == 1


def test_of_other_files_one_stands() -> None:
    assert (
        merge_file("a.png", b"0", b"1", b"2")
        == merge_file("a.png", b"0", b"2", b"1")
        == Merged(b"2", 1)
    )


def test_a_file_of_another_kind_stands_whole() -> None:
    assert (
        merge_file("a.png", b"1", b"2", b"3")
        == merge_file("a.png", b"1", b"3", b"2")
        == Merged(b"3", 1)
    )
    assert merge_file("a.md", b"1\n\n2\n", b"1\n\n3\n", b"0\n\n2\n") == Merged(b"0\n\n3\n")


@pytest.mark.parametrize(
    "head",
    [
        "odd: 1\n...\n",  # ends as YAML may end
        'odd:\n  - "\\x41"\n---\n',
        "odd: a\u00adb\n---\n",
        "{odd: 1, mood: calm}\n---\n",
        "# of the mood\nmood: calm\n# of what is odd\n\nodd: {a: 1}\n---\n",
    ],
)
def test_a_frontmatter_that_takes_a_yaml_reader(head: str) -> None:
    base = f"---\n{head}one\n\ntwo\n"
    found = clean(base, base.replace("one", "one more"), base.replace("two", "two less"))
    assert found == base.replace("one", "one more").replace("two", "two less").replace(
        "\n...\n", "\n---\n"
    )


def test_a_frontmatter_laid_out_in_another_way() -> None:
    base, ours, theirs = (
        "---\n  a: 1\n  b: 'x'\n---\nx\n",
        "---\n  a: 2\n  b: 'x'\n---\nx\n",
        '---\na: 1\nb: "\\x41"\n---\nx\n',
    )
    assert yaml_block.read(clean(base, ours, theirs))[0] == {"a": 2, "b": "A"}


def test_comments_stay_with_what_they_stand_above() -> None:
    base = '---\ntags:\n  - "\\x41"\n# of b\nb: 1\n---\nx\n'
    found = clean(base, base.replace("# of", "  - d\n# of"), base.replace("b: 1", "b: 2"))
    assert found == base.replace("# of", "  - d\n# of").replace("b: 1", "b: 2")


@pytest.mark.parametrize("odd", ["o: 1\n", 'o: "\\x41"\n'])
def test_two_frontmatters_too_large_to_be_one(odd: str) -> None:
    """What nobody could read any more would be no note: one stands, and holds the other."""
    base = f"---\n{odd}---\nx\n"
    found = both(base, *(base.replace("---\nx", f"{key}: {key * 40_000}\n---\nx") for key in "ab"))
    assert found.clashes == 1
    assert set(yaml_block.read(found.data.decode())[0]) >= {"o", "flags"}
    assert b"a" * 40_000 in found.data
    assert b"b" * 40_000 in found.data


def test_beside_a_yaml_reader_s_frontmatter_none_is_one_too() -> None:
    odd = '---\nodd: "\\x41"\n---\n'
    assert clean("hello\n", odd + "hello\n", "hello\n\nmore\n") == odd + "hello\n\nmore\n"


def test_a_value_with_parts_that_both_changed_is_shown_once() -> None:
    base = "---\nparts: {a: 1}\n---\nhello\n"
    ours, theirs = base.replace("1", "2"), base.replace("1", "3")
    found = both(base, ours, theirs)
    assert found.clashes == 1
    assert b"{a: 2}" in found.data
    assert b"{a: 3}" in found.data
    again = both(base, found.data.decode(), ours)
    assert again.data.count(b"[!conflict]") == 1


def test_both_took_everything_away_but_each_something_else() -> None:
    assert clean("one\n\ntwo\n", "one\n", "two\n").strip() == ""


def test_what_both_moved_is_there_once() -> None:
    base = "alpha one\n\nbeta two\n\ngamma three\n\nomega four\n"
    found = clean(
        base,
        "beta two\n\ngamma three\n\nomega four\n\nalpha one\n",
        "beta two\n\nalpha one\n\ngamma three\n\nomega four\n",
    )
    assert sorted(found.strip().split("\n\n")) == [
        "alpha one",
        "beta two",
        "gamma three",
        "omega four",
    ]


def test_relations_that_both_changed_are_a_set() -> None:
    base = "- part_of [[Fleet]]\n"
    found = clean(base, "- part_of [[Navy]]\n", "- part_of [[Museum]]\n")
    assert "[[Navy]]" in found
    assert "[[Museum]]" in found


def test_lines_broken_anew_are_no_change_of_the_words() -> None:
    """Whichever side broke them anew."""
    base, broken = "The boat is red and old.\n", "The boat is red\nand old.\n"
    dated = [("---\ntimestamp: 2026-11-0" + day + "T10:00:00+00:00\n---\n") for day in "123"]
    for ours, theirs in (
        (broken, base.replace("red", "blue")),
        (base.replace("red", "blue"), broken),
    ):
        assert clean(dated[0] + base, dated[1] + ours, dated[2] + theirs).endswith(
            "blue and old.\n"
        )


def test_a_stretch_rewritten_around_a_piece_that_moved() -> None:
    base = "alpha one\n\nbeta two\n\ngamma three\n\nomega four\n"
    ours = (
        "beta two\n\nomega four\n\nwholly other words\n\nand yet others\n\nalpha one\n\ngamma "
        "three\n"
    )
    found = both(base, ours, "something\n\nelse\n\nomega four\n").data.decode()
    for word in ("wholly", "something", "else", "omega four"):
        assert word in found


def test_the_merge_knows_every_trust_weakest_first() -> None:
    from oneiro_vault.core import memory
    from oneiro_vault.core.merge import merge_frontmatter

    assert memory.TRUSTS[::-1] == merge_frontmatter._TRUST


def test_a_title_taken_from_the_words_goes_with_those_that_stand() -> None:
    """One side appends a line, the other has changed what the first line says."""
    before, after = "Mara prefers short answers.", "Mara prefers long answers."

    def side(title: str, body: str, day: int) -> bytes:
        return (
            f"---\nid: abcdefghjkmn\ntitle: {title}\ntimestamp: 2026-11-{day:02}\n---\n{body}\n"
        ).encode()

    base = side(before, before, 1)
    person, model = side(before, f"{before}\nPrefers coffee.", 1), side(after, after, 5)
    for ours, theirs in ((person, model), (model, person)):
        merged = merge(base, ours, theirs).data.decode()
        assert f"title: {before}\n" in merged
        assert merged.index(f"{before}\nPrefers coffee.") < merged.index(f"> {after}")
    two = f"{before}\n\nCoffee is black."
    elsewhere = side(before, two.replace("black", "white"), 1)
    both = side(after, f"{after}\n\nCoffee is cold.", 5)
    for ours, theirs in ((elsewhere, both), (both, elsewhere)):
        whole = merge(side(before, two, 1), ours, theirs).data
        assert f"title: {after}\n" in whole.decode()
        assert merge(both, whole, both).data == whole
    retitled = side("How Mara wants replies", after, 5)
    named = side("Mara", before, 1)
    kept = merge(named, side("Mara", f"{before}\nPrefers coffee.", 1), retitled).data.decode()
    assert "title: How Mara wants replies\n" in kept
