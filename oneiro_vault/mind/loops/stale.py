"""Blocks whose ground has moved: something they rest on was said anew, replaced, has ended, or is
gone."""

from __future__ import annotations

from collections.abc import Container, Generator, Mapping, Sequence
from typing import Final, Literal

from pydantic import Field

from oneiro_vault.core import memory as memories
from oneiro_vault.core.memory import no_weaker
from oneiro_vault.core.question import ROLE, Answer, Question, Verdict
from oneiro_vault.judges.offline import NAME as RULES
from oneiro_vault.mind.base import Decision, Note, Set, Snapshot
from oneiro_vault.mind.blocks import (
    DESCRIBE,
    Draft,
    blocks,
    changed,
    fair_title,
    fitted,
    objection,
    ours,
    pared,
    said_anew,
    trust_of,
)

POLICY: Final = 2
MOST_STEPS: Final = 50
"""Successors of successors that are followed."""
INSTRUCTION: Final = (
    f"{DESCRIBE}\n\nThe first note is a block; some of what it was made of was said anew, "
    f"replaced or forgotten, or has ended. The other "
    "notes say what holds now. Choose revise when the block says something that no longer holds: "
    "`title` and `text` replace it. Choose retire when nothing of it holds any more. Choose keep "
    "when all of it still holds. At most {limit} characters."
)

Deciding = Generator[list[Question], Mapping[str, Verdict], tuple[list[Decision], set[str]]]


class Stale(Answer):
    """Does a block still hold?"""

    action: Literal["revise", "retire", "keep"]
    title: str = Field(default="", max_length=200)
    text: str = Field(default="", max_length=8_000)


def mend(snapshot: Snapshot, without: Container[str] = ()) -> Deciding:
    """Ask about every such block but those `without`; a person is asked about theirs. Beside the
    decisions the ids of those whose new words somebody is still to say."""
    stale = [
        block for block in blocks(snapshot) if block.id not in without and is_stale(block, snapshot)
    ]
    moved = [(block, now_true(block, snapshot)) for block in stale]
    mine = [
        (block, ground)
        for block, ground in moved
        if ours(block) and no_weaker(trust_of(ground), block.memory.trust)
    ]
    theirs = [
        flag(block)
        for block, _ in moved
        if block not in [known for known, _ in mine] and not block.memory.flags
    ]
    asked = {question(block, ground, snapshot).id: (block, ground) for block, ground in mine}
    verdicts = yield [question(block, ground, snapshot) for block, ground in mine]
    drafts: list[Draft] = []
    decisions = list(theirs)
    put = {block.id: verdicts[ident] for ident, (block, _) in asked.items()}
    # what rules leave open, or nobody was asked, may wait for ever
    waiting = {
        ident for ident, one in put.items() if one.waits and not one.unasked and one.judge != RULES
    }
    for ident, (block, ground) in asked.items():
        answer = verdicts[ident].answer
        if not isinstance(answer, Stale):
            continue
        text = answer.text if answer.action == "revise" else ""
        draft = Draft(
            fair_title(answer.title, text),
            text,
            answer.reason,
            tuple(ground),
            block,
            (ident,),
            verdicts[ident].judge,
        )
        if answer.action == "revise":
            drafts.append(draft)
        elif (edit := _settled(draft, answer.action)) is not None:
            decisions.append(_decision(draft, edit, answer.reason))
    said = yield from fitted(snapshot, drafts)
    if not said:
        waiting |= {draft.target.id for draft in drafts if draft.target}
    for draft in said:
        assert draft.target is not None
        why = objection(draft, snapshot)
        if not why:
            edit = said_anew(draft.target, draft.title, draft.text, draft.sources)
            decisions.append(_decision(draft, edit, draft.reason))
        elif pared(draft.text):
            decisions.append(_decision(draft, None, f"not written, because {why}"))
        else:
            reason = f"retired: it no longer holds, and its new words were refused, because {why}"
            decisions.append(_decision(draft, _settled(draft, "retire"), reason))
    return decisions, waiting


def is_stale(block: Note, snapshot: Snapshot) -> bool:
    """Was something it rests on said anew since, replaced by what it does not rest on yet, or
    forgotten, or has it ended?"""
    lineage, said = set(block.memory.derived_from), changed(block)
    joined = {
        ident: row.when
        for row in reversed(snapshot.history)
        if block.id in row.memories
        for ident in row.memories
    }
    for ident in lineage:
        source = snapshot.notes.get(ident)
        if ident in snapshot.forgotten:
            return True
        if source is None or source.memory.type == "episodic":
            continue
        after = successor(source, snapshot)
        if after is not source and after.id not in lineage:
            return True
        if after is source and (
            _ended(source, snapshot) or changed(source) > max(said, joined.get(ident, 0.0))
        ):
            return True
    return False


def now_true(block: Note, snapshot: Snapshot) -> list[Note]:
    """What holds now of all that it rests on."""
    known = [
        snapshot.notes[ident] for ident in block.memory.derived_from if ident in snapshot.notes
    ]
    found = [successor(note, snapshot) for note in known if note.memory.type != "episodic"] or known
    return [
        note for note in {note.id: note for note in found}.values() if not _ended(note, snapshot)
    ]


def successor(note: Note, snapshot: Snapshot) -> Note:
    """What replaced it in the end; itself when nothing did."""
    for _ in range(MOST_STEPS):
        after = snapshot.notes.get(note.memory.superseded_by)
        if note.memory.status != "superseded" or after is None:
            break
        note = after
    return note


def _ended(note: Note, snapshot: Snapshot) -> bool:
    until = memories.epoch(note.memory.valid_until)
    return note.memory.status in memories.OVER or (until is not None and until < snapshot.now)


def question(block: Note, ground: Sequence[Note], snapshot: Snapshot) -> Question:
    """Does it still hold?"""
    shown = (
        block.shown((ROLE, "the orientation block")),
        *(note.shown((ROLE, "what holds now"), *note.circumstances()) for note in ground),
    )
    text = INSTRUCTION.format(limit=snapshot.settings["distil.characters"])
    return Question("distil.stale", text, Stale, shown, policy=POLICY, stage="distil")


def flag(block: Note) -> Decision:
    """Ask a person: these are not a loop's words, or what is known now is trusted less."""
    why = (
        "Something this block rests on was changed, replaced or forgotten, or has ended. Does it "
        "still hold?"
    )
    return Decision(
        "distil",
        "flag",
        block.memory.title,
        why,
        (Set(block.id, {"flags": ["stale"]}),),
        (block.id,),
    )


def _settled(draft: Draft, action: str) -> Set | None:
    assert draft.target is not None
    if action == "retire":
        return Set(draft.target.id, {"status": "dormant"})
    m = draft.target.memory
    lineage = list(dict.fromkeys([*m.derived_from, *(note.id for note in draft.sources)]))
    return Set(m.id, {"derived_from": lineage}) if lineage != list(m.derived_from) else None


def _decision(draft: Draft, edit: Set | None, reason: str) -> Decision:
    assert draft.target is not None
    ids = (draft.target.id, *(note.id for note in draft.sources))
    return Decision(
        "distil",
        "distil",
        draft.target.memory.title,
        reason,
        (edit,) if edit else (),
        ids,
        draft.questions,
        draft.judge,
    )
