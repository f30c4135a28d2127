"""One event of a conversation: where it takes place (folder, marker, vault, settings), its part
within the deadline, and what the client takes; in any trouble not a word.

Exit code 2 would block a person's prompt and erase it, so there is only 0. What is not done by the
deadline is left: a capture that was not spooled is made up for by the next one.
"""

# pathlib imports re and urllib: 8 ms on a path that has 20.
# ruff: noqa: PTH109, PTH111, PTH112, PTH113, PTH118

from __future__ import annotations

import os

from oneiro_vault.capture import markers, prompt_counts
from oneiro_vault.settings import locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from oneiro_vault.answers import Json


DEFAULTS: dict[str, bool | int] = {"inject.tokens": 500, "capture.every": 20, "owner.start": True}
"""Settings a hook reads by itself, with the defaults of the table (a test compares them)."""
_MACHINE = frozenset(("owner.start",))


class Place:
    """What the client says of an `event`, the conversation's `cwd`, `marker` and `session`, the
    `root` of the vault ("" without one); `outcome`: what became of a prompt, as far as is known;
    `late`: what to count when the deadline comes first."""

    def __init__(self, event: Mapping[str, Any], argv: Sequence[str]) -> None:
        self.event = event
        roots = event.get("workspace_roots")  # Cursor's
        self.cwd = (
            _text(event.get("cwd"))
            or _text(roots[0] if isinstance(roots, list) and roots else "")
            or os.environ.get("CLAUDE_PROJECT_DIR", "")
            or os.getcwd()
        )
        self.session = next(filter(None, (_text(event.get(name)) for name in SESSIONS)), "")
        self.marker = markers.find(self.cwd)
        self.root = self._vault(locations.option(argv))
        self.state = locations.state_dir(self.root) if self.root else ""
        self.outcome = self.late = ""
        self._files: list[Mapping[str, Any]] = []

    def _vault(self, named: str) -> str:
        """The marker's vault, else the one every command would use here; "" for no vault."""
        root = (
            self.marker.vault
            or locations.find(named, self.cwd, os.environ)
            or locations.plain_default(os.environ)
            or _text(of_machine().get("vault"))
        )
        root = os.path.expanduser(root)
        marked = root and os.path.isfile(os.path.join(root, locations.MARK))
        return root if marked and os.path.isdir(locations.git_dir(root)) else ""

    @property
    def project(self) -> str:
        """What the marker calls this place."""
        return self.marker.place()

    def setting(self, name: str) -> bool | int:
        """A setting as the environment, the machine's file or the vault's has it, else its
        default."""
        default = DEFAULTS[name]
        told = os.environ.get("ONEIRO_" + name.upper().replace(".", "_"))
        if told and isinstance(default, bool):
            return locations.WORDS.get(told.lower(), default)
        if told:
            return int(told) if told.isdigit() else default
        if not self._files:
            self._files = [of_machine(), _toml(os.path.join(self.root, locations.MARK))]
        for file in self._files[:1] if name in _MACHINE else self._files:
            value = dotted(file, name)
            if type(value) is type(default) and (isinstance(value, bool) or value >= 0):
                return value
        return default


def of_machine() -> Mapping[str, Any]:
    """What the machine's settings file says; {} when it cannot be read."""
    return _toml(locations.machine_file(os.environ))


def tool_sets() -> list[str]:
    """The sets of tools that a new owner would serve, by the settings of this machine."""
    named = os.environ.get("ONEIRO_MCP_TOOLS") or dotted(of_machine(), "mcp.tools")
    return named.split() if isinstance(named, str) else []


def _toml(path: str) -> Mapping[str, Any]:
    try:
        return markers.read_toml(path)
    except (OSError, ValueError):
        return {}


def dotted(data: Mapping[str, Any], name: str) -> Any:
    """A setting in a file, written in a table or as a quoted dotted name; None when it is not
    there."""
    first, _, rest = name.partition(".")
    found = data.get(first)
    if isinstance(found, dict) and rest:
        return found.get(rest)
    return data.get(name)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


SESSIONS = ("session_id", "conversation_id", "sessionId")
"""What clients call a conversation: most, Cursor, Copilot CLI."""
NAMED = {"BeforeAgent": "UserPromptSubmit", "sessionStart": "SessionStart"}
"""An event of Gemini CLI, of Cursor -> what we call it."""
JUDGE = "ONEIRO_JUDGE"
"""Marks a process of ours that asks a model: its conversation gets nothing and is not captured."""
DEADLINES = {"SessionStart": 1.8, "UserPromptSubmit": 0.8}
"""Seconds; a person waits for these two."""
DEADLINE = 1.2
"""For all others: clients give SessionEnd 1.5 seconds."""
LATE = {"SessionStart": prompt_counts.START, "UserPromptSubmit": ""}
"""What to count when an event has no time left; a prompt's outcome says it itself."""
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
            for place in places:
                place.outcome = place.late or place.outcome
            _count(places)
        finally:
            os._exit(0)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _count(places: list[Place]) -> None:
    for place in places:
        if place.outcome:
            prompt_counts.note(place.state, place.outcome)


def _read() -> Json:
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
    """What is to be put into the conversation, "" for nothing. `places` gets where it takes
    place."""
    called = event.get("hook_event_name", name)
    if event.get("agent_id") or NAMED.get(str(called), called) != name:
        return ""  # inside a subagent, whose conversation is no conversation with a person
    place = Place(event, argv)
    if not place.root:
        return ""
    place.late = LATE.get(name, prompt_counts.CAPTURE if place.marker.allows else "")
    places.append(place)
    if name == "SessionStart":
        from oneiro_vault.hook.session_start import orientation

        return _context(event, name, orientation(place))
    from oneiro_vault.hook import session_capture

    if name == "UserPromptSubmit":
        from oneiro_vault.hook.prompt import memories

        text = memories(place)
        place.late = prompt_counts.MISSED if text else ""
        session_capture.count(place)
        return _context(event, name, text)
    session_capture.keep(place, name)
    return ""


def _context(event: Mapping[str, Any], name: str, text: str) -> str:
    """In the form that the client takes: Cursor's, Copilot CLI's, else the one of all others (Codex
    refuses any other key)."""
    if not text:
        return ""
    import json

    called = event.get("hook_event_name", name)
    said: Json = {"hookSpecificOutput": {"hookEventName": called, "additionalContext": text}}
    if "conversation_id" in event:
        said = {"additional_context": text}
    elif "sessionId" in event:
        said = {"additionalContext": text}
    return json.dumps(said, ensure_ascii=False)


def _write(text: str) -> None:
    data = memoryview(text.encode("utf-8", "replace"))
    while data:
        data = data[os.write(1, data) :]
