"""What in a capture a fact rests on, and whether it says the same. A judge may say things in other
words, leave out and join. It may not bring names or numbers, deny what was stated, state what was
denied, or say of one person what was said of another; and what it cites must stand there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from oneiro_vault.classify.spans import Span, at, weakest_of
from oneiro_vault.core.conversation import turns
from oneiro_vault.core.memory import Memory
from oneiro_vault.core.text import claims, polarity
from oneiro_vault.core.text.language import CAPITALISING, detect, is_english
from oneiro_vault.core.text.numbers import figures, in_words, unsaid
from oneiro_vault.core.text.query import fold
from oneiro_vault.mind.base import Note
from oneiro_vault.mind.loops.resolve import Unit
from oneiro_vault.mind.support import strange_names

OWN: Final = 0.6
"""Share of a fact's content words that the speaker's own words among the cited ones must have, for
the fact to rest on these alone: others were only quoted beside them."""
SHARE: Final = 0.34
"""Share of a fact's content words that its capture must have where the fact does not cite it."""
_CONTRARY: Final = "the capture says the contrary"
_MOST: Final = 4
"""Sentences a fact is looked for in when it does not cite."""
_AROUND: Final = 1
"""Sentences before and after the cited ones that explain them: what "it" and "she" are."""
_ENGLISH: Final = "en"
_SHORT: Final = 3
"""Letters in which a word is known in another form."""
_NOBODY: Final = frozenset("user person speaker".split())
_NUMBERED: Final = re.compile(r"(?<!\w)(?=[^\W\d_])[^\Wa-z][\w-]* \d+\b(?![-.,:]\d)")
_ELLIPSIS: Final = re.compile(r"\s*(?:\[?(?:…|\.\.\.)\]?)\s*")
_SELF: Final = re.compile(
    r"\b(?:i|i['’](?:m|ve|ll|d)|me|my|mine|we|we['’](?:re|ve|ll|d)|us|our|ours|ich|mir|mich|"
    r"mein\w{0,2}|wir|uns|unser\w{0,2})\b",
    re.I,
)
_PERSON: Final = re.compile(
    r"^(?:the )?(?:user|person|speaker)\b(?!['’]s)|^(?:i|ich|wir|we)\b", re.I
)
_KIN: Final = (
    "sister brother mother father mom mum dad son daughter wife husband partner boss manager "
    "friend neighbour neighbor landlord colleague girlfriend boyfriend uncle aunt cousin "
    "grandmother grandfather team company flatmate roommate schwester bruder mutter vater sohn "
    "tochter frau mann chef chefin freund freundin nachbar nachbarin kollege kollegin"
).split()
_OTHER: Final = re.compile(
    rf"^\W*(?:and |but |also |so |my |our |mein\w{{0,2}} |unser\w{{0,2}} |the "
    rf")*({'|'.join(_KIN)})\b",
    re.I,
)


@dataclass(frozen=True)
class Cited:
    """The spans a fact rests on, and `problem`: why it may not be filed, "" when it may."""

    spans: tuple[Span, ...] = ()
    problem: str = ""

    def source(self, capture: Note) -> Note:
        """The capture as far as a fact rests on it: with the trust of these spans, which it
        names."""
        memory = capture.memory
        names = [f"{memory.id}#{name}" for name in dict.fromkeys(span.name for span in self.spans)]
        level = weakest_of(memory, self.spans)
        return replace(
            capture, memory=replace(memory, trust=level, extra={**memory.extra, turns.KEY: names})
        )


def cited(unit: Unit, memory: Memory, known: frozenset[str] = frozenset()) -> Cited:
    """Where a capture says what a fact says. `known`: words (folded) that name people and things
    the vault knows: whoever cites may use a name that the capture does not."""
    body = memory.body
    every = claims.sentence_spans(body)
    if unit.quote.strip():
        places = _find(unit.quote, body)
        if not places:
            return Cited(problem="it cites words that the capture does not have")
        chosen = [
            n
            for n, (start, end) in enumerate(every)
            if any(start < stop and end > begin for begin, stop in places)
        ]
    else:
        chosen = _best(unit.content, body, every)
        places = [every[n] for n in chosen]
    near = sorted(
        {m for n in chosen for m in range(n - _AROUND, n + _AROUND + 1) if 0 <= m < len(every)}
    )
    around = "\n".join(
        (memory.title, memory.project, *(body[every[n][0] : every[n][1]] for n in near))
    )
    found = {span: None for start, end in places for span in at(body, start, end)}
    said = [every[n] for n in chosen]
    ground = _within(body, said, found)  # not what others say in the same sentence
    after = "\n".join(
        body[every[n][0] : every[n][1]]
        for n in sorted({m for n in chosen for m in (n, n + 1) if m < len(every)})
    )
    problem = _problem(unit, memory, ground, around, after, tuple(found), known)
    own = [one for one in found if one.own and one.speaker in (turns.USER, turns.NOBODY)]
    beside = not problem and 0 < len(own) < len(found)
    alone = beside and _says(unit.content, _within(body, said, own), memory, known)
    return Cited(tuple(own if alone else found), problem)


def _within(body: str, sentences: Sequence[tuple[int, int]], spans: Iterable[Span]) -> str:
    """The words of sentences that stand in one of some spans, a line each."""
    parts = [
        (max(start, span.start), min(end, span.end)) for start, end in sentences for span in spans
    ]
    return "\n".join(body[start:end] for start, end in parts if start < end)


