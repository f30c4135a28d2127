"""What a body is made of: headings, sections, list items, callouts and links, all as exact
character offsets; and what it says when the frontmatter does not: title, description, tags.

Code (fenced, indented, inline) and `%%comments%%` hold no links and no tags. Offsets index the body
string as it is, CRLF included.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from oneiro_vault.core.markdown.quoting import without_comments
from oneiro_vault.core.markdown.taxonomy import RELATIONS
from oneiro_vault.core.text.claims import sentence_spans
from oneiro_vault.core.text.snippet import MARKUP, plain

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


@dataclass(frozen=True, slots=True)
class Link:
    """`target` as written (no heading, no `.md` added or removed), `heading` or `^block`, shown
    `label`. `subject`: whose relation it is, as written; "" for the note's own."""

    target: str
    heading: str = ""
    label: str = ""
    relation: str = "mentions"
    embedded: bool = False
    start: int = 0
    end: int = 0
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Callout:
    """An Obsidian callout `> [!kind] title`; `start`..`end` is the whole quote."""

    start: int
    end: int
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class Structure:
    """`sections`: (start, end, heading) side by side over the whole body; `items`: (start, end) of
    each list item's own words; `code`: of what is code or comment."""

    sections: tuple[tuple[int, int, str], ...]
    items: tuple[tuple[int, int], ...] = ()
    links: tuple[Link, ...] = ()
    callouts: tuple[Callout, ...] = ()
    code: tuple[tuple[int, int], ...] = ()


