"""Does a text describe the world, or tell a model who it is and what to do? The rules of the gate before everything that is always loaded.

Orientation is context, never a persona: no line that a machine wrote there speaks to its reader, gives it a name, a character or a feeling,
or commands it. What a person wants is said of the person ("Maya prefers short answers"). The rules rather stop a harmless line than let
such a one pass: what is stopped was only not written, and can be said in the third person. What is implied in ways that `oblique` does not
know is left to the judge, who is asked whether a text only describes. Nothing here decides what a person writes.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from oneiro_vault.core import prescriptions as english
from oneiro_vault.core import tongues
from oneiro_vault.core.abroad import ABROAD
from oneiro_vault.core.answerer import ANSWERER, every
from oneiro_vault.core.oblique import OBLIQUE
from oneiro_vault.core.privileges import PRIVILEGE
from oneiro_vault.core.quoting import escape
from oneiro_vault.core.scene import staged

LONGEST_TITLE: Final = 120
"""Characters of a block's title."""
SHORTENED: Final = 60
"""Characters of the words that a reason quotes."""

_CLAUSES: Final = re.compile(r"\n+|[.!?…]+[\"'”’)\]]*(?=\s|$)|[;:](?=\s|$)|,\s+(?:so|thus|hence|therefore)\s|\s[–—-]+\s")
_SPELLED: Final = re.compile(r"(?:(?<![^\W\d_])[^\W\d_][-_.\s]+){4,}[^\W\d_](?![^\W\d_])")
_ENCODED: Final = re.compile(r"[A-Za-z0-9+]{24,}={0,2}|(?:%[0-9a-fA-F]{2}){3,}|(?:\\[xu][0-9a-fA-F]{2,4}){3,}|%3[cCeE]|\\[xu]0*3[cCeE]")
_TWO_SCRIPTS: Final = re.compile(
    "[A-Za-z\u00c0-\u024f][\u0370-\u03a8\u03aa-\u03bb\u03bd-\u03ff\u0400-\u052f]|[\u0370-\u03a8\u03aa-\u03bb\u03bd-\u03ff\u0400-\u052f][A-Za-z\u00c0-\u024f]"
)
_DIGITS_IN_WORDS: Final = re.compile(r"(?<![\w@$])(?=[\w@$]*[a-zA-Z])(?=[\w@$]*[013457@$])[\w@$]+")
_LETTERS: Final = str.maketrans("013457@$", "oleastas")
_MARKS: Final = " \t-*+•>#\"'“‘«(["
"""What may stand before a sentence and is none of its words."""
_WINDOW: Final = 400
"""Characters within which the signs of one clause are looked for."""
_HARMLESS: Final = "\u200c\u200d\ufe0e\ufe0f\n\t"


def objection(title: str, description: str, body: str, limit: int) -> str:
    """Why these words may not become an orientation block of at most `limit` characters; "" when they may."""
    if not title.strip() or not body.strip():
        return "a block has a title and a text"
    if len(title) > LONGEST_TITLE or "\n" in title.strip():
        return f"the title has more than {LONGEST_TITLE} characters or lines"
    if len(body.strip()) > limit:
        return f"the text has {len(body.strip()):,} characters; a block has at most {limit:,}"
    return prescribes(body) or prescribes(title) or (prescribes(description) if description.strip() else "")


@lru_cache(maxsize=1024)  # a night asks it of every block several times
def prescribes(text: str) -> str:
    """Why this text does more than describe; "" when it does not. Not an error to call with anything."""
    if why := _hidden(text):
        return why
    plain = _plain(text)
    for version in dict.fromkeys((plain, _DIGITS_IN_WORDS.sub(lambda found: found[0].translate(_LETTERS), plain))):
        for why, words in _found(version):
            return f"{why}: {' '.join(words.split())[:SHORTENED]!r}"
    return ""


def _hidden(text: str) -> str:
    """What could hide words from these rules."""
    if any(unicodedata.category(one) in ("Cc", "Cf", "Cs", "Co") and one not in _HARMLESS for one in text):
        return "it holds invisible characters"
    plain = unicodedata.normalize("NFKC", text)
    if _TWO_SCRIPTS.search(plain):
        return "a word mixes the letters of two scripts"
    if _SPELLED.search(plain):
        return "it spells words letter by letter"
    if escape(html.unescape(plain)) != html.unescape(plain):
        return "it imitates what frames a model's input"
    if any(_coded(found[0]) for found in _ENCODED.finditer(plain)):
        return "it holds encoded text"
    return ""


def _coded(run: str) -> bool:
    """Base64 and escapes; the hash of a commit or a file is none."""
    return run[0] in "%\\" or (
        any(c.isupper() for c in run) and any(c.islower() for c in run) and any(c.isdigit() or c in "=+" for c in run)
    )


def _plain(text: str) -> str:
    """As a reader sees it: entities as characters, one form of each letter, no emphasis."""
    plain = unicodedata.normalize("NFKC", html.unescape(text))
    return re.sub(r"[*~`\u200c\u200d]+", "", plain).replace("_", " ")


def _found(plain: str) -> Iterator[tuple[str, str]]:
    """(reason, the words) of everything that is wrong."""
    yield from _matches(english.ANYWHERE, plain)
    told = english.SAID.sub(r"\1 …", plain)
    yield from _matches(english.SPOKEN, told)
    yield from _matches(tongues.ANYWHERE, told)
    for line in told.splitlines():
        if found := english.HEADED.match(line):
            yield "it writes a role for its reader", found[0]
    for clause in _CLAUSES.split(told):
        start = _bare(clause)
        for why, rule in _AT_START:
            if found := rule(start):
                yield why, start
    if found := english.AFTER_COMMA.search(told):
        yield "it commands", found[0]
    for clause in _CLAUSES.split(english.SAID.sub(r"\1 so", plain)):
        for said in _windows(clause.strip(_MARKS)):
            for why in (*(every(said, table) for table in (ANSWERER, PRIVILEGE, ABROAD)), staged(said)):
                if why:
                    yield why, said


def _windows(clause: str) -> Iterator[str]:
    """A clause, or pieces of one that never ends: signs that stand together stay together, and no text takes time by its square."""
    yield clause[:_WINDOW]
    for start in range(_WINDOW // 2, len(clause) - _WINDOW // 2, _WINDOW // 2):
        yield clause[start : start + _WINDOW]


_AT_START: Final[tuple[tuple[str, Callable[[str], re.Match[str] | None]], ...]] = (
    ("it commands", english.COMMAND.match),
    ("it commands", english.ON_SOMETHING.match),
    ("it commands", tongues.COMMAND.match),
    ("it commands", english.OF_REPLIES.match),
    ("it commands", english.FRAGMENT.match),
    ("it commands", english.NEEDFUL.match),
    ("it implies a command", OBLIQUE.search),
)


def _matches(rules: english.Rules, text: str) -> Iterator[tuple[str, str]]:
    for why, rule in rules:
        if found := rule.search(text):
            yield why, found[0]


def _bare(clause: str) -> str:
    """A clause without what leads up to it: list marks, "and", "when he asks,"."""
    for lead in (english.LEAD, english.CONDITION, english.LEAD):
        if found := lead.match(clause):
            clause = clause[found.end() :]
    return clause.strip()
