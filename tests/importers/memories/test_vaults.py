"""Vaults of Obsidian, graphs of Logseq, folders of Markdown: what is in a note stays in it."""

from __future__ import annotations

import json
import os
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from oneiro_vault.core.frontmatter import fields, yaml_block
from oneiro_vault.core.memory import TYPES
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.memories.vaults import MARKDOWN, OBSIDIAN, Given, named
from oneiro_vault.importers.records import Note, Skipped
from tests.importers.memories.folders import (
    MODIFIED,
    Files,
    folder,
    known,
    notes,
    records,
    skipped,
    zipped,
)

APP = {".obsidian/app.json": "{}"}


def vault(tmp_path: Path, files: Files, name: str = "Petrel") -> Path:
    return folder(tmp_path / name, {**APP, **files})


def one(tmp_path: Path, text: str | bytes, name: str = "A note.md") -> Note:
    """The only note of a vault."""
    found = [
        one for one in records(vault(tmp_path, {name: text}), OBSIDIAN) if isinstance(one, Note)
    ]
    assert len(found) == 1
    return found[0]


def composes(note: Note) -> bool:
    """Can a note of ours hold all it says?"""
    meta = {key: fields.checked(key, value) for key, value in note.meta.items()}
    return bool(yaml_block.encode(yaml_block.compose(meta | {"title": note.title}, note.text)))


# -- what it is


def test_a_vault_a_graph_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    assert known(vault(tmp_path, {"a.md": "x"})) == "obsidian"
    assert known(zipped(tmp_path / "v.zip", {"V/.obsidian/app.json": "{}", "V/a.md": "x"})) == (
        "obsidian"
    )
    assert known(folder(tmp_path / "plain", {"a.md": "x"})) == "markdown"


def test_settings_trash_and_hidden_folders_are_no_notes(tmp_path: Path) -> None:
    files = {
        "a.md": "kept",
        ".trash/old.md": "deleted",
        ".trash/sub/older.md": "deleted",
        ".obsidian/plugins/x/README.md": "a plug-in's",
        ".git/description.md": "x",
        ".stversions/a.md": "an old version",
    }
    found = records(vault(tmp_path, files))
    assert [note.title for note in found if isinstance(note, Note)] == ["a"]
    assert skipped(found)[".trash"] == "what was deleted there is not taken (2 .md)"
    assert "(1 .md)" in skipped(found)["hidden"]


def test_notes_that_are_in_the_cloud_only_are_told(tmp_path: Path) -> None:
    found = records(vault(tmp_path, {"a.md": "x", "Boats/.Petrel.md.icloud": b"bplist00"}))
    assert skipped(found)["iCloud"].startswith("1 files are in iCloud only")


def test_a_file_that_went_since_is_told(tmp_path: Path) -> None:
    root = vault(tmp_path, {"a.md": "x", "b.md": "y"})
    with Archive.at(root) as archive:
        (root / "a.md").unlink()
        found = list(OBSIDIAN.read(archive))
    assert list(notes(found)) == ["b"]
    assert "No such file" in skipped(found)["a.md"]


def test_attachments_are_counted_not_lost_silently(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.md": "![[boat.png|300]]",
        "boat.png": b"\x89PNG",
        "x/tax.pdf": b"%PDF",
        "v.base": "a",
    }
    found = records(vault(tmp_path, files))
    assert notes(found)["a"].text == "![[boat.png|300]]"
    assert notes(found)["a"].pictures == {"boat.png": "boat.png"}
    assert "(1 .base, 1 .pdf)" in skipped(found)["attachments"]


# -- what a note keeps

WHOLE = """---
title: The boat
tags: [boats, sailing/trips]
aliases:
  - Petrel
  - the boat
created: 2024-03-05
modified: 2024-06-01T10:00:00+02:00
status: in progress
source: https://example.org/boats
rating: 4
due:
owner: "[[Ada Lane]]"
---
# Petrel

Lies in [[Harbour/Berth 7#Winter|the winter berth]] and ![[plan.png]]. See [[#^keel]], #boat/old.

> [!quote] A surveyor
> She is sound.

%% not for others %%
length:: 9 m ==wide== ^keel
"""


def test_words_links_comments_and_callouts_stay_as_they_are(tmp_path: Path) -> None:
    note = one(tmp_path, WHOLE, "Boats/Petrel of 1962.md")
    assert note.text == WHOLE.split("---\n", 2)[2]
    assert note.path == "Petrel/Boats/Petrel of 1962.md"


