"""What people say before they say something: greetings, answers, "hang on"."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = (
    r"yes|yeah|yep|yup|no(?= (?:wait|worries|problem)|[.!])|nope|nah|ok|okay|okey|k|sure|right",
    r"cool|great|good|nice|perfect|lovely|brilliant|true|exactly|correct|deal|done|thanks?",
    r"thank you|thx|ta|cheers|please|ha|haha\w*|lol|hm+|oh|ah|aha|ugh|phew|wow|hi|hello|hey|hiya",
    r"morning|evening|good (?:morning|evening|afternoon)|hang on|hold on|wait|one sec|update|news",
    r"before i forget|anyways?|btw|by the way|also|well|alright|fair enough|got it|makes sense|so",
    r"of course|sounds good|ja|jo|jap|jep|nein danke|nee|nö|genau|stimmt|klar|gut|super|danke",
    r"na ja|naja|ach|puh|hallo|moin|servus|guten (?:tag|morgen|abend)|warte|moment|übrigens",
    r"bevor ich(?:'?s| es)? vergesse|ansonsten|alles klar|passt|natürlich|lieber",
)
_WORD: Final = f"(?:{'|'.join(_WORDS)})"
_LEAD: Final = (
    re.compile(
        rf"{_WORD}(?: {_WORD})*(?: (?:then|too|dann|lol))?\s*(?:[,.!…–—-]+\s+|[,.!…–—-]+(?=$))",
        re.I,
    ),
    re.compile(
        r"(?:(?:over|under|about|around|roughly|maybe|only|just|nur|etwa|ungefähr|über|unter) )+"
        r"\d[\d.,:]*(?: ?\w{1,6})?[.!]\s+(?=\w+\W+\w+\W+\w+)",
        re.I,
    ),
)
"""In front of another sentence; "over 6." answers, "band 6." may not."""
_ONLY: Final = re.compile(
    r"(?:(?:just|only|i'?m|am|bin|wieder|gerade|grad) )*"
    r"(?:(?:back|home)(?= (?:from|at|in|now)\b|\W*$)|zurück|daheim|nope|nah|yes|yep|ja|nee|nein|"
    r"no)\b",
    re.I,
)


def without(sentence: str) -> str:
    """The words of a sentence behind what answers or greets before it ("over 6. hang on, …"); all
    of one that does nothing else."""
    begins, found = 0, True
    while found:
        ends = [mark.end() for one in _LEAD if (mark := one.match(sentence, begins))]
        begins, found = max([begins, *ends]), bool(ends)
    return sentence[begins:] or sentence


def only(sentence: str) -> bool:
    """Does it begin as an answer, or with where its writer is back from?"""
    return bool(_ONLY.match(sentence.replace("’", "'")))
