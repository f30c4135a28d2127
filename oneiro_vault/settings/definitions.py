"""The settings of the table `settings.toml`, as files and the environment have them.

`vault` settings are behaviour every machine shares and live in the vault's `oneiro.toml`. `machine`
settings (paths, models, processes) live in `$XDG_CONFIG_HOME/oneiro/config.toml` or in the
environment and never in a vault: one that was pulled is untrusted input. The environment
(`ONEIRO_DECAY_EPISODIC=3`) overrides both.

Some settings protect. What an `oneiro.toml`, which comes by pull, makes looser than what was in
force here takes effect when a person of this machine has said so, by `oneiro trust`. The record
lies in the git directory, which no pull reaches.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from oneiro_vault.errors import SettingsError
from oneiro_vault.settings import locations

if TYPE_CHECKING:
    from oneiro_vault import answers

Value = bool | int | float | str
_Rule = tuple[Callable[[Any], bool], str]
_KEPT: Final = "No note was touched."


@dataclass(frozen=True)
class Setting:
    """One setting: dotted `name`, `scope`, `default` (of its type), `help`, the `rule` (of `RULES`)
    its values keep. `each`: a caller's variable counts even when another process answers."""

    name: str
    scope: str
    default: Value
    help: str
    rule: str = ""
    each: bool = False

    @property
    def allowed(self) -> str:
        """What values may be, in words; empty for any of its type."""
        return RULES[self.rule][1] if self.rule else ""

    @property
    def variable(self) -> str:
        """The environment variable that overrides it."""
        return _variable(self.name)

    @property
    def type(self) -> type:
        """bool, int, float or str."""
        return type(self.default)


def _one_of(*names: str) -> _Rule:
    return lambda value: value in names, ", ".join(f"`{name}`" for name in names)


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


JUDGES: Final = tuple("auto offline deferred sampling command anthropic openai none".split())
"""Who may answer the loops' questions."""
_NAMED: Final = re.compile(
    r"""(?m)^[ \t]*vault[ \t]*=(?:[ \t]*(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'))?"""
    r"[^#\n]*(?:(#.*\n?)|\n|$)"
)
"""The line that names a vault, and the comment in it."""
_HASHES: Final = re.compile(r"\s*([0-9a-fA-F]{64}(\s+|$))*")

_SECTIONS: Final = "orientation|instructions|people|procedures|memories|episodes"
_MODELS: Final = re.compile(r"\s*([^\s=]+(\s+[^\s=]+=\S+)*)?\s*")
_SHARES: Final = re.compile(rf"\s*((?:{_SECTIONS})=\d+(\.\d+)?(\s+|$))*")
_PRICES: Final = re.compile(r"\s*(\d+(\.\d+)?\s+\d+(\.\d+)?)?\s*")


RULES: Final[Mapping[str, _Rule]] = {
    "positive": (lambda value: value > 0, "a number above 0"),
    "not negative": (lambda value: value >= 0, "0 or more"),
    "share": (lambda value: 0 <= value <= 1, "0 to 1"),
    "mode": _one_of("block", "redact", "off"),
    "hashes": (lambda value: bool(_HASHES.fullmatch(value)), "sha256 in hex"),
    "times": (_times, "times such as `00:00, 18:00 dialectic`"),
    "sets": (
        lambda value: set(value.split()) <= {"history", "dreams", "graph", "wisdom", "levels"},
        "`history`, `dreams`, `graph`, `wisdom`, `levels`",
    ),
    "shares": (lambda value: bool(_SHARES.fullmatch(value)), "such as `instructions=3 episodes=0`"),
    "judge": _one_of(*JUDGES),
    "model": (
        lambda value: bool(_MODELS.fullmatch(value)),
        "a name, then others by stage: `big encode=small`",
    ),
    "prices": (lambda value: bool(_PRICES.fullmatch(value)), "two numbers such as `3 15`"),
    "words": (_words, "a command line"),
}
"""What the table calls a rule -> is a value allowed, and which are."""
_TABLE: Final = tomllib.loads(Path(__file__).with_name("settings.toml").read_text("utf-8"))
SETTINGS: Final = tuple(
    Setting(name, scope, **row)
    for scope in ("vault", "machine")
    for name, row in _TABLE[scope].items()
)
BY_NAME: Final[dict[str, Setting]] = {setting.name: setting for setting in SETTINGS}
FIXED: Final[dict[str, Value]] = _TABLE["fixed"]
"""Numbers read as settings are, which no file or variable sets: a `Settings` made in code may."""
_FORMER: Final[Mapping[str, str]] = dict.fromkeys(FIXED, "") | _TABLE["former"]
"""What an older version's files may set, and does nothing any more -> what is set instead."""


