"""serve, status, stop, watch: the process that owns a vault."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from oneiro_vault.cli import render, terminal
from oneiro_vault.cli.face import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line
from oneiro_vault.errors import OneiroError, OwnerProblem


@command("serve")
@click.option("--ready-fd", type=int, hidden=True)
@click.option("--wait", type=float, default=1.0, hidden=True)
def serve_(face: Face, ready_fd: int | None, wait: float) -> Output:
    """Own the vault in this process until it is stopped (other commands start an owner by themselves)."""
    face.at_home()
    tell = _teller(ready_fd)
    try:
        reason = _owner(face, tell, wait).serve()
    except OneiroError as error:
        tell({"error": error.to_dict()})
        raise
    except Exception as error:
        text = f"the owner could not open the vault: {type(error).__name__}: {line(str(error))[:200]}"
        tell({"error": OwnerProblem(text, kept="Your notes are as they were.", hint="The details are in .oneiro/logs/.").to_dict()})
        raise
    return Output(f"Stopped: {reason}.", {"schema": 1, "reason": reason})


def _owner(face: Face, tell: Callable[[dict[str, Any]], None], wait: float) -> Any:
    from oneiro_vault.app import App
    from oneiro_vault.cli.run import inside
    from oneiro_vault.config import load
    from oneiro_vault.daemon import places
    from oneiro_vault.daemon.owner import Owner, write_log

    write_log()
    root = face.root.resolve()
    settings = load(root)
    index = Path(places.index_dir(str(root), settings["index.dir"]))
    return Owner(
        root,
        index,
        settings,
        open_app=lambda: App.open(root, settings, owner=True),
        run_cli=lambda app, record: inside(root, app.call, record),
        tell=tell,
        wait=wait,
    )


def _teller(ready_fd: int | None) -> Callable[[dict[str, Any]], None]:
    """How whoever started us hears of us: lines on a pipe, closed after the last; a person reads a sentence."""

    def to_pipe(message: dict[str, Any]) -> None:
        with suppress(OSError):
            os.write(ready_fd or 0, json.dumps(message).encode() + b"\n")
            if "opening" not in message:
                os.close(ready_fd or 0)

    def to_person(message: dict[str, Any]) -> None:
        if "ready" in message:
            terminal.emit(terminal.ERR, b"Serving. Ctrl-C stops.\n")

    return to_person if ready_fd is None else to_pipe


@command("status")
def status_(face: Face) -> Output:
    """Is everything indexed, and does an owner process run? Starts none."""
    owner = face.session(start=False).owner()
    found = face.call("status", start=False) | {"owner": owner}
    text = [
        f"vault    {line(found['vault'])}",
        f"notes    {found['notes']} ({found['chunks']} chunks, {found['pending']} wait for a vector, {found['behind']} commits behind)",
        f"model    {line(str(found['model']))}",
        f"owner    process {owner['pid']}, version {owner['version']}" if owner else "owner    none is running (a command starts one)",
    ]
    text += [f"degraded {line(str(found['degraded']))}"] if found["degraded"] else []
    text += [f"unreadable {line(entry['path'])}: {line(entry['reason'])}" for entry in found["unreadable"]]
    return Output("\n".join(text), found)


@command("stop")
def stop_(face: Face) -> Output:
    """Stop the owner process; the next command starts another."""
    face.at_home()
    from oneiro_vault.daemon import spawn

    found = spawn.end(face.root, wait=8.0)
    text = f"Stopped process {found['stopped']}." if found["stopped"] else "No owner was running."
    return Output(text, {"schema": 1} | found)


@command("watch")
def watch_(face: Face) -> Output:
    """Print `IDX <path> <sha256>` and `DEL <path>` as the index follows the disk, until Ctrl-C."""
    face.at_home()

    def show(event: str, _done: int, _total: int) -> None:
        if event:
            terminal.emit(terminal.OUT, terminal.encode(event + "\n"))

    found = face.call("watch", show)
    return Output("", found, render.gaps(found))
