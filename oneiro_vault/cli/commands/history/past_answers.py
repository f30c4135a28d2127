"""Answers about the past as text: the moment they speak of, what became of a memory since, and for
how long it held."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oneiro_vault.cli.output import Style, line


def heading(found: Mapping[str, Any], style: Style) -> list[str]:
    """The lines above an answer: the commit and date it speaks of, and the time for which its rows
    held."""
    text = []
    if then := found.get("as_of"):
        text.append(style(f"as of {point(then)}", "dim"))
    if valid := found.get("valid_at"):
        text.append(style(f"what held: {line(valid['asked'])}", "dim"))
    return text


def point(then: Mapping[str, Any]) -> str:
    """A commit with its date."""
    dates = (
        " (dates are out of order here: commits count as they came)"
        if then.get("disordered")
        else ""
    )
    return (
        f"{str(then['when'])[:16].replace('T', ' ')} · {then['commit'][:10]} · "
        f"{line(then['title'])}{dates}"
    )


def notes(found: Mapping[str, Any]) -> str:
    """What an answer left out, for standard error."""
    late = found.get("valid_at", {}).get("undated", 0)
    who = "1 memory that was" if late == 1 else f"{late} memories that were"
    return f"left out: {who} learned later, without a word since when that holds" if late else ""


def since(row: Mapping[str, Any]) -> list[str]:
    """What a reader must know of a row that is not of now: `since revised`, `held 2025-01-01 to
    2026-03-01`, `holds from 2027-01-01`."""
    now, valid = row.get("now"), row.get("valid")
    found = [f"since {line(str(now))}"] if now not in (None, "same") else []
    if valid:
        start, end, now = _day(valid["from"]), _day(valid["until"]), valid.get("now")
        if now:
            return [*found, f"holds from {start}" if now == "ahead" else f"held until {end}"]
        found.append(
            f"held {start or '…'} to {end}" if end else f"holds since {start}" if start else "holds"
        )
    return found


def _day(moment: str | None) -> str:
    return str(moment or "")[:10]
