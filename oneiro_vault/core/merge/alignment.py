"""How one version of a body came from another: which pieces stayed, which became which, which came,
went or only moved."""

from __future__ import annotations

import difflib
from typing import Final, NamedTuple

from oneiro_vault.core.merge.conflicts import is_callout
from oneiro_vault.core.merge.units import Unit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ALIKE: Final = 0.5
"""Share of words in common from which on a piece is taken for the other one, changed."""
_PAIRS: Final = 2500
"""Pairs of changed pieces that are compared by their words; a body rewritten from end to end is one
change."""


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
    kept, and its new place is among the inserts.
    """

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
    """What went at one place and stands word for word at another: side piece -> base piece."""
    gone: dict[str, list[int]] = {}
    for olds, _ in spans:
        for i in olds:
            gone.setdefault(was[i], []).append(i)
    return {j: gone[now[j]].pop(0) for _, news in spans for j in news if gone.get(now[j])}


class _Span(NamedTuple):
    """A stretch of base pieces and the stretch of the side's that stands in its place."""

    base: Sequence[Unit]
    side: Sequence[Unit]
    found: Alignment
    moves: dict[int, int]

    def read(self, olds: range, news: range) -> None:
        """Note which piece became which, which came and which went."""
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
        """Base pieces that became the side's pieces: each one its own, or all together; `home` side
        piece -> base piece."""
        edits = self.found.edits
        if len(olds) == len(news) or not news:
            for number, i in enumerate(olds):
                edits[i] = Edit(i, i + 1, (self.side[news[number]],) if news else ())
                home.update({news[number]: i} if news else {})
        elif olds:
            edits[olds[0]] = Edit(olds[0], olds[-1] + 1, tuple(self.side[j] for j in news))
            home.update(dict.fromkeys(news, olds[0]))


def _likenesses(olds: Sequence[Unit], news: Sequence[Unit]) -> list[tuple[int, int]]:
    """Pairs in order with most words in common, by dynamic programming over both stretches."""
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
