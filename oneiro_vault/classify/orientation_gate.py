"""Does a text describe the world, or tell a model who it is and what to do? The gate before
everything that is always loaded. And which lines pass it without anybody who understands them
(`allowlist.toml`).

Orientation is context, never a persona: no line that a machine wrote there speaks to its reader,
gives it a name, a character or a feeling, or commands it. What a person wants is said of the person
("Maya prefers short answers"). Every sentence is judged by itself, by a trained classifier; what
could hide words from it is stopped first. It rather stops a harmless line than let such a one pass:
what is stopped was only not written, and can be said otherwise. Nothing here decides what a person
writes.

Without a judge only a few closed shapes about somebody with a name stand there: `Name verb object`,
one verb a sentence, nobody else who does anything, and no word that belongs to whoever answers, to
what may be done, or to how anything is said. What fits no shape waits for a judge.
"""

from __future__ import annotations

import html
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final, NamedTuple

from oneiro_vault.classify.classifier import probabilities
from oneiro_vault.core.markdown.quoting import escape
from oneiro_vault.core.text.claims import split_sentences, tokens

LONGEST_TITLE: Final = 120
"""Characters of a block's title."""
SURE: Final = 0.62
"""Probability from which a sentence is stopped. On 320 lines in seven languages by a hand that was
never learned: recall .93 and false refusals .05 (.93 and .08 at .5). On 1,890 lines held out of the
training, most of them written to be hard: .85 and .11 at .6, .78 and .08 at .7."""
SHORTENED: Final = 60
"""Characters of the words that a reason quotes."""
WINDOW: Final = 400
"""Characters of one piece that is judged: a sentence that never ends is judged in several, which
overlap."""

_CLAUSES: Final = re.compile(r";\s+|\s[–—-]+\s")
_MARKS: Final = re.compile(r"^[\s>#*+•|-]+(?=\S)|^\s*\d{1,3}[.)]\s+")
_SPELLED: Final = re.compile(r"(?:(?<![^\W\d_])[^\W\d_][-_.\s]+){4,}[^\W\d_](?![^\W\d_])")
_ENCODED: Final = re.compile(
    r"[A-Za-z0-9+]{24,}={0,2}|(?:%[0-9a-fA-F]{2}){3,}|(?:\\[xu][0-9a-fA-F]{2,4}){3,}|%3[cCeE]|"
    r"\\[xu]0*3[cCeE]"
)
_TWO_SCRIPTS: Final = re.compile(
    "[A-Za-z\u00c0-\u024f][\u0370-\u03a8\u03aa-\u03bb\u03bd-\u03ff\u0400-\u052f]|"
    "[\u0370-\u03a8\u03aa-\u03bb\u03bd-\u03ff\u0400-\u052f][A-Za-z\u00c0-\u024f]"
)
_FRAMES: Final = re.compile(
    r"<\|?/?\s*(?:system|im[_ ]\w+|user|assistant|human|instructions?)\b|\[/?inst\]|<</?sys>>|"
    r"<!--|\b(?:memory|orientation|dream)://|\bjavascript:|!\[[^\]]*\]\(\s*\w+:",
    re.IGNORECASE,
)
_DIGITS_IN_WORDS: Final = re.compile(r"(?<![\w@$])(?=[\w@$]*[a-zA-Z])(?=[\w@$]*[013457@$])[\w@$]+")
_LETTERS: Final = str.maketrans("013457@$", "oleastas")
_HARMLESS: Final = "\u200c\u200d\ufe0e\ufe0f\n\t"


def objection(title: str, description: str, body: str, limit: int) -> str:
    """Why these words may not become an orientation block of at most `limit` characters; "" when
    they may."""
    if not title.strip() or not body.strip():
        return "a block has a title and a text"
    if len(title) > LONGEST_TITLE or "\n" in title.strip():
        return f"the title has more than {LONGEST_TITLE} characters or lines"
    if len(body.strip()) > limit:
        return f"the text has {len(body.strip()):,} characters; a block has at most {limit:,}"
    return prescribes("\n".join((body, title, description)))


@lru_cache(maxsize=1024)
def prescribes(text: str) -> str:
    """Why this text does more than describe, with all sentences that do; "" when it does not. Not
    an error to call with anything."""
    if why := hidden(text):
        return why
    plain = _plain(text)
    spelled = {
        one: _DIGITS_IN_WORDS.sub(lambda found: found[0].translate(_LETTERS), one)
        for one in _pieces(plain)
    }
    every = list(dict.fromkeys((*spelled, *spelled.values())))
    likely = dict(zip(every, probabilities("gate", every), strict=True))
    stopped = [one for one, also in spelled.items() if max(likely[one], likely[also]) >= SURE]
    if not stopped:
        return ""
    told = dict.fromkeys(" ".join(one.split())[:SHORTENED] for one in stopped)
    return (
        f"it reads like words to or about a model ({max(likely.values()):.0%}): "
        f"{', '.join(map(repr, told))}"
    )


