"""setup, which makes the programs models run in use the vault, and what they call: capture, hook,
mcp, and merge-driver as people see them (clients and git run them on a faster way, see `main`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import click

from oneiro_vault.capture import markers, transcripts
from oneiro_vault.cli import terminal
from oneiro_vault.cli.context import Face, decode, from_stdin
from oneiro_vault.cli.group import command
from oneiro_vault.cli.main import merge
from oneiro_vault.cli.output import Output, Style, error_text, line, settled
from oneiro_vault.core.conversation.turns import FILE
from oneiro_vault.core.memory import epoch
from oneiro_vault.core.time.date_ranges import local
from oneiro_vault.errors import InvalidInput, NotFound, OneiroError, VaultNotFound


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
        text = f"Captures stored: {found['stored']}, waiting: {found['left']}"
        return Output(f"{text}, set aside: {found['aside']}.", found)
    if file is None and sys.stdin.isatty():
        raise click.UsageError("Give a FILE, or - for standard input.")
    if file in (None, "-"):
        read = [{"text": from_stdin()}]
    else:
        read = _file(Path(face.request.cwd, str(file)), face.request.env, given["when"])
    done = []
    for one in read:
        if given["kind"] or "kind" in one:
            one.setdefault("client", FILE)
        one |= {name: value for name, value in given.items() if value}
        done.append(face.ops.capture(actor="user", **one))
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
    """The words of a file: a transcript's as a conversation, by days unless it is said `when` it
    was."""
    try:
        if path.suffix == ".jsonl":
            turns, _ = transcripts.read(str(path))
            common = {"kind": "session", "session": path.stem.removeprefix("rollout-")}
            common |= _client(path, env)
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
    began = next(({"when": turn.when} for turn in turns if epoch(turn.when) is not None), {})
    return {"text": transcripts.render(turns)} | began


def _days(turns: list[transcripts.Turn]) -> list[list[transcripts.Turn]]:
    """The turns by local days; one without a time was said when the one before it was."""
    when = next((turn.when for turn in turns if epoch(turn.when) is not None), "")
    timed = []
    for turn in turns:
        when = turn.when if epoch(turn.when) is not None else when
        timed.append(transcripts.Turn(turn.role, turn.text, when))

    def day(turn: transcripts.Turn) -> date:
        return local(epoch(turn.when) or 0.0).date()

    return [list(turns) for _, turns in groupby(timed, day)]


def _client(path: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Whose transcript it is: a client's that keeps it in its own folder, else nobody's."""
    home = Path(env.get("HOME") or Path.home())
    folders = {
        "claude-code": Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude"),
        "codex": Path(env.get("CODEX_HOME") or home / ".codex"),
    }
    for name, folder in folders.items():
        if path.resolve().is_relative_to(folder.resolve()):
            return {"client": name}
    return {}


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
        text = "mcp is a way to the owner process and cannot do without it"
        raise InvalidInput(text, hint="Leave --no-daemon out.")
    root = face.root
    face.json = face.verbose = False  # standard output is for messages
    from oneiro_vault.cli import bridge

    return Output("", {}, code=bridge.run(str(root)))


@command("merge-driver")
@click.argument("base")
@click.argument("ours")
@click.argument("theirs")
@click.argument("path")
def merge_driver_(face: Face, base: str, ours: str, theirs: str, path: str) -> Output:
    """Merge two versions of a note into the file OURS; git runs this (`init` and `doctor --fix`
    register it)."""
    face.at_home()
    return Output("", {"schema": 1, "path": path}, code=merge((base, ours, theirs, path)))


CLIENTS = (
    "claude-code", "codex", "claude-desktop", "gemini", "opencode", "cursor", "vscode",
    "windsurf", "zed", "cline", "goose", "copilot-cli",
)  # fmt: skip


@command("setup")
@click.argument("client", type=click.Choice(CLIENTS), metavar="[CLIENT]", required=False)
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
    client: str | None,
    remove: bool,
    judge: str | None,
    no_judge: bool,
    capture: str | None,
    dry_run: bool,
) -> Output:
    """Connect Claude Code, Codex or another CLIENT to the vault: its MCP server, hooks and skills
    where the program has them. At a terminal it asks who judges and where conversations are
    captured, unless options say so. CLIENT is claude-code, codex, claude-desktop, gemini, opencode,
    cursor, vscode, windsurf, zed, cline, goose or copilot-cli; without one, those that are
    installed are found, and at a terminal asked about one by one."""
    face.at_home()
    given = Given(remove, "no" if no_judge else judge, capture, dry_run)
    return _one(face, client, given) if client else _all(face, given)


