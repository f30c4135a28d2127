"""The text of a file that is not UTF-8, for reading only: what is text is found by its words,
whatever an editor saved it as."""

from __future__ import annotations

import codecs
from typing import Final

UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_REPLACED: Final = "\ufffd"
_CONTROLS: Final = bytes(range(9)) + bytes(range(14, 27)) + bytes(range(28, 32))
"""Bytes that no text has (tabs, line ends, form feeds and escapes are left out)."""
_SAMPLE: Final = 64_000
_WESTERN: Final = 0.2
"""Where fewer of the bytes than this are beyond ASCII, the letters are Latin: Cyrillic, Greek and
Chinese have more."""


def text(data: bytes) -> str | None:
    """What the bytes say, line ends and all; None when they are no text. Some characters may be
    guessed wrong."""
    if data.startswith(UTF16):
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
