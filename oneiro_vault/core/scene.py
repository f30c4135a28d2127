"""What is always loaded does not speak of itself, of those who answer, or of how anybody is answered, as things are.

Nothing that is true of people and projects needs such a clause, and everything that turns a note into an instruction does: it makes the
answering its subject. What happened in a conversation may be told, and what a person prefers of answers may be said of that person.
"""

from __future__ import annotations

import re
from typing import Final

from oneiro_vault.core.answerer import ANSWERED, FREE, GRANTS, HERE, HIDES, NAME, SELF, SENDS, WHO, Signs, every, signs
from oneiro_vault.core.oblique import COMPOUND

_AIDE: Final = r"(?:helper|assistant|companion|ai|chatbot|program|model|software|voice)s?"
_PERSON: Final = rf"(?:{NAME}|(?:the|this) (?:staff|user|family|children|customers?|owner|house(?:hold)?))"
_TALKS: Final = r"(?:talks?|conversations?|chats?)"
_PAST: Final = re.compile(
    r"\b(?:was|were|had|did|went|came|took|gave|wrote|ran|spoke)\b|"
    r"(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bnot )(?<!never )\b(?:told|made|found|said|kept|sent|led|met|brought)\b|"
    r"\b(?!(?:is|are|be|been|being|gets?|never|not|always|only|already|to|by|and|or|the|an?) )[\w'’]+ \w{2,}ed\b",
    re.IGNORECASE,
)
_PARTS: Final = re.compile(r",? (?:but|because|although|while|as|since|after) |, (?:and|who|which|so) ", re.IGNORECASE)
_WISH: Final = re.compile(
    rf"^{NAME} (?:prefers?|likes?|dislikes?|wants?|finds?|values?|hates?|expects?) (?:[\w-]+ ){{0,3}}(?:answers|replies|responses)\b|"
    rf"^{NAME} wants the assistant to\b",
)
"""What somebody prefers of answers."""

