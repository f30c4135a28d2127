"""Which settings of a vault protect, and what this machine has agreed to of them.

A vault's `oneiro.toml` comes by pull as well: what is looser in it than what was in force here
takes effect when a person of this machine has said so, by `oneiro trust`. The record lies in the
git directory, which no pull reaches.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from oneiro_vault.settings import locations


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


GUARDED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "secrets.mode": _mode,
    "secrets.allowed": _allowed,
    "dreams.review": lambda theirs, agreed: theirs or agreed,
    "dreams.brake": min,
    "notes.brake": min,
    "distil.sources": max,
    "distil.uses": max,
}
"""Setting -> the stricter of what a vault says and what was agreed to."""


def place(vault: Path) -> Path:
    """Where a vault's record lies (it may not exist)."""
    return Path(locations.state_dir(str(vault)), "agreed.json")


def guard(
    vault: Path, values: MutableMapping[str, Any], defaults: Mapping[str, Any]
) -> tuple[Mapping[str, Any], list[Loosened]]:
    """Put what is in force of the guarded settings into `values`, which an `oneiro.toml` has set;
    returns what this machine agrees to from now on, and what is looser and not in force."""
    agreed = dict(defaults) | _read(vault, defaults)
    held = []
    for name, known in list(agreed.items()):
        theirs = values.get(name, defaults[name])
        ours = GUARDED[name](theirs, known)
        if ours != theirs:
            held.append(Loosened(name, theirs, ours, name in values))
            values[name] = ours
        agreed[name] = known if name == "secrets.allowed" else ours
    return agreed, held


def accepted(agreed: Mapping[str, Any], held: Iterable[Loosened]) -> Mapping[str, Any]:
    """What is agreed to once these are."""
    found = dict(agreed)
    for one in held:
        both = f"{found[one.name]} {one.theirs}".split() if one.name == "secrets.allowed" else []
        found[one.name] = " ".join(dict.fromkeys(both)) if both else one.theirs
    return found


def _read(vault: Path, defaults: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found = json.loads(place(vault).read_bytes())
    except (OSError, ValueError):
        return {}
    known = found if isinstance(found, dict) else {}
    return {
        name: known[name]
        for name, default in defaults.items()
        if type(known.get(name)) is type(default)
    }


def write(vault: Path, agreed: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Keep it, when it is not what is kept already. Raises OSError."""
    if dict(agreed) == dict(defaults) | _read(vault, defaults):
        return
    file = place(vault)
    file.parent.mkdir(exist_ok=True)
    temp = file.with_name(f"agreed.{os.getpid()}.new")
    temp.write_text(json.dumps(dict(agreed), indent=1) + "\n", encoding="utf-8")
    temp.replace(file)


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower()
