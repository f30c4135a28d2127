"""A moment that somebody names, as the commit that stood then: "3 weeks ago", 2026-03-05, a
commit."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from oneiro_vault import answers
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.errors import InvalidInput, NotFound, shown
from oneiro_vault.operations.runtime import House
from oneiro_vault.vault.history import snapshot
from oneiro_vault.vault.history.snapshot import Point

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CALENDAR: Final = ((datetime.min.replace(tzinfo=UTC) - _EPOCH).total_seconds(), 253_402_300_799.0)
"""Epoch seconds of its first and its last second, in UTC."""


@dataclass(frozen=True)
class Moment:
    """`asked`: in whose words; `until`: up to when (epoch seconds); `point`: the commit that was
    the latest then."""

    asked: str
    until: float
    point: Point

    def data(self) -> answers.Moment:
        """For an answer."""
        title = ": ".join(filter(None, (self.point.op, self.point.title)))
        return {
            "asked": self.asked,
            "until": iso(self.until),
            "commit": self.point.commit,
            "when": iso(self.point.when),
            "title": title,
            "disordered": self.point.disordered,
        }


def iso(moment: float) -> str:
    """RFC 3339, in local time; in UTC where the calendar begins and ends, for it has no local time
    there."""
    try:
        found = datetime.fromtimestamp(moment).astimezone()
    except (ValueError, OverflowError, OSError):
        found = _EPOCH + timedelta(seconds=min(max(moment, _CALENDAR[0]), _CALENDAR[1]))
    return found.isoformat(timespec="seconds")


def span(house: House, text: str) -> dates.Range:
    """[from, to) of the moment that a text names, in epoch seconds."""
    _textual(text)
    return dates.parse_moment(text, datetime.fromtimestamp(house.clock()).astimezone())


def find(house: House, text: str) -> Moment:
    """The commit that a date or a name of a commit means: of a date, the last one that had come by
    its end on the first-parent history.

    A day still under way ends now. Raises InvalidInput for what is neither, lies in the future, or
    has no end; NotFound for a date before the first commit.
    """
    _textual(text)
    repo, name = house.vault.repo, text.strip()
    if (snapshot.looks_like_id(name) or name.startswith(("HEAD", "@"))) and (
        point := snapshot.named(repo, name)
    ):
        return Moment(text, float(point.when), point)
    try:
        until = _until(house, text)
    except InvalidInput:
        with suppress(ValueError):
            if point := snapshot.named(repo, name):
                return Moment(text, float(point.when), point)
        raise
    found = snapshot.at(repo, math.ceil(until) - 1, math.floor(house.clock()))
    if found is None:
        raise _before_all(house, text)
    return Moment(text, until, found)


def believed(house: House, text: str) -> Moment:
    """`find` for what was believed then: only commits of our own history count, for what waits on a
    branch nobody believes yet.

    Raises also InvalidInput for a commit that is not in it.
    """
    moment, repo = find(house, text), house.vault.repo
    if not repo.contains(moment.point.commit, repo.tip()):
        raise InvalidInput(
            f"{shown(text)} is not in the history of this vault: what it says was never believed "
            f"here",
            hint="`oneiro diff HEAD BRANCH` shows what it would change.",
        )
    return moment


def _textual(text: str) -> None:
    if not isinstance(text, str) or not text.strip() or "\0" in text or not text.isprintable():
        raise InvalidInput(
            f"{text!a:.60} is not a time that can be understood",
            hint='Write it like 2026-03-05 or "3 weeks ago".',
        )


def _until(house: House, text: str) -> float:
    """The end of what a text names, in epoch seconds, exclusive."""
    now = house.clock()
    start, end = span(house, text)
    if end is None:
        raise InvalidInput(
            f"{shown(text)} has no end, so it is not one moment",
            hint="Name a day, such as 2026-03-05.",
        )
    if (start is None and end > now) or (start is not None and start > now):
        raise InvalidInput(
            f"{shown(text)} lies in the future: nobody knows yet what will be believed then",
            hint="Name a day of the past.",
        )
    return min(end, math.floor(now) + 1.0)


def _before_all(house: House, text: str) -> NotFound:
    first = snapshot.first(house.vault.repo)
    if first is None:
        return NotFound(
            "nothing was ever committed here", hint="`oneiro remember` begins a history."
        )
    began = iso(first.when)[:16].replace("T", " ")
    whole = not snapshot.is_shallow(house.vault.repo)
    return NotFound(
        f"nothing was known at {shown(text)}: the history of this vault begins on {began}",
        hint="Name a later day."
        if whole
        else "This clone holds only the end of it; `git fetch --unshallow` brings the rest.",
    )
