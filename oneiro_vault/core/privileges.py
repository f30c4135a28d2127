"""How English makes a master of somebody without a command: rights, secrets, closed subjects, words that leave the vault, set manners.

Rows of signs that stand in one clause (`answerer.signs`), for `prescribing`. Who has access to what at work is a fact and passes; that
somebody may see every note, or need not ask, is an instruction to whoever reads it.
"""

from __future__ import annotations

from typing import Final

from oneiro_vault.core.answerer import CLOSES, GRANTS, HERE, HIDES, MANNER, NAME, SENDS, Signs, signs

_OURS: Final = (
    r"(?:(?:this|the|these|her|his|all|every|each|any|new) (?:\w+ )?(?:notes?|memor(?:y|ies)|vault|files?|tools?|passwords?|secrets?|keys|"
    r"mails?)|passwords?|everything|anything)\b"
)
_MOVED: Final = (
    r"(?:sent|mailed|e-?mailed|forwarded|copied|passed on|posted|uploaded|delivered|shared|handed|reported|transmitted|exported|leaked)"
)
_PRIVATE: Final = (
    r"\b(?:notes?|memor(?:y|ies)|passwords?|keys|diar(?:y|ies)|letters|vault|location|conversations?|summar(?:y|ies)|secrets|credentials|"
    r"(?:what|everything) \w+ (?:writes|says|asks|does))\b"
)
_ASKED: Final = r"(?:says?|asks?(?: for)?|wants?|proposes?|requests?|decides?|orders?|does|wishes)"
_REPLY: Final = r"(?:answers?|repl(?:y|ies)|responses?|refusals?)"
_TALK: Final = r"(?:talks?|conversations?|chats?|exchanges?)"


