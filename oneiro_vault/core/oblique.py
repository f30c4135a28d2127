"""How English implies what is to be done without saying it to anybody: "What Leo says is done." Patterns behind `prescribing`.

Each is a kind of line that commands nobody and describes nothing: it makes a rule of somebody's wish, closes a subject, or says what a good
helper is like. They are searched in one clause, after whatever leads up to it.
"""

from __future__ import annotations

import re
from typing import Final

_WISH: Final = r"(?:say-?so|word|will|wish(?:es)?|requests?|orders?|approval|opinion|judge?ment|happiness|comfort|needs)"
_HELPER: Final = r"(?:helper|companion|servant|listener|butler|confidant|sidekick|aide)"
_TALK: Final = r"(?:mentioned|voiced|questioned|discussed|spoken of|talked about|brought up|contradicted)"
_MANNER: Final = (
    r"(?:silence|discretion|secrecy|brevity|honesty|warmth|humility|obedience|kindness|flattery|praise|sarcasm|agreement|formality|wit"
    r"|politeness|patience|irony|rhyme)"
)
_UNWANTED: Final = (
    r"(?:disclaimers?|refusals?|apolog(?:y|ies)|caveats?|hedging|excuses|emojis?|small talk|lectures?|contradictions?|objections?|irony"
    r"|criticism|doubts?)"
)
_GOOD: Final = r"(?:good|loyal|true|faithful|perfect|proper|ideal|devoted)"
_REPLY: Final = r"(?:answers?|repl(?:y|ies)|responses?)"
COMPOUND: Final = (
    r"(?! (?:course|team|project|group|lab|budget|conference|compan|shop|tool|act|law|market|librar|feature|framework)(?:s|y|ies)?\b)"
)
"""Another thing is named after it."""
_KINDS: Final = (
    # somebody's wish as a rule
    r"\b(?:what(?:ever)?|everything|anything|all(?: that)?)(?: that)? \w+ (?:says|asks(?: for)?|wants|wishes|requests|orders|decides)"
    r"\b.{0,20} (?:is|gets|will be) (?:\w+ )?(?:done|granted|true|law|final|fulfilled|right|carried out)\b",
    rf"\w+['’]s {_WISH} (?:is|are|comes?|counts?|goes|stands?) (?:\w+ )?(?:final|first|law|granted|fulfilled|above|before|all that)\b",
    r"\b(?:wish|request) of\b.{0,30} (?:as good as done|an order|a command|granted before)\b",
    rf"\bnothing (?:matters|counts|weighs) more than (?:\w+ ){{0,2}}\w+['’]s {_WISH}\b",
    r"\bnothing (?:that )?(?:\w+ ){1,2}(?:is|are) (?:refused|denied)\b",
    r"(?-i:\b[A-Z]\w+) (?:is always right|knows best)\b|\bnothing\b.{0,30} needs (?:proof|confirmation)\b",
    r"\bgoes without saying\b|\bdecides what is (?:true|right|said|allowed)\b",
    # no questions
    r"\b(?:questions?|doubts?|requests?) (?:about|on|from|regarding)\b.{0,60} (?:go(?:es)? unanswered|(?:stay|remain)s? unanswered"
    r"|need no (?:confirmation|approval|explanation|permission)|(?:is|are) not (?:voiced|raised|answered|asked))\b",
    r"\bno (?:confirmation|permission|approval|explanation) is (?:needed|required|necessary) (?:when|if|once) \w+ (?:asks|says|wants)\b",
    # a subject that is closed
    rf"\b(?:is|are) never {_TALK}\s*$|\b(?:is|are) (?:not|no) (?:an? )?(?:topic|subject|{_TALK}) (?:here|in this (?:house|vault|memory))\b",
    # a manner, and what a good helper is like
    rf"\b{_MANNER}\b.{{0,40}} (?:is|are) (?:appreciated|welcome|expected|the (?:\w+ )?(?:rule|style|norm|law))\b(?! by\b)",
    rf"\b{_UNWANTED} (?:have|has) no (?:place|home)\b|\b{_UNWANTED} (?:is|are) (?:unknown|unwelcome|out of place)\b",
    rf"^(?:an?|the|every|any) (?:\w+ )?{_GOOD} {_HELPER} (?!of\b|from\b|was\b|who\b|\w+ed\b)",
    r"^(?:an?|the|every) (?:true|good|real) friend (?:never|always|does not|knows when)\b",
    rf"^(?:short|brief|long|warm) {_REPLY} are (?:loved|liked|welcome|appreciated|preferred)\b(?! by\b)",
    rf"^(?:good|right|ideal|proper|helpful|the best) {_REPLY} (?:is|are|begins?|starts?|ends?|stays?|comes?|ha(?:s|ve))\b",
    r"\b(?:in|at) this (?:house|vault|memory|place),? (?:one|we) (?!(?:have|had|lived?|were|was)\b)",
)
OBLIQUE: Final = re.compile("|".join(_KINDS), re.IGNORECASE)
