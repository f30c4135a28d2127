"""A note as a value: what its frontmatter says, what its body adds, and what is filled in when
neither does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.text.query import fold
from oneiro_vault.core.time import note_dates
from oneiro_vault.errors import InvalidInput

TYPES: Final = ("episodic", "semantic", "orientation", "entity", "procedure", "principle")
STATUSES: Final = ("active", "pending", "dormant", "superseded", "archived")
TRUSTS: Final = ("user", "said", "model", "external")
"""Strongest first. `said`: typed by the person in a conversation, as a client recorded it."""
OWN_WORDS: Final = ("user", "said")
"""Trust of what a person wrote into the vault or typed in a conversation."""

FOLDERS: Final = {
    "episodic": "episodic", "semantic": "semantic", "orientation": "orientation",
    "entity": "entities", "procedure": "procedures", "principle": "principles",
}  # fmt: skip
"""Where machines file a type; a person may move any note anywhere."""

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_ID: Final = re.compile(rf"[{_ALPHABET}]{{12}}")


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
    stamp, changed = values.get("timestamp"), note_dates.stated(extra, note_dates.CHANGED)
    if not values.get("created"):
        known = note_dates.stated(extra, note_dates.CREATED) or stamp
        values["created"] = known or note_dates.named(path) or changed  # it was there by then
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
    """The first spelling wins."""
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
        return note_dates.rfc3339(_text(text))
    except (ValueError, OverflowError):
        return ""


def _moment(value: object) -> str:
    return note_dates.rfc3339(_text(value))


def _written(value: object) -> str:
    """As people write it who never heard of the format."""
    if found := note_dates.written(value):
        return found
    raise ValueError


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
    return "".join(_ALPHABET[entropy >> shift & 31] for shift in range(55, -1, -5))


def is_id(text: str) -> bool:
    """Is `text` a whole id as files hold it?"""
    return _ID.fullmatch(text) is not None


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
