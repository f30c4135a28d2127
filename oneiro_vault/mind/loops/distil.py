"""Stable knowledge becomes a small orientation that describes the world, and blocks whose ground
has moved are said anew.

Knowledge enters when it is still strong, has lasted, and is used or stands on several sources; then
a judge must find that a model could not go on without it, and the gate nothing but description.
What came from outside needs a second source whatever its use. Nothing here makes a block `core`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from pydantic import Field

from oneiro_vault.core import memory as memories
from oneiro_vault.core.memory import no_weaker
from oneiro_vault.core.question import ROLE, Answer, Question, ShownId, Verdict
from oneiro_vault.core.text import claims, polarity
from oneiro_vault.mind.base import Asking, Decision, New, Note, Set, Snapshot, put, room
from oneiro_vault.mind.blocks import (
    DAY,
    DESCRIBE,
    Draft,
    alike,
    blocks,
    changed,
    fair_title,
    fitted,
    made,
    objection,
    ours,
    rests,
    rotated,
    said_anew,
    trust_of,
    words,
)
from oneiro_vault.mind.loops import own_words, stale

POLICY: Final = 3
SIBLINGS: Final = 5
NEAREST: Final = 4
"""Blocks that are shown beside knowledge: were all of them, a change of any would void every answer
that is not carried out yet."""
KEPT: Final = 0.8
"""Share of a sentence's words that a text must have to keep what it says."""
CONFIRMING: Final = 4
"""Conversations that are named in the lineage of a block whose words came from outside."""
GRADE: Final = (
    "Is this piece of knowledge orientation grade? It is where it says of the person who is "
    "remembered here, or of those they live with or care for, who they are and what they are "
    "called, what they do and where, where they live (also from when on), who belongs to them, "
    "what their health forbids or needs (allergies, illnesses, medicines), or what they always or "
    "never want: how answers are written, and rules of their home, team or work that bear on most "
    "of what they ask. A change of one of these is, too. Whatever is found when it is looked for "
    "is not: one date, errand, price, piece of work or step of it, what happened once, what others "
    "far from the person do. When in doubt answer false."
)
PLACE: Final = (
    f"{DESCRIBE}\n\nThe first note is knowledge that may belong into the orientation; then come "
    f"notes near it and the blocks there are. "
    "Choose one. create: a new block, when no block covers its subject; `sources` are the other "
    "notes that say the same or belong to it. revise: `target` is the block on the same subject, "
    "`title` and `text` replace what it says and keep all of it that still holds. link: the block "
    "`target` says it already. skip: it does not belong there. When in doubt choose skip. At most "
    "{limit} characters."
)


class Graded(Answer):
    """Does it belong to what is always loaded?"""

    orientation_grade: bool


class Distilled(Answer):
    """Where a piece of knowledge goes."""

    action: Literal["create", "revise", "link", "skip"]
    target: ShownId | None = None
    sources: list[ShownId] = Field(default_factory=list, max_length=SIBLINGS)
    title: str = Field(default="", max_length=200)
    text: str = Field(default="", max_length=8_000)


name: Final = "distil"


def run(snapshot: Snapshot) -> Asking:
    """First what the person said of themselves; then blocks on moved ground; then grade what is
    new, place what passes, shorten what is too long."""
    own = own_words.kept(snapshot)
    standing = {block.id for block in own_words.standing(snapshot)}
    mended, waiting = yield from stale.mend(snapshot, standing)
    snapshot = _mended(snapshot, mended)
    said = {ident for decision in own for ident in decision.memories}
    found = [note for note in drivers(snapshot) if note.id not in said]
    new = {note.id for note in found if not snapshot.known(grade(note).id)}
    graded = yield [grade(note) for note in found]
    fit = [
        note
        for note in found
        if isinstance(answer := graded[grade(note).id].answer, Graded) and answer.orientation_grade
    ]
    taken = {edit.id for decision in mended for edit in decision.edits if isinstance(edit, Set)}
    placed = yield from _placed(snapshot, fit, new, taken, waiting)
    return [*own, *mended, *placed]


