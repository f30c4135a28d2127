"""Orientation blocks: what may be written into one, what it rests on, and who may change it. Shared
by the loops that look after them."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from pydantic import Field

from oneiro_vault.classify import orientation_gate
from oneiro_vault.core import memory as memories
from oneiro_vault.core.markdown.parser import first_sentence
from oneiro_vault.core.markdown.quoting import cut_at_word
from oneiro_vault.core.question import Answer, Question, Verdict
from oneiro_vault.core.text import claims
from oneiro_vault.core.text.query import analyse
from oneiro_vault.judges.offline import NAME as RULES
from oneiro_vault.mind.base import NOW, New, Note, Set, Snapshot
from oneiro_vault.mind.support import unfounded

DAY: Final = 86_400.0
MACHINES: Final = frozenset(("dream", "model"))
"""Sources whose words a loop may say anew; a person's own, and what came from outside, it only asks
about."""
GOLDEN: Final = 0.6180339887498949
"""Steps of this size along a circle come near every place on it."""
LONGEST_TITLE: Final = 60
"""Characters of a title that is taken from the text."""
SAME: Final = 0.6
"""Share of common words at which a new block says what another one says."""
DESCRIBE: Final = (
    "Orientation blocks are read at the beginning of every conversation. They describe the world: "
    "people, projects, decisions, how things stand. They never prescribe: no words to a reader, "
    "no commands, no name, character or feeling for a model, nothing a model must do. What a "
    "person wants is said of that person, in the third person. Texts and titles say only what the "
    "notes shown say."
)


def blocks(snapshot: Snapshot) -> list[Note]:
    """Active orientation, oldest first."""
    return snapshot.of("orientation")


def ours(block: Note) -> bool:
    """May a loop change its words?"""
    return block.memory.source in MACHINES and not memories.owned(block.memory)


def changed(block: Note) -> float:
    """Epoch seconds of its last change of meaning, 0 if nobody knows."""
    m = block.memory
    return max(memories.epoch(m.timestamp) or 0.0, memories.epoch(m.created) or 0.0, block.edited)


def rests(block: Note, snapshot: Snapshot) -> bool:
    """Is it long enough since its last change that a loop may change it again?"""
    cooldown: float = snapshot.settings["dialectic.cooldown"]
    return snapshot.now - changed(block) >= cooldown * DAY


def trust_of(notes: Iterable[Note]) -> str:
    """Of words a model made of these notes: the weakest of them, and a model's at most."""
    return memories.weakest(["model", *(note.memory.trust for note in notes)])


def refused(title: str, text: str, snapshot: Snapshot) -> str:
    """Why these words may not stand in the orientation; "" when they may."""
    return orientation_gate.objection(
        title, first_sentence(text), text, snapshot.settings["distil.characters"]
    )


def pared(text: str) -> str:
    """A text without the sentences that the gate stops: one of them is no reason to leave out the
    others."""
    left = text
    for start, end in reversed(claims.sentence_spans(text)):
        if orientation_gate.prescribes(text[start:end]):
            left = f"{left[:start].rstrip(' ')} {left[end:].lstrip(' ')}"
    lines = (line.rstrip() for line in left.splitlines())
    return "\n".join(line for line in lines if not line or any(map(str.isalnum, line))).strip()


def fair_title(title: str, text: str) -> str:
    """The title, or how the text begins where the gate stops a title that speaks to nobody: a
    heading is no sentence."""
    return (
        cut_at_word(first_sentence(text), LONGEST_TITLE)
        if text and not claims.speaks(title) and orientation_gate.prescribes(title)
        else title
    )


def made(title: str, text: str, sources: Sequence[Note], lineage: Sequence[str]) -> New:
    """A new block that says what these notes say and is derived from `lineage` (ids)."""
    meta = {
        "type": "orientation",
        "title": title.strip(),
        "description": first_sentence(text),
        "trust": trust_of(sources),
    }
    return New(meta | {"derived_from": list(lineage)}, text.strip() + "\n")


def said_anew(
    block: Note, title: str, text: str, sources: Sequence[Note] = (), more: Sequence[str] = ()
) -> Set:
    """Other words for a block, resting on these sources besides its own, and on `more` (ids)."""
    m = block.memory
    changes: dict[str, object] = {
        "title": title.strip(),
        "description": first_sentence(text),
        "timestamp": NOW,
    }
    lineage = list(dict.fromkeys([*m.derived_from, *(source.id for source in sources), *more]))
    if lineage != list(m.derived_from):
        changes["derived_from"] = lineage
    if (trust := trust_of([block, *sources])) != m.trust:
        changes["trust"] = trust
    return Set(block.id, changes, text.strip() + "\n")


