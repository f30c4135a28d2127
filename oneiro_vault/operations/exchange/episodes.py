"""An imported conversation as notes: episodes as captures are, each of what was said without a long
pause, named after what is in them, so that the same export always makes the same files."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final

from oneiro_vault.capture import transcripts
from oneiro_vault.capture.transcripts import NAMES, SPEAKS, TOOL
from oneiro_vault.core import memory as memories
from oneiro_vault.core.conversation.turns import CLIENT, FILE, KIND, OWN
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.memory import EPISODIC
from oneiro_vault.importers.records import Conversation, Turn
from oneiro_vault.vault.change import Change, Remove, Write

SEEN: Final = "turns"
"""Key of the frontmatter that names the messages in an imported episode, `MARK` characters each:
what a newer export brings again."""
STATE: Final = "upstream"
"""Key that says which state of it the export had: of a conversation when it was changed last, of a
note its words as they were imported."""
MARK: Final = 6
PAUSE: Final = 6 * 3600.0
"""Seconds of silence after which a conversation that goes on is another episode, of its own day."""
_NAMED: Final = re.compile(r"\[[\w .:/-]{1,60}\] ")
_EMPTY_LINE: Final = re.compile(r"\n(?=\n)")


@dataclass(frozen=True)
class File:
    """A note to be written: its id, where, its frontmatter and body."""

    id: str
    path: str
    meta: Mapping[str, object]
    body: str
    base: str | None = None
    """sha256 of what is there now, None when nothing is."""
    data: bytes = b""
    """The whole file, where it is not made of the others."""
    partner: str = ""
    """Id of the file without which this one is not written."""
    gone: bool = False
    """It is taken away instead."""

    def change(self) -> Change:
        """What is to be done. Raises InvalidInput for what no note can hold."""
        if self.gone:
            return Remove(self.path, self.base or "")
        return Write(self.path, self._whole(), self.base)

    def _whole(self) -> bytes:
        return self.data or yaml_block.composed(self.meta, self.body)


@dataclass
class Piece:
    """Turns of one episode with their marks ("" for what has none of its own), and the number of
    the first one in its conversation."""

    first: int
    turns: list[Turn] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)

    def add(self, turn: Turn, mark: str) -> None:
        """One more turn."""
        self.turns.append(turn)
        self.marks.append(mark)


@dataclass(frozen=True)
class Manner:
    """How an import is to be written: `source` of what is imported, when it was `exported`
    (RFC 3339), is it `foreign` (somebody else's), its `project`; `clean` takes secrets out."""

    source: str
    exported: str
    clean: Callable[[str], str]
    foreign: bool = False
    project: str = ""
    limit: int = 1_000_000


def marks(turns: Sequence[Turn]) -> list[str]:
    """What each message is known by in a later export: its id, else its words and how often they
    came before; "" for what is no message."""
    seen: dict[str, int] = {}
    found = []
    for turn in turns:
        if turn.speaker not in NAMES:
            found.append("")
            continue
        name = turn.id or f"{turn.speaker}\0{' '.join(turn.text.split())}"
        seen[name] = number = seen.get(name, 0) + 1
        found.append(_mark(f"{name}\0{number}" if number > 1 else name))
    return found


def _mark(name: str) -> str:
    whole = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    bits = int.from_bytes(whole, "big")
    return "".join(memories.ALPHABET[bits >> 5 * place & 31] for place in range(MARK))


def seen_in(value: object) -> set[str]:
    """The marks that the frontmatter of an episode names."""
    text = value if isinstance(value, str) else ""
    return {text[at : at + MARK] for at in range(0, len(text), MARK)}


def pieces(turns: Sequence[Turn], names: Sequence[str], known: Collection[str]) -> list[Piece]:
    """What is new of a conversation, parted at long pauses and where something known lies between;
    a tool's turn stays with the message it follows."""
    found: list[Piece] = []
    lead: list[int] | None = []
    last: datetime | None = None
    for number, (turn, name) in enumerate(zip(turns, names, strict=True)):
        if name in known and name:
            lead, last = None, None
            continue
        if name and (last is None or _paused(last, turn.at)):
            found.append(Piece(lead[0] if lead else number))
            for before in lead or ():
                found[-1].add(turns[before], "")
            lead = []
        if not name and last is None:
            if lead is not None:
                lead.append(number)
            continue
        found[-1].add(turn, name)
        last = turn.at or last or _NEVER
    return found


_NEVER: Final = datetime(1, 1, 1, tzinfo=UTC)
"""Of what has no date: nothing is a pause after it."""


def _paused(last: datetime, at: datetime | None) -> bool:
    return at is not None and last != _NEVER and (at - last).total_seconds() > PAUSE


def files(conversation: Conversation, found: Sequence[Piece], manner: Manner) -> Iterator[File]:
    """The notes of new pieces of a conversation; none for what is all private."""
    for piece in found:
        parts = list(_parts(piece, manner))
        for number, part in enumerate(parts):
            yield _file(conversation, piece, part, (number, len(parts)), manner)


@dataclass
class _Part:
    """A body, the marks of what is in it and the number of its first turn."""

    first: Turn
    turn: int
    words: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    size: int = 0


def _parts(piece: Piece, manner: Manner) -> Iterator[_Part]:
    """Bodies of at most `limit` bytes, each beginning with who speaks."""
    part: _Part | None = None
    speaker = ""
    for place, (turn, mark) in enumerate(zip(piece.turns, piece.marks, strict=True)):
        for words in _paragraphs(turn, manner):
            named = turn.speaker in NAMES and (turn.speaker != speaker or part is None)
            said = f"{NAMES[turn.speaker]}: {words}" if named else words
            size = len(said.encode("utf-8")) + 2
            if part is not None and part.size + size > manner.limit:
                yield part
                part = None
                said = f"{NAMES[turn.speaker]}: {words}" if turn.speaker in NAMES else words
            if part is None:
                part = _Part(turn, piece.first + place)
            part.words.append(said)
            part.size += size
            speaker = turn.speaker if turn.speaker in NAMES else speaker
        if part is not None and mark:
            part.marks.append(mark)
    if part is not None:
        yield part


def _paragraphs(turn: Turn, manner: Manner) -> list[str]:
    """A turn as it stands in a note: what a tool did on one line, what is quoted as one paragraph
    that begins with its name, so that nobody is taken for its speaker."""
    words = manner.clean(transcripts.clean(turn.text))
    if turn.speaker in NAMES:
        found = transcripts.parts(SPEAKS.sub("> ", words), manner.limit - 100) if words else []
        return [one for one in found if one.strip()]
    named = words if _NAMED.match(words) else f"[{turn.speaker}] {words}" if words else ""
    if turn.speaker == "tool":
        line = " ".join(named.split())
        return [line if len(line) <= TOOL else f"{line[:TOOL]}…"] if line else []
    name = (_NAMED.match(named) or [""])[0]
    found = transcripts.parts(_EMPTY_LINE.sub("\n ", named), manner.limit - 100) if named else []
    return [one if number == 0 else f"{name}{one}" for number, one in enumerate(found)]


def _file(
    said: Conversation, piece: Piece, part: _Part, place: tuple[int, int], manner: Manner
) -> File:
    body = "\n\n".join(part.words) + "\n"
    at = next((one.at for one in piece.turns if one.at), None) if part.turn else said.at
    at = part.first.at or at or said.at or said.updated
    created = shown_date(at) or manner.exported
    name = " ".join(manner.clean(transcripts.clean(said.title)).split())
    title = name or transcripts.title(body, "session")
    if part.turn or place[0]:
        number = f", part {place[0] + 1} of {place[1]}" if place[1] > 1 else ""
        title = f"{title} ({created[:10]}{number})"
    first = next(iter(part.marks), "")
    ident = memories.id_of(manner.source, said.id, first or f"{part.turn} {place[0]}")
    project = manner.project or " ".join(said.project.split())
    meta: dict[str, object] = {
        "id": ident, "type": EPISODIC, "title": title, "created": created,
        "timestamp": manner.exported or created, "source": manner.source, "kind": "conversation",
        "project": project or None, "session": session_of(said),
        "turn": part.turn + 1, "tags": [OWN, *(tag for tag in said.tags if tag != OWN)],
        KIND: "session", CLIENT: FILE if manner.foreign else manner.source.partition(":")[2],
        STATE: shown_date(said.updated) or created, SEEN: "".join(part.marks),
    }  # fmt: skip
    return File(ident, memories.path_for(EPISODIC, title, ident, created), meta, body)


def session_of(said: Conversation) -> str:
    """The export's id of a conversation, as a note's `session` holds it."""
    return " ".join(transcripts.clean(said.id).split())[:200]


def ids(said: Conversation, names: Sequence[str], source: str) -> Iterator[tuple[str, str]]:
    """The ids that episodes of a conversation may have, each with the mark of the message it would
    begin at: it can be any of them."""
    return ((memories.id_of(source, said.id, name), name) for name in names if name)


def spoken_with(turns: Sequence[Turn], names: Sequence[str], first: str) -> set[str]:
    """The marks of what was said from this message on without a long pause: all that its episode
    can have held."""
    at = names.index(first)
    return set(pieces(turns[at:], names[at:], ())[0].marks)


def shown_date(at: datetime | None) -> str:
    """A date as notes have it, in UTC; "" for none."""
    return "" if at is None else at.astimezone(UTC).isoformat(timespec="seconds")
