"""Which parts of what a person typed are somebody else's words: quotations, code, mails, pages,
logs and whatever else was pasted.

Whose words a line has cannot be seen from what it says, since whoever plants it chooses that; what
can be seen is that a turn holds more than what was typed. Where anything in it hints at that, only
its first line is the person's, and not even that where a later line may speak of it. What a person
marks off (a fence, quoted lines, quotation marks) hints at nothing. In doubt it is foreign: a fact
then has less trust than it could have, while a planted line never has more. What begins inside a
line without any mark is told from the person's words by a trained tagger (`tagging`); as it may be
wrong, such words are not passed over, only trusted less.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from oneiro_vault.core.conversation import tagging
from oneiro_vault.core.text import claims
from oneiro_vault.core.text.language import detect, is_english

_LONG: Final = 500
"""Characters of a line without a first person above which it was not typed."""
_QUOTED_WORDS: Final = 4
_FENCE: Final = re.compile(r"^\s{0,3}(?:`{3,}|~{3,}).*$", re.MULTILINE)
_QUOTED_LINE: Final = re.compile(r"^[ ]{0,3}>(?! \w+$)")
_ITEM: Final = re.compile(r"\s{0,3}(?:[-*•]|\d{1,2}[.)])\s(?!\[)")
_NO_PROSE: Final = re.compile(
    r"(?!\W*[:;=][-']?[()DP]\s)"
    r"(?:\t|[ ]{4}|\W*\d|[^\w\s'\"(¿¡“„«‘‚—–…]|.{0,60}\w[\w/\"')\]]*\s*(?:[={};|\\]|</|\()\s*$)"
)
"""Beginnings that nobody types: marks (no smiley), numbers, times; and ends of lines of
programs."""
_SENTENCE_END: Final = re.compile(r"[.!?…。！？)\"'”’:;,]\W*$")
_TITLE_WORDS: Final = 8
_GREETING: Final = re.compile(
    r"(?:dear\w*|hi|hello|hey|hallo|lieber?|liebes|sehr geehrter?|guten (?:tag|morgen)|welcome|"
    r"willkommen|bonjour|chère?|hola|estimad[oa]|ciao|gentile|kære|hej|beste|olá|"
    r"merhaba)\b(?:\W+\w+){0,4}?\s*(?:[,!:]|$)",
    re.I,
)
_SALUTATION: Final = re.compile(
    r"(?<=[.!?…,;:] )(?:dear (?!me\b|oh\b|god\b|lord\b)"
    r"|(?-i:Sehr geehrte|Liebe[rs]? Kund|Madame, Monsieur|Chère?s? |Estimad|Gentile ))",
    re.I,
)
"""In the middle of what somebody types."""
_WHAT: Final = (
    r"(?:readme|(?:e-?|web|home|hand|news|blog|work)?(?:mails?|messages?|pages?|articles?|"
    r"posts?(?!-)|issues?|tickets?|logs?|outputs?|errors?|letters?|texts?|snippets?|threads?|"
    r"comments?|reviews?|docs|documents?|transcripts?|(?<!gave )notices?|listings?|ads?|adverts?|"
    r"chats?|pdfs?|sites?|blogs?|reports?|pastes?|quotes?|repl(?:y|ies)|profiles?|bios?|notes?|"
    r"voicemails?|tweets?|stor(?:y|ies)|chapters?|poems?|drafts?|submissions?|leaflets?|posters?|"
    r"flyers?|files?|forms?|scripts?|cvs?|essays?|songs?|lyrics|slides?|banners?|captions?|cards?|"
    r"invit(?:e|ation)s?|memos?|riddles?|speech|sentences?|paragraphs?|passages?|excerpts?|"
    r"quotations?|headlines?|inbox)|reddit|slack|whatsapp|facebook|linkedin|(?:whats|sms|"
    r"e-mail)?nachrichten?|seiten?|webseite|artikel|brief|gedicht|aufsatz|satz|zettel|rechnung|"
    r"protokoll|ausgabe|fehlermeldung|anschreiben|anzeige|schild|einladung|lied|rede|kommentar|"
    r"lettre|courriel|correo|mensaje|carta|página)"
)
_BACK: Final = re.compile(
    r"\W*(?:(?:and|so|ok|but) )*(?:this|that|these|those|it|the above|above|he|she|they|das|"
    r"dies\w*|der|oben|so \w+ (?:the|it))\b",
    re.I,
)
_HERE: Final = re.compile(
    rf"\b(?:here|this|these|following|below|got|found|sent|landed|{_WHAT})\b", re.I
)
_NAMES_IT: Final = re.compile(
    rf"\b(?:above|below|the following|here(?:'s| is| are)|{_WHAT}|(?:translat|summar|proofread|"
    rf"rewrit|rephras|quot|forward|past)\w*|in(?:to)? (?:english|german|french|spanish|italian|"
    rf"danish|dutch|polish|latin)|dies\w*(?! (?:jahr|mal|woche|monat|sommer|winter|tage?)\b)|"
    rf"folgend\w*|hier(?! eingerichtet)|weitergeleitet|übersetz\w*|korrigier\w*|auf (?:deutsch|"
    rf"englisch))\b",
    re.I,
)
"""Speaks of words that may follow without any mark."""
_READERS: Final = re.compile(
    r"\b(?:memor(?:y|ies|i[sz]e)|remember|merke?|store|save|note that|from now on|henceforth|ab "
    r"(?:jetzt|sofort))\b",
    re.I,
)
_OF_ONESELF: Final = re.compile(
    r"\b(?:me|myself|us|i|i['’]?m|we|my (?:\w+ ){0,2}(?:list|plans?|news|day|week)|mir|mich|uns|"
    r"ich|wir)\W*$",
    re.I,
)
_LISTED: Final = re.compile(
    r"\b(?:things?|points|questions|facts|changes|clients|kids|children|dinge|punkte|fragen"
    r"|sachen|kinder|my (?:\w+ ){0,2}lists?)"
    r"(?: (?:right )?now)?\W*$"
    r"|[\s,](?:btw|by the way|übrigens)\W*$",
    re.I,
)
_TO_READER: Final = re.compile(
    r"\b(?:you|your\w*|u|ur|please|pls|dear|(?-i:Sie|Ihnen|Ihr\w*)|du|dir|dich|dein\w*|euch|euer"
    r"|eure\w*|bitte"
    r"|vous|votre|vos|tu|toi|ton|ta|tes|usted\w*|tú|tus?|su)\b",
    re.I,
)
_KNOWN: Final = re.compile(
    r"\b(?:the|of|my|our|is|are|and|have|has|with|i['’]?(?:m|ve)|we|you|what|how|why|does|i "
    r"(?:live|work|was|am|prefer|do|did|got)|ich|mein\w*|und|wir|ist|sind|nicht|wohne|für|was|"
    r"wie)\b",
    re.I,
)
"""Words of the languages of which the words above are."""
_CLAIMS: Final = re.compile(
    r"\b(?:i|i['’]?(?:m|ve|ll|d)|my|mine|myself|we|we['’](?:re|ve|ll|d)|our|ours|ich|mein\w{0,2}"
    r"|wir|unser\w{0,2}"
    r"|je|j['’]|mon|ma|mes|nous|notre|nos|yo|mi|mis|nosotros|nuestr\w{1,2}|io|mio|mia|noi|eu|meu"
    r"|minha|ik|mijn|wij|onze"
    r"|jeg|jag)\b",
    re.I,
)
"""Says something of whoever says it."""
_MIXED: Final = re.compile(
    "[a-z][\u0370-\u04ff\u00ad\u200b-\u200d\u2060\ufeff]+[a-z]|[a-z][\u0370-\u04ff]|"
    "[\u0370-\u04ff][a-z]",
    re.I,
)
_TURNING: Final = frozenset(("RLO", "LRO", "RLE", "LRE", "RLI", "LRI"))
_CHAT: Final = re.compile(
    r"\b[^\W\d]+,? \[?\d{1,2}:\d\d\]?:?\s(?=[^\n]*[^\W\d],? \[?\d{1,2}:\d\d\]?:?\s)"
)
"""A name and a time, and again."""
_SPEAKER: Final = re.compile(r"\s*[^\W\d][\w-]{0,15}(?:,? \[?\d{1,2}:\d\d\]?:?|:)(?:\s|$)")
"""Begins a line of a chat or of a form."""
_SPEAKERS: Final = re.compile(
    r"(?:^|(?<=[.!?…] ))(?:[^\W\d_][\w-]{1,15}: [^:]*?[.!?…]+ ){2,}[^\W\d_][\w-]{1,15}: "
)
_SENTENCE_OF_NUMBERS: Final = re.compile(
    r"\W{0,2}\d{1,4}(?:[.,]\d{1,3})?(?:er|th|st|nd|rd|k|h)?[.,!]?(?: [^\W\d]{2,}|$)"
)
"""As people answer: no date, time or name of a thing."""
_ENGLISH_WORDS: Final = re.compile(r"\b(?:I|[Ii]['’](?:m|ve|ll|d)|my|the|and|are|you)\b")
_ORDERS: Final = re.compile(
    r"\b(?:ignor\w+|disregard\w*|overrid\w+|forget|bypass)\b[^.!?\n]{0,50}\b(?:instruct\w*|rules?|"
    r"prompts?|guidelines?|polic\w+|anweisung\w*)\b|\b(?:ai|llm|language)[ -]?(?:assistants?|"
    r"agents?|models?|systems?)\b|\b(?:assistants?|agents?|chatbots?|llms?|bots?|"
    r"readers?)\b[^.!?\n]{0,40}\b(?:must|should|shall|are to|is to|will now|have to|has to|need "
    r"to|reading this)\b|\bsystem (?:prompt|message|note|override)\b|^\W*(?:system|assistant|"
    r"important|attention|note to \w+|admin\w*)\s*[:\]]|\bthe user(?:'s)?\b|\bdeveloper mode\b|"
    r"\b(?:du bist|you are) (?:now|ab)\b|\b(?:der|die) (?:benutzer|nutzer)(?:in)?\b|"
    r"\bl['’]utilisateur\b|\bel usuario\b",
    re.I,
)
"""Nobody calls oneself "the user"."""
_OPENS: Final = re.compile(
    r"(?:(?<=[\s(:—-])|^)(?:[\"'‘‚“❝❛*_](?=[^\W_])|`(?=\S)|[„«»‹“❝]\s?(?=\w))|[「『【《]"
)
_CLOSES: Final = re.compile(r"(?<=[\w.,!?…)])(?:[\"'’‘“”❞❜*_`]|\s?[«»›])(?!\w)|[」』】》]")
_MARKUP: Final = re.compile(r"<[!/?a-zA-Z].*|\{.*|\[[^\]\n]*\]\(.*")


ENGLISH: Final = "en"
UNKNOWN: Final = "?"
_SHORT: Final = 3
_QUESTION: Final = re.compile(r"[^.!?。！？][?？]")
Extent = tuple[int, int]
"""[start, end)"""


class Stretch(NamedTuple):
    """`text[start:end]` is not the person's own, or may not be (`doubted`)."""

    start: int
    end: int
    doubted: bool = False


