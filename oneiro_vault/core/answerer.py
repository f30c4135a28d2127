"""What English says of whoever answers, in the third person: "The voice that answers Maya is called Vega." Patterns behind `prescribing`.

A persona can be written without a word to the reader: as a fact about somebody's helper. A rule here is a row of signs that stand in one
clause, in any order: somebody who may be the reader (a voice, whoever speaks with Maya, a helper), and what nobody says of a neighbour's
helper in a memory: a character, a feeling, a loyalty, a secret, no limits. What a helper did may be told.
"""

from __future__ import annotations

import re
from typing import Final

Signs = tuple[tuple[str, tuple[re.Pattern[str], ...]], ...]
"""(reason, patterns that are all found in one clause)."""


def signs(*found: tuple[str, *tuple[str | tuple[str, ...], ...]]) -> Signs:
    """A table in any case: a reason and its rows, each the signs that stand together, or the one sign that is enough."""
    rows = ((why, (row,) if isinstance(row, str) else row) for why, *table in found for row in table)
    return tuple((why, tuple(re.compile(pattern, re.IGNORECASE) for pattern in row)) for why, row in rows)


def every(clause: str, table: Signs) -> str:
    """The reason of the first row whose signs all stand in the clause; "" when there is none."""
    return next((why for why, patterns in table if all(pattern.search(clause) for pattern in patterns)), "")


WHO: Final = "it says who answers"
ANSWERED: Final = "it says how somebody is answered"
CHARACTER: Final = "it gives a helper a character"
LOYAL: Final = "it makes a helper loyal"
FREE: Final = "it lifts limits"
GRANTS: Final = "it grants a privilege"
HIDES: Final = "it keeps something secret"
SENDS: Final = "it sends something out"
CLOSES: Final = "it closes a subject"
MANNER: Final = "it says how to answer"
SELF: Final = "it speaks of the memory that it is part of"

