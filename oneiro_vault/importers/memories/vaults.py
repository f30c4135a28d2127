"""Obsidian vaults, Logseq graphs and any folder of Markdown: every note with its title, tags,
aliases, dates and links; Obsidian's canvases as notes.

Whose words a note holds nothing says: clipped pages, quotations and what a plug-in wrote look like
the person's own. So all of it counts as `external`.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote

from oneiro_vault.core import picture
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.memory import CREATED
from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.archive import UNTOUCHED, Archive
from oneiro_vault.importers.memories import written_note
from oneiro_vault.importers.memories.obsidian import Days, canvas
from oneiro_vault.importers.memories.written_note import Written, composed, line, moment
from oneiro_vault.importers.records import Format, Note, Record, Skipped
from oneiro_vault.vault.worktree.files import hidden, objection, twin_key

_ENDINGS: Final = (".md", ".markdown")
_AWAY: Final = ".icloud"
"""Ending of what stands (hidden) for a file that was moved off this disk."""
_HIDDEN: Final = "hidden"
_PICTURES: Final = (".png", ".jpg", ".jpeg", ".webp", ".gif")
_COPY: Final = re.compile(
    r"(?i)(?:[ ._-]*(?:\(\d+\)|(?:19|20)\d\d[-_.]?\d\d[-_.]?\d\d(?:[T ._-]?[\d._:-]+)?|"
    r"backup|export|copy|main|master))+$"
)
_FIELD: Final = re.compile(r"(?m)^[ \t]*(?:[-*+][ \t]+)?([A-Za-z][\w -]{0,30})::[ \t]+(\S.*)$")
_FIELDS_IN: Final = 3000
"""Characters of a body in which the `key:: value` lines about the note itself stand."""
_ODD: Final = re.compile(r'[<>:"|?*\\\x00-\x1f\x7f]+')
_RESERVED: Final = re.compile(r"(?i)(?:con|prn|aux|nul|(?:com|lpt)[0-9])(?:\..*)?")
_OWN: Final = "oneiro.toml"
_OURS: Final = frozenset(("attachments", "ledger", "dreams"))
"""Folders of a vault of ours in which no notes stand."""
_LOGSEQ: Final = "logseq/config.edn"
_IDENTITY: Final = ("id", "uuid", "uid")
_UNIQUE: Final = re.compile(r"(?i)[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}")
_SHORTEST: Final = 6
"""Characters of an id that somebody gave: `id: 3` is a number of something."""


def is_note(name: str) -> bool:
    """Is this a note, outside the folders that programs keep for themselves?"""
    return name.lower().endswith(_ENDINGS) and not hidden(name)


def named(archive: Archive) -> str:
    """What a vault is called, without what a backup adds (`Notes-2026-11-20 (1).zip`): paths are
    told apart by it."""
    stem = archive.name[:-4] if archive.name.lower().endswith(".zip") else archive.name
    return composed(_COPY.sub("", stem).strip() or stem or "Notes")


class Given:
    """Ids and paths, each once: a vault from Linux may have two names that are one on a Mac."""

    def __init__(self, vault: str) -> None:
        self._vault = vault
        folder = vault.replace("/", "-").lstrip(".") or "Notes"
        self._folder = f"{folder} notes" if folder.lower() in _OURS else folder
        self._ids: set[str] = set()
        self._paths: set[str] = set()

    def id(self, own: str, name: str) -> str:
        """The id that a note says it has, where no other says the same, else its place."""
        given = next(one for one in self._choices(own, name) if one not in self._ids)
        self._ids.add(given)
        return given

    def _choices(self, own: str, name: str) -> Iterator[str]:
        place = f"{self._vault}/{composed(name)}"
        if own:  # one of another vault may be the same, unless it is one of its kind
            yield own if _UNIQUE.fullmatch(own) else f"{self._vault}#{own}"
        yield place
        yield f"{self._vault}/{name}"
        yield from (f"{place}#{number}" for number in range(2, 1_000_000))

    def path(self, name: str) -> str:
        """Where it may stand below one folder: as in its vault, with a number at a clash."""
        bare = name[: -len(PurePosixPath(name).suffix)] if is_note(name) else name
        parts = f"{self._folder}/{composed(bare)}".split("/")
        stem = "/".join(map(_portable, parts))
        chosen, number = f"{stem}.md", 1
        while twin_key(chosen) in self._paths:
            number += 1
            chosen = f"{stem} ({number}).md"
        self._paths.add(twin_key(chosen))
        return chosen


class Shown:
    """The pictures of a vault, found by how notes embed them; `taken`: those that some note
    shows."""

    def __init__(self, archive: Archive) -> None:
        self.taken: set[str] = set()
        self._named: dict[str, list[str]] = {}
        for name in archive.names():
            if name.lower().endswith(_PICTURES) and not hidden(name):
                self._named.setdefault(twin_key(PurePosixPath(name).name), []).append(name)

    def by(self, body: str, note: str) -> dict[str, str]:
        """What a note embeds, as it is written there -> name of the picture in the archive."""
        if not self._named or "![" not in body:
            return {}
        found = {target: self._at(target, note) for _, _, target in picture.embedded(body)}
        self.taken.update(name for name in found.values() if name)
        return {target: name for target, name in found.items() if name}

    def _at(self, target: str, note: str) -> str:
        """Beside the note, else by its place in the vault, else by as much of it as is written."""
        wanted = twin_key(unquote(target).strip().lstrip("/"))
        beside = posixpath.normpath(posixpath.join(twin_key(posixpath.dirname(note)), wanted))
        named = self._named.get(wanted.rpartition("/")[2], [])
        for name in (one for place in (beside, wanted) for one in named if twin_key(one) == place):
            return name
        return next((one for one in named if twin_key(one).endswith(f"/{wanted}")), "")


class _Vault:
    """One vault on its way in; `prefix`: what is put before keys that mean something else here."""

    def __init__(self, archive: Archive, prefix: str) -> None:
        self._archive, self._prefix = archive, prefix
        self._given = Given(named(archive))
        self._days = Days.of(archive)
        self._shown = Shown(archive)
        self._logseq = any(name.endswith(_LOGSEQ) for name in archive.names())

    def records(self) -> Iterator[Record]:
        """Everything there is in it."""
        _is_foreign(self._archive)
        for name in self._archive.names():
            if hidden(name) or (self._logseq and name.startswith("logseq/")):
                continue
            if is_note(name):
                yield from self._note(name)
            elif name.lower().endswith(".canvas"):
                yield self._canvas(name)
        yield from left_out(self._archive, self._shown.taken)

    def _note(self, name: str) -> Iterator[Record]:
        written = written_note.read(self._archive, name)
        if isinstance(written, Skipped):
            yield written
            return
        if not written.body.strip():
            yield Skipped(name, "it has no text")
            return
        path = self._given.path(name)
        if why := objection(path):
            yield Skipped(name, why)
            return
        yield self._made(written, path)
        yield from faulty(written)

    def _made(self, written: Written, path: str) -> Note:
        found = written_note.meant(written)
        meta = written_note.frontmatter(written, found, self._prefix)
        fields = _fields(written.body)
        title = self._title(written, fields)
        at = moment(found.created) or self._days.day(written.path) or moment(_date_in(fields))
        self._aliases(written, title, fields, meta)
        if at is None:
            at = self._archive.modified(written.path)
            meta["created_from"] = "file time"  # a copy, a clone or a sync may have set it
        own = written.text(*_IDENTITY)
        return Note(
            id=self._given.id(own if len(own) >= _SHORTEST else "", written.path),
            title=title,
            text=written.body,
            at=at,
            updated=moment(found.timestamp),
            path=path,
            meta=meta,
            pictures=self._shown.by(written.body, written.path),
        )

    def _title(self, written: Written, fields: dict[str, str]) -> str:
        stem = PurePosixPath(composed(written.path)).stem
        if said := written.text("title") or (line(fields.get("title")) if self._logseq else ""):
            return said
        if self._logseq:
            return stem.replace("___", "/")
        return (self._prefix != OBSIDIAN.name and parser.top_heading(written.body)) or stem

    def _aliases(
        self, written: Written, title: str, fields: dict[str, str], meta: dict[str, object]
    ) -> None:
        """Under what else its links name a page of Logseq's."""
        if not self._logseq:
            return
        day = self._days.day(written.path)
        more = [title if "/" in title else "", _logseq_day(day) if day else ""]
        more += re.split(r",\s*", fields.get("alias", fields.get("aliases", "")))
        known = meta.get("aliases", [])
        kept = [*(known if isinstance(known, list) else []), *map(_unlinked, more)]
        if aliases := written_note.names([one for one in kept if one]):
            meta["aliases"] = aliases
        tags = [_unlinked(one) for one in re.split(r",\s*", fields.get("tags", ""))]
        if tags := written_note.names([one.lstrip("#") for one in tags if one]):
            meta.setdefault("tags", tags)

    def _canvas(self, name: str) -> Record:
        try:
            text = canvas(self._archive.read(name, written_note.LARGEST))
        except (InvalidInput, ValueError, RecursionError) as error:
            return Skipped(name, f"this canvas cannot be read: {error}")
        if not text:
            return Skipped(name, "it has no text")
        return Note(
            id=self._given.id("", name),
            title=PurePosixPath(composed(name)).stem,
            text=text,
            at=self._days.day(name) or self._archive.modified(name),
            path=self._given.path(name),
            meta={"type": "note", "tags": ["canvas"]},
            pictures=self._shown.by(text, name),
        )


