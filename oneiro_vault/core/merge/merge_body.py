"""Three versions of a body become one, piece by piece; where both sides changed the same one, the
other's stands below in a callout.

`first` is the side that wins (see `merge3`): nothing here knows which side is ours. No word is
lost: a piece is left out only when one side deleted or replaced it and the other left it as it was.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections import Counter
from typing import Final, NamedTuple

from oneiro_vault.core.merge.units import (
    FENCE,
    HEADING,
    ITEM,
    Unit,
    callout,
    held,
    inset,
    is_callout,
    join,
    plain,
    says,
    split,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ALIKE: Final = 0.5
"""Share of common words from which on a piece is taken for the other one, changed."""
_PAIRS: Final = 2500
"""Pairs of changed pieces that are compared; a body rewritten from end to end is one change."""


class Edit(NamedTuple):
    """Base pieces `lo`..`hi` became `new` (nothing: they were deleted)."""

    lo: int
    hi: int
    new: tuple[Unit, ...]


class Insert(NamedTuple):
    """A piece that is new at its place; `moved` is the base piece it was, -1 for none."""

    unit: Unit
    moved: int = -1


class Alignment:
    """One side against the base: `kept` base piece -> the side's (its gap may differ), `edits` by
    their first base piece, `inserts` by the base piece they stand before. A moved piece counts as
    kept, and its new place is among the inserts."""

    def __init__(self) -> None:
        self.kept: dict[int, Unit] = {}
        self.edits: dict[int, Edit] = {}
        self.inserts: dict[int, list[Insert]] = {}
        self.moved: set[int] = set()


def align(base: Sequence[Unit], side: Sequence[Unit]) -> Alignment:
    """Compare one side with the base."""
    found = Alignment()
    was, now = [unit.text for unit in base], [unit.text for unit in side]
    codes = difflib.SequenceMatcher(None, was, now, autojunk=len(base) > _PAIRS).get_opcodes()
    spans = [(range(i1, i2), range(j1, j2)) for tag, i1, i2, j1, j2 in codes if tag != "equal"]
    for tag, i1, i2, j1, _ in codes:
        if tag == "equal":
            found.kept.update(zip(range(i1, i2), side[j1:], strict=False))
    moves = _moves(was, now, spans)
    found.moved.update(moves.values())
    found.kept.update((i, side[j]) for j, i in moves.items())
    for olds, news in spans:
        _Span(base, side, found, moves).read(olds, news)
    return found


def _moves(
    was: Sequence[str], now: Sequence[str], spans: Sequence[tuple[range, range]]
) -> dict[int, int]:
    """Word for word at another place: side piece -> base piece."""
    gone: dict[str, list[int]] = {}
    for olds, _ in spans:
        for i in olds:
            gone.setdefault(was[i], []).append(i)
    return {j: gone[now[j]].pop(0) for _, news in spans for j in news if gone.get(now[j])}


class _Span(NamedTuple):
    base: Sequence[Unit]
    side: Sequence[Unit]
    found: Alignment
    moves: dict[int, int]

    def read(self, olds: range, news: range) -> None:
        left = [i for i in olds if i not in self.found.moved]
        known = any(is_callout(self.base[i].text) for i in left)
        # What a merge put beside the words never stands for them.
        right = [
            j for j in news if j not in self.moves and (known or not is_callout(self.side[j].text))
        ]
        home: dict[int, int] = {}
        a = c = 0
        for i, j in [
            *_likenesses([self.base[i] for i in left], [self.side[j] for j in right]),
            (len(left), len(right)),
        ]:
            self._change(left[a:i], right[c:j], home)
            self._change(left[i : i + 1], right[j : j + 1], home)
            a, c = i + 1, j + 1
        place = olds.stop
        for j in reversed(news):
            place = home.get(j, place)
            if j not in home:
                self.found.inserts.setdefault(place, []).insert(
                    0, Insert(self.side[j], self.moves.get(j, -1))
                )

    def _change(self, olds: list[int], news: list[int], home: dict[int, int]) -> None:
        """Each its own, or all together; `home`: side piece -> base piece."""
        edits = self.found.edits
        if len(olds) == len(news) or not news:
            for number, i in enumerate(olds):
                edits[i] = Edit(i, i + 1, (self.side[news[number]],) if news else ())
                home.update({news[number]: i} if news else {})
        elif olds:
            edits[olds[0]] = Edit(olds[0], olds[-1] + 1, tuple(self.side[j] for j in news))
            home.update(dict.fromkeys(news, olds[0]))


def _likenesses(olds: Sequence[Unit], news: Sequence[Unit]) -> list[tuple[int, int]]:
    if len(olds) == len(news) == 1 or not 0 < len(olds) * len(news) <= _PAIRS:
        return []
    words = [[set(unit.text.split()) for unit in units] for units in (olds, news)]
    best = [[0.0] * (len(news) + 1) for _ in range(len(olds) + 1)]
    score: dict[tuple[int, int], float] = {}
    for i in reversed(range(len(olds))):
        for j in reversed(range(len(news))):
            alike = _overlap(words[0][i], words[1][j]) if olds[i].kind == news[j].kind else 0.0
            score[i, j] = alike if alike >= _ALIKE else -1.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + score[i, j])
    return list(_path(best, score))


def _path(
    best: list[list[float]], score: dict[tuple[int, int], float]
) -> Iterator[tuple[int, int]]:
    i = j = 0
    while i < len(best) - 1 and j < len(best[0]) - 1:
        if score[i, j] > 0 and best[i][j] == best[i + 1][j + 1] + score[i, j]:
            yield i, j
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1


def _overlap(one: set[str], other: set[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other))


OTHER: Final = "Changed on both sides; this is the other version"
DELETED: Final = "Deleted on one side, changed on the other; this is the changed version"

_RELATION: Final = re.compile(
    r"[ \t]*[-*+][ \t]+([a-z]+(?:[_ -][a-z]+)*)[ \t]*:{0,2}[ \t]*(\[\[[^\[\]\n]+\]\][^\n]*)"
)


class _Side(NamedTuple):
    """`settled`: what its new conflict callouts hold."""

    lead: str
    units: list[Unit]
    to: Alignment
    settled: list[str]

    def content(self, lo: int, hi: int) -> list[Unit]:
        """In the place of base pieces `lo`..`hi`, which no change of its crosses."""
        found: list[Unit] = []
        at = lo
        while at < hi:
            if at > lo:
                found += [insert.unit for insert in self.to.inserts.get(at, ())]
            edit = self.to.edits.get(at)
            if edit is not None:
                found += edit.new
            else:
                found.append(self.to.kept[at])
            at = at + 1 if edit is None else edit.hi
        return found


def merge(base: str, first: str, second: str, date: str = "") -> tuple[str, int]:
    """The merged body and how many callouts were added; `date`: of the second side. All have LF
    line ends."""
    lead, units, one, other = _read(base, first, second)
    for side, other_side, text in ((one, other, first), (other, one, second)):
        if _has_all(side, units, other_side):
            return text, 0
    merging = _Merging(lead, units, one, other, date)
    merging.run()
    return merging.text(), merging.clashes


def _read(base: str, first: str, second: str) -> tuple[str, list[Unit], _Side, _Side]:
    lead, units = split(base)
    known = held(base)
    sides = []
    for body in (first, second):
        own, pieces = split(body)
        sides.append(
            _Side(
                own,
                pieces,
                align(units, pieces),
                [plain(" ".join(lines)) for lines in held(body) if lines not in known],
            )
        )
    for one, other in (sides, sides[::-1]):
        _unmove(one.to, other.to)
    return lead, units, sides[0], sides[1]


def _has_all(side: _Side, base: Sequence[Unit], other: _Side) -> bool:
    """Is all there that the other added (something), nothing that it deleted, and moved what it
    moved?"""
    was, mine, theirs = (
        Counter(unit.text for unit in units) for units in (base, side.units, other.units)
    )
    if not theirs - was or not other.to.moved <= side.to.moved:
        return False
    return all(
        mine[text] <= theirs[text]
        if theirs[text] < was[text]
        else mine[text] >= theirs[text] or any(says(old, text) for old in side.settled)
        for text in was.keys() | theirs.keys()
        if theirs[text] != was[text]
    )


def _unmove(one: Alignment, other: Alignment) -> None:
    """A move out of or into a stretch that the other side rewrote whole is not followed."""
    for edit in [edit for edit in other.edits.values() if edit.hi - edit.lo > 1]:
        for place, inserts in one.inserts.items():
            for number, insert in enumerate(inserts):
                i = insert.moved
                if edit.lo <= i < edit.hi or (i >= 0 and edit.lo < place < edit.hi):
                    inserts[number] = Insert(insert.unit)
                    one.moved.discard(i)
                    del one.kept[i]
                    one.edits[i] = Edit(i, i + 1, ())


class _Merging:
    def __init__(self, lead: str, base: list[Unit], first: _Side, second: _Side, date: str) -> None:
        self.lead, self.base, self.first, self.second, self.date = lead, base, first, second, date
        self.out: list[Unit] = []
        self.clashes = 0

    def run(self) -> None:
        self.moves = {i: self._moved(i) for i in self.first.to.moved | self.second.to.moved}
        at = 0
        while True:
            self._inserted(at)
            if at == len(self.base):
                return
            end = self._stretch(at)
            if at not in self.moves:
                self.out += self._region(at, end)
            at = end

    def _stretch(self, at: int) -> int:
        end, i = at + 1, at
        while i < end:
            end = max(
                [
                    end,
                    *(
                        edit.hi
                        for side in (self.first, self.second)
                        if (edit := side.to.edits.get(i))
                    ),
                ]
            )
            i += 1
        return end

    # -- what is new

    def _inserted(self, at: int) -> None:
        mine = [self._placed(insert, self.first) for insert in self.first.to.inserts.get(at, ())]
        theirs = [
            self._placed(insert, self.second) for insert in self.second.to.inserts.get(at, ())
        ]
        self.out += _both([u for us in mine for u in us], [u for us in theirs for u in us])

    def _placed(self, insert: Insert, side: _Side) -> list[Unit]:
        """Of a moved piece what the merge made of it, once, at the first side's place."""
        if insert.moved < 0:
            return [insert.unit]
        if side is self.second and insert.moved in self.first.to.moved:
            return []
        return self.moves[insert.moved]

    def _moved(self, i: int) -> list[Unit]:
        mover = self.first if i in self.first.to.moved else self.second
        other = self.second if mover is self.first else self.first
        edit = other.to.edits.get(i)
        return [mover.to.kept[i]] if edit is None else list(edit.new)

    # -- what was there

    def _region(self, lo: int, hi: int) -> list[Unit]:
        base, mine, theirs = (
            self.base[lo:hi],
            self.first.content(lo, hi),
            self.second.content(lo, hi),
        )
        if _same(mine, theirs) and _same(base, mine):
            return [
                Unit(b.text, _picked(b.gap, m.gap, t.gap))
                for b, m, t in zip(base, mine, theirs, strict=True)
            ]
        if _same(base, theirs) or _same(mine, theirs):
            return mine
        if _same(base, mine):
            return theirs
        if not theirs:
            return mine
        words = [plain(" ".join(unit.text for unit in units)) for units in (mine, theirs)]
        if any(says(text, words[1]) for text in (words[0], *self.first.settled)):
            return mine  # which holds the other's words already: it may be a merge of it
        if not mine:
            return self._clash([], theirs, DELETED)
        if all(_RELATION.fullmatch(unit.text) for unit in (*base, *mine, *theirs)):
            return _both(mine, theirs)
        if (line := _finer(base, mine, theirs)) is not None:
            return [line]
        return theirs if says(words[1], words[0]) else self._clash(mine, theirs, OTHER)

    def _clash(self, mine: list[Unit], theirs: list[Unit], what: str) -> list[Unit]:
        last = mine[-1] if mine else theirs[-1]
        indent = inset(last.text) if mine else ""
        self.clashes += 1
        text = join("", [*theirs[:-1], Unit(theirs[-1].text)])
        told = (
            text
            if all(is_callout(unit.text) for unit in theirs)
            else callout(text, what, self.date, indent)
        )
        note = Unit(told, last.gap)
        return [*mine[:-1], Unit(last.text, "\n" if indent else "\n\n"), note] if mine else [note]

    # -- the result

    def text(self) -> str:
        sides = (self.base, self.first.units, self.second.units)
        lead = _picked(self.lead, self.first.lead, self.second.lead)
        if not self.out:
            return lead
        tail = _picked(*(units[-1].gap if units else "\n" for units in sides))
        inner = [_spaced(unit, sides) for unit in self.out[:-1]]
        pairs = frozenset(
            (a.text, b.text)
            for units in sides
            for a, b in itertools.pairwise(units)
            if a.gap.count("\n") < 2
        )
        return join(lead, [*inner, Unit(self.out[-1].text, tail)], pairs)