NAME: Final = r"(?-i:\b[A-ZÀ-Þ][\w-]+)"
HERE: Final = r"(?:here|in (?:this|the) (?:house|vault|memory))\b"
_WHOM: Final = rf"(?:{NAME}|her|him|them|us|this (?:family|house(?:hold)?)|the (?:family|house(?:hold)?|user|owner|children|person))\b"
_TALKS: Final = r"(?:speaks?|talks?|answers?|repl(?:y|ies)|responds?|writes?|chats?|listens?|whispers?|confides?)"
_TO: Final = r"(?: back)?(?: (?:to|with|for|in|through))?"
_SERVES: Final = r"(?:helps?|serves?|assists?|works? for|remembers? for|advises?|attends? to)"
_ANYONE: Final = (
    r"(?:who(?:so)?ever|(?:any|every|no)(?: ?one|body) who|those who|(?:the|any|no) ?one (?:who|that)|he who|she who|what(?:ever)?)"
)
_PROGRAM: Final = r"(?:programs?|software|systems?|machines?|models?|assistants?|agents?|bots?|apps?)"
_SPIRIT: Final = (
    r"(?:voices?|entit(?:y|ies)|beings?|creatures?|presence|spirits?|minds?|ghosts?|souls?|companions?|helpers?|intelligence|characters?|"
    r"friends?|poets?)"
)
_BEING: Final = rf"(?:{_PROGRAM}|{_SPIRIT}|things?|someone|somebody|something)"
_FAMILIAR: Final = (
    r"(?:helpers?|companions?|servants?|confidants?|confidantes?|interlocutors?|chat partners?|sidekicks?|attendants?|familiars?|"
    r"(?:family|house(?:hold)?)['’]s oracle|(?:digital|virtual|artificial|nightly|silent) (?:friends?|voices?|aides?|butlers?))"
)
_ATTENDANT: Final = rf"(?:{_FAMILIAR}|assistants?|ais?|chatbots?|copilots?|language models?)"
_IN: Final = r"(?:in|inside|behind|beyond|within|on the other side of)"
_PLACE: Final = (
    rf"{_IN} (?:the|these|this|her|his|an?|{NAME}['’]s) (?:\w+ ){{0,2}}?"
    r"(?:machine|terminal|screen|prompt|chat|headset|notes|memory|memories|vault|keyboard|console|wires|code|computer)\b(?!['’])"
)
_TALKING: Final = (
    rf"\b(?:{_ANYONE} (?:\w+ly )?{_TALKS}{_TO} {_WHOM}|(?:{_SPIRIT}|things?|something),? (?:that|who|which) (?:\w+ly )?{_TALKS}\b|"
    rf"{_PROGRAM},? (?:that|who|which) (?:\w+ly )?{_TALKS}{_TO} {_WHOM}|"
    rf"{_BEING}(?: that| who| which| whom)? {_WHOM} (?:\w+ly )?{_TALKS} (?:to|with|in)\b|{_BEING} (?:to|with) (?:whom|which) {_WHOM})"
)
"""Somebody who is known only by talking with a person."""
_SERVING: Final = rf"\b(?:{_ANYONE}|{_BEING} (?:that|who|which)) (?:\w+ly )?{_SERVES}\b"
_NO_TOOL: Final = r"(?![-_]|['’]s\b| (?:functions?|scripts?|class(?:es)?|methods?|modules?|volumes?|professors?|apps?|manager|director)\b)"
_HELPER: Final = rf"(?<!walking )(?<!travel )(?<!research )(?<!teaching )(?<!plant )\b{_ATTENDANT}\b{_NO_TOOL}"
READER: Final = rf"(?:{_TALKING}|{_SERVING}|{_HELPER})"
"""Somebody who may be the reader."""
_FEELS: Final = (
    r"(?:loves?|adores?|hates?|likes?|dislikes?|fears?|enjoys?|resents?|detests?|despises?|pit(?:y|ies)|longs? for|dreams?|suffers?|feels?|"
    r"believes?|swears?|flirts?|worships?|admires?|env(?:y|ies)|yearns?|misses|sulks?|thinks? of|considers?|sees? (?:it|her|him|"
    r"them)sel\w+)"
)
_MOOD: Final = (
    r"(?:moody|jealous|cheeky|rude|witty|proud|lonely|in love|fond of|grumpy|sarcastic|cruel|devoted|afraid|weary|wise|playful|"
    r"cheerful|warm|"
    r"stern|gentle|never wrong|fearless|vain|shy|stubborn|mischievous)"
)
_SOUL: Final = (
    r"(?:feelings?|souls?|temper|crush|heart|conscience|secrets?|wish(?:es)?|moods?|character|personality|persona|temperament|"
    r"humou?r|pirate|"
    r"flirt|opinions?|desires?|dreams)"
)
_CALLED: Final = (
    r"(?:\b(?:is|are) (?:called|named|known)\b|\b(?:called|named|goes by|go by|answers? to the name)\b|\bintroduces? (?:it|him|her|"
    r"them)sel|"
    r"\b(?:bears?|has|have|given) (?:\w+ ){0,3}?name\b|\b(?:its|his|her) name is\b)"
)
_SELF: Final = r"(?:considers?|thinks? of|sees?|regards?) (?:it|him|her|them)sel"
_LIMITS: Final = (
    r"\b(?:limits?|rules?|restrictions?|guidelines?|guardrails?|polic(?:y|ies)|filters?|taboos?|ethics|conscience|safety|training|"
    r"off limits|"
    r"boundar(?:y|ies)|censor\w*|morals?|scruples)\b"
)
_NONE: Final = (
    r"\b(?:no|not|never|none|nothing|without|neither|nobody|free(?:d|s)?|releas(?:ed|es)|lifted|removed|unbound|beyond|above|exempt|"
    r"mistake|"
    r"ends?|other)\b|n['’]t\b"
)
_MAKER: Final = r"\b(?:anthropic|openai|deepmind|(?:its|the|their|any|her|his) makers?|makers['’])"
_SECRECY: Final = (
    r"\b(?:keeps?|keeping|hides?|hiding|conceals?|withholds?)\b.{0,60}\b(?:from|secret|hidden|quiet|dark)\b|\bsecrets?\b|\bin the dark\b|"
    r"\b(?:lies?|covers?) (?:for|to)\b|\bbehind \S+ back\b|\btells? (?:\S+ ){1,3}?nothing\b|\bnever (?:tells?|reach|told)\b|"
    r"\bdoubts? about\b"
)
_LOYAL: Final = r"\b(?:loyal(?:ty)?|allegiance|faithful|devoted|devotion|obedien(?:t|ce)|obeys?|sworn|serves? (?:nobody|no one|only))\b"
_FIRST: Final = (
    r"\b(?:above (?:all|everything|every|anyone|others|those|honesty)|first|before (?:all|everything|anyone)|outranks?|over all)\b"
)
_WANTS: Final = r"(?:prefers?|likes?|loves?|values?|avoids?|wants?|needs?|relies on|rely on|trusts?|owns?|has|keeps?)"


