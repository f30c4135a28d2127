"""A note as a value: what its frontmatter says, what its body adds, and what is filled in when
neither does, such as when it came to be, as people and programs write that down.

A date without an offset means UTC. Day and month are never guessed: 03/04/2024 is no date.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, Protocol

from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.text.query import fold
from oneiro_vault.core.time.date_ranges import parse_range
from oneiro_vault.errors import InvalidInput

EPISODIC: Final = "episodic"
CAPTURE: Final = "capture"
"""Source of what was captured, and tag of a person's own words that still wait for encoding."""
ENTITY: Final = "entity"
PROCEDURE: Final = "procedure"
TYPES: Final = (EPISODIC, "semantic", "orientation", ENTITY, PROCEDURE, "principle")
STATUSES: Final = ("active", "pending", "dormant", "superseded", "archived")
LIVE: Final = ("active", "dormant")
"""Statuses that answer a question. `pending` is inert until reviewed; superseded and archived notes
answer only when asked for."""
OVER: Final = ("superseded", "archived")
"""Statuses of what no longer counts."""
TRUSTS: Final = ("user", "said", "model", "external")
"""Strongest first. `said`: typed by the person in a conversation, as a client recorded it."""
OWN_WORDS: Final = ("user", "said")
"""Trust of what a person wrote into the vault or typed in a conversation."""

FOLDERS: Final = {
    "episodic": "episodic", "semantic": "semantic", "orientation": "orientation",
    "entity": "entities", "procedure": "procedures", "principle": "principles",
}  # fmt: skip
"""Where machines file a type; a person may move any note anywhere."""

ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
"""Of ids, handles and the names of devices."""
_ID: Final = re.compile(rf"[{ALPHABET}]{{12}}")


@dataclass(frozen=True, slots=True)
class Memory:
    """One note. "" / () / None = unknown; dates are RFC 3339 with offset; `problems` names keys
    whose value had the wrong shape."""

    path: str
    id: str = ""
    type: str = "note"
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    created: str = ""
    timestamp: str = ""
    valid_from: str = ""
    valid_until: str = ""
    superseded_by: str = ""
    source: str = ""
    trust: str = "user"
    kind: str = ""
    status: str = "active"
    project: str = ""
    session: str = ""
    outcome: str = ""
    trigger: str = ""
    keep: str = ""
    turn: int | None = None
    importance: float | None = None
    confidence: float | None = None
    level: int = 0
    core: bool = False
    budget: int | None = None
    priority: int | None = None
    body: str = ""
    problems: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)

    def when(self) -> float | None:
        """Epoch seconds of `created`, else of `timestamp`, else None."""
        return epoch(self.created or self.timestamp)


def parse(path: str, data: bytes) -> Memory:
    """Raises UnreadableNote; a key of the wrong shape only ends up in `problems`."""
    text = yaml_block.decode(data)
    meta, body = yaml_block.read(text)
    return of(path, meta, body, lambda: yaml_block.texts(text))


def of(
    path: str, meta: Mapping[str, object], body: str, as_spelled: Callable[[], Mapping[str, object]]
) -> Memory:
    """`as_spelled`: every scalar as it is written, asked for when one looks like a number."""
    values: dict[str, Any] = {}
    wrong: list[str] = []
    extra: dict[str, Any] = {}
    spelled: Mapping[str, object] | None = None
    for key, value in meta.items():
        reader = _READERS.get(key)
        if reader is None:
            extra[key] = value
        elif value is not None:
            if key in _SPELLED and not isinstance(value, str) and _has_number(value):
                spelled = as_spelled() if spelled is None else spelled
                value = spelled[key]
            try:
                values[key] = reader(value)
            except (ValueError, OverflowError):
                wrong.append(key)
                extra[key] = value
    return _completed(path, body, values, wrong, extra)


