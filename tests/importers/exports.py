"""Exports as services make them, written for the tests from their public descriptions."""

from __future__ import annotations

import json
import zipfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.records import Conversation, Format, Note, Record, Skipped

BEGAN = 1_709_632_800.0
"""5 March 2024, 10:00 UTC."""


def zipped(path: Path, files: Mapping[str, object], packing: int = zipfile.ZIP_DEFLATED) -> Path:
    """A zip of these files: bytes, text, or what is written as JSON."""
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, (2026, 8, 24, 12, 0, 0))
            info.compress_type = packing
            archive.writestr(info, as_bytes(content))
    return path


def as_bytes(content: object) -> bytes:
    """A file's content."""
    if isinstance(content, bytes):
        return content
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def records(form: Format, path: Path) -> list[Record]:
    """All that a reader yields of an export."""
    with Archive.at(path) as archive:
        return list(form.read(archive))


def conversations(found: Sequence[Record]) -> list[Conversation]:
    """The conversations among records."""
    return [one for one in found if isinstance(one, Conversation)]


def notes(found: Sequence[Record]) -> list[Note]:
    """The notes among records."""
    return [one for one in found if isinstance(one, Note)]


def skipped(found: Sequence[Record]) -> list[Skipped]:
    """What was not taken."""
    return [one for one in found if isinstance(one, Skipped)]


def said(one: Conversation) -> list[tuple[str, str]]:
    """Its turns as (speaker, words)."""
    return [(turn.speaker, turn.text) for turn in one.turns]


# -- ChatGPT


def message(ident: str, role: str, content: object, at: float | None = BEGAN, **more: Any) -> Any:
    """A node's message; text, or content as it is."""
    whole = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
    found = {
        "id": ident, "author": {"role": role, "name": more.pop("name", None), "metadata": {}},
        "create_time": at, "content": whole, "status": "finished_successfully", "end_turn": True,
        "weight": 1.0, "metadata": {}, "recipient": "all",
    }  # fmt: skip
    return found | more


def tree(edges: Sequence[tuple[str, str | None, Any]], slim: bool = False) -> dict[str, Any]:
    """A mapping of (node, parent, message)."""
    found: dict[str, Any] = {}
    below: dict[str | None, list[str]] = defaultdict(list)
    for ident, parent, words in edges:
        below[parent].append(ident)
        found[ident] = {"id": ident, "message": words, "parent": parent}
        if not slim:
            found[ident]["children"] = below[ident]
    return found


def chain(name: str, turns: Sequence[tuple[str, str]], begin: float = BEGAN) -> list[Any]:
    """Nodes one after the other under an empty root: (role, words)."""
    edges: list[Any] = [(f"{name}-root", None, None)]
    for number, (role, words) in enumerate(turns):
        ident = f"{name}-{number}"
        edges.append((ident, edges[-1][0], message(ident, role, words, begin + 60 * number)))
    return edges


def chat(name: str, turns: Sequence[tuple[str, str]], begin: float = BEGAN, **more: Any) -> Any:
    """A conversation of ChatGPT, with its last node on screen."""
    edges = chain(name, turns, begin)
    found = {
        "id": name, "conversation_id": name, "title": f"About {name}", "create_time": begin,
        "update_time": begin + 60 * len(turns), "mapping": tree(edges),
        "current_node": edges[-1][0], "is_archived": False,
    }  # fmt: skip
    return found | more


TALK = (("user", "My boat is called Petrel."), ("assistant", "A fine name for a boat."))


# -- Claude


def claude_message(ident: str, sender: str, text: str, minute: int = 0, **more: Any) -> Any:
    """A message of Claude's flat list, its text as one block."""
    found: dict[str, Any] = {
        "uuid": ident, "text": text, "sender": sender, "attachments": [], "files": [],
        "content": [{"type": "text", "text": text, "citations": []}],
        "created_at": f"2025-03-05T10:{minute:02}:00.123456Z",
        "updated_at": f"2025-03-05T10:{minute:02}:00.123456Z",
    }  # fmt: skip
    return found | more


def claude_chat(ident: str, messages: Sequence[Any], **more: Any) -> Any:
    """A conversation of Claude."""
    found = {
        "uuid": ident, "name": f"About {ident}", "created_at": "2025-03-05T10:00:00.000000Z",
        "updated_at": "2025-03-05T11:00:00.000000Z", "account": {"uuid": "acc-1"},
        "chat_messages": list(messages),
    }  # fmt: skip
    return found | more
