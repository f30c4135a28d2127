"""What the drills on the whole product share: acknowledgements, the processes of a vault, and the
promises that must hold after any of it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import threading
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from oneiro_vault.index.embed.embedders import HashEmbedder
from oneiro_vault.index.store import Index
from oneiro_vault.settings import locations
from oneiro_vault.vault.vault import Vault
from tests.box import Box, command_line, eventually
from tests.index.contents import content, dump
from tests.vault.support import git

OURS = {"write.lock", "owner.lock", "start.lock"}
"""Files that are locked, not lock files: they stay."""


def acks(text: bytes) -> dict[str, str]:
    """path -> sha256 of every whole ACK line."""
    found = [line.split(b" ") for line in text.split(b"\n")[:-1] if line.startswith(b"ACK ")]
    return {path.decode(): sha.decode() for _, path, sha in found}


class Feeder:
    """A client that is fed one line after the other until somebody stops it; `acked` grows as it
    answers."""

    def __init__(self, box: Box, first: int, pause: float = 0.004) -> None:
        self.process = box.start(
            "remember", "--from-jsonl", "-", "--ack",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        self.acked: dict[str, str] = {}
        self.said = b""
        self._enough = threading.Event()
        self._threads = [
            threading.Thread(target=self._feed, args=(first, pause)),
            threading.Thread(target=self._listen),
            threading.Thread(target=self._hear),
        ]
        for thread in self._threads:
            thread.start()

    def _feed(self, number: int, pause: float) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):
            while not self._enough.wait(pause):
                self.process.stdin.write(
                    json.dumps({"text": f"Fact number n{number}n of the drill."}).encode() + b"\n"
                )
                self.process.stdin.flush()
                number += 1
        with suppress(OSError):
            self.process.stdin.close()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.acked |= acks(line)

    def _hear(self) -> None:
        assert self.process.stderr is not None
        self.said = self.process.stderr.read()

    def stop(self) -> int:
        """No more lines; the exit code once everything it said has been read."""
        self._enough.set()
        code = self.process.wait(30)
        for thread in self._threads:
            thread.join(30)
        return code


def owner_pids(box: Box) -> list[int]:
    """The process that holds the vault, also one that is still opening it."""
    found = set()
    state = Path(locations.state_dir(str(box.vault)))
    for name in ("owner.json", "owner.lock"):
        with suppress(OSError, ValueError, KeyError):
            found.add(int(json.loads((state / name).read_text())["pid"]))
    return [
        pid
        for pid in found
        if str(box.vault) in command_line(pid) and " serve " in command_line(pid)
    ]


def children(pid: int) -> list[int]:
    """Processes whose parent is `pid`."""
    try:
        return [
            int(word)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for word in (task / "children").read_text().split()
        ]
    except OSError:
        return []


def kill(pid: int) -> bool:
    """kill -9; False when it was gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def processes(box: Box) -> dict[int, str]:
    """Every living process that names this vault in its command line, except ours."""
    pids = [
        int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()
    ]
    return {pid: line for pid in pids if str(box.vault) in (line := command_line(pid))}


def committed(root: Path, paths: list[str]) -> dict[str, str]:
    """path -> sha256 of its bytes in HEAD."""
    asked = "".join(f"HEAD:{path}\n" for path in paths)
    done = subprocess.run(
        ["git", "-C", str(root), "cat-file", "--batch"],
        input=asked.encode(),
        capture_output=True,
        check=True,
    )
    found, rest = {}, done.stdout
    for path in paths:
        head, _, rest = rest.partition(b"\n")
        if not head.endswith(b" missing"):
            size = int(head.split()[2])
            found[path], rest = sha256(rest[:size]).hexdigest(), rest[size + 1 :]
    return found


def kept(box: Box, acked: dict[str, str], *, thorough: bool = True) -> None:
    """Every acknowledged memory is in HEAD and on disk with these bytes; nothing was deleted; git
    finds nothing wrong; no lock is stuck.

    git's own check of every object, which takes longer the older a vault is, only when `thorough`.
    """
    root = box.vault
    assert committed(root, list(acked)) == acked
    assert {path: sha256((root / path).read_bytes()).hexdigest() for path in acked} == acked
    assert git(root, "log", "--diff-filter=D", "--name-only", "--format=") == ""
    assert not thorough or git(root, "fsck", "--strict", "--no-dangling") == ""
    eventually(lambda: git(root, "status", "--porcelain", "--untracked-files=all") == "", 5)
    assert {lock.name for lock in (root / ".git").rglob("*.lock")} <= OURS
    assert not list(root.rglob("*.oneiro-tmp"))


def owners_index(box: Box) -> dict[str, list[Any]]:
    """What the running owner's keyword index holds right now, read beside it."""
    with closing(sqlite3.connect(f"file:{box.vault}/.oneiro/index.db?mode=ro", uri=True)) as db:
        return content(db)


def fresh_index(box: Box, folder: Path) -> dict[str, list[Any]]:
    """What an index built now from nothing holds."""
    vault = Vault.open(box.vault, quiet=3600)
    index = Index.open(folder, vault.files, HashEmbedder(), vectors="ram", past=vault.past)
    try:
        index.refresh()
        return dump(index)
    finally:
        index.close()


def differences(one: dict[str, list[Any]], other: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Table -> rows that only one of two dumps has, shortened for a message."""
    found = {
        name: [
            row for row in one[name] + other[name] if (row in one[name]) != (row in other[name])
        ][:4]
        for name in one
    }
    return {name: [repr(row)[:300] for row in rows] for name, rows in found.items() if rows}
