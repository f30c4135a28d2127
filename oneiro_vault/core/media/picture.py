"""Pictures as bytes: what they are (by their first bytes, never by a name), how large, and where a
note refers to one.

Sizes are read from headers; nothing is decoded here, so a picture that would fill the memory costs
as much as any other.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from oneiro_vault.core.markdown import parser

EXTENSIONS: Final = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "image/gif": "gif",
}
"""The types a vault takes, and what their files are called."""
FOLDER: Final = "attachments"

_MIMES: Final = {extension: mime for mime, extension in EXTENSIONS.items()} | {"jpeg": "image/jpeg"}
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BARE: Final = frozenset({0x01, *range(0xD0, 0xDA)})
_REFERENCE: Final = re.compile(
    r"!\[([^\[\]\r\n]*)\]\(<?[^()<>\r\n]*?\b([0-9a-f]{64})\.(\w{1,5})\b"
    r"|!\[\[[^\[\]\r\n]*?\b([0-9a-f]{64})\.(\w{1,5})\b"
)


@dataclass(frozen=True, slots=True)
class Kind:
    """What a picture is: `mime`, and its size in pixels."""

    mime: str
    width: int
    height: int

    @property
    def pixels(self) -> int:
        """How many there are to decode."""
        return self.width * self.height


@dataclass(frozen=True, slots=True)
class Reference:
    """A picture that a note shows: the sha256 of its bytes, its type as the file name gives it, and
    the words for those who cannot see."""

    sha256: str
    mime: str
    extension: str
    alt: str = ""

    @property
    def path(self) -> str:
        """Where in the vault it lies."""
        return path_of(self.sha256, self.extension)


def path_of(sha256: str, extension: str) -> str:
    """`attachments/ab/<sha256>.<extension>`."""
    return f"{FOLDER}/{sha256[:2]}/{sha256}.{extension}"


def link(path: str, note: str, alt: str = "") -> str:
    """A Markdown image link to `path` for the note at `note`: relative, so that any editor shows
    it."""
    words = " ".join(re.sub(r"[\[\]\\`]", " ", alt).split())[:200]
    return f"![{words}]({posixpath.relpath(path, posixpath.dirname(note) or '.')})"


def references(body: str) -> list[Reference]:
    """The pictures a body shows, each once, in order; code shows none."""
    found: dict[str, Reference] = {}
    code = (
        parser.code_spans(body)
        if "![" in body and ("`" in body or "    " in body or "\t" in body or "%%" in body)
        else ()
    )
    for hit in _REFERENCE.finditer(body) if "![" in body else ():
        sha256, extension = hit[2] or hit[4], (hit[3] or hit[5]).lower()
        if extension in _MIMES and not parser.inside(hit.start(), code):
            found.setdefault(sha256, Reference(sha256, _MIMES[extension], extension, hit[1] or ""))
    return list(found.values())


def sniff(data: bytes) -> Kind | None:
    """What the bytes are, None for anything that is not a PNG, JPEG, WebP or GIF with a size."""
    mime, size = "", (0, 0)
    if data.startswith(_PNG):
        mime, size = "image/png", _png(data)
    elif data[:6] in (b"GIF87a", b"GIF89a"):
        mime, size = (
            "image/gif",
            (int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")),
        )
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        mime, size = "image/webp", _webp(data)
    elif data[:3] == b"\xff\xd8\xff":
        mime, size = "image/jpeg", _jpeg(data)
    return Kind(mime, *size) if mime and all(size) else None


def _png(data: bytes) -> tuple[int, int]:
    if data[8:16] != b"\0\0\0\rIHDR" or len(data) < 24:
        return 0, 0
    return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])


def _webp(data: bytes) -> tuple[int, int]:
    head, body = data[12:16], data[20:30]
    if len(body) < 10:
        return 0, 0
    if head == b"VP8X":
        return int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1
    if head == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        return int.from_bytes(body[6:8], "little") & 0x3FFF, int.from_bytes(
            body[8:10], "little"
        ) & 0x3FFF
    if head == b"VP8L" and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return 0, 0


def _jpeg(data: bytes) -> tuple[int, int]:
    for marker, start, end in segments(data):
        if marker in _FRAMES and end - start >= 9:
            return int.from_bytes(data[start + 7 : start + 9]), int.from_bytes(
                data[start + 5 : start + 7]
            )
    return 0, 0


def segments(data: bytes, at: int = 2) -> Iterator[tuple[int, int, int]]:
    """(marker, start, end) of a JPEG's segments from `at` on; the last is the start of a scan
    (0xDA), or where it stops making sense."""
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # fill
            at += 1
            continue
        end = at + 2 + (0 if marker in _BARE else int.from_bytes(data[at + 2 : at + 4]))
        if end > len(data) or (marker not in _BARE and end < at + 4):
            return
        yield marker, at, end
        if marker in (0xDA, 0xD9):
            return
        at = end