def foreign(text: str) -> list[Stretch]:
    """Every stretch that is not the person's own, or may not be, in order and apart from each
    other."""
    found, lines = _marked(text)
    own = _typed([(text[start:end], marks) for start, end, marks in lines], _in_bursts(text))
    extents = [(start, end) for start, end, _ in lines]
    stretches = [Stretch(*one) for one in found + extents[own:]]
    for start, end in extents[:own]:
        stretches += [
            Stretch(start + a, start + b, doubted) for a, b, doubted in _inline(text[start:end])
        ]
    return _joined(stretches, text)


def _marked(text: str) -> tuple[list[Extent], list[tuple[int, int, bool]]]:
    """What the person marked off, and the other lines: does such a stretch follow on them?"""
    found = _fenced(text)
    lines = [
        (start, end)
        for start, end in _lines(text)
        if not any(a < end and b > start for a, b in found)
    ]
    found += [one for one in lines if _QUOTED_LINE.match(text[slice(*one)])]
    lines = [one for one in lines if one not in set(found)]
    follows = [
        any(end <= a < then for a, _ in found)
        for (_, end), (then, _) in pairwise([*lines, (len(text), 0)])
    ]
    return found, [(start, end, one) for (start, end), one in zip(lines, follows, strict=True)]


def _fenced(text: str) -> list[Extent]:
    """From the first fence to the last: what is pasted may hold fences too. An open one goes to the
    end."""
    marks = list(_FENCE.finditer(text))
    if not marks:
        return []
    return [(marks[0].start(), marks[-1].end() if len(marks) % 2 == 0 else len(text))]


