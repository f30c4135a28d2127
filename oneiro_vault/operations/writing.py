"""Operations that change what is remembered. Each builds Changes and hands them to the vault's one door."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import groupby
from typing import Any

from oneiro_vault.core import frontmatter
from oneiro_vault.core import memory as memories
from oneiro_vault.core import when as dates
from oneiro_vault.core.change import Change, Operation, Receipt, Write
from oneiro_vault.core.query import analyse, fts_expression, speaker_of, tokens
from oneiro_vault.errors import InvalidInput, OneiroError, UnsafePath
from oneiro_vault.index.base import Row
from oneiro_vault.operations.house import House, Progress, quiet

LISTS = frozenset("tags aliases about topics derived_from supersedes flags".split())
TEXTS = frozenset(
    "type title description created timestamp source trust kind valid_from valid_until superseded_by status project session "
    "outcome trigger keep".split()
)
NUMBERS = frozenset("importance confidence".split())
WHOLE = frozenset("level turn budget priority".split())
NOT_WORDS = frozenset("no not never none nobody nothing without cannot can't won't isn't don't".split())
TITLE_LENGTH = 80


def remember(
    house: House,
    items: Sequence[Mapping[str, Any]],
    actor: str = "user",
    dedupe: bool | None = None,
    partial: bool = False,
    progress: Progress = quiet,
) -> dict[str, Any]:
    """Store memories in one commit. A single one that says nothing new returns the memory that already says it.

    With `partial` a bad one does not stop the others: it is listed in `rejected` by its position.
    """
    if not items:
        raise InvalidInput("there is nothing to remember", hint="Give a text.")
    house.converge()
    drafts, rejected = _drafts(house, items, actor, partial)
    twin = _twin(house, drafts[0]) if len(items) == len(drafts) == 1 and dedupe is not False else None
    if twin is not None:
        return {"schema": 1, "results": [_known(house, twin)], "commit": None, "rejected": []}
    results: list[dict[str, Any]] = []
    commit = None
    if drafts:
        _conversations(drafts)
        _number_turns(house, drafts)
        changes = [Write(draft["path"], _compose(draft)) for draft in drafts]
        receipt = house.vault.apply(changes, _remembering(drafts, actor), progress=progress)
        house.refresh(receipt.written)
        results, commit = [_result(draft, receipt) for draft in drafts], receipt.commit
    return {"schema": 1, "results": results, "commit": commit, "rejected": rejected}


def _drafts(
    house: House, items: Sequence[Mapping[str, Any]], actor: str, partial: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The good ones, and what is wrong with the others. Raises InvalidInput for the first bad one unless `partial`."""
    good, bad = [], []
    for position, item in enumerate(items):
        try:
            good.append(_draft(house, item, actor))
        except InvalidInput as error:
            if not partial:
                which = f"memory {position + 1}: " if len(items) > 1 else ""
                raise type(error)(f"{which}{error}", kept=error.kept or "Nothing was written.", hint=error.hint) from error
            bad.append({"item": position, "message": str(error), "hint": error.hint})
    return good, bad


def _known(house: House, twin: Row) -> dict[str, Any]:
    """The answer for a memory that is there already; being remembered again is a use of it."""
    if twin.id:
        house.vault.use(twin.id, "use", why="remembered again")
    sha = sha256(house.vault.read(twin.path)).hexdigest()
    return {"id": twin.handle, "path": twin.path, "title": twin.title, "type": twin.type, "sha256": sha, "duplicate_of": twin.handle}


def _draft(house: House, item: Mapping[str, Any], actor: str) -> dict[str, Any]:
    """One request, checked and completed: its metadata, `body` and `path`."""
    if not isinstance(item, Mapping):
        raise InvalidInput("it is not an object", hint='Each one looks like {"text": "…"}.')
    text = _text(item.get("text"), house.settings["notes.indexed_bytes"])
    meta = {key: value for key, value in item.items() if key not in {"text", "path"} and value is not None}
    for key, value in meta.items():
        meta[key] = _shaped(key, value)
    meta.setdefault("type", "semantic")
    meta["id"] = memories.make_id(secrets.randbits(60))
    meta.setdefault("title", _title(text))
    meta["created"] = _moment(house, meta.get("created"))
    meta.setdefault("source", actor)
    path = item.get("path") or memories.path_for(meta["type"], meta["title"], meta["id"], meta["created"])
    return {"meta": meta, "body": text if text.endswith("\n") else text + "\n", "path": _note_path(path)}


