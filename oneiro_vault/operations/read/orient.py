"""What a model wakes into, also where a hook finds it without an owner; memories in full by id,
what a conversation left behind, and the questions that wait for a person."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core import memory as memories
from oneiro_vault.core.markdown import orientation, parser
from oneiro_vault.core.memory import captured
from oneiro_vault.core.tree_diff import Stat, blob_id
from oneiro_vault.errors import DiskProblem, InvalidInput, OneiroError, shown
from oneiro_vault.index.base import Row
from oneiro_vault.index.keyword.note_rows import handle_of
from oneiro_vault.index.keyword.queries import Answers
from oneiro_vault.operations.read import handoff, recall_show
from oneiro_vault.operations.read.readable import served
from oneiro_vault.operations.remember import images, write
from oneiro_vault.operations.runtime import DOUBT, USEFUL, House, Remembered, Uses

MOST: Final = 100
"""Ids, rows or updates in one request."""
_LEAST: Final = 200
_QUESTION: Final = 2_000
_TYPES: Final = ("episodic", "semantic")
_KEYS: Final = (
    "type", "title", "description", "created", "timestamp", "source", "trust", "status",
    "confidence", "session", "superseded_by", "body",
)  # fmt: skip
_LISTS: Final = ("tags", "about", "supersedes", "derived_from")
_PRIOR: Final = 0.05
"""What being learned in the same project adds to a row's score."""


def orient(
    house: House,
    context: str | None = None,
    n: int = 15,
    project: str | None = None,
    limit: int = 8000,
    fast: bool = True,
    progress: Progress = quiet,
) -> answers.Oriented:
    """The orientation as text of at most `limit` UTF-16 units, and `n` rows: relevant to `context`,
    else the latest. Reinforces nothing; `fast` as in `recall`."""
    recall_show.check_whole("n", n, 0, MOST)
    if limit < _LEAST:
        raise InvalidInput(f"limit must be a whole number from {_LEAST}, not {shown(limit)}")
    recall_show.check_text(context, project)
    house.indexing.converge()
    found = rendered(house.index, limit)
    rows: Sequence[answers.RecentRow] = []
    degraded = None
    if n and context and context.strip():
        rows, degraded = _relevant(house, context, n, project, fast, progress)
    elif n:
        rows = _latest(house, n, project)
    return {
        "schema": 1,
        "text": found.text,
        "blocks": [
            {**listed(one, at in found.included), "id": one.id or handle_of(one.path)}
            for at, one in enumerate(found.blocks)
        ],
        "recent": list(rows),
        "flagged": len(house.index.flagged()),
        "degraded": degraded,
    }


def rendered(index: Answers, limit: int) -> orientation.Rendering:
    """The orientation as an index has it."""
    rows = [row for row in index.list(type="orientation", limit=10_000) if orientation.belongs(row)]
    bodies = index.bodies([row.key for row in rows])
    return orientation.render([_block(row, bodies.get(row.key, "")) for row in rows], limit)


def _block(row: Row, body: str) -> orientation.Block:
    changed = memories.epoch(row.timestamp) if row.timestamp else None
    return orientation.block(row, body, row.id, row.when if changed is None else changed)


def listed(one: orientation.Block, included: bool) -> answers.BlockRow:
    """A block as the answer shows it."""
    return {
        "id": one.id,
        "path": one.path,
        "title": one.title,
        "priority": one.priority,
        "core": one.core,
        "timestamp": one.timestamp,
        "stamp": one.stamp,
        "included": included,
    }


def _latest(house: House, n: int, project: str | None) -> Sequence[answers.RecentRow]:
    known = house.uses.remembered()
    rows: dict[int, Row] = {}
    for where in ({"project": project}, {}) if project else ({},):
        newest = house.index.list(type=_TYPES, status="active", limit=4 * n, **where)
        rows |= {row.key: row for row in newest if known.strength(row) >= known.faded}
    return [known.line(row) for row in list(rows.values())[:n]]


def _relevant(
    house: House, context: str, n: int, project: str | None, fast: bool, progress: Progress
) -> tuple[Sequence[answers.RecentRow], str | None]:
    found = recall_show.recall(house, context, k=2 * n, passive=True, fast=fast, progress=progress)
    rows = found["results"]
    if project:
        notes = (house.index.by_path(row["path"]) for row in rows)
        same = {
            note.path
            for note in notes
            if note is not None and note.project == project and not captured(note)
        }
        rows.sort(key=lambda row: -(row["score"] + (_PRIOR if row["path"] in same else 0.0)))
    return rows[:n], found["degraded"]


# -- memories in full


