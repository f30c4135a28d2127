"""Reading as a person sees it: broken notes, hostile ones, proposals, long slips of the keyboard;
and the same as JSON."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from contextlib import suppress

import pytest

from tests.box import Box, eventually

MARKERS = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n"


def test_a_broken_note_is_shown_as_it_last_was_with_what_to_do(fresh: Box) -> None:
    fresh.init()
    row = fresh.remember("The boiler was serviced in March.", "--title", "Boiler")
    path = fresh.vault / row["path"]
    path.write_text(path.read_text() + MARKERS)
    eventually(lambda: fresh.json("status")["unreadable"], 10)
    for command in ("show", "why"):
        lines = fresh.ok(command, row["id"]).splitlines()
        assert lines[0] == f"{row['path']}: the note has conflict markers of an unfinished merge."
        assert lines[2].startswith("Correct that file in any editor")
        assert "Boiler" in lines[3]
    assert "The boiler was serviced in March." in fresh.ok("show", row["id"])
    assert fresh.json("show", row["id"])["notice"]["path"] == row["path"]


@pytest.mark.slow
def test_recall_shows_the_line_and_sets_weaker_rows_apart(owned: Box) -> None:
    owned.init()
    owned.remember(
        "Notes about the house.\n\nThe garden is large.\n\nThe pump is broken; Jan brings an "
        "impeller in June.",
        "--title",
        "House",
    )
    owned.remember("Mika borrowed the ladder.")
    owned.remember("Tomás prefers short written updates.")
    eventually(lambda: owned.json("status")["pending"] == 0, 20)
    lines = owned.ok("recall", "impeller").splitlines()
    assert lines[1] == "    The pump is broken; Jan brings an impeller in June."
    assert len(lines) == 2 or lines[2] == "weaker:"
    found = owned.json("recall", "impeller")["results"]
    assert found[0]["snippet"] == "The pump is broken; Jan brings an impeller in June."
    assert not found[0]["weak"]
    assert all(row["weak"] for row in found[1:])


def test_a_proposal_is_marked_in_the_list(box: Box) -> None:
    row = box.remember("The fence is green.", "--title", "Fence")
    note = box.vault / row["path"]
    note.write_text(note.read_text() + "Or blue, says Mika.\n")
    box.ok("reframe", row["id"], "The fence is red.", "--base", row["sha256"])
    marked = [text for text in box.ok("list").splitlines() if "[pending]" in text]
    assert ["Proposed: Fence" in text for text in marked] == [True]
    (box.vault / "old.md").write_text("---\nstatus: superseded\n---\nThe fence was grey.\n")
    eventually(lambda: "[superseded]" in box.ok("list"), 10)


def test_nothing_in_a_note_steers_the_terminal(box: Box) -> None:
    text = "Gate \u202eedoc\u202c \x1b]0;x\x07 is on the card, pass\u200bword, a\u2066b\u2069.\n"
    row = box.json("remember", "-", "--title", "Gate \u202e\u200fcode\x1b[2J", stdin=text.encode())[
        "results"
    ][0]
    hidden = "\u202e\u202c\u200f\u2066\u2069\u200b\x1b\x07"
    for args in (
        ["recall", "gate card"],
        ["show", row["id"]],
        ["show", row["id"], "--why"],
        ["list"],
        ["log"],
        ["why", row["id"]],
    ):
        seen = box.ok(*args)
        assert not set(hidden) & set(seen), args
    raw = box.json("show", row["id"])
    assert "\u202eedoc\u202c \x1b]0;x\x07" in raw["body"]
    assert "\u202e" in box.json("recall", "gate card")["results"][0]["snippet"]


LONG = "z" * 100_000


@pytest.mark.parametrize(
    "args",
    [
        ["show", LONG],
        ["show", f"{LONG}/x.md"],
        ["why", LONG],
        ["log", LONG],
        ["forget", LONG],
        ["restore", LONG],
        ["reframe", LONG, "x"],
        ["undo", LONG],
        ["recall", "x", "--type", LONG],
        ["recall", "x", "--since", LONG],
        ["list", "--status", LONG],
        ["list", "--type", LONG],
        ["list", "-n", LONG],
        ["remember", "x", "--type", LONG],
        ["remember", "x", "--path", f"{LONG}.txt"],
        ["remember", "x", "--path", f"{LONG}.md"],
        ["remember", "x", "--created", LONG],
        ["remember", "x", "--importance", LONG],
        ["adopt", LONG],
        [LONG],
        ["list", f"--{LONG}"],
        ["list", LONG],
    ],
    ids=lambda args: " ".join(arg[:12] for arg in args),
)
def test_what_was_typed_is_not_echoed_whole(box: Box, args: list[str]) -> None:
    done = box(*args)
    assert done.returncode in (2, 3)
    assert 0 < len(done.stderr) < 3000
    assert b"Traceback" not in done.stderr
    as_json = box("--json", *args)
    assert len(as_json.stdout + as_json.stderr) < 4000
    if as_json.stdout:
        assert json.loads(as_json.stdout)


def test_an_unknown_type_is_named_with_the_nearest(box: Box) -> None:
    done = box("recall", "x", "--type", "semantc")
    assert done.returncode == 2
    assert b"did you mean 'semantic'" in done.stderr
    assert b"episodic, semantic, orientation, entity, procedure, principle" in done.stderr


@pytest.mark.parametrize("args", [["--json", "--version"], ["--version", "--json"]])
def test_the_version_for_programs(box: Box, args: list[str]) -> None:
    found = box.ok(*args)
    assert json.loads(found) == {"schema": 1, "version": box.ok("--version").split()[1]}


def test_a_log_that_reads_well(fresh: Box) -> None:
    fresh.init()
    row = fresh.remember("The tea is in the blue tin.", "--title", "Tea")
    commit = fresh.json("log")["entries"][0]["commit"][:10]
    undone = fresh.ok("undo", "HEAD")
    assert undone.splitlines()[1] == f"  {row['path']} is taken out again"
    assert fresh.ok("undo", "HEAD").splitlines()[1] == f"  {row['path']} is as it was"
    fresh.ok("undo", "HEAD")
    git = [
        "git",
        "-C",
        str(fresh.vault),
        "-c",
        "user.name=Pat",
        "-c",
        "user.email=p@e.org",
        "commit",
        "-q",
        "--allow-empty",
    ]
    subprocess.run([*git, "-m", "a note to myself"], env=fresh.env, check=True, timeout=20)
    said = [text.split("  ", 2)[2] for text in fresh.ok("log", "-n", "5").splitlines()]
    assert said == [
        "a note to myself  Pat",
        f"undo: {commit} remember: Tea  (took out {row['path']})  user",
        f"redo: {commit} remember: Tea  user",
        f"undo: {commit} remember: Tea  (took out {row['path']})  user",
        "remember: Tea  user",
    ]
    entries = fresh.json("log", "-n", "5")["entries"]
    assert [entry["removed"] for entry in entries] == [[], [row["path"]], [], [row["path"]], []]


@pytest.mark.slow
def test_a_vault_that_seems_to_vanish_is_said_on_the_side(owned: Box) -> None:
    owned.init()
    lines = "".join(
        json.dumps({"text": f"Fact number {n} about item {n}."}) + "\n" for n in range(30)
    ).encode()
    owned.ok("--no-daemon", "remember", "--from-jsonl", "-", stdin=lines)
    for path in sorted((owned.vault / "semantic").rglob("*.md"))[:25]:
        path.unlink()
    for args in (["list"], ["recall", "fact"], ["log"], ["--json", "list"]):
        done = owned("--no-daemon", *args, env={"ONEIRO_EDITS_COMMIT": "false"})
        assert done.returncode == 0
        assert done.stderr.decode().count("25 of 30 files vanished at once") == 1, args
        assert b"keywords only" not in done.stderr
    assert (
        "[file gone]"
        in owned("--no-daemon", "list", env={"ONEIRO_EDITS_COMMIT": "false"}).stdout.decode()
    )
    refused = owned("--no-daemon", "reindex", env={"ONEIRO_EDITS_COMMIT": "false"})
    assert refused.returncode == 8
    assert b"`oneiro reindex --yes` goes on without them" in refused.stderr
    assert "25 notes" in answered(owned, "n")
    assert "Indexed 5 notes" in answered(owned, "y")


def answered(box: Box, answer: str) -> str:
    """What `reindex` shows a person who answers its question so."""
    master, slave = pty.openpty()
    env = box.env | {"TERM": "dumb", "ONEIRO_EDITS_COMMIT": "false"}
    process = subprocess.Popen(
        box.argv("--no-daemon", "reindex"), env=env, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    os.write(master, f"{answer}\n".encode())
    seen = b""
    with suppress(OSError):  # the terminal has closed
        while part := os.read(master, 65536):
            seen += part
    os.close(master)
    assert process.wait(30) == (0 if answer == "y" else 8)
    return seen.decode()


def test_reindex_says_in_one_line_what_it_does(box: Box) -> None:
    done = box("reindex")
    assert done.returncode == 0
    waited = "oneiro: "  # a slow machine says what it is at
    assert [line for line in done.stderr.decode().splitlines() if not line.startswith(waited)] == [
        "Building new indexes beside the old ones, which answer meanwhile. Notes, history and "
        "vectors stay."
    ]
    assert box("--json", "reindex").stderr == b""


def test_watching_as_json_lines(box: Box) -> None:
    process = box.start("--json", "watch", stdout=subprocess.PIPE)
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    note, seen = box.vault / "seen twice.md", b""
    for number in range(100):  # the first event may come before the watch has begun
        note.write_text(f"Seen {number}.\n")
        try:
            seen += process.stdout.read() or b""
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            pass
        if seen.count(b"seen twice.md") > 1:
            break
    note.unlink()
    events = [json.loads(text) for text in seen.splitlines()]
    one = next(event for event in events if event["path"] == "seen twice.md")
    assert (one["event"], len(one["sha256"])) == ("IDX", 64)
