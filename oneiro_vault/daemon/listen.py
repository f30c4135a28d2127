"""Where an owner listens: a Unix socket that only its user can reach, else a port of the loopback
device and a token."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from oneiro_vault.daemon import owner_paths
from oneiro_vault.errors import OwnerProblem

log = logging.getLogger("oneiro.owner")
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Listener:
    """A bound socket, not listening yet. `place` is what clients connect to: a path, or host:port,
    which also takes the `token`."""

    socket: socket.socket
    place: str
    token: str = ""

    @property
    def files(self) -> list[Path]:
        """What must stay for it to be reachable."""
        return [] if self.token else [Path(self.place)]


@contextmanager
def listening(paths: Sequence[str]) -> Iterator[Listener]:
    """Listen at the first of the paths whose file system takes a socket, else on a loopback port
    (no AF_UNIX, no path that can).

    Whoever holds the owner lock may remove a stale socket. Raises OwnerProblem for a folder that is
    not ours alone.
    """
    bound = (
        next(filter(None, map(_bound, map(Path, paths))), None)
        if hasattr(socket, "AF_UNIX")
        else None
    )
    if bound is None:
        # with the protocol named, asyncio sends small answers at once (TCP_NODELAY); without, each
        # may wait 40 ms for an acknowledgement
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
            listener.bind((LOOPBACK, 0))
            yield Listener(
                listener, f"{LOOPBACK}:{listener.getsockname()[1]}", secrets.token_hex(32)
            )
        return
    listener, path = bound
    mine = path.lstat()
    try:
        yield Listener(listener, str(path))
    finally:
        listener.close()
        with suppress(OSError):
            if os.path.samestat(path.lstat(), mine):
                path.unlink()


def _bound(path: Path) -> tuple[socket.socket, Path] | None:
    """A socket at the path; None where there cannot be one: too long a path, a file system without
    sockets."""
    private_folder(path.parent)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        path.unlink(missing_ok=True)
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        log.warning("no socket at %s: %s", path, error)
        return None
    finally:
        os.umask(before)
    return listener, path


def private_folder(folder: Path) -> None:
    """Make sure that nobody else can put a socket here. Raises OwnerProblem for a folder that is
    not ours alone."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise OwnerProblem(
            f"{folder} belongs to somebody else",
            kept="Nothing was changed.",
            hint="Set XDG_RUNTIME_DIR to a folder of your own.",
        )
    if folder == Path(owner_paths.runtime_dir()):
        folder.chmod(0o700)
