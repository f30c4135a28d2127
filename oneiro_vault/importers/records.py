"""What a reader of an export yields, whatever the format: conversations, notes, and what could not
be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneiro_vault.importers.archive import Archive


@dataclass(frozen=True)
class Turn:
    """One thing said. `id`: the export's own, "" when it has none; `speaker`: user, assistant, tool
    or quoted, neither typed nor answered (a pasted file, a web page, injected text); `at`: with its
    zone."""

    id: str
    speaker: str
    text: str
    at: datetime | None = None


@dataclass(frozen=True)
class Conversation:
    """Turns as they were on screen, oldest first. `id` stays the same in a later export; `remark`:
    what is to be said of how it was read."""

    id: str
    title: str
    turns: tuple[Turn, ...]
    at: datetime | None = None
    updated: datetime | None = None
    project: str = ""
    tags: tuple[str, ...] = ()
    remark: str = ""


@dataclass(frozen=True)
class Note:
    """Something written down. `meta`: frontmatter keys of this vault's own format; `path`: where it
    stood in its archive, "" when that says nothing.

    Of an export of a vault: `data` is the whole file as it was there, to be written as it is (the
    rest is for those who only count), `path` its place in the vault, `files` what it shows: place
    in the vault -> name in the archive.
    """

    id: str
    title: str
    text: str
    at: datetime | None = None
    updated: datetime | None = None
    trust: str = "external"
    path: str = ""
    meta: Mapping[str, object] = field(default_factory=dict)
    pictures: Mapping[str, str] = field(default_factory=dict)
    """What its text embeds, as it is written there -> name of the picture in the archive."""
    data: bytes | None = None
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Skipped:
    """What could not be read, or is not taken: `where` in the archive, and `why` for a person;
    `taken`: it came in all the same, and a person may want to mend it."""

    where: str
    why: str
    taken: bool = False


Record = Conversation | Note | Skipped


@dataclass(frozen=True)
class Format:
    """One kind of export: `recognises` looks at a little of an archive, `read` goes through it as a
    stream."""

    name: str
    title: str
    recognises: Callable[[Archive], bool]
    read: Callable[[Archive], Iterator[Record]]
