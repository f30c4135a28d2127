"""How a note's text becomes chunks for the vector index: pieces that fit the model's window, and a turn with its neighbours.

A model reads the first 256 tokens of what it is given and ignores the rest, so a long note as one text loses a third of its
findability. Measured on long notes, pieces of 60 to 120 words are equally good, 180 are worse, and overlap brings nothing where
a cut falls between sentences (cuts between paragraphs are half a point better); so pieces overlap only in a wall of words.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["CONTEXT_TEXT_SPAN", "CONTEXT_VECTOR_SPAN", "Chunk", "chunk", "context_text", "header"]

CONTEXT_VECTOR_SPAN = 1
"""Neighbours on either side of an episode in its context chunk: two do not fit the model's window much of the time."""
CONTEXT_TEXT_SPAN = 2
"""The same for keywords, where nothing is cut: 1 is .4 points of nDCG@10 worse, 3 is equal."""

_TOKENS_PER_WORD = 2
"""An upper estimate for prose with its punctuation, so that 120 words and a title stay inside 256 tokens."""
_FEW = 8
"""Tokens below which a section or list item has no chunk of its own: a bare heading says too little to be found by."""
_TITLE = 80
"""Characters of a title that are repeated in front of every chunk."""
_WHOLE = 4_000
"""Characters of a long note's first chunk: more than any window we know, less than a page of hashing per edit."""
_OVERLAP = 6
"""A cut inside a sentence repeats a sixth of the piece before it."""
_MOST = 500
"""Sections or items beyond which they get no chunk of their own: windows alone keep a pathological note linear."""
_TOKEN = re.compile(r"[A-ZÀ-Þ]?[a-zß-ɏ]{1,3}|\S")
"""What a word-piece model makes of text, estimated from above: three small Latin letters, or one of any other character."""
_PICTURE = re.compile(r"!\[([^\[\]]*)\]\([^()\s]*attachments/[0-9a-f]{2}/[0-9a-f]{64}\.\w+\)")
"""A picture's link, of which a model sees the words only: 64 digits of a hash would say more to it than the memory does."""
_PARAGRAPH = re.compile(r"\n+[ \t]*")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One text for the vector index: `start`..`end` are characters of the body, `text` is what gets embedded."""

    kind: str
    """note, section, item, window or context."""
    start: int
    end: int
    text: str


def header(title: str, when: str = "") -> str:
    """The line in front of a chunk: what the note is about, and when if that is given; "" if neither is known.

    A date in front of every text makes all of them more alike: Recall@10 of single turns falls by .9 points (long notes: equal),
    and a question's date is matched exactly by `core.query.date_shares`. So the index gives none; a snippet shows one.
    """
    return " · ".join(part for part in (" ".join(title.split())[:_TITLE].strip(), when) if part)


def chunk(
    body: str,
    *,
    title: str,
    when: str = "",
    sections: Sequence[tuple[int, int, str]],
    items: Sequence[tuple[int, int]],
    words: int = 120,
) -> list[Chunk]:
    """The whole note first; a note longer than one window also in pieces, so that every character is in a piece that fits.

    `sections` (start, end, heading) and `items` (start, end) are the Markdown parser's; a section that fits is one piece, a
    longer one is cut at paragraphs or sentences, and each list item that says something is a piece besides.
    """
    ruler = _Ruler(body, words * _TOKENS_PER_WORD)
    head = _heads(body, title, when)
    whole = Chunk("note", 0, len(body), _join(head[0], body[:_WHOLE]))
    if ruler.fits(0, len(body)):
        return [whole]
    pieces = [whole]
    for start, end, heading in _sections(ruler, sections if len(sections) <= _MOST else ()):
        for low, high in ruler.windows(start, end):
            kind = "section" if (low, high) == (start, end) else "window"
            above = head[low > 0], heading if low > start else ""
            pieces.append(Chunk(kind, low, high, _join(*above, body[low:high])))
    taken = {(piece.start, piece.end) for piece in pieces}
    for low, high in items if len(items) <= _MOST else ():
        if (low, high) not in taken and ruler.fits(low, high) and ruler.size(low, high) >= _FEW:
            pieces.append(Chunk("item", low, high, _join(head[1], body[low:high])))
    return pieces


def context_text(previous: Sequence[str], own: str, following: Sequence[str], *, title: str, when: str = "") -> str:
    """An episode between its neighbours (nearest last before it, nearest first after it); "" when it needs none.

    For vectors take CONTEXT_VECTOR_SPAN neighbours on either side, for keywords CONTEXT_TEXT_SPAN. An episode without
    neighbours has no context.
    """
    if not previous and not following:
        return ""
    return _join(header(title, when), *previous, own, *following)


def _heads(body: str, title: str, when: str) -> tuple[str, str]:
    """What stands in front of the chunk that begins the body, and of the others.

    A title that was taken from the body's first words would only repeat them; a heading is repeated further down.
    """
    start = body.lstrip()
    taken = bool(title) and start.startswith(title.rstrip("…. "))
    shown = taken or (bool(title) and start.lstrip("#").lstrip().startswith(title))
    return header("" if shown else title, when), header("" if taken else title, when)


def _join(*parts: str) -> str:
    text = "\n".join(part for part in parts if part)
    return _PICTURE.sub(r"\1", text) if "attachments/" in text else text


def _sections(ruler: "_Ruler", sections: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """The body in sections without gaps; one that is nearly empty is joined to the next."""
    end = ruler.end
    headings = {0: "", **{start: heading for start, _, heading in sections if 0 <= start < end}}
    bounds = [*sorted(headings), end]
    start = 0
    for low, high in pairwise(bounds):
        if high == end or ruler.size(start, high) >= _FEW:
            yield start, high, headings[low]
            start = high


class _Ruler:
    """Measures and cuts a body in tokens, in time linear in its length."""

    def __init__(self, body: str, window: int) -> None:
        self.end = len(body)
        self.window = window
        self.tokens = [match.start() for match in _TOKEN.finditer(body)]
        self.paragraphs = [match.end() for match in _PARAGRAPH.finditer(body)]
        self.sentences = [match.end() for match in _SENTENCE.finditer(body)]

    def size(self, start: int, end: int) -> int:
        """Estimated tokens in a span."""
        return bisect_left(self.tokens, end) - bisect_left(self.tokens, start)

    def fits(self, start: int, end: int) -> bool:
        """Whether a span fits the window."""
        return self.size(start, end) <= self.window

    def windows(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Spans that fit and together cover `start`..`end`."""
        while not self.fits(start, end):
            first = bisect_left(self.tokens, start)
            half, limit = self.tokens[first + self.window // 2], self.tokens[first + self.window]
            cut = _last(self.paragraphs, half, limit) or _last(self.sentences, half, limit)
            yield start, cut or limit
            start = cut or self.tokens[first + self.window - self.window // _OVERLAP]
        yield start, end


def _last(places: Sequence[int], above: int, until: int) -> int:
    """The last place in (above, until]; 0 if there is none."""
    at = bisect_right(places, until) - 1
    return places[at] if at >= 0 and places[at] > above else 0
