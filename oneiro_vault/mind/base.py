"""What every loop works with: a frozen picture of the vault going in, decisions coming out. The
same snapshot and verdicts give the same decisions, so a run that was killed, or waits, is simply
run again."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from oneiro_vault.core.markdown.taxonomy import prose
from oneiro_vault.core.memory import Memory
from oneiro_vault.core.question import Question, Shown, Verdict
from oneiro_vault.vault.history.commit_log import Entry

Vectors = npt.NDArray[np.float32]
Asking = Generator[list[Question], Mapping[str, Verdict], "list[Decision]"]
"""Yields questions, is sent {question id: verdict} for all of them, returns decisions."""


class Named(NamedTuple):
    """A name as it is written, what it names (`classify.names.KINDS`), how likely it is a name, and
    one of that kind."""

    name: str
    kind: str
    likely: float
    sure: float = 1.0


@dataclass(frozen=True)
class Note:
    """One memory in a snapshot: `sha256` of its file, how much of it is left (0-1), on how many
    days it was used, what was made of it."""

    memory: Memory
    sha256: str
    strength: float = 1.0
    uses: int = 0
    last_use: float | None = None
    children: tuple[str, ...] = ()
    edited: float = 0.0
    """When a person last changed its file by hand (epoch seconds), 0 if nobody did."""
    doubted: bool = False
    """Did somebody say that it was wrong?"""

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    @property
    def active(self) -> bool:
        """Does it count: neither pending nor replaced, archived or whittled away?"""
        return self.memory.status == "active"

    def shown(self, *notes: tuple[str, str]) -> Shown:
        """As a judge sees it."""
        m = self.memory
        return Shown(m.id, m.title, prose(m.body).strip(), m.created, m.trust, m.source, notes)

    def circumstances(self) -> tuple[tuple[str, str], ...]:
        """Of whom and when it holds, as its frontmatter says beside its words: (name, value) of
        what is given."""
        m = self.memory
        found = (
            ("about", ", ".join(sorted(m.about))), ("project", m.project),
            ("valid from", m.valid_from), ("valid until", m.valid_until),
            ("outcome", m.outcome), ("session", m.session),
        )  # fmt: skip
        return tuple((name, value) for name, value in found if value)


def _nobody(_text: str, _k: int) -> list[str]:
    return []


def _no_vectors(ids: Sequence[str]) -> tuple[list[str], Vectors]:
    del ids
    return [], np.zeros((0, 1), np.float32)


@dataclass(frozen=True)
class Snapshot:
    """The vault as one run sees it. `notes` has every note with an id; `settings` every setting by
    its full name."""

    now: float
    notes: Mapping[str, Note]
    settings: Mapping[str, Any] = field(default_factory=dict)
    candidates: Callable[[str, int], list[str]] = _nobody
    """(text, k) -> ids of active knowledge most like the text, best first."""
    vectors: Callable[[Sequence[str]], tuple[list[str], Vectors]] = _no_vectors
    """ids -> (those that have a vector, their vectors n x d of length 1)."""
    near: Callable[[float], float] = lambda cosine: cosine
    """A cosine of the packaged model -> what says as much in the model of these vectors."""
    settled: frozenset[str] = frozenset()
    """Decisions that were made before, wait for a person's review, or were rejected in one."""
    declined: frozenset[str] = frozenset()
    """Those that a person rejected."""
    known: Callable[[str], bool] = lambda _: False
    """Question id -> has this run's judge answered it before?"""
    waited: Callable[[str], bool] = lambda _: False
    """Question id -> did this run's judge leave it open before?"""
    free: bool = True
    """Does it cost nobody anything to ask this judge again what it left open?"""
    connected: bool = False
    """Does the connected model answer, which reads many questions at a time?"""
    failed: Callable[[str], bool] = lambda _: False
    """Question id -> did it get no answer that could be used before? Others come first."""
    forgotten: Container[str] = frozenset()
    """Ids of memories that were taken away."""
    history: Sequence[Entry] = ()
    """The commits of earlier decisions of loops, newest first."""
    named: Callable[[Sequence[Note]], Mapping[str, Sequence[Named]]] = lambda _: {}
    """Notes -> whom and what each of them names, by id."""
    memo: dict[str, object] = field(default_factory=dict, compare=False, repr=False)
    """What follows from all notes and is worked out once a run."""

    def of(self, *types: str) -> list[Note]:
        """Active notes of these types, oldest first."""
        found = [note for note in self.notes.values() if note.active and note.memory.type in types]
        return sorted(found, key=lambda note: (note.memory.when() or 0.0, note.id))


NOW = "@now"
"""Stands in an edit for the moment it is applied."""


@dataclass(frozen=True)
class New:
    """Make a memory. `meta` as in frontmatter, without `id` and `source`; `created` only if the
    loop knows better than now; `key` lets other edits of the decision name it as `new:<key>`."""

    meta: Mapping[str, Any]
    body: str
    key: str = ""


