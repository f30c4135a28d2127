"""What it takes to bring bytes back: of one lost memory, of everything a commit or a run changed,
or of all that came from one source.

A source is an import (`import:<name>`), a session, or an actor. What it brought is tainted; so is
every memory that a tainted commit of a loop touched, and every commit of a loop that rests on a
tainted memory is taken back as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from oneiro_vault.core import memory as memories
from oneiro_vault.core.conversation import personal
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.markdown.taxonomy import prose
from oneiro_vault.core.merge.three_way import merge_file
from oneiro_vault.errors import (
    AmbiguousId,
    InvalidInput,
    NotFound,
    StaleMemory,
    UnreadableNote,
    shown,
)
from oneiro_vault.vault import ledger
from oneiro_vault.vault.change import Change, Remove, Write
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import Entry
from oneiro_vault.vault.history.commit_log import Entry as Commit
from oneiro_vault.vault.history.commit_log import History, taken_back, trailers, undoing
from oneiro_vault.vault.ledger import FOLDER
from oneiro_vault.vault.worktree.attachments import sha256_of
from oneiro_vault.vault.worktree.edits import identify, words_of
from oneiro_vault.vault.worktree.files import digest, is_note

_KEPT = "Nothing was changed."
REPORTS: Final = "dreams/"
"""Folder in which runs tell what they did."""
_LEDGER = (f"{FOLDER}/",)
ORIENTATION: Final = "orientation"
Ends = tuple[Entry | None, Entry | None]
"""What was there before a change, and what is there after it."""
RUN = re.compile(r"[0-9a-z-]{1,60}")
SHORTEST, LONGEST = 4, 12
"""Characters of an id, whole or as a prefix."""


@dataclass(frozen=True)
class Lost:
    """A memory that is no longer in the tree, and the commit that took it out."""

    memory: str
    path: str
    data: bytes
    commit: str


@dataclass(frozen=True)
class Undo:
    """Changes that take `commit` back, and the ledger events (kind, id, sha256) that go with
    them."""

    commit: str
    title: str
    memories: tuple[str, ...]
    changes: list[Change]
    events: list[tuple[str, str, str]]
    words: dict[str, str] = field(default_factory=dict)
    """id -> fingerprint of words that are not to come in again by themselves."""

    def recorded(self, when: float, actor: str) -> tuple[ledger.Event, ...]:
        """The events as they stand in the ledger."""
        return tuple(
            ledger.make(kind, memory, when, sha256=sha, actor=actor)
            | (
                {"words": self.words[memory], "why": ledger.UNDONE}
                if kind == "tombstone" and memory in self.words
                else {}
            )
            for kind, memory, sha in self.events
        )


def lost(repo: Repo, history: History, prefix: str) -> Lost:
    """The removed memory whose id starts with `prefix`. Raises NotFound or AmbiguousId."""
    entries = (
        history.names(prefix)
        if repo.tip() and SHORTEST <= len(prefix) <= LONGEST and prefix.isalnum()
        else []
    )
    ids = sorted(
        {memory for entry in entries for memory in entry.memories if memory.startswith(prefix)}
    )
    if len(ids) > 1:
        raise AmbiguousId(
            f"{len(ids)} memories start with {shown(prefix)}",
            kept=_KEPT,
            hint=f"One of: {', '.join(ids[:10])}",
        )
    for number, entry in enumerate(entries):
        found = _removed(repo, entry.commit, ids[0])
        if isinstance(found, Lost):
            if _stands(
                repo, ids[0]
            ):  # forgotten under one name by one machine, brought back under another by another
                raise _there(ids[0])
            return _whole(repo, found, entries[number + 1 :])
        if found:
            return _followed(repo, history, entry.commit, ids[0], found)
    raise NotFound(
        f"no forgotten memory has an id that starts with {shown(prefix)}",
        kept=_KEPT,
        hint="`oneiro log` shows what was forgotten; `oneiro undo COMMIT` brings back a note that "
        "had no id.",
    )


def _followed(repo: Repo, history: History, commit: str, memory: str, path: str) -> Lost:
    """What did commits made by hand, which name no memory, do to the note since?"""
    now = repo.entry(repo.tip(), path)
    if now is None or not _is(repo, path, now, memory):
        for later in history.since(commit, [path]):
            found = _removed(repo, later.commit, memory)
            if isinstance(found, Lost):
                return found
            if found:
                return _followed(repo, history, later.commit, memory, found)
    raise _there(memory)


def _stands(repo: Repo, memory: str) -> bool:
    notes = (
        (path, repo.data(entry.blob))
        for path, entry in repo.listing(repo.tip()).items()
        if is_note(path)
    )
    return any(
        memory.encode() in data and identify(path, data)[0] == memory for path, data in notes
    )


def _there(memory: str) -> NotFound:
    return NotFound(
        f"{memory} is not forgotten: its note is there",
        kept=_KEPT,
        hint=f"`oneiro show {memory}` shows it.",
    )


def _removed(repo: Repo, commit: str, memory: str) -> Lost | str:
    """Lost, the path it has after the commit, or "" when that did not touch it.

    A merge can take away what its second parent had: one side had forgotten what the other changed.
    """
    deltas = [repo.difference(parent, commit) for parent in repo.parents(commit) or [""]]
    for path, (_, after) in (item for each in deltas for item in each.items()):
        if after is not None and is_note(path) and _is(repo, path, after, memory):
            return path
    for path, (before, after) in (item for each in deltas for item in each.items()):
        if before is not None and after is None and _is(repo, path, before, memory):
            return Lost(memory, path, repo.data(before.blob), commit)
    return ""


def _whole(repo: Repo, found: Lost, earlier: Sequence[Commit]) -> Lost:
    """Of a memory that a merge took away, the words of the side that changed it and of the side
    that forgot it."""
    if len(repo.parents(found.commit)) < 2:
        return found
    for entry in earlier:
        other = _removed(repo, entry.commit, found.memory)
        if isinstance(other, Lost):
            side = next(
                parent
                for parent in repo.parents(found.commit)
                if repo.entry(parent, found.path) is not None
            )
            _, out, _ = repo.commands.attempt("merge-base", side, entry.commit)
            base = _in(repo, out.decode().strip(), (found.path, other.path), found.memory)
            return replace(found, data=merge_file(found.path, base, found.data, other.data).data)
    return found


def _in(repo: Repo, commit: str, paths: Iterable[str], memory: str) -> bytes | None:
    entries = [(path, repo.entry(commit, path)) for path in paths] if commit else []
    return next(
        (
            repo.data(entry.blob)
            for path, entry in entries
            if entry is not None and _is(repo, path, entry, memory)
        ),
        None,
    )


def _is(repo: Repo, path: str, entry: Entry, memory: str) -> bool:
    return identify(path, repo.data(entry.blob))[0] == memory


def delta(repo: Repo, commit: str) -> dict[str, Ends]:
    """path -> (what was there before a commit, what is there after it), of everything it
    changed."""
    parents = repo.parents(commit)
    return repo.difference(parents[0] if parents else "", commit)


def plan(repo: Repo, history: History, commit: str, tip: str) -> Undo:
    """How to undo `commit` on top of `tip`. Raises InvalidInput or StaleMemory."""
    parents = repo.parents(commit)
    if len(parents) != 1:
        what = "the first commit, where this vault begins" if not parents else "a merge"
        raise InvalidInput(
            f"{commit[:10]} is {what}: it cannot be undone",
            kept=_KEPT,
            hint="Undo the commits it brought one by one." if parents else "",
        )
    spans = {
        path: ends for path, ends in delta(repo, commit).items() if not _stays(path, ends, _LEDGER)
    }
    changes, events = _backwards(repo, history, spans, commit, tip)
    if not changes:
        raise InvalidInput(f"{commit[:10]} changed no note: there is nothing to undo", kept=_KEPT)
    text = repo.message(commit)
    moved = {memory for kind, memory, _ in events if kind == "restore"}
    memories = tuple(trailers(text).get("Memory", [])) or tuple(
        dict.fromkeys(memory for _, memory, _ in events)
    )
    kept = [
        event for event in events if event[0] == "restore" or event[1] not in moved
    ]  # a moved note is not dead
    return Undo(commit, undoing(commit, text), memories, changes, kept)


def plan_run(repo: Repo, history: History, run: str, tip: str) -> Undo:
    """How to undo everything a run of a loop did but its report. Raises NotFound, InvalidInput or
    StaleMemory."""
    made = (
        [entry for entry in history.runs(run) if entry.run == run]
        if tip and RUN.fullmatch(run)
        else []
    )
    if not made:
        raise NotFound(
            f"no run is called {shown(run)}", kept=_KEPT, hint="`oneiro runs` lists them."
        )
    spans: dict[str, Ends] = {}
    for entry in reversed(made):
        for path, (before, after) in delta(repo, entry.commit).items():
            if _stays(path, (before, after)):
                continue
            first, last = spans.get(path, (before, before))
            if last != before:
                raise _changed(history, entry.commit, tip, path)
            spans[path] = first, after
    changes, events = _backwards(repo, history, spans, made[0].commit, tip)
    if not changes:
        raise InvalidInput(f"run {run} changed no note: there is nothing to undo", kept=_KEPT)
    memories = tuple(dict.fromkeys(memory for entry in reversed(made) for memory in entry.memories))
    return Undo(made[0].commit, f"undo run {run}", memories, changes, events)


def _stays(path: str, ends: Ends, kept: tuple[str, ...] = (*_LEDGER, REPORTS)) -> bool:
    """What happened has happened; and other memories may show a picture by now (`doctor` names it
    when none does)."""
    return path.startswith(kept) or (ends[0] is None and bool(sha256_of(path)))


def _backwards(
    repo: Repo, history: History, spans: Mapping[str, Ends], commit: str, tip: str
) -> tuple[list[Change], list[tuple[str, str, str]]]:
    changes: list[Change] = []
    events: list[tuple[str, str, str]] = []
    for path, (before, after) in spans.items():
        if repo.entry(tip, path) != after:
            raise _changed(history, commit, tip, path)
        if before != after:
            changes.append(back(repo, path, before, after))
            events += event(repo, path, before, after)
    return changes, events


def back(repo: Repo, path: str, before: Entry | None, after: Entry | None) -> Change:
    """The change that makes `before` of `after`."""
    base = digest(repo.data(after.blob)) if after else None
    if before is None:
        return Remove(path, base or "")
    return Write(path, repo.data(before.blob), base)


def event(
    repo: Repo, path: str, before: Entry | None, after: Entry | None
) -> list[tuple[str, str, str]]:
    """A note that vanishes leaves a tombstone; one that comes back lifts it."""
    entry = after if before is None else before if after is None else None
    if entry is None or not is_note(path):
        return []
    data = repo.data(entry.blob)
    memory = identify(path, data)[0]
    return [("tombstone" if before is None else "restore", memory, digest(data))] if memory else []


def changed(repo: Repo, history: History, commit: str, tip: str) -> dict[str, str]:
    """path -> why what a commit did to it cannot be taken back."""
    found = {
        path: after
        for path, (_, after) in delta(repo, commit).items()
        if not path.startswith(FOLDER + "/")
    }
    later = {
        path: _later(history, commit, tip, path)
        for path, after in found.items()
        if repo.entry(tip, path) != after
    }
    return later or dict.fromkeys(found, "changed since, which is not committed yet")


def _later(history: History, commit: str, tip: str, path: str) -> str:
    later = history.since(commit, [path], until=tip)
    return "changed again" + (
        f" in {later[0].commit[:10]} ({later[0].op + ': ' if later[0].op else ''}{later[0].title})"
        if later
        else ""
    )


def _changed(history: History, commit: str, tip: str, path: str) -> StaleMemory:
    why = _later(history, commit, tip, path)
    return StaleMemory(
        f"{path} {why}: undoing {commit[:10]} would lose that",
        kept=_KEPT,
        hint="Undo the later commit first.",
    )


_BRINGING: Final = frozenset(("remember", "import"))
_MOST_NAMED: Final = 200
OF_SOURCE: Final = "undo of source "
"""How the reason of a commit begins that takes back what came from a source."""
_FILED: Final = re.compile(r"-([0-9a-hjkmnp-tv-z]{12})\.md$")


@dataclass(frozen=True)
class Traced:
    """What it takes, and what has to stay: path -> why."""

    undo: Undo
    left: Mapping[str, str]


@dataclass
class _Trace:
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
        all_of_it = commit.actor == self.source or bool(
            commit.decision and self.tainted.intersection(commit.memories)
        )
        if not all_of_it and (
            commit.op not in _BRINGING or not any(is_note(path) for path in commit.paths)
        ):
            self._follow(commit)
            return
        for path, ends in delta(self.repo, commit.commit).items():
            if _stays(path, ends):
                continue
            if all_of_it or (
                ends[0] is None and ends[1] is not None and self._brought(path, ends[1])
            ):
                self._taint(path, ends, commit.commit)

    def _follow(self, commit: Commit) -> None:
        """Words that were taken out of what quotes them are no change that would be lost: what
        comes back is told without what was forgotten."""
        if commit.op != "forget":
            return
        for path, (before, after) in delta(self.repo, commit.commit).items():
            first, last = self.spans.get(path, (None, None))
            if path in self.spans and before == last and after is not None:
                self.spans[path] = first, after

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


def plan_source(
    repo: Repo, history: History, source: str, tip: str, disk: Callable[[str], str | None]
) -> Traced:
    """What was changed since by somebody else stays and is named. `disk`: vault path -> git's id of
    the bytes that lie there, None for nothing.

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