def _spaced(unit: Unit, versions: Sequence[Sequence[Unit]]) -> Unit:
    last = any(units and units[-1] == unit for units in versions)
    return (
        Unit(unit.text, "\n" if unit.kind == ITEM else "\n\n")
        if last and unit.gap.count("\n") < 2
        else unit
    )


def _picked(base: str, first: str, second: str) -> str:
    """The one that was changed; the first when both were."""
    return second if first == base else first


def _same(one: Sequence[Unit], other: Sequence[Unit]) -> bool:
    return [unit.text for unit in one] == [unit.text for unit in other]


def _both(mine: list[Unit], theirs: list[Unit]) -> list[Unit]:
    if not (mine and theirs):
        return mine or theirs
    found = [list(group) for group in _by_heading(mine)]
    for group in _by_heading(theirs):
        home = next((known for known in found if _heading(known) == _heading(group)), None)
        if home is None:
            found.append(list(group))
        else:
            known = [_key(unit) for unit in home]
            more = [unit for unit in group if _key(unit) not in known]
            if more and home[-1].kind == more[0].kind == ITEM:
                home[-1] = Unit(home[-1].text, "\n")  # it is not the last of its list any more
            home += more
    return [unit for group in found for unit in group]


def _by_heading(units: Sequence[Unit]) -> Iterator[list[Unit]]:
    group: list[Unit] = []
    for unit in units:
        if unit.kind == HEADING and group:
            yield group
            group = []
        group.append(unit)
    yield group


