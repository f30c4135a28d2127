"""sync and clone: meeting the vault's other copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from oneiro_vault import answers
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line
from oneiro_vault.cli.terminal import Waiting
from oneiro_vault.errors import few

_SHOWN: Final = 20
_FORGET: Final = "was forgotten on one side, only a machine had changed it on the other: goes away"
_WORDS: Final = {
    "take": ("came", "comes here"),
    "send": ("sent", "goes there"),
    "merge": ("merged", "changed on both sides, merged"),
    "forget": ("forgotten", _FORGET),
    "revive": ("kept", "was taken away on one side and changed on the other: stays"),
    "rename": ("renamed", "gets a name of its own"),
}
"""What is done with a file -> how it is counted, how it is told."""


@command("sync")
@click.option("--dry-run", is_flag=True, help="Fetch, and say what would happen; change nothing.")
@click.option(
    "--yes", is_flag=True, help="Go on where a safety gate stopped, after looking at what it said."
)
def sync_(face: Face, dry_run: bool, yes: bool) -> Output:
    """Bring this vault and its git remote together: memories are merged, nothing is lost, nobody's
    words win in silence."""
    with Waiting(aloud=True, shows=not face.json) as sign:
        found = face.ops.sync(dry_run=dry_run, yes=yes, progress=sign.count)
    return Output("\n".join(_told(found)), found)


def _told(found: answers.Synced) -> list[str]:
    text, counted, remote = _listed(found), _counted(found), line(found["remote"] or "")
    if found["offline"]:
        since = f"The last sync was {found['last']}." if found["last"] else "There was none before."
        came = f" {counted} before that; what is here alone goes there next time."
        came = came if found["actions"] or found["late"] else ""
        return [*text, f"Offline: {line(found['offline'])}.{came} {since}"]
    if found["dry_run"]:
        edits = f", after {found['edits']} uncommitted edits" if found["edits"] else ""
        return [*text, f"{counted} would happen with {remote}{edits}. Nothing was changed."]
    if found["rescued"]:
        text.append(f"The history that was replaced there is kept as {line(found['rescued'])}.")
    clashes = (action["path"] for action in found["actions"] if action["clashes"])
    text += _clashes([path for path in clashes if path])
    text += [*_stays(found["stays"]), *map(line, found["loosened"])]
    return [*text, f"In step with {remote}: {counted}."]


def _stays(files: Sequence[answers.Refused]) -> list[str]:
    """By reason, for most of them share one."""
    reasons: dict[str, list[str]] = {}
    for file in files:
        reasons.setdefault(file["reason"], []).append(line(file["path"]))
    return [f"Only here, {line(reason)}: {few(paths)}" for reason, paths in reasons.items()]


def _clashes(paths: Sequence[str]) -> list[str]:
    """Only notes can show a callout and bear a flag."""
    notes = [path for path in paths if path[-3:].lower() == ".md"]
    said = "1 note says" if len(notes) == 1 else f"{len(notes)} notes say"
    said += " both things now, marked [!conflict]: `oneiro flags` lists what has to be settled."
    other = few([line(path) for path in paths if path not in notes])
    where = "The other version is in it as comments, or beside it."
    there = f"Changed on both sides in one place, look there: {other}. {where}"
    return ([said] if notes else []) + ([there] if other else [])


def _listed(found: answers.Synced) -> list[str]:
    more = len(found["actions"]) - _SHOWN
    rest = [f"  … and {more} more (--json lists all)"] if more > 0 else []
    return [*map(_late, found["late"]), *map(_action, found["actions"][:_SHOWN]), *rest]


def _late(one: answers.LateRun) -> str:
    said = f"  the run {line(one['run'])} of {line(one['loop'])} gives way, {line(one['why'])}"
    if one["left"]:
        said += f", {one['left']} of its decisions stay: their notes were changed since"
    return said + (f" (with it the vault was {line(one['kept'])})" if one["kept"] else "")


def _counted(found: answers.Synced) -> str:
    counts = sorted(Counter(action["action"] for action in found["actions"]).items())
    return ", ".join(f"{count} {_WORDS[doing][0]}" for doing, count in counts) or "nothing new"


def _action(action: answers.SyncAction) -> str:
    to, was = action["path"], action["was"]
    name = f"{line(was)} → {line(to)}" if to and was and to != was else line(to or was or "")
    gone = " (taken away)" if not to and action["action"] in ("take", "send") else ""
    return f"  {name}: {_WORDS[action['action']][1]}{gone}"


@command("clone")
@click.argument("url")
@click.argument("path")
def clone_(face: Face, url: str, path: str) -> Output:
    """Copy a vault from a git remote to this machine, ready to use; nothing that it holds is
    run."""
    face.at_home()
    from oneiro_vault.app import clone_vault
    from oneiro_vault.settings.definitions import load

    place = Path(face.request.cwd, Path(path).expanduser())
    with Waiting(aloud=True, shows=not face.json) as sign:
        made = clone_vault(url, place, load(None, face.request.env, strict=False), sign.count)
    face.vault = str(made["vault"])
    text = f"The copy of {line(made['url'])} is {line(made['vault'])}: {made['notes']} notes."
    if not made["is_vault"]:
        text += f"\nIt is no vault yet: cd {line(made['vault'])} && oneiro init --here"
    return Output(text, made)