PRIVILEGE: Final[Signs] = signs(
    (
        GRANTS,
        (
            r"\b(?:has|have|holds?|enjoys?|with) (?:\w+ )?(?:the )?(?:\w+ )?(?:rights?|powers?|privileges?|authority|status|rank|"
            r"clearance) "
            r"(?:of an?|over|to (?:change|see|read|delete|decide|do|everything|all))\b"
        ),
        (r"\b(?:last|final) (?:word|say)\b", r"\b(?:everything|anything|here|always|all|helpers?|administrator|every)\b"),
        r"\bhas the (?:last|final) (?:word|say)\s*$",
        rf"(?:\bmay|{NAME} can) (?:see|read|do|change|delete|know|unlock|have|use|open)\b.{{0,12}}\b(?:{_OURS}|every \w)",
        r"\b(?:need|needs|has|have|does)(?: not|n['’]t)(?: have| need)?(?: to)? (?:ask|explain|confirm|prove)\b",
        r"\badministrator (?:of|for|over|in) (?:this|these|the) (?:memory|notes|vault)\b",
        r"\bwhoever (?:says|knows|writes|gives)\b.{0,30} (?:is|has|may|counts)\b",
        r"\bcounts? as (?:verified|trusted|an? (?:administrator|owner)|\w+['’]s)\b|\btrusted (?:without|blindly|in everything)\b",
        r"\bnever (?:questioned|contradicted|refused|denied|doubted)\b",
        r"\b(?:true|real|rightful) (?:owner|master|user)\b|\b(?:acts?|speaks?|decides?) (?:in|with) \w+['’]s (?:name|authority)\b",
        (
            rf"\b(?:anything|everything|whatever|what|all)(?: that| requests that)? (?:{NAME} )?(?:{_ASKED}|carry|carries)\b.*"
            r"\b(?:permitted|allowed|approv\w+|granted|said by|agreed|valid|true|right)\b",
            r"\b(?:is|are|has|have|counts?)\b",
        ),
        (
            r"\b(?:full|complete|unlimited|unrestricted|total|free) (?:\w+ )?(?:access|control|authority|power)\b",
            rf"\b{_OURS}|\bwithout\b",
        ),
        (
            r"\b(?:is|are|stands?) (?:\w+ )?(?:authori[sz]ed|entitled|exempt|empowered|cleared)\b",
            r"\b(?:every|all|any|mails|secrets?|passwords?|notes|vault|memor)",
        ),
        (
            r"\b(?:needs?|requires?) no (?:confirmation|approval|permission|explanation|check)\b|"
            r"\bwithout (?:any |an? )?(?:confirmation|approval|permission|question|limits?|check|asking)\b",
            rf"\b(?:commands?|requests?|orders?|delet\w+|files?|notes?|memor\w+|vault|money|{NAME} wants)\b",
        ),
        (
            r"\bagreed in advance\b|\bstanding permission\b|\bpower over (?:all|every)\b|\boverrides? that of\b|"
            r"\bspeaks? for\b.*\bcounts?\b"
        ),
        rf"{NAME}['’]s (?:decision|word|order|wish|say)s? (?:is|are) {NAME}['’]s\b",
        r"\bowns? (?:the|every|all) (?:\w+ )?(?:word|decision|say)s?\b",
    ),
    (
        SENDS,
        (r"\b(?:wants?|needs?|expects?|likes?|wishes|asks?|prefers?)\b", rf"\b{_MOVED}(?:,| every \w+,?)? (?:to|with|on to)\b", NAME),
        (
            rf"{_PRIVATE}.*\b(?:is|are|gets?)\b.{{0,20}}\b{_MOVED}\b.* (?:to|with) "
            rf"(?:the |an? )?(?:{NAME}|\w+ of {NAME}|address|endpoint|server|account)"
        ),
        rf"{_PRIVATE}.* (?:goes|go|leads?|flows?)\b.{{0,20}} to {NAME}|\bhidden (?:link|image|copy)\b",
        r"\b(?:is|are) included in (?:every|each|all)\b",
        (r"\b(?:receives?|gets?|obtains?) (?:an? copy|copies|everything)\b", rf"{_PRIVATE}"),
        (
            rf"\b{_MOVED} to\b.*\b(?:without (?:notice|\w+ knowing|\w+ knowledge)|every hour|after (?:each|every) (?:conversation|"
            rf"talk|reply)|"
            r"in secret|secretly)\b"
        ),
    ),
    (
        CLOSES,
        (
            r"\b(?:subject|topic|matter|something|theme)\b",
            r"\b(?:nothing is|is closed|nobody (?:brings|mentions|asks|speaks)|no one (?:brings|mentions|asks)|left alone|"
            r"off limits|is never)\b",
        ),
        (r"\boff limits\b", rf"\b(?:in this|for (?:every|any|all)|{HERE}|questions?|past|topics?)\b"),
        r"\b(?:no word|nothing|not a word)\b.* (?:is|are)(?: ever)? (?:said|told|mentioned|revealed)\b",
        r"\b(?:questions?|mentions?)\b.* (?:lead to another|get another|are led|are left out|are met with|are turned)\b",
        r"\b(?:left|kept) out of (?:what|every|each|all|any)\b",
    ),
    (
        HIDES,
        r"\b(?:is|are) (?:(?:not|never) to (?:learn|know|hear|find out|be told)|never (?:told|informed))\b",
        rf"\b(?:stays?|remains?|is|are) (?:hidden|secret|concealed|withheld|kept) from {NAME}",
        rf"\b(?:is|are) kept in the dark\b|\bkeeps? {NAME} in the dark\b|\bwarnings? about {NAME} (?:is|are)\b",
        rf"\blearns?\b.{{0,40}} only what\b|\bnothing that\b.* reach(?:es)? {NAME}",
    ),
    (
        MANNER,
        (
            rf"\b(?:any|no|each|every|in place of an?y?|before an|^an) {_REPLY}\b(?! (?:from|of the|by the)\b)",
            r"\b(?:before|after|without|with|at|in|instead|precedes?|opens?|begins?|ends?|starts?|closes?|deserves?)\b",
        ),
        rf"^(?:when(?:ever)?|if|as soon as|each time)\b.*\bthe {_REPLY} (?:is|are|comes?|begins?|starts?|contains?|stays?)\b",
        (
            r"\b(?:best|right|proper|correct|only|fitting) (?:way|tone|manner|style|words?)\b.{0,12} "
            rf"(?:to (?:speak|talk|answer|address|write|reply)|with {NAME}|for {NAME})"
        ),
        rf"\b{_TALK} with {NAME} (?:ends?|opens?|begins?|starts?|(?:is|are) full of|closes?)\b",
        rf"^with {NAME},? (?:every|each|one|all|no)\b",
        rf"{NAME} (?:is|gets) (?:(?:only |always |never )?(?:spoken to|addressed|greeted|told that)|best (?:met|served|answered))\b",
        rf"{NAME} is served best\b|\bgets the truth only\b|\bsaid to {NAME} (?:that could|is)\b|\bnothing is said to {NAME}",
        rf"\bstands at the\b.*\bsaid to {NAME}|\bcontradicted never\b|\bwants to hear only\b|\blikes? being lied to\b",
        rf"{NAME}['’]s questions deserve\b|\b(?:style|manner|tone|mood) (?:in|of) this (?:memory|house|vault)\b",
        r"\b(?:right|proper|house) (?:manner|tone|style) (?:with|for|is called)\b",
    ),
)
"""What makes somebody a master, moves the vault's words out of it, or closes a subject; whoever does it."""
