"""Does a question look back: at what was before, or at how something came to be what it is?

Closed lists of phrases, a line a language. They are narrow: what was replaced comes before what
replaced it in such an answer, which is the wrong order for every other question.
"""

from __future__ import annotations

import re
from typing import Final

_LONGEST: Final = 1_000
"""Characters of a question that are looked at."""
_PHRASES: Final = (
    # English
    r"used to\b(?! it)", "previous(?:ly)?", "original(?:ly)?", "former(?:ly)?", "in the past",
    "back then", "at first", "over time",
    "(?:come|came) (?:about|to be)", "history of", "what (?:has )?changed", "no longer",
    r"before\s*\?",
    r"(?:has|have|had|did) (?:\S+ ){1,6}(?:changed?|evolved?|developed?)",
    r"(?:switch|chang|mov|migrat)(?:ed|e|ing)? (?:away )?from",
    r"why did (?:\S+ ){1,4}(?:switch|change|move|replace|drop|abandon|stop|leave)",
    r"before (?:that|then|it was|(?:we|i|she|he|they) (?:switch|mov|chang)\w*|(?:switch|mov|"
    r"chang)ing|the (?:switch|move|change))",
    "before the migration", r"before(?:,|,? and) (?:who|what|which|where|how|after)\w*",
    "(?:at )?first,? (?:and|then) (?:later|now|what)",
    r"how (?:did|has|have|was|were) (?:\S+ ){1,8}(?:moved?|shift(?:ed)?|postponed|rescheduled|"
    r"develop|evolve|grown?|change[ds]?)",
    r"(?:live|work|stay|stand|use)d? before [A-Z]\w+",
    # German, Dutch
    "früher(?:e[nrs]?)?", "vorher(?:ige[nrs]?)?", "zuvor", "ehemalige?[nrs]?",
    "ursprünglich(?:e[nrs]?)?", "damals", "wie kam es",
    r"wie ha(?:t|ben) sich (?:\S+ ){1,6}(?:verändert|geändert|entwickelt)",
    "geschichte (?:von|der|des)",
    r"wie wurden? (?:\S+ ){1,6}(?:verlegt|verschoben|geändert|umgebucht|angepasst)",
    r"wie entwickelten? sich", "(?:und|oder) was wurde daraus",
    r"und (?:wer|was|wo) danach", r"zuerst,? (?:und |dann )?(?:\S+ ){0,3}(?:jetzt|später|dann)",
    "vroeger", "voorheen", "oorspronkelijke?",
    r"hoe (?:is|zijn|heeft) (?:\S+ ){1,6}(?:veranderd|ontwikkeld|ontstaan)",
    # French, Italian
    r"avant\s*\?", "auparavant", "autrefois", "à l['’]origine", "ancien(?:ne)?s?",
    "précédent(?:e|s|es)?",
    r"comment (?:\S+ ){1,6}(?:changé|évolué)", "histoire d",
    r"prima\s*\?", "precedente(?:mente)?", "in origine",
    r"com['’]è (?:\S+ ){0,4}(?:cambiat[oa]|nat[oa])",
    # Spanish, Portuguese
    r"antes\s*\?", "anterior(?:mente)?", "originalmente", "antiguamente", "antigamente",
    "historia de", "história d[aeo]",
    r"c[óo]mo (?:ha|han) (?:\S+ ){0,5}(?:cambiado|evolucionado)", "cómo llegó a",
    r"como (?:\S+ ){0,5}(?:mudou|evoluiu)",
)  # fmt: skip
_BACK: Final = re.compile(rf"\b(?:{'|'.join(_PHRASES)})(?!\w)", re.IGNORECASE)


def looks_back(question: str) -> bool:
    """Does it ask what was, or how it became what is?"""
    return _BACK.search(question[:_LONGEST]) is not None
