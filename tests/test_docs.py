"""The README tells the truth: every command and setting is in it, and its commands run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from oneiro_vault.cli.main import cli
from oneiro_vault.config import SETTINGS
from oneiro_vault.errors import all_errors

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def settings_table() -> str:
    """The settings as the README shows them."""
    lines = ["| setting | default | where | what |", "|---|---|---|---|"]
    for s in SETTINGS:
        where = "vault" if s.scope == "vault" else "machine"
        lines.append(f"| `{s.name}` | `{s.default!r}` | {where} | {s.help}{f' ({s.allowed})' if s.allowed else ''} |")
    return "\n".join(lines)


def test_settings_table_is_current() -> None:
    before, rest = README.split("<!-- settings -->\n")
    shown, after = rest.split("<!-- /settings -->")
    if os.environ.get("GOLDEN") == "write":
        (ROOT / "README.md").write_text(f"{before}<!-- settings -->\n{settings_table()}\n<!-- /settings -->{after}", encoding="utf-8")
    else:
        assert shown.strip() == settings_table()


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_is_documented(name: str) -> None:
    assert re.search(rf"`{name}[ `]", README), f"README does not mention `{name}`"
    assert cli.commands[name].help, f"{name} has no help"


def test_every_documented_command_exists() -> None:
    table = README.split("## Commands")[1].split("Exit codes")[0]
    named = {word.split()[0] for row in re.findall(r"^\| (.+?) \|", table, re.M) for word in re.findall(r"`([^`]+)`", row)}
    assert named - {"command"} == set(cli.commands)


def test_exit_codes_are_documented() -> None:
    line = README.split("Exit codes:")[1].split("\n\n")[0]
    shown = {int(code) for code in re.findall(r"\b(\d+) ", line)}
    assert {cls.exit_code for cls in all_errors().values()} <= shown


@pytest.mark.slow
def test_readme_commands_run(tmp_path: Path, sealed_env: dict[str, str]) -> None:
    """Every `console` block, in order, in one shell: what a reader would type works."""
    blocks = re.findall(r"```console\n(.*?)```", README, re.S)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    assert len(lines) > 10
    env = sealed_env | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    script = "set -e\n" + "\n".join(lines) + "\noneiro stop\n"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
