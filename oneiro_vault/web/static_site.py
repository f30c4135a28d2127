"""The vault as a folder of pages that need no server: every memory with what links to it, lists by
kind and by month, a picture of the links, and a search. It asks nothing of a network and runs no
script but its own."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape, unescape
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from oneiro_vault import app
from oneiro_vault.api import Progress
from oneiro_vault.core import memory as memories
from oneiro_vault.core.markdown.quoting import without_comments
from oneiro_vault.core.memory import Memory
from oneiro_vault.web import notes, templating
from oneiro_vault.web.views import wording
from oneiro_vault.web.views.wording import colour

LINES: Final = "memories.jsonl"
STYLES: Final = ("style.css", "memory.css", "site.css")
_OWN: Final = (*STYLES, "site.js", "icon.svg")
_GO: Final = re.compile(r'<a href="/ui/go\?([^"]*)"([^>]*)>(.*?)</a>', re.S)
_PICTURE: Final = re.compile(r'<img src="/ui/picture/[^"/]*/([0-9a-f]{64})"')
_RECENT: Final = 24
_SAID: Final = 280
"""Characters of a memory that the search looks through, after its title."""


class Target(Protocol):
    """Where files go."""

    def add(self, name: str, data: bytes) -> None:
        """One file."""


@dataclass(frozen=True)
class Shown:
    """One memory of the site."""

    id: str
    known: Memory
    history: Mapping[str, Any]
    links: Mapping[str, str]
    attachments: Sequence[str]

    @property
    def title(self) -> str:
        """On one line, without brackets of links."""
        return templating.plain(" ".join(self.known.title.split())) or self.id

    @property
    def page(self) -> str:
        """Where it is in the site."""
        return f"m/{quote(self.id)}.html"

    @property
    def month(self) -> str:
        """Of which it is, "" where nobody knows."""
        return self.known.created[:7]

    @property
    def kind(self) -> str:
        """What its type is called."""
        return wording.called(self.known.type)

    @property
    def status(self) -> str:
        """How it stands, "" where it holds."""
        status = self.known.status
        return "" if status == "active" else wording.stands(status)


@dataclass
class Book:
    """All memories of the site, by id. `name`: of the vault."""

    name: str
    all: dict[str, Shown]
    edges: set[tuple[str, str, str]] = field(default_factory=set)
    """(from, to, how)"""

    def __post_init__(self) -> None:
        """Every link that leads to a memory of the site."""
        for one in self.all.values():
            named = [(target, "mentions") for target in one.links.values()]
            named += [(ident, "made from") for ident in one.known.derived_from]
            named += [(ident, "replaces") for ident in one.known.supersedes]
            self.edges |= {(one.id, end, how) for end, how in named if end in self.all}

    @cached_property
    def into(self) -> dict[str, list[tuple[Shown, str]]]:
        """Id -> what links to it, the newest first, and how."""
        place = {one.id: at for at, one in enumerate(self.newest)}
        found: dict[str, list[tuple[Shown, str]]] = {}
        for start, end, how in sorted(self.edges, key=lambda edge: (place[edge[0]], edge)):
            if start != end:
                found.setdefault(end, []).append((self.all[start], how))
        return found

    @cached_property
    def newest(self) -> list[Shown]:
        """The newest first."""
        return sorted(self.all.values(), key=lambda one: (one.known.created, one.id), reverse=True)

    def grouped(self, by: Callable[[Shown], str]) -> dict[str, list[Shown]]:
        """The newest first in each group."""
        found: dict[str, list[Shown]] = {}
        for one in self.newest:
            found.setdefault(by(one), []).append(one)
        return found


def build(name: str, folder: Path, target: Target, progress: Progress) -> int:
    """Every page of the site of the vault `name`, from lines of JSON as `export` writes them into
    `folder`; how many memories it has."""
    book = Book(name, {one.id: one for one in _read(folder / LINES)})
    for number, one in enumerate(book.all.values()):
        target.add(one.page, _memory(book, one).encode())
        progress("writing pages", number + 1, len(book.all))
    for page, text in _lists(book):
        target.add(page, text.encode())
    for file in _OWN:
        target.add(f"static/{file}", templating.asset(file))
    for path in sorted({path for one in book.all.values() for path in one.attachments}):
        if (folder / path).is_file():
            target.add(path, (folder / path).read_bytes())
    return len(book.all)


def _read(lines: Path) -> Iterator[Shown]:
    with lines.open(encoding="utf-8") as file:
        for text in file:
            found = json.loads(text)
            meta, body, path = found["meta"], found["text"], found["path"]
            known = memories.of(path, meta, body, dict)
            if found["title"] != known.title:
                known = memories.of(path, {**meta, "title": found["title"]}, body, dict)
            yield Shown(found["id"], known, found["history"], found["links"], found["attachments"])


def _memory(book: Book, one: Shown) -> str:
    known = one.known
    heir = book.all.get(known.superseded_by)
    body = known.body.strip()
    return _page(
        "memory", book, one.title, "../",
        one=one, known=known, heir=heir,
        body=_body(one, book) if body and body != known.title else "",
        status=one.status,
        origin=wording.origin(_meta(known)),
        made=[book.all[ident] for ident in known.derived_from if ident in book.all],
        into=book.into.get(one.id, []),
    )  # fmt: skip


def _meta(known: Memory) -> Mapping[str, Any]:
    return {
        name: getattr(known, name)
        for name in ("type", "source", "trust", "session", "project", "created", "status", "core")
    }


def _body(one: Shown, book: Book) -> Markup:
    """Its Markdown, made safe as the page makes it, with links to pages of the site."""

    def led(link: re.Match[str]) -> str:
        to = parse_qs(urlsplit(f"?{unescape(link[1])}").query).get("to", [""])[0]
        end = book.all.get(one.links.get(to) or one.links.get(to.removesuffix(".md"), ""))
        return f'<a href="{quote(end.id)}.html"{link[2]}>{link[3]}</a>' if end else link[3]

    files = {path.rpartition("/")[2].partition(".")[0]: path for path in one.attachments}
    html = str(notes.body_html(one.known.body, one.id, files.keys()))
    html = _PICTURE.sub(lambda found: f'<img src="../{quote(files.get(found[1], ""))}"', html)
    return Markup(_GO.sub(led, html))  # safe before, and only addresses differ


def _lists(book: Book) -> Iterator[tuple[str, str]]:
    kinds = dict(sorted(book.grouped(lambda one: one.known.type).items()))
    months = book.grouped(lambda one: one.month)
    counts = [(name, wording.called(name), len(some)) for name, some in kinds.items()]
    first = [one for one in kinds.get("orientation", []) if one.known.status == "active"]
    yield "index.html", _page(
        "index", book, "", "",
        first=first, recent=book.newest[:_RECENT], counts=counts,
        months=[(month, len(some)) for month, some in sorted(months.items(), reverse=True)],
    )  # fmt: skip
    for name, some in kinds.items():
        title = wording.called(name).capitalize()
        yield f"kind/{_file(name)}.html", _page("list", book, title, "../", rows=some)
    for month, some in months.items():
        title = month or "Undated"
        page = f"month/{month or 'undated'}.html"
        yield page, _page("list", book, title, "../", rows=some)
    dots = {one.id: Dot(one.id, one.title, one.known.type) for one in book.all.values()}
    drawn = picture(dots, {(start, end) for start, end, _ in book.edges})
    yield "graph.html", _page("graph", book, "Graph", "", picture=Markup(drawn), counts=counts)
    yield "search.html", _page("search", book, "Search", "", known=Markup(_index(book)))


def _index(book: Book) -> str:
    """What the search looks through, as JSON that no browser takes for an element."""
    rows = [
        [one.id, one.title, one.kind, one.known.created[:10], _brief(one.known)]
        for one in book.newest
    ]
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _brief(known: Memory) -> str:
    """How it begins, as its reader sees it, and its tags."""
    begins = without_comments(known.body[: 4 * _SAID])
    begins = begins.removeprefix(f"# {known.title}")
    words = str(notes.body_html(begins).striptags())
    if len(words) > _SAID:
        words = words[:_SAID].rpartition(" ")[0] + " …"
    return " ".join(filter(None, (words, *(f"#{tag}" for tag in known.tags))))


def _file(name: str) -> str:
    return re.sub(r"[^\w-]+", "-", name) or "note"


def _page(kind: str, book: Book, title: str, root: str, **values: object) -> str:
    context = {"vault": book.name, "title": title, "root": root, "styles": STYLES, "file": _file}
    return templating.rendered(f"site/{kind}.html", {**context, **values})


MOST: Final = 240
"""Memories in the picture: those with the most links."""
_WIDE: Final = 1000
_HIGH: Final = 720
_LABELS: Final = 40
"""Names that are written beside their memories, of those with more than one link; the others are
told when one points at them."""


class Dot(NamedTuple):
    """One memory of the picture."""

    id: str
    title: str
    type: str


def picture(dots: Mapping[str, Dot], links: Collection[tuple[str, str]]) -> str:
    """An SVG element of the most linked ones, "" where nothing is linked; each leads to its
    page."""
    pairs = {(min(pair), max(pair)) for pair in links if pair[0] != pair[1]}
    degree = Counter(end for pair in pairs for end in pair)
    chosen = sorted(degree, key=lambda one: (-degree[one], one))[:MOST]
    if not chosen:
        return ""
    place = {ident: at for at, ident in enumerate(chosen)}
    ends = sorted((place[a], place[b]) for a, b in pairs if a in place and b in place)
    found = app.graph_places(len(chosen), np.array(ends))
    low, high = found.min(0), found.max(0)
    spots = (found - low) / np.maximum(high - low, 1e-6) * (_WIDE - 160, _HIGH - 80) + (80, 50)
    said = f"{len(chosen):,} memories and {len(ends):,} links between them"
    parts = [
        f'<svg class="graph" viewBox="0 0 {_WIDE} {_HIGH}" role="group" aria-label="{said}">',
        *(
            f'<line x1="{spots[a, 0]:.0f}" y1="{spots[a, 1]:.0f}" x2="{spots[b, 0]:.0f}" '
            f'y2="{spots[b, 1]:.0f}"/>'
            for a, b in ends
        ),
    ]
    for at, ident in enumerate(chosen):
        named = at < _LABELS and degree[ident] > 1
        parts.append(_dot(dots[ident], degree[ident], spots[at], named))
    return "\n".join([*parts, "</svg>"])


def _dot(dot: Dot, links: int, spot: npt.NDArray[np.float64], named: bool) -> str:
    kind = colour(dot.type)
    size = min(4 + links**0.5 * 2, 22)
    title = escape(" ".join(dot.title.split()))
    short = title if len(dot.title) <= 28 else escape(" ".join(dot.title.split())[:27]) + "…"
    name = f'<text x="{spot[0]:.0f}" y="{spot[1] - size - 3:.0f}">{short}</text>' if named else ""
    return (
        f'<a href="m/{escape(dot.id)}.html"><title>{title}, {kind}, {links} links</title>'
        f'<circle class="kind-{kind}" cx="{spot[0]:.0f}" cy="{spot[1]:.0f}" r="{size:.1f}"/>'
        f"{name}</a>"
    )
