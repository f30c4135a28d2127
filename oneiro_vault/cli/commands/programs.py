"""What programs call: capture and hook, mcp, and merge-driver as people see them (clients and
git run them on a faster way, see `main`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from oneiro_vault.capture import transcripts
from oneiro_vault.cli.commands import merge_driver_program
from oneiro_vault.cli.commands.daily.text_input import decode, from_stdin
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line
from oneiro_vault.core.conversation.captures import FILE
from oneiro_vault.core.memory import epoch
from oneiro_vault.errors import InvalidInput, NotFound


@command("capture")
@click.argument("file", required=False, metavar="[FILE|-]")
@click.option(
    "--kind",
    type=click.Choice(["note", "turns", "session", "compaction"]),
    help="What it is (default: what FILE looks like).",
)
@click.option("--session", help="The conversation it comes from.")
@click.option("--project", help="Where it took place.")
@click.option("--title", help="A title; otherwise the first words.")
@click.option(
    "--when", help="When it was said or written, if not now (a transcript says so itself)."
)
@click.option(
    "--pending", is_flag=True, help="Store what hooks have left to be picked up, and nothing else."
)
def capture_(face: Face, file: str | None, pending: bool, **given: Any) -> Output:
    """Store a conversation or a text whole, to be made memories of: a client's transcript, any text
    FILE, or - (standard input)."""
    face.at_home()
    if pending:
        if file or any(given.values()):
            raise click.UsageError("--pending goes alone.")
        found = face.ops.collect()
        return Output(
            f"Captures stored: {found['stored']}, waiting: {found['left']}, set aside: "
            f"{found['aside']}.",
            found,
        )
    if file is None and sys.stdin.isatty():
        raise click.UsageError("Give a FILE, or - for standard input.")
    read = (
        [{"text": from_stdin()}]
        if file in (None, "-")
        else _file(Path(face.request.cwd, str(file)), face.request.env, given["when"])
    )
    done = []
    for one in read:
        if given["kind"] or "kind" in one:
            one.setdefault("client", FILE)
        done.append(
            face.ops.capture(
                actor="user",
                **one | {name: value for name, value in given.items() if value},
            )
        )
    rows = [row for one in done for row in one["captures"]]
    told = [
        f"Captured already: {row['id']}"
        if row["duplicate_of"]
        else f"Captured {row['id']}  {line(row['path'] or '')}"
        for row in rows
    ]
    if not all(row["duplicate_of"] for row in rows):
        told.append(f"  waiting to become memories: {done[-1]['queued']}")
    return Output("\n".join(told), done[0] | {"captures": rows, "queued": done[-1]["queued"]})


def _file(path: Path, env: Mapping[str, str], when: str | None) -> list[dict[str, str]]:
    """The words of a file: a transcript's as a conversation, its days apart unless it is said
    `when` it was, any other as they are."""
    try:
        if path.suffix == ".jsonl":
            turns, _ = transcripts.read(str(path))
            common = {"kind": "session", "session": path.stem.removeprefix("rollout-")} | _client(
                path, env
            )
            parts = [_conversation(part) for part in ([turns] if when else _days(turns))]
            if found := [common | part for part in parts if part["text"]]:
                return found
        return [{"text": decode(path.read_bytes(), str(path))}]
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", kept="Nothing was changed.") from None
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be read: {error.strerror}", kept="Nothing was changed."
        ) from error


def _conversation(turns: list[transcripts.Turn]) -> dict[str, str]:
    """What was said, and when it began."""
    began = next(({"when": turn.when} for turn in turns if epoch(turn.when) is not None), {})
    return {"text": transcripts.render(turns)} | began


def _days(turns: list[transcripts.Turn]) -> list[list[transcripts.Turn]]:
    """The turns by the local days on which they were said; one without a time was said when the one
    before it was."""
    when = next((turn.when for turn in turns if epoch(turn.when) is not None), "")
    timed = []
    for turn in turns:
        when = turn.when if epoch(turn.when) is not None else when
        timed.append(transcripts.Turn(turn.role, turn.text, when))
    return [
        list(day)
        for _, day in groupby(
            timed, lambda turn: datetime.fromtimestamp(epoch(turn.when) or 0.0).astimezone().date()
        )
    ]


def _client(path: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Whose transcript it is: a client's that keeps it in its own folder of this person, else
    nobody's."""
    home = Path(env.get("HOME") or Path.home())
    folders = {
        "claude-code": Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude"),
        "codex": Path(env.get("CODEX_HOME") or home / ".codex"),
    }
    real = path.resolve()
    return next(
        (
            {"client": name}
            for name, folder in folders.items()
            if real.is_relative_to(folder.resolve())
        ),
        {},
    )


@command("hook")
@click.argument("event", required=False)
def hook_(face: Face, event: str | None) -> Output:
    """What Claude Code and Codex run at an EVENT of a conversation (SessionStart, UserPromptSubmit,
    PostCompact, Stop, SessionEnd).

    Reads JSON on standard input, prints what is to be put into the conversation or nothing, and
    always ends with 0.
    """
    face.at_home()
    from oneiro_vault.hook import program

    os.environ.update({"ONEIRO_VAULT": face.vault} if face.vault else {})
    program.main([event or ""])
    return Output("", {})


@command("mcp")
def mcp_(face: Face) -> Output:
    """Serve the vault's tools to a model's program over standard input and output."""
    face.at_home()
    if face.no_daemon:
        raise InvalidInput(
            "mcp is a way to the owner process and cannot do without it",
            hint="Leave --no-daemon out.",
        )
    root = face.root
    face.json = face.verbose = False  # standard output is for messages
    from oneiro_vault.cli.bridge import stdio

    return Output("", {}, code=stdio.run(str(root)))


@command("merge-driver")
@click.argument("base")
@click.argument("ours")
@click.argument("theirs")
@click.argument("path")
def merge_driver_(face: Face, base: str, ours: str, theirs: str, path: str) -> Output:
    """Merge two versions of a note into the file OURS; git runs this (`init` and `doctor --fix`
    register it)."""
    face.at_home()
    return Output(
        "", {"schema": 1, "path": path}, code=merge_driver_program.main((base, ours, theirs, path))
    )
