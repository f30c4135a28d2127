"""What was said, out of a client's own record of it (Claude Code's JSONL and Codex's rollouts), and
the words of a note made of it.

Both formats change without notice, so nothing is relied on: a line that is not understood is passed
over.
"""
# pathlib imports re and urllib: 8 ms on a path that has 20.
# ruff: noqa: PTH123

from __future__ import annotations

import json
import re

from oneiro_vault.capture.privacy import redact
from oneiro_vault.core.markdown.quoting import cut_at_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, BinaryIO

    from oneiro_vault.answers import Json

LONGEST_LINE = 4_000_000
"""Bytes beyond which a line is a pasted file or a picture, not something said."""
TOOL = 200
"""Characters that stay of what a tool was asked."""
NAMES = {"user": "User", "assistant": "Assistant"}
TURN = "User:"
"""How what a person said begins."""
_SPEAKERS = tuple(NAMES)  # not the dict: a type may be anything, also what cannot be hashed
_UNSAID = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage", "forkedFrom")
"""A fork begins with a copy of another conversation, which is captured there."""
_ADDED = re.compile(
    r"<(environment_context|user_instructions|system-reminder|command-(?:name|message|args)|"
    r"local-command-(?:stdout|stderr|caveat)|bash-(?:stdout|stderr)|task-notification|"
    r"turn_aborted|subagent_notification)>"
)
SPEAKS = re.compile(r"^(?=(?:User|Assistant):)", re.MULTILINE)
"""A conversation that was pasted is a quotation."""
_INSTRUCTIONS = "# AGENTS.md instructions"


class Turn:
    """`role` is `user`, `assistant` or `tool` (one line about its use); `when` is RFC 3339 or
    empty."""

    __slots__ = ("role", "text", "when")

    def __init__(self, role: str, text: str, when: str = "") -> None:
        self.role = role
        self.text = text
        self.when = when


def read(path: str, start: int = 0, most: int = 1 << 62) -> tuple[list[Turn], int]:
    """What was said from byte `start` on, private parts left out, and the byte up to which it was
    read (about `most` after `start`).

    A last line that is still being written waits for the next time. A file that became shorter is
    read from its beginning. Raises OSError.
    """
    turns: list[Turn] = []
    seen: set[str] = set()
    with open(path, "rb") as file:
        if start > file.seek(0, 2):
            start = 0
        file.seek(start)
        end = start
        for line, after in lines(file, start):
            record = _parsed(line)
            if record is None and not line.endswith(b"\n"):
                break
            end = after
            mark = str(record.get("uuid") or "") if record else ""
            if record and not (mark and mark in seen):
                seen.add(mark)
                turns += said(record)
            if end - start >= most:
                break
    return turns, end


def render(turns: list[Turn]) -> str:
    """As Markdown paragraphs, each speaker named where they begin; "" when nobody said anything."""
    if not any(turn.role in NAMES for turn in turns):
        return ""
    parts: list[str] = []
    speaker = ""
    for turn in turns:
        named = turn.role in NAMES and turn.role != speaker
        words = SPEAKS.sub("> ", turn.text)
        parts.append(f"{NAMES[turn.role]}: {words}" if named else words)
        speaker = turn.role if turn.role in NAMES else speaker
    return "\n\n".join(parts)


def last_time(turns: list[Turn]) -> str:
    """When the last of them that has a time was said, as its client wrote it; "" when none has."""
    return next((turn.when for turn in reversed(turns) if turn.when), "")


def lines(file: BinaryIO, position: int = 0) -> Iterator[tuple[bytes, int]]:
    """Each line and the byte behind it; of a line that is too long only an empty stand-in."""
    while line := file.readline(LONGEST_LINE):
        position += len(line)
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            while rest := file.readline(LONGEST_LINE):
                position += len(rest)
                if rest.endswith(b"\n"):
                    break
            line = b"\n"
        yield line, position


def _parsed(line: bytes) -> Json | None:
    """{} for what cannot be something said, None for what is no JSON."""
    if line.endswith(b"\n") and not (
        b'"user"' in line or b'"assistant"' in line or b'"response_item"' in line
    ):
        return {}
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else {}


def said(record: Json) -> Iterator[Turn]:
    """What one record of a client says, private parts left out; nothing for most kinds."""
    when = record.get("timestamp")
    when = when if isinstance(when, str) else ""
    if record.get("type") == "response_item":
        found = _codex(record.get("payload"))
    elif record.get("type") in _SPEAKERS and not any(record.get(mark) for mark in _UNSAID):
        found = _claude(record["type"], record.get("message"))
    else:
        return
    for role, text in found:
        clean = _clean(role, text)
        if clean:
            yield Turn(role, clean, when)


