"""Where in a repository a text or a memory stands: every object, every name a file had, every
message, also what only a reflog leads to."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from oneiro_vault.core.memory import parse
from oneiro_vault.core.tree_diff import Refused, blob_id
from oneiro_vault.errors import AmbiguousId, NotFound, OneiroError, UnreadableNote, shown
from oneiro_vault.vault.git import objects
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.history.commit_log import trailers
from oneiro_vault.vault.history.undo import REPORTS
from oneiro_vault.vault.ledger import FOLDER as LEDGER
from oneiro_vault.vault.purge.text_search import Text, words_of
from oneiro_vault.vault.secrets.secret_scan import TEXT, is_utf8
from oneiro_vault.vault.worktree.attachments import named_in, sha256_of
from oneiro_vault.vault.worktree.edits import identify
from oneiro_vault.vault.worktree.edits import words_of as fingerprint_of
from oneiro_vault.vault.worktree.files import Files, is_note, is_ours

_PERSON: Final = re.compile(rb"(?m)^(author|committer|tagger) (.*?) ?<([^<>\n]*)> \d+ [+-]\d+$")
_LOOSE: Final = "files that git does not follow"
_NOTHING: Final = "0" * 40
OURS: Final = "forget: purged "
"""How the message of a purge's own commit begins; it holds no words of anybody."""
Spans = list[tuple[int, int]]


@dataclass
class Trace:
    """What a purge would change. `blobs`: id -> the bytes in its place, None when the file goes;
    `messages`: commit or tag -> characters to cut; `paths`: name -> new name, "" when the file
    goes; `titles` by id of the memories that go; `also`: notes that say the same and stay; `kinds`:
    how many of what; `words`: fingerprints by id; `owner`: blob -> id; `pictures`: blobs that only
    those showed; `people`: commit or tag -> key of git-filter-repo -> characters to cut; `loose`:
    files that git does not follow, as `blobs`."""

    text: Text
    titles: dict[str, str] = field(default_factory=dict)
    blobs: dict[str, bytes | None] = field(default_factory=dict)
    messages: dict[str, Spans] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    stash: list[tuple[str, str]] = field(default_factory=list)
    words: dict[str, set[str]] = field(default_factory=dict)
    owner: dict[str, str] = field(default_factory=dict)
    pictures: set[str] = field(default_factory=set)
    people: dict[str, dict[str, Spans]] = field(default_factory=dict)
    loose: dict[str, bytes | None] = field(default_factory=dict)
    also: list[str] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)

    @property
    def found(self) -> bool:
        """Does history hold any of it?"""
        return bool(
            self.blobs
            or self.messages
            or self.people
            or self.paths
            or self.loose
            or self.kinds.get("stashes")
        )

    def tally(self, kind: str, count: int = 1) -> None:
        """One more of a kind."""
        self.kinds[kind] = self.kinds.get(kind, 0) + count


