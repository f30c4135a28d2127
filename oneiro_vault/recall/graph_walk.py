"""From a name through the edges that notes state: neighbourhoods, and the shortest way between two.

A node is a note (its key) or a folded name that no note has. Two entities of one name are never
guessed between: what is said of that name stays with the name. A memory about one person that
states `- works_for [[WOBS]]` states it of the person.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from oneiro_vault.core.markdown.taxonomy import CATEGORY, inverse
from oneiro_vault.core.memory import ENTITY, named
from oneiro_vault.core.text.query import spellings
from oneiro_vault.index.keyword.edge_rows import ABOUT, UNTYPED, Bearer, Stated, StatedBy
from oneiro_vault.index.keyword.queries import Answers

Ref: TypeAlias = int | str
_ID: Final = re.compile(r"[0-9a-hjkmnp-tv-z]{12}")
"""The id of a note, which is nobody's name, where one is expected or a digit is in it."""
WIDEST: Final = 5_000
"""Nodes that one step of a search for a way goes on from; beyond them the nearest are not looked
for."""


class Tie(NamedTuple):
    """An edge between two nodes, as the note `by` states it, which is of `when` (epoch seconds or
    None)."""

    source: Ref
    relation: str
    target: Ref
    by: int
    when: float | None


@dataclass
class Walk:
    """`hops`: node -> steps from where it began; the edges among them; how many more nodes there
    were."""

    hops: dict[Ref, int]
    ties: list[Tie] = field(default_factory=list)
    left: int = 0


def wanted(relations: Iterable[str]) -> frozenset[str]:
    """The relations that names of relations, in either direction, and of categories mean."""
    asked = {one.strip().lower().replace("-", "_") for one in relations}
    named = {name for name, category in CATEGORY.items() if category in asked}
    return frozenset(named | asked | {inverse(one) for one in asked})