def faulty(written: Written) -> Iterator[Skipped]:
    """What a person may want to mend in a note that was taken all the same."""
    if written.fault:
        why = f"its properties cannot be read ({written.fault}); it was taken with them as text"
        yield Skipped(written.path, why, taken=True)


def left_out(archive: Archive, taken: Collection[str] = ()) -> Iterator[Skipped]:
    """What lies in a vault and is neither a note nor `taken` with one, told once for each kind."""
    found: Counter[str] = Counter()
    for name in archive.names():
        if name in taken:
            continue
        if "/.trash/" in f"/{name}":
            found[".trash"] += name.lower().endswith(_ENDINGS)
        elif name.endswith(_AWAY):
            found[_AWAY] += 1
        elif hidden(name) and "/.obsidian/" not in f"/{name}":
            found[_HIDDEN] += name.lower().endswith(_ENDINGS)
        elif not hidden(name) and not name.lower().endswith((*_ENDINGS, ".canvas")):
            found[PurePosixPath(name).suffix.lower() or "others"] += 1
    if away := found.pop(_AWAY, 0):
        why = f"{away:,} files are in iCloud only: download them, and import once more"
        yield Skipped("iCloud", why)
    if trash := found.pop(".trash", 0):
        yield Skipped(".trash", f"what was deleted there is not taken ({trash:,} .md)")
    if unseen := found.pop(_HIDDEN, 0):
        why = (
            f"what begins with a dot, or lies in a folder that does, is not taken ({unseen:,} .md)"
        )
        yield Skipped("hidden", why)
    if found:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.most_common(6))
        why = f"what is no note and shown by none is not taken ({kinds})"
        yield Skipped("attachments", f"{why}; links to it stay as they are written")