def _text(value: Any, limit: int) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"the text of a memory must be a string, not {type(value).__name__}", kept="Nothing was written.")
    if not value.strip():
        raise InvalidInput("the text of a memory is empty", kept="Nothing was written.", hint="Say what to remember.")
    if "\0" in value:
        raise InvalidInput("the text holds a NUL character", kept="Nothing was written.", hint="Remove it; notes are plain text.")
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"the text is not valid Unicode ({error.reason})", kept="Nothing was written.", hint="Save it as UTF-8."
        ) from error
    if size > limit:
        raise InvalidInput(
            f"the text has {size:,} bytes; a note is indexed up to {limit:,}",
            kept="Nothing was written.",
            hint="Split it into several memories, or keep the document as a file and remember what it says.",
        )
    return value


def _shaped(key: str, value: Any) -> Any:
    """A frontmatter value with the shape its key must have; unknown keys keep theirs."""
    wrong = InvalidInput(f"{key} cannot be {value!r:.60}", kept="Nothing was written.")
    if key == "id":
        raise InvalidInput("an id is given by the vault, never by the caller", kept="Nothing was written.", hint="Leave `id` out.")
    if key in LISTS:
        found = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else None
        if found is None or not all(isinstance(entry, str) for entry in found):
            raise wrong
        return found
    if key in TEXTS and not isinstance(value, str):
        raise wrong
    if key in NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1):
        raise InvalidInput(f"{key} must be a number from 0 to 1, not {value!r:.60}", kept="Nothing was written.")
    if key in WHOLE and (isinstance(value, bool) or not isinstance(value, int)):
        raise InvalidInput(f"{key} must be a whole number, not {value!r:.60}", kept="Nothing was written.")
    return value


def _moment(house: House, given: str | None) -> str:
    """`created` as RFC 3339 with an offset; now when not given, the beginning of the span for words such as `last March`."""
    now = datetime.fromtimestamp(house.clock()).astimezone()
    if given is None:
        return now.isoformat(timespec="seconds")
    normal = memories.moment(given)
    if normal:
        return normal
    try:
        start = dates.parse_range(given, now)[0]
    except InvalidInput:
        start = None
    if start is None:
        raise InvalidInput(f"{given!r} is not a date", kept="Nothing was written.", hint="Use 2026-03-05 or 2026-03-05T14:30:00+01:00.")
    return datetime.fromtimestamp(start).astimezone().isoformat(timespec="seconds")


def _title(text: str) -> str:
    """The first line that says something, cut at a word."""
    line = next(line for line in text.splitlines() if line.strip()).strip().lstrip("#>-* ").strip() or "untitled"
    if len(line) <= TITLE_LENGTH:
        return line
    return line[: TITLE_LENGTH - 1].rsplit(" ", 1)[0].rstrip(",;:- ") + "…"


def _note_path(path: Any) -> str:
    if not isinstance(path, str):
        raise UnsafePath("a path must be a string", kept="Nothing was written.")
    if not path.lower().endswith(".md"):
        raise UnsafePath(f"{path!r} does not end with .md", kept="Nothing was written.", hint="Memories are Markdown notes.")
    return path


def _conversations(drafts: Sequence[Mapping[str, Any]]) -> None:
    """A conversation handed over turn by turn (`Name: …`, one date, several speakers) is one session, even if nobody said so.

    Its neighbours are what a turn is found by; without them "Yes, in June." answers no question.
    """
    for _, run in groupby(drafts, key=lambda draft: (draft["meta"]["created"], "session" in draft["meta"])):
        turns = list(run)
        speakers = [speaker_of(turn["body"]) for turn in turns]
        if len(turns) >= 3 and "session" not in turns[0]["meta"] and all(speakers) and len(set(speakers)) > 1:
            for turn in turns:
                turn["meta"]["session"] = f"{turns[0]['meta']['created'][:10]}-{turns[0]['meta']['id']}"