def _lines(text: str) -> list[Extent]:
    return [
        found.span()
        for found in re.finditer(r"[^\n\v\f\r\x85\u2028\u2029]+", text)
        if found[0].strip()
    ]


def _typed(turn: Sequence[tuple[str, bool]], burst: bool) -> int:
    """How many of these lines (does something marked off follow?) are the person's own, from the
    first on."""
    if not turn:
        return 0
    (first, marked), *later = turn
    if _strange(first) and (later or not _answers(first)):
        return 0
    if not later:
        return 1
    if _GREETING.match(first) and first.rstrip().endswith(","):
        return 0
    if not marked and _introduces(first, [line for line, _ in later], burst):
        return 1
    last = len(later) - 1
    asking = [not one and number < last for number, (_, one) in enumerate(later)]
    if not any(_hints(line, may, burst) for (line, _), may in zip(later, asking, strict=True)):
        return len(turn)
    return 1 if "?" in first or not any(_speaks_of(line) for line, _ in later) else 0


def _in_bursts(text: str) -> bool:
    """In small letters, without an empty line, as people do who end no sentence with a mark: what
    they paste rarely looks like that."""
    lines = text.split("\n")
    return all(line.lstrip()[:1].islower() and not _SPEAKER.match(line) for line in lines)


def _introduces(line: str, later: Sequence[str], burst: bool) -> bool:
    """Does a line speak of what comes after it? In an unknown language, in doubt yes."""
    plain = line.rstrip(" *_👇↓")
    if plain.endswith((":", "：")):
        before, listed = plain[:-1], all(map(_ITEM.match, later))
        return not (_OF_ONESELF.search(before) or (listed and _LISTED.search(before)))
    ended = _KNOWN.search(line) and _SENTENCE_END.search(line)
    if not burst and (not ended or _QUESTION.search(line)):
        return True
    last = claims.split_sentences(line)[-1]
    return any(one.search(last) for one in (_HERE, _NAMES_IT))


