"""The one table of settings: it feeds the code, `oneiro.toml`, the README and the tests.

Two scopes. `vault` settings are behaviour every machine shares and live in the vault's `oneiro.toml`. `machine` settings (paths, models,
processes) live in `$XDG_CONFIG_HOME/oneiro/config.toml` or in the environment and are never taken from a vault, because a vault that was
pulled is untrusted input. The environment (`ONEIRO_DECAY_EPISODIC=3`) overrides both.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from oneiro_vault.errors import SettingsError

Value = bool | int | float | str


@dataclass(frozen=True)
class Setting:
    """One setting: dotted `name`, `default` (its type is the setting's type), `scope`, `help`, and what values are allowed."""

    name: str
    default: Value
    scope: str
    help: str
    check: Callable[[Any], bool] | None = None
    allowed: str = ""

    @property
    def variable(self) -> str:
        """The environment variable that overrides it."""
        return "ONEIRO_" + self.name.upper().replace(".", "_")

    @property
    def type(self) -> type:
        """bool, int, float or str."""
        return type(self.default)


def _positive(value: float) -> bool:
    return value > 0


def _not_negative(value: float) -> bool:
    return value >= 0


def _share(value: float) -> bool:
    return 0 <= value <= 1


SETTINGS: Final[tuple[Setting, ...]] = (
    Setting("recall.k", 10, "vault", "rows a recall returns", _positive, "a number above 0"),
    Setting("decay.episodic", 7.0, "vault", "stability of an episode in days", _positive, "a number above 0"),
    Setting("decay.semantic", 30.0, "vault", "stability of knowledge in days", _positive, "a number above 0"),
    Setting("decay.procedure", 90.0, "vault", "stability of a procedure in days", _positive, "a number above 0"),
    Setting("decay.growth", 1.4, "vault", "how much one reinforcement stretches stability", lambda v: v >= 1, "1 or more"),
    Setting("decay.cap", 365.0, "vault", "longest stability in days", _positive, "a number above 0"),
    Setting("decay.faded", 0.05, "vault", "below this strength a memory leaves passive recall", _share, "0 to 1"),
    Setting("edits.commit", True, "vault", "commit a person's edits for them (as `edit:`, under their own name)"),
    Setting("edits.quiet", 30.0, "vault", "seconds a file must rest before a person's edit is committed", _not_negative, "0 or more"),
    Setting("remember.duplicate", 0.85, "vault", "word overlap at which a new memory is the same one again", _share, "0 to 1"),
    Setting("notes.indexed_bytes", 1_000_000, "vault", "bytes of one note that are indexed", _positive, "a number above 0"),
    Setting("notes.brake", 0.5, "vault", "share of the notes that may vanish at once before indexing stops and asks", _share, "0 to 1"),
    Setting("vault", "", "machine", "vault to use when none is named and none is near"),
    Setting("index.dir", "", "machine", "folder for the indexes instead of `.oneiro/` in the vault"),
    Setting("embed.model", "default", "machine", "`default` (packaged all-MiniLM-L6-v2), `hash` (no model), a folder, or a hub name"),
    Setting("embed.idle", 300.0, "machine", "seconds without work after which the embedding process stops", _positive, "a number above 0"),
    Setting("embed.threads", 0, "machine", "threads of the embedding process; 0 lets it choose", _not_negative, "0 or more"),
    Setting("owner.start", True, "machine", "start the owner process when it is not there"),
    Setting("owner.idle", 900.0, "machine", "seconds without a request after which the owner stops", _positive, "a number above 0"),
    Setting("owner.log_bytes", 1_000_000, "machine", "size at which the owner's log is rotated", _positive, "a number above 0"),
    Setting("watch.debounce", 0.15, "machine", "seconds a file must rest before it is indexed again", _not_negative, "0 or more"),
    Setting("watch.reconcile", 60.0, "machine", "seconds between full comparisons of disk and index", _positive, "a number above 0"),
    Setting("watch.poll", False, "machine", "poll instead of using file system events"),
    Setting("git.wait", 10.0, "machine", "seconds to wait for a lock another program holds", _positive, "a number above 0"),
    Setting("disk.reserve", 50_000_000, "machine", "writes are refused when fewer bytes than this are free", _not_negative, "0 or more"),
)

BY_NAME: Final[dict[str, Setting]] = {setting.name: setting for setting in SETTINGS}


class Settings:
    """Checked settings, read as `settings["decay.episodic"]`; unset ones have their default."""

    def __init__(self, values: Mapping[str, Value] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> Any:
        return self._values.get(name, BY_NAME[name].default)

    def __iter__(self) -> Iterator[str]:
        return iter(BY_NAME)

    def but(self, **values: Value) -> Settings:
        """The same with some values replaced; names with `_` for `.`."""
        return Settings(self._values | {name.replace("_", ".", 1): value for name, value in values.items()})

    def origin(self, name: str) -> str:
        """`set` or `default`."""
        return "set" if name in self._values else "default"


def machine_file(env: Mapping[str, str] | None = None) -> Path:
    """The machine's settings file (it may not exist)."""
    env = os.environ if env is None else env
    base = env.get("XDG_CONFIG_HOME") or str(Path(env.get("HOME", "~")).expanduser() / ".config")
    return Path(base) / "oneiro" / "config.toml"


def load(vault: Path | None, env: Mapping[str, str] | None = None) -> Settings:
    """Defaults, then the vault's `oneiro.toml`, then the machine's file, then the environment.

    Raises SettingsError naming the file, the key and what is allowed.
    """
    env = os.environ if env is None else env
    values: dict[str, Value] = {}
    if vault is not None:
        values |= _from_file(vault / "oneiro.toml", scopes=("vault",))
    values |= _from_file(machine_file(env), scopes=("machine", "vault"))
    values |= _from_env(env)
    return Settings(values)


def _from_file(path: Path, scopes: tuple[str, ...]) -> dict[str, Value]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{path} is not valid TOML: {error}", kept="No note was touched.", hint="Correct the file and try again."
        ) from error
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be read: {error.strerror}", kept="No note was touched.", hint="Make the file readable."
        ) from error
    return {name: _checked(name, value, str(path), scopes) for name, value in _flatten(data)}


