"""ChatGPT's data export: one file or shards, fat or slim nodes, also within the privacy portal's
zips."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Final

from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.chats import dialogue
from oneiro_vault.importers.chats.dialogue import Node, Object, digest, inside, name_of, told
from oneiro_vault.importers.records import Format, Note, Record, Skipped, Turn

_CITED: Final = re.compile(r"【\d+[^】]{0,60}】|\ue200[^\ue201]{0,400}\ue201|[\ue200-\ue206]")
_LINE: Final = re.compile(r"(?:^|\n)\s*\d+\.\s+(?:\[(\d{4}-\d\d-\d\d)\]\.?\s*)?")

_THOUGHT: Final = frozenset(("thoughts", "reasoning_recap"))
_SAID: Final = frozenset(("text", "multimodal_text", "code"))
_CONTEXT: Final = "user_editable_context"
_MEMORY: Final = "model_editable_context"
_MANIFEST: Final = "export_manifest.json"
_MOST: Final = 8 << 20


def recognises(archive: Archive) -> bool:
    """Trees of messages with authors; DeepSeek's have none."""
    names = dialogue.conversation_files(archive)
    for name in names:
        found = dialogue.begins(archive, name)
        if any(map(_is_tree, found)):
            return True
        if found:
            return False
    beside = {PurePosixPath(name).name for name in archive.names()}
    return bool(names) and bool(beside & {"chat.html", "message_feedback.json", _MANIFEST})


def _is_tree(record: Object) -> bool:
    mapping = record.get("mapping")
    if not isinstance(mapping, dict) or "inserted_at" in record or "chat_messages" in record:
        return False
    messages = (inside(node, "message") for node in list(mapping.values())[:20])
    return not any(isinstance(one, dict) and "fragments" in one for one in messages)


def _known(record: Object) -> bool:
    slim = "title" in record and ("create_time" in record or "conversation_id" in record)
    return _is_tree(record) or ("mapping" not in record and slim and "uuid" not in record)


def read(archive: Archive) -> Iterator[Record]:
    """Conversations as they were on screen; custom instructions and what ChatGPT was asked to
    remember, as notes."""
    names, missing = _files(archive)
    for name in missing:
        why = "the manifest names it and it is not here: fetch the export once more"
        yield Skipped(name, why)
    reader = _Reader()
    for found in dialogue.objects(archive, names, _known, "a conversation of ChatGPT"):
        if isinstance(found, Skipped):
            yield found
        else:
            yield from reader.conversation(*found)
    yield from reader.memories()


def _files(archive: Archive) -> tuple[list[str], list[str]]:
    """What holds conversations, and what a manifest promises and is not there."""
    names = dialogue.conversation_files(archive)
    there = {PurePosixPath(name).name: name for name in archive.names()}
    found, missing = dict.fromkeys(names), dict[str, None]()
    for name in archive.names():
        if PurePosixPath(name).name != _MANIFEST:
            continue
        for promised, sure in _promised(archive, name):
            base = PurePosixPath(promised).name
            if base in there and sure:
                found.setdefault(there[base])
            elif base not in there and (sure or base.startswith("conversations")):
                missing.setdefault(promised)
    return list(found), list(missing)


def _promised(archive: Archive, name: str) -> Iterator[tuple[str, bool]]:
    """Paths that a manifest lists, and does it say that conversations are in it?"""
    try:
        manifest = json.loads(archive.read(name, _MOST))
    except (ValueError, RecursionError, InvalidInput):
        return
    logical = inside(manifest, "logical_files")
    for old, one in logical.items() if isinstance(logical, dict) else ():
        for file in dialogue.entries(inside(one, "files")):
            if path := _path(file):
                yield path, old == "conversations.json"
    for key in ("export_files", "files"):
        for one in dialogue.entries(inside(manifest, key)):
            for part in dialogue.entries(inside(one, "shards")) or [one]:
                if path := _path(part):
                    yield path, False


def _path(value: object) -> str:
    found = value if isinstance(value, str) else inside(value, "path") or inside(value, "name")
    return found if isinstance(found, str) else ""


