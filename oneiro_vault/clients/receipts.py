"""What setup did to which file, so that it can be undone without a trace: one small file among the
machine's own settings."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from oneiro_vault.clients import settings_files
from oneiro_vault.clients.edit.trace import Trace
from oneiro_vault.errors import OneiroError


class Receipts:
    """Path of a client's file -> Trace. Losing the file costs nothing but empty containers left
    behind by a removal."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, name: str) -> Trace | None:
        """What was noted for a file; None when nothing (readable) was."""
        found = self._all().get(name)
        known = {field.name for field in fields(Trace)}
        return (
            Trace(**{key: value for key, value in found.items() if key in known})
            if isinstance(found, dict)
            else None
        )

    def names(self) -> list[str]:
        """Every file there is a note about."""
        return list(self._all())

    def put(self, name: str, trace: Trace | None) -> None:
        """Note a file's trace, or (None) forget it; without any left the file goes too. Raises
        DiskProblem."""
        for _ in range(20):
            with suppress(settings_files.ChangedError):
                self._put(name, trace)
                return

    def _put(self, name: str, trace: Trace | None) -> None:
        before = settings_files.read(self.path)
        found, folders = (
            self._all(),
            self._folders() if before is not None else settings_files.missing(self.path.parent),
        )
        found.pop(name, None)
        if trace is not None:
            found[name] = trace.to_dict()
        after = (
            json.dumps({"schema": 1, "folders": folders, "files": found}, indent=1) + "\n"
            if found
            else None
        )
        if after != before:
            settings_files.write(self.path, before, after)
        if after is None:
            settings_files.unmake(folders)

    def _folders(self) -> list[str]:
        """Those that were made for the file, outermost first."""
        found = self._read().get("folders")
        return (
            [one for one in found if isinstance(one, str)]
            if isinstance(found, list)
            else [str(self.path.parent)]
        )

    def _all(self) -> dict[str, Any]:
        inside = self._read().get("files")
        return inside if isinstance(inside, dict) else {}

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(settings_files.read(self.path) or "{}")
        except (ValueError, OneiroError):
            return {}
        return found if isinstance(found, dict) else {}
