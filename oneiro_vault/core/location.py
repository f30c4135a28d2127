"""Take out of a picture where it was made, without touching a pixel: GPS in EXIF, XMP and IPTC that name a place, what hangs on behind.

EXIF keeps its length (dates, orientation and all other tags stay where they are). Where metadata makes no sense, all of it goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from zlib import crc32

from oneiro_vault.core.picture import segments

_GPS: Final = 0x8825
_PACKETS: Final = frozenset({0x02BC, 0x83BB, 0x8649})
"""Tags that hold XMP, IPTC and Photoshop's own."""
_DEEPER: Final = 0x8769
_SIZES: Final = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
_PLACE: Final = re.compile(rb"gps|geo|location|latitude|longitude|city|state|country|\0", re.IGNORECASE)
_MARKER: Final = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
_EXIF: Final = b"Exif\0\0"


def without(data: bytes, mime: str) -> bytes:
    """The picture without its place, and without whatever follows its end. Raises ValueError when its structure is broken."""
    walks = {"image/png": _png, "image/jpeg": _jpeg, "image/webp": _webp, "image/gif": _gif}
    try:
        return walks[mime](data)
    except IndexError as error:
        raise ValueError("it ends too early") from error


# -- containers ---------------------------------------------------------------------------------------------------------------------------


def _jpeg(data: bytes) -> bytes:
    kept = [data[:2]]
    scan = 0
    for marker, start, end in segments(data):
        if marker == 0xDA:
            scan = start
            break
        kept.append(_segment(marker, data[start:end]))
    if not scan:
        raise ValueError("it has no picture in it")
    return b"".join(kept) + data[scan : _end(data, scan)]


def _segment(marker: int, whole: bytes) -> bytes:
    """A segment as it stays; b"" for one that goes."""
    body = whole[4:]
    if marker == 0xE1 and body.startswith(_EXIF):
        exif = _tiff(body[6:])
        return b"" if exif is None else whole[:4] + _EXIF + exif
    if marker == 0xE1 and body.startswith(b"http://ns.adobe.com/"):
        head, _, packet = body.partition(b"\0")
        return b"" if b"extension" in head or _PLACE.search(packet) else whole
    signs = {0xE2: b"MPF\0", 0xEB: b"JP", 0xED: b"Photoshop"}  # further pictures behind this one; provenance; IPTC
    return b"" if marker in signs and body.startswith(signs[marker]) else whole


def _end(data: bytes, scan: int) -> int:
    """Behind the end-of-image marker that closes the scans from `scan` on; one that is missing is missed by nobody."""
    at = scan
    while True:
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
        found = _MARKER.search(data, at)
        if found is None:
            return len(data)
        at = found.start()
        if data[at + 1] == 0xD9:
            return at + 2


def _png(data: bytes) -> bytes:
    kept, at, kind = [data[:8]], 8, b""
    while kind != b"IEND":
        size, kind = int.from_bytes(data[at : at + 4]), data[at + 4 : at + 8]
        whole = data[at : at + 12 + size]
        if len(whole) < 12 + size:
            raise ValueError("it ends too early")
        kept.append(_chunk(kind, whole))
        at += 12 + size
    return b"".join(kept)


def _chunk(kind: bytes, whole: bytes) -> bytes:
    if kind == b"eXIf":
        exif = _tiff(whole[8:-4])
        return b"" if exif is None else whole[:8] + exif + crc32(kind + exif).to_bytes(4)
    if kind == b"caBX":  # provenance
        return b""
    if kind in (b"tEXt", b"zTXt", b"iTXt"):
        name = whole[8:].partition(b"\0")[0].lower()
        return b"" if name.startswith((b"raw profile", b"xml:com.adobe.xmp")) or _PLACE.search(name) else whole
    return whole


