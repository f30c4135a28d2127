"""Whatever happens the program ends with 0, without a word, within its deadline, and with next to
nothing imported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oneiro_vault.capture.markers import ALLOW
from oneiro_vault.hook import program, session_start
from oneiro_vault.hook.program import DEFAULTS, Place
from oneiro_vault.settings.definitions import BY_NAME
from tests.box import eventually
from tests.copies import new_vault
from tests.hook.conftest import Talk

HEAVY = (
    "click pydantic yaml frontmatter chromadb mcp asyncio numpy pygit2 git rich uvicorn starlette "
    "typing pathlib dataclasses socket"
).split()
LISTING = """
import sys, os
sys.argv = ["oneiro", "hook", sys.argv[1]]
from oneiro_vault.cli.main import main
code = main()
os.write(2, " ".join(sorted(sys.modules)).encode())
sys.exit(code)
"""


@pytest.mark.parametrize("event", sorted(program.EVENTS))
def test_only_light_things_are_imported(talk: Talk, event: str) -> None:
    talk.allow()
    talk.speak("user", "hello")
    talk.box(
        "--no-daemon",
        "remember",
        "--type",
        "orientation",
        "--title",
        "Here",
        "The project is a ferry.",
    )
    said = {
        "session_id": "s",
        "cwd": str(talk.place),
        "hook_event_name": event,
        "transcript_path": str(talk.transcript),
    }
    said |= {"prompt": "what is the project?", "compact_summary": "We spoke.", "source": "startup"}
    env = {
        name: value for name, value in talk.box.env.items() if not name.startswith("COVERAGE")
    } | talk.env
    argv = [sys.executable, "-c", LISTING, event]
    done = subprocess.run(
        argv,
        input=json.dumps(said).encode(),
        env=env,
        cwd=talk.place,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0
    modules = set(done.stderr.decode().split())
    assert "oneiro_vault.hook.program" in modules
    assert modules.isdisjoint(HEAVY)
    others = (
        {name.split(".")[0] for name in modules}
        - sys.stdlib_module_names
        - {"__main__", "oneiro_vault"}
    )
    editable = {
        name
        for name in others
        if name.startswith(
            ("__editable", "_virtualenv", "_distutils_hack", "sitecustomize", "a1_coverage")
        )
    }
    assert others == editable
    if event == "SessionStart":
        assert b"The project is a ferry." in done.stdout


JUNK = {
    "nothing": b"",
    "no JSON": b"{",
    "no object": b"[]",
    "null": b"null",
    "bytes": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
    "wrong types": b'{"session_id": 5, "cwd": [], "prompt": {}, "transcript_path": 7, "source": '
    b'[], "compact_summary": 3, "agent_id": null}',
    "another event": b'{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/"}',
    "huge": b'{"prompt": "' + b"x" * 5_000_000 + b'"}',
    "half a pair": b'{"session_id": "\\ud800", "cwd": "/\\ud800", "prompt": "\\ud800 what is the '
    b'boat called?"}',
    "NUL": b'{"session_id": "a\\u0000b", "cwd": "/a\\u0000b", "transcript_path": "/a\\u0000b"}',
}


@pytest.mark.parametrize("event", sorted(program.EVENTS))
@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_no_input_is_an_error(talk: Talk, event: str, junk: bytes) -> None:
    talk.allow()
    done = talk.run(event, junk)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["Nothing"],
        ["--json"],
        ["PreToolUse", "x"],
        ["--vault"],
        ["--no-such-option", "SessionStart"],
    ],
    ids=str,
)
def test_no_command_line_is_an_error(talk: Talk, words: list[str]) -> None:
    """Exit code 2, which a wrong command line has everywhere else, would erase a person's
    prompt."""
    argv = [*talk.box.argv()[:3], "hook", *words]
    done = subprocess.run(
        argv, input=b"{}", env=talk.box.env, cwd=talk.place, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("event", sorted(program.EVENTS))
def test_without_a_vault_nothing_is_said(talk: Talk, event: str) -> None:
    for where in (talk.place, talk.box.folder / "nowhere"):
        talk.env["ONEIRO_VAULT"] = str(where)
        assert talk(event, prompt="what is the boat called?", source="startup") == ""


def test_a_vault_without_its_repository_is_none(talk: Talk) -> None:
    talk.allow()
    talk.speak("user", "hello")
    (talk.box.vault / ".git").rename(talk.box.folder / "away")
    assert talk("SessionEnd") == ""
    assert not (talk.box.vault / ".git").exists()


@pytest.mark.parametrize("event", sorted(program.EVENTS))
def test_an_input_that_never_ends_is_waited_for_no_longer_than_the_deadline(
    talk: Talk, event: str
) -> None:
    reader, writer = os.pipe()
    argv = [*talk.box.argv()[:3], "hook", event]
    start = time.monotonic()
    child = subprocess.Popen(
        argv, stdin=reader, stdout=subprocess.PIPE, env=talk.box.env | talk.env, cwd=talk.place
    )
    os.close(reader)
    out, _ = child.communicate(timeout=60)
    os.close(writer)
    assert (child.returncode, out) == (0, b"")
    assert (
        time.monotonic() - start < 30
    )  # the deadline is below 2; a machine under load starts processes slowly


def test_every_deadline_is_below_the_clients_own() -> None:
    """Claude Code gives SessionEnd 1.5 s, and nobody should wait two seconds for a memory."""
    assert program.DEADLINE < 1.5
    assert max(program.DEADLINES.values()) < 2


def test_our_own_judge_has_no_memory(talk: Talk) -> None:
    talk.allow()
    talk.speak("user", "Which of these two is the same?")
    talk.box("--no-daemon", "remember", "--type", "orientation", "The project is a ferry.")
    for event in program.EVENTS:
        assert (
            talk(event, env={program.JUDGE: "1"}, source="startup", compact_summary="x", prompt="x")
            == ""
        )
    assert talk.spooled == []


def test_subagents_have_none_either(talk: Talk) -> None:
    talk.allow()
    talk.speak("user", "Look for the boat.")
    talk.box("--no-daemon", "remember", "--type", "orientation", "The project is a ferry.")
    for event in program.EVENTS:
        assert (
            talk(
                event,
                agent_id="a1",
                agent_type="Explore",
                source="startup",
                compact_summary="x",
                prompt="x",
            )
            == ""
        )
    assert talk.spooled == []


@pytest.mark.slow
def test_a_suspended_owner_is_not_waited_for(talk: Talk) -> None:
    """The hook is gone long before anything else would give up, and what it spools is there."""
    talk.box.remember("The boat is called Petrel and lies in Bergen harbour.")
    pid = talk.box.pid
    talk.allow()
    talk.speak("user", "hello")
    os.kill(pid, signal.SIGSTOP)
    try:
        eventually(
            lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", 5
        )
        for event in sorted(program.EVENTS):
            before, start = len(talk.spooled), time.monotonic()
            assert talk(
                event,
                prompt="which boat lies in Bergen harbour?",
                compact_summary="We spoke.",
                source="startup",
            ) == (session_start.EMPTY if event == "SessionStart" else "")
            assert time.monotonic() - start < 15, event
            assert len(talk.spooled) - before == (event in ("SessionEnd", "PostCompact")), event
    finally:
        os.kill(pid, signal.SIGCONT)
    eventually(lambda: len(talk.box.json("list")["results"]) == 3, 30)


def test_the_ordinary_way_runs_it_too(talk: Talk) -> None:
    """`oneiro hook --help` is for people; through the whole command line the program is the
    same."""
    assert b"SessionStart" in talk.box("hook", "--help").stdout
    argv = [
        sys.executable,
        "-c",
        "import sys; from oneiro_vault.cli.run import run; sys.exit(run(sys.argv[1:]))",
        "hook",
        "SessionStart",
    ]
    done = subprocess.run(
        argv,
        input=b"junk",
        env=talk.box.env | talk.env,
        cwd=talk.place,
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    new_vault(tmp_path / "vault")
    return tmp_path / "vault"


def at(folder: Path, *argv: str) -> Place:
    return Place({"cwd": str(folder), "session_id": "s"}, argv)


def machine(text: str) -> None:
    import os

    path = Path(os.environ["XDG_CONFIG_HOME"], "oneiro", "config.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_defaults_are_those_of_the_table() -> None:
    assert {name: BY_NAME[name].default for name in DEFAULTS} == DEFAULTS


def test_the_ways_to_a_vault(vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "work"
    elsewhere.mkdir()
    assert at(elsewhere).root == ""
    assert at(vault / "semantic").root == str(vault)
    assert at(elsewhere, "SessionStart", "--vault", str(vault)).root == str(vault)
    machine(f'vault = "{vault}"\n')
    assert at(elsewhere).root == str(vault)
    machine('[other]\nx = 1\n["vault"]\n')
    assert at(elsewhere).root == ""
    machine(f'"vault" = """{vault}"""\n')
    assert at(elsewhere).root == str(vault)
    machine("broken [")
    assert at(elsewhere).root == ""
    monkeypatch.setenv("ONEIRO_VAULT", str(vault))
    assert at(elsewhere).root == str(vault)


def test_a_marker_chooses_the_vault_and_the_project(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_vault(tmp_path / "other")
    monkeypatch.setenv("ONEIRO_VAULT", str(vault))
    work = tmp_path / "ferry"
    (work / "src").mkdir(parents=True)
    (work / ALLOW).touch()
    assert (at(work / "src").root, at(work / "src").project) == (str(vault), "ferry")
    (work / ALLOW).write_text('vault = "../other"\nproject = "Ferry 2"')
    assert (at(work / "src").root, at(work / "src").project) == (str(tmp_path / "other"), "Ferry 2")
    (work / ALLOW).write_text('vault = "../nowhere"')
    assert at(work).root == ""


def test_a_marker_at_home_names_no_project(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ALLOW).touch()
    (tmp_path / "ferry").mkdir()
    assert at(tmp_path / "ferry").project == ""


def test_where_no_folder_is_named(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(vault))
    assert Place({}, ()).root == str(vault)
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    monkeypatch.chdir(vault)
    assert Place({"cwd": 7}, ()).root == str(vault)


@pytest.mark.parametrize(
    ("vaults", "machines", "variable", "expected"),
    [
        ("", "", "", 500),
        ("[inject]\ntokens = 90", "", "", 90),
        ("[inject]\ntokens = 90", "[inject]\ntokens = 80", "", 80),
        ("[inject]\ntokens = 90", "inject.tokens = 80", "70", 70),
        ("[inject]\ntokens = 0", "", "", 0),
        ("[inject]\ntokens = -1", "", "", 500),
        ("[inject]\ntokens = 'many'", "", "many", 500),
        ("[inject]\ntokens = true", "", "", 500),
        ("inject = 3", "broken [", "", 500),
    ],
)
def test_settings(
    vault: Path,
    monkeypatch: pytest.MonkeyPatch,
    vaults: str,
    machines: str,
    variable: str,
    expected: int,
) -> None:
    (vault / "oneiro.toml").write_text(vaults)
    machine(machines)
    monkeypatch.setenv("ONEIRO_INJECT_TOKENS", variable)
    assert at(vault).setting("inject.tokens") == expected


def test_a_vault_cannot_start_processes(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was pulled is untrusted: `owner.start` is the machine's own."""
    (vault / "oneiro.toml").write_text("[owner]\nstart = false")
    assert at(vault).setting("owner.start") is True
    machine("[owner]\nstart = false")
    assert at(vault).setting("owner.start") is False
    monkeypatch.setenv("ONEIRO_OWNER_START", "yes")
    assert at(vault).setting("owner.start") is True


OTHERS = [
    ("sessionStart", "SessionStart", "conversation_id", "additional_context"),  # Cursor
    ("", "SessionStart", "sessionId", "additionalContext"),  # Copilot CLI, which names no event
]


@pytest.mark.parametrize(("called", "event", "session", "key"), OTHERS)
def test_clients_with_words_of_their_own_are_answered_in_them(
    talk: Talk, called: str, event: str, session: str, key: str
) -> None:
    talk.box.json("--no-daemon", "remember", "--type", "orientation", "Ana builds ferries.")
    said: dict[str, object] = {session: "s-1", "source": "new"}
    if called:
        said |= {"hook_event_name": called, "workspace_roots": [str(talk.place)]}
    else:
        said |= {"cwd": str(talk.place)}
    done = talk.run(event, json.dumps(said).encode())
    assert (done.returncode, done.stderr) == (0, b"")
    found = json.loads(done.stdout)
    assert list(found) == [key]
    assert "Ana builds ferries." in found[key]
    again = talk.run(event, json.dumps(said | {"source": "resume"}).encode())
    assert again.stdout == b"", "the conversation is known by its name"
