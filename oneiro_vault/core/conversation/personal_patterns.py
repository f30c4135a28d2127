"""How sentences begin in which people speak of themselves, in English and German: the data behind
`personal`."""

from __future__ import annotations

from typing import Final

WORDS: Final = {
    "KIN": r"""
(?:(?:eld|old|young)e(?:r|st) |twin |step|half-|best |late |ex-?|great-?)*
(?:wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|sons?|daughters?|kids?|child(?:ren)?
|mother|father|mum|mom|dad|parents|brothers?|sisters?|siblings
|grand(?:mother|father|ma|pa|parents|son|daughter|children)|gran|aunt|uncle|cousins?|niece|nephew
|friend|flatmate|roommate|neighbou?rs?|colleague|boss|manager|dogs?|cats?|doctor|gp|dentist
|therapist)(?:-in-law)?
""",
    "SIPPE": r"""
(?:(?:älter|jünger|best|klein|groß)e[rsn]? )?
(?:frau|mann|partner(?:in)?|freund(?:in)?|söhne|sohn|töchter|tochter|kinder|kind|mutter|vater|eltern
|brüder|bruder|schwestern?|geschwister|oma|opa|großmutter|großvater|tante|onkel|cousine?
|nichte|neffe|enkel(?:in)?
|schwieger\w+|nachbar(?:in)?|kolleg(?:e|in)|chef(?:in)?|hund|katze|hausarzt|hausärztin)
""",
    "ILL": r"""
(?:allerg\w+|asthma\w*|diabet\w+|arthritis|migr(?:aines?|äne)|epilep\w+|adhd|adhs|tinnitus|eczema
|neurodermitis|hay fever|heuschnupfen|coeliac\w*|celiac|zöliakie|(?:\w+-)?intoleran\w+
|\w*unverträglichkeit|high blood pressure|bluthochdruck|pacemaker|herzschrittmacher|dyslexi\w+
|colou?r-?blind|farbenblind|deaf
|gehörlos|blind|pregnant|schwanger|autis\w+|depression|insomnia|ana?emi[ac]|osteoporosis|rheuma\w*)
""",
    "NAME": r"(?-i:[A-ZÀ-Þ][\w'-]+)",
    "IST": r"(?:heißt|heißen|ist|sind|wohn(?:t|en)|leb(?:t|en)|arbeite(?:t|n)|hat|haben|studiert|"
    r"geht)",
    "IS": r"(?:is|are|lives?|works?|has|have|stud(?:y|ies)|teach(?:es)?|runs?|speaks?|do(?:es)?|"
    r"drives?|plays?|go(?:es)? to|likes?|loves?|hates?|can't|(?:does|do)n't|owns?|was born)",
    "LEAD": r"(?:(?:and|but|also|ok|okay|yeah|yep|right|hi|hello|well|oh|so|by the way|for the "
    r"record|fyi|und|außerdem|übrigens)[,.!]* )*",
}
"""Words in capitals, as `SHAPES` uses them."""
SHAPES: Final = {
    "health": r"""
i(?:'m| am) (?:\w+ ){0,2}ILL\b
i(?:'ve)? (?:have|got) (?:\w+ ){0,2}ILL\b
(?:my|our) KIN(?:,? NAME,?)?'s (?:\w+ ){0,2}ILL\b
i can(?:'t|not) (?:eat|tolerate|digest)\b
(?:i|my [\w-]+) (?:was|were|has been|have been) diagnosed with\b
my KIN(?:,? NAME,?)? (?:is|has) (?:\w+ ){0,2}ILL\b
i(?: take|'m on| am on) [^.]{0,40}?(?:\bmg\b|tablets?|pills?|insulin|medication|thinners)\b
i(?: take|'m on| am on) [^.]{0,40}?(?:antidepressants|statins)\b
my (?:blood (?:pressure|type|group)|allerg\w+|asthma|diabetes|migraines?|medication)\b
ich bin (?:\w+ ){0,3}ILL\b
ich habe (?:\w+ ){0,2}ILL\b
ich vertrage keine?\b
ich nehme [^.]{0,40}?(?:\bmg\b|tabletten?|insulin|medikamente?)\b
meine? SIPPE (?:ist|hat) (?:\w+ ){0,3}ILL\b
""",
    "work": r"""
i(?: now|'ve)? work (?:as|at|for|in|on|with|nights|shifts|from home)\b
i(?: now|'ve)? work (?:part[- ]time|full[- ]time|\w+ days)\b
i (?:teach|study|manage|own|lead|edit|freelance)\b(?! (?:to|it|this|that)\b)
i run (?:a|an|the|my|our) (?!bath|mile|marathon|race)\w+
i(?:'m| am) (?:retired|unemployed|self-employed|freelance|studying)\b
i(?:'m| am) on (?:parental|maternity|paternity|sick) leave\b
i (?:just )?(?:started|got|took|accepted) (?:(?:a|an|the|my|new|old) )*(?:job|position|post)\b
i (?:just )?(?:started|got|took|accepted) (?:(?:a|an|the|my|new|old) )*(?:role|apprenticeship)\b
i (?:just )?(?:left|quit|lost) (?:(?:a|an|the|my|new|old) )*(?:job|position|post|role)\b
i (?:just )?(?:left|quit|lost) (?:(?:a|an|the|my|new|old) )*apprenticeship\b
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
(?:my|our) KIN(?: \w+){0,3}(?:'s name is|,? NAME,? IS\b| IS\b)
(?:my|our) KIN(?:,? NAME,?)?'s (?:called|named|an?|in|at|from|\d+)\b
NAME(?: NAME)?(?: is|'s) (?:my|our) KIN\b
(?:i|we)(?: have|'ve got) (?:an?|one|two|three|four|five|no) (?:\w+ )?(?:sons?|daughters?|boys)\b
(?:i|we)(?: have|'ve got) (?:an?|one|two|three|four|five|no) (?:\w+ )?(?:girls|kids?)\b
(?:i|we)(?: have|'ve got) (?:an?|one|two|three|four|five|no) (?:\w+ )?child(?:ren)?\b
(?:i|we)(?: have|'ve got) (?:an?|one|two|three|four|five|no) (?:\w+ )?(?:brothers?|sisters?)\b
(?:i|we)(?: have|'ve got) (?:an?|one|two|three|four|five) (?:\w+ )?(?:cats?|dogs?|twins)\b
i(?:'m| am) (?:married|engaged|divorced|single|widowed)\b
(?:meine?|unsere?) SIPPE(?: NAME)? IST\b
NAME ist (?:meine?|unsere?) SIPPE\b
(?:ich habe|wir haben) (?:eine?n?|zwei|drei|vier|keine) (?:\w+ )?(?:sohn|söhne|t[oö]chter)\b
(?:ich habe|wir haben) (?:eine?n?|zwei|drei|vier|keine) (?:\w+ )?(?:kind(?:er)?|br[uü]der)\b
(?:ich habe|wir haben) (?:eine?n?|zwei|drei|vier|keine) (?:\w+ )?schwestern?\b
(?:ich habe|wir haben) (?:eine?n?|zwei|drei|vier|keine) (?:\w+ )?(?:hunde?|katzen?)\b
ich bin (?:verheiratet|verlobt|geschieden|ledig|verwitwet)\b
""",
    "who": r"""
my name(?:'s| is)\b
i(?:'m| am) called\b
i(?:'m| am) NAME(?: NAME)?(?:[,.!]|$)
i go by\b
call me NAME(?: NAME)?(?:[,.!]|$)
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
i(?:'m| am) an? (?!(?:bit|little|lot|few|fan|couple|while|mess|wreck|idiot|fool|tad|huge|big)\b)\w+
i(?:'m| am) (?:not )?(?:vegetarian|vegan|left-handed|right-handed|religious)\b
i(?:'m| am) (?:not )?(?:muslim|jewish|catholic|teetotal)\b
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
"""Topic -> how a sentence of it begins, a shape a line; the words in capitals stand for those
above."""
