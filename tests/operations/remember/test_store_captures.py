"""A capture is stored whole, once, and waits; an entry of the spool goes only when its words are in
the history."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.capture import spool
from oneiro_vault.capture.conversation_state import Session
from oneiro_vault.errors import InvalidInput, RepositoryBusy
from oneiro_vault.operations.remember import store_captures
from tests.operations.conftest import QUICK, Call, stored

TALK = "User: What is the boat called?\n\nAssistant: Petrel."


def note(root: Path, path: str) -> str:
    return (root / path).read_text(encoding="utf-8")


def state(app: App) -> str:
    return str(app.house.vault.folder)


def put(app: App, **entry: Any) -> str:
    full = {
        "schema": 1,
        "kind": "session",
        "text": TALK,
        "session": "s1",
        "client": "codex",
        "project": "ferry",
        "when": "2026-11-22T03:05:26+01:00",
    }
    return spool.put(spool.folder_of(state(app)), full | entry)


def commits(root: Path) -> int:
    done = subprocess.run(
        ["git", "-C", str(root), "rev-list", "--count", "HEAD"], capture_output=True, check=True
    )
    return int(done.stdout)


def test_a_conversation_becomes_an_episode_of_its_own(call: Call, root: Path) -> None:
    found = call(
        "capture",
        text=TALK,
        kind="session",
        session="s1",
        client="codex",
        cwd="/home/pat/ferry",
        when="2026-11-22T03:05:26+01:00",
    )
    assert found["duplicate_of"] is None
    assert found["queued"] == 1
    text = note(root, found["path"])
    for line in (
        "type: episodic",
        "source: capture",
        "kind: conversation",
        "session: s1",
        "project: ferry",
        "captured: session",
        "client: codex",
    ):
        assert f"\n{line}\n" in text
    assert '\ntitle: "Conversation: What is the boat called?"\n' in text
    assert text.endswith(TALK + "\n")
    assert call("show", id=found["id"])["meta"]["trust"] == "external"


def test_a_clients_time_is_kept_as_the_local_clock_showed_it(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        path = call("capture", text=TALK, kind="session", when="2026-03-31T20:30:00.5Z")["path"]
        row = call("list")["results"][0]
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()
    assert (row["created"], path[:17]) == ("2026-04-01T05:30:00+09:00", "episodic/2026/04/")


def test_it_is_found_by_its_words(call: Call) -> None:
    ident = call("capture", text=TALK, kind="session")["id"]
    assert ident in [
        row["id"] for row in call("recall", query="name of the boat Petrel")["results"]
    ]


def test_private_words_never_reach_the_repository(call: Call, root: Path) -> None:
    found = call(
        "capture",
        text="Hello <private>hunter2</private> there <PRIVATE>hunter2",
        title="<private>hunter2</private>Greeting",
    )
    assert note(root, found["path"]).endswith("Hello  there\n")
    everything = subprocess.run(
        ["git", "-C", str(root), "log", "-p", "--all"], capture_output=True, check=True
    ).stdout
    assert b"hunter2" not in everything
    assert not [
        path for path in root.rglob("*.md") if "hunter2" in path.read_text(encoding="utf-8")
    ]


@pytest.mark.parametrize("text", ["", "  \n", "<private>all of it</private>", "\0"])
def test_nothing_to_capture(call: Call, root: Path, text: str) -> None:
    before = commits(root)
    with pytest.raises(InvalidInput):
        call("capture", text=text)
    assert commits(root) == before


def test_a_kind_there_is_not(call: Call) -> None:
    with pytest.raises(InvalidInput, match="one of compaction, session, turns, note"):
        call("capture", text="x", kind="gossip")


def test_a_persons_own_note_is_theirs(app: App, call: Call) -> None:
    own = call("capture", text="I like tea.", actor="user")["id"]
    assert call("show", id=own)["meta"]["trust"] == "user"
    talk = call("capture", text=TALK, kind="session", actor="user")["id"]
    assert call("show", id=talk)["meta"]["trust"] == "external"
    assert [row.handle for row in store_captures.waiting(app.house)] in ([own, talk], [talk, own])


def test_the_same_words_of_a_session_are_stored_once(call: Call, root: Path) -> None:
    first = call("capture", text=TALK, kind="session", session="s1")
    before = commits(root)
    again = call("capture", text=f"\n{TALK}\r\n", kind="session", session="s1", when="2020-01-01")
    assert again["duplicate_of"] == again["id"] == first["id"]
    assert commits(root) == before
    assert call("capture", text=TALK, kind="session", session="s2")["duplicate_of"] is None


def test_what_was_forgotten_stays_forgotten(call: Call) -> None:
    first = call("capture", text=TALK, kind="session", session="s1")
    call("forget", id=first["id"])
    assert call("capture", text=TALK, kind="session", session="s1")["duplicate_of"] == first["id"]
    assert call("list")["results"] == []


def test_what_git_would_take_for_a_conflict_is_kept(call: Call, root: Path) -> None:
    found = call("capture", text="We saw\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    assert "\n    <<<<<<< ours\n" in note(root, found["path"])


def test_a_capture_larger_than_a_note_becomes_several_in_order(root: Path) -> None:
    words = "\n\n".join(f"User: turn {number} " + "x" * 300 for number in range(40))
    with App.open(root, QUICK.but(notes_indexed_bytes=4_000)) as app:
        found = app.call("capture", {"text": words, "kind": "session", "session": "s1"})
        rows = app.call("list", {"session": "s1"})["results"]
        turns = {row["path"]: app.call("show", {"id": row["id"]})["meta"]["turn"] for row in rows}
        assert (
            app.call("capture", {"text": words, "kind": "session", "session": "s1"})["duplicate_of"]
            == found["id"]
        )
    assert [row["path"] for row in found["captures"]] == sorted(turns, key=lambda path: turns[path])
    bodies = [note(root, row["path"]).split("---\n", 2)[2].strip() for row in found["captures"]]
    assert len(bodies) > 3
    assert "\n\n".join(bodies) == words


def test_what_waits_and_what_does_not(app: App, call: Call, root: Path) -> None:
    captured = call("capture", text=TALK, kind="session", session="s1", when="2026-01-02")["id"]
    highlights = call("reflect", highlights="We named the boat.")["id"]
    stored(call, "Not a capture.", type="episodic")
    assert [row.handle for row in store_captures.waiting(app.house)] == [captured, highlights]
    assert call("status")["captures"] == 2
    path = root / call("show", id=captured)["path"]
    path.write_text(
        path.read_text().replace("source: capture\n", "source: capture\nencoded: 2026-11-22\n")
    )
    app.house.indexing.converge()
    assert [row.handle for row in store_captures.waiting(app.house)] == [highlights]


# -- the spool
# --------------------------------------------------------------------------------------------------


def test_the_spool_is_picked_up(app: App, call: Call, root: Path) -> None:
    put(app)
    put(app, kind="compaction", text="We named the boat.", session="s2")
    assert call("collect") == {"schema": 1, "stored": 2, "left": 0, "aside": 0}
    assert call("collect")["stored"] == 0
    rows = store_captures.waiting(app.house)
    assert [row.created[:19] for row in rows] == ["2026-11-22T03:05:26"] * 2
    assert call("log", limit=1)["entries"][0]["actor"] == "capture"


def test_picked_up_twice_is_stored_once(app: App, call: Call) -> None:
    """A crash between the commit and the removal of the entry."""
    path = put(app)
    copy = Path(path).read_bytes()
    call("collect")
    Path(path).write_bytes(copy)
    assert call("collect") == {"schema": 1, "stored": 0, "left": 0, "aside": 0}
    assert len(store_captures.waiting(app.house)) == 1


def test_an_entry_stays_while_the_vault_cannot_be_written(app: App, call: Call, root: Path) -> None:
    path = put(app)
    (root / ".git" / "MERGE_HEAD").write_text(
        subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True
        ).stdout
    )
    with pytest.raises(RepositoryBusy):
        call("collect")
    assert Path(path).exists()
    (root / ".git" / "MERGE_HEAD").unlink()
    assert call("collect")["stored"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"kind": "session"}',
        '{"kind": "x", "text": "y"}',
        '{"kind": "note", "text": "<private>z"}',
        "\0",
    ],
)
def test_what_nobody_can_store_is_kept_aside_and_named(app: App, call: Call, text: str) -> None:
    bad = Path(put(app))
    bad.write_text(text)
    put(app)
    assert call("collect") == {"schema": 1, "stored": 1, "left": 0, "aside": 1}
    problems = [
        problem["message"]
        for problem in call("doctor")["problems"]
        if problem["code"] == "captures"
    ]
    assert len(problems) == 1
    assert "captures that could not be stored (1)" in problems[0]
    assert Path(spool.aside(spool.folder_of(state(app)))[0]).read_text() == text


def test_a_date_that_is_none_does_not_block_the_others(app: App, call: Call) -> None:
    put(app, when="yesterdayish")
    put(app, text=TALK + " Bye.")
    assert call("collect") == {"schema": 1, "stored": 1, "left": 0, "aside": 1}


@pytest.mark.parametrize(
    ("last", "day"),
    [
        ("2026-03-05T12:00:00Z", "2026-03-05"),
        ("2999-01-01T00:00:00Z", "2026-03-06"),
        ("soon", "2026-03-06"),
        (3, "2026-03-06"),
    ],
)
def test_it_is_of_the_day_on_which_the_last_word_was_said(
    app: App, call: Call, last: object, day: str
) -> None:
    put(app, when="2026-03-06T08:00:00+00:00", last=last)
    call("collect")
    assert store_captures.waiting(app.house)[0].created[:10] == day


def said(role: str, text: str, **more: str) -> str:
    return json.dumps({"type": role, "message": {"role": role, "content": text}} | more) + "\n"


def test_a_long_transcript_is_read_here(app: App, call: Call, root: Path, tmp_path: Path) -> None:
    """The hook had no time and left only where the words stand."""
    first, second = (
        said("user", "not this <private>hunter2</private>"),
        said("user", "but this <private>hunter2</private>"),
    )
    path = tmp_path / "t.jsonl"
    path.write_text(first + second + said("user", "nor this"))
    put(
        app, text=None, transcript=str(path), **{"from": len(first), "to": len(first) + len(second)}
    )
    entry = Path(spool.entries(spool.folder_of(state(app)))[0])
    entry.write_text(
        json.dumps(
            {name: value for name, value in json.loads(entry.read_text()).items() if name != "text"}
        )
    )
    assert call("collect")["stored"] == 1
    row = store_captures.waiting(app.house)[0]
    assert note(root, row.path).endswith("\nUser: but this\n")
    assert Session(state(app), "s1").offset == len(first) + len(second)


def test_a_part_in_which_nobody_spoke_goes_without_a_word(
    app: App, call: Call, tmp_path: Path
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"type": "attachment"}\n')
    entry = Path(put(app, transcript=str(path), **{"from": 0, "to": 23}))
    entry.write_text(
        json.dumps(
            {name: value for name, value in json.loads(entry.read_text()).items() if name != "text"}
        )
    )
    assert call("collect") == {"schema": 1, "stored": 0, "left": 0, "aside": 0}


def test_a_transcript_that_is_gone_is_kept_aside(app: App, call: Call, tmp_path: Path) -> None:
    entry = Path(put(app))
    entry.write_text(
        json.dumps({"kind": "session", "transcript": str(tmp_path / "gone"), "from": 0, "to": 5})
    )
    assert call("collect")["aside"] == 1


def test_any_command_that_opens_the_vault_picks_up(app: App, root: Path) -> None:
    put(app)
    app.close()
    with App.open(root, QUICK) as again:
        assert len(store_captures.waiting(again.house)) == 1
        assert not store_captures.left(again.house)


def test_captures_that_wait_are_said_by_doctor(app: App, call: Call) -> None:
    put(app)
    messages = [problem["message"] for problem in call("doctor")["problems"]]
    assert any("captures wait in" in message for message in messages)


def test_doctor_names_the_marker(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "work" / "ferry"
    folder.mkdir(parents=True)
    assert call("doctor")["capture"] is None
    assert call("doctor", cwd=str(folder))["capture"]["marker"] is None
    (tmp_path / "work" / ".oneiro-capture").write_text('project = "Ferry"')
    found = call("doctor", cwd=str(folder))["capture"]
    assert (found["allowed"], found["marker"], found["project"]) == (
        True,
        str(tmp_path / "work" / ".oneiro-capture"),
        "Ferry",
    )
    (folder / ".oneiro-nocapture").touch()
    found = call("doctor", cwd=str(folder))["capture"]
    assert (found["allowed"], found["marker"]) == (False, str(folder / ".oneiro-nocapture"))


def test_a_conversation_that_never_ended_is_captured_when_it_has_been_silent_for_long(
    app: App, call: Call, tmp_path: Path
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(said("user", "captured before"))
    session = Session(state(app), "s1")
    session.talk = {
        "session": "s1",
        "client": "codex",
        "cwd": str(tmp_path),
        "transcript": str(path),
    }
    session.advance(str(path), path.stat().st_size)
    path.write_text(
        path.read_text()
        + said("user", "and then the light went out", timestamp="2026-02-03T12:00:00Z")
    )
    os.utime(path, (app.house.clock() - 7 * 3600,) * 2)
    assert call("collect")["stored"] == 0  # no marker allows it here
    (tmp_path / ".oneiro-capture").write_text('project = "Ferry"')
    assert call("collect")["stored"] == 1
    row = store_captures.waiting(app.house)[0]
    assert row.created[:10] == "2026-02-03"
    meta = call("show", id=row.handle)
    assert meta["body"] == "User: and then the light went out\n"
    assert (meta["meta"]["project"], meta["meta"]["client"], meta["meta"]["session"]) == (
        "Ferry",
        "codex",
        "s1",
    )
    assert call("collect")["stored"] == 0


def test_one_that_goes_on_is_left_alone(app: App, call: Call, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(said("user", "a moment ago"))
    (tmp_path / ".oneiro-capture").touch()
    session = Session(state(app), "s1")
    session.talk = {
        "session": "s1",
        "client": "codex",
        "cwd": str(tmp_path),
        "transcript": str(path),
    }
    session.save()
    assert call("collect") == {"schema": 1, "stored": 0, "left": 0, "aside": 0}
