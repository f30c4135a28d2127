"""Which of a person's own sentences say what every conversation needs: who they are, their work, home, people, health and wishes.

Closed shapes in the first person, of what holds for long: nothing of today, nothing that is only thought of, nothing said to the reader.
What fits no shape is not wrong; it waits for a judge, or for `oneiro orient --edit`.
"""

from __future__ import annotations

import re
from typing import Final

from oneiro_vault.core import claims, prescribing

TITLES: Final = {
    "who": "Who the person is",
    "work": "The person's work",
    "home": "The person's home",
    "people": "The person's people",
    "health": "The person's health",
    "wishes": "What the person wants",
}
"""Topic -> title of its block, in the order in which they are shown."""
LONGEST: Final = 240
"""Characters of what is quoted."""

_WORDS: Final = {
    "KIN": r"""
(?:(?:eld|old|young)e(?:r|st) |twin |step|half-|best |late |ex-?|great-?)*
(?:wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|sons?|daughters?|kids?|child(?:ren)?
|mother|father|mum|mom|dad|parents|brothers?|sisters?|siblings
|grand(?:mother|father|ma|pa|parents|son|daughter|children)|gran|aunt|uncle|cousins?|niece|nephew
|friend|flatmate|roommate|neighbou?rs?|colleague|boss|manager|dogs?|cats?|doctor|gp|dentist|therapist)(?:-in-law)?
""",
    "SIPPE": r"""
(?:(?:älter|jünger|best|klein|groß)e[rsn]? )?
(?:frau|mann|partner(?:in)?|freund(?:in)?|söhne|sohn|töchter|tochter|kinder|kind|mutter|vater|eltern|brüder|bruder
|schwestern?|geschwister|oma|opa|großmutter|großvater|tante|onkel|cousine?|nichte|neffe|enkel(?:in)?
|schwieger\w+|nachbar(?:in)?|kolleg(?:e|in)|chef(?:in)?|hund|katze|hausarzt|hausärztin)
""",
    "ILL": r"""
(?:allerg\w+|asthma\w*|diabet\w+|arthritis|migr(?:aines?|äne)|epilep\w+|adhd|adhs|tinnitus|eczema
|neurodermitis|hay fever|heuschnupfen|coeliac\w*|celiac|zöliakie|(?:\w+-)?intoleran\w+|\w*unverträglichkeit
|high blood pressure|bluthochdruck|pacemaker|herzschrittmacher|dyslexi\w+|colou?r-?blind|farbenblind|deaf
|gehörlos|blind|pregnant|schwanger|autis\w+|depression|insomnia|ana?emi[ac]|osteoporosis|rheuma\w*)
""",
    "NAME": r"(?-i:[A-ZÀ-Þ][\w'-]+)",
    "IST": r"(?:heißt|heißen|ist|sind|wohn(?:t|en)|leb(?:t|en)|arbeite(?:t|n)|hat|haben|studiert|geht)",
    "IS": r"(?:is|are|lives?|works?|has|have|stud(?:y|ies)|teach(?:es)?|runs?|speaks?|goes to|was born)",
    "LEAD": r"(?:(?:and|also|well|oh|so|by the way|for the record|fyi|und|außerdem|übrigens),? )*",
}
_SHAPES: Final = {
    "health": r"""
i(?:'m| am) (?:\w+ ){0,2}ILL\b
i(?:'ve)? (?:have|got) (?:\w+ ){0,2}ILL\b
i can(?:'t|not) (?:eat|tolerate|digest)\b
(?:i|my [\w-]+) (?:was|were|has been|have been) diagnosed with\b
my KIN(?:,? NAME,?)? (?:is|has) (?:\w+ ){0,2}ILL\b
i(?: take|'m on| am on) [^.]{0,40}?(?:\bmg\b|tablets?|pills?|insulin|medication|thinners|antidepressants|statins)\b
my (?:blood (?:pressure|type|group)|allerg\w+|asthma|diabetes|migraines?|medication)\b
ich bin (?:\w+ ){0,3}ILL\b
ich habe (?:\w+ ){0,2}ILL\b
ich vertrage keine?\b
ich nehme [^.]{0,40}?(?:\bmg\b|tabletten?|insulin|medikamente?)\b
meine? SIPPE (?:ist|hat) (?:\w+ ){0,3}ILL\b
""",
    "work": r"""
i(?: now|'ve)? work (?:as|at|for|in|nights|shifts|from home|part[- ]time|full[- ]time|\w+ days)\b
i (?:teach|study|manage|own|lead|edit|freelance)\b(?! (?:to|it|this|that)\b)
i run (?:a|an|the|my|our) (?!bath|mile|marathon|race)\w+
i(?:'m| am) (?:retired|unemployed|self-employed|freelance|studying|on (?:parental|maternity|paternity|sick) leave)\b
i (?:just )?(?:started|got|took|accepted|left|quit|lost) (?:(?:a|an|the|my|new|old) )*(?:job|position|post|role|apprenticeship)\b
i (?:just )?started (?:as|at|work)\b
my (?:job|boss|manager|employer|company|team|office|shop|practice|studio|business|firm) IS\b
ich arbeite (?:seit \w+ )?(?:als|bei|in|im|für|am|auf|von)\b
ich (?:studiere|unterrichte|leite)\b
ich bin (?:in rente|rentner\w*|arbeitslos|selbstständig|pensioniert|in elternzeit)\b
ich habe (?:einen neuen job|eine neue stelle)\b
meine? (?:chef(?:in)?|arbeit|firma|büro|job|arbeitgeber) IST\b
""",
    "home": r"""
(?:i|we) live (?:in|at|on|with|near|above|alone|next|by)\b
(?:i|we)(?:'ve| have)? (?:just |recently )?moved (?:to|into|back to|in with)\b
(?:i|we) (?:rent|own) [^.]{0,40}?(?:flat|house|apartment|room|cottage|farm)\b
i(?:'m| am) based in\b
(?:my|our) (?:flat|house|apartment|home|address|garden|landlord|landlady|farm) IS\b
(?:ich|wir) (?:wohnen?|lebe|leben) (?:\w+ )?(?:in|im|bei|mit|auf|am|an|allein)\b
(?:ich bin|wir sind) [^.]{0,60}?(?:um|ein|weg)?gezogen\b
(?:meine|unsere?|mein) (?:wohnung|haus|adresse|garten|vermieter(?:in)?) IST\b
""",
    "people": r"""
(?:my|our) KIN(?:'s name is|,? NAME,? IS\b| IS\b)
NAME(?: NAME)? is (?:my|our) KIN\b
(?:i|we) have (?:an?|one|two|three|four|five|no) (?:\w+ )?(?:sons?|daughters?|kids?|child(?:ren)?|brothers?|sisters?)\b
(?:i|we) have (?:an?|one|two|three|four|five) (?:\w+ )?(?:cats?|dogs?|twins)\b
i(?:'m| am) (?:married|engaged|divorced|single|widowed)\b
(?:meine?|unsere?) SIPPE(?: NAME)? IST\b
NAME ist (?:meine?|unsere?) SIPPE\b
(?:ich habe|wir haben) (?:eine?n?|zwei|drei|vier|keine) (?:\w+ )?(?:sohn|söhne|t[oö]chter|kind(?:er)?|br[uü]der|schwestern?)\b
(?:ich habe|wir haben) (?:eine?n?|zwei|drei|vier|keine) (?:\w+ )?(?:hunde?|katzen?)\b
ich bin (?:verheiratet|verlobt|geschieden|ledig|verwitwet)\b
""",
    "who": r"""
my name(?:'s| is)\b
i(?:'m| am) called\b
i(?:'m| am) NAME(?: NAME)?(?:[,.!]|$)
i go by\b
(?:people|friends|everybody|everyone) calls? me\b
my (?:birthday|pronouns) (?:is|are)\b
i was born\b
i(?:'m| am) (?:originally |actually )?from\b
i grew up\b
my (?:mother tongue|native language|first language) is\b
i(?:'m| am) \d{1,3}\b(?! (?:minutes|pages|percent|%|weeks|days))
i turn(?:ed)? \d{2,3}\b
i speak (?-i:[A-ZÀ-Þ])
i play (?:the|in|for)\b
i sing in\b
i(?:'m| am) an? (?!bit\b|little\b|lot\b|few\b|fan\b|couple\b|while\b)\w+
i(?:'m| am) (?:not )?(?:vegetarian|vegan|left-handed|right-handed|religious|muslim|jewish|catholic|teetotal)\b
ich heiße\b
mein name ist\b
ich bin \d{1,3}\b(?! (?:minuten|seiten|prozent|tage))
ich komme aus\b
ich spreche (?-i:[A-ZÀ-Þ])
ich bin (?:\w+ ){0,3}(?:geboren|aufgewachsen)\b
mein(?:e muttersprache| geburtstag) ist\b
ich bin (?-i:[A-ZÀ-Þ]\w{3,})\b
""",
    "wishes": r"""
i (?:\w+ )?prefer\b
i (?:really )?(?:don't|do not) (?:like|want|eat|drink)\b
i (?:really )?(?:hate|dislike|can't stand|cannot stand)\b
i (?:always|never|only) (?:want|like|eat|drink|use|take|read|write|buy|fly|work)\b
i(?:'d| would) (?:always|never|much)? ?rather\b
i like my \w+
ich (?:bevorzuge|hasse)\b
ich (?:mag|esse|trinke|möchte|will) (?:lieber|kein\w*|nur|immer|nie|niemals|nicht)\b
mir ist wichtig\b
""",
}
"""Topic -> how a sentence of it begins, a shape a line; the words in capitals stand for those above."""


