"""What the prompt hook did, and which hooks had no time left, counted by the day: one letter an
event, in a file of that day in `<git dir>/oneiro/prompts`.

A missed deadline is known to the hook's own process alone, which has no time left: one append,
never flushed, not a word of what was asked.
"""

# pathlib imports re and urllib: 8 ms on a path that has 20.
# ruff: noqa: PTH103, PTH108, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import os
import time

INJECTED, NOTHING, MISSED, UNREACHED, OFF = "inmuo"
"""Memories were given; none fitted; the deadline came first; there was no owner to ask;
`inject.tokens` is 0."""
NAMES = {
    "injected": INJECTED,
    "nothing": NOTHING,
    "missed": MISSED,
    "unreached": UNREACHED,
    "off": OFF,
}
START, CAPTURE = "sc"
"""The deadline of another hook came first: of the beginning of a conversation, of a capture."""
LATE = {"starts": START, "prompts": MISSED, "captures": CAPTURE}
_KEPT = 7
"""Days."""


def note(state: str, outcome: str) -> None:
    """Count one event; what cannot be written is not counted."""
    path = os.path.join(state, "prompts", _today())
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    try:
        try:
            number = os.open(path, flags, 0o600)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            number = os.open(path, flags, 0o600)
        try:
            os.write(number, outcome.encode())
        finally:
            os.close(number)
    except OSError:
        return


def today(state: str) -> dict[str, int]:
    """How often each of NAMES happened since midnight, local time; files of other weeks go."""
    folder = os.path.join(state, "prompts")
    try:
        for old in sorted(os.listdir(folder))[:-_KEPT]:
            os.unlink(os.path.join(folder, old))
        with open(os.path.join(folder, _today()), "rb") as file:
            found = file.read()
    except OSError:
        found = b""
    return {name: found.count(letter.encode()) for name, letter in NAMES.items()}


def late(state: str) -> dict[str, int]:
    """How often each of LATE happened in the last days that were counted, a week at most."""
    folder, found = os.path.join(state, "prompts"), b""
    week = time.strftime("%Y-%m-%d", time.localtime(time.time() - (_KEPT - 1) * 86_400))
    try:
        for name in os.listdir(folder):
            if name >= week:
                with open(os.path.join(folder, name), "rb") as file:
                    found += file.read()
    except OSError:
        pass
    return {name: found.count(letter.encode()) for name, letter in LATE.items()}


def told(found: dict[str, int]) -> str:
    """What `late` found, in words; "" for nothing."""
    words = {
        "starts": (
            "conversation began without its orientation",
            "conversations began without theirs",
        ),
        "prompts": ("prompt got no memories", "prompts got no memories"),
        "captures": ("capture was left for the next", "captures were left for the next"),
    }
    return ", ".join(
        f"{found[name]} {one if found[name] == 1 else many}"
        for name, (one, many) in words.items()
        if found[name]
    )


def _today() -> str:
    return time.strftime("%Y-%m-%d")
