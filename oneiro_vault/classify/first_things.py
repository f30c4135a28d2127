"""Which of a person's own sentences say what every conversation needs of them (`TOPICS`), told by
the classifier, and which words of it can stand where they are always loaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from oneiro_vault.classify import classifier, orientation_gate
from oneiro_vault.classify.classifier import Topic
from oneiro_vault.core.conversation import personal
from oneiro_vault.core.text import claims

Likely = Mapping[Topic, float]
"""Topic -> how likely it is said, 0-1."""
LONGEST: Final = 240
"""Characters of what is quoted."""
FEWEST: Final = 3
"""Words of a clause."""
_CLAUSE: Final = re.compile(
    r"[,;:.!?]+\s+|\s+[–—-]+\s+|\s+(?=(?:and|but|so|because|cos|cause|since|und|aber|weil|denn|"
    r"porque|pero|mais|car)\s)",
    re.I,
)
"""Where another clause may begin."""
_CHANGES: Final = re.compile(
    r"\b(?:now|no longer|any ?more|instead|from today|as of|from now on|after all|goes up|"
    r"went up|down to|moved? to|changed to|new \w+ (?:is|will be)|jetzt|nun|nicht mehr|sondern|"
    r"statt|stattdessen|ab sofort|ab heute|doch erst|neuerdings|inzwischen|mittlerweile|geändert|"
    r"verschoben|ahora|ya no|desde hoy|maintenant|désormais|ne plus)\b",
    re.I,
)
"""What tells that something changed."""
_LANGUAGES: Final = (
    r"(?:english|german|french|spanish|italian|dutch|polish|portuguese|turkish|russian|ukrainian|"
    r"englisch|deutsch|französisch|spanisch|italienisch|niederländisch|polnisch|türkisch|russisch|"
    r"ukrainisch|inglés|alemán|francés|español|anglais|allemand|français|espagnol)"
)
_ANSWERS: Final = (
    r"(?:answer|repl(?:y|ies)|respon[ds]|write|speak|talk|antwort|schreib|sprich|sprech|"
    r"red(?:e|en)?\b|respond|escrib|habl|répon|écri|parle)\w*"
)
_MATTERS: Final = {
    "language": re.compile(
        rf"\b{_ANSWERS}\b.*\b{_LANGUAGES}\b|\b{_LANGUAGES}\b.*\b{_ANSWERS}\b|"
        rf"^(?:please |bitte |from now on |ab jetzt |nur |only )*(?:in|auf|en) {_LANGUAGES}\b",
        re.I,
    ),
    "length": re.compile(
        rf"\b(?:{_ANSWERS}|keep|sentences?|sätze?|fass|halt\w*)\b.*\b(?:short|brief|concise|long|"
        r"detail|thorough|kurz|kürzer|knapp|lang|länger|ausführlich|cort|breve|larg|court|bref|"
        rf"longue?)\w*|\b(?:short|brief|concise|long|longer|detailed|thorough|kurze?|kürzere?|"
        rf"knappe?|lange?|längere?|ausführliche?)\b.*\b(?:{_ANSWERS}|sentences|sätze)",
        re.I,
    ),
    "bullets": re.compile(r"\b(?:bullets?|bullet points?|stichpunkte?\w*|aufzählung\w*)\b", re.I),
    "tables": re.compile(r"\b(?:tables?|tabellen?)\b", re.I),
    "emoji": re.compile(r"\b(?:emojis?|smileys?|smiley faces)\b", re.I),
    "address": re.compile(r"\b(?:duz\w*|siez\w*|per du|per sie|sag \w* ?(?:du|sie))\b", re.I),
    "name": re.compile(r"\b(?:call me|nenn\w* mich)\b", re.I),
}
"""What of two wishes only one can hold at a time -> what speaks of it."""
_OCCASION: Final = re.compile(
    r"\b(?:when|if|unless|except|about|even|wenn|falls|außer|bei|auch|sobald|si|cuando|quand|"
    r"(?:for|to|für|an|para|pour)(?! (?:me|now|mich|jetzt|mi|moi)\b))\b",
    re.I,
)
"""What makes a wish one for some occasions."""
_KEPT: Final = 65_536
"""Sentences whose topic is remembered while the process lives: every night asks about all of
them."""
_known: dict[str, Likely] = {}


def likely(sentences: Sequence[str]) -> list[Likely]:
    """As `classifier.topics`, of the words without the days that a memory sets beside them."""
    sentences = [personal.bare(one) for one in sentences]
    found = {one: _known[one] for one in sentences if one in _known}
    new = [one for one in dict.fromkeys(sentences) if one not in found]
    found |= zip(new, classifier.topics(new), strict=True)
    for one, said in found.items():
        _known.pop(one, None)
        _known[one] = said
    if len(_known) > _KEPT:
        for one in list(_known)[:-_KEPT]:  # those nobody asked about for the longest time
            _known.pop(one, None)
    return [found[one] for one in sentences]


def surest(one: Likely) -> tuple[Topic | None, float]:
    """What is said and how likely: the likeliest topic, None where none is likelier."""
    topic, sure = max(one.items(), key=lambda said: said[1])
    none = 1 - sum(one.values())
    return (topic, sure) if sure > none else (None, none)


def topics(sentences: Sequence[str]) -> list[Topic | None]:
    """What each sentence or clause says of its speaker, None for nothing that lasts."""
    return [surest(one)[0] for one in likely(sentences)]


def told(texts: Sequence[str]) -> list[set[Topic]]:
    """What the sentences of each text say of their speaker."""
    split = [sentences(text) for text in texts]
    found = iter(topics([one for several in split for one in several]))
    return [{one for _ in several if (one := next(found))} for several in split]


class Saying(NamedTuple):
    """A sentence of a person's own words, what it says of them, its words to quote, `…` where
    something is left out, and how likely it says that, 0-1."""

    sentence: str
    topic: Topic
    words: str
    likely: float


def said(text: str) -> list[tuple[Topic, str]]:
    """(topic, words to quote) of each sentence that says something of its speaker."""
    return [(one.topic, one.words) for one in sayings(text)]


def sayings(text: str) -> list[Saying]:
    """What each sentence that says something of its speaker says.

    A sentence is quoted whole where it asks nothing and only describes, if it were said of somebody
    else; if not, the longest of its clauses that does. How answers should be is said as an order:
    of 1,200 lines that tell a model who it is or what to do the classifier takes 15 for such a
    wish, and all of these are about answers. What points at somebody ("she") is quoted with the
    sentence before it, unless that is told there anyway.
    """
    found: list[Saying] = []
    every = sentences(text)
    for sentence, before in zip(every, ["", *every], strict=False):
        about, sure = surest(*likely([sentence]))
        words = _quoted(sentence, about, says=True) if about else ""
        if not words or about is None:
            continue
        told = found and found[-1].sentence == before and found[-1].topic == about
        if not told and claims.points(words) and _leads(before, words):
            words = f"{before} {words}"
        found.append(Saying(sentence, about, words, sure))
    return found


def _leads(before: str, words: str) -> bool:
    """Can a sentence be quoted before these words?"""
    fits = len(before) + len(words) < LONGEST and not _asks(before)
    return bool(before) and fits and not orientation_gate.prescribes(personal.described(before))


def follows(sentence: str, topic: Topic, about: Callable[[str], bool]) -> str:
    """The words to quote of a sentence that says how something of this topic is now, which needs
    to say none by itself, from the first clause that is `about` it; "" where none can be quoted."""
    starts = (start for start, end in _bounds(sentence) if about(sentence[start:end]))
    first = next(starts, 0)
    words = _quoted(sentence[first:], topic, says=False)
    return f"… {words}" if words and first and not words.startswith("…") else words


def _quoted(sentence: str, topic: Topic, *, says: bool) -> str:
    stops = orientation_gate.hidden if topic == "wishes" else orientation_gate.prescribes
    for words in _parts(sentence):
        if (not says or topics([words]) == [topic]) and not stops(personal.described(words)):
            before = "" if sentence.startswith(words) else "… "
            after = "" if sentence.endswith(words) else " …"
            return f"{before}{words}{after}"
    return ""


def changes(sentence: str) -> bool:
    """Does it say in so many words that something is another way than it was?"""
    return bool(_CHANGES.search(sentence))


def standing(wish: str, later: Sequence[str]) -> str:
    """What is left of a wish once later ones on the same matter stand: its other clauses, ""
    where none is left. A wish for some occasions only is none on the same matter."""
    over = {matter for other in later for clause in _clauses(other) for matter in _matters(clause)}
    clauses = _clauses(wish)
    left = [clause for clause in clauses if not over & _matters(clause)]
    if len(left) == len(clauses):
        return wish
    first = "… " if clauses[0] not in left else ""
    last = " …" if clauses[-1] not in left else ""
    found = " … ".join(left)
    return f"{first}{found}{last}" if len(claims.tokens(found)) >= FEWEST else ""


def _matters(clause: str) -> set[str]:
    if _OCCASION.search(clause):
        return set()
    return {matter for matter, form in _MATTERS.items() if form.search(clause)}


def _clauses(sentence: str) -> list[str]:
    """Its clauses, each with what only says on which condition it holds."""
    found: list[tuple[int, int]] = []
    for start, end in _bounds(sentence):
        if found and _OCCASION.match(sentence[start:end]):
            found[-1] = found[-1][0], end
        elif start < end:
            found.append((start, end))
    return [sentence[start:end] for start, end in found]


def sentences(text: str) -> list[str]:
    """The sentences of a text, as they are classified."""
    return claims.split_sentences(text.replace("’", "'"))


def before_question(sentence: str) -> str:
    """What a sentence that ends in a question tells before it, as far as its clauses tell; all of
    any other, and of one that only asks."""
    if not _asks(sentence) or len(sentence) > LONGEST:
        return sentence
    ends = [mark.span() for mark in _CLAUSE.finditer(sentence)]
    found = next((end for end, _ in ends if topics([sentence[:end]])[0]), 0)
    for (start, begins), (end, _) in pairwise(ends):
        if start == found and topics([sentence[begins:end]])[0]:
            found = end
    return sentence[:found] or sentence


def _parts(sentence: str) -> Iterator[str]:
    """The sentence and its clauses, longest first, as far as they ask nothing and fit."""
    clauses = (sentence[start:end].strip() for start, end in _bounds(sentence))
    parts = dict.fromkeys((sentence, *sorted(clauses, key=len, reverse=True)))
    for part in parts:
        few = part != sentence and len(claims.tokens(part)) < FEWEST
        if not _asks(part) and not few and len(part) <= LONGEST:
            yield part


def _bounds(sentence: str) -> list[tuple[int, int]]:
    ends = [0, *(at for mark in _CLAUSE.finditer(sentence) for at in mark.span()), len(sentence)]
    return list(zip(ends[::2], ends[1::2], strict=True))


def _asks(words: str) -> bool:
    return words.rstrip("\"')*_ ").endswith("?")