def _compiled(shapes: str) -> re.Pattern[str]:
    for name, pattern in _WORDS.items():
        shapes = re.sub(rf"\b{name}\b", pattern.replace("\n", "").replace("\\", r"\\"), shapes)
    lead = _WORDS["LEAD"]
    return re.compile(f"{lead}(?:{'|'.join(shapes.split(chr(10))[1:-1])})", re.I)


_TOPICS: Final = {name: _compiled(shapes) for name, shapes in _SHAPES.items()}
_PASSING: Final = re.compile(
    r"\b(?:today|tonight|yesterday|tomorrow|right now|at the moment|this (?:morning|afternoon|evening|week|weekend|time|one)|last night|"
    r"if|would(?! rather)|could|might|maybe|perhaps|used to|thinking of|going to|will|gonna|'ll|"
    r"(?:is|are|am|'m|'s) (?!living|working)[a-z]{2,}ing|"
    r"heute|gestern|morgen|gerade|diese woche|vielleicht|wenn|falls|würde|könnte|werde|früher)\b",
    re.I,
)
_ADDRESSED: Final = re.compile(r"\b(?:you|your|yours|yourself|u|du|dir|dich|dein\w*|euch)\b", re.I)
_MARKS: Final = str.maketrans("“”", "''")
_QUOTED: Final = re.compile(r"- On \d{4}-\d\d-\d\d the person said: “[^“”]+”")
_ONLY: Final = tuple(
    (name, re.compile(pattern, re.I))
    for name, pattern in (
        ("place", r"\b(?:(?:i|we) live (?:in|at)|moved (?:to|into|back to)|based in|(?:ich|wir) (?:wohnen?|leben?) (?:in|im)|gezogen)\b"),
        ("name", r"\b(?:my name(?:'s| is)|i(?:'m| am) called|i go by|ich heiße|mein name ist)\b"),
        ("age", r"\b(?:i(?:'m| am)|i turn(?:ed)?|ich bin) \d{1,3}\b"),
    )
)
"""Of these only one is true at a time."""
_FIRST: Final = (
    (re.compile(r"\b(?:i'm|i am|ich bin)\b", re.I), "the person is"),
    (re.compile(r"\b(?:i've|i have|ich habe)\b", re.I), "the person has"),
    (re.compile(r"\b(?:we're|we are|wir sind)\b", re.I), "the two are"),
    (re.compile(r"\b(?:my|our|mein\w{0,2}|unser\w{0,2})\b", re.I), "the person's"),
    (re.compile(r"\b(?:i|me|mine|myself|we|us|ours|ich|mir|mich|wir|uns)\b", re.I), "the person"),
)


