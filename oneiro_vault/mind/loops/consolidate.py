"""Near-duplicates become one: the keeper keeps its words, the others stay readable behind it,
superseded. And what follows from earlier decisions without asking anybody.

Only a judge says whether two notes make the same claim, but for those that two machines concluded
from the same memories. A group is tight: two join only if all their members are near each other.
Pairs alone chain: at 0.85 a transitive blob of 26 unlike notes came out of the seed's store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from oneiro_vault.core.memory import circles_broken, epoch, no_weaker
from oneiro_vault.core.question import Answer, Question, ShownId, Verdict
from oneiro_vault.mind.base import (
    Asking,
    Decision,
    Note,
    Set,
    Snapshot,
    Vectors,
    asked_each,
    superseding,
)
from oneiro_vault.mind.blocks import alike, words
from oneiro_vault.mind.loops.resolve import covers

name: Final = "consolidate"
POLICY: Final = 1
KIND: Final = "merge"
INSTRUCTION: Final = (
    "These notes resemble each other. Do they all make the same claim, so that one of them can "
    "stand for all? Choose merge only if nothing that matters is said by one and not by the note "
    "that is kept. A general rule and one case of it, an earlier and a later state of the same "
    "thing, a cause and its consequence, two different dates, numbers, people, places or "
    "projects, a statement and its denial are distinct: choose keep_distinct. When in doubt "
    "choose keep_distinct. If you merge: `keep` is the fullest note, `members` are the others "
    "that it covers; leave out any note that it does not cover."
)


class Merge(Answer):
    """Is a cluster one memory?"""

    action: Literal["merge", "keep_distinct"]
    keep: ShownId | None = None
    members: list[ShownId] = Field(default_factory=list, max_length=16)


def run(snapshot: Snapshot) -> Asking:
    """One question a cluster; and what follows from earlier decisions."""
    found = {(one := question(group)).id: (one, group) for group in groups(snapshot)}

    def decide(one: Question, verdict: Verdict) -> Decision | None:
        assert isinstance(verdict.answer, Merge)
        return merging(found[one.id][1], verdict.answer, one.id, verdict.judge)

    merged = yield from asked_each(
        [one for one, _ in found.values()],
        snapshot.settings["consolidate.clusters"],
        snapshot,
        decide,
    )
    return [*following(snapshot), *doubled(snapshot), *merged]


def groups(snapshot: Snapshot) -> list[list[Note]]:
    """Clusters of active knowledge, largest first."""
    settings = snapshot.settings
    notes = {note.id: note for note in snapshot.of("semantic")}
    ids, vectors = snapshot.vectors(list(notes))
    if len(ids) < 2:
        return []
    least = snapshot.near(settings["consolidate.similarity"])
    found = clusters(vectors, least, settings["consolidate.largest"])
    told = (at_once([notes[ids[position]] for position in members]) for members in found)
    return [group for parts in told for group in parts if len(group) > 1]


def at_once(group: Sequence[Note]) -> list[list[Note]]:
    """The notes of a group, apart those that begin when an earlier one has ended: states that
    follow each other are no copies."""
    spans = [(one.memory.valid_from[:10], one.memory.valid_until[:10]) for one in group]
    parts: tuple[list[Note], list[Note]] = [], []
    for one, (begins, _) in zip(group, spans, strict=True):
        follows = any(began < begins and "" < ended <= begins for began, ended in spans)
        parts[follows].append(one)
    return [parts[0], *(at_once(parts[1]) if parts[1] else [])]


def question(group: Sequence[Note]) -> Question:
    """Members longest first: the order must not change from night to night by itself."""
    members = sorted(group, key=lambda note: (-len(note.memory.body), note.id))
    return Question(
        KIND,
        INSTRUCTION,
        Merge,
        tuple(note.shown(*note.circumstances()) for note in members),
        policy=POLICY,
        stage=name,
    )


def doubled(snapshot: Snapshot) -> list[Decision]:
    """Blocks and insights that two machines made of the same memories in mostly the same words: the
    older stays, before it one that a person edited. What one machine made twice it meant twice."""
    # The history is newest first: the oldest row of a memory, which made it, has the last word.
    maker = {ident: row.device for row in snapshot.history for ident in row.memories}
    twins: dict[tuple[str, frozenset[str]], list[Note]] = {}
    made = snapshot.of("orientation", "principle", "semantic")
    for note in sorted(made, key=lambda one: not one.edited):
        m = note.memory
        concluded = m.type != "semantic" or (m.level > 0 and len(m.derived_from) > 1)
        if m.source == "dream" and m.derived_from and not m.core and concluded:
            twins.setdefault((m.type, frozenset(m.derived_from)), []).append(note)
    found = []
    for keeper, *rest in twins.values():
        mine = words(keeper.memory.body)
        others = [
            one
            for one in rest
            if "" != maker.get(keeper.id, "") != maker.get(one.id, "") != ""
            and not one.edited
            and alike(mine, words(one.memory.body))
        ]
        if others:
            once = " ".join(["double", *sorted(one.id for one in (keeper, *others))])
            joined = _joined(keeper, others, "they were made twice of the same memories")
            found.append(replace(joined, key=once))
    return found


def merging(group: Sequence[Note], answer: Merge, asked: str, judge: str) -> Decision | None:
    """The decision in an answer; None for one that merges nothing."""
    by_id = {note.id: note for note in group}
    if answer.action != "merge" or answer.keep is None:
        return None
    keeper = by_id[answer.keep]
    others = [
        by_id[member]
        for member in dict.fromkeys(answer.members)
        if member != keeper.id
        and no_weaker(keeper.memory.trust, by_id[member].memory.trust)
        and covers(keeper, by_id[member])
    ]
    if not others:
        return None
    return _joined(keeper, others, answer.reason, (asked,), judge)


def _joined(
    keeper: Note,
    others: Sequence[Note],
    reason: str,
    questions: tuple[str, ...] = (),
    judge: str = "",
) -> Decision:
    losers = tuple(superseding(other, keeper.id) for other in others)
    return Decision(
        loop=name,
        op="merge",
        title=keeper.memory.title,
        reason=reason,
        edits=(Set(keeper.id, _folded(keeper, others)), *losers),
        memories=(keeper.id, *(other.id for other in others)),
        questions=questions,
        judge=judge,
    )


def _folded(keeper: Note, others: Sequence[Note]) -> dict[str, object]:
    mine = keeper.memory
    theirs = [other.memory for other in others]
    changes: dict[str, object] = {
        "supersedes": _union(
            mine.supersedes, [m.id for m in theirs], *(m.supersedes for m in theirs)
        )
    }
    lists = {
        "derived_from": _union(mine.derived_from, *(m.derived_from for m in theirs)),
        "tags": _union(mine.tags, *(m.tags for m in theirs)),
        "about": _union(mine.about, *(m.about for m in theirs)),
        "aliases": _union(mine.aliases, *(m.aliases for m in theirs)),
    }
    changes |= {key: value for key, value in lists.items() if value != list(getattr(mine, key))}
    for key in ("importance", "confidence"):
        values = [value for m in (mine, *theirs) if (value := getattr(m, key)) is not None]
        if values and max(values) != getattr(mine, key):
            changes[key] = max(values)
    return changes


def _union(*lists: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(value for values in lists for value in values))


BLOCK: Final = 1024
"""Rows compared at once: a block of 10,000 columns is 40 MB."""
ENOUGH: Final = 2
"""Neighbours of one memory that are looked at, as a multiple of the largest group."""


def pairs(
    vectors: Vectors, threshold: float, most: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Pairs (i < j) with cosine >= `threshold`, nearest first: (n x 2 positions, n cosines). Rows
    of `vectors` have length 1; for each i its `most` nearest j."""
    found: list[npt.NDArray[np.int64]] = [np.zeros((0, 2), np.int64)]
    near: list[npt.NDArray[np.float32]] = [np.zeros(0, np.float32)]
    for start in range(0, len(vectors), BLOCK):
        scores = (
            vectors[start : start + BLOCK] @ vectors[start:].T
        )  # the triangle above the diagonal is enough
        scores[:, : len(scores)][np.tri(len(scores), dtype=bool)] = -2.0
        _thin(scores, threshold, most)
        rows, columns = np.nonzero(scores >= threshold)
        found.append(np.stack((rows + start, columns + start), axis=1))
        near.append(scores[rows, columns])
    positions, cosines = np.concatenate(found), np.concatenate(near)
    order = np.argsort(-cosines, kind="stable")
    return positions[order], cosines[order]