class Tracer:
    """One look at everything. Reads every object of the repository."""

    def __init__(self, repo: Repo, files: Files) -> None:
        self._repo = repo
        self._root = str(repo.root)
        self._head = repo.listing(repo.tip()) if repo.tip() else {}
        self._places = dict(_places(repo))
        self._loose = dict(_unfollowed(repo, files, self._head))

    # -- a text

    def of_text(self, literal: str) -> Trace:
        """Everything that holds a text."""
        trace = Trace(Text([literal]))
        for oid, kind, data in objects.every(self._root):
            if kind == "blob" and trace.text.count(data):
                self._replace(trace, oid, data)
            elif kind in ("commit", "tag"):
                self._message(trace, oid, data, ())
                self._people(trace, oid, data)
        for path in {path for paths in self._places.values() for path in paths}:
            if path not in trace.paths and trace.text.spans(path):
                trace.paths[path] = trace.text.renamed(path)
                trace.tally("file names")
        for path, data in self._loose.items():
            if trace.text.count(data) or trace.text.spans(path):
                trace.loose[path] = trace.text.cleaned(data, note=True) if is_note(path) else None
                trace.tally(_LOOSE)
        self._stashes(trace)
        return trace

    def _replace(self, trace: Trace, oid: str, data: bytes) -> None:
        """A file that stays without it; what is no text, or is named by its content, goes."""
        paths = self._places.get(oid, set())
        path = min(paths, default="")
        if (
            any(map(sha256_of, paths))
            or b"\0" in data
            or (path and not path.lower().endswith(TEXT) and not is_utf8(data))
        ):
            trace.blobs[oid] = None
            trace.paths |= dict.fromkeys((path for path in paths if sha256_of(path)), "")
            trace.tally("attachments and other files that go")
            return
        trace.blobs[oid] = trace.text.cleaned(data, note=is_note(path) or not path)
        trace.tally(_kind(path))

    # -- memories

    def of_memories(self, wanted: Collection[str]) -> Trace:
        """The memories with these ids (or unique prefixes), under every name, and what was made of
        them. Raises NotFound or AmbiguousId."""
        versions = self._versions(wanted)
        owner = {oid: ident for ident, blobs in versions.items() for oid in blobs}
        trace = Trace(
            Text(
                echoes=(
                    said
                    for blobs in versions.values()
                    for data in blobs.values()
                    for said in words_of(data)
                )
            ),
            owner=owner,
        )
        for ident, blobs in versions.items():
            for oid, data in blobs.items():
                trace.titles[ident] = identify("note.md", data)[1]
                trace.words.setdefault(ident, set()).update(
                    filter(None, [fingerprint_of(min(self._places.get(oid, {"note.md"})), data)])
                )
                trace.blobs[oid] = None
                trace.tally("versions of the memories")
        self._names(trace)
        self._pictures(trace, (data for blobs in versions.values() for data in blobs.values()))
        for oid, kind, data in objects.every(self._root):
            if kind == "blob" and oid not in trace.blobs:
                self._echo(trace, oid, data)
            elif kind in ("commit", "tag"):
                self._message(trace, oid, data, trace.titles)
        gone = {path for path, data in self._loose.items() if identify(path, data)[0] in versions}
        trace.loose |= dict.fromkeys(gone)
        if gone:
            trace.tally(_LOOSE, len(gone))
        self._stashes(trace)
        return trace

    def _versions(self, wanted: Collection[str]) -> dict[str, dict[str, bytes]]:
        marks = [word.encode() for word in wanted]
        found: dict[str, dict[str, bytes]] = {}
        for oid, kind, data in objects.every(self._root):
            if kind == "blob" and b"id:" in data and any(mark in data for mark in marks):
                ident = identify("note.md", data)[0]
                if any(ident.startswith(word) for word in wanted):
                    found.setdefault(ident, {})[oid] = data
        for path, data in self._loose.items():
            ident = identify(path, data)[0]
            if ident and any(ident.startswith(word) for word in wanted):
                found.setdefault(ident, {})[blob_id(data)] = data
        for word in wanted:
            fits = [ident for ident in found if ident.startswith(word)]
            if not fits:
                raise NotFound(
                    f"no memory in this history has the id {shown(word)}",
                    kept="Nothing was changed.",
                    hint="`oneiro list` shows ids; `oneiro purge --matching TEXT` finds words.",
                )
            if len(fits) > 1:
                raise AmbiguousId(
                    f"{shown(word)} fits {', '.join(sorted(fits))}",
                    kept="Nothing was changed.",
                    hint="Give all of the id.",
                )
        return found

    def _names(self, trace: Trace) -> None:
        others = {
            path for oid, paths in self._places.items() if oid not in trace.owner for path in paths
        }
        mine = {path for oid in trace.owner for path in self._places.get(oid, ())}
        mine |= {
            path
            for path in others
            if any(ident in path.rpartition("/")[2] for ident in trace.titles)
        }
        trace.paths |= dict.fromkeys(
            (path for path in mine if path not in others or any(i in path for i in trace.titles)),
            "",
        )
        trace.tally("file names", len(trace.paths))

    def _pictures(self, trace: Trace, versions: Iterable[bytes]) -> None:
        shown_by_them = {mark for data in versions for mark in named_in(data)}
        for path, entry in self._head.items() if shown_by_them else ():
            if is_note(path) and entry.blob not in trace.owner:
                shown_by_them -= named_in(self._repo.data(entry.blob))
        for oid, paths in self._places.items():
            if any(sha256_of(path) in shown_by_them for path in paths):
                trace.blobs[oid] = None
                trace.pictures.add(oid)
                trace.paths |= dict.fromkeys(paths, "")
                trace.tally("attachments and other files that go")

    def _echo(self, trace: Trace, oid: str, data: bytes) -> None:
        path = min(self._places.get(oid, ()), default="")
        if path.startswith(f"{LEDGER}/"):
            done = trace.text.cleaned(_unasked(data, trace.titles))
        elif path.startswith(REPORTS) or _is_made_of(data, trace.titles):
            done = trace.text.cleaned(data, note=is_note(path))
            trace.paths |= {
                name: trace.text.renamed(name)
                for name in self._places.get(oid, ())
                if trace.text.spans(name)
            }
        else:
            here = [
                p
                for p in self._places.get(oid, ())
                if p in self._head and self._head[p].blob == oid
            ]
            trace.also += here if here and trace.text.count(data) else []
            return
        if done != data:
            trace.blobs[oid] = done
            trace.tally(_kind(path))

    # -- messages

    def _message(self, trace: Trace, oid: str, data: bytes, idents: Collection[str]) -> None:
        text = data.partition(b"\n\n")[2].decode("utf-8", "surrogateescape")
        spans = trace.text.spans(text)
        ours = text.startswith(OURS)
        if idents and not ours and not set(trailers(text).get("Memory", ())).isdisjoint(idents):
            spans = sorted(
                [
                    *_said(text),
                    *(
                        span
                        for span in spans
                        if not any(a < span[1] and span[0] < b for a, b in _said(text))
                    ),
                ]
            )
        if spans:
            trace.messages[oid] = spans
            trace.tally("commit messages")

    def _people(self, trace: Trace, oid: str, data: bytes) -> None:
        found: dict[str, Spans] = {}
        for match in _PERSON.finditer(data.partition(b"\n\n")[0] + b"\n"):
            for key, said in (("name", match[2]), ("email", match[3])):
                if spans := trace.text.spans(said.decode("utf-8", "surrogateescape")):
                    found[f"{match[1].decode()}_{key}"] = spans
        if found:
            trace.people[oid] = found
            trace.tally("names of authors")

    def _stashes(self, trace: Trace) -> None:
        try:
            lines = (
                (self._repo.common_dir / "logs/refs/stash")
                .read_text("utf-8", "surrogateescape")
                .splitlines()
            )
        except OSError:
            return
        for line in lines:
            _, _, new_and_rest = line.partition(" ")
            new, _, rest = new_and_rest.partition(" ")
            clean = trace.text.cleaned(rest.encode("utf-8", "surrogateescape")).decode(
                "utf-8", "surrogateescape"
            )
            trace.tally("stashes", int(clean != rest))
            trace.stash.append((new, clean))