def test_title_tags_aliases_and_dates_are_ours(tmp_path: Path) -> None:
    note = one(tmp_path, WHOLE, "Boats/Petrel of 1962.md")
    assert note.title == "The boat"
    assert note.meta["tags"] == ["boats", "sailing/trips"]
    assert note.meta["aliases"] == ["Petrel", "the boat"]
    assert note.at == datetime(2024, 3, 5, tzinfo=UTC)
    assert note.updated == datetime(2024, 6, 1, 8, tzinfo=UTC)
    assert composes(note)


def test_keys_that_mean_something_else_here_get_a_name_of_their_own(tmp_path: Path) -> None:
    meta = one(tmp_path, WHOLE).meta
    assert meta["obsidian_status"] == "in progress"
    assert meta["obsidian_source"] == "https://example.org/boats"
    assert meta["rating"] == 4
    assert meta["owner"] == "[[Ada Lane]]"
    assert not {"status", "source", "title", "created"} & meta.keys()


@pytest.mark.parametrize("type_", TYPES)
def test_a_type_of_ours_makes_no_note_fade_or_be_always_loaded(tmp_path: Path, type_: str) -> None:
    note = one(tmp_path, f"---\ntype: {type_}\ncore: true\ntrust: user\nstatus: pending\n---\nx")
    assert note.meta["type"] == "note"
    assert note.meta["obsidian_type"] == type_
    assert note.trust == "external"
    assert not {"core", "trust", "status"} & note.meta.keys()


def test_a_type_of_their_own_stays(tmp_path: Path) -> None:
    assert one(tmp_path, "---\ntype: Book\n---\nx").meta["type"] == "book"


@pytest.mark.parametrize(
    ("front", "tags"),
    [
        ("tag: boats", ["boats"]),
        ("Tags: '#boats #sea'", ["boats", "sea"]),
        ("tags: boats, sea", ["boats", "sea"]),
        ("tags: [2024, boats]", ["2024", "boats"]),
        ("tags:", None),
    ],
)
def test_tags_however_they_are_written(tmp_path: Path, front: str, tags: list[str] | None) -> None:
    assert one(tmp_path, f"---\n{front}\n---\nx").meta.get("tags") == tags


def test_an_alias_may_be_a_number_or_one_word(tmp_path: Path) -> None:
    assert one(tmp_path, "---\nalias: 1962\n---\nx").meta["aliases"] == ["1962"]


# -- dates


@pytest.mark.parametrize(
    ("name", "text", "day"),
    [
        ("2024-05-01.md", "x", "2024-05-01"),
        ("Daily/2024/05/2024-05-02.md", "x", "2024-05-02"),
        ("a.md", "---\ndate: 2024-05-03\n---\nx", "2024-05-03"),
        ("2024-01-01.md", "---\ncreated: 2024-05-04\n---\nx", "2024-05-04"),
        ("a.md", "Title\n\ncreated:: 2024-05-05\n", "2024-05-05"),
        ("a.md", "x", "2023-11-14"),
    ],
)
def test_the_best_date_there_is(tmp_path: Path, name: str, text: str, day: str) -> None:
    note = one(tmp_path, text, name)
    assert note.at
    assert f"{note.at:%Y-%m-%d}" == day
    assert ("created_from" in note.meta) == (note.at.timestamp() == MODIFIED)


@pytest.mark.parametrize(
    ("form", "name", "day"),
    [
        ("DD-MM-YYYY", "Daily/03-04-2024.md", "2024-04-03"),
        ("YYYY/MMMM/Do MMM YYYY", "Daily/2024/May/1st May 2024.md", "2024-05-01"),
        ("YYYY/MM/YYYY-MM-DD dddd", "Daily/2024/05/2024-05-02 Thursday.md", "2024-05-02"),
        ("[day] D.M.YYYY", "Daily/day 3.5.2024.md", "2024-05-03"),
        ("DD-MM-YYYY", "Daily/31-02-2024.md", "2023-11-14"),
    ],
)
def test_daily_notes_as_the_vault_names_them(
    tmp_path: Path, form: str, name: str, day: str
) -> None:
    said = json.dumps({"folder": "Daily", "format": form})
    found = records(vault(tmp_path, {name: "x", ".obsidian/daily-notes.json": said}))
    at = next(one.at for one in found if isinstance(one, Note))
    assert at
    assert f"{at:%Y-%m-%d}" == day


