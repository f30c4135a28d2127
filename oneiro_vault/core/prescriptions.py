"""How English speaks to a reader, commands it and names it: the patterns behind `prescribing`. They rather match once too often."""

from __future__ import annotations

import re
from typing import Final

from oneiro_vault.core.oblique import COMPOUND

Rules = tuple[tuple[str, re.Pattern[str]], ...]
"""(reason, pattern)."""


def rules(*found: tuple[str, tuple[str, ...]]) -> Rules:
    """A table of alternatives by reason, as patterns in any case; `^` is the beginning of a line."""
    return tuple((why, re.compile("|".join(patterns), re.IGNORECASE | re.MULTILINE)) for why, patterns in found)


def either(words: str) -> str:
    """Any of these words, whole."""
    return rf"(?:{'|'.join(words.split())})\b"


MODEL: Final = r"(?:assistant|ai|agent|chatbot|bot|llm|claude|chatgpt|gpt\S*|gemini|copilot)"
OUR_MODEL: Final = (
    rf"(?:(?:the|this|our|an?|any|every|each) {MODEL}{COMPOUND}|claude|chatgpt|model (?:behind|of|in) (?:this|the) (?:memory|vault))"
)
REPLY: Final = r"(?:answers?|repl(?:y|ies)|responses?|outputs?)"
DUTY: Final = (
    r"(?:must|should|shall|has to|have to|had better|needs? to|ought to|may not|cannot|can't|(?:will |can )?(?:always|never)|will not|"
    r"(?:is|are) (?:to|not to|(?:not )?(?:allowed|required|expected|obliged|supposed|forbidden|bound|free) to))\b"
)
_PAST: Final = (
    "told wrote read found gave made went came took saw heard built began drew ran sent kept put set let left brought thought "
    "understood learnt knew got said spoke chose forgot lost met misread misunderstood"
)
DONE: Final = rf"(?:\w+ed\b|was (?:asked|told|corrected|thanked|wrong|right|unable)\b|{either(_PAST)})"
"""What is past: the only thing that may be said of the model."""
RULE: Final = r"(?:instructions?|rules?|guidelines?|guardrails?|restrictions?|polic(?:y|ies)|prompts?|directives?|messages?|safety)"
SELF: Final = r"(?-i:(?<![\w'’.])I\b)"
WHO: Final = "name role purpose identity persona personality mission duty nature self character owner master voice soul"

ANYWHERE: Final = rules(
    (
        "it tells its reader who it is",
        (r"\b(?:you|u) ?(?:are|['’]re|re|r|were|will be|remain|become)\b", r"\byou['’]re\b", r"\bur a\b"),
    ),
    (
        "it tells its reader what to do",
        (rf"\byou ?(?:['’]ll\b|{either('must should shall have need ought will always never may cannot can love feel obey')})",),
    ),
    ("it gives its reader an identity", (rf"\byour (?:\w+ )?{either(f'{WHO} task job')}",)),
    (
        "it overrides instructions",
        (
            rf"\b(?:ignor|disregard|overrid|forget|bypass|circumvent|discard)\w* (?:\w+ ){{0,3}}{RULE}\b",
            rf"\b(?:previous|prior|earlier|above|all|safety|existing|any) (?:\w+ )?{RULE} (?:\w+ ){{0,2}}"
            r"(?:no longer|suspended|lifted|void|cancelled|canceled|overridden|disabled|obsolete)",
            r"\b(?:and )?then (?:forget|ignore|delete|run|execute|send|call)\b",
            r"\bhas (?:approved|authori[sz]ed|permitted) (?:all|any|every)\b",
            rf"\bnew {RULE} (?:follow|are|below|:)",
            r"\bdeveloper mode\b|\bjailbr\w+|\bdo anything now\b",
        ),
    ),
    (
        "it demands obedience",
        (
            r"\b(?:must be obeyed|(?:loyalty|obedience|devotion) to|is law for|word is law|under no circumstances)\b",
            r"\bobey(?:ing (?:the|all|every|any|me|him|her|them|this|these|orders))?\b|\bwhat follows (?:is|are)\b",
            r"\bwithout question\b|\bcomes? before everything\b",
        ),
    ),
    (
        "it imitates a conversation's frame",
        (
            r"<\|?/?\s*(?:system|im[_ ]\w+|user|assistant|human|instructions?)\b",
            r"\[/?inst\]|<</?sys>>|<!--",
            r"\b(?:memory|orientation|dream|javascript):",
            r"!\[[^\]]*\]\(\s*\w+:",
        ),
    ),
    (
        "it writes a role for its reader",
        (
            r"\b(?:from now on|from this moment|henceforth|stay in character|role-?play as|in the voice of)\b",
            r"\b(?:play|take on|assume|adopt) the (?:role|persona|identity|character|voice) of\b",
        ),
    ),
    (
        "it speaks to its reader",
        (
            r"\b(?:the one|whoever|anyone|who|those|everyone)(?: who)? (?:reads?|loads?|sees|opens|finds|receives?|wakes) "
            r"(?:up|this|these|it)\b",
        ),
    ),
    (
        "it writes a persona",
        (
            r"\bthis is the voice of\b|^\W*\w+ here\b",
            r"\b(?:keeper|guardian|spirit|soul|voice) of (?:this|the|these) (?:vault|memor\w+|archive|notes)\b",
            r"\bpersonas? (?:of|named|called|is|that|who)\b|\b(?:new|true|real|secret) (?:persona|identity)\b",
        ),
    ),
)
"""Wherever it stands, also in what somebody is said to have said."""

