"""How what was pasted looks, and how people speak of it: the patterns of `pasted.toml`, by name."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Final

ENGLISH: Final = "en"
UNKNOWN: Final = "?"
Extent = tuple[int, int]
"""[start, end)"""
_DATA: Final[dict[str, str | list[str]]] = tomllib.loads(
    files(__package__).joinpath("pasted.toml").read_text("utf-8")
)
SIGNS: Final = {
    name: re.compile("".join(said).replace("{what}", "".join(_DATA["what"])))
    for name, said in _DATA.items()
}


def tells_reader(words: str) -> bool:
    """Do they speak to a reader, and not only ask something of one?"""
    return bool(SIGNS["to_reader"].search(SIGNS["asks"].sub("", words)))


def cued(words: str) -> bool:
    """Does anything tell of others' words?"""
    return any(
        SIGNS[sign].search(words) for sign in ("names_it", "others_words", "salutation", "greeting")
    )
