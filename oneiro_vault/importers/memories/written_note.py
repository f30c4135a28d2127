"""One Markdown file of another program, as a note of ours can hold it: its words byte for byte, its
front matter as far as the keys mean the same here, and every other key under a name of its own."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final

from oneiro_vault.capture.transcripts import unmarked
from oneiro_vault.core import memory
from oneiro_vault.core.frontmatter import fields, salvage, yaml_block
from oneiro_vault.core.markdown.quoting import one_line
from oneiro_vault.core.memory import Memory
from oneiro_vault.core.time.date_ranges import since_epoch
from oneiro_vault.errors import InvalidInput, UnreadableNote
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.records import Skipped
from oneiro_vault.vault.worktree.files import hidden

LARGEST: Final = 16 << 20
"""Bytes of one file that are looked at; no note is that long."""
_TAKEN: Final = frozenset(("title", "description", "tags", "aliases", "created", "timestamp"))
_SAME: Final = frozenset(("about", "topics", "project"))
"""Keys that mean the same elsewhere, where their value has our form."""
_LOOKED_AT: Final = 40
"""Notes of a folder that tell what wrote it."""
_SINGULAR: Final = {"tag": "tags", "alias": "aliases"}
_FIRST_YEAR: Final = 1900
"""Programs write the year 1 for a date that they do not know."""


@dataclass(frozen=True)
class Written:
    """`meta`: the front matter as plain data; `spelled`: every scalar of it as it is written;
    `fault`: why it could not be read, when the whole file is `body`."""

    path: str
    body: str
    meta: Mapping[str, object] = field(default_factory=dict)
    spelled: Mapping[str, object] = field(default_factory=dict)
    fault: str = ""

    def text(self, *keys: str) -> str:
        """What the first of these keys says that says anything, as text on one line."""
        said = (self.spelled.get(key) for key in keys)
        return next((line(one) for one in said if isinstance(one, str) and line(one)), "")


def read(archive: Archive, name: str) -> Written | Skipped:
    """One file of an archive; `Skipped` for what is no text."""
    try:
        data = archive.read(name, LARGEST)
    except InvalidInput as error:
        return Skipped(name, str(error))
    text = salvage.decoded(data)
    if text is None:
        return Skipped(name, "it is no text")
    text = text.removeprefix(yaml_block.BOM)
    try:
        yaml_block.refuse_markers(text)
    except UnreadableNote:  # a note of ours with them would count as an unfinished merge
        text = unmarked(text)
    return _parted(name, text)


def has_permalinks(archive: Archive) -> bool:
    """Do most of the notes (of those that are looked at) have the address that basic-memory gives
    each one, and its `title` and `type`?"""
    looked = [name for name in archive.names() if name.lower().endswith(".md") and not hidden(name)]
    step = max(1, len(looked) // _LOOKED_AT)
    found = [read(archive, name) for name in looked[::step][:_LOOKED_AT]]
    notes = [one for one in found if isinstance(one, Written)]
    marked = [one for one in notes if {"permalink", "title", "type"} <= one.meta.keys()]
    return bool(notes) and 2 * len(marked) > len(notes)


def _parted(name: str, text: str) -> Written:
    try:
        meta, body = yaml_block.read(text)
        spelled = yaml_block.texts(text)
    except UnreadableNote as error:
        if mended := salvage.mended(text.encode("utf-8", "replace")):
            return _parted(name, mended.decode())  # a colon in a value without quotes
        found = salvage.salvage(name, text.encode("utf-8", "replace"))
        known = {key: getattr(found, key) for key in ("tags", "aliases", "created", "timestamp")}
        whole = _says_title(text) and not found.title.startswith(("[", "{", "'", '"'))
        told = {"title": found.title} if whole else {}
        meta = {key: list(v) if isinstance(v, tuple) else v for key, v in known.items() if v} | told
        return Written(name, text, meta, meta, str(error))
    return Written(name, body, _folded(meta), _folded(spelled))


def _says_title(text: str) -> bool:
    return re.search(r"(?mi)^title[ \t]*:", text[:4000]) is not None


def _folded(meta: Mapping[str, object]) -> dict[str, object]:
    """Obsidian does not tell `Tags` from `tags`, and older notes have `tag` and `alias`."""
    found: dict[str, object] = {}
    for key, value in meta.items():
        small = _SINGULAR.get(key.lower(), key.lower())
        known = small in _TAKEN or small in fields.EXPECTED
        found.setdefault(small if known else key, value)
    return found


def meant(written: Written) -> Memory:
    """What the front matter says, read as leniently as that of a note here; without the body."""
    meta = {key: value for key, value in written.meta.items() if key in _TAKEN | _SAME}
    rest = {key: value for key, value in written.meta.items() if key not in fields.EXPECTED}
    return memory.of(written.path, meta | rest, "", lambda: written.spelled)


def frontmatter(written: Written, found: Memory, prefix: str) -> dict[str, object]:
    """The keys of the note to be, apart from its title and its dates. One that has another meaning
    here (`status: reading`, `source: https://…`) is kept as `<prefix>_status`."""
    kept: dict[str, object] = {}
    for key, value in written.meta.items():
        if key == "type" and (kind := own_type(written.text("type"))):
            kept["type"] = kind
        elif key in _SAME and key not in found.problems:
            if said := getattr(found, key):
                kept[key] = said if isinstance(said, str) else names(said)
        elif key in fields.EXPECTED and (key not in _TAKEN or key in found.problems):
            kept[f"{prefix}_{key}"] = value
        elif key not in _TAKEN:
            kept[_named(key, prefix)] = value
    kept.setdefault("type", "note")
    known = {
        "description": found.description,
        "tags": names(found.tags),
        "aliases": names(found.aliases),
    }
    return kept | {key: value for key, value in known.items() if value}


def _named(key: str, prefix: str) -> str:
    """A key of theirs; what no file of ours can have as one (nothing, two lines) has its prefix."""
    try:
        fields.checked(key, None)
    except InvalidInput:
        return f"{prefix}_{line(key)}"
    return key


def own_type(said: str) -> str:
    """A type of theirs as it can stand here; "" for one of ours, which would make a note fade or be
    always loaded."""
    word = said.strip().lower()
    return word if re.fullmatch(r"[\w-]{1,40}", word) and word not in memory.TYPES else ""


def names(given: object) -> list[str]:
    """A list of names as frontmatter can hold it, each once."""
    found: dict[str, str] = {}
    for one in given if isinstance(given, list | tuple) else [given]:
        name = line(one) if isinstance(one, str | int | float) else ""
        if name and len(name) <= fields.LONGEST_NAME and not fields.blank(name):
            found.setdefault(name.casefold(), name)
    return list(found.values())[: fields.MOST_NAMES]


def line(value: object) -> str:
    """Text on one line, without what no file may hold."""
    return "" if value is None else one_line(str(value))


def prose(value: object) -> str:
    """A text of several lines without what no file may hold; "" for what is no text."""
    if not isinstance(value, str):
        return ""
    text = value.replace("\0", "").replace("\r\n", "\n").encode("utf-8", "replace").decode()
    return unmarked(text).strip()


def moment(value: object) -> datetime | None:
    """A date however a program writes it (RFC 3339, without zone as UTC, seconds or milliseconds
    since 1970), None for what is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return since_epoch(value)
    said = memory.written_date(value)
    try:
        found = datetime.fromisoformat(said) if said else None
    except ValueError:
        return None
    return found if found and found.year >= _FIRST_YEAR else None


composed = partial(unicodedata.normalize, "NFC")
"""A name as every system but macOS writes it."""
