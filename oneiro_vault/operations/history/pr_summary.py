"""`pr-summary`: what a branch would change in the memory, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core.markdown.orientation import units
from oneiro_vault.core.markdown.word_diff import cell, changes, told
from oneiro_vault.core.memory import LIVE, Memory
from oneiro_vault.operations.history.diff import Comparison, Pair, compare, said
from oneiro_vault.operations.runtime import House
from oneiro_vault.recall.request import Asked
from oneiro_vault.recall.search import Search

ROWS: Final = 50
"""Rows of a table: a summary has a largest size, and a person a patience."""
PROBES: Final = 40
"""Memories that are asked for by their title."""
LARGEST: Final = 60_000
"""Characters of the whole: the text of a pull request on GitHub takes 65,536."""
LONGEST: Final = 700
"""Characters of what changed that a cell shows."""
_TOP: Final = 10


def pr_summary(
    house: House,
    range: str,  # noqa: A002  # the parameter is published
    progress: Progress = quiet,
) -> answers.PullRequest:
    """What the commits of `range` (BASE..HEAD) change, as tables. Raises InvalidInput for a range
    that is none."""
    found = compare(house.vault, range)
    tables = _tables(found)
    recall = _probed(house, found, progress)
    text = _page(found, tables, _recall(found, recall))
    counts = {name: len(rows) for name, (_, rows) in tables.items()}
    return {
        "schema": 1, "base": found.base or None, "head": found.head, "commits": found.commits,
        "counts": counts,
        "recall": recall, "unreadable": found.unreadable, "markdown": text,
    }  # fmt: skip


def _page(found: Comparison, tables: dict[str, Table], recall: str) -> str:
    rows = ROWS
    while True:
        shown = [_table(name, *table, rows) for name, table in tables.items() if table[1]]
        text = "\n".join([_opening(found, tables), *shown, recall])
        if len(text) <= LARGEST or not rows:
            return text
        rows //= 2


Table = tuple[Sequence[str], list[Sequence[str]]]


def _tables(found: Comparison) -> dict[str, Table]:
    rows: dict[str, list[Sequence[str]]] = {name: [] for name in _COLUMNS}
    for key, pair in found.pairs.items():
        if pair.contradicted:
            rows["Contradicted"].append(
                [
                    _name(pair.now),
                    cell(", ".join(pair.doubts)),
                    cell(pair.now.body),
                    _why(found, key),
                ]
            )
        if pair.loaded:
            rows["Orientation"].append(
                [_name(pair.now), *_block(found, key, pair), _why(found, key)]
            )
        elif heading := _HEADINGS.get(found.fate(key)):
            rows[heading].append(_row(found, key, pair, heading))
    return {name: (columns, rows[name]) for name, columns in _COLUMNS.items()}


_COLUMNS: Final = {
    "Newly believed": ("memory", "says", "from", "why"),
    "Revised": ("memory", "words", "why"),
    "Merged": ("memory", "said", "into", "why"),
    "Retired": ("memory", "said", "now", "why"),
    "Contradicted": ("memory", "question", "says", "why"),
    "Orientation": ("block", "before", "after", "why"),
    "Waiting for a decision": ("memory", "proposes", "from", "why"),
}


_HEADINGS: Final = {
    "new": "Newly believed",
    "revised": "Revised",
    "merged": "Merged",
    "retired": "Retired",
    "pending": "Waiting for a decision",
}


def _row(found: Comparison, key: str, pair: Pair, heading: str) -> Sequence[str]:
    note, why = pair.now, _why(found, key)
    if heading == "Revised":
        assert pair.before is not None
        assert pair.after is not None
        return [_name(note), _marked(*said(pair.before, pair.after)), why]
    if heading in ("Merged", "Retired"):
        became = _heir(found, pair) if heading == "Merged" else _fate(found, pair)
        return [_name(note), cell(pair.before.body if pair.before else ""), became, why]
    return [_name(note), cell(note.body), _origin(note), why]


def _marked(old: str, new: str) -> str:
    """Blanks stand around the marks: beside a letter, GitHub does not take them for marks."""
    return told(changes(old, new), " ~~{}~~ ", " **{}** ", around=5, limit=LONGEST, clean=cell)


def _name(note: Memory) -> str:
    return (
        f"**{cell(note.title, 100)}** "
        f"({cell(note.type, 20)}{f', `{note.id[:8]}`' if note.id else ''})"
    )


def _why(found: Comparison, key: str) -> str:
    entry = found.why.get(key)
    if entry is None:
        return "by hand"
    reason = cell(entry.reason) or cell(entry.op)
    return reason + (f" (judged by {cell(entry.judge, 40)})" if entry.judge else "")


def _origin(note: Memory) -> str:
    sources = f", of {len(note.derived_from)} memories" if note.derived_from else ""
    return f"{cell(note.source or 'a person', 40)}, trusted as {cell(note.trust, 20)}{sources}"


def _heir(found: Comparison, pair: Pair) -> str:
    ident = pair.now.superseded_by
    heir = found.pairs.get(ident)
    return _name(heir.now) if heir else f"`{cell(ident, 12)}`" if ident else ""


def _fate(found: Comparison, pair: Pair) -> str:
    if pair.after is None:
        return "forgotten"
    if pair.after.status in LIVE:
        return f"held until {cell(pair.after.valid_until, 30)}"
    return " by ".join(filter(None, (cell(pair.after.status, 20), _heir(found, pair))))


def _block(found: Comparison, key: str, pair: Pair) -> tuple[str, str]:
    before, after = (side.get(key) for side in found.blocks)
    was = cell(before.body) if before else "not loaded"
    if before and after:
        old, new = said(before, after)
        return was, _marked(old, new) if old != new else "the same words"
    return was, cell(
        after.body
    ) if after else f"not loaded ({cell(pair.after.status, 20) if pair.after else 'forgotten'})"


def _opening(found: Comparison, tables: dict[str, Table]) -> str:
    parts = [f"{len(rows)} {name.lower()}" for name, (_, rows) in tables.items() if rows]
    kept = sum(pair.kind == "kept" and not pair.loaded for pair in found.pairs.values())
    parts += [f"{kept} with only their frontmatter changed"] if kept else []
    parts += [f"{found.captures} captured conversations"] if found.captures else []
    lines = ["## What this changes in the memory\n"]
    commits = "1 commit" if found.commits == 1 else f"{found.commits} commits"
    lines.append(
        f"{commits}: {', '.join(parts)}.\n"
        if parts
        else f"{commits}: nothing that is believed changes.\n"
    )
    if found.unreadable:
        lines.append(
            f"Not readable as notes, so not looked at: "
            f"{', '.join(cell(path, 120) for path in found.unreadable[:10])}.\n"
        )
    return "\n".join(lines)


def _table(name: str, columns: Sequence[str], rows: list[Sequence[str]], most: int) -> str:
    more = f"\nand {len(rows) - most} more.\n" if len(rows) > most else ""
    lines = [
        f"### {name} ({len(rows)})\n",
        f"| {' | '.join(columns)} |",
        "|" + "---|" * len(columns),
    ]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows[:most])]) + "\n" + more


# -- recall


def _probed(house: House, found: Comparison, progress: Progress) -> answers.ProbeCount | None:
    """Finds what has faded as well: that a memory is old is not this branch's doing."""
    if found.head != house.vault.head():
        return None
    house.indexing.converge()
    search = Search(house.index, house.uses.remembered(), house.weights)
    asked = ("new", "revised", "retired")
    pairs = [
        (key, pair)
        for key, pair in found.pairs.items()
        if pair.after is not None and not pair.loaded
    ]
    wanted = [(key, pair) for key, pair in pairs if pair.kind in asked][:PROBES]
    lost: list[str] = []
    for number, (key, pair) in enumerate(wanted):
        progress("asking", number, len(wanted))
        if not _found(house, search, pair.now.title, {key, *_heirs(found, key, pair)}):
            lost.append(pair.now.title)
    return (
        {"asked": len(wanted), "found": len(wanted) - len(lost), "lost": lost} if wanted else None
    )


