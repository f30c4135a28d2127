"""The documentation tells the truth: every command and setting is in it, and its commands run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from oneiro_vault.cli.commands import guides
from oneiro_vault.cli.group import GROUPS
from oneiro_vault.cli.main import cli
from oneiro_vault.errors import all_errors
from oneiro_vault.settings.definitions import SETTINGS

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
HELP = ROOT / "oneiro_vault" / "help"
LONGEST = 10_000
"""Bytes of a README that is read in five minutes."""
EXIT_CODES = """\
Exit codes: 0 done · 1 `check` or `doctor` found errors, or a client set up gets no answer · 2 the
request cannot be carried out · 3 not found · 4 ambiguous id · 5 no vault · 6 changed meanwhile · 7 the
repository is in the middle of something · 8 far too much would vanish, or notes vanished from the
history · 9 a lock is held · 10 disk · 11 git · 12 index · 13 owner · 70 our fault (the log says more) ·
130 interrupted · 141 nobody reads the output.
"""


def settings_table() -> str:
    """The settings as the guide shows them."""
    lines = ["| setting | default | where | what |", "|---|---|---|---|"]
    for s in SETTINGS:
        where = "vault" if s.scope == "vault" else "machine"
        lines.append(
            f"| `{s.name}` | `{s.default!r}` | {where} | "
            f"{s.help}{f' ({s.allowed})' if s.allowed else ''} |"
        )
    return "\n".join(lines)


def settings_guide() -> str:
    """The guide with the table as it has to be."""
    before, rest = (HELP / "reference/settings.md").read_text("utf-8").split("<!-- settings -->\n")
    return (
        f"{before}<!-- settings -->\n{settings_table()}\n<!-- /settings "
        f"-->{rest.split('<!-- /settings -->')[1]}"
    )


def commands_guide() -> str:
    """Every command with its help and options, as the program says them."""
    lines = [
        "# Commands", "",
        "`oneiro [--vault PATH] [--no-daemon] [--json] [-v] COMMAND`. The vault is `--vault`, "
        "else `ONEIRO_VAULT`,",
        "else the nearest folder upwards with an `oneiro.toml`, else the machine's default. "
        "`--json` prints one",
        "versioned object (`watch` and `--ack`: one a line); text output is for people and may "
        "change.", "",
    ]  # fmt: skip
    for heading, group in GROUPS.items():
        lines += [f"## {heading}", ""]
        for name in group:
            lines += [*_command(cli.commands[name], name), ""]
    return "\n".join([*lines, EXIT_CODES])


def _command(found: click.Command, name: str) -> Iterator[str]:
    context = click.Context(found, info_name=f"oneiro {name}")
    yield f"### `{' '.join(found.get_usage(context).removeprefix('Usage: ').split())}`"
    yield ""
    yield re.sub(r"\s*\n\s*", " ", str(found.help).strip())
    shown = [one for one in found.params if not getattr(one, "hidden", False)]
    records = [record for one in shown if (record := one.get_help_record(context))]
    if records:
        yield ""
        yield from (f"- `{option}` {what}" for option, what in records if what)
    if isinstance(found, click.Group):
        for sub in found.commands.values():
            yield f"- `{name} {sub.name}` {' '.join(str(sub.help).split())}"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (HELP / "reference/settings.md", settings_guide),
        (HELP / "reference/commands.md", commands_guide),
        (HELP / "reference/oneiro.1", guides.manual),
    ],
)
def test_generated_guides_are_current(path: Path, text: object) -> None:
    wanted = text()  # type: ignore[operator]  # one of the functions above
    if os.environ.get("GOLDEN") == "write":
        path.write_text(wanted, encoding="utf-8")
    else:
        assert path.read_text("utf-8") == wanted


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_has_help(name: str) -> None:
    assert cli.commands[name].help, f"{name} has no help"


def test_every_command_is_in_one_group() -> None:
    every = [name for group in GROUPS.values() for name in group]
    assert len(every) == len(set(every))
    assert set(every) == set(cli.commands)


def test_exit_codes_are_documented() -> None:
    shown = {int(code) for code in re.findall(r"\b(\d+) ", EXIT_CODES)}
    assert {cls.exit_code for cls in all_errors().values()} <= shown


def test_readme_is_short_and_its_links_lead_somewhere() -> None:
    text = README.read_text("utf-8")
    assert len(text.encode()) <= LONGEST
    assert all((ROOT / target).exists() for target in re.findall(r"\]\(([^):]+)\)", text))
    assert {one.relative_to(ROOT).as_posix() for one in HELP.rglob("*.md")} <= set(
        re.findall(r"\]\(([^):]+)\)", text)
    )


@pytest.mark.slow
def test_readme_commands_run(tmp_path: Path, sealed_env: dict[str, str]) -> None:
    """Every `console` block, in order, in one shell: what a reader would type works."""
    text = README.read_text("utf-8") + "".join(
        one.read_text("utf-8") for one in sorted(HELP.rglob("*.md"), key=lambda one: one.name)
    )
    blocks = re.findall(r"```console\n(.*?)```", text, re.S)
    lines = [
        line.removeprefix("$ ")
        for block in blocks
        for line in block.splitlines()
        if line.startswith("$ ")
    ]
    assert len(lines) > 10
    env = sealed_env | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    script = "set -e\n" + "\n".join(lines) + "\noneiro stop\n"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
