"""What is put before a model with a person's words, unasked: the few memories that bear on them beyond doubt, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from oneiro_vault.core.budget import estimate, shorten
from oneiro_vault.core.query import analyse, fts_expression
from oneiro_vault.core.quoting import PREFACE, quote
from oneiro_vault.errors import InvalidInput, shown
from oneiro_vault.index.base import Row, Vectors
from oneiro_vault.operations.house import House
from oneiro_vault.recall.search import Asked, Search
from oneiro_vault.recall.strict import strict

LIMIT: Final = 8_000
"""UTF-16 code units of one injection: clients cut at 10,000 and then show a file name instead."""
_CANDIDATES: Final = 8
_LONGEST: Final = 4_000
"""Characters of a prompt that are asked about: what comes after is a log or a file that was pasted."""
_WHOLE: Final = 200
"""Tokens up to which a note is shown as a whole; of a longer one the passage that fits."""
_MARK: Final = "…"


def inject(
    house: House, prompt: str, tokens: int | None = None, session: str | None = None, known: Sequence[str] = (), project: str | None = None
) -> dict[str, Any]:
    """The memories that strictly fit a prompt, quoted, in at most `tokens`; `text` is empty when none does. Reinforces nothing.

    An empty prompt only says that a conversation begins. What is in the conversation already stays out: memories of that `session`, and
    those whose ids are `known`. So do captures: a prompt would get its own earlier wording back; the facts made of them answer for them.
    """
    tokens = _checked(house, prompt, tokens, known)
    house.attend()
    if not tokens or not analyse(prompt[:_LONGEST]).words:
        return _answer([], None)
    behind = house.converge()
    query = prompt[:_LONGEST]
    vector, degraded = house.query_vector(query, wait=False)
    search = Search(house.index, house.remembered(), house.weights)
    found = [one.row for one in search.run(Asked(query, _CANDIDATES, passive=True, captures=False), vector)]
    new = [row for row in found if _is_news(row, session, set(known))]
    rows = strict(house.index, query, vector, new)
    rows.sort(key=lambda row: bool(project) and row.project != project)  # a nudge, not a wall: what fits from elsewhere stays
    return _answer(_fitting(_pieces(house, query, vector, rows), tokens), degraded, behind)


def _checked(house: House, prompt: str, tokens: int | None, known: Sequence[str]) -> int:
    if not isinstance(prompt, str):
        raise InvalidInput(f"a prompt must be text, not {shown(prompt)}")
    if isinstance(known, str) or not all(isinstance(one, str) for one in known):
        raise InvalidInput("known must be a list of ids")
    tokens = house.settings["inject.tokens"] if tokens is None else tokens
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
        raise InvalidInput(f"tokens must be a whole number, 0 or more, not {shown(tokens)}")
    return tokens


def _is_news(row: Row, session: str | None, known: set[str]) -> bool:
    """Orientation is there from the beginning, and what was said in this conversation as well."""
    return row.status == "active" and row.type != "orientation" and row.handle not in known and not (session and row.session == session)


def _pieces(house: House, query: str, vector: Vectors | None, rows: Sequence[Row]) -> list[tuple[str, str]]:
    """(id, words) of each row."""
    keys = [row.key for row in rows]
    bodies = house.index.bodies(keys)
    long = [key for key in keys if estimate(bodies.get(key, "")) > _WHOLE]
    spans = house.index.best_passages(fts_expression(house.index.terms(query)), long) if long else {}
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
    """The memory with its title, unless it begins with it, as data; never more than _WHOLE tokens."""
    words = shorten(words, _WHOLE) or row.description
    title = row.title.removesuffix("…").strip()
    head = "" if " ".join(words.split()).lstrip("#>-* ").startswith(title) else f"{row.title}\n"
    return quote(head + words, id=row.handle, created=row.created[:10], trust=row.trust, source=row.source)


def _fitting(pieces: Sequence[tuple[str, str]], tokens: int) -> list[tuple[str, str]]:
    """As many as fit into the budget and the limit, the clearest first; never a part of one."""
    left, room = tokens - estimate(PREFACE), LIMIT - len(PREFACE)
    kept = []
    for ident, text in pieces:
        cost, units = estimate(text), len(text.encode("utf-16-le", "surrogatepass")) // 2 + 1
        if cost <= left and units <= room:
            kept.append((ident, text))
            left, room = left - cost, room - units
    return kept


def _answer(pieces: Sequence[tuple[str, str]], degraded: str | None, behind: int = 0) -> dict[str, Any]:
    text = "\n".join([PREFACE, *(text for _, text in pieces)]) if pieces else ""
    return {"schema": 1, "text": text, "ids": [ident for ident, _ in pieces], "degraded": degraded, "behind": behind}