def undecided(repo: Repo, history: History) -> set[str]:
    """The commits of decisions that were taken back together with what they rested on: when that
    comes again, they are to be made again. One that was taken back alone was not wanted."""
    undoings = history.undoings()
    back = taken_back(undoings)
    found: set[str] = set()
    for one in undoings:
        if one.commit not in back and one.reason.startswith(OF_SOURCE):
            gone = {_memory(repo, one.commit, path) for path in one.removed if is_note(path)}
            found |= {
                entry.commit
                for entry in history.decisions(one.commit)
                if gone.intersection(entry.memories)
            }
    return found


def _memory(repo: Repo, commit: str, path: str) -> str:
    """The id of a note that a commit took away; its name says it where a machine filed it."""
    if named := _FILED.search(path):
        return named[1]
    parents = repo.parents(commit)
    entry = repo.entry(parents[0], path) if parents else None
    return identify(path, repo.data(entry.blob))[0] if entry is not None else ""


def untold(repo: Repo, history: History, undo: Undo, forgotten: Container[str]) -> Undo:
    """The same, where nothing that comes back into the orientation tells what was forgotten since
    (ids), unless that comes back with it."""
    lifted = {memory for kind, memory, _ in undo.events if kind == "restore"}
    changes = [
        _untold(repo, history, one, {*_gone(one, forgotten)} - lifted)
        if isinstance(one, Write) and is_note(one.path)
        else one
        for one in undo.changes
    ]
    return replace(undo, changes=changes)


