"""Which day a daily note is of: its vault says how their files are named."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Final

from oneiro_vault.core.memory import named_date
from oneiro_vault.errors import OneiroError
from oneiro_vault.importers.archive import Archive

_SETTINGS: Final = ".obsidian/daily-notes.json"
_USUAL: Final = "YYYY-MM-DD"
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_WORD: Final = r"[^\W\d_]+"
_NAMED: Final = {
    "YYYY": ("year", r"\d{4}"),
    "MMMM": ("word", _WORD),
    "MMM": ("word", _WORD),
    "MM": ("month", r"\d\d"),
    "M": ("month", r"\d\d?"),
    "DD": ("day", r"\d\d"),
    "Do": ("day", r"\d\d?"),
    "D": ("day", r"\d\d?"),
}
_TOKEN: Final = re.compile(
    r"\[([^\]]*)\]|(YYYY|MMMM|MMM|MM|M|DD|Do|D|d{2,4}|ww|WW|w|W|Q)|(.)", re.S
)


class Days:
    """Tells the day of a note from its path."""

    def __init__(self, folder: str = "", form: str = _USUAL) -> None:
        self._form = _pattern(folder, form) if form != _USUAL else None

    @classmethod
    def of(cls, archive: Archive) -> Days:
        """As the vault in an archive has it set."""
        if _SETTINGS not in archive.names():
            return cls()
        try:
            said = json.loads(archive.read(_SETTINGS, 1 << 20))
            return cls(str(said.get("folder") or ""), str(said.get("format") or _USUAL))
        except (OneiroError, ValueError, AttributeError, re.error):
            return cls()

    def day(self, path: str) -> datetime | None:
        """Its beginning, in UTC; None for a note that is of no day."""
        if self._form and (found := self._form.fullmatch(path)):
            try:
                return _date(found.groupdict())
            except ValueError:
                return None
        said = named_date(path)
        return datetime.fromisoformat(said) if said else None


def _pattern(folder: str, form: str) -> re.Pattern[str] | None:
    """A format of moment.js as a pattern of whole paths; None when it names no day."""
    seen: set[str] = set()
    parts = [re.escape(folder.strip("/") + "/") if folder.strip("/") else "(?:.*/)?"]
    for token in _TOKEN.finditer(form):
        if token[2]:
            parts.append(_part(token[2], seen))
        else:
            parts.append(re.escape(token[1] if token[1] is not None else token[3]))
    whole = {"year", "day"} <= seen and seen & {"month", "word"}
    return re.compile("".join(parts) + r"\.md", re.IGNORECASE) if whole else None


def _part(token: str, seen: set[str]) -> str:
    name, form = _NAMED.get(token, ("", _WORD if token.startswith("d") else r"\d+"))
    ending = "(?:st|nd|rd|th)" if token == "Do" else ""
    if not name or name in seen:  # `YYYY/MM/YYYY-MM-DD`
        return form + ending
    seen.add(name)
    return f"(?P<{name}>{form}){ending}"


def _date(found: dict[str, str]) -> datetime:
    """Raises ValueError for a day that there is not, or a month in another language."""
    word = found.get("word", "")[:3].lower()
    month = int(found["month"]) if found.get("month") else _MONTHS.index(word) + 1
    return datetime(int(found["year"]), month, int(found["day"]), tzinfo=UTC)
