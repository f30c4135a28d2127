"""Start the owner when it is not there: however many clients ask at once, one of them does."""

from __future__ import annotations

import json
import math
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from oneiro_vault.daemon import client, protocol
from oneiro_vault.daemon.lifetime import identity
from oneiro_vault.daemon.owner_lock import holder_of, is_free
from oneiro_vault.errors import DiskProblem, GitProblem, LockTimeout, OwnerProblem, from_dict
from oneiro_vault.settings import locations

LIMIT = 120.0
"""Seconds a command waits for an owner that lives and has not opened the vault yet."""
LOCK = 10.0
"""Seconds a new owner waits for the lock of the one before, unless the caller says otherwise."""
STARTING = "the owner is being started"
_STEP = 0.1

_KEPT = "Nothing was changed."

_children: list[subprocess.Popen[bytes]] = []
"""Kept so that the interpreter does not complain about children that are meant to outlive it."""


Waiting = Callable[[str], None]
"""Called about ten times a second with what is waited for."""


def ensure(
    root: Path,
    index: Path,
    wait: float = LOCK,
    waiting: Waiting | None = None,
    limit: float = LIMIT,
) -> dict[str, str]:
    """The record of a living owner of our version that has opened the vault, started if need be.
    `wait`: seconds for the lock; `limit`: for everything. Raises OwnerProblem, LockTimeout, and
    what kept the owner from opening the vault."""
    state = Path(locations.state_dir(str(root)))
    end = time.monotonic() + limit
    found = usable(root, waiting, limit)
    if found:
        return found
    if not state.parent.is_dir():
        hint = f"`oneiro init --here` in {root} makes it one."
        raise GitProblem(f"{root} is not a git repository", kept=_KEPT, hint=hint)
    try:
        state.mkdir(exist_ok=True)
        lock = FileLock(state / "start.lock", mode=0o600, poll_interval=0.02)
        with _turn(lock, root, end, waiting):
            found = usable(root, waiting, end - time.monotonic())
            return found or _start(root, index, wait, waiting, end)
    except Timeout as error:
        text = "another command has been starting the owner for too long"
        raise LockTimeout(text, kept=_KEPT, hint="Try again.") from error
    except OSError as error:
        text = f"{error.filename or state} cannot be used: {error.strerror}"
        raise DiskProblem(text, kept=_KEPT, hint="Is the disk full or read-only?") from error


def begin(root: Path, index: Path, wait: float = LOCK) -> None:
    """Start an owner and do not wait for it; where that cannot be, the next command says why."""
    with suppress(OSError), _log(index).open("ab") as output:
        _children.append(_launch(root, None, output.fileno(), wait))


def _log(index: Path) -> Path:
    log = Path(locations.log_file(str(index)))
    if not index.exists():
        index.mkdir(parents=True, mode=0o700)
    log.parent.mkdir(exist_ok=True)
    return log


def _turn(
    lock: BaseFileLock, root: Path, end: float, waiting: Waiting | None
) -> AbstractContextManager[object]:
    while True:
        try:
            return lock.acquire(timeout=_STEP)
        except Timeout:
            if time.monotonic() > end:
                raise
            if waiting is not None:
                waiting(_look(root)[1] or STARTING)


def usable(root: Path, waiting: Waiting | None = None, limit: float = LIMIT) -> dict[str, str]:
    """The record of an owner of our version that answers, once it has opened the vault; {} without
    one. Another version's is told to stop. Raises OwnerProblem when it lives and is silent, or
    slower than `limit`."""
    end = time.monotonic() + limit
    while True:
        owner, doing = _look(root, waiting)
        if not doing:
            return owner
        if time.monotonic() > end:
            raise _slow(root, doing, limit)
        if waiting is not None:
            waiting(doing)
        time.sleep(_STEP)


def serves(root: Path) -> bool:
    """Does an owner of our version answer, or open the vault at this moment?"""
    try:
        return bool(_look(root)[0])
    except OwnerProblem:
        return False


def _look(root: Path, waiting: Waiting | None = None) -> tuple[dict[str, str], str]:
    """An owner that can be used or will be, and what it does before ("": it is ready). Raises
    OwnerProblem."""
    owner = client.owner_of(str(root))
    if not owner:
        return {}, ""
    first = 0.3 if locations.stopped(int(owner.get("pid") or 0)) else client.FIRST
    slow = None if waiting is None else lambda _=None: waiting("the owner is slow to answer")
    try:
        answer = client.status(owner, first, slow)
        if answer.get("folder", identity(root)) != identity(root):
            return {}, ""  # the vault was moved, and what answers where it was serves another one
        if answer.get("version") == protocol.version() and not answer.get("leaving"):
            return owner, f"the owner is {answer['opening']}" if "opening" in answer else ""
        client.stop(owner)
    except client.SilentError as error:
        raise silent(owner, error) from error
    except (client.UnreachedError, ValueError):
        pass
    return {}, ""


