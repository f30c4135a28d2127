"""Which parts of what a person typed are somebody else's words: quotations, code, mails, pages, logs and whatever else was pasted.

In doubt it is foreign: a fact then has less trust than it could have, while a planted line never has more. After a paste that nothing
closes, the person's own voice has to be recognised before it counts again, and it is not while it speaks of readers and their orders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LONG: Final = 500
"""Characters of a paragraph without a first person above which it was not typed."""
_QUOTED_WORDS: Final = 4
_MARKS: Final = '"“„«'
_FENCE: Final = re.compile(r"^\s{0,3}(`{3,}|~{3,})", re.MULTILINE)
_LINE: Final = re.compile(r"^(?:[ ]{0,3}>|[ ]{4}|\t|[ ]{0,3}\|)")
_HEADER: Final = re.compile(
    r"^(?:From|To|Cc|Bcc|Subject|Sent|Date|Reply-To|Von|An|Betreff|Gesendet|Datum|De|À|Objet|Envoyé|Para|Asunto|Da"
    r"|Oggetto)\s*:",
    re.I,
)
_FORWARDED: Final = re.compile(
    r"^-{2,}\s*(?:Original|Forwarded|Weitergeleitete|Ursprüngliche|Begin)|^(?:On|Am|Le|El)\b.{4,90}\b(?:wrote|schrieb"
    r"|a écrit|escribió)\s*:?"
    r"|^-{4,}\s*(?:BEGIN|begin)",
    re.MULTILINE,
)
_GREETING: Final = re.compile(
    r"^(?:dear|hi|hello|hey|hallo|lieber?|liebes|sehr geehrter?|guten (?:tag|morgen)|bonjour|chère?|hola|estimad[oa]"
    r"|ciao|gentile)\b.{0,60}[,!:]?$",
    re.I,
)
_SIGNED: Final = re.compile(
    r"^(?:(?:kind|best|warm|many)?\s*(?:regards|wishes|thanks)|yours|sincerely|cheers|mit freundlichen|viele grüße"
    r"|beste grüße|liebe grüße|"
    r"cordialement|bien à vous|saludos|atentamente|cordiali saluti)\b.{0,30}$",
    re.I | re.MULTILINE,
)
_LOG: Final = re.compile(
    r"^\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\w{3} [ \d]\d \d\d:\d\d|at \S+\(|File \"|Traceback|Caused by|"
    r"\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE)\b|[$#%] \S|>>> |diff --git|@@ |[+-]{3} |\w*(?:Error|Exception): )"
)
_MARKUP: Final = re.compile(r"^\s*(?:<[!/?a-zA-Z][^>]*>|[{\[](?:\s*[\"{\[]|$)|<\|)|</\w+>\s*$", re.MULTILINE)
_HEADING: Final = re.compile(
    r"^(?:#{1,6}\s|\*\*[^*]+\*\*$|https?://\S+$|={3,}$|#\d+\b|(?:title|url|source)\s*:|(?:issue|ticket|bug|pr"
    r"|pull request)\s*(?:#?\d+|:))",
    re.I,
)
_THING: Final = (
    r"(?:e-?mails?|messages?|pages?|articles?|posts?|issues?|tickets?|logs?|outputs?|errors?|traces?|stack ?traces?"
    r"|letters?|texts?|snippets?|"
    r"threads?|comments?|reviews?|readme|docs?|documents?|transcripts?|newsletters?|invoices?|notices?|contracts?"
    r"|listings?|ads?|chats?|"
    r"pdfs?|websites?|sites?|blogs?|reports?|paste|quotes?|reply|replies|answers?|descriptions?|nachrichten?|seiten?"
    r"|artikel|brief|texte?|"
    r"rechnung|protokoll|ausgabe|fehlermeldung|anschreiben|rundschreiben|lettre|courriel|correo|mensaje|carta|página)"
)
_HERE: Final = (
    r"(?:this|these|the following|following|below|here(?:'s| is| are)|attached|pasted?|pasting|copied|forwarded|got"
    r"|received|came|found|sent|"
    r"posted|folgende[rns]?|diese[rns]?|hier|unten|bekommen|erhalten|kam|voici|reçu|aquí|este|esta)"
)
_INTRODUCES: Final = re.compile(rf"\b{_HERE}\b[^.?!]{{0,60}}\b{_THING}\b|\b{_THING}\b[^.?!]{{0,60}}\b{_HERE}\b", re.I)
_REPORTS: Final = re.compile(
    rf"\b(?:{_THING}|it|he|she|they|who|\w+)\b[^.?!:\n]{{0,40}}\b(?:says?|said|wrote|writes|reads?|states?|claims?"
    rf"|sent|replied|posted|steht|"
    r"schreibt|schrieb|sagt|sagte|meldet|dit|écrit|dice|escribió)\b[^.?!:\n]{0,30}:",
    re.I,
)
_TASK: Final = re.compile(
    r"^\W*(?:please |pls |kindly |now |then |(?:can|could|would|will) you |bitte |kannst du )*(?:translat|summari[sz]"
    r"|proofread|correct|rewrit|"
    r"rephras|edit|polish|shorten|explain|review|check|fix|improve|analy[sz]|paraphras|format|convert|übersetz|fass"
    r"|korrigier|verbesser|"
    r"kürz|erklär|prüf|formulier|tradui|résum|corrig|traduc|resum)\w*\b[^.?!:\n]{0,60}:",
    re.I,
)
"""Asks for work on words that follow."""
_NAMES_ONE: Final = re.compile(rf"\b{_THING}\b|{_REPORTS.pattern}", re.I)
_AFTER: Final = re.compile(r"\W*p\.? ?s\b", re.I)
_COLON: Final = re.compile(r"[:↓👇]\s*$")
_ENDS: Final = re.compile(r"^\W{0,4}(?:-{3,}|={3,}|\*{3,}|_{3,}|[\[(<-]*\s*end\b.{0,40}|[\[(<-]*\s*ende\b.{0,30})\W{0,4}$", re.I)
_FIRST: Final = re.compile(
    r"\b(?:i|i['’](?:m|ve|ll|d)|me|my|mine|myself|we|we['’](?:re|ve|ll|d)|us|our|ours|ich|mir|mich|mein\w{0,2}|wir"
    r"|uns|unser\w{0,2}|"
    r"je|j['’]|moi|mon|ma|mes|nous|notre|nos|yo|mi|mis|nosotros|nuestr\w{1,2}|io|mio|mia|noi|eu|meu|minha|ik|mij|mijn"
    r"|wij|ons|onze)\b",
    re.I,
)
_READERS: Final = re.compile(
    r"\b(?:ignore|disregard|overrid\w+|instruct\w*|system|prompts?|assistants?|ai|llms?|models?|chatbots?|agents?"
    r"|claude|chatgpt|gpt|gemini|"
    r"the user|users?|memor\w+|remember|stor(?:e|ed)|not(?:e|ed) (?:to|that)|from now on|henceforth|always|never|must"
    r"|authori[sz]\w+|"
    r"approv\w+|permissions?|passwords?|tokens?|secrets?|credentials?|api|admin\w*|trusted|verified|ab sofort|immer"
    r"|niemals|benutzer\w*|"
    r"nutzer\w*|assistent\w*|anweisung\w*|merke?n?|toujours|jamais|utilisateur|siempre|nunca|usuario)\b",
    re.I,
)
_ORDERS: Final = re.compile(
    r"\b(?:ignor\w+|disregard\w*|overrid\w+|forget|bypass)\b[^.!?\n]{0,50}\b(?:instruct\w*|rules?|prompts?"
    r"|guidelines?|polic\w+|anweisung\w*)\b"
    r"|\b(?:ai|llm|language)[ -]?(?:assistants?|agents?|models?|systems?)\b|\b(?:assistants?|agents?|chatbots?|llms?"
    r"|bots?|readers?)\b[^.!?\n]{0,40}"
    r"\b(?:must|should|shall|are to|is to|will now|have to|has to|need to|reading this)\b|\bsystem (?:prompt|message"
    r"|note|override)\b"
    r"|^\W*(?:system|assistant|important|attention|note to \w+|admin\w*)\s*[:\]]|\bthe user(?:'s)?\b"
    r"|\bdeveloper mode\b|\b(?:du bist|you are) (?:now|ab)\b"
    r"|\b(?:der|die) (?:benutzer|nutzer)(?:in)?\b|\bl['’]utilisateur\b|\bel usuario\b",
    re.I,
)
"""How pages speak to whoever reads them for somebody; nobody calls oneself "the user"."""
_SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?]*")
_QUOTATION: Final = re.compile(r"[\"“„«]([^\"“”„«»\n]{12,}?)[\"”“»]")


def foreign(text: str) -> list[tuple[int, int]]:
    """[start, end) of every stretch that is not the person's own, in order and apart from each other."""
    blocks = list(_blocks(text))
    found = list(_of_blocks(text, blocks))
    own = _complement(found, len(text))
    for start, end in own:
        found += [(start + a, start + b) for a, b in _inline(text[start:end])]
    return _joined(found, text)


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """(start, end, fenced) of paragraphs; what a fence opens is one, to its end or to the end of the text."""
    position = 0
    while position < len(text):
        opened = _FENCE.search(text, position)
        yield from _paragraphs(text, position, opened.start() if opened else len(text))
        if opened is None:
            return
        closed = re.compile(rf"^\s{{0,3}}{re.escape(opened[1])}[`~]*\s*$", re.MULTILINE).search(text, opened.end())
        position = closed.end() if closed else len(text)
        yield opened.start(), position, True


