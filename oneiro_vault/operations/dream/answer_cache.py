"""What judges said, kept beside the vault so that nothing is asked twice: a run that was killed
asks only what is new.

Disposable: a file that cannot be read is put away and begun anew, which costs questions and nothing
else.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

FILE: Final = "verdicts.db"
KEPT: Final = 180 * 86_400
"""Seconds after which an answer nobody has needed is forgotten."""
_FRESH: Final = 86_400
_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS said (question TEXT, judge TEXT, answer TEXT, used REAL, PRIMARY "
    "KEY (question, judge))"
)


class Verdicts:
    """Answers by question and judge, in a file of `folder`. Never raises: without a disk it
    forgets."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._file, self._clock = folder / FILE, clock
        self._db: sqlite3.Connection | None = None
        try:
            self._db = self._open()
        except (sqlite3.Error, OSError):
            with suppress(OSError, sqlite3.Error):
                for name in (FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal"):
                    (folder / name).unlink(missing_ok=True)
                self._db = self._open()

    def _open(self) -> sqlite3.Connection:
        self._file.parent.mkdir(exist_ok=True)
        db = sqlite3.connect(self._file, timeout=5, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute(_SCHEMA)
            db.execute("DELETE FROM said WHERE used < ?", (self._clock() - KEPT,))
            db.execute("SELECT question, judge, answer, used FROM said LIMIT 1").fetchall()
            if db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise sqlite3.DatabaseError("damaged")
        except BaseException:
            db.close()
            raise
        return db

    def get(self, question: str, judge: str) -> Mapping[str, Any] | None:
        """What this judge said to this question."""
        if self._db is None:
            return None
        try:
            row = self._db.execute(
                "SELECT answer, used FROM said WHERE question = ? AND judge = ?", (question, judge)
            ).fetchone()
            if row is None:
                return None
            found = json.loads(row[0])
            if self._clock() - row[1] > _FRESH:
                self._db.execute(
                    "UPDATE said SET used = ? WHERE question = ? AND judge = ?",
                    (self._clock(), question, judge),
                )
        except (sqlite3.Error, ValueError, TypeError):
            return None
        return found if isinstance(found, dict) else None

    def put(self, question: str, judge: str, answer: Mapping[str, Any]) -> None:
        """Keep it."""
        if self._db is not None:
            with suppress(sqlite3.Error):
                row = (question, judge, json.dumps(answer, ensure_ascii=False), self._clock())
                self._db.execute("INSERT OR REPLACE INTO said VALUES (?, ?, ?, ?)", row)

    def close(self) -> None:
        """Let go of the file."""
        if self._db is not None:
            self._db.close()
            self._db = None
