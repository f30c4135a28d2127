"""Which of a person's own sentences say what every conversation needs of them (`TOPICS`), told by
the classifier, and which words of it can stand where they are always loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from oneiro_vault.classify import classifier, orientation_gate
from oneiro_vault.classify.classifier import TOPICS, Topic
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
_KEPT: Final = 65_536
"""Sentences whose topic is remembered while the process lives: every night asks about all of
them."""
_known: dict[str, Likely] = {}


def likely(sentences: Sequence[str]) -> list[Likely]:
    """As `classifier.topics`."""
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


def best(one: Likely) -> Topic | None:
    """What is said: the likeliest topic, None where that none is said is likelier."""
    topic, sure = max(one.items(), key=lambda said: said[1])
    return topic if sure > 1 - sum(one.values()) else None


def topics(sentences: Sequence[str]) -> list[Topic | None]:
    """What each sentence or clause says of its speaker, None for nothing that lasts."""
    return [best(one) for one in likely(sentences)]


def told(texts: Sequence[str]) -> list[tuple[set[Topic], Likely]]:
    """(what the sentences of a text say, how likely one of them says each topic) of each text."""
    split = [_sentences(text) for text in texts]
    found = iter(likely([one for sentences in split for one in sentences]))
    rows = [[next(found) for _ in sentences] for sentences in split]
    return [
        (
            {topic for one in row if (topic := best(one))},
            {topic: max((one[topic] for one in row), default=0.0) for topic in TOPICS},
        )
        for row in rows
    ]


def said(text: str) -> list[tuple[Topic, str]]:
    """(topic, words to quote, `…` where something is left out) of each sentence of a person's own
    words that has one.

    A sentence is quoted whole where it asks nothing and only describes, if it were said of somebody
    else; if not, the longest of its clauses that does. How answers should be is said as an order:
    of 1,200 lines that tell a model who it is or what to do the classifier takes 15 for such a
    wish, and all of these are about answers.
    """
    found: list[tuple[Topic, str]] = []
    for sentence in _sentences(text):
        (about,) = topics([sentence])
        if about is None:
            continue
        stops = orientation_gate.hidden if about == "wishes" else orientation_gate.prescribes
        for words in _parts(sentence):
            if topics([words]) == [about] and not stops(personal.described(words)):
                before = "" if sentence.startswith(words) else "… "
                after = "" if sentence.endswith(words) else " …"
                found.append((about, f"{before}{words}{after}"))
                break
    return found


def _sentences(text: str) -> list[str]:
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
    bounds = [0, *(at for mark in _CLAUSE.finditer(sentence) for at in mark.span()), len(sentence)]
    clauses = (
        sentence[start:end].strip() for start, end in zip(bounds[::2], bounds[1::2], strict=True)
    )
    parts = dict.fromkeys((sentence, *sorted(clauses, key=len, reverse=True)))
    for part in parts:
        few = part != sentence and len(claims.tokens(part)) < FEWEST
        if not _asks(part) and not few and len(part) <= LONGEST:
            yield part


def _asks(words: str) -> bool:
    return words.rstrip("\"')*_ ").endswith("?")
