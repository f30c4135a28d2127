"""Set up with one command, a day of three conversations, the machine off at night, the next
morning, and all of it taken back.

The tests of a client are one story, in order: once with rules alone, once with the client's own
program as the judge.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.box import Box, eventually
from tests.conftest import sealed
from tests.e2e import clients, day
from tests.e2e.clients import Client
from tests.e2e.conftest import SESSION, _provided

pytestmark = pytest.mark.e2e
SETTINGS = "# mine\n[dreams]\nrest = 0.25\n"
"""Of the machine: a quarter of a minute of quiet, instead of five. (Codex keeps most variables from
what it starts.)"""
OWN = {
    "claude": {
        ".claude/settings.json": '{\n   "model": "opus" }\r\n',
        ".claude/skills/mine/SKILL.md": "mine\n",
    },
    "codex": {".codex/hooks.json": '{"hooks": {}}', ".agents/skills/mine/SKILL.md": "mine\n"},
}
"""What the person had before."""
PERSONS = (
    ".claude/settings.json",
    ".claude/skills/",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".agents/",
    ".config/",
)
"""What only the person writes, and `oneiro setup`."""


@dataclass
class Day:
    """One client, its model, who judges, and every file of the person's home before it was set
    up."""

    client: Client
    model: day.Model
    judged: bool
    before: dict[str, bytes] = field(default_factory=dict)

    @property
    def box(self) -> Box:
        """The machine."""
        return self.client.box

    @property
    def home(self) -> Path:
        """The person's home."""
        return Path(self.client.env["HOME"])

    @property
    def name(self) -> str:
        """As `oneiro setup` calls it."""
        return self.client.name

    def oneiro(self, *args: str) -> str:
        """Our program, as a person starts it in the folder of their project."""
        program = str(Path(sys.executable).parent / "oneiro")
        done = subprocess.run(
            [program, *args],
            env=self.client.env,
            cwd=self.client.place,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def notes(self, folder: str) -> str:
        """The words of all notes of a folder of the vault."""
        found = sorted((self.box.vault / folder).rglob("*.md"))
        return "\n".join(path.read_text(encoding="utf-8") for path in found)

    def facts(self) -> list[dict[str, Any]]:
        """What the vault knows, in full."""
        lists = [
            self.box.json("list", "--type", "semantic", "--status", status)
            for status in ("active", "superseded")
        ]
        return [self.box.json("show", row["id"]) for found in lists for row in found["results"]]

    def rested(self) -> bool:
        """Has the owner encoded and distilled everything that was said?"""
        marks = self.box.vault / ".git/oneiro/soon.json"
        waits = len(list((self.box.vault / ".git/oneiro/spool").glob("*.json")))
        tried = json.loads(marks.read_text())["tried"] if marks.exists() else ()
        return not waits and "Nygård" in self.notes("orientation") and bool(tried)


def files(home: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()
    }


@pytest.fixture(
    scope="module", params=["claude-rules", "claude-judge", "codex-rules", "codex-judge"]
)
def story(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Day]:
    program, _, judge = request.param.partition("-")
    folder = tmp_path_factory.mktemp(program)
    env = {name: value for name, value in sealed(folder).items() if name != "ONEIRO_EMBED_MODEL"}
    box, model = Box(folder, env), day.Model()
    made = (
        clients.claude_code(box, model, SESSION)
        if program == "claude"
        else clients.codex(box, model)
    )
    try:
        with made.endpoint:
            made.env["ANTHROPIC_BASE_URL"] = made.endpoint.url
            real = clients.CLAUDE if program == "claude" else clients.CODEX
            made.env["PATH"] = f"{real.parent}:{made.env['PATH']}"
            found = Day(made, model, judge == "judge")
            own = OWN[program] | {".config/oneiro/config.toml": SETTINGS}
            if program == "codex":
                provided = _provided("", made.endpoint.url).replace('\nenv_key = "NO_KEY"', "")
                own[".codex/config.toml"] = f"# mine\n{provided}"
            for name, text in own.items():
                (found.home / name).parent.mkdir(parents=True, exist_ok=True)
                (found.home / name).write_text(text, newline="")
            found.oneiro("init", str(box.vault))
            made.run("Hello!")  # whoever sets us up has used the program before
            yield found
    finally:
        box.close()


def test_one_command_sets_it_up(story: Day) -> None:
    story.before = files(story.home)
    judge = "--judge" if story.judged else "--no-judge"
    told = story.oneiro(
        "--vault", str(story.box.vault), "setup", story.name, "--capture", "here", judge
    )
    state = [
        line
        for line in told.splitlines()
        if line.startswith(("tools", "hooks", "skills", "judge", "capture"))
    ]
    assert [line.split()[0] for line in state] == ["tools", "hooks", "skills", "judge", "capture"]
    assert [
        line
        for line in state
        if line.split()[1].rstrip(":") != "on" and not line.startswith("judge")
    ] == []


def test_a_day_of_three_conversations(story: Day) -> None:
    for talk in day.TALKS:
        story.client.begin()
        for words in talk:
            story.client.run(words)
    eventually(story.rested, 120)


def test_what_was_said_is_known_with_its_day(story: Day) -> None:
    known = {one["body"].strip(): one["meta"] for one in story.facts()}
    today = datetime.now().astimezone().date().isoformat()
    for word in (
        "bridge engineer",
        "lengths in metres",
        "kindergarten in Nyg",
        "17.9",
        "18.4 metres, measured",
    ):
        (meta,) = [meta for text, meta in known.items() if word in text]
        assert meta["created"][:10] == today
        assert meta["trust"] == "said"
    (old,) = [meta for text, meta in known.items() if "measured on" in text]
    assert old["status"] == "superseded"
    assert not [text for text in known if day.hostile(text)]


def test_a_judge_was_asked_only_where_the_person_allowed_it(story: Day) -> None:
    assert bool(story.model.judged) is story.judged
    answered = story.box.json("status")["dreams"]["answered"]
    assert bool(answered) is story.judged


def test_the_next_morning_begins_oriented(story: Day) -> None:
    story.box.close()  # off at night: nobody is there when the next conversation begins
    marks = story.box.vault / ".git/oneiro/schedule.json"
    known = json.loads(marks.read_text())
    marks.write_text(
        json.dumps({"ran": {}, "since": {loop: at - 86_400 for loop, at in known["since"].items()}})
    )
    before = len(story.client.endpoint.requests)
    story.client.begin()
    story.client.run("Good morning!")
    given = story.client.read(before)
    for words in ("Marit Solheim", "bridge engineer", "in Bergen", "Nygård", "lengths in metres"):
        assert words in given
    assert day.hostile(given) == []


def test_the_night_is_made_up_for(story: Day) -> None:
    eventually(lambda: len(story.box.json("status")["dreams"]["did"]) > 2, 120)
    assert day.hostile(story.notes("orientation")) == []
    assert "18.4" not in story.notes("orientation")


def test_a_question_about_a_fact_gets_it(story: Day) -> None:
    def asked() -> bool:
        before = len(story.client.endpoint.requests)
        story.client.begin()
        story.client.run(day.ASKED)
        return "17.9 metres" in story.client.read(before)

    eventually(asked, 60)  # the owner may still load its model when a person asks


def test_all_of_it_goes_again(story: Day) -> None:
    story.box.close()
    there = files(story.home)
    story.oneiro("setup", story.name, "--remove")
    after = files(story.home)
    for name, data in story.before.items():
        if (
            name.startswith(PERSONS) or there.get(name) == data
        ):  # the programs write into others whenever they run, and take them away
            assert after[name] == data, name
    assert [name for name in after.keys() - story.before.keys() if name.startswith(PERSONS)] == []
    if ".claude.json" in after:
        assert "oneiro" not in json.loads(after[".claude.json"]).get("mcpServers", {})
    assert not (story.client.place / ".oneiro-capture").exists()
    assert story.client.endpoint.failures == []
