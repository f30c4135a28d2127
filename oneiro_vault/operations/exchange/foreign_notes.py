"""An imported note as a memory: what it becomes beside what is there, without writing over
anybody's words. Its pictures are taken in as any picture is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from oneiro_vault.capture import privacy, transcripts
from oneiro_vault.core import memory as memories
from oneiro_vault.core import picture
from oneiro_vault.core.conversation.turns import CLIENT, ENCODED, KIND
from oneiro_vault.core.frontmatter import fields, yaml_block
from oneiro_vault.core.memory import Memory, fingerprint
from oneiro_vault.errors import OneiroError, UnsafePath
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.records import Conversation, Note, Skipped
from oneiro_vault.index.base import Row
from oneiro_vault.operations.exchange.episodes import STATE, File, Manner, shown_date
from oneiro_vault.operations.exchange.put_back import Gone, Places, with_id
from oneiro_vault.operations.indexing import Indexing
from oneiro_vault.operations.remember import images
from oneiro_vault.operations.remember.drafts import note_path, title_of
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.vault.worktree.files import Files, digest, portable, twin_key

NEW: Final = "new"
GROWN: Final = "grown"
KNOWN: Final = "known"
FORGOTTEN: Final = "forgotten"
CHANGED_HERE: Final = "changed_here"
_OF_CAPTURES: Final = frozenset((KIND, CLIENT, ENCODED))
"""Keys by which a captured conversation is known, and whose words are whose in it."""


@dataclass(frozen=True)
class Plan:
    """What a note `became` (a field of the counts), the files to write for it, or `why` it is
    none."""

    became: str = ""
    file: File | None = None
    replaced: tuple[File, ...] = ()
    why: str = ""


def named(said: Conversation) -> Conversation:
    """A conversation that has no id gets one of its first words, which stay in a later export."""
    first = said.turns[0] if said.turns else None
    mark = first.id or first.text if first else said.title
    return replace(said, id=digest(mark.encode("utf-8", "surrogatepass"))[:24])


@dataclass
class Left:
    """Notes that came from a folder or a vault and are no more where they came from: one of the
    same words that is new there was moved or renamed. `names`: what is there now."""

    indexing: Indexing
    names: Sequence[str]
    source: str

    def __post_init__(self) -> None:
        """No two new notes can be at one place."""
        self.places = Places(self.indexing.vault.files)

    def same(self, note: Note, body: str) -> tuple[Row, bytes, Memory] | None:
        """The one that a note seems to have been, unless somebody changed it here."""
        vault, _, place = note.path.partition("/")
        if twin_key(place) not in self._there:
            return None
        row = self._by_words.get((vault, body.strip()))
        if row is None or self.indexing.index.by_path(row.path) is None:
            return None
        data, known = self.indexing.load(row)
        fits = _same(known, body) and not known.superseded_by
        return (row, data, known) if fits and _untouched(known) else None

    @cached_property
    def _there(self) -> frozenset[str]:
        return frozenset(map(twin_key, self.names))

    @cached_property
    def _by_words(self) -> dict[tuple[str, str], Row]:
        found: dict[tuple[str, str], Row] = {}
        for row in self.indexing.index.list(limit=1_000_000, source=self.source):
            vault, _, place = row.path.partition("/")
            if place and twin_key(place) not in self._there:
                known = self.indexing.load(row)[1]
                if not known.superseded_by and STATE in known.extra:
                    found.setdefault((vault, known.body.strip()), row)
        return found


def planned(
    indexing: Indexing,
    note: Note,
    manner: Manner,
    gone: Gone,
    left: Left,
) -> Plan:
    """What is to be done with a note of an export."""
    try:
        meta, body = _written(note, manner)
    except OneiroError as error:
        return Plan(why=str(error))
    own = bool(note.meta.get("id"))
    if not body.strip() and not own:
        return Plan(why="there is nothing in it")
    ident = str(meta["id"])
    words = fingerprint(str(meta["type"]), str(meta["title"]), body)
    if ident in gone or words in gone:
        return Plan(FORGOTTEN)
    there = _newest(indexing, ident)
    if there is None:
        path = _path(indexing, note, meta, own, left)
        if not own and (former := left.same(note, body)):
            return _moved(*former, meta, body, path)
        return Plan(NEW, File(ident, path, meta, body))
    row, data, known = there
    state, exported = _said(meta)
    before, then = _said(known.extra)
    if _same(known, body) or (state and state == before) or exported < then:
        return Plan(KNOWN)
    if exported <= then and state in _former_words(indexing, ident):
        return Plan(KNOWN)  # the same export has it in several states
    if own or not _untouched(known):
        return _beside(indexing, row, known, meta, body)
    return _superseding(row, data, known, meta, body, ident)


def _written(note: Note, manner: Manner) -> tuple[dict[str, object], str]:
    """Its frontmatter, checked key by key, and its body. Raises InvalidInput."""
    body = _clean(note.text, manner)
    body = body if not body or body.endswith("\n") else f"{body}\n"
    title = " ".join(_clean(note.title, manner).split())
    title = title or (title_of(body) if body.strip() else "untitled")
    meta: dict[str, object] = {
        "type": "semantic", "title": title, "source": manner.source,
        "created": shown_date(note.at or note.updated) or manner.exported,
        "timestamp": manner.exported or shown_date(note.updated or note.at),
        "trust": note.trust if note.trust != "external" else None,
        "project": manner.project or None,
    }  # fmt: skip
    own = bool(note.meta.get("id"))
    meta = {} if own else meta
    for key, value in (note.meta if own else _unclaimed(note.meta)).items():
        clean = _clean(value, manner) if isinstance(value, str) else value
        meta[key] = clean if own else fields.checked(key, clean)
    if manner.foreign:
        meta |= {"source": manner.source, "trust": None, "core": None}
    if not own:
        meta["id"] = memories.id_of(manner.source, note.id or note.path or f"{title}\0{body}")
        meta[STATE] = f"{_state(str(meta['title']), body)} {manner.exported}"
    meta.setdefault("type", "semantic")
    meta.setdefault("title", title)
    return {key: value for key, value in meta.items() if value is not None}, body


def _unclaimed(meta: Mapping[str, object]) -> Mapping[str, object]:
    """Without saying that it is a conversation as it was captured, in which everybody can write
    what the person is to have said; that stays under another name."""
    return {f"their_{key}" if key in _OF_CAPTURES else key: value for key, value in meta.items()}


def _clean(text: str, manner: Manner) -> str:
    text = privacy.redact(text).replace("\0", "") if "<" in text or "\0" in text else text
    text = text.encode("utf-8", "replace").decode("utf-8")
    return manner.clean(transcripts.unmarked(text))


def _state(title: str, body: str) -> str:
    """What tells whether the words of a note are still those that were imported."""
    return fingerprint("", title, body)[:16]


def _newest(indexing: Indexing, ident: str) -> tuple[Row, bytes, Memory] | None:
    """The note of that id, or what replaced it since."""
    return next(reversed([*_versions(indexing, ident)]), None)


def _versions(indexing: Indexing, ident: str) -> Iterator[tuple[Row, bytes, Memory]]:
    """The note of that id, and what replaced it, one after the other."""
    seen: set[str] = set()
    while ident and ident not in seen:
        seen.add(ident)
        if (row := with_id(indexing.index, ident)) is None:
            return
        data, known = indexing.load(row)
        yield row, data, known
        ident = known.superseded_by


def _former_words(indexing: Indexing, ident: str) -> set[str]:
    return {_said(known.extra)[0] for _, _, known in _versions(indexing, ident)} - {""}


def _said(meta: Mapping[str, object]) -> tuple[str, float]:
    """The words that an export had, and when it was made: what an older one says is over."""
    words, _, date = str(meta.get(STATE, "")).partition(" ")
    return words, memories.epoch(date) or 0.0


def _untouched(known: Memory) -> bool:
    """Are its words still those that were imported?"""
    return _state(known.title, known.body) == _said(known.extra)[0]


def _same(known: Memory, body: str) -> bool:
    return known.body.strip() == body.strip()


def _path(indexing: Indexing, note: Note, meta: Mapping[str, object], own: bool, left: Left) -> str:
    """Where it stood, if a note can stand there and none does; else where its kind is filed."""
    usual = _usual(meta)
    try:
        wanted = portable(note_path(note.path)) if note.path else usual
    except (UnsafePath, OneiroError):
        return usual
    free = own or indexing.index.by_path(wanted) is None
    return wanted if free and left.places.take(wanted) else usual


def _beside(
    indexing: Indexing, row: Row, known: Memory, meta: dict[str, object], body: str
) -> Plan:
    """It was changed here and there: a proposal waits for a person, once for each state."""
    ident = memories.id_of("beside", row.handle, _state(str(meta["title"]), body))
    if _newest(indexing, ident) is not None:
        return Plan(CHANGED_HERE)
    title = f"Proposed: {known.title}"
    changes: dict[str, object] = {
        "id": ident, "title": title, "status": "pending", "supersedes": [row.handle],
    }  # fmt: skip
    made = meta | changes
    return Plan(CHANGED_HERE, File(ident, _usual(made), made, body))


def _superseding(
    row: Row, data: bytes, known: Memory, meta: dict[str, object], body: str, first: str
) -> Plan:
    """The new version takes the place of the former, whose words stay. Where somebody chose that
    place (its vault there, a person here) the new version stands in it, since links lead there."""
    ident = memories.id_of(first, _said(meta)[0])
    made = meta | {"id": ident, "supersedes": [row.handle]} | _begun(known, meta)
    base = digest(data)
    former = _former(data, known, made)
    if row.path.endswith(f"-{row.handle}.md") or not memories.is_id(row.handle):
        old = File(row.handle, row.path, {}, "", base, former, ident)
        return Plan(GROWN, File(ident, _usual(made), made, body, partner=row.handle), (old,))
    old = File(row.handle, _filed(row, known), {}, "", None, former, ident)
    return Plan(GROWN, File(ident, row.path, made, body, base, partner=row.handle), (old,))


def _moved(
    row: Row, data: bytes, known: Memory, meta: dict[str, object], body: str, path: str
) -> Plan:
    """It has another place there, and so it has here; what knew it by its former id finds it."""
    ident = str(meta["id"])
    made = meta | {"supersedes": [row.handle]} | _begun(known, meta)
    old = File(row.handle, _filed(row, known), {}, "", None, _former(data, known, made), ident)
    base = digest(data)
    away = File(f"{row.handle} away", row.path, {}, "", base, partner=ident, gone=True)
    return Plan(GROWN, File(ident, path, made, body, partner=row.handle), (old, away))


def _former(data: bytes, known: Memory, made: Mapping[str, object]) -> bytes:
    """A note that another one has replaced."""
    changes: dict[str, object | None] = {
        "status": "superseded",
        "superseded_by": made["id"],
        "valid_until": known.valid_until or made.get("timestamp") or made.get("created"),
    }
    return yaml_block.edited(data, changes)


def _filed(row: Row, known: Memory) -> str:
    return _usual({"id": row.handle, "type": known.type, "title": known.title} | _day(known))


def _usual(meta: Mapping[str, object]) -> str:
    """Where machines file a note of these keys."""
    return memories.path_for(
        str(meta["type"]), str(meta["title"]), str(meta["id"]), str(meta.get("created") or "2000")
    )


def _begun(known: Memory, meta: Mapping[str, object]) -> dict[str, object]:
    """A new version is no younger than what it replaces: its date may be that of the file only."""
    first, now = memories.epoch(known.created), memories.epoch(str(meta.get("created", "")))
    return _day(known) if first is not None and (now is None or first < now) else {}


def _day(known: Memory) -> dict[str, object]:
    return {"created": known.created} if known.created else {}


@dataclass
class Pictures:
    """Those of one archive; `refused`: those that were looked at last and cannot be stored."""

    settings: Settings
    vault: Files
    archive: Archive
    refused: list[Skipped] = field(default_factory=list)
    _places: dict[str, str] = field(default_factory=dict)

    def shown(self, note: Note) -> Note:
        """The note, showing its pictures where they are to lie in the vault."""
        if not note.pictures:
            return note
        text, position, parts = note.text, 0, []
        for start, end, target in picture.embedded(text):
            if place := self._place(note.pictures.get(target, "")):
                parts += [text[position:start], _link(text, start, place, note.path)]
                position = end
        return replace(note, text="".join([*parts, text[position:]]))

    def files(self, note: Note) -> Iterator[File]:
        """Those of a note that are not in the vault yet, to be written with it."""
        for name in dict.fromkeys(note.pictures.values()):
            place = self._place(name)
            if place and self.vault.content(place) is None:
                yield File(place, place, {}, "", None, self._stored(name).data)

    def _place(self, name: str) -> str:
        """Where it is to lie, "" for what is no picture that can be stored."""
        if name and name not in self._places:
            try:
                self._places[name] = self._stored(name).path
            except OneiroError as error:
                self._places[name] = ""
                self.refused.append(Skipped(name, str(error)))
        return self._places.get(name, "")

    def _stored(self, name: str) -> images.Stored:
        data = self.archive.read(name, self.settings["images.bytes"])
        return images.stored(self.settings, data)


def _link(text: str, start: int, place: str, note: str) -> str:
    """Obsidian finds a file by its place in the vault, Markdown from the note's own."""
    if text.startswith("[[", start - 2):
        return place
    return picture.relative(place, note)