def _flatten(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, dict) and prefix + key not in BY_NAME:
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _from_env(env: Mapping[str, str]) -> dict[str, Value]:
    return {
        s.name: _checked(s.name, _typed(s, env[s.variable]), f"environment variable {s.variable}") for s in SETTINGS if env.get(s.variable)
    }


def _typed(setting: Setting, text: str) -> Any:
    """The text of a variable as the setting's type, or the text itself when it does not fit (the check then says so)."""
    if setting.type is bool:
        return {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}.get(
            text.lower(), text
        )
    try:
        return setting.type(text)
    except ValueError:
        return text


def _checked(name: str, value: Any, where: str, scopes: tuple[str, ...] = ("machine", "vault")) -> Value:
    setting = BY_NAME.get(name)
    if setting is None:
        near = difflib.get_close_matches(name, BY_NAME, n=1)
        raise SettingsError(
            f"{where}: there is no setting {name!r}",
            kept="No note was touched.",
            hint=f"Did you mean {near[0]!r}?" if near else "`oneiro stats -v` lists every setting.",
        )
    if setting.scope not in scopes:
        raise SettingsError(
            f"{where}: {name!r} is this machine's own and is never taken from a vault",
            kept="No note was touched.",
            hint=f"Move it to {machine_file()} or set {setting.variable}.",
        )
    if setting.type is float and type(value) is int:
        value = float(value)
    if type(value) is not setting.type or (setting.check is not None and not setting.check(value)):
        wanted = setting.allowed or setting.type.__name__
        raise SettingsError(
            f"{where}: {name} is {value!r}, but must be {wanted}", kept="No note was touched.", hint=f"The default is {setting.default!r}."
        )
    return cast("Value", value)
