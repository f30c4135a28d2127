"""Start the owner when it is not there. However many clients ask at once, one of them starts one owner and the others use it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout

from oneiro_vault.daemon import client, places, protocol
from oneiro_vault.daemon.life import identity
from oneiro_vault.daemon.lock import holder_of, is_free
from oneiro_vault.errors import DiskProblem, GitProblem, LockTimeout, OwnerProblem, from_dict

PATIENCE = 10.0
"""Seconds a client waits for an owner that gives no sign; one that says it is opening a big vault gets OPENING."""
OPENING = 120.0
_STEP = 0.1

_KEPT = "Nothing was changed."

_children: list[subprocess.Popen[bytes]] = []
"""Kept so that the interpreter does not complain about children that are meant to outlive it."""


def ensure(root: Path, index: Path, wait: float = PATIENCE, waiting: Callable[[], None] | None = None) -> dict[str, str]:
    """The record of a living owner of our version, started if need be; `waiting` is called ten times a second meanwhile.

    Raises OwnerProblem, LockTimeout, and whatever kept the owner from opening the vault.
    """
    state = Path(places.state_dir(str(root)))
    found = usable(root)
    if found:
        return found
    if not state.parent.is_dir():
        raise GitProblem(f"{root} is not a git repository", kept=_KEPT, hint=f"`oneiro init --here` in {root} makes it one.")
    try:
        state.mkdir(exist_ok=True)
        with _turn(FileLock(state / "start.lock", mode=0o600, poll_interval=0.02), wait + PATIENCE, waiting):
            return usable(root) or _start(root, index, wait, waiting)
    except Timeout as error:
        raise LockTimeout("another command has been starting the owner for too long", kept=_KEPT, hint="Try again.") from error
    except OSError as error:
        where = error.filename or state
        raise DiskProblem(f"{where} cannot be used: {error.strerror}", kept=_KEPT, hint="Is the disk full or read-only?") from error


def _turn(lock: BaseFileLock, wait: float, waiting: Callable[[], None] | None) -> AbstractContextManager[object]:
    """The lock, once nobody else is starting an owner. Raises Timeout."""
    end = time.monotonic() + wait
    while True:
        try:
            return lock.acquire(timeout=_STEP)
        except Timeout:
            if time.monotonic() > end:
                raise
            if waiting is not None:
                waiting()


def usable(root: Path) -> dict[str, str]:
    """The record of an owner that answers and has our version, else {}. One of another version is told to stop.

    Raises OwnerProblem when the holder of the lock is alive but does not answer.
    """
    owner = client.owner_of(str(root))
    if not owner:
        return {}
    try:
        answer = client.status(owner, 0.3 if client.stopped(int(owner.get("pid") or 0)) else client.FIRST)
        if answer.get("folder", identity(root)) != identity(root):
            return {}  # the vault was moved, and what answers where it was serves another one
        if answer.get("version") == protocol.version() and not answer.get("leaving"):
            return owner
        client.stop(owner)
    except client.SilentError as error:
        raise silent(owner, error) from error
    except (client.UnreachedError, ValueError):
        pass
    return {}


def silent(owner: dict[str, str], cause: object) -> OwnerProblem:
    """The error for an owner that holds the vault and says nothing."""
    pid = int(owner.get("pid") or 0)
    how = "is suspended" if client.stopped(pid) else "does not answer"
    return OwnerProblem(
        f"the owner of this vault (process {pid}) {how}: {cause}",
        kept=_KEPT,
        hint=f"`kill -CONT {pid}` lets it go on; `kill -9 {pid}` ends it (nothing acknowledged is lost); the next command starts another.",
    )


def _start(root: Path, index: Path, wait: float, waiting: Callable[[], None] | None) -> dict[str, str]:
    log = Path(places.log_file(str(index)))
    if not index.exists():
        index.mkdir(parents=True, mode=0o700)
    log.parent.mkdir(exist_ok=True)
    reader, writer = os.pipe()
    try:
        with log.open("ab") as output:
            _children.append(_launch(root, writer, output.fileno(), wait))
        os.close(writer)
        return _await(reader, root, log, waiting)
    finally:
        os.close(reader)


def _launch(root: Path, ready: int, log: int, wait: float) -> subprocess.Popen[bytes]:
    """A process of its own session, with nothing of ours open but the pipe on which it says that it is ready."""
    parent = str(Path(__file__).resolve().parents[2])
    code = f"import sys; {parent!r} in sys.path or sys.path.append({parent!r}); from oneiro_vault.cli.main import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", code, "serve", "--vault", str(root), "--ready-fd", str(ready), "--wait", str(wait)],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=(ready,),
        start_new_session=True,
        cwd="/",
    )


def _await(reader: int, root: Path, log: Path, waiting: Callable[[], None] | None = None) -> dict[str, str]:
    """Read the new owner's messages until it is ready. Raises what it raised, or OwnerProblem."""
    end = time.monotonic() + PATIENCE
    buffer = b""
    while (left := end - time.monotonic()) > 0:
        if not select.select([reader], [], [], min(left, _STEP))[0]:
            if waiting is not None:
                waiting()
            continue
        data = os.read(reader, 65536)
        if not data:
            raise OwnerProblem("the owner ended before it was ready", kept=_KEPT, hint=f"Its last words are in {log}.")
        *lines, buffer = (buffer + data).split(b"\n")
        for message in map(json.loads, lines):
            if "error" in message:
                raise from_dict(message["error"])
            if "ready" in message:
                return client.owner_of(str(root))
            end = time.monotonic() + OPENING
    raise OwnerProblem("the owner is still opening the vault", kept=_KEPT, hint=f"Try again in a moment; {log} says what it does.")


def end(root: Path, wait: float) -> dict[str, Any]:
    """Stop the owner and wait until it has let go: {"stopped": pid or None}. Raises OwnerProblem when it does not end."""
    owner = client.owner_of(str(root))
    state = Path(places.state_dir(str(root)))
    if not owner:
        return {"stopped": None}
    try:
        answer = client.status(owner)  # first: what is asked of a suspended process is done when it wakes
        if answer.get("folder", identity(root)) != identity(root):
            return {"stopped": None}
        client.stop(owner)
    except client.SilentError as error:
        raise silent(owner, error) from error
    except client.UnreachedError:
        if is_free(state):
            with suppress(OSError):
                Path(places.record_file(str(root))).unlink()
            return {"stopped": None}
    limit = time.monotonic() + wait
    while not is_free(state) and str(holder_of(state / "owner.lock").get("pid")) == owner.get("pid"):
        if time.monotonic() > limit:
            raise silent(owner, "it was asked to stop and has not")
        time.sleep(0.02)
    return {"stopped": int(owner.get("pid") or 0)}
