"""Oubli's levels and parents, from a dump as JSON and from its LanceDB folder."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.core.memory import id_of, is_id
from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.memories.oubli import FORMAT
from oneiro_vault.importers.records import Note, Skipped
from tests.importers.memories.folders import folder, known, notes, records, skipped

RAW: dict[str, Any] = {
    "id": "aaaaaaaa-0000-4000-8000-000000000001",
    "summary": "Pat owns a boat called Petrel",
    "full_text": "Pat: I bought Petrel last spring.\nShe lies in Ostend.",
    "level": 0,
    "topics": '["boats"]',
    "keywords": '["petrel", "ostend"]',
    "parent_ids": "[]",
    "child_ids": '["cccccccc-0000-4000-8000-000000000003"]',
    "source": "conversation",
    "created_at": "2025-03-01T10:00:00.123456",
    "updated_at": "2025-03-02T10:00:00",
    "last_accessed": "2025-05-01T00:00:00",
    "access_count": 4,
    "confidence": 1.0,
}
INSIGHT = RAW | {
    "id": "cccccccc-0000-4000-8000-000000000003",
    "summary": "Pat's life turns around a boat",
    "full_text": "",
    "level": 1,
    "source": "synthesis",
    "parent_ids": json.dumps([RAW["id"], "gone", "cccccccc-0000-4000-8000-000000000003"]),
    "confidence": 0.8,
}


def dumped(path: Path, data: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_dump_with_levels_and_parents(tmp_path: Path, wrapped: bool) -> None:
    rows = [INSIGHT, RAW]
    path = dumped(tmp_path / "dump.json", {"memories": rows, "source": "me"} if wrapped else rows)
    assert known(path) == "oubli"
    found = notes(records(path))
    raw, insight = found[RAW["summary"]], found[INSIGHT["summary"]]
    assert raw.text == RAW["full_text"]
    assert raw.meta["description"] == RAW["summary"]
    assert raw.meta["tags"] == ["boats"]
    assert raw.meta["topics"] == ["petrel", "ostend"]
    assert raw.at == datetime(2025, 3, 1, 10, 0, 0, 123456, tzinfo=UTC)
    assert raw.updated == datetime(2025, 3, 2, 10, tzinfo=UTC)
    assert not {"level", "derived_from", "confidence"} & raw.meta.keys()
    assert insight.text == INSIGHT["summary"]
    assert insight.meta["level"] == 1
    assert insight.meta["derived_from"] == [id_of("import:oubli", raw.id)]
    assert insight.meta["confidence"] == 0.8
    assert {note.trust for note in found.values()} == {"model"}


def test_lists_as_people_dump_them(tmp_path: Path) -> None:
    row = RAW | {"topics": ["boats", 7, None], "keywords": "petrel, ostend", "parent_ids": None}
    (note,) = notes(records(dumped(tmp_path / "d.json", [row]))).values()
    assert note.meta["tags"] == ["boats", "7"]
    assert note.meta["topics"] == ["petrel", "ostend"]


def test_ids_are_always_the_same_and_ids_of_ours() -> None:
    assert is_id(id_of("oubli", "x"))
    assert id_of("import:oubli", "x") == "6n7gstk3sdmz"
    assert is_id(id_of("oubli", "\udcb2"))


def test_a_long_summary_is_no_title(tmp_path: Path) -> None:
    (note,) = records(dumped(tmp_path / "d.json", [RAW | {"summary": "word " * 80}]))
    assert isinstance(note, Note)
    assert note.title == ""


def test_broken_rows_stop_no_other_and_none_known_is_an_error(tmp_path: Path) -> None:
    rows = [RAW, 7, {"summary": 7, "level": 0}, {"summary": "", "level": 0}, {"x": 1}]
    found = records(dumped(tmp_path / "d.json", rows), FORMAT)
    assert len([one for one in found if isinstance(one, Skipped)]) == 4
    with pytest.raises(InvalidInput, match="none of the 1 records"):
        records(dumped(tmp_path / "e.json", [{"x": 1}]), FORMAT)


def test_a_dump_that_is_cut_says_so(tmp_path: Path) -> None:
    path = dumped(tmp_path / "d.json", [RAW, INSIGHT])
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InvalidInput, match="ends in the middle"):
        records(path, FORMAT)


def test_the_core_memory_beside_it(tmp_path: Path) -> None:
    root = folder(tmp_path / ".oubli", {"core_memory.md": "# Core\n\nPat sails."})
    dumped(root / "dump.json", [RAW])
    note = notes(records(root))["Core memory of Oubli"]
    assert note.text == "# Core\n\nPat sails."
    assert note.meta["type"] == "semantic"  # nothing that was imported is always loaded
    assert note.trust == "model"


@pytest.mark.skipif(find_spec("lancedb") is not None, reason="lancedb is installed")
def test_its_folder_without_lancedb_says_what_to_do(tmp_path: Path) -> None:
    root = folder(
        tmp_path / ".oubli", {"memories.lance/memories.lance/_versions/1.manifest": b"\0"}
    )
    assert known(root) == "oubli"
    with pytest.raises(InvalidInput, match="`lancedb` is not installed") as caught:
        records(root)
    assert "JSON file" in caught.value.hint


@pytest.mark.skipif(find_spec("lancedb") is None, reason="lancedb is not installed")
def test_its_folder_as_it_is(tmp_path: Path) -> None:
    rows = [INSIGHT | {"vector": [0.5] * 8}, RAW | {"vector": [0.1] * 8}]
    made: Any = import_module("lancedb").connect(tmp_path / ".oubli" / "memories.lance")
    made.create_table("memories", data=rows)
    dump = notes(records(dumped(tmp_path / "d.json", rows)))
    for path in (
        tmp_path / ".oubli",
        tmp_path / ".oubli" / "memories.lance",
        tmp_path / ".oubli" / "memories.lance" / "memories.lance",
    ):
        assert known(path) == "oubli"
        assert notes(records(path)) == dump


def test_a_broken_folder_is_an_error_for_people(tmp_path: Path) -> None:
    root = folder(
        tmp_path / ".oubli", {"memories.lance/memories.lance/_versions/1.manifest": b"\0"}
    )
    with pytest.raises(InvalidInput) as caught:
        records(root)
    assert caught.value.hint
    assert not skipped([])
