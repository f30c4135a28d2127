"""What a command returns. Commands never print: they run in the client and in the owner's
threads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.cells import cell_len, set_cell_size

from oneiro_vault.daemon.protocol import Terminal
from oneiro_vault.errors import OneiroError

_JOINED = "\u0590-\u1fff\u2600-\u27bf\ufe0f\U0001f000-\U0001faff"
"""Emoji and the scripts in which joiners have a meaning."""
_UNSEEN = re.compile(
    rf"[\u00ad\u200b\u2060\ufeff]|(?<![{_JOINED}])[\u200c\u200d]|[\u200c\u200d](?![{_JOINED}])"
)
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufff0-\ufffb"
    # turns the direction of writing round, and so what a line seems to say
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    r"\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2061-\u2065\u206a-\u206f\u3164\uffa0"  # hides
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_OURS = re.compile(r"(\x1b\[[0-9;]{1,8}m)")
_STYLES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


@dataclass(frozen=True)
class Output:
    """`text` for people, `data` for --json, `note` for standard error in both."""

    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    code: int = 0


class ElsewhereError(Exception):
    """This command needs the client's own terminal, or means another vault."""


def as_json(data: Mapping[str, Any]) -> str:
    """One line of JSON."""
    return json.dumps(data, ensure_ascii=False) + "\n"


def safe(text: str) -> str:
    """Text of a memory without characters that steer a terminal, turn the direction of writing or
    hide."""
    return _CONTROL.sub("�", _UNSEEN.sub("", text.replace("\r\n", "\n")))


def settled(text: str) -> str:
    """A whole output, safe but for the colours of `Style`: the last net under every command."""
    return "".join(
        part if number % 2 else safe(part) for number, part in enumerate(_OURS.split(text))
    )


def line(text: str) -> str:
    """Text on one line."""
    return safe(" ".join(text.split()))


def cut(text: str, width: int) -> str:
    """The text in at most `width` columns of a terminal; 0 means all of it."""
    if not width or cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


class Style:
    """Colours for one terminal; none where none are wanted."""

    def __init__(self, terminal: Terminal) -> None:
        self.width, self._color = terminal.width, terminal.color

    def __call__(self, text: str, *names: str) -> str:
        """The text in these styles."""
        if not self._color or not text:
            return text
        return f"\x1b[{';'.join(_STYLES[name] for name in names)}m{text}\x1b[0m"


def error_text(error: OneiroError) -> str:
    """What happened, what is safe, what to do next."""
    parts = ("oneiro", str(error)), ("  safe", error.kept), ("  next", error.hint)
    return "".join(f"{name}: {safe(text)}\n" for name, text in parts if text or name == "oneiro")


def error_json(error: OneiroError) -> str:
    """The same for programs."""
    return as_json({"schema": 1, "error": error.to_dict()})
