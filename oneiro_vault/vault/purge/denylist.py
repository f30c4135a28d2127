"""What was purged, told by the ledgers, and whether a file is one of those: git can bring it back
by joining an old copy.

Such a file lies on the disk until a person has purged it again, and is not indexed, shown or
committed. It is known by its bytes, by its id, or by its words; a note that stayed when the other
was purged, or that a person remembered again since, is none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final

from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.errors import GitProblem, InvalidInput
from oneiro_vault.vault import ledger
from oneiro_vault.vault.change import Change, Write
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.history.commit_log import Entry
from oneiro_vault.vault.purge.text_search import MARK
from oneiro_vault.vault.worktree import edits
from oneiro_vault.vault.worktree.edits import id_of
from oneiro_vault.vault.worktree.files import is_note

_OWN: Final = "purged "
EVENT: Final = "purge"
AGAIN: Final = "again"
"""The event by which a person takes up again what was purged."""
_MEANT: Final = "If a person wants it back: `oneiro remember --again`."


@dataclass(frozen=True)
class Purged:
    """Ids, blobs and fingerprints of words -> the day they were purged; `kept`: ids of notes that
    may say the same; `back`: ids of notes that were cleaned of a text and may have it again."""

    ids: Mapping[str, str] = field(default_factory=dict)
    blobs: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    back: Mapping[str, str] = field(default_factory=dict)


class Erased:
    """Cheap as long as the ledgers stay the same, and where nothing was ever purged."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._stamp = self._mark = self._tip = ""
        self._told_here = Purged()
        self._events: dict[str, list[ledger.Event]] = {}
        self._known = Purged()
        self._walked: tuple[str, frozenset[str], frozenset[str]] = ("", frozenset(), frozenset())

    def stamp(self) -> str:
        """Another one when more was purged; "" where nothing was."""
        self.known()
        return self._mark

    def known(self) -> Purged:
        """As the ledgers of the tip say; and the memories of which its history has a purged text
        again."""
        tip = self._repo.tip()
        stamp = self._repo.folder(tip, ledger.FOLDER) if tip else ""
        if stamp != self._stamp:
            self._events = {
                blob: self._events[blob] if blob in self._events else self._told(blob)
                for blob in _ledgers(self._repo, tip)
            }
            self._told_here = _folded(event for events in self._events.values() for event in events)
        if stamp != self._stamp or tip != self._tip:
            known = self._told_here
            self._known = known = (
                replace(known, back=self._back(tip, known)) if known.blobs else known
            )
            text = "\0".join(
                sorted(
                    (
                        *known.ids,
                        *known.back,
                        *known.blobs,
                        *known.words,
                        *(f"-{ident}" for ident in known.kept),
                    )
                )
            )
            self._mark = (
                sha256(text.encode("utf-8", "replace")).hexdigest()
                if known.ids or known.blobs
                else ""
            )
            self._stamp, self._tip = stamp, tip
        return self._known

    def _back(self, tip: str, known: Purged) -> dict[str, str]:
        """Ids of notes with a purged (or cleaned) version that leads from the tip again: nobody
        knows what a merge made of it."""
        here = frozenset(blob for blob in known.blobs if self._repo.knows(blob))
        if not here:
            return {}
        there = self._leading(tip, here)
        return {
            ident: known.blobs[blob]
            for blob in known.blobs
            if blob in there and (ident := id_of(self._repo.data(blob)))
        }

    def _leading(self, tip: str, here: frozenset[str]) -> frozenset[str]:
        """Of a history that was gone through before, only what came since is."""
        last, looked, found = self._walked
        more = bool(last) and here <= looked and self._repo.contains(last, tip)
        words = ["rev-list", "--objects", tip, *([f"^{last}"] if more else [])]
        lines = self._repo.commands.text(*words, timeout=3600.0).splitlines()
        there = here.intersection(line[:40] for line in lines) | (
            found & here if more else frozenset()
        )
        self._walked = tip, here, there
        return there

    def marks(self) -> tuple[Collection[str], Collection[str], Collection[str]]:
        """Ids, blobs and words."""
        known = self.known()
        return {**known.ids, **known.back}, known.blobs, known.words

    def why(self, ident: str, blob: str, words: str) -> str:
        """For a person; "" when the note is none of those."""
        known = self.known()
        if ident in known.kept:
            return ""
        if day := known.ids.get(ident):
            return _said(day, ident)
        if day := known.back.get(ident) or known.blobs.get(blob):
            return _said(day, "")
        day = known.words.get(words)
        return f"it says what was purged on {day}, so nobody reads it. {_MEANT}" if day else ""

    def veiled(self, entry: Entry) -> Entry:
        """A commit without what names a memory that was purged: title, reason, and file."""
        known = self.known()
        ids = {*known.ids, *known.back}
        if not ids or entry.title.startswith(_OWN):
            return entry
        paths = tuple(path for path in entry.paths if not any(ident in path for ident in ids))
        if ids.isdisjoint(entry.memories):
            return entry if len(paths) == len(entry.paths) else replace(entry, paths=paths)
        return replace(entry, paths=paths, title=MARK, reason="")

    def in_file(self, path: str, data: bytes) -> str:
        """The same of a file's bytes."""
        known = self.known()
        if not known.ids and not known.blobs:
            return ""
        note = is_note(path)
        return self.why(
            edits.identify(path, data)[0] if note else "",
            blob_id(data),
            edits.words_of(path, data) if note else "",
        )

    def refuse(
        self,
        changes: Iterable[Change],
        events: Iterable[Mapping[str, Any]],
        before: Callable[[str], bytes],
    ) -> None:
        """Raise InvalidInput for a note, or the proposal in its stead, that would say again what
        was purged and did not `before`, unless an event of the same commit takes it up again."""
        if not self.stamp():
            return
        again = {event.get("id") for event in events if event.get("e") == AGAIN}
        writes = [
            change for change in changes if isinstance(change, Write) and is_note(change.path)
        ]
        for path, data in (
            (path, data)
            for one in writes
            for path, data in ((one.path, one.data), *filter(None, [one.proposal]))
        ):
            if (
                edits.identify(path, data)[0] in again
                or not self.in_file(path, data)
                or self.in_file(path, before(path))
            ):
                continue
            raise InvalidInput(
                "it says what was purged, or is it", kept="Nothing was written.", hint=_MEANT
            )

    def _told(self, blob: str) -> list[ledger.Event]:
        try:
            return _events(self._repo, blob)
        except GitProblem:
            return []  # `doctor` tells of damage


