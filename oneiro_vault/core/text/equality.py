"""Are two texts the same words, written differently? For whoever must decide without a model, and
would rather not know than be wrong.

Every character counts, but for a closed list of ways to write one thing: how wide a space is, the
marks of a list, bold type, quotation marks, the full stop at the end; and in plain English the
first letter of a sentence, contractions, and the spelling of small numbers, dates, times and units.
Whatever is not on the list may mean something, and is a difference; what may be code is compared as
it stands.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from typing import Final

from oneiro_vault.core.text.claims import PERSONS, POINTING
from oneiro_vault.core.text.query import analyse, tokens
from oneiro_vault.core.time.date_ranges import MONTHS, NAMED

_QUOTES: Final = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "\u202f": " "}
)
_MARK: Final = re.compile(r"[-*•] (?=[^\W\d_])")
_BOLD: Final = re.compile(r"^\*\*(?=\w)([^*]+ [^*]+)(?<=[\w.])\*\*$")
_MINUS: Final = re.compile(r"(?<![\w)])\u2212(?=\d)")
_VERBATIM: Final = re.compile(r"[`\\<>{}=~]|__|://|%\w|^[#+]|^(?: {4}|\t)|^[ \t]*\|", re.MULTILINE)
"""Where a sign, a space or a line's end may mean something."""
_SAID: Final = re.compile(r"[\"'](?!\w)|(?<!\w)[\"']")
"""What stands between quotation marks was said in just these letters."""
_GAP: Final = re.compile(r"(?<=\S) {2,}(?=\S)")
_ENDS: Final = re.compile(r"(?<=[^\W\d_]{3}[.?!])\s+(?=[A-ZÀ-Þ])|\n+")
_STOP: Final = re.compile(r"(?<=[\w)\"'%])\.$")
_NOTE: Final = re.compile(r"^(?:FYI|Note): (?=[^\W\d_])")

_ENGLISH: Final = frozenset(
    """
    the with from that every which does did were and lives works uses prefers likes dislikes loves
    hates avoids needs speaks writes owns
    leads manages maintains runs costs starts ends begins opens closes keeps plays reads drinks eats
    takes ships isn't doesn't don't can't
    won't aren't wasn't hasn't haven't cannot
    """.split()
)
_SHARED: Final = frozenset("is are was has have of for at by to not on in an it".split())
"""Words of English that others have too: two of them tell."""
_FOREIGN: Final = frozenset(
    """
    de het een van en ik zijn niet naar voor der die das und ist ein eine nicht mit von zu im auf le
    la les un une des et est du dans pour
    que el los las y es una con por para del il lo gli di che non sono della o os em na uma com den
    det och att som af til med ikke og jeg
    ze se nie jest w z i ve bir da
    """.split()
)
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_FIRST: Final = re.compile(r"^[A-Z](?=[a-z]+(?: \S+){3})")
"""A word that stands alone may be a name."""

