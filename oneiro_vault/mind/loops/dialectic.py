"""The orientation is argued with: an assessor doubts, an advocate and a challenger debate, a
synthesizer keeps, reframes or asks a person.

What is always read grows by being read. Each block has its turn and is then left alone for a week.
One that was reframed is assessed once more after that time; where it did not help, a person is
asked, so that no block swings to and fro.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import Field

from oneiro_vault.classify import orientation_gate
from oneiro_vault.core.question import ROLE, Answer, Question, Shown, Verdict
from oneiro_vault.mind.base import Asking, Decision, Note, Set, Snapshot
from oneiro_vault.mind.blocks import (
    DAY,
    DESCRIBE,
    Draft,
    alike,
    blocks,
    objection,
    ours,
    rests,
    rotated,
    said_anew,
    words,
)
from oneiro_vault.mind.loops.stale import is_stale, now_true
from oneiro_vault.mind.support import unfounded
from oneiro_vault.vault.history.commit_log import Entry

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
    "person can decide: `question` says what to decide, in one sentence, and `flag` (which else "
    "says nothing) what kind of question it is."
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


SIDES: Final = ("advocate", "challenger")

Debating = Generator[list[Question], Mapping[str, Verdict], None]


name: Final = "dialectic"


def run(snapshot: Snapshot) -> Asking:
    """Rules first, then the assessor, then as many rounds as are left, then the synthesizer."""
    linted = [found for block in blocks(snapshot) if (found := lint(block))]
    due = [
        block
        for block in turn(snapshot)
        if block.id not in {decision.memories[0] for decision in linted}
    ]
    grounds = {block.id: now_true(block, snapshot) for block in due}
    verdicts = yield [assess(block, grounds[block.id]) for block in due]
    decisions: list[Decision] = []
    debates: list[Debate] = []
    for block in due:
        verdict = verdicts[assess(block, grounds[block.id]).id]
        if not isinstance(verdict.answer, Assessment):
            decisions += [found] if (found := inflated(block, grounds[block.id], snapshot)) else []
            continue
        before = reframed(block, snapshot)
        if before is not None:
            decisions.append(followed_up(block, before, verdict))
        elif verdict.answer.verdict != "well_calibrated":
            debate = Debate(
                block,
                grounds[block.id],
                verdict.answer.verdict,
                questions=[verdict.question],
                judge=verdict.judge,
            )
            debate.say("assessor", f"{debate.assessment}. {verdict.answer.reason}")
            debates.append(debate)
    yield from rounds(debates, snapshot.settings["dialectic.rounds"])
    closing = [debate for debate in debates if debate.outcome]
    verdicts = yield [debate.asked("synthesizer") for debate in closing]
    concluded = [
        concluding(debate, verdicts[debate.asked("synthesizer").id], snapshot) for debate in closing
    ]
    return [*linted, *decisions, *(decision for decision in concluded if decision is not None)]


def turn(snapshot: Snapshot) -> list[Note]:
    """The blocks whose turn it is: not changed or decided on lately, not before a person already;
    reframed ones first."""
    cooldown = snapshot.settings["dialectic.cooldown"] * DAY
    recent = {
        ident
        for row in decided(snapshot)
        if snapshot.now - row.when < cooldown
        for ident in row.memories
    }
    free = [
        block
        for block in blocks(snapshot)
        if block.id not in recent and not block.memory.flags and rests(block, snapshot)
    ]
    free = sorted(rotated(free, snapshot.now), key=lambda block: reframed(block, snapshot) is None)
    return free[: snapshot.settings["dialectic.blocks"]]


def decided(snapshot: Snapshot) -> Iterator[Entry]:
    """What this loop decided before, newest first."""
    return (row for row in snapshot.history if row.loop == "dialectic")


def reframed(block: Note, snapshot: Snapshot) -> Entry | None:
    """The last thing decided on this block, if it was a reframing one to two cooldowns ago."""
    cooldown = snapshot.settings["dialectic.cooldown"] * DAY
    last = next((row for row in decided(snapshot) if block.id in row.memories), None)
    if (
        last is None
        or last.op != "reframe"
        or not cooldown <= snapshot.now - last.when < 2 * cooldown
    ):
        return None
    return last


def lint(block: Note) -> Decision | None:
    """A machine's block that speaks to its reader is brought before a person without any judge.
    What a person wrote is theirs."""
    m = block.memory
    theirs = m.core or m.trust == "user" or m.flags
    why = "" if theirs else orientation_gate.prescribes(f"{m.title}\n\n{m.body}")
    return _asking(block, "prescribing", f"does more than describe: {why}") if why else None


def inflated(block: Note, ground: Sequence[Note], snapshot: Snapshot) -> Decision | None:
    """Where nobody judges: a machine's block that says more than what it rests on is brought before
    a person."""
    m = block.memory
    why = (
        unfounded(m.title, m.body, ground)
        if ours(block) and ground and not is_stale(block, snapshot)
        else ""
    )
    return _asking(block, "inflation", f"says more than it can know: {why}") if why else None


def _asking(block: Note, flag: str, what: str) -> Decision:
    m = block.memory
    reason, edit = f"This block {what}. Should it stay?", Set(m.id, {"flags": [flag]})
    return Decision("dialectic", "flag", m.title, reason, (edit,), (m.id,))


def rounds(debates: Sequence[Debate], most: int) -> Debating:
    """Advocate, then challenger, until one concedes or the rounds are over."""
    live = list(debates)
    for number in range(1, most + 1):
        for side in SIDES:
            verdicts = yield [debate.asked(side) for debate in live]
            answered = [(debate, verdicts[debate.asked(side).id]) for debate in live]
            live = []
            for debate, verdict in answered:
                if isinstance(verdict.answer, Turn):
                    debate.questions.append(verdict.question)
                    debate.heard(side, verdict.answer, number)
                    live += [] if debate.outcome else [debate]
    for debate in live:
        debate.outcome = "deadlock_synthesized"


def concluding(debate: Debate, verdict: Verdict, snapshot: Snapshot) -> Decision | None:
    """What follows from a debate; what the gate stops is only reported."""
    answer = verdict.answer
    if not isinstance(answer, Synthesis):
        return None
    debate.say("synthesizer", f"{answer.action}. {answer.reason}")
    op, reason = "resolve", answer.reason
    found: Set | None = None
    if answer.action == "reframe":
        found, op, reason = _reframing(debate, answer, snapshot)
    elif answer.action == "flag":
        found, op, reason = _flagging(debate, answer.flag, answer.question)
    return Decision(
        loop="dialectic",
        op=op,
        title=debate.block.memory.title,
        reason=f"{debate.assessment}, {debate.outcome}: {reason}" if op != "flag" else reason,
        edits=(found,) if found is not None else (),
        memories=(debate.block.id,),
        questions=(*debate.questions, verdict.question),
        judge=verdict.judge,
        transcript=debate.transcript,
    )


def _reframing(
    debate: Debate, answer: Synthesis, snapshot: Snapshot
) -> tuple[Set | None, str, str]:
    """(edit, operation, reason)."""
    block = debate.block
    title = answer.title.strip() or block.memory.title
    if not ours(block):
        return _flagging(
            debate,
            "understatement" if "understated" in debate.assessment else "inflation",
            answer.reason,
        )
    if " ".join(answer.text.split()) == " ".join(block.memory.body.split()):
        why = "the words are the same"
    else:
        draft = Draft(title, answer.text, "", tuple(debate.ground), block)
        why = objection(draft, snapshot) or _twin(block, answer.text, snapshot)
    if why:
        return None, "resolve", f"not reframed, because {why}"
    return said_anew(block, title, answer.text), "reframe", answer.reason


def _twin(block: Note, text: str, snapshot: Snapshot) -> str:
    new, old = words(text), words(block.memory.body)
    for other in blocks(snapshot):
        theirs = words(other.memory.body)
        if other.id != block.id and alike(new, theirs) and not alike(old, theirs):
            return f"another block says it already: {other.memory.title}"
    return ""


def _flagging(debate: Debate, flag: str, question: str) -> tuple[Set | None, str, str]:
    if not question.strip():
        return None, "resolve", "not flagged, because there was no question"
    return Set(debate.block.id, {"flags": [flag]}), "flag", question.strip()


def followed_up(block: Note, before: Entry, verdict: Verdict) -> Decision:
    """Did the reframing help? Where it did not, a person is asked."""
    assert isinstance(verdict.answer, Assessment)
    helped = verdict.answer.verdict == "well_calibrated"
    was = before.reason.partition(",")[0].strip() or "in doubt"
    text = (
        f"reframing {'helped' if helped else 'did not help'}: it was {was} and is "
        f"{verdict.answer.verdict} now. {verdict.answer.reason}"
    )
    edits = (
        ()
        if helped
        else (
            Set(
                block.id,
                {
                    "flags": [
                        "inflation" if "inflated" in verdict.answer.verdict else "contradiction"
                    ]
                },
            ),
        )
    )
    return Decision(
        loop="dialectic",
        op="resolve" if helped else "flag",
        title=block.memory.title,
        reason=text,
        edits=edits,
        memories=(block.id,),
        questions=(verdict.question,),
        judge=verdict.judge,
        transcript=f"assessor: {verdict.answer.verdict}. {' '.join(verdict.answer.reason.split())}",
    )