def topic(text: str) -> str:
    """Which of `TITLES` a person's own words belong to; "" for what is none of them, passes, or is said to the reader."""
    plain = text.replace("’", "'").strip()
    if not plain or len(plain) > LONGEST or "\n" in plain or _ADDRESSED.search(plain):
        return ""
    for sentence in claims.split_sentences(plain):
        if sentence.rstrip("\"')*_ ").endswith("?") or _PASSING.search(sentence):
            continue
        found = next((name for name, shape in _TOPICS.items() if shape.match(sentence)), "")
        if found and not prescribing.prescribes(described(plain)):
            return found
    return ""


def alone(text: str) -> str:
    """What such words say of which only one can be true at a time: `place`, `name`, `age`, else ""."""
    plain = text.replace("’", "'")
    return next((name for name, pattern in _ONLY if pattern.search(plain)), "")


def described(text: str) -> str:
    """The same of somebody else, for the gate: what somebody says of themselves must describe when it is said of them."""
    for pattern, words in _FIRST:
        text = pattern.sub(words, text)
    return text


def quoted(text: str, day: str) -> str:
    """The line of a block that quotes what a person said on a day."""
    words = " ".join(text.translate(_MARKS).split())
    return f"- On {day} the person said: “{words}”"


def is_quoted(text: str) -> bool:
    """Does a text consist of such lines?"""
    return all(_QUOTED.fullmatch(line) for line in text.strip().splitlines())
