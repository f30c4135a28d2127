"""What is put before a model with a prompt, in sections that compete for one budget of tokens.

Every section that has something gets its share; what one leaves is given to what fits best
elsewhere. A memory stands in one section only, whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

SHARES: Final[Mapping[str, float]] = {
    "orientation": 3.0,
    "instructions": 2.0,
    "people": 2.0,
    "procedures": 2.0,
    "memories": 4.0,
    "episodes": 2.0,
}
"""Section -> its share of the budget beside the others, in the order in which they are shown."""
HEADINGS: Final[Mapping[str, str]] = {
    "orientation": "What every session needs",
    "instructions": "Rules and wishes",
    "people": "Who and what is named",
    "procedures": "How it is done here",
    "memories": "What is known",
    "episodes": "What happened",
}


@dataclass(frozen=True)
class Piece:
    """One memory as it is shown in a section: `score` 0-1 says how well it fits, `cost` its
    tokens. `needs`: the piece that must stand before it, or neither does."""

    section: str
    id: str
    text: str
    score: float
    cost: int
    needs: str = ""


def shares(setting: str) -> dict[str, float]:
    """SHARES with those that a setting names (`episodes=0 memories=6`); raises ValueError for what
    is no share of a section."""
    found = dict(SHARES)
    for part in setting.split():
        name, _, value = part.partition("=")
        if name not in found or float(value) < 0:
            raise ValueError(part)
        found[name] = float(value)
    return found


def fitted(pieces: Iterable[Piece], tokens: int, share: Mapping[str, float]) -> list[Piece]:
    """As many pieces as fit into `tokens`, in the order of the sections, the best of each first; a
    memory that several sections want stands in the first of them."""
    waiting = _once(pieces, share)
    total = sum(share[name] for name, some in waiting.items() if some)
    taken: dict[str, Piece] = {}
    left = tokens
    for name, some in waiting.items():
        room = int(tokens * share[name] / total) if total else 0
        for piece in some:
            if piece.cost <= min(room, left) and _stands(piece, taken):
                taken[piece.id] = piece
                room, left = room - piece.cost, left - piece.cost
    others = [piece for some in waiting.values() for piece in some if piece.id not in taken]
    for piece in sorted(others, key=lambda one: -one.score * share[one.section]):
        if piece.cost <= left and _stands(piece, taken):
            taken[piece.id] = piece
            left -= piece.cost
    return [piece for some in waiting.values() for piece in some if piece.id in taken]


def _stands(piece: Piece, taken: Mapping[str, Piece]) -> bool:
    return not piece.needs or piece.needs in taken


def _once(pieces: Iterable[Piece], share: Mapping[str, float]) -> dict[str, list[Piece]]:
    found: dict[str, list[Piece]] = {name: [] for name in SHARES if share[name] > 0}
    for piece in pieces:
        if piece.section in found:
            found[piece.section].append(piece)
    seen: set[str] = set()
    for name, some in found.items():
        best = sorted(some, key=lambda one: -one.score)
        fresh = {one.id: one for one in reversed(best) if one.id not in seen}
        found[name] = sorted(fresh.values(), key=lambda one: -one.score)
        seen |= fresh.keys()
    return found


def text(pieces: Sequence[Piece], preface: str, headings: bool) -> str:
    """The pieces under their headings, behind the preface; "" for none."""
    lines = [preface] if pieces else []
    for at, piece in enumerate(pieces):
        if headings and (not at or pieces[at - 1].section != piece.section):
            lines.append(f"\n## {HEADINGS[piece.section]}\n")
        lines.append(piece.text)
    return "\n".join(lines)


def overhead(preface: str, headings: bool, cost: Callable[[str], int]) -> int:
    """The most tokens that preface and headings take."""
    return cost(preface) + (sum(cost(f"## {one}") + 2 for one in HEADINGS.values()) * headings)
