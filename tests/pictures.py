"""Pictures for tests, made by the real library: in every format, with a place in every kind of
metadata."""

from __future__ import annotations

import struct
from io import BytesIO
from typing import Any
from zlib import compress, crc32

from PIL import Image

FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
SECRET = b"\x00\x01\xe2\x40"
"""123456: the minutes of the place, as they stand in big-endian EXIF."""


def drawn(width: int = 60, height: int = 40, mode: str = "RGB") -> Image.Image:
    """A picture whose pixels all differ somewhat."""
    return Image.linear_gradient("L").resize((width, height)).convert(mode)


def encoded(
    form: str = "PNG", width: int = 60, height: int = 40, mode: str = "RGB", **options: Any
) -> bytes:
    """The same as a file."""
    out = BytesIO()
    drawn(width, height, mode).save(out, form, **options)
    return out.getvalue()


def exif(place: bool = True) -> Image.Exif:
    """Orientation, a camera, a date, and where it was taken."""
    found = Image.Exif()
    found[0x0112], found[0x0110] = 6, "Camera"
    found.get_ifd(0x8769)[0x9003] = "2024:03:05 10:00:00"
    if place:
        found.get_ifd(0x8825).update(
            {1: "N", 2: (51.0, 123456.0, 1.0), 3: "E", 4: (7.0, 123456.0, 2.0), 29: "2024:03:05"}
        )
    return found


def xmp(place: bool = True) -> bytes:
    """An XMP packet."""
    inside = "<exif:GPSLatitude>51,30N</exif:GPSLatitude>" if place else "<dc:title>Boat</dc:title>"
    return f'<x:xmpmeta xmlns:x="adobe:ns:meta/">{inside}</x:xmpmeta>'.encode()


def opened(data: bytes) -> Image.Image:
    """Decoded."""
    found = Image.open(BytesIO(data))
    found.load()
    return found


def png_of(width: int, height: int, body: bytes = b"\0" * 20) -> bytes:
    """A PNG whose header claims a size, whatever its pixels are."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        chunk(kind, data)
        for kind, data in ((b"IHDR", header), (b"IDAT", compress(body)), (b"IEND", b""))
    )


def chunk(kind: bytes, data: bytes) -> bytes:
    """One chunk of a PNG."""
    return len(data).to_bytes(4) + kind + data + crc32(kind + data).to_bytes(4)


def segment(marker: int, data: bytes) -> bytes:
    """One segment of a JPEG."""
    return bytes([0xFF, marker]) + (len(data) + 2).to_bytes(2) + data
