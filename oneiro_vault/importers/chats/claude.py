"""Claude.ai's data export: one zip, or since August 2026 several with a manifest; conversations,
projects with their documents, and what Claude remembers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Final

from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.chats import dialogue
from oneiro_vault.importers.chats.dialogue import (
    Node,
    Object,
    digest,
    entries,
    inside,
    name_of,
    told,
    written,
)
from oneiro_vault.importers.elements import Damaged
from oneiro_vault.importers.records import Format, Note, Record, Skipped, Turn

_SPEAKERS: Final = {"human": "user", "user": "user", "assistant": "assistant"}
_SPOKEN: Final = frozenset(("text", "voice_note"))
_NOT_SAID: Final = frozenset(("thinking", "tool_use", "tool_result", "injected_prompt_block"))
"""Blocks whose words the flat copy of a message may hold."""
_TAKEN: Final = ("conversations", "projects", "memories", "design_chats")
"""Categories of a split export of which something is imported."""
_MOST_FILES: Final = 2000
"""Files of JSON beyond which an archive is something else."""
_SAME: Final = "two messages of it have one id, of which the first counts"


def recognises(archive: Archive) -> bool:
    """Conversations with `chat_messages`, else projects or memories by themselves."""
    for name in dialogue.conversation_files(archive):
        if any("chat_messages" in one for one in dialogue.begins(archive, name)):
            return True
    return any(_manifests(archive)) or any(_others(archive))


def read(archive: Archive) -> Iterator[Record]:
    """Projects and memories as notes, then conversations."""
    others = _others(archive)
    for name in _missing(archive, {kind for kind, _ in others}):
        yield Skipped(name, "the manifest names it and it is not here: fetch it, then import again")
    projects: dict[str, str] = {}
    for kind, name in others:
        for number, one in enumerate(dialogue.whole(archive, name)):
            where = f"{name}, record {number + 1}"
            if isinstance(one, Damaged):
                yield Skipped(where, one.why)
            elif not isinstance(one, dict):
                yield Skipped(where, f"it is nothing of Claude's {kind}")
            elif kind == "projects":
                projects[str(one.get("uuid"))] = name_of(one.get("name"))
                yield from _project(one, where)
            elif kind == "memories":
                yield from _memories(one, projects)
            else:
                yield _design(where, one)
    beside = {name for _, name in others}
    names = [name for name in dialogue.conversation_files(archive) if name not in beside]
    for found in dialogue.objects(archive, names, _known, "a conversation of Claude"):
        yield found if isinstance(found, Skipped) else _conversation(*found)


def _known(record: Object) -> bool:
    return "chat_messages" in record or ("uuid" in record and "mapping" not in record)


def _others(archive: Archive) -> list[tuple[str, str]]:
    """(category, name) of the files beside conversations, by what is in them: a folder that wraps
    a part may be gone. Projects first, since memories name them."""
    names = [name for name in archive.names() if name.lower().endswith(".json")]
    if len(names) > _MOST_FILES:
        return []
    found = ((_kind(archive, name), name) for name in names)
    return sorted(
        ((kind, name) for kind, name in found if kind),
        key=lambda one: (_TAKEN.index(one[0]), one[1]),
    )


def _kind(archive: Archive, name: str) -> str:
    first = next(dialogue.whole(archive, name), None)
    if not isinstance(first, dict) or "chat_messages" in first or "mapping" in first:
        return ""
    if any(key in first for key in ("conversations_memory", "project_memories", "memory_files")):
        return "memories"
    if "prompt_template" in first or ("docs" in first and "uuid" in first):
        return "projects"
    one = next(iter(entries(first.get("messages"))), None)
    design = "uuid" in first and "title" in first and isinstance(inside(one, "role"), str)
    return "design_chats" if design else ""


def _manifests(archive: Archive) -> Iterator[list[Object]]:
    """The parts that each manifest lists."""
    for name in archive.names():
        base = PurePosixPath(name).name
        if base.startswith("manifest") and base.endswith(".json"):
            for one in dialogue.whole(archive, name):
                parts = [part for part in entries(inside(one, "data_files"))
                         if isinstance(inside(part, "category"), str)]  # fmt: skip
                if parts:
                    yield parts


def _missing(archive: Archive, kinds: set[str]) -> Iterator[str]:
    """Parts that a manifest lists and that are not here; unpacked ones by their categories, `kinds`
    of which are."""
    there = {part for name in archive.names() for part in PurePosixPath(name).parts}
    kinds = kinds | ({"conversations"} if dialogue.conversation_files(archive) else set())
    for parts in _manifests(archive):
        files = [
            (part["category"], str(part.get("filename") or part["category"])) for part in parts
        ]
        packed = any(file in there for _, file in files)
        for kind, file in files:
            gone = file not in there if packed else kind not in kinds
            if kind in _TAKEN and gone:
                yield file


# -- conversations


def _conversation(where: str, record: Object) -> Record:
    messages = record.get("chat_messages")
    title = name_of(record.get("name"), 300)
    if not isinstance(messages, list):
        return Skipped(f"{where} ({title})", "the export has no messages of it")
    nodes, doubled = _nodes(messages)
    path, _ = dialogue.on_screen(nodes)
    turns = [turn for node in path for turn in _turns(node.message, node.id)]
    ident = record.get("uuid")
    if not isinstance(ident, str):
        ident = digest("claude", turns[0].id or turns[0].text if turns else "")
    remark = _SAME if doubled else dialogue.NEWEST if dialogue.branched(nodes) else ""
    at, updated = dialogue.moments(record, "created_at", "updated_at")
    return dialogue.conversation(where, ident, title, turns, at, updated, remark=remark)


def _nodes(messages: Sequence[Any]) -> tuple[dict[str, Node], bool]:
    """The tree of messages, and has one id two of them? One without a parent follows on the one
    before it in the list."""
    nodes: dict[str, Node] = {}
    doubled, before = False, ""
    for number, message in enumerate(messages):
        if not isinstance(message, dict):
            continue
        ident = message.get("uuid")
        ident = ident if isinstance(ident, str) and ident else f"message {number}"
        parent = message.get("parent_message_uuid")
        at = dialogue.moment(message.get("created_at"))
        if ident in nodes:
            doubled = True
            continue
        order = (at.timestamp() if at else 0.0, number)
        nodes[ident] = Node(ident, parent if isinstance(parent, str) else before, order, message)
        before = ident
    return nodes, doubled


def _turns(message: Object, ident: str) -> Iterator[Turn]:
    """A message's blocks in their order; what was attached follows."""
    speaker = _SPEAKERS.get(str(message.get("sender", message.get("role"))), "tool")
    at = dialogue.moment(message.get("created_at"))
    said = 0
    for who, words in _blocks(message, speaker):
        if words.strip():
            name = ident if not said else f"{ident}#{said}"
            named = who in ("user", "assistant")
            yield Turn(name if named else "", who, words.strip(), at)
            said += named
    files: set[str] = set()
    for one in entries(message.get("attachments")):
        name = name_of(inside(one, "file_name")) or name_of(inside(one, "name")) or "paste"
        words = written(inside(one, "extracted_content")) or written(inside(one, "content"))
        files.add(name)
        who = "quoted" if words.strip() else "tool"
        yield Turn("", who, told(name, words) if words.strip() else told("attached", name), at)
    for one in entries(message.get("files")):
        name = name_of(inside(one, "file_name"), 200)
        if name and name not in files:
            yield Turn("", "tool", told("attached", name), at)