def _thin(scores: Vectors, threshold: float, most: int) -> None:
    crowded = np.flatnonzero(np.count_nonzero(scores >= threshold, axis=1) > most)
    if len(crowded):
        rows = scores[crowded]
        far = np.argpartition(rows, -most, axis=1)[:, :-most]
        np.put_along_axis(rows, far, -2.0, axis=1)
        scores[crowded] = rows


def clusters(vectors: Vectors, threshold: float, largest: int = 8) -> list[list[int]]:
    """Disjoint groups of 2 to `largest` positions, largest first. Any two members have a cosine of
    at least `threshold`."""
    positions, _ = pairs(vectors, threshold, ENOUGH * largest)
    group: dict[int, list[int]] = {}
    apart: set[tuple[int, int, int, int]] = set()
    for i, j in positions.tolist():
        mine, other = group.get(i) or [i], group.get(j) or [j]
        if mine is other or len(mine) + len(other) > largest:
            continue
        if len(mine) + len(other) > 2:
            # two groups that were found apart stay so until one of them grows: most pairs of a
            # crowded store lie between such
            known = (mine[0], len(mine), other[0], len(other))
            if known in apart:
                continue
            if float((vectors[mine] @ vectors[other].T).min()) < threshold:
                apart |= {known, known[2:] + known[:2]}
                continue
        joined = mine + other
        for member in joined:
            group[member] = joined
    distinct = {id(members): sorted(members) for members in group.values()}
    return sorted(distinct.values(), key=lambda members: (-len(members), members))


