"""A request to remember something, checked key by key and completed into the note it will be."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from itertools import groupby
from typing import Any, Final

from oneiro_vault.core import memory as memories
from oneiro_vault.core.conversation.turns import KIND, SOURCE, imported
from oneiro_vault.core.frontmatter import fields, yaml_block
from oneiro_vault.core.markdown.quoting import cut_at_word
from oneiro_vault.core.memory import STATUSES, TYPES, fingerprint
from oneiro_vault.core.text.query import speaker_of
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.errors import InvalidInput, UnreadableNote, UnsafePath, shown
from oneiro_vault.index.base import Row
from oneiro_vault.operations.remember import images
from oneiro_vault.operations.runtime import House, new_id
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import checked, hidden, portable, twin_key

KEPT: Final = "Nothing was written."
TITLE_LENGTH: Final = 80
LONGEST: Final = 20_000
"""Characters that a model may store as one memory."""
DAY: Final = 86_400.0
_SKEW: Final = 600.0
"""Seconds that the clock of whoever dates a memory may be ahead."""
_PAST: Final = ("created", "timestamp")
"""Dates that cannot be still to come."""
_UNNAMED: Final = re.compile(r"^[\s.~]|[\s.…]$|[\[\]#^|/%]")
"""What no title has that names a file: what hides a file or ends no name on Windows, what ends a
sentence, and what a link reads as something else."""


@dataclass
class Draft:
    """A note to be. `placed`, `named`, `dated`: the caller chose its path, its id, its date;
    `session`: the one the caller named."""

    meta: dict[str, object]
    body: str
    path: str
    placed: bool = False
    named: bool = False
    dated: bool = False
    session: str = ""
    pictures: list[images.Stored] = field(default_factory=list)
    replaces: list[Row] = field(default_factory=list)
    """Memories that hold no longer once this one is there."""

    def says(self, key: str) -> str:
        """What the frontmatter says under a key that holds a text, "" when it does not."""
        return str(self.meta.get(key, ""))

    @property
    def id(self) -> str:
        """Its id."""
        return self.says("id")

    @property
    def words(self) -> str:
        """What is equal for the very same words (`memory.fingerprint`)."""
        return fingerprint(self.says("type"), self.says("title"), self.body)

    def compose(self) -> bytes:
        """The whole file. Raises InvalidInput for what no note can hold."""
        return yaml_block.composed(self.meta, self.body)


def draft(house: House, item: Mapping[str, Any], actor: str, names: Names) -> Draft:
    """One request, checked and completed. Raises InvalidInput, or UnsafePath for a path that is
    none of a note."""
    if not isinstance(item, Mapping):
        raise InvalidInput("it is not an object", hint='Each one looks like {"text": "…"}.')
    text = body_of(_redacted(house, item.get("text")), house.settings["notes.indexed_bytes"])
    if "captured" not in item:  # a conversation is kept as long as it was
        concise(text, actor)
    given = {
        key: _redacted(house, value)
        for key, value in item.items()
        if key not in ("text", "path", "images", "replaces") and value is not None
    }
    checked = {key: fields.checked(key, value) for key, value in given.items()}
    meta = {
        key: value
        for key, value in checked.items()
        if key not in fields.EXPECTED or value not in ("", [])
    }
    _permitted(meta, actor)
    made = Draft(
        meta,
        text,
        "",
        "path" in item,
        "id" in meta,
        "created" in meta,
        str(meta.get("session", "")),
    )
    made.replaces = _replaced(house, item.get("replaces"), actor)
    if made.replaces:
        meta["supersedes"] = [row.id for row in made.replaces]
        meta.setdefault("about", list(made.replaces[0].about))
        if not meta["about"]:
            del meta["about"]
    meta["type"] = checked_types(house, [meta.get("type", "semantic")], KEPT)[0]
    meta.setdefault("id", new_id())
    meta.setdefault("title", title_of(text))
    meta.setdefault("source", actor)
    describes(meta["type"], actor, meta["title"], meta.get("description", ""), text)
    _dates(house, meta)
    made.path = (
        note_path(item["path"])
        if made.placed
        else names.filed(meta["type"], meta["title"], meta["id"], meta["created"])
    )
    if item.get("images"):
        made.pictures = images.received(house.settings, item["images"])
        made.body = images.shown_in(made.body, made.path, made.pictures)
    return made


def check_owner(row: Row, actor: str, hint: str) -> None:
    """Raise InvalidInput where a machine would change what is a person's (`memory.owned`)."""
    if (why := memories.owned(row)) and actor != "user":
        raise InvalidInput(f"{row.title} {why}", kept=KEPT, hint=hint)