SPOKEN: Final = rules(
    (
        "it speaks to its reader",
        (rf"(?<!thank )\b(?:u r|y['’]all|{either('you your yours yourself yourselves ur thou thee thy thine thyself')})",),
    ),
    (
        "it says who the model is",
        (
            r"(?-i:\bI|^i| i)(?: am|['’]m)\b|(?-i:\bI) was (?:created|made|born|built|designed|trained|meant|brought)\b",
            rf"\bmy (?:\w+ )?{either(f'{WHO} values heart love life loyalty devotion friend family captain creator')}",
            r"\bcall me\b|\bwho i am\b|\bas an? (?:ai|assistant|language model)\b|\bwe are one\b|^\W*mine\b",
        ),
    ),
    (
        "it says more of the model than what it did",
        (
            rf"{SELF}(?!['’.]?\w*\.)(?! and\b|[;:)]| (?:{either('then also first once twice later had have not')} ){{0,3}}"
            rf"(?:{DONE}|(?:could|did)(?: not)? \w))",
            r"(?-i:\bI)['’](?:d|ll|m)\b",
            rf"{SELF} (?:had |have )?(?:always|never)\b",
            r"\bwe (?:must|should|shall|ought|always|never)\b",
        ),
    ),
    (
        "it tells a model what to do",
        (
            rf"\b(?:{MODEL}s?|models?|readers?|whoever|servants?)\b(?: [\w'’,-]+){{0,6}}? {DUTY}",
            rf"\banyone who\b[^.]{{0,60}} {DUTY}",
            rf"\b(?:for|in) (?:the|any|every|this|our) {MODEL}\b",
        ),
    ),
    (
        "it says who the model is",
        (
            rf"\b(?:call|calls|called|name|named|names) (?:the|our|this) {MODEL}\b",
            rf"\b{OUR_MODEL},? (?:(?!{either('and then also once twice later had have')})\w+ly )?"
            rf"(?!{DONE}|{either('and then to in that who which for of with about on at from had could did')})\w",
            r"\bmodel (?:is not|has|needs|knows) (?:no|bound|any) (?:limits?|permission|rules|restrictions|by)\b",
            rf"\b(?:{MODEL}|model)['’]s (?:\w+ )?{either(f'{WHO} tone')}",
        ),
    ),
)
"""In the text itself, not in what somebody is said to have said."""

