"""mem0's lists in every wrapping, and OpenMemory's backup."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.memories.mem0 import FORMAT
from tests.importers.exports import notes as notes_in_order
from tests.importers.exports import said
from tests.importers.memories.folders import folder, known, notes, records, skipped, talks, zipped

FACT: dict[str, Any] = {
    "id": "0b1c2d3e-0000-4000-8000-000000000001",
    "memory": "Owns a boat called Petrel",
    "user_id": "pat",
    "agent_id": None,
    "hash": "d41d8cd98f00b204e9800998ecf8427e",
    "metadata": {"place": "Ostend", "deep": {"x": 1}},
    "categories": ["boats", "possessions"],
    "created_at": "2025-03-01T10:00:00-08:00",
    "updated_at": "2025-04-01T10:00:00-07:00",
    "expiration_date": "2027-01-01",
}


def written(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize(
    "wrapping",
    [
        lambda facts: facts,
        lambda facts: {"results": facts, "relations": []},
        lambda facts: {"count": 1, "next": None, "previous": None, "results": facts},
        lambda facts: {"memories": facts},
    ],
)
def test_a_list_in_every_wrapping(tmp_path: Path, wrapping: Any) -> None:
    path = written(tmp_path / "mem.json", wrapping([FACT]))
    assert known(path) == "mem0-json"
    (note,) = notes(records(path)).values()
    assert note.id == FACT["id"]
    assert note.text == "Owns a boat called Petrel"
    assert note.trust == "model"
    assert note.at == datetime(2025, 3, 1, 18, tzinfo=UTC)
    assert note.updated == datetime(2025, 4, 1, 17, tzinfo=UTC)
    assert dict(note.meta) == {
        "type": "semantic",
        "tags": ["boats", "possessions"],
        "valid_until": "2027-01-01T00:00:00+00:00",
        "mem0_user_id": "pat",
        "mem0_place": "Ostend",
    }


def test_older_rows_have_less(tmp_path: Path) -> None:
    path = written(tmp_path / "mem.json", [{"id": "1", "memory": "x", "categories": None}])
    (note,) = notes(records(path)).values()
    assert (note.at, note.updated, dict(note.meta)) == (None, None, {"type": "semantic"})


def test_words_that_a_fact_came_from_are_a_conversation_once(tmp_path: Path) -> None:
    talk = [
        {"role": "user", "content": "I bought Petrel."},
        {"role": "assistant", "content": "A boat?"},
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": None},
    ]
    facts = [FACT | {"input": talk}, FACT | {"id": "2", "memory": "Bought Petrel", "input": talk}]
    found = records(written(tmp_path / "mem.json", facts))
    (one,) = talks(found).values()
    assert said(one) == [
        ("user", "I bought Petrel."),
        ("assistant", "A boat?"),
        ("quoted", "Be brief."),
    ]
    assert [note.meta["session"] for note in notes_in_order(found)] == [one.id, one.id]


def test_a_graph_is_a_note_of_typed_edges(tmp_path: Path) -> None:
    relations = [
        {"source": "pat", "relationship": "OWNS", "target": "petrel"},
        {"source": "pat", "relationship": "lives in", "destination": "ostend"},
        {"source": "pat", "relationship": "owns", "target": "petrel"},
        {"source": "pat"},
        {"source": "[[x]]", "relationship": "owns", "target": "y"},
    ]
    path = written(tmp_path / "mem.json", {"results": [FACT], "relations": relations})
    note = notes(records(path))["Relations that mem0 kept"]
    assert note.text == "- [[pat]] owns [[petrel]]\n- [[pat]] lives_in [[ostend]]"


BACKUP: dict[str, Any] = {
    "user": {"id": "u", "user_id": "pat", "name": None},
    "apps": [{"id": "app-1", "name": "cursor"}],
    "categories": [{"id": "c1", "name": "boats"}],
    "memories": [
        {"id": "1", "app_id": "app-1", "content": "Owns Petrel", "state": "active",
         "category_ids": ["c1", "gone"], "created_at": "2025-03-01T10:00:00+00:00"},
        {"id": "2", "content": "Hates boats", "state": "deleted"},
        {"id": "3", "content": "Was here", "state": "active", "deleted_at": "2025-03-02T00:00:00Z"},
        {"id": "4", "content": "Old boat", "state": "archived", "created_at": None},
        {"id": "5", "content": "Secret boat", "state": "paused"},
    ],
    "memory_categories": [{"memory_id": "1", "category_id": "c1"}],
    "status_history": [], "access_controls": [], "export_meta": {"version": "1"},
}  # fmt: skip
LINES = gzip.compress(
    b'{"id": "1", "content": "Owns Petrel", "state": "active", "app": "cursor", '
    b'"categories": ["boats"]}\n{"id": "2", "content": "Hates boats", "state": "deleted"}\n'
)


def test_a_backup_and_what_was_deleted_there(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"memories.json": json.dumps(BACKUP)}
    files["memories.jsonl.gz"] = LINES
    path = zipped(tmp_path / "memories_export_pat.zip", files)
    assert known(path) == "mem0-json"
    found = records(path)
    facts = {note.text: note for note in notes_in_order(found)}
    assert len(found) == len(facts) + len(skipped(found))
    assert facts.keys() == {"Owns Petrel", "Old boat", "Secret boat"}
    assert facts["Owns Petrel"].meta["tags"] == ["boats"]
    assert facts["Owns Petrel"].meta["mem0_app"] == "cursor"
    assert facts["Old boat"].meta["status"] == "archived"
    assert facts["Secret boat"].meta["status"] == "archived"
    assert list(skipped(found).values()) == ["it was deleted there"] * 2


def test_its_second_copy_is_read_when_the_first_is_missing(tmp_path: Path) -> None:
    path = zipped(tmp_path / "b.zip", {"memories.jsonl.gz": LINES})
    (note,) = notes(records(path)).values()
    assert note.meta["tags"] == ["boats"]
    with pytest.raises(InvalidInput, match="to its end"):
        records(zipped(tmp_path / "c.zip", {"memories.jsonl.gz": LINES[:-20]}), FORMAT)


def test_a_broken_line_of_it_stops_no_other_and_no_line_fills_the_memory(tmp_path: Path) -> None:
    long = b'{"id": "3", "content": "' + bytes(5_000_000) + b'"}\n'
    packed = gzip.compress(b'{"id": \n' + long + gzip.decompress(LINES))
    found = records(zipped(tmp_path / "b.zip", {"memories.jsonl.gz": packed}), FORMAT)
    assert len(notes(found)) == 1
    assert [why for why in skipped(found).values() if "no JSON" in why] == [
        "it is no JSON, or too long for any memory"
    ] * 2
    damaged = bytearray(LINES)
    damaged[20:60] = bytes(40)
    with pytest.raises(InvalidInput, match="to its end"):
        records(zipped(tmp_path / "d.zip", {"memories.jsonl.gz": bytes(damaged)}), FORMAT)


def test_what_is_no_memory_is_an_error_never_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "x.json", [{"summary": "own schema"}, 7])
    with pytest.raises(InvalidInput, match="none of the 2 records"):
        records(path, FORMAT)
    assert records(written(tmp_path / "y.json", []), FORMAT) == []


def test_broken_records_stop_no_other(tmp_path: Path) -> None:
    rows = [FACT, 7, None, {"id": "2", "memory": ""}, {"id": "3", "memory": 7}, FACT | {"id": "4"}]
    found = records(written(tmp_path / "x.json", rows), FORMAT)
    assert len(skipped(found)) == 4
    assert len(found) == 6


def test_a_file_that_is_cut_says_so_after_what_came_before(tmp_path: Path) -> None:
    path = written(tmp_path / "x.json", [FACT, FACT | {"id": "2"}])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InvalidInput, match="ends in the middle, after 1 whole"):
        records(path, FORMAT)


def test_chats_are_not_taken_for_memories(tmp_path: Path) -> None:
    root = folder(tmp_path / "x", {"a.json": json.dumps([{"id": "1", "content": "hi"}])})
    with pytest.raises(InvalidInput, match="no export that is known"):
        known(root)
