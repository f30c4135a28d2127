"""Pictures from files, on their way into a memory."""

from __future__ import annotations

import base64
from pathlib import Path

from oneiro_vault.cli.context import Face
from oneiro_vault.errors import InvalidInput, shown
from oneiro_vault.settings.definitions import load


def picture(face: Face, name: str) -> dict[str, str]:
    """A file as `remember` takes it; what it is called stands for it where it cannot be seen.
    Raises InvalidInput."""
    path = Path(face.request.cwd, name).expanduser()
    limit = load(face.root, face.request.env)["images.bytes"]
    try:
        if not path.is_file():
            raise InvalidInput(f"{shown(name, 120)} is not a file", kept="Nothing was written.")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise InvalidInput(
            f"{shown(name, 120)} cannot be read: {error.strerror}", kept="Nothing was written."
        ) from error
    if len(data) > limit:
        raise InvalidInput(
            f"{shown(name, 120)} is larger than {limit:,} bytes",
            kept="Nothing was written.",
            hint="Make it smaller.",
        )
    return {"data": base64.b64encode(data).decode(), "alt": path.stem}
