"""Time passing over a snapshot: decisions are applied in memory, as the runner applies them to
files, and every word is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from oneiro_vault.core.memory import Memory
from oneiro_vault.mind.base import NOW, Decision, Loop, New, Note, Set, Snapshot
from oneiro_vault.mind.drive_loop import Driver
from oneiro_vault.mind.validate import Turned, settle
from oneiro_vault.settings.definitions import FIXED, SETTINGS
from oneiro_vault.vault.history.commit_log import Entry
from tests.mind.support import decided

DAY = 86_400.0
BEGINNING = 1_790_000_000.0
DEFAULTS: dict[str, Any] = FIXED | {s.name: s.default for s in SETTINGS}


def iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()


def remembered(
    ident: str,
    body: str,
    *,
    days: float = 30.0,
    now: float = BEGINNING,
    uses: int = 0,
    strength: float = 1.0,
    **facts: Any,
) -> Note:
    """A note that was learned `days` ago, with a twelve-character id made of `ident`."""
    whole = ident if len(ident) == 12 else (ident * 12)[:12]
    given = {
        "type": "semantic",
        "title": ident,
        "created": iso(now - days * DAY),
        "source": "model",
        "trust": "model",
    }
    return noted(
        Memory(f"{whole}.md", id=whole, body=body, **(given | facts)), uses=uses, strength=strength
    )


def noted(memory: Memory, **facts: Any) -> Note:
    return Note(memory, sha256(repr(memory).encode()).hexdigest(), **facts)


def picture(*notes: Note, now: float = BEGINNING, **facts: Any) -> Snapshot:
    """These notes, with every setting at its default; `candidates` are all active knowledge."""
    known = {one.id: one for one in notes}
    near = [one.id for one in notes if one.active and one.memory.type == "semantic"]
    given: dict[str, Any] = {"settings": DEFAULTS, "candidates": lambda _text, k: near[:k]}
    return Snapshot(now, known, **(given | facts))


@dataclass
class World:
    """A vault in memory. `past`: every text that was ever replaced; `log`: what was decided, newest
    first; `told`: only reported."""

    notes: dict[str, Note]
    now: float = BEGINNING
    past: list[str] = field(default_factory=list)
    log: list[Entry] = field(default_factory=list)
    told: list[Decision] = field(default_factory=list)
    turned: list[Turned] = field(default_factory=list)
    settled: set[str] = field(default_factory=set)
    settings: Mapping[str, Any] = field(default_factory=lambda: DEFAULTS)

    def snapshot(self) -> Snapshot:
        return picture(
            *self.notes.values(),
            now=self.now,
            history=tuple(self.log),
            settled=frozenset(self.settled),
            settings=self.settings,
        )

    def run(self, loop: Loop, driver: Driver, share: float = 0.1) -> list[Decision]:
        """One loop: drive, settle, apply."""
        snapshot = self.snapshot()
        kept, turned = settle(snapshot, driver.drive(loop.run(snapshot)), share)
        self.turned += turned
        for decision in kept:
            self.apply(decision, snapshot)
        return kept

    def apply(self, decision: Decision, snapshot: Snapshot) -> None:
        if not decision.edits:
            self.told.append(decision)
            return
        self.settled.add(decision.id(snapshot))
        touched = []
        for at, edit in enumerate(decision.edits):
            if isinstance(edit, New):
                touched.append(self._made(edit, f"{decision.id(snapshot)}{at}{self.now}"))
            else:
                self._changed(edit)
                touched.append(edit.id)
        row = decided(
            decision.loop,
            decision.op,
            *dict.fromkeys((*decision.memories, *touched)),
            when=self.now,
            reason=decision.reason,
            paths=tuple(self.notes[ident].memory.path for ident in touched),
        )
        self.log.insert(0, row)

    def _made(self, edit: New, seed: str) -> str:
        ident = sha256(seed.encode()).hexdigest()[:12]
        assert ident not in self.notes
        facts = {"created": iso(self.now), "source": "dream"} | self._read(edit.meta)
        self.notes[ident] = noted(Memory(f"{ident}.md", id=ident, body=edit.body, **facts))
        return ident

    def _changed(self, edit: Set) -> None:
        old = self.notes[edit.id]
        body = old.memory.body if edit.body is None else edit.body
        self.past += [old.memory.body] if body != old.memory.body else []
        self.notes[edit.id] = replace(
            noted(replace(old.memory, body=body, **self._read(edit.changes))),
            uses=old.uses,
            strength=old.strength,
        )

    def _read(self, meta: Mapping[str, Any]) -> dict[str, Any]:
        """Frontmatter as a Memory holds it."""
        plain = {key: iso(self.now) if value == NOW else value for key, value in meta.items()}
        return {
            key: tuple(value) if isinstance(value, list) else value for key, value in plain.items()
        }

    def orientation(self) -> list[Note]:
        return self.snapshot().of("orientation")
