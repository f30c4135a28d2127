"""Words on their way into a block: what is too long is shortened by the judge, twice at most, and
else not written."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import Field

from oneiro_vault.core.question import Answer, Question, Verdict
from oneiro_vault.mind.base import Note, Snapshot
from oneiro_vault.mind.blocks import DESCRIBE

POLICY: Final = 1
TIMES: Final = 2
SHORTEN: Final = (
    f"{DESCRIBE}\n\nThe text below is to become one block and is too long. Say the same in at "
    f"most {{limit}} characters: leave out what "
    "matters least, add nothing."
)


class Shorter(Answer):
    """The same in fewer words."""

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


def fitted(
    snapshot: Snapshot, drafts: Sequence[Draft]
) -> Generator[list[Question], Mapping[str, Verdict], list[Draft]]:
    """The drafts, long ones shortened as far as the judge can."""
    limit: int = snapshot.settings["distil.characters"]
    found = list(drafts)
    for _ in range(TIMES):
        long = [at for at, draft in enumerate(found) if len(draft.text.strip()) > limit]
        if not long:
            break
        verdicts = yield [shorten(found[at].text, limit) for at in long]
        for at in long:
            verdict = verdicts[shorten(found[at].text, limit).id]
            if isinstance(verdict.answer, Shorter) and verdict.answer.text.strip():
                found[at] = replace(
                    found[at],
                    text=verdict.answer.text,
                    questions=(*found[at].questions, verdict.question),
                )
    return found


def shorten(text: str, limit: int) -> Question:
    """The same in fewer words?"""
    return Question(
        "distil.compress",
        SHORTEN.format(limit=limit),
        Shorter,
        given=text,
        policy=POLICY,
        stage="distil.compress",
    )
