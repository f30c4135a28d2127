"""One debate about one orientation block: an advocate and a challenger in turns, either of whom may
concede. Questions and their forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import Field

from oneiro_vault.core.question import ROLE, Answer, Question, Shown
from oneiro_vault.mind.base import Note
from oneiro_vault.mind.blocks import DESCRIBE

POLICY: Final = 1
SOURCES: Final = 6
"""Notes a block rests on that are shown beside it."""
_SEES: Final = "The first note is a block of the orientation; the others are what it rests on."
ASSESS: Final = (
    f"{_SEES} Does it say what they say, no more and no less? potentially_inflated: it claims "
    f"more, makes an event a trait, praises, or "
    "has grown because it is always read. potentially_understated: it says less than matters. "
    "needs_deeper_review: they contradict each other or it. well_calibrated: it stands as it is."
)
ADVOCATE: Final = (
    f"{_SEES} The text at the end is a debate about it; an assessment has doubted it. You speak "
    f"for keeping it: the strongest honest "
    "`claim`, and the `evidence` in the notes. `concedes`: the challenger is right and nothing "
    "honest is left to say for it."
)
CHALLENGER: Final = (
    f"{_SEES} The text at the end is a debate about it. You speak for changing it: the strongest "
    f"honest `claim`, and the `evidence` in the "
    "notes. `concedes`: the advocate is right and it should stay."
)
SYNTHESIZE: Final = (
    f"{DESCRIBE}\n\n{_SEES} The text at the end is a debate about it. Choose keep when it stands; "
    f"reframe when it should say less, more "
    "or otherwise: `title` and `text` replace it and rest on the notes alone; flag when only a "
    "person can decide: `question` says what to decide, in one sentence, and `flag` what kind of "
    "question it is."
)


class Assessment(Answer):
    """First look at a block."""

    verdict: Literal[
        "potentially_inflated", "potentially_understated", "needs_deeper_review", "well_calibrated"
    ]


class Turn(Answer):
    """One speech in a debate."""

    claim: str = Field(max_length=1_000)
    evidence: str = Field(default="", max_length=1_000)
    concedes: bool = False


class Synthesis(Answer):
    """What follows from a debate."""

    action: Literal["reframe", "flag", "keep"]
    title: str = Field(default="", max_length=200)
    text: str = Field(default="", max_length=8_000)
    flag: Literal["inflation", "understatement", "contradiction", "stale"] = "inflation"
    question: str = Field(default="", max_length=400)


@dataclass
class Debate:
    """A block under doubt and what was said of it so far."""

    block: Note
    ground: Sequence[Note]
    assessment: str
    lines: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    judge: str = ""
    outcome: str = ""

    @property
    def transcript(self) -> str:
        """What was said, a line each."""
        return "\n".join(self.lines)

    def say(self, who: str, text: str) -> None:
        """Add a line to the transcript."""
        self.lines.append(f"{who}: {' '.join(text.split())}")

    def asked(self, side: str) -> Question:
        """The next question to one side, or (`synthesizer`) to who concludes."""
        if side == "synthesizer":
            return self._question("dialectic.synthesize", SYNTHESIZE, Synthesis)
        return self._question(
            f"dialectic.{side}", ADVOCATE if side == "advocate" else CHALLENGER, Turn
        )

    def _question(self, kind: str, instruction: str, form: type[Answer]) -> Question:
        shown = _shown(self.block, self.ground)
        return Question(kind, instruction, form, shown, self.transcript, POLICY, "dialectic")

    def heard(self, side: str, turn: Turn, number: int) -> None:
        """Take in a speech."""
        self.say(
            f"{side} ({number})",
            turn.claim + (f" Evidence: {turn.evidence}" if turn.evidence.strip() else ""),
        )
        if turn.concedes:
            self.outcome = f"{side}_conceded"
            self.say(side, "concedes")


def assess(block: Note, ground: Sequence[Note]) -> Question:
    """Is it well calibrated? Shows nothing that changes from night to night."""
    return Question(
        "dialectic.assess",
        ASSESS,
        Assessment,
        _shown(block, ground),
        policy=POLICY,
        stage="dialectic",
    )


def _shown(block: Note, ground: Sequence[Note]) -> tuple[Shown, ...]:
    return (
        block.shown((ROLE, "the block")),
        *(note.shown((ROLE, "what it rests on")) for note in ground[:SOURCES]),
    )
