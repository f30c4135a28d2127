"""Notes of an export of a vault, written as they were: the same bytes at the same places, with what
they show. What is here already is left alone, unless it came from such an export and nobody changed
it since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from oneiro_vault.capture import privacy
from oneiro_vault.core import memory as memories
from oneiro_vault.core.memory import Memory, fingerprint
from oneiro_vault.errors import InvalidInput, OneiroError, UnreadableNote
from oneiro_vault.importers.okf import CLAIMS
from oneiro_vault.importers.records import Note, Skipped
from oneiro_vault.index.base import Row
from oneiro_vault.index.store import Index
from oneiro_vault.operations.indexing import Indexing
from oneiro_vault.operations.remember.drafts import note_path
from oneiro_vault.operations.runtime import Uses
from oneiro_vault.vault import ledger
from oneiro_vault.vault.change import Operation, Receipt, Write
from oneiro_vault.vault.worktree.attachments import sha256_of
from oneiro_vault.vault.worktree.files import (
    LARGEST,
    Files,
    checked,
    digest,
    hidden,
    is_kept,
    is_note,
    twin_key,
)

if TYPE_CHECKING:
    from oneiro_vault.importers.archive import Archive

_MOST: Final = 100


Gone = Mapping[str, Mapping[str, Any]]
"""Id, or fingerprint of the words, of what was forgotten -> its event."""


@dataclass
class Places:
    """Where notes can be written: on some systems two names are one file."""

    files: Files
    _taken: dict[str, set[str]] = field(default_factory=dict)

    def take(self, path: str) -> bool:
        """Can a new note stand at a path, on any system? Then no other one can from now on."""
        folder, _, name = path.rpartition("/")
        if folder not in self._taken:
            self._taken[folder] = set(map(twin_key, self.files.names(folder)))
        free = twin_key(name) not in self._taken[folder]
        self._taken[folder].add(twin_key(name))
        return free


@dataclass
class Returned:
    """What became of some notes: how many are `stored`, `revised`, were `known` already, were
    `forgotten` or `changed` here, and which could not be written; `told`: how many that came say
    that they are told to every session."""

    stored: int = 0
    revised: int = 0
    known: int = 0
    forgotten: int = 0
    changed: int = 0
    told: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    commit: str = ""


class _ChangedError(Exception):
    """It says something else here, and came from nowhere or was changed since."""


class _ForgottenError(Exception):
    """It was forgotten here."""


def put_back(
    indexing: Indexing,
    uses: Uses,
    archive: Archive,
    notes: Sequence[Note],
    actor: str,
    gone: Gone,
    seen: set[str],
    dry_run: bool = False,
) -> Returned:
    """Write notes that have `data`, in one commit, or (`dry_run`) only count. A bad one stops no
    other; what is in `gone` stays away. `seen`: ids of the batches before, to which these are
    added: of two notes with one id the first counts, however often the export is read."""
    batch = _Batch(indexing, uses, archive, actor, gone, seen)
    done = Returned()
    changes: list[tuple[Note, Write]] = []
    for note in notes:
        try:
            if (change := batch.change(note)) is None:
                done.known += 1
            else:
                changes.append((note, change))
        except _ForgottenError:
            done.forgotten += 1
        except _ChangedError:
            done.changed += 1
        except OneiroError as error:
            done.skipped.append(Skipped(note.path or note.title, str(error)))
    if dry_run:
        _count(changes, done)
    else:
        done.skipped += batch.write(changes, done)
    return done


def _count(changes: Sequence[tuple[Note, Write]], done: Returned) -> None:
    revised = sum(change.base is not None for _, change in changes)
    done.stored += len(changes) - revised
    done.revised += revised
    done.told += sum(note.meta.get("type") == "orientation" for note, _ in changes)


def with_id(index: Index, ident: str) -> Row | None:
    """The note whose file says this id."""
    return next((row for row in index.get(ident) if row.id == ident), None)


def restored(uses: Uses, now: float, operation: Operation) -> list[ledger.Event]:
    """The events by which what was forgotten and comes with an operation is known again."""
    gone = uses.forgotten()
    return [
        ledger.make("restore", one, now, actor=operation.actor)
        for one in operation.memories
        if one in gone
    ]


def as_foreign(note: Note) -> Note:
    """A note of somebody else's vault, without what it claims to be: as if any program wrote it."""
    kept = {key: value for key, value in note.meta.items() if key not in CLAIMS}
    if kept.get("type") == "orientation":
        kept["type"] = "semantic"
    return replace(note, data=None, meta=kept, trust="external")


