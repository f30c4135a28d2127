"""A note's Markdown as HTML that can do nothing: no script, no style, no request to anywhere, and
links that lead to our own pages or, in sight, to the web.

It is sanitised twice: markdown-it writes no HTML of the note's own, and what it wrote goes through
nh3, which lets through only what this module writes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Final
from urllib.parse import quote, unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup, escape

from oneiro_vault.core.markdown.parser import WIKI
from oneiro_vault.core.text.snippet import Finder

GO: Final = "/ui/go"
"""Where a link to a note leads, by what the note calls it."""
PICTURE: Final = "/ui/picture"
_SHA: Final = re.compile(r"\b([0-9a-f]{64})\.(?:png|jpe?g|webp|gif)\b", re.I)
_NOTE: Final = re.compile(r"(?!\w+:|/)[^#?]+\.md(?:#.*)?", re.I)
_WEB: Final = re.compile(r"(?:https?://|mailto:)", re.I)
_CALLOUT: Final = re.compile(r"\[!([\w-]{1,30})\][+-]?[ \t]*(.*)")
_TASK: Final = re.compile(r"\[([ xX])\][ \t]+")
_ALIGN: Final = {"text-align:left": "", "text-align:center": "center", "text-align:right": "end"}
_TAGS: Final = frozenset(
    "p br hr h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s a img mark span div "
    "table thead tbody tr th td".split()
)
_CLASSES: Final = {
    "a": {"wiki", "away", "broken"},
    "blockquote": {"callout", "warning"},
    "p": {"callout-title"},
    "span": {"task", "lost"},
    "div": {"scroll"},
    "th": {"center", "end"},
    "td": {"center", "end"},
}
_WARNING: Final = frozenset(
    "warning caution danger error bug failure fail attention conflict contradiction".split()
)


def body_html(
    text: str, source: str = "", pictures: Collection[str] | None = None, top: int = 2
) -> Markup:
    """A note's body. `source`: the id of the note it stands in, from which its links are looked up;
    `pictures`: the hashes of those that are there (None: all); `top`: the level of its highest
    heading."""
    reader = _reader()
    tokens = reader.parse(text.replace("\0", "\ufffd"))
    _headings(tokens, top)
    _callouts(tokens)
    for token in tokens:
        _aligned(token)
        if token.type == "inline":
            _links(token.children or [], source, pictures)
            _tasks(token.children or [])
    return safe(reader.renderer.render(tokens, reader.options, {}))


def safe(html: str) -> Markup:
    """HTML with nothing in it but what a note may show. The one place that calls anything safe."""
    return Markup(_cleaner().clean(html))


def words_html(text: str, words: Sequence[str] = ()) -> Markup:
    """Plain text on one line, with the words of a question marked in it."""
    line = " ".join(text.split())
    if not words:
        return escape(line)
    found, at = Markup(), 0
    for start, end in _apart(spot for spot, _ in _finder(tuple(words)).spots(line)):
        found += escape(line[at:start]) + Markup("<mark>{}</mark>").format(line[start:end])
        at = end
    return found + escape(line[at:])


@lru_cache(maxsize=16)
def _finder(words: tuple[str, ...]) -> Finder:
    """Of one question for all rows of its answer."""
    return Finder(words)


def _apart(spots: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last = 0
    for start, end in sorted(spots):
        if start >= last:
            yield start, end
            last = end


@cache
def _cleaner() -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=set(_TAGS),
        clean_content_tags={"script", "style"},
        attributes={
            "a": {"href", "title"},
            "img": {"src", "alt", "title", "loading"},
            "ol": {"start"},
        },
        allowed_classes=_CLASSES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        url_relative=_own,
    )


def _own(address: str) -> str | None:
    return address if address.startswith((GO + "?", PICTURE + "/")) else None


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    reader.inline.ruler.before("link", "wiki", _wiki)
    reader.add_render_rule("table_open", lambda *_: '<div class="scroll"><table>')
    reader.add_render_rule("table_close", lambda *_: "</table></div>")
    return reader


def _wiki(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "![":
        return False
    found = WIKI.match(state.src, state.pos)
    if found is None or not (found[2].strip() or found[3]):
        return False
    if not silent:
        target, heading = found[2].strip(), (found[3] or "").strip()
        label = (found[4] or "").strip() or target or heading.lstrip("^")
        picture = _SHA.search(target) if found[1] else None
        token = state.push("image" if picture else "wiki", "img" if picture else "", 0)
        token.attrs = {"src" if picture else "href": target}
        token.content = label
        token.children = []
    state.pos = found.end()
    return True


# -- what markdown-it made of it, as a page shows it


def _headings(tokens: Sequence[Token], top: int) -> None:
    """None skips a level, whatever the note does."""
    opened: list[int] = []
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
            while opened and opened[-1] >= level:
                opened.pop()
            opened.append(level)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(top + len(opened) - 1, 6)}"


def _callouts(tokens: Sequence[Token]) -> None:
    for quote_, paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if quote_.type != "blockquote_open" or paragraph.type != "paragraph_open":
            continue
        head, children = "", inline.children or []
        if children and children[0].type == "text":
            head = children[0].content
        if (found := _CALLOUT.match(head)) is None:
            continue
        kind = found[1].lower()
        quote_.attrSet("class", "callout warning" if kind in _WARNING else "callout")
        children[0].content = found[2] or found[1].capitalize()
        paragraph.attrSet("class", "callout-title")
        _titled(children)


def _titled(children: list[Token]) -> None:
    """The first line is the title, what follows a line of its own."""
    end = next((at for at, one in enumerate(children) if one.type == "softbreak"), len(children))
    children.insert(end, Token("strong_close", "strong", -1))
    children.insert(0, Token("strong_open", "strong", 1))
    if end + 2 < len(children):
        children[end + 2] = Token("hardbreak", "br", 0)


def _aligned(token: Token) -> None:
    if token.type in ("th_open", "td_open"):
        where = _ALIGN.get(str(token.attrs.pop("style", "")), "")
        if where:
            token.attrSet("class", where)


def _tasks(children: Sequence[Token]) -> None:
    if children and children[0].type == "text" and (box := _TASK.match(children[0].content)):
        sign = "☐ " if box[1] == " " else "☑ "
        children[0].content = sign + children[0].content[box.end() :]


def _links(children: list[Token], source: str, pictures: Collection[str] | None) -> None:
    """In place: every link leads to a page of ours, or to the web, or nowhere."""
    found: list[Token] = []
    for token in children:
        if token.type == "link_open":
            _lead(token, source)
            found.append(token)
        elif token.type == "wiki":
            found += _a(str(token.attrs["href"]), token.content, source)
        elif token.type == "image":
            found += _image(token, source, pictures)
        else:
            found.append(token)
    children[:] = found


def _lead(token: Token, source: str) -> None:
    href = str(token.attrs.get("href", ""))
    if _WEB.match(href):
        token.attrSet("class", "away")
    elif _NOTE.fullmatch(unquote(href)):
        token.attrs |= {"href": address(unquote(href).partition("#")[0], source), "class": "wiki"}
    else:
        token.attrs = {"class": "broken", "title": "This leads to nothing in the vault"}


def address(target: str, source: str = "") -> str:
    """Where a link to `target` leads that stands in the note with the id `source`."""
    return f"{GO}?to={quote(target, safe='')}" + (f"&from={quote(source)}" if source else "")


def _a(target: str, label: str, source: str) -> list[Token]:
    if not target:  # a heading of the same note
        return [_text(label)]
    opened = Token("link_open", "a", 1)
    opened.attrs = {"href": address(target, source), "class": "wiki"}
    return [opened, _text(label), Token("link_close", "a", -1)]


def _text(words: str) -> Token:
    return Token("text", "", 0, content=words)


def _image(token: Token, source: str, pictures: Collection[str] | None) -> list[Token]:
    """A picture of the vault; one from elsewhere is a link, so that nobody hears of the look."""
    place = str(token.attrs.get("src", ""))
    words = _alt(token)
    found = _SHA.search(place)
    sha = found[1].lower() if found else ""
    if sha and source and (pictures is None or sha in pictures):
        token.type = "picture"
        token.attrs = {"src": f"{PICTURE}/{quote(source)}/{sha}", "loading": "lazy", "alt": words}
        return [token]
    if sha:
        return [_lost(words)]
    if not _WEB.match(place):
        return _a(unquote(place), words or unquote(place), source)
    opened = Token("link_open", "a", 1)
    opened.attrs = {"href": place, "class": "away"}
    return [opened, _text(f"{words or 'picture'} (on the web)"), Token("link_close", "a", -1)]


def _alt(token: Token) -> str:
    if token.children:
        return "".join(child.content for child in token.children)
    return token.content if not _SHA.search(token.content) else ""


def _lost(words: str) -> Token:
    told = Markup('<span class="lost">[{}: not here yet]</span>').format(words or "a picture")
    return Token("html_inline", "", 0, content=str(told))
