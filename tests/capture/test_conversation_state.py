"""How far a conversation was captured, and what is in it: survives anything, says nothing of what
was said."""

from __future__ import annotations

import os
import time
from pathlib import Path

from oneiro_vault.capture import conversation_state, spool
from oneiro_vault.capture.conversation_state import Session, key_of


def test_there_and_back(tmp_path: Path) -> None:
    session = Session(str(tmp_path), "s1")
    assert (session.offset, session.messages, session.given, session.oriented) == (0, 0, [], None)
    session.transcript, session.offset, session.messages, session.given = "/t", 12, 3, ["abc"]
    session.oriented = [{"id": "x", "stamp": "1"}]
    session.save()
    again = Session(str(tmp_path), "s1")
    assert (again.transcript, again.offset, again.messages, again.given) == ("/t", 12, 3, ["abc"])
    assert again.oriented == [{"id": "x", "stamp": "1"}]
    assert Session(str(tmp_path), "s2").offset == 0


def test_no_id_leads_out_of_the_folder(tmp_path: Path) -> None:
    for ident in ("../../x", "/etc/passwd", "a\0b", "", "ä" * 5000, "\ud800"):
        Session(str(tmp_path), ident).save()
    assert {path.parent.name for path in tmp_path.rglob("*") if path.is_file()} == {"sessions"}
    assert len({key_of(ident) for ident in ("a/b", "ab", "a.b", "A/b")}) == 4


def test_damage_costs_a_repetition_and_no_more(tmp_path: Path) -> None:
    Session(str(tmp_path), "s1").save()
    path = next((tmp_path / "sessions").iterdir())
    for text in (
        "",
        "[]",
        '{"offset": "x", "messages": -3, "given": 7, "oriented": 5, "transcript": []}',
        "\xff",
    ):
        path.write_text(text, encoding="latin-1")
        session = Session(str(tmp_path), "s1")
        assert (session.offset, session.messages, session.given) == (0, 0, [])


def test_a_disk_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("in the way")
    Session(str(tmp_path), "s1").save()


def test_a_crash_before_the_note_captures_nothing_twice(tmp_path: Path) -> None:
    """The entry is there, the state is not: the entry itself says how far it goes."""
    session = Session(str(tmp_path), "s1")
    folder = spool.folder_of(str(tmp_path))
    assert session.captured_to(folder, "/t") == 0
    spool.put(folder, {"transcript": "/t", "to": 40}, session.key)
    spool.put(folder, {"transcript": "/other", "to": 90}, session.key)
    spool.put(folder, {"transcript": "/t", "to": 70}, key_of("s2"))
    assert session.captured_to(folder, "/t") == 40
    session.advance("/t", 60)
    assert Session(str(tmp_path), "s1").captured_to(folder, "/t") == 60
    session.advance("/t", 50)  # an old entry, picked up late
    assert Session(str(tmp_path), "s1").offset == 60


def test_another_transcript_begins_at_its_beginning(tmp_path: Path) -> None:
    session = Session(str(tmp_path), "s1")
    session.advance("/t", 60)
    assert session.captured_to("/nowhere", "/new") == 0


def test_old_conversations_are_forgotten(tmp_path: Path) -> None:
    Session(str(tmp_path), "old").save()
    Session(str(tmp_path), "new").save()
    now = time.time()
    path = tmp_path / "sessions" / f"{key_of('old')}.json"
    os.utime(path, (now, now - (conversation_state.KEPT_DAYS + 1) * 86_400))
    conversation_state.sweep(str(tmp_path), now)
    assert [one.name for one in (tmp_path / "sessions").iterdir()] == [f"{key_of('new')}.json"]
    conversation_state.sweep(str(tmp_path / "nowhere"), now)