def _heirs(found: Comparison, key: str, pair: Pair) -> Iterator[str]:
    if pair.now.superseded_by:
        yield pair.now.superseded_by
    for other, one in found.pairs.items():
        if one.after is not None and key in (*one.after.supersedes, *one.after.derived_from):
            yield other


def _found(house: House, search: Search, title: str, idents: set[str]) -> bool:
    if not title.strip():
        return True  # a title that is no question loses nothing
    rows = search.run(Asked(title, _TOP), house.vectors.query(title, wait=False)[0])
    return any(one.row.handle in idents or one.row.path in idents for one in rows)


def _recall(found: Comparison, probed: answers.ProbeCount | None) -> str:
    lines = []
    if found.reports:
        probes, before, after, dropped = (
            sum(column) for column in zip(*found.reports, strict=True)
        )
        text = (
            f"{probes} probes; {before} found their memory before, {after} after; {dropped} "
            f"decisions dropped for it"
        )
        runs = "1 run" if len(found.reports) == 1 else f"{len(found.reports)} runs"
        lines.append(f"- {runs} of loops: {text}.")
    if probed:
        lost = (
            f" Not found: {', '.join(cell(title, 80) for title in probed['lost'][:10])}."
            if probed["lost"]
            else ""
        )
        lines.append(
            f"- Asked now by their titles, {probed['found']} of {probed['asked']} are among the "
            f"first {_TOP}.{lost}"
        )
    before, after = (
        (len(side), sum(units(note.body) for note in side.values())) for side in found.blocks
    )
    lines.append(
        f"- Always loaded: {before[0]} blocks with {before[1]:,} characters before, {after[0]} "
        f"with {after[1]:,} after."
    )
    return "\n".join(["### Recall\n", *lines]) + "\n"
