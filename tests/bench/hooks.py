"""What a person waits for at the events of a conversation: whole hook processes, as a client starts
them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from oneiro_vault.app import init_vault
from tests.bench.commands import command, environment, process, settle
from tests.bench.kit import Row, median, paired, write_notes

ONEIRO = str(Path(sys.executable).parent / "oneiro")
PROMPT = "what does kaba say about lofin and rita?"
WARM = 120.0
"""Seconds the model gets to load."""


def run(scale: int) -> Iterator[Row]:
    """`scale` memories behind a warm owner with the real model; orientation without any owner."""
    with tempfile.TemporaryDirectory() as folder:
        root, place = Path(folder) / "vault", Path(folder) / "project"
        place.mkdir()
        (place / ".oneiro-capture").touch()
        init_vault(root)
        write_notes(root, scale, words=60)
        env = environment(Path(folder)) | {
            "ONEIRO_VAULT": str(root),
            "ONEIRO_OWNER_START": "0",
        }
        for number in range(20):
            text = (
                f"Part {number} of the standing orientation. "
                + "It has a sentence or two about one thing. " * 6
            )
            command(
                env,
                root,
                "--no-daemon",
                "remember",
                "--type",
                "orientation",
                "--title",
                f"Part {number}",
                text,
            )
        hook = Hook(env, place)
        bare = [sys.executable, "-c", "pass"]
        assert hook("SessionStart", source="startup"), "there is an orientation"
        ours, nothing = paired(
            lambda: hook("SessionStart", source="startup"),
            lambda: process(bare, env),
            times=40,
            warmup=3,
        )
        yield Row(
            "hook SessionStart, published orientation, no owner / `python -c pass`",
            ours,
            nothing,
            "<= 3",
        )
        started = env | {"ONEIRO_OWNER_START": "1"}
        command(started, root, "recall", "kaba")
        settle(started, root)
        yield from prompts(hook, scale)
        yield spooling(hook, place)
        command(env, root, "stop")


class Hook:
    """Runs one event in a process of its own; returns what it put into the conversation."""

    def __init__(self, env: dict[str, str], place: Path) -> None:
        self.env, self.place = env, place
        self.count = 0

    def __call__(self, event: str, **said: Any) -> bytes:
        self.count += 1
        common = {"session_id": f"s{self.count}", "cwd": str(self.place), "hook_event_name": event}
        done = subprocess.run(
            [ONEIRO, "hook", event],
            input=json.dumps(common | said).encode(),
            env=self.env,
            capture_output=True,
            check=True,
        )
        return done.stdout


def prompts(hook: Hook, scale: int) -> Iterator[Row]:
    note = (
        next(hook.place.parent.glob("vault/semantic/*/*/*.md"))
        .read_text(encoding="utf-8")
        .splitlines()
    )
    relevant = " ".join(line for line in note[8:16] if line)[:200]
    end = time.monotonic() + WARM
    while not hook("UserPromptSubmit", prompt=relevant) and time.monotonic() < end:
        time.sleep(0.5)
    assert hook("UserPromptSubmit", prompt=relevant), "the model is warm and the note is found"
    for what, prompt in (
        ("a relevant prompt", relevant),
        ("an irrelevant prompt", "fix the failing test"),
    ):
        seconds = median(
            partial(hook, "UserPromptSubmit", prompt=prompt),
            times=40,
            warmup=3,
        )
        yield Row(
            f"hook UserPromptSubmit, {what}, warm owner, {scale:,} memories",
            seconds,
            None,
            "<= 0.1",
        )


def spooling(hook: Hook, place: Path) -> Row:
    """SessionEnd over a megabyte of transcript, most of which nobody said."""
    path = place / "t.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(200):
            file.write(
                json.dumps(
                    {
                        "type": "user",
                        "message": {
                            "role": "user",
                            "content": f"question {number} " + "word " * 100,
                        },
                    }
                )
                + "\n"
            )
            file.write(
                json.dumps({"type": "attachment", "attachment": {"content": "x" * 5_000}}) + "\n"
            )
    seconds = median(lambda: hook("SessionEnd", transcript_path=str(path)), times=15)
    return Row("hook SessionEnd, 1 MB of transcript into the spool", seconds, None, "<= 0.3")
