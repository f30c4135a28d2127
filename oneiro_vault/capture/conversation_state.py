"""What the hooks remember of one conversation: how far it was captured, and what was put into it.
Nothing of what was said.

One small file each in `<git dir>/oneiro/sessions`; losing one costs a repetition, never words.
"""

# pathlib imports re and urllib: 8 ms on a path that has 20.
# ruff: noqa: PTH103, PTH108, PTH116, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import json
import os
import time
from binascii import crc32

from oneiro_vault.capture import markers, spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from oneiro_vault.answers import Json

KEPT_DAYS = 90
ABANDONED = 6 * 3600.0
"""Seconds without a word after which a conversation that never ended is captured all the same."""
_MOST_IDS = 200
_TALK = ("session", "client", "cwd", "transcript")


class Session:
    """`offset`: bytes of `transcript` that were captured; `messages`: how many came since then;
    `given`: ids of memories that are in its context; `oriented`: id, path, title and stamp of the
    blocks it has seen (None: none yet); `talk`: session, client, cwd and transcript, when a marker
    allowed its capture."""

    __slots__ = ("_path", "given", "key", "messages", "offset", "oriented", "talk", "transcript")

    def __init__(self, state: str, session: str) -> None:
        self.key = key_of(session)
        self._path = os.path.join(state, "sessions", f"{self.key}.json")
        found = _read(self._path)
        self.transcript = _text(found.get("transcript"))
        self.offset = _number(found.get("offset"))
        self.messages = _number(found.get("messages"))
        self.given = [one for one in _list(found.get("given")) if isinstance(one, str)]
        talk = found.get("talk")
        self.talk = (
            {name: _text(talk.get(name)) for name in _TALK} if isinstance(talk, dict) else {}
        )
        self.oriented = (
            [one for one in _list(found["oriented"]) if isinstance(one, dict)]
            if "oriented" in found
            else None
        )

    def save(self) -> None:
        """Write it in one step, if the disk takes it."""
        try:
            self._save()
        except OSError:
            return

    def _save(self) -> None:
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        said: Json = {
            "transcript": self.transcript,
            "offset": self.offset,
            "messages": self.messages,
        }
        said |= {"given": self.given[-_MOST_IDS:], "talk": self.talk}
        if self.oriented is not None:
            said["oriented"] = self.oriented
        spool.write(
            self._path,
            json.dumps(said).encode(),
            f"{self._path}.{os.urandom(4).hex()}",
            durable=False,
        )

    def captured_to(self, folder: str, transcript: str) -> int:
        """Also in an entry of the spool `folder` that a crash kept us from noting here."""
        offset = self.offset if self.transcript == transcript else 0
        spool.rescue(folder, time.time())
        for path in spool.entries(folder, self.key):
            try:
                entry = spool.load(path) or {}
            except (OSError, ValueError):
                continue
            if entry.get("transcript") == transcript:
                offset = max(offset, _number(entry.get("to")))
        return offset

    def advance(self, transcript: str, offset: int) -> None:
        """Everything up to here was captured."""
        if self.transcript != transcript or self.offset < offset:
            self.transcript, self.offset = transcript, offset
            self.save()


def key_of(session: str) -> str:
    """A file name part, whatever the client put there: letters and digits, different for different
    ids."""
    plain = "".join(letter for letter in session[:200] if letter.isascii() and letter.isalnum())[
        :40
    ]
    return f"{plain}{crc32(session.encode('utf-8', 'replace')):08x}"


def abandoned(state: str, now: float) -> Iterator[Json]:
    """A spool entry for each conversation without an end, if its folder still allows it."""
    for path in _files(state):
        talk = _read(path).get("talk")
        session = Session(state, _text(talk.get("session"))) if isinstance(talk, dict) else None
        if session is None or not session.talk.get("session") or not session.talk["cwd"]:
            continue
        try:
            found = os.stat(session.talk["transcript"])
        except (OSError, ValueError):
            continue
        start = session.offset if session.transcript == session.talk["transcript"] else 0
        marker = markers.find(session.talk["cwd"])
        if start < found.st_size and now - found.st_mtime > ABANDONED and marker.allows:
            yield {
                **session.talk,
                "kind": "session",
                "from": start,
                "to": found.st_size,
                "project": marker.place(),
            }


def _files(state: str) -> list[str]:
    folder = os.path.join(state, "sessions")
    try:
        return [
            os.path.join(folder, name)
            for name in sorted(os.listdir(folder))
            if name.endswith(".json")
        ]
    except OSError:
        return []


def sweep(state: str, now: float) -> None:
    """Forget conversations that nobody went on with for KEPT_DAYS."""
    for path in _files(state):
        try:
            if now - os.lstat(path).st_mtime > KEPT_DAYS * 86_400:
                os.unlink(path)
        except OSError:
            continue


def _read(path: str) -> Json:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
