"""What must survive a kill between two steps of a write: intents, and a witness of the tip. Lives
in `<git dir>/oneiro/`.

An intent is durable before the branch moves, so whatever lags behind afterwards (a note, an index
entry) is known to be ours and not a person's edit. It goes away when nothing lags any more.
"""
# pathlib is left out here: append-only descriptors.
# ruff: noqa: PTH105

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from oneiro_vault.answers import Json
from oneiro_vault.vault.git import activity
from oneiro_vault.vault.git.staging_area import Entry
from oneiro_vault.vault.write import disk

log = logging.getLogger("oneiro.vault")
_KEPT_LINES: Final = 50
_WITNESS_BYTES: Final = 64_000
_NAMED: Final = 20


@dataclass(frozen=True)
class Intent:
    """One commit on its way: `paths` are path -> (blob before, blob after, mode), "" for absent;
    `fold` the digest of folded events."""

    ref: str
    before: str
    commit: str
    paths: dict[str, tuple[str, str, int]]
    fold: str = ""
    on_disk: bool = False


@dataclass
class Owed:
    """What a path may still hold (`olds`) instead of `blob`."""

    blob: str
    mode: int
    olds: set[str] = field(default_factory=set)

    @property
    def entry(self) -> Entry | None:
        """As a tree entry, None when the path is gone."""
        return Entry(self.blob, self.mode) if self.blob else None


def owed(intents: Iterable[Intent]) -> dict[str, Owed]:
    """Per path the newest content and every older one that intents replaced."""
    found: dict[str, Owed] = {}
    for intent in intents:
        for path, (old, new, mode) in intent.paths.items():
            known = found.setdefault(path, Owed(old, mode))
            known.olds |= {known.blob, old}
            known.blob, known.mode = new, mode
    return found


@dataclass(frozen=True)
class Seen:
    """The branch was at `commit`, these notes were written last, in this boot of the machine."""

    ref: str
    commit: str
    paths: tuple[str, ...] = ()
    boot: str = ""


