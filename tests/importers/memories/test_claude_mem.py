"""claude-mem's database and its JSON exports, old and new."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.memories.claude_mem import FORMAT
from oneiro_vault.importers.records import Conversation, Note, Record, Skipped
from tests.importers.exports import said
from tests.importers.memories.folders import known, notes, records, skipped, talks

AT = 1_700_000_000_123
ISO = "2023-11-14T22:13:20.123Z"
TABLES = {
    "sdk_sessions": "content_session_id, memory_session_id, project, custom_title, started_at",
    "observations": "memory_session_id, project, text, type, title, subtitle, facts, narrative, "
    "concepts, files_read, files_modified, merged_into_project, created_at, created_at_epoch",
    "session_summaries": "memory_session_id, project, request, investigated, learned, completed, "
    "next_steps, files_read, files_edited, notes, created_at, created_at_epoch",
    "user_prompts": "content_session_id, prompt_number, prompt_text, created_at, created_at_epoch",
    "pending_messages": "content_session_id, last_user_message",
}
SESSION = {
    "content_session_id": "talk-1",
    "memory_session_id": "mem-1",
    "project": "petrel",
    "started_at": ISO,
}
OBSERVATION = {
    "memory_session_id": "mem-1",
    "project": "petrel",
    "type": "bugfix",
    "title": "The pump ran dry",
    "subtitle": "A valve stood open",
    "narrative": "The valve behind the pump stood open since spring.",
    "facts": '["The valve is behind the pump", "It is closed now"]',
    "concepts": '["problem-solution", "pumps"]',
    "files_read": '["log/pump.txt"]',
    "files_modified": "[]",
    "created_at": ISO,
    "created_at_epoch": AT,
}
SUMMARY = {
    "memory_session_id": "mem-1",
    "project": "petrel",
    "request": "Find out why the pump runs dry",
    "learned": "A valve stood open.",
    "completed": "Closed it.",
    "created_at_epoch": AT + 1000,
}
PROMPT = {
    "content_session_id": "talk-1",
    "prompt_number": 1,
    "prompt_text": "Why does the pump run dry?",
    "created_at_epoch": AT,
}
Rows = dict[str, list[Any]]
ALL: Rows = {
    "sdk_sessions": [SESSION],
    "observations": [OBSERVATION],
    "session_summaries": [SUMMARY],
    "user_prompts": [PROMPT],
}
KEYS = {
    "sdk_sessions": "sessions",
    "observations": "observations",
    "session_summaries": "summaries",
    "user_prompts": "prompts",
}


def database(path: Path, rows: Rows, tables: dict[str, str] = TABLES) -> Path:
    """A database as claude-mem leaves it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as made, made:
        for table, columns in tables.items():
            made.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, {columns})")
        for table, listed in rows.items():
            for row in listed:
                marks = ", ".join(f":{key}" for key in row)
                made.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", row)
    return path


def export(path: Path, rows: Rows, **more: Any) -> Path:
    """What its script writes."""
    lists = {KEYS[table]: listed for table, listed in rows.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps({"exportedAt": ISO, "query": "", "totalObservations": 1} | lists | more)
    )
    return path


@pytest.fixture(params=["database", "export"])
def everything(request: pytest.FixtureRequest, tmp_path: Path) -> list[Record]:
    if request.param == "export":
        return records(export(tmp_path / "memories.json", ALL))
    return records(database(tmp_path / "home" / "claude-mem.db", ALL))


def test_it_is_recognised(tmp_path: Path) -> None:
    assert known(export(tmp_path / "x.json", ALL)) == "claude-mem"
    assert known(database(tmp_path / "a" / "any.db", ALL)) == "claude-mem"
    assert known(tmp_path / "a") == "claude-mem"
    database(tmp_path / "other" / "x.db", {}, {"songs": "name"})
    with pytest.raises(InvalidInput, match="no export that is known"):
        known(tmp_path / "other")


def test_an_observation_is_a_memory_with_project_and_date(everything: list[Record]) -> None:
    note = notes(everything)["The pump ran dry"]
    assert note.text == (
        "The valve behind the pump stood open since spring.\n\n"
        "- The valve is behind the pump\n- It is closed now\n\nRead: `log/pump.txt`"
    )
    assert note.trust == "model"
    assert note.at == datetime.fromtimestamp(AT / 1000, UTC)
    assert dict(note.meta) == {
        "type": "semantic",
        "kind": "action",
        "description": "A valve stood open",
        "tags": ["bugfix", "problem-solution", "pumps"],
        "session": "talk-1",
        "project": "petrel",
    }


def test_a_summary_is_an_episode_that_says_how_it_ended(everything: list[Record]) -> None:
    note = notes(everything)["Conversation: Find out why the pump runs dry"]
    assert note.meta["type"] == "episodic"
    assert note.meta["outcome"] == "Closed it."
    assert "## Learned\n\nA valve stood open." in note.text
    assert note.trust == "model"


