"""What a request to remember says that the vault knows already, and what it says is over."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Final

from oneiro_vault import answers
from oneiro_vault.api import Progress
from oneiro_vault.core import memory as memories
from oneiro_vault.core.conversation import personal
from oneiro_vault.core.markdown.taxonomy import prose
from oneiro_vault.core.memory import captured, profile
from oneiro_vault.core.text import corrections, polarity
from oneiro_vault.core.text.claims import split_sentences
from oneiro_vault.core.text.equality import says_all
from oneiro_vault.core.text.numbers import figures
from oneiro_vault.core.text.query import analyse, content_words, fts_expression
from oneiro_vault.errors import AmbiguousId, InvalidInput, NotFound
from oneiro_vault.index.base import Filters, Row
from oneiro_vault.operations.remember.drafts import KEPT, Draft
from oneiro_vault.operations.runtime import House
from oneiro_vault.recall.answer_order import FACT, LASTS
from oneiro_vault.recall.relevance import weigh
from oneiro_vault.recall.request import Asked
from oneiro_vault.recall.search import Search

_CANDIDATES: Final = 12
_MAY_BE: Final = 0.2
_CLEAR: Final = 0.35
_APART: Final = 0.1
"""What has to speak for a memory (`relevance.weigh`) that a text may correct, that it clearly does,
and how far the next one must be behind."""
_SPOKEN_OF: Final = 0.5
"""Share of a sentence's words that a correction has which speaks of it."""
_MINUTES: Final = re.compile(r"\b(\d{1,2})[.:](?!00)(\d\d)\b")
_LOOKED_AT: Final = 8
"""Memories that hold all words of a new one and are compared with it: the shortest."""
_DUPLICATE: Final = 0.85
"""Word overlap at which a new memory is the same one again."""
SHARED: Final = 0.5
NEAR: Final = 0.8
"""Share of their words, or cosine with a passage, from which two memories are much alike: named are
.86 of the same claims of the labelled pairs (`tests/mind/pairs.jsonl`; .98 of the near-duplicates,
.59 of the paraphrases) and, on purpose, most of what looks like one."""


class Already:
    """Looks up drafts. `importing`: many at once, or a stream of them; then what was forgotten
    stays forgotten. `taken`: ids that this stream was answered with before: equal turns of a
    conversation are different events, so each meets another memory, or none."""

    def __init__(self, house: House, importing: bool, taken: Collection[str] = ()) -> None:
        self._house = house
        self._importing = importing
        self._taken = set(taken)

    def find(self, drafts: Mapping[int, Draft]) -> tuple[dict[int, Row], dict[int, InvalidInput]]:
        """By position: the memory that is there, and why a draft must not become one."""
        same = self._house.index.same({draft.words for draft in drafts.values()})
        found: dict[int, Row] = {}
        refused: dict[int, InvalidInput] = {}
        for position, draft in drafts.items():
            try:
                row = self._holder(draft, same.get(draft.words, [])) or self._row(
                    draft, same.get(draft.words, [])
                )
                if row is not None:
                    found[position] = row
                    self._taken.add(row.handle)
                else:
                    self._refuse_forgotten(draft)
            except InvalidInput as error:
                refused[position] = error
        return found, refused

    def _holder(self, draft: Draft, same: Collection[Row]) -> Row | None:
        rows = (
            [row for row in self._house.index.get(draft.id) if row.id == draft.id]
            if draft.named
            else []
        )
        if rows and rows[0].path not in {row.path for row in same}:
            raise InvalidInput(
                f"{draft.id} is already the id of {rows[0].path}, which says something else",
                kept=KEPT,
                hint="`oneiro reframe` changes that memory; without `id` this becomes another one.",
            )
        return rows[0] if rows else None

    def _row(self, draft: Draft, same: Collection[Row]) -> Row | None:
        turn = "session" in draft.meta
        if turn and not self._importing:
            return None
        return next(
            (
                row
                for row in same
                if fits(draft, row.when, row.session) and not (turn and row.handle in self._taken)
            ),
            None,
        )

    def _refuse_forgotten(self, draft: Draft) -> None:
        gone = self._house.uses.forgotten()
        said = gone.get(draft.words)
        purged = said is not None and said.get("e") == "purge"
        event = (gone.get(draft.id) if draft.named else None) or (
            said if self._importing or purged else None
        )
        if event is not None and event.get("e") == "purge":
            raise InvalidInput(
                f"a memory that said this was purged on {str(event.get('t', ''))[:10]}",
                kept=KEPT,
                hint="If a person wants it back: `oneiro remember --again`.",
            )
        if event is not None:
            raise InvalidInput(
                f"{event['id']} said this and was forgotten on {str(event.get('t', ''))[:10]}",
                kept="Its words are still in the history.",
                hint=f"`oneiro restore {event['id']}` brings it back; `oneiro remember --again` "
                f"stores it anew.",
            )

    def in_other_words(self, draft: Draft) -> Row | None:
        """An active memory of the same type that already says all of this. Events of a session
        never do."""
        words = set(analyse(draft.body).words)
        if len(words) < 3 or "session" in draft.meta:
            return None
        for row in self._house.index.holding(words, draft.says("type"), _LOOKED_AT):
            _, known = self._house.indexing.load(row)
            if says_all(draft.body, known.body, words, _DUPLICATE):
                return row
        return None


