"""What can be read of a note whose frontmatter is no YAML or whose bytes are no UTF-8; and what is
wrong with it, with the mend where it can only be one: a value in quotes.

It is for finding and showing only; nothing is ever written on its strength. A line may say what a
note is called, when it came to be and what it is about, never who is to be trusted, what is always
loaded or which memory this is: that is taken from the last good version. A status counts only where
it takes the note out of service.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from oneiro_vault.core import memory
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.frontmatter.yaml_block import (
    BOM,
    find_block,
    parse_block,
    plain_mapping,
    spelled_mapping,
)
from oneiro_vault.core.memory import STATUSES, TRUSTS, Memory, of
from oneiro_vault.errors import UnreadableNote

FRONTMATTER: Final = "frontmatter"
ENCODING: Final = "encoding"
UNMERGED: Final = "unmerged"
BROKEN: Final = frozenset((FRONTMATTER, ENCODING, UNMERGED))
"""What `Memory.problems` says of a note that was salvaged."""

_FORMER: Final = (
    "id", "type", "trust", "source", "core", "budget", "priority", "keep", "trigger", "supersedes",
    "superseded_by", "derived_from", "about", "flags", "kind", "level", "session", "turn",
    "project",
    "valid_from", "valid_until", "importance", "confidence",
)  # fmt: skip
_KEYS: Final = ("title", "description", "tags", "aliases", "created", "timestamp")
_DATES: Final = frozenset((*memory.CREATED, *memory.CHANGED))
_NAMES: Final = ("tags", "aliases")
_FENCE: Final = re.compile(r"(?:---|\.\.\.)[ \t]*\Z")
_KEY: Final = re.compile(
    r"[ \t]*[\"']?([^\W\d_][\w .-]{0,40}?)[\"']?[ \t]*[:：](?=[ \t\"'\[{]|\Z)[ \t]*(.*)\Z"
)
_GLUED: Final = re.compile(r"(title|tags|date|created|aliases|description|status):(\S.*)\Z")
_MORE: Final = re.compile(r"[ \t]+\S|[ \t]*-(?:[ \t]|\Z)")
_MAPPING: Final = re.compile(r"[ \t]*[{}\[\],#%]|[ \t]*\Z")
_STRAY: Final = 3
"""So many lines of a closed block may be anything; more are the note's own words."""
_LONGEST: Final = 400
_INERT: Final = tuple(name for name in STATUSES if name != "active")
_STATUS: Final = re.compile(
    rf"(?i)[ \t]*[\"']?status[\"']?[ \t]*[:=][ \t]*[\"']?({'|'.join(_INERT)})\b"
)
_ORDER: Final = ("pending", "superseded", "archived", "dormant", "active")
"""The most restrictive first."""
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_REPLACED: Final = "\ufffd"
_CONTROLS: Final = bytes(range(9)) + bytes(range(14, 27)) + bytes(range(28, 32))
_SAMPLE: Final = 64_000
_WESTERN: Final = 0.2
"""Below this share of bytes beyond ASCII the letters are Latin: Cyrillic, Greek and Chinese have
more."""


def salvage(
    path: str, data: bytes, former: Memory | None = None, *, unmerged: bool = False
) -> Memory:
    """The note as far as it can be read. `former`: its last good version; `unmerged`: conflict
    markers and all.

    Raises UnreadableNote for what is no text, for an unfinished merge, and for orientation.
    """
    text = decoded(data)
    if text is None:
        yaml_block.decode(data)
        raise UnreadableNote("the file is not text")
    if not unmerged:
        yaml_block.refuse_markers(text)
    head, body = _parted(text[text.startswith(BOM) :])
    if former is not None and former.type == "orientation":
        yaml_block.read(
            yaml_block.decode(data)
        )  # raises: what is always loaded is never a part of something
    found = of(path, values := _values(head), body, lambda: values)
    status = _status(head, former)
    found = replace(
        found,
        problems=(UNMERGED if unmerged else _reason(data),),
        trust=TRUSTS[-1],
        source="",
        status=status,
        type="note",
    )
    if former is None:
        return found
    kept = {name: getattr(former, name) for name in _FORMER}
    kept |= {
        name: getattr(found, name) or getattr(former, name)
        for name in ("created", "timestamp", "tags", "aliases")
    }
    return replace(found, **kept, title=found.title if "title" in values else former.title)