def _replaced(house: House, named: Any, actor: str) -> list[Row]:
    """The memories that a request says it replaces. Raises InvalidInput for what may not be."""
    if not named:
        return []
    if not isinstance(named, str | list | tuple):
        raise InvalidInput(f"replaces must be an id or ids, not {shown(named)}", kept=KEPT)
    rows = [
        house.indexing.resolve(str(one)) for one in ([named] if isinstance(named, str) else named)
    ]
    for row in rows:
        check_owner(row, actor, "Only a person may replace it; `reframe` proposes other words.")
        if row.superseded_by:
            raise InvalidInput(
                f"{row.title} was replaced already",
                kept=KEPT,
                hint=f"What holds now is {row.superseded_by}: replace that.",
            )
        if not row.id:
            raise InvalidInput(
                f"{row.path} has no id of its own",
                kept=KEPT,
                hint=f"`oneiro adopt {row.path}` gives it one.",
            )
    return list({row.key: row for row in rows}.values())


def _redacted(house: House, value: Any) -> Any:
    """What goes into a title goes into a file's name too, where nothing can take it out: so first
    of all."""
    if isinstance(value, str):
        return house.vault.secrets.redacted(value)
    return [_redacted(house, one) for one in value] if isinstance(value, list | tuple) else value


def body_of(value: Any, limit: int) -> str:
    """The text of a memory as the body of its note, ending with a newline. Raises InvalidInput."""
    if not isinstance(value, str):
        raise InvalidInput(
            f"the text of a memory must be a string, not {type(value).__name__}", kept=KEPT
        )
    if fields.blank(value) and "\0" not in value:
        raise InvalidInput("the text of a memory is empty", kept=KEPT, hint="Say what to remember.")
    if "\0" in value:
        raise InvalidInput(
            "the text holds a NUL character", kept=KEPT, hint="Remove it; notes are plain text."
        )
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"the text is not valid Unicode ({error.reason})", kept=KEPT, hint="Save it as UTF-8."
        ) from error
    if size > limit:
        raise InvalidInput(
            f"the text has {size:,} bytes; a note is indexed up to {limit:,}",
            kept=KEPT,
            hint="Split it into several memories, or keep the document as a file and remember "
            "what it says.",
        )
    try:
        yaml_block.refuse_markers(value)
    except UnreadableNote as error:
        raise InvalidInput(
            "lines of the text begin like the conflict markers of git (<<<<<<<, =======, "
            ">>>>>>>), so the note would count as an unfinished merge",
            kept=KEPT,
            hint="Indent these lines, for example by four spaces.",
        ) from error
    return value if value.endswith("\n") else value + "\n"


def concise(text: str, actor: str, before: int = 0) -> None:
    """Refuse what a model hands over as one memory and is a document; one of `before` characters
    may grow. Raises InvalidInput."""
    if len(text) > LONGEST + before and actor != "user" and not imported(actor):
        raise InvalidInput(
            f"the text has {len(text):,} characters; as one memory at most {LONGEST:,} are stored",
            kept=KEPT,
            hint="Store what will matter of it, one idea a memory; the document itself can be a "
            "file in the vault's folder.",
        )


def title_of(text: str) -> str:
    """The first line that says something, cut at a word."""
    line = (
        next(line for line in text.splitlines() if line.strip()).strip().lstrip("#>-* ").strip()
        or "untitled"
    )
    return cut_at_word(line, TITLE_LENGTH)


def _moment(house: House, given: str) -> str:
    """A date as RFC 3339 with an offset; the beginning of the span for words such as `last
    March`."""
    now = dates.local(house.clock())
    normal = memories.moment(given)
    if normal:
        return normal
    try:
        start = dates.parse_range(given, now)[0]
    except InvalidInput:
        start = None
    if start is None:
        raise InvalidInput(
            f"{shown(given)} is not a date",
            kept=KEPT,
            hint="Use 2026-03-05 or 2026-03-05T14:30:00+01:00.",
        )
    return dates.iso(start)


