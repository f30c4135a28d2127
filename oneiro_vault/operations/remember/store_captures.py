"""Conversations on their way into the vault: stored whole as episodes, once, also out of the
spool."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Final
from weakref import WeakKeyDictionary

from oneiro_vault import answers
from oneiro_vault.capture import conversation_state, markers, spool, transcripts
from oneiro_vault.core.conversation.turns import ENCODED, KIND, OWN, REFLECTION, SOURCE
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.memory import EPISODIC, epoch, fingerprint
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.errors import InvalidInput, OneiroError, shown
from oneiro_vault.index.base import Row
from oneiro_vault.index.store import Index
from oneiro_vault.operations.remember import write
from oneiro_vault.operations.runtime import House

LOG = logging.getLogger("oneiro.capture")
_STORING = threading.Lock()
"""The background and a request may hold the same capture."""


def capture(
    house: House,
    text: str,
    kind: str = "note",
    session: str | None = None,
    client: str | None = None,
    project: str | None = None,
    cwd: str | None = None,
    when: str | None = None,
    title: str | None = None,
    actor: str = SOURCE,
) -> answers.Captured:
    """Store what was said, whole, as an episode that waits for encoding; private parts are gone
    before anything is written. The same words of the same session are stored once.

    `kind`: compaction, session, turns or note. `cwd`: its name is the project when none is given. A
    person's own note (`actor` is `user`) is trusted as theirs, everything else as words from
    outside. A large text becomes several `captures`, the answer itself the first.
    """
    if kind not in transcripts.KINDS:
        raise InvalidInput(
            f"kind must be one of {', '.join(transcripts.KINDS)}, not {shown(kind)}",
            kept="Nothing was written.",
        )
    if not text.strip():
        raise InvalidInput(
            "there is nothing to capture", kept="Nothing was written.", hint="Give a text."
        )
    secrets = house.vault.secrets
    words = secrets.cleaned(
        transcripts.clean(text)
    )  # nobody is there to say it again without: `block` would lose the conversation
    if not words:
        raise InvalidInput("all of it is private", kept="Nothing was written.")
    project = project or (PurePath(cwd).name if isinstance(cwd, str) else None) or None
    common: dict[str, object] = {
        "type": EPISODIC,
        "session": session,
        "project": project,
        "created": _local(when),
        "client": client,
    }
    common |= (
        {KIND: kind} if actor in ("user", SOURCE) else {}
    )  # who speaks in what others send is theirs to say, so it is from outside
    common |= {"kind": "conversation"} if kind != "note" else {}
    common |= {"tags": [OWN]} if actor == "user" and kind == "note" else {"source": SOURCE}
    pieces = transcripts.parts(words, house.settings["notes.indexed_bytes"] - 1)
    name = " ".join(secrets.cleaned(transcripts.clean(title or "")).split()) or transcripts.title(
        words, kind
    )
    titles = [
        name if len(pieces) == 1 else f"{name} ({number}/{len(pieces)})"
        for number in range(1, len(pieces) + 1)
    ]
    with _STORING:
        house.indexing.converge()
        twins = [_twin(house, *said, session or "") for said in zip(titles, pieces, strict=True)]
        new = [
            {**common, "title": title, "text": piece}
            for title, piece, twin in zip(titles, pieces, twins, strict=True)
            if twin is None
        ]
        made = iter(write.remember(house, new, actor, dedupe=False)["results"] if new else ())
    rows: list[answers.CaptureRow] = [
        twin or {"id": (done := next(made))["id"], "path": done["path"], "duplicate_of": None}
        for twin in twins
    ]
    first, queued = rows[0], len(waiting(house))
    return {
        "schema": 1, "id": first["id"], "path": first["path"],
        "duplicate_of": first["duplicate_of"], "captures": rows, "queued": queued,
    }  # fmt: skip


def _local(when: str | None) -> str | None:
    """A client's time, which is UTC, as the clock of this machine showed it: "yesterday" was said
    on a local day."""
    at = epoch(when) if isinstance(when, str) and when.rstrip().endswith(("Z", "z")) else None
    return when if at is None else dates.iso(at)


def _twin(house: House, title: str, text: str, session: str) -> answers.CaptureRow | None:
    """The capture with these words of that session, also a forgotten one: it does not come back by
    itself."""
    words = fingerprint(EPISODIC, title, text)
    for row in house.index.same({words}).get(words, []):
        if row.session == session:
            return {"id": row.handle, "path": row.path, "duplicate_of": row.handle}
    gone = house.uses.forgotten().get(words)
    return None if gone is None else {"id": gone["id"], "path": None, "duplicate_of": gone["id"]}


# -- the spool


def collect(house: House) -> answers.Collected:
    """Store what hooks left in the spool, and conversations that never ended. An entry goes only
    when the vault has committed it; one nobody can store is set aside. An owner loads its model
    meanwhile."""
    state = str(house.vault.folder)
    folder, now = spool.folder_of(state), house.clock()
    house.vectors.attend()
    spool.rescue(folder, now)
    _pick_up_abandoned(state, folder, now)
    stored = 0
    for path in spool.entries(folder):
        stored += _picked_up(house, path)
    spool.sweep(folder, now)
    conversation_state.sweep(state, now)
    return {
        "schema": 1,
        "stored": stored,
        "left": len(spool.entries(folder)),
        "aside": len(spool.aside(folder)),
    }


def _pick_up_abandoned(state: str, folder: str, now: float) -> None:
    """A disk that is full keeps them where they are."""
    with suppress(OSError):
        for entry in conversation_state.abandoned(state, now):
            session = conversation_state.Session(state, entry["session"])
            spool.put(folder, entry, session.key)
            session.advance(entry["transcript"], entry["to"])


def left(house: House) -> bool:
    """Is anything in the spool? Cheap: asked every second."""
    if house.settings.wrong:
        return False
    folder = spool.folder_of(str(house.vault.folder))
    spool.rescue(folder, house.clock())
    return bool(spool.entries(folder))


def _picked_up(house: House, path: str) -> int:
    """1 when it became a memory. Raises OneiroError when the vault cannot be written now."""
    try:
        entry = spool.load(path)
        if entry is None:
            return 0
        twin = capture(house, **transcripts.of_entry(_dated(_with_text(entry), house.clock())))[
            "duplicate_of"
        ]
    except _NothingError:
        twin, entry = "", entry or {}
    except Exception as error:
        if isinstance(error, OneiroError) and not isinstance(error, InvalidInput):
            raise
        LOG.warning(
            "a capture cannot be stored (%s: %s): it is kept as %s",
            type(error).__name__,
            error,
            spool.set_aside(path),
        )
        return 0
    _advance(house, entry)
    spool.done(path)
    return 1 if twin is None else 0


def _advance(house: House, entry: Mapping[str, object]) -> None:
    session, transcript, end = entry.get("session"), entry.get("transcript"), entry.get("to")
    if isinstance(session, str) and isinstance(transcript, str) and isinstance(end, int):
        conversation_state.Session(str(house.vault.folder), session).advance(transcript, end)


class _NothingError(ValueError):
    """Nobody said anything in that part of a conversation."""


def _with_text(entry: Mapping[str, object]) -> Mapping[str, object]:
    transcript, start, end = entry.get("transcript"), entry.get("from"), entry.get("to")
    if "text" in entry or not isinstance(transcript, str):
        return entry
    if not isinstance(start, int) or not isinstance(end, int):
        raise ValueError("a place in a transcript without its bounds")
    try:
        turns, _ = transcripts.read(transcript, start, end - start)
    except OSError as error:
        raise ValueError(f"the transcript cannot be read: {error}") from error
    words = transcripts.render(turns)
    if not words:
        raise _NothingError
    return {**entry, "text": words, "last": transcripts.last_time(turns)}


def _dated(entry: Mapping[str, object], now: float) -> Mapping[str, object]:
    last = entry.get("last")
    said = epoch(last) if isinstance(last, str) else None
    return {**entry, "when": last} if said is not None and said <= now else entry


def problems(house: House) -> Iterable[tuple[str, str, str]]:
    """(level, what is wrong, what to do) about captures that do not get into the vault."""
    folder = spool.folder_of(str(house.vault.folder))
    stuck = spool.aside(folder)
    if stuck:
        where = stuck[0].rpartition("/")[0]
        yield (
            "warning",
            f"captures that could not be stored ({len(stuck)}) are kept in {where}",
            "Read them; what is of no use may be deleted.",
        )
    many = len(spool.entries(folder))
    if many:
        yield (
            "info",
            f"captures wait in {folder}: {many}",
            "They are stored by themselves as soon as the vault can be written.",
        )


def permission(folder: str) -> answers.CaptureHere:
    """May conversations in a folder be captured, and which marker says so? Raises InvalidInput for
    what is no path."""
    try:
        found = markers.find(folder)
    except ValueError as error:
        raise InvalidInput(f"{folder!a:.60} is no folder: {error}") from error
    return {
        "folder": folder,
        "allowed": found.allows,
        "marker": found.path or None,
        "vault": found.vault or None,
        "project": found.project or None,
        "problem": found.problem or None,
    }


_MOST: Final = 10_000_000
_KNOWN: WeakKeyDictionary[Index, dict[str, bool]] = WeakKeyDictionary()
"""sha256 of a file -> is it encoded? Reading thousands of notes for every count would cost
seconds."""


def waiting(house: House) -> list[Row]:
    """Episodes that wait, oldest first, by the index as it is."""
    asked: tuple[dict[str, str], ...] = ({"source": SOURCE}, {"tag": REFLECTION}, {"tag": OWN})
    live = {
        row.key: row
        for where in asked
        for row in house.index.list(type=EPISODIC, status="active", limit=_MOST, **where)
    }
    rows = [row for row in live.values() if not _encoded(house, row)]
    return sorted(rows, key=lambda row: (row.when or 0.0, row.path))


def _encoded(house: House, row: Row) -> bool:
    known = _KNOWN.setdefault(house.index, {})
    if row.sha256 not in known:
        try:
            known[row.sha256] = (
                ENCODED in yaml_block.read(yaml_block.decode(house.vault.read(row.path)))[0]
            )
        except OneiroError:
            return True  # nobody can encode what cannot be read; `status` lists it
    return known[row.sha256]