def _reason(data: bytes) -> str:
    try:
        data.decode()
    except UnicodeDecodeError:
        return ENCODING
    return ENCODING if data.startswith(_UTF16) else FRONTMATTER


def _status(head: list[str], former: Memory | None) -> str:
    said = {match[1].lower() for match in map(_STATUS.match, head) if match} | (
        {former.status} if former else set()
    )
    return next((status for status in _ORDER if status in said), "active")


def _parted(text: str) -> tuple[list[str], str]:
    """The lines of the block, and the body. No word is in neither, but for what is no line of a
    block."""
    lines = text.splitlines(keepends=True)
    if not lines or not _FENCE.match(lines[0].rstrip("\r\n")):
        return [], text
    close = next(
        (at for at, line in enumerate(lines[1:_LONGEST], 1) if _FENCE.match(line.rstrip("\r\n"))),
        None,
    )
    end = min(len(lines), _LONGEST) if close is None else close
    block = lines[1:end]
    own = _own_words(block)
    rest = "".join(lines[end:] if close is None else lines[end + 1 :])
    stray = block[own:]
    if close is not None and len(stray) <= _STRAY and all(line.strip() for line in stray):
        odd = "".join(line for line in stray if not _is_head(line))
        return [line.rstrip("\r\n") for line in block], f"{rest}\n{odd}" if odd else rest
    return [line.rstrip("\r\n") for line in block[:own]], "".join(stray) + rest


def _own_words(block: list[str]) -> int:
    """At a line that is neither a key nor part of one, or a heading after a gap."""
    gap = False
    for at, line in enumerate(block):
        if not line.strip():
            gap = True
        elif not _is_head(line) or (gap and line.startswith("#")):
            return at
        else:
            gap = False
    return len(block)


def _is_head(line: str) -> bool:
    text = line.rstrip("\r\n")
    return bool(_KEY.match(text) or _GLUED.match(text) or _MORE.match(text) or _MAPPING.match(text))


def _values(head: list[str]) -> dict[str, object]:
    """Of a key that is there twice the first that says anything."""
    found: dict[str, object] = {}
    for name, value, lines in _entries(head):
        plain = "".join(filter(str.isalnum, name)).lower()
        key = next(
            (
                key
                for key in (name.lower(), {"tag": "tags", "alias": "aliases"}.get(plain, ""))
                if key in _KEYS
            ),
            "",
        )
        if not key and plain not in _DATES:
            continue
        said = _value(value, lines)
        if said not in (None, "", []):
            found.setdefault(
                key or name,
                _listed(said)
                if key in _NAMES
                else said
                if key or not isinstance(said, list)
                else "",
            )
    return {key: value for key, value in found.items() if value != ""}


def _entries(head: list[str]) -> Iterator[tuple[str, str, list[str]]]:
    current: tuple[str, str, list[str]] | None = None
    for line in head:
        key = (
            None
            if current and _MORE.match(line) and not line.startswith("\t")
            else _KEY.match(line) or _GLUED.match(line)
        )
        if key:
            if current:
                yield current
            current = (key[1].strip(), key[2].strip(), [line])
        elif current and line.strip():
            current[2].append(line)
    if current:
        yield current


def _value(value: str, lines: list[str]) -> object:
    """As YAML; else its words as they stand, without the quotes around them."""
    try:
        root = parse_block("\n".join([f"value: {value}", *lines[1:]]) + "\n")
        if root is not None:
            plain, spelled = plain_mapping(root), spelled_mapping(root)
            return spelled["value"] if isinstance(plain["value"], int | float) else plain["value"]
    except UnreadableNote:
        pass
    text = " ".join(value.split())
    quote = text[:1]
    return text.strip(quote).strip() if quote in ('"', "'") and quote not in text[1:-1] else text


def _listed(said: object) -> object:
    """Names in a list that was never closed are still names."""
    if isinstance(said, str):
        return (
            [part.strip(" \"'") for part in said.strip("[]").split(",")]
            if said[:1] == "[" or "," in said
            else said
        )
    return said if isinstance(said, list) else ""


