"""Captured conversations in an answer: that something was asked before is no memory of its answer.

A capture of which nothing was filed (it waits for encoding, or was judged to hold nothing) stands
behind everything else, and is shown where the rest barely fits. One whose facts may answer lends
the best of them its score and follows it where it fits: not all that was said was filed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from oneiro_vault.core.conversation.captures import captured
from oneiro_vault.core.ranking import Features, Scored, Weights, fuse
from oneiro_vault.index.base import Row

BARELY: Final = 0.5
"""A row that fits less than this share as well as a capture leaves its place in the answer to
it."""


@dataclass(frozen=True)
class Captures:
    """Captures among the candidates, by handle: `empty` ones have no facts, `facts` names those of
    the others that may answer."""

    empty: frozenset[str]
    facts: Mapping[str, frozenset[str]]

    def __contains__(self, handle: str) -> bool:
        return handle in self.empty or handle in self.facts

    def ranked(
        self, features: Features, weights: Weights, rows: Sequence[Row]
    ) -> tuple[list[Scored], dict[str, float]]:
        """(the others, best first and scored as if there were no captures, then the captures;
        handle -> how well it fits beside all)."""
        together = fuse(features, weights)
        fit = {rows[one.index].handle: one.score for one in together}
        if not self.empty and not self.facts:
            return together, fit
        plain = [number for number, row in enumerate(rows) if row.handle not in self]
        alone = {
            rows[plain[one.index]].handle: replace(one, index=plain[one.index])
            for one in fuse(features.of(plain), weights)
        }
        for capture, facts in self.facts.items():
            best = max(facts, key=lambda fact: (alone[fact].score, fact))
            gain = fit[capture] - alone[best].score
            if gain > 0:
                alone[best] = replace(
                    alone[best], score=fit[capture], parts=alone[best].parts | {"its capture": gain}
                )
            fit[best] = max(fit[best], fit[capture])
        captures = [one for one in together if rows[one.index].handle in self]
        return sorted(alone.values(), key=lambda one: -one.score) + captures, fit

    def cut(self, scored: Sequence[Scored], rows: Sequence[Row], most: int) -> list[Scored]:
        """The first `most` of the captures behind the first `most` of the others."""
        captures = [one for one in scored if rows[one.index].handle in self]
        return [one for one in scored if rows[one.index].handle not in self][:most] + captures[
            :most
        ]

    def behind(self, order: Sequence[str], fit: Mapping[str, float], k: int) -> list[str]:
        """The first `k` of an answer, empty captures last; rows that barely fit beside a capture
        make room for it."""
        shown = self._following(order, fit, k // 2)[:k]
        captures = sorted(
            (one for one in order if one in self and one not in shown), key=lambda one: -fit[one]
        )
        room = k - len(shown)
        clear = [one for one in captures if fit[one] >= BARELY * max(fit.values())]
        while room < len(clear) and shown and fit[shown[-1]] < BARELY * fit[clear[room]]:
            shown.pop()
            room += 1
        return shown + captures[:room]

    def _following(self, order: Sequence[str], fit: Mapping[str, float], most: int) -> list[str]:
        """What is no capture, and between it at most so many captures that fit better than what
        comes next, each behind a fact of its own."""
        notes = [one for one in order if one not in self]
        told = sorted((one for one in order if one in self.facts), key=lambda one: -fit[one])
        found: list[str] = []
        for note in notes:
            behind = [one for one in told if not self.facts[one].isdisjoint(found)]
            ready = [one for one in behind if fit[one] >= fit[note]][:most]
            told = [one for one in told if one not in ready]
            found += [*ready, note]
            most -= len(ready)
        return found

    def capped(self, order: Sequence[str], score: Mapping[str, float]) -> dict[str, float]:
        """Handle -> the score that is shown: no capture has more than what stands before it."""
        least = min((score[one] for one in order if one not in self), default=1.0)
        return {one: min(score[one], least) if one in self else score[one] for one in order}


def among(rows: Sequence[Row], made: Mapping[str, Collection[int]]) -> Captures:
    """The captures among candidates. `made`: handle of a capture -> keys of what was filed of
    it."""
    handles = {row.key: row.handle for row in rows}
    captures = [row.handle for row in rows if captured(row)]
    facts = {
        one: frozenset(handles[key] for key in made.get(one, ()) if key in handles)
        for one in captures
    }
    return Captures(
        frozenset(captures) - made.keys(), {one: known for one, known in facts.items() if known}
    )
