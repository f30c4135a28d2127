"""Looking at the vault as it was: `?at=2026-03-05` in the address of any page, kept by its links
and searches, and nothing can be changed there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from urllib.parse import quote, urlencode

from markupsafe import escape

from oneiro_vault.errors import InvalidInput, OneiroError

AT: Final = "at"
_TAG: Final = re.compile(r"<[a-z]+\b[^<>]*>")
_ADDRESS: Final = re.compile(r'(?<= )(href|action|hx-get)="([^"]*)"')
_OURS: Final = re.compile(r"\?|/ui/(?!static/|events|session|theme|leave)")
"""How the address of a page begins."""
_NOW: Final = "data-now"
"""Of an element whose address is not to be changed."""


@dataclass(frozen=True)
class Travel:
    """What the frame of a page shows of it. `at`: as it was asked for, "" for today; `possible`:
    can this page show the past?; `query`: of the address."""

    at: str
    possible: bool
    query: Mapping[str, str]

    @property
    def day(self) -> str:
        """`at` if it is a day (YYYY-MM-DD), else ""."""
        day = _day(self.at)
        return day.isoformat() if day else ""

    @property
    def fields(self) -> dict[str, str]:
        """What else is asked for: a form for another day sends it along."""
        return {name: value for name, value in self.query.items() if name not in (AT, "part")}

    @property
    def today(self) -> str:
        """The query without it."""
        return f"?{urlencode(self.fields)}"

    @property
    def latest(self) -> str:
        """The last day that can be asked for."""
        return this_day().isoformat()

    def beside(self, days: int) -> str:
        """The query so many days later; "" where there is no such day to look at."""
        day = _day(self.at)
        try:
            there = day + timedelta(days=days) if day else None
        except OverflowError:  # the calendar ends there
            return ""
        if there is None or there > this_day():
            return ""
        return f"?{urlencode({**self.fields, AT: there.isoformat()})}"


def this_day() -> date:
    """Where the vault's owner is."""
    return datetime.now().astimezone().date()


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def read_only() -> OneiroError:
    """What a form of a page of the past is answered."""
    return InvalidInput(
        "this is how the vault was: it cannot be changed there",
        kept="Nothing was changed.",
        hint="Go back to today, and do it there.",
    )


def kept(html: str, at: str) -> str:
    """A page whose links and searches lead to pages of the same moment."""
    if not at:
        return html
    field = f'<input type="hidden" name="{AT}" value="{escape(at)}">'

    def with_moment(found: re.Match[str]) -> str:
        tag = found[0]
        if _NOW in tag:
            return tag
        tag = _ADDRESS.sub(lambda one: _with(one, at), tag)
        return tag + field if tag.startswith("<form") and 'method="get"' in tag else tag

    return _TAG.sub(with_moment, html)


def _with(found: re.Match[str], at: str) -> str:
    address, _, fragment = found[2].partition("#")
    if not _OURS.match(address) or re.search(rf"[?;&]{AT}=", address):
        return found[0]
    path, _, query = address.partition("?")
    query = "&amp;".join(filter(None, (query, f"{AT}={quote(at)}")))
    return f'{found[1]}="{path}?{query}{"#" if fragment else ""}{fragment}"'
