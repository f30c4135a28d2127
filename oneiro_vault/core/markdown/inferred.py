"""What a body says when the frontmatter does not: the heading it begins with, its first sentence,
its inline tags."""

from __future__ import annotations

import re
from typing import Final

from oneiro_vault.core.markdown import parser

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
_MARKUP: Final = re.compile(
    r"^[ \t]*(?:>[ \t]*|[-*+][ \t]+(?:\[.\][ \t]+)?|\d{1,9}[.)][ \t]+|\[![\w-]+\][+-]?[ \t]*)+"
)
_SKIPPED: Final = re.compile(
    r"[ \t]*(?:#{1,6}(?:[ \t]|$)|(?:[-*_=][ \t]*){3,}$|!\[|<!--|\|)|[ \t]*[=-]+[ \t]*$"
)
_WIKI: Final = re.compile(r"!?\[\[([^\[\]|]*?)(?:\\?\|([^\[\]]*))?\]\]")
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_EMPHASIS: Final = re.compile(r"\*\*|__|~~|==|`|%%|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_MARKS: Final = frozenset("*_~=`%")
_SENTENCE: Final = re.compile(r"[.!?…]+[\"')\]]*(?=\s)|[。！？]+")
_ABBREVIATION: Final = re.compile(
    r"(?<![\w.])(?:\w|(?i:dr|mr|mrs|ms|st|nr|no|vs|etc|ca|bzw|prof|approx|e\.g|i\.e|z\.b))\.\Z"
)
_TAG: Final = re.compile(r"#((?:[\w/-]|[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d])+)")


def top_heading(body: str) -> str:
    """The text of the first-level heading a body begins with, without its markup; "" when there is
    none.

    Only pictures, badges, HTML, rules and tags may stand before it: a heading further down names a
    part, not the note.
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
    return _plain((found[1] or found[2]).rstrip("# \t") or found[0])


def first_sentence(body: str) -> str:
    """The first sentence that is no heading, at most `LONGEST` characters, as plain text."""
    paragraph, length = [], 0
    for line in _without_fences(body[:_HEAD]).splitlines():
        if line.strip() and not _SKIPPED.match(line):
            paragraph.append(_MARKUP.sub("", line))
            length += len(line)
            if length > 4 * LONGEST:
                break
        elif paragraph:
            break
    return _shortened(_plain(" ".join(paragraph)))


def line(text: str) -> str:
    """A stretch of a body as one line of plain text, without headings' and lists' marks."""
    return _plain(
        " ".join(_MARKUP.sub("", part.strip().lstrip("#").strip()) for part in text.splitlines())
    )


def _shortened(text: str) -> str:
    for end in _SENTENCE.finditer(text, 0, LONGEST + 1):
        if end.end() <= LONGEST and not _ABBREVIATION.search(text, 0, end.end()):
            return text[: end.end()]
    if len(text) <= LONGEST:
        return text
    head = text[: LONGEST - 1]
    return (head.rpartition(" ")[0].rstrip(" ,;:") or head) + "…"


def _plain(text: str) -> str:
    if "[" in text:
        text = _LINK.sub(r"\1", _WIKI.sub(lambda found: found[2] or found[1], text))
    if not _MARKS.isdisjoint(text):
        text = _EMPHASIS.sub("", text)
    return " ".join(text.split())


def _without_fences(body: str) -> str:
    body = body.replace("\r\n", "\n").replace("\r", "\n") if "\r" in body else body
    return _FENCE.sub("", body) if "```" in body or "~~~" in body else body


def tags(body: str) -> list[str]:
    """Inline `#tags` outside code, comments and links; at least one character is no digit (`#12` is
    an issue, not a tag)."""
    found = [
        hit
        for hit in _TAG.finditer(body)
        if _starts_word(body, hit.start()) and not hit[1].replace("/", "").isdigit()
    ]
    if found and ("`" in body or "~~~" in body or "%%" in body or "\t" in body or "    " in body):
        code = parser.code_spans(body)
        found = [hit for hit in found if not parser.inside(hit.start(), code)]
    return [hit[1].strip("/") for hit in found if hit[1].strip("/-")]


def _starts_word(body: str, position: int) -> bool:
    """Is there a blank (or nothing) before `position`, and no `[[` that is still open?"""
    if position and not body[position - 1].isspace():
        return False
    before = body[max(0, position - 200) : position]
    opened = before.rfind("[[")
    return opened < 0 or "]]" in before[opened:] or "\n" in before[opened:]