class Graph:
    """The edges of one index, as those notes state them that `speaking` lets speak; links to what
    was `forgotten` (ids, and titles as `core.memory.named`) lead nowhere."""

    def __init__(
        self, index: Answers, speaking: StatedBy, forgotten: Collection[str] = frozenset()
    ) -> None:
        self._index = index
        self._speaking = speaking
        self._forgotten = forgotten

    def meant(self, name: str) -> list[Ref]:
        """What a name as a person writes it may mean: one node, or several entities to ask
        about; none when the vault has never heard of it."""
        names = spellings(name)
        bearers = self._index.bearers(names, self._speaking)
        for one in names:
            if one in bearers:
                return _meant(bearers[one])
        heard = self._index.stated((), names, self._speaking)
        return [names[0]] if heard else []

    def walk(
        self, start: Ref, depth: int, most: int, relations: Collection[str] = frozenset()
    ) -> Walk:
        """What lies within `depth` steps, at most `most` nodes: the nearest first, typed relations
        before what is merely about or mentions it, then the newest."""
        found = Walk({start: 0})
        frontier: list[Ref] = [start]
        ties: set[Tie] = set()
        for hop in range(1, depth + 1):
            new = [tie for tie in self.around(frontier, relations) if tie not in ties]
            ties.update(new)
            frontier = []
            for tie in sorted(new, key=_order):
                for node in (tie.source, tie.target):
                    if node not in found.hops and len(found.hops) < most:
                        found.hops[node] = hop
                        frontier.append(node)
        ends = {node for tie in ties for node in (tie.source, tie.target)}
        found.left = len(ends - found.hops.keys())
        found.ties = sorted(
            (tie for tie in ties if {tie.source, tie.target} <= found.hops.keys()), key=_order
        )
        return found

    def way(
        self, start: Ref, end: Ref, depth: int, relations: Collection[str] = frozenset()
    ) -> Walk | None:
        """The shortest way between two nodes, at most `depth` steps; None when there is none."""
        came: dict[Ref, Tie | None] = {start: None}
        frontier: list[Ref] = [start]
        while frontier and end not in came and depth > 0:
            depth -= 1
            new = sorted(self.around(frontier, relations), key=_order)
            frontier = []
            for tie in new:
                for here, there in ((tie.source, tie.target), (tie.target, tie.source)):
                    if here in came and there not in came and len(frontier) < WIDEST:
                        came[there] = tie
                        frontier.append(there)
        if end not in came:
            return None
        nodes, ties, at = [end], list[Tie](), end
        while (last := came[at]) is not None:
            at = last.target if last.source == at else last.source
            nodes.append(at)
            ties.append(last)
        return Walk({node: hop for hop, node in enumerate(reversed(nodes))}, ties[::-1])

    def around(self, nodes: Sequence[Ref], relations: Collection[str] = frozenset()) -> set[Tie]:
        """The edges from or to these nodes."""
        keys = {node for node in nodes if isinstance(node, int)}
        called = self._index.called(keys)
        known = self._refs({name for names in called.values() for name in names})
        mine = {name for key, names in called.items() for name in names if known[name] == key}
        mine |= {node for node in nodes if isinstance(node, str)}
        found = self._index.stated(keys, mine, self._speaking)
        telling = {one.by for one in found if one.type != ENTITY and not one.subject}
        found |= self._index.typed(telling, self._speaking)
        known |= self._refs({one.target for one in found} | {one.subject for one in found} - {""})
        about = _sole(found, known)
        near = set(nodes)
        ties = (
            Tie(
                known[one.subject] if one.subject else self._source(one, about),
                one.relation,
                known[one.target],
                one.by,
                one.when,
            )
            for one in found
        )
        return {
            tie
            for tie in ties
            if tie.source != tie.target
            and (tie.source in near or tie.target in near)
            and not self._dangling(tie)
            and (not relations or tie.relation in relations)
        }

    def bearers(self, names: Collection[str]) -> dict[str, list[Bearer]]:
        """Folded name -> the notes that go by it."""
        return self._index.bearers(names, self._speaking)

    def _dangling(self, tie: Tie) -> bool:
        """Is it only a link to a note that is gone, or not looked at, as what was replaced? What is
        said about a name is said still."""
        if tie.relation == ABOUT or tie.relation not in UNTYPED:
            return False
        ends = [end for end in (tie.source, tie.target) if isinstance(end, str)]
        return any(self._gone(end, tie.relation) for end in ends)

    def _gone(self, end: str, relation: str) -> bool:
        written = relation in ("mentions", "mentioned_in") and end.isalpha()
        if _ID.fullmatch(end) and not written:
            return True
        return end in self._forgotten or named(end) in self._forgotten

    def _source(self, one: Stated, about: Mapping[int, Ref]) -> Ref:
        """The note, or for a typed relation the one whom it is about."""
        return one.by if one.relation in UNTYPED else about.get(one.by, one.by)

    def _refs(self, names: Collection[str]) -> dict[str, Ref]:
        bearers = self._index.bearers(names, self._speaking)
        found: dict[str, Ref] = {}
        for name in names:
            meant = _meant(bearers.get(name, ()))
            found[name] = meant[0] if len(meant) == 1 else name
        return found


def _meant(bearers: Sequence[Bearer]) -> list[Ref]:
    """Entities before other notes, and a whole name before a word of one."""
    for whole in (True, False):
        for entity in (True, False):
            fitting: list[Ref] = [
                one.key for one in bearers if one.whole is whole and (one.type == ENTITY) is entity
            ]
            if fitting:
                return fitting
    return []


def _sole(found: Iterable[Stated], known: Mapping[str, Ref]) -> dict[int, Ref]:
    """Memory -> the only one it is about."""
    about: dict[int, set[Ref]] = {}
    for one in found:
        if one.relation == ABOUT and one.type != ENTITY:
            about.setdefault(one.by, set()).add(known[one.target])
    return {by: next(iter(nodes)) for by, nodes in about.items() if len(nodes) == 1}


def _order(tie: Tie) -> tuple[bool, float, str, str, str]:
    return (
        tie.relation in UNTYPED,
        -(tie.when or 0.0),
        tie.relation,
        str(tie.source),
        str(tie.target),
    )
