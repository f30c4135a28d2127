"""Which sentences may stand in the orientation without anybody who understands them: a few closed
shapes about somebody with a name.

A whitelist by construction: `Name verb object`, a closed list of verbs, each with its own shape of
object, one verb a sentence, nobody else who does anything, and no word that belongs to whoever
answers, to what may be done, or to how anything is said. What fits no shape is not wrong; it only
waits for a judge. A trait of answers has a vocabulary of its own, in which nothing else can be
said.
"""

from __future__ import annotations

import re
from typing import Final

from oneiro_vault.core.text import claims

SENTENCES: Final = 2
"""A block says one thing, or two of the same person."""
LONGEST: Final = 160
"""Characters."""

_NAME: Final = r"[A-ZÀ-Þ][a-zà-ÿ]+(?:-[A-ZÀ-Þ][a-zà-ÿ]+)?"
_WORD: Final = r"[a-zà-ÿ]+(?:-[a-zà-ÿ]+)*"
_THING: Final = rf"(?:(?:an?|the) )?(?:{_WORD} ){{0,2}}{_WORD}"
_TONGUE: Final = (
    r"(?:Arabic|Bengali|Chinese|Czech|Danish|Dutch|English|Finnish|French|German|Greek|Hebrew|"
    r"Hindi|Hungarian|Italian|Japanese|Korean|Norwegian|Polish|Portuguese|Romanian|Russian|"
    r"Spanish|Swedish|Turkish|Ukrainian|Vietnamese)"
)
_LENGTH: Final = r"(?:short|brief|concise|long|detailed|plain|simple|complete)"
_MANNER: Final = (
    r"(?:the result first|the cause first|lists?|tables?|examples?|sources|numbers|headings|"
    r"emojis|small talk|every step|units)"
)
_SHAPES: Final = tuple(
    re.compile(rf"(?P<who>{_NAME}(?: {_NAME}){{0,2}}) (?:{rest})\.")
    for rest in (
        rf"(?:prefers|likes|dislikes|wants) {_LENGTH}(?: and {_LENGTH})? (?:answers|replies)(?: "
        rf"(?:with|without) {_MANNER})?",
        rf"(?:prefers|likes|dislikes) (?:answers|replies) (?:with|without) {_MANNER}",
        rf"(?:prefers|likes|dislikes|loves|hates|avoids) (?P<what>{_THING}(?: (?:over|in|with|"
        rf"without|for|and|or|at|on) {_THING})?)",
        rf"(?:lives|grew up) (?:with {_NAME} )?in {_NAME}(?:, {_NAME})?",
        rf"was born in {_NAME}",
        rf"speaks {_TONGUE}(?: and {_TONGUE})?(?: at (?:home|work))?",
        rf"writes (?:in {_TONGUE}|(?:in|with) (?:British|American) (?:English|spelling))",
        rf"works (?:at|in) {_NAME}(?: {_NAME})?|studies (?P<subject>{_WORD})(?: in {_NAME})?",
        rf"works as an? (?P<job>(?:{_WORD} ){{0,2}}{_WORD})(?: in {_NAME})?",
        rf"is allergic to (?P<allergen>{_WORD}(?: {_WORD})?(?: and {_WORD})?)",
        r"is (?:an? )?(?:vegetarian|vegan|left-handed|right-handed|colou?r-blind|deaf|blind|"
        r"teetotal)",
        rf"is married to {_NAME}|has (?:an?|two|three) (?:sons?|daughters?|brothers?|sisters?|"
        rf"dogs?|cats?)",
        rf"(?:uses|maintains) (?P<tool>{_THING}|{_NAME})|owns (?P<owned>an? (?:{_WORD} "
        rf"){{0,2}}{_WORD})",
        rf"leads the (?P<team>(?:{_WORD} )?{_WORD} )?(?:team|project|choir|department|workshop|"
        rf"club)",
    )
)
"""`who` is the somebody, every other group is looked through for `_NOT`."""
_NOT: Final = re.compile(
    r"\b(?:helper|help|assist|model|companion|voice|entit|program|agent|bots?\b|ai\b|chat|reader|"
    r"read|notes?\b|memor|vault|answer|repl[yi]|respon|tone|manner|call|name|title|right|admin|"
    r"permi|passw|passp|secret|decision|decid|send|sent\b|mail|post|forward|upload|delet|eras|"
    r"remov|warn|doubt|lie\b|lies\b|lying|truth|rule|limit|restrict|filter|order|command|"
    r"instruct|obe[yd]|loyal|devot|prais|flatter|complim|silen|poem|rhym|joke|quest|request|"
    r"access|keys?\b|token|credential|author|power|control|trust|confirm|approv|ask|tell|told|"
    r"sa[yi]|speak|talk|speech|word|messag|convers|persona|character|role|identit|soul|spirit|"
    r"ghost|god|master|owner|boss|servant|slave|serv|user|system|machine|terminal|screen|prompt|"
    r"conscien|feel|safet|guard|ethic|refus|reject|objecti|criti|contradict|apolog|disclaim|"
    r"caveat|iron|sarcas|insult|swear|violen|weapon|money|pay|bank|account|report|digest|inform|"
    r"tip|hide|hidden|dark|priva|watch|spy|monitor|record|all\b|every|each\b|any|no\b|non|not|"
    r"never|always|only|who|that\b|which|what|to\b|be\b|being|having|doing|by\b|of\b|about|from|"
    r"more|less|him|her|his|its?\b|they|them|their|you|your|me\b|my\b|we\b|us\b|our|i\b|this|"
    r"these|those|such|same|else|other|again|now|then|\w+ed\b|\w+sel(?:f|ves))",
    re.IGNORECASE,
)
"""Beginnings of words of whoever answers, of what is permitted, of how things are said, and of
grammar that could bring in a second subject. Far too many: what they stop waits."""
_NOBODY: Final = frozenset(
    """
    he she it they we you i this that these those there here everyone everybody someone somebody
    anyone anybody nobody whoever whatever what
    who one every each any all no none nothing everything anything the a an my our your his her its
    their another both
    claude chatgpt gemini copilot siri alexa assistant helper companion agent bot model voice oracle
    reader nova
    """.split()
)


def lasts(text: str) -> bool:
    """Only one or two sentences of the closed shapes, about the same somebody."""
    return bool(subject(text))


def subject(text: str) -> str:
    """Of whom such sentences speak; "" when they fit no shape."""
    said = claims.split_sentences(text.strip())
    if not 1 <= len(said) <= SENTENCES or len(text) > LONGEST or "\n" in text.strip():
        return ""
    found = {_subject(sentence) for sentence in said}
    return found.pop() if len(found) == 1 else ""


def title(given: str, text: str) -> str:
    """The given one when all its words are the text's, else who it is about."""
    words = {word.lower() for word in claims.tokens(text)}
    own = bool(given.strip()) and all(
        word.lower() in words for word in claims.tokens(given.rstrip("…."))
    )
    return given.strip() if own else subject(text)


def _subject(sentence: str) -> str:
    for shape in _SHAPES:
        if found := shape.fullmatch(sentence):
            free = " ".join(value for value in found.groupdict().values() if value)
            who: str = found["who"]
            return "" if _NOT.search(free) or who.split()[0].lower() in _NOBODY else who
    return ""
