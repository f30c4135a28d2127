"""Near-duplicates become one: the keeper keeps its words, the others stay readable behind it,
superseded.

Only a judge says whether two notes make the same claim, but for those that two machines concluded
from the same memories in mostly the same words. A principle and its instance, two moments
of a development, a fact and its consequence are near each other and are not the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from pydantic import Field

from oneiro_vault.core.memory import no_weaker
from oneiro_vault.core.question import Answer, Question, ShownId, Verdict
from oneiro_vault.mind.base import Asking, Decision, Note, Set, Snapshot, asked_each, superseding
from oneiro_vault.mind.blocks import alike, words
from oneiro_vault.mind.clusters import clusters, normal
from oneiro_vault.mind.grounding import followups
from oneiro_vault.mind.grounding.subject import covers
from oneiro_vault.settings import loops

POLICY: Final = 1
KIND: Final = "merge"
SETTINGS: Final = loops.CONSOLIDATE
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


class Consolidate:
    """Merge what says the same."""

    name = "consolidate"

    def run(self, snapshot: Snapshot) -> Asking:
        """One question a cluster; and what follows from earlier decisions."""
        found = {(one := question(group)).id: (one, group) for group in self.groups(snapshot)}

        def decide(one: Question, verdict: Verdict) -> Decision | None:
            assert isinstance(verdict.answer, Merge)
            return merging(found[one.id][1], verdict.answer, one.id, verdict.judge)

        merged = yield from asked_each(
            [one for one, _ in found.values()],
            snapshot.settings["consolidate.clusters"],
            snapshot,
            decide,
        )
        return [*followups.due(snapshot, self.name), *doubled(snapshot), *merged]

    def groups(self, snapshot: Snapshot) -> list[list[Note]]:
        """Clusters of active knowledge, largest first."""
        settings = snapshot.settings
        notes = {note.id: note for note in snapshot.of("semantic")}
        ids, vectors = snapshot.vectors(list(notes))
        if len(ids) < 2:
            return []
        found = clusters(
            normal(vectors), settings["consolidate.similarity"], settings["consolidate.largest"]
        )
        return [[notes[ids[position]] for position in members] for members in found]


LOOP: Final = Consolidate()


def question(group: Sequence[Note]) -> Question:
    """Members longest first: the order must not change from night to night by itself."""
    members = sorted(group, key=lambda note: (-len(note.memory.body), note.id))
    return Question(
        KIND,
        INSTRUCTION,
        Merge,
        tuple(note.shown(*note.circumstances()) for note in members),
        policy=POLICY,
        stage="consolidate",
    )


def doubled(snapshot: Snapshot) -> list[Decision]:
    """Blocks and insights that two machines made of the same memories in mostly the same words:
    the older stays, before it one that a person edited. What one machine made twice it meant
    twice."""
    maker = {ident: row["device"] for row in snapshot.history for ident in row["memories"]}
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
        loop="consolidate",
        op="merge",
        title=keeper.memory.title,
        reason=reason,
        edits=(Set(keeper.id, _folded(keeper, others)), *losers),
        memories=(keeper.id, *(other.id for other in others)),
        questions=questions,
        judge=judge,
    )


def _folded(keeper: Note, others: Sequence[Note]) -> dict[str, Any]:
    """What the keeper takes over: lineage, tags, names, and the higher importance and confidence.
    Never words."""
    mine = keeper.memory
    theirs = [other.memory for other in others]
    changes: dict[str, Any] = {
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
