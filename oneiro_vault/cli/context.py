"""What every command has at hand: its surroundings, the vault it means, a way to call operations,
and the text a person gives: as arguments, on standard input, in an editor."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oneiro_vault.api import Calls, Progress
from oneiro_vault.capture import markers
from oneiro_vault.cli.output import ElsewhereError, Style
from oneiro_vault.daemon.protocol import Request
from oneiro_vault.errors import InvalidInput, VaultNotFound
from oneiro_vault.settings.definitions import Settings, load

if TYPE_CHECKING:
    from oneiro_vault.cli.session import HomeSession, VaultSession

NOT_TEXT = re.compile("[\0\ud800-\udfff]")
"""What no note can hold: NUL, half of a surrogate pair."""


@dataclass
class Face:
    """One command line under way. `home` is set inside the owner: its vault, and the way to it."""

    request: Request
    make: Callable[[Path, Settings, bool, bool], VaultSession]
    """Makes a session of (vault, settings, may start an owner, show progress)."""
    home: tuple[Path, HomeSession] | None = None
    vault: str = ""
    no_daemon: bool = False
    json: bool = False
    verbose: bool = False
    draft: Path | None = None
    """What a person wrote in an editor for this command; removed once it has succeeded."""
    _sessions: dict[bool, VaultSession] = field(default_factory=dict)

    @property
    def style(self) -> Style:
        """Colours and width of the caller's terminal."""
        return Style(self.request.terminal)

    @property
    def named(self) -> str:
        """The vault this command means, "" where none was named and none is here."""
        found = markers.vault(self.vault, self.request.cwd, self.request.env)
        return str(found or load(None, self.request.env, strict=False)["vault"] or "")

    @property
    def root(self) -> Path:
        """The vault this command means. Raises VaultNotFound."""
        found = self.named
        if not found:
            hint = (
                "--vault PATH names one; `oneiro --vault PATH settings --default` makes it the one "
                "that is meant everywhere; `oneiro init PATH` makes a new one."
            )
            raise VaultNotFound("no vault was named and none is here", hint=hint)
        path = Path(found).expanduser()
        if not path.is_dir():
            hint = f"`oneiro init {path}` makes one."
            raise VaultNotFound(f"there is no vault at {path}", hint=hint)
        return path

    @property
    def ops(self) -> Calls:
        """The operations of the vault; what is None or empty is left out."""
        return Calls(self._call)

    @property
    def running(self) -> Calls:
        """The same without starting an owner."""
        return Calls(lambda op, given, progress: self._call(op, given, progress, start=False))

    def _call(
        self,
        op: str,
        params: Mapping[str, Any],
        progress: Progress | None = None,
        start: bool = True,
    ) -> Any:
        given = {name: value for name, value in params.items() if value not in (None, (), [])}
        _check_text(given)
        return self.session(start).call(op, given, progress)

    def session(self, start: bool = True) -> VaultSession | HomeSession:
        """The way to the vault; made once. With `start` an owner may be started for it."""
        if self.home is not None:
            if not _same(self.home[0], self.root):
                raise ElsewhereError
            return self.home[1]
        if start not in self._sessions:
            settings = load(self.root, self.request.env, strict=False)
            may_start = start and not self.no_daemon and settings["owner.start"]
            self._sessions[start] = self.make(self.root, settings, may_start, not self.json)
        return self._sessions[start]

    def quiet(self, start: bool = True) -> None:
        """Nothing of what is waited for is shown: the screen belongs to a program."""
        self.session(start).shows = False

    def at_home(self) -> None:
        """This command needs the caller's own process: leave the owner."""
        if self.home is not None:
            raise ElsewhereError

    def person(self, what: str, hint: str) -> None:
        """This command (`what`: "can purge") wants a person's terminal. Raises InvalidInput."""
        self.at_home()
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise InvalidInput(
                f"only a person at a terminal {what}",
                kept="Nothing was changed.",
                hint=f"Run it in a terminal. {hint}",
            )

    def close(self) -> None:
        """Let go of the vault."""
        for session in self._sessions.values():
            session.close()


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _check_text(params: Mapping[str, Any]) -> None:
    """Arguments that are not valid text stop here, with a name."""
    for name, value in params.items():
        for part in value if isinstance(value, list | tuple) else [value]:
            if isinstance(part, Mapping):
                _check_text(part)
            elif isinstance(part, str) and NOT_TEXT.search(part):
                raise InvalidInput(
                    f"{name} is not valid text (UTF-8 without NUL)",
                    kept="Nothing was changed.",
                    hint="Save it as UTF-8.",
                )


def words(face: Face, given: tuple[str, ...], draft: Callable[[], str] = str) -> str:
    """The arguments joined, or `-` for standard input; without any, an editor on a terminal."""
    if given and given != ("-",):
        return " ".join(given)
    face.at_home()
    if given or not sys.stdin.isatty():
        return from_stdin()
    return edited(face, draft())


def edited(face: Face, start: str) -> str:
    """What a person writes in their editor, in a file that stays until the command has
    succeeded."""
    handle, name = tempfile.mkstemp(prefix="oneiro-", suffix=".md")
    face.draft = Path(name)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(start)
    try:
        click.edit(filename=name)
    except click.ClickException as error:
        raise InvalidInput(
            f"the editor did not work: {error.message}",
            kept="Nothing was changed.",
            hint="Set EDITOR.",
        ) from error
    text = decode(face.draft.read_bytes(), "what the editor saved")
    if not text.strip() or text == start:
        raise InvalidInput("no text was saved in the editor", kept="Nothing was changed.")
    return text


def from_stdin() -> str:
    """All of standard input, which must be UTF-8."""
    return decode(sys.stdin.buffer.read(), "standard input")


def decode(data: bytes, source: str) -> str:
    """Strict UTF-8; raises InvalidInput that names the source and the byte."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{source} is not UTF-8 (byte {error.start})",
            kept="Nothing was changed.",
            hint="Convert it, for example with iconv.",
        ) from error
