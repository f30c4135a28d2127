"""Does a text say the contrary of another? What each denies, in the languages whose words of denial
are listed here.

Only what is beyond doubt is told: the same thing denied in one and stated in the other, not in
other words (`vegetarian` for "does not eat meat").
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Final

from oneiro_vault.core.text.language import STOP_WORDS, detect, stem, stop_words
from oneiro_vault.core.text.query import tokens

_BEFORE: Final = frozenset(
    """
    not no never none nobody nothing neither nor without cannot cant dont doesnt didnt isnt arent
    wasnt werent wont wouldnt shouldnt hasnt
    havent hadnt couldnt aint nope hardly
    """.split()
)
_DENIES: Final = _BEFORE | frozenset(
    """
    nein nicht nich nix kein keine keinen keinem keiner keines nie niemals niemand nichts ohne weder
    pas jamais aucun aucune rien personne sans ni
    nunca jamas ningun ninguna nadie nada tampoco sin
    non nessuno nessuna niente senza
    nao nenhum nenhuma ninguem sem
    niet geen nooit niemand niets zonder
    """.split()
)
_TURNS: Final = frozenset(
    """
    stop stopped stops quit gave given giving cancelled canceled cancel dropped drop avoid avoids
    avoided refuse refuses refused hate hates
    dislike dislikes former formerly instead rather unlike longer anymore ex unable declined
    rejected lost failed fails allergic against
    except only but left abandoned deny denied denies lack lacks lacking free banned forbids
    forbidden prevents rules
    weg mehr statt aufgehort abgesagt gekundigt mag vermeidet enough genug ehemalige fruher plus
    arrete annule
    """.split()
)
"""Next to these nothing is beyond doubt."""
_NO: Final = frozenset("no nope nah nein non".split())
_ANSWER: Final = re.compile(
    rf"(?:^|(?<=[.!?,;:\n—–-]))\s*(?:{'|'.join(_NO)})\b"
    r"(?=\s*[,.;:!–—-]|\s+(?:i|we|you|he|she|it|they|that|this|the|my|our|wait|ich|wir|das|es|er|"
    r"sie|mein\w*)\b)",
    re.I,
)
"""What comes after it in the sentence is stated."""
_CONTRACTED: Final = re.compile(r"(?<=[a-z])n['’]t\b", re.I)
_CLAUSE: Final = re.compile(
    r"[,;:.!?()\n–—]|\b(?:but|because|since|so|although|though|while|and|or|which|who|that|until|"
    r"unless|if|aber|sondern|weil|denn|und|oder|dass|mais|parce|et|ou|que|pero|porque|sino|y|o)\b",
    re.I,
)
_OR: Final = re.compile(
    rf"(\b(?:{'|'.join(sorted(_DENIES))})\b[^,;:.!?()\n–—]*?)\b(?:or|oder|ou)\b", re.I
)
"""Goes on with what was denied before it: "no head or tail"."""
_YET: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(_DENIES))})\b(?=[^,;:.!?()\n–—]*\b(?:before|until|till|bevor|ehe|vor|"
    rf"avant|antes)\b)",
    re.I,
)
"""Says from when on something is so: "cannot come before nine"."""
_ELSE: Final = frozenset("else otherwise sonst ansonsten andernfalls sinon altrimenti".split())
"""What is denied behind these would be so if it were not for what was said: "sonst kann sie nicht";
amid a clause "sonst" means usually."""
_SHORT: Final = 3
_ENDING: Final = 2
"""Letters: the longest stem that must be the same, and the longest ending that makes no
difference."""
_FEW: Final = 6
"""Stems of a short fact, in which one word that is denied says most of it."""
MOST: Final = 0.5
"""Share of what is denied that must be stated. Of 813 facts that seven models made of six months,
each citing its words, 9 are clearly contrary, two of them rightly (about forty, not only
`clear`ly); of 522 of the same, turned into their contrary, 213 are (about two thirds)."""
_REACH: Final = 6
"""Content words after a denial that it may be about."""


def stems(text: str, language: str = "") -> set[str]:
    """Of the content words, without those that hold a digit. `language`: as `detect` names it."""
    return set(ordered(text, language))


@lru_cache(maxsize=4096)
def ordered(text: str, language: str = "") -> tuple[str, ...]:
    """The same, in the order of the text."""
    language = language or detect(text)
    idle = STOP_WORDS | stop_words(language)
    return tuple(
        _stem(word, language)
        for word in tokens(text)
        if word not in idle and word not in _DENIES and not any(c.isdigit() for c in word)
    )


def _stem(word: str, language: str) -> str:
    return stem(word, language) if language not in ("", "en") else english(word)


@lru_cache(maxsize=16384)
def english(word: str) -> str:
    """The stem of a folded English word."""
    from Stemmer import Stemmer

    return str(Stemmer("english").stemWord(word))


@lru_cache(maxsize=4096)
def denied(text: str, language: str = "", *, so: bool = False) -> tuple[frozenset[str], ...]:
    """For every denial the stems of what it is about: the content words after it in its clause,
    else those around it. `so`: only of what is so, not of what would be otherwise."""
    found = []
    for words in _clauses(text):
        if so and words[:1] and words[0] in _ELSE:
            continue
        for place, word in enumerate(words):
            if word in _DENIES:
                after = (
                    ordered(" ".join(words[place + 1 :]), language)[:_REACH]
                    if word in _BEFORE
                    else ()
                )
                found.append(
                    frozenset(
                        after
                        or ordered(" ".join(words[:place] + words[place + 1 :]), language)[-_REACH:]
                    )
                )
    return tuple(one for one in found if one)


def _clauses(text: str) -> list[list[str]]:
    plain = _OR.sub(r"\1 ", _YET.sub(" ", _ANSWER.sub(" ", _CONTRACTED.sub(" not", text))))
    return [list(tokens(clause)) for clause in _CLAUSE.split(plain)]


def answers(text: str) -> bool:
    """Does a clause of it end with a bare "no", which denies what was said before?"""
    clauses = (list(tokens(clause)) for clause in _CLAUSE.split(text))
    return any(words and words[-1] in _NO for words in clauses)


def contrary(fact: str, ground: str, *, clear: bool = False) -> bool:
    """Does one of them deny what the other states? `ground`: some sentences at most. `clear`: only
    where all of a denial is stated, and a long fact denies more than a word: who cites the words a
    fact rests on may deny something besides."""
    language = detect(f"{fact} {ground}") or "en"
    denials, theirs = denied(fact, language), denied(ground, language)
    mine, other = (
        tuple(
            one
            for one in denied(text, language, so=True)
            if not any(_share(one, two) for two in known)
        )
        for text, known in ((fact, theirs), (ground, denials))
    )
    if not clear:
        return _against(mine, ground, language, MOST) or _against(other, fact, language)
    least = _least(fact, language)
    return _against(mine, ground, language, least=least) or (
        not denials and _against(other, fact, language, least=least)
    )


def _least(fact: str, language: str) -> int:
    """Of how many words a denial must be, to be compared: one is little of a long fact."""
    return 1 if len(stems(fact, language)) <= _FEW else 2


def added(fact: str, ground: str, *, clear: bool = False) -> bool:
    """Does a fact deny what its ground says without denying or turning anything? `clear`: as for
    `contrary`, and of `MOST` of its words."""
    plain = set(tokens(_CONTRACTED.sub(" not", ground)))
    language = detect(f"{fact} {ground}") or "en"
    said = frozenset(stems(ground, language))
    least, most = (_least(fact, language), MOST) if clear else (1, 0)
    return plain.isdisjoint(_DENIES | _TURNS) and any(
        len(common(about, said)) >= max(least, most * len(about))
        for about in denied(fact, language, so=True)
    )


def agree(text: str, ground: Iterable[str], language: str = "") -> bool:
    """Does it deny something, and one of these sentences deny some of the same, for everything it
    denies?"""
    theirs = [about for one in ground for about in denied(one, language)]
    mine = denied(text, language)
    return bool(mine) and all(any(_share(about, other) for other in theirs) for about in mine)


def _against(
    denials: tuple[frozenset[str], ...], stated: str, language: str, most: float = 1, least: int = 1
) -> bool:
    """Does a text state what is denied: `most` (a share) of its words, `least` of them? Near a word
    that turns a sense nothing is beyond doubt, unless that word is denied itself."""
    clauses = [(words, stems(" ".join(words), language)) for words in _clauses(stated)]
    plain = [(words, known) for words, known in clauses if not _DENIES.intersection(words)]
    for about in denials:
        bearing = [(words, known) for words, known in plain if _share(about, frozenset(known))]
        turning = [word for words, _ in bearing for word in words if word in _TURNS]
        turned = stems(" ".join(turning), language)
        shared = sum(
            any(_alike(one, other) for _, known in bearing for other in known) for one in about
        )
        enough = max(least, (1 if turning else most) * len(about))
        if shared >= enough and (not turning or about & turned):
            return True
    return False


def common(mine: Iterable[str], theirs: Collection[str]) -> set[str]:
    """The stems that the others have as well, in whatever ending."""
    return {one for one in mine if one in theirs or any(_alike(one, other) for other in theirs)}


def _share(one: frozenset[str], other: frozenset[str]) -> bool:
    return any(_alike(mine, theirs) for mine in one for theirs in other)


def _alike(one: str, other: str) -> bool:
    """Or one with an ending that the stemmer left ("wohn", "wohnt")."""
    short, long = sorted((one, other), key=len)
    return one == other or (
        len(short) > _SHORT and long.startswith(short) and len(long) - len(short) <= _ENDING
    )