def _mended(snapshot: Snapshot, decisions: Sequence[Decision]) -> Snapshot:
    """What is asked next sees the blocks as they will be, and knowledge that is in one by then."""
    notes = dict(snapshot.notes)
    for edit in (edit for decision in decisions for edit in decision.edits):
        if isinstance(edit, Set):
            note, told = notes[edit.id], edit.changes
            memory = replace(
                note.memory,
                title=told.get("title", note.memory.title),
                body=note.memory.body if edit.body is None else edit.body,
                status=told.get("status", note.memory.status),
                derived_from=tuple(told.get("derived_from", note.memory.derived_from)),
            )
            notes[edit.id] = replace(note, memory=memory)
    return replace(snapshot, notes=notes)


def drivers(snapshot: Snapshot) -> list[Note]:
    """Knowledge that has earned a question and is in no block yet, as far as a night goes."""
    known = covered(snapshot)
    return _turn(
        [
            note
            for note in snapshot.of("semantic")
            if note.id not in known and stable(note, snapshot)
        ],
        grade,
        snapshot,
        snapshot.settings["distil.notes"],
    )


def _placed(
    snapshot: Snapshot, fit: Sequence[Note], new: set[str], taken: set[str], waiting: set[str]
) -> Generator[list[Question], Mapping[str, Verdict], list[Decision]]:
    """As many as a night can follow: those that are `new` among the fit, and those whose day it
    is, none beside a block that is `waiting` for other words. A question costs a search, so it says
    whose turn it is only where somebody is to answer it."""
    wanting: dict[str, Question] = {}

    def wanted_of(note: Note) -> Question:
        return wanting.get(note.id) or wanting.setdefault(note.id, place(snapshot, note))

    able = snapshot.settings["distil.new"] + len(blocks(snapshot))
    most = min(snapshot.settings["distil.notes"], able)
    if len(fit) > most and snapshot.free:
        row = {
            note.id
            for note in sorted(rotated(fit, snapshot.now), key=lambda note: note.id not in new)[
                :most
            ]
        }
        fit = [note for note in fit if note.id in row]
    elif len(fit) > most:
        fit = _turn(fit, wanted_of, snapshot, most)
    wanted_now = ((note, wanted_of(note)) for note in fit)
    asked = {one.id: (note, one) for note, one in wanted_now if waiting.isdisjoint(one.ids)}
    verdicts = yield [question for _, question in asked.values()]
    wanted: list[Draft] = []
    left: list[Decision] = []
    for ident, (note, _) in asked.items():
        answer = verdicts[ident].answer
        if not isinstance(answer, Distilled) or answer.action == "skip":
            continue
        if why := _unfit(snapshot, note, answer):
            left.append(_left(note, why, (ident,), verdicts[ident].judge))
        else:
            wanted.append(_draft(snapshot, note, answer, ident, verdicts[ident].judge))
    wanted, beyond = _without_twins(snapshot, wanted, taken)
    drafts = yield from fitted(snapshot, wanted)
    return [*(_decision(snapshot, draft) for draft in drafts), *left, *beyond]