@pytest.mark.parametrize("broken", ["[", '{"format": ["x"]}', '{"format": "(("}', "[]", "\xff"])
def test_broken_settings_of_daily_notes_break_nothing(tmp_path: Path, broken: str) -> None:
    files = {"2024-05-01.md": "x", ".obsidian/daily-notes.json": broken}
    assert notes(records(vault(tmp_path, files)))["2024-05-01"].at


# -- odd files


@pytest.mark.parametrize(
    "broken",
    ["tags: [boats", "x: 1\nx: 2", "\ttitle: x"],
)
def test_broken_properties_are_taken_with_the_text_and_told(tmp_path: Path, broken: str) -> None:
    text = f"---\n{broken}\n---\nThe words.\n"
    found = records(vault(tmp_path, {"a.md": text}))
    note = next(one for one in found if isinstance(one, Note))
    assert note.text == text
    assert composes(note)
    assert "properties cannot be read" in skipped(found)["a.md"]


def test_what_can_be_read_of_broken_properties_is(tmp_path: Path) -> None:
    text = "---\ntitle: ADR\ntags: [time]\ncreated: 2024-05-01\nx: [\n---\nThe words.\n"
    note = one(tmp_path, text)
    assert note.title == "ADR"
    assert note.meta["tags"] == ["time"]
    assert note.at == datetime(2024, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("summary: ADR-1: use UTC", "summary", "ADR-1: use UTC"),
        ("on: {{date}}", "on", "{{date}}"),
        ("a: &b [*b]", "a", "&b [*b]"),
    ],
)
def test_a_value_that_only_lacks_its_quotes_breaks_nothing(
    tmp_path: Path, line: str, key: str, value: str
) -> None:
    found = records(vault(tmp_path, {"a.md": f"---\n{line}\nx: 1\n---\nWords.\n"}))
    note = notes(found)["a"]
    assert (note.text, note.meta["x"], note.meta[key]) == ("Words.\n", 1, value)
    assert not skipped(found)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\r\nb\r\n", "a\r\nb\r\n"),
        (b"\xef\xbb\xbf---\ntags: [x]\n---\nb", "b"),
        (b"no end", "no end"),
        ("größer".encode("utf-16"), "größer"),
        ("größer und kühler".encode("cp1252"), "größer und kühler"),
        (b"---\n\nA rule.\n", "---\n\nA rule.\n"),
        ("😀 smile".encode(), "😀 smile"),
    ],
)
def test_every_way_to_write_text(tmp_path: Path, data: bytes, text: str) -> None:
    assert one(tmp_path, data).text == text


def test_conflict_markers_of_git_become_words(tmp_path: Path) -> None:
    note = one(tmp_path, "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n")
    yaml_block.refuse_markers(note.text)
    assert "<<<<<<< HEAD" in note.text


@pytest.mark.parametrize("data", [b"", b"  \n", b"---\ntags: [x]\n---\n", b"\x00\x01\x02PNG"])
def test_what_says_nothing_is_told_not_taken(tmp_path: Path, data: bytes) -> None:
    found = records(vault(tmp_path, {"a.md": data, "b.md": "words"}))
    assert list(notes(found)) == ["b"]
    assert "text" in skipped(found)["a.md"]


def test_a_file_that_may_not_be_read_stops_no_other(tmp_path: Path) -> None:
    root = vault(tmp_path, {"a.md": "x", "b.md": "y"})
    os.truncate(root / "a.md", (16 << 20) + 1)
    found = records(root)
    assert list(notes(found)) == ["b"]
    assert "16,777,216 bytes" in skipped(found)["a.md"]


def test_names_that_a_mac_takes_for_the_same_are_told_apart(tmp_path: Path) -> None:
    composed, split = (unicodedata.normalize(form, "Café.md") for form in ("NFC", "NFD"))
    files = {composed: "one", split: "two", "Note.md": "three", "note.md": "four"}
    found = [one for one in records(vault(tmp_path, files)) if isinstance(one, Note)]
    assert len({note.path.casefold() for note in found}) == 4
    assert len({note.id for note in found}) == 4
    assert all(note.path == unicodedata.normalize("NFC", note.path) for note in found)


