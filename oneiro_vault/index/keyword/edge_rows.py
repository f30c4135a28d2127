"""The edges that notes state, between notes and names: whom and what each is about, typed
relations, links, and what was made of or replaced what."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NamedTuple

from oneiro_vault.core.markdown.taxonomy import CATEGORIES, RELATIONS
from oneiro_vault.index.keyword import note_rows
from oneiro_vault.index.keyword.database import Asking, question

ABOUT: Final = "about"
UNTYPED: Final = (
    ABOUT,
    "supersedes",
    "superseded_by",
    *(name for pair in CATEGORIES["text"].split() for name in pair.split("/")),
)
"""What every note has; the others were written down as relations."""
FEW: Final = 30
"""Notes of one name that are looked at: more tell no more than that it is no name."""
_CALLED: Final = (*note_rows.TARGETS, note_rows.WORD)
_LISTED: Final = "IN (SELECT value FROM json_each(?))"


class Stated(NamedTuple):
    """One edge as a note says it. `by`: its key; `subject`: of whom (a folded name), "" when of the
    note itself; `target`: a folded name, a path or an id; `type` and `when` (epoch seconds or None)
    of the note."""

    by: int
    subject: str
    relation: str
    target: str
    type: str
    when: float | None


class Bearer(NamedTuple):
    """A note that goes by a name: its key and type; `whole` is false where the name is one word of
    its title."""

    key: int
    type: str
    whole: bool


@dataclass(frozen=True, slots=True)
class StatedBy:
    """Which notes speak: with one of these statuses, and of what holds at a moment (RFC 3339; ""
    for what held at any time)."""

    statuses: tuple[str, ...]
    at: str = ""

    @property
    def condition(self) -> str:
        """In SQL, over `notes n`; takes `values`."""
        return f"""n.status {_LISTED}
            AND (n.valid_until = '' OR ? = '' OR julianday(n.valid_until) > julianday(?))"""

    @property
    def values(self) -> tuple[str, str, str]:
        """What `condition` is about."""
        return json.dumps(self.statuses), self.at, self.at


class Edges(Asking):
    """The questions about edges."""

    @question
    def stated(
        self,
        db: sqlite3.Connection,
        keys: Collection[int],
        names: Collection[str],
        speaking: StatedBy,
    ) -> set[Stated]:
        """Every edge that starts at one of these notes or names, or ends at one of the names."""
        wanted = json.dumps(list(names))
        return {
            Stated(*row)
            for where, values in (
                (f"e.note {_LISTED} AND e.subject = ''", json.dumps(list(keys))),
                (f"e.target {_LISTED}", wanted),
                (f"e.subject != '' AND e.subject {_LISTED}", wanted),
            )
            for row in db.execute(_query(where, speaking), (values, *speaking.values))
        }

    @question
    def typed(
        self, db: sqlite3.Connection, keys: Collection[int], speaking: StatedBy
    ) -> set[Stated]:
        """The relations that these notes state of themselves, and whom each is about."""
        others = ", ".join(f"'{name}'" for name in UNTYPED if name != ABOUT)
        where = f"e.note {_LISTED} AND e.subject = '' AND e.relation NOT IN ({others})"
        listed = json.dumps(list(keys))
        return {
            Stated(*row) for row in db.execute(_query(where, speaking), (listed, *speaking.values))
        }

    @question
    def called(self, db: sqlite3.Connection, keys: Collection[int]) -> dict[int, set[str]]:
        """The names that may mean each of these notes: those by which a link finds it, and the
        words of an entity's title."""
        query = f"SELECT note, name FROM names WHERE role IN {_CALLED} AND note {_LISTED}"
        found: dict[int, set[str]] = {key: set() for key in keys}
        for key, name in db.execute(query, (json.dumps(list(keys)),)):
            found[key].add(name)
        return found

    @question
    def bearers(
        self, db: sqlite3.Connection, names: Collection[str], speaking: StatedBy
    ) -> dict[str, list[Bearer]]:
        """Folded name -> some notes that go by it (all, if they are at most `FEW`); an entity also
        by a word of its title."""
        query = f"""SELECT names.name, n.key, n.type, names.role != '{note_rows.WORD}'
                    FROM json_each(?) AS asked CROSS JOIN names ON names.name = asked.value
                    CROSS JOIN notes n ON n.key = names.note
                    WHERE names.role IN {_CALLED} AND {speaking.condition}"""
        found: dict[str, dict[int, Bearer]] = {}
        rows: Counter[str] = Counter()
        values = (json.dumps(list(dict.fromkeys(names))), *speaking.values)
        for name, key, type_, whole in db.execute(query, values):
            rows[name] += 1
            best = found.setdefault(name, {})
            if rows[name] <= FEW and (whole or key not in best):
                best[key] = Bearer(key, type_, bool(whole))
        return {name: [best[key] for key in sorted(best)] for name, best in found.items()}

    @question
    def of_their_own(self, db: sqlite3.Connection) -> list[tuple[str, str, int]]:
        """(relation, path of a note that states it, how many do) of relations that are not on the
        list."""
        query = f"""SELECT relation, min(path), count(DISTINCT note) FROM edges JOIN notes
                    ON key = note WHERE relation NOT {_LISTED} GROUP BY relation
                    ORDER BY relation"""
        return db.execute(query, (json.dumps([*RELATIONS]),)).fetchall()


def _query(where: str, speaking: StatedBy) -> str:
    return f"""SELECT e.note, e.subject, e.relation, e.target, n.type, n."when" FROM edges e
               CROSS JOIN notes n ON n.key = e.note WHERE {where} AND {speaking.condition}"""