def nearest(house: House, draft: Draft) -> Row | None:
    """The active memory of its type that reads most like `draft`, by words and, while the model is
    loaded, meaning: named to whoever stores it, never decided by. None for a turn of a
    conversation."""
    if "session" in draft.meta:
        return None
    words = analyse(draft.body)
    found = [key for key, _ in house.index.search_text(fts_expression(words), _LOOKED_AT)]
    bodies, wanted = house.index.bodies(found), set(words.words)
    near = [
        key for key in found if _overlap(wanted, set(analyse(bodies.get(key, "")).words)) >= SHARED
    ]
    vector, _ = house.vectors.query(draft.body, wait=False, asks=False)
    hits = house.index.search_vectors(vector, _LOOKED_AT) if vector is not None else []
    near += [hit.key for hit in hits if hit.kind == "own" and hit.cosine >= NEAR]
    rows = house.index.rows(near)
    kind = draft.says("type")
    fitting = (
        row
        for row in map(rows.get, near)
        if row and row.status == "active" and row.type == kind and not captured(row)
    )
    return next(fitting, None)


def corrected(house: House, text: str, progress: Progress) -> Row:
    """The one memory that a text corrects: it says so itself, or is clearly the nearest that says
    how things are. Raises AmbiguousId with those it may mean, NotFound where there is none."""
    vector, _ = house.vectors.query(text, wait=True, progress=progress, asks=False)
    filters = Filters(type=LASTS, status="active")
    asked = Asked(text, _CANDIDATES, filters, captures=False, alike=True)
    search = Search(house.index, house.uses.remembered(), house.weights)
    found = (one.row for one in search.run(asked, vector))
    rows = [row for row in found if not captured(row) and not profile(row)]
    bodies = house.index.bodies([row.key for row in rows])
    weighed = dict(zip(rows, weigh(house.index, text, vector, rows), strict=True))
    if over := _denied(text):  # what says the denied itself is meant, not what has the new already
        wrong = [row for row in rows if _affirms(bodies.get(row.key, ""), over)]
        rows = [row for row in wrong if weighed[row] >= _CLEAR] or rows
    said = [row for row in rows if corrections.corrects(text, bodies.get(row.key, "").strip())]
    if len(said) == 1:
        return said[0]
    order = sorted(((weighed[row], row) for row in rows), key=lambda one: -one[0])
    near = [(weight, row) for weight, row in order if weight >= _MAY_BE]
    if not near:
        raise NotFound(
            "nothing here says something of that",
            kept=KEPT,
            hint="`oneiro remember` stores it; `--replaces ID` names what it replaces.",
        )
    if near[0][0] >= _CLEAR and (len(near) == 1 or near[0][0] - near[1][0] >= _APART):
        return near[0][1]
    which = "; ".join(f"{row.handle} ({row.title})" for _, row in near[:4])
    raise AmbiguousId(
        f"which of these it corrects is not clear: {which}",
        kept=KEPT,
        hint="Name it: `oneiro correct --id ID TEXT`.",
    )


