"""Bundles of the Open Knowledge Format, 0.1 and 0.2: a folder of Markdown with YAML on top. One
that `oneiro export okf` made says in every file what it changed, and is read back as it was."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final
from urllib.parse import unquote

from oneiro_vault.core import memory as memories
from oneiro_vault.core.frontmatter import fields, yaml_block
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.picture import embedded
from oneiro_vault.errors import InvalidInput, OneiroError
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.own import attached, moment, note_of
from oneiro_vault.importers.records import Format, Note, Record, Skipped

VERSION: Final = "0.2"
RESERVED: Final = frozenset(("index.md", "log.md"))
"""Names that are never a concept's, in any folder."""
STAMP: Final = "oneiro"
"""Key of what an export of ours says for its way back: `added` keys, what others were (`kept`),
where the note was (`path`), `links` when they are as they were written, or the whole `file`."""
AS_WRITTEN: Final = "as written"
_LARGEST: Final = 16 << 20
CLAIMS: Final = frozenset(
    "id source trust core level status timestamp supersedes superseded_by derived_from flags "
    "session turn".split()
)
"""Keys that mean something here and may mean anything there."""
_LINK: Final = re.compile(
    r"(!?)\[([^\[\]\r\n]*)\]\((?:<([^<>\r\n]+)>|([^()\s<>\"]+))(?:[ \t]+\"([^\"\r\n]*)\")?\)"
)
_WAS: Final = re.compile(r"!?\[(?:\[[^\r\n]+\]\]|[^\[\]\r\n]*\]\([^\r\n]+\))")
_CITATIONS: Final = re.compile(r"(?im)^#{1,6}[ \t]+citations?[ \t]*#*[ \t]*$")
_NEXT: Final = re.compile(r"(?m)^#{1,6}[ \t]")


def recognises(archive: Archive) -> bool:
    """Does the index at the top say which version of the format it is?"""
    if "index.md" not in archive.names():
        return False
    try:
        text = yaml_block.decode(archive.read("index.md", _LARGEST))
        return "okf_version" in yaml_block.read(text)[0]
    except OneiroError:
        return False


def read(archive: Archive) -> Iterator[Record]:
    """Every concept, by its path; what the format reserves is none."""
    bundle = _Bundle(archive)
    for name in archive.names():
        if name.lower().endswith(".md") and posixpath.basename(name) not in RESERVED:
            try:
                yield bundle.note(name)
            except OneiroError as error:
                yield Skipped(name, str(error))


def unlinked(body: str) -> str:
    """A body with its links as they were before the export made them plain Markdown."""
    return _LINK.sub(_was, body) if "](" in body else body


def _was(link: re.Match[str]) -> str:
    original = unquote(link[5] or "")
    ours = (link[3] or link[4]).startswith("/") and _WAS.fullmatch(original)
    return original if ours else link[0]