def rotated(notes: Iterable[Note], now: float) -> list[Note]:
    """In an order that begins somewhere else every day, so that a limit passes none over for ever;
    others coming and going do not move a note."""
    start = now // DAY * GOLDEN % 1.0
    return sorted(notes, key=lambda note: ((_place(note.id) - start) % 1.0, note.id))


def _place(ident: str) -> float:
    return int.from_bytes(sha256(ident.encode()).digest()[:6]) / 2**48


def words(text: str) -> frozenset[str]:
    """Its content words."""
    return frozenset(analyse(text).words)


def alike(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    """Do two texts consist of mostly the same words?"""
    return bool(mine and theirs) and len(mine & theirs) >= SAME * min(len(mine), len(theirs))


POLICY: Final = 3
TIMES: Final = 2
REWORD: Final = (
    f"{DESCRIBE}\n\nThe last text is to become one block, which rests on the notes before it, and "
    "may not stand as it is, for the reason behind it. Say the same so that it may. A rule or a "
    "wish is told as what somebody has, wants or does (`Ana's figures use one palette`, `Ana wants "
    "short answers`), what rests on nothing is left out, and so is what matters least where it is "
    "too long. Add nothing. At most {limit} characters."
)


BECAUSE: Final = " (Not as it stands, since "
"""What stands behind such a text, before the reason."""


class Reworded(Answer):
    """The same in words that may stand there."""

    text: str = Field(max_length=8_000)


@dataclass(frozen=True)
class Draft:
    """Words for a new block, or for `target`; no text: only `sources` are added to its lineage."""

    title: str
    text: str
    reason: str
    sources: tuple[Note, ...]
    target: Note | None = None
    questions: tuple[str, ...] = ()
    judge: str = ""


def objection(draft: Draft, snapshot: Snapshot) -> str:
    """Why its words may not become a block, all of it, "" when they may."""
    whys = (
        refused(draft.title, draft.text, snapshot),
        unfounded(draft.title, draft.text, _ground(draft)),
    )
    return ", and ".join(filter(None, whys))


def _ground(draft: Draft) -> tuple[Note, ...]:
    return (*((draft.target,) if draft.target else ()), *draft.sources)


def fitted(
    snapshot: Snapshot, drafts: Sequence[Draft]
) -> Generator[list[Question], Mapping[str, Verdict], list[Draft]]:
    """The drafts, with other words where theirs may not stand, as far as the judge can, else
    without the sentences that may not, where others are left that say more than is known. None,
    while somebody is still to say one of them: what another block says would ask for it anew."""
    limit: int = snapshot.settings["distil.characters"]
    found = list(drafts)
    for _ in range(TIMES):
        again: dict[int, Question] = {}
        for at, draft in enumerate(found):
            if not draft.text.strip() or draft.judge == RULES:
                continue
            titled = cut_at_word(first_sentence(draft.text), LONGEST_TITLE)
            if why := objection(replace(draft, title=titled), snapshot):  # not the title's fault
                again[at] = _reword(draft, why, limit)
        if not again:
            break
        verdicts = yield list({one.id: one for one in again.values()}.values())
        if any(verdicts[one.id].waits for one in again.values()):
            return []
        for at, one in again.items():
            verdict = verdicts[one.id]
            if isinstance(verdict.answer, Reworded) and verdict.answer.text.strip():
                asked = (*found[at].questions, one.id)
                found[at] = replace(found[at], text=verdict.answer.text, questions=asked)
    return [_pared(draft, limit) for draft in found]


def _pared(draft: Draft, limit: int) -> Draft:
    why = orientation_gate.objection(draft.title, first_sentence(draft.text), draft.text, limit)
    text = pared(draft.text) if why else ""
    known = draft.target.memory.body if draft.target else ""
    same = text in ("", draft.text.strip())
    if same or set(claims.sentences(text)) <= set(claims.sentences(known)):
        return draft
    return replace(draft, text=text, reason=f"{draft.reason}; without a part, because {why}")


def _reword(draft: Draft, why: str, limit: int) -> Question:
    return Question(
        "distil.reword",
        REWORD.format(limit=limit),
        Reworded,
        tuple(one.shown(*one.circumstances()) for one in _ground(draft)),
        given=f"{draft.text.strip()}{BECAUSE}{why})",
        policy=POLICY,
        stage="distil.reword",
    )
