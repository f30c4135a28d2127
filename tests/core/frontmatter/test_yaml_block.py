"""Reading is strict, writing is minimal, an edit touches nothing but the lines of its keys."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from oneiro_vault.core import memory
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.frontmatter.yaml_block import DEEPEST
from oneiro_vault.errors import InvalidInput, UnreadableNote
from tests.box import patient

HARD_TEXTS = [
    "", " ", "  padded  ", "no", "Yes", "on", "y", "null", "~", "Null", "true", "TRUE", "false",
    "12:30", "1:2:3", "010", "0x1f", "0o7",
    "0b1",
    "1e5", "12e456789012", "1_000", "1,5", "+3", "-3", ".5", "5.", ".inf", "-.INF", ".nan",
    "2026-02-30", "2024-01-01",
    "2024-01-01T10:00:00Z",
    "2024-01-01T10:00:00+02:00", "a: b", "a:", ":a", "a #b", "#a", "# a", "- a", "-", "--", "---",
    "...", "? a", "?", "! a", "!!str a",
    "&a", "*a",
    "@a", "`a`", "%a", "|", ">", "|-\n x", "'a'", '"a"', 'say "hi"', "it's", "back\\slash", "a\nb",
    "a\n", "\n", "a\r\nb", "\r",
    "tab\tbed", "\t",
    "[a]", "[[Link]]", "{a}", "a, b", "a]b", "<<", "<<<<<<< HEAD", "=", "emoji 😀", "😀", "日本語", "né",
    "\x00", "\x07", "\x1b[0m", "\x7f",
    "\x85",
    "\xa0", "\xad", "\u2028", "a\u2029b", "\ufeff", "\ufeffx", "\ufffe", "\uffff", "\U0010ffff",
    "a" * 5000, "x" * 120 + ": y", "key: |",
    "a\\nb",
]  # fmt: skip


@pytest.mark.parametrize("value", HARD_TEXTS)
def test_a_text_reads_back_as_itself_wherever_it_stands(value: str) -> None:
    meta: dict[str, object] = {
        "title": value,
        "tags": [value, "x"],
        "deep": {"a": [value], "b": value},
    }
    assert yaml_block.read(yaml_block.compose(meta, "body")) == (meta, "body")
    for old in (
        "title: old # kept\nz: 1\n",
        "title:\n  - a\nz: 1\n",
        "title: |\n  a\n\n  b\nz: 1\n",
        "title:\nz: 1\n",
        "title: [a,\n  b]\nz: 1\n",
    ):
        got, body = yaml_block.read(yaml_block.edit(f"---\n{old}---\nbody", {"title": value}))
        assert (got, body) == ({"title": value, "z": 1}, "body")


@pytest.mark.parametrize("value", [v for v in HARD_TEXTS if v != "\x00"])
def test_other_yaml_readers_see_the_same_text(value: str) -> None:
    """Dates are the one exception: Obsidian wants them unquoted, so another reader may make a date
    of a valid one."""
    text = yaml_block.compose({"title": value, "tags": [value]}, "")
    got = yaml.safe_load(text.strip().strip("-"))
    if not re.match(r"2024-01-01", value):
        assert got == {"title": value, "tags": [value]}


@pytest.mark.parametrize(
    "value",
    [
        "plain words",
        "7k3m",
        "Peter's (old) house",
        "2024-01-01",
        "2024-01-01T10:00:00+02:00",
        "a/b",
        "naïve café",
        "100 apples",
    ],
)
def test_ordinary_text_is_not_quoted(value: str) -> None:
    assert yaml_block.compose({"title": value}, "") == f"---\ntitle: {value}\n---\n"


def test_compose_has_the_canonical_order_and_block_lists() -> None:
    meta = {
        "mine": 1,
        "flags": [],
        "tags": ("a", "b c"),
        "type": "semantic",
        "id": "7k3m9q2x5v1b",
        "core": False,
        "turn": None,
        "importance": 1e-7,
    }
    assert yaml_block.compose(meta, "# Body\n") == (
        "---\nid: 7k3m9q2x5v1b\ntype: semantic\ntags:\n  - a\n  - b c\nimportance: 1.0e-07\ncore: "
        "false\nflags: []\nmine: 1\n---\n# Body\n"
    )


def test_compose_without_keys_is_the_body_unless_that_looks_like_frontmatter() -> None:
    assert yaml_block.compose({}, "words") == "words"
    for body in ("---\na: 1\n---\n", "\ufeffx", "---\nopen: 1\n"):
        assert yaml_block.read(yaml_block.compose({}, body)) == ({}, body)


SCALARS = [
    ("true", True), ("False", False), ("null", None), ("~", None), ("", None), ("7", 7), ("-7", -7),
    ("0", 0), ("0.5", 0.5),
    ("-1.5e3", -1500.0),
    ("no", "no"), ("on", "on"), ("010", "010"), ("12:30", "12:30"), ("1_000", "1_000"),
    ("0x1F", "0x1F"), ("1e5", "1e5"), ("+1", "+1"),
    (".5", ".5"),
    (".inf", ".inf"), (".nan", ".nan"), ("1.0e999", "1.0e999"), ("9" * 30, "9" * 30),
    ("2026-02-30", "2026-02-30"),
    ("2024-01-01", "2024-01-01"),
    ("'7'", "7"), ('"true"', "true"), ("!!str 7", "7"), ("!!int 7", 7), ("! x", "x"), ("-", None),
    ("- 1", [1]), ("<<", "<<"), ("=", "="),
]  # fmt: skip


@pytest.mark.parametrize(("written", "value"), [s for s in SCALARS if s[0] not in ("-", "- 1")])
def test_only_plain_booleans_numbers_and_null_are_resolved(written: str, value: object) -> None:
    got = yaml_block.read(f"---\nk: {written}\nl: [{written or 'null'}]\n---\n")[0]
    assert repr(got) == repr({"k": value, "l": [value]})


def test_texts_gives_every_scalar_as_it_is_spelled() -> None:
    assert yaml_block.texts("---\ntitle: 1.10\ntags: [true, 010, [~]]\n---\n") == {
        "title": "1.10",
        "tags": ["true", "010", ["~"]],
    }
    assert yaml_block.texts("no block") == {}
    assert yaml_block.texts("---\n---\n") == {}


@pytest.mark.parametrize(
    ("text", "meta", "body"),
    [
        ("", {}, ""),
        ("body", {}, "body"),
        ("\ufeffbody", {}, "body"),
        ("---\n---\n", {}, ""),
        ("---\n---", {}, ""),
        ("---\n# only a comment\n---\nx", {}, "x"),
        ("---\na: 1\n---", {"a": 1}, ""),
        ("\ufeff---\na: 1\n---\nx", {"a": 1}, "x"),
        ("---  \t\na: 1\n--- \t\nx", {"a": 1}, "x"),
        ("---\r\na: 1\r\n---\r\n\r\nx\r\n", {"a": 1}, "\r\nx\r\n"),
        ("---\ra: 1\r---\rx\r", {"a": 1}, "x\r"),
        ("---\na: 1\n...\nx", {"a": 1}, "x"),
        ("---\na: 1\r\nb: 2\n---\nx", {"a": 1, "b": 2}, "x"),
        ("---\na: 1\n---\nx\n---\ny\n", {"a": 1}, "x\n---\ny\n"),
        ("---\na: |\n  ---\n---\n", {"a": "---\n"}, ""),
        ("---\n\nA rule on top.\n", {}, "---\n\nA rule on top.\n"),
        ("----\na: 1\n----\n", {}, "----\na: 1\n----\n"),
        ("--- a: 1\n---\n", {}, "--- a: 1\n---\n"),
        (" ---\na: 1\n---\n", {}, " ---\na: 1\n---\n"),
        ("---\n1: a\nnull: b\n? c\n: d\n---\n", {"1": "a", "null": "b", "c": "d"}, ""),
        ("---\n{a: 1, b: [2]}\n---\n", {"a": 1, "b": [2]}, ""),
        ("---\na: [x,\n  y]  # c\nb: 'it''s'\n---\n", {"a": ["x", "y"], "b": "it's"}, ""),
        ("---\na: b\x85c: d\n---\n", {"a": "b", "c": "d"}, ""),
    ],
)
def test_read(text: str, meta: dict[str, object], body: str) -> None:
    assert yaml_block.read(text) == (meta, body)


EDITS: list[tuple[str, dict[str, object | None], str]] = [
    ("a: 1 # one\nb: 2", {"b": 3}, "a: 1 # one\nb: 3"),
    ("a: 1   # one\nb: 2", {"a": "x"}, "a: x   # one\nb: 2"),
    ("a:    old", {"a": "new"}, "a:    new"),
    ("a:\nb: 2", {"a": "new"}, "a: new\nb: 2"),
    ("a:   # empty\nb: 2", {"a": "new"}, "a: new   # empty\nb: 2"),
    ("a: 'q'\nb: \"r\"", {"a": "s"}, 'a: s\nb: "r"'),
    ("# top\na: 1\n\n# about b\nb: 2\n# end", {"b": None}, "# top\na: 1\n\n# about b\n# end"),
    ("a: 1\n# end", {"b": 2}, "a: 1\n# end\nb: 2"),
    ("a: |\n  x\n  y\n\nb: 2", {"a": "z"}, "a: z\n\nb: 2"),
    ("a: |+\n  x\n\nb: 2\n\nc: 3", {"b": None}, "a: |+\n  x\n\nc: 3"),
    ("a: |+\n  x\n\nb: 2", {"a": None}, "b: 2"),
    ("a: >-\n  x\n  y\n# c\nb: 2", {"a": None}, "# c\nb: 2"),
    ("tags: [a, b] # t", {"tags": ["a", "c d", "e,f"]}, 'tags: [a, c d, "e,f"] # t'),
    ("tags: [a,\n  b]\nz: 1", {"tags": ["a"]}, "tags: [a]\nz: 1"),
    ("tags: a, b # t", {"tags": ["a"]}, "tags: [a] # t"),
    ("tags:\n- a\n- b # bee\n# c\nz: 1", {"tags": ["b", "x"]}, "tags:\n- b # bee\n- x\n# c\nz: 1"),
    (
        "tags: # t\n    - 'a'\n    # about b\n    - \"b\"",
        {"tags": ["a", "new", "b"]},
        "tags: # t\n    - 'a'\n    - new\n    # about b\n    - \"b\"",
    ),
    ("tags:\n  - a", {"tags": []}, "tags: []"),
    ("tags:\n  - a\n  - \nz: 1", {"tags": ["b"]}, "tags:\n  - b\nz: 1"),
    ("m:\n  x: 1\n  y:\nz: 1", {"m": {"x": 2}}, "m: {x: 2}\nz: 1"),
    ("a: 1", {"l": ["x", ["u"]]}, "a: 1\nl:\n  - x\n  - [u]"),
    ("  a: 1", {"b": 2, "c": ["x"]}, "  a: 1\n  b: 2\n  c:\n    - x"),
    ("a: 1", {"a": 1}, "a: 1"),
    ("a: 1", {"a": "1"}, 'a: "1"'),
    ("a: 1", {"a": True}, "a: true"),
    ("a: 1", {"zz": None}, "a: 1"),
    ("'a': 1\n\"b c\": 2", {"a": 5, "b c": 6}, "'a': 5\n\"b c\": 6"),
    ("? a\n: 1\nb: 2", {"a": 5}, "? a\n: 5\nb: 2"),
    ("? a\nb: 2", {"a": 5}, "a: 5\nb: 2"),
    ("? a\n: 1\nb: 2", {"a": None}, "b: 2"),
    ("a: !!str 1 # c", {"a": "x"}, "a: x # c"),
    ("a: one\n  two\n  three # c\nb: 2", {"a": "x"}, "a: x # c\nb: 2"),
    ('a: "one\n  two"\nb: 2', {"a": ["x"]}, "a: [x]\nb: 2"),
    ("a: |\n  x\nb: 1\n   # deep comment\nc: 2", {"b": None}, "a: |\n  x\nc: 2"),
    ("a: 1", {"a": None}, ""),
    ("", {"a": 1}, "a: 1"),
    ("# only", {"a": 1}, "# only\na: 1"),
    ("a: 😀 # smile\nb: é\nc: 1", {"c": 2, "a": "x"}, "a: x # smile\nb: é\nc: 2"),
    ("a: b\x85c: d", {"c": "e"}, "a: b\x85c: e"),
]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("close", ["---", "... "])
@pytest.mark.parametrize(("before", "changes", "after"), EDITS)
def test_edit_touches_only_its_key(
    before: str, changes: dict[str, object | None], after: str, newline: str, bom: str, close: str
) -> None:
    def note(block: str) -> str:
        lines = f"---\n{block}\n{close}\n" if block else f"---\n{close}\n"
        return bom + lines.replace("\n", newline) + "body\n---\r\nx: 1\n---\n  no newline"

    assert yaml_block.edit(note(before), changes) == note(after)


def test_edit_without_frontmatter_puts_a_block_on_top() -> None:
    assert (
        yaml_block.edit("words\r\nmore", {"a": ["x"]})
        == "---\r\na:\r\n  - x\r\n---\r\nwords\r\nmore"
    )
    assert yaml_block.edit("\ufeffwords", {"a": 1}) == "\ufeff---\na: 1\n---\nwords"
    assert yaml_block.edit("---\n\nrule", {"a": 1}) == "---\na: 1\n---\n---\n\nrule"
    assert yaml_block.edit("", {"a": 1}) == "---\na: 1\n---\n"
    assert yaml_block.edit("words", {"a": None}) == "words"


def test_edit_of_the_body() -> None:
    assert (
        yaml_block.edit("---\na: 1 # c\n---\nold", {}, body="new\r\n")
        == "---\na: 1 # c\n---\nnew\r\n"
    )
    assert (
        yaml_block.edit("---\r\na: 1\r\n---", {"a": 2}, body="new") == "---\r\na: 2\r\n---\r\nnew"
    )
    assert yaml_block.edit("---\ra: 1\r---\rold", {}, body="\nnew") == "---\ra: 1\r---\r\n\nnew"
    assert yaml_block.edit("---\r---", {}, body="\n") == "---\r---\r\n\n"
    assert yaml_block.edit("old", {}, body="new") == "new"
    assert yaml_block.edit("\ufeffold", {}, body="new") == "\ufeffnew"
    assert yaml_block.edit("old", {}, body="---\nb: 1\n---\n") == "---\n---\n---\nb: 1\n---\n"
    assert yaml_block.edit("old", {"a": 1}, body="") == "---\na: 1\n---\n"
    with pytest.raises(InvalidInput, match="read back"):
        yaml_block.edit("old", {}, body="<<<<<<< a\n=======\n>>>>>>> b\n")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("\ud800", "surrogate"), (["\udfff"], "surrogate"), ({"\ud800": 1}, "surrogate"),
        (float("nan"), "float"), (float("inf"), "float"),
        (10**18, "int"), (object(), "object"), ({1, 2}, "set"), (b"x", "bytes"),
        ("x" * 70_000, "read back|touching"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused(value: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        yaml_block.compose({"a": value}, "")
    with pytest.raises(InvalidInput, match=words):
        yaml_block.edit("---\nb: 1\n---\n", {"a": value})


def test_a_key_that_cannot_be_written_is_refused() -> None:
    for key in ("\ud800", "k" * 2000):
        with pytest.raises(InvalidInput):
            yaml_block.compose({key: 1}, "")
        with pytest.raises(InvalidInput):
            yaml_block.edit("---\nb: 1\n---\n", {key: 1})
        with pytest.raises(InvalidInput):
            yaml_block.edit("no block", {key: 1})


def test_nesting_is_limited_when_writing() -> None:
    deep: Any = "x"
    for _ in range(DEEPEST + 1):
        deep = [deep]
    with pytest.raises(InvalidInput, match="nested"):
        yaml_block.compose({"a": deep}, "")


def test_bodies_that_cannot_be_notes_are_refused() -> None:
    for body in ("\ud800", "a\0b"):
        with pytest.raises(InvalidInput, match=r"surrogate|NUL"):
            yaml_block.compose({"a": 1}, body)
        with pytest.raises(InvalidInput, match=r"surrogate|NUL"):
            yaml_block.edit("---\na: 1\n---\n", {}, body=body)


def test_a_flow_block_is_not_edited_by_guessing() -> None:
    with pytest.raises(InvalidInput, match="touching the rest"):
        yaml_block.edit("---\n{a: 1, b: 2}\n---\n", {"c": 1})
    assert yaml_block.edit("---\n{a: 1, b: 2}\n---\n", {"b": 3}) == "---\n{a: 1, b: 3}\n---\n"


def test_edit_refuses_an_unreadable_note() -> None:
    with pytest.raises(UnreadableNote, match="twice"):
        yaml_block.edit("---\na: 1\na: 2\n---\n", {"a": 3})


def test_decode_and_encode() -> None:
    for data in (b"", b"a\r\n", "\ufeffé😀".encode()):
        assert yaml_block.encode(yaml_block.decode(data)) == data
    for data, words in [
        ("é".encode("latin-1"), "not UTF-8"), ("a\nbé".encode("latin-1"), "line 2"),
        ("x".encode("utf-16"), "UTF-16"),
        ("x".encode("utf-16-be"), "NUL"), (b"\xfe\xff\0x", "UTF-16"), (b"a\0", "NUL"),
        (b"\xed\xa0\x80", "not UTF-8"),
    ]:  # fmt: skip
        with pytest.raises(UnreadableNote, match=words):
            yaml_block.decode(data)
    for text in ("\ud800", "a\0"):
        with pytest.raises(InvalidInput):
            yaml_block.encode(text)


@pytest.mark.parametrize(
    "text",
    [
        "x\n=======\n>>>>>>> b\n",
        "a <<<<<<< b\n",
        "<<<<<<<x\n=======\n>>>>>>> b",
        "> <<<<<<< a\n> =======\n> >>>>>>> b",
    ],
)
def test_single_or_indented_markers_are_no_conflict(text: str) -> None:
    assert yaml_block.read(text) == ({}, text)


# --------------------------------------------------------------------------------------------------
# properties

printable = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    HARD_TEXTS
)
scalars = (
    printable
    | st.integers(-(10**17), 10**17)
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
)
keys = st.sampled_from(
    ["title", "tags", "about", "x-y", "no", "1", "a b", "ключ", "😀"]
) | printable.filter(lambda k: len(k) < 100)
values = (
    scalars
    | st.lists(scalars | st.lists(scalars, max_size=2), max_size=4)
    | st.dictionaries(keys, scalars, max_size=3)
)
bodies = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60
) | st.sampled_from(
    [
        "",
        "---\n",
        "---\na: 1\n---\nx",
        "...\n",
        "\ufeff",
        "\r\n---\r\n",
        "# H\n\n[[x]] #t",
        "```\n---\n```",
    ]
)

# Entries as people write them: (key, the lines with {n} for the line ending).
WRITTEN = [
    "title: plain words", "title: 'single ''quoted'''", 'title: "double \\" quoted"   # comment',
    "title: |\n  block\n   more\n\n  end",
    "title: >-\n  folded\n  text", "title: |+\n  keep\n\n", "title: |2-\n    odd\n   x",
    "title: two\n  lines # c", "title:", "title: ~",
    'title: "over\n  two lines"', "title: a#b:c", "title: x # c # d",
]  # fmt: skip
LISTS = [
    "tags: [a, b]", "tags: [a,\n  b,   # in\n  c]", "tags:\n- a\n- b",
    "tags:\n  - a # one\n  # between\n  - 'b'\n  - c d", "tags: a, b",
    "tags: []", "tags:   # t\n  -   a\n  - |\n    block\n    item\n  - [x, y]\n  - k: v\n    l: w",
    "tags:\n  -\n  - a", "tags: # nothing",
]  # fmt: skip
OTHERS = [
    "mine: {x: 1, y: [2]}", "mine:\n  x: 1\n  y:\n    - 2\n  # inner\n  z: 3", "mine: 1",
    "mine: true  ", "mine: 2024-01-01",
    "? mine\n: odd",
    "'mine': yes", '"mine": |\n  a\ttab', "mine: https://example.org/#x", "mine: é 😀  # emoji",
]  # fmt: skip
BETWEEN = ["", "", "# comment", "  # indented comment", "\n", "# é", "#"]
blocks = st.tuples(
    st.permutations([0, 1, 2]), st.sampled_from(WRITTEN), st.sampled_from(LISTS),
    st.sampled_from(OTHERS),
    st.lists(st.sampled_from(BETWEEN), min_size=4, max_size=4),
)  # fmt: skip


@st.composite
def notes(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    """A note as a person might have written it, and the exact lines of each of its keys."""
    order, *entries, between = draw(blocks)
    ends = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    lines: list[str] = []
    owned: dict[str, str] = {}
    for position in order:
        if between[position]:
            lines.append(between[position].strip("\n"))
        owned[("title", "tags", "mine")[position]] = entries[position].replace("\n", ends)
        lines.append(entries[position])
    if between[3]:
        lines.append(between[3].strip("\n"))
    block = ends.join(line.replace("\n", ends) for line in lines)
    close = draw(st.sampled_from(["---", "--- ", "..."]))
    bom = draw(st.sampled_from(["", "\ufeff"]))
    return f"{bom}---{ends}{block}{ends}{close}{ends}{draw(bodies)}", owned


def lines_of(text: str) -> list[str]:
    return re.split(r"\r\n|\n|\r", text)


def without(lines: list[str], own: list[str]) -> list[str]:
    """`lines` without the run that is `own`."""
    start = next(i for i in range(len(lines)) if lines[i : i + len(own)] == own)
    return lines[:start] + lines[start + len(own) :]


def is_kept(lines: list[str], after: list[str]) -> bool:
    """Do all of `lines` stand in `after`, in this order?"""
    rest = iter(after)
    return all(line in rest for line in lines)


@pytest.mark.slow
@given(st.dictionaries(keys, values, max_size=5), bodies)
@settings(max_examples=300)
def test_compose_then_read_gives_the_same(meta: dict[str, object], body: str) -> None:
    assert yaml_block.read(yaml_block.compose(meta, body)) == (meta, body)


@pytest.mark.slow
@given(notes(), st.sampled_from(["title", "tags", "mine", "new", "a: b"]), st.none() | values)
@settings(max_examples=600)
def test_an_edit_changes_one_key_and_keeps_every_other_line(
    note: tuple[str, dict[str, str]], key: str, value: object
) -> None:
    text, owned = note
    before, body = yaml_block.read(text)
    after_text = yaml_block.edit(text, {key: value})
    after, after_body = yaml_block.read(after_text)
    expected = {name: old for name, old in before.items() if name != key} | (
        {} if value is None else {key: value}
    )
    assert after_body == body
    assert {k: repr(v) for k, v in after.items()} == {k: repr(v) for k, v in expected.items()}
    assert [k for k in after if k in before] == [k for k in before if k in after], (
        "the order of the keys changed"
    )
    for name, lines in owned.items():
        if name != key:
            assert lines.rstrip("\r\n") in after_text
    others = without(lines_of(text), lines_of(owned[key])) if key in owned else lines_of(text)
    if value is None or re.search(": [|>]", owned.get(key, "")):
        # An indented comment under a block of text is part of it, or would become part of the block
        # above when the key goes.
        others = [line for line in others if line.strip() and not line.lstrip().startswith("#")]
    assert is_kept(others, lines_of(after_text))
    head, tail = text[: text.find("\n") if "\n" in text[:6] else 3], text[len(text) - len(body) :]
    assert after_text.startswith(head)
    assert after_text.endswith(tail)
    if value is not None and repr(before.get(key)) == repr(value) and key in before:
        assert after_text == text, "writing the same value again must change nothing"


@given(notes(), bodies)
@settings(max_examples=200)
def test_a_new_body_leaves_the_block_alone(note: tuple[str, dict[str, str]], body: str) -> None:
    text, _ = note
    meta, old = yaml_block.read(text)
    changed = yaml_block.edit(text, {}, body=body)
    assert yaml_block.read(changed) == (meta, body)
    assert changed.startswith(text[: len(text) - len(old)])


@given(
    notes(),
    st.lists(
        st.tuples(st.sampled_from(["title", "tags", "mine", "new"]), st.none() | values), max_size=4
    ),
)
@settings(max_examples=150)
def test_edits_one_by_one_and_together_mean_the_same(
    note: tuple[str, dict[str, str]], edits: list[tuple[str, object]]
) -> None:
    text, _ = note
    together = yaml_block.read(yaml_block.edit(text, dict(edits)))
    for key, value in edits:
        text = yaml_block.edit(text, {key: value})
    one_by_one, body = yaml_block.read(text)
    assert {k: repr(v) for k, v in together[0].items()} == {
        k: repr(v) for k, v in one_by_one.items()
    }
    assert together[1] == body


@pytest.mark.slow
@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(list("---\n\r: []{}#&*!|>'\"%@`ab1 \t\x85\ufeff")), max_size=40).map(
        "".join
    )
)
@settings(max_examples=600)
def test_any_text_has_a_verdict(text: str) -> None:
    for candidate in (text, f"---\n{text}\n---\nbody", f"\ufeff---\r\n{text}\r\n---"):
        try:
            meta, body = yaml_block.read(candidate)
        except UnreadableNote:
            with pytest.raises(UnreadableNote):
                yaml_block.edit(candidate, {"new": "x"})
        else:
            assert candidate.endswith(body)
            assert all(isinstance(key, str) for key in meta)
        try:
            changed = yaml_block.edit(candidate, {"new": "x"})
        except InvalidInput:
            continue
        assert yaml_block.read(changed) == (meta | {"new": "x"}, body)


@given(st.binary(max_size=100))
def test_any_bytes_have_a_verdict(data: bytes) -> None:
    try:
        text = yaml_block.decode(data)
    except UnreadableNote:
        assert b"\0" in data or data[:2] in (b"\xff\xfe", b"\xfe\xff") or not is_utf8(data)
    else:
        assert yaml_block.encode(text) == data


def is_utf8(data: bytes) -> bool:
    try:
        return data.decode("utf-8") is not None
    except UnicodeDecodeError:
        return False


def test_a_very_long_line_is_read_and_edited_quickly() -> None:
    text = "---\na: " + "word " * 10_000 + "\nb: 1\n---\n" + "x" * 1_000_000
    began = time.perf_counter()
    assert yaml_block.read(yaml_block.edit(text, {"b": 2}))[0]["b"] == 2
    assert time.perf_counter() - began < patient(2)


BOMB = "a: &a [x, x]\n" + "".join(
    f"{new}: &{new} [*{old}, *{old}, *{old}, *{old}]\n"
    for old, new in zip("abcdefghij", "bcdefghijk", strict=True)
)

# name -> (bytes of the file, None when it is readable or a word of the reason, keys expected in
# `problems`)
SHAPES: dict[str, tuple[bytes, str | None, set[str]]] = {
    "bad indentation": (b"---\na: 1\n  b: 2\n---\n", "line 3", set()),
    "worse indentation": (b"---\na:\n    b: 1\n  c: 2\n---\n", "line 4", set()),
    "duplicate key": (b"---\ntitle: a\ntitle: b\n---\n", "line 3: 'title' is there twice", set()),
    "duplicate after quoting": (b"---\n'1': a\n1: b\n---\n", "twice", set()),
    "duplicate inside": (b"---\nx: {a: 1, a: 2}\n---\n", "twice", set()),
    "tab indentation": (b"---\na:\n\tb: 1\n---\n", "tab|cannot start", set()),
    "tab after the colon": (b"---\ntitle:\tx\n---\n", None, set()),
    "alias bomb": (b"---\n" + BOMB.encode() + b"---\n", "anchors", set()),
    "one alias": (b"---\na: &x 1\nb: *x\n---\n", "anchors", set()),
    "anchor alone": (b"---\na: &x 1\n---\n", "anchors", set()),
    "unknown alias": (b"---\na: *nope\n---\n", "anchors", set()),
    "alias to itself": (b"---\na: &x [*x]\n---\n", "anchors", set()),
    "star and ampersand in text": (b"---\ntitle: R&D 2*3\n---\n", None, set()),
    "merge key": (b"---\nbase: &b {x: 1}\n<<: *b\n---\n", "anchors", set()),
    "merge key without alias": (b"---\n<<: {x: 1}\n---\n", None, set()),
    "5,000 deep flow": (b"---\na: " + b"[" * 5000 + b"]" * 5000 + b"\n---\n", "nested|YAML", set()),
    "5,000 deep flow, open": (b"---\na: " + b"[" * 5000 + b"\n---\n", "nested|YAML", set()),
    "5,000 deep mappings": (b"---\na: " + b"{a: " * 5000 + b"\n---\n", "nested|YAML", set()),
    "5,000 deep dashes": (b"---\na:\n  " + b"- " * 5000 + b"\n---\n", "nested", set()),
    "300 deep dashes, wide": (b"---\na:\n  " + b"-   " * 300 + b"x\n---\n", "nested", set()),
    "5,000 deep question marks": (b"---\n" + b"? " * 5000 + b"\n---\n", "nested|YAML|key", set()),
    "300 deep by indentation": (b"---\n" + b"".join(b" " * i + b"a:\n" for i in range(300)) + b"---\n", "nested", set()),
    "30 deep in a short block": (b"---\na: " + b"[" * 30 + b"]" * 30 + b"\n---\n", "nested", set()),
    "26 deep, below every alarm": (
        b"---\n" + b"".join(b" " * i + b"a:\n" for i in range(11)) + b" " * 11 + b"- - " + b"[x: " * 6 + b"[" * 6 + b"]" * 12 + b"\n---\n",
        "nested",
        set(),
    ),
    "mixed depth below every alarm": (b"---\na:\n - - {b: [[{c: [{d: [[{e: 1}]]}]}]]}\n---\n", None, set()),
    "huge integer": (b"---\nimportance: " + b"9" * 20_000 + b"\n---\n", None, {"importance"}),
    "huge exponent": (b"---\nimportance: 1.0e999999\n---\n", None, {"importance"}),
    "impossible day": (b"---\ncreated: 2026-02-30\n---\n", None, {"created"}),
    "impossible hour": (b"---\ncreated: 2026-02-03T25:00:00Z\n---\n", None, {"created"}),
    "year 10000": (b"---\ncreated: 10000-01-01\n---\n", None, {"created"}),
    "first and last second": (b"---\ncreated: 0001-01-01T00:00:00+14:00\nvalid_until: "
                              b"9999-12-31T23:59:59-14:00\n---\n", None, set()),
    "number as key": (b"---\n1: a\n2.5: b\ntrue: c\n---\n", None, set()),
    "null as key": (b"---\n~: a\n---\n", None, set()),
    "list as key": (b"---\n? [a, b]\n: c\n---\n", "key is a list", set()),
    "mapping as key": (b"---\n{a: 1}: c\n---\n", "key is a list", set()),
    "list instead of keys": (b"---\n- a\n- b\n---\n", "key: value", set()),
    "text instead of keys": (b"---\njust words\n---\n", "key: value", set()),
    "mapping where a list belongs": (b"---\ntags: {a: 1}\naliases: {b: 2}\n---\n", None, {"tags", "aliases"}),
    "list where a text belongs": (b"---\ntitle: [a, b]\nsource: {x: 1}\n---\n", None, {"title", "source"}),
    "text where a flag belongs": (b"---\ncore: 'yes'\nlevel: high\nbudget: -1\nturn: 1.5\n---\n", None,
    {"core", "level", "budget", "turn"}),
    "unclosed": (b"---\ntitle: x\nbody\n", "never closed", set()),
    "unclosed rule": (b"---\n\nbody\n", None, set()),
    "only ---": (b"---", None, set()),
    "only --- and a line end": (b"---\n", None, set()),
    "two ---": (b"---\n---\n", None, set()),
    "empty file": (b"", None, set()),
    "only a BOM": (b"\xef\xbb\xbf", None, set()),
    "blank lines": (b"\n\n \n", None, set()),
    "random binary": (bytes(range(256)), "NUL", set()),
    "PNG named .md": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "NUL", set()),
    "NUL in the body": (b"---\na: 1\n---\nx\x00y", "NUL", set()),
    "escaped NUL": (b'---\ntitle: "a\\0b"\n---\n', None, set()),
    "UTF-16 with BOM": ("---\na: 1\n---\n".encode("utf-16"), "UTF-16", set()),
    "UTF-16 without BOM": ("---\na: 1\n---\n".encode("utf-16-le"), "NUL", set()),
    "UTF-32": ("a".encode("utf-32-be"), "NUL", set()),
    "latin-1": ("---\ntitle: caf\xe9\n---\n".encode("latin-1"), "line 2 is not UTF-8", set()),
    "surrogate bytes": (b"---\ntitle: \xed\xa0\x80\n---\n", "not UTF-8", set()),
    "escaped surrogate": (b'---\ntitle: "\\ud800"\n---\n', "YAML", set()),
    "control character": (b"---\ntitle: a\x07b\n---\n", "YAML", set()),
    "BOM": ("\ufeff---\ntitle: x\n---\nbody".encode(), None, set()),
    "BOM inside": ("---\ntitle: x\ufeffy\n---\nbody".encode(), None, set()),
    "CRLF": (b"---\r\ntitle: x\r\n---\r\nbody\r\n", None, set()),
    "lone CR": (b"---\rtitle: x\r---\rbody\r", None, set()),
    "mixed ends": (b"---\r\ntitle: x\ntags: [a]\r---\nbody\r\n", None, set()),
    "python object": (b"---\na: !!python/object/apply:os.system ['true']\n---\n", "python", set()),
    "own tag": (b"---\na: !secret x\n---\n", "secret", set()),
    "tagged list": (b"---\na: !!omap [x: 1]\n---\n", "omap", set()),
    "scalar tagged as a list": (b"---\na: !!seq x\n---\n", "seq", set()),
    "list tagged as a mapping": (b"---\na: !!map [x]\n---\n", "map", set()),
    "tagged root": (b"---\n!!set\n? a\n---\n", "key: value", set()),
    "set": (b"---\ntags:\n  ? a\n  ? b\n---\n", None, {"tags"}),
    "binary tag": (b"---\na: !!binary aGk=\n---\n", "binary", set()),
    "timestamp tag": (b"---\na: !!timestamp 2024-01-01\n---\n", "timestamp", set()),
    "octal, hex, infinity": (b"---\nimportance: 010\nconfidence: .inf\nlevel: 0x1f\npriority: "
                             b".nan\n---\n", None,
    {"importance", "confidence", "level", "priority"}),
    "infinity by name": (b"---\nimportance: nan\nbudget: inf\npriority: 1e400\n---\n", None, {"importance", "budget", "priority"}),
    "directive": (b"---\n%YAML 1.1\na: 1\n---\n", "YAML", set()),
    "second document": (b"---\na: 1\n--- b\nc: 1\n---\n", "YAML", set()),
    "very long key": (b"---\n" + b"k" * 2000 + b": 1\n---\n", "YAML", set()),
    "very long value": (b"---\ntitle: " + b"v" * 60_000 + b"\n---\n", None, set()),
    "70 KB of frontmatter": (b"---\ntitle: " + b"v" * 70_000 + b"\n---\n", "64 KB", set()),
    "8,000 keys": (b"---\n" + b"".join(b"%x:\n" % i for i in range(8_000)) + b"---\n", None, set()),
    "colon in a plain value": (b"---\ntitle: a: b\n---\n", "line 2", set()),
    "quote never closed": (b"---\ntitle: 'it\n---\n", "YAML", set()),
    "bracket never closed": (b"---\ntags: [a, b\n---\n", "YAML", set()),
    "at sign": (b"---\ntitle: @me\n---\n", "line 2", set()),
    "template": (b"---\ntitle: {{title}}\n---\n", "key is a list|YAML|key", set()),
    "conflict in the frontmatter": (b"---\n<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> theirs\n"
                                    b"---\n", "conflict markers", set()),
    "conflict in the body": (b"---\na: 1\n---\n<<<<<<< HEAD\nx\n||||||| base\ny\n=======\nz\n"
                             b">>>>>>> theirs\n", "conflict markers", set()),
    "conflict with CRLF": (b"x\r\n<<<<<<< HEAD\r\nx\r\n=======\r\nz\r\n>>>>>>> theirs\r\n", "conflict markers", set()),
    "conflict on the first line": (b"<<<<<<< HEAD\n=======\n>>>>>>> theirs", "conflict markers", set()),
    "heading underlined with seven": (b"Title\n=======\ntext\n", None, set()),
    "unknown status and id of our type": (b"---\ntype: semantic\nid: x\nstatus: odd\ntrust: me\n"
                                          b"---\n", None, {"id", "status", "trust"}),
    "unknown status and id of another tool": (b"---\ntype: task\nid: x-1\nstatus: done\n---\n", None, set()),
    "nothing but nulls": (b"---\ntitle:\ntags: ~\ncreated: null\ncore:\n---\nSome words.\n", None, set()),
    "1 MB line": (b"---\na: 1\n---\n" + b"x" * 1_000_000, None, set()),
    "1 MB of brackets": (b"[" * 1_000_000, None, set()),
    "1 MB of backticks": (b"# a `" + b"` `` " * 200_000, None, set()),
    "1 MB of quotes": (b"> " * 500_000 + b"#tag `x`", None, set()),
    "1 MB of hashes": (b"# #" * 333_333, None, set()),
    "1 MB of blanks": (b"x #t" + b" \t" * 500_000 + b"y", None, set()),
    "1 MB of fences": (b"```\n~~~\n" * 125_000, None, set()),
    "1 MB of emphasis": (b"*_" * 500_000, None, set()),
    "1 MB of comments": (b"%% #a %% " * 111_111, None, set()),
}  # fmt: skip


def verdict(data: bytes) -> tuple[str | None, set[str]]:
    """(reason, {}) or (None, problems)."""
    try:
        note = memory.parse("a/b.md", data)
    except UnreadableNote as error:
        return (str(error) if error.kept and error.hint else "nothing to hold on to"), set()
    note.when()
    return None, set(note.problems)


def test_there_are_enough_shapes() -> None:
    assert len(SHAPES) >= 60


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_has_its_verdict_in_time(name: str) -> None:
    data, expected, problems = SHAPES[name]
    began = time.process_time()
    reason, found = verdict(data)
    assert time.process_time() - began < patient(
        2
    )  # counted lines and a shared core cost processor time
    if expected is None:
        assert reason is None
        assert found == problems
    else:
        assert reason is not None
        assert any(word in reason for word in expected.split("|")), reason
        assert len(reason) < 300
        assert "\n" not in reason


@pytest.mark.slow
def test_all_shapes_together_stay_small() -> None:
    """In a process of its own that may not grow by more than 200 MB."""
    code = (
        "import resource, sys\nfrom tests.core.frontmatter.test_yaml_block import SHAPES, "
        "verdict\nverdict(SHAPES['1 MB of fences'][0][:1000])\nsize = "
        "int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize() + 200 * 2**20\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size, size))\nprint(sum(verdict(data)[0] is None "
        "for data, _, _ in SHAPES.values()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == sum(expected is None for _, expected, _ in SHAPES.values())
