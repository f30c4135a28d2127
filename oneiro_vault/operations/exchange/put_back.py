"""Notes of an export of a vault, written as they were: the same bytes at the same places, with what
they show. What is here already is left alone, unless it came from such an export and nobody changed
it since."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from oneiro_vault.core import memory as memories
from oneiro_vault.core.memory import fingerprint
from oneiro_vault.errors import InvalidInput, OneiroError
from oneiro_vault.importers.okf import CLAIMS
from oneiro_vault.importers.records import Note, Skipped
from oneiro_vault.index.base import Row
from oneiro_vault.operations.remember.drafts import note_path
from oneiro_vault.operations.runtime import House
from oneiro_vault.vault.change import Operation, Receipt, Write
from oneiro_vault.vault.worktree.attachments import sha256_of
from oneiro_vault.vault.worktree.files import LARGEST, checked, digest, hidden, is_note, twin_key

if TYPE_CHECKING:
    from oneiro_vault.importers.archive import Archive

_MOST: Final = 100
_CHANGED: Final = "is here already, and says something else"


@dataclass
class Returned:
    """What became of some notes: how many are `stored`, were `known` already, or are `revised`, and
    what was left out."""

    stored: int = 0
    known: int = 0
    revised: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    commit: str = ""


def put_back(house: House, archive: Archive, notes: Sequence[Note], actor: str) -> Returned:
    """Write notes that have `data`, in one commit. A bad one stops no other."""
    batch = _Batch(house, archive, actor)
    done = Returned()
    changes: list[tuple[Note, Write]] = []
    for note in notes:
        try:
            if (change := batch.change(note)) is None:
                done.known += 1
            else:
                changes.append((note, change))
        except OneiroError as error:
            done.skipped.append(Skipped(note.path or note.title, str(error)))
    done.skipped += batch.write(changes, done)
    return done


def as_foreign(note: Note) -> Note:
    """A note of somebody else's vault, without what it claims to be: as if any program wrote it."""
    kept = {key: value for key, value in note.meta.items() if key not in CLAIMS}
    if kept.get("type") == "orientation":
        kept["type"] = "semantic"
    return replace(note, data=b"", meta=kept, trust="external")


@dataclass
class _Batch:
    house: House
    archive: Archive
    actor: str
    _taken: dict[str, set[str]] = field(default_factory=dict)

    def change(self, note: Note) -> Write | None:
        """None for one that is here as it is. Raises OneiroError for one that has to stay out."""
        known = memories.parse(note.path, note.data) if _readable(note) else None
        ident = known.id if known is not None else ""
        words = fingerprint(known.type, known.title, known.body) if known is not None else ""
        row = self._here(ident, note)
        if row is not None:
            return self._again(row, note)
        gone = self.house.forgotten()
        event = gone.get(ident) or gone.get(words)
        if event is not None:
            raise InvalidInput(f"it was forgotten on {str(event.get('t', ''))[:10]}")
        return Write(self._free(note_path(note.path), ident), note.data)

    def write(self, changes: Sequence[tuple[Note, Write]], done: Returned) -> list[Skipped]:
        """One commit of all that the vault takes; the others, and why not."""
        refused: dict[int, OneiroError] = {}
        while len(refused) < len(changes):
            left = [at for at in range(len(changes)) if at not in refused]
            receipt = self._apply([changes[at] for at in left])
            if not receipt.refused:
                revised = sum(changes[at][1].base is not None for at in left)
                done.stored += len(left) - revised
                done.revised += revised
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
        receipt = self.house.vault.apply(
            [*writes, *files], Operation("import", title, self.actor, ids), each=True
        )
        if not receipt.refused:
            self.house.refresh([write.path for write in writes])
        return receipt

    def _here(self, ident: str, note: Note) -> Row | None:
        """A note without an id is known by its place, or by its bytes where it got another one."""
        index = self.house.index
        if ident:
            return next((row for row in index.get(ident) if row.id == ident), None)
        sha = digest(note.data)
        for place in _others(note.path, ""):
            row = index.by_path(place)
            if row is not None and row.sha256 == sha:
                return row
            if row is None and place != note.path:
                break
        row = index.by_path(note.path)
        return row if row is not None and not row.id else None

    def _again(self, row: Row, note: Note) -> Write | None:
        data = self.house.vault.read(row.path)
        if data == note.data:
            return None
        last = next(iter(self.house.vault.log(1, memory=row.id, path=row.path)), None)
        if last is None or last.actor != self.actor:
            raise InvalidInput(f"{row.path} {_CHANGED}")
        return Write(row.path, note.data, digest(data))

    def _free(self, path: str, ident: str) -> str:
        """The path, with the id or a number in its name where another file has that, on this system
        or another."""
        folder = posixpath.dirname(path)
        if folder not in self._taken:
            self._taken[folder] = set(map(twin_key, self.house.vault.files.names(folder)))
        taken = self._taken[folder]
        for one in _others(path, ident):
            if (key := twin_key(posixpath.basename(one))) not in taken:
                taken.add(key)
                return one
        raise InvalidInput(f"another file is at {path}")

    def _files(self, note: Note) -> Iterator[Write]:
        """What it shows and is not here yet."""
        for place, name in note.files.items():
            try:
                if hidden(checked(place)) or is_note(place):
                    continue
                if self.house.vault.files.content(place) is not None:
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


def _readable(note: Note) -> bool:
    try:
        memories.parse(note.path, note.data)
    except OneiroError:
        return False
    return True
