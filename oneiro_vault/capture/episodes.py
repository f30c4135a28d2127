"""From what was captured to memories: whole, private parts gone, cut only where a note would be
larger than one that is indexed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from oneiro_vault.capture.privacy import redact
from oneiro_vault.capture.transcripts import TURN

KINDS: Final = ("compaction", "session", "turns", "note")
"""What a capture can be: a client's summary, the rest of a conversation at its end, a part of one
that goes on, somebody's words."""
_NAMES: Final = {"compaction": "Summary", "session": "Conversation", "turns": "Conversation"}
_MARKERS: Final = re.compile(r"^(?=(?:<{7}|={7}|>{7})(?:[ \r\n]|\Z))", re.MULTILINE)
_TITLE: Final = 72


def clean(text: str) -> str:
    """`text` as a note can hold it: without private parts, NUL and halves of characters; lines that
    git writes at conflicts indented."""
    text = redact(text).replace("\0", "").replace("\r\n", "\n")
    text = text.encode("utf-8", "replace").decode("utf-8")
    return _MARKERS.sub("    ", text).strip()


def title(text: str, kind: str) -> str:
    """A title out of the words: what a person asked first, or the first line that says
    something."""
    line = next((line for line in text.splitlines() if line.strip(" \t#>-*=_`|")), "").strip(
        " \t#>-*=_`|"
    )
    line = " ".join(line.removeprefix(TURN).split())
    if len(line) > _TITLE:
        line = line[: _TITLE - 1].rsplit(" ", 1)[0].rstrip(",;:- ") + "…"
    name = _NAMES.get(kind, "")
    return f"{name}: {line}" if name and line else line or "untitled"


def parts(text: str, limit: int) -> list[str]:
    """`text` in pieces of at most `limit` bytes, cut between paragraphs, else between lines, else
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


def of_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of the operation `capture` out of a spool entry. Raises ValueError for one that
    makes no sense."""
    texts = {
        name: entry.get(name) for name in ("text", "kind", "session", "client", "project", "when")
    }
    if not isinstance(texts["text"], str) or texts["kind"] not in KINDS:
        raise ValueError("neither text nor kind")
    return {name: value for name, value in texts.items() if isinstance(value, str) and value}
