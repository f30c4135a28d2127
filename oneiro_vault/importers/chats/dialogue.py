"""What the readers of chats share: files by their name, dates as services write them, texts of any
shape, and the path on screen in a tree of messages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import Any, Final

from oneiro_vault.answers import Json
from oneiro_vault.core.time.date_ranges import since_epoch
from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.elements import Damaged, Kind, elements
from oneiro_vault.importers.records import Conversation, Record, Skipped, Turn

_LOOKED_AT: Final = 40
"""Records of a file that tell what it is."""
_CONVERSATIONS: Final = re.compile(r"conversations?(?:[-_]\d+)?(?: ?\(\d+\))?\.json", re.I)
_UPLOADS: Final = re.compile(r"(?:^|/)(?:files__|dall-e|user-|dalle-generations)[^/]*/", re.I)
_LISTS: Final = ("conversations", "chats", "data", "items")
NEWEST: Final = "it has branches and the export does not say which was on screen: the newest"
"""Remark on a conversation that was read along its newest branch."""
Object = Json


def conversation_files(archive: Archive) -> list[str]:
    """Where a service keeps its conversations; one file by itself may have any name."""
    names = archive.names()
    if len(names) == 1 and names[0].lower().endswith(".json"):
        return [*names]
    found = (name for name in names if _CONVERSATIONS.fullmatch(PurePosixPath(name).name))
    return [name for name in found if not _UPLOADS.search(name)]


def begins(
    archive: Archive, name: str, most: int = _LOOKED_AT, keys: Collection[str] = _LISTS
) -> list[Object]:
    """The first objects in a file's list (or in that under one of `keys`), [] for what holds
    none."""
    found: list[Object] = []
    try:
        with archive.open(name) as stream:
            for number, one in enumerate(elements(stream, keys=keys)):
                if isinstance(one, dict):
                    found.append(one)
                if number + 1 >= most:
                    break
    except InvalidInput:
        return found
    return found


def objects(
    archive: Archive, names: Sequence[str], knows: Callable[[Object], bool], what: str
) -> Iterator[tuple[str, Object] | Skipped]:
    """(where, record) of every record in these files that the reader `knows`, and what is broken.
    Raises InvalidInput for a file that is cut, after what came before, and for files in which
    nothing is `what` they should hold."""
    kind = Kind(archive, _LISTS, knows, what, lists=True)
    for name in names:
        for found in kind.rows(name):
            yield found if isinstance(found, Skipped) else (str(found[0]), found[1])
    kind.refuse_none()


def written(value: object) -> str:
    """What somebody wrote, in whatever shape it came; "" for what is no text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        return "\n".join(filter(None, map(written, value)))
    if isinstance(value, Mapping):
        return written(value.get("text", value.get("content", value.get("parts"))))
    return ""


def whole(archive: Archive, name: str) -> Iterator[object | Damaged]:
    """What a file of JSON holds, whether it is a list or one object."""
    with archive.open(name) as stream:
        head = stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if head == b"[":
        with archive.open(name) as stream:
            yield from elements(stream)
        return
    try:
        yield json.loads(archive.read(name).decode("utf-8-sig", "replace"), strict=False)
    except (ValueError, RecursionError) as error:
        yield Damaged(0, f"it is broken JSON ({error})")
    except InvalidInput as error:
        yield Damaged(0, str(error))


def inside(value: object, *keys: str) -> Any:
    """What lies under keys in objects in one another, None where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def entries(value: object) -> list[Any]:
    """A list, also where there is none."""
    return value if isinstance(value, list) else []


def name_of(value: object, most: int = 60) -> str:
    """A text on one line, as a name."""
    return " ".join(value.split())[:most] if isinstance(value, str) else ""


def moment(value: object) -> datetime | None:
    """Seconds or milliseconds since 1970, or ISO 8601; without a zone it is UTC. None for no date,
    and for one that stands for none (the year 1)."""
    try:
        found = _dated(value)
    except (ValueError, OverflowError):
        return None
    if found is None or isinstance(value, bool) or not 1970 < found.year < 3000:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def moments(
    record: Mapping[str, Any], first: str, last: str
) -> tuple[datetime | None, datetime | None]:
    """When something began and was changed last, as two keys of it say."""
    return moment(record.get(first)), moment(record.get(last))


def _dated(value: object) -> datetime | None:
    if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
        return datetime.fromisoformat(value.strip())
    return since_epoch(float(value)) if isinstance(value, str | int | float) else None


def digest(*parts: str) -> str:
    """A name for what has none of its own: 24 hex characters, the same for the same words."""
    whole = "\0".join(parts).encode("utf-8", "surrogatepass")
    return blake2b(whole, digest_size=12).hexdigest()


def told(name: str, words: str) -> str:
    """What a tool did or a file holds, as turns of tools and quotations begin: `[name] words`."""
    plain = re.sub(r"[^\w .:/-]+", " ", name).strip()[:50].strip() or "tool"
    return f"[{plain}] {words.strip()}".strip()


def conversation(
    where: str,
    ident: str,
    title: str,
    turns: Sequence[Turn],
    at: datetime | None = None,
    updated: datetime | None = None,
    **more: Any,
) -> Record:
    """The record of it, or why there is none; it began and was changed last when its messages say
    so, where the export does not."""
    if not any(turn.speaker in ("user", "assistant") for turn in turns):
        name = f" ({title})" if title else ""
        return Skipped(f"{where}{name}", "nobody said anything in it")
    said = [turn.at for turn in turns if turn.at is not None]
    begun = at or min(said, default=updated)
    changed = updated or max(said, default=begun)
    return Conversation(ident, title, tuple(turns), begun, changed, **more)


@dataclass(frozen=True)
class Node:
    """One message of a tree. `order`: what decides between brothers, newest last."""

    id: str
    parent: str
    order: tuple[float, int]
    message: Any


def on_screen(nodes: Mapping[str, Node], leaf: str = "") -> tuple[list[Node], bool]:
    """From the root to `leaf`, and was it there? Else to the newest leaf, seen last."""
    known = leaf in nodes
    path: list[Node] = []
    seen: set[str] = set()
    at = leaf if known else _newest(nodes)
    while at in nodes and at not in seen:
        seen.add(at)
        path.append(nodes[at])
        at = nodes[at].parent
    return path[::-1], known


def branched(nodes: Mapping[str, Node]) -> bool:
    """Do two messages of a tree follow on the same one?"""
    return len({node.parent for node in nodes.values()}) < len(nodes)


def _newest(nodes: Mapping[str, Node]) -> str:
    parents = {node.parent for node in nodes.values()}
    leaves = [ident for ident in nodes if ident not in parents] or [*nodes]
    known: dict[str, float] = {}
    return max(leaves, key=lambda ident: (_order(nodes, ident, known), ident), default="")


def _order(nodes: Mapping[str, Node], ident: str, known: dict[str, float]) -> tuple[float, int]:
    """Its own, else that of the nearest before it: the newest word of a branch is what counts.
    `known`: of those that were asked for before, or thousands of leaves below a chain that has no
    dates would each go up all of it."""
    trail: list[str] = []
    at, found = ident, 0.0
    while at in nodes and not found:
        if at in known:
            found = known[at]
            break
        known[at] = 0.0  # where it leads back to itself, there is none
        trail.append(at)
        found = nodes[at].order[0]
        at = nodes[at].parent
    known.update(dict.fromkeys(trail, found))
    return found, nodes[ident].order[1]