def purged(repo: Repo, tip: str) -> frozenset[str]:
    """Ids of file contents that were purged, on whatever machine, as the ledgers of a commit
    say."""
    events = (event for blob in _ledgers(repo, tip) for event in _events(repo, blob))
    return frozenset(_folded(events).blobs)


def returning(repo: Repo, tip: str, known: str, blobs: frozenset[str]) -> bool:
    """Would the history up to `tip`, without what `known` has, bring one of these contents back?"""
    if not tip or not any(map(repo.knows, blobs)):
        return False  # what is nowhere need not be looked for in every commit
    words = ["rev-list", "--objects", tip, *([f"^{known}"] if known else [])]
    return not blobs.isdisjoint(
        line[:40] for line in repo.commands.text(*words, timeout=3600.0).splitlines()
    )


def _ledgers(repo: Repo, tip: str) -> list[str]:
    files = repo.listing(tip, ledger.FOLDER) if tip else {}
    return [entry.blob for path, entry in files.items() if path.endswith(".jsonl")]


def _events(repo: Repo, blob: str) -> list[ledger.Event]:
    text = repo.data(blob)
    if b'"purge"' not in text and b'"again"' not in text:
        return []
    return [event for event in ledger.decode(text) if event.get("e") in (EVENT, AGAIN)]


def _folded(events: Any) -> Purged:
    ids: dict[str, str] = {}
    blobs: dict[str, str] = {}
    words: dict[str, str] = {}
    kept: set[str] = set()
    for event in sorted(events, key=lambda event: str(event.get("t", ""))):
        ident, day = str(event.get("id", "")), str(event.get("t", ""))[:10]
        if event["e"] == AGAIN:
            kept.add(ident)
            continue
        ids |= {ident: day} if ident else {}
        kept.discard(ident)
        blobs |= dict.fromkeys(_names(event, "blobs"), day)
        words |= dict.fromkeys(_names(event, "words"), day)
        kept |= set(_names(event, "kept"))
    return Purged(ids, blobs, words, frozenset(kept))


def _names(event: Mapping[str, Any], key: str) -> list[str]:
    found = event.get(key)
    return [str(name) for name in found] if isinstance(found, list) else []


def _said(day: str, ident: str) -> str:
    again = f"`oneiro purge {ident}`" if ident else "`oneiro purge --matching TEXT`"
    return (
        f"it was purged on {day} and git has brought it back from a copy that still had it; "
        f"nobody reads it. Take it out again: {again}"
    )