CONTRADICTION: Final = "contradiction"
_AT_ONCE: Final = 60.0
"""Seconds between a decision and its commit: an end of validity this near is the decision's."""


def following(snapshot: Snapshot) -> list[Decision]:
    """What follows from earlier decisions: what was announced begins, a contradiction ends with one
    of its sides, a circle is broken."""
    return [*begun(snapshot), *settled(snapshot), *reinstated(snapshot)]


def begun(snapshot: Snapshot) -> list[Decision]:
    """What has begun by now replaces what it was to replace."""
    found = []
    for note in snapshot.of("semantic"):
        begins = epoch(note.memory.valid_from)
        known = (snapshot.notes.get(ident) for ident in note.memory.supersedes)
        old = [one for one in known if one is not None and one.active and not one.memory.core]
        if begins is not None and begins <= snapshot.now and old:
            edits = tuple(superseding(one, note.id) for one in old)
            ids = (note.id, *(one.id for one in old))
            found.append(
                Decision(
                    name,
                    "supersede",
                    old[0].memory.title,
                    "what was announced has begun",
                    edits,
                    ids,
                )
            )
    return found


def settled(snapshot: Snapshot) -> list[Decision]:
    """Of two that could not both be true, one was replaced, taken out or found right: the other is
    contested no more."""
    found: dict[str, Decision] = {}
    contested = {note.id for note in snapshot.of("semantic") if CONTRADICTION in note.memory.flags}
    pairs = [row.memories for row in snapshot.history if (row.loop, row.op) == ("encode", "flag")]
    still = {
        ident
        for ids in pairs
        if len(contested.intersection(ids)) > 1
        for ident in contested.intersection(ids)
    }
    for ids in pairs:
        for ident in contested.intersection(ids) - still:
            found[ident] = _free(snapshot.notes[ident], ids)
    return list(found.values())


def reinstated(snapshot: Snapshot) -> list[Decision]:
    """Memories that two machines replaced by each other: one of each circle is in force again. An
    end of validity within `_AT_ONCE` of a decision about it goes with that decision."""
    behind = [one for one in snapshot.notes.values() if one.memory.status == "superseded"]
    replaced = {note.id: by for note in behind if (by := note.memory.superseded_by)}
    found = []
    for ident in circles_broken(replaced):
        note, end = snapshot.notes[ident], epoch(snapshot.notes[ident].memory.valid_until)
        times = [row.when for row in snapshot.history if ident in row.memories]
        changes: dict[str, None] = {"status": None, "superseded_by": None}
        if end is not None and any(abs(end - when) < _AT_ONCE for when in times):
            changes["valid_until"] = None
        reason = "two machines replaced these by each other"
        ids = (ident, replaced[ident])
        edits = (Set(ident, changes),)
        found.append(Decision(name, "revise", note.memory.title, reason, edits, ids))
    return found


def _free(note: Note, ids: tuple[str, ...]) -> Decision:
    flags = [flag for flag in note.memory.flags if flag != CONTRADICTION]
    reason = "what it could not hold together with is settled"
    others = tuple(ident for ident in ids if ident != note.id)
    return Decision(
        name,
        "revise",
        note.memory.title,
        reason,
        (Set(note.id, {"flags": flags or None}),),
        (note.id, *others),
    )