@dataclass
class _Batch:
    indexing: Indexing
    uses: Uses
    archive: Archive
    actor: str
    gone: Gone
    _ids: set[str]

    def __post_init__(self) -> None:
        """No two of them can be at one place."""
        self._places = Places(self.indexing.vault.files)

    def change(self, note: Note) -> Write | None:
        """None for one that is here as it is. Raises OneiroError for one that has to stay out."""
        data = _public(note.data or b"")
        known = _parsed(note.path, data)
        ident = known.id if known is not None else ""
        words = fingerprint(known.type, known.title, known.body) if known is not None else ""
        if ident in self._ids:
            raise InvalidInput(f"{ident} is the id of another note of this export, too")
        self._ids |= {ident} - {""}
        row = self._here(ident, note)
        if row is not None:
            return self._again(row, data)
        if ident in self.gone or words in self.gone:
            raise _ForgottenError
        return Write(self._free(note_path(note.path), ident), data)

    def write(self, changes: Sequence[tuple[Note, Write]], done: Returned) -> list[Skipped]:
        """One commit of all that the vault takes; the others, and why not."""
        refused: dict[int, OneiroError] = {}
        while len(refused) < len(changes):
            left = [at for at in range(len(changes)) if at not in refused]
            receipt = self._apply([changes[at] for at in left])
            if not receipt.refused:
                _count([changes[at] for at in left], done)
                done.commit = receipt.commit
                break
            wrong = {left[at]: error for at, error in receipt.refused.items() if at < len(left)}
            if not wrong:
                raise next(iter(receipt.refused.values()))
            refused |= wrong
        return [Skipped(changes[at][0].path, str(error)) for at, error in refused.items()]

    def _apply(self, some: Sequence[tuple[Note, Write]]) -> Receipt:
        notes = [note for note, _ in some]
        writes = [write for _, write in some]
        title = notes[0].title if len(notes) == 1 else f"{len(notes)} memories of an export"
        ids = tuple(note.id for note in notes if memories.is_id(note.id))
        files = [*{one.path: one for note in notes for one in self._files(note)}.values()]
        operation = Operation("import", title, self.actor, ids)
        back = restored(self.uses, self.indexing.vault.clock(), operation)
        return self.indexing.apply([*writes, *files], operation, events=back, each=True)

    def _here(self, ident: str, note: Note) -> Row | None:
        """A note without an id is known by its place, or by its bytes where it got another one."""
        index = self.indexing.index
        if ident:
            return with_id(index, ident)
        sha = digest(note.data or b"")
        for place in _others(note.path, ""):
            row = index.by_path(place)
            if row is not None and row.sha256 == sha:
                return row
            if row is None and place != note.path:
                break
        row = index.by_path(note.path)
        return row if row is not None and not row.id else None

    def _again(self, row: Row, data: bytes) -> Write | None:
        here = self.indexing.vault.read(row.path)
        if data == here:
            return None
        last = next(iter(self.indexing.vault.log.entries(1, memory=row.id, path=row.path)), None)
        if last is None or last.actor != self.actor:
            raise _ChangedError
        return Write(row.path, data, digest(here))

    def _free(self, path: str, ident: str) -> str:
        """The path, with the id or a number in its name where another file has that, on this system
        or another."""
        for one in _others(path, ident):
            if self._places.take(one):
                return one
        raise InvalidInput(f"another file is at {path}")

    def _files(self, note: Note) -> Iterator[Write]:
        """What it shows and is not here yet."""
        for place, name in note.files.items():
            try:
                if hidden(checked(place)) or is_note(place) or is_kept(place):
                    continue
                if self.indexing.vault.files.content(place) is not None:
                    continue
                data = self.archive.read(name, LARGEST)
            except OneiroError:
                continue
            if sha256_of(place) in ("", digest(data)):
                yield Write(place, data)


def _others(path: str, ident: str) -> Iterator[str]:
    """A path, and what it is called where that is taken."""
    yield path
    for end in [ident] if ident else range(2, _MOST):
        yield f"{path[:-3]}-{end}.md"


def _public(data: bytes) -> bytes:
    """Without what is marked as private. No export of ours holds any: it was written in since."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    return privacy.redact(text).encode("utf-8") if "<" in text else data


def _parsed(path: str, data: bytes) -> Memory | None:
    """None for what cannot be read: it goes back as it was all the same."""
    try:
        return memories.parse(path, data)
    except UnreadableNote:
        return None
