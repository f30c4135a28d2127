"""setup: make the programs models run in use the vault."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from oneiro_vault.capture import markers
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, Style, line
from oneiro_vault.errors import InvalidInput, VaultNotFound

CLIENTS = ("claude-code", "codex", "claude-desktop", "gemini", "opencode", "cursor", "vscode")


@command("setup")
@click.argument("client", type=click.Choice(CLIENTS), metavar="CLIENT")
@click.option(
    "--remove",
    is_flag=True,
    help="Take our entries out again; everything else stays, byte for byte.",
)
@click.option(
    "--judge",
    metavar="[PROGRAM]",
    is_flag=False,
    flag_value="",
    help="Let a program judge: claude, codex, gemini or your own; alone, the one that is found.",
)
@click.option(
    "--no-judge",
    is_flag=True,
    help="Rules judge, and questions wait for the connected model (the tools `dreams`).",
)
@click.option(
    "--capture", metavar="here|DIR|no", help="Capture conversations held below this folder."
)
@click.option("--dry-run", is_flag=True, help="Show the change as a diff and write nothing.")
def setup_(
    face: Face,
    client: str,
    remove: bool,
    judge: str | None,
    no_judge: bool,
    capture: str | None,
    dry_run: bool,
) -> Output:
    """Make a program that models run in use the vault: its MCP server, hooks and skills where the
    program has them.

    At a terminal it asks who judges and where conversations are captured, unless options say so.
    CLIENT is claude-code, codex, claude-desktop, gemini, opencode, cursor or vscode.
    """
    face.at_home()
    from oneiro_vault import app

    here = Path(face.request.cwd)
    folder = (
        None
        if capture in (None, "no")
        else here
        if capture == "here"
        else here / Path(str(capture)).expanduser()
    )
    wanted = "no" if no_judge else judge
    asks = not (remove or dry_run or face.json) and sys.stdin.isatty() and sys.stdout.isatty()
    found = app.setup_client(
        client,
        None if remove else _vault(face),
        face.request.env,
        judge=wanted,
        capture=folder,
        offer=here if capture is None else None,
        ask=(lambda question: click.confirm(line(question), default=True, err=True))
        if asks
        else None,
        dry_run=dry_run,
    )
    broken = [check for check in found["checks"] if not check["ok"]]
    told = _dry(found) if dry_run else _told(found, markers.find(str(folder or here)), face.style)
    return Output(told, found, code=1 if broken else 0)


def _vault(face: Face) -> Path:
    """The vault as a client is to name it. Raises VaultNotFound when the folder is none,
    InvalidInput when it cannot be written down."""
    root = Path(os.path.abspath(face.root))  # noqa: PTH100 (a link stays a link)
    if not (root / "oneiro.toml").is_file():
        raise VaultNotFound(
            f"{root} is no vault: it has no oneiro.toml",
            hint=f"Make it one: cd {root} && oneiro init --here",
        )
    try:
        str(root).encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            "the vault's path is not valid UTF-8, and no client could be told it",
            hint="Rename the folder.",
        ) from None
    return root


def _dry(found: Mapping[str, Any]) -> str:
    diffs = "".join(file["diff"] for file in found["files"])
    return diffs or "Nothing would change."


def _told(found: Mapping[str, Any], marker: markers.Marker, style: Style) -> str:
    text = [f"{file['change']:<10}{line(file['path'])}" for file in found["files"]]
    text += [_checked(check, style) for check in found["checks"]]
    text += [f"{style('note', 'yellow')}      {note}" for note in found["notes"]]
    text += [f"next      {step}" for step in found["next"]]
    if not found["removed"]:
        text += _state(found, marker)
        text.append(f"undo      oneiro setup {found['client']} --remove")
    return "\n".join(text)


def _state(found: Mapping[str, Any], marker: markers.Marker) -> list[str]:
    """What is on, what is not, and the command for it, in five lines. `marker`: what decides about
    captures where the person stands."""
    again = f"oneiro setup {found['client']}"
    hooks = found["client"] in ("claude-code", "codex")
    skills = any(file["path"].endswith("SKILL.md") for file in found["files"])
    judge = found["judge"]
    if not hooks:
        capture = "off: this client has no hooks"
    elif marker.allows:
        capture = f"on below {line(str(Path(marker.path).parent))}"
    elif marker.path:
        capture = f"off: {line(marker.path)} {line(marker.problem) or 'forbids it'}"
    else:
        capture = f"off in this folder: {again} --capture here"
    answers = all(check["ok"] for check in found["checks"])
    starts = "on: orientation at the start, memories with a prompt"
    return [
        f"tools     {'on' if answers else 'off: the server does not answer'}",
        f"hooks     {starts if hooks else 'off: this client has none'}",
        f"skills    {'on' if skills else 'off: this client has no folder for them'}",
        f"judge     {line(judge['title'])}" + ("" if judge["ready"] else f": {again} --judge"),
        f"capture   {capture}",
    ]


def _checked(check: Mapping[str, Any], style: Style) -> str:
    if not check["ok"]:
        what = "the configured server does not answer"
        return f"{style('failed', 'red')}    {what}: {line(check['reason'])}"
    server = line(f"{check['server']} {check['version']}")
    return (
        f"{style('checked', 'green')}   the configured server answered: {server}, "
        f"{len(check['tools'])} tools, {check['seconds']} s"
    )