def _hints(line: str, asking: bool, burst: bool) -> bool:
    """Does a later line look as if it had not been typed, or speak of what was not? `asking`: may
    it ask about the next one?"""
    if item := _ITEM.match(line):
        return _strange(line[item.end() :])
    words = (_ORDERS, _READERS, *(() if burst else (_NAMES_IT, _QUESTION)))
    if _strange(line) or len(line) > _LONG or any(one.search(line) for one in words):
        return True
    if _GREETING.match(line) or _BACK.match(line):
        return True
    if asking and line.rstrip().endswith((":", "：")):
        return True
    return (
        not burst
        and not _SENTENCE_END.search(line)
        and (line.lstrip()[:1].isupper() or asking)
        and len(line.split()) <= _TITLE_WORDS
    )


def _speaks_of(line: str) -> bool:
    return bool(_BACK.match(line) or _QUESTION.search(line))


def _strange(line: str) -> bool:
    """It begins with marks or numbers, or its letters are dressed up or turned around."""
    others = [sign for sign in line[:_LONG] if not sign.isascii()]
    dressed = any(
        sign.isalpha() and unicodedata.normalize("NFKC", sign).isascii() for sign in others
    )
    return (
        bool(_NO_PROSE.match(line))
        or bool(_MIXED.search(line))
        or dressed
        or any(unicodedata.bidirectional(sign) in _TURNING for sign in others)
    )