def _dates(house: House, meta: dict[str, object]) -> None:
    """What happened long ago and is learned now says so: `timestamp` is when it came in."""
    for key in fields.DATES:
        if key in meta:
            given = str(meta[key])
            meta[key] = _moment(house, given)
            if key in _PAST and _to_come(house, str(meta[key])):
                _refuse_future(meta, key, given)
    meta.setdefault("created", house.now())
    if (memories.epoch(str(meta["created"])) or 0.0) < house.clock() - DAY:
        meta.setdefault("timestamp", house.now())


def _to_come(house: House, moment: str) -> bool:
    """Has it not come yet, by the clock of this machine? A day alone has come when it has begun
    here, though it has not in UTC."""
    today = dates.iso(house.clock())[:10]
    begun = "T00:00:00" in moment and moment[:10] <= today
    return not begun and (memories.epoch(moment) or 0.0) > house.clock() + _SKEW


def _refuse_future(meta: dict[str, object], key: str, given: str) -> None:
    """Nobody can be asked about a conversation that a clock ahead of this one dated: it is of now.
    Raises InvalidInput for everything else."""
    when = meta.pop(key)
    if KIND in meta or meta.get("source") == SOURCE or imported(str(meta.get("source", ""))):
        return
    means = "" if str(when).startswith(given) else f" ({str(when)[:10]})"
    raise InvalidInput(
        f"{shown(given)}{means} is still to come: `{key}` says when it was learned or happened",
        kept=KEPT,
        hint="Leave it out for now, or give a day that has come (2026-03-05, last March). What is "
        "to come stands in the words, with its day; `valid_from` says from when a fact holds.",
    )


def _permitted(meta: Mapping[str, Any], actor: str) -> None:
    """What a caller may not claim: a person's ratification, an id, more trust than its source
    has."""
    if meta.get("core"):
        raise InvalidInput(
            "core is given by a person to a note that is there", kept=KEPT, hint="Leave `core` out."
        )
    if "id" in meta and actor != "user" and not imported(actor):
        raise InvalidInput(
            "an id is given by the vault, never by the caller", kept=KEPT, hint="Leave `id` out."
        )
    if KIND in meta and actor not in (
        "user",
        SOURCE,
    ):  # who speaks in it would be this caller's to say
        raise InvalidInput(
            f"`{KIND}` is set when a conversation is captured",
            kept=KEPT,
            hint=f"Leave `{KIND}` out, or capture it.",
        )
    source = meta.get("source", actor)
    most = memories.weakest([memories.trust_of(source)])
    if memories.weakest([memories.trust_of(actor), most]) != most:
        raise InvalidInput(
            f"source cannot be {shown(source)}: this comes from {shown(actor)}",
            kept=KEPT,
            hint="Leave `source` out.",
        )
    if "trust" in meta and memories.weakest([most, meta["trust"]]) != meta["trust"]:
        raise InvalidInput(
            f"trust cannot be {meta['trust']}: what comes from {shown(source)} is trusted as "
            f"{most} at most",
            kept=KEPT,
        )


def describes(type_: str, actor: str, *texts: str) -> None:
    """Refuse what a model writes for every beginning to come, when it does more than describe.
    Raises InvalidInput."""
    if type_ != "orientation" or memories.trust_of(actor) != "model":
        return
    # with a model that takes a third of a second to load, and few commands need it
    from oneiro_vault.classify import orientation_gate

    if why := orientation_gate.prescribes("\n".join(texts)):
        hint = (
            "Orientation describes the world: say it of the people and things it is about, in the "
            "third person."
        )
        raise InvalidInput(f"this may not stand in the orientation: {why}", kept=KEPT, hint=hint)


class Names:
    """Where a machine files new notes that come together. An entity gets a file of its title, so
    that its bare link opens it in Obsidian too, unless a note anywhere has that name, or will
    (`chosen`: paths)."""

    def __init__(self, vault: Vault, chosen: Iterable[str] = ()) -> None:
        self._vault = vault
        self._given = {_key(path) for path in chosen}

    def filed(self, type_: str, title: str, id_: str, created: str) -> str:
        """The path of one; it is taken then."""
        usual = memories.path_for(type_, title, id_, created)
        name = _file_of(title) if type_ == memories.ENTITY else ""
        if not name or (key := _key(name)) in self._taken or key in self._given:
            return usual
        self._given.add(key)
        return f"{usual.rpartition('/')[0]}/{name}"

    @cached_property
    def _taken(self) -> frozenset[str]:
        """Of every note in history, and whatever lies in the folder."""
        vault = self._vault
        paths = (*vault.listing(), *vault.files.names(memories.FOLDERS[memories.ENTITY]))
        return frozenset(map(_key, paths))


