"""An open vault and its parts, what the ledger knows of use, and the view a question is put to."""

from __future__ import annotations

import json
import math
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import InitVar, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from oneiro_vault import answers
from oneiro_vault.api import Progress
from oneiro_vault.core import memory as memories
from oneiro_vault.core.conversation import personal
from oneiro_vault.core.frontmatter.salvage import BROKEN
from oneiro_vault.core.memory import LIVE
from oneiro_vault.core.ranking import Weights
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.core.time import strength as curve
from oneiro_vault.core.time.date_ranges import Range
from oneiro_vault.core.time.validity import Held, spans
from oneiro_vault.index.base import Age, Embedder, Row
from oneiro_vault.index.keyword.queries import Answers
from oneiro_vault.index.store import Index
from oneiro_vault.operations.indexing import Indexing, Vectors
from oneiro_vault.recall.answer_order import holds
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.write import disk

if TYPE_CHECKING:
    from oneiro_vault.judges.base import Judge
    from oneiro_vault.operations.read.graph import Drawn

SITTING = 1800.0
"""Seconds after a question within which a look at what it found counts as because of it."""
MOST_QUESTIONS = 5000
LONGEST_QUESTION = 200


def new_id() -> str:
    """An id nobody has."""
    return memories.make_id(secrets.randbits(60))


