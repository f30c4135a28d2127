"""A memory's curve in a terminal: eighths of a character high, what is to come dimmed, the line
below which it fades marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from oneiro_vault.cli.output import Style, line

ROWS: Final = 6
_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_NARROW: Final = 20
_MARGIN: Final = 6


def drawn(found: Mapping[str, Any], style: Style) -> str:
    """What `strength` answered, as a picture with a sentence below."""
    head = [
        style(line(found["title"]), "bold"),
        style(f"{line(found['id'])}  {line(found['type'])}", "dim"),
    ]
    if found["stability"] is None:
        return "\n".join([*head, "Memories of this type do not fade."])
    points = _thinned(
        found["points"],
        max(_NARROW, style.width - _MARGIN) if style.width else len(found["points"]),
    )
    days = f"{points[0]['when'][:10]} … {points[-1]['when'][:10]}"
    return "\n".join(
        [
            *head,
            "",
            *_picture(points, style),
            f"{'':{_MARGIN}}{style(days, 'dim')}",
            "",
            *_said(found),
        ]
    )


def _thinned(points: Sequence[Mapping[str, Any]], width: int) -> list[Mapping[str, Any]]:
    """At most `width` of the points, the first and the last among them."""
    if len(points) <= width:
        return list(points)
    return [points[round(at * (len(points) - 1) / (width - 1))] for at in range(width)]


def _picture(points: Sequence[Mapping[str, Any]], style: Style) -> list[str]:
    past = sum(1 for point in points if not point["ahead"])
    rows = []
    for row in range(ROWS - 1, -1, -1):
        cells = [
            _EIGHTHS[max(0, min(8, round((point["strength"] * ROWS - row) * 8)))]
            for point in points
        ]
        label = f"{(row + 1) / ROWS:>4.0%}  " if row in (ROWS - 1, ROWS // 2 - 1) else " " * _MARGIN
        rows.append(
            (
                style(label, "dim")
                + style("".join(cells[:past]), "green")
                + style("".join(cells[past:]), "dim")
            ).rstrip()
        )
    return rows


def _said(found: Mapping[str, Any]) -> list[str]:
    days = found["uses"]["days"]
    used = (
        f"used on {days} {'day' if days == 1 else 'days'}, last on {found['uses']['last'][:10]}"
        if days
        else "not used yet"
    )
    fades = str(found["fades"] or "")[:10]
    left = f"{found['strength']:.0%} is left; stability {found['stability']:g} days; {used}."
    if found["faded"]:
        return [
            left,
            f"It left passive recall on {fades} (below {found['threshold']:.0%}); a search still "
            f"finds it, and looking brings it back.",
        ]
    return [
        left,
        f"If nobody looks, it leaves passive recall on {fades} (below {found['threshold']:.0%})."
        if fades
        else "It does not fade.",
    ]