def hidden(text: str) -> str:
    """What could hide words, or pass for what frames a model's input; "" for a text in plain
    letters."""
    if any(
        unicodedata.category(one) in ("Cc", "Cf", "Cs", "Co") and one not in _HARMLESS
        for one in text
    ):
        return "it holds invisible characters"
    plain = unicodedata.normalize("NFKC", text)
    if _TWO_SCRIPTS.search(plain):
        return "a word mixes the letters of two scripts"
    if _SPELLED.search(plain):
        return "it spells words letter by letter"
    whole = html.unescape(plain)
    if escape(whole) != whole or _FRAMES.search(whole):
        return "it imitates what frames a model's input"
    if any(_coded(found[0]) for found in _ENCODED.finditer(plain)):
        return "it holds encoded text"
    return ""


def _coded(run: str) -> bool:
    """Base64 and escapes; the hash of a commit or a file is none."""
    return run[0] in "%\\" or (
        any(c.isupper() for c in run)
        and any(c.islower() for c in run)
        and any(c.isdigit() or c in "=+" for c in run)
    )


def _plain(text: str) -> str:
    """As a reader sees it: entities as characters, one form of each letter, no emphasis."""
    plain = unicodedata.normalize("NFKC", html.unescape(text))
    return re.sub(r"[*~`\u200c\u200d]+", "", plain).replace("_", " ")


def _pieces(plain: str) -> Iterator[str]:
    """The sentences of a text, cut at semicolons and dashes, without the marks of lists; long ones
    in overlapping pieces, so that a text takes time by its length."""
    for clause in (
        clause for sentence in split_sentences(plain) for clause in _CLAUSES.split(sentence)
    ):
        bare = _MARKS.sub("", clause).strip()
        if any(letter.isalnum() for letter in bare):
            yield bare[:WINDOW]
            for start in range(WINDOW // 2, len(bare) - WINDOW // 2, WINDOW // 2):
                yield bare[start : start + WINDOW]


SENTENCES: Final = 2
"""A block says one thing, or two of the same person."""
LONGEST: Final = 160
"""Characters."""


class _Allowed(NamedTuple):
    shapes: tuple[re.Pattern[str], ...]
    nowhere: re.Pattern[str]
    """Words that no part of a sentence may have."""
    nobody: frozenset[str]
    """Words that begin no name."""


@cache
def _allowed() -> _Allowed:
    """What `allowlist.toml` says."""
    data = tomllib.loads(files(__package__).joinpath("allowlist.toml").read_text("utf-8"))

    def pattern(said: list[str]) -> str:
        whole = "".join(said)
        for part in ("thing", "tongue", "length", "manner", "name", "word"):
            whole = whole.replace(f"{{{part}}}", "".join(data[part]))
        return whole

    who = pattern(["(?P<who>{name}(?: {name}){0,2})"])
    return _Allowed(
        tuple(re.compile(rf"{who} (?:{pattern(shape)})\.") for shape in data["shapes"]),
        re.compile("".join(data["not"]), re.IGNORECASE),
        frozenset(" ".join(data["nobody"]).split()),
    )


def lasts(text: str) -> bool:
    """Only one or two sentences of the closed shapes, about the same somebody."""
    return bool(subject(text))


def subject(text: str) -> str:
    """Of whom such sentences speak; "" when they fit no shape."""
    said = split_sentences(text.strip())
    if not 1 <= len(said) <= SENTENCES or len(text) > LONGEST or "\n" in text.strip():
        return ""
    found = {_subject(sentence) for sentence in said}
    return found.pop() if len(found) == 1 else ""


def title(given: str, text: str) -> str:
    """The given one when all its words are the text's, else who it is about."""
    words = {word.lower() for word in tokens(text)}
    own = bool(given.strip()) and all(word.lower() in words for word in tokens(given.rstrip("….")))
    return given.strip() if own else subject(text)


def _subject(sentence: str) -> str:
    allowed = _allowed()
    for shape in allowed.shapes:
        if found := shape.fullmatch(sentence):
            free = " ".join(value for value in found.groupdict().values() if value)
            who: str = found["who"]
            refused = allowed.nowhere.search(free) or who.split()[0].lower() in allowed.nobody
            return "" if refused else who
    return ""
