"""The way from a command to a vault: through the owner, or in this process under the owner's
lock."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from oneiro_vault.api import Progress
from oneiro_vault.cli import terminal
from oneiro_vault.cli.output import ElsewhereError
from oneiro_vault.daemon import client, protocol, spawn
from oneiro_vault.daemon.owner_lock import OwnerLock
from oneiro_vault.errors import DiskProblem, LockTimeout, OwnerProblem, VaultNotFound
from oneiro_vault.settings import locations
from oneiro_vault.settings.definitions import Settings, load
from oneiro_vault.settings.locations import MARK

if TYPE_CHECKING:
    from oneiro_vault.app import App

ROOM = 1 << 20
"""Bytes below which a disk counts as full: an owner could not even begin its log."""


class VaultSession:
    """Operations of one vault, wherever they run. `start`: an owner may be started; `shows`: what
    is waited for."""

    def __init__(self, root: Path, settings: Settings, start: bool, shows: bool) -> None:
        self.root, self.settings, self.start, self.shows = root, settings, start, shows
        self.limit = spawn.LIMIT
        self.index = Path(locations.index_dir(str(root), settings["index.dir"]))
        self._local: tuple[OwnerLock, App] | None = None
        self._reader: tuple[tempfile.TemporaryDirectory[str], App] | None = None

    def call(self, op: str, params: Mapping[str, Any], progress: Progress | None = None) -> Any:
        """Run one operation: in the owner if there is one or may be one, else here."""
        end = 0.0
        with terminal.Waiting(aloud=True, shows=self.shows and progress is None) as sign:
            while True:
                try:
                    sign.says(spawn.STARTING)
                    owner = self._find(sign)
                    end = end or time.monotonic() + self.settings["git.wait"]
                    sign.says(terminal.MODEL if op == "recall" else "working")
                    app = None if owner else self._open_here(end)
                except DiskProblem:
                    if op not in protocol.READS or _has_room(locations.git_dir(str(self.root))):
                        raise
                    return self._reading().call(op, params, progress or sign.count)
                if app is not None:
                    return app.call(op, params, progress or sign.count)
                try:
                    if owner:
                        return client.call(owner, op, params, progress or sign.count, sign)
                except client.SilentError as error:
                    raise spawn.silent(owner, error) from error
                except client.UnreachedError as error:
                    if time.monotonic() > end:
                        raise spawn.unreached(error) from error
                except client.BrokenError as error:
                    if op not in protocol.READS or time.monotonic() > end:
                        raise lost(op, owner) from error

    def _find(self, waiting: Callable[[str], None]) -> dict[str, str]:
        if self._local is not None:
            return {}
        if self.start:
            wait = self.settings["git.wait"]
            return spawn.ensure(self.root, self.index, wait, waiting, self.limit)
        return spawn.usable(self.root, waiting, self.limit)

    def _open_here(self, end: float) -> App | None:
        if self._local is None:
            from oneiro_vault.app import App

            lock = OwnerLock(Path(locations.state_dir(str(self.root))))
            try:
                lock.acquire(0.5, "one command")
            except LockTimeout:
                if time.monotonic() < end:  # an owner may have begun meanwhile: look again
                    return None
                raise lock.held(self.settings["git.wait"]) from None
            try:
                self._local = lock, App.open(self.root, self.settings)
            except BaseException:
                lock.release()
                raise
        return self._local[1]

    def _reading(self) -> App:
        """The vault on a disk that cannot be written, its indexes in a folder that goes away
        again."""
        if self._reader is None:
            from oneiro_vault.app import App

            folder = tempfile.TemporaryDirectory(prefix="oneiro-reading-")
            self._reader = folder, App.open(self.root, self.settings.but(index_dir=folder.name))
        return self._reader[1]

    def begin(self) -> None:
        """See to it that an owner runs soon, where one may be started, without waiting for it."""
        if self.start:
            spawn.begin(self.root, self.index, self.settings["git.wait"])

    def page(self, port: int) -> Any:
        """A link that opens the owner's page once: {url, base, seconds}. Raises OneiroError."""
        with terminal.Waiting(aloud=True, shows=self.shows) as sign:
            owner = self._find(sign)
            if not owner:
                hint = "`oneiro serve` starts one; so does the setting owner.start."
                raise OwnerProblem("the page needs an owner process, and none runs", hint=hint)
            try:
                return client.ask(owner, "/ui", {"port": port}, sign)
            except (client.UnreachedError, client.BrokenError) as error:
                raise spawn.unreached(error) from error

    def owner(self) -> OwnerHere | None:
        """pid, version and log of a living owner; starts nothing."""
        owner = spawn.usable(self.root)
        return describe(owner) if owner else None

    def close(self) -> None:
        """Close the vault if it was opened here."""
        if self._reader is not None:
            (folder, app), self._reader = self._reader, None
            app.close()
            folder.cleanup()
        if self._local is not None:
            (lock, app), self._local = self._local, None
            try:
                if not app.close():
                    terminal.emit(terminal.ERR, terminal.encode(_OWED))
            finally:
                lock.release()


_OWED = (
    "oneiro: another program holds git's index, which does not know yet what was committed\n"
    "  safe: All of it is in the history and on the disk.\n"
    "  next: Commit nothing by hand before the next `oneiro` command, which makes it good.\n"
)


def at(path: str | os.PathLike[str]) -> VaultSession:
    """The vault at `path` for a program that stays, through its owner. Raises VaultNotFound."""
    root = Path(path).expanduser()
    if not (root / MARK).is_file():
        raise VaultNotFound(f"there is no vault at {root}", hint=f"`oneiro init {root}` makes one.")
    settings = load(root, os.environ, strict=False)
    return VaultSession(root.resolve(), settings, bool(settings["owner.start"]), False)


def _has_room(folder: str) -> bool:
    """Else it is the index folder that cannot be used, and a person should hear of it."""
    found = os.statvfs(folder)
    return os.access(folder, os.W_OK) and found.f_bavail * found.f_frsize > ROOM


@dataclass
class HomeSession:
    """Inside the owner: its own App, for a caller with the environment `env`. Nothing is waited for
    (`limit`, seconds), so nothing `shows`."""

    run: Callable[..., Any]
    record: Mapping[str, Any]
    env: Mapping[str, str]
    limit: float = 0.0
    shows: bool = False

    def begin(self) -> None:
        """It runs."""

    def call(self, op: str, params: Mapping[str, Any], progress: Progress | None = None) -> Any:
        """Run one operation."""
        return self.run(op, params, progress, self.env)

    def page(self, _port: int) -> Any:
        """Not from here: the command leaves the owner first."""
        raise ElsewhereError

    def owner(self) -> OwnerHere:
        """This process."""
        return describe(self.record)

    def close(self) -> None:
        """The owner keeps its vault."""


class OwnerHere(TypedDict):
    """The part of an owner's record that people and programs may see."""

    pid: int
    version: str
    log: str
    http: NotRequired[str]


def describe(record: Mapping[str, Any]) -> OwnerHere:
    """That part of a record."""
    found = OwnerHere(pid=int(record["pid"]), version=record["version"], log=record["log"])
    if record.get("http"):
        found["http"] = record["http"]
    return found


def lost(op: str, owner: Mapping[str, str]) -> OwnerProblem:
    """The error for a change whose outcome is not known."""
    return OwnerProblem(
        f"the owner ended while it carried out `{op}`",
        kept="Nothing that was there before is lost. Whether this change was made is not known.",
        hint=f"`oneiro log` shows it if it was; otherwise run the command again. What the owner "
        f"said is in {owner.get('log', 'its log')}.",
    )
