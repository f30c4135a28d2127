"""Set a client up, or take that back: plan every file first, then write, then start the server
as the client would: does it answer and name its tools?"""

from __future__ import annotations

import asyncio
import difflib
import io
import json
import logging
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from mcp import ClientSession, StdioServerParameters, stdio_client

from oneiro_vault.clients import edit, settings_files
from oneiro_vault.clients.edit import Trouble
from oneiro_vault.clients.known_clients import CLIENTS, Client, Machine, Ours, Target
from oneiro_vault.clients.settings_files import Written
from oneiro_vault.errors import ForeignFile, InvalidInput, LockTimeout, OneiroError, shown
from oneiro_vault.vault.layout import packaged

_TAIL: Final = 300
logging.getLogger("mcp.client").addHandler(logging.NullHandler())  # the reason is in the answer


@dataclass
class Answer:
    """What came back: `ok`, the server's name and version, its tools, seconds it took, and the
    reason when it did not work."""

    ok: bool = False
    server: str = ""
    version: str = ""
    tools: list[str] = field(default_factory=list)
    seconds: float = 0.0
    reason: str = ""


def greet(command: Sequence[str], env: Mapping[str, str], seconds: float = 60.0) -> Answer:
    """Start `command`, initialize, list its tools, end it. Never raises: `reason` says what was
    wrong."""
    began = time.monotonic()
    answer = Answer()
    parameters = StdioServerParameters(command=command[0], args=[*command[1:]], env=dict(env))
    with tempfile.TemporaryFile("w+", errors="replace") as errors:

        async def talk() -> None:
            async with (
                stdio_client(parameters, errlog=errors) as (reads, writes),
                ClientSession(reads, writes) as session,
            ):
                about = (await session.initialize()).server_info
                answer.server, answer.version = about.name, about.version
                answer.tools = [tool.name for tool in (await session.list_tools()).tools]

        try:
            asyncio.run(asyncio.wait_for(talk(), seconds))
            answer.reason = "" if answer.tools else "it has no tools"
        except TimeoutError:
            answer.reason = "no answer in time"
        except OSError as error:
            answer.reason = f"{command[0]} cannot be started: {error.strerror}"
        except Exception as error:
            answer.reason = str(_first(error))
        answer.ok = not answer.reason
        answer.seconds = round(time.monotonic() - began, 2)
        errors.seek(0)
        if not answer.ok and (said := errors.read()[-_TAIL:].strip()):
            answer.reason += f": {said}"
    return answer


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


SETTINGS = "config.toml"
"""The machine's own settings, beside the list of our files."""
_TRIES = 5


@dataclass
class Edit:
    """A change to one file: what it says now, and what it is to say (None: no file)."""

    target: Target
    before: str | None
    after: str | None
    whole: bool = False
    """Is what the file says ours, all of it?"""

    @property
    def path(self) -> Path:
        """The file, as the client names it (it may be a link)."""
        return self.target.path

    @property
    def change(self) -> str:
        """`unchanged`, `created`, `edited` or `deleted`."""
        if self.before == self.after:
            return "unchanged"
        return "created" if self.before is None else "deleted" if self.after is None else "edited"

    def diff(self) -> str:
        """The change as a unified diff."""
        before, after = (
            io.StringIO(text or "", newline="\n").readlines() for text in (self.before, self.after)
        )
        lines = difflib.unified_diff(before, after, str(self.path), str(self.path), n=2)
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        )


def find(name: str) -> Client:
    """The client of that name. Raises InvalidInput."""
    if name not in CLIENTS:
        hint = f"One of: {', '.join(CLIENTS)}."
        raise InvalidInput(f"there is no client {shown(name)}", hint=hint)
    return CLIENTS[name]


def found(machine: Machine) -> list[Mapping[str, Any]]:
    """The clients this machine shows, with where each was found and whether it has our server."""
    nobody, rows = Ours(("oneiro",), ""), list[Mapping[str, Any]]()
    for name, client in CLIENTS.items():
        if where := client.found(machine):
            row = {"client": name, "title": client.title, "found": where}
            rows.append(row | {"set_up": any(map(_entry, client.targets(machine, nobody)))})
    return rows


def _entry(target: Target) -> bool:
    """Has the file our server? One that cannot be read has none: setup says why."""
    servers = [want for want in target.wants if want.key]
    try:
        text = settings_files.read(target.path) if servers else None
        return bool(text and edit.current(text, servers[0], target.style))
    except (OneiroError, Trouble):
        return False


def install(
    name: str,
    machine: Machine,
    ours: Ours,
    listed: Path,
    *,
    values: Mapping[str, Any] | None = None,
    marker: Path | None = None,
    dry_run: bool = False,
) -> Mapping[str, Any]:
    """Put our entries into the client's files, with our skills, `values` into the machine's own
    settings and the file `marker` that allows captures, and start what they name. `listed` is the
    list of files that are wholly ours. Raises ForeignFile (nothing was written), DiskProblem."""
    client = find(name)
    targets = client.targets(machine, ours)
    beside = _skills(client, machine)
    if values:
        beside.append(Target(listed.with_name(SETTINGS), "block", content=name, values=values))
    if marker is not None:
        beside.append(Target(marker, "whole", content=f"vault = {edit.literal(ours.vault)}\n"))
    edits = _carried_out([*targets, *beside], False, Written(listed), dry_run)
    if dry_run:
        return _report(name, edits, dry_run)
    return {
        **_report(name, edits, dry_run),
        "checks": _checks(targets[0], machine.env),
        "notes": _notes(name, targets),
        "next": list(client.next),
    }