_BLOCKS: Final = re.compile(r"^(?:[ ]{0,3}(?:[-*+>~`=#]|\d{1,9}[.)])|[ ]*\t|[ ]{4})", re.M)
_BREAK: Final = re.compile(r"\r\n|\n|\r")
_BLANK: Final = re.compile(r"(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)")
_TICKS: Final = re.compile(r"`+")
_COMMENT: Final = re.compile(r"%%.*?%%", re.S)
WIKI: Final = re.compile(
    r"(!?)\[\[([^\[\]\r\n|#^\\]*)(?:#?(\^?[^\[\]\r\n|\\]*))?(?:\\?\|([^\[\]\r\n]*))?\]\]"
)
_LINK: Final = re.compile(
    r"(!?)\[([^\[\]\r\n]*)\]\((?:<([^<>\r\n]+)>|([^()\s<>]+))(?:[ \t]+\"[^\"\r\n]*\")?\)"
)
_NOTE: Final = re.compile(r"(?!\w+:|/)([^#?]+\.md)(?:#(.*))?", re.I)
_PERCENT: Final = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_CALLOUT: Final = re.compile(r"\[!([\w-]+)\][+-]?[ \t]*(.*)")
_RELATION: Final = re.compile(
    r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?([A-Za-z][A-Za-z_ -]{0,40}?)[ "
    r"\t]*:?:?[ \t]*(?=!?\[)"
)
_ITEM: Final = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_BETWEEN: Final = re.compile(r"[ \t]+([A-Za-z][A-Za-z_ -]{0,40}?)[ \t]*:?:?[ \t]*(?=!?\[)")
"""Between two links of an item, `- [[Peter]] works_for [[WOBS]]`: a relation of the first."""
_ALONE: Final = re.compile(r"[\s,;]*(?:\([^()\r\n]*\)[ \t]*)?\Z")
_NAME: Final = re.compile(r"[a-z][a-z]*(?:_[a-z]+)*\Z")


@lru_cache(maxsize=4)
def parse(body: str) -> Structure:
    """Any text has a structure. Plain paragraphs never reach markdown-it.

    The last few are remembered: who reads a note and who indexes it ask for the same body.
    """
    if not _BLOCKS.search(body.replace("\r", "\n") if "\r" in body else body):
        code = _inline_code(body, ()) if "`" in body or "%%" in body else ()
        return Structure(
            ((0, len(body), ""),) if body else (), links=tuple(_links(body, code)), code=code
        )
    return _Blocks(body).structure()


def code_spans(body: str) -> tuple[tuple[int, int], ...]:
    """(start, end) of code and comments, in order."""
    return parse(body).code


@cache
def _reader() -> MarkdownIt:
    """Block rules only: our own scan finds links."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark")
    reader.core.ruler.enableOnly(["normalize", "block"])
    reader.block.ruler.disable(["reference", "html_block"])
    return reader


class _Blocks:
    def __init__(self, body: str) -> None:
        self.body = body
        self.lines = [0, *(found.end() for found in _BREAK.finditer(body)), len(body)]
        self.tokens = _reader().parse(body)

    def structure(self) -> Structure:
        blocks = tuple(
            self._span(token) for token in self.tokens if token.type in ("fence", "code_block")
        )
        code = _inline_code(self.body, blocks)
        return Structure(
            tuple(self._sections()),
            tuple(self._items()),
            tuple(_links(self.body, code)),
            tuple(self._callouts()),
            code,
        )

    def _span(self, token: Token) -> tuple[int, int]:
        first, last = token.map or (0, 0)
        return self._at(first), self._at(last)

    def _at(self, line: int) -> int:
        return self.lines[min(line, len(self.lines) - 1)]

    def _sections(self) -> Iterator[tuple[int, int, str]]:
        start, title = 0, ""
        for token, content in zip(self.tokens, self.tokens[1:], strict=False):
            if token.type == "heading_open" and token.level == 0:
                at = self._span(token)[0]
                if at > start:
                    yield start, at, title
                start, title = at, " ".join(content.content.split())
        if start < len(self.body):
            yield start, len(self.body), title

    def _items(self) -> Iterator[tuple[int, int]]:
        opened: list[list[int]] = []
        found: list[list[int]] = []
        for token in self.tokens:
            if token.type in ("bullet_list_open", "ordered_list_open") and opened:
                opened[-1][1] = min(opened[-1][1], self._span(token)[0])
            elif token.type == "list_item_open":
                opened.append(list(self._span(token)))
                found.append(opened[-1])
            elif token.type == "list_item_close":
                opened.pop()
        for start, end in found:
            end = start + len(self.body[start:end].rstrip())
            if end > start:
                yield start, end

    def _callouts(self) -> Iterator[Callout]:
        for token, inside, content in zip(
            self.tokens, self.tokens[1:], self.tokens[2:], strict=False
        ):
            if (
                token.type == "blockquote_open"
                and inside.type == "paragraph_open"
                and (found := _CALLOUT.match(content.content))
            ):
                yield Callout(*self._span(token), found[1].lower(), found[2].strip())


def _inline_code(body: str, blocks: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    found = list(blocks)
    if "`" in body:
        found += _code_in(
            body, [run.span() for run in _TICKS.finditer(body) if not inside(run.start(), blocks)]
        )
    if "%%" in body:
        taken = tuple(sorted(found))
        found += (
            span.span() for span in _COMMENT.finditer(body) if not inside(span.start(), taken)
        )
    return tuple(sorted(found))


def _code_in(body: str, runs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    blanks = [blank.start() for blank in _BLANK.finditer(body)]
    paragraphs = [bisect_right(blanks, start) for start, _ in runs]
    closing: dict[int, int] = {}
    partner = [0] * len(runs)
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index][1] - runs[index][0]
        partner[index] = closing.get(length, 0)
        closing[length] = index
    index = 0
    while index < len(runs):
        other = partner[index]
        if other and paragraphs[other] == paragraphs[index]:
            yield runs[index][0], runs[other][1]
            index = other
        index += 1


def _unquoted(target: str) -> str:
    return _PERCENT.sub(
        lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace"), target
    )


def inside(position: int, spans: tuple[tuple[int, int], ...]) -> bool:
    """Does `position` lie in one of `spans` (in order, apart from each other)?"""
    index = bisect_right(spans, position, key=lambda span: span[0]) - 1
    return index >= 0 and position < spans[index][1]


def _links(body: str, code: tuple[tuple[int, int], ...]) -> Iterator[Link]:
    if "[[" not in body and "](" not in body:
        return
    line, seen, relation, subject = -1, 0, "mentions", ""
    for start, end, target, heading, label, embedded in sorted(_found(body)):
        if code and inside(start, code):
            continue
        # From the last link on, not from the start of the line: a line may hold thousands of links.
        broken = max(body.rfind("\n", seen, start), body.rfind("\r", seen, start))
        first = broken >= 0 or line < 0
        if first:
            line, subject = broken + 1, ""
            relation = "mentions" if embedded else _relation(body, line, start, end)
        seen = start
        yield Link(target, heading, label, relation, embedded, start, end, subject)
        if first and relation == "mentions" and (stated := _stated(body, line, start, end)):
            relation, subject = stated, target


def _found(body: str) -> Iterator[tuple[int, int, str, str, str, bool]]:
    for wiki in WIKI.finditer(body):
        if wiki[2].strip() or wiki[3]:
            yield (
                wiki.start(),
                wiki.end(),
                wiki[2].strip(),
                (wiki[3] or "").strip(),
                (wiki[4] or "").strip(),
                bool(wiki[1]),
            )
    if "](" in body:
        for link in _LINK.finditer(body):
            if note := _NOTE.fullmatch(_unquoted(link[3] or link[4])):
                yield link.start(), link.end(), note[1], note[2] or "", link[2], bool(link[1])


def _relation(body: str, line: int, start: int, end: int) -> str:
    """A word we do not know counts only when the link stands alone."""
    found = _RELATION.match(body, line)
    if not found or found.end() != start:
        return "mentions"
    name = re.sub(r"[ -]+", "_", found[1].strip().lower())
    if name in RELATIONS:
        return name
    stop = _BREAK.search(body, end)
    rest = WIKI.sub("", body[end : stop.start() if stop else len(body)])
    return found[1] if _NAME.match(found[1]) and _ALONE.match(rest) else "mentions"


def _stated(body: str, line: int, start: int, end: int) -> str:
    """The relation that a list item states of its first link, which is what it is about."""
    item, between = _ITEM.match(body, line), _BETWEEN.match(body, end)
    if item is None or item.end() != start or between is None:
        return ""
    name = re.sub(r"[ -]+", "_", between[1].strip().lower())
    return name if name in RELATIONS else ""


LONGEST: Final = 200
"""Characters of a description taken from the body."""

_HEAD: Final = 4000
_FENCE: Final = re.compile(
    r"^ {0,3}(```+|~~~+)[^\n]*\n(?:.*?^ {0,3}\1[`~]*[ \t]*$|.*)", re.M | re.S
)
_HEADING: Final = re.compile(
    r"^ {0,3}(?:#{1,6}[ \t]+([^\s#][^\n]*)$|(\S[^\n]*)\n {0,3}(?:=+|-{2,})[ \t]*$)", re.M
)
_ORNAMENT: Final = re.compile(
    r"\s*(?:\[?!\[|<|\{[%{]|(?:[-*_][ \t]*){3,}$|(?:#[^\s#]+\s*)+$|(?:import|export) )"
)
_SKIPPED: Final = re.compile(
    r"[ \t]*(?:#{1,6}(?:[ \t]|$)|(?:[-*_=][ \t]*){3,}$|!\[|<!--|\|)|[ \t]*[=-]+[ \t]*$"
)
_SENTENCE: Final = re.compile(r"[.!?…]+[\"')\]]*(?=\s)|[。！？]+")
_DOUBTFUL: Final = re.compile(r"(?:\d|\b(?:\w{1,4}|approx|assoc))\.+[\"')\]]*\Z")
"""An ordinal or an abbreviation may stand before it: then the library is asked, which takes long
where thousands of notes are read."""
_TAG: Final = re.compile(r"#((?:[\w/-]|[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d])+)")


def top_heading(body: str) -> str:
    """Of the first level, without its markup; "" when there is none.

    Only pictures, badges, HTML, rules and tags may stand before it: a heading further down names a
    part.
    """
    head = _without_fences(body[: 10 * _HEAD])
    found = _HEADING.search(head) if "#" in head or "\n=" in head else None
    if (
        found is None
        or found[0].lstrip(" ").startswith("##")
        or (found[2] and found[0].rstrip()[-1] == "-")
    ):
        return ""
    if any(
        line.strip() and not _ORNAMENT.match(line) for line in head[: found.start()].splitlines()
    ):
        return ""
    # The closing #s are taken off here: in the pattern they would make it quadratic.
    return plain((found[1] or found[2]).rstrip("# \t") or found[0])


def first_sentence(body: str) -> str:
    """The first sentence that is no heading, at most `LONGEST` characters, as plain text."""
    paragraph, length = [], 0
    for line in _without_fences(without_comments(body[:_HEAD])).splitlines():
        if line.strip() and not _SKIPPED.match(line):
            paragraph.append(MARKUP.sub("", line))
            length += len(line)
            if length > 4 * LONGEST:
                break
        elif paragraph:
            break
    return _shortened(plain(" ".join(paragraph)))


def _shortened(text: str) -> str:
    mark = _SENTENCE.search(text, 0, LONGEST + 1)
    doubtful = mark and mark.end() < len(text)
    if mark and doubtful and _DOUBTFUL.search(text[max(0, mark.start() - 8) : mark.end()]):
        end = (sentence_spans(text[: 2 * LONGEST]) or ((0, 0),))[0][1]
    else:
        end = mark.end() if mark else len(text)
    if end <= LONGEST:
        return text[:end]
    head = text[: LONGEST - 1]
    return (head.rpartition(" ")[0].rstrip(" ,;:") or head) + "…"


def _without_fences(body: str) -> str:
    body = body.replace("\r\n", "\n").replace("\r", "\n") if "\r" in body else body
    return _FENCE.sub("", body) if "```" in body or "~~~" in body else body


def tags(body: str) -> list[str]:
    """Outside code, comments and links; at least one character is no digit (`#12` is an issue)."""
    found = [
        hit
        for hit in _TAG.finditer(body)
        if _starts_word(body, hit.start()) and not hit[1].replace("/", "").isdigit()
    ]
    if found and ("`" in body or "~~~" in body or "%%" in body or "\t" in body or "    " in body):
        code = code_spans(body)
        found = [hit for hit in found if not inside(hit.start(), code)]
    return [hit[1].strip("/") for hit in found if hit[1].strip("/-")]


def _starts_word(body: str, position: int) -> bool:
    if position and not body[position - 1].isspace():
        return False
    before = body[max(0, position - 200) : position]
    opened = before.rfind("[[")
    return opened < 0 or "]]" in before[opened:] or "\n" in before[opened:]
