"""How a note's text becomes chunks for the vector index: pieces that fit the model's window, and a
turn with its neighbours.

A model reads the first 256 tokens of what it is given and ignores the rest, so a long note as one
text loses a third of its findability. Measured on long notes, pieces of 60 to 120 words are equally
good, 180 are worse, and overlap brings nothing where a cut falls between sentences (cuts between
paragraphs are half a point better); so pieces overlap only in a wall of words. Short sections share
a piece. A list is cut twice as fine: its items have less to do with each other than sentences have.
(A vector for every item besides would double the work; it finds items by meaning a little better
and what stands in prose worse.)
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

__all__ = ["CONTEXT_TEXT_SPAN", "CONTEXT_VECTOR_SPAN", "Chunk", "chunk", "context_text", "header"]

CONTEXT_VECTOR_SPAN = 1
"""Neighbours on either side of an episode in its context chunk: two do not fit the model's window
much of the time."""
CONTEXT_TEXT_SPAN = 2
"""The same for keywords, where nothing is cut: 1 is .4 points of nDCG@10 worse, 3 is equal."""

_TOKENS_PER_WORD = 2
"""An upper estimate for prose with its punctuation, so that 120 words and a title stay inside 256
tokens."""
_FEW = 8
"""Tokens below which a section has no chunk of its own: a bare heading says too little to be found
by."""
_TITLE = 80
"""Characters of a title that are repeated in front of every chunk."""
_LONGEST = 4_000
"""Characters of a chunk: more than any window we know. Only blanks, which are no tokens, make one
longer."""
_BEGINNING = 600
"""Characters of a long note that stand for all of it, where its first window is much shorter than
others; else that window does, and needs no second vector. A text of its own of 600 characters makes
.05 points of Recall@10 more where whole conversations are the notes, one of 1,200 .2; notes of 2 KB
take a seventh and a third longer then."""
_LIST = 2
"""In how many windows is cut what would be one, if most of it are list items."""
_OVERLAP = 6
"""A cut inside a sentence repeats a sixth of the piece before it."""
_TOKEN = re.compile(r"[A-ZÀ-Þ]?[a-zß-ɏ]{1,3}|\S")
"""What a word-piece model makes of text, estimated from above: three small Latin letters, or one of
any other character."""
_ELSEWHERE = r"\]\((?:[A-Za-z][\w+.-]*:|[^()\s]*attachments/[0-9a-f]{2}/)"
_UNREAD = re.compile(
    rf"""
    !?\[(?=[^\[\]]{{0,300}}{_ELSEWHERE})
    | {_ELSEWHERE}[^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:[ ]"[^"\n]*")?\)
    | <!--(?:(?!<!--|-->).){{0,2000}}--> | %%[^%]{{0,2000}}%%
    | </[A-Za-z][\w-]*> | <[A-Za-z][\w-]*[ ][^<>\n]{{0,500}}> | <br>
    """,
    re.VERBOSE | re.DOTALL,
)
"""What nobody reads of a text, and a model would take for what it says: where links and pictures
lead outside, tags, comments."""
_PARAGRAPH = re.compile(r"\n+[ \t]*")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One text for the vector index: `start`..`end` are characters of the body, `text` is what gets
    embedded."""

    kind: str
    """note, window or context."""
    start: int
    end: int
    text: str


def header(title: str, when: str = "") -> str:
    """The line in front of a chunk: what the note is about, and when if that is given; "" if
    neither is known.

    Measured without the date: of what changed in eight made-up months an older version stands first
    19 times of 77 instead of 13, four present answers more of 276 are among the first ten; turns of
    conversations are equal, and as plain notes found 4.7 points better.
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
    """A note of one window as a whole; a longer one in windows, so that every character is in a
    piece that fits, and before them, under the kind `note`, what stands for the whole: the first
    window, or the beginning where that is short.

    `sections` (start, end, heading) and `items` (start, end) are the Markdown parser's; cuts are
    between sections, paragraphs or sentences.
    """
    ruler = _Ruler(_read(body, " "), words * _TOKENS_PER_WORD)
    head = _heads(body, title, when)
    if ruler.fits(0, len(body)):
        return [Chunk("note", 0, len(body), _join(head[0], _read(body)[:_LONGEST]))]
    outline = _Outline(sections, len(body))
    pieces = [
        Chunk(
            "window",
            low,
            high,
            _join(head[low > 0], outline.above(low), _read(body[low:high])[:_LONGEST]),
        )
        for low, high in _pieces(ruler, outline, sorted(items))
    ]
    first = pieces[0]
    stands = 2 * ruler.size(first.start, first.end) > ruler.window
    whole = first.text if stands else _join(head[0], _read(body[:_BEGINNING]))
    return [Chunk("note", 0, len(body), whole), *pieces]


def context_text(
    previous: Sequence[str], own: str, following: Sequence[str], *, title: str, when: str = ""
) -> str:
    """An episode between its neighbours (nearest last before it, nearest first after it); "" when
    it needs none.

    For vectors take CONTEXT_VECTOR_SPAN neighbours on either side, for keywords CONTEXT_TEXT_SPAN.
    An episode without neighbours has no context.
    """
    if not previous and not following:
        return ""
    return _join(header(title, when), *map(_read, (*previous, own, *following)))


def _heads(body: str, title: str, when: str) -> tuple[str, str]:
    """What stands in front of the chunk that begins the body, and of the others.

    A title that was taken from the body's first words would only repeat them; a heading is repeated
    further down.
    """
    start = body.lstrip()
    taken = bool(title) and start.startswith(title.rstrip("…. "))
    shown = taken or (bool(title) and start.lstrip("#").lstrip().startswith(title))
    return header("" if shown else title, when), header("" if taken else title, when)


def _join(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _read(text: str, blank: str = "") -> str:
    """The text without what nobody reads of it, each character of which becomes `blank`."""
    if not any(mark in text for mark in ("](", "<", "%%")):
        return text
    return _UNREAD.sub(lambda found: blank * len(found[0]), text)


def _pieces(
    ruler: "_Ruler", outline: "_Outline", items: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Spans that fit and together cover the body."""
    starts = [start for start, _ in items]
    listed = [0, *accumulate(end - start for start, end in items)]
    for low, high in _full(ruler, outline):
        among = listed[bisect_left(starts, high)] - listed[bisect_left(starts, low)]
        yield from (
            ruler.windows(low, high, ruler.window // _LIST)
            if 2 * among > high - low
            else ((low, high),)
        )


def _full(ruler: "_Ruler", outline: "_Outline") -> Iterator[tuple[int, int]]:
    """The windows of each long section; short ones that fit into one together share it."""
    begun = done = 0
    for start, end in outline.sections(ruler):
        if not ruler.fits(begun, end):
            if begun < done:
                yield begun, done
            begun = start
            if not ruler.fits(start, end):
                yield from ruler.windows(start, end, ruler.window)
                begun = end
        done = end
    if begun < done:
        yield begun, done


class _Outline:
    """A body's sections and their headings."""

    def __init__(self, sections: Sequence[tuple[int, int, str]], end: int) -> None:
        self._headings = {
            0: "",
            **{start: heading for start, _, heading in sections if 0 <= start < end},
        }
        self._starts = sorted(self._headings)
        self._end = end

    def sections(self, ruler: "_Ruler") -> Iterator[tuple[int, int]]:
        """Spans without gaps; one that is nearly empty is joined to the next."""
        start = 0
        for high in (*self._starts[1:], self._end):
            if high == self._end or ruler.size(start, high) >= _FEW:
                yield start, high
                start = high

    def above(self, place: int) -> str:
        """The heading of the section around a place; "" where it begins there, and so is in the
        text."""
        at = self._starts[bisect_right(self._starts, place) - 1]
        return "" if at == place else self._headings[at]


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

    def windows(self, start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
        """Spans of at most so many tokens that together cover `start`..`end`."""
        while self.size(start, end) > most:
            first = bisect_left(self.tokens, start)
            half, limit = self.tokens[first + most // 2], self.tokens[first + most]
            cut = _last(self.paragraphs, half, limit) or _last(self.sentences, half, limit)
            yield start, cut or limit
            start = cut or self.tokens[first + most - most // _OVERLAP]
        yield start, end


def _last(places: Sequence[int], above: int, until: int) -> int:
    """The last place in (above, until]; 0 if there is none."""
    at = bisect_right(places, until) - 1
    return places[at] if at >= 0 and places[at] > above else 0
