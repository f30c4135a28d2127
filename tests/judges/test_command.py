"""A program as a judge: small real programs that answer, hang, talk nonsense or leave children
behind."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from oneiro_vault.core.question import Raw, check
from oneiro_vault.judges.base import Patience, json_in
from oneiro_vault.judges.budget import AWAY, Budgeted, Ceilings
from oneiro_vault.judges.command import MARK, PROGRAMS, CommandJudge, found, known
from tests.box import command_line, eventually
from tests.judges.scripted import leaning
from tests.judges.test_judges import question

ANSWER = leaning(question(), True)
FAKE = (
    f"#!{sys.executable} -S\nimport json, os, sys, time\nprompt = sys.stdin.read()\nanswer = "
    f"{ANSWER!r}\n"
)


def program(folder: Path, code: str, name: str = "fake") -> str:
    """An executable of that name; its path."""
    path = folder / name
    path.write_text(FAKE + code)
    path.chmod(0o755)
    return str(path)


def said(command: str, **options: object) -> Raw:
    judge = CommandJudge(command, **options)  # type: ignore[arg-type]  # as the test needs them
    ((_, raw),) = judge.ask([question()])
    return raw


def test_it_gets_the_question_and_its_form_and_nothing_else(tmp_path: Path) -> None:
    code = (
        f"open({str(tmp_path / 'seen')!r}, 'w').write(json.dumps([prompt, os.listdir(), "
        f"os.environ.get('{MARK}'), "
        "os.environ.get('CLAUDECODE'), sys.argv[1:]]))\nprint(json.dumps(answer))\n"
    )
    raw = said(
        f"{program(tmp_path, code)} --own 'two words'", env=dict(os.environ) | {"CLAUDECODE": "1"}
    )
    verdict = check(question(), raw)
    assert (verdict.ok, verdict.kept, raw.estimated) == (True, ANSWER, True)
    assert raw.tokens_in > len(question().prompt()) // 4
    prompt, files, mark, session, argv = json.loads((tmp_path / "seen").read_text())
    assert question().prompt() in prompt
    assert '"existing_id"' in prompt
    assert (files, mark, session, argv) == ([], "1", None, ["--own", "two words"])


@pytest.mark.parametrize(
    ("code", "problem", "away"),
    [
        ("sys.exit(3)", "ended with code 3: without a word", True),
        ("sys.exit('please log in')", "ended with code 1: please log in", True),
        ("print('I would rather not.')", "", False),
        ("print('{' * 5000)", "", False),
        ("sys.stdout.buffer.write(bytes(range(256)) * 9)", "", False),
        ("print('x' * 9_000_000)\nsys.stdout.flush()\ntime.sleep(60)", "wrote more than", True),
        ("time.sleep(60)", "no answer in 1 seconds", True),
    ],
)
def test_what_it_does_instead_of_answering_decides_nothing(
    tmp_path: Path, code: str, problem: str, away: bool
) -> None:
    raw = said(
        program(tmp_path, code),
        timeout=1.0 if "sleep" in code and not problem.startswith("wrote") else 120.0,
    )
    assert problem in raw.problem
    assert raw.away == away
    assert not check(question(), raw).ok


def test_what_it_started_ends_with_it(tmp_path: Path) -> None:
    code = (
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(os.fork() or time.sleep(600)))\n"
        f"print(json.dumps(answer))\n"
    )
    assert check(question(), said(program(tmp_path, code))).ok
    child = int((tmp_path / "child").read_text())
    eventually(lambda: not command_line(child), 10)


def test_a_run_that_is_stopped_kills_it(tmp_path: Path) -> None:
    code = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    waiting = Patience((tmp_path / "pid").exists)
    judge = Budgeted(CommandJudge(program(tmp_path, code), waiting=waiting), Ceilings(), waiting)
    answers = dict(judge.ask([question("a"), question("b"), question("c")]))
    assert all("stopped" in raw.problem for raw in answers.values())
    judge.close()
    eventually((tmp_path / "pid").read_text, 10)
    eventually(lambda: not command_line(int((tmp_path / "pid").read_text())), 10)


def test_it_keeps_to_ceilings_and_is_left_alone_when_it_fails(tmp_path: Path) -> None:
    asked = [question(f"text {n}") for n in range(9)]
    good = Budgeted(CommandJudge(program(tmp_path, "print(json.dumps(answer))")), Ceilings(calls=3))
    answers = dict(good.ask(asked))
    assert (sum(raw.unasked for raw in answers.values()), good.spent.calls) == (6, 3)
    bad = Budgeted(
        CommandJudge(program(tmp_path, "sys.exit('no account')"), parallel=1), Ceilings()
    )
    answers = dict(bad.ask(asked))
    assert bad.spent.calls == AWAY
    assert "no account" in next(raw.problem for raw in answers.values() if raw.unasked)


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError, match="there is no program nonsuch"):
        CommandJudge("nonsuch --flag")


CLAUDE = {"type": "result", "is_error": False, "result": f"```json\n{json.dumps(ANSWER)}\n```"}
CODEX = {"type": "item.completed", "item": {"type": "agent_message", "text": json.dumps(ANSWER)}}
GEMINI = {
    "response": f"Here it is: {json.dumps(ANSWER)}",
    "stats": {"models": {"m": {"tokens": {"prompt": 70, "candidates": 7}}}},
}


@pytest.mark.parametrize(
    ("name", "output"),
    [
        (
            "claude",
            json.dumps(
                CLAUDE
                | {"usage": {"input_tokens": 30, "cache_read_input_tokens": 40, "output_tokens": 7}}
            ),
        ),
        (
            "codex",
            "\n".join(
                [
                    "noise",
                    json.dumps(CODEX),
                    '{"type":"turn.completed","usage":{"input_tokens":70,"output_tokens":7}}',
                ]
            ),
        ),
        ("gemini", f"Loaded.\n{json.dumps(GEMINI)}"),
    ],
)
def test_known_programs_are_run_without_tools_and_their_envelopes_are_read(
    tmp_path: Path, name: str, output: str
) -> None:
    code = (
        f"open({str(tmp_path / 'argv')!r}, 'w').write(json.dumps(sys.argv[1:]))\n"
        f"print({output!r})\n"
    )
    raw = said(f"{program(tmp_path, code, name)} --model small")
    assert check(question(), raw).kept == ANSWER
    assert (raw.tokens_in, raw.tokens_out, raw.estimated) == (70, 7, False)
    argv = json.loads((tmp_path / "argv").read_text())
    assert "--model" in argv
    assert {"claude": "--tools", "codex": "shell_tool", "gemini": "plan"}[name] in argv
    assert argv[-1] == "-" or name != "codex"


@pytest.mark.parametrize(
    ("name", "output", "problem"),
    [
        (
            "claude",
            json.dumps({"type": "result", "is_error": True, "result": "Not logged in"}),
            "Not logged in",
        ),
        ("codex", '{"type": "turn.failed", "error": {"message": "401"}}', "401"),
        ("gemini", '{"error": {"message": "quota"}}', "quota"),
        ("claude", "oops", "it printed 'oops'"),
    ],
)
def test_why_a_known_program_has_no_answer(
    tmp_path: Path, name: str, output: str, problem: str
) -> None:
    for code in (0, 1):
        raw = said(program(tmp_path, f"print({output!r})\nsys.exit({code})", name))
        assert problem in raw.problem
        assert raw.away


def test_codex_starts_no_server_its_settings_name(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text('[mcp_servers.oneiro]\ncommand = "oneiro"\n')
    assert "mcp_servers.oneiro.enabled=false" in PROGRAMS["codex"].more({"HOME": str(tmp_path)})
    assert PROGRAMS["codex"].more({"HOME": str(tmp_path / "none")}) == []


def test_programs_are_known_by_name_and_found_on_a_path(tmp_path: Path) -> None:
    assert [
        known(line) for line in ("claude", "/opt/codex --x", "/opt/gemini", "my-judge", "")
    ] == [
        "claude",
        "codex",
        "gemini",
        "",
        "",
    ]
    program(tmp_path, "", "codex")
    assert found(str(tmp_path)) == {"codex": str(tmp_path / "codex")}


@pytest.mark.parametrize(
    "text", ['{"a": 1}', ' ```json\n{"a": 1}\n```', 'Sure: {"a": 1} (done)', '{"a": 1}{"b": 2}']
)
def test_the_object_in_an_answer(text: str) -> None:
    assert json.loads(json_in(text)) == {"a": 1}
