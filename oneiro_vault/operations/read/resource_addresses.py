"""What resource addresses stand for: stamps of what is behind them, completions, and the reports of
a night."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from oneiro_vault import answers
from oneiro_vault.core import memory as memories
from oneiro_vault.errors import InvalidInput, NotFound, OneiroError, shown
from oneiro_vault.operations.indexing import Indexing

MOST: Final = 100
"""Values of one completion; the protocol allows no more."""
_FOLDER: Final = "dreams"
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_PART: Final = re.compile(r"[\w-]*")


def stamps(
    indexing: Indexing, /, ids: Sequence[str] = (), dates: Sequence[str] = ()
) -> answers.Stamps:
    """A hash for each memory (None: there is none), the whole orientation, and the reports of each
    date; another one means another content."""
    indexing.converge()
    rows = indexing.index.list(type="orientation", limit=10_000)
    standing = _hash(*sorted(f"{row.path} {row.sha256}" for row in rows))
    return {
        "schema": 1,
        "memories": {ident: _stamp(indexing, ident) for ident in ids},
        "orientation": standing,
        "dreams": {
            date: _hash(
                *(indexing.vault.files.blob(path) or "" for path in _reports(indexing, date))
            )
            for date in dates
        },
    }


def _stamp(indexing: Indexing, ident: str) -> str | None:
    row = indexing.index.only(ident.strip()) if ident.isascii() else None
    return row.sha256 if row else None


def _hash(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def complete(indexing: Indexing, /, kind: str, prefix: str = "") -> answers.Completed:
    """Ids (`memory`) or dates (`dream`) that begin with `prefix`, newest first, at most 100, and
    how many there are."""
    if kind not in ("memory", "dream"):
        raise InvalidInput(
            f"there are no completions for {shown(kind)}", hint="kind is memory or dream."
        )
    if not _PART.fullmatch(prefix):
        return {"schema": 1, "values": [], "total": 0}
    indexing.converge()
    if kind == "dream":
        found = [date for date in dates(indexing) if date.startswith(prefix)]
        return {"schema": 1, "values": found[:MOST], "total": len(found)}
    if not prefix:
        return {
            "schema": 1,
            "values": [row.handle for row in indexing.index.list(limit=MOST)],
            "total": indexing.index.count(),
        }
    rows = sorted(indexing.index.get(prefix), key=lambda row: row.when or 0.0, reverse=True)
    return {"schema": 1, "values": [row.handle for row in rows[:MOST]], "total": len(rows)}


def dates(indexing: Indexing) -> list[str]:
    """The dates that have a report, newest first."""
    names = indexing.vault.files.names
    found = {
        match[0]
        for year in names(_FOLDER)
        for month in names(f"{_FOLDER}/{year}")
        for name in names(f"{_FOLDER}/{year}/{month}")
        if (match := _DATE.match(name))
        and match[0].startswith(f"{year}-{month}-")
        and name.endswith(".md")
    }
    return sorted(found, reverse=True)


def reports(indexing: Indexing, /, date: str) -> answers.Reports:
    """The reports of one date (`2026-11-22`), in the order of their names. Raises NotFound when
    there is none."""
    if not _DATE.fullmatch(date):
        raise InvalidInput(f"{shown(date)} is not a date", hint="A date looks like 2026-11-22.")
    found: list[answers.ReportRow] = []
    for path in _reports(indexing, date):
        try:
            known = memories.parse(path, indexing.vault.read(path))
        except OneiroError:
            continue
        found.append(
            {"path": path, "title": known.title, "created": known.created, "body": known.body}
        )
    if not found:
        raise NotFound(
            f"there is no report of {date}", hint="Completions list the dates that have one."
        )
    return {"schema": 1, "date": date, "reports": found}


def _reports(indexing: Indexing, date: str) -> list[str]:
    if not _DATE.fullmatch(date):
        return []
    folder = f"{_FOLDER}/{date[:4]}/{date[5:7]}"
    return [
        f"{folder}/{name}"
        for name in sorted(indexing.vault.files.names(folder))
        if name.startswith(date) and name.endswith(".md")
    ]