class Given(NamedTuple):
    """What the command line says beside the client."""

    remove: bool
    judge: str | None
    capture: str | None
    dry_run: bool


def _one(face: Face, client: str, given: Given) -> Output:
    from oneiro_vault import app

    here = Path(face.request.cwd)
    folder = None
    if given.capture not in (None, "no"):
        named = Path(str(given.capture)).expanduser()
        folder = here if given.capture == "here" else here / named
    asks = not (given.remove or given.dry_run) and _talks(face)
    found = app.setup_client(
        client,
        None if given.remove else _vault(face),
        face.request.env,
        judge=given.judge,
        capture=folder,
        offer=here if given.capture is None else None,
        ask=_confirmed if asks else None,
        dry_run=given.dry_run,
    )
    broken = [check for check in found["checks"] if not check["ok"]]
    diffs = "".join(file["diff"] for file in found["files"]) or "Nothing would change."
    told = diffs if given.dry_run else _told(found, markers.find(str(folder or here)), face.style)
    return Output(told, found, code=1 if broken else 0)


NONE_FOUND = "No client was found on this machine. `oneiro setup --help` names those it knows."


def _all(face: Face, given: Given) -> Output:
    """The clients of this machine: listed, and where a person can be asked, set up one by one."""
    from oneiro_vault import app

    rows = app.find_clients(face.request.env)
    data: Mapping[str, Any] = {"schema": 1, "clients": rows}
    if not rows:
        return Output(NONE_FOUND, data)
    listed = "\n".join(_listed(row, face.style, given) for row in rows)
    if not _talks(face):
        return Output(listed, data)
    if not given.remove:
        _vault(face)  # a vault that is not there is said before the first question
    terminal.emit(terminal.ERR, terminal.encode(settled(listed) + "\n\n"))
    wanted = [row for row in rows if _wanted(row, given)]
    done = [_tried(face, row, given) for row in wanted]
    text = "\n\n".join(one.text for one in done) or "Nothing was changed."
    worst = max((one.code for one in done), default=0)
    return Output(text, {**data, "setups": [one.data for one in done]}, code=worst)


def _wanted(row: Mapping[str, Any], given: Given) -> bool:
    if given.remove:
        return bool(row["set_up"]) and _confirmed(f"Take our entries out of {row['title']}?")
    again = " again" if row["set_up"] else ""
    return _confirmed(f"Set up {row['title']}{again}?", default=not row["set_up"])


def _tried(face: Face, row: Mapping[str, Any], given: Given) -> Output:
    """One client; what is wrong with it does not keep the others from being set up."""
    title = face.style(line(row["title"]), "bold")
    try:
        done = _one(face, row["client"], given)
    except OneiroError as error:
        problem = {"client": row["client"], "error": error.to_dict()}
        return Output(f"{title}\n{error_text(error)}".rstrip(), problem, code=error.exit_code)
    return Output(f"{title}\n{done.text}", done.data, code=done.code)


def _listed(row: Mapping[str, Any], style: Style, given: Given) -> str:
    """`Codex   set up   /home/…   oneiro setup codex`."""
    mark = style("set up    ", "green") if row["set_up"] else "not set up"
    command = f"oneiro setup {row['client']}{' --remove' if given.remove else ''}"
    where = style(line(row["found"]), "dim")
    return f"{line(row['title']):<15} {mark}  {command:<28} {where}"


def _talks(face: Face) -> bool:
    return not face.json and sys.stdin.isatty() and sys.stdout.isatty()


def _confirmed(question: str, default: bool = True) -> bool:
    return click.confirm(line(question), default=default, err=True)


def _vault(face: Face) -> Path:
    """The vault as a client is to name it. Raises VaultNotFound, InvalidInput."""
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
    """What is on, what is not, and the command for it. `marker`: what decides about captures
    here."""
    again = f"oneiro setup {found['client']}"
    hooks = found["hooks"]
    skills = any(file["path"].endswith("SKILL.md") for file in found["files"])
    judge = found["judge"]
    if "capture" not in hooks:
        capture = "off: no hook of this client tells what was said"
    elif marker.allows:
        capture = f"on below {line(str(Path(marker.path).parent))}"
    elif marker.path:
        capture = f"off: {line(marker.path)} {line(marker.problem) or 'forbids it'}"
    else:
        capture = f"off in this folder: {again} --capture here"
    answers = all(check["ok"] for check in found["checks"])
    told = {"start": "orientation at the start", "prompt": "memories with a prompt"}
    starts = "on: " + ", ".join(told[name] for name in hooks if name in told)
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
    said = f"the configured server answered: {server}, {len(check['tools'])} tools"
    return f"{style('checked', 'green')}   {said}, {check['seconds']} s"