def _denied(text: str) -> Collection[str]:
    """What a text says is not so (", not at 10", "instead of Thursday"): its numbers, or without
    any its telling words."""
    over = " ".join(text[start:end] for start, end in corrections.denied(text))
    return figures(over) or polarity.stems(over)


def _affirms(body: str, over: Collection[str]) -> bool:
    """Does a memory say, and not deny itself, all that is over? 10:30 does not say 10."""
    said = personal.bare(body)
    for start, end in corrections.denied(said):
        said = f"{said[:start]}{' ' * (end - start)}{said[end:]}"
    said = _MINUTES.sub(lambda one: one[0] if f"{one[1]}.{one[2]}" in over else " ", said)
    return {*over} <= figures(said) | polarity.stems(said)


def besides(house: House, text: str, known: memories.Memory) -> str:
    """The sentences of a short memory that a correction does not speak of: all but those whose
    words it has and the one nearest to it, of which stays what it says beyond a value that is
    denied. Nothing of one in another form than plain sentences."""
    body = prose(known.body).strip()
    sentences = [one for one in split_sentences(body) if one.strip()]
    if len(body) > FACT or "\n" in body:
        return ""
    if len(sentences) < 2:
        return corrections.beyond(text, body)
    said = content_words(text)
    shares = [_share(content_words(one), said) for one in sentences]
    vectors = [house.vectors.query(one, wait=True, asks=False)[0] for one in (text, *sentences)]
    if all(one is not None for one in vectors):
        near = [float(vectors[0] @ one) for one in vectors[1:]]
    else:
        near = shares
    nearest = max(range(len(sentences)), key=lambda at: near[at] + shares[at])
    left = [
        corrections.beyond(text, one)
        if at == nearest
        else one * (shares[at] < _SPOKEN_OF or not content_words(one))
        for at, one in enumerate(sentences)
    ]
    return " ".join(filter(None, left)).strip()


def _share(words: Collection[str], said: Collection[str]) -> float:
    return len({*words} & {*said}) / max(1, len({*words}))


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(len(one | other), 1)


def fits(draft: Draft, when: float | None, session: str) -> bool:
    """May a memory of that date and session be the one that `draft` says again?"""
    if draft.dated and memories.epoch(draft.says("created")) != when:
        return False
    return not draft.session or draft.session == session


def repeated(drafts: Mapping[int, Draft]) -> dict[int, int]:
    """Position -> the earlier position that says the very same. Turns of a conversation never
    repeat one another."""
    found: dict[int, int] = {}
    seen: dict[str, list[int]] = {}
    for position, draft in drafts.items():
        if "session" in draft.meta:
            continue
        known = seen.setdefault(draft.words, [])
        for earlier in known:
            if fits(draft, memories.epoch(drafts[earlier].says("created")), ""):
                found[position] = earlier
                break
        else:
            known.append(position)
    return found


def durable(house: House, row: Row) -> str:
    """sha256 of a memory's bytes in history ("" when not possible now); a person's file that is not
    there yet is committed first."""
    for _ in range(2):
        head = house.vault.past.heads([row.path]).get(row.path)
        if head is not None:
            return (
                row.sha256 if head == row.blob else sha256(house.vault.past.data(head)).hexdigest()
            )
        house.vault.edits.commit([row.path], quiet=0.0)
    return ""


def shown(row: Row, sha: str) -> answers.RememberedRow:
    """The answer for a memory that is there already."""
    return {
        "id": row.handle,
        "path": row.path,
        "title": row.title,
        "type": row.type,
        "sha256": sha,
        "duplicate_of": row.handle,
        "images": [],
    }
