"""A vault as a bundle of the Open Knowledge Format 0.2: every note a concept that any program can
read, and what only this vault knows under one key, so that reading it back gives the same notes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import oneiro_vault
from oneiro_vault.api import Progress
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.markdown.parser import Link
from oneiro_vault.core.markdown.quoting import literal
from oneiro_vault.core.memory import OWN_WORDS, Memory, moment
from oneiro_vault.core.picture import EXTENSIONS
from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.okf import AS_WRITTEN, RESERVED, STAMP, VERSION, unlinked
from oneiro_vault.operations.exchange.export_target import Target
from oneiro_vault.operations.exchange.exported import STAGE, Exported, Selection, attach, relinked
from oneiro_vault.vault.worktree.files import twin_key

_STATUS: Final = {
    "active": "stable", "pending": "draft", "dormant": "stable",
    "superseded": "deprecated", "archived": "deprecated",
}  # fmt: skip
_ESCAPED: Final = re.compile(r'[%"\\&<>|\[\]()\x00-\x1f]')
_PICTURE: Final = re.compile(rf"\.(?:{'|'.join(EXTENSIONS.values())}|jpeg|svg)\Z", re.I)
_MOST_DAYS: Final = 400
"""Days of the log: what is older stands in the notes."""


def write(chosen: Selection, target: Target, progress: Progress) -> None:
    """The whole bundle: concepts, what they show, an index in every folder, and the log."""
    bundle = _Bundle(chosen, places(chosen))
    files: dict[str, None] = {}
    listed: list[Listed] = []
    for number, one in enumerate(chosen.each()):
        place = bundle.places[one.handle]
        target.add(place, bundle.concept(one))
        files |= dict.fromkeys(one.attachments)
        listed.append(Listed(place, one.memory.title, one.memory.description, _learned(one)))
        progress(STAGE, number + 1, len(chosen.rows))
    attach(chosen, target, files)
    for name, text in indexes(chosen.title, listed):
        target.add(name, text.encode())
    target.add("log.md", log(listed).encode())


@dataclass(frozen=True)
class Listed:
    """A concept in an index; `day`: on which it was learned, "" where nobody knows."""

    place: str
    title: str
    description: str
    day: str


def places(chosen: Selection) -> dict[str, str]:
    """Handle -> path in the bundle: the vault's own, but for names that the format reserves, and
    those that differ only in case."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for row in chosen.rows:
        path = chosen.place(row)
        folder, name = posixpath.split(path[:-3])
        if twin_key(f"{name}.md") in RESERVED or twin_key(path) in taken:
            name = f"{name}-{row.handle}"
        place = posixpath.join(folder, f"{name}.md")
        taken.add(twin_key(place))
        found[row.handle] = place
    return found