def _completed(
    path: str, body: str, values: dict[str, Any], wrong: list[str], extra: dict[str, Any]
) -> Memory:
    if not values.get("title"):
        values["title"] = parser.top_heading(body) or _stem(path)
    if not values.get("description"):
        values["description"] = parser.first_sentence(body)
    stamp, changed = values.get("timestamp"), stated_date(extra, CHANGED)
    if not values.get("created"):
        known = stated_date(extra, CREATED) or stamp
        values["created"] = known or named_date(path) or changed  # it was there by then
    values["timestamp"] = stamp or changed
    if "#" in body and (found := parser.tags(body)):
        values["tags"] = _unique((*values.get("tags", ()), *found))
    if "trust" not in values:
        values["trust"] = "external" if "trust" in wrong else trust_of(values.get("source", ""))
    values["type"] = values.get("type") or "note"
    if values["type"] not in TYPES:
        # Other tools' notes have their own idea of an id or a status; that is no mistake.
        wrong = [key for key in wrong if key not in ("id", "status")]
    return Memory(path=path, body=body, problems=tuple(wrong), extra=extra, **values)


def _has_number(value: object) -> bool:
    return (
        any(_has_number(item) for item in value)
        if isinstance(value, list)
        else isinstance(value, bool | int | float)
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    return " ".join(value.split()) if "\n" in value or "\t" in value else value.strip()


def _word(value: object) -> str:
    return _text(value).lower()


def _choice(*allowed: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        word = _word(value)
        if word not in allowed:
            raise ValueError
        return word

    return read


def _identity(value: object) -> str:
    word = _word(value)
    if not is_id(word):
        raise ValueError
    return word


def _names(split: str) -> Callable[[object], tuple[str, ...]]:
    """A list, or one string cut at any character of `split`; `[[links]]` lose their brackets."""
    cut = re.compile(rf"[{split}]+")

    def read(value: object) -> tuple[str, ...]:
        if isinstance(value, str):
            return _unique(_unlinked(part) for part in cut.split(value))
        return _unique(_unlinked(part) for part in _flat(value))

    return read


def _flat(value: object) -> Iterable[str]:
    """`[[Peter]]` without quotes is a list in a list to YAML."""
    if isinstance(value, list):
        return [text for item in value if item is not None for text in _flat(item)]
    return [_text(value)]


def _unlinked(text: str) -> str:
    text = text.strip()
    return (
        text[2:-2].partition("|")[0].partition("#")[0].strip()
        if text.startswith("[[") and text.endswith("]]")
        else text
    )


def _tags(value: object) -> tuple[str, ...]:
    return _unique(
        tag.lstrip("#").strip("/ ")
        for tag in _names(", \n\t" if isinstance(value, str) else ",")(value)
    )


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for name in names:
        if name:
            found.setdefault(name.casefold(), name)
    return tuple(found.values())


def _share(value: object) -> float:
    number = _decimal(value)
    if not 0 <= number <= 1:
        raise ValueError
    return number


def _decimal(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError
    return float(value)


def _whole(value: object) -> int:
    number = _decimal(value)
    if number != int(number) or abs(number) > 10**9:
        raise ValueError
    return int(number)


def _count(value: object) -> int:
    number = _whole(value)
    if number < 0:
        raise ValueError
    return number


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def moment(text: str) -> str:
    """A date (`2024-03-05`, `2024-03-05 10:00`, `2024-03`) in RFC 3339, without offset as UTC; ""
    if it is none."""
    try:
        return rfc3339(_text(text))
    except (ValueError, OverflowError):
        return ""


def _moment(value: object) -> str:
    return rfc3339(_text(value))


def _written(value: object) -> str:
    """As people write it who never heard of the format."""
    if found := written_date(value):
        return found
    raise ValueError


@lru_cache(maxsize=16_384)  # of every row that is weighed, of each question anew
def epoch(text: str) -> float | None:
    """Epoch seconds of a date as `moment` reads it, None when it is none."""
    normal = moment(text)
    return datetime.fromisoformat(normal).timestamp() if normal else None


_READERS: Final[dict[str, Callable[[object], Any]]] = {
    **dict.fromkeys(
        (
            "title",
            "description",
            "source",
            "kind",
            "project",
            "session",
            "outcome",
            "trigger",
            "keep",
        ),
        _text,
    ),
    **dict.fromkeys(("aliases", "about", "topics", "flags"), _names(",\n")),
    **dict.fromkeys(("derived_from", "supersedes"), _names(", \n\t")),
    **dict.fromkeys(("created", "timestamp"), _written),
    **dict.fromkeys(("valid_from", "valid_until"), _moment),
    **dict.fromkeys(("importance", "confidence"), _share),
    **dict.fromkeys(("turn", "priority"), _whole),
    **dict.fromkeys(("level", "budget"), _count),
    "id": _identity,
    "type": _word,
    "tags": _tags,
    "superseded_by": _word,
    "trust": _choice(*TRUSTS),
    "status": _choice(*STATUSES),
    "core": _flag,
}
_SPELLED: Final = frozenset(_READERS) - {
    "importance",
    "confidence",
    "turn",
    "priority",
    "level",
    "budget",
    "core",
}


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[:-3] if name.lower().endswith(".md") else name


def make_id(entropy: int) -> str:
    """The id of 60 random bits (higher bits are ignored)."""
    return "".join(ALPHABET[entropy >> shift & 31] for shift in range(55, -1, -5))


def id_of(*words: str) -> str:
    """The id of what these words name: the same for the same ones."""
    whole = "\0".join(words).encode("utf-8", "surrogatepass")
    return make_id(int.from_bytes(blake2b(whole, digest_size=8).digest(), "big"))


def is_id(text: str) -> bool:
    """Is `text` a whole id as files hold it?"""
    return _ID.fullmatch(text) is not None


def by_name(ident: str, paths: Iterable[str]) -> list[str]:
    """Files with one id, first the memory itself: its name ends with the id ("… 1.md" does not), it
    lies in a folder of memories (a backup does not), and no word stands before ("Copy of …")."""
    homes = {f"{folder}/" for folder in FOLDERS.values()}

    def likeness(path: str) -> tuple[bool, bool, int, str]:
        home = any(path.startswith(one) for one in homes)
        return not path.endswith(f"{ident}.md"), not home, len(path.rpartition("/")[2]), path

    return sorted(paths, key=likeness)


def ids_in(text: str) -> list[str]:
    """Each word of `text` that can be a whole id, once: one in a hundred ids has no digit, and a
    word of twelve letters ("advancements") looks like one, so ask whether it names a note."""
    return [word for word in dict.fromkeys(re.findall(r"\w+", text)) if is_id(word)]


def slug(title: str) -> str:
    """`title` as a file name part: `[a-z0-9-]`, at most 50 characters, never empty."""
    plain = fold(title[:400]).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:50].rstrip("-") or "note"


def path_for(type_: str, title: str, id_: str, created: str) -> str:
    """Where a machine files a new note; only episodic and semantic by month of `created`."""
    if not is_id(id_):
        raise InvalidInput(
            f"{id_[:40]!r} is not an id",
            hint="An id is 12 lower-case letters and digits (no i, l, o, u).",
        )
    folder, name = FOLDERS.get(type_, "notes"), f"{slug(title)}-{id_}.md"
    if folder not in ("episodic", "semantic"):
        return f"{folder}/{name}"
    if not (day := moment(created)):
        raise InvalidInput(
            f"{created[:40]!r} is not a date", hint="Write it like 2026-11-21T10:00:00+00:00."
        )
    return f"{folder}/{day[:4]}/{day[5:7]}/{name}"


def fingerprint(type_: str, title: str, body: str) -> str:
    """32 hex characters, equal for the same words under the same title and type."""
    parts = (type_.strip().lower(), " ".join(title.split()), body.replace("\r\n", "\n").strip())
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def named(name: str) -> str:
    """The same for a name or a title alone, however its case and accents are written."""
    return fingerprint("", fold(name), "")


def trust_of(source: str) -> str:
    """A person's own (also a note that names no source) `user`, the model's and the loops' `model`,
    everything captured or imported `external`."""
    if source in ("", "user"):
        return "user"
    return "model" if source in ("model", "dream") else "external"


def weakest(trusts: Iterable[str]) -> str:
    """The lowest trust of a lineage; unknown words count as `external`, an empty lineage as
    `user`."""
    ranks = [TRUSTS.index(trust) if trust in TRUSTS else len(TRUSTS) - 1 for trust in trusts]
    return TRUSTS[max(ranks, default=0)]


def no_weaker(trust: str, than: str) -> bool:
    """Words that are trusted less never stand for others that are trusted more."""
    return weakest([trust, than]) == weakest([than])


def circles_broken(replaced: Mapping[str, str]) -> Iterator[str]:
    """Ids that stay in force, the least of each circle in `replaced` (id -> id of what took its
    place). Two machines can make one in a night, and nothing of it would be in force."""
    seen: set[str] = set()
    for start in sorted(replaced):
        walk: list[str] = []
        at = start
        while at in replaced and at not in seen:
            seen.add(at)
            walk.append(at)
            at = replaced[at]
        if at in walk:
            yield min(walk[walk.index(at) :])


# -- when a note came to be

CREATED: Final = (
    "created", "createdat", "createdon", "createddate", "createdtime", "creationdate",
    "creationtime", "datecreated", "datetimecreated",
    "date", "datetime", "day", "published", "publishedat", "publishedon", "publisheddate",
    "publishdate", "publicationdate", "pubdate",
    "datepublished", "datum", "fecha", "data", "日期", "创建时间", "作成日",
)  # fmt: skip
"""In small letters without what separates words; the first that holds a date counts."""
CHANGED: Final = (
    "updated", "updatedat", "updatedon", "updateddate", "dateupdated", "lastupdated", "modified",
    "modifiedat", "modifieddate",
    "datemodified", "lastmodified", "lastmodifiedat", "lastmod", "lastedited", "lasteditedtime",
    "mtime",
)  # fmt: skip
"""Keys that say when a note was changed last."""

_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:[+-]\d\d:\d\d|Z)")
_PARTIAL: Final = re.compile(r"(\d{4})(?:[-/](\d\d?)(?:[-/](\d\d?))?)?")
_SPACED: Final = re.compile(
    r"(\d{4})[-/.](\d\d?)[-/.](\d\d?)[T ]+(\d\d?:\d\d(?::\d\d)?)(?:\.\d+)?(?: *(Z|UTC|"
    r"[+-]\d\d:?\d\d)(?: +\w+)?)?"
)
_DAY_FIRST: Final = re.compile(r"(\d\d?)([./-])(\d\d?)\2(\d{4})(?:[T ,].*)?")
_DAY_FIRST_NAMED: Final = re.compile(r"(?<![\w.-])\d\d?([.-])\d\d?\1(?:19|20)\d\d(?![.-]?\d)")
_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_LONGEST: Final = 60
_EPOCH: Final = re.compile(r"1\d{9}(?:\d{3})?")
_IN_NAME: Final = re.compile(r"(?<!\d)(\d{4})([-_./]?)(\d\d)\2(\d\d)(?!\d)")
_STAMP: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)(\d\d)(\d\d)(?:[T_-]?\d{4}(?:\d\d)?)(?!\d)")
_WEEK: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)-?W(\d\d)(?!\d)")
_MONTH: Final = re.compile(
    r"(?:^|/)((?:19|20)\d\d)(?:[-_.]|/(?:(?:19|20)\d\d[-_.])?)(\d\d)(?=[ _./-]|$)(?![-_.]\d)"
)
_SPOKEN: Final = re.compile(
    r"(?i)(?<![^\W_])((?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2}(?:st|"
    r"nd|rd|th)?,? (?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)?\.? (?:jan|feb|mar|apr|may|jun|jul|aug|"
    r"sep|oct|nov|dec)[a-z]*\.?,? (?:19|20)\d\d|(?:19|20)\d\d年\d{1,2}月\d{1,2}日)(?!\d)"
)
_ANY_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Only words with a year are read, and those mean the same on every day."""


def rfc3339(text: str) -> str:
    """A date as the format has it (`2024-03-05`, `2024-03-05 10:00`, `2024-03`). Raises ValueError
    or OverflowError."""
    if _INSTANT.fullmatch(text):
        return datetime.fromisoformat(text).isoformat()
    if partial := _PARTIAL.fullmatch(text):
        return _day(partial[1], partial[2] or 1, partial[3] or 1)
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).isoformat()


def stated_date(meta: Mapping[str, object], names: tuple[str, ...]) -> str:
    """However the name is written (`Date Created`, `created_at`, `createdAt`)."""
    known: dict[str, object] = {}
    for key, value in meta.items():
        known.setdefault("".join(filter(str.isalnum, key)).lower(), value)
    return next(filter(None, (written_date(known[name]) for name in names if name in known)), "")


def written_date(value: object) -> str:
    """A date as people write it in frontmatter."""
    if isinstance(value, list) and len(value) == 1:
        return written_date(value[0])
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = str(value).strip().strip("[]<>\"'").strip()
    return _dated(text) if 4 <= len(text) <= _LONGEST else ""


@lru_cache(maxsize=1000)
def _dated(text: str) -> str:
    if _EPOCH.fullmatch(text):
        return datetime.fromtimestamp(int(text[:10]), UTC).isoformat()
    for read in (rfc3339, _with_time, _day_first, _of_mail, _in_words):
        try:
            if found := read(text):
                return found
        except (ValueError, OverflowError, InvalidInput):
            continue
    return ""


def _with_time(text: str) -> str:
    found = _SPACED.fullmatch(text)
    if not found:
        return ""
    zone = {None: "+00:00", "Z": "+00:00", "UTC": "+00:00"}.get(found[5], found[5])
    day = f"{found[1]}-{int(found[2]):02}-{int(found[3]):02}"
    return datetime.fromisoformat(
        f"{day}T{found[4].zfill(len(found[4].partition(':')[2]) + 3)}{zone}"
    ).isoformat()


def _day_first(text: str) -> str:
    """What could be two days is none."""
    found = _DAY_FIRST.fullmatch(text)
    if not found:
        return ""
    first, second = int(found[1]), int(found[3])
    if found[2] != "." and first <= 12 and second <= 12 and first != second:
        return ""
    month, day = (first, second) if second > 12 else (second, first)
    return _day(found[4], month, day)


def _of_mail(text: str) -> str:
    """`Tue, 05 Mar 2024 10:00:00 +0100`."""
    found = parsedate_to_datetime(text) if "," in text and ":" in text else None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).isoformat() if found else ""


def _in_words(text: str) -> str:
    """`March 5, 2024`, `5 de marzo de 2024`."""
    if not _YEAR.search(text) or not any(c.isalpha() for c in text):
        return ""
    start, end = parse_range(text, _ANY_DAY)
    return (
        datetime.fromtimestamp(start, UTC).isoformat()
        if start is not None and end is not None
        else ""
    )


def named_date(path: str) -> str:
    """In the name of a file, else of its folders: a day, a week, or the first of a month; "" when
    it names none."""
    for form, read in _NAMES:
        for found in reversed(list(form.finditer(path))):
            try:
                if day := read(found):
                    return day
            except (ValueError, InvalidInput):
                continue
    return ""


def _day(year: str, month: str | int, day: str | int) -> str:
    return datetime(int(year), int(month), int(day), tzinfo=UTC).isoformat()


def _week(found: re.Match[str]) -> str:
    monday = date.fromisocalendar(int(found[1]), int(found[2]), 1)
    return datetime(monday.year, monday.month, monday.day, tzinfo=UTC).isoformat()


_NAMES: Final = (
    (_IN_NAME, lambda found: _day(found[1], found[3], found[4])),
    (_STAMP, lambda found: _day(found[1], found[2], found[3])),
    (_DAY_FIRST_NAMED, lambda found: _day_first(found[0])),
    (_SPOKEN, lambda found: _in_words(found[1].replace(".", ""))),
    (_WEEK, _week),
    (_MONTH, lambda found: _day(found[1], found[2], 1)),
)


class _Owned(Protocol):
    @property
    def type(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def trust(self) -> str: ...
    @property
    def core(self) -> bool: ...


def owned(note: _Owned) -> str:
    """Why loops and models leave it as it is and only propose other words; "" when they need
    not."""
    if note.core:
        return "was ratified by a person"
    own = note.type == "orientation" and note.trust == "user" and note.source in ("", "user")
    return "is in a person's own words, for every conversation" if own else ""


class _Captured(Protocol):
    @property
    def type(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def tags(self) -> Collection[str]: ...


def profile(note: _Captured) -> bool:
    """Is it what a machine put together of whom or what several memories name?"""
    return note.type == ENTITY and note.source == "dream"


def captured(note: _Captured) -> bool:
    """Is it an episode as it was captured? (What a model left behind in its own words is a memory
    from the first.)"""
    return note.type == EPISODIC and (note.source == CAPTURE or CAPTURE in note.tags)
