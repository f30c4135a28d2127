"""The one table of settings: it feeds the code, `oneiro.toml`, the README and the tests.

Two scopes. `vault` settings are behaviour every machine shares and live in the vault's
`oneiro.toml`. `machine` settings (paths, models, processes) live in
`$XDG_CONFIG_HOME/oneiro/config.toml` or in the environment and are never taken from a vault,
because a vault that was pulled is untrusted input. The environment (`ONEIRO_DECAY_EPISODIC=3`)
overrides both; an owner answers each caller by the caller's own environment as far as a setting can
differ from call to call (`each`).
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from oneiro_vault.errors import SettingsError
from oneiro_vault.settings import guard
from oneiro_vault.settings.loops import LOOPS, SETTABLE, Table

Value = bool | int | float | str
_Rule = tuple[Callable[[Any], bool], str]
_KEPT: Final = "No note was touched."


@dataclass(frozen=True)
class Setting:
    """One setting: dotted `name`, `default` (its type is the setting's type), `scope`, `help`, and
    what values are allowed.

    `each`: it may differ from call to call, so a caller's variable counts even when another process
    answers.
    """

    name: str
    default: Value
    scope: str
    help: str
    check: Callable[[Any], bool] | None = None
    allowed: str = ""
    each: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that overrides it."""
        return "ONEIRO_" + self.name.upper().replace(".", "_")

    @property
    def type(self) -> type:
        """bool, int, float or str."""
        return type(self.default)


_POSITIVE: Final[_Rule] = (lambda value: value > 0, "a number above 0")
_NOT_NEGATIVE: Final[_Rule] = (lambda value: value >= 0, "0 or more")
_SHARE: Final[_Rule] = (lambda value: 0 <= value <= 1, "0 to 1")


def _sets(value: str) -> bool:
    return set(value.split()) <= {"history", "dreams"}


def _judge(value: str) -> bool:
    return value in JUDGES


def _words(value: str) -> bool:
    try:
        return bool(shlex.split(value)) or not value
    except ValueError:
        return False


def _times(value: str) -> bool:
    return all(
        re.fullmatch(r"\s*([01]?\d|2[0-3]):[0-5]\d(\s+[a-z]+)*\s*", part)
        for part in value.split(",")
        if part.strip()
    )


def _mode(value: str) -> bool:
    return value in ("block", "redact", "off")


def _hashes(value: str) -> bool:
    return all(re.fullmatch(r"[0-9a-fA-F]{64}", mark) for mark in value.split())


JUDGES: Final = (
    "auto",
    "offline",
    "deferred",
    "sampling",
    "command",
    "anthropic",
    "openai",
    "none",
)
"""Who may answer the loops' questions."""


def _of_loops(table: Table) -> Iterator[Setting]:
    """The loops' own numbers, as settings of the vault."""
    for name, default, text in table:
        if name not in SETTABLE:
            continue
        if isinstance(default, bool | str):
            yield Setting(name, default, "vault", text)
        else:
            share = type(default) is float and default <= 1
            yield Setting(name, default, "vault", text, *(_SHARE if share else _NOT_NEGATIVE))


SETTINGS: Final[tuple[Setting, ...]] = (
    Setting("recall.k", 10, "vault", "rows a recall returns", *_POSITIVE, each=True),
    Setting(
        "decay.episodic", 7.0, "vault", "stability of an episode in days", *_POSITIVE, each=True
    ),
    Setting(
        "decay.semantic", 30.0, "vault", "stability of knowledge in days", *_POSITIVE, each=True
    ),
    Setting(
        "decay.procedure", 90.0, "vault", "stability of a procedure in days", *_POSITIVE, each=True
    ),
    Setting(
        "decay.faded",
        0.05,
        "vault",
        "below this strength a memory leaves passive recall",
        *_SHARE,
        each=True,
    ),
    Setting(
        "edits.commit",
        True,
        "vault",
        "commit a person's edits for them (as `edit:`, under their own name)",
    ),
    Setting(
        "edits.quiet",
        30.0,
        "vault",
        "seconds a file must rest before a person's edit is committed",
        *_NOT_NEGATIVE,
    ),
    Setting(
        "inject.tokens",
        500,
        "vault",
        "tokens of memories put before a prompt that they clearly fit; 0: none",
        *_NOT_NEGATIVE,
    ),
    Setting(
        "capture.every",
        20,
        "vault",
        "messages after which a conversation is captured before its end; 0: never",
        *_NOT_NEGATIVE,
    ),
    Setting(
        "secrets.mode",
        "block",
        "vault",
        "what happens to a secret in a text that is to be written",
        _mode,
        "`block`, `redact`, `off`",
    ),
    Setting(
        "secrets.allowed",
        "",
        "vault",
        "sha256 of what looks like a secret and is none, separated by spaces",
        _hashes,
        "sha256 in hex",
    ),
    Setting(
        "notes.brake",
        0.5,
        "vault",
        "share of the notes that may vanish at once before indexing stops and asks",
        *_SHARE,
    ),
    Setting(
        "dreams.schedule",
        "00:00, 18:00 dialectic",
        "vault",
        "local times at which an owner runs loops: a time for those it names, or for all "
        "that no time names; empty: never",
        _times,
        "times such as `00:00, 18:00 dialectic`",
    ),
    Setting(
        "dreams.review",
        False,
        "vault",
        "let what loops decide wait on a branch until a person has reviewed it",
    ),
    Setting(
        "dreams.brake",
        0.1,
        "vault",
        "share of the notes that one run of a loop may change",
        *_SHARE,
    ),
    Setting(
        "dreams.runner",
        "",
        "vault",
        "device that alone runs loops (`oneiro schedule` names this one); empty: whoever "
        "has the lease",
    ),
    *_of_loops(LOOPS),
    Setting("vault", "", "machine", "vault to use when none is named and none is near"),
    Setting(
        "index.dir", "", "machine", "folder for the indexes instead of `.oneiro/` in the vault"
    ),
    Setting(
        "embed.model",
        "default",
        "machine",
        "`default` (packaged all-MiniLM-L6-v2), `multilingual-e5-small` (extra `multilingual`), "
        "`hash` (no model), a folder, or a hub name",
    ),
    Setting(
        "embed.idle",
        300.0,
        "machine",
        "seconds without work after which the embedding process stops",
        *_POSITIVE,
    ),
    Setting(
        "mcp.tools",
        "",
        "machine",
        "further sets of tools for models, separated by spaces",
        _sets,
        "`history`, `dreams`",
    ),
    Setting("owner.start", True, "machine", "start the owner process when it is not there"),
    Setting(
        "owner.idle",
        900.0,
        "machine",
        "seconds without a request after which the owner stops",
        *_POSITIVE,
    ),
    Setting(
        "access.reads",
        600,
        "machine",
        "requests a minute from one key or program over HTTP; 0: no limit",
        *_NOT_NEGATIVE,
    ),
    Setting(
        "access.writes",
        120,
        "machine",
        "changes a minute from one key or program over HTTP; 0: no limit",
        *_NOT_NEGATIVE,
    ),
    Setting(
        "access.token_seconds",
        3600.0,
        "machine",
        "seconds an access token is good",
        *_POSITIVE,
    ),
    Setting(
        "access.redirects",
        "",
        "machine",
        "redirects programs may have besides loopback, separated by spaces; empty: any https",
    ),
    Setting(
        "access.origins",
        "",
        "machine",
        "web origins besides our own that may call us, separated by spaces",
    ),
    Setting(
        "access.documents",
        True,
        "machine",
        "let programs name themselves by the address of a public document, which is fetched",
    ),
    Setting(
        "watch.reconcile",
        60.0,
        "machine",
        "seconds between full comparisons of disk and index",
        *_POSITIVE,
    ),
    Setting("watch.poll", False, "machine", "poll instead of using file system events"),
    Setting(
        "images.location",
        False,
        "machine",
        "keep the metadata of stored pictures (where and when they were made)",
        each=True,
    ),
    Setting(
        "dreams.judge",
        "auto",
        "machine",
        "who answers what loops ask: the first there is (`auto`), rules, the connected "
        "model or a person, a connected client (MCP sampling), a program, a model's API, "
        "nobody",
        _judge,
        ", ".join(f"`{name}`" for name in JUDGES),
    ),
    Setting(
        "dreams.model",
        "",
        "machine",
        "model that an API judge asks; needed for `anthropic` and `openai`",
    ),
    Setting(
        "dreams.command",
        "",
        "machine",
        "program that judges: `claude`, `codex`, `gemini` or a command line of your own",
        _words,
        "a command line",
    ),
    Setting(
        "dreams.models",
        "",
        "machine",
        "other models for single stages: `encode=small-one dialectic=large-one`",
    ),
    Setting(
        "dreams.url",
        "",
        "machine",
        "address of an API other than the provider's own (Ollama, llama.cpp, vLLM)",
    ),
    Setting(
        "dreams.key_file",
        "",
        "machine",
        "file that holds the API key; empty: the provider's own variable",
    ),
    Setting(
        "dreams.calls",
        400,
        "machine",
        "questions one run asks at most; 0: no limit",
        *_NOT_NEGATIVE,
    ),
    Setting(
        "dreams.tokens",
        2_000_000,
        "machine",
        "tokens one run uses at most; 0: no limit",
        *_NOT_NEGATIVE,
    ),
    Setting(
        "dreams.spend",
        0.0,
        "machine",
        "what one run may cost by the prices below; 0: no limit",
        *_NOT_NEGATIVE,
    ),
    Setting(
        "dreams.rest",
        5.0,
        "machine",
        "minutes without a new capture after which captures are encoded and the "
        "orientation follows; 0: at night",
        *_NOT_NEGATIVE,
    ),
    Setting(
        "dreams.soon",
        100,
        "machine",
        "questions a day that are asked for that; 0: none",
        *_NOT_NEGATIVE,
    ),
    Setting(
        "dreams.minutes",
        180.0,
        "machine",
        "minutes for which one run asks at most; 0: no limit",
        *_NOT_NEGATIVE,
    ),
    Setting(
        "dreams.price_in", 0.0, "machine", "price of a million tokens that are read", *_NOT_NEGATIVE
    ),
    Setting(
        "dreams.price_out",
        0.0,
        "machine",
        "price of a million tokens that are written",
        *_NOT_NEGATIVE,
    ),
    Setting(
        "sync.remote",
        "",
        "machine",
        "name of the git remote to sync with; empty: the one the branch follows, else `origin`",
    ),
    Setting(
        "sync.every",
        0.0,
        "machine",
        "seconds between two syncs by an owner; 0: none by itself",
        *_NOT_NEGATIVE,
    ),
    Setting(
        "sync.quiet",
        0.0,
        "machine",
        "seconds after a change here at which an owner syncs; 0: never",
        *_NOT_NEGATIVE,
    ),
    Setting(
        "sync.wait",
        8.0,
        "machine",
        "seconds without a word after which a remote is out of reach",
        *_POSITIVE,
    ),
    Setting(
        "git.wait", 10.0, "machine", "seconds to wait for a lock another program holds", *_POSITIVE
    ),
    Setting(
        "disk.reserve",
        50_000_000,
        "machine",
        "writes are refused when fewer bytes than this are free",
        *_NOT_NEGATIVE,
    ),
)

BY_NAME: Final[dict[str, Setting]] = {setting.name: setting for setting in SETTINGS}
FIXED: Final[dict[str, Value]] = {name: default for name, default, _ in LOOPS} | {
    "notes.indexed_bytes": 1_000_000,
    "watch.debounce": 0.15,
    "images.bytes": 10_000_000,
    "images.pixels": 50_000_000,
    "dreams.lease": 120.0,
}
"""Numbers read as settings are, which no file or variable sets: a `Settings` made in code may."""
GUARDED: Final[dict[str, Value]] = {name: BY_NAME[name].default for name in guard.GUARDED}
"""Settings that protect, with their defaults: what a vault loosens of them takes a person of this
machine."""

MINE: Final = frozenset({"vault", "owner.start"})
"""Settings a client acts upon by itself, whoever answers."""
_CALLER: ContextVar[Mapping[str, Value] | None] = ContextVar("caller", default=None)


class Settings:
    """Checked settings, read as `settings["decay.episodic"]`; unset ones have their default.

    `values` come from files, `variables` from the environment, which wins. `wrong` is what the
    files say that had to be left out; `loosened` what the vault says that nobody here has agreed
    to, and `agreed` what they have.
    """

    def __init__(
        self,
        values: Mapping[str, Value] | None = None,
        variables: Mapping[str, Value] | None = None,
        wrong: Sequence[SettingsError] = (),
        loosened: Sequence[guard.Loosened] = (),
        agreed: Mapping[str, Value] | None = None,
    ) -> None:
        self._values = dict(values or {})
        self._variables = dict(variables or {})
        self.wrong = tuple(wrong)
        self.loosened = tuple(loosened)
        self.agreed = dict(agreed or {})

    def __getitem__(self, name: str) -> Any:
        caller = _CALLER.get()
        setting = BY_NAME.get(name)
        if setting is None:
            return self._variables.get(name, self._values.get(name, FIXED[name]))
        variables = caller if caller is not None and setting.each else self._variables
        return variables.get(name, self._values.get(name, setting.default))

    def __iter__(self) -> Iterator[str]:
        return iter(BY_NAME)

    def but(self, **values: Value) -> Settings:
        """The same with some values replaced; names with `_` for `.`."""
        named = {name.replace("_", ".", 1): value for name, value in values.items()}
        return Settings(
            self._values,
            self._variables | named,
            self.wrong,
            self.loosened,
            self.agreed,
        )

    def origin(self, name: str) -> str:
        """`set` or `default`."""
        return "set" if name in self._values or name in self._variables else "default"

    @contextmanager
    def on_behalf(self, env: Mapping[str, str]) -> Iterator[list[str]]:
        """In this thread, see the settings that may differ from call to call as the caller's
        environment has them.

        Yields the variables that differ from ours and cannot be followed. Raises SettingsError for
        a wrong one.
        """
        theirs = _from_env(env)
        differing = [name for name in BY_NAME if theirs.get(name) != self._variables.get(name)]
        token = _CALLER.set(theirs)
        try:
            yield [
                BY_NAME[name].variable
                for name in differing
                if not BY_NAME[name].each and name not in MINE
            ]
        finally:
            _CALLER.reset(token)


def machine_file(env: Mapping[str, str] | None = None) -> Path:
    """The machine's settings file (it may not exist)."""
    env = os.environ if env is None else env
    base = env.get("XDG_CONFIG_HOME") or str(Path(env.get("HOME", "~")).expanduser() / ".config")
    return Path(base) / "oneiro" / "config.toml"


def load(
    vault: Path | None, env: Mapping[str, str] | None = None, *, strict: bool = True
) -> Settings:
    """Defaults, then the vault's `oneiro.toml`, then the machine's file, then the environment.

    Raises SettingsError naming the file, the line, the key and what is allowed. Unless `strict`,
    what a file says wrongly is left out and listed in `Settings.wrong`: a vault that was pulled
    from a newer version stays readable. A wrong variable is always an error.
    """
    env = os.environ if env is None else env
    wrong: list[SettingsError] = []
    values = _from_file(vault / "oneiro.toml", ("vault",), wrong) if vault is not None else {}
    of_vault = len(wrong)
    agreed, held = guard.guard(vault, values, GUARDED) if vault is not None else ({}, [])
    mine = _from_file(machine_file(env), ("machine", "vault"), wrong)
    values |= mine
    for error in wrong[of_vault:]:
        error.of_machine = True
    if wrong and strict:
        raise wrong[0]
    variables = _from_env(env)
    return Settings(
        values,
        variables,
        wrong,
        [one for one in held if one.name not in {**mine, **variables}],
        agreed,
    )


def _from_file(path: Path, scopes: tuple[str, ...], wrong: list[SettingsError]) -> dict[str, Value]:
    """What a file sets; what it sets wrongly goes to `wrong`."""
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        wrong.append(
            SettingsError(
                f"{path} is not valid TOML: {error}",
                kept=_KEPT,
                hint="Correct the file and try again.",
            )
        )
        return {}
    except OSError as error:
        wrong.append(
            SettingsError(
                f"{path} cannot be read: {error.strerror}",
                kept=_KEPT,
                hint="Make the file readable.",
            )
        )
        return {}
    found: dict[str, Value] = {}
    for name, value in _flatten(data):
        try:
            found[name] = _checked(name, value, f"{path}{_line(text, name)}", scopes)
        except SettingsError as error:
            wrong.append(error)
    return found


def _line(text: str, name: str) -> str:
    """`, line 3` for the line of a TOML text that sets `name`; empty when it is written in some
    unusual way."""
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[+([^\[\]]+)\]", line)
        key = (
            (header[1] if header else line.partition("=")[0])
            .replace(" ", "")
            .replace('"', "")
            .replace("'", "")
            .strip()
        )
        table = f"{key}." if header else table
        full = key if header else table + key
        if full == name or (not header and "=" in line and name.startswith(f"{full}.")):
            return f", line {number}"
    return ""


def _flatten(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, dict) and prefix + key not in BY_NAME:
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _from_env(env: Mapping[str, str]) -> dict[str, Value]:
    return {
        s.name: _checked(s.name, _typed(s, env[s.variable]), f"environment variable {s.variable}")
        for s in SETTINGS
        if env.get(s.variable)
    }


def _typed(setting: Setting, text: str) -> Any:
    """The text of a variable as the setting's type, or the text itself when it does not fit (the
    check then says so)."""
    if setting.type is bool:
        return {
            "1": True,
            "true": True,
            "yes": True,
            "on": True,
            "0": False,
            "false": False,
            "no": False,
            "off": False,
        }.get(text.lower(), text)
    try:
        return setting.type(text)
    except ValueError:
        return text


def _checked(
    name: str, value: Any, where: str, scopes: tuple[str, ...] = ("machine", "vault")
) -> Value:
    setting = BY_NAME.get(name)
    if setting is None:
        near = difflib.get_close_matches(name, BY_NAME, n=1)
        raise SettingsError(
            f"{where}: there is no setting {name!r}",
            kept=_KEPT,
            hint=f"Did you mean {near[0]!r}?"
            if near
            else "`oneiro settings --all` lists every setting.",
        )
    if setting.scope not in scopes:
        raise SettingsError(
            f"{where}: {name!r} is this machine's own and is never taken from a vault",
            kept=_KEPT,
            hint=f"Move it to {machine_file()} or set {setting.variable}.",
        )
    if setting.type is float and type(value) is int:
        value = float(value)
    if type(value) is not setting.type or (setting.check is not None and not setting.check(value)):
        wanted = setting.allowed or setting.type.__name__
        raise SettingsError(
            f"{where}: {name} is {value!r}, but must be {wanted}",
            kept=_KEPT,
            hint=f"The default is {setting.default!r}.",
        )
    return cast("Value", value)