@dataclass(frozen=True)
class _Bundle:
    chosen: Selection
    places: Mapping[str, str]

    def concept(self, one: Exported) -> bytes:
        """One note as a concept."""
        stamp: dict[str, object] = {"version": 1}
        if self.places[one.handle] != one.path:
            stamp["path"] = one.path
        if one.attachments:
            stamp["attachments"] = list(one.attachments)
        body = self._linked(one)
        if unlinked(body) != one.body:
            body, stamp["links"] = one.body, AS_WRITTEN
        meta, added, kept = dict(one.meta), list[str](), dict[str, object]()
        for key, value in self._said(one).items():
            if key in meta:
                kept[key] = meta[key]
            else:
                added.append(key)
            meta[key] = value
        if STAMP in meta:
            kept[STAMP] = meta.pop(STAMP)
        stamp |= {name: some for name, some in (("added", added), ("kept", kept)) if some}
        try:
            return yaml_block.composed({**meta, STAMP: stamp}, body)
        except InvalidInput:  # nested as deep as it may be: whole, as one text
            known = one.memory
            short = {"type": known.type, "title": known.title, STAMP: {"version": 1}}
            stamp = {**stamp, "kept": {}, "added": [], "file": one.file}
            return yaml_block.composed({**short, STAMP: stamp}, body)

    def _said(self, one: Exported) -> dict[str, object]:
        """What the format asks for and the note says in other words, or not at all."""
        known, meta = one.memory, one.meta
        found: dict[str, object] = {}
        if not isinstance(meta.get("type"), str) or not str(meta["type"]).strip():
            found["type"] = known.type
        for key in ("title", "description"):
            if not isinstance(meta.get(key), str) and (said := str(getattr(known, key))):
                found[key] = said
        if known.tags and list(known.tags) != meta.get("tags"):
            found["tags"] = list(known.tags)
        if "status" in meta or known.status != "active":
            found["status"] = _STATUS[known.status]
        when = known.timestamp or known.created
        found |= {"generated": {"by": _actor(known), "at": when}} if when else {}
        found |= {"verified": [{"by": "human:user", "at": when}]} if known.core and when else {}
        if sources := list(self._sources(known.derived_from)):
            found["sources"] = sources
        if until := moment(known.valid_until):
            found["stale_after"] = until[:10]
        return {key: value for key, value in found.items() if meta.get(key) != value}

    def _sources(self, handles: Sequence[str]) -> Iterator[dict[str, str]]:
        for handle in handles:
            if (row := self.chosen.by_id(handle)) is not None:
                place = f"/{self.places[row.handle]}"
                yield {"resource": place, "id": handle, "title": self.chosen.title_of(row)}

    def _linked(self, one: Exported) -> str:
        """The body with every link to another concept, or to a picture, as plain Markdown from the
        top of the bundle; what it was is the link's title."""
        return relinked(one.body, lambda link, text: self._link(one, link, text))

    def _link(self, one: Exported, link: Link, text: str) -> str | None:
        """None for one that stays as it is."""
        was = _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)
        label = (link.label or link.target or link.heading).replace("\\", "")
        if link.embedded and _PICTURE.search(link.target):
            fits = [path for path in one.attachments if _is(path, link.target)]
            return f'![{label}](/{quote(fits[0])} "{was}")' if fits else None
        row = self.chosen.named(link.target, one.path) if link.target else None
        if row is None:
            return None
        place = self.places[row.handle]
        if "[[" not in text and place == self.chosen.place(row):
            return None  # leads there as it is
        part = f"#{_anchor(link.heading)}" if link.heading and link.heading[0] != "^" else ""
        return f'[{label}](/{quote(place)}{part} "{was}")'


def _is(path: str, target: str) -> bool:
    return path == target or path.endswith(f"/{target.lstrip('./')}")


def _anchor(heading: str) -> str:
    return quote(re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-"))


def _actor(known: Memory) -> str:
    """Who says it, as the format names actors."""
    if known.trust in OWN_WORDS:
        return "human:user"
    if known.source == "dream":
        return f"oneiro-vault/{oneiro_vault.__version__}"
    return "process:" + (re.sub(r"[^\w.-]+", "-", known.source).strip("-") or "unknown")


def _learned(one: Exported) -> str:
    return (one.memory.created or one.history.learned)[:10]


def indexes(title: str, listed: Sequence[Listed]) -> Iterator[tuple[str, str]]:
    """(path, text) of the index of every folder that has concepts in it or below it."""
    folders: dict[str, dict[str, None]] = {"": {}}
    inside: dict[str, list[Listed]] = {}
    for one in listed:
        folder = posixpath.dirname(one.place)
        inside.setdefault(folder, []).append(one)
        while folder:
            above = posixpath.dirname(folder)
            folders.setdefault(folder, {})
            folders.setdefault(above, {})[posixpath.basename(folder)] = None
            folder = above
    for folder, below in sorted(folders.items()):
        head = [] if folder else ["---", f'okf_version: "{VERSION}"', "---"]
        lines = [*head, f"# {literal(posixpath.basename(folder) or title)}", ""]
        lines += [f"* [{literal(name)}/]({quote(name)}/index.md)" for name in sorted(below)]
        lines += [_entry(one, posixpath.basename(one.place)) for one in inside.get(folder, [])]
        yield posixpath.join(folder, "index.md"), "\n".join([*lines, ""])


def _entry(one: Listed, place: str) -> str:
    more = f" - {literal(one.description)}" if one.description not in ("", one.title) else ""
    return f"* [{literal(one.title)}]({quote(place)}){more}"


def log(listed: Sequence[Listed]) -> str:
    """What was learned on which day, the newest first."""
    days: dict[str, list[Listed]] = {}
    for one in listed:
        days.setdefault(one.day, []).append(one)
    lines = ["# Log", ""]
    for day in sorted(filter(None, days), reverse=True)[:_MOST_DAYS]:
        lines += [f"## {day}", ""]
        lines += [f"* [{literal(one.title)}](/{quote(one.place)})" for one in days[day]]
        lines.append("")
    return "\n".join(lines)