class _Bundle:
    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._names = frozenset(archive.names())
        self._titles: dict[str, str] = {}

    def note(self, name: str) -> Note:
        text = yaml_block.decode(self._archive.read(name, _LARGEST))
        meta, body = yaml_block.read(text)
        stamp = meta.get(STAMP)
        if isinstance(stamp, dict) and stamp.get("version") == 1:
            return self._own(name, meta, body, stamp)
        return self._foreign(name, meta, body)

    def _own(
        self, name: str, meta: Mapping[str, object], body: str, stamp: Mapping[str, object]
    ) -> Note:
        path, file = str(stamp.get("path", name)), str(stamp.get("file", ""))
        added, kept = stamp.get("added", []), stamp.get("kept", {})
        if not isinstance(added, list) or not isinstance(kept, dict):
            raise InvalidInput(f"what `{STAMP}` says in it has the wrong shape")
        left = {key: value for key, value in meta.items() if key not in (*added, STAMP)}
        words = body if stamp.get("links") == AS_WRITTEN else unlinked(body)
        files = {one: one for one in attached(stamp) if one in self._names}
        return note_of(left | kept, words, path, files, file)

    def _foreign(self, name: str, meta: Mapping[str, object], body: str) -> Note:
        at, changed = _written(meta)
        known = _known(meta)
        sources = known.get("sources") or _cited(body)
        if sources:
            known["sources"] = sources
        title = str(meta.get("title") or "").strip() or self._title(name)
        return Note(
            name[:-3],
            title,
            self._linked(name, body),
            at,
            changed,
            path=name,
            meta={key: value for key, value in known.items() if value not in ("", [], None)},
            pictures=dict(self._pictures(name, body)),
        )

    def _pictures(self, name: str, body: str) -> Iterator[tuple[str, str]]:
        for _, _, target in embedded(body):
            place = self._place(name, target)
            if place in self._names and not place.endswith(".md"):
                yield target, place

    def _place(self, name: str, target: str) -> str:
        """What a link in the concept `name` leads to, from the top of the bundle."""
        path = unquote(target.partition("#")[0])
        folder = "" if path.startswith("/") else posixpath.dirname(name)
        return posixpath.normpath(posixpath.join(folder, path.lstrip("/")))

    def _linked(self, name: str, body: str) -> str:
        """Links to concepts of the bundle by their titles, so that they lead there wherever the
        notes come to lie; others, and broken ones, stay."""

        def named(link: re.Match[str]) -> str:
            place = self._place(name, link[3] or link[4])
            if link[1] or place not in self._names or not place.endswith(".md"):
                return link[0]
            title = self._title(place)
            if re.search(r"[\[\]|#^]", title) or posixpath.basename(place) in RESERVED:
                return link[0]
            return f"[[{title}]]" if link[2] in ("", title) else f"[[{title}|{link[2]}]]"

        code = parser.code_spans(body) if "](" in body else ()
        return _LINK.sub(
            lambda link: link[0] if parser.inside(link.start(), code) else named(link), body
        )

    def _title(self, name: str) -> str:
        if name not in self._titles:
            try:
                text = yaml_block.decode(self._archive.read(name, _LARGEST))
                meta, body = yaml_block.read(text)
            except OneiroError:
                meta, body = {}, ""
            stem = posixpath.basename(name)[:-3]
            self._titles[name] = str(meta.get("title") or "") or parser.top_heading(body) or stem
        return self._titles[name]


def _written(meta: Mapping[str, object]) -> tuple[datetime | None, datetime | None]:
    """When it came to be and was changed last; 0.1 has one date, `timestamp`."""
    generated = meta.get("generated")
    stated = generated.get("at") if isinstance(generated, dict) else None
    first = memories.stated_date(meta, memories.CREATED)
    last = memories.moment(str(stated or meta.get("timestamp") or ""))
    return moment(first or last), moment(last or first)


def _known(meta: Mapping[str, object]) -> dict[str, object]:
    """The keys of a concept as keys of a note; what would mean something else here has another
    name."""
    type_ = str(meta.get("type") or "").strip()
    ours = type_.lower() in memories.TYPES and type_.lower() != "orientation"
    found: dict[str, object] = {"type": type_.lower() if ours else "semantic"}
    if type_ and not ours:
        found["kind"] = " ".join(type_.split())
    if meta.get("status") == "deprecated":
        found["status"] = "archived"
    if until := memories.moment(str(meta.get("stale_after") or "")):
        found["valid_until"] = until
    for key, value in meta.items():
        if key not in ("type", "title", STAMP):
            found.setdefault(*_renamed(key, value))
    return found


def _renamed(key: str, value: object) -> tuple[str, object]:
    if key not in CLAIMS:
        try:
            return key, fields.checked(key, value)
        except InvalidInput:
            pass
    return f"okf_{key}", value


def _cited(body: str) -> list[object]:
    """What 0.1 has as a section of links."""
    head = _CITATIONS.search(body)
    if head is None:
        return []
    end = _NEXT.search(body, head.end())
    section = body[head.end() : end.start() if end else len(body)]
    return [
        {"resource": link[3] or link[4], **({"title": link[2]} if link[2] else {})}
        for link in _LINK.finditer(section)
        if not link[1]
    ]


FORMAT: Final = Format("okf", "a bundle of the Open Knowledge Format", recognises, read)