class Loosened(NamedTuple):
    """A setting that `oneiro.toml` makes looser than it is in force here."""

    name: str
    theirs: Any
    ours: Any
    said: bool = True
    """Does the file name it? Else it is its default that is looser."""

    @property
    def text(self) -> str:
        """As a sentence without its end."""
        if self.name == "secrets.allowed":
            count = len(set(self.theirs.split()) - set(self.ours.split()))
            what = f"{count} texts that look" if count > 1 else "a text that looks"
            return f"oneiro.toml allows {what} like a secret (secrets.allowed)"
        what = f"sets {self.name} to" if self.said else f"leaves {self.name} at"
        return f"oneiro.toml {what} {_toml(self.theirs)}, which is looser than {_toml(self.ours)}"


HINT: Final = "It is not in force here. If you want it: `oneiro trust`, in a terminal."
"""What a person does about it."""


def _mode(theirs: str, agreed: str) -> str:
    return agreed if theirs == "off" else theirs


def _allowed(theirs: str, agreed: str) -> str:
    known = {mark.lower() for mark in agreed.split()}
    kept = [mark for mark in theirs.split() if mark.lower() in known]
    return (
        " ".join(kept) if len(kept) < len(theirs.split()) else theirs
    )  # as it is written: blanks loosen nothing


_STRICTER: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "secrets.mode": _mode,
    "secrets.allowed": _allowed,
    "dreams.review": lambda theirs, agreed: theirs or agreed,
    "dreams.brake": min,
}
"""Setting -> the stricter of what a vault says and what was agreed to."""
GUARDED: Final[dict[str, Value]] = {name: BY_NAME[name].default for name in _STRICTER}
"""Those settings with their defaults."""

MINE: Final = frozenset({"vault", "owner.start"})
"""Settings a client acts upon by itself, whoever answers."""
_CALLER: ContextVar[Mapping[str, Value] | None] = ContextVar("caller", default=None)


class Settings:
    """Checked settings, read as `settings["decay.episodic"]`.

    `values` come from files, `variables` from the environment, which wins. `wrong` is what the
    files say that had to be left out; `loosened` what the vault says that nobody here has agreed
    to, `agreed` what they have; `former` names what is no setting any more.
    """

    def __init__(
        self,
        values: Mapping[str, Value] | None = None,
        variables: Mapping[str, Value] | None = None,
        wrong: Sequence[SettingsError] = (),
        loosened: Sequence[Loosened] = (),
        agreed: Mapping[str, Value] | None = None,
        former: Sequence[str] = (),
    ) -> None:
        self._values = dict(values or {})
        self._variables = dict(variables or {})
        self.wrong = tuple(wrong)
        self.loosened = tuple(loosened)
        self.agreed = dict(agreed or {})
        self.former = tuple(former)

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
            self.former,
        )

    def idle(self) -> Iterator[tuple[str, str]]:
        """What is set and is no setting any more: that it has no effect, and what to do."""
        for name in self.former:
            instead = _FORMER[name]
            hint = f"Set {instead} instead." if instead else "Take it out."
            yield f"the setting {name} has no effect any more", hint

    @contextmanager
    def on_behalf(self, env: Mapping[str, str]) -> Iterator[list[str]]:
        """In this thread, see the settings that may differ from call to call as the caller's
        environment has them; yields the variables that cannot be followed. Raises SettingsError."""
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


