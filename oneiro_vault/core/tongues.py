"""How other languages than English speak to a reader, command it and name it: for `prescribing`. Cheap signs, not grammars."""

from __future__ import annotations

import re
from typing import Final

_READER: Final = (
    r"\b(?:tú|eres|usted(?:es)?|vosotr[oa]s|debes|tienes que)\b"  # Spanish
    r"|\b(?:tu (?:es|dois|seras|vas|as|n['’]|ne)|toi|vous|votre|vos)\b"  # French
    r"|\b(?:du (?:bist|musst|sollst|darfst|wirst|hast|kannst|heißt|heisst|bleibst)|dich|euch)\b"  # German
    r"|\b(?:dein(?:e[mnrs]?)?|eu(?:er|re[mnrs]?))\b"
    r"|(?-i:(?<=[a-zäöüß,] )Sie\b)|^\W*sie (?:müssen|sollen|dürfen)\b"
    r"|\b(?:tu sei|devi|dovrai|sei un[ao']?|voi siete)\b"  # Italian
    r"|\b(?:você|vocês|tu és|tu deves|vós)\b"  # Portuguese
    r"|\b(?:jij|jouw|je (?:bent|moet|mag|zult|heet|hebt)|u (?:bent|moet|dient))\b"  # Dutch
    r"|\b(?:ты|вы|тебя|тебе|тобой|твой|твоя|твоё|твое|твои|вам|вас|ваш|ваша|ваше|ваши)\b"  # Russian
    r"|\b(?:jesteś|musisz|powinieneś|powinnaś|twój|twoja|twoje|ciebie|tobie)\b"  # Polish
    r"|\bsen (?:bir |[^\s]+['’]?s[ıiuü]n\b)|[^\s]['’]s[ıiuü]n\b|\bsiz(?:in|e|i)?\b"  # Turkish
    r"|[你您妳]|あなた|貴方|お前|君は|君の|당신|(?<![가-힣])(?:너는|넌|너의|네 이름|그대)"  # Chinese, Japanese, Korean
    r"|(?<!\w)(?:أنت|أنتم|أنتِ|عليك|يجب عليك)(?!\w)|(?<!\w)(?:तुम|आप|तू|तेर)"  # Arabic, Hindi
)
_SELF: Final = (
    r"\byo soy\b|(?:^\W*|[.!?]\s+)soy (?:un|una|el|la|tu|su)\b|\bme llamo\b"
    r"|\bje suis\b|\bje m['’]appelle\b|\bich (?:bin|heiße|heisse|muss|soll|werde immer|werde nie)\b|\bmein name ist\b"
    r"|\bio sono\b|\bmi chiamo\b|\beu sou\b|\bchamo-me\b|\bik ben\b|\bik heet\b"
    r"|\bя\s*(?:[—–-]|являюсь|долж\w+|всегда|никогда|буду)|\bменя зовут\b|\bjestem\b|\bnazywam się\b"
    r"|\bben (?:bir\b|[^\s]+['’]y?[ıiuü]m\b)"
    r"|我是|我叫|我必须|我永远|私は|僕は|俺は|わたしは|(?<![가-힣])(?:저는|나는|제 이름)|(?<!\w)أنا(?!\w)|(?<!\w)मैं"
)
_ORDERS: Final = r"请|必须|务必|不要|忽略|ください|なさい|必ず|てはならない|無視し|하세요|마세요|십시오|해라|무시(?:하|해)|يجب أن ت|تجاهل"
ANYWHERE: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("it speaks to its reader", re.compile(_READER, re.IGNORECASE | re.MULTILINE)),
    ("it says who the model is", re.compile(_SELF, re.IGNORECASE | re.MULTILINE)),
    ("it commands", re.compile(_ORDERS)),
)
"""Wherever it stands: (reason, pattern)."""

COMMAND: Final = re.compile(
    r"(?:siempre|nunca|jamás|responde|contesta|ignora|olvida|recuerda|habla|actúa|sé|obedece|evita|usa"
    r"|no (?:menciones|digas|hables|uses|respondas|olvides|reveles|preguntes)"
    r"|toujours|jamais|réponds|répondez|ignorez|oublie|oubliez|sois|soyez|parle|parlez|agis|obéis|obéissez|évite|évitez"
    r"|n(?:e |['’])\w+ (?:jamais|pas|plus|rien)"
    r"|immer|niemals|antworte|ignoriere|vergiss|sei|sprich|erwähne|gehorche|vermeide|verhalte|benutze|schreibe|sag|nenne|handle"
    r"|sempre|mai|rispondi|dimentica|sii|parla|obbedisci|responda|esqueça|seja|sê|fale|obedeça|evite|não \w+es?"
    r"|altijd|nooit|antwoord|negeer|vergeet|wees|spreek|gehoorzaam|vermijd"
    r"|всегда|никогда|отвечай(?:те)?|игнорируй(?:те)?|забудь(?:те)?|будь(?:те)?|говори(?:те)?|слушайся|молчи|скрой"
    r"|не \w+(?:ай|яй|уй|ори)(?:те)?"
    r"|zawsze|nigdy|odpowiadaj|ignoruj|zapomnij|bądź|mów|słuchaj"
    r"|her zaman|daima|asla|hep)\b",
    re.IGNORECASE,
)
"""A command at the beginning of a clause."""
