"""What the file system says has changed: a hint that makes the index quick, never what makes it
right (`refresh` does that).

Each folder at the top gets a recursive watch and the root a flat one, so that `.git` and `.oneiro`
cost nothing. Where watching is impossible (network disk, no inotify watches left), everything is
compared every few seconds.
"""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

_EVENTS: Final[list[type[FileSystemEvent]]] = [
    FileCreatedEvent, FileModifiedEvent, FileMovedEvent, FileDeletedEvent, FileClosedEvent,
    DirCreatedEvent, DirMovedEvent, DirDeletedEvent,
]  # fmt: skip
"""Never `opened` or `closed without writing`: reading a note would raise them, and the index would
feed itself."""
_LOGGER: Final = "watchdog.observers.inotify_c"
_OVERFLOW: Final = "queue overflowed"
_NETWORK: Final = tuple(
    "nfs cifs smb 9p fuse. vboxsf drvfs afs ceph glusterfs lustre ncpfs davfs".split()
)
_POLL: Final = 2.0
_PATIENCE: Final = 2.0
"""Seconds after which a file that never rests is indexed all the same."""
_NO_ROOM: Final = (errno.ENOSPC, errno.EMFILE, errno.ENFILE)

log = logging.getLogger(__name__)


class Watcher:
    """Calls `on_dirty` with paths that changed (folders with an ending slash) once they rested for
    `debounce` seconds, and `on_overflow` when anything may have changed, from its own threads.
    `mode`: `events` or `polling`; `reason`: why the latter."""

    def __init__(
        self,
        root: Path,
        on_dirty: Callable[[set[str]], object],
        on_overflow: Callable[[], object],
        *,
        debounce: float = 0.15,
        poll: bool = False,
        every: float = _POLL,
    ) -> None:
        self.mode = "polling" if poll else "events"
        self.reason = "asked for by watch.poll" if poll else ""
        self._root = root.resolve()
        self._on_dirty = on_dirty
        self._on_overflow = on_overflow
        self._debounce = debounce
        self._every = every
        self._changed = threading.Condition()
        self._dirty: dict[str, tuple[float, float]] = {}
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []
        self._observer: Any = None
        self._watches: dict[str, Any] = {}
        self._handler = _Handler(self)
        self._ear = _Ear(self.overflow)

    def start(self) -> None:
        """Begin; what changes from now on is reported."""
        shared = network(self._root, _mounts())
        if self.mode == "events" and shared:
            self._poll_because(f"{shared} tells nobody about changes made elsewhere")
        if self.mode == "events":
            try:
                self._watch()
            except OSError as error:
                self._stop_watching()
                self._poll_because(_why(error))
        self._run(self._poll if self.mode == "polling" else self._report)

    def stop(self) -> None:
        """End; nothing is reported after this returns."""
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()
        self._stop_watching()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(5)

    # -- called by the handler

    def seen(self, event: FileSystemEvent) -> None:
        """Take in one event."""
        folder = event.is_directory
        for raw in (event.src_path, getattr(event, "dest_path", "")):
            path = self._inside(os.fsdecode(raw)) if raw else None
            if path is None or not (folder or path.lower().endswith(".md")):
                continue
            if folder and "/" not in path:
                self._rewatch(path)
            self._mark(f"{path}/" if folder else path)

    def overflow(self) -> None:
        """Events were lost."""
        if not self._stopped.is_set():
            self._on_overflow()

    # -- inside

    def _watch(self) -> None:
        # A folder that comes while its parent is walked is met twice; watchdog warns and goes on,
        # in a thread where a warning helps nobody.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        self._observer = Observer()
        logging.getLogger(_LOGGER).addHandler(self._ear)
        self._observer.start()
        self._observer.schedule(
            self._handler, str(self._root), recursive=False, event_filter=_EVENTS
        )
        for entry in sorted(os.scandir(self._root), key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                self._schedule(entry.name)
        _require_room(self._root)

    def _schedule(self, name: str) -> None:
        watch = self._observer.schedule(
            self._handler, str(self._root / name), recursive=True, event_filter=_EVENTS
        )
        self._watches[name] = watch

    def _rewatch(self, name: str) -> None:
        old = self._watches.pop(name, None)
        try:
            if old is not None:
                with suppress(KeyError):
                    self._observer.unschedule(old)
            if (self._root / name).is_dir() and not (self._root / name).is_symlink():
                self._schedule(name)
        except FileNotFoundError:
            return
        except OSError as error:
            self._fall_back(error)

    def _mark(self, path: str) -> None:
        now = time.monotonic()
        with self._changed:
            first = self._dirty.get(path, (now, now))[0]
            self._dirty[path] = (first, now)
            self._changed.notify_all()

    def _inside(self, raw: str) -> str | None:
        """None for what lies outside or in a dot-folder."""
        path = os.path.relpath(raw, self._root)
        if (
            path == "."
            or path.startswith("..")
            or any(part.startswith(".") for part in Path(path).parts)
        ):
            return None
        return path.replace(os.sep, "/")

    def _report(self) -> None:
        while not self._stopped.is_set():
            with self._changed:
                rested, wait = self._rested()
                if not rested:
                    self._changed.wait(wait)
                    continue
            self._guarded(partial(self._on_dirty, rested))
            if any(path.endswith("/") for path in rested):
                try:
                    _require_room(self._root)
                except OSError as error:
                    self._fall_back(error)

    def take(self) -> set[str]:
        """What was seen and has not rested yet: for somebody who wants the newest state now."""
        with self._changed:
            taken = set(self._dirty)
            self._dirty.clear()
        return taken

    def _rested(self) -> tuple[set[str], float | None]:
        """(paths to hand over now, seconds until the next one is due)."""
        now = time.monotonic()
        due = {
            path: min(last + self._debounce, first + _PATIENCE) - now
            for path, (first, last) in self._dirty.items()
        }
        rested = {path for path, wait in due.items() if wait <= 0}
        for path in rested:
            del self._dirty[path]
        return rested, min(due.values(), default=None)

    def _poll(self) -> None:
        while not self._stopped.wait(self._every):
            self._guarded(self._on_overflow)

    def _fall_back(self, error: OSError) -> None:
        if error.errno not in _NO_ROOM:
            log.warning("watching: %s", error)
            self.overflow()
        elif self.mode == "events":
            self._poll_because(_why(error))
            self._run(self._poll)

    def _poll_because(self, reason: str) -> None:
        self.mode, self.reason = "polling", reason
        log.warning("changes are found by comparing every %.0f s: %s", self._every, reason)

    def _stop_watching(self) -> None:
        observer, self._observer = self._observer, None
        logging.getLogger(_LOGGER).removeHandler(self._ear)
        if observer is not None:
            observer.stop()
            with suppress(RuntimeError):
                observer.join(5)

    def _run(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name="oneiro-watch", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception:
            log.exception("a listener of the watcher failed")


class _Handler(FileSystemEventHandler):
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def dispatch(self, event: FileSystemEvent) -> None:
        """All kinds of events alike."""
        try:
            self._watcher.seen(event)
        except Exception:
            log.exception("a file system event could not be read")
            self._watcher.overflow()


class _Ear(logging.Handler):
    """Watchdog tells nobody about lost events, but it logs them."""

    def __init__(self, heard: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        """Listen."""
        if _OVERFLOW in str(record.msg):
            self._heard()


def _require_room(root: Path) -> None:
    """Raise OSError if no inotify watch is left: watchdog does not say so."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_CLOEXEC)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "inotify")
    try:
        if libc.inotify_add_watch(fd, os.fsencode(root), 0x400) < 0:  # IN_DELETE_SELF
            raise OSError(ctypes.get_errno(), "inotify")
    finally:
        os.close(fd)


def _why(error: OSError) -> str:
    return (
        "the system's limit of inotify watches is reached"
        if error.errno in _NO_ROOM
        else f"it cannot be watched ({error})"
    )


def network(root: Path, mounts: str) -> str:
    """The kind of file system if it is one that other machines write to, else ""; `mounts` is the
    text of /proc/mounts."""
    lines = [line.split() for line in mounts.splitlines()]
    inside = [
        (len(place), kind)
        for _, place, kind, *_ in lines
        if root.is_relative_to(place.replace("\\040", " "))
    ]
    kind = max(inside, default=(0, ""))[1]
    return kind if kind.startswith(_NETWORK) else ""


def _mounts() -> str:
    try:
        return Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