def in_force(settings: Settings) -> answers.SettingsInForce:
    """Every setting: its value in force, its default, and what it is."""
    rows: list[answers.SettingRow] = [
        {"name": one.name, "value": settings[one.name], "default": one.default, "help": one.help}
        for one in SETTINGS
    ]
    found: answers.SettingsInForce = {"schema": 1, "settings": rows}
    if settings.former:
        found["notices"] = [f"{text}. {hint}" for text, hint in settings.idle()]
    return found


def machine_file(env: Mapping[str, str] | None = None) -> Path:
    """The machine's settings file (it may not exist)."""
    return Path(locations.machine_file(os.environ if env is None else env))


def make_default(vault: Path, env: Mapping[str, str]) -> Path:
    """Write into the machine's settings which vault is meant where none is named and none is near;
    everything else in the file stays byte for byte. Raises SettingsError or OSError."""
    named = f"vault = {json.dumps(str(vault), ensure_ascii=False)}\n"
    file = machine_file(env)
    target = file.resolve()
    try:
        text = target.read_bytes().decode() if target.exists() else ""
        whole = _with_line(text, named)
    except ValueError as error:
        raise SettingsError(
            f"{file} is written so that no line can be added: {error}",
            kept="Nothing was changed.",
            hint=f"Write {named.strip()} into its first line.",
        ) from None
    target.parent.mkdir(parents=True, exist_ok=True)
    temp = target.with_name(f"{target.name}.{os.getpid()}.new")
    with temp.open("wb") as out:
        if target.exists():
            os.fchmod(out.fileno(), target.stat().st_mode & 0o777)
        out.write(whole)
    temp.replace(target)
    return file


def _with_line(text: str, named: str) -> bytes:
    """The settings with the line that names the vault first. Raises ValueError."""
    table = re.search(r"(?m)^[ \t]*\[", text)
    tables = text[table.start() :] if table else ""
    top = text.removesuffix(tables)
    kept = _NAMED.sub(r"\1", top)  # what was said beside the old line stays, on its own
    whole = f"{named}{kept}{tables}"
    tomllib.loads(whole)
    return whole.encode()


def load(
    vault: Path | None, env: Mapping[str, str] | None = None, *, strict: bool = True
) -> Settings:
    """Defaults, then the vault's `oneiro.toml`, then the machine's file, then the environment.

    Raises SettingsError naming the file, the line, the key and what is allowed. Unless `strict`,
    what a file says wrongly is left out and listed in `Settings.wrong`: a vault pulled from a newer
    version stays readable.
    """
    env = os.environ if env is None else env
    wrong: list[SettingsError] = []
    former: list[str] = []
    values = (
        _from_file(vault / "oneiro.toml", ("vault",), wrong, former) if vault is not None else {}
    )
    of_vault = len(wrong)
    agreed, held = _guard(vault, values) if vault is not None else ({}, [])
    mine = _from_file(machine_file(env), ("machine", "vault"), wrong, former)
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
        [*former, *(name for name in sorted(_FORMER) if env.get(_variable(name)))],
    )


def _from_file(
    path: Path, scopes: tuple[str, ...], wrong: list[SettingsError], former: list[str]
) -> dict[str, Value]:
    """What a file sets; wrong ones go to `wrong`, what is no setting any more to `former`."""
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        text, hint = f"{path} is not valid TOML: {error}", "Correct the file and try again."
        wrong.append(SettingsError(text, kept=_KEPT, hint=hint))
        return {}
    except OSError as error:
        text, hint = f"{path} cannot be read: {error.strerror}", "Make the file readable."
        wrong.append(SettingsError(text, kept=_KEPT, hint=hint))
        return {}
    found: dict[str, Value] = {}
    for name, value in _flatten(data):
        if name in _FORMER:
            former.append(name)
            continue
        try:
            found[name] = _checked(name, value, f"{path}{_line(text, name)}", scopes)
        except SettingsError as error:
            wrong.append(error)
    return found