_MONTH: Final = rf"({'|'.join(MONTHS)})"
_YEAR: Final = r"((?:19|20)\d\d)"
_CLOSED: Final = r"(?=$|[.;:)]| (?:and|at|by|for|from|in|on|until|with)\b)"
_ON: Final = "|".join(
    rf"(?<=\b{word} )"
    for word in "on On by By of is was since Since until from before after".split()
)
_DAY_FIRST: Final = re.compile(rf"(?:{_ON})(\d\d?) {_MONTH},? {_YEAR}{_CLOSED}")
_MONTH_FIRST: Final = re.compile(rf"(?:{_ON}){_MONTH} (\d\d?)(?:st|nd|rd|th)?,? {_YEAR}{_CLOSED}")
_CLOCK: Final = re.compile(
    r"(?<=\b(?:at|by) )(\d\d?)(?::(\d\d))? ?(am|pm|AM|PM|a\.m\.|p\.m\.)(?![\w.])"
)
_THOUSANDS: Final = re.compile(
    r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?= (?:euros|dollars|pounds|crowns|people|inhabitants|members|"
    r"users|words|lines|pages|metres|meters|kilometres|kilometers|miles|kg|km)\b)|"
    r"(?<=[$€£])\d{1,3}(?:,\d{3})+(?![\w,.])"
)
"""Where a comma cannot stand between two numbers."""
_PERCENT: Final = re.compile(r"(?<=\d) (?:percent|per cent)\b")
_UNIT: Final = re.compile(
    r"(?<![\w.,-])(\d+(?:\.\d+)?)(?=(?:kB|MB|GB|TB|ms|km|kg|cm|mm|GHz|MHz)(?![\w/]))"
)
_SMALL: Final = {
    word: str(n)
    for n, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve".split(), 2
    )
}
_COUNT: Final = re.compile(
    rf"(?<=[a-z] )(?<!called )(?<!named )({'|'.join(_SMALL)})(?= [a-z]{{2,}}s\b(?<! has)(?<! "
    rf"was)(?<! is))"
)
_WRITTEN: Final = (
    (re.compile(r"\b([Cc])an't(?= [a-z])"), r"\1annot"),
    (re.compile(r"\b([Ww])on't(?= [a-z])"), r"\1ill not"),
    (
        re.compile(
            r"\b(do|does|did|is|are|was|were|has|have|had|would|should|could|must)n't(?= [a-z])",
            re.IGNORECASE,
        ),
        r"\1 not",
    ),
    (re.compile(r"\b(we|you|they)'re(?= [a-z])", re.IGNORECASE), r"\1 are"),
    (re.compile(r"\b(I|we|you|they)'ve(?= [a-z])", re.IGNORECASE), r"\1 have"),
    (re.compile(r"\b(I|we|you|they|he|she|it)'ll(?= [a-z])", re.IGNORECASE), r"\1 will"),
    (re.compile(r"\bI'm(?= [a-z])"), "I am"),
)

_SUBJECT: Final = re.compile(r"((?:[A-ZÀ-Þ][^\W_]+[ -]){1,3})([a-z]+)\b")
_NOBODY: Final = frozenset(
    """
    i he she it we you they this that these those here there someone somebody anyone anybody
    everyone everybody nobody one both another
    other others each every all any some many most few what who whoever the a an my your his her its
    our their and but when if
    """.split()
)
_PERSONS: Final = (
    PERSONS
    | POINTING
    | frozenset(
        """
            myself ourselves yourself yourselves himself herself itself themselves here
            former latter
        """.split()
    )
)
_MOVING: Final = NAMED.union(
    """
    now today tonight tomorrow yesterday currently recently lately soon later earlier early late ago
    again already still yet just before
    after since until till next last first final new newest latest current present past former
    previous old older upcoming coming nowadays
    once then when while during weekend
    weekday week weeks month months year years
    quarter day days hour hours minute minutes second seconds morning afternoon evening night noon
    midnight spring summer autumn fall winter
    season christmas easter birthday anniversary
    holiday holidays vacation age aged started stopped became becomes becoming going getting
    temporarily meanwhile anymore longer
    """.split()
)
"""What may be another time on another day."""
_LASTING: Final = frozenset(
    """
    lives works uses prefers likes dislikes loves hates avoids needs speaks writes owns leads
    manages maintains runs keeps called named
    allergic vegetarian vegan born
    """.split()
)
"""Said again on another day, it is said of the same."""


def same(one: str, other: str) -> bool:
    """Is each the other, but for how it is written?"""
    if not one.strip() or not other.strip():
        return False
    if _VERBATIM.search(one) or _VERBATIM.search(other):
        return one.strip() == other.strip()
    plain = (
        english(one) and english(other) and not _SAID.search(f"{one}\n{other}".translate(_QUOTES))
    )
    return _spelled(one, plain) == _spelled(other, plain)