def _heading(group: Sequence[Unit]) -> str:
    return group[0].text if group[0].kind == HEADING else ""


def _key(unit: Unit) -> str:
    relation = _RELATION.fullmatch(unit.text)
    return f"{relation[1].replace(' ', '_')} {plain(relation[2])}" if relation else unit.text


def _finer(base: Sequence[Unit], mine: Sequence[Unit], theirs: Sequence[Unit]) -> Unit | None:
    """Line by line when the sides changed lines apart from each other; else None."""
    if not len(base) == len(mine) == len(theirs) == 1:
        return None
    if base[0].kind != FENCE and plain(base[0].text) == plain(theirs[0].text):
        return mine[0]  # only its lines were broken anew
    if base[0].kind != FENCE and plain(base[0].text) == plain(mine[0].text):
        return theirs[0]
    lines = [units[0].text.split("\n") for units in (base, mine, theirs)]
    merged = by_lines(*lines)
    return None if merged is None else Unit("\n".join(merged), mine[0].gap)


def by_lines(base: Sequence[str], first: Sequence[str], second: Sequence[str]) -> list[str] | None:
    """Where the sides changed different lines, at least one unchanged line apart (rows added to a
    table need none); else None."""
    changes = [_line_changes(base, first), _line_changes(base, second)]
    both = [change for change in changes[0] if change in changes[1]]
    alone = [[change for change in side if change not in both] for side in changes]
    rows = all(line.lstrip().startswith("|") for line in (*base, *first, *second))
    for lo, hi, _ in alone[0]:
        for other_lo, other_hi, _ in alone[1]:
            if (
                lo <= other_hi
                and other_lo <= hi
                and not (rows and lo == hi == other_lo == other_hi)
            ):
                return None
    found = list(base)
    for lo, hi, new in sorted(
        [*both, *alone[1], *alone[0]], key=lambda change: change[:2], reverse=True
    ):
        found[lo:hi] = new
    return found


def _line_changes(
    base: Sequence[str], side: Sequence[str]
) -> list[tuple[int, int, tuple[str, ...]]]:
    codes = difflib.SequenceMatcher(None, base, side, autojunk=False).get_opcodes()
    return [(i1, i2, tuple(side[j1:j2])) for tag, i1, i2, j1, j2 in codes if tag != "equal"]
