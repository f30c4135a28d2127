"""The exchanges that the real programs had with this hook, replayed against the same vault: `make
e2e` records them anew."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.capture import transcripts
from tests.box import Box, eventually
from tests.conftest import sealed
from tests.hook.conftest import COLD, Talk

FIXTURES = Path(__file__).parent.parent / "capture" / "fixtures"
CLIENTS = ("claude-code", "codex")
BOAT = "The boat is called Petrel and lies in Bergen harbour."
PROJECT = "We build a ferry timetable."
PROMPTS = (
    "what is the boat called that lies in Bergen harbour?",
    "write a haiku",
    "remember that Ana wants releases on Thursdays",
    "when does Ana want releases?",
)


def exchanges(client: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        (FIXTURES / f"{client}.json").read_text(encoding="utf-8")
    )
    return found


@pytest.mark.parametrize("client", CLIENTS)
def test_a_real_transcript_is_read_whole(client: str) -> None:
    turns, end = transcripts.read(str(FIXTURES / f"{client}.jsonl"))
    assert end == (FIXTURES / f"{client}.jsonl").stat().st_size
    said = [turn.text for turn in turns if turn.role == "user"]
    assert [text for text in said if text in PROMPTS] == list(PROMPTS)
    assert len([text for text in said if text.startswith("<")]) == 0
    assert {turn.role for turn in turns} == {"user", "assistant", "tool"}
    assert "hunter2" not in transcripts.render(turns)


class Replay:
    """A machine on which the recorded events happen again; `said` is what the hook put in, by
    event, in order."""

    def __init__(self, box: Box, client: str) -> None:
        self.box, self.client = box, client
        self.home = box.folder / "pat"
        self.said: list[tuple[dict[str, Any], str]] = []
        self.talk = Talk(box, self.home / "project")

    def run(self) -> None:
        lines = (FIXTURES / f"{self.client}.jsonl").read_bytes().splitlines(keepends=True)
        self.talk.place.mkdir(parents=True)
        for number, one in enumerate(exchanges(self.client)):
            if number == 4:  # as it was recorded: the first run had no marker
                self.talk.allow('project = "Ferry"\n')
            stdin = json.loads(json.dumps(one["stdin"]).replace("/home/pat", str(self.home)))
            path = Path(stdin["transcript_path"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"".join(lines[: one["lines"]]))
            done = self.talk.run(one["event"], json.dumps(stdin).encode())
            assert (done.returncode, done.stderr) == (0, b"")
            out = (
                json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
                if done.stdout
                else ""
            )
            self.said.append((one | {"stdin": stdin}, out))

    def outputs(self, event: str, **stdin: str) -> list[str]:
        return [
            out
            for one, out in self.said
            if one["event"] == event and stdin.items() <= one["stdin"].items()
        ]


@pytest.fixture(scope="module", params=CLIENTS)
def replay(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Replay]:
    folder = tmp_path_factory.mktemp("r")
    box = Box(folder, sealed(folder) | COLD).init()
    box.env.pop("ONEIRO_OWNER_START")
    box.remember(BOAT)
    box.json("remember", "--type", "orientation", "--title", "The project", PROJECT)
    box.ok("recall", "warm up")
    found = Replay(box, str(request.param))
    found.run()
    yield found
    box.close()


@pytest.mark.slow
def test_orientation_at_the_start_and_after_a_compaction(replay: Replay) -> None:
    assert [PROJECT in out for out in replay.outputs("SessionStart", source="startup")] == [True]
    assert all(PROJECT in out for out in replay.outputs("SessionStart", source="compact"))
    assert len(replay.outputs("SessionStart", source="compact")) == 1
    assert set(replay.outputs("SessionStart", source="resume")) == {""}


def test_the_relevant_prompt_alone_gets_the_memory(replay: Replay) -> None:
    found = {
        one["stdin"]["prompt"]: out
        for one, out in replay.said
        if one["event"] == "UserPromptSubmit"
    }
    assert [prompt for prompt, out in found.items() if out] == [PROMPTS[0]]
    assert BOAT in found[PROMPTS[0]]


def test_events_that_take_nothing_get_nothing(replay: Replay) -> None:
    """Codex's schemas refuse any other key; Claude Code shows to the person what PostCompact
    prints."""
    for event in ("Stop", "PostCompact", "SessionEnd"):
        assert set(replay.outputs(event)) == {""}


def test_everything_said_is_captured_once(replay: Replay) -> None:
    eventually(lambda: not replay.talk.spooled, 30)
    rows = replay.box.json("list", "--type", "episodic")["results"]
    notes = [replay.box.json("show", row["id"]) for row in reversed(rows)]
    kinds = [note["meta"]["captured"] for note in notes]
    words = "\n\n".join(note["body"] for note in notes)
    assert kinds.count("compaction") == 1
    for prompt in PROMPTS:
        assert words.count(f"User: {prompt}") == 1
    assert words.count("We named the boat Petrel.") == 1
    assert "<analysis>" not in words
    assert "hunter2" not in words
    assert {note["meta"]["client"] for note in notes} == {replay.client}
    assert {note["meta"]["project"] for note in notes} == {"Ferry"}