def _blocks(message: Object, speaker: str) -> Iterator[tuple[str, str]]:
    """(speaker, words) of each block; the flat copy only where there are none."""
    content = message.get("content")
    if isinstance(content, str) and content.lstrip().startswith("["):
        try:
            content = json.loads(content, strict=False)
        except (ValueError, RecursionError):
            yield speaker, content
            return
    if isinstance(content, Mapping):  # of a design chat
        inner = content.get("contentBlocks") or content.get("content")
        content = inner if isinstance(inner, list) else written(inner)
    if isinstance(content, str) and content:
        yield speaker, content
    elif isinstance(content, list) and content:
        found = [said for block in content for said in _block(block, speaker)]
        thought = any(inside(block, "type") in _NOT_SAID for block in content)
        yield from found or ([] if thought else [(speaker, written(message.get("text")))])
    else:
        yield speaker, written(message.get("text"))


def _block(block: Any, speaker: str) -> Iterator[tuple[str, str]]:
    kind = inside(block, "type")
    if isinstance(block, str):
        yield speaker, block
    elif kind in _SPOKEN or (kind is None and isinstance(inside(block, "text"), str)):
        yield speaker, written(block.get("text"))
    elif kind == "injected_prompt_block":
        yield "quoted", told("injected", written(block.get("prompt")))
    elif kind == "tool_use":
        yield _used(block)
    elif kind == "tool_result" and (words := written(block.get("content"))):
        yield "tool", told(f"{name_of(block.get('name')) or 'tool'} result", words)


