"""Events: appended whole, folded once, read once."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
from pathlib import Path

import pytest

from oneiro_vault.errors import DiskProblem
from oneiro_vault.vault import ledger
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.ledger import Ledger, decode, encode, make, moment, once
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import digest
from oneiro_vault.vault.write import disk
from tests.vault.support import git


def ledger_of(state: Path, root: Path) -> Ledger:
    """The ledger that keeps its state there, of a vault with this root."""
    git(root.parent, "init", "-q", str(root))
    return Ledger(Repo(root), state, time.time)


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return ledger_of(tmp_path / "state", tmp_path)


def test_moments_are_rfc_3339_at_any_clock() -> None:
    assert moment(0) == "1970-01-01T00:00:00Z"
    assert moment(1e30) == "9999-12-31T23:59:59Z"
    assert moment(-1e30) == "0001-01-01T00:00:00Z"


def test_events_survive_the_way_through_a_file() -> None:
    event = make("use", "a" * 12, 0.0, query="tea ☕\n\u2028")
    assert list(decode(encode([event]))) == [event]
    assert list(decode(b'{"e": 1}\n{"torn\n[1]\n{"x": 1}\n\xff\n')) == [{"e": 1}]
    assert list(once([event, event, {"e": "x"}, {"e": "x"}])) == [event, {"e": "x"}, {"e": "x"}]


def test_a_torn_last_line_swallows_nothing(book: Ledger, tmp_path: Path) -> None:
    book.append([make("use", "1", 0)])
    with (tmp_path / "state/pending.jsonl").open("ab") as file:
        file.write(b'{"t": "torn')
    book.append([make("use", "2", 0)])
    assert [event["id"] for event in book.waiting()] == ["1", "2"]


def test_a_full_disk_leaves_whole_lines(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault.ledger.use("1", "use")

    def full(fd: int, data: bytes) -> None:
        os.write(fd, data[:5])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "write_all", full)
    with pytest.raises(DiskProblem, match="full"):
        vault.ledger.use("2", "use")
    monkeypatch.undo()
    vault.ledger.use("3", "use")
    assert [event["id"] for event in vault.ledger.events()] == ["1", "3"]


def test_taking_is_once_and_survives_until_taken(book: Ledger) -> None:
    assert book.take() == b""
    book.append([make("use", "1", 0)])
    lines = book.take()
    book.append([make("use", "2", 0)])
    assert book.take() == lines
    book.taken("another digest")
    assert [event["id"] for event in book.waiting()] == ["1", "2"]
    book.taken(digest(lines))
    assert [event["id"] for event in book.waiting()] == ["2"]
    book.taken("")


def test_an_empty_fold_left_behind_blocks_nothing(book: Ledger, tmp_path: Path) -> None:
    book.append([make("use", "1", 0)])
    (tmp_path / "state/folding.jsonl").write_bytes(b"")
    assert next(decode(book.take()))["id"] == "1"


@pytest.mark.timeout(30)
def test_appending_while_folding_loses_nothing(book: Ledger) -> None:
    taken: list[bytes] = []
    done = threading.Event()

    def fold() -> None:
        while not done.is_set() or book.waiting():
            lines = book.take()
            if lines:
                taken.append(lines)
                book.taken(digest(lines))

    folder = threading.Thread(target=fold)
    folder.start()

    def write() -> None:
        for number in range(40):
            book.append([make("use", str(number), 0)])

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    done.set()
    folder.join()
    assert sum(len(list(decode(lines))) for lines in taken) == 120


def test_the_device_keeps_its_name_until_the_vault_is_copied(tmp_path: Path) -> None:
    first = ledger_of(tmp_path / "s", tmp_path / "a").device
    assert ledger_of(tmp_path / "s", tmp_path / "a").device == first
    assert ledger_of(tmp_path / "s", tmp_path / "copy").device != first
    for damage in (b"", b"{", b"[]", b'{"device": "../x", "root": "r"}'):
        (tmp_path / "s/device").write_bytes(damage)
        assert re.fullmatch(r"[a-z0-9-]+", ledger_of(tmp_path / "s", tmp_path / "r").device)
    (tmp_path / "s/device").write_text(
        json.dumps({"device": "../x", "root": str(tmp_path / "r"), "machine": ledger._machine()})
    )
    assert ".." not in ledger_of(tmp_path / "s", tmp_path / "r").device


def test_a_machine_without_an_id_goes_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", refuse)
    assert ledger._machine() == socket.gethostname()


def test_the_file_is_by_device_and_month(book: Ledger) -> None:
    assert book.file(0.0) == f"ledger/{book.device}/1970-01.jsonl"
