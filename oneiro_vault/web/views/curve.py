"""The curve of a memory's strength as points of a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

WIDTH: Final = 280
HEIGHT: Final = 96
_TOP: Final = 8
_FLOOR: Final = HEIGHT - 8


class Curve(NamedTuple):
    """`past` and `ahead` as the points of two lines; `floor`: where a memory counts as faded;
    `now`: where today is; `uses`: (x, y, day) of each use."""

    past: str
    ahead: str
    floor: float
    now: float
    level: float
    uses: list[tuple[float, float, str]]
    first: str
    last: str


def curve(found: Mapping[str, Any], days: Sequence[str] = ()) -> Curve:
    """Of an answer of `strength`, and the days (ISO) on which it was used."""
    points = found["points"]
    first, last = (_seconds(points[at]["when"]) for at in (0, -1))
    span = max(last - first, 1.0)

    def x(moment: float) -> float:
        return round(WIDTH * min(max(moment - first, 0.0), span) / span, 1)

    placed = [(x(_seconds(one["when"])), _y(one["strength"]), one["ahead"]) for one in points]
    past = [(at, y) for at, y, ahead in placed if not ahead]
    coming = [*past[-1:], *((at, y) for at, y, ahead in placed if ahead)]
    dated = [(noon, day) for day in days if (noon := _noon(day)) is not None]
    marks = [(x(noon), day) for noon, day in dated if first <= noon <= last]
    return Curve(
        _line(past), _line(coming), _y(found["threshold"]), past[-1][0] if past else 0.0,
        _y(found["strength"]), [(at, _near(placed, at), day) for at, day in marks],
        str(points[0]["when"])[:10], str(points[-1]["when"])[:10],
    )  # fmt: skip


def _near(placed: Sequence[tuple[float, float, bool]], at: float) -> float:
    return min(placed, key=lambda one: abs(one[0] - at))[1]


def _line(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{at:g},{y:g}" for at, y in points)


def _y(strength: float) -> float:
    return round(_FLOOR - (_FLOOR - _TOP) * min(max(strength, 0.0), 1.0), 1)


def _noon(day: str) -> float | None:
    """None for what a pulled ledger says that is no day."""
    try:
        return _seconds(f"{day}T12:00:00+00:00")
    except ValueError:
        return None


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
