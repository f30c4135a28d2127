"""DeepSeek's export: trees of messages without roles, in fragments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.chats import dialogue
from oneiro_vault.importers.chats.dialogue import Node, Object, digest, inside, name_of, told
from oneiro_vault.importers.records import Format, Record, Skipped, Turn

_SPEAKERS: Final = {"REQUEST": "user", "RESPONSE": "assistant"}
_UNSAID: Final = ("THINK",)


def recognises(archive: Archive) -> bool:
    """Trees whose messages have fragments."""
    files = dialogue.conversation_files(archive)
    return any(_known(one) for name in files for one in dialogue.begins(archive, name))


def _known(record: Object) -> bool:
    mapping = record.get("mapping")
    if not isinstance(mapping, dict):
        return False
    messages = (inside(node, "message") for node in list(mapping.values())[:20])
    fragments = any(isinstance(one, dict) and "fragments" in one for one in messages)
    return fragments or "inserted_at" in record


def read(archive: Archive) -> Iterator[Record]:
    """Conversations along their newest branch."""
    names = dialogue.conversation_files(archive)
    for found in dialogue.objects(archive, names, _known, "a conversation of DeepSeek"):
        yield found if isinstance(found, Skipped) else _conversation(*found)


def _conversation(where: str, record: Object) -> Record:
    nodes: dict[str, Node] = {}
    for number, (ident, node) in enumerate(record["mapping"].items()):
        message, parent = inside(node, "message"), inside(node, "parent")
        at = dialogue.moment(inside(message, "inserted_at"))
        place = int(ident) if ident.isdigit() else number
        order = (at.timestamp() if at else 0.0, place)
        nodes[ident] = Node(ident, parent if isinstance(parent, str) else "", order, message)
    path, _ = dialogue.on_screen(nodes)
    turns = [turn for node in path if isinstance(node.message, dict)
             for turn in _turns(node.message, node.id)]  # fmt: skip
    ident = str(record.get("id") or digest("deepseek", turns[0].text if turns else ""))
    at, updated = dialogue.moments(record, "inserted_at", "updated_at")
    title = name_of(record.get("title"), 300)
    remark = dialogue.NEWEST if dialogue.branched(nodes) else ""
    return dialogue.conversation(where, ident, title, turns, at, updated, remark=remark)


def _turns(message: Object, ident: str) -> Iterator[Turn]:
    at = dialogue.moment(message.get("inserted_at"))
    said = 0
    for one in dialogue.entries(message.get("fragments")):
        kind, words = str(inside(one, "type")), dialogue.written(inside(one, "content")).strip()
        if words and kind in _SPEAKERS:
            yield Turn(ident if not said else f"{ident}#{said}", _SPEAKERS[kind], words, at)
            said += 1
        elif words and kind not in _UNSAID:
            yield Turn("", "tool", told(kind.lower(), words), at)
    for one in dialogue.entries(message.get("files")):
        if name := name_of(inside(one, "file_name") or inside(one, "name"), 200):
            yield Turn("", "tool", told("attached", name), at)


FORMAT: Final = Format("deepseek", "DeepSeek's export", recognises, read)