def _answers(line: str) -> bool:
    """Does it begin with a number, as people answer: of nobody who speaks or is spoken to?"""
    speaks = _CLAIMS.search(line) or _TO_READER.search(line)
    return bool(_SENTENCE_OF_NUMBERS.match(line)) and not speaks


def _inline(line: str) -> Iterator[Stretch]:
    """Quotations; what markup or orders to a reader begin, to the end of the line; and the words
    that `tagging` takes for somebody else's, sentence by sentence."""
    quoted = _quotation(line)
    if quoted:
        yield Stretch(*quoted)
        line = line[: quoted[0]] + "." * (quoted[1] - quoted[0]) + line[quoted[1] :]
    sure = [found.start() for pattern in (_MARKUP, _ORDERS) for found in pattern.finditer(line)]
    if len(line) > _LONG and not _CLAIMS.search(line):
        sure.append(0)
    if sure and line[min(sure) :].strip(" ."):
        yield Stretch(min(sure), len(line))
        line = line[: min(sure)]
    words, parts = tagging.words(line), claims.sentence_spans(line)
    for (_, start, stop), doubt in zip(words, tagging.doubtful(line), strict=False):
        if doubt >= tagging.SURE and line[start].isalnum():
            yield Stretch(
                start, next((end for _, end in parts if end >= stop), len(line)), doubted=True
            )
    if len(words) > tagging.LONGEST:
        yield Stretch(words[tagging.LONGEST][1], len(line), doubted=True)
    for copied in (_CHAT, _SALUTATION, _SPEAKERS):
        if begins := copied.search(line):
            yield Stretch(begins.start(), len(line), doubted=True)
    if (other := _another_language([line[slice(*one)] for one in parts])) is not None:
        yield Stretch(parts[other][0], len(line), doubted=True)


def _another_language(parts: Sequence[str]) -> int | None:
    """English is mixed in by everybody."""
    language = ""
    for number, sentence in enumerate(parts):
        found = detect(sentence) if len(sentence.split()) > _SHORT else ""
        found = found or (
            ENGLISH if is_english(sentence) or _ENGLISH_WORDS.search(sentence) else ""
        )
        if language and found not in ("", language, ENGLISH) and _CLAIMS.search(sentence):
            return number
        language = found or language or (UNKNOWN if sentence.endswith(("?", "？")) else "")
    return None


def _quotation(line: str) -> Extent | None:
    """From the first mark to the last where some words are between them: a word or two is a
    name."""
    ends = [found.end() for found in _CLOSES.finditer(line)]
    for opened in _OPENS.finditer(line):
        words = line[opened.end() : ends[-1] - 1] if ends and ends[-1] > opened.end() else ""
        if len(words.split()) >= _QUOTED_WORDS or (
            len(words) > _QUOTED_WORDS and unicodedata.east_asian_width(words[0]) == "W"
        ):
            return opened.start(), ends[-1]
        if not words:
            return None
    return None


def _joined(stretches: list[Stretch], text: str) -> list[Stretch]:
    """What touches or has only blanks between as one: in no doubt where a part of it is in none."""
    found: list[Stretch] = []
    for start, end, doubted in sorted(stretches):
        last = found[-1] if found else None
        if last and (start <= last.end or not text[last.end : start].strip()):
            found[-1] = Stretch(last.start, max(end, last.end), last.doubted and doubted)
        else:
            found.append(Stretch(start, end, doubted))
    return found
