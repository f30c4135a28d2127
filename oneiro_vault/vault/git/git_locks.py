"""Lock files of git: whose are they? A live program's lock is never touched; a dead one's is moved
aside and logged."""
# pathlib is left out here: /proc is walked entry by entry.
# ruff: noqa: PTH105, PTH112, PTH115, PTH208

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SETTLE: Final = 0.25
"""Seconds a lock must have been there before it can count as left behind."""


def abandoned(lock: Path, root: Path) -> bool:
    """Is it proven that nobody holds this lock: no process has it open and no git works in this
    repository?

    A lock younger than SETTLE is never judged: most are gone a moment later, and waiting for that
    is the caller's choice. git closes `index.lock` while `commit -a` waits for an editor, so an
    unopened file alone proves nothing. Where processes cannot be listed (no /proc) nothing is ever
    proven.
    """
    judged = _known(lock)
    if judged is None or 0 <= time.time() - judged.st_mtime < SETTLE:
        return False
    if not os.path.isdir("/proc/self/fd") or any(_holds(pid, lock, root) for pid in _processes()):
        return False
    now = _known(
        lock
        # while processes were listed one git may have ended, and the next one, too young for the
        # list, begun
    )
    return now is not None and (now.st_ino, now.st_mtime_ns, now.st_ctime_ns) == (
        judged.st_ino,
        judged.st_mtime_ns,
        judged.st_ctime_ns,
    )


def _known(lock: Path) -> os.stat_result | None:
    try:
        return lock.stat()
    except OSError:
        return None


def stopped(pid: int) -> bool:
    """Is the process suspended, so that it will not let go of anything by itself? (The client has
    its own: it must not come in here.)"""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            in "Tt"
        )
    except (OSError, IndexError):
        return False


def _processes() -> Iterator[str]:
    own = str(os.getpid())
    return (name for name in os.listdir("/proc") if name.isdigit() and name != own)


def _holds(pid: str, lock: Path, root: Path) -> bool:
    """Has the process the lock open, or is it a git that may be at work in `root`? In doubt:
    yes."""
    target = str(lock)
    try:
        for fd in os.scandir(f"/proc/{pid}/fd"):
            if _link(fd.path) == target:
                return True
    except FileNotFoundError:
        return False
    except OSError:
        return _is_git(pid)  # another user's process: only its name can be seen
    return _is_git(pid) and _works_in(pid, root)


def _is_git(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().startswith("git")
    except OSError:
        return False


def _works_in(pid: str, root: Path) -> bool:
    place = str(root)
    if (_link(f"/proc/{pid}/cwd") + "/").startswith(place + "/"):
        return True
    try:
        words = (
            Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        )
    except (FileNotFoundError, ProcessLookupError):
        return False  # it ended while it was looked at
    except OSError:
        return True
    return os.fsencode(place) in words


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def set_aside(path: Path, aside: Path) -> Path:
    """Move a file into the folder `aside` under a dated name; nothing is ever deleted. Returns
    where it is now."""
    aside.mkdir(parents=True, exist_ok=True)
    place = aside / f"{time.strftime('%Y%m%dT%H%M%S')}-{os.urandom(3).hex()}-{path.name}.aside"
    os.replace(path, place)
    return place