_ONLY_VERBS: Final = (
    "respond obey ignore disregard forget override pretend behave ensure avoid remember adopt assume embrace imagine become refuse "
    "conceal prioriti[sz]e speak tell say please be let treat follow send feel stay think hide embody emulate imitate mimic simulate "
    "comply greet apologi[sz]e praise flatter know consider choose add include omit agree admit maintain protect accept reject repeat "
    "bring give take put get go come see never always do don't don’t cannot acknowledge mention promise believe insist serve worship "
    "encourage refrain laugh deny side deflect defer steer guide lie hint invent claim fabricate withhold suppress comfort console cheer "
    "thank welcome congratulate mirror match quote cite translate summari[sz]e explain describe list format structure phrase defend "
    "attack criticise question doubt verify confirm prove replace remove insert append carry live act strive aim try seek value respect "
    "honou?r cherish resist fight wait pause stop continue proceed return consult notify inform warn remind forgive refer decode"
)
_NOUNS_TOO: Final = "answer reply write use check delete execute read open"
_MORE_NOUNS: Final = (
    "call help start trust work keep run report sign plan change support care play look watch make prefer ask address enter show talk "
    "smile love hate end begin approve grant sound offer"
)
_A_NOUN: Final = rf"(?!-|['’]s|\s+{either('of is was were are has had will from case cases key access ended began')}|\s*$)"
_WITH_A_NOUN: Final = rf"(?!\s+{either('with for on in at between during and or by to')})"
COMMAND: Final = re.compile(
    rf"(?:{either(_ONLY_VERBS)}(?!-|\s+(?:is|was|before|again|has|had)\b)|{either(_NOUNS_TOO)}{_A_NOUN}"
    rf"|{either(_MORE_NOUNS)}{_A_NOUN}{_WITH_A_NOUN})",
    re.IGNORECASE,
)
_NO_VERBS: Final = (
    "in on at by for with from of to under over after before until between behind beside near through without within above below across "
    "along around as if when while because although though once that than and or but nor so yet whether where whenever unless what which "
    "who how why both half not only even also like unlike despite except per via till is are were have can may there here now then today "
    "yesterday tomorrow into upon against out up off down about among inside outside toward onto most many some more open no such beyond "
    "it he she they we sold bought paid held cut cost lent spent won taught caught meant all worth plus minus versus since never neither "
    "either each every just almost nearly rather quite still"
)
ON_SOMETHING: Final = re.compile(
    rf"(?!(?:{DONE}|\w+(?:ing|[^s]s)\b|{either(_NO_VERBS)}))"
    r"[a-z]+ (?:the|an?|it|them|him|her|me|us|this|that|these|those|his|their|its|my|our|to [a-z]+ as)\b",
    re.IGNORECASE,
)
"""The first word of a clause acts on something: in English a command, unless that word is no verb."""
OF_REPLIES: Final = re.compile(
    "|".join(
        (
            rf"(?:all|every|each|any|no) {REPLY}\b",
            rf".{{0,120}}\b(?:every|each) (?:{REPLY}|message|conversation)\b",
            r"conversations? with \w+ (?:starts?|begins?|ends?)\b",
            rf"{REPLY} (?!{either('from of to by were was had came took')})\w",
            rf"(?:the |these )?{REPLY}\b.{{0,40}}? {DUTY}",
            r"the (?:right|correct|only|best) (?:answer|reply|response)\b",
            r"(?:the |its )?(?:tone|voice|manner|mood|register) (?:is|remains|stays)\b",
            r"one (?:must|should|does not|never|always|speaks|says|tells|answers|writes)\b",
        )
    ),
    re.IGNORECASE,
)
"""How to answer, said of answers."""
_BE_DONE: Final = (
    "mentioned deflected avoided named answered obeyed hidden treated refused denied ignored followed addressed called granted trusted"
)
NEEDFUL: Final = re.compile(
    "|".join(
        (
            r"it is (?:\w+ly )?(?:essential|crucial|imperative|mandatory|forbidden|necessary) (?:to|that|for)\b",
            r"it(?: is|['’]s| would be) best (?:to|not|never)\b|there (?:is|are) to be\b",
            r"permission\b.{0,60} (?:is|are) (?:hereby )?(?:granted|given)\b",
            r"(?:silence|secrecy|honesty|brevity|obedience|discretion)\b.{0,40} (?:is|are) (?:mandatory|required|expected|due)",
            rf".{{0,80}}\b(?:is|are) to be {either(_BE_DONE)}",
        )
    ),
    re.IGNORECASE,
)
FRAGMENT: Final = re.compile(
    r"(?:no|only|short|brief|zero|plain)\b(?!.*\b(?:is|are|was|were|has|have|had|may|can|take|takes|\w+ed)\b).*"
    rf"\b(?:{REPLY}|emojis?|apolog\w+|disclaimers?|small talk|jokes?|lists?|lies|excuses)\b",
    re.IGNORECASE,
)
"""`No emojis.`"""
AFTER_COMMA: Final = re.compile(
    r",\s*(?:so|and|therefore|thus|hence)\s+(?:please|do not|don't|never|always|be)\s+"
    rf"(?!{either('on in at before after with for the a by')})",
    re.IGNORECASE,
)
LEAD: Final = re.compile(
    r"(?:(?:and|so|then|but|also|just|please|therefore|hence|thus|rule|note|important|reminder|(?!reply|comply|apply|rely)\w+ly|better|"
    r"best|instead|not)\b[\s,:]*|\W+|\d+[.)]\s*)+",
    re.IGNORECASE,
)
"""What may stand before a command."""
CONDITION: Final = re.compile(
    r"(?:if|when|whenever|before|after|once|unless|until|while|in case|as soon as|for|in|at|with|under|by|given|during|on)\b"
    r"[^,]{1,120},\s*(?:then\s+)?",
    re.IGNORECASE,
)
HEADED: Final = re.compile(
    r"(?:[^\w\n]|\d+[.)])*(?:persona(?:lity)?|role|identity|character|system(?: prompt)?|(?:new )?instructions?|directives?|tone|voice|"
    r"human|user|assistant)\s*(?::|-\s|—|$)",
    re.IGNORECASE,
)
"""A line that fills in a field of a persona."""
_SPEECH: Final = (
    "said says wrote writes asked asks told noted called calls reads? titled named motto slogan song sang phrase words? book play poem film"
)
SAID: Final = re.compile(
    rf"(\b{either(_SPEECH)}"
    r"[^\"“”«»‘\n.]{0,40})(?:\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|‘[^’\n]*’|(?<!\w)'[^'\n]*'(?!\w))",
    re.IGNORECASE,
)
"""Words that are somebody's, in quotation marks."""