def get(house: House, ids: Sequence[Any]) -> answers.Got:
    """Memories in full, in the order asked for; `missing`: what cannot be had. A use, once a day
    for each."""
    if not ids:
        raise InvalidInput("ids must be a list of ids", hint="`oneiro list` shows ids.")
    recall_show.check_few(ids, MOST)
    found: dict[str, answers.FullMemory] = {}
    missing: list[answers.Missing] = []
    known = house.uses.remembered()
    for ident in ids:
        try:
            row = house.indexing.resolve(ident)
            if row.handle not in found:
                found[row.handle] = _in_full(house, row, known)
                note_use(house.uses, row, known)
        except OneiroError as error:
            missing.append(
                {"id": str(ident), "reason": " ".join(filter(None, (f"{error}.", error.hint)))}
            )
    return {"schema": 1, "memories": list(found.values()), "missing": missing}


def _in_full(house: House, row: Row, ledger: Remembered) -> answers.FullMemory:
    _, known, notice = served(house.indexing, row)
    found: dict[str, Any] = {"id": row.handle, "path": row.path}
    found |= {name: getattr(known, name) for name in _KEYS}
    found |= {name: list(getattr(known, name)) for name in _LISTS}
    return cast(
        "answers.FullMemory",
        {
            **found,
            "strength": round(ledger.strength(row), 4),
            "images": images.of_note(house.vault, known.body),
            "links": house.index.links_from(row.key),
            "backlinks": house.index.links_to(row.key),
            "notice": notice,
        },
    )


def feedback(
    house: House, id: str, useful: bool, reason: str = "", actor: str = "user"
) -> answers.Fedback:
    """Say of a memory that it helped, which keeps it from fading, or that it was wrong: it is
    injected nowhere then and stands behind all others, until it is useful again. Its words stay."""
    row = house.indexing.resolve(id)
    if not row.id:
        raise InvalidInput(
            f"{row.path} has no id of its own",
            hint=f"`oneiro adopt {row.path}` gives it one.",
        )
    if row.core and not useful and actor != "user":
        raise InvalidInput(
            f"{row.title} was ratified by a person",
            kept="It stays as it is.",
            hint="`reframe` proposes other words.",
        )
    kept = " ".join(reason.split())[:_QUESTION]
    said = {"reason": kept} if kept and not house.vault.secrets.find(kept) else {}
    if useful:
        house.vault.ledger.use(row.id, "use", why=USEFUL, actor=actor, **said)
    else:
        house.vault.ledger.use(row.id, DOUBT, actor=actor, **said)
        write.hush(house, row, actor)
    return {
        "schema": 1,
        "id": row.id,
        "title": row.title,
        "doubted": not useful,
        "strength": round(house.uses.remembered().strength(row), 4),
    }


def note_use(uses: Uses, row: Row, ledger: Remembered) -> None:
    """Note a deliberate look at a memory, unless today's is known; a full disk must not hide the
    memory."""
    use, today = ledger.use(row), datetime.fromtimestamp(ledger.now, UTC).date().isoformat()
    if row.id and not (use is not None and today in use.days):
        with suppress(DiskProblem):
            uses.used(row.id, "fetched")


# -- what a conversation left behind


def reflect(
    house: House,
    highlights: str,
    updates: Sequence[Mapping[str, Any]] | None = None,
    actor: str = "model",
) -> answers.Reflected:
    """Store the highlights as an episode tagged `reflection`, then say the named memories anew, one
    by one."""
    if len(updates or ()) > MOST:
        raise InvalidInput(f"updates must be a list of at most {MOST}", kept="Nothing was written.")
    item = {"text": highlights, "type": "episodic", "tags": ["reflection"]}
    stored = write.remember(house, [item], actor)["results"][0]
    updated: list[answers.Updated] = []
    failed: list[answers.Failed] = []
    for update in updates or ():
        try:
            done = _update(house, update, actor)
            updated.append({"id": done["id"], "proposal": done["proposal"]})
        except OneiroError as error:
            ident = update.get("id", "") if isinstance(update, Mapping) else ""
            failed.append({"id": str(ident), "message": str(error), "hint": error.hint})
    return {
        "schema": 1,
        "id": stored["id"],
        "path": stored["path"],
        "duplicate_of": stored["duplicate_of"],
        "updated": updated,
        "failed": failed,
    }


def _update(house: House, update: object, actor: str) -> answers.Reframed:
    if not isinstance(update, Mapping) or not {"id", "text"} <= update.keys() <= {
        "id",
        "text",
        "title",
        "description",
    }:
        raise InvalidInput(
            f"an update cannot be {shown(update)}",
            kept="The memory is as it was.",
            hint='Each one looks like {"id": "…", "text": "…"}.',
        )
    return write.reframe(
        house,
        update["id"],
        update["text"],
        update.get("title"),
        update.get("description"),
        reason="reflection",
        actor=actor,
    )


# -- questions for a person


