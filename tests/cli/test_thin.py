"""With a living owner a short command imports next to nothing, and prints what the ordinary way
prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence

import pytest

from oneiro_vault.cli.main import shippable
from tests.box import Box, eventually

HEAVY = frozenset(
    """chromadb torch mcp pydantic click rich starlette uvicorn filelock pygit2 git numpy yaml sqlite3 asyncio logging
subprocess pathlib typing re json socket selectors tomllib importlib.metadata dataclasses datetime http.client
detect_secrets requests""".split()
)
TRACED = """
import sys
before = set(sys.modules)
from oneiro_vault.cli.main import main
code = main()
with open(TRACE, "w") as file:
    file.write("\\n".join(sorted(set(sys.modules) - before)))
sys.exit(code)
"""
SAME = [
    ["recall", "boiler"],
    ["recall", "boiler", "--explain", "-k", "1"],
    ["--json", "recall", "boiler"],
    ["recall", "--json", "-v", "nothing like this at all zzz"],
    ["list", "-n", "1"],
    ["list", "--json"],
    ["log", "-n", "3"],
    ["stats"],
    ["status", "--json"],
    ["show", "ID"],
    ["--json", "show", "--why", "ID"],
    ["why", "ID"],
    ["blame", "ID"],
    ["diff", "1 year ago"],
    ["diff", "tomorrow"],
    ["recall", "boiler", "--as-of", "now", "--valid-at", "today"],
    ["show", "ID", "--as-of", "1 year ago"],
    ["show", "zzzz"],
    ["--json", "show", "zzzz"],
    ["recall", "x", "--since", "not a date at all"],
    ["recall"],
    ["recall", "--json"],
    ["recall", "x", "-k", "many"],
    ["show", "ID", "--nonsense"],
    ["forget", "x/y.md"],
    ["recall", "caf\udce9"],
    ["list", "--", "extra"],
]


@pytest.fixture(scope="module")
def known(box: Box) -> str:
    box.remember("The sauna stove was inspected in May.")
    ident = str(box.remember("The boiler was serviced in March.\nBy \x1b[31mRuth\x1b[0m.")["id"])
    eventually(
        lambda: box.json("status")["pending"] == 0, 60
    )  # else `status` says how fast vectors come
    return ident


def traced(box: Box, *args: str) -> tuple[subprocess.CompletedProcess[bytes], set[str]]:
    """Run it and say what was imported beyond a bare interpreter; coverage stays out, it imports
    plenty."""
    path = box.folder / "trace"
    path.unlink(missing_ok=True)
    env = {name: value for name, value in box.env.items() if not name.startswith("COVERAGE")}
    entry = TRACED.replace("TRACE", repr(str(path)))
    done = subprocess.run(
        box.argv(*args, entry=entry), env=env, cwd=box.folder, capture_output=True, timeout=60
    )
    return done, set(path.read_text().split())


def spoken(errors: bytes) -> bytes:
    """Standard error without the lines that a slow machine brings about: what is waited for."""
    return re.sub("oneiro: [^\n]* …\n".encode(), b"", errors)


@pytest.mark.slow
@pytest.mark.parametrize("words", SAME, ids=" ".join)
def test_both_ways_print_the_same_bytes(box: Box, known: str, words: Sequence[str]) -> None:
    args = [known if word == "ID" else word for word in words]
    thin, modules = traced(box, *args)
    plain = box.here(*args)
    assert "click" not in modules
    assert (thin.returncode, thin.stdout, spoken(thin.stderr)) == (
        plain.returncode,
        plain.stdout,
        spoken(plain.stderr),
    )
    assert thin.stdout + thin.stderr
    assert b"\x1b" not in thin.stdout
    assert b"Traceback" not in thin.stderr


def test_the_fast_path_imports_next_to_nothing(box: Box, known: str) -> None:
    done, modules = traced(box, "recall", "boiler", "--json")
    assert known.encode() in done.stdout
    assert modules.isdisjoint(HEAVY), modules & HEAVY
    assert {name for name in modules if name.startswith("oneiro_vault")} == {
        "oneiro_vault",
        "oneiro_vault.cli",
        "oneiro_vault.cli.main",
        "oneiro_vault.cli.terminal",
        "oneiro_vault.settings",
        "oneiro_vault.settings.locations",
        "oneiro_vault.daemon",
        "oneiro_vault.daemon.client",
        "oneiro_vault.daemon.protocol",
    }


def test_the_ordinary_way_is_seen_in_a_trace(box: Box, known: str) -> None:
    assert "click" in traced(box, "--help")[1]


def test_remembering_takes_the_fast_path_too(box: Box, known: str) -> None:
    done, modules = traced(box, "remember", "The ladder", "is at Mika's.", "--tag", "tools")
    assert done.returncode == 0
    assert modules.isdisjoint(HEAVY)
    assert b"The ladder is at Mika" in box("recall", "ladder").stdout


def test_another_vault_is_not_answered_by_this_owner(box: Box, known: str) -> None:
    done = box("--vault", str(box.folder / "elsewhere"), "list")
    assert done.returncode == 5
    assert b"there is no vault at" in done.stderr


def test_the_nearest_vault_is_found_from_below(box: Box, known: str) -> None:
    below = box.vault / "semantic"
    code = (
        "import sys; from oneiro_vault.cli.main import main; code = main(); sys.exit(10 + code if "
        "'click' in sys.modules else code)"
    )
    env = {name: value for name, value in box.env.items() if not name.startswith("COVERAGE")}
    done = subprocess.run(
        [sys.executable, "-c", code, "recall", "boiler"],
        cwd=below,
        env=env,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert known[:8].encode() in done.stdout


@pytest.mark.slow
def test_the_machines_default_vault(box: Box, known: str) -> None:
    path = os.path.join(box.env["XDG_CONFIG_HOME"], "oneiro", "config.toml")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(f'vault = "{box.vault}"\n')
    try:
        for entry in (
            "from oneiro_vault.cli.main import main",
            "from oneiro_vault.cli.run import run; main = lambda: run(sys.argv[1:])",
        ):
            argv = [
                sys.executable,
                "-c",
                f"import sys; {entry}; sys.exit(main())",
                "recall",
                "boiler",
            ]
            done = subprocess.run(argv, cwd="/", env=box.env, capture_output=True, timeout=60)
            assert known[:8].encode() in done.stdout, done.stderr
    finally:
        os.unlink(path)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("recall x", "recall"),
        ("--vault /v --json recall x", "recall"),
        ("-C /v -v show x", "show"),
        ("--vault=/v log", "log"),
        ("remember a recall", "remember"),
        ("remember -", ""),
        ("reframe x -", ""),
        ("remember --from-jsonl f", ""),
        ("remember --from-jsonl=f", ""),
        ("remember --ack x", ""),
        ("recall --help", ""),
        ("--version", ""),
        ("init x", ""),
        ("doctor", ""),
        ("--vault recall", ""),
        ("", ""),
    ],
)
def test_what_the_owner_may_run(words: str, command: str) -> None:
    assert shippable(words.split()) == command


@pytest.mark.slow
def test_a_closed_pipe_is_quiet(box: Box, known: str) -> None:
    for command in (["list"], ["completion", "bash"]):  # in the owner, and here
        process = box.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        words = process.stderr.read()
        assert process.wait(30) == 141
        assert spoken(words) == b""


def test_a_fault_names_its_log_and_shows_no_traceback(box: Box, known: str) -> None:
    """A database that vanishes under the owner is nobody's input error."""
    breaker = """
import sys
from oneiro_vault.cli import run, group
class Bad:
    def call(self, *_): raise ZeroDivisionError("oops \\x1b[31m")
    def close(self): pass
    def owner(self): return None
from oneiro_vault.cli.context import Face
from oneiro_vault.daemon.protocol import Request, Terminal
code, out, err = run.execute(Face(Request(sys.argv[1:], "/", {}, Terminal()), lambda *_: Bad()))
sys.stderr.buffer.write(out + err)
sys.exit(code)
"""
    done = box("list", entry=breaker)
    assert done.returncode == 70
    assert b"a fault of ours: ZeroDivisionError: oops" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"\x1b" not in done.stderr
    log = done.stderr.decode().split("The details are in ")[1].strip()
    with open(log) as file:
        assert "ZeroDivisionError: oops" in file.read()
