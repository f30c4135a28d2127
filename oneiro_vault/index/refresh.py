"""Bring the index in line with the disk: two lists of files, their difference, and the difference
applied in batches of one transaction each.

A file is read only if its stat differs. When most notes vanish at once nothing is removed until the
caller insists: time proves nothing, for a slow checkout or a disk that is not there looks the same
an hour later.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from oneiro_vault.api import Progress
from oneiro_vault.core.memory import Memory, by_name
from oneiro_vault.core.tree_diff import Past, Refused, Screen, Source, Stat, below, blob_id
from oneiro_vault.errors import InvalidInput, UnreadableNote
from oneiro_vault.index.base import Refreshed
from oneiro_vault.index.keyword import chunk_rows, database, note_rows
from oneiro_vault.index.keyword.note_rows import Screening

LARGEST: Final = 64_000_000
"""Bytes above which a file is not even hashed."""

_FEW: Final = 10
"""So many notes may always vanish."""
_RACY: Final = 2_000_000_000
"""A file changed within so many ns of being read may change again without a new stat (FAT counts in
2 s)."""
_BATCH: Final = 500
_BATCH_BYTES: Final = 8_000_000
_BULK: Final = 2_000
_AT_ONCE: Final = 400
"""So many changed notes are also taken apart before a refresh returns; more wait for `settle`."""
_UNPARTED: Final = "unparted"
"""Name of what says that notes were stored since copies were told from their memories."""


@dataclass
class _Look:
    """What is on disk: all of it, or what `within` covers."""

    seen: dict[str, Stat] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)


class Refresher:
    """Keeps one index file in line with one source; the caller holds the writing lock. `limit`:
    bytes of a note that are indexed; `brake`: share of the notes that may vanish at once; `past`:
    where last good versions come from; `screen`: which notes may not be read."""

    def __init__(
        self,
        db: sqlite3.Connection,
        source: Source,
        *,
        limit: int,
        brake: float,
        past: Past | None = None,
        screen: Screen | None = None,
    ) -> None:
        self.db = db
        self._source = source
        self._limit = limit
        self._brake = brake
        self._past = past
        self.screening = Screening(db, screen)
        self._known: dict[str, Stat] = {}
        self._done: dict[str, list[str]] = {}
        self._generation: object = None

    def run(
        self,
        paths: Iterable[str] | None = None,
        *,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Refreshed:
        """Reconcile everything (None) or what lies at `paths`: files, or folders (anything that is
        not `*.md`)."""
        self._load()
        unparted = bool(database.meta(self.db, _UNPARTED))
        self._done = {"added": [], "modified": [], "removed": []}
        again = self._hide()
        wanted = None if paths is None else {*paths, *again}
        look = self._look_at_all() if wanted is None else self._look_at(wanted)
        self._note_refused(look, everything=wanted is None)
        changed = [stat for path, stat in look.seen.items() if self._known.get(path) != stat]
        gone, total = self._gone(look, wanted), len(self._known)
        with database.bulk(self.db) if len(changed) > _BULK else nullcontext():
            moved = self._apply(changed, progress, seek=bool(total))
            self._fall_back(None if wanted is None else look.seen)
            self._date(None if wanted is None else look.seen)
            moved += self._moved(self._done["added"] + self._done["modified"]) if total else []
            gone = [path for path in gone if path not in moved]
            braked = self._braking(gone, total, everything=wanted is None or force, force=force)
            self._remove(moved if braked else moved + gone)
            if unparted or any(self._done.values()):
                self._part_copies(unparted)
                database.set_meta(self.db, _UNPARTED, 0)
            if chunk_rows.waiting(self.db) <= _AT_ONCE:
                chunk_rows.settle(lambda: nullcontext(self.db))
        if wanted is None and not database.meta(self.db, "complete"):
            database.set_meta(self.db, "complete", 1)
        return self._result(braked, gone)

    def _hide(self) -> list[str]:
        """Where notes were that may not be read any more, to be looked at again."""
        if not self.screening.stale():
            return []
        paths = self.screening.paths()
        with database.transaction(self.db):
            self._take_out(paths)
            self.screening.done()
        return paths

    def _load(self) -> None:
        if self._generation is None or database.meta(self.db, "generation") != self._generation:
            rows = self.db.execute("SELECT path, size, mtime, ctime, inode FROM stats")
            self._known = {row[0]: Stat(*row) for row in rows}
            self._generation = database.meta(self.db, "generation")

    def _look_at_all(self) -> _Look:
        look = _Look()
        seen, refused = look.seen, look.refused
        with database.without_garbage_collection():
            for entry in self._source.scan():
                if type(entry) is Stat:
                    seen[entry.path] = entry
                else:
                    refused.append(entry)  # type: ignore[arg-type]  # type() is quicker
        return _speakable(look)

    def _look_at(self, wanted: Collection[str]) -> _Look:
        look = _Look()
        folders = _folders(wanted)
        for path in wanted:
            if path.lower().endswith(".md"):
                _take(look, self._source.stat(path))
        if folders:
            for entry in self._source.scan():
                if below(entry.path, folders):
                    _take(look, entry)
        return _speakable(look)

    def _gone(self, look: _Look, wanted: Collection[str] | None) -> list[str]:
        closed = [refused.path for refused in look.refused if refused.folder]
        refused = {refused.path for refused in look.refused}
        candidates = (
            self._known.keys() - look.seen.keys()
            if wanted is None
            else self._named(wanted) - look.seen.keys()
        )
        missing = [
            path
            for path in candidates
            if path not in refused and not (closed and below(path, closed))
        ]
        return sorted(
            path for path in missing if "" not in closed and self._source.stat(path) is None
        )

    def _named(self, wanted: Collection[str]) -> set[str]:
        folders = _folders(wanted)
        inside = {path for path in self._known if below(path, folders)} if folders else set()
        return inside | {path for path in wanted if path in self._known}

    def _moved(self, found: list[str]) -> list[str]:
        """Old places, now gone, of notes that were found elsewhere just now: a move is told in two
        events, and a memory is never served twice in between."""
        query = """SELECT new.path, new.id, old.path FROM notes new LEFT JOIN notes old ON old.id =
            new.id AND old.handle = new.handle
                   AND old.key != new.key WHERE new.path IN (SELECT value FROM json_each(?))"""
        new = self.db.execute(query, (json.dumps(found),)).fetchall()
        paths = {old for _, ident, old in new if ident and old is not None}
        files = {
            _file(self._known[path]) for path, ident, _ in new if not ident and path in self._known
        }
        if files:
            paths |= {path for path, stat in self._known.items() if _file(stat) in files}
        return sorted(path for path in paths if self._source.stat(path) is None)

    def _braking(
        self, gone: Collection[str], total: int, *, everything: bool, force: bool
    ) -> str | None:
        braked = database.meta(self.db, "braked") is not None
        few = len(gone) <= max(_FEW, self._brake * total)
        if not gone or force or (few and (everything or not braked)):
            if everything and braked:
                database.set_meta(self.db, "braked", None)
            return None
        if not braked:
            database.set_meta(self.db, "braked", 1)
        return (
            f"{len(gone)} of {total} files vanished at once; their notes stay until it is certain "
            f"that they are meant to be gone"
        )

    def _apply(self, changed: list[Stat], progress: Progress | None, *, seek: bool) -> list[str]:
        """What came from elsewhere leaves its old place in the same transaction. Returns those
        places."""
        done, moved = 0, []
        for batch in _batches(changed):
            loaded = [(stat, self._bytes(stat)) for stat in batch]
            with database.transaction(self.db):
                self._write(loaded)
                left = self._moved([stat.path for stat, _ in loaded]) if seek else []
                self._take_out(left)
            moved += left
            done += len(batch)
            if progress:
                progress("indexing", done, len(changed))
        return moved

    def _bytes(self, stat: Stat) -> bytes | str | None:
        """The file's bytes, or why it cannot be read, or None if it is gone by now."""
        try:
            data = self._source.read(stat.path, LARGEST)
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"cannot be read: {error.strerror or error}"
        except InvalidInput as error:  # a name the source will not open
            return str(error)
        return data if len(data) <= LARGEST else f"larger than {LARGEST // 1_000_000} MB"

    def _write(self, loaded: list[tuple[Stat, bytes | str | None]]) -> None:
        held = self._held(stat.path for stat, _ in loaded)
        parsed: list[note_rows.Note] = []
        failed: list[tuple[str, str]] = []
        known: list[Stat] = []
        now = time.time_ns()
        born = self._births(stat.path for stat, _ in loaded)
        unmerged = self._unmerged(held)  # they stay unreadable however often they are read
        for stat, data in loaded:
            if data is None:
                continue
            known.append(_settled(stat, now))
            if isinstance(data, str):
                failed.append((stat.path, data))
            elif (
                stat.path not in held
                or held[stat.path][1] != blob_id(data)
                or stat.path in unmerged
            ):
                try:
                    parsed.append(self.screening.read(stat.path, data, self._limit, born=born))
                except UnreadableNote as error:
                    failed.append((stat.path, str(error)))
                    if stat.path in unmerged:
                        parsed += self._as_it_stands(stat.path, data)
        parsed, refused = self._completed(
            parsed, {stat.path: data for stat, data in loaded if isinstance(data, bytes)}
        )
        self._store(parsed, held)
        self._know(known)
        self._mark({stat.path for stat in known}, failed + refused)
        self._advance()

    def _as_it_stands(self, path: str, data: bytes) -> list[note_rows.Note]:
        """A file with conflict markers of which no better version is known."""
        try:
            return [
                self.screening.read(
                    path, data, self._limit, unmerged=True, born=self._births([path])
                )
            ]
        except UnreadableNote:
            return []

    def _unmerged(self, paths: Collection[str]) -> set[str]:
        query = """SELECT path FROM notes WHERE path IN (SELECT value FROM json_each(?)) AND
            instr(problems, '"unmerged"')"""
        return {path for (path,) in self.db.execute(query, (json.dumps(list(paths)),))}

    def _completed(
        self, parsed: list[note_rows.Note], data: Mapping[str, bytes]
    ) -> tuple[list[note_rows.Note], list[tuple[str, str]]]:
        born = self._births(data)

        def again(path: str, known: Memory) -> note_rows.Note:
            return self.screening.read(path, data[path], self._limit, former=known, born=born)

        return (
            (parsed, [])
            if self._past is None
            else note_rows.completed(self._past, parsed, again, LARGEST)
        )

    def _births(self, paths: Iterable[str]) -> note_rows.Born:
        """Git is asked once one of them wants to know."""
        wanted = list(paths)
        born = cache(lambda: self._past.born(wanted) if self._past is not None else {})
        return lambda path: born().get(path, "")

    def _fall_back(self, within: Collection[str] | None) -> None:
        """The last good version in HEAD's history speaks for each file that cannot be read."""
        if self._past is None:
            return
        listed = self.db.execute("SELECT path, head FROM unreadable WHERE NOT refused")
        asked = {path: head for path, head in listed if within is None or path in within}
        heads = self._past.heads(asked) if asked else {}
        moved = {
            path: heads.get(path, "") for path, head in asked.items() if head != heads.get(path, "")
        }
        if not moved:
            return
        held = self._held(moved)
        found = [
            one
            for one in note_rows.last_good(self._past, moved, self._limit, LARGEST)
            if not self.screening.why(one[0])
        ]
        with database.transaction(self.db):
            self._store(
                [
                    note
                    for note, blob in found
                    if note.path not in held or held[note.path][1] != blob
                ],
                held,
            )
            for path in moved.keys() - held.keys() - {note.path for note, _ in found}:
                data = self._bytes(self._known[path]) if path in self._known else None
                self._store(self._as_it_stands(path, data) if isinstance(data, bytes) else [], {})
            self.db.executemany(
                "UPDATE unreadable SET head = ? WHERE path = ?",
                ((head, path) for path, head in moved.items()),
            )
            self._advance()

    def _date(self, within: Collection[str] | None) -> None:
        if self._past is None:
            return
        undated = {
            path for (path,) in self.db.execute('SELECT path FROM notes WHERE "when" IS NULL')
        }
        born = (
            self._past.born(undated if within is None else undated.intersection(within))
            if undated
            else {}
        )
        for batch in _batches([self._known[path] for path in born if path in self._known]):
            data = {
                stat.path: found for stat in batch if isinstance(found := self._bytes(stat), bytes)
            }
            held = {
                path: known
                for path, known in self._held(data).items()
                if known[1] == blob_id(data[path])
            }
            dated: list[note_rows.Note] = []
            for path in held:
                with suppress(UnreadableNote):
                    dated.append(
                        self.screening.read(path, data[path], self._limit, born=born.__getitem__)
                    )
            with database.transaction(self.db):
                self._store(self._completed(dated, data)[0], held)
                self._advance()

    def _part_copies(self, every: bool) -> None:
        """Of several files with one id the one whose name tells it is the memory, else the first;
        the others are notes without an id, for as long as it is there. `every`: also of those that
        an earlier run touched and did not come to."""
        touched = json.dumps([*self._done["added"], *self._done["modified"]])
        shared = """
            SELECT new.handle FROM notes new WHERE path IN (SELECT value FROM json_each(:touched))
            AND new.id != '' AND (new.handle IN (SELECT id FROM copies) OR EXISTS
                (SELECT 1 FROM notes old WHERE old.handle = new.handle AND old.key != new.key))
            UNION SELECT id FROM copies WHERE NOT EXISTS
                (SELECT 1 FROM notes own WHERE own.handle = copies.id)
            UNION SELECT handle FROM notes WHERE :all GROUP BY handle HAVING count(*) > 1"""
        files = """SELECT id, path, 0 FROM notes WHERE id != '' AND handle IN
                   (SELECT value FROM json_each(:ids))
                   UNION ALL SELECT copies.id, path, 1 FROM copies JOIN notes ON key = note
                   WHERE copies.id IN (SELECT value FROM json_each(:ids))"""
        given = {"touched": touched, "all": every}
        idents = [ident for (ident,) in self.db.execute(shared, given)]
        by_id: dict[str, dict[str, bool]] = defaultdict(dict)
        for ident, path, copied in self.db.execute(files, {"ids": json.dumps(idents)}):
            by_id[ident][path] = bool(copied)
        for ident, found in by_id.items():
            own, *others = by_name(ident, found)
            self._read_again([own] if found[own] else [])
            self._read_again([path for path in others if not found[path]], ident)

    def _read_again(self, paths: Collection[str], of: str = "") -> None:
        """`of`: whose copies they are."""
        born = self._births(paths)
        for path in paths:
            data = self._bytes(self._known[path]) if path in self._known else None
            if not isinstance(data, bytes):
                continue
            held = self._held([path])
            read: list[note_rows.Note] = []
            with suppress(UnreadableNote):
                read.append(
                    self.screening.read(path, data, self._limit, born=born, copied=bool(of))
                )
            with database.transaction(self.db):
                if not read:  # with the marks of a merge: what stood for it had the id
                    note_rows.clear(self.db, [key for key, _ in held.values()])
                self._store(read, held)
                if of and read:
                    self.db.execute("INSERT INTO copies VALUES (?, ?)", (held[path][0], of))
                self._advance()

    def _held(self, paths: Iterable[str]) -> dict[str, tuple[int, str]]:
        query = "SELECT path, key, blob FROM notes WHERE path IN (SELECT value FROM json_each(?))"
        return {
            path: (key, blob)
            for path, key, blob in self.db.execute(query, (json.dumps(list(paths)),))
        }

    def _store(self, parsed: list[note_rows.Note], held: dict[str, tuple[int, str]]) -> None:
        if not parsed:
            return
        following = database.meta(self.db, "next", 1)
        assert isinstance(following, int)
        keys: dict[str, int] = {}
        for note in parsed:
            if note.path in held:
                keys[note.path] = held[note.path][0]
                self._done["modified"].append(note.path)
            else:
                keys[note.path] = following
                following += 1
                self._done["added"].append(note.path)
        database.set_meta(self.db, "next", following)
        database.set_meta(self.db, _UNPARTED, 1)
        old = [held[note.path][0] for note in parsed if note.path in held]
        if old:
            note_rows.clear(self.db, old)
        note_rows.store(self.db, parsed, keys)

    def _know(self, stats: list[Stat]) -> None:
        rows = ((s.path, s.size, s.mtime_ns, s.ctime_ns, s.inode) for s in stats)
        self.db.executemany("INSERT OR REPLACE INTO stats VALUES (?, ?, ?, ?, ?)", rows)
        self._known.update((stat.path, stat) for stat in stats)

    def _mark(self, looked_at: Collection[str], failed: list[tuple[str, str]]) -> None:
        listed = json.dumps(list(set(looked_at) - {path for path, _ in failed}))
        self.db.execute(
            "DELETE FROM unreadable WHERE path IN (SELECT value FROM json_each(?))", (listed,)
        )
        # `head` stays: nothing new in HEAD
        query = """INSERT INTO unreadable (path, reason, refused) VALUES (?, ?, 0)
                   ON CONFLICT (path) DO UPDATE SET reason = excluded.reason, refused = 0"""
        self.db.executemany(query, failed)

    def _remove(self, gone: list[str]) -> None:
        for start in range(0, len(gone), _BATCH):
            batch = gone[start : start + _BATCH]
            with database.transaction(self.db):
                self._take_out(batch)

    def _take_out(self, batch: list[str]) -> None:
        if not batch:
            return
        held = self._held(batch)
        if held:
            note_rows.clear(self.db, [key for key, _ in held.values()])
        listed = json.dumps(batch)
        for table in ("stats", "unreadable"):
            self.db.execute(
                f"DELETE FROM {table} WHERE path IN (SELECT value FROM json_each(?))", (listed,)
            )
        self._advance()
        for path in batch:
            self._known.pop(path, None)
        self._done["removed"] += [path for path in batch if path in held]

    def _note_refused(self, look: _Look, *, everything: bool) -> None:
        wanted = {refused.path: refused.reason for refused in look.refused}
        held = dict(self.db.execute("SELECT path, reason FROM unreadable WHERE refused"))
        over = held.keys() - wanted.keys() if everything else set()
        if everything:
            over |= {
                path for (path,) in self.db.execute("SELECT path FROM unreadable WHERE NOT refused")
            } - self._known.keys()
        new = {path: reason for path, reason in wanted.items() if held.get(path) != reason}
        if not over and not new:
            return
        again = [replace(self._known[path], ctime_ns=-1) for path in new if path in self._known]
        with database.transaction(self.db):
            self.db.executemany("DELETE FROM unreadable WHERE path = ?", ((path,) for path in over))
            self.db.executemany(
                "INSERT OR REPLACE INTO unreadable (path, reason, refused) VALUES (?, ?, 1)",
                new.items(),
            )
            self._know(again)
            self._advance()

    def _advance(self) -> None:
        self.db.execute("UPDATE meta SET value = value + 1 WHERE name = 'generation'")

    def _result(self, braked: str | None, gone: list[str]) -> Refreshed:
        self._generation = database.meta(self.db, "generation")
        unreadable = tuple(
            path for (path,) in self.db.execute("SELECT path FROM unreadable ORDER BY path")
        )
        added, modified, removed = (
            tuple(self._done[name]) for name in ("added", "modified", "removed")
        )
        complete = (
            bool(database.meta(self.db, "complete")) and database.meta(self.db, "braked") is None
        )
        return Refreshed(
            added, modified, removed, unreadable, complete, braked, tuple(gone) if braked else ()
        )