def test_prompts_are_what_the_person_said(everything: list[Record]) -> None:
    talk = talks(everything)["talk-1"]
    assert said(talk) == [("user", "Why does the pump run dry?")]
    assert talk.project == "petrel"
    assert talk.at == datetime.fromtimestamp(AT / 1000, UTC)


def test_the_database_and_its_export_are_the_same_memories(tmp_path: Path) -> None:
    from_database = records(database(tmp_path / "claude-mem.db", ALL))
    assert from_database == records(export(tmp_path / "e" / "x.json", ALL))
    assert len(from_database) == 3
    assert all(isinstance(one, Note | Conversation) for one in from_database)


def test_what_is_not_yet_written_back_is_read_too(tmp_path: Path) -> None:
    path = database(tmp_path / "home" / "claude-mem.db", ALL)
    with closing(sqlite3.connect(path)) as running:
        running.execute("PRAGMA journal_mode = WAL")
        running.execute("PRAGMA wal_autocheckpoint = 0")
        with running:
            running.execute(
                "INSERT INTO observations (memory_session_id, type, title, text) VALUES (?, ?, ?, ?)",
                ("mem-1", "discovery", "Newest", "In the log only."),
            )
        before = {one.name: one.read_bytes() for one in path.parent.iterdir()}
        assert "Newest" in notes(records(path.parent))
        assert before == {one.name: one.read_bytes() for one in path.parent.iterdir()}


def test_older_versions_lack_columns_and_name_the_session_otherwise(tmp_path: Path) -> None:
    old = {"sdk_session_id": "mem-1", "type": "decision", "title": "Red", "text": "Paint her red."}
    columns = {
        "sdk_sessions": "content_session_id, sdk_session_id, project",
        "observations": "sdk_session_id, type, title, text",
    }
    session = {"content_session_id": "talk-1", "sdk_session_id": "mem-1", "project": "petrel"}
    rows = {"sdk_sessions": [session], "observations": [old]}
    for path in (
        database(tmp_path / "claude-mem.db", rows, columns),
        export(tmp_path / "old.json", rows),
    ):
        note = notes(records(path))["Red"]
        assert note.text == "Paint her red."
        assert note.meta["kind"] == "decision"
        assert note.meta["session"] == "talk-1"
        assert note.meta["project"] == "petrel"
        assert note.at is None


@pytest.mark.parametrize("facts", ['["a", "b"]', ["a", "b"], None, "", "[", "7", '"a"'])
def test_lists_in_any_form(tmp_path: Path, facts: Any) -> None:
    row = OBSERVATION | {"facts": facts}
    note = notes(records(export(tmp_path / "x.json", {"observations": [row]})))["The pump ran dry"]
    assert ("- a\n- b" in note.text) == (isinstance(facts, list) or facts == '["a", "b"]')


def test_prompts_of_several_sessions_in_any_order_and_twice(tmp_path: Path) -> None:
    prompts = [
        PROMPT | {"prompt_number": 2, "prompt_text": "And now?"},
        PROMPT | {"content_session_id": "talk-2", "prompt_text": "<private>pin</private> Else?"},
        PROMPT,
        PROMPT,
        PROMPT | {"prompt_number": 3, "prompt_text": "<private>my pin"},
    ]
    found = talks(records(export(tmp_path / "x.json", {"user_prompts": prompts})))
    assert said(found["talk-1"]) == [
        ("user", "Why does the pump run dry?"),
        ("user", "And now?"),
    ]
    assert [turn.id for turn in found["talk-1"].turns] == ["talk-1/1", "talk-1/2"]
    assert said(found["talk-2"]) == [("user", "Else?")]


def test_broken_rows_are_told_and_stop_no_other(tmp_path: Path) -> None:
    rows: Rows = {
        "observations": [7, {}, {"title": None, "narrative": 7}, OBSERVATION],
        "session_summaries": [{"memory_session_id": "x"}],
        "user_prompts": [{"prompt_text": "Whose?"}],
    }
    found = records(export(tmp_path / "x.json", rows))
    assert len([one for one in found if isinstance(one, Skipped)]) == 5
    assert list(notes(found)) == ["The pump ran dry"]


def test_a_partial_export_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = export(tmp_path / "x.json", ALL)
    path.write_bytes(path.read_bytes()[:-250])
    with pytest.raises(InvalidInput, match="ends in the middle"):
        records(path, FORMAT)


def test_a_damaged_database_says_what_to_do(tmp_path: Path) -> None:
    path = database(tmp_path / "claude-mem.db", ALL)
    path.write_bytes(path.read_bytes()[:600])
    assert known(path) == "claude-mem"
    with pytest.raises(InvalidInput, match="cannot be read") as caught:
        records(path)
    assert "End claude-mem" in caught.value.hint
    assert not skipped([])
