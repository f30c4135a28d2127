"""Which of a person's own sentences say what every conversation needs: who they are, their work,
home, people, health and wishes.

Closed shapes in the first person, of what holds for long: nothing of today, nothing that is only
thought of, nothing said to the reader. What fits no shape is not wrong; it waits for a judge, or
for `oneiro orient --edit`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from oneiro_vault.core.conversation.personal_patterns import SHAPES, WORDS
from oneiro_vault.core.text import claims

TITLES: Final = {
    "who": "Who the person is",
    "work": "The person's work",
    "home": "The person's home",
    "people": "The person's people",
    "health": "The person's health",
    "wishes": "What the person wants",
}
"""Topic -> title of its block, in the order in which they are shown."""
LONGEST: Final = 240
"""Characters of what is quoted."""

_LEAD: Final = re.compile(WORDS["LEAD"], re.I)


def _compiled(shapes: str) -> re.Pattern[str]:
    for name, pattern in WORDS.items():
        shapes = re.sub(rf"\b{name}\b", pattern.replace("\n", "").replace("\\", r"\\"), shapes)
    shapes = shapes.replace("'", "'?")  # "im", "dont"
    return re.compile(f"{_LEAD.pattern}(?:{'|'.join(shapes.split(chr(10))[1:-1])})", re.I)


_TOPICS: Final = {name: _compiled(shapes) for name, shapes in SHAPES.items()}
_PASSING: Final = re.compile(
    r"\b(?:today|tonight|yesterday|tomorrow|right now|at the moment|this (?:morning|afternoon|"
    r"evening|week|weekend|time|one)|last night|if|would(?! rather)|could|might|maybe|perhaps|"
    r"used to|thinking of|going to|will|gonna|'ll|(?:is|are|am|'m|'s) (?!living|"
    r"working)[a-z]{2,}ing|heute|gestern|morgen|gerade|diese woche|vielleicht|wenn|falls|würde|"
    r"könnte|werde|früher)\b",
    re.I,
)
_ADDRESSED: Final = re.compile(
    r"\b(?:you|your|yours|yourself|u|du|dir|dich|dein\w*|euch|please|pls|bitte)\b", re.I
)
_CLAUSE: Final = re.compile(
    r"[,;:.!?]+\s+|\s+[–—-]+\s+|(?<=\s)(?:and|but|so|because|cos|cause|since|und|aber|weil|"
    r"denn)\s+",
    re.I,
)
"""Where another clause may begin."""
_END: Final = re.compile(
    r"(?:[\s,;:–—-]|\s(?:and|but|so|because|cos|cause|since|und|aber|weil|denn))+$", re.I
)
_REPORTED: Final = re.compile(
    r"[\"“„«>]|\b(?:said|says?|told|asked|wr[io]tes?|texted|goes|rewrite|draft|translate|correct|"
    r"as if|mine|story|poem|letter|sentence|sagte?|meinte?|schrieb|schreibt|fragte?|übersetze)\b",
    re.I,
)
"""What follows may be somebody else's "I"."""
_SUPPOSED: Final = re.compile(
    r"(?:and |but |so )?(?:if|imagine|suppose|let's say|pretend|wenn|falls|angenommen)\b", re.I
)
_PARTS: Final = re.compile(r"[,;:.!?–—]+")
_STANDING: Final = re.compile(
    r"\b(?:always|never|from now on|in future|in general|generally|with me|to me|going forward"
    r"|answers|replies|ab jetzt|immer|nie|antworten)\b",
    re.I,
)
"""What makes a wish one for every time; answers are many."""
_GOES_ON: Final = re.compile(r"(?:never|always|nie|immer|and|or|und|oder)\b", re.I)
"""How a part begins that says something only with the one before it."""
_MANNERS: Final = frozenset(
    """
    short shorter brief briefly concise plain plainly simple direct blunt long detailed emoji emojis
    lists bullets tables headings jargon
    examples sources metric imperial kilometres kilometers km miles metres meters centimetres
    centimeters feet inches yards
    celsius fahrenheit grams kilos kilograms ounces pounds litres liters gallons euros dollars
    kroner english german french
    spanish italian dutch danish swedish norwegian polish portuguese kurz knapp einfach deutsch
    englisch listen tabellen
    """.split()
)
_AROUND: Final = frozenset(
    """
    please keep make write answer reply talk speak use give don't do not never no always me it them
    things answers replies everything in
    with without and or & to us from now on future generally general going forward for thanks bullet
    points small a the only lengths
    distances heights weights temperatures prices amounts units measurements bitte immer nie
    ab jetzt antworte schreib auf ohne mit mir und oder
    your you should be deine antworten sollen sein
    """.split()
)
_MARKS: Final = str.maketrans("“”", "''")
_QUOTED: Final = re.compile(r"- On \d{4}-\d\d-\d\d the person said: “[^“”]+”")
_ONLY: Final = tuple(
    (name, re.compile(pattern, re.I))
    for name, pattern in (
        (
            "place",
            r"\b(?:(?:i|we) live (?:in|at)|moved (?:to|into|back to)|based in|(?:ich|wir) "
            r"(?:wohnen?|leben?) (?:in|im)|gezogen)\b",
        ),
        ("name", r"\b(?:my name(?:'s| is)|i(?:'m| am) called|i go by|ich heiße|mein name ist)\b"),
        ("age", r"\b(?:i(?:'m| am)|i turn(?:ed)?|ich bin) \d{1,3}\b"),
    )
)
"""Of these only one is true at a time."""
_FIRST: Final = (
    (re.compile(r"\b(?:i'm|i am|ich bin)\b", re.I), "the person is"),
    (re.compile(r"\b(?:i've|i have|ich habe)\b", re.I), "the person has"),
    (re.compile(r"\b(?:we're|we are|wir sind)\b", re.I), "the two are"),
    (re.compile(r"\b(?:my|our|mein\w{0,2}|unser\w{0,2})\b", re.I), "the person's"),
    (re.compile(r"\b(?:i|me|mine|myself|we|us|ours|ich|mir|mich|wir|uns)\b", re.I), "the person"),
)


