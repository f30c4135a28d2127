"""Figures of the bar that depend on size: a note of 30 MB by default, ten thousand notes as a
drill."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests.box import Box, eventually
from tests.drills.whole import acks, kill, owners_index
from tests.vault.support import git

LIMIT = 500_000_000
"""Bytes of memory an owner may take at its worst moment."""


def peak(box: Box) -> int:
    """The most memory the owner ever had, in bytes."""
    status = Path(f"/proc/{box.pid}/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


@pytest.mark.slow
def test_a_note_of_thirty_megabytes(box: Box) -> None:
    note = box.vault / "huge.md"
    note.write_bytes(
        b"# Huge\n\nstartword\n\n"
        + b"Some words that are in the way. " * 1_000_000
        + b"\n\nendword\n"
    )
    started = time.monotonic()
    eventually(lambda: box.json("recall", "startword")["results"], 20)
    print(
        f"searchable after {time.monotonic() - started:.1f} s, the owner took "
        f"{peak(box) / 1e6:.0f} MB"
    )
    assert [row["title"] for row in box.json("recall", "startword")["results"][:1]] == ["Huge"]
    assert not [
        row
        for row in box.json("recall", "endword", "--explain")["results"]
        if row["why"].get("words", 0) > 0.5
    ]
    with_words = box.remember("A small note beside the huge one.")
    assert box.json("recall", "small note beside")["results"][0]["id"] == with_words["id"]
    assert peak(box) < LIMIT
    assert os.stat(note).st_size > 30_000_000


@pytest.mark.drill
@pytest.mark.timeout(1200)
def test_ten_thousand_notes(box: Box, tmp_path: Path) -> None:
    """One pull brings them; a kill, a lost index and a no-change start afterwards have their
    figures."""
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(box.vault), str(other))
    for number in range(10_000):
        place = other / f"semantic/2024/{number % 12 + 1:02d}"
        place.mkdir(parents=True, exist_ok=True)
        text = (
            f"Fact {number} about item {number % 977}: the {['red', 'blue', 'old'][number % 3]} "
            f"one, see [[fact {number // 2}]].\n" * 4
        )
        (place / f"fact {number}.md").write_text(
            f"---\nid: {number:012d}\ntype: semantic\ntitle: Fact {number}\n---\n{text}"
        )
    git(other, "add", "-A")
    git(other, "commit", "-qm", "ten thousand")
    assert box.pid
    git(box.vault, "pull", "-q", str(other), "main")
    started = time.monotonic()
    eventually(lambda: len(owners_index(box)["notes"]) >= 10_000, 60)
    print(
        f"indexed {time.monotonic() - started:.1f} s after the pull; peak {peak(box) / 1e6:.0f} MB"
    )
    assert peak(box) < LIMIT
    eventually(lambda: box.json("status")["pending"] == 0, 300)
    print(
        f"vectors {time.monotonic() - started:.1f} s after the pull; peak {peak(box) / 1e6:.0f} MB"
    )
    assert peak(box) < LIMIT
    waits = []
    for number in range(5):
        kill(box.pid)
        started = time.monotonic()
        assert acks(box.ok("remember", f"After kill {number}.", "--again", "--ack").encode())
        waits.append(time.monotonic() - started)
    print("first ACK after a kill:", [round(wait, 2) for wait in waits])
    assert sorted(waits)[2] <= 2.0
    questions = ["red item 17", "fact 4711", "item 300", "old one", "After kill"]
    before = [
        [row["id"] for row in box.json("recall", question)["results"]] for question in questions
    ]
    started = time.monotonic()
    found = json.loads(box("--json", "reindex").stdout)
    print(f"reindex {time.monotonic() - started:.1f} s")
    assert time.monotonic() - started <= 60
    assert found["notes"] == 10_005
    assert [
        [row["id"] for row in box.json("recall", question)["results"]] for question in questions
    ] == before