def remove(
    name: str, machine: Machine, listed: Path, *, marker: str = "", dry_run: bool = False
) -> Mapping[str, Any]:
    """Take our entries out of the client's files again; everything else stays as it is. Raises
    ForeignFile, DiskProblem."""
    client = find(name)
    known = Written(listed).names()
    folder = str(client.skills(machine)) if client.skills is not None else ""
    targets = [
        Target(listed.with_name(SETTINGS), "block", content=name),
        *(Target(Path(path), "whole") for path in known if Path(path).name == marker),
        *client.targets(machine, Ours(("oneiro",), "")),
        *(
            Target(Path(path), "whole")
            for path in known
            if folder and path.startswith(folder + os.sep)
        ),
    ]
    edits = _carried_out(targets, True, Written(listed), dry_run)
    if not dry_run:
        for change in edits:
            if change.change == "deleted" and change.path.name != marker:
                settings_files.unmake(change.path, machine.home)
        settings_files.unmake(listed, machine.home)
    return _report(name, edits, dry_run, removed=True)


def _report(
    name: str, edits: Sequence[Edit], dry_run: bool, removed: bool = False
) -> Mapping[str, Any]:
    return {
        "schema": 1,
        "client": name,
        "hooks": list(CLIENTS[name].hooks),
        "removed": removed,
        "dry_run": dry_run,
        "files": [
            {"path": str(e.path), "change": e.change, "diff": e.diff() if dry_run else ""}
            for e in edits
        ],
        "checks": [],
        "notes": [],
        "next": [],
    }


# -- files
# --------------------------------------------------------------------------------------------------


def _carried_out(
    targets: Sequence[Target], leaves: bool, written: Written, dry_run: bool
) -> list[Edit]:
    edits = [_planned(target, leaves, written) for target in targets]
    if leaves:  # our settings are worth a line only when a block of ours goes
        edits = [e for e in edits if e.target.style != "block" or e.change != "unchanged"]
    return edits if dry_run else [_written(each, leaves, written) for each in edits]


def _planned(target: Target, leaves: bool, written: Written) -> Edit:
    path = target.path
    before = settings_files.read(path)
    known = written.get(path) if target.style == "whole" or target.content else None
    made = target.style == "json" and bool(target.content) and before in (None, known)
    try:
        if made:  # not there, or as we made it
            after = None if leaves else target.content
        elif target.style == "whole":
            after = _whole(target, leaves, before, known)
        elif target.style == "block" and leaves:
            after = settings_files.without_block(before, target.content)
        elif target.style == "block":
            after = settings_files.with_block(before, target.content, target.values)
        elif leaves:
            after = None if before is None else edit.drop(before, target.wants, target.style)
        else:
            after = edit.add(before, target.wants, target.style)
    except Trouble as error:
        text = f"{path}: line {error.line}, column {error.column}: {error}"
        hint = "Correct it there (or move the file away) and run setup again."
        raise ForeignFile(text, kept="No file was changed.", hint=hint) from error
    return Edit(target, before, after, made or target.style == "whole")


def _whole(target: Target, leaves: bool, before: str | None, known: str | None) -> str | None:
    """A file of ours; somebody else's of that name, or one somebody edited, stays."""
    ours = before in (known, target.content) if known is not None else before is None
    if before is not None and not ours:
        return before
    return None if leaves else target.content


def _skills(client: Client, machine: Machine) -> list[Target]:
    if client.skills is None:
        return []
    here, there = packaged("skills"), client.skills(machine)
    return [
        Target(there / path.relative_to(here), "whole", content=path.read_text("utf-8"))
        for mark in sorted(here.glob("*/SKILL.md"))
        for path in sorted(mark.parent.rglob("*"))
        if path.is_file()
    ]


def _written(change: Edit, leaves: bool, written: Written) -> Edit:
    """Write one file; planned anew when somebody (the client itself, most likely) wrote to it
    meanwhile."""
    for _ in range(_TRIES):
        try:
            with settings_files.held(change.path) if change.target.locked else nullcontext():
                fresh = change.whole and change.before is None and change.after is not None
                if fresh:
                    written.put(change.path, change.after)  # first: a note alone does no harm
                if change.before != change.after:
                    settings_files.write(change.path, change.before, change.after)
                    if (change.whole or (leaves and change.target.content)) and not fresh:
                        written.put(change.path, None if leaves else change.after)
            return change
        except settings_files.ChangedError:
            change = _planned(change.target, leaves, written)
    raise LockTimeout(
        f"{change.path} keeps changing",
        kept="It is as its program left it.",
        hint="Close the client and run setup again.",
    )


# -- does it work?
# --------------------------------------------------------------------------------------------------


def _checks(target: Target, env: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """The server is started as the client's own file now says, not as we meant it."""
    text = settings_files.read(target.path) or ""
    entry = edit.current(text, target.wants[0], target.style)
    if entry is None:
        reason = f"{target.path} has lost the entry again: another program wrote it"
        return [{"what": "server", "ok": False, "reason": reason}]
    return [{"what": "server"} | asdict(greet(edit.words(entry), env))]


def _notes(name: str, targets: Sequence[Target]) -> list[str]:
    if name != "claude-code":
        return []
    text = settings_files.read(targets[1].path) or "{}"
    plugins = json.loads(text.removeprefix(edit.BOM)).get("enabledPlugins")
    return [
        f"The plug-in {plugin} is enabled too: everything is now there twice. Keep one of the two."
        for plugin, on in (plugins.items() if isinstance(plugins, dict) else ())
        if on and plugin.split("@")[0] == edit.NAME
    ]
