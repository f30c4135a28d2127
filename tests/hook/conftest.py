"""A conversation on a sealed machine: `say("SessionStart", source="startup")` runs the hook as a
client does and returns what it said."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.capture import spool
from oneiro_vault.capture.markers import ALLOW
from oneiro_vault.settings import locations
from tests.box import Box

COLD = {"ONEIRO_OWNER_START": "0"}


class Talk:
    """One session in the folder `place`; `box` is the machine. Without `warm` no hook starts an
    owner."""

    def __init__(
        self, box: Box, place: Path, session: str = "0a1b-session", warm: bool = False
    ) -> None:
        self.box, self.place, self.session = box, place, session
        self.env = {"ONEIRO_VAULT": str(box.vault)} | ({} if warm else COLD)
        self.transcript = box.folder / f"{session}.jsonl"

    def run(self, event: str, stdin: bytes, **env: str) -> subprocess.CompletedProcess[bytes]:
        """The hook with these bytes on its standard input."""
        argv = [*self.box.argv("hook", event)[:3], "hook", event]
        around = self.box.env | self.env | env
        return subprocess.run(
            argv, input=stdin, env=around, cwd=self.place, capture_output=True, timeout=60
        )

    def __call__(self, event: str, *, env: dict[str, str] | None = None, **said: Any) -> str:
        """What the hook put into the conversation; it always ends with 0 and says nothing else."""
        common = {
            "session_id": self.session,
            "transcript_path": str(self.transcript),
            "cwd": str(self.place),
            "hook_event_name": event,
        }
        done = self.run(event, json.dumps(common | said).encode(), **(env or {}))
        assert (done.returncode, done.stderr) == (0, b"")
        if not done.stdout:
            return ""
        found = json.loads(done.stdout)
        assert found.keys() == {"hookSpecificOutput"}
        assert found["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}
        assert found["hookSpecificOutput"]["hookEventName"] == event
        return str(found["hookSpecificOutput"]["additionalContext"])

    def speak(self, role: str, text: str) -> None:
        """A turn in the client's transcript."""
        with open(self.transcript, "a", encoding="utf-8") as file:
            file.write(
                json.dumps({"type": role, "message": {"role": role, "content": text}}) + "\n"
            )

    def allow(self, text: str = "") -> None:
        (self.place / ALLOW).write_text(text, encoding="utf-8")

    @property
    def state(self) -> Path:
        return Path(locations.state_dir(str(self.box.vault)))

    @property
    def spooled(self) -> list[dict[str, Any]]:
        """What waits in the spool; an entry that the owner takes between the look and the reading
        does not."""
        waiting = []
        for path in spool.entries(spool.folder_of(str(self.state))):
            with suppress(FileNotFoundError):
                waiting.append(json.loads(Path(path).read_text(encoding="utf-8")))
        return waiting


@pytest.fixture
def talk(tmp_path: Path, sealed_env: dict[str, str]) -> Iterator[Talk]:
    """In a folder beside a fresh vault, with no owner."""
    box = Box(tmp_path, sealed_env).init()
    place = tmp_path / "project"
    place.mkdir()
    yield Talk(box, place)
    box.close()