@dataclass(frozen=True)
class Set:
    """Change a memory as it was in the snapshot: frontmatter keys (None removes one), and the body
    unless it is None."""

    id: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    body: str | None = None


Edit = New | Set


@dataclass(frozen=True)
class Decision:
    """One thing a loop wants done: one commit, at most once ever. Nothing in it can remove a note.
    Without edits it is only said in the report."""

    loop: str
    op: str
    title: str
    reason: str
    edits: tuple[Edit, ...]
    memories: tuple[str, ...] = ()
    """Every memory it rests on: if one of them changed since the snapshot, the decision lapses."""
    questions: tuple[str, ...] = ()
    judge: str = ""
    transcript: str = ""
    """What was said on the way, as Markdown for the report."""
    key: str = ""
    """Names what is settled by it; without it that is its edits on exactly these notes."""
    after: tuple[str, ...] = ()
    """Ids of decisions without which it must not happen. Without edits: ask again in this run when
    they have happened."""
    instead: Decision | None = None
    """What happens when this one would cost recall."""

    @property
    def comes_again(self) -> bool:
        """Is it only put off until those it comes `after` are in the vault?"""
        return bool(self.after) and not self.edits

    def id(self, snapshot: Snapshot) -> str:
        """16 hex digits over its key, or over what is done and the exact notes it was decided
        on."""
        if self.key:
            return keyed(self.loop, self.key)
        based = [
            f"{m}:{snapshot.notes[m].sha256 if m in snapshot.notes else ''}" for m in self.memories
        ]
        done = [
            ["new", dict(edit.meta), edit.body]
            if isinstance(edit, New)
            else ["set", edit.id, dict(edit.changes), edit.body]
            for edit in self.edits
        ]
        return sha256(
            json.dumps([self.loop, self.op, based, done], sort_keys=True, default=str).encode()
        ).hexdigest()[:16]


def keyed(loop: str, key: str) -> str:
    """The id of the decision that settles `key`: known before anybody is asked."""
    return sha256(f"{loop}\0{key}".encode("utf-8", "replace")).hexdigest()[:16]


class Loop(Protocol):
    """One kind of dream."""

    @property
    def name(self) -> str:
        """What it is called in settings, commits and reports."""
        ...

    def run(self, snapshot: Snapshot) -> Asking:
        """Ask, and decide."""
        ...


@runtime_checkable
class Telling(Protocol):
    """A loop that has something to say in its report besides its decisions."""

    def told(self, snapshot: Snapshot) -> list[str]:
        """Lines of Markdown for the report; each is told once."""
        ...


class Due(NamedTuple):
    """A topic that a loop would ask about tonight: its notes, and whether it was judged before and
    has changed since."""

    topic: str
    notes: Sequence[Note]
    again: bool = False


@runtime_checkable
class Gathering(Protocol):
    """A loop that waits until enough has come together."""

    def due(self, snapshot: Snapshot) -> tuple[list[Due], str]:
        """What is due, in the order in which it is asked; and what is still missing, "" when
        nothing is."""
        ...


def left_open(question: Question, snapshot: Snapshot) -> bool:
    """Does it wait for this judge's answer since an earlier run?"""
    return (
        not snapshot.known(question.id)
        and snapshot.waited(question.id)
        and (snapshot.free or not snapshot.failed(question.id))
    )


def put(question: Question, snapshot: Snapshot) -> bool:
    """Was this judge asked it before? Then it is asked again whatever the ceiling."""
    return snapshot.known(question.id) or left_open(question, snapshot)


def room(questions: Iterable[Question], most: int, snapshot: Snapshot) -> int:
    """How many questions of a night's `most` may be new: all, but for those that somebody still has
    to answer."""
    return (
        most
        if snapshot.free
        else max(0, most - sum(left_open(question, snapshot) for question in questions))
    )


def within(questions: Sequence[Question], most: int, snapshot: Snapshot) -> list[Question]:
    """The questions that were put before, and as many of the others as there is `room` for; what
    failed before is the last of them."""
    new = [question.id for question in questions if not put(question, snapshot)]
    beyond = set(sorted(new, key=snapshot.failed)[room(questions, most, snapshot) :])
    return [question for question in questions if question.id not in beyond]


def asked_each(
    questions: Sequence[Question],
    most: int,
    snapshot: Snapshot,
    decide: Callable[[Question, Verdict], Decision | Question | None],
) -> Asking:
    """The decisions of a loop that asks everything in one round, and what an answer leaves to ask
    in another."""
    decisions: list[Decision] = []
    wanted = within(questions, most, snapshot)
    while wanted:
        verdicts = yield wanted
        found = [decide(one, verdicts[one.id]) for one in wanted if verdicts[one.id].ok]
        decisions += [one for one in found if isinstance(one, Decision)]
        wanted = [one for one in found if isinstance(one, Question)]
    return decisions


def superseding(old: Note, by: str) -> Set:
    """The edit that replaces a memory by another: its words stay, its status changes."""
    return Set(
        old.id,
        {"status": "superseded", "superseded_by": by, "valid_until": old.memory.valid_until or NOW},
    )
