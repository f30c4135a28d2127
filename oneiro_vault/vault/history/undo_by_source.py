"""Taking back everything that came from one source: what it brought, and what loops did because of
that.

A source is an import (`import:<name>`), a session, or an actor. The history is read from its
beginning. What the source brought is tainted; so is every memory that a tainted commit of a loop
touched, and every commit of a loop that rests on a tainted memory is taken back as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from oneiro_vault.core import memory as memories
from oneiro_vault.errors import InvalidInput, NotFound, StaleMemory, UnreadableNote, shown
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import Entry
from oneiro_vault.vault.history.commit_log import Entry as Commit
from oneiro_vault.vault.history.commit_log import History
from oneiro_vault.vault.history.undo_commit import REPORTS, Undo, back, delta, event
from oneiro_vault.vault.ledger import FOLDER
from oneiro_vault.vault.paths import is_note
from oneiro_vault.vault.worktree.attachments import sha256_of
from oneiro_vault.vault.worktree.edits import identify, words_of

_KEPT: Final = "Nothing was changed."
_BRINGING: Final = frozenset(("remember", "import"))
"""Operations that bring new notes."""
_MOST_NAMED: Final = 200
"""Memories that the commit names; its paths say the rest."""
Ends = tuple[Entry | None, Entry | None]


@dataclass(frozen=True)
class Traced:
    """What it takes, and what has to stay: path -> why."""

    undo: Undo
    left: Mapping[str, str]


@dataclass
class _Trace:
    """What is known of a source while its history is read, oldest commit first."""

    repo: Repo
    source: str
    tainted: set[str] = field(default_factory=set)
    """Ids."""
    spans: dict[str, Ends] = field(default_factory=dict)
    """path -> (before the first tainted commit, after the last)."""
    broken: dict[str, str] = field(default_factory=dict)
    """path -> a tainted commit that stands on somebody else's change."""
    newest: str = ""

    def read(self, commit: Commit) -> None:
        """One more commit."""
        all_of_it = commit.actor == self.source or bool(
            commit.decision and self.tainted.intersection(commit.memories)
        )
        if not all_of_it and (
            commit.op not in _BRINGING or not any(is_note(path) for path in commit.paths)
        ):
            return
        for path, ends in delta(self.repo, commit.commit).items():
            if path.startswith((FOLDER + "/", REPORTS + "/")) or (
                ends[0] is None and sha256_of(path)
            ):
                continue  # what happened has happened, and other memories may show a picture by now
            if all_of_it or (
                ends[0] is None and ends[1] is not None and self._brought(path, ends[1])
            ):
                self._taint(path, ends, commit.commit)

    def _brought(self, path: str, entry: Entry) -> bool:
        try:
            found = memories.parse(path, self.repo.data(entry.blob))
        except UnreadableNote:
            return False
        return self.source in (found.source, found.session)

    def _taint(self, path: str, ends: Ends, commit: str) -> None:
        before, after = ends
        first, last = self.spans.get(path, (before, before))
        if before not in (last, first):
            self.broken[path] = commit
        self.spans[path], self.newest = (first, after), commit
        for entry in ends:
            if (
                entry is not None
                and is_note(path)
                and (ident := identify(path, self.repo.data(entry.blob))[0])
            ):
                self.tainted.add(ident)


def plan(
    repo: Repo, history: History, source: str, tip: str, disk: Callable[[str], str | None]
) -> Traced:
    """How to take back what came from `source`. What was changed since by somebody else stays and
    is named.

    `disk`: vault path -> git's id of the bytes that lie there, None for nothing.

    Raises NotFound when nothing came from it, StaleMemory when all of it has to stay, InvalidInput
    when it is taken back already.
    """
    trace = _Trace(repo, source)
    for commit in reversed(history.log() if tip else []):
        trace.read(commit)
    if not trace.spans:
        hint = (
            "An import (`import:<name>`), a session or an actor; `oneiro show ID` and `oneiro why "
            "ID` tell them of a memory."
        )
        raise NotFound(f"nothing came from {shown(source)}", kept=_KEPT, hint=hint)
    undo = Undo(
        trace.newest,
        f"undo what came from {source}",
        tuple(sorted(trace.tainted))[:_MOST_NAMED],
        [],
        [],
    )
    left: dict[str, str] = {}
    for path, (first, last) in trace.spans.items():
        now = _now(repo, tip, path, last)
        if now is None or repo.entry(tip, now) == first:
            continue  # gone, or as it was
        if repo.entry(tip, now) != last or path in trace.broken:
            left[now] = _why(history, trace.broken.get(path, trace.newest), tip, now)
        elif last is not None and disk(now) not in (last.blob, None):
            left[now] = "was changed since, which is not committed yet"
        else:
            undo.changes.append(back(repo, now, first, last))
            undo.events.extend(found := event(repo, now, first, last))
            if last is not None and (said := words_of(now, repo.data(last.blob))):
                undo.words.update((ident, said) for kind, ident, _ in found if kind == "tombstone")
    if not undo.changes and left:
        path, why = next(iter(left.items()))
        raise StaleMemory(
            f"nothing that came from {shown(source)} can be taken back: {path} {why}", kept=_KEPT
        )
    if not undo.changes:
        raise InvalidInput(f"what came from {shown(source)} is taken back already", kept=_KEPT)
    return Traced(undo, left)


def _now(repo: Repo, tip: str, path: str, last: Entry | None) -> str | None:
    """Where the note is now: a person may have moved it. None when it is nowhere."""
    if last is None or repo.entry(tip, path) is not None:
        return path
    ident = identify(path, repo.data(last.blob))[0]
    notes = {other: entry for other, entry in repo.listing(tip).items() if is_note(other)}
    same = [other for other, entry in notes.items() if entry == last]
    alike = (
        other
        for other, entry in notes.items()
        if ident and identify(other, repo.data(entry.blob))[0] == ident
    )
    return same[0] if same else next(alike, None)


def _why(history: History, commit: str, tip: str, path: str) -> str:
    later = history.since(commit, [path], until=tip)
    return (
        f"was changed since, in {later[0].commit[:10]} ({later[0].title})"
        if later
        else "rests on what somebody else changed meanwhile"
    )