def _number_turns(house: House, drafts: Sequence[Mapping[str, Any]]) -> None:
    """Memories of one session that share a date keep their order by `turn`, in the file, where it survives any index."""
    following: dict[str, int] = {}
    for draft in drafts:
        meta = draft["meta"]
        session = meta.get("session")
        if session and "turn" not in meta:
            if session not in following:
                rows = house.index.list(session=session, limit=1_000_000)
                following[session] = max((row.turn or 0 for row in rows), default=0) + 1
            meta["turn"] = following[session]
            following[session] += 1


def _compose(draft: Mapping[str, Any]) -> bytes:
    return frontmatter.encode(frontmatter.compose(draft["meta"], draft["body"]))


def _remembering(drafts: Sequence[Mapping[str, Any]], actor: str) -> Operation:
    title = drafts[0]["meta"]["title"] if len(drafts) == 1 else f"{len(drafts)} memories"
    return Operation("remember", title, actor, memories=tuple(draft["meta"]["id"] for draft in drafts))


def _result(draft: Mapping[str, Any], receipt: Receipt) -> dict[str, Any]:
    meta = draft["meta"]
    sha = receipt.written[draft["path"]]
    return {"id": meta["id"], "path": draft["path"], "title": meta["title"], "type": meta["type"], "sha256": sha, "duplicate_of": None}


def _twin(house: House, draft: Mapping[str, Any]) -> Row | None:
    """An active memory of the same type that already says all of this, or None.

    Every content word of the new text must stand in the old one, overlap as a whole must reach the setting, and numbers and negations
    must be the same: "at 3" and "at 4" are two memories. Events of a session are never twins: the same words on another day are news.
    """
    meta, body = draft["meta"], draft["body"]
    words = set(analyse(body).words)
    if len(words) < 3 or meta.get("session"):
        return None
    keys = [key for key, _ in house.index.search_text(fts_expression(sorted(words)[:40]), 8)]
    for row in house.index.rows(keys).values():
        if row.type == meta["type"] and row.status == "active":
            _, known = house.load(row)
            if _same(body, known.body, words, house.settings["remember.duplicate"]):
                return row
    return None


def _same(new: str, old: str, words: set[str], share: float) -> bool:
    theirs = set(analyse(old).words)
    overlap = len(words & theirs) / len(words | theirs)
    return words <= theirs and overlap >= share and _exact(new) == _exact(old)


def _exact(text: str) -> list[str]:
    """The words whose change turns a sentence round: numbers and negations, in order."""
    return [word for word in tokens(text) if word in NOT_WORDS or any(letter.isdigit() for letter in word)]


def reframe(
    house: House,
    id: str,
    text: str,
    title: str | None = None,
    description: str | None = None,
    base: str | None = None,
    reason: str = "",
    actor: str = "user",
) -> dict[str, Any]:
    """Replace what a memory says. The old words stay in history; a note that changed meanwhile gets a proposal beside it instead."""
    row = house.resolve(id)
    text = _text(text, house.settings["notes.indexed_bytes"])
    data, known = house.load(row)
    if title is None and known.title and known.title == _title(known.body or known.title):
        title = _title(text)  # a title taken from the first words must not go on saying what was retracted
    changes: dict[str, object | None] = {"timestamp": _moment(house, None)}
    changes |= {key: value for key, value in (("title", title), ("description", description)) if value is not None}
    ident = known.id or memories.make_id(secrets.randbits(60))
    if not known.id:
        changes["id"] = ident
    content = frontmatter.encode(frontmatter.edit(frontmatter.decode(data), changes, body=text if text.endswith("\n") else text + "\n"))
    base = base or sha256(data).hexdigest()
    draft = _proposal(house, row, text, actor)
    if known.core and actor != "user":
        receipt = house.vault.apply(
            [Write(draft["path"], _compose(draft))], Operation("flag", f"proposal for {row.title}", actor, (ident,), reason)
        )
        proposals = {row.path: draft["path"]}
    else:
        change = Write(row.path, content, base, proposal=(draft["path"], _compose(draft)))
        receipt = house.vault.apply([change], Operation("reframe", title or row.title, actor, (ident,), reason))
        proposals = receipt.proposals
    house.refresh([*receipt.written, row.path])
    waiting = {"id": draft["meta"]["id"], "path": proposals[row.path]} if row.path in proposals else None
    sha = receipt.written.get(row.path, base)
    return {"schema": 1, "id": ident, "path": row.path, "sha256": sha, "commit": receipt.commit, "proposal": waiting}


