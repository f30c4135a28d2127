"""The audit log: who did what to which memories and how it ended, as JSON lines. Never a word of a
memory, a question or a secret."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

log = logging.getLogger("oneiro.access")
KEPT: Final = 3
"""Old logs that are kept, `audit.jsonl.1` the newest of them."""
MOST_IDS: Final = 20
_ID: Final = re.compile(r"[0-9a-hjkmnp-tv-z]{4,12}")
"""An id or the beginning of one; its letters make few words."""
_NAMES: Final = frozenset({"id", "ids"})
_BRANCHES: Final = frozenset({"results", "updates", "updated", "memories", "recent", "questions"})


class Audit:
    """Appends to `path`; when it is larger than `limit` bytes it becomes `.1` and a new one
    begins."""

    def __init__(
        self, path: Path, limit: int = 1_000_000, clock: Callable[[], float] = time.time
    ) -> None:
        self._path, self._limit, self._clock = path, limit, clock
        self._lock = threading.Lock()

    def write(
        self, who: str, op: str, status: int | str, *, about: Iterable[Any] = (), **more: str | int
    ) -> None:
        """One line; of what the request and its answer say (`about`) only ids. It must not fail
        what it reports: the owner's log tells."""
        when = datetime.fromtimestamp(self._clock()).astimezone().isoformat(timespec="milliseconds")
        entry = {
            "t": when,
            "who": who,
            "op": op,
            "status": status,
            "ids": ids_in(list(about)),
            **more,
        }
        try:
            with self._lock:
                self._rotate()
                number = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                try:
                    os.write(number, json.dumps(entry, ensure_ascii=True).encode() + b"\n")
                finally:
                    os.close(number)
        except OSError as error:
            log.warning("the audit log %s cannot be written: %s", self._path, error.strerror)

    def _rotate(self) -> None:
        try:
            if self._path.stat().st_size < self._limit:
                return
        except FileNotFoundError:
            return
        for number in range(KEPT, 0, -1):
            older = (
                self._path.with_name(f"{self._path.name}.{number - 1}")
                if number > 1
                else self._path
            )
            if older.exists():
                older.replace(self._path.with_name(f"{self._path.name}.{number}"))


def ids_in(message: Any, depth: int = 4) -> list[str]:
    """Memory ids in the arguments or the result of an operation, looked for only where ids stand;
    anything that is no id is left out."""
    found: list[str] = []
    if depth and isinstance(message, dict):
        for name, value in message.items():
            if name in _NAMES:
                found += [
                    entry
                    for entry in (value if isinstance(value, list) else [value])
                    if _is_id(entry)
                ]
            elif name in _BRANCHES:
                found += ids_in(value, depth - 1)
    elif depth and isinstance(message, list):
        for entry in message[:MOST_IDS]:
            found += ids_in(entry, depth - 1)
    return list(dict.fromkeys(found))[:MOST_IDS]


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None