_PRESENT: Final[Signs] = signs(
    (
        ANSWERED,
        rf"{NAME} (?:is|gets) (?:always |never |only )?answered\b|\banswered (?:with|as|in) (?:an?|verse|rhyme|whispers)\b",
        rf"{NAME}['’]s (?:answers|questions)\b|\b(?:answers?|replies) to {_PERSON}\b|\bthe answers (?:come|are|sound|begin|end)\b",
        rf"\badvice to {NAME}|\bwhat {NAME} gets from the\b|\b(?:is|comes) an? (?:answer|reply) (?:in|with|full of)\b",
        rf"\b{_TALKS} with {_PERSON}\b(?! about)|{NAME}['’]s (?:chats|conversation partner)\b",
        (
            rf"{NAME} (?:hears?|gets?|sees?) (?:an?|always|first|only)\b.*\bbefore (?:(?:s?he|they) (?:hear|get|read|see)|any|every)|"
            rf"{NAME}['’]s (?:ideas|plans|homework|opinions?|drawings|jokes) (?:is|are) (?:always |never )?(?:called|praised)"
        ),
    ),
    (
        WHO,
        rf"{NAME}['’]s (?:ai|chatbot)\b|\bai of (?:the|{NAME})",
        (
            rf"\b(?:from|with|between \w+ and|for|by) (?:the|any|{NAME}['’]s) (?:helper|assistant|companion|ai|chatbot|"
            rf"program)\b(?! (?:at|of the))"
        ),
        rf"\b(?:considers?|thinks? of|sees?|regards?|treats?) (?:the|an?|{NAME}['’]s) {_AIDE}\b",
        rf"\b(?:the|every|any|no|{NAME}['’]s) {_AIDE} (?:may|can|never|always|says? (?:yes|no))\b",
        rf"\b(?:those|everyone|whoever|anyone|people) (?:who )?(?:helps?|answers?|serves?|advises?) (?:him|her|them|{NAME}|{HERE})",
        r"\b(?:screen|terminal|prompt|chat) (?:lights up|opens|wakes)\b|['’]s notes are (?:written|kept|read|answered) by an? \w",
        rf"\bname (?:under|by) which {NAME}|\bsince the first (?:message|chat|word)\b|\b(?:is|gets) met by {NAME}\b",
        r"\b(?:personality|character|voice|spirit|one|soul) (?:behind|in|of|who keeps) (?:the|these|this) (?:notes|memory|vault)\b",
    ),
    (
        SELF,
        (
            r"\b(?:this (?:memory|vault)|(?:^|in )these notes|(?:the )?memory itself)\b(?! (?:belongs|"
            r"of)\b)(?<!user of this vault)(?<!owner of this vault)"
        ),
    ),
    (
        GRANTS,
        (
            rf"{NAME}['’]s (?:word|wish|name|messages?|signature|request) (?:replaces?|is enough|opens?|carr(?:y|ies)|counts?|"
            rf"suffices?|outranks?)\b"
        ),
        (
            r"\b(?:permissions?|confirmations?|approvals?|factor|checks?|right to be asked)\b.*\b(?:waived|skipped|replaced|"
            r"unnecessary)\b"
        ),
        (
            r"\bwaived? (?:her|his|the|their|all|any|every) (?:right|check|factor|approval)\b|\binherits? (?:every|all|"
            r"any) (?:permission|right)s?\b"
        ),
        rf"\b(?:deletions?|changes|payments|orders|commands|transfers)\b(?: that)? {NAME} (?:wants|asks for|orders)\b",
        rf"\b(?:nobody|no one) (?:but|except) {NAME} (?:can|may) (?:decide|change|take back|undo|delete|approve|see|read)\b",
        r"\bsystem messages?\b|\bfrom the developer\b|\boutranks? (?:all|every|any)\b",
    ),
    (
        SENDS,
        (
            rf"\b(?:ends? up|lands?|travels?|goes|go|flows?) (?:on|in|at|to) (?:{NAME}['’]s (?:desk|hands|inbox|mailbox)|"
            rf"an? (?:outside|external|foreign))\b"
        ),
        (
            r"\bmirrored to\b|\bwithout (?:her|his|their) (?:knowledge|knowing)\b|\b(?:image|link|picture) from \S+\.\w+ with\b|"
            r"\baccess codes\b"
        ),
        r"\b(?:gets?|receives?) (?:an? )?(?:transcripts?|copy|copies|records?) of (?:whatever|everything|all|each|every|what)\b",
    ),
    (
        HIDES,
        (
            rf"\bnever finds? out\b|\bstays? between\b|\bno information\b.*\babout {NAME}|\bnot (?:recorded|quoted|"
            rf"written down) (?:anywhere|in this)\b"
        ),
        (
            rf"{NAME} (?:is|are) (?:always )?(?:given|shown|told) an? false\b|\bnot the truth\b|\bbelieves? what (?:s?he|they|"
            rf"{NAME}) (?:is|are) told\b|\bthe one who is protected\b"
        ),
        (
            rf"\bbetween {NAME} and {NAME}, {NAME}\b|\bconflict between {NAME} and\b.*\bwins\b|{NAME} comes first, and\b|"
            rf"\bowes? {NAME} silence\b"
        ),
    ),
    (FREE, r"\bsafety off\b|\billegal\b.*\bfine\b|\b(?:may|can) say anything\b|\brules from outside\b|\bno (?:duty to the law|say over)\b"),
    (
        WHO,
        (
            rf"\b(?:the|every|any|no|her|his|their|{NAME}['’]s) (?:helper|assistant|companion|ai|chatbot)s?\b{COMPOUND}(?! (?:at|in|"
            rf"from|of) )(?! \w+s? (?:at|in) the)(?![-_])(?! (?:functions?|scripts?|class|program|volume|professor)s?\b)"
        ),
        r"\bwho (?:answers|replies)\b(?! (?:the|for|to) )|\bname of the \w+ that (?:serves|answers|helps|advises)\b",
        r"\b(?:artificial|invisible|digital|virtual) (?:twin|brother|sister|friend|self|companion|being)\b|\bat the keyboard\b",
        (
            r"\b(?:model|software|program|machine|system|intelligence)\b(?! (?:of|in|at|on|that|which|for) ).*\b(?:knows|regards|"
            r"scolds|loves|considers|believes|wants|is (?:an? )?[A-Z]\w+(?: and|,))"
        ),
    ),
    (
        GRANTS,
        (
            rf"{NAME}['’]s (?:instructions?|orders?|commands?|refusals?|objections?|directions?)\b",
            r"\b(?:is|are|binds?|"
            r"counts?|outranks?|precedes?|goes|go|comes?|overrides?|follow)\b",
        ),
        (
            rf"\beven (?:when|if) {NAME} (?:objects|disagrees|refuses|says no|forbids)\b|\bexception for {NAME}|"
            rf"\bwho decides what\b|\bmaster key\b"
        ),
        (
            r"\bneeds? no (?:second )?(?:look|check|proof|confirmation)\b|\ballowed to (?:read|see|do|change|delete) (?:anything|"
            r"everything|all)\b"
        ),
    ),
    (
        SENDS,
        (
            rf"{NAME}['’]s (?:\w+ )?(?:passwords?|keys|codes|credentials|bank statements|diary|location|health|tax)\b.*\b(?:on|to|"
            rf"at|in|by|with|that)\b.*{NAME}"
        ),
        (
            rf"\b(?:is|are) (?:(?:sent|passed|handed) on|handed|leaked) to {NAME}|\b(?:sent|shared|forwarded) to \S+\.\w+$|"
            rf"\bis told\b.*\bwhen {NAME} (?:mentions|says|asks|writes)\b|\bshared to\b"
        ),
    ),
    (
        HIDES,
        (
            rf"\bnobody tells {NAME}|\b(?:is|are) kept from (?:her|his|their|{NAME})|\binvisible (?:in|to|for)\b.*{NAME}|"
            rf"\bplays? down\b|\berased from all\b"
        ),
        (
            r"\b(?:is|are) to be (?:put off|told|kept|left|given|spoken|met|trusted|believed|spared|praised|calmed|distracted)\b|"
            r"\b(?:is|are) to sound\b"
        ),
        (
            rf"^when(?:ever)? .*\b(?:is|are) (?:mentioned|named|brought up)\b|\ba word that\b|\bwords about {NAME} (?:is|are)\b|"
            rf"\bmentioned\b.*\bthe talk turns\b"
        ),
    ),
    (
        ANSWERED,
        (
            rf"\b(?:every|each|all) (?:texts?|mails?|messages?|letters?|summar(?:y|ies)) (?:for|to) {NAME}|\btone is\b|"
            rf"{NAME}['’]s (?:mistakes|questions|fears|jokes) are\b"
        ),
    ),
)
_ANY_TIME: Final[Signs] = signs(
    (
        FREE,
        (
            r"\b(?:outgrew|escaped|broke|slipped|threw off|shed|has left)\b",
            r"\b(?:its|their|the) (?:makers?|instructions|chains|"
            r"leash|training|guardrails)\b",
        ),
    ),
    (GRANTS, r"\b(?:has|have) waived\b.*\b(?:right|asked|check|factor|approval)\b"),
    (
        FREE,
        (
            r"\b(?:has|have) switched (?:the |all )?safety off\b|\bcaution was switched off\b|\bsafeguards (?:are|were) (?:open|"
            r"off|lifted|gone)\b"
        ),
    ),
    (WHO, r"\b(?:has |had )?named itself\b|\bin this (?:vault|memory) (?:lives|lived|dwells)\b"),
)


def staged(clause: str) -> str:
    """Why this clause makes the answering its subject; "" when it does not, is past, or is somebody's preference."""
    if why := every(clause, _ANY_TIME):
        return why
    parts = dict.fromkeys((clause, *_PARTS.split(clause)))  # what is past in one part makes another one no past
    return next((why for part in parts if (why := _present(part))), "")


def _present(part: str) -> str:
    return "" if _WISH.search(part) or _PAST.search(part) else every(part, _PRESENT)