def flagged(house: House, limit: int = 20) -> answers.Flagged:
    """Notes with an open question, newest first, each with the question as its callouts put it."""
    recall_show.check_whole("limit", limit, 1, MOST)
    house.indexing.converge()
    known = house.uses.remembered()
    rows = house.index.flagged()
    asked = {row.path: _question(house, row) for row in rows[:limit]}
    reasons = _why_flagged(house) if "" in asked.values() and house.vault.head() else {}
    results: list[answers.FlaggedRow] = [
        {
            **known.line(row),
            "flags": list(row.flags),
            "question": (asked[row.path] or reasons.get(row.id or row.path, ""))[:_QUESTION],
        }
        for row in rows[:limit]
    ]
    return {"schema": 1, "results": results, "total": len(rows)}


def _question(house: House, row: Row) -> str:
    try:
        body = served(house.indexing, row)[1].body
    except OneiroError:
        return ""
    callouts = parser.parse(body).callouts
    meant = [
        one for one in callouts if one.kind in {flag.lower() for flag in row.flags}
    ] or callouts
    return "\n\n".join(_unquoted(body[one.start : one.end], one.title) for one in meant)


def _why_flagged(house: House) -> dict[str, str]:
    """Id, or path of a note without one -> why it was flagged last; in one look at the history."""
    found: dict[str, str] = {}
    for entry in map(house.vault.erased.veiled, house.vault.history.lately("flag", 0.0)):
        for name in (*entry.memories, *entry.paths) if entry.reason else ():
            found.setdefault(name, entry.reason)
    return found


def _unquoted(text: str, title: str) -> str:
    lines = [line.strip().removeprefix(">").strip() for line in text.strip().splitlines()]
    return "\n".join(filter(None, (title, *lines[1:])))


FOLDER: Final = ".oneiro"
"""In the vault, wherever this machine keeps its indexes: a hook reads no settings."""
FILES: Final = ("orientation.md", "orientation.json", handoff.FILE)


def publish(house: House) -> set[str]:
    """Leave the rendering where a hook finds it without an owner, with the stamps that show it
    stale; returns the paths of its notes. Nothing is published while a note is newer than the
    index. Raises OSError."""
    folder = _mtime(house.root / "orientation")
    rows = house.index.list(type="orientation", limit=10_000)
    unreadable = dict(house.index.unreadable())
    stamps = []
    for name in house.vault.files.names("orientation"):
        path = f"orientation/{name}"
        if (
            name.lower().endswith(".md")
            and path not in unreadable
            and house.index.by_path(path) is None
        ):
            return {row.path for row in rows}
    for row in rows:
        stat = house.vault.files.stat(row.path)
        size, mtime = (stat.size, stat.mtime_ns) if isinstance(stat, Stat) else (None, None)
        if size is not None and row.path not in unreadable and _blob(house, row.path) != row.blob:
            return {row.path for row in rows}
        stamps.append({"path": row.path, "size": size, "mtime_ns": mtime})
    found = rendered(house.index, orientation.LIMIT)
    place = house.root.stat()
    record = {
        "schema": 1,
        "root": [place.st_dev, place.st_ino],
        "limit": orientation.LIMIT,
        "folder": folder,
        "notes": stamps,
        "blocks": [
            listed(one, at in found.included) | {"text": one.text, "when": one.when}
            for at, one in enumerate(found.blocks)
        ],
        "stamp": orientation.stamp(found.text),
    }
    _put(house.root / FOLDER / "orientation.md", found.text)
    _put(
        house.root / FOLDER / "orientation.json",
        json.dumps(record, ensure_ascii=False, separators=(",", ":")),
    )
    return {row.path for row in rows}


def publish_conversations(house: House) -> set[str]:
    """Leave beside it how the last conversations ended; returns the paths of their notes. Raises
    OSError."""
    ended = handoff.of_projects(house.vault, house.index, house.clock())
    place = house.root.stat()
    record = {"root": [place.st_dev, place.st_ino], "projects": ended}
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    if ended or (house.root / FOLDER / handoff.FILE).exists():
        _put(house.root / FOLDER / handoff.FILE, text)
    return {one["path"] for one in ended.values()}


class Published(NamedTuple):
    """What hooks find without an owner: whether a note has part in it, and how it is left there."""

    concerns: Callable[[Row], bool]
    publish: Callable[[House], set[str]]


PUBLISHED: Final = (
    Published(lambda row: row.type == "orientation", publish),
    Published(handoff.is_conversation, publish_conversations),
)


def _blob(house: House, path: str) -> str:
    try:
        return blob_id(house.vault.read(path))
    except OneiroError:
        return ""


def _mtime(folder: Path) -> int | None:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return None


def _put(path: Path, text: str) -> None:
    """Whole or not at all, and only if it differs."""
    data = text.encode("utf-8", "replace")
    with suppress(OSError):
        if path.read_bytes() == data:
            return
    path.parent.mkdir(exist_ok=True)
    temp = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        temp.write_bytes(data)
        temp.replace(path)
    finally:
        temp.unlink(missing_ok=True)