def _webp(data: bytes) -> bytes:
    kept, at, gone = b"", 12, 0
    last = min(len(data), 8 + int.from_bytes(data[4:8], "little"))
    while at + 8 <= last:
        kind, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        body = data[at + 8 : at + 8 + size]
        if len(body) < size:
            raise ValueError("it ends too early")
        at += 8 + size + size % 2
        left = _riff(kind, body)
        if left is None:
            gone |= {b"EXIF": 8, b"XMP ": 4}.get(kind, 0)
        else:
            kept += kind + len(left).to_bytes(4, "little") + left + b"\0" * (len(left) % 2)
    if gone and kept[:4] == b"VP8X":
        kept = kept[:8] + bytes([kept[8] & ~gone]) + kept[9:]
    return b"RIFF" + (len(kept) + 4).to_bytes(4, "little") + b"WEBP" + kept


def _riff(kind: bytes, body: bytes) -> bytes | None:
    if kind == b"EXIF":
        head = _EXIF if body.startswith(_EXIF) else b""
        exif = _tiff(body[len(head) :])
        return None if exif is None else head + exif
    return None if kind == b"C2PA" or (kind == b"XMP " and _PLACE.search(body)) else body


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
        if data[start] != 0x21 or data[start + 3 : start + 14] != b"XMP DataXMP":
            kept.append(data[start:at])
    return b"".join(kept) + b"\x3b"


def _palette(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _blocks(data: bytes, at: int) -> int:
    """Behind a run of length-prefixed blocks that ends with an empty one."""
    while data[at]:
        at += data[at] + 1
    return at + 1


# -- EXIF ---------------------------------------------------------------------------------------------------------------------------------


def _tiff(exif: bytes) -> bytes | None:
    """EXIF of the same length with its GPS directory blanked out and unlinked; None when it cannot be followed."""
    try:
        return _Tiff(exif).clean()
    except (IndexError, KeyError, ValueError):
        return None


class _Tiff:
    """Tags in directories: a count, 12 bytes an entry (tag, type, number, value or its offset), the offset of the next directory."""

    def __init__(self, exif: bytes) -> None:
        self.data = bytearray(exif)
        orders: dict[bytes, str] = {b"II*\0": "little", b"MM\0*": "big"}
        self.order = orders[exif[:4]]

    def clean(self) -> bytes:
        todo, seen = [self._number(4, 4)], set()
        while todo:
            at = todo.pop()
            if at and at not in seen:
                seen.add(at)
                todo += self._directory(at)
        return bytes(self.data)

    def _directory(self, at: int) -> Iterator[int]:
        """Clean one directory; gives the offsets of others."""
        kept = []
        for entry in self._entries(at):
            tag, value = self._number(entry, 2), self._number(entry + 8, 4)
            if tag == _GPS:
                self._blank_directory(value)
            elif tag in _PACKETS:
                self._blank_value(entry)
            else:
                kept.append(bytes(self.data[entry : entry + 12]))
                if tag == _DEEPER:
                    yield value
        count = self._number(at, 2)
        end = at + 2 + 12 * count + 4
        following = bytes(self.data[end - 4 : end])
        fresh = self._bytes(len(kept), 2) + b"".join(kept) + following
        self.data[at:end] = fresh + b"\0" * (end - at - len(fresh))
        yield int.from_bytes(following, "little" if self.order == "little" else "big")

    def _entries(self, at: int) -> list[int]:
        count = self._number(at, 2)
        if at + 2 + 12 * count + 4 > len(self.data):
            raise ValueError
        return [at + 2 + 12 * index for index in range(count)]

    def _blank_directory(self, at: int) -> None:
        entries = self._entries(at)
        for entry in entries:
            self._blank_value(entry)
        self._blank(at, 2 + 12 * len(entries) + 4)

    def _blank_value(self, entry: int) -> None:
        """Blank what an entry keeps elsewhere."""
        size = _SIZES[self._number(entry + 2, 2)] * self._number(entry + 4, 4)
        if size > 4:
            self._blank(self._number(entry + 8, 4), size)

    def _blank(self, at: int, size: int) -> None:
        if at + size > len(self.data):
            raise ValueError
        self.data[at : at + size] = b"\0" * size

    def _number(self, at: int, size: int) -> int:
        if at + size > len(self.data):
            raise IndexError
        return int.from_bytes(self.data[at : at + size], "little" if self.order == "little" else "big")

    def _bytes(self, number: int, size: int) -> bytes:
        return number.to_bytes(size, "little" if self.order == "little" else "big")