def _gone(change: Write, forgotten: Container[str]) -> Iterator[str]:
    """What was forgotten of all that a block or a profile to be told rests on."""
    try:
        block = memories.parse(change.path, change.data)
    except UnreadableNote:
        return
    if (
        block.type in (ORIENTATION, memories.ENTITY)
        and block.status == "active"
        and not memories.owned(block)
    ):
        yield from (one for one in block.derived_from if one in forgotten)


def _untold(repo: Repo, history: History, change: Write, gone: set[str]) -> Write:
    """Lines that quote it are left out; one of which none is left sleeps, and so does a block that
    says it in other words."""
    if not gone:
        return change
    text = yaml_block.decode(change.data)
    block = memories.parse(change.path, change.data)
    profile = block.type == memories.ENTITY
    quoted = personal.is_profile(block.body) if profile else personal.is_quoted(block.body)
    body = block.body if quoted else ""
    for ident in gone if body else ():
        try:
            body, before = personal.without(body, _said_by(repo, history, ident), ident), body
        except (NotFound, AmbiguousId, UnreadableNote):
            body, before = "", body
        body = body if body != before.strip() else ""
    if not quoted:
        edited = yaml_block.edit(text, {"status": "dormant"})
    else:
        body = f"{body}\n" if body.strip() else ""
        keys = personal.pared(body, block.derived_from, gone, last=profile)
        edited = yaml_block.edit(text, keys, body=body)
    return replace(change, data=yaml_block.encode(edited))


def _said_by(repo: Repo, history: History, ident: str) -> str:
    found = lost(repo, history, ident)
    return prose(memories.parse(found.path, found.data).body)


def _now(repo: Repo, tip: str, path: str, last: Entry | None) -> str | None:
    """None when it is nowhere; a person may have moved it."""
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
