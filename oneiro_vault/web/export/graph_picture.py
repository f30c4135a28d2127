"""Memories and their links as one picture: who is linked most, near to whom it is linked with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from oneiro_vault.web.views.wording import colour

MOST: Final = 240
"""Memories in the picture: those with the most links."""
_STEPS: Final = 120
_WIDE: Final = 1000
_HIGH: Final = 720
_LABELS: Final = 40
"""Names that are written beside their memories, of those with more than one link; the others are
told when one points at them."""


class Dot(NamedTuple):
    """One memory of the picture."""

    id: str
    title: str
    type: str


def picture(dots: Mapping[str, Dot], links: Collection[tuple[str, str]]) -> str:
    """An SVG element of the most linked ones, "" where nothing is linked; each leads to its
    page."""
    pairs = {(min(pair), max(pair)) for pair in links if pair[0] != pair[1]}
    degree = Counter(end for pair in pairs for end in pair)
    chosen = sorted(degree, key=lambda one: (-degree[one], one))[:MOST]
    if not chosen:
        return ""
    place = {ident: at for at, ident in enumerate(chosen)}
    ends = sorted((place[a], place[b]) for a, b in pairs if a in place and b in place)
    spots = _placed(len(chosen), ends)
    said = f"{len(chosen):,} memories and {len(ends):,} links between them"
    parts = [
        f'<svg class="graph" viewBox="0 0 {_WIDE} {_HIGH}" role="group" aria-label="{said}">',
        *(
            f'<line x1="{spots[a, 0]:.0f}" y1="{spots[a, 1]:.0f}" x2="{spots[b, 0]:.0f}" '
            f'y2="{spots[b, 1]:.0f}"/>'
            for a, b in ends
        ),
    ]
    for at, ident in enumerate(chosen):
        named = at < _LABELS and degree[ident] > 1
        parts.append(_dot(dots[ident], degree[ident], spots[at], named))
    return "\n".join([*parts, "</svg>"])


def _dot(dot: Dot, links: int, spot: npt.NDArray[np.float64], named: bool) -> str:
    kind = colour(dot.type)
    size = min(4 + links**0.5 * 2, 22)
    title = escape(" ".join(dot.title.split()))
    short = title if len(dot.title) <= 28 else escape(" ".join(dot.title.split())[:27]) + "…"
    name = f'<text x="{spot[0]:.0f}" y="{spot[1] - size - 3:.0f}">{short}</text>' if named else ""
    return (
        f'<a href="m/{escape(dot.id)}.html"><title>{title}, {kind}, {links} links</title>'
        f'<circle class="kind-{kind}" cx="{spot[0]:.0f}" cy="{spot[1]:.0f}" r="{size:.1f}"/>'
        f"{name}</a>"
    )


def _placed(number: int, ends: Sequence[tuple[int, int]]) -> npt.NDArray[np.float64]:
    """Linked ones draw each other near, all push each other away; the same links, the same
    picture."""
    turn = np.arange(number) * 2.399963
    spots = np.stack([np.cos(turn), np.sin(turn)], 1) * np.sqrt(np.arange(number) + 0.5)[:, None]
    pull = np.zeros((number, number))
    for a, b in ends:
        pull[a, b] = pull[b, a] = 1.0
    near = 1.6
    for step in range(_STEPS):
        apart = spots[:, None, :] - spots[None, :, :]
        far = np.sqrt((apart**2).sum(2)) + 1e-6
        force = near**2 / far**2 - pull * far / near
        move = (apart * (force / far)[:, :, None]).sum(1) - 0.02 * spots
        length = np.sqrt((move**2).sum(1)) + 1e-9
        heat = 1.2 * (1 - step / _STEPS)
        spots = spots + move / length[:, None] * np.minimum(length, heat)[:, None]
    low, high = spots.min(0), spots.max(0)
    room = np.array([_WIDE - 160, _HIGH - 80])
    found = (spots - low) / np.maximum(high - low, 1e-6) * room + np.array([80, 50])
    return np.asarray(found, np.float64)