def _file(stat: Stat) -> tuple[int, int, int]:
    return stat.inode, stat.size, stat.mtime_ns


def _take(look: _Look, entry: Stat | Refused | None) -> None:
    if isinstance(entry, Stat):
        look.seen[entry.path] = entry
    elif entry is not None:
        look.refused.append(entry)


def _folders(wanted: Iterable[str]) -> list[str]:
    return [path.rstrip("/") for path in wanted if not path.lower().endswith(".md")]


def _speakable(look: _Look) -> _Look:
    """File names that are not UTF-8 are listed, never indexed."""
    for path in [path for path in look.seen if not path.isascii() and not _is_utf8(path)]:
        del look.seen[path]
        look.refused.append(Refused(path, "the file name is not valid UTF-8"))
    look.refused = [
        entry
        if entry.path.isascii() or _is_utf8(entry.path)
        else replace(entry, path=_shown(entry.path))
        for entry in look.refused
    ]
    return look


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _settled(stat: Stat, now: int) -> Stat:
    """One that equals nothing if the file is so fresh that it may change again without a trace."""
    return replace(stat, ctime_ns=-1) if now - max(stat.mtime_ns, stat.ctime_ns) < _RACY else stat


def _batches(changed: list[Stat]) -> Iterator[list[Stat]]:
    batch: list[Stat] = []
    size = 0
    for stat in sorted(changed, key=lambda stat: stat.path):
        if batch and (len(batch) >= _BATCH or size + stat.size > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(stat)
        size += stat.size
    if batch:
        yield batch