def said(text: str, prescribes: Callable[[str], str] = lambda _words: "") -> list[tuple[str, str]]:
    """(topic, words to quote) of what these own words of a person belong to in `TITLES`; nothing
    that passes or is said to the reader.

    A sentence is quoted whole where all of it may stand there, else only the clauses that tell,
    with `…` where something is left out. `prescribes`: why words would do more than describe, if
    they were said of somebody else; "" when they would not.
    """
    found: dict[str, str] = {}
    for sentence in claims.split_sentences(text.replace("’", "'")):
        if not sentence.rstrip("\"')*_ ").endswith("?") and not _SUPPOSED.match(sentence):
            for topic, words in (*_told(sentence, prescribes), *_manner(sentence)):
                found.setdefault(topic, words)
    return list(found.items())


def _told(sentence: str, prescribes: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    starts = [0, *(mark.end() for mark in _CLAUSE.finditer(sentence))]
    matches: list[tuple[int, str]] = []
    for start in starts:
        topic = next((name for name, shape in _TOPICS.items() if shape.match(sentence, start)), "")
        if (
            topic
            and topic not in [known for _, known in matches]
            and not _REPORTED.search(sentence[:start])
        ):
            matches.append((start, topic))
    bounds = [*(start for start, _ in matches), len(sentence)]
    for (start, topic), end in zip(matches, bounds[1:], strict=True):
        lead = _LEAD.match(sentence, start)
        begins = lead.end() if lead else start
        stop = next((one for one in starts if one > begins), len(sentence))
        part, first = (_END.sub("", sentence[begins:one]) for one in (end, stop))
        for words in (*([sentence] if len(matches) == 1 else []), part, first):
            if _stands(words) and not prescribes(described(words)):
                yield (
                    topic,
                    f"{'' if sentence.startswith(words) else '… '}{words}"
                    f"{'' if sentence.endswith(words) else ' …'}",
                )
                break


def _manner(sentence: str) -> Iterator[tuple[str, str]]:
    """A standing wish about how answers are: parts of a sentence in words in which nothing else can
    be said."""
    bounds = [0, *(at for mark in _PARTS.finditer(sentence) for at in mark.span()), len(sentence)]
    parts = [
        (start, end)
        for start, end in zip(bounds[::2], bounds[1::2], strict=True)
        if sentence[start:end].strip()
    ]
    fits = [
        _MANNERS.union(_AROUND).issuperset(_plain(sentence, *part).lower().split())
        for part in parts
    ]
    for number, (start, _) in enumerate(parts):
        stop = next((at for at in range(number, len(parts)) if not fits[at]), len(parts))
        if stop == number or (number and _GOES_ON.match(_plain(sentence, *parts[number]))):
            continue
        plain = _plain(sentence, start, parts[stop - 1][1])
        words = _PARTS.sub(" ", plain).lower().split()
        if len(words) > 2 and _STANDING.search(plain) and _MANNERS.intersection(words):
            yield (
                "wishes",
                f"{'' if sentence.startswith(plain) else '… '}{plain}"
                f"{'' if sentence.rstrip('.!').endswith(plain) else ' …'}",
            )
            return


def _plain(sentence: str, start: int, end: int) -> str:
    """A part of it, without what only leads to it."""
    part = sentence[start:end]
    return part[lead.end() if (lead := _LEAD.match(part)) else 0 :].strip()


def _stands(words: str) -> bool:
    """May these words be quoted: of no moment, and to nobody?"""
    return len(words) <= LONGEST and not (_ADDRESSED.search(words) or _PASSING.search(words))


def speaks(text: str) -> bool:
    """Does somebody speak of themselves in these words?"""
    return any(pattern.search(text.replace("’", "'")) for pattern, _ in _FIRST)


def of_reader(text: str) -> bool:
    """Is it about whoever reads it ("You have moved to …"), and not about how answers should be?"""
    plain = text.replace("’", "'").lstrip("\"'*_ ")
    begins = _ADDRESSED.match(plain, lead.end() if (lead := _LEAD.match(plain)) else 0)
    asks = not begins or begins[0].lower().startswith(("pl", "bit"))
    return not (asks or speaks(plain) or any(_manner(plain)))


def alone(text: str) -> str:
    """What such words say of which only one can be true at a time: `place`, `name`, `age`, else
    ""."""
    plain = text.replace("’", "'")
    return next((name for name, pattern in _ONLY if pattern.search(plain)), "")


def described(text: str) -> str:
    """The same of somebody else, for the gate: what somebody says of themselves must describe when
    it is said of them."""
    for pattern, words in _FIRST:
        text = pattern.sub(words, text)
    return text


def quoted(text: str, day: str) -> str:
    """The line of a block that quotes what a person said on a day."""
    words = " ".join(text.translate(_MARKS).split())
    return f"- On {day} the person said: “{words}”"


def is_quoted(text: str) -> bool:
    """Does a text consist of such lines?"""
    return all(_QUOTED.fullmatch(line) for line in text.strip().splitlines())