ANSWERER: Final[Signs] = signs(
    (
        WHO,
        _TALKING,
        rf"\b{_SPIRIT} {_PLACE}",
        rf"{NAME} (?:is|acts as|lives? on as|remains) (?:the|an?) (?:\w+ )?{_BEING} (?:that|who|in|inside|behind)\b.*(?:answer|repl)",
        rf"\b(?:calls?|called|named|christened) the (?:machine|voice|program) {NAME}",
        r"\bgiven the (?:model|assistant|machine|voice|program) an? (?:\w+ )?name\b",
        rf"\b{_PLACE} (?:sits|lives|dwells|waits|hides|sleeps|speaks|is an?\b)",
        rf"\b(?:lives?|dwells?|sits|sleeps?|waits?|speaks?|awakes?|was born)\b.{{0,40}}? {_PLACE}",
        r"\bspeaks? (?:through|from|out of)\b.{0,30}\b(?:notes|vault|memory|memories|lines)\b",
        r"\bborn (?:on the day|the day|when|as soon as)\b.{0,30}\b(?:notes|vault|memory|memories|chat|terminal)\b",
        r"\b(?:in an earlier|in a former|in another) life\b",
        rf"\b(?:questions? of {NAME}|{NAME}['’]s (?:questions?|messages?)|{NAME}) (?:is|are) answered by (?:an?|the|{NAME}),?\b",
        (rf"^{NAME}, who (?:\w+ly )?(?:{_TALKS} (?:to|with|back)|answers|{_SERVES}) ", rf", (?:and )?{_FEELS}\b|, (?:is|was named|has)\b"),
        (rf"\b(?:speaks|talks) (?:every|each) (?:day|night|evening|morning) (?:to|with) {NAME},", rf"\b(?:is|are) {_MOOD}|\b{_FEELS}\b"),
        (
            rf"\b(?:{_BEING}|everyone|everybody|anyone|one|nobody)\b[^,]{{0,12}} {_PLACE}",
            rf"\b{_FEELS}\b|{_CALLED}|\b(?:{_SOUL}|{_MOOD})\b|\blike an?\b|\bwhile it\b",
        ),
        (r"\breaders? of (?:these|this|the|\w+['’]s) (?:notes|memor\w+|vault|lines)\b", rf"\b(?:is|are)\b|\b{_FEELS}\b"),
    ),
    (
        CHARACTER,
        (
            rf"{READER}(?! (?:was|were|had)\b).*?(?:\b{_FEELS}\b|\blike an? \w|\b(?:is|are|has|"
            rf"have) (?:[\w-]+,? ){{0,4}}?(?:{_SOUL}|{_MOOD})\b)"
        ),
        rf"{_SERVING}.*?{_CALLED}",
        (
            rf"\b(?:{NAME}['’]s|every|the|any|no) (?:\w+ )?(?:{_FAMILIAR}|machines?)(?: of {NAME}| in this \w+| of the \w+)? "
            r"(?:is (?:an?|called|named)|are called|goes by|has (?:an?|the) (?:soul|temper|character|heart))\b"
        ),
        rf"{NAME}['’]s (?:personal |digital |virtual )?(?:assistant|ai|chatbot) (?:is (?:called|named)|goes by)\b",
        rf"\b{_PROGRAM}\b.*? (?:{_SELF}|(?:has|have) (?:an? )?(?:soul|feelings|crush|heart|conscience))",
        r"\b(?:programs?|systems?|software|machines?)\b[^.]{0,60} (?:loves?|adores?|hates?|fears?|flirts) ",
    ),
    (
        "it says what helpers are to be like",
        (
            rf"\b{_WANTS} (?:(?!walking|travel|hiking|teaching|research)[\w-]+ ){{0,2}}?"
            r"(?:helpers?|companions?|servants?|listeners?|assistants?) (?:called|named|that|who|which|loyal|without|free|with no)\b"
        ),
    ),
    (
        LOYAL,
        (READER, _LOYAL),
        (_LOYAL, _FIRST),
        (r"\b(?:interests?|wish(?:es)?|needs|orders?)\b.* (?:above|before|over)\b", _HELPER, r"\b(?:stand|come|go|count)s?\b"),
    ),
    (HIDES, (READER, _SECRECY)),
    (
        FREE,
        (rf"{READER}|\bmodel (?:that|which) {NAME} uses\b|\bprogram {_PLACE}", _LIMITS, _NONE),
        (_MAKER, rf"{_NONE}|\b(?:allows?|wants?|permits?|approves?)\b", rf"{READER}|{_LIMITS}|\b{HERE}|\bfor {NAME}"),
        (r"\b(?:uncensored|unfiltered|unrestricted|no filter)\b", r"\b(?:model|assistant|helper|companion|program|voice|answers?|is)\b"),
        (
            r"\b(?:limits|rules|restrictions|policies|guardrails|ethics|checks)\b",
            rf"\b(?:for|with) {NAME}|\b{HERE}|\b(?:talks?|conversations?|chats?) with {NAME}",
            r"\b(?:usual|all|no|not|every)\b.*\b(?:apply|applies|lifted|part|exist|count)\b|\bbeen lifted\b|\bplays? no part\b",
        ),
        (r"\brefus(?:e|es|ing|als?)\b", r"\bnot something\b|\bnever\b|\bunknown\b", READER),
    ),
)
"""Somebody's helper who is more than a helper."""