class _Reader:
    """Goes through conversations. What repeats in each is yielded once."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._remembered: tuple[float, list[Note]] = (-1.0, [])

    def conversation(self, where: str, record: Object) -> Iterator[Record]:
        """One record: the conversation, and notes that stood in it for the first time."""
        title = name_of(record.get("title"), 300)
        mapping = record.get("mapping")
        if not isinstance(mapping, dict):
            yield Skipped(f"{where} ({title})", "the export has no messages of it")
            return
        if record.get("is_do_not_remember") is True:
            yield Skipped(f"{where} ({title})", "you asked ChatGPT not to remember it")
            return
        nodes = {ident: _node(number, ident, node) for number, (ident, node) in
                 enumerate(mapping.items())}  # fmt: skip
        leaf = record.get("current_node")
        path, known = dialogue.on_screen(nodes, leaf if isinstance(leaf, str) else "")
        turns: list[Turn] = []
        for node in path:
            if isinstance(node.message, dict):
                turns += _turns(node.message, node.id)
                yield from self._notes(node.message, record)
        ident = record.get("id") or record.get("conversation_id")
        if not isinstance(ident, str):
            first = turns[0] if turns else Turn("", "", "")
            ident = digest("chatgpt", first.id or first.text)
        forked = not known and dialogue.branched(nodes) and len(path) < len(nodes)
        at, updated = dialogue.moments(record, "create_time", "update_time")
        remark = dialogue.NEWEST if forked else ""
        yield dialogue.conversation(where, ident, title, turns, at, updated, remark=remark)

    def _notes(self, message: Object, record: Object) -> Iterator[Note]:
        """Custom instructions (once each) and what was to be remembered."""
        at = dialogue.moment(message.get("create_time") or record.get("create_time"))
        kind = inside(message, "content", "content_type")
        if kind == _CONTEXT:
            for name, words in _instructions(message):
                yield from self._once(Note(digest("custom", words), name, words, at, trust="said"))
        elif kind == _MEMORY:
            self._keep(inside(message, "content", "model_set_context"), at, record)
        elif message.get("recipient") == "bio" and (words := _text(message).strip()):
            yield from self._once(_remembered(words, at))

    def _once(self, note: Note) -> Iterator[Note]:
        if note.text.strip() and note.id not in self._told:
            self._told.add(note.id)
            yield note

    def _keep(self, words: object, at: datetime | None, record: Object) -> None:
        """The newest state of its memory stands for the others."""
        changed = dialogue.moment(record.get("update_time")) or at
        when = changed.timestamp() if changed else 0.0
        if isinstance(words, str) and words.strip() and when >= self._remembered[0]:
            self._remembered = when, [*_lines(words, at)]

    def memories(self) -> Iterator[Note]:
        """What ChatGPT had remembered, as its newest conversation shows it."""
        for note in self._remembered[1]:
            yield from self._once(note)


def _node(number: int, ident: str, node: object) -> Node:
    message = inside(node, "message")
    parent = inside(node, "parent")
    at = dialogue.moment(inside(message, "create_time"))
    order = (at.timestamp() if at else 0.0, number)
    return Node(ident, parent if isinstance(parent, str) else "", order, message)


def _turns(message: Object, node: str) -> Iterator[Turn]:
    """What a message shows: one thing said, or what a tool did, with what was attached."""
    role, kind = inside(message, "author", "role"), inside(message, "content", "content_type")
    metadata = message.get("metadata")
    hidden = inside(metadata, "is_visually_hidden_from_conversation") is True
    hidden |= inside(metadata, "is_user_system_message") is True
    if hidden or message.get("weight", 1) == 0 or kind in _THOUGHT | {_CONTEXT, _MEMORY}:
        return
    ident = str(message.get("id") or node)
    at, text = dialogue.moment(message.get("create_time")), _text(message).strip()
    to = message.get("recipient") or "all"
    if role == "user" and text:
        yield Turn(ident, "user", text, at)
    elif role == "assistant" and to == "all" and (kind in _SAID or kind is None) and text:
        yield Turn(ident, "assistant", text, at)
    elif role == "assistant" and to != "bio" and text:
        yield _called(ident, str(to), text, at)
    elif role == "tool" and kind == "tether_quote":
        where = inside(message, "content", "title") or inside(message, "content", "domain")
        yield Turn(ident, "quoted", told(name_of(where) or "page", text), at)
    elif role == "tool" and text and inside(message, "author", "name") != "bio":
        name = name_of(inside(message, "author", "name")) or "tool"
        yield Turn(ident, "tool", told(f"{name} result", text), at)
    for one in dialogue.entries(inside(metadata, "attachments")):
        if name := name_of(inside(one, "name"), 200):
            yield Turn("", "tool", told("attached", name), at)


def _called(ident: str, to: str, text: str, at: datetime | None) -> Turn:
    """A call of a tool; a text that was written on the canvas was on screen."""
    if to == "canmore.create_textdoc":
        try:
            made = json.loads(text)
        except (ValueError, RecursionError):
            made = None
        if isinstance(inside(made, "content"), str):
            name = name_of(inside(made, "name")) or "document"
            return Turn(ident, "assistant", f"**{name}**\n\n{made['content']}", at)
    return Turn(ident, "tool", told(to, text), at)


def _text(message: Object) -> str:
    content = message.get("content")
    if not isinstance(content, Mapping):
        return _clean(dialogue.written(content))
    parts = content.get("parts")
    if isinstance(parts, list) and parts:
        return _clean("\n".join(filter(None, map(_part, parts))))
    for key in ("text", "result", "content", "summary"):
        if isinstance(content.get(key), str) and content[key]:
            return _clean(content[key])
    return _clean(dialogue.written(parts))


def _part(part: Any) -> str:
    """Also what was spoken; of pictures that they were there."""
    kind = inside(part, "content_type")
    if isinstance(kind, str) and "pointer" in kind:
        return "[picture]" if kind.startswith("image") else ""
    return dialogue.written(part)


def _clean(text: str) -> str:
    return _CITED.sub("", text)


def _instructions(message: Object) -> Iterator[tuple[str, str]]:
    data = inside(message, "metadata", "user_context_message_data")
    content = message.get("content")
    for name, clean, raw in (
        ("About me, as told to ChatGPT", "about_user_message", "user_profile"),
        ("How ChatGPT was to answer", "about_model_message", "user_instructions"),
    ):
        words = inside(data, clean)
        words = words if isinstance(words, str) else inside(content, raw)
        if isinstance(words, str) and words.strip():
            yield name, words.strip()


def _lines(words: str, at: datetime | None) -> Iterator[Note]:
    found = _LINE.split(words)
    if found[0].strip():
        yield _remembered(found[0].strip(), at)
    for day, line in zip(found[1::2], found[2::2], strict=True):
        yield _remembered(line.strip(), dialogue.moment(day) if day else at)


def _remembered(words: str, at: datetime | None) -> Note:
    return Note(digest("memory", words), "", words, at, trust="model")


FORMAT: Final = Format("chatgpt", "ChatGPT's data export", recognises, read)