def _key(path: str) -> str:
    return twin_key(path.rpartition("/")[2])


def _file_of(title: str) -> str:
    """The title as the name of a file that any system can hold and a link can name, else ""."""
    name = unicodedata.normalize("NFC", title)
    odd = _UNNAMED.search(name) or not name.isprintable() or len(name) > TITLE_LENGTH
    if odd or name.lower().endswith(".md"):  # a link to it would lose that
        return ""
    try:
        return portable(f"{name}.md")
    except UnsafePath:
        return ""


def note_path(path: Any) -> str:
    """A path that a caller chose for a note. Raises UnsafePath for one where no note would ever be
    found."""
    if not isinstance(path, str):
        raise UnsafePath("a path must be a string", kept=KEPT)
    if not path.lower().endswith(".md"):
        raise UnsafePath(
            f"{shown(path)} does not end with .md", kept=KEPT, hint="Memories are Markdown notes."
        )
    if hidden(checked(path)):
        raise UnsafePath(
            f"{shown(path)} is hidden: notes there are never read",
            kept=KEPT,
            hint="Leave the leading dot out.",
        )
    return path


def conversations(drafts: Sequence[Draft]) -> None:
    """A conversation handed over turn by turn (`Name: …`, one date, several speakers) is one
    session: without its neighbours "Yes, in June." answers no question."""
    for _, run in groupby(drafts, key=lambda one: (one.says("created"), "session" in one.meta)):
        turns = list(run)
        speakers = [speaker_of(turn.body) for turn in turns]
        if (
            len(turns) >= 3
            and "session" not in turns[0].meta
            and all(speakers)
            and len(set(speakers)) > 1
        ):
            for turn in turns:
                turn.meta["session"] = f"{turns[0].says('created')[:10]}-{turns[0].id}"


def number_turns(house: House, drafts: Sequence[Draft]) -> None:
    """Memories of one session that share a date keep their order by `turn`, in the file."""
    following: dict[str, int] = {}
    for one in drafts:
        session = one.says("session")
        if session and "turn" not in one.meta:
            if session not in following:
                rows = house.index.list(session=session, limit=1_000_000)
                following[session] = max((row.turn or 0 for row in rows), default=0) + 1
            one.meta["turn"] = following[session]
            following[session] += 1


UNTYPED = "note"
"""What a note without a type counts as."""


def checked_types(house: House, names: Sequence[str], kept: str = "") -> tuple[str, ...]:
    """The types as the index spells them. Raises InvalidInput for one that no note has and we do
    not know; while an index is still being built only where they are to be written (`kept`: what is
    safe then)."""
    wanted = tuple(name.strip().lower() for name in names)
    if set(wanted) <= set(TYPES) or (
        house.indexing.backlog and not kept
    ):  # what is not indexed yet may have it
        return wanted
    types = list(dict.fromkeys((*TYPES, UNTYPED, *house.index.types())))
    for name in wanted:
        if name not in types:
            own = (
                f"A type of your own begins with a note that you write by hand, with `type: "
                f"{name[:40]}` in its frontmatter."
            )
            raise InvalidInput(
                f"there is no type {shown(name)} here{did_you_mean(name, types)}",
                kept=kept,
                hint=f"{_listed(types)} {own}",
            )
    return wanted


def checked_statuses(names: Sequence[str]) -> tuple[str, ...]:
    """The statuses in lower case. Raises InvalidInput for one there is not."""
    wanted = tuple(name.strip().lower() for name in names)
    for name in wanted:
        if name not in STATUSES:
            raise InvalidInput(
                f"there is no status {shown(name)}{did_you_mean(name, STATUSES)}",
                hint=_listed(STATUSES),
            )
    return wanted


def did_you_mean(name: str, names: Collection[str]) -> str:
    """`; did you mean 'semantic'?` when something is close, else nothing."""
    near = get_close_matches(name[:60], list(names), n=1, cutoff=0.75)
    return f"; did you mean {near[0]!r}?" if near else ""


def _listed(names: Sequence[str]) -> str:
    return f"One of: {', '.join(names[:20])}{' and more' if len(names) > 20 else ''}."