def _claude(role: str, message: object) -> Iterator[tuple[str, str]]:
    if not isinstance(message, dict) or message.get("model") == "<synthetic>":
        return
    content = message.get("content")
    if isinstance(content, str):
        yield role, content
    for block in content if isinstance(content, list) else []:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "text":
            yield role, _text(block.get("text"))
        elif block.get("type") == "tool_use":
            yield "tool", _tool(block.get("name"), block.get("input"))


def _codex(payload: object) -> Iterator[tuple[str, str]]:
    if not isinstance(payload, dict):
        return
    kind, role = payload.get("type"), payload.get("role")
    if kind == "message" and role in _SPEAKERS:
        content = payload.get("content")
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict):
                yield str(role), _text(block.get("text"))
    elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
        yield (
            "tool",
            _tool(
                payload.get("name") or kind,
                payload.get("arguments") or payload.get("input") or payload.get("action"),
            ),
        )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _tool(name: object, arguments: object) -> str:
    """What it answered is left out, since it can be had again."""
    words = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    words = " ".join(redact(words).split())
    return f"[{_text(name) or 'tool'}] {words if len(words) <= TOOL else words[:TOOL] + '…'}"


def _clean(role: str, text: str) -> str:
    text = redact(text).replace("\0", "")
    if role == "user":
        text = "" if text.startswith(_INSTRUCTIONS) else _own(text)
    return text.encode("utf-8", "replace").decode("utf-8").strip()


def _own(text: str) -> str:
    """A tag that is only mentioned (never closed) stays."""
    kept: list[str] = []
    position = 0
    never_closed: set[str] = set()
    for tag in _ADDED.finditer(text):
        if tag.start() < position or tag[1] in never_closed:
            continue
        close = f"</{tag[1]}>"
        end = text.find(close, tag.end())
        if end < 0:
            never_closed.add(tag[1])
            continue
        kept.append(text[position : tag.start()])
        position = end + len(close)
    return "".join(kept) + text[position:]


KINDS = ("compaction", "session", "turns", "note")
"""A client's summary, the rest of a conversation at its end, a part of one that goes on, somebody's
words."""
_CALLED = {"compaction": "Summary", "session": "Conversation", "turns": "Conversation"}
_MARKERS = re.compile(r"^(?=(?:<{7}|={7}|>{7})(?:[ \r\n]|\Z))", re.MULTILINE)
_TITLE = 72


def unmarked(text: str) -> str:
    """With lines that git writes at conflicts indented."""
    return _MARKERS.sub("    ", text)


def clean(text: str) -> str:
    """Without private parts, NUL and halves of characters; lines that git writes at conflicts
    indented."""
    text = redact(text).replace("\0", "").replace("\r\n", "\n")
    text = text.encode("utf-8", "replace").decode("utf-8")
    return unmarked(text).strip()


def title(text: str, kind: str) -> str:
    """A title out of the words: what a person asked first, or the first line that says
    something."""
    line = next((line for line in text.splitlines() if line.strip(" \t#>-*=_`|")), "").strip(
        " \t#>-*=_`|"
    )
    line = cut_at_word(" ".join(line.removeprefix(TURN).split()), _TITLE)
    name = _CALLED.get(kind, "")
    return f"{name}: {line}" if name and line else line or "untitled"


def parts(text: str, limit: int) -> list[str]:
    """Pieces of at most `limit` bytes, cut between paragraphs, else between lines, else
    anywhere."""
    if len(text.encode("utf-8")) <= limit:
        return [text]
    for gap in ("\n\n", "\n"):
        pieces = _packed(text.split(gap), gap, limit)
        if all(len(piece.encode("utf-8")) <= limit for piece in pieces):
            return pieces
    return [piece for long in pieces for piece in _chopped(long, limit)]


def _packed(pieces: list[str], gap: str, limit: int) -> list[str]:
    found: list[str] = []
    size = 0
    for piece in pieces:
        cost = len((gap + piece).encode("utf-8"))
        if found and size + cost <= limit:
            found[-1] += gap + piece
            size += cost
        else:
            found.append(piece)
            size = cost
    return [piece for piece in found if piece.strip()]


def _chopped(text: str, limit: int) -> list[str]:
    found = []
    data = text.encode("utf-8")
    while data:
        piece = data[:limit].decode("utf-8", "ignore")
        found.append(piece)
        data = data[len(piece.encode("utf-8")) :]
    return found


def of_entry(entry: Mapping[str, Any]) -> Json:
    """Parameters of the operation `capture`. Raises ValueError for an entry that makes no sense."""
    texts = {
        name: entry.get(name) for name in ("text", "kind", "session", "client", "project", "when")
    }
    if not isinstance(texts["text"], str) or texts["kind"] not in KINDS:
        raise ValueError("neither text nor kind")
    return {name: value for name, value in texts.items() if isinstance(value, str) and value}
