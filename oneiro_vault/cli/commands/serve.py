"""serve, ui, status, stop, watch: the process that owns a vault."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from oneiro_vault import answers
from oneiro_vault.capture import prompt_counts
from oneiro_vault.cli import render, terminal
from oneiro_vault.cli.commands.dream import shared
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, as_json, line, safe
from oneiro_vault.daemon.lifetime import SETTINGS_CHANGED
from oneiro_vault.errors import OneiroError, OwnerProblem, few

_WAYLAND = "WAYLAND_DISPLAY"


@command("serve")
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="Also listen on TCP, for other machines: MCP, OAuth, keys (see `oneiro keys`).",
)
@click.option(
    "--public-url",
    metavar="URL",
    default="",
    help="The https address by which a proxy in front makes it known.",
)
@click.option(
    "--insecure",
    is_flag=True,
    help="Send tokens in the clear on a network that is private by itself.",
)
@click.option("--ready-fd", type=int, hidden=True)
@click.option("--wait", type=float, default=1.0, hidden=True)
def serve_(
    face: Face, http: str | None, public_url: str, insecure: bool, ready_fd: int | None, wait: float
) -> Output:
    """Own the vault in this process until it is stopped (other commands start an owner by
    themselves)."""
    face.at_home()
    if http is None and (public_url or insecure):
        raise click.UsageError("--public-url and --insecure belong to --http HOST:PORT.")
    tell = _teller(ready_fd)
    try:
        reason = _owner(face, tell, wait, (http, public_url, insecure) if http else None).serve()
    except OneiroError as error:
        tell({"error": error.to_dict()})
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {line(str(error))[:200]}"
        problem = OwnerProblem(
            f"the owner could not open the vault: {why}",
            kept="Your notes are as they were.",
            hint="The details are in .oneiro/logs/.",
        )
        tell({"error": problem.to_dict()})
        raise
    if http and reason == SETTINGS_CHANGED:  # it comes back with the new settings
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    return Output(f"Stopped: {reason}.", {"schema": 1, "reason": reason})


def _owner(
    face: Face,
    tell: Callable[[Mapping[str, Any]], None],
    wait: float,
    http: tuple[str, str, bool] | None,
) -> Any:
    from oneiro_vault.cli.run import inside
    from oneiro_vault.daemon.owner import Owner, write_log
    from oneiro_vault.settings import locations
    from oneiro_vault.settings.definitions import load

    write_log()
    root = face.root.resolve()
    settings = load(root, strict=False)
    index = Path(locations.index_dir(str(root), settings["index.dir"]))

    def open_app() -> Any:
        # most of what an owner loads: it says meanwhile that it is there
        from oneiro_vault.app import App

        return App.open(root, settings, owner=True)

    return Owner(
        root,
        index,
        settings,
        open_app=open_app,
        run_cli=lambda app, record: inside(root, app.call, record),
        tell=tell,
        wait=wait,
        network=_network(root, settings, *http) if http else None,
    )


def _network(root: Path, settings: Any, http: str, public_url: str, insecure: bool) -> Any:
    """Where to listen besides the socket. An owner that listens nowhere else makes way."""
    from oneiro_vault.app import open_access
    from oneiro_vault.daemon import owner, spawn
    from oneiro_vault.daemon.owner_lock import holder_of
    from oneiro_vault.http.listen_tcp import Network, check_public, place
    from oneiro_vault.settings import locations

    host, port = place(http)
    public = check_public(public_url, host, insecure)
    origins = tuple(settings["access.origins"].split())
    network = Network(host, port, open_access(root, settings), public, origins)
    if holder_of(Path(locations.lock_file(str(root)))).get("for") == owner.PURPOSE:
        spawn.end(root, wait=8.0)
    return network


def _teller(ready_fd: int | None) -> Callable[[Mapping[str, Any]], None]:
    """How whoever started us hears of us: lines on a pipe, closed after the last; a sentence."""

    def to_pipe(message: Mapping[str, Any]) -> None:
        with suppress(OSError):
            os.write(ready_fd or 0, json.dumps(message).encode() + b"\n")
            if "opening" not in message:
                os.close(ready_fd or 0)

    def to_person(message: Mapping[str, Any]) -> None:
        if "ready" in message:
            at = f" at {message['http']}/mcp" if "http" in message else ""
            terminal.emit(terminal.ERR, terminal.encode(f"Serving{at}. Ctrl-C stops.\n"))

    return to_person if ready_fd is None else to_pipe


@command("status")
def status_(face: Face) -> Output:
    """Is everything indexed, and does an owner process run? Starts none."""
    found = face.running.status()
    owner = face.session(start=False).owner()
    runs = "none is running (a command starts one)"
    if owner:
        runs = f"process {owner['pid']}, version {owner['version']}"
        runs += f", also at {line(owner['http'])}/mcp" if "http" in owner else ""
    notes = f"{found['chunks']} chunks, {found['pending']} wait for a vector"
    text = [
        f"vault    {line(found['vault'])}",
        f"notes    {found['notes']} ({notes}, {found['behind']} commits behind)",
        f"model    {line(str(found['model']))}",
        f"owner    {runs}",
    ]
    text += [f"embedding {render.embedded(found['embedding'])}"] if found["embedding"] else []
    text += [f"sync     {_synced(found['sync'])}"] if found["sync"]["tried"] else []
    text += [f"prompts  {said}" for said in prompted(found["prompts"])]
    if late := prompt_counts.told(found["late"]):
        text.append(f"hooks    had no time left in seven days: {late} (`oneiro doctor` says more)")
    text += _dreams(found["dreams"])
    text += [f"dreams   {said}" for said in shared(found["dreaming"])]
    text += [f"degraded {line(str(found['degraded']))}"] if found["degraded"] else []
    text += [f"settings {line(said)}" for said in found["loosened"]]
    text += [f"busy     {line(found['busy'])}"] if found["busy"] else []
    text += [f"gone     {line(found['gone'])}"] if found["gone"] else []
    text += [f"rewritten {line(found['rewritten'])}"] if found["rewritten"] else []
    text += [f"unreadable {line(e['path'])}: {line(e['reason'])}" for e in found["unreadable"]]
    if broken := few([line(path) for path in found["broken"]]):
        found_all_the_same = "the words are found (`oneiro check` says more)"
        text.append(f"broken   {broken}: the frontmatter cannot be read, {found_all_the_same}")
    text += [f"language {line(found['language'])}"] if found["language"] else []
    short = "too long; only its beginning is searched"
    text += [f"partial {line(path)}: {short}" for path in found["partial"]]
    text += [f"not committed {line(e['path'])}: {line(e['reason'])}" for e in found["held"]]
    return Output("\n".join(text), {**found, "owner": owner})


def _dreams(found: answers.DreamState) -> list[str]:
    judge, did = found["judge"], [line(title) for title in found["did"]]
    answered = f"last answered {found['answered']}" if found["answered"] else "never answered yet"
    who = line(judge["title"]) + (f"; {answered}" if judge["ready"] or found["answered"] else "")
    text = [f"judge    {who}"]
    text += [f"judge    {line(judge['problem'])}"] if judge["problem"] else []
    captures, questions = found["captures"], found["questions"]
    by_rules = judge["name"] == "auto" and found["ended"] and not found["unasked"]
    text.append(
        f"waiting  {captures} captures and {questions} questions for a model (`oneiro help "
        f"dreams`); rules have filed what they can of them"
        if by_rules
        else f"waiting  {captures} captures to be encoded, {questions} questions to be answered"
    )
    last = f"{found['ended']}: {'; '.join(did)}"
    none = "none yet (`oneiro dream` runs the loops now)"
    text.append(f"last run {last if found['ended'] else none}")
    if found["unasked"]:
        why = "; ".join(line(one) for one in found["unasked"])
        text.append(
            f"not asked because {why}: these questions are put again with the next run, and "
            f"nothing is lost (`oneiro dream` asks them now)"
        )
    return text


def prompted(found: Mapping[str, int]) -> list[str]:
    """What the prompt hook did today, in one line, if there was any prompt."""
    words = {
        "injected": "got memories",
        "nothing": "had nothing that fits",
        "missed": "missed the deadline",
        "unreached": "found no owner",
        "off": "were not asked about (inject.tokens is 0)",
    }
    told = [f"{found[name]} {said}" for name, said in words.items() if found[name]]
    return [f"today {', '.join(told)}"] if told else []


def _synced(state: answers.SyncState) -> str:
    remote = line(state["remote"] or "a remote")
    when = f"last with {remote} {state['last']}" if state["last"] else f"never yet with {remote}"
    return when + (
        f"; failed {state['tried']}: {line(state['problem'])}" if state["problem"] else ""
    )


@command("ui")
@click.option("--port", type=click.IntRange(1, 65535), help="Instead of a port that is free.")
@click.option("--no-open", is_flag=True, help="Only print the link.")
def ui_(face: Face, port: int | None, no_open: bool) -> Output:
    """Open the vault as a page in your browser: what a model is told, search, history, review."""
    face.at_home()
    found = face.session().page(port or 0)
    opened = not (no_open or face.json) and _opened(face.root, found["url"])
    told = f"{found['url']}\n  good once, within {found['seconds']} seconds"
    also = "It opens in your browser; if not: " if opened else ""
    return Output(f"{also}{told}; `oneiro ui` gives another.", found)


def _opened(root: Path, url: str) -> bool:
    """In the browser, by way of a file that only this user can read: arguments of a program are for
    all to see."""
    import webbrowser

    from oneiro_vault.settings import locations

    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or _WAYLAND in os.environ):
        return False
    path = Path(locations.state_dir(str(root))) / "page.html"
    with suppress(OSError, webbrowser.Error):
        path.unlink(missing_ok=True)
        path.touch(0o600, exist_ok=False)
        path.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={url}">\n')
        return webbrowser.open(path.as_uri())
    return False


@command("stop")
def stop_(face: Face) -> Output:
    """Stop the owner process; the next command starts another."""
    face.at_home()
    from oneiro_vault.daemon import spawn

    with terminal.Waiting("stopping the owner", True, shows=not face.json).ticks() as sign:
        found = spawn.end(face.root, wait=20.0, waiting=sign)
    text = f"Stopped process {found['stopped']}." if found["stopped"] else "No owner was running."
    return Output(text, {"schema": 1} | found)


@command("watch")
def watch_(face: Face) -> Output:
    """Print `IDX <path> <sha256>` and `DEL <path>` (JSON lines with --json) as the index follows
    the disk, until Ctrl-C."""
    face.at_home()

    def show(event: str, _done: int, _total: int) -> None:
        if event:
            shown = safe(event) if os.isatty(terminal.OUT) else event
            text = _event(event) if face.json else f"{shown}\n"
            terminal.emit(terminal.OUT, terminal.encode(text))

    found = face.ops.watch(progress=show)
    return Output("", found, render.gaps(found))


def _event(event: str) -> str:
    """`IDX path sha256` or `DEL path` as a JSON line; a path may hold blanks."""
    kind, _, rest = event.partition(" ")
    path, _, sha256 = rest.rpartition(" ") if kind == "IDX" else (rest, "", None)
    return as_json({"schema": 1, "event": kind, "path": path, "sha256": sha256})