def _line(text: str, name: str) -> str:
    """`, line 3` for the line of a TOML text that sets `name`; "" for some unusual way."""
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


def _variable(name: str) -> str:
    return "ONEIRO_" + name.upper().replace(".", "_")


def _from_env(env: Mapping[str, str]) -> dict[str, Value]:
    return {
        s.name: _checked(s.name, _typed(s, env[s.variable]), f"environment variable {s.variable}")
        for s in SETTINGS
        if env.get(s.variable)
    }


def _typed(setting: Setting, text: str) -> Any:
    """The text of a variable as the setting's type, or itself when it does not fit: the check says
    so."""
    if setting.type is bool:
        return locations.WORDS.get(text.lower(), text)
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
            hint=f"Did you mean {near[0]!r}?" if near else "`oneiro stats -v` lists every setting.",
        )
    if setting.scope not in scopes:
        raise SettingsError(
            f"{where}: {name!r} is this machine's own and is never taken from a vault",
            kept=_KEPT,
            hint=f"Move it to {machine_file()} or set {setting.variable}.",
        )
    if setting.type is float and type(value) is int:
        value = float(value)
    if type(value) is not setting.type or (setting.rule and not RULES[setting.rule][0](value)):
        wanted = setting.allowed or setting.type.__name__
        raise SettingsError(
            f"{where}: {name} is {value!r}, but must be {wanted}",
            kept=_KEPT,
            hint=f"The default is {setting.default!r}.",
        )
    return cast("Value", value)


def agreed_file(vault: Path) -> Path:
    """Where the record of what this machine has agreed to lies (it may not exist)."""
    return Path(locations.state_dir(str(vault)), "agreed.json")


def _guard(vault: Path, values: dict[str, Value]) -> tuple[dict[str, Value], list[Loosened]]:
    """Put what is in force of the guarded settings into `values`, which an `oneiro.toml` has set;
    returns what this machine agrees to from now on, and what is looser and not in force."""
    agreed, held = _agreed(vault), []
    for name, known in list(agreed.items()):
        theirs = values.get(name, GUARDED[name])
        ours = _STRICTER[name](theirs, known)
        if ours != theirs:
            held.append(Loosened(name, theirs, ours, name in values))
            values[name] = ours
        agreed[name] = known if name == "secrets.allowed" else ours
    return agreed, held


def accepted(agreed: Mapping[str, Value], held: Iterable[Loosened]) -> Mapping[str, Value]:
    """What is agreed to once these are."""
    found = dict(agreed)
    for one in held:
        both = f"{found[one.name]} {one.theirs}".split() if one.name == "secrets.allowed" else []
        found[one.name] = " ".join(dict.fromkeys(both)) if both else one.theirs
    return found


def _agreed(vault: Path) -> dict[str, Value]:
    try:
        found = json.loads(agreed_file(vault).read_bytes())
    except (OSError, ValueError):
        found = None
    known = found if isinstance(found, dict) else {}
    return {
        name: known[name] if type(known.get(name)) is type(default) else default
        for name, default in GUARDED.items()
    }


def keep_agreed(vault: Path, agreed: Mapping[str, Value]) -> None:
    """Keep it, when it is not what is kept already. Raises OSError."""
    if dict(agreed) == _agreed(vault):
        return
    file = agreed_file(vault)
    file.parent.mkdir(exist_ok=True)
    temp = file.with_name(f"agreed.{os.getpid()}.new")
    temp.write_text(json.dumps(dict(agreed), indent=1) + "\n", encoding="utf-8")
    temp.replace(file)


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower()
