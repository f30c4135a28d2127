"""A memory that grew into several becomes several: each piece says one thing, all of them together
say all that it said. What a person wrote is theirs to divide, and an insight is meant to hold
several things together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from oneiro_vault.core.memory import weakest
from oneiro_vault.core.question import Answer, Question, Verdict
from oneiro_vault.core.text import claims
from oneiro_vault.mind.base import Asking, Decision, New, Note, Set, Snapshot, asked_each
from oneiro_vault.mind.loops.resolve import LINKS, names

KIND: Final = "split"
POLICY: Final = 1
WHOLE: Final = 0.95
"""Share of the original's words that its pieces must have together."""
OWN: Final = 0.6
"""Share of a piece's words that the original must have."""
FOCUSED: Final = 0.8
"""A piece that says this much of the original is no piece."""
_KEPT: Final = ("created project importance confidence valid_from valid_until kind level").split()
INSTRUCTION: Final = (
    "Does this note mix several subjects that have nothing to do with each other, so that whoever "
    "asks about one gets the others as well? Choose split only if it clearly does. A rule with "
    "its reasons and examples, the parts of one event, one person seen from several sides, a "
    "relationship, somebody's health or feelings belong together: choose keep. When in doubt "
    "choose keep. If you split: `pieces` are two or more notes, each on one subject and "
    "understood without the others, in the note's own words as far as possible; together they "
    "keep every statement, name, number, date, link and condition of the note, and add nothing. "
    "`about`: the names a piece is about."
)


class Piece(BaseModel):
    """One of the notes that a conflated one becomes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    title: str = Field(min_length=1, max_length=200)
    content: str = Field(min_length=1, max_length=8000)
    about: list[str] = Field(default_factory=list, max_length=12)


class Split(Answer):
    """Is a note several?"""

    action: Literal["split", "keep"]
    pieces: list[Piece] = Field(default_factory=list, max_length=12)


name: Final = "split"


def run(snapshot: Snapshot) -> Asking:
    """One question a note, those that most was made of first."""
    found = {(one := question(note)).id: (one, note) for note in nominated(snapshot)}

    def decide(one: Question, verdict: Verdict) -> Decision | None:
        assert isinstance(verdict.answer, Split)
        return splitting(found[one.id][1], verdict.answer, one.id, verdict.judge)

    return (
        yield from asked_each(
            [one for one, _ in found.values()],
            snapshot.settings["split.notes"],
            snapshot,
            decide,
        )
    )


def nominated(snapshot: Snapshot) -> list[Note]:
    """Notes that are long, or of which several orientation blocks were made; a sign of weight, not
    yet of conflation."""
    settings = snapshot.settings
    found = [
        note
        for note in snapshot.of("semantic")
        if note.memory.trust != "user"
        and note.memory.level == 0
        and len(claims.split_sentences(note.memory.body)) > 1
        and (
            len(note.memory.body) > settings["split.length"]
            or axes(note, snapshot) >= settings["split.axes"]
        )
    ]
    return sorted(found, key=lambda note: (-axes(note, snapshot), -len(note.memory.body), note.id))


def axes(note: Note, snapshot: Snapshot) -> int:
    """Of how many orientation blocks is it a source?"""
    made = (snapshot.notes.get(child) for child in set(note.children))
    return sum(
        1
        for child in made
        if child is not None and child.active and child.memory.type == "orientation"
    )


def question(note: Note) -> Question:
    """Is it several?"""
    return Question(KIND, INSTRUCTION, Split, (note.shown(),), policy=POLICY, stage="split")


def splitting(note: Note, answer: Split, asked: str, judge: str) -> Decision | None:
    """The decision in an answer; None for one that keeps the note, or whose pieces lose or add
    something."""
    pieces = answer.pieces
    if (
        answer.action != "split"
        or len(pieces) < 2
        or not faithful(note.memory.body, note.memory.title, [one.content for one in pieces])
    ):
        return None
    news = tuple(
        New(meta(note, piece), piece.content.strip(), f"piece{number}")
        for number, piece in enumerate(pieces, 1)
    )
    largest = max(news, key=lambda new: claims.share(note.memory.body, new.body))
    old = Set(note.id, {"status": "superseded", "superseded_by": f"new:{largest.key}"})
    return Decision(
        "split",
        "split",
        note.memory.title,
        answer.reason,
        (*news, old),
        (note.id,),
        (asked,),
        judge,
    )


def meta(note: Note, piece: Piece) -> dict[str, object]:
    """The frontmatter of a piece: everything but its words is the original's."""
    memory = note.memory
    kept = {key: getattr(memory, key) for key in _KEPT}
    found = kept | {
        "type": memory.type,
        "title": " ".join(piece.title.split()),
        "tags": list(memory.tags),
        "about": names(piece.about),
        "trust": weakest(["model", memory.trust]),
        "derived_from": [note.id],
        "supersedes": [note.id],
    }
    return {key: value for key, value in found.items() if value not in ("", [], None, 0)}


def faithful(original: str, title: str, pieces: Sequence[str]) -> bool:
    """Do the pieces together keep the original's words, numbers and links, with nothing of their
    own?"""
    together = "\n".join(pieces)
    return (
        claims.share(original, together) >= WHOLE
        and claims.numbers(together) <= claims.numbers(f"{title}\n{original}")
        and claims.numbers(original) <= claims.numbers(together)
        and set(LINKS.findall(original)) <= set(LINKS.findall(together))
        and all(
            claims.share(piece, f"{title}\n{original}") >= OWN
            and claims.share(original, piece) < FOCUSED
            for piece in pieces
        )
    )