def _used(block: Object) -> tuple[str, str]:
    """A call of a tool; an artifact that was written was on screen."""
    given = block.get("input")
    words = inside(given, "content")
    if block.get("name") == "artifacts" and isinstance(words, str) and words.strip():
        return "assistant", f"**{name_of(inside(given, 'title')) or 'Artifact'}**\n\n{words}"
    words = given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False)
    return "tool", told(name_of(block.get("name")) or "tool", words)


def _design(where: str, record: Object) -> Record:
    messages = [one for one in entries(record.get("messages")) if isinstance(one, dict)]
    turns = [turn for number, one in enumerate(messages)
             for turn in _turns(one, str(one.get("uuid") or f"message {number}"))]  # fmt: skip
    ident = str(record.get("uuid") or digest("design", turns[0].text if turns else ""))
    project = name_of(inside(record, "project", "name"))
    title = name_of(record.get("title"), 300)
    at, updated = dialogue.moments(record, "created_at", "updated_at")
    return dialogue.conversation(where, ident, title, turns, at, updated, project=project)


# -- projects and memories


def _project(record: Object, where: str) -> Iterator[Record]:
    """Its instructions and its documents; Claude's own examples are nobody's."""
    if record.get("is_starter_project") is True:
        return
    ident, name = str(record.get("uuid") or digest("project", where)), name_of(record.get("name"))
    at, changed = _dates(record)
    meta = {"project": name} if name else {}
    said = [written(record.get(key)).strip() for key in ("description", "prompt_template")]
    if any(said):
        title = f"{name or 'A project'}: what Claude was told of it"
        text = "\n\n".join(filter(None, said))
        yield Note(f"project {ident}", title, text, at, changed, "said", meta=meta)
    for number, one in enumerate(entries(record.get("docs"))):
        words = written(inside(one, "content"))
        file = name_of(inside(one, "filename"), 200) or f"document {number + 1}"
        if words.strip():
            when, later = _dates(one)
            path = f"{name or ident}/{file}"
            doc = str(inside(one, "uuid") or digest("document", ident, file))
            yield Note(doc, file, words, when or at, later or when, "external", path, meta)


def _dates(record: Object) -> tuple[datetime | None, datetime | None]:
    at, updated = dialogue.moments(record, "created_at", "updated_at")
    return at, updated or at


def _memories(record: Object, projects: Mapping[str, str]) -> Iterator[Record]:
    """What Claude wrote down about the person, in its words."""
    account = str(record.get("account_uuid") or "")
    changed = dialogue.moment(record.get("updated_at"))
    words = written(record.get("conversations_memory")).strip()
    if words:
        name = "What Claude remembered of conversations"
        yield Note(digest("memory", account), name, words, None, changed, "model")
    of_projects = record.get("project_memories")
    for ident, text in of_projects.items() if isinstance(of_projects, dict) else ():
        name = projects.get(ident, "")
        if words := written(text).strip():
            title = f"What Claude remembered of {name or 'a project'}"
            meta = {"project": name} if name else {}
            yield Note(digest("memory", ident), title, words, None, changed, "model", meta=meta)
    for one in entries(record.get("memory_files")):
        path = name_of(inside(one, "path"), 200)
        if words := written(inside(one, "content")).strip():
            at = dialogue.moment(inside(one, "updated_at"))
            title = PurePosixPath(path).stem or "What Claude remembered"
            yield Note(digest("memory", account, path), title, words, None, at, "model", path)


FORMAT: Final = Format("claude", "Claude.ai's data export", recognises, read)