def decoded(data: bytes) -> str | None:
    """None when the bytes are no text. Some characters may be guessed wrong."""
    if data.startswith(_UTF16):
        return _whole(data, "utf-16")
    sample = data[:_SAMPLE]
    if b"\0" in data or len(sample.translate(None, _CONTROLS)) < len(sample):
        return None
    found = data.decode("utf-8", "replace")
    # A few bad bytes in good UTF-8 are an accident; more of them than of good characters are
    # another encoding.
    bad = found.count(_REPLACED)
    good = sum(1 for c in found[:_SAMPLE] if c > "\x7f" and c != _REPLACED)
    return found if bad < good or not bad else _detected(data, found)


def _whole(data: bytes, name: str) -> str | None:
    found = data.decode(name, "replace")
    return None if found.count(_REPLACED) * 10 > len(found) or "\0" in found else found


def _detected(data: bytes, fallback: str) -> str:
    sample = data[:_SAMPLE]
    if sum(byte > 127 for byte in sample) < _WESTERN * len(sample):
        return data.decode("cp1252", "replace")
    from charset_normalizer import from_bytes

    best = from_bytes(sample).best()
    return fallback if best is None else data.decode(best.encoding, "replace")


QUOTE: Final = 'put the value in quotes (`title: "ADR-1: use UTC"`)'
_ENTRY: Final = re.compile(
    r"([A-Za-z][\w -]{0,40}:[ \t]+)(\S(?:[^\r\n]*\S)?)([ \t]*(?:\r\n|\n|\r))"
)
_LINE: Final = re.compile(r"line (\d+)")
_UNCERTAIN: Final = ("[", '"', "'", "|", ">", "#", "-")
"""It may have lost its end, or is no text on one line."""
_KINDS: Final = (
    ("never closed", "close the block with a line `---`"),
    ("is there twice", "keep one of the two lines"),
    ("UTF-16", "save the file as UTF-8"),
    ("not UTF-8", "save the file as UTF-8"),
    ("anchors and aliases", QUOTE),
    ("YAML tag", QUOTE),
    ("a key is a list", QUOTE),
    ("a tab character", "begin the line with spaces, not with a tab"),
    ("cannot start any token", QUOTE),
    ("mapping values are not allowed", QUOTE),
    ("scanning a quoted scalar", "close the quotes"),
    ("unexpected end of stream", "close the quotes"),
    ("did not find expected ',' or", "close the bracket"),
    ("did not find expected node", "close the bracket"),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a note cannot be read, on which line of the file (None = unknown), and the mend in a few
    words."""

    reason: str
    line: int | None
    mend: str


def fault(data: bytes) -> Fault | None:
    """What is wrong with the bytes of a note, None when it can be read."""
    try:
        text = yaml_block.decode(data)
        yaml_block.read(text)
    except UnreadableNote as error:
        reason = str(error)
        line = _LINE.search(reason)
        mend = next(
            (mend for sign, mend in _KINDS if sign in reason), error.hint.rstrip(".").lower()
        )
        return Fault(reason, int(line[1]) if line else None, mend)
    return None


def mended(data: bytes) -> bytes | None:
    """With the values in quotes that are no YAML without them; None when that is not all, or not
    certain.

    Proved: it can be read, every quoted value says exactly what stood there, and no other line is
    different.
    """
    try:
        text = yaml_block.decode(data)
        block = find_block(text)
    except UnreadableNote:
        return None
    if block is None or fault(data) is None:
        return None
    lines, values = text[block.start : block.stop].splitlines(keepends=True), {}
    for at, line in enumerate(lines):
        entry = _ENTRY.fullmatch(line)
        if entry and not _is_yaml(entry[2]):
            if entry[2].startswith(_UNCERTAIN) or " #" in entry[2]:
                return None
            lines[at] = entry[1] + yaml_block.quoted(entry[2]) + entry[3]
            values[entry[1].rstrip(": \t")] = entry[2]
    whole = text[: block.start] + "".join(lines) + text[block.stop :]
    return yaml_block.encode(whole) if values and _says(whole, values, text[block.end :]) else None


def _is_yaml(value: str) -> bool:
    try:
        root = parse_block(f"value: {value}\n")
        return root is not None and bool(yaml_block.read(f"---\nvalue: {value}\n---\n"))
    except UnreadableNote:
        return False


def _says(text: str, values: dict[str, str], body: str) -> bool:
    try:
        meta, rest = yaml_block.read(text)
    except UnreadableNote:
        return False
    return rest == body and all(meta.get(key) == value for key, value in values.items())
