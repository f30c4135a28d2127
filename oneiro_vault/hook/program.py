"""One event: read it, do its part within the deadline, print what the client takes, and in any
trouble say nothing.

Exit code 2 would block a person's prompt and erase it, so there is only 0. A client's hook may not
outlive the deadline either: what is not done by then is left, and a capture that was not spooled is
made up for by the next one.
"""

from __future__ import annotations

import os
import sys

from oneiro_vault.capture import prompt_counts
from oneiro_vault.hook.hook_context import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

JUDGE = "ONEIRO_JUDGE"
"""Variable that marks a process of ours that asks a model: nothing is put into its conversation and
nothing of it is captured."""
DEADLINES = {"SessionStart": 1.8, "UserPromptSubmit": 0.8}
"""Seconds; a person waits for these two."""
DEADLINE = 1.2
"""For all others: clients give SessionEnd 1.5 seconds."""
_LARGEST = 64_000_000
_CAPTURED = frozenset(("PostCompact", "SessionEnd", "Stop"))
EVENTS = frozenset(("SessionStart", "UserPromptSubmit", *_CAPTURED))


def main(argv: Sequence[str]) -> int:
    """Run `oneiro hook` with the words of its command line; returns 0."""
    try:
        event = _event(argv)
        if os.environ.get(JUDGE) or not event:
            return 0
        places: list[Place] = []
        try:
            _limit(DEADLINES.get(event, DEADLINE), places)
            said = _answer(_read(), event, argv, places)
        finally:
            _limit(0, places)
            _count(places)
        if said:
            _write(said)
    except BaseException:
        return 0
    return 0


def _event(argv: Sequence[str]) -> str:
    return next((word for word in argv if word in EVENTS), "")


def _limit(seconds: float, places: list[Place]) -> None:
    """After so many seconds this process is gone, whatever it waits for; 0: take that back."""
    import signal

    def end(*_: object) -> None:
        try:
            _count(places)
        finally:
            os._exit(0)

    if hasattr(signal, "setitimer"):  # not on Windows, where the client's own limit remains
        signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _count(places: list[Place]) -> None:
    """Note what became of a prompt, if this was one."""
    for place in places:
        if place.outcome:
            prompt_counts.note(place.state, place.outcome)


def _read() -> dict[str, Any]:
    """What the client says about the event. Raises ValueError for anything but an object."""
    import json

    parts: list[bytes] = []
    size = 0
    while data := os.read(0, 1 << 16):
        parts.append(data)
        size += len(data)
        if size > _LARGEST:
            raise ValueError("too large")
    found = json.loads(b"".join(parts))
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


def _answer(event: Mapping[str, Any], name: str, argv: Sequence[str], places: list[Place]) -> str:
    """What is to be put into the conversation, as the client wants it; "" for nothing. `places`
    gets where it takes place."""
    if event.get("agent_id") or event.get("hook_event_name", name) != name:
        return ""  # inside a subagent, whose conversation is no conversation with a person
    place = Place(event, argv)
    if not place.root:
        return ""
    places.append(place)
    if name == "SessionStart":
        from oneiro_vault.hook.session_start import orientation

        return _context(name, orientation(place))
    from oneiro_vault.hook import session_capture

    if name == "UserPromptSubmit":
        from oneiro_vault.hook.prompt import memories

        text = memories(place)
        session_capture.count(place)
        return _context(name, text)
    session_capture.keep(place, name)
    return ""


def _context(event: str, text: str) -> str:
    """The one form that both clients accept; Codex refuses any other key."""
    if not text:
        return ""
    import json

    return json.dumps(
        {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}},
        ensure_ascii=False,
    )


def _write(text: str) -> None:
    data = memoryview(text.encode("utf-8", "replace"))
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