@dataclass
class Dreams:
    """What the loops are run with. `judges` makes a judge of a name where the settings shall not;
    `sample` asks the model of a connected client; `cancel` ends the run under way, `queued` are
    those of runs that wait for it; `sitting`: question -> hashes of what whoever was asked it
    has read; in `folder` they keep what they must know the next time."""

    folder: Path
    judges: Callable[[str], Judge] | None = None
    sample: Callable[[str, str, int], str | None] | None = None
    cancel: threading.Event = field(default_factory=threading.Event)
    queued: list[threading.Event] = field(default_factory=list)
    sitting: dict[str, frozenset[int]] = field(default_factory=dict)

    def noted(self, name: str) -> dict[str, Any]:
        """What a JSON file beside the journal says, {} when it cannot be read."""
        try:
            found = json.loads((self.folder / name).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def note(self, name: str, what: Mapping[str, object], about: str) -> None:
        """Write it. Raises DiskProblem, which says `about` what it is, in words."""
        disk.note(f"Noting {about}", self.folder / name, json.dumps(what))


@dataclass
class House:
    """An open vault with its indexes, and what watches over them; `drawn`: where the nodes of the
    graph are."""

    root: Path
    settings: Settings
    vault: Vault
    index: Index
    embedder: InitVar[Embedder]
    owner: InitVar[bool] = False
    clock: Callable[[], float] = time.time
    weights: Weights = field(default_factory=Weights)
    drawn: Drawn | None = None
    indexing: Indexing = field(init=False)
    vectors: Vectors = field(init=False)
    uses: Uses = field(init=False)
    dreams: Dreams = field(init=False)

    def __post_init__(self, embedder: Embedder, owner: bool) -> None:
        self.indexing = Indexing(self.vault, self.index, owner)
        self.vectors = Vectors(self.indexing, embedder)
        self.uses = Uses(self.vault, self.settings, lambda: self.clock())
        self.dreams = Dreams(self.vault.folder)

    def commit_edits(self) -> None:
        """Commit a person's resting edits, when the settings say so; wrong ones may have said
        no."""
        if self.settings["edits.commit"] and not self.settings.wrong:
            self.vault.edits.commit()

    def now(self) -> str:
        """This moment as RFC 3339 with an offset."""
        return dates.iso(self.clock())


USEFUL: Final = "useful"
"""Why of a use that somebody said helped."""
DOUBT: Final = "doubt"
"""Event of a memory that somebody said was wrong."""
AGAIN: Final = "remembered again"
"""Why of a use: somebody said the same once more."""
_OPEN: Final = frozenset({"contradiction", "conflict"})
"""Flags of a memory that another one speaks against."""
_SURE: Final = 0.65
"""A memory of less `confidence` than this is a guess."""


@dataclass(frozen=True)
class Remembered:
    """Deliberate uses and the forgetting curve at one moment (`now`, epoch seconds)."""

    uses: Mapping[str, Use]
    now: float
    base: Mapping[str, float]
    faded: float

    def use(self, row: Row | Age) -> Use | None:
        """The uses of one note."""
        return self.uses.get(row.id)

    def last(self, row: Row | Age) -> float | None:
        """When it was last used on purpose, else when it came to be (epoch seconds)."""
        use = self.uses.get(row.id)
        return use.last if use is not None and use.last is not None else row.when

    def days(self, row: Row | Age) -> int:
        """On how many days it was used on purpose."""
        use = self.uses.get(row.id)
        return len(use.days) if use is not None else 0

    def doubted(self, row: Row | Age) -> bool:
        """Was it said to be wrong?"""
        use = self.uses.get(row.id)
        return use is not None and use.doubted

    def said_again(self, row: Row) -> bool:
        """Did somebody say the same on a day after the one on which it got the words it has?"""
        use, since = self.uses.get(row.id), memories.epoch(row.timestamp or row.created)
        if use is None or not use.again or since is None:
            return False
        return use.again > datetime.fromtimestamp(since, UTC).date().isoformat()

    def strength(self, row: Row) -> float:
        """Ebbinghaus strength, 0 to 1, from the last use or from when it was learned (`timestamp`),
        which may be long after it happened; nothing of what was said to be wrong."""
        if self.doubted(row):
            return 0.0
        return self.left(row.type, self.last(row), row.timestamp, self.days(row))

    def left(self, type_: str, last: float | None, timestamp: str, days: int) -> float:
        """The same by what it rests on."""
        known = [moment for moment in (last, memories.epoch(timestamp)) if moment is not None]
        return curve.strength(type_, max(known, default=None), self.now, days, base=self.base)

    def stability(self, row: Row | Age) -> float:
        """Days in which it falls to 37 %; infinite for what does not fade."""
        return curve.stability(row.type, self.days(row), base=self.base)

    def fades(self, row: Row | Age) -> float:
        """When it leaves passive recall if nobody uses it, or did (epoch seconds); infinite for
        never."""
        known = [
            moment
            for moment in (self.last(row), row.when, memories.epoch(row.timestamp))
            if moment is not None
        ]
        if not known:
            return math.inf
        return curve.fades_at(max(known), self.stability(row), self.faded)

    def line(self, row: Row) -> answers.ListRow:
        """What a list shows of a note."""
        return {
            "id": row.handle,
            "path": row.path,
            "title": row.title,
            "description": row.description,
            "type": row.type,
            "status": row.status,
            "level": row.level,
            "tags": list(row.tags),
            "created": row.created,
            "strength": round(self.strength(row), 4),
        }


@dataclass
class Use:
    """Deliberate uses of one memory: on which days (each counts once) and when last (epoch
    seconds)."""

    days: set[str] = field(default_factory=set)
    last: float | None = None
    doubted: bool = False
    """Did somebody say that it was wrong, and nobody since that it was useful?"""
    again: str = ""
    """The last day (UTC) on which somebody said the same once more."""

    def heard(self, event: Mapping[str, Any]) -> None:
        """Take in a use or a doubt, as the ledger tells of it."""
        if event.get("e") == DOUBT:
            self.doubted = True
            return
        when, why = str(event.get("t", "")), event.get("why")
        self.add(when)
        if why == USEFUL:
            self.doubted = False
        elif why == AGAIN:
            self.again = max(self.again, when[:10])

    def add(self, when: str) -> None:
        """Count one use at an RFC 3339 moment; an unreadable moment counts for nothing."""
        moment = memories.epoch(when)
        if moment is not None:
            self.days.add(when[:10])
            self.last = moment if self.last is None else max(self.last, moment)


class Uses:
    """What was used and what was forgotten, folded from every device's ledger, and which question
    found what lately."""

    def __init__(self, vault: Vault, settings: Settings, clock: Callable[[], float]) -> None:
        self._vault, self._settings, self._clock = vault, settings, clock
        self._questions: dict[str, tuple[str, float]] = {}
        self._folded: dict[str, Use] = {}
        self._forgotten: Mapping[str, Mapping[str, Any]] = {}
        self._stamp: object = None

    def answered(self, query: str, rows: Iterable[Row]) -> None:
        """Remember which question found these, for as long as somebody may look at one because of
        it."""
        now = self._clock()
        if len(self._questions) > MOST_QUESTIONS:
            self._questions = {
                ident: (text, when)
                for ident, (text, when) in self._questions.items()
                if now - when < SITTING
            }
        self._questions |= {
            row.id: (" ".join(query.split())[:LONGEST_QUESTION], now) for row in rows if row.id
        }

    def used(self, ident: str, why: str) -> None:
        """A deliberate look at a memory, with the question that had found it, for the recall gate.
        Raises DiskProblem."""
        query, when = self._questions.pop(ident, ("", 0.0))
        asked = (
            query and 0 <= self._clock() - when < SITTING and not self._vault.secrets.find(query)
        )  # the ledger is history too
        fields = {"q": query} if asked else {}
        self._vault.ledger.use(ident, "use", why=why, **fields)

    def all(self) -> dict[str, Use]:
        """id -> how often and when last a memory was used on purpose, folded from every device's
        ledger."""
        stamp = self._vault.ledger.stamp()
        if stamp != self._stamp:
            found: dict[str, Use] = {}
            gone: dict[str, Mapping[str, Any]] = {}
            for event in self._vault.ledger.events():
                kind, ident = event.get("e"), str(event.get("id", ""))
                if kind in ("use", DOUBT):
                    found.setdefault(ident, Use()).heard(event)
                elif kind == "tombstone":
                    marks = (ident, *(str(event.get(name, "")) for name in ("words", "called")))
                    gone |= dict.fromkeys(filter(None, marks), event)
                elif kind == "purge":
                    gone |= dict.fromkeys(
                        filter(None, (ident, *map(str, event.get("words", ())))), event
                    )
                elif kind == "restore" and ident in gone and gone[ident].get("e") != "purge":
                    gone = {mark: other for mark, other in gone.items() if other.get("id") != ident}
            self._folded, self._forgotten, self._stamp = found, gone, stamp
        return self._folded

    def forgotten(self) -> Mapping[str, Mapping[str, Any]]:
        """Id, and fingerprints of the words and of the title (`core.memory.fingerprint`, `named`),
        of everything that was forgotten -> its tombstone."""
        self.all()
        return self._forgotten

    def remembered(self) -> Remembered:
        """What the ledger knows right now, for one answer: asking it again for every note would
        cost more than the search."""
        s = self._settings
        base = {
            "episodic": s["decay.episodic"],
            "semantic": s["decay.semantic"],
            "procedure": s["decay.procedure"],
        }
        return Remembered(self.all(), self._clock(), base, s["decay.faded"])

    def forget_questions(self) -> None:
        """A purge may have taken out what was asked."""
        self._questions.clear()


def _quotes(row: Row) -> bool:
    """Is it a block or a profile in the words of others, each with its source?"""
    return row.type == memories.ENTITY or personal.is_quoted(f"- {row.description}")


@dataclass
class View:
    """The state of the vault a question is put to: the living one. An index, what the ledger
    knows, and since when and until when each note holds (`held`), where that was asked."""

    house: House
    index: Answers
    known: Remembered
    behind: int = 0
    held: Mapping[int, Held] = field(default_factory=dict)

    @property
    def past(self) -> bool:
        """Is it what was believed at an earlier moment?"""
        return False

    def vector(self, query: str, wait: bool, progress: Progress) -> tuple[Any, str | None]:
        """The question as a vector, and why the answer is less than it could be."""
        return self.house.vectors.query(query, wait=wait, progress=progress)

    def row(self, ident: str) -> Row:
        """The one note that an id or a unique prefix means."""
        return self.house.indexing.resolve(ident)

    def holding(self, start: float | None, end: float | None) -> tuple[frozenset[int], int]:
        """The notes that held at any time of [start, end), and how many do not say since when they
        hold."""
        self.held = spans(self.index.claims())
        late = sum(
            not one.stated and one.since is not None and end is not None and one.since >= end
            for one in self.held.values()
        )
        return frozenset(key for key, one in self.held.items() if one.within(start, end)), late

    def of(self, row: Row) -> answers.RowState:
        """What a reader must know of a row besides what it says."""
        found = self.state(row)
        if self.held:
            one = self.held[row.key]
            found["valid"] = {
                "from": _day(one.since),
                "until": _day(one.until),
                "stated": one.stated,
            }
        elif row.status in LIVE and (when := holds(row, self.known.now)):
            found["valid"] = {
                "from": row.valid_from or None,
                "until": row.valid_until or None,
                "stated": True,
                "now": when,
            }
        return found

    def standing(self, row: Row) -> answers.Standing:
        """How far what it says is borne out; derived each time, for it changes with what others
        say. What a person ratified is theirs; what a loop wrote and no conversation says is its
        own."""
        if self.known.doubted(row) or not _OPEN.isdisjoint(row.flags):
            return "disputed"
        if row.core:
            return "confirmed"
        guessed = row.confidence is not None and row.confidence < _SURE
        if guessed or row.level >= 1:
            return "inferred"
        sources = self._sources(row)
        if self.known.said_again(row) or sources > 1:
            return "confirmed"
        own = row.source == "dream" and row.trust not in memories.OWN_WORDS and not sources
        return "inferred" if own and not _quotes(row) else "said once"

    def _sources(self, row: Row) -> int:
        """In how many conversations it was said; the parts of one are one."""
        found = (one for ident in row.derived_from for one in self.index.get(ident))
        return len({one.session or one.handle for one in found if memories.captured(one)})

    def told(self, valid_at: str | None, valid: Range | None, late: int) -> answers.Spoken:
        """Which moments an answer speaks of, and how many were left out as not known for then."""
        said: answers.Spoken = {}
        if valid is not None:
            said["valid_at"] = {
                "asked": valid_at,
                "from": _day(valid[0]),
                "until": _day(valid[1]),
                "undated": late,
            }
        return said

    def state(self, row: Row) -> answers.RowState:
        """Its status, has it faded, is its file gone while the brake holds, is only a part of it
        readable."""
        gone = not self.past and row.path in self.house.indexing.held
        broken = not BROKEN.isdisjoint(row.problems)
        return {
            "status": row.status,
            "faded": self.known.strength(row) < self.known.faded,
            "gone": gone,
            "broken": broken,
        }


def _day(moment: float | None) -> str | None:
    return None if moment is None else dates.iso(moment)
