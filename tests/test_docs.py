"""The documentation tells the truth: every command and setting is in it, and its commands run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import click
import pytest

import oneiro_vault
from oneiro_vault.cli.group import COMMANDS, EPILOG, GROUPS, oneiro
from oneiro_vault.errors import all_errors
from oneiro_vault.settings.definitions import SETTINGS

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
HELP = ROOT / "oneiro_vault" / "help"
CLI = {
    name: cast("click.Command", oneiro.get_command(click.Context(oneiro), name))
    for name in COMMANDS
}
"""Every command, loaded."""
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
        "else the nearest folder upwards with an `oneiro.toml`, else what "
        "an `.oneiro-capture` here or above names, else the machine's default. "
        "`--json` prints one",
        "versioned object (`watch` and `--ack`: one a line); text output is for people and may "
        "change.", "",
    ]  # fmt: skip
    for heading, group in GROUPS.items():
        lines += [f"## {heading}", ""]
        for name in group:
            lines += [*_command(CLI[name], name), ""]
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


_BLURB = (
    "oneiro keeps what a person and the models they talk to should remember as Markdown notes in a "
    "git repository. Models reach it over the Model Context Protocol and hooks (see `setup`), a "
    "person by the commands below, an editor, Obsidian or git itself."
)


def manual() -> str:
    """The manual page oneiro(1): every command with its options, from the commands themselves."""
    context = click.Context(oneiro, info_name="oneiro")
    page = [
        f'.TH ONEIRO 1 "" "oneiro-vault {oneiro_vault.__version__}" "User Commands"',
        ".SH NAME",
        f"oneiro \\- {roff(str(oneiro.help))}",
        ".SH SYNOPSIS",
        r".B oneiro",
        "[OPTIONS] COMMAND [ARGS]...",
        ".SH DESCRIPTION",
        roff(_BLURB),
        ".SH OPTIONS",
        *_options(oneiro, context),
    ]
    for heading, names in GROUPS.items():
        page.append(f".SH {roff(heading.upper())}")
        for name in names:
            page += _section(CLI[name], name)
    page.append(".SH NOTES")
    for part in EPILOG.split("\n\n"):
        page += [".PP", roff(part)] if part.strip() else []
    guides = ", ".join(
        f"`oneiro help {name}`" for name in sorted(one.stem for one in HELP.rglob("*.md"))
    )
    page += [".SH SEE ALSO", roff(f"git(1); the guides: {guides}")]
    return "\n".join(page) + "\n"


def _section(found: click.Command, name: str) -> list[str]:
    context = click.Context(found, info_name=f"oneiro {name}")
    usage = " ".join(found.get_usage(context).removeprefix("Usage: ").split())
    told = [roff(part) for part in str(found.help).split("\n\n")]
    text = [part for one in told for part in (".PP", one)]
    return [f".SS {roff(usage)}", *text, *_options(found, context)]


def _options(found: click.Command, context: click.Context) -> list[str]:
    shown = (one for one in found.params if not getattr(one, "hidden", False))
    records = (record for one in shown if (record := one.get_help_record(context)))
    rows = ((".TP", f"\\fB{roff(names)}\\fR", roff(what)) for names, what in records if what)
    return [part for row in rows for part in row]


def roff(text: str) -> str:
    """A text on one line in which roff sees no command of its own."""
    text = " ".join(text.replace("\b", "").split()).replace("\\", r"\e").replace("-", r"\-")
    text = "".join(c if c.isascii() else rf"\[u{ord(c):04X}]" for c in text)
    return rf"\&{text}" if text.startswith((".", "'")) else text


def test_the_manual_page_has_every_command_and_no_text_is_taken_for_a_request() -> None:
    page = manual()
    for name in COMMANDS:
        assert f"\n.SS oneiro {name.replace('-', chr(92) + '-')}" in page
    requests = {line.split()[0] for line in page.splitlines() if line[:1] in (".", "'")}
    assert requests == {".TH", ".SH", ".SS", ".PP", ".TP", ".B"}
    assert roff(".so /etc/passwd\n'x \\b") == r"\&.so /etc/passwd 'x \eb"


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed here")
def test_the_manual_page_is_roff_without_a_warning() -> None:
    command = ["groff", "-man", "-Tutf8", "-ww", "-z"]
    done = subprocess.run(command, input=manual().encode(), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (HELP / "reference/settings.md", settings_guide),
        (HELP / "reference/commands.md", commands_guide),
        (HELP / "reference/oneiro.1", manual),
    ],
)
def test_generated_guides_are_current(path: Path, text: object) -> None:
    wanted = text()  # type: ignore[operator]  # one of the functions above
    if os.environ.get("GOLDEN") == "write":
        path.write_text(wanted, encoding="utf-8")
    else:
        assert path.read_text("utf-8") == wanted


@pytest.mark.parametrize("name", sorted(CLI))
def test_every_command_has_help(name: str) -> None:
    assert CLI[name].help, f"{name} has no help"


def test_every_command_is_in_one_group() -> None:
    every = [name for group in GROUPS.values() for name in group]
    assert len(every) == len(set(every))
    assert set(every) == set(COMMANDS)


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