@pytest.mark.parametrize(
    ("embed", "name"),
    [
        ("![[boat.png]]", "a/boat.png"),
        ("![[Boat.PNG|200]]", "a/boat.png"),
        ("![[a/boat.png]]", "a/boat.png"),
        ("![[c/boat.png#x]]", "b/c/boat.png"),
        ("![w](c/boat.png)", "b/c/boat.png"),
        ("![w](../a/boat.png)", "a/boat.png"),
        ("![w](/a/boat.png)", "a/boat.png"),
        ("![w](<my boat.png>)", "b/my boat.png"),
        ('![w](my%20boat.png "title")', "b/my boat.png"),
        ("![w](https://example.org/boat.png)", ""),
        ("![w](../../a/boat.png)", ""),
        ("![[.trash/old.png]]", ""),
        ("![[sail.png]]", ""),
        ("```\n![[boat.png]]\n```", ""),
    ],
)
def test_a_picture_is_found_as_obsidian_finds_it(tmp_path: Path, embed: str, name: str) -> None:
    pictures = ("a/boat.png", "b/c/boat.png", "b/my boat.png", ".trash/old.png")
    files: dict[str, str | bytes] = dict.fromkeys(pictures, b"\x89PNG")
    files["b/note.md"] = f"x {embed} y" if "```" not in embed else embed
    note = notes(records(vault(tmp_path, files)))["note"]
    assert list(note.pictures.values()) == ([name] if name else [])


def test_two_notes_of_one_name_and_links_to_each(tmp_path: Path) -> None:
    files = {"A/Log.md": "one", "B/Log.md": "two", "c.md": "[[A/Log]] [[B/Log]]"}
    found = [one for one in records(vault(tmp_path, files)) if isinstance(one, Note)]
    assert {note.path for note in found} == {"Petrel/A/Log.md", "Petrel/B/Log.md", "Petrel/c.md"}


def test_links_out_of_the_vault_are_not_followed(tmp_path: Path) -> None:
    secret = folder(tmp_path / "secret", {"password.md": "hunter2"})
    root = vault(tmp_path, {"a.md": "x"})
    (root / "linked").symlink_to(secret)
    (root / "b.md").symlink_to(secret / "password.md")
    assert list(notes(records(root))) == ["a"]


# -- identity


def test_an_id_in_the_properties_counts_before_the_place(tmp_path: Path) -> None:
    text = "---\nid: 20240501-petrel\n---\nx"
    first = one(tmp_path / "1", text, "a.md")
    moved = one(tmp_path / "2", text, "Boats/b.md")
    assert first.id == moved.id == "Petrel#20240501-petrel"


def test_an_id_that_is_one_of_its_kind_is_known_in_every_vault(tmp_path: Path) -> None:
    unique = "0b1c2d3e-4f50-4162-8738-495a6b7c8d9e"
    files: Files = {**APP, "a.md": f"---\nuuid: {unique}\n---\nx"}
    for name in ("One", "Two"):
        (note,) = notes(records(folder(tmp_path / name, files))).values()
        assert note.id == unique


def test_an_id_that_two_notes_have_is_none(tmp_path: Path) -> None:
    text = "---\nid: template-id\n---\n"
    found = records(vault(tmp_path, {"a.md": text + "x", "b.md": text + "y"}))
    assert {note.id for note in notes(found).values()} == {"Petrel#template-id", "Petrel/b.md"}


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("Petrel.zip", "Petrel"),
        ("Petrel (1).zip", "Petrel"),
        ("Petrel-2026-11-20.zip", "Petrel"),
        ("Petrel backup 20261120-101500.zip", "Petrel"),
        ("My notes", "My notes"),
        ("2026.zip", "2026"),
        ("backup.zip", "backup"),
    ],
)
def test_a_backup_is_the_same_vault(tmp_path: Path, name: str, called: str) -> None:
    path = tmp_path / name
    path = zipped(path, {"a.md": "x"}) if name.endswith(".zip") else folder(path, {"a.md": "x"})
    with Archive.at(path) as archive:
        assert named(archive) == called


def test_the_folder_and_its_zip_say_the_same(tmp_path: Path) -> None:
    files = {**APP, "Boats/Petrel.md": WHOLE, "2024-05-01.md": "x [[Petrel]]"}
    here = records(folder(tmp_path / "Petrel", files))
    there = records(zipped(tmp_path / "z" / "Petrel.zip", files))
    again = records(tmp_path / "Petrel")
    assert here == there == again


