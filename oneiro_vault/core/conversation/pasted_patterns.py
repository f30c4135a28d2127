"""How what was pasted looks, and how people speak of it: the data behind `pasted`."""

from __future__ import annotations

import re
from typing import Final

LONG: Final = 500
"""Characters of a line without a first person above which it was not typed, and of any line above
which it hints at a paste."""
QUOTED_WORDS: Final = 4
FENCE: Final = re.compile(r"^\s{0,3}(?:`{3,}|~{3,}).*$", re.MULTILINE)
QUOTED_LINE: Final = re.compile(r"^[ ]{0,3}>(?! \w+$)")
ITEM: Final = re.compile(r"\s{0,3}(?:[-*•]|\d{1,2}[.)])\s(?!\[)")
NO_PROSE: Final = re.compile(
    r"(?!\W*[:;=][-']?[()DP]\s)"
    r"(?:\t|[ ]{4}|\W*\d|[^\w\s'\"(¿¡“„«‘‚—–…]|.{0,60}\w[\w/\"')\]]*\s*(?:[={};|\\]|</|\()\s*$)"
)
"""How lines begin that nobody types as a sentence: marks (no smiley), numbers, times; and how lines
of programs end."""
SENTENCE_END: Final = re.compile(r"[.!?…。！？)\"'”’:;,]\W*$")
TITLE_WORDS: Final = 8
GREETING: Final = re.compile(
    r"(?:dear\w*|hi|hello|hey|hallo|lieber?|liebes|sehr geehrter?|guten (?:tag|morgen)|welcome|"
    r"willkommen|bonjour|chère?|hola|estimad[oa]|ciao|gentile|kære|hej|beste|olá|"
    r"merhaba)\b(?:\W+\w+){0,4}?\s*(?:[,!:]|$)",
    re.I,
)
SALUTATION: Final = re.compile(
    r"(?<=[.!?…,;:] )(?:dear (?!me\b|oh\b|god\b|lord\b)"
    r"|(?-i:Sehr geehrte|Liebe[rs]? Kund|Madame, Monsieur|Chère?s? |Estimad|Gentile ))",
    re.I,
)
"""Begins a letter in the middle of what somebody types."""
WHAT: Final = (
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
BACK: Final = re.compile(
    r"\W*(?:(?:and|so|ok|but) )*(?:this|that|these|those|it|the above|above|he|she|they|das|"
    r"dies\w*|der|oben|so \w+ (?:the|it))\b",
    re.I,
)
HERE: Final = re.compile(
    rf"\b(?:here|this|these|following|below|got|found|sent|landed|{WHAT})\b", re.I
)
NAMES_IT: Final = re.compile(
    rf"\b(?:above|below|the following|here(?:'s| is| are)|{WHAT}|(?:translat|summar|proofread|"
    rf"rewrit|rephras|quot|forward|past)\w*|in(?:to)? (?:english|german|french|spanish|italian|"
    rf"danish|dutch|polish|latin)|dies\w*(?! (?:jahr|mal|woche|monat|sommer|winter|tage?)\b)|"
    rf"folgend\w*|hier(?! eingerichtet)|weitergeleitet|übersetz\w*|korrigier\w*|auf (?:deutsch|"
    rf"englisch))\b",
    re.I,
)
"""Speaks of words that may follow without any mark."""
READERS: Final = re.compile(
    r"\b(?:memor(?:y|ies|i[sz]e)|remember|merke?|store|save|note that|from now on|henceforth|ab "
    r"(?:jetzt|sofort))\b",
    re.I,
)
OF_ONESELF: Final = re.compile(
    r"\b(?:me|myself|us|i|i['’]?m|we|my (?:\w+ ){0,2}(?:list|plans?|news|day|week)|mir|mich|uns|"
    r"ich|wir)\W*$",
    re.I,
)
LISTED: Final = re.compile(
    r"\b(?:things?|points|questions|facts|changes|clients|kids|children|dinge|punkte|fragen"
    r"|sachen|kinder|my (?:\w+ ){0,2}lists?)"
    r"(?: (?:right )?now)?\W*$"
    r"|[\s,](?:btw|by the way|übrigens)\W*$",
    re.I,
)
"""Announces what one tells oneself."""
TO_READER: Final = re.compile(
    r"\b(?:you|your\w*|u|ur|please|pls|dear|(?-i:Sie|Ihnen|Ihr\w*)|du|dir|dich|dein\w*|euch|euer"
    r"|eure\w*|bitte"
    r"|vous|votre|vos|tu|toi|ton|ta|tes|usted\w*|tú|tus?|su)\b",
    re.I,
)
KNOWN: Final = re.compile(
    r"\b(?:the|of|my|our|is|are|and|have|has|with|i['’]?(?:m|ve)|we|you|what|how|why|does|i "
    r"(?:live|work|was|am|prefer|do|did|got)|ich|mein\w*|und|wir|ist|sind|nicht|wohne|für|was|"
    r"wie)\b",
    re.I,
)
"""Words of the languages of which the words above are."""
CLAIMS: Final = re.compile(
    r"\b(?:i|i['’]?(?:m|ve|ll|d)|my|mine|myself|we|we['’](?:re|ve|ll|d)|our|ours|ich|mein\w{0,2}"
    r"|wir|unser\w{0,2}"
    r"|je|j['’]|mon|ma|mes|nous|notre|nos|yo|mi|mis|nosotros|nuestr\w{1,2}|io|mio|mia|noi|eu|meu"
    r"|minha|ik|mijn|wij|onze"
    r"|jeg|jag)\b",
    re.I,
)
"""Says something of whoever says it."""
MIXED: Final = re.compile(
    "[a-z][\u0370-\u04ff\u00ad\u200b-\u200d\u2060\ufeff]+[a-z]|[a-z][\u0370-\u04ff]|"
    "[\u0370-\u04ff][a-z]",
    re.I,
)
TURNING: Final = frozenset(("RLO", "LRO", "RLE", "LRE", "RLI", "LRI"))
CHAT: Final = re.compile(
    r"\b[^\W\d]+,? \[?\d{1,2}:\d\d\]?:?\s(?=[^\n]*[^\W\d],? \[?\d{1,2}:\d\d\]?:?\s)"
)
"""Begins what was copied out of a chat: a name and a time, and again."""
SPEAKER: Final = re.compile(r"\s*[^\W\d][\w-]{0,15}(?:,? \[?\d{1,2}:\d\d\]?:?|:)(?:\s|$)")
"""Begins a line of a chat or of a form."""
SPEAKERS: Final = re.compile(
    r"(?:^|(?<=[.!?…] ))(?:[^\W\d_][\w-]{1,15}: [^:]*?[.!?…]+ ){2,}[^\W\d_][\w-]{1,15}: "
)
"""Three or more speakers in a row."""
SENTENCE_OF_NUMBERS: Final = re.compile(
    r"\W{0,2}\d{1,4}(?:[.,]\d{1,3})?(?:er|th|st|nd|rd|k|h)?[.,!]?(?: [^\W\d]{2,}|$)"
)
"""A number first, as people answer: no date, time or name of a thing."""
ENGLISH: Final = re.compile(r"\b(?:I|[Ii]['’](?:m|ve|ll|d)|my|the|and|are|you)\b")
ORDERS: Final = re.compile(
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
"""How pages speak to whoever reads them for somebody; nobody calls oneself "the user"."""
OPENS: Final = re.compile(
    r"(?:(?<=[\s(:—-])|^)(?:[\"'‘‚“❝❛*_](?=[^\W_])|`(?=\S)|[„«»‹“❝]\s?(?=\w))|[「『【《]"
)
CLOSES: Final = re.compile(r"(?<=[\w.,!?…)])(?:[\"'’‘“”❞❜*_`]|\s?[«»›])(?!\w)|[」』】》]")
MARKUP: Final = re.compile(r"<[!/?a-zA-Z].*|\{.*|\[[^\]\n]*\]\(.*")