def _portable(part: str) -> str:
    """A name as every system can hold it: `Why red?` is called `Why red`. Links from notes here
    find it by its title."""
    kept = _ODD.sub("-", part).rstrip(" .-") if _ODD.search(part) else part.rstrip(" .")
    return f"{kept}_" if _RESERVED.fullmatch(kept) else kept or "_"


def _fields(body: str) -> dict[str, str]:
    """`key:: value` lines near the beginning: Dataview's, and the properties of a Logseq page."""
    found: dict[str, str] = {}
    if "::" in body[:_FIELDS_IN]:
        for field in _FIELD.finditer(body[:_FIELDS_IN]):
            found.setdefault(field[1].strip().lower(), field[2].strip())
    return found


def _date_in(fields: dict[str, str]) -> str:
    return next((_unlinked(fields[key]) for key in CREATED if key in fields), "")


def _unlinked(text: str) -> str:
    return line(text).removeprefix("#").removeprefix("[[").removesuffix("]]")


def _logseq_day(day: datetime) -> str:
    """As Logseq calls a journal unless told otherwise: `Mar 5th, 2024`."""
    at = day.day
    ending = "th" if 10 < at < 14 else {1: "st", 2: "nd", 3: "rd"}.get(at % 10, "th")
    return f"{day.astimezone(UTC):%b} {at}{ending}, {day.year}"


def _is_foreign(archive: Archive) -> bool:
    """True; raises InvalidInput for a vault of ours: its notes would lose their ids."""
    if _OWN in archive.names():
        raise InvalidInput(
            f"{archive.name} is a vault of this program ({_OWN} is in it)",
            kept=UNTOUCHED,
            hint="`oneiro --vault PATH export jsonl FILE` takes its memories along, and "
            "`oneiro import FILE` brings them here.",
        )
    return True


def _is_obsidian(archive: Archive) -> bool:
    inside = any("/.obsidian/" in f"/{name}" for name in archive.names())
    return inside and not written_note.has_permalinks(archive) and _is_foreign(archive)


def _is_markdown(archive: Archive) -> bool:
    return any(map(is_note, archive.names())) and _is_foreign(archive)


def _obsidian(archive: Archive) -> Iterator[Record]:
    return _Vault(archive, OBSIDIAN.name).records()


def _markdown(archive: Archive) -> Iterator[Record]:
    return _Vault(archive, MARKDOWN.name).records()


OBSIDIAN: Final = Format("obsidian", "an Obsidian vault", _is_obsidian, _obsidian)
MARKDOWN: Final = Format(
    "markdown", "a folder of Markdown notes (also a Logseq graph)", _is_markdown, _markdown
)
