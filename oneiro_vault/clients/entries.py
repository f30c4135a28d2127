"""What setup puts into a client's settings, how it is known again, and what is wrong with settings
that cannot be edited."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

NAME: Final = "oneiro"
HOOKS: Final = {
    "SessionStart": 10,
    "UserPromptSubmit": 5,
    "Stop": 10,
    "PostCompact": 10,
    "SessionEnd": 10,
}
"""Event -> seconds a client waits for our hook."""
_CORE: Final = ("type", "command", "args")


class Trouble(ValueError):  # noqa: N818  # named after what happened
    """The text cannot be edited; `line` and `column` from 1."""

    def __init__(self, what: str, line: int, column: int) -> None:
        super().__init__(what)
        self.line, self.column = line, column


def trouble(what: str, text: str, position: int) -> Trouble:
    """What is wrong at a position of a text."""
    line = text.count("\n", 0, position) + 1
    return Trouble(what, line, position - text.rfind("\n", 0, position))


@dataclass(frozen=True)
class Want:
    """One entry: under `key` in the table that `path` leads to; without a key, an item of the list
    it leads to."""

    path: tuple[str, ...]
    entry: Mapping[str, Any] = field(hash=False)
    key: str = NAME


def core_of(want: Want) -> dict[str, object]:
    """The part of an entry that says which program is started; the rest a person may change."""
    entry = want.entry if want.key else want.entry["hooks"][0]
    return {name: entry[name] for name in _CORE if name in entry}


def words(entry: object) -> list[str]:
    """The command line of a server's or hook's entry, in any client's way of writing it."""
    command = entry.get("command") if isinstance(entry, Mapping) else None
    args = entry.get("args", []) if isinstance(entry, Mapping) else []
    if isinstance(command, list):
        return [str(word) for word in command]
    if not isinstance(command, str) or not isinstance(args, list):
        return []
    return [command, *map(str, args)] if args else _split(command)


def is_ours(entry: object) -> bool:
    """Does the entry start `oneiro mcp` or `oneiro hook`, from wherever and for whichever vault?"""
    found = words(entry)
    program = re.split(r"[\\/]", found[0])[-1].removesuffix(".exe") if found else ""
    return (program == "oneiro" or "oneiro_vault" in found[1:3]) and not {"mcp", "hook"}.isdisjoint(
        found
    )


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def server(command: Sequence[str], **extra: Any) -> dict[str, object]:
    """The entry most clients read: command and args apart."""
    return {"command": command[0], "args": list(command[1:])} | extra


def hooks(
    program: Sequence[str], vault: str, written: Callable[[list[str]], dict[str, object]] = server
) -> list[Want]:
    """One hook an event. `written` says how a command line is spelled: apart, or as one string for
    a shell."""
    found = []
    for event, seconds in HOOKS.items():
        hook = (
            {"type": "command"}
            | written([*program, "hook", event, "--vault", vault])
            | {"timeout": seconds}
        )
        found.append(Want(("hooks", event), {"hooks": [hook]}, ""))
    return found
