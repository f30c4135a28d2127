"""Pictures that a model names by their path: for programs of this machine's user alone, who may
read the file anyway."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path
from typing import Final

from oneiro_vault.core.media import picture
from oneiro_vault.errors import InvalidInput, shown
from oneiro_vault.mcp.transports import LARGEST

MOST: Final = LARGEST // 4 * 3
"""Bytes that are read: as many as can come as base64 in one message."""
KEPT: Final = "Nothing was written."


def read(path: str) -> str:
    """The picture in that file, in base64. Raises InvalidInput for what is no picture, saying
    nothing of what is in it."""
    place = Path(os.path.expanduser(path))  # noqa: PTH111  # pathlib raises for a user there is not
    if not place.is_absolute() or "\0" in path:
        raise InvalidInput(
            f"{shown(path)} is not a full path", kept=KEPT, hint="It begins with / or ~."
        )
    try:
        number = os.open(
            place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
        )  # a pipe would never come to its end
        with os.fdopen(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise InvalidInput(
                    f"{shown(path)} is not a file", kept=KEPT, hint="Give the path of a picture."
                )
            data = file.read(MOST + 1)
    except OSError as error:
        raise InvalidInput(
            f"{shown(path)} cannot be read: {error.strerror}", kept=KEPT, hint="Check the path."
        ) from error
    if len(data) > MOST:
        raise InvalidInput(
            f"{shown(path)} has more than {MOST:,} bytes",
            kept=KEPT,
            hint="Make the picture smaller.",
        )
    if picture.sniff(data) is None:
        raise InvalidInput(
            f"{shown(path)} is not a PNG, JPEG, WebP or GIF picture",
            kept=KEPT,
            hint="Convert it first.",
        )
    return base64.b64encode(data).decode()
