"""What is put before a model with a person's words, unasked: the few memories that bear on them, or
nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from oneiro_vault import answers
from oneiro_vault.core.markdown.orientation import estimate, shorten
from oneiro_vault.core.markdown.quoting import PREFACE, quote
from oneiro_vault.core.text.query import analyse, fts_expression
from oneiro_vault.errors import InvalidInput, shown
from oneiro_vault.index.base import Row, Vectors
from oneiro_vault.operations.runtime import House
from oneiro_vault.recall.passive import strict
from oneiro_vault.recall.request import Asked, Found
from oneiro_vault.recall.search import Search

LIMIT: Final = 8_000
"""UTF-16 code units of one injection: clients cut at 10,000 and then show a file name instead."""
_CANDIDATES: Final = 8
_LONGEST: Final = 4_000
"""Characters of a prompt that are asked about: what comes after is a log or a file."""
_WHOLE: Final = 200
"""Tokens up to which a note is shown as a whole; of a longer one the passage that fits."""
_MARK: Final = "…"


def inject(
    house: House,
    prompt: str,
    tokens: int | None = None,
    session: str | None = None,
    known: Sequence[str] = (),
    project: str | None = None,
) -> answers.Injected:
    """The memories that strictly fit a prompt, quoted, in at most `tokens`; `text` is empty when
    none does. Reinforces nothing. An empty prompt only says that a conversation begins.

    What is in the conversation already stays out: memories of that `session`, and those whose ids
    are `known`. So do captures: a prompt would get its own earlier wording back.
    """
    tokens = house.settings["inject.tokens"] if tokens is None else tokens
    if tokens < 0:
        raise InvalidInput(f"tokens must be a whole number, 0 or more, not {shown(tokens)}")
    house.attend()
    if not tokens or not analyse(prompt[:_LONGEST]).words:
        return _answer([], None)
    behind = house.converge()
    query = prompt[:_LONGEST]
    vector, degraded = house.query_vector(query, wait=False)
    search = Search(house.index, house.remembered(), house.weights)
    from oneiro_vault.classify.classifier import looks_back  # as in `drafts`

    past = looks_back(query)
    found = search.run(
        Asked(query, _CANDIDATES, passive=True, captures=False, history=past), vector
    )
    new = {one.row.handle: one for one in found if _is_news(one.row, session, set(known), past)}
    rows = strict(house.index, query, vector, [one.row for one in new.values()])
    rows.sort(
        key=lambda row: bool(project) and row.project != project
    )  # a nudge, not a wall: what fits from elsewhere stays
    later = {handle: one.newer for handle, one in new.items() if one.newer}
    rows = _in_order(rows, found) if past else _newest_first(rows, new, later)
    return _answer(_fitting(_pieces(house, query, vector, rows), tokens, later), degraded, behind)


def _in_order(rows: Sequence[Row], found: Sequence[Found]) -> list[Row]:
    kept = {row.handle for row in rows}
    return [one.row for one in found if one.row.handle in kept]


def _newest_first(
    rows: Sequence[Row], new: Mapping[str, Found], later: Mapping[str, str]
) -> list[Row]:
    """Nothing goes in without what says the same of a later day."""
    found: dict[str, Row] = {}
    for row in rows:
        newer = later.get(row.handle, "")
        if newer in new:
            found.setdefault(newer, new[newer].row)
        if not newer or newer in new:
            found.setdefault(row.handle, row)
    return list(found.values())


def _is_news(row: Row, session: str | None, known: set[str], past: bool) -> bool:
    of_use = row.status == "active" or (past and row.status == "superseded")
    return (
        of_use
        and row.type != "orientation"
        and row.handle not in known
        and not (session and row.session == session)
    )


def _pieces(
    house: House, query: str, vector: Vectors | None, rows: Sequence[Row]
) -> list[tuple[str, str]]:
    keys = [row.key for row in rows]
    bodies = house.index.bodies(keys)
    long = [key for key in keys if estimate(bodies.get(key, "")) > _WHOLE]
    spans = (
        house.index.best_passages(fts_expression(house.index.terms(query)), long) if long else {}
    )
    if long and vector is not None:
        spans = spans | house.index.nearest_passages(vector, long)
    found = []
    for row in rows:
        body = bodies.get(row.key, "").strip()
        start, end = spans.get(row.key, (0, len(body)))
        words = bodies[row.key][start:end].strip() if row.key in spans else body
        found.append((row, words if len(words) == len(body) else f"{words}\n{_MARK}"))
    return [(row.handle, _quoted(row, words)) for row, words in found if words]


def _quoted(row: Row, words: str) -> str:
    words = shorten(words, _WHOLE) or row.description
    title = row.title.removesuffix("…").strip()
    head = "" if " ".join(words.split()).lstrip("#>-* ").startswith(title) else f"{row.title}\n"
    return quote(
        head + words,
        id=row.handle,
        created=row.created[:10],
        trust=row.trust,
        source=row.source,
        replaced_by=row.superseded_by,
    )


def _fitting(
    pieces: Sequence[tuple[str, str]], tokens: int, later: Mapping[str, str]
) -> list[tuple[str, str]]:
    left, room = tokens - estimate(PREFACE), LIMIT - len(PREFACE)
    kept: list[tuple[str, str]] = []
    for ident, text in pieces:
        cost, units = estimate(text), len(text.encode("utf-16-le", "surrogatepass")) // 2 + 1
        if cost <= left and units <= room and (ident not in later or later[ident] in dict(kept)):
            kept.append((ident, text))
            left, room = left - cost, room - units
    return kept


def _answer(
    pieces: Sequence[tuple[str, str]], degraded: str | None, behind: int = 0
) -> answers.Injected:
    text = "\n".join([PREFACE, *(text for _, text in pieces)]) if pieces else ""
    return {
        "schema": 1,
        "text": text,
        "ids": [ident for ident, _ in pieces],
        "degraded": degraded,
        "behind": behind,
    }