def timeless(text: str) -> bool:
    """Does every sentence say something lasting, by itself? Only English can be told."""
    return english(text) and all(
        not _MOVING & (low := {word.lower() for word in _WORD.findall(sentence)})
        and bool(_LASTING & low)
        for sentence in _spelled(text, plain=False)
    )


def alone(text: str) -> bool:
    """Does every sentence name whom it speaks of ("Ana lives", not "I", "she", "the client")? Only
    English can be told."""
    return english(text) and all(_named(sentence) for sentence in _spelled(text, plain=False))


def _named(sentence: str) -> bool:
    found = _SUBJECT.match(sentence)
    if (
        found is None
        or found[2] not in _LASTING | {"is"}
        or not _PERSONS.isdisjoint(word.lower() for word in _WORD.findall(sentence))
    ):
        return False
    return _NOBODY.isdisjoint(word.lower() for word in found[1].split())


def english(text: str) -> bool:
    """Is it beyond doubt plain English?"""
    words = _WORD.findall(text.translate(_QUOTES))
    small = [word.lower() for n, word in enumerate(words) if n == 0 or word[0].islower()]
    if any(word in _FOREIGN or not word.isascii() for word in small):
        return False
    return any(word in _ENGLISH for word in small) or sum(word in _SHARED for word in small) >= 2


def _spelled(text: str, plain: bool) -> list[str]:
    """`plain` for English, in which more can be told apart."""
    lines = [
        _GAP.sub(" ", line.rstrip())
        for line in unicodedata.normalize("NFC", text).translate(_QUOTES).strip().splitlines()
        if line.strip()
    ]
    if all(_MARK.match(line) for line in lines):
        lines = [_MARK.sub("", line, count=1) for line in lines]
    found = []
    for part in _ENDS.split("\n".join(lines)):
        sentence = _STOP.sub("", _BOLD.sub(r"\1", _MINUS.sub("-", part)))
        if sentence:
            found.append(_english(sentence) if plain else sentence)
    return found


def _english(sentence: str) -> str:
    sentence = _NOTE.sub("", sentence)
    for written, meant in _WRITTEN:
        sentence = written.sub(meant, sentence)
    sentence = _DAY_FIRST.sub(lambda m: _iso(m[3], m[2], m[1]), sentence)
    sentence = _MONTH_FIRST.sub(lambda m: _iso(m[3], m[1], m[2]), sentence)
    sentence = _CLOCK.sub(_hour, sentence)
    sentence = _THOUSANDS.sub(lambda m: m[0].replace(",", ""), sentence)
    sentence = _UNIT.sub(r"\1 ", _PERCENT.sub("%", sentence))
    sentence = _COUNT.sub(lambda m: _SMALL[m[0]], sentence)
    return _FIRST.sub(lambda m: m[0].lower(), sentence)


def _iso(year: str, month: str, day: str) -> str:
    return f"{year}-{MONTHS.index(month) + 1:02}-{int(day):02}"


def _hour(found: re.Match[str]) -> str:
    hour = int(found[1])
    if not 1 <= hour <= 12:
        return found[0]
    return f"{hour % 12 + (12 if found[3][0] in 'pP' else 0):02}:{found[2] or '00'}"


_NOT_WORDS: Final = frozenset(
    "no not never none nobody nothing without cannot can't won't isn't don't".split()
)


def says_all(new: str, old: str, words: Collection[str], share: float) -> bool:
    """`words` are the content words of `new`.

    All of them must stand in the old text, the overlap must reach `share`, and numbers and
    negations must be the same: "at 3" and "at 4" are two memories.
    """
    wanted, theirs = set(words), set(analyse(old).words)
    overlap = len(wanted & theirs) / len(wanted | theirs)
    return wanted <= theirs and overlap >= share and _exact(new) == _exact(old)


def _exact(text: str) -> list[str]:
    return [
        word
        for word in tokens(text)
        if word in _NOT_WORDS or any(letter.isdigit() for letter in word)
    ]
