"""Does a sentence say of itself that it replaces another: by an explicit cue, about the same
subject?

Three shapes only. It names what is over ("no longer"), and the other says just that; it names a
value and the one that was wrong ("in February, not January"), and a clause of the other gives the
same subject the wrong one; or it says where something went ("moved to", "is now"), and the other
gives the same subject another day or number. In doubt it replaces nothing. Few people put it so:
of 76 changes that eight made-up people tell over months in their own words these shapes find two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import Final, NamedTuple

from oneiro_vault.core.conversation import personal
from oneiro_vault.core.text import claims
from oneiro_vault.core.text.language import detect
from oneiro_vault.core.text.numbers import days, figures
from oneiro_vault.core.text.polarity import ordered, stems
from oneiro_vault.core.text.query import fold
from oneiro_vault.core.time.date_ranges import NAMED

DAYS: Final = NAMED.union(
    """
    montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar marz mai juni juli
    oktober dezember
    """.split()
)
"""Days and months as they are named, folded."""
_END: Final = r"(?=$|[,;:.!?()–—](?!\d)| (?:but|because|since|so|and|aber|sondern|weil|denn|und)\b)"
_WITHIN: Final = r"(?:[^,;:.!?]|(?<=\d)[,:.](?=\d)|(?<=\d)\.(?= [^\W\d]))+?"
"""Of one clause; a point between digits, or of an ordinal, ends none."""
_NOT: Final = r"\b(?:not|(?:is|are|was|do|does|did|wo)n['’]?t)(?! forget\b)"
_SHAPES: Final = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"{_NOT} (?P<old>{_WITHIN}),? but (?P<new>{_WITHIN}){_END}",
        rf"{_NOT} (?P<old>{_WITHIN})[,;.–—-]+ (?:it|that|he|she|they|we)"
        rf"(?:['’]?s|['’]?re| is| are)? (?P<new>{_WITHIN}){_END}",
        rf"\bnicht (?P<old>{_WITHIN}),? sondern (?P<new>{_WITHIN}){_END}",
        rf"(?:{_NOT}|\bnicht|\bkein[a-z]*) (?P<old>{_WITHIN}){_END}",
        rf"\b(?:instead of|rather than|statt) (?P<old>.+?){_END}",
    )
)
"""`old`: the wrong value; `new`: the right one, where it does not stand before the cue."""
_LAST: Final = re.compile(rf",? \b(?:not|nicht) {_WITHIN}[.!]?$", re.I)
_JOINT: Final = re.compile(
    r"[,;:]\s+(?:(?:and|but|so|und|aber)\s+)?|\s+[–—-]+\s+|\s+(?:and|but|so|und|aber)\s+", re.I
)
LONGEST: Final = 600
"""Characters of a sentence that may correct another."""
MANY: Final = 2_000
"""Characters of a text that says one thing, or a few; longer ones say too much to be corrected by a
sentence."""
_MORE: Final = 3
"""Words and numbers of their own from which the rest of a sentence says something."""
_FEWEST: Final = 3
"""Words of a clause."""
_UNITS: Final = 2
"""Words behind a number that say of what it is one."""
_ALONE: Final = 2
"""Words of no name and no number that are worth to be kept without the value between them."""
_WORD: Final = re.compile(r"(?<!\S)\[\d{4}-[^\]]*\]|\S+")
_SIGNS: Final = ".,;:!?()\"'“”’…*_"
_BESIDE: Final = re.compile(r" ?\[\d{4}-[^\]]*\]")
_DATED: Final = re.compile(r"\d{1,2}(?:st|nd|rd|th|\.)?|\d{4}")
_APPOSED: Final = re.compile(
    r"\s*,\s*(?:measured|checked|tested|counted|surveyed|weighed|recorded|as of|gemessen|geprüft|"
    r"gezählt|gewogen|vermessen|ermittelt|abgelesen|stand)\b(?=\D{0,40}\d)[^,;!?\n]{0,80}?"
    r"(?=[.!?]?$|[,;!?])",
    re.I,
)
"""When the value that it follows was found: ", measured on 3 May"."""
_SUBJECTS: Final = frozenset("i we me us ich wir mich mir uns".split())
_SELF: Final = _SUBJECTS.union(
    "my mine our ours mein meine meinen meinem meiner unser unsere".split()
)
_ROOT: Final = 5
"""Letters that two words of one root have in common at least."""
_LEAD: Final = re.compile(
    r"^(?:(?:(?:sorry|oops|no|no wait|wait|actually|correction|scratch that|my mistake|i made a "
    r"mistake|i got (?:that|it) wrong|(?:i was|we were) wrong(?! about)|nein|moment|"
    r"entschuldigung|korrektur|ich habe mich (?:geirrt|vertan)|"
    r"anders als (?:ich|wir) (?:\w+ )?(?:sagten?|gesagt habe))"
    r"(?:[,;:.!…–—]+\s*|\s+[–-]\s+)|"
    r"(?:no wait|wait|sorry|actually|i meant?(?: to say)?(?: that)?|make that|ich meinte|"
    r"(?:i was|we were) wrong about)\s+))+",
    re.I,
)
_OVER: Final = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\bno longer (?P<old>.+?){_END}",
        rf"\b(?:(?:do|does|is|are)n['’]?t|(?:do|does|am|is|are) not|not) "
        rf"(?P<old>{_WITHIN}),? any ?more\b",
        rf"\bnicht mehr (?P<old>.+?){_END}",
    )
)
"""`old`: what is over. What stands before is its subject."""
_OPEN: Final = re.compile(
    r"^(?:if|unless|wenn|falls)\b|\b(?:might|maybe|perhaps|would|could|should|vielleicht|"
    r"w(?:ü|ue)rden?|k(?:ö|oe)nnten?|sollten?)\b|['’]d\b",
    re.I,
)
"""Nobody knows yet, or it is not so."""
_COPULAS: Final = frozenset("is are was were 's ist sind war waren".split())
_TO: Final = frozenset(("to", "nach"))
_ASIDE: Final = _TO.union("a at from in per aus im pro".split())
"""Before what is told besides and does not say which one is meant ("in Munich", "a month")."""
_NAMELESS: Final = re.compile(
    r"(?:(?:it|that|es|das)(?:['’]?s| is| was| ist| war)?(?: |$))?"
    r"(?:(?:a|an|the|at|by|from|in|of|on|until|ab|am|bis|das|dem|den|der|die|im|um)(?: |$))*",
    re.I,
)
"""All that stands before a value that names no subject."""
_WENT: Final = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"^(?P<subject>.+?) (?:(?:has|have|had|was|were|is|are|been|got|just|now) )*(?:moved|"
        r"postponed|rescheduled|changed|shifted|pushed|brought forward|upgraded|updated|bumped|"
        r"downgraded|switched|migrated)(?: back)? (?:to|until) "
        r"(?P<value>.+)",
        r"^(?P<subject>.+?) (?:is|are|costs?|starts?|takes place) now (?P<value>.+)",
        r"^(?P<subject>.+?) now (?:is|costs?|starts?|takes place) (?P<value>.+)",
        r"^from now on,? (?P<subject>.+?) (?:is|are|costs?|starts?|takes place) (?P<value>.+)",
        r"^(?P<subject>.+?) (?:wurde|wird|ist) (?P<value>.+?) (?:verschoben|verlegt)\b",
        r"^ab jetzt (?:ist|sind|kostet|beginnt) (?P<subject>.+?) (?P<value>(?:am|um|bei)\b.+)",
    )
)
_ANY_DAY: Final = date(2000, 1, 1)
"""From which both of two dates without a year are seen."""


class Correction(NamedTuple):
    """What the older text says besides ("" for nothing), `…` where the wrong value stood; does the
    later one name its `subject`, and say that the other was `wrong`?"""

    rest: str
    subject: bool = True
    wrong: bool = False


def corrects(new: str, old: str, *, together: bool = False) -> Correction | None:
    """How a sentence replaces a clause of an older text, None where it does not. `together`: they
    are of one conversation, in which "it" may be what the other speaks of."""
    if len(new) > LONGEST or len(old) > MANY:
        return None
    new, old = _LEAD.sub("", personal.bare(new).strip()), old.strip()
    if new.endswith("?") or _OPEN.search(new):
        return None
    language = detect(f"{new} {personal.bare(old)}")
    found: list[Correction] = []
    for span in claims.sentence_spans(old):
        if _ends(_Pair(new, personal.bare(old[slice(*span)]), language)):
            found.append(Correction(_without(old, span)))
        else:
            found += [
                Correction(_left(old, span, swap, language), swap.subject, wrong=True)
                for swap in _swaps(new, old, span, language)
                if swap.subject or together
            ]
    return found[0] if len(found) == 1 else None


def denied(text: str) -> list[tuple[int, int]]:
    """[start, end) of every value that a text says is not so; of a longer text than `MANY`
    none."""
    if len(text) > MANY:
        return []
    return [found.span("old") for shape in (*_SHAPES, *_OVER) for found in shape.finditer(text)]


def beyond(new: str, old: str) -> str:
    """What an older sentence says beyond a value that a text says is not so, `…` for the value; ""
    where it has none, or little is left."""
    wrong = {fold(one) for start, end in denied(new) for one in claims.content(new[start:end])}
    words = [one for one in re.finditer(r"\w+", old) if fold(one[0]) in wrong]
    rest = re.sub(r"\w+", lambda one: "…" if fold(one[0]) in wrong else one[0], old)
    left = claims.content(rest) | claims.numbers(rest)
    once = len(words) == len({fold(one[0]) for one in words})  # "York" is part of another name
    return (
        rest
        if words and once and len(left - claims.content(new) - claims.numbers(new)) >= _MORE
        else ""
    )


def takes_back(sentence: str) -> bool:
    """Does it begin by taking back what was said just before ("no wait wrong, wednesday")?"""
    return bool(_LEAD.match(personal.bare(sentence).strip()))


def _ends(pair: _Pair) -> bool:
    went = (found for pattern in _WENT if (found := pattern.search(pair.new)))
    if any(_own(one["subject"]) <= _own(pair.old) and _went(pair, one) for one in went):
        return True
    return _own(pair.new) == _own(pair.old) and any(
        _is_over(pair, found) for pattern in _OVER if (found := pattern.search(pair.new))
    )


class _Pair(NamedTuple):
    new: str
    old: str
    language: str

    def words(self, text: str) -> set[str]:
        return stems(text, self.language) | claims.numbers(text)

    def lead(self, subject: set[str]) -> set[str]:
        """What stands before its subject and says whose it is: "biology" of the biology exam."""
        found: set[str] = set()
        for stem in ordered(self.old, self.language):
            if _is_one_of(stem, subject):
                break
            found.add(stem)
        return found - DAYS


def _is_over(pair: _Pair, found: re.Match[str]) -> bool:
    known, said, over = pair.words(pair.old), pair.words(pair.new), pair.words(found["old"])
    subject = pair.words(pair.new[: found.start()])
    if not over or not over <= known or not pair.lead(over | subject) <= said:
        return False
    return subject <= known and (over == known or len(over) > 1 or bool((known & said) - over))


def _went(pair: _Pair, found: re.Match[str]) -> bool:
    subject = stems(found["subject"], pair.language) - DAYS
    known, said = (stems(text, pair.language) for text in (pair.old, pair.new))
    before, after = _values(pair.old), _values(found["value"])
    if (
        not subject
        or not all(_is_one_of(stem, known) for stem in subject)
        or not pair.lead(subject) <= said
    ):
        return False
    beside = {stem for stem in known if not _is_one_of(stem, said)} - DAYS
    return before[0] == after[0] != "" and not before[1] & after[1] and len(beside) <= 1


def another_value(new: str, old: str) -> bool:
    """Does each give a value of one kind (an hour, a day, a number), and not the same one?"""
    mine, theirs = _by_kind(new), _by_kind(old)
    return any(mine[kind] and theirs[kind] and not mine[kind] & theirs[kind] for kind in mine)


def _values(text: str) -> tuple[str, set[str]]:
    return next(((kind, values) for kind, values in _by_kind(text).items() if values), ("", set()))


def _by_kind(text: str) -> dict[str, set[str]]:
    numbers = claims.numbers(personal.bare(text))
    added = {day.strip(" []") for day in personal.ADDED.findall(text)}
    hours, dates = (
        {one for one in numbers if ":" in one},
        {one for one in numbers if one.count(".") == 2},
    )
    named = {day.isoformat() for _, _, day in days(personal.bare(text), _ANY_DAY)}
    words = (word.removesuffix("s") for word in claims.content(personal.bare(text)))
    of_week = {word for word in words if word in DAYS}
    return {
        "hour": hours,
        "date": dates | named | added,
        "day": of_week,
        "number": numbers - hours - dates,
    }


def _own(text: str) -> bool:
    return not _SELF.isdisjoint(word.lower() for word in claims.tokens(text))


@dataclass(frozen=True)
class _Word:
    start: int
    end: int
    text: str
    stems: frozenset[str]
    """None of what says nothing by itself."""
    figures: frozenset[str]

    @property
    def added(self) -> bool:
        return self.text.startswith("[")

    @property
    def value(self) -> bool:
        """A number, or a day or month by name."""
        return bool(self.figures) or self.dated

    @property
    def dated(self) -> bool:
        return not DAYS.isdisjoint(self.stems)

    @property
    def idle(self) -> bool:
        return not self.stems and not self.value

    def among(self, others: Sequence[_Word]) -> bool:
        return any(
            bool(self.figures & other.figures)
            or any(_is_one_of(stem, other.stems) for stem in self.stems)
            for other in others
        )


@dataclass(frozen=True)
class _Swap:
    """`cut`: [start, end) of the wrong value in the old text, with what belongs to it; `subject`:
    is named of what it is; `said`: the words of the sentence."""

    cut: tuple[int, int]
    subject: bool
    said: tuple[_Word, ...]


def _swaps(new: str, old: str, sentence: tuple[int, int], language: str) -> Iterator[_Swap]:
    """How a sentence puts another value into clauses of one of an older text."""
    cues = [found for shape in _SHAPES for found in shape.finditer(new)]
    for clause in _clauses(old, *sentence) if cues else ():
        known = [one for one in _words(old, language, *clause) if not one.added]
        found = (_swap(new, one, old, known, language) for one in cues)
        yield from islice((one for one in found if one), 1)


def right(sentence: str) -> str:
    """A sentence without the wrong value at its end ("in February, not January")."""
    found = _LAST.search(sentence)
    return sentence[: found.start()] if found else sentence


def _clauses(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """[start, end) of each of a sentence; a word or two are part of the next, or of the last."""
    begin = first
    for joint in _JOINT.finditer(text, first, last):
        parts = text[begin : joint.start()].split(), text[joint.end() : last].split()
        if all(len(one) >= _FEWEST for one in parts):
            yield begin, joint.start()
            begin = joint.end()
    yield begin, last


def _swap(
    new: str, found: re.Match[str], old: str, known: Sequence[_Word], language: str
) -> _Swap | None:
    before = _words(new, language, 0, found.start())
    wrong = _words(new, language, *found.span("old"))
    if "new" in found.re.groupindex:
        right = _words(new, language, *found.span("new"))
        aside, wrong = _parted(wrong, right)
        subject = [*before, *aside]
    else:
        at = _begins(before, wrong, known)
        subject, right = before[:at], before[at:]
    if not _alike(right, wrong):
        return None
    places = list(_windows(wrong, known))
    names = [one for one in subject if not one.idle]
    behind = [one for one in _words(new, language, found.end(), len(new)) if not one.idle]
    if len(places) != 1 or not all(one.among(known) for one in (*names, *behind)):
        return None
    first, last = places[0]
    said = tuple(_words(new, language, 0, len(new)))
    telling = len(names) > claims.points(new[: found.start()])
    if not telling:
        if not _is_nameless(subject, right, wrong):
            return None
    else:
        stated = [*subject, *_in_front(right)]
        if not _same_speaker(said, known) or not _no_other(known, (first, last), stated, said):
            return None
        joints = _idle_before(known, first), {
            *_idle_before([*subject, *right], len(subject)), *_texts(_in_front(right)),
            *_texts(_in_front(wrong)),
        }  # fmt: skip
        if all(joints) and joints[0].isdisjoint(joints[1]):
            return None
    return _Swap(_whole(old, known, first, last), telling, said)


def _is_nameless(subject: Sequence[_Word], right: Sequence[_Word], wrong: Sequence[_Word]) -> bool:
    """Is it a value and nothing else ("the 14th"), or what "it" is?"""
    before = " ".join(one.text for one in (*subject, *_in_front(right)))
    telling, others = ([one for one in some if not one.idle] for some in (right, wrong))
    alone = any(one.value for one in telling) or len(telling) == len(others)
    return alone and bool(_NAMELESS.fullmatch(before))


def _no_other(
    known: Sequence[_Word],
    place: tuple[int, int],
    stated: Sequence[_Word],
    said: Sequence[_Word],
) -> bool:
    """Does a clause name nothing that tells its subject from the one which is `stated`? What is not
    `said` may only be told besides: a place or a day after the value, or where somebody goes."""
    names = [one for one in stated if not one.idle]
    inside = range(*place)
    ends = max(
        (n for n, one in enumerate(known) if n not in inside and one.among(names)), default=0
    )
    is_so = not _COPULAS.isdisjoint(_texts([*stated, *known[: place[0]]]))
    for n, one in enumerate(known):
        if n in inside or one.idle or one.dated or one.among(said):
            continue
        if one.value and n > place[0]:
            continue
        aside = _ASIDE if n > place[0] else frozenset() if is_so else _TO
        if n < ends or aside.isdisjoint(_idle_before(known, n)):
            return False
    return True


def _parted(wrong: Sequence[_Word], right: Sequence[_Word]) -> tuple[list[_Word], list[_Word]]:
    """What is denied: first what is so all the same ("work at Siemens but at Bosch"), then the
    value."""
    joint = right[0].text.casefold() if right and right[0].idle else ""
    at = next((n for n, one in enumerate(wrong) if n and one.text.casefold() == joint), 0)
    if not at and any(one.value for one in wrong):
        at = next(n for n, one in enumerate(wrong) if one.value)
        while at and wrong[at - 1].idle:
            at -= 1
    return list(wrong[:at]), list(wrong[at:])


def _begins(before: Sequence[_Word], wrong: Sequence[_Word], known: Sequence[_Word]) -> int:
    """Where the right value begins that ends before the cue."""
    at = len(before)
    if any(one.value for one in wrong):
        while at and at > len(before) - _UNITS and not before[at - 1].value:
            if before[at - 1].idle or not before[at - 1].among([*known, *wrong]):
                return len(before)
            at -= 1
        while at and (before[at - 1].value or before[at - 1].idle or before[at - 1].added):
            at -= 1
        return at
    while at and not before[at - 1].idle and not before[at - 1].among(known):
        at -= 1
    return at


def _alike(right: Sequence[_Word], wrong: Sequence[_Word]) -> bool:
    """Are both values of one kind, and not the same?"""
    telling, others = ([one for one in some if not one.idle] for some in (right, wrong))
    if not telling or not others or len(telling) > len(others) + 2:
        return False
    values = [any(one.value for one in some) for some in (telling, others)]
    names = [any(one.text[:1].isupper() for one in some) for some in (telling, others)]
    different = not all(one.among(others) for one in telling)
    return values[0] == values[1] and (values[0] or names[0] == names[1]) and different


def _windows(wrong: Sequence[_Word], known: Sequence[_Word]) -> Iterator[tuple[int, int]]:
    """[first, last) of the shortest stretches that have all of a value."""
    wanted = [one for one in wrong if not one.idle]
    ends = -1
    for first, word in enumerate(known):
        if not word.among(wanted):
            continue
        for last in range(first + 1, min(len(known), first + len(wanted) + 2) + 1):
            if all(one.among(known[first:last]) for one in wanted):
                if last > ends:
                    yield first, last
                    ends = last
                break


def _whole(old: str, known: Sequence[_Word], first: int, last: int) -> tuple[int, int]:
    """The value with the rest of its date, the day set beside it, and the small words before."""
    while last < len(known) and (known[last].dated or known[last].text == "of"):
        last += 1
    if any(one.dated for one in known[first:last]):
        while first and _is_date(known[first - 1]):
            first -= 1
        while last < len(known) and _is_date(known[last]):
            last += 1
    while first and known[first - 1].idle:
        first -= 1
    end = known[last - 1].end
    return known[first].start, _beside(old, end) or end


def _is_date(word: _Word) -> bool:
    return word.dated or bool(_DATED.fullmatch(word.text))


def _beside(old: str, end: int) -> int:
    found = _BESIDE.match(old, end)
    return found.end() if found else 0


def _same_speaker(said: Sequence[_Word], known: Sequence[_Word]) -> bool:
    mine, theirs = _texts(said), _texts(known)
    if mine & _SELF:
        return bool(theirs & _SELF)
    return theirs.isdisjoint(_SUBJECTS)


def _idle_before(words: Sequence[_Word], at: int) -> set[str]:
    found = set()
    while at and words[at - 1].idle:
        at -= 1
        found.add(words[at].text.casefold())
    return found


def _in_front(words: Sequence[_Word]) -> Sequence[_Word]:
    """Those before the first that tells something."""
    return words[: next((n for n, one in enumerate(words) if not one.idle), 0)]


def _texts(words: Sequence[_Word]) -> set[str]:
    return {one.text.casefold() for one in words}


def _is_one_of(stem: str, others: frozenset[str] | set[str]) -> bool:
    """Is a stem, or what it is derived from or into ("deliver", "deliveri"), among others?"""
    return stem in others or any(
        min(len(stem), len(other)) >= _ROOT and (stem.startswith(other) or other.startswith(stem))
        for other in others
    )


def _without(text: str, span: tuple[int, int]) -> str:
    """A text without one of its sentences."""
    return f"{text[: span[0]].rstrip()} {text[span[1] :].lstrip()}".strip()


def _left(old: str, sentence: tuple[int, int], swap: _Swap, language: str) -> str:
    """What an older text still says, `…` for the wrong value: without the sentence where nothing
    telling of it is left."""
    (begins, ends), (start, end) = sentence, swap.cut
    if apposed := _APPOSED.match(old, end, ends):
        end = apposed.end()
    beyond = [
        one
        for one in _words(f"{old[begins:start]} {old[end:ends]}", language)
        if not (one.idle or one.added or one.among(swap.said))
    ]
    telling = any(one.value or one.text[:1].isupper() for one in beyond)
    if swap.subject and not telling and len(beyond) < _ALONE:
        return _without(old, sentence)
    before, after = old[:start].rstrip(), old[end:].strip()
    return f"{before} … {after}".strip() if after.strip(".!") else f"{before} …"


def _words(text: str, language: str, start: int = 0, end: int | None = None) -> list[_Word]:
    found = []
    for one in _WORD.finditer(text, start, len(text) if end is None else end):
        word = one[0].strip(_SIGNS)
        at = one.start() + one[0].find(word)
        if word:
            day = fold(word).removesuffix("s")
            stems = [day] if day in DAYS else ordered(word, language)  # "May" is a month here
            found.append(_Word(at, at + len(word), word, frozenset(stems), _figures(word)))
    return found


def _figures(word: str) -> frozenset[str]:
    """A number as it can be read, without the parts of an hour or a fraction."""
    found = figures(word)
    longest = max((sum(map(str.isdigit, one)) for one in found), default=0)
    parts = re.search(r"\d[.,:]\d", word)
    return frozenset(one for one in found if not parts or sum(map(str.isdigit, one)) == longest)