def _turn(
    notes: Sequence[Note], question: Callable[[Note], Question], snapshot: Snapshot, most: int
) -> list[Note]:
    """Those whose question was put before, and as many of the others as `most` has room for: half
    because they stand firmest, half because it is their turn."""
    asked = {note.id: question(note) for note in notes}
    most = room(asked.values(), most, snapshot)

    def failed(note: Note) -> bool:
        return snapshot.failed(asked[note.id].id)

    firmest = sorted(
        notes,
        key=lambda note: (-len(sources(note, snapshot)), -note.uses, -note.memory.level, note.id),
    )
    new = sorted((note for note in firmest if not put(asked[note.id], snapshot)), key=failed)
    later = {note.id for note in new[(most + 1) // 2 :]}
    turn = sorted((note for note in rotated(new, snapshot.now) if note.id in later), key=failed)
    return [*(note for note in firmest if note.id not in later), *turn[: most // 2]]


def stable(note: Note, snapshot: Snapshot) -> bool:
    """The entry bar: strong, and said by the person, or lasting and used, or said by several
    sources."""
    settings = snapshot.settings
    enough = len(sources(note, snapshot)) >= settings["distil.sources"]
    if note.memory.trust == "external":
        enough = enough and settings["distil.sources"] > 1
    else:
        enough = (
            enough
            or note.memory.trust in memories.OWN_WORDS
            or note.uses >= settings["distil.uses"]
        )
    lasted = (
        note.memory.trust in memories.OWN_WORDS
        or snapshot.now - changed(note) >= settings["distil.age"] * DAY
    )
    ended = (memories.epoch(note.memory.valid_until) or snapshot.now) < snapshot.now
    return (
        enough
        and lasted
        and not ended
        and not note.memory.flags
        and note.strength >= settings["distil.strength"]
    )


def covered(snapshot: Snapshot) -> set[str]:
    """Ids of knowledge that is in a block already. One that was whittled counts until the knowledge
    is met or used again; one that was retired always."""
    slept = _last(snapshot, lambda loop: loop == "whittle")
    met = _last(snapshot, lambda loop: loop not in ("whittle", "distil", "dialectic"))
    found: set[str] = set()
    for block in snapshot.notes.values():
        if block.memory.type == "orientation":
            since = (
                slept.get(block.id, float("inf"))
                if block.memory.status == "dormant"
                else float("inf")
            )
            found.update(
                ident
                for ident in block.memory.derived_from
                if max(met.get(ident, 0.0), _used(snapshot, ident)) <= since
            )
    return found


def _last(snapshot: Snapshot, wanted: Callable[[str], bool]) -> dict[str, float]:
    rows = [row for row in snapshot.history if wanted(row.loop)]
    return {ident: row.when for row in reversed(rows) for ident in row.memories}


def _used(snapshot: Snapshot, ident: str) -> float:
    note = snapshot.notes.get(ident)
    return note.last_use or 0.0 if note is not None else 0.0


def sources(note: Note, snapshot: Snapshot) -> dict[str, str]:
    """What it rests on in the end: session, or id without one -> an id."""
    found: dict[str, str] = {}
    todo, seen = [note.id], set()
    while todo:
        ident = todo.pop()
        if ident in seen:
            continue
        seen.add(ident)
        one = snapshot.notes.get(ident)
        below = [*one.memory.derived_from, *one.memory.supersedes] if one else []
        if one and below and one.memory.type != "episodic":
            todo += below
        else:
            found.setdefault(one.memory.session or ident if one else ident, ident)
    return found


def lineage(notes: Sequence[Note], snapshot: Snapshot) -> list[str]:
    """Ids a block made of these notes is derived from: the notes, and for words from outside the
    conversations that confirm each other."""
    found = [note.id for note in notes]
    if trust_of(notes) == "external":
        found += sorted({ident for note in notes for ident in sources(note, snapshot).values()})[
            :CONFIRMING
        ]
    return list(dict.fromkeys(found))


def grade(note: Note) -> Question:
    """Does it belong to the orientation? Shows nothing that changes from night to night."""
    return Question(
        "distil.grade", GRADE, Graded, (note.shown(),), policy=POLICY, stage="distil.grade"
    )


def place(snapshot: Snapshot, note: Note) -> Question:
    """Where does it belong? Shows nothing weaker beside it, nothing stronger to be changed by
    it."""
    near = [
        snapshot.notes[ident]
        for ident in snapshot.candidates(f"{note.memory.title}\n{note.memory.body}", SIBLINGS + 1)
        if ident != note.id
    ]
    siblings = [
        one
        for one in near
        if one.memory.type == "semantic"
        and one.active
        and no_weaker(one.memory.trust, note.memory.trust)
    ]
    targets = [
        block
        for block in _nearest(snapshot, note)
        if not ours(block) or no_weaker(note.memory.trust, block.memory.trust)
    ]
    shown = (
        note.shown(),
        *(one.shown() for one in siblings[:SIBLINGS]),
        *(
            one.shown(
                (
                    ROLE,
                    "an orientation block"
                    if ours(one)
                    else "an orientation block that only a person changes",
                )
            )
            for one in targets
        ),
    )
    text = PLACE.format(limit=snapshot.settings["distil.characters"])
    return Question("distil", text, Distilled, shown, policy=POLICY, stage="distil")


def _nearest(snapshot: Snapshot, note: Note) -> list[Note]:
    """The blocks it may belong to, oldest first: nearest in meaning and in words."""
    every = blocks(snapshot)
    have, vectors = snapshot.vectors([note.id, *(block.id for block in every)])
    near = dict(zip(have, vectors @ vectors[0], strict=True)) if have[:1] == [note.id] else {}
    mine = words(f"{note.memory.title}\n{note.memory.body}")

    def likeness(block: Note) -> tuple[float, str]:
        theirs = words(f"{block.memory.title}\n{block.memory.body}")
        return float(near.get(block.id, 0.0)) + len(mine & theirs) / max(1, len(mine)), block.id

    chosen = sorted(every, key=likeness)[-NEAREST:]
    return [block for block in every if block in chosen]


def _unfit(snapshot: Snapshot, note: Note, answer: Distilled) -> str:
    target = snapshot.notes.get(answer.target or "")
    if answer.action != "create":
        if target is None or target.memory.type != "orientation":
            return f"the answer wants to {answer.action} no block that was shown"
        if not ours(target):
            return "a person wrote that block"
        if not no_weaker(note.memory.trust, target.memory.trust):
            return "it is trusted less than what that block says"
    if (
        answer.action == "revise"
        and target is not None
        and not (rests(target, snapshot) or adds(answer.text, target))
    ):
        return "that block was changed too lately"
    return ""


def adds(text: str, block: Note) -> bool:
    """Does a text keep what every sentence of a block says?"""
    known = claims.split_sentences(block.memory.body)
    kept = all(claims.share(one, text) >= KEPT for one in known)
    return kept and not any(polarity.contrary(text, one) for one in known)


def _left(note: Note, why: str, questions: tuple[str, ...], judge: str) -> Decision:
    return Decision(
        "distil",
        "distil",
        note.memory.title,
        f"not written, because {why}",
        (),
        (note.id,),
        questions,
        judge,
    )


def _draft(snapshot: Snapshot, note: Note, answer: Distilled, asked: str, judge: str) -> Draft:
    named = [snapshot.notes[ident] for ident in dict.fromkeys(answer.sources) if ident != note.id]
    joined = [
        one
        for one in named
        if one.memory.type == "semantic" and no_weaker(one.memory.trust, note.memory.trust)
    ]
    title, text = (
        ("", "")
        if answer.action == "link"
        else (fair_title(answer.title, answer.text), answer.text)
    )
    target = None if answer.action == "create" else snapshot.notes[answer.target or ""]
    return Draft(title, text, answer.reason, (note, *joined), target, (asked,), judge)


def _without_twins(
    snapshot: Snapshot, wanted: Sequence[Draft], taken: set[str]
) -> tuple[list[Draft], list[Decision]]:
    """One change a block, one block a subject, and no more new ones than a night may bring."""
    texts = [words(block.memory.body) for block in blocks(snapshot)]
    covered: set[str] = set()
    kept: list[Draft] = []
    left: list[Decision] = []
    most, new = snapshot.settings["distil.new"], 0
    for draft in wanted:
        ids, said = {source.id for source in draft.sources}, words(draft.text)
        if draft.target is not None:
            why = (
                "another answer of this night changes that block"
                if draft.target.id in taken
                else ""
            )
            taken.add(draft.target.id)
        else:
            twin = ids & covered or any(alike(said, text) for text in texts)
            why = (
                "another block says the same"
                if twin
                else f"a night makes {most} new blocks at most"
                if new >= most
                else ""
            )
            new += not why
        if why:
            left.append(_left(draft.sources[0], why, draft.questions, draft.judge))
            continue
        kept.append(draft)
        covered |= ids
        texts.append(said)
    return kept, left


def _decision(snapshot: Snapshot, draft: Draft) -> Decision:
    ids = tuple(source.id for source in draft.sources)
    grounds = lineage(draft.sources, snapshot)
    title = draft.title.strip() or (draft.target.memory.title if draft.target else "")
    why = objection(draft, snapshot) if draft.text else ""
    edit: New | Set | None
    if draft.target is None:
        edit = made(draft.title, draft.text, draft.sources, grounds)
    elif draft.text:
        edit = said_anew(draft.target, draft.title, draft.text, draft.sources, grounds)
        ids = (draft.target.id, *ids)
    else:
        m = draft.target.memory
        edit = Set(m.id, {"derived_from": list(dict.fromkeys([*m.derived_from, *grounds]))})
        ids = (m.id, *ids)
    reason = f"not written, because {why}" if why else draft.reason
    shown = snapshot.notes[ids[0]].memory.title if why else title
    return Decision(
        "distil", "distil", shown, reason, () if why else (edit,), ids, draft.questions, draft.judge
    )
