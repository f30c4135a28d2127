"""An owner with nothing to do does nothing, says how it learns of changes, and finds them without
events too."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.box import Box, eventually
from tests.vault.support import git


def seconds(pid: int) -> float:
    """Processor time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
def test_its_own_writes_set_nothing_going(box: Box) -> None:
    """Every write raises events; answering them must not raise more."""
    lines = "".join(f'{{"text": "Fact {n} of many about the harbour."}}\n' for n in range(200))
    box.ok("remember", "--from-jsonl", "-", stdin=lines.encode())
    box.ok("recall", "harbour")
    eventually(lambda: box.json("status")["pending"] == 0, 20)
    time.sleep(1)
    before, head = seconds(box.pid), git(box.vault, "rev-parse", "HEAD")
    time.sleep(2)
    used = seconds(box.pid) - before
    print(f"{used:.2f} s of processor time in 2 s")
    assert used < 1.0  # a loop of answers to its own writes takes all of a processor
    assert git(box.vault, "rev-parse", "HEAD") == head


@pytest.mark.slow
def test_without_events_it_polls_and_says_so(box: Box) -> None:
    box.ok("stop")
    box.env["ONEIRO_WATCH_POLL"] = "true"
    path = box.vault / box.remember("The ferry leaves at nine.")["path"]
    path.write_text(path.read_text() + "On Sundays at eleven, says Zoltan.\n")
    moved = box.vault / "by hand.md"
    moved.write_text("# By hand\n\nNobody raised an event for this xylophone.\n")
    eventually(
        lambda: (
            [row["path"] for row in box.json("recall", "Zoltan", "--fast")["results"][:1]]
            == [str(path.relative_to(box.vault))]
        ),
        5,
    )
    eventually(
        lambda: (
            [row["path"] for row in box.json("recall", "xylophone", "--fast")["results"][:1]]
            == ["by hand.md"]
        ),
        5,
    )
    assert box.json("status")["watching"].startswith("polling")
    assert "watch-polling" in {problem["code"] for problem in box.json("doctor")["problems"]}


@pytest.mark.slow
def test_vectors_that_vanish_under_it_are_noticed_by_itself(box: Box) -> None:
    """Chroma keeps counting and finds little: nobody asks, and within a reconcile the owner has put
    a new store in its place."""
    box.ok("stop")
    box.numbers["watch.reconcile"] = 2.0
    box.start("serve", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: box.record, 15)
    lines = "".join(
        f'{{"text": "Fact {n} of many about the harbour and boat {n}."}}\n' for n in range(60)
    )
    box.ok("remember", "--from-jsonl", "-", stdin=lines.encode())
    box.ok("recall", "boat 17")
    eventually(lambda: box.json("status")["pending"] == 0, 20)
    before = [row["id"] for row in box.json("recall", "boat 17")["results"]]
    stores = set((box.vault / ".oneiro").glob("chroma-*"))
    (store,) = stores
    for file in store.rglob("*"):
        if file.is_file():
            os.truncate(file, 0)
    eventually(lambda: set((box.vault / ".oneiro").glob("chroma-*")) - stores, 20)
    eventually(lambda: not (state := box.json("status"))["degraded"] and state["pending"] == 0, 20)
    assert [row["id"] for row in box.json("recall", "boat 17")["results"]] == before
