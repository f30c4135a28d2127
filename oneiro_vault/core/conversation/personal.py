"""How a person's own words stand where others are told them: quoted with their day, or said of
somebody else."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from typing import Final

from oneiro_vault.core.text.query import fold

TITLES: Final = {
    "who": "Who the person is",
    "wishes": "What the person wants",
    "health": "The person's health",
    "work": "The person's work",
    "home": "The person's home",
    "people": "The person's people",
}
"""Topic -> title of its block, in the order in which they are shown: where not all have room, what
the person wants and may not eat is there."""

PERSON: Final = "the person"
"""Whoever typed it, where others are told."""
_MEANT: Final = re.compile(
    r"(?:(?:the|der|die|das|den|dem|el|la|de|o|a) |l['’])?(?:user|person|nutzer|benutzer|anwender|"
    r"utilisateur|utilisatrice|usuario|usuaria|utente|gebruiker)(?:in)?|"
    r"i|me|myself|ich|mich|mir"
)
"""What models call whoever typed it, folded."""
_LEAD: Final = re.compile(
    r"(?:(?:and|but|also|ok|okay|yeah|yep|right|hi|hello|well|oh|so|by the way|for the record|fyi|"
    r"und|außerdem|übrigens)[,.!]* )*",
    re.I,
)
_CHATTER: Final = (
    r"yes|yeah|yep|yup|no(?= (?:wait|worries|problem)|[.!])|nope|nah|ok|okay|okey|k|sure|right",
    r"cool|great|good|nice|perfect|lovely|brilliant|true|exactly|correct|deal|done|thanks?",
    r"thank you|thx|ta|cheers|please|ha|haha\w*|lol|hm+|oh|ah|aha|ugh|phew|wow|hi|hello|hey|hiya",
    r"morning|evening|afternoon|hang on|hold on|wait|one sec|update|news",
    r"before i forget|anyways?|btw|by the way|also|well|alright|fair enough|got it|makes sense|so",
    r"of course|sounds good|ja|jo|jap|jep|nein danke|nee|nö|genau|stimmt|klar|gut|super|danke",
    r"na ja|naja|ach|puh|hallo|moin|servus|guten (?:tag|morgen|abend)|warte|moment|übrigens",
    r"bevor ich(?:'?s| es)? vergesse|ansonsten|alles klar|passt|natürlich|lieber",
)
_CHAT: Final = f"(?:{'|'.join(_CHATTER)})"
_BEFORE: Final = (
    re.compile(
        rf"{_CHAT}(?: {_CHAT})*(?: (?:then|too|dann|lol))?\s*(?:[,.!…–—-]+\s+|[,.!…–—-]+(?=$))",
        re.I,
    ),
    re.compile(
        r"(?:(?:over|under|about|around|roughly|maybe|only|just|nur|etwa|ungefähr|über|unter) )+"
        r"\d[\d.,:]*(?: ?\w{1,6})?[.!]\s+(?=\w+\W+\w+\W+\w+)",
        re.I,
    ),
)
"""In front of another sentence; "over 6." answers, "band 6." may not."""
_ALL_CHAT: Final = re.compile(rf"{_CHAT}(?:[ ,]+{_CHAT})*", re.I)
_ANSWERS: Final = re.compile(
    r"(?:(?:just|only|i'?m|am|bin|wieder|gerade|grad) )*"
    r"(?:(?:back|home)(?= (?:from|at|in|now)\b|\W*$)|zurück|daheim|nope|nah|yes|yep|ja|nee|nein|"
    r"no)\b",
    re.I,
)
_ADDRESSED: Final = re.compile(
    r"\b(?:you|your|yours|yourself|u|du|dir|dich|dein\w*|euch|please|pls|bitte)\b", re.I
)
_MARKS: Final = str.maketrans("“”", "''")
_QUOTED: Final = re.compile(r"- On \d{4}-\d\d-\d\d(?: in [^“”\n]+)? the person said: “[^“”]+”")
_PROFILED: Final = re.compile(
    r"- \d{4}-\d\d-\d\d: “[^“”]+” \(\[\[(?:[^\[\]|]+\|)?([0-9a-z]{12})\]\]\)"
)
_QUOTE: Final = re.compile(r"“([^“”]+)”")
ADDED: Final = re.compile(r" \[\d{4}-[^\]]*\]")
"""A day that a memory sets beside the person's words (`relative_dates.beside`)."""
_WORD: Final = re.compile(r"\w+(?:['’-]\w+)*")
_FEWEST: Final = 3
"""Words of a memory that a longer quotation is known by."""
_FIRST: Final = (
    (re.compile(r"\b(?:i'm|i am|ich bin)\b", re.I), "the person is"),
    (re.compile(r"\b(?:i've|i have|ich habe)\b", re.I), "the person has"),
    (re.compile(r"\b(?:we're|we are|wir sind)\b", re.I), "the two are"),
    (re.compile(r"\b(?:my|our|mein\w{0,2}|unser\w{0,2})\b", re.I), "the person's"),
    (re.compile(r"\b(?:i|me|mine|myself|we|us|ours|ich|mir|mich|wir|uns)\b", re.I), "the person"),
)