def _says(fact: str, own: str, memory: Memory, known: frozenset[str]) -> bool:
    """Do a speaker's own words say a fact without the others that it cites?"""
    language = _language(fact) or _language(own) or _ENGLISH
    mine = polarity.stems(fact, language)
    shared = polarity.common(mine, polarity.stems(own, language))
    return (
        len(shared) >= OWN * len(mine)
        and not unsaid(fact, own, memory.created)
        and all(fold(one) in known for one in strange_names(fact, f"{own}\nUser Assistant"))
        and not polarity.contrary(fact, own)
    )


def numbered(text: str) -> set[str]:
    """The names with a number in a text, folded: "PO 2291"."""
    return {fold(found[0]) for found in _NUMBERED.finditer(text)}


def _find(quote: str, body: str) -> list[tuple[int, int]]:
    found = []
    for part in _ELLIPSIS.split(quote.strip().strip("\"“”„»«'")):
        words = re.split(r"\s+", part.strip())
        if words == [""]:
            continue
        place = re.search(r"\s+".join(map(re.escape, words)), body, re.I)
        if place is None:
            return []
        found.append(place.span())
    return found


def _best(fact: str, body: str, every: tuple[tuple[int, int], ...]) -> list[int]:
    language = _language(fact) or _language(body) or _ENGLISH
    wanted = polarity.stems(fact, language) | figures(fact)
    have = [(polarity.stems(body[a:b], language) | figures(body[a:b])) & wanted for a, b in every]
    chosen: list[int] = []
    known: set[str] = set()
    while len(chosen) < _MOST and have:
        best = max(range(len(have)), key=lambda n: (len(have[n] - known), -n))
        if not have[best] - known:
            break
        chosen.append(best)
        known |= have[best]
    return sorted(chosen)


def _names_speaker(fact: str, spans: Sequence[Span]) -> bool:
    """May a name that nobody said be that of whoever speaks?"""
    own = all(
        (one.own or one.doubted) and one.speaker in (turns.USER, turns.NOBODY) for one in spans
    )
    return own and not re.search(r"\b(?:user|person|speaker)\b", fact, re.I)


def _problem(
    unit: Unit,
    memory: Memory,
    ground: str,
    around: str,
    after: str,
    spans: Sequence[Span],
    known: frozenset[str],
) -> str:
    """`ground`: the cited sentences, `around`: with their neighbours, `after`: with the next ones,
    which may answer them."""
    fact, quoted, everything = (
        unit.content,
        bool(unit.quote.strip()),
        f"{memory.title}\n{memory.project}\n{memory.body}",
    )
    strange = [
        one
        for one in unsaid(fact, everything, memory.created)
        if not (quoted and any(name.endswith(f" {one}") for name in known & numbered(fact)))
    ]
    if strange and not (quoted and len(strange) <= in_words(ground)):
        return f"the capture has no {', '.join(strange[:3])}"
    language, spoken = _language(fact), _language(ground) or _language(memory.body)
    # a step of a procedure begins with what is to be done
    told = "\n".join(f"{one[:1].lower()}{one[1:]}" for one in fact.split("\n"))
    names = [
        one
        for one in strange_names(told if "\n" in fact else fact, f"{everything}\nUser Assistant")
        if not (quoted and fold(one) in known)
    ]
    own = len(names) == 1 and _names_speaker(fact, spans)
    if names and not own and CAPITALISING.isdisjoint((language, spoken)):
        return f"the capture names no {', '.join(names[:3])}"
    bare = polarity.answers(after)
    if quoted and language and spoken and language != spoken:
        # told in another language than that of the words it cites: only its denials compare
        return "" if bare or not polarity.added(fact, ground) else _CONTRARY
    language = language or spoken or _ENGLISH
    mine = polarity.stems(fact, language)
    shared = polarity.common(mine, polarity.stems(around, language))
    counted, there = figures(fact), figures(ground)
    if mine and not (shared or counted & there or (quoted and _begin_alike(mine, ground))):
        return "the capture does not say that"
    if (
        mine
        and not quoted
        and len(shared) < SHARE * len(mine)
        and not (counted and counted <= there)
    ):
        return "the capture does not say that"
    against = (  # of a procedure each step by itself
        polarity.contrary(step, ground, clear=quoted) for step in fact.splitlines()
    )
    verbatim = turns.quoted(fact, (ground,))  # and so says what it cites, each denial in its place
    if not (bare or verbatim) and (polarity.added(fact, ground, clear=quoted) or any(against)):
        return _CONTRARY
    if _another(fact, ground, language):
        return "the capture says it of somebody else"
    return ""


def _begin_alike(mine: set[str], ground: str) -> bool:
    """Does every word begin as one of those that are cited, as "vegetarian" does as "veggie"?"""
    words = {fold(word)[:_SHORT] for word in re.findall(r"\w{4,}", ground)}
    return mine > _NOBODY & mine and {one[:_SHORT] for one in mine - _NOBODY} <= words


def _language(text: str) -> str:
    return detect(text) or (_ENGLISH if is_english(text) else "")


def _bearing(mine: set[str], ground: str, language: str) -> list[str]:
    parts = claims.split_sentences(ground)
    shares = [len(mine & polarity.stems(part, language)) for part in parts]
    return [
        part for part, share in zip(parts, shares, strict=True) if share and share == max(shares)
    ]


def _another(fact: str, ground: str, language: str) -> bool:
    if not _PERSON.match(fact.strip()):
        return False
    parts = _bearing(polarity.stems(fact, language), ground, language)
    kin = [_OTHER.match(turns.without_speaker(part)) for part in parts]
    if any(one and fold(one[1]) in fold(fact) for one in kin):
        return False  # of whom both speak
    return bool(parts) and all(
        _OTHER.match(turns.without_speaker(part))
        and not _SELF.search(_OTHER.sub("", turns.without_speaker(part)))
        for part in parts
    )
