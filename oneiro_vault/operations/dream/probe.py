"""What a question would find in the vault as it would be after decisions that have not happened
yet.

Memories that would be gone are left out of the real search. New and changed ones are put into its
rows where their own words and meaning place them, each row measured by the same yardstick; nothing
is written to any index for that.
"""

from __future__ import annotations

import numpy as np

from oneiro_vault.core.markdown import parser
from oneiro_vault.core.text.query import analyse, tokens
from oneiro_vault.errors import OneiroError
from oneiro_vault.index.base import Vectors
from oneiro_vault.index.keyword import chunking
from oneiro_vault.mind.recall_gate import TOP, View
from oneiro_vault.operations.runtime import House
from oneiro_vault.recall.request import Asked, Found
from oneiro_vault.recall.search import Search


class Finder:
    """Answers the recall gate's probes for one run. Without a model: by words alone."""

    def __init__(self, house: House) -> None:
        self._house, self._known = house, house.remembered()
        self._questions: dict[str, Vectors | None] = {}
        self._texts: dict[tuple[str, str], Vectors | None] = {}

    def __call__(self, query: str, view: View) -> list[str]:
        """Ids of the first rows, best first."""
        if query not in self._questions:
            self._questions[query] = self._house.query_vector(query, wait=True)[0]
        vector = self._questions[query]
        hidden = view.gone | {ident for ident in view.changed if not ident.startswith("new:")}
        search = Search(self._house.index, self._known, self._house.weights)
        rows = search.run(Asked(query, TOP, without=hidden), vector)
        return (
            self._placed(query, vector, rows, view)[:TOP]
            if view.changed
            else [one.row.handle for one in rows]
        )

    def _placed(
        self, query: str, vector: Vectors | None, rows: list[Found], view: View
    ) -> list[str]:
        words = set(analyse(query).words)
        found = [one.row for one in rows]
        keys = [row.key for row in found]
        near = self._house.index.cosines(vector, keys) if vector is not None and keys else {}
        bodies = self._house.index.bodies(keys)
        order = [
            (
                row.handle,
                _score(
                    words, f"{row.title} {bodies.get(row.key, '')}", near.get(row.key, (0.0,))[0]
                ),
            )
            for row in found
        ]
        for ident, (title, body) in view.changed.items():
            mine = _score(words, f"{title} {body}", self._cosine(vector, title, body))
            if mine <= 0:
                continue
            place = next(
                (position for position, (_, other) in enumerate(order) if other < mine), len(order)
            )
            order.insert(place, (ident, mine))
        return [ident for ident, _ in order]

    def _cosine(self, vector: Vectors | None, title: str, body: str) -> float:
        if vector is None:
            return 0.0
        if (title, body) not in self._texts:
            self._texts[title, body] = self._encoded(title, body)
        held = self._texts[title, body]
        return (
            0.0
            if held is None or held.shape[1] != vector.shape[0]
            else float(np.max(held @ vector))
        )

    def _encoded(self, title: str, body: str) -> Vectors | None:
        found = parser.parse(body)
        pieces = chunking.chunk(body, title=title, sections=found.sections, items=found.items)
        try:
            return (
                self._house.embedder.encode([piece.text for piece in pieces[:16]])
                if pieces
                else None
            )
        except OneiroError:
            return None


def _score(words: set[str], text: str, cosine: float) -> float:
    """Half meaning, half the share of the question's words that the text has."""
    have = set(tokens(text[:20_000])) if words else set()
    return 0.5 * max(0.0, cosine) + 0.5 * (len(words & have) / len(words) if words else 0.0)