def _said(text: str) -> Spans:
    """Of a commit of ours: its title, and why."""
    first = text.partition("\n")[0]
    start = first.find(": ") + 2
    found = [(start, len(first))] if 1 < start < len(first) else []
    for line in ("\nOneiro-Reason: ",):
        at = text.find(line)
        found += (
            [(at + len(line), (text + "\n").find("\n", at + len(line)))]
            if at >= 0 and "undo of " not in text[at : at + 30]
            else []
        )
    return found


def _is_made_of(data: bytes, idents: Collection[str]) -> bool:
    if not any(ident.encode() in data for ident in idents):
        return False
    try:
        found = parse("note.md", data)
    except UnreadableNote:
        return True
    return not {*found.derived_from, *found.supersedes, found.superseded_by}.isdisjoint(idents)


def _unasked(data: bytes, idents: Collection[str]) -> bytes:
    lines = data.split(b"\n")
    for place, line in enumerate(lines):
        if b'"q"' in line and any(ident.encode() in line for ident in idents):
            try:
                event = json.loads(line)
            except ValueError:
                continue
            event.pop("q", None)
            lines[place] = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
    return b"\n".join(lines)


def _kind(path: str) -> str:
    if path.startswith(REPORTS):
        return "versions of dream reports"
    if path.startswith(f"{LEDGER}/"):
        return "versions of ledgers"
    return "versions of notes that stay" if is_note(path) else "versions of other files"


def _places(repo: Repo) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path, blob in _raw(repo):
        found.setdefault(blob, set()).add(path)
    return found


def _raw(repo: Repo) -> Iterator[tuple[str, str]]:
    layout = ("--format=", "--raw", "-z", "--no-abbrev", "--no-renames", "-m", "--root")
    out = repo.commands.run("log", "--all", "--reflog", *layout, timeout=3600.0)
    words = iter(out.decode("utf-8", "surrogateescape").split("\0"))
    for entry in words:
        path, fields = next(words, ""), entry.lstrip("\n").split(" ")
        if len(fields) == 5:
            for blob in {fields[2], fields[3]} - {_NOTHING}:
                yield path, blob


def _unfollowed(repo: Repo, files: Files, followed: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """What git is told to ignore and an index reads all the same."""
    new = repo.staging.status()
    for path, entry in files.walk():
        if isinstance(entry, Refused) or path in followed or path in new or not is_ours(path):
            continue
        with suppress(OSError, OneiroError):
            yield path, files.read(path, sys.maxsize)
