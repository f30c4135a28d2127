"""Pictures as bytes: what they are (by their first bytes, never by a name), how large, where a note
refers to one, and the same picture without what it says of the place and the camera. Nothing is
decoded here."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from zlib import crc32

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


_EMBEDDED: Final = re.compile(
    r"!\[\[(?P<wiki>[^\[\]\r\n|#]+)(?=[|#\]])"
    r"|!\[[^\[\]\r\n]*\]\((?P<open><)?(?P<plain>(?(open)[^<>\r\n]+|[^()\s<>]+))"
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
    """A picture that a note shows, its type as the file name gives it."""

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
    return f"![{words}]({relative(path, note)})"


def relative(path: str, note: str) -> str:
    """A place in the vault as a Markdown link in the note at `note` leads there."""
    return posixpath.relpath(path, posixpath.dirname(note) or ".")


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


def embedded(body: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, target) of what a body embeds, a picture or a note, as it is written; code
    embeds nothing."""
    code = parser.code_spans(body) if "![" in body else ()
    for hit in _EMBEDDED.finditer(body) if "![" in body else ():
        group = "wiki" if hit["wiki"] else "plain"
        if not parser.inside(hit.start(), code):
            yield hit.start(group), hit.end(group), hit[group]


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


def segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """(marker, start, end) of a JPEG's segments; the last is the start of a scan (0xDA), or where
    it stops making sense."""
    at = 2
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


_EXIF: Final = b"Exif\0\0"
_ORDERS: Final = {b"II*\0": "little", b"MM\0*": "big"}
_ORIENTATION: Final = 0x0112
_MARKER: Final = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
_JPEG_KEPT: Final = {0xE0: b"JF", 0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}
"""Without these the colours would be others."""
_PNG_DROPPED: Final = frozenset((b"eXIf", b"tEXt", b"zTXt", b"iTXt", b"tIME", b"caBX"))
_WEBP_KEPT: Final = (b"VP8 ", b"VP8L", b"VP8X", b"ICCP", b"ALPH", b"ANIM", b"ANMF")
_GIF_KEPT: Final = (b"NETSCAPE2.0", b"ANIMEXTS1.0", b"ICCRGBG1012")


def without(data: bytes, mime: str) -> bytes:
    """The picture without metadata. Raises ValueError when its structure is broken."""
    walks = {
        "image/png": _bare_png,
        "image/jpeg": _bare_jpeg,
        "image/webp": _bare_webp,
        "image/gif": _gif,
    }
    try:
        return walks[mime](data)
    except IndexError as error:
        raise ValueError("it ends too early") from error


def _bare_jpeg(data: bytes) -> bytes:
    kept: list[bytes] = []
    turned = b""
    for marker, start, end in segments(data):
        body = data[start + 4 : end]
        if marker == 0xDA:
            last = _end_of_image(data, start)
            return data[:2] + turned + b"".join(kept) + data[start:last]
        if marker == 0xE1 and body.startswith(_EXIF):
            exif = _orientation_only(body)
            turned = (
                b"\xff\xe1" + (len(_EXIF + exif) + 2).to_bytes(2) + _EXIF + exif if exif else b""
            )
        elif not (0xE0 <= marker <= 0xEF or marker == 0xFE) or (
            marker in _JPEG_KEPT and body.startswith(_JPEG_KEPT[marker])
        ):
            kept.append(data[start:end])
    raise ValueError("it has no picture in it")


def _end_of_image(data: bytes, scan: int) -> int:
    """Behind the marker that closes the scans, or the end of a file without one."""
    at = scan
    while True:
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
        found = _MARKER.search(data, at)
        if found is None:
            return len(data)
        at = found.start()
        if data[at + 1] == 0xD9:
            return at + 2


def _bare_png(data: bytes) -> bytes:
    kept, at, kind = [data[:8]], 8, b""
    while kind != b"IEND":
        size, kind = int.from_bytes(data[at : at + 4]), data[at + 4 : at + 8]
        whole = data[at : at + 12 + size]
        if len(whole) < 12 + size:
            raise ValueError("it ends too early")
        if kind == b"eXIf" and (exif := _orientation_only(whole[8:-4])):
            kept.append(len(exif).to_bytes(4) + kind + exif + crc32(kind + exif).to_bytes(4))
        elif kind not in _PNG_DROPPED:
            kept.append(whole)
        at += 12 + size
    return b"".join(kept)


def _bare_webp(data: bytes) -> bytes:
    kept, at, flags = b"", 12, 0
    last = min(len(data), 8 + int.from_bytes(data[4:8], "little"))
    while at + 8 <= last:
        kind, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        body = data[at + 8 : at + 8 + size]
        if len(body) < size:
            raise ValueError("it ends too early")
        at += 8 + size + size % 2
        if kind == b"EXIF":
            body = _orientation_only(body)
            flags = 8 if body else 0
        if body and kind in (*_WEBP_KEPT, b"EXIF"):
            kept += kind + len(body).to_bytes(4, "little") + body + b"\0" * (len(body) % 2)
    if kept[:4] == b"VP8X":
        kept = kept[:8] + bytes([kept[8] & ~12 | flags]) + kept[9:]
    return b"RIFF" + (len(kept) + 4).to_bytes(4, "little") + b"WEBP" + kept


def _gif(data: bytes) -> bytes:
    at = 13 + _palette(data[10])
    kept = [data[:at]]
    while at < len(data) and data[at] != 0x3B:
        start = at
        if data[at] == 0x21:
            at = _blocks(data, at + 2)
        elif data[at] == 0x2C:
            at = _blocks(data, at + 11 + _palette(data[at + 9]))
        else:
            raise ValueError("it makes no sense")
        is_metadata = data[start] == 0x21 and (
            data[start + 1] == 0xFE
            or (data[start + 1] == 0xFF and data[start + 3 : start + 14] not in _GIF_KEPT)
        )
        if not is_metadata:
            kept.append(data[start:at])
    return b"".join(kept) + b"\x3b"


def _palette(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _blocks(data: bytes, at: int) -> int:
    while data[at]:
        at += data[at] + 1
    return at + 1


def _orientation_only(exif: bytes) -> bytes:
    """Empty for a picture that is upright."""
    turned = _orientation(exif.removeprefix(_EXIF))
    if not 2 <= turned <= 8:
        return b""
    entry = b"\x12\x01\x03\0\x01\0\0\0" + turned.to_bytes(4, "little")
    return b"II*\0\x08\0\0\0\x01\0" + entry + b"\0" * 4


def _orientation(tiff: bytes) -> int:
    order = _ORDERS.get(tiff[:4])

    def number(at: int, size: int) -> int:
        return int.from_bytes(tiff[at : at + size], "little" if order == "little" else "big")

    if order:
        first = number(4, 4)
        for at in range(first + 2, min(first + 2 + 12 * number(first, 2), len(tiff)), 12):
            if number(at, 2) == _ORIENTATION:
                return number(at + 8, 2)
    return 0
