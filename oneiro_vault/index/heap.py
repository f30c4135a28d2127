"""Two requests to glibc about this process's memory; where there is another C library, nothing happens."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from typing import Final

_M_PERTURB: Final = -6
_FREED: Final = 0xFF
"""Byte that freed memory is filled with; what is handed out anew holds its complement, 0."""


def give_back() -> None:
    """Return what a bulk load used to the system; glibc would keep it."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def overwrite() -> None:
    """From now on overwrite memory that is freed, and hand out none that still holds what was there before.

    Chroma writes buffers to disk that it has not filled to their end: requests, private words and keys stood in its files.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_M_PERTURB, _FREED)