def boot_id() -> str:
    """Changes when the machine restarts; "" where that cannot be told."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


class Journal:
    """Every method but `read` and `witnesses` needs the write lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.aside = folder / "aside"
        self._file = folder / "journal"
        self._tip = folder / "tip"
        self.intents: list[Intent] = []
        self._stamp = self._seen_at = _stamp(None)
        self._seen: list[Seen] = []

    @property
    def files(self) -> list[str]:
        """What to fsync after `begin`."""
        return [str(self._file), str(self.folder)]

    @property
    def written(self) -> float:
        """When an intent was last noted, or found on disk (epoch seconds)."""
        return _stamp(self._file)[1] / 1e9

    def unchanged(self) -> bool:
        """Is the journal on disk what this process knows already?"""
        return _stamp(self._file) == self._stamp

    def peek(self) -> list[Intent]:
        """Intents as they are on disk, without taking them over (needs no lock)."""
        return self.intents if self.unchanged() else self._parsed()

    def read(self) -> list[Intent]:
        """Intents on disk, oldest first, taken over as this process's own."""
        stamp = _stamp(self._file)
        self.intents, self._stamp = self._parsed(), stamp
        return self.intents

    def _parsed(self) -> list[Intent]:
        """A torn last line is no intent: its commit never happened."""
        found: dict[str, Intent] = {}
        for line in _lines(self._file):
            if "commit" in line:
                intent = _intent(line)
                found[intent.commit] = intent
            elif line.get("done") in found:
                found[line["done"]] = replace(found[line["done"]], on_disk=True)
            elif line.get("void") in found:
                del found[line["void"]]
        return list(found.values())

    def begin(self, intent: Intent) -> None:
        """Append an intent (not yet durable: fsync `files`)."""
        self._append(vars(intent))
        self.intents.append(intent)

    def void(self, intent: Intent) -> None:
        """The branch did not move: the intent never was."""
        self._append({"void": intent.commit})
        self.intents = [known for known in self.intents if known.commit != intent.commit]

    def done(self, intent: Intent) -> None:
        """Every note of the intent is on disk (or deliberately left to the person)."""
        self._append({"done": intent.commit})
        self.intents = [
            replace(known, on_disk=True) if known.commit == intent.commit else known
            for known in self.intents
        ]

    def clear(self) -> None:
        """Nothing lags any more."""
        if _size(self._file):
            os.truncate(self._file, 0)
        self.intents, self._stamp = [], _stamp(self._file)

    def keep(self, intents: list[Intent]) -> None:
        """Only these still matter."""
        if not intents:
            return self.clear()
        if intents != self.intents:
            temp = self.folder / "journal.new"
            temp.unlink(missing_ok=True)
            disk.write_new(str(temp), b"".join(_encoded(vars(intent)) for intent in intents))
            disk.sync([str(temp)])
            os.replace(temp, self._file)
            disk.sync([str(self.folder)])
        self.intents, self._stamp = list(intents), _stamp(self._file)
        return None

    def _append(self, line: Json) -> None:
        _append(self._file, line)
        self._stamp = _stamp(self._file)

    # -- the witness

    def witness(self, ref: str, commit: str, paths: Iterable[str]) -> str:
        """Write down where the branch is; returns the file to fsync."""
        if _size(self._tip) > _WITNESS_BYTES:
            self._compact()
        seen = Seen(ref, commit, tuple(paths)[:_NAMED], boot_id())
        known = _stamp(self._tip) == self._seen_at
        _append(self._tip, vars(seen))
        if known:
            self._seen, self._seen_at = [seen, *self._seen], _stamp(self._tip)
        return str(self._tip)

    def witnesses(self) -> list[Seen]:
        """Where the branch is known to have been, newest first. Read again only when another
        process has written."""
        stamp = _stamp(self._tip)
        if stamp != self._seen_at:
            lines = [line for line in _lines(self._tip) if "commit" in line]
            seen = [
                Seen(
                    line["ref"], line["commit"], tuple(line.get("paths", ())), line.get("boot", "")
                )
                for line in lines
            ]
            self._seen, self._seen_at = seen[::-1], stamp
        return self._seen

    def last(self, ref: str) -> str:
        """The newest commit that we put on a branch, "" for none; of what is on its way, only what
        has arrived."""
        arrived = [intent.commit for intent in self.peek() if intent.ref == ref and intent.on_disk]
        return (
            arrived[-1]
            if arrived
            else next((seen.commit for seen in self.witnesses() if seen.ref == ref), "")
        )

    def _compact(self) -> None:
        lines = self._tip.read_bytes().splitlines(keepends=True)[-_KEPT_LINES:]
        temp = self.folder / "tip.new"
        temp.unlink(missing_ok=True)
        disk.write_new(str(temp), b"".join(lines))
        disk.sync([str(temp)])
        os.replace(temp, self._tip)

    def restart(self) -> None:
        """Forget everything: the history it speaks of was purged."""
        self.clear()
        for path in (self._file, self._tip, self.folder / "repairs.jsonl"):
            path.unlink(missing_ok=True)

    # -- moving things out of the way

    def set_aside(self, path: Path, why: str) -> None:
        """Move a file that is in the way into `aside/` and log it."""
        place = activity.set_aside(path, self.aside)
        log.warning("%s: moved aside to %s (%s)", path, place, why)
        _append(self.folder / "repairs.jsonl", {"path": str(path), "aside": str(place), "why": why})


def _encoded(line: Json) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def _append(path: Path, line: Json) -> None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        disk.append(fd, _encoded(line))
    finally:
        os.close(fd)


def _lines(path: Path) -> list[Json]:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return []
    found = []
    for piece in raw.split(b"\n"):
        try:
            line = json.loads(piece)
        except ValueError:
            continue
        if isinstance(line, dict):
            found.append(line)
    return found


def _intent(line: Json) -> Intent:
    paths = {
        path: (str(old), str(new), int(mode)) for path, (old, new, mode) in line["paths"].items()
    }
    return Intent(
        line["ref"],
        line["before"],
        line["commit"],
        paths,
        line.get("fold", ""),
        bool(line.get("on_disk")),
    )


def _stamp(path: Path | None) -> tuple[int, int, int]:
    try:
        found = path.stat() if path else None
    except FileNotFoundError:
        found = None
    return (
        (found.st_size, found.st_mtime_ns, found.st_ino) if found and found.st_size else (0, 0, 0)
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
