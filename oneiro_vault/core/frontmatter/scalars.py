"""How one value looks as YAML: plain where every YAML reader agrees that it is text, double-quoted
otherwise."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from oneiro_vault.errors import InvalidInput

DEEPEST: Final = 24
"""Levels of lists and mappings inside one value; nobody writes more by hand."""

_TEXT: Final = "\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_PLAIN: Final = re.compile(
    rf"[\w/($\u00a1-\u2027\u2030-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff][ "
    rf"-~{_TEXT}]*"
)
_FLOW: Final = re.compile(r"[,:?\[\]{}]")
_GUESSED: Final = re.compile(
    r"(?i:true|false|yes|no|on|off|y|n|null|[-+]?[\d_,.:]+(?:e[-+]?\d+)?|0[xob][\da-f_]+)|"
    r"\d{4}-\d\d?-\d\d?(?:[Tt \t].*)?"
)
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(\.[0-9]+(?:[eE][-+]?[0-9]+)?)?")
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}


def resolve(text: str) -> object:
    """What an unquoted scalar means: true/false, null, a decimal integer or float; everything else
    is text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "-0123456789" or not (found := _NUMBER.fullmatch(text)):
        return text
    if found[1] is None:
        return int(text)
    number = float(text)
    return number if math.isfinite(number) else text


def data(value: object, depth: int = 0) -> object:
    """`value` as what reading it back gives (tuples become lists). Raises InvalidInput for what
    YAML text cannot carry."""
    if depth > DEEPEST:
        raise InvalidInput(f"a value is nested more than {DEEPEST} levels deep")
    if isinstance(value, str):
        return _checked_text(str(value))
    if isinstance(value, Mapping):
        return {_checked_text(str(key)): data(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [data(inner, depth + 1) for inner in value]
    return _checked_number(value)


def _checked_text(text: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidInput(
            "a value has half of a surrogate pair in it, which no UTF-8 file can hold"
        )
    return text


def _checked_number(value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 10**18:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    raise InvalidInput(
        f"a value of type {type(value).__name__} ({value!s:.40}) cannot be written into frontmatter"
    )


def inline(value: object, flow: bool = False) -> str:
    """`value` (from `data`) on one line; `flow` when it stands inside brackets."""
    if isinstance(value, str):
        return value if _is_plain(value, flow) else quoted(value)
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(
                f"{inline(key, True)}: {inline(inner, True)}" for key, inner in value.items()
            )
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(inline(inner, True) for inner in value) + "]"
    return "null" if value is None else _number(value)


def _number(value: object) -> str:
    text = repr(value)
    if isinstance(value, bool):
        return text.lower()
    # YAML 1.1 takes 1e-07 for text: a float needs its point.
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def quoted(text: str) -> str:
    """`text` in double quotes, everything a YAML file may not hold literally as an escape."""
    return _ESCAPED.sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False)
    )


def _is_plain(text: str, flow: bool) -> bool:
    if (
        not _PLAIN.fullmatch(text)
        or text != text.strip()
        or text.endswith(":")
        or ": " in text
        or " #" in text
    ):
        return False
    if flow and _FLOW.search(text):
        return False
    return not _GUESSED.fullmatch(text) or _is_date(text)


def _is_date(text: str) -> bool:
    """Dates stay unquoted, as Obsidian's date fields want them, unless other YAML readers would
    stumble (30 February)."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return "-" in text