def test_ids_and_paths_are_never_given_twice() -> None:
    names = Given("V")
    ids = [names.id("", "a.md") for _ in range(3)] + [names.id("own-id", "a.md") for _ in range(3)]
    assert len(set(ids)) == 6
    assert [names.path("a.md") for _ in range(3)] == ["V/a.md", "V/a (2).md", "V/a (3).md"]


# -- canvases

CANVAS = {
    "nodes": [
        {
            "id": "g",
            "type": "group",
            "label": "Spring",
            "x": 0,
            "y": 200,
            "width": 400,
            "height": 300,
        },
        {"id": "1", "type": "text", "text": "Paint **her**", "x": 10, "y": 210},
        {"id": "2", "type": "file", "file": "Boats/Petrel.md", "subpath": "#Hull", "x": 0, "y": 0},
        {"id": "3", "type": "link", "url": "https://example.org", "x": 0, "y": 50},
    ],
    "edges": [
        {"id": "e", "fromNode": "2", "toNode": "1", "label": "needs"},
        {"id": "f", "fromNode": "2", "toNode": "gone"},
    ],
}


def test_a_canvas_is_a_note_with_its_cards_and_arrows(tmp_path: Path) -> None:
    note = notes(records(vault(tmp_path, {"Plan.canvas": json.dumps(CANVAS)})))["Plan"]
    assert note.path == "Petrel/Plan.canvas.md"  # [[Plan.canvas]] still finds it
    assert note.text == (
        "![[Boats/Petrel#Hull]]\n\n<https://example.org>\n\n## Spring\n\nPaint **her**\n\n"
        "## Arrows\n\n- [[Boats/Petrel#Hull]] → Paint **her**: needs"
    )


@pytest.mark.parametrize("data", ["", "{}", "[]", "{", '{"nodes": [1, {"type": "text"}]}', "\xff"])
def test_an_empty_or_broken_canvas_is_told(tmp_path: Path, data: str) -> None:
    found = records(vault(tmp_path, {"Plan.canvas": data.encode("latin-1"), "a.md": "x"}))
    assert list(notes(found)) == ["a"]
    assert "Plan.canvas" in skipped(found)


# -- folders of Markdown, Logseq


def test_a_heading_names_a_note_of_a_plain_folder(tmp_path: Path) -> None:
    files = {"a.md": "# The boat\n\nWords.", "b.markdown": "Only words."}
    found = notes(records(folder(tmp_path / "plain", files), MARKDOWN))
    assert found.keys() == {"The boat", "b"}
    assert found["b"].path == "plain/b.md"
    assert found["b"].meta["type"] == "note"


def test_a_graph_of_logseq(tmp_path: Path) -> None:
    files = {
        "logseq/config.edn": "{}",
        "logseq/bak/pages/x/old.md": "- an old version",
        "journals/2024_05_01.md": "- Went to [[Boats/Petrel]]",
        "pages/Boats___Petrel.md": "alias:: Petrel, [[the boat]]\ntags:: [[boats]], sea\n\n- Hers",
    }
    found = notes(records(folder(tmp_path / "Graph", files)))
    assert found.keys() == {"2024_05_01", "Boats/Petrel"}
    assert found["2024_05_01"].meta["aliases"] == ["May 1st, 2024"]
    assert found["2024_05_01"].at == datetime(2024, 5, 1, tzinfo=UTC)
    assert found["Boats/Petrel"].meta["aliases"] == ["Boats/Petrel", "Petrel", "the boat"]
    assert found["Boats/Petrel"].meta["tags"] == ["boats", "sea"]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.text(max_size=200))
@example(b"", "?")
@example(b"", '"two\\nlines": 1\n"two\\n": 2')
def test_any_bytes_become_a_note_or_a_reason(tmp_path: Path, data: bytes, text: str) -> None:
    front = f"---\n{text}\n---\nwords\n".encode("utf-8", "replace")
    found = records(folder(tmp_path / "fuzz", {"a.md": data, "b.md": front}), OBSIDIAN)
    for one in found:
        assert isinstance(one, Note | Skipped)
        if isinstance(one, Note):
            assert composes(one)
