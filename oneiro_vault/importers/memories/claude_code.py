"""Claude Code's own memory (`projects/<root>/memory/*.md`, written by the model) and the records of
its conversations beside it. The path may be `~/.claude`, its `projects`, one project or one memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final

from oneiro_vault.answers import Json
from oneiro_vault.capture import transcripts
from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.memories import written_note
from oneiro_vault.importers.memories.vaults import Given, faulty
from oneiro_vault.importers.memories.written_note import Written, line, moment
from oneiro_vault.importers.records import Conversation, Format, Note, Record, Skipped, Turn

_INDEX: Final = "MEMORY.md"
_POINTER: Final = re.compile(
    r"[ \t]*(?:[-*+][ \t]+)?(?:\*\*)?(?:\[[^\]]*\]\([^)]*\)|\[\[[^\]]+\]\]).*"
)
_KINDS: Final = {"feedback": "instruction"}
"""Their type -> our kind: how to work, as the person wants it done."""
_INSTRUCTIONS: Final = ("CLAUDE.md", "CLAUDE.local.md")
_TIME: Final = re.compile(rb'"timestamp"\s*:\s*"([^"\\]{10,40})"')
_CWD: Final = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')
_SESSION: Final = re.compile(rb'"session_?[iI]d"\s*:\s*"')
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TITLES: Final = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))
"""Kinds of records that name a conversation, the best first."""
_UNTYPED: Final = (
    "[Request interrupted",
    "This session is being continued from a previous conversation",
    "<bash-input>",
)
_LOOKED_AT: Final = 20


# -- what is where


def _is_transcript(name: str) -> bool:
    """Not of a subagent, which talks to the model only; not the list of prompts, said there too."""
    path = PurePosixPath(name)
    return (
        path.suffix == ".jsonl"
        and not path.name.startswith("agent-")
        and "subagents" not in path.parts
        and path.name != "history.jsonl"
    )


def _memories(archive: Archive) -> dict[str, str]:
    """Name of each memory file -> the folder of its project, "" when it is the archive itself."""
    found: dict[str, str] = {}
    roots = {name.removesuffix(_INDEX) for name in archive.names() if name.endswith(_INDEX)}
    for name in archive.names():
        parts = name.split("/")
        if not name.endswith(".md") or parts[-1] in _INSTRUCTIONS:
            continue
        if "memory" in parts[:-1]:
            found[name] = "/".join(parts[: parts.index("memory")])
        elif "" in roots or archive.name == "memory":
            found[name] = ".."
    return found


def _recognises(archive: Archive) -> bool:
    if any(name.endswith(f"memory/{_INDEX}") for name in archive.names()):
        return True
    if any(_is_topic(archive, name) for name in list(_memories(archive))[:_LOOKED_AT]):
        return True
    candidates = [name for name in archive.names() if _is_transcript(name)][:_LOOKED_AT]
    return any(_has_session(archive, name) for name in candidates)


def _is_topic(archive: Archive, name: str) -> bool:
    written = written_note.read(archive, name)
    return isinstance(written, Written) and {"name", "description"} <= written.meta.keys()


def _has_session(archive: Archive, name: str) -> bool:
    head = archive.head(name)
    return bool(_SESSION.search(head)) and b'"type"' in head


def _read(archive: Archive) -> Iterator[Record]:
    extents: dict[str, _Extent] = {}
    for name in filter(_is_transcript, archive.names()):
        try:
            extents[name] = _extent(archive, name)
        except InvalidInput as error:
            yield Skipped(name, str(error))
    projects: dict[str, str] = {}
    for name, extent in extents.items():
        if extent.cwd:
            projects.setdefault(name.rpartition("/")[0], _project(extent.cwd))
    yield from _notes(archive, projects)
    seen: set[str] = set()
    for name in sorted(extents, key=lambda one: (extents[one].first, extents[one].last, one)):
        yield from _conversation(archive, name, seen)
    for name in archive.names():
        if name.rpartition("/")[2] in _INSTRUCTIONS:
            yield Skipped(name, "instructions that Claude Code reads by itself stay with it")


# -- the memory


def _notes(archive: Archive, projects: Mapping[str, str]) -> Iterator[Record]:
    given = Given("claude-code")
    for name, folder in _memories(archive).items():
        place = _place(archive, folder)
        inside = name.rpartition("memory/")[2] if folder != ".." else name
        written = written_note.read(archive, name)
        if isinstance(written, Skipped):
            yield written
        elif written.body.strip() and not (inside == _INDEX and _only_points(written.body)):
            project = projects.get(folder if folder != ".." else "", "")
            path = given.path(f"{project or place.strip('-') or 'memory'}/{inside}")
            yield _note(archive, written, given.id("", f"{place}/{inside}"), path, project)
            yield from faulty(written)


def _place(archive: Archive, folder: str) -> str:
    """What the folder of a project is called, however far above it the archive begins."""
    if folder not in ("", ".."):
        return folder.rpartition("/")[2]
    here = archive.name.removesuffix(".zip")
    return (archive.above or here) if folder else here


def _only_points(body: str) -> bool:
    """Is it nothing but the list of the other files?"""
    said = (one.strip() for one in body.splitlines())
    return all(not one or one.startswith("#") or _POINTER.fullmatch(one) for one in said)


def _note(archive: Archive, written: Written, ident: str, path: str, project: str) -> Note:
    more = written.meta.get("metadata")
    more = more if isinstance(more, dict) else {}
    stem = PurePosixPath(written.path).stem
    name = line(written.meta.get("name")) or written.text("title") or stem
    kind = line(written.meta.get("type") or more.get("type")).lower()
    changed = moment(more.get("modified") or written.meta.get("modified"))
    session = line(written.meta.get("originSessionId") or more.get("originSessionId"))
    meta: dict[str, object] = {
        "type": "semantic",
        "kind": _KINDS.get(kind, ""),
        "description": written.text("description"),
        "tags": written_note.names([kind] if kind not in ("", "memory") else []),
        "aliases": written_note.names(list(dict.fromkeys((name, stem)))),
        "project": project,
        "session": session,
    }
    return Note(
        id=ident,
        title=_worded(name),
        text=written.body,
        at=moment(written.meta.get("created")) or changed or archive.modified(written.path),
        updated=changed,
        trust="model",
        path=path,
        meta={key: value for key, value in meta.items() if value},
    )


def _worded(name: str) -> str:
    """`prefers-small-commits` as words; what has blanks is a title already."""
    words = name.replace("_", "-").split("-")
    return " ".join(words).capitalize() if len(words) > 1 and " " not in name else name


def _project(cwd: str) -> str:
    path = PureWindowsPath(cwd) if "\\" in cwd else PurePosixPath(cwd)
    return path.name


# -- conversations


@dataclass(frozen=True)
class _Extent:
    first: str = ""
    last: str = ""
    cwd: str = ""


def _extent(archive: Archive, name: str) -> _Extent:
    """When a record begins and ends, and where: one that was resumed begins as a copy of another
    that ends before it."""
    first = last = cwd = ""
    with archive.open(name) as stream:
        for data, _ in transcripts.lines(stream):
            if found := _TIME.search(data):
                last = found[1].decode("ascii", "replace")
                first = first or last
            if not cwd and (place := _CWD.search(data)):
                cwd = _text_of(place[1])
    return _Extent(first, last, cwd)


def _text_of(data: bytes) -> str:
    try:
        return line(json.loads(data))
    except ValueError:
        return ""


@dataclass
class _Talk:
    """One file as it is read. `parents`: the record each one follows; `said`: with the id of the
    message they are part of."""

    parents: dict[str, str] = field(default_factory=dict)
    said: list[tuple[str, str, Turn]] = field(default_factory=list)
    messages: dict[str, str] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    session: str = ""
    cwd: str = ""
    leaf: str = ""
    broken: list[int] = field(default_factory=list)


def _conversation(archive: Archive, name: str, seen: set[str]) -> Iterator[Record]:
    talk = _Talk()
    with archive.open(name) as stream:
        for number, (data, _) in enumerate(transcripts.lines(stream), 1):
            record = _record(data)
            if record is None and data.endswith(b"\n"):  # else it is being written right now
                talk.broken.append(number)
            if record:
                _take(talk, record, seen)
    if talk.broken:
        which = f"line {talk.broken[0]:,}"
        more = f" and {len(talk.broken) - 1:,} more" if len(talk.broken) > 1 else ""
        yield Skipped(f"{name}, {which}{more}", "it is no JSON")
    turns = _alive(talk)
    if not any(turn.speaker in ("user", "assistant") for turn in turns):
        return
    stem = PurePosixPath(name).stem
    times = [turn.at for turn in turns if turn.at]
    yield Conversation(
        id=stem if _UUID.fullmatch(stem) or not talk.session else talk.session,
        title=next((talk.named[kind] for kind, _ in _TITLES if kind in talk.named), ""),
        turns=tuple(turns),
        at=min(times, default=None),
        updated=max(times, default=None),
        project=_project(talk.cwd),
    )


def _record(data: bytes) -> Json | None:
    """{} for what says nothing, None for what is no JSON."""
    if not data.strip():
        return {}
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else {}


def _take(talk: _Talk, record: Json, seen: set[str]) -> None:
    kind, uuid = record.get("type"), line(record.get("uuid"))
    for named, key in _TITLES:
        if kind == named and line(record.get(key)):
            talk.named[named] = line(record.get(key))
    talk.session = talk.session or line(record.get("sessionId") or record.get("session_id"))
    talk.cwd = talk.cwd or line(record.get("cwd"))
    if not uuid or record.get("isSidechain"):
        return
    talk.parents[uuid] = line(record.get("parentUuid") or record.get("logicalParentUuid"))
    if kind in ("user", "assistant"):  # what the program notes down may hang anywhere
        talk.leaf = uuid
    message = record.get("message")
    message_id = line(message.get("id")) if isinstance(message, dict) else ""
    if message_id:
        talk.messages[uuid] = message_id
    if uuid in seen:  # a conversation that was resumed begins with a copy of the one before
        return
    seen.add(uuid)
    for number, turn in enumerate(_turns(record)):
        own = uuid if not number else f"{uuid}.{number}"
        made = Turn(own, turn.role, turn.text, moment(turn.when))
        talk.said.append((uuid, message_id, made))


def _turns(record: Json) -> Iterator[transcripts.Turn]:
    if record.get("type") == "attachment":
        record = _queued(record)
    if record.get("type") != "user":
        yield from transcripts.said(record)
    elif _is_typed(record):
        said = transcripts.said(record)
        yield from (turn for turn in said if not turn.text.startswith(_UNTYPED))


def _queued(record: Json) -> Json:
    """A prompt that was typed while the model worked, as if it had been typed afterwards."""
    attached = record.get("attachment")
    if not isinstance(attached, dict) or attached.get("type") != "queued_command":
        return {}
    origin = attached.get("origin") or record.get("origin")
    if not isinstance(origin, dict) or origin.get("kind") != "human":
        return {}
    message = {"role": "user", "content": attached.get("prompt")}
    return {**record, "type": "user", "message": message, "attachment": None}


def _is_typed(record: Mapping[str, Any]) -> bool:
    """Did the person say this, and not a tool, a hook or the program?"""
    origin, message = record.get("origin"), record.get("message")
    if record.get("isVisibleInTranscriptOnly") or record.get("toolUseResult") is not None:
        return False
    if isinstance(origin, dict) and origin.get("kind") not in (None, "human"):
        return False
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    return not any(isinstance(one, dict) and one.get("type") == "tool_result" for one in blocks)


def _alive(talk: _Talk) -> list[Turn]:
    """What was said, without what the person went back on. One answer is several records, and not
    all of them lie on the way (tools that ran side by side)."""
    dead = _dead(talk)
    messages = {its for one, its in talk.messages.items() if one not in dead}
    return [turn for uuid, message, turn in talk.said if uuid not in dead or message in messages]


def _dead(talk: _Talk) -> set[str]:
    """Records that were left behind when the person went back: they follow one that the
    conversation as it is now goes through, on another way."""
    way: set[str] = set()
    at = talk.leaf
    while at and at not in way:
        way.add(at)
        at = talk.parents.get(at, "")
    kept, dead = set(way), set[str]()
    for uuid in talk.parents:
        walk: dict[str, None] = {}
        at = uuid
        while at and at not in kept and at not in dead and at not in walk:
            walk[at] = None
            at = talk.parents.get(at, "")
        left = at in dead or (at in way and at != talk.leaf)
        (dead if left else kept).update(walk)
    return dead


FORMAT: Final = Format(
    "claude-code-memory", "Claude Code's memory and conversations", _recognises, _read
)