def _proposal(house: House, row: Row, text: str, actor: str) -> dict[str, Any]:
    """The same words as a pending note of their own, inert until a person decides."""
    meta: dict[str, Any] = {
        "id": memories.make_id(secrets.randbits(60)),
        "type": row.type,
        "title": f"Proposed: {row.title}",
        "created": _moment(house, None),
        "source": actor,
        "supersedes": [row.handle],
        "status": "pending",
    }
    return {
        "meta": meta,
        "body": text if text.endswith("\n") else text + "\n",
        "path": memories.path_for(meta["type"], meta["title"], meta["id"], meta["created"]),
    }


def forget(house: House, id: str, reason: str = "", actor: str = "user") -> dict[str, Any]:
    """Take a memory out of the tree. Its bytes stay in history and `restore` brings them back."""
    row = house.resolve(id)
    data = house.vault.read(row.path)
    receipt = house.vault.forget(row.id, row.path, sha256(data).hexdigest(), actor, reason)
    house.refresh([row.path])
    return {"schema": 1, "id": row.handle, "path": row.path, "title": row.title, "commit": receipt.commit}


def restore(house: House, id: str, actor: str = "user") -> dict[str, Any]:
    """Bring a forgotten memory back, byte for byte."""
    receipt = house.vault.restore(id.strip().lower(), actor)
    house.refresh(receipt.written)
    path = next(path for path in receipt.written if path.lower().endswith(".md"))
    row = house.index.by_path(path)
    return {"schema": 1, "id": row.handle if row else id, "path": path, "commit": receipt.commit}


def undo(house: House, commit: str, actor: str = "user") -> dict[str, Any]:
    """Bring back the exact bytes from before one commit, as a new commit."""
    receipt = house.vault.undo(commit, actor)
    paths = [*receipt.written, *receipt.removed]
    house.refresh(paths)
    return {"schema": 1, "commit": receipt.commit, "undone": commit, "paths": sorted(p for p in paths if not p.startswith("ledger/"))}


def adopt(house: House, paths: Sequence[str] = (), actor: str = "user", progress: Progress = quiet) -> dict[str, Any]:
    """Give notes without an id one (and a type, and a date when it is known); nothing else in them changes."""
    house.reconcile(progress)
    rows = house.index.list(limit=10_000_000)
    wanted = {path.strip().removeprefix("./") for path in paths}
    skipped = [{"path": path, "reason": "no readable note here"} for path in sorted(wanted - {row.path for row in rows})]
    changes: list[Change] = []
    adopted: list[dict[str, str]] = []
    for row in rows:
        if not row.id and (not wanted or row.path in wanted):
            try:
                change, ident = _adopted(house, row)
            except OneiroError as error:
                skipped.append({"path": row.path, "reason": str(error)})
                continue
            changes.append(change)
            adopted.append({"path": row.path, "id": ident})
        elif row.path in wanted:
            skipped.append({"path": row.path, "reason": f"already has the id {row.id}"})
    commit = None
    if changes:
        title = rows_title(adopted)
        receipt = house.vault.apply(changes, Operation("adopt", title, actor, tuple(a["id"] for a in adopted)), progress=progress)
        house.refresh(receipt.written)
        commit = receipt.commit
    return {"schema": 1, "adopted": adopted, "skipped": skipped, "commit": commit}


def rows_title(rows: Sequence[Mapping[str, str]]) -> str:
    """`notes/a.md`, or `12 notes`."""
    return rows[0]["path"] if len(rows) == 1 else f"{len(rows)} notes"


def _adopted(house: House, row: Row) -> tuple[Write, str]:
    data = house.vault.read(row.path)
    known = memories.parse(row.path, data)
    folder = row.path.split("/", 1)[0]
    ident = memories.make_id(secrets.randbits(60))
    changes: dict[str, object | None] = {"id": ident}
    if known.type == "note":
        changes["type"] = next((type_ for type_, name in memories.FOLDERS.items() if name == folder), "semantic")
    if known.created:
        changes["created"] = known.created
    text = frontmatter.edit(frontmatter.decode(data), changes)
    return Write(row.path, frontmatter.encode(text), sha256(data).hexdigest()), ident
