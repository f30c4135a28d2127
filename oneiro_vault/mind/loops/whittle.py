"""The orientation stays small: above the cap the least needed blocks fall asleep. What a person
ratified or wrote always stays, then what is loaded; among those a judge's rubric decides, or,
without a whole set of judgements, recency x frequency x magnitude."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import Field

from oneiro_vault.core.markdown import orientation
from oneiro_vault.core.memory import owned
from oneiro_vault.core.question import Answer, Question, Verdict
from oneiro_vault.mind.base import Asking, Decision, Note, Set, Snapshot
from oneiro_vault.mind.blocks import DAY, blocks, changed

POLICY: Final = 1
HALF_LIFE: Final = 45.0
"""Days in which the recency of a block falls to a half."""
MAGNITUDE: Final = 5.0
"""Of a block whose importance nobody gave, on a scale of 10."""
INSTRUCTION: Final = (
    "This is one block of an orientation that has grown too large. Grade what would be missing "
    "without it, each from 0 to 3. relational: does it carry what is between people? durability: "
    "will it still hold in a year? irreplaceable: could it not be found out again? "
    "cost_of_absence: what goes wrong in a conversation without it? `meaning`, 1 to 10: how much "
    "it matters to those it is about."
)


class Rubric(Answer):
    """How much would be missing without a block."""

    relational: int = Field(ge=0, le=3)
    durability: int = Field(ge=0, le=3)
    irreplaceable: int = Field(ge=0, le=3)
    cost_of_absence: int = Field(ge=0, le=3)
    meaning: int = Field(ge=1, le=10)

    @property
    def total(self) -> int:
        """0 to 12."""
        return self.relational + self.durability + self.irreplaceable + self.cost_of_absence

    @property
    def rank(self) -> tuple[int, int]:
        """What sorts the more needed first."""
        return -self.total, -self.meaning


name: Final = "whittle"


def run(snapshot: Snapshot) -> Asking:
    """Nothing is asked while there is room."""
    loose = [block for block in blocks(snapshot) if not owned(block.memory)]
    room = max(snapshot.settings["whittle.cap"] - (len(blocks(snapshot)) - len(loose)), 0)
    if len(loose) == len(blocks(snapshot)):
        room = max(room, 1)  # a cap of nothing is no reason to wake up to nothing
    if len(loose) <= room:
        return []
    verdicts: Mapping[str, Verdict] = {}
    if snapshot.settings["whittle.rubric"]:
        verdicts = yield [question(block) for block in loose]
    graded = {
        block.id: answer for block in loose if (answer := _answer(block, verdicts)) is not None
    }
    whole = len(graded) == len(loose)

    def rank(block: Note) -> tuple[float, ...]:
        needed = graded[block.id].rank if whole else (-rfm(block, snapshot),)
        return (*_first(block, snapshot), *needed)

    def why(block: Note) -> str:
        if whole:
            answer = graded[block.id]
            return f"rubric {answer.total} of 12, meaning {answer.meaning}: {answer.reason}"
        return f"recency x frequency x magnitude {rfm(block, snapshot):.2f}"

    ranked = sorted(loose, key=lambda block: (rank(block), block.id))
    asked = verdicts if whole else {}
    return [_asleep(block, why(block), asked) for block in ranked[room:]]


def question(block: Note) -> Question:
    """What would be missing without it? Shows nothing that changes from night to night."""
    return Question(
        "whittle.rank", INSTRUCTION, Rubric, (block.shown(),), policy=POLICY, stage="whittle"
    )


def rfm(block: Note, snapshot: Snapshot) -> float:
    """Recency x frequency x magnitude: half-life of 45 days, sources and days of use, importance
    out of ten."""
    age = max(0.0, snapshot.now - max(changed(block), block.last_use or 0.0)) / DAY
    importance = block.memory.importance
    frequency = 1 + len(block.memory.derived_from) + block.uses
    recency: float = 0.5 ** (age / HALF_LIFE)
    return recency * frequency * (MAGNITUDE if importance is None else 10 * importance)


def _answer(block: Note, verdicts: Mapping[str, Verdict]) -> Rubric | None:
    verdict = verdicts.get(question(block).id)
    return verdict.answer if verdict is not None and isinstance(verdict.answer, Rubric) else None


def _first(block: Note, snapshot: Snapshot) -> tuple[bool, bool]:
    """What is loaded before what is not, and what a person woke again first."""
    woken = _asleep(block, "", {}).id(snapshot) in snapshot.settled
    return not orientation.belongs(block.memory), not woken


def _asleep(block: Note, why: str, verdicts: Mapping[str, Verdict]) -> Decision:
    verdict = verdicts.get(question(block).id)
    return Decision(
        loop="whittle",
        op="whittle",
        title=block.memory.title,
        reason=f"the orientation is over its cap, and this block ranks last ({why})",
        edits=(Set(block.id, {"status": "dormant"}),),
        memories=(block.id,),
        questions=(verdict.question,) if verdict else (),
        judge=verdict.judge if verdict else "",
    )
