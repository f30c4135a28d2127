"""What replaced what: told with each row of an answer, and brought in its order where history is
asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from oneiro_vault.index.base import Row
from oneiro_vault.index.keyword.queries import Answers
from oneiro_vault.recall.request import EVER, Found


def heirs(index: Answers, rows: Sequence[Row]) -> dict[str, str]:
    """Handle -> what replaced it; for an episode: what replaced something that was made of it, if
    that is among these rows."""
    found = {
        row.handle: row.superseded_by
        for row in rows
        if row.status == "superseded" and row.superseded_by
    }
    episodes = [row.handle for row in rows if row.type == "episodic"]
    here = {row.key: row.handle for row in rows}
    made = index.made_of(episodes) if episodes else {}
    known = index.rows({key for keys in made.values() for key in keys})
    for handle, keys in made.items():
        own = [known[key] for key in keys if key in known]
        left = {row.handle for row in own if row.status == "superseded"}
        heir = next(
            (row.handle for row in own if row.key in here and left & set(row.supersedes)), ""
        )
        if heir:
            found[handle] = heir
    return found


def unfolded(index: Answers, found: Sequence[Found]) -> list[Found]:
    """Each row with what it replaced and what replaced it, the oldest first, where the best of them
    stood."""
    lines = index.succession([one.row.key for one in found])
    more = index.rows(
        {key for keys in lines.values() for key in keys} - {one.row.key for one in found}
    )
    known = {one.row.key: one for one in found}
    done: dict[int, Found] = {}
    for one in found:
        line = [
            known.get(key) or Found(more[key], one.score, {})
            for key in lines.get(one.row.key, ())
            if key in known or key in more
        ]
        kept = [other for other in line if other.row.status in EVER]
        for other in sorted(
            [one, *kept], key=lambda other: (other.row.when or 0.0, other.row.path)
        ):
            row, heir = other.row, other.row.superseded_by or other.heir
            done.setdefault(
                row.key,
                replace(
                    other,
                    score=one.score,
                    why=other.why or {"date": row.created[:10] or None, "parts": {}},
                    heir=heir,
                ),
            )
    return list(done.values())
