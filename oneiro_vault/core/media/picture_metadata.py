"""Strip the metadata of a picture without touching a pixel: only orientation and colours stay.

EXIF, XMP, IPTC, texts, previews, provenance and whatever hangs on behind the end go: any of them
can say where and by whom a picture was made.
"""

from __future__ import annotations

import re
from typing import Final
from zlib import crc32

from oneiro_vault.core.media.picture import segments

_EXIF: Final = b"Exif\0\0"
_ORDERS: Final = {b"II*\0": "little", b"MM\0*": "big"}
_ORIENTATION: Final = 0x0112
_MARKER: Final = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
_JPEG_KEPT: Final = {0xE0: b"JF", 0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}
"""Application segments without which the colours would be others."""
_PNG_DROPPED: Final = frozenset((b"eXIf", b"tEXt", b"zTXt", b"iTXt", b"tIME", b"caBX"))
_WEBP_KEPT: Final = (b"VP8 ", b"VP8L", b"VP8X", b"ICCP", b"ALPH", b"ANIM", b"ANMF")
_GIF_KEPT: Final = (b"NETSCAPE2.0", b"ANIMEXTS1.0", b"ICCRGBG1012")


def without(data: bytes, mime: str) -> bytes:
    """The picture without metadata. Raises ValueError when its structure is broken."""
    walks = {"image/png": _png, "image/jpeg": _jpeg, "image/webp": _webp, "image/gif": _gif}
    try:
        return walks[mime](data)
    except IndexError as error:
        raise ValueError("it ends too early") from error


def _jpeg(data: bytes) -> bytes:
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
    """Behind the marker that closes the scans from `scan` on, or the end of a file without one."""
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
        if kind == b"eXIf" and (exif := _orientation_only(whole[8:-4])):
            kept.append(len(exif).to_bytes(4) + kind + exif + crc32(kind + exif).to_bytes(4))
        elif kind not in _PNG_DROPPED:
            kept.append(whole)
        at += 12 + size
    return b"".join(kept)


def _webp(data: bytes) -> bytes:
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
    """Behind a run of length-prefixed blocks that ends with an empty one."""
    while data[at]:
        at += data[at] + 1
    return at + 1


def _orientation_only(exif: bytes) -> bytes:
    """EXIF that says how the picture is turned and nothing else; empty for one that is upright."""
    turned = _orientation(exif.removeprefix(_EXIF))
    if not 2 <= turned <= 8:
        return b""
    entry = b"\x12\x01\x03\0\x01\0\0\0" + turned.to_bytes(4, "little")
    return b"II*\0\x08\0\0\0\x01\0" + entry + b"\0" * 4


def _orientation(tiff: bytes) -> int:
    """The orientation tag in the first directory, 0 where there is none."""
    order = _ORDERS.get(tiff[:4])

    def number(at: int, size: int) -> int:
        return int.from_bytes(tiff[at : at + size], "little" if order == "little" else "big")

    if order:
        first = number(4, 4)
        for at in range(first + 2, min(first + 2 + 12 * number(first, 2), len(tiff)), 12):
            if number(at, 2) == _ORIENTATION:
                return number(at + 8, 2)
    return 0
