from __future__ import annotations

import pytest

from oneiro_vault.core import memory
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.errors import UnreadableNote
from oneiro_vault.index.keyword import note_rows
from oneiro_vault.index.keyword.database import NOTE_COLUMNS


def row(note: note_rows.Note) -> dict[str, object]:
    return dict(zip(NOTE_COLUMNS, note.row, strict=True))


def read(path: str, text: str, limit: int = 1_000_000) -> note_rows.Note:
    return note_rows.read(path, text.encode(), limit)


def test_a_note_with_everything() -> None:
    found = read(
        "a/b.md",
        "---\nid: 0123456789ab\ntype: entity\ntitle: Ann Lee\ntags: [x, y]\naliases: [Annie]\n"
        "---\nSays [[Ben]].\n",
    )
    values = row(found)
    assert (values["id"], values["handle"], values["type"], values["tags"]) == (
        "0123456789ab",
        "0123456789ab",
        "entity",
        '["x", "y"]',
    )
    assert found.own == ("Ann Lee", "", "x y Annie", "Says [[Ben]].\n")
    assert found.names >= {
        ("ann lee", "entity"),
        ("annie", "alias"),
        ("ann", "part"),
        ("x", "tag"),
        ("a/b", "path"),
        ("b", "stem"),
    }


def test_hashes_are_of_the_whole_file() -> None:
    data = b"x" * 50 + b"\n" + b"y" * 50
    values = row(note_rows.read("a.md", data, 60))
    assert values["blob"] == blob_id(data)
    assert values["size"] == 101
    assert values["problems"] == '["truncated"]'


@pytest.mark.parametrize("limit", range(1, 12))
def test_a_cut_never_splits_a_character(limit: int) -> None:
    note_rows.read("a.md", "äöü東京\n".encode() * 3, limit)


def test_words_taken_from_the_body_do_not_count_twice() -> None:
    remembered = read(
        "a.md",
        "---\ntitle: We met at the…\ndescription: We met at the harbour.\n---\nWe met at the "
        "harbour. It rained.",
    )
    assert remembered.own is not None
    assert remembered.own[:2] == ("", "")
    headed = read("a.md", "# Harbour\n\nWe met. It rained.")
    assert headed.own is not None
    assert headed.own[0] == "Harbour"


def test_text_without_spaces_is_cut_for_the_index_and_kept_whole_beside_it() -> None:
    found = read("a.md", "東京 tower")
    assert found.own is not None
    assert "東  京" in found.own[3]
    assert found.raw == "東京 tower"
    assert read("a.md", "plain").raw is None


def test_pending_notes_have_a_row_and_nothing_else() -> None:
    found = read("a.md", "---\nstatus: pending\nsession: s\nabout: [Ann]\n---\nsecret [[x]]")
    assert (found.own, found.names, found.edges, found.session) == (None, set(), set(), "")


def test_lone_surrogates_can_be_stored() -> None:
    try:
        found = read("a.md", '---\ntitle: "a\\ud800b"\n---\nbody')
    except UnreadableNote:
        return
    assert "\ud800" not in str(row(found)["title"])


def test_handles_of_notes_without_an_id() -> None:
    assert note_rows.handle_of("a.md") == note_rows.handle_of("a.md") != note_rows.handle_of("b.md")
    assert memory.is_id(note_rows.handle_of("a.md"))


def test_days_as_people_write_them() -> None:
    assert note_rows.day("2023-05-08T10:00:00+00:00") == "8 May 2023"
    assert note_rows.day("") == ""


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("[[Ben|him]]", "a.md", {("mentions", "ben")}),
        ("- works_for [[WOBS]]", "a.md", {("works_for", "wobs")}),
        ("[t](b.md)", "x/a.md", {("mentions", "x/b"), ("mentions", "b")}),
        ("[t](../y/b.md)", "x/a.md", {("mentions", "y/b")}),
        ("[t](../../b.md)", "x/a.md", set()),
        ("[t](https://example.org/x.md)", "a.md", set()),
        ("`[[code]]`", "a.md", set()),
        ("[[Zürich]]", "a.md", {("mentions", "zurich")}),
    ],
)
def test_links(text: str, path: str, expected: set[tuple[str, str]]) -> None:
    assert note_rows.written(parser.parse(text), path) == {(*edge, "") for edge in expected}


def test_a_link_of_somebody_else_has_a_subject() -> None:
    found = note_rows.written(parser.parse("- [[Dana]] manages [[Peter]]"), "a.md")
    assert found == {("mentions", "dana", ""), ("manages", "peter", "dana")}


def test_links_stated_in_the_frontmatter() -> None:
    found = read(
        "a.md",
        "---\nderived_from: [0123456789ab]\nsuperseded_by: aaaaaaaaaaaa\nabout: ['[[Ann]]']\n---\n",
    )
    assert found.edges == {
        ("derived_from", "0123456789ab", ""),
        ("superseded_by", "aaaaaaaaaaaa", ""),
        ("about", "ann", ""),
    }
