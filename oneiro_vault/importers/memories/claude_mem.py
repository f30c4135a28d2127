"""claude-mem's observations and summaries of sessions (a model's), and the prompts that the person
typed: from its SQLite database (a copy of it) or from what its export script wrote."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path, PurePosixPath
from typing import Any, Final, Protocol

from oneiro_vault.capture import transcripts
from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers import elements
from oneiro_vault.importers.archive import UNTOUCHED, Archive
from oneiro_vault.importers.elements import Row
from oneiro_vault.importers.memories.written_note import line, moment, names, prose
from oneiro_vault.importers.records import Conversation, Format, Note, Record, Skipped, Turn

_ENDINGS: Final = (".db", ".sqlite", ".sqlite3")
_MAGIC: Final = b"SQLite format 3\0"
_TABLES: Final = {
    "sessions": "sdk_sessions",
    "observations": "observations",
    "summaries": "session_summaries",
    "prompts": "user_prompts",
    "directives": "directives",
}
"""Key of the export -> table of the database."""
_KINDS: Final = {
    "decision": "decision",
    "bugfix": "action",
    "feature": "action",
    "refactor": "action",
    "change": "action",
}
"""Their type -> our kind; a discovery and any other is a fact that has none."""
_PARTS: Final = (
    ("request", "Asked"),
    ("investigated", "Looked into"),
    ("learned", "Learned"),
    ("completed", "Done"),
    ("next_steps", "Next"),
    ("notes", "Notes"),
)
_FILES: Final = (("files_read", "Read"), ("files_modified", "Changed"), ("files_edited", "Changed"))
_LONGEST_OUTCOME: Final = 300


class _Store(Protocol):
    """`rows(kind)`: one after the other, with where each stands."""

    def rows(self, kind: str) -> Iterator[tuple[str, Row] | Skipped]: ...


def _recognises(archive: Archive) -> bool:
    if any(_is_export(archive, name) for name in elements.files(archive)):
        return True
    return any(_is_database(archive, name) for name in _databases(archive))


def _is_export(archive: Archive, name: str) -> bool:
    head = archive.head(name)
    return b'"exportedAt"' in head and (b'"totalObservations"' in head or b'"observations"' in head)


def _databases(archive: Archive) -> list[str]:
    found = [name for name in archive.names() if name.lower().endswith(_ENDINGS)]
    return [name for name in found if archive.head(name).startswith(_MAGIC)]


def _is_database(archive: Archive, name: str) -> bool:
    """By its own name, so that it is not copied for this, else by its tables."""
    if PurePosixPath(name).stem == "claude-mem":
        return True
    try:
        with _Database(archive, name) as store:
            return {"sdk_sessions", "observations"} <= store.tables
    except InvalidInput:
        return False


def _read(archive: Archive) -> Iterator[Record]:
    for name in _databases(archive):
        with _Database(archive, name) as store:
            if "observations" in store.tables:
                yield from _records(store)
    for name in elements.files(archive):
        if _is_export(archive, name):
            yield from _records(_Export(archive, name))


class _Export:
    """A file of the export script."""

    def __init__(self, archive: Archive, name: str) -> None:
        self._archive, self._name = archive, name

    def rows(self, kind: str) -> Iterator[tuple[str, Row] | Skipped]:
        """Of one of its lists."""
        for found in elements.rows(self._archive, self._name, (kind,)):
            yield found if isinstance(found, Skipped) else (f"{found[0]} of {kind}", found[1])


class _Database:
    """A copy of the database, with what was not yet written back into it. Raises InvalidInput for
    one that is damaged."""

    def __init__(self, archive: Archive, name: str) -> None:
        self._name = name
        with ExitStack() as rooms:
            folder = rooms.enter_context(tempfile.TemporaryDirectory(prefix="oneiro-import-"))
            copy = _copied(archive, name, Path(folder, "copy.db"))
            try:
                self._open = rooms.enter_context(closing(sqlite3.connect(copy)))
                self._open.text_factory = lambda data: data.decode("utf-8", "replace")
                found = self._open.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                self.tables = frozenset(str(row[0]) for row in found)
            except sqlite3.Error as error:
                raise self._damaged(error) from error
            self._rooms = rooms.pop_all()

    def rows(self, kind: str) -> Iterator[tuple[str, Row] | Skipped]:
        """Of one of its tables, whatever columns it has."""
        table = _TABLES[kind]
        if table not in self.tables:
            return
        try:
            found = self._open.execute(f"SELECT rowid AS row_number, * FROM {table} ORDER BY rowid")
            columns = [column[0] for column in found.description]
            for values in found:
                yield f"{self._name}, {table} {values[0]}", dict(zip(columns, values, strict=True))
        except sqlite3.Error as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> InvalidInput:
        return InvalidInput(
            f"the database {self._name} cannot be read: {error}",
            kept=UNTOUCHED,
            hint="End claude-mem and import again; or export its memories as JSON and import that.",
        )

    def __enter__(self) -> _Database:
        return self

    def __exit__(self, *_: object) -> None:
        self._rooms.close()


def _copied(archive: Archive, name: str, target: Path) -> Path:
    """With its write-ahead log: a program that runs has its newest rows there."""
    for ending in ("", "-wal"):
        if f"{name}{ending}" in archive.names():
            archive.copy(f"{name}{ending}", target.with_name(target.name + ending))
    return target


# -- what the rows say


def _records(store: _Store) -> Iterator[Record]:
    sessions: dict[str, Row] = {}
    for found in store.rows("sessions"):
        if isinstance(found, Skipped):
            yield found
        else:
            row = found[1]
            kept = {key: row.get(key) for key in ("content_session_id", "project", "custom_title")}
            for key in ("memory_session_id", "sdk_session_id", "content_session_id"):
                if line(row.get(key)):
                    sessions[line(row.get(key))] = kept
    for kind, made in (
        ("observations", _observation),
        ("summaries", _summary),
        ("directives", _directive),
    ):
        for found in store.rows(kind):
            yield found if isinstance(found, Skipped) else made(*found, sessions)
    yield from _conversations(store, sessions)


def _session(row: Row) -> str:
    return line(row.get("memory_session_id") or row.get("sdk_session_id"))


def _about(row: Row, sessions: Mapping[str, Row]) -> dict[str, object]:
    """Session and project of a row."""
    own = _session(row)
    known = sessions.get(own, {})
    project = row.get("merged_into_project") or row.get("project") or known.get("project")
    found = {"session": line(known.get("content_session_id")) or own, "project": line(project)}
    return {key: value for key, value in found.items() if value}


def _observation(where: str, row: Row, sessions: Mapping[str, Row]) -> Record:
    title = line(row.get("title"))
    parts = [prose(row.get("narrative")) or prose(row.get("text"))]
    parts.append("\n".join(f"- {fact}" for fact in map(line, _listed(row.get("facts"))) if fact))
    if not any(parts):
        parts = [prose(row.get("subtitle")) or title]
    text = "\n\n".join(filter(None, [*parts, _files(row)]))
    if not any(parts):
        return Skipped(where, "it has no text")
    type_ = line(row.get("type")).lower()
    tags = names([type_, *_listed(row.get("concepts"))])
    meta = {
        "type": "semantic",
        "kind": _KINDS.get(type_, ""),
        "description": line(row.get("subtitle")),
        "tags": tags,
        **_about(row, sessions),
    }
    return Note(
        id=f"observation/{_session(row)}/{row.get('created_at_epoch')}/{title}",
        title=title,
        text=text,
        at=_at(row),
        trust="model",
        meta={key: value for key, value in meta.items() if value},
    )


def _summary(where: str, row: Row, sessions: Mapping[str, Row]) -> Record:
    said = [(name, prose(row.get(key))) for key, name in _PARTS]
    parts = [f"## {name}\n\n{text}" for name, text in said if text]
    if not parts:
        return Skipped(where, "it has no text")
    request = prose(row.get("request"))
    outcome = line(row.get("completed"))
    meta = {
        "type": "episodic",
        "kind": "outcome",
        "outcome": outcome if len(outcome) <= _LONGEST_OUTCOME else "",
        **_about(row, sessions),
    }
    return Note(
        id=f"summary/{_session(row)}/{row.get('created_at_epoch')}",
        title=transcripts.title(request, "session") if request else "",
        text="\n\n".join(filter(None, [*parts, _files(row)])),
        at=_at(row),
        trust="model",
        meta={key: value for key, value in meta.items() if value},
    )


def _directive(where: str, row: Row, _: Mapping[str, Row]) -> Record:
    """A rule for every session; who wrote it, nothing says for certain."""
    text = prose(row.get("content"))
    if not text:
        return Skipped(where, "it has no text")
    meta = {"type": "semantic", "kind": "instruction", "project": line(row.get("project"))}
    if line(row.get("status")) not in ("", "active"):
        meta["status"] = "archived"
    return Note(
        id=f"directive/{row.get('created_at_epoch')}/{row.get('id')}",
        title="",
        text=text,
        at=_at(row),
        updated=moment(row.get("updated_at_epoch")),
        meta={key: value for key, value in meta.items() if value},
    )


def _conversations(store: _Store, sessions: Mapping[str, Row]) -> Iterator[Record]:
    """What the person typed, session by session; an export has the prompts in any order."""
    typed: dict[str, dict[int, Turn]] = {}
    for found in store.rows("prompts"):
        if isinstance(found, Skipped):
            yield found
            continue
        where, row = found
        session = line(row.get("content_session_id")) or _session(row)
        number = row.get("prompt_number")
        number = number if isinstance(number, int) else 0
        record = {"type": "user", "message": {"content": prose(row.get("prompt_text"))}}
        text = "\n\n".join(turn.text for turn in transcripts.said(record))
        if not session:
            yield Skipped(where, "it does not say in which session it was typed")
        elif text:
            turn = Turn(f"{session}/{number}", "user", text, _at(row))
            typed.setdefault(session, {}).setdefault(number, turn)
    for session, turns in typed.items():
        known = sessions.get(session, {})
        times = [turn.at for turn in turns.values() if turn.at]
        yield Conversation(
            id=session,
            title=line(known.get("custom_title")),
            turns=tuple(turns[number] for number in sorted(turns)),
            at=min(times, default=None),
            updated=max(times, default=None),
            project=line(known.get("project")),
        )


def _at(row: Row) -> Any:
    return moment(row.get("created_at_epoch")) or moment(row.get("created_at"))


def _files(row: Row) -> str:
    """Which files it is about, a line each kind."""
    found = []
    for key, name in _FILES:
        if given := [f"`{one}`" for one in names(_listed(row.get(key))) if "`" not in one]:
            found.append(f"{name}: {', '.join(given)}")
    return "\n".join(found)


def _listed(value: object) -> list[Any]:
    """JSON in a text, a list, or nothing, by version."""
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except ValueError:
            return [value]
    return value if isinstance(value, list) else []


FORMAT: Final = Format("claude-mem", "claude-mem's database or JSON export", _recognises, _read)