def is_person(name: str) -> bool:
    """Does a name mean whoever typed it?"""
    return bool(_MEANT.fullmatch(fold(name).strip()))


def speaks(text: str) -> bool:
    """Does somebody speak of themselves in these words?"""
    return any(pattern.search(text.replace("’", "'")) for pattern, _ in _FIRST)


def of_reader(text: str) -> bool:
    """Is it about whoever reads it ("You have moved to …")?"""
    plain = text.replace("’", "'").lstrip("\"'*_ ")
    begins = _ADDRESSED.match(plain, lead.end() if (lead := _LEAD.match(plain)) else 0)
    asks = not begins or begins[0].lower().startswith(("pl", "bit"))
    return not (asks or speaks(plain))


def without_chatter(sentence: str) -> str:
    """The words of a sentence behind what answers or greets before it ("over 6. hang on, …"); all
    of one that does nothing else."""
    begins, found = 0, True
    while found:
        ends = [mark.end() for one in _BEFORE if (mark := one.match(sentence, begins))]
        begins, found = max([begins, *ends]), bool(ends)
    return sentence[begins:] or sentence


def chatter(words: str) -> bool:
    """Is it nothing but an answer, a greeting or what people say in between?"""
    return bool(_ALL_CHAT.fullmatch(words))


def chats(sentence: str) -> bool:
    """Does it begin as an answer, or with where its writer is back from?"""
    return bool(_ANSWERS.match(sentence.replace("’", "'")))


def described(text: str) -> str:
    """What somebody says of themselves must describe when it is said of them."""
    for pattern, words in _FIRST:
        text = pattern.sub(words, text)
    return text


def quoted(text: str, day: str, project: str = "") -> str:
    """The line of a block that quotes what a person said on a day, and in which project, where that
    matters."""
    words, where = (" ".join(one.translate(_MARKS).split()) for one in (text, project))
    return f"- On {day} {f'in {where} ' if where else ''}the person said: “{words}”"


def bare(text: str) -> str:
    """Without the days that a memory sets beside the person's words."""
    return ADDED.sub("", text)


def plain(text: str) -> str:
    """Its words, folded, between blanks, without such days."""
    return f" {' '.join(_WORD.findall(fold(bare(text))))} "


def without(text: str, told: str, ident: str = "") -> str:
    """Lines of such a block, or of a profile, without those that quote from a text or name its id
    as their source."""
    whole = plain(told)
    enough = len(whole.split()) >= _FEWEST
    left = []
    for line in text.strip().splitlines():
        quote, source = _QUOTE.search(line), _PROFILED.fullmatch(line)
        words = plain(quote[1]) if quote else ""
        quotes = bool(words.strip()) and (words in whole or (enough and whole in words))
        if not quotes and not (source and source[1] == ident):
            left.append(line)
    return "\n".join(left)


def is_quoted(text: str) -> bool:
    """Does a text consist of such lines?"""
    return all(_QUOTED.fullmatch(line) for line in text.strip().splitlines())


def is_profile(text: str) -> bool:
    """Does it consist of quotations with their day and their source?"""
    return all(_PROFILED.fullmatch(line) for line in text.strip().splitlines())


def pared(
    body: str, ground: Iterable[str], gone: Container[str], *, last: bool
) -> dict[str, object | None]:
    """The frontmatter of such a text when `body` is left of it: its line in a list, and the
    memories it rests on without those that are `gone`. With nothing left it sleeps."""
    found: dict[str, object | None] = {
        "description": described_by(body, last=last),
        "derived_from": [one for one in ground if body and one not in gone],
    }
    return found if body else found | {"status": "dormant"}


def described_by(text: str, *, last: bool) -> str:
    """The line of such a text that stands for it in a list: its first, or its last."""
    lines = text.strip().splitlines()
    if not lines:
        return ""
    return lines[-1 if last else 0].removeprefix("- ").partition(" ([[")[0]
