"""Who judges when nobody said: what a person has set, else rules, with what they leave open waiting
for the connected model."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import InvalidInput
from oneiro_vault.judges import deferred
from oneiro_vault.judges.deferred import ChainJudge
from oneiro_vault.operations.dream import run_now
from oneiro_vault.operations.dream.choose_judge import choice, folder, standing, to_set
from oneiro_vault.operations.remember import store_captures
from oneiro_vault.settings.definitions import Settings
from tests.judges.scripted import ScriptedJudge
from tests.operations.dream.support import OTHERS, SETTINGS, TWINS, dream, fill

MERGES = f"""#!{sys.executable} -S
import json, re, sys
ids = re.findall(r'memory id="(\\w+)"', sys.stdin.read())
print(json.dumps(dict(action="merge", reason="the same", keep=ids[0], members=ids[1:])))
"""


TAKES_APART = f"""#!{sys.executable} -S
import json, sys
text = sys.stdin.read()
said = "I moved to Porto in May 2026 with my sister Rita."
unit = dict(content="Runa moved to Porto in May 2026.", title="", about=["Runa"], quote=said, tags=[], happened="2026-05-01")
link = dict(reason="they both say where Runa lives", action="skip", existing=None, text=None, flavour=None, also=[])
import re
ids = re.findall(r'memory id="(\\w+)"', text)
whole = dict(reason="said", units=[unit] if said in text else [], complete=True)
print(json.dumps(whole if "Take it apart" in text else link | dict(existing=ids[0])))
"""
GONE = f"#!{sys.executable} -S\nimport sys\nsys.exit('Please log in.')\n"


@pytest.fixture
def mine(tmp_path: Path) -> str:
    """A program that merges whatever it is shown."""
    path = tmp_path / "merges"
    path.write_text(MERGES)
    path.chmod(0o755)
    return str(path)


def chosen(**values: Any) -> tuple[str, bool, str]:
    found = choice(
        Settings({f"dreams.{name}": value for name, value in values.items()}), os.environ
    )
    return found.name, found.ready, found.problem


def test_only_what_a_person_has_set_is_asked(
    mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "claude").symlink_to(mine)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-none")
    assert chosen() == ("auto", False, ""), (
        "a program on the PATH and a key in the environment are no agreement"
    )
    assert chosen(command="claude") == ("command", True, "")
    assert chosen(command=mine, model="claude-small") == ("anthropic", True, "")
    assert chosen(model="m", url="http://127.0.0.1:9/v1") == ("openai", True, "")
    assert chosen(model="claude-big encode=small") == ("anthropic", True, "")
    assert chosen(judge="offline", command=mine) == ("offline", False, "")


def test_what_is_set_and_cannot_be_had_is_said_and_passed_over(
    mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    name, ready, problem = chosen(model="m", key_file="/nowhere", command=mine)
    assert (name, ready) == ("command", True)
    assert "/nowhere" in problem
    name, ready, problem = chosen(command="nonsuch")
    assert (name, ready) == ("auto", False)
    assert "no program nonsuch" in problem


def test_a_run_says_what_it_had_to_pass_over(root: Path) -> None:
    with App.open(root, Settings(SETTINGS | {"dreams.command": "nonsuch --flag"})) as app:
        found = app.call("dream", {"loops": ["consolidate"]})
        assert (found["runs"][0]["judge"], found["note"]) == (
            "auto",
            "there is no program nonsuch (dreams.command)",
        )


def test_a_program_judges_a_night(root: Path, mine: str) -> None:
    with App.open(root, Settings(SETTINGS | {"dreams.command": mine})) as app:
        fill(app, *TWINS, *OTHERS)
        run = dream(app)
        assert (run["judge"], [one["op"] for one in run["decisions"]]) == (
            "command:merges",
            ["merge", "merge"],
        )
        assert run["calls"] == 2
        assert run["tokens_in"] > 100


def test_rules_answer_now_and_the_rest_waits_for_the_connected_model(root: Path) -> None:
    same = "The anchors of Petrel rust in salt.", "the anchors of Petrel rust in salt"
    with App.open(root, Settings(SETTINGS)) as app:
        fill(app, *TWINS[:2], *same, *OTHERS[1:])
        run = dream(app)
        assert ([one["judge"] for one in run["decisions"]], run["waiting"]) == (["offline"], 1)
        (question,) = deferred.waiting(folder(app.house.dreams))
        first, *rest = question["ids"]
        said = {"action": "merge", "reason": "the same", "keep": first, "members": rest}
        (again,) = app.call("dream_answers", {"answers": {question["id"]: said}})["runs"]
        assert (again["judge"], [one["judge"] for one in again["decisions"]]) == (
            "auto",
            ["deferred"],
        )
        assert deferred.waiting(folder(app.house.dreams)) == []
        assert dream(app)["calls"] == 0


TALK = (
    "User: I moved to Porto in May 2026 with my sister Rita. Which forms do I need?\n\nAssistant: "
    "The register's.\n\nUser: Thanks. I am allergic to walnuts, please keep that in mind."
)


def test_a_night_without_its_judge_has_the_rules_answers_and_the_judge_is_asked_again(
    root: Path, tmp_path: Path
) -> None:
    program = tmp_path / "judges"
    program.write_text(GONE)
    program.chmod(0o755)
    with App.open(root, Settings(SETTINGS | {"dreams.command": str(program)})) as app:
        app.call(
            "capture", {"text": TALK, "kind": "session", "session": "s1", "client": "claude-code"}
        )
        first = dream(app, "encode")
        made = {one["title"]: one["judge"] for one in first["decisions"]}
        assert len(made) == 2
        assert set(made.values()) == {"offline"}
        assert "Please log in" in first["failed"][0]["problem"]
        assert "rules answered for now" in first["failed"][0]["problem"]
        assert len(store_captures.waiting(app.house)) == 1
        again = dream(app, "encode")
        assert (again["decisions"], again["failed"], again["report"]) == ([], [], None), (
            "it is told once, and nothing is made twice"
        )
        assert standing(app.house.settings, app.house.dreams, 0)["answered"] is None
        program.write_text(TAKES_APART)
        assert [one["op"] for one in dream(app, "encode")["decisions"]] == ["link"]
        assert store_captures.waiting(app.house) == []
        assert standing(app.house.settings, app.house.dreams, 0)["answered"]
        facts = app.call("list", {"type": "semantic"})["results"]
    assert len(facts) == 2


def test_only_a_night_is_the_rules_and_only_where_nobody_named_the_judge(
    root: Path, tmp_path: Path
) -> None:
    program = tmp_path / "judges"
    program.write_text(GONE)
    program.chmod(0o755)
    with App.open(root, Settings(SETTINGS | {"dreams.command": str(program)})) as app:
        app.call(
            "capture", {"text": TALK, "kind": "session", "session": "s1", "client": "claude-code"}
        )
        for params in ({"judge": "command"}, {"calls": 5}):
            run = run_now.run(app.house, ["encode"], **params)["runs"][0]
            assert (run["decisions"], bool(run["failed"])) == ([], True)


UNIT = {"title": "", "about": ["Maya"], "tags": [], "happened": ""}
MOVED = UNIT | {"content": "Maya moved to Porto in May 2026."}
MEETINGS = UNIT | {"content": "Maya wants no meetings before ten."}

PART = {"reason": "in part", "units": [MOVED], "complete": False}
CREATE = {"reason": "new", "action": "create", "existing": None, "text": None, "flavour": None}


def test_a_capture_that_rules_take_apart_in_part_waits_for_the_whole(root: Path) -> None:
    text = (
        "User: Maya moved to Porto in May 2026.\n\nAssistant: Noted.\n\nUser: and I, Maya, never "
        "want meetings before ten."
    )
    with App.open(root, Settings(SETTINGS)) as app:
        in_part = ScriptedJudge(
            lambda asked: PART if asked.kind == "encode.units" else CREATE, "offline"
        )
        app.house.dreams.judges = lambda _: ChainJudge(
            [in_part], deferred.DeferredJudge(folder(app.house.dreams))
        )
        app.call("capture", {"text": text, "kind": "session", "session": "s1"})
        assert [one["op"] for one in dream(app, "encode")["decisions"]] == ["remember"]
        assert dream(app, "encode")["decisions"] == [], "what rules made of it is not made twice"
        (question,) = deferred.waiting(folder(app.house.dreams))
        whole = {"reason": "said", "units": [MOVED, MEETINGS], "complete": True}
        done = app.call("dream_answers", {"answers": {question["id"]: whole}})
        assert [one["op"] for run in done["runs"] for one in run["decisions"]].count(
            "remember"
        ) == 1
        assert store_captures.waiting(app.house) == []


def test_what_setup_makes_the_judge(mine: str, tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path)}
    with pytest.raises(InvalidInput, match="none of claude, codex, gemini is on the PATH"):
        to_set("", "claude", env)
    for name in ("claude", "codex"):
        (tmp_path / name).symlink_to(mine)
    assert to_set(None, "claude", env) == {}
    assert to_set("", "codex", env) == {"dreams.command": str(tmp_path / "codex")}
    assert (
        to_set("", "gemini", env)
        == to_set("claude", "", env)
        == {"dreams.command": str(tmp_path / "claude")}
    )
    assert to_set(f"{mine} --fast", "claude", env) == {"dreams.command": f"{mine} --fast"}
    assert to_set("no", "claude", env) == {"mcp.tools": "dreams"}
    with pytest.raises(InvalidInput, match="no program gemini"):
        to_set("gemini", "claude", env)
