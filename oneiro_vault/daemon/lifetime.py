"""When an owner has to end: nobody asks any more, what it owns is gone, its settings changed, or it
was told to."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from oneiro_vault.errors import SettingsError
from oneiro_vault.settings.definitions import Settings, agreed_file, load, machine_file

SETTINGS_CHANGED = "the settings changed"
"""An owner's reason to end when what it was started with is not in force any more."""


class Guard:
    """Files that must stay the very same ones (one held open keeps its inode number its own)."""

    def __init__(self, *paths: Path) -> None:
        self._stats = {path: path.lstat() for path in paths}

    def lost(self) -> str:
        """The first path that is gone or was replaced, or an empty string."""
        return next(
            (str(path) for path, known in self._stats.items() if not _same(path, known)), ""
        )


def _same(path: Path, known: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.lstat(), known)
    except OSError:
        return False


class SettingsWatch:
    """Notices that the settings on disk are others. `tell` hears what the files say wrongly, each
    time that changes."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        tell: Callable[[Sequence[SettingsError]], None] = lambda _wrong: None,
        read: Callable[[], Settings] | None = None,
    ) -> None:
        self._root = root
        self._tell = tell
        self._read = read or (lambda: load(root, strict=False))
        self._values = {name: settings[name] for name in settings}
        self._stamp = self._look()

    def _look(self) -> tuple[object, ...]:
        return tuple(
            _stamp(path)
            for path in (self._root / "oneiro.toml", machine_file(), agreed_file(self._root))
        )

    def changed(self) -> bool:
        """Has a value changed? One that became wrong does not count: what is in force stays."""
        stamp = self._look()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        now = self._read()
        self._tell(now.wrong)
        return not now.wrong and {name: now[name] for name in now} != self._values


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def identity(root: Path) -> list[int]:
    """What stays the same of a folder when it is moved or reached by another path; [] when it is
    not there."""
    try:
        found = root.stat()
    except OSError:
        return []
    return [found.st_dev, found.st_ino]


@dataclass
class Life:
    """One owner's life. Thread-safe; `clock` is monotonic seconds."""

    root: Path
    idle_limit: float
    lost: Callable[[], str] = lambda: ""
    busy: Callable[[], bool] = lambda: False
    outdated: Callable[[], bool] = lambda: False
    clock: Callable[[], float] = time.monotonic
    started: float = field(default_factory=time.time)
    reason: str = ""
    stopping: threading.Event = field(default_factory=threading.Event)
    _active: int = 0
    _last: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._last = self.clock()
        self.folder = identity(self.root)

    @property
    def idle(self) -> float:
        """Seconds without a request; 0 while one is under way."""
        return 0.0 if self._active else self.clock() - self._last

    @contextmanager
    def request(self) -> Iterator[None]:
        """Counts a request as a sign that the owner is wanted."""
        with self._lock:
            self._active += 1
        try:
            yield
        finally:
            with self._lock:
                self._active -= 1
                self._last = self.clock()

    def end(self, reason: str) -> None:
        """Begin to end; the first reason stays."""
        self.reason = self.reason or reason
        self.stopping.set()

    def examine(self) -> bool:
        """Should the owner still live? Begins to end it when not."""
        if not self.stopping.is_set() and (gone := self.lost()):
            self.end(f"{gone} is gone or was replaced")
        if not self.stopping.is_set() and not self._active and self.outdated():
            self.end(SETTINGS_CHANGED)
        if not self.stopping.is_set() and self.idle >= self.idle_limit and not self.busy():
            self.end(f"nobody asked for {self.idle_limit:g} seconds")
        return not self.stopping.is_set()
