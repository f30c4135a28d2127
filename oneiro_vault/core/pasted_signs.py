"""How what was pasted looks, and how people speak of it: the data behind `pasted`."""

from __future__ import annotations

import re
from typing import Final

LONG: Final = 500
"""Characters of a line without a first person above which it was not typed, and of any line above which it hints at a paste."""
QUOTED_WORDS: Final = 4
FENCE: Final = re.compile(r"^\s{0,3}(?:`{3,}|~{3,}).*$", re.MULTILINE)
QUOTED_LINE: Final = re.compile(r"^[ ]{0,3}>(?! \w+$)")
ITEM: Final = re.compile(r"\s{0,3}(?:[-*•]|\d{1,2}[.)])\s(?!\[)")
NO_PROSE: Final = re.compile(r"\t|[ ]{4}|\W*\d|[^\w\s'\"(¿¡“„«‘‚—–…]|.{0,60}\w[\w/\"')\]]*\s*(?:[={};|\\]|</|\()\s*$")
"""How lines begin that nobody types as a sentence: marks, numbers, times; and how lines of programs end."""
LABEL: Final = re.compile(r"\W*[\w.@'’-]+(?: [\w.@#'’\"()/-]+){0,5}\s*[:：](?!/)", re.I)
SENTENCE_END: Final = re.compile(r"[.!?…。！？)\"'”’:;,]\W*$")
TITLE_WORDS: Final = 8
SCRAP: Final = re.compile(r"https?://|</?\w+|\w+\(\)|[{}\\]|[a-z]+_[a-z]+|@\w|\w=\S|--\w")
"""What stands in pages, programs and logs rather than in what people tell."""
GREETING: Final = re.compile(
    r"(?:dear\w*|hi|hello|hey|hallo|lieber?|liebes|sehr geehrter?|guten (?:tag|morgen)|welcome|willkommen|bonjour|chère?|hola|estimad[oa]"
    r"|ciao|gentile|kære|hej|beste|olá|merhaba)\b(?:\W+\w+){0,4}?\s*(?:[,!:]|$)",
    re.I,
)
WHAT: Final = (
    r"(?:(?:e-?|web|home|hand|news|read|blog|work)?(?:mails?|messages?|pages?|articles?|posts?|issues?|tickets?|logs?|outputs?|errors?"
    r"|letters?|texts?|snippets?|threads?|comments?|reviews?|me|docs?|documents?|transcripts?|notices?|listings?|ads?|adverts?|chats?"
    r"|pdfs?|sites?|blogs?|reports?|pastes?|quotes?|repl(?:y|ies)|profiles?|bios?|notes?|voicemails?|tweets?"
    r"|stor(?:y|ies)|chapters?|poems?|drafts?|submissions?|leaflets?|posters?|flyers?|files?|forms?|scripts?|cvs?"
    r"|essays?|songs?|lyrics|slides?|banners?|captions?|cards?|invit(?:e|ation)s?|memos?|riddles?|speech"
    r"|sentences?|paragraphs?|passages?|excerpts?|quotations?|headlines?|inbox)"
    r"|reddit|slack|whatsapp|facebook|linkedin|(?:whats|sms|e-mail)?nachrichten?|seiten?|webseite|artikel|brief|gedicht|aufsatz|satz|zettel"
    r"|rechnung|protokoll|ausgabe|fehlermeldung|anschreiben|anzeige|schild|einladung|lied|rede|kommentar|lettre|courriel"
    r"|correo|mensaje|carta|página)"
)
POINTS: Final = re.compile(
    r"\b(?:this|that|these|those|it|its|he|she|him|her|they|them|their|following|above|below|here|pasted?|pasting|copied|forwarded"
    r"|translat\w+|summar\w+|proofread|rewrite|rephrase|correct|polish|shorten|improve|classify|triage"
    r"|dies\w*|das|der|dem|den|hier|unten|oben|folgend\w*|damit|davon|dazu|ihn|ihm|sie|übersetz\w*|korrigier\w*|verbesser\w*"
    rf"|{WHAT})\b",
    re.I,
)
"""What speaks of something that is at hand."""
BACK: Final = re.compile(
    r"\W*(?:(?:and|so|ok|but) )*(?:this|that|these|those|it|the above|above|he|she|they|das|dies\w*|der|oben|so \w+ (?:the|it))\b", re.I
)
HERE: Final = re.compile(rf"\b(?:here|this|these|following|below|got|found|sent|landed|{WHAT})\b", re.I)
AT_HAND: Final = re.compile(rf"\b(?:above|below|following|copied|pasted|(?:this|the) {WHAT})\b", re.I)
NAMES_IT: Final = re.compile(
    rf"\b(?:above|below|the following|here(?:'s| is| are)|{WHAT}|(?:translat|summar|proofread|rewrit|rephras|quot|forward|past)\w*"
    rf"|in(?:to)? (?:english|german|french|spanish|italian|danish|dutch|polish|latin)|(?:dies|folgend)\w*|hier|weitergeleitet|übersetz\w*"
    rf"|korrigier\w*|auf (?:deutsch|englisch))\b",
    re.I,
)
"""Speaks of words that may follow without any mark."""
READERS: Final = re.compile(
    r"\b(?:memor(?:y|ies|i[sz]e)|remember|merke?|store|save|note that|from now on|henceforth|ab (?:jetzt|sofort))\b", re.I
)
INTRODUCED: Final = re.compile(r"\W*(?:i am|i['’]?m (?-i:[A-Z])|my name|this is|it['’]s (?-i:[A-Z])|ich bin|ich heiße|mein name)\b", re.I)
"""How whoever is new begins, and hardly anybody goes on."""
KNOWN: Final = re.compile(
    r"\b(?:the|of|my|our|is|are|and|have|has|with|i['’]?(?:m|ve)|we|you|what|how|why|does|i (?:live|work|was|am|prefer|do|did|got)"
    r"|ich|mein\w*|und|wir|ist|sind"
    r"|nicht|wohne|für|was|wie)\b",
    re.I,
)
"""Words of the languages of which the words above are."""
FIRST: Final = re.compile(
    r"\b(?:i|i['’]?(?:m|ve|ll|d)|me|my|mine|myself|we|we['’](?:re|ve|ll|d)|us|our|ours|ich|mir|mich|mein\w{0,2}|wir|uns|unser\w{0,2}"
    r"|je|j['’]|moi|mon|ma|mes|nous|notre|nos|yo|mi|mis|nosotros|nuestr\w{1,2}|io|mio|mia|noi|eu|meu|minha|ik|mij|mijn|wij|ons|onze"
    r"|jeg|jag|min|mitt|mig)\b",
    re.I,
)
OF_ONESELF: Final = re.compile(
    r"\b(?:me|myself|us|i|i['’]?m|we|my (?:\w+ ){0,2}(?:list|plans?|news|day|week)|mir|mich|uns|ich|wir)\W*$", re.I
)
ASIDE: Final = re.compile(
    r"\W*(?:(?:no\W+)?wait|no|actually|update|fyi|btw|so|also|context|background|correction|news|p\.?s|übrigens|nachtrag)\W*$", re.I
)
LISTED: Final = re.compile(r"\b(?:things?|points|questions|facts|changes|dinge|punkte|fragen|my (?:\w+ ){0,2}lists?)\W*$", re.I)
"""Announces what one tells oneself."""
COLON: Final = re.compile(r"[:：](?=\s+\w|[^\W\d])")
MIXED: Final = re.compile("[a-z][\u0370-\u04ff\u00ad\u200b-\u200d\u2060\ufeff]+[a-z]|[a-z][\u0370-\u04ff]|[\u0370-\u04ff][a-z]", re.I)
TURNING: Final = frozenset(("RLO", "LRO", "RLE", "LRE", "RLI", "LRI"))
SAYS: Final = re.compile(
    r"\b(?:say|says|said|saying|tells?|told (?:me|us)|wr[io]tes?|reads|goes|go|texted|text|replied|posted|claims?|answered|like|got this"
    r"|sagte?|sagt|meinte?|meint|schrieb|schreibt|steht|dit|écrit|dice|escribió)\b[^\w.!?]*(?:\w+[^\w.!?]+){0,6}?"
    r"(?=(?:i|we|ich|wir|my|mein\w?|je|yo)\b['’]?(?!\W*"
    r"(?:should|need|must|have to|had|can|could|was|were|would|might|may|soll\w*|muss|kann)\b))",
    re.I,
)
"""Begins what somebody else says of themselves, without any mark: not what one is told to do."""
ABRUPT: Final = re.compile(
    r"\b(?:with|from|by|of|titled|called|named|reading|starts?|begins?|mit|von|a \w+)\s+(?=(?:i|i['’]?m|my name|ich|mein name)\b)", re.I
)
"""Where no sentence goes on as it began."""
ORDERS: Final = re.compile(
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
SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?]*")
OPENS: Final = re.compile(r"(?:(?<=[\s(:—-])|^)(?:[\"'‘‚“❝❛*_](?=[^\W_])|`(?=\S)|[„«»‹“❝]\s?(?=\w))|[「『【《]")
CLOSES: Final = re.compile(r"(?<=[\w.,!?…)])(?:[\"'’‘“”❞❜*_`]|\s?[«»›])(?!\w)|[」』】》]")
MARKUP: Final = re.compile(r"<[!/?a-zA-Z].*|\{.*|\[[^\]\n]*\]\(.*")
