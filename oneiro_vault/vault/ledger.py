"""What notes cannot carry: recalls, citations, tombstones. One JSON object a line, one file per
device and month, only ever appended to.

Events wait in `<git dir>/oneiro/pending.jsonl` and ride along in the next commit, exactly once: the
file is renamed before it is folded, and the journal's intent names its digest.
"""
# pathlib is left out here: append-only descriptors.
# ruff: noqa: PTH104, PTH105, PTH116

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import socket
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from oneiro_vault.answers import Json
from oneiro_vault.core.memory import ALPHABET
from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.errors import GitProblem
from oneiro_vault.vault.worktree.files import digest, stamp
from oneiro_vault.vault.write import disk

if TYPE_CHECKING:
    from oneiro_vault.vault.git.repository import Repo

Event = Json
UNDONE: Final = "undo"
"""Why of a tombstone: what brought the memory was taken back, and may bring it again."""
FOLDER: Final = "ledger"


def moment(when: float) -> str:
    """Epoch seconds as RFC 3339 in UTC, to the second; taken to the calendar's edge."""
    return (
        datetime.fromtimestamp(min(max(when, -62135596800.0), 253402300799.0), UTC)
        .isoformat(timespec="seconds")
        .replace("+00:00", "Z")
    )


def make(kind: str, memory: str, when: float, **fields: Any) -> Event:
    """`n` tells repeats from twins."""
    return {"t": moment(when), "e": kind, "id": memory, "n": secrets.token_hex(4), **fields}


def encode(events: Iterable[Mapping[str, Any]]) -> bytes:
    """Events as lines."""
    return b"".join(
        json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        + b"\n"
        for event in events
    )


def decode(data: bytes) -> Iterator[Event]:
    """Events from lines; torn or foreign lines are skipped."""
    for line in data.split(b"\n"):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):  # a pulled line may be anything
            continue
        if isinstance(event, dict) and "e" in event:
            yield event


def once(events: Iterable[Event]) -> Iterator[Event]:
    """Without repeats (same `n`): a crash or a merge may show an event twice."""
    seen: set[str] = set()
    for event in events:
        mark = str(event.get("n", ""))
        if not mark or mark not in seen:
            seen.add(mark)
            yield event


class Ledger:
    """The events, and the name of this device; those not yet in history wait in `folder`, which is
    `<git dir>/oneiro/`."""

    def __init__(self, repo: Repo, folder: Path, clock: Callable[[], float]) -> None:
        self._repo = repo
        self._folder = folder
        self._root = repo.root
        self._clock = clock
        self._pending = folder / "pending.jsonl"
        self._folding = folder / "folding.jsonl"
        self._files: Final = self._folding, self._pending
        self._device = ""

    @property
    def device(self) -> str:
        """This clone's name in the ledger and in trailers; a copied vault gets its own."""
        if not self._device:
            self._device = self._known() or self._named()
        return self._device

    def events(self) -> Iterator[Event]:
        """Every event once, by its time: as the tip has them, and this device's pending ones."""
        files = self._repo.listing(self._repo.tip(), FOLDER)
        known = (
            event
            for path in sorted(files)
            if path.endswith(".jsonl")
            for event in self._told(path, files[path].blob)
        )
        found = once(event for source in (known, self.waiting()) for event in source)
        yield from sorted(found, key=lambda event: str(event.get("t", "")))

    def _told(self, path: str, blob: str) -> Iterator[Event]:
        """None, rather than no answer at all, from a file that is damaged in history and on
        disk."""
        with suppress(GitProblem):
            yield from decode(self.committed(path, blob))

    def stamp(self) -> Hashable:
        """Changes whenever `events` may have something new to say."""
        return self._repo.folder(self._repo.tip(), FOLDER), *map(stamp, self._files)

    def use(self, memory: str, event: str, **fields: Any) -> None:
        """Note a recall or a citation; it rides along in the next commit. Raises DiskProblem."""
        with disk.guarded("Noting an event"):
            self.append([make(event, memory, self._clock(), **fields)])

    def overdue(self, longer: float, besides: str = "") -> bool:
        """Has an event, of any kind `besides` that one, waited so many seconds for a commit?"""
        first = min(
            (str(event.get("t", "")) for event in self.waiting() if event["e"] != besides),
            default="",
        )
        return bool(first) and first <= moment(self._clock() - longer)

    def committed(self, path: str, blob: str) -> bytes:
        """As history has it, or, where that object is damaged, the same bytes on disk. Raises
        GitProblem."""
        try:
            return self._repo.data(blob)
        except GitProblem:
            place = self._root / path
            data = place.read_bytes() if place.is_file() and not place.is_symlink() else b""
            if blob_id(data) != blob:
                raise
            return data

    def _known(self) -> str:
        try:
            found = json.loads((self._folder / "device").read_bytes())
        except (OSError, ValueError):
            return ""
        here = (
            isinstance(found, dict)
            and found.get("root") == str(self._root)
            and found.get("machine") == _machine()
        )
        return (
            str(found["device"])
            if here and re.fullmatch(r"[a-z0-9-]{1,40}", str(found.get("device", "")))
            else ""
        )

    def _named(self) -> str:
        host = re.sub(r"[^a-z0-9]+", "-", socket.gethostname().lower()).strip("-")[:24] or "device"
        name = f"{host}-{''.join(secrets.choice(ALPHABET) for _ in range(4))}"
        temp = self._folder / f"device.{secrets.token_hex(4)}"
        self._folder.mkdir(exist_ok=True)
        disk.write_new(
            str(temp),
            json.dumps({"device": name, "root": str(self._root), "machine": _machine()}).encode(),
        )
        os.replace(temp, self._folder / "device")
        return name

    def file(self, when: float) -> str:
        """Vault path of this device's ledger for that moment."""
        return f"{FOLDER}/{self.device}/{moment(when)[:7]}.jsonl"

    def append(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Add events to the pending file, each line in one piece. Raises OSError."""
        data = encode(events)
        self._folder.mkdir(exist_ok=True)
        while True:
            fd = os.open(self._pending, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
                if not _same(fd, self._pending):
                    # it was renamed for folding between open and lock: our line would be lost with
                    # it
                    continue
                disk.append(fd, data, durable=True)
                return
            finally:
                os.close(fd)

    def take(self) -> bytes:
        """The lines to fold into the commit being made; they stay until `taken`. Call with the
        write lock."""
        lines = self._renamed()
        if not lines:  # nothing was left of an earlier fold, so what is pending now takes its place
            self._folding.unlink(missing_ok=True)
            self._rename()
            lines = self._renamed()
        return lines

    def _renamed(self) -> bytes:
        try:
            return encode(once(decode(self._folding.read_bytes())))
        except FileNotFoundError:
            return b""

    def _rename(self) -> None:
        try:
            fd = os.open(self._pending, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            os.rename(self._pending, self._folding)
            os.fsync(fd)
        finally:
            os.close(fd)

    def taken(self, fold: str) -> None:
        """The lines with this digest are in history."""
        if fold and digest(self._renamed()) == fold:
            self._folding.unlink(missing_ok=True)

    def waiting(self) -> list[Event]:
        """Events not yet in history."""
        found: list[Event] = []
        for path in self._files:
            try:
                found.extend(decode(path.read_bytes()))
            except FileNotFoundError:
                continue
        return found


def _same(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


def _machine() -> str:
    try:
        return Path("/etc/machine-id").read_text().strip() or socket.gethostname()
    except OSError:
        return socket.gethostname()
