"""What a command returns. Commands never print: the same code runs in the client and in the owner's threads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oneiro_vault.daemon.protocol import Terminal
from oneiro_vault.errors import OneiroError

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STYLES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


@dataclass(frozen=True)
class Output:
    """`text` for people and `data` for --json; `note` goes to standard error in both; `code` is the exit code."""

    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    code: int = 0


class ElsewhereError(Exception):
    """The owner cannot run this command for a client: it needs the client's terminal, or means another vault."""


def as_json(data: Mapping[str, Any]) -> str:
    """One line of JSON."""
    return json.dumps(data, ensure_ascii=False) + "\n"


def safe(text: str) -> str:
    """Text of a memory without control characters, which could otherwise steer the reader's terminal. Newlines and tabs stay."""
    return _CONTROL.sub("�", text.replace("\r\n", "\n"))


def line(text: str) -> str:
    """Text on one line."""
    return safe(" ".join(text.split()))


def cut(text: str, width: int) -> str:
    """The text in at most `width` characters; 0 means all of it."""
    return text if not width or len(text) <= width else text[: max(width - 1, 0)].rstrip() + "…"


class Style:
    """Colours for one terminal; none where none are wanted."""

    def __init__(self, terminal: Terminal) -> None:
        self.width = terminal.width
        self._color = terminal.color

    def __call__(self, text: str, *names: str) -> str:
        """The text in these styles."""
        if not self._color or not text:
            return text
        return f"\x1b[{';'.join(_STYLES[name] for name in names)}m{text}\x1b[0m"


def error_text(error: OneiroError) -> str:
    """What happened, what is safe, what to do next."""
    lines = [f"oneiro: {safe(str(error))}"]
    if error.kept:
        lines.append(f"  safe: {safe(error.kept)}")
    if error.hint:
        lines.append(f"  next: {safe(error.hint)}")
    return "\n".join(lines) + "\n"


def error_json(error: OneiroError) -> str:
    """The same for programs."""
    return as_json({"schema": 1, "error": error.to_dict()})