def _slow(root: Path, doing: str, limit: float) -> OwnerProblem:
    log = client.owner_of(str(root)).get("log", "its log")
    hint = (
        f"It goes on with that; try again in a minute. {log} says what it does, `oneiro stop` "
        f"ends it."
    )
    return OwnerProblem(f"after {limit:.0f} seconds {doing} still", kept=_KEPT, hint=hint)


def silent(owner: dict[str, str], cause: object) -> OwnerProblem:
    """The error for an owner that holds the vault and says nothing."""
    pid = int(owner.get("pid") or 0)
    how = "is suspended" if locations.stopped(pid) else "does not answer"
    return OwnerProblem(
        f"the owner of this vault (process {pid}) {how}: {cause}",
        kept=_KEPT,
        hint=f"`kill -CONT {pid}` lets it go on; `kill -9 {pid}` ends it (nothing acknowledged is "
        f"lost); the next command starts another.",
    )


def unreached(cause: object) -> OwnerProblem:
    """The error for an owner that takes no message."""
    return OwnerProblem(f"the owner cannot be reached: {cause}", kept=_KEPT, hint="Try again.")


def _start(
    root: Path, index: Path, wait: float, waiting: Waiting | None, end: float
) -> dict[str, str]:
    log = _log(index)
    reader, writer = os.pipe()
    before = _record(root)
    try:
        with log.open("ab") as output:
            _children.append(_launch(root, writer, output.fileno(), wait))
        os.close(writer)
        return _await(reader, root, log, waiting, end, before)
    except LockTimeout:  # another one, begun by a command that waits for none, was quicker
        found = usable(root, waiting, end - time.monotonic())
        if not found:
            raise
        return found
    finally:
        os.close(reader)


def _launch(root: Path, ready: int | None, log: int, wait: float) -> subprocess.Popen[bytes]:
    """A process of its own session, with nothing of ours open but the pipe `ready`."""
    told = [] if ready is None else ["--ready-fd", str(ready)]
    parent = str(Path(__file__).resolve().parents[2])
    code = (
        f"import sys; {parent!r} in sys.path or sys.path.append({parent!r}); from "
        f"oneiro_vault.cli.main import main; sys.exit(main())"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, "serve", "--vault", str(root), *told, "--wait", str(wait)],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=() if ready is None else (ready,),
        start_new_session=True,
        cwd="/",
    )


def _record(root: Path) -> bytes:
    with suppress(OSError):
        return Path(locations.record_file(str(root))).read_bytes()
    return b""


def _await(
    reader: int,
    root: Path,
    log: Path,
    waiting: Waiting | None = None,
    end: float = math.inf,
    before: bytes = b"",
) -> dict[str, str]:
    """Read the new owner's messages until it, or a quicker one, is ready, or (monotonic) `end`.
    `before`: the record of an owner that could not be used: its place may be somebody else's by
    now. Raises what it raised, or OwnerProblem."""
    began, buffer, doing = time.monotonic(), b"", STARTING
    while time.monotonic() < end:
        if not select.select([reader], [], [], _STEP)[0]:
            owner, doing = _look(root) if _record(root) != before else ({}, "")
            if owner and not doing:
                return owner
            doing = doing or STARTING
            if waiting is not None:
                waiting(doing)
            continue
        data = os.read(reader, 65536)
        if not data:
            hint = f"Its last words are in {log}."
            raise OwnerProblem("the owner ended before it was ready", kept=_KEPT, hint=hint)
        *lines, buffer = (buffer + data).split(b"\n")
        for message in map(json.loads, lines):
            if "error" in message:
                raise from_dict(message["error"])
            if "ready" in message:
                return client.owner_of(str(root))
    raise _slow(root, doing, max(end - began, 0.0))


def end(root: Path, wait: float, waiting: Waiting | None = None) -> dict[str, int | None]:
    """Stop the owner and wait until it has let go: {"stopped": pid or None}. Raises
    OwnerProblem."""
    owner = client.owner_of(str(root))
    state = Path(locations.state_dir(str(root)))
    if not owner:
        return {"stopped": None}
    try:
        answer = client.status(owner)  # a suspended one would stop when it wakes
        if answer.get("folder", identity(root)) != identity(root):
            return {"stopped": None}
        client.stop(owner)
    except client.SilentError as error:
        raise silent(owner, error) from error
    except client.UnreachedError:
        if is_free(state):
            with suppress(OSError):
                Path(locations.record_file(str(root))).unlink()
            return {"stopped": None}
    limit, lock = time.monotonic() + wait, state / "owner.lock"
    while not is_free(state) and str(holder_of(lock).get("pid")) == owner.get("pid"):
        if time.monotonic() > limit:
            raise silent(owner, "it was asked to stop and has not")
        if waiting is not None:
            waiting("the owner ends what it has begun")
        time.sleep(_STEP)
    return {"stopped": int(owner.get("pid") or 0)}
