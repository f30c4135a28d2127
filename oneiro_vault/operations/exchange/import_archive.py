"""What another program exported, into the vault: conversations as episodes that wait for encoding,
notes as memories; only what is new of it, a batch a commit."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core import memory as memories
from oneiro_vault.core.conversation.turns import IMPORT
from oneiro_vault.core.memory import Memory
from oneiro_vault.errors import InvalidInput, OneiroError, RepositoryBusy, shown
from oneiro_vault.importers import formats
from oneiro_vault.importers.archive import UNTOUCHED, Archive
from oneiro_vault.importers.records import Conversation, Format, Note, Skipped
from oneiro_vault.index.base import Row
from oneiro_vault.operations.exchange import episodes, foreign_notes
from oneiro_vault.operations.exchange.episodes import SEEN, STATE, File, Manner
from oneiro_vault.operations.exchange.foreign_notes import Pictures
from oneiro_vault.operations.exchange.put_back import as_foreign, put_back, restored
from oneiro_vault.operations.remember.store_captures import waiting
from oneiro_vault.operations.runtime import House
from oneiro_vault.vault import ledger
from oneiro_vault.vault.change import Change, Operation
from oneiro_vault.vault.history import undo

BATCH: Final = 200
"""Notes of one commit at most."""
_BATCH_BYTES: Final = 8 << 20
_SECRET: Final = "a text held a secret, which was taken out"
_LISTED: Final = 20
_SAMPLE: Final = 5
_MEGABYTE: Final = 1 << 20
_TOLD: Final = (
    "told to every session from now on; if this export is not your own, undo it and import it "
    "with --foreign"
)
"""Of orientation that an export of a vault brings as it was there."""
_IMPORTING: Final = threading.Lock()


def import_(
    house: House,
    path: str,
    format: str | None = None,
    dry_run: bool = False,
    foreign: bool = False,
    project: str | None = None,
    progress: Progress = quiet,
) -> answers.Imported:
    """Bring in an export that lies at the absolute `path` (a folder, a zip, a file), of a `format`
    or of the one that it looks like.

    What is here already is not stored again, what grew is continued, what was forgotten stays away.
    `foreign`: somebody else's, so that nothing in it counts as the person's own words. `dry_run`
    only counts. Killed and run again it ends as if it had not been. Raises InvalidInput for what
    cannot be read; what came before a file's end that is missing is stored.
    """
    place = Path(path)
    if not place.is_absolute() or "\0" in path:
        raise InvalidInput(f"{shown(path)} is not an absolute path", kept=UNTOUCHED)
    _elsewhere(place, house.vault.root)
    if os.path.realpath(place) == place.anchor:
        raise InvalidInput(
            f"{shown(path)} is the whole disk", kept=UNTOUCHED, hint="Name the export itself."
        )
    wanted = formats.named(format) if format else None
    with _alone(), _readable(place), Archive.at(place) as archive:
        progress("looking at what it is", 0, 0)
        found = wanted or formats.recognised(archive)
        house.indexing.converge()
        house.indexing.reconcile(progress)  # what is not indexed yet would be stored a second time
        run = Import(house, archive, found, dry_run, progress, foreign, project or "")
        try:
            run.all()
        except OneiroError as error:
            run.say_what_is_here(error)
            raise
        run.refuse_nothing()
        return run.answer()


def _elsewhere(place: Path, root: Path) -> None:
    """Refuse to import a vault into itself, which would store all of it a second time."""
    given, own = place.resolve(), root.resolve()
    said = "is" if given == own else "holds" if given in own.parents else ""
    if said or own in given.parents:
        raise InvalidInput(
            f"{shown(place, 200)} {said or 'lies in'} this vault itself",
            kept=UNTOUCHED,
            hint="Name the folder, the zip or the file that another program wrote.",
        )


@contextmanager
def _alone() -> Iterator[None]:
    if not _IMPORTING.acquire(blocking=False):
        raise RepositoryBusy("another import is under way", kept=UNTOUCHED, hint="Wait for it.")
    try:
        yield
    finally:
        _IMPORTING.release()


@contextmanager
def _readable(place: Path) -> Iterator[None]:
    """What the system says of a file is told to a person."""
    try:
        yield
    except OSError as error:
        what = shown(error.filename or place, 200)
        raise InvalidInput(
            f"{what} cannot be read: {error.strerror}",
            kept="What was imported before is in the vault.",
            hint="Mend that and run it again: nothing comes in twice.",
        ) from error


@dataclass
class Counts:
    """What became of records of one kind."""

    new: int = 0
    grown: int = 0
    known: int = 0
    forgotten: int = 0
    changed_here: int = 0

    def said(self) -> answers.ImportCounts:
        """As it is answered."""
        return {
            "new": self.new, "grown": self.grown, "known": self.known,
            "forgotten": self.forgotten, "changed_here": self.changed_here,
        }  # fmt: skip


@dataclass
class Import:
    """One import under way."""

    house: House
    archive: Archive
    format: Format
    dry_run: bool
    progress: Progress
    foreign: bool = False
    project: str = ""
    conversations: Counts = field(default_factory=Counts)
    notes: Counts = field(default_factory=Counts)
    messages: int = 0
    skipped: int = 0
    faulty: int = 0
    brought: int = 0
    listed: list[answers.ImportSkip] = field(default_factory=list)
    remarks: dict[str, int] = field(default_factory=dict)
    sample: list[answers.ImportSample] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    _files: list[File] = field(default_factory=list)
    _size: int = 0
    _whole: list[Note] = field(default_factory=list)
    _weight: int = 0
    _pending: set[str] = field(default_factory=set)
    _seen: set[str] = field(default_factory=set)
    _secrets: set[int] = field(default_factory=set)
    """Hashes of the texts that held one."""
    _back: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Everything is written as this import is to write it."""
        self._pictures = Pictures(self.house.settings, self.house.vault.files, self.archive)
        self.source = f"{IMPORT}{self.format.name}"
        self._left = foreign_notes.Left(self.house.indexing, self.archive.names(), self.source)
        self.gone = {
            mark: event
            for mark, event in self.house.uses.forgotten().items()
            if event.get("why") != ledger.UNDONE
        }
        self.manner = Manner(
            self.source,
            _exported(self.archive),
            self._cleaned,
            self.foreign,
            self.project,
            self.house.settings["notes.indexed_bytes"] - 1,
        )

    def all(self) -> None:
        """Every record, in the order of the export. Raises InvalidInput where it is cut, after
        what came before is stored."""
        self.archive.begin()
        for name, why in self.archive.left_out:
            self._skip(Skipped(name, why))
        try:
            for record in self.format.read(self.archive):
                self._take(record)
                self._tell()
        except InvalidInput as error:
            self._store()
            done = self.conversations.new + self.conversations.grown + self.notes.new
            kept = error.kept or UNTOUCHED
            if done and not self.dry_run:
                kept = f"What came before is in the vault ({done:,} conversations and notes)."
            raise InvalidInput(
                f"{self.archive.name}: {error}", kept=kept, hint=error.hint
            ) from error
        self._store()

    def say_what_is_here(self, error: OneiroError) -> None:
        """Of one that ended in the middle, such as on a full disk."""
        if self.commits and not isinstance(error, InvalidInput):
            count = len(self.commits)
            error.kept = f"What came before is in the vault ({count:,} commits): run it again then."

    def refuse_nothing(self) -> None:
        """Raise InvalidInput where nothing came and nothing in it is of the format that was
        named."""
        counted = [*self.conversations.said().values(), *self.notes.said().values()]
        if not any(counted) and not self.format.recognises(self.archive):
            raise InvalidInput(
                f"there is nothing of {self.format.title} in {self.archive.name}",
                kept=UNTOUCHED,
                hint="Leave the format out, and what it is is found out.",
            )

    def _take(self, record: object) -> None:
        if isinstance(record, Skipped):
            self._skip(record)
        elif isinstance(record, Conversation):
            self._conversation(record)
        elif isinstance(record, Note) and record.data is not None and not self.foreign:
            self._whole.append(record)
            self._weight += len(record.data)
            if len(self._whole) >= BATCH or self._weight >= _BATCH_BYTES:
                self._return()
        elif isinstance(record, Note):
            self._note(record if record.data is None else as_foreign(record))

    def _tell(self) -> None:
        done, total = self.archive.passed // _MEGABYTE, self.archive.extent() // _MEGABYTE
        if total:
            count = self.conversations.new + self.conversations.grown + self.notes.new
            stage = "reading" if self.dry_run else "importing"
            self.progress(f"{stage}, {count:,} so far, megabyte", min(done, total), total)

    def _cleaned(self, text: str) -> str:
        clean = self.house.vault.secrets.cleaned(text)
        if clean != text:
            self._secrets.add(hash(text))
        return clean

    def _skip(self, record: Skipped) -> None:
        self.skipped += not record.taken
        self.faulty += record.taken
        if len(self.listed) < _LISTED:
            clean = self.manner.clean
            where, why = clean(record.where)[:200], clean(record.why)[:300]
            self.listed.append({"where": where, "why": why, "taken": record.taken})

    # -- conversations

    def _conversation(self, said: Conversation) -> None:
        if not said.id:
            said = foreign_notes.named(said)
        session = episodes.session_of(said)
        if session in self._pending:
            self._store()  # the same one once more in this export: what is stored tells what is new
        names = episodes.marks(said.turns)
        away = self._forgotten(said, names)
        there = [self.house.indexing.load(row)[1] for row in self._episodes(session)]
        known = {mark for memory in there for mark in episodes.seen_in(memory.extra.get(SEEN))}
        if self.dry_run:
            known |= {name for name in names if f"{session} {name}" in self._seen}
        if _older(said, there):
            self.conversations.known += 1
            return
        found = episodes.pieces(said.turns, names, known | away)
        made = list(episodes.files(said, found, self.manner)) if found else []
        if not made:
            self._nothing(said, found, bool(away))
            return
        self.conversations.grown += bool(there)
        self.conversations.new += not there
        self.messages += sum(bool(name) for piece in found for name in piece.marks)
        if said.remark:
            self.remarks[said.remark] = self.remarks.get(said.remark, 0) + 1
        self._show(made[0], "conversation", len(said.turns))
        self._pending.add(session)
        self._seen.update(f"{session} {name}" for name in names if name and self.dry_run)
        for file in made:
            self._put(file)

    def _episodes(self, session: str) -> list[Row]:
        rows = self.house.index.list(session=session, type=memories.EPISODIC, limit=100_000)
        return [row for row in rows if row.source == self.source]

    def _forgotten(self, said: Conversation, names: Sequence[str]) -> set[str]:
        """The marks of messages that stood in forgotten episodes of a conversation."""
        found: set[str] = set()
        if not self.gone:  # an id of every message is worked out for nothing
            return found
        for ident, name in episodes.ids(said, names, self.source):
            if ident in self.gone:
                found |= self._held(ident) or episodes.spoken_with(said.turns, names, name)
        return found

    def _held(self, ident: str) -> set[str]:
        """What was in an episode, as history still has it; nothing of one that was purged."""
        try:
            lost = undo.lost(self.house.vault.repo, self.house.vault.history, ident)
            return episodes.seen_in(memories.parse(lost.path, lost.data).extra.get(SEEN))
        except OneiroError:
            return set()

    def _nothing(self, said: Conversation, found: object, forgotten: bool) -> None:
        if found:
            self._skip(Skipped(said.title or said.id, "all of it is private"))
        elif forgotten:
            self.conversations.forgotten += 1
        else:
            self.conversations.known += 1

    # -- notes

    def _note(self, note: Note) -> None:
        note = self._pictures.shown(note)
        while self._pictures.refused:
            self._skip(self._pictures.refused.pop())
        plan = foreign_notes.planned(self.house.indexing, note, self.manner, self.gone, self._left)
        if plan.file is not None and plan.file.id in self._pending:
            self._store()  # once more in this export
            plan = foreign_notes.planned(
                self.house.indexing, note, self.manner, self.gone, self._left
            )
        if plan.why:
            self._skip(Skipped(note.path or note.title or note.id, plan.why))
            return
        twice = self.dry_run and plan.file is not None and plan.file.id in self._seen
        became = foreign_notes.KNOWN if twice else plan.became
        setattr(self.notes, became, getattr(self.notes, became) + 1)
        files = [one for one in (plan.file, *plan.replaced) if one is not None]
        if plan.file is not None and not self.dry_run:
            pictures = self._pictures.files(note)
            files += [one for one in pictures if one.id not in self._pending]
        self._pending.update(file.id for file in files)
        self._put(*files)
        if plan.file is not None and not twice:
            self._seen.update((plan.file.id,) if self.dry_run else ())
            self._show(plan.file, "note", 0)

    def _return(self) -> None:
        """Notes of a vault's own export, as they were."""
        notes, self._whole, self._weight = self._whole, [], 0
        if not notes:
            return
        done = put_back(
            self.house.indexing,
            self.house.uses,
            self.archive,
            notes,
            self.source,
            self.gone,
            self._back,
            self.dry_run,
        )
        self.notes.new += done.stored
        self.notes.grown += done.revised
        self.notes.known += done.known
        self.notes.forgotten += done.forgotten
        self.notes.changed_here += done.changed
        self.commits += [done.commit] if done.commit else []
        if done.told:
            self.remarks[_TOLD] = self.remarks.get(_TOLD, 0) + done.told
        for one in done.skipped:
            self._skip(one)
        for note in notes[: _SAMPLE - len(self.sample)]:
            self.sample.append({
                "kind": "note", "title": note.title, "messages": 0,
                "created": note.at.date().isoformat() if note.at else "", "path": note.path,
            })  # fmt: skip

    # -- writing

    def _show(self, file: File, kind: str, messages: int) -> None:
        if len(self.sample) < _SAMPLE:
            text = file.meta
            self.sample.append({
                "kind": kind, "title": str(text.get("title", "")), "messages": messages,
                "created": str(text.get("created", ""))[:10], "path": file.path,
            })  # fmt: skip

    def _put(self, *files: File) -> None:
        """What is put together is written in one commit."""
        if self.dry_run:
            return
        self._files += files
        self._size += sum(len(file.body) + len(file.data) for file in files)
        if len(self._files) >= BATCH or self._size >= _BATCH_BYTES:
            self._store()

    def _store(self) -> None:
        self._return()
        files, self._files, self._size, self._pending = self._files, [], 0, set()
        good: list[tuple[File, Change]] = []
        refused: dict[str, tuple[File, OneiroError]] = {}
        for file in files:
            try:
                good.append((file, file.change()))
            except OneiroError as error:
                refused[file.id] = file, error
        while refused or good:
            for file, why in refused.values():
                self._skip(Skipped(file.path, str(why)))
            good = [one for one in good if not {one[0].id, one[0].partner} & refused.keys()]
            wrong = self._commit(good) if good else {}
            refused = {good[at][0].id: (good[at][0], why) for at, why in wrong.items()}
            if not refused:
                return

    def _commit(self, good: list[tuple[File, Change]]) -> Mapping[int, OneiroError]:
        """Why single ones cannot be written; then none was."""
        ids = tuple(file.id for file, _ in good if memories.is_id(file.id))
        title = f"{len(ids)} notes from {self.format.title}"
        operation = Operation("import", title, self.source, ids)
        changes = [change for _, change in good]
        back = restored(self.house.uses, self.house.vault.clock(), operation)
        receipt = self.house.indexing.apply(changes, operation, events=back, each=True)
        if not receipt.refused:
            self.commits += [receipt.commit] if receipt.commit else []
            self.brought += sum(SEEN in file.meta for file, _ in good)
        return receipt.refused

    def answer(self) -> answers.Imported:
        """What became of all of it."""
        if self._secrets:
            self.remarks[_SECRET] = len(self._secrets)
        return {
            "schema": 1, "format": self.format.name, "title": self.format.title,
            "source": self.source, "dry_run": self.dry_run,
            "conversations": self.conversations.said(), "notes": self.notes.said(),
            "messages": self.messages, "skipped": self.skipped, "faulty": self.faulty,
            "reasons": self.listed,
            "remarks": [{"remark": text, "count": n} for text, n in self.remarks.items()],
            "sample": self.sample, "commits": self.commits, "waiting": len(waiting(self.house)),
            "brought": self.brought,
        }  # fmt: skip


def _exported(archive: Archive) -> str:
    """When an export was made, as far as its newest file says: what is in it was known by then."""
    found = [at for at in map(archive.modified, archive.names()) if at is not None]
    return episodes.shown_date(max(found, default=archive.made))


def _older(said: Conversation, there: list[Memory]) -> bool:
    """Is a later state of it here? What an older export still has was taken back since."""
    state = memories.epoch(episodes.shown_date(said.updated)) if said.updated else None
    states = [memories.epoch(str(one.extra.get(STATE, ""))) for one in there]
    return state is not None and any(one is not None and state < one for one in states)
