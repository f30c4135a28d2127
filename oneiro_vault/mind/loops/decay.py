"""What has faded, and what will fade if nobody looks: read off the curve for the report. It decides
nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from oneiro_vault.core import memory as memories
from oneiro_vault.core.time import strength as curve
from oneiro_vault.mind.base import Asking, Note, Snapshot


@dataclass(frozen=True)
class Fading:
    """A memory, how much of it is left, and when it fades (epoch seconds; for one that has faded:
    when it did)."""

    note: Note
    strength: float
    when: float


@dataclass(frozen=True)
class Forecast:
    """What has left passive recall, the latest first, and what will within the time asked for, the
    next first."""

    faded: tuple[Fading, ...]
    fading: tuple[Fading, ...]


class Decay:
    """Report what fades."""

    name = "decay"

    def run(self, snapshot: Snapshot) -> Asking:
        """Nothing is asked and nothing decided."""
        del snapshot
        yield from ()
        return []

    def told(self, snapshot: Snapshot) -> list[str]:
        """A line a memory that has faded, the latest first, or will soon, the next first."""
        found = forecast(snapshot)
        soon = [f"- {_named(one)}: fades on {_day(one.when)}" for one in found.fading]
        return [*soon, *(f"- {_named(one)}: faded on {_day(one.when)}" for one in found.faded)]


LOOP: Final = Decay()


def forecast(snapshot: Snapshot, days: float | None = None) -> Forecast:
    """The faded and those that fade within `days` (`decay.forecast` when None)."""
    settings = snapshot.settings
    until = snapshot.now + (settings["decay.forecast"] if days is None else days) * curve.DAY
    faded: list[Fading] = []
    fading: list[Fading] = []
    for note in snapshot.notes.values():
        last = last_use(note)
        if not note.active or last is None:
            continue
        stability = _stability(note, settings)
        when = curve.fades_at(last, stability, settings["decay.faded"])
        if when <= until:
            left = curve.strength(
                note.memory.type, last, snapshot.now, note.uses, base=_base(settings)
            )
            (faded if when <= snapshot.now else fading).append(Fading(note, left, when))
    return Forecast(_sorted(faded, newest=True), _sorted(fading, newest=False))


def last_use(note: Note) -> float | None:
    """When it was last used or learned (epoch seconds), None if nobody knows: then it never
    fades."""
    m = note.memory
    known = [
        moment
        for moment in (note.last_use, m.when(), memories.epoch(m.timestamp))
        if moment is not None
    ]
    return max(known, default=None)


def _stability(note: Note, settings: Mapping[str, Any]) -> float:
    return curve.stability(note.memory.type, note.uses, base=_base(settings))


def _base(settings: Mapping[str, Any]) -> dict[str, float]:
    return {kind: settings[f"decay.{kind}"] for kind in curve.STABILITY}


def _sorted(found: Sequence[Fading], *, newest: bool) -> tuple[Fading, ...]:
    return tuple(sorted(found, key=lambda one: (-one.when if newest else one.when, one.note.id)))


def _named(one: Fading) -> str:
    return f"{' '.join(one.note.memory.title.split())} ({one.note.id})"


def _day(moment: float) -> str:
    """The local day: what a person's calendar says."""
    return datetime.fromtimestamp(moment).astimezone().date().isoformat()
