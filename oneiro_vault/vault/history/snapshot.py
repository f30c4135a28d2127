"""The past of a vault: which commit stood at a moment, with its notes as a source that an index can
read."""

from __future__ import annotations

import errno
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from oneiro_vault.core.tree_diff import Stat, committed
from oneiro_vault.errors import GitProblem
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import EXECUTABLE, FILE
from oneiro_vault.vault.history import commit_log
from oneiro_vault.vault.worktree.files import SPEC_MARK, is_note

_LAYOUT: Final = "--format=%H%x00%T%x00%ct%x00%B"
_HEX: Final = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True)
class Point:
    """A commit. `tree`: equal ids, equal contents; `when`: epoch seconds by its own date; `op`: ""
    if made by hand; `disordered`: dates alone would have led to another commit, or its date is not
    when it came."""

    commit: str
    tree: str
    when: int
    op: str
    title: str
    disordered: bool = False


def at(repo: Repo, last: int, now: int) -> Point | None:
    """The last commit that the first-parent history of HEAD had at `last` (epoch seconds), None for
    none. A date is what some clock said, so the order of the commits counts before it."""
    rows = (
        repo.commands.text("rev-list", "--first-parent", "--timestamp", "--reverse", "HEAD").split()
        if repo.tip()
        else []
    )
    dates = [int(word) for word in rows[0::2]]
    came = arrivals(dates, now)
    place = bisect_right(came, last) - 1
    if place < 0:
        return None
    plain = next((number for number in reversed(range(len(dates))) if dates[number] <= last), -1)
    point = _point(repo, rows[2 * place + 1])
    return point and replace(point, disordered=plain != place or dates[place] != came[place])


def arrivals(dates: Sequence[int], now: int) -> list[int]:
    """When each commit of a line came, never falling: by its own date if that fits, else together
    with the one before it.

    Those fit that are most in order, and what lies after `now` fits nowhere: so one clock that was
    wrong moves its own commits and no others.
    """
    fits = set(_in_order([date if date <= now else None for date in dates]))
    came: list[int] = []
    following = next((dates[number] for number in range(len(dates)) if number in fits), now)
    for number, date in enumerate(dates):
        came.append(date if number in fits else came[-1] if came else min(date, following))
    return came


def _in_order(dates: Sequence[int | None]) -> list[int]:
    tops: list[
        int
        # by length of the run that begins there: minus the greatest date with which one can begin
    ] = []
    places: list[int] = []
    after: dict[int, int] = {}
    for place in reversed(range(len(dates))):
        date = dates[place]
        if date is None:
            continue
        length = bisect_right(tops, -date)
        after[place] = places[length - 1] if length else -1
        tops[length : length + 1], places[length : length + 1] = [-date], [place]
    found, place = [], places[-1] if places else -1
    while place >= 0:
        found.append(place)
        place = after[place]
    return found


def first(repo: Repo) -> Point | None:
    """Where the first-parent history of HEAD begins; None without any commit."""
    return _point(repo, "--first-parent", "--max-parents=0", "HEAD") if repo.tip() else None


def named(repo: Repo, name: str) -> Point | None:
    """The commit that a name or an id of at least 7 characters means; None when there is none."""
    found = repo.resolve(name) if name and not name.startswith("-") else ""
    return _point(repo, found) if found else None


_DATES: Final = (4, 6, 7, 8, 12, 14)


def looks_like_id(text: str) -> bool:
    """Could it be a commit's id rather than a date? One of a hundred ids begins with ten digits."""
    return _HEX.fullmatch(text) is not None and not (text.isdigit() and len(text) in _DATES)


def _point(repo: Repo, *which: str) -> Point | None:
    words = repo.commands.text("log", "--max-count=1", _LAYOUT, *which, "--").split("\0", 3)
    return (
        Point(words[0], words[1], int(words[2]), *commit_log.subject(words[3]))
        if len(words) == 4
        else None
    )


class Tree:
    """The notes of one commit as a `core.tree_diff.Source`; `blobs`: path -> blob id."""

    def __init__(self, repo: Repo, commit: str) -> None:
        self._repo = repo
        entries = repo.listing(commit)
        self.blobs = {
            path: one.blob
            for path, one in entries.items()
            if is_note(path) and one.mode in (FILE, EXECUTABLE)
        }
        if "README.md" in self.blobs and repo.data(self.blobs["README.md"]).startswith(SPEC_MARK):
            del self.blobs["README.md"]

    def scan(self) -> Iterator[Stat]:
        """Every note."""
        for path in self.blobs:
            yield self._stat(path)

    def stat(self, path: str) -> Stat | None:
        """One of them."""
        return self._stat(path) if path in self.blobs else None

    def read(self, path: str, limit: int) -> bytes:
        """At most `limit` + 1 bytes of it. Raises OSError."""
        if path not in self.blobs:
            raise FileNotFoundError(path)
        try:
            return self._repo.data(self.blobs[path])[: limit + 1]
        except GitProblem as error:
            raise OSError(errno.EIO, str(error)) from error

    def _stat(self, path: str) -> Stat:
        blob = self.blobs[path]
        try:
            return committed(path, self._repo.size(blob), blob)
        except GitProblem:
            return committed(path, 0, blob)  # reading it will say what is wrong