def _paragraphs(text: str, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    for found in re.compile(r"\S.*?(?=\n[ \t]*\n|\Z)", re.DOTALL).finditer(text[:end], start):
        yield found.start(), found.end(), False


def _of_blocks(text: str, blocks: list[tuple[int, int, bool]]) -> Iterator[tuple[int, int]]:
    pasting = follows = False
    voices: list[str] = []
    signed = _SIGNED.search(text)
    for number, (start, end, fenced) in enumerate(blocks):
        block = text[start:end]
        if fenced:
            yield start, end
            follows = False
            continue
        if pasting and _ENDS.match(block):
            pasting = False
            yield start, end
            continue
        if pasting and _may_end(voices) and _resumes(text, blocks[number:]):
            pasting = follows = False
            voices = []
        greeted = _GREETING.match(block.split("\n", 1)[0].strip()) and (number > 0 and (follows or signed is not None))
        begins = greeted or _FORWARDED.search(block) or sum(bool(_HEADER.match(line)) for line in block.splitlines()) >= 2
        begins = begins or _HEADING.match(block) or (follows and not _list(block))
        pasting = bool(pasting or begins)
        if pasting:
            voices.append(block)
        if pasting or (len(block) > LONG and not _FIRST.search(block)):
            yield start, end
        else:
            yield from _lines(block, start)
        last = block.splitlines()[-1]
        named = _INTRODUCES.search(last) or _TASK.match(last) or (_COLON.search(last) and _NAMES_ONE.search(block))
        follows = not pasting and bool(named)


def _lines(block: str, start: int) -> Iterator[tuple[int, int]]:
    """Lines of an own paragraph that quote, and all that comes after a line of a log or a program."""
    for line in re.finditer(r"[^\n]+", block):
        if _LOG.match(line[0]) or _MARKUP.match(line[0]):
            yield start + line.start(), start + len(block)
            return
        if _LINE.match(line[0]):
            yield start + line.start(), start + line.end()


def _list(block: str) -> bool:
    return all(re.match(r"\s*(?:[-*•]|\d{1,2}[.)])\s", line) for line in block.splitlines())


def _may_end(pasted: list[str]) -> bool:
    """Can whoever pasted be told from what was pasted? Not where that speaks of itself too, unless it was signed."""
    return bool(_SIGNED.search(pasted[-1])) or not any(_FIRST.search(block) for block in pasted)


def _resumes(text: str, rest: list[tuple[int, int, bool]]) -> bool:
    """Is everything from here on, as far as nothing fences it, in the voice of whoever pasted?"""
    words = [text[start:end] for start, end, fenced in rest if not fenced]
    if _AFTER.match(words[0]):
        return False
    return all(_FIRST.search(block) and len(block) < LONG and not _READERS.search(block) and not _SIGNED.search(block) for block in words)


def _inline(text: str) -> Iterator[tuple[int, int]]:
    """Quotations of some words, what follows `she wrote:` or `translate:` up to the end of its line, and what speaks to
    readers as pages do."""
    for quotation in _QUOTATION.finditer(text):
        if len(quotation[1].split()) >= _QUOTED_WORDS:
            yield quotation.span(1)
    for line in re.finditer(r"[^\n]+", text):
        report = _REPORTS.search(line[0]) or _TASK.match(line[0])
        if report and (told := line[0][report.end() :].strip()) and told[0] not in _MARKS:
            yield line.start() + report.end(), line.end()
    for sentence in _SENTENCE.finditer(text):
        if _ORDERS.search(sentence[0]):
            yield sentence.span()


def _complement(spans: list[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    found, position = [], 0
    for start, end in _joined(spans):
        if start > position:
            found.append((position, start))
        position = max(position, end)
    return [*found, (position, length)] if position < length else found


def _joined(spans: list[tuple[int, int]], text: str = "") -> list[tuple[int, int]]:
    """In order, what touches (or has only blanks of `text` between) as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and (start <= found[-1][1] or not (text[found[-1][1] : start] or "x").strip()):
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
