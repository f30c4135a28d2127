"""What has faded, and what will fade if nobody looks: read off the curve for the report. It decides
nothing."""

from __future__ import annotations

from typing import Final, TypeAlias

from oneiro_vault.core import memory as memories
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.core.time import strength as curve
from oneiro_vault.mind.base import Asking, Note, Snapshot

Fading: TypeAlias = tuple[float, Note]
"""When a memory fades, or did (epoch seconds)."""


name: Final = "decay"


def run(snapshot: Snapshot) -> Asking:
    """Nothing is asked and nothing decided."""
    del snapshot
    yield from ()
    return []


def told(snapshot: Snapshot) -> list[str]:
    """A line a memory that has faded, the latest first, or will soon, the next first."""
    faded, fading = forecast(snapshot)
    soon = [f"- {_named(note)}: fades on {dates.iso(when)[:10]}" for when, note in fading]
    return [*soon, *(f"- {_named(note)}: faded on {dates.iso(when)[:10]}" for when, note in faded)]


def forecast(snapshot: Snapshot) -> tuple[list[Fading], list[Fading]]:
    """What has left passive recall, the latest first, and what will within `decay.forecast` days,
    the next first."""
    settings, now = snapshot.settings, snapshot.now
    base = {kind: settings[f"decay.{kind}"] for kind in curve.STABILITY}
    found: list[Fading] = []
    for note in sorted(snapshot.notes.values(), key=lambda one: one.id):
        last = _last_use(note)
        if note.active and last is not None:
            stability = curve.stability(note.memory.type, note.uses, base=base)
            found.append((curve.fades_at(last, stability, settings["decay.faded"]), note))
    found.sort(key=lambda one: one[0])
    until = now + settings["decay.forecast"] * curve.DAY
    faded = sorted((one for one in found if one[0] <= now), key=lambda one: -one[0])
    return faded, [one for one in found if now < one[0] <= until]


def _last_use(note: Note) -> float | None:
    """When it was last used or learned (epoch seconds), None if nobody knows: then it never
    fades."""
    m = note.memory
    known = [
        moment
        for moment in (note.last_use, m.when(), memories.epoch(m.timestamp))
        if moment is not None
    ]
    return max(known, default=None)


def _named(note: Note) -> str:
    return f"{' '.join(note.memory.title.split())} ({note.id})"
