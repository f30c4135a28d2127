"""Other machines: sync and clone, which meet the vault's other copies, and keys, who may reach it
from there (on this machine's files, without an owner)."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from oneiro_vault import answers
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import Command, command, global_options
from oneiro_vault.cli.output import Output, line
from oneiro_vault.cli.terminal import Waiting
from oneiro_vault.core.principal import KEY_ROLES
from oneiro_vault.errors import InvalidInput, few, shown

if TYPE_CHECKING:
    from oneiro_vault.app import Access

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


# -- keys

_SPANS: Final = {"h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}


@click.group("keys")
def keys_() -> None:
    """Service keys and logins for `oneiro serve --http`."""


keys_.params += global_options(hidden=True)


def _access(face: Face) -> Access:
    from oneiro_vault.app import open_access
    from oneiro_vault.settings.definitions import load

    face.at_home()
    root = face.root
    return open_access(root, load(root, face.request.env, strict=False), face.request.env)


@keys_.command("add", cls=Command)
@click.option(
    "--role",
    type=click.Choice(KEY_ROLES),
    required=True,
    help="reader, writer, hook (orientation and captures) or admin.",
)
@click.option("--name", default="", help="What it is for.")
@click.option("--expires", metavar="WHEN", help="`30d`, `12h`, or a date.")
@click.pass_obj
def add_(face: Face, role: str, name: str, expires: str | None) -> Output:
    """Make a key; it is shown this once."""
    access = _access(face)
    secret, key = access.keys.add(role, name, _moment(expires, access.clock()) if expires else None)
    access.audit.write("local", "add key", "ok", key=key.id, role=role)
    until = f", until {_day(key.expires)}" if key.expires else ""
    ends = f"`oneiro keys revoke {key.id}` ends it."
    note = f"Key {key.id}, {role}{until}. It cannot be shown again; {ends}"
    found = {"schema": 1, "id": key.id, "key": secret, "role": role, "name": name}
    return Output(secret, found | {"created": key.created, "expires": key.expires}, note)


@keys_.command("list", cls=Command)
@click.pass_obj
def list_(face: Face) -> Output:
    """Keys and programs that were let in, and when each came last."""
    found = _access(face).listing()
    rows = [_row(key, _state(key), line(key["name"])) for key in found["keys"]]
    for grant in found["grants"]:
        name = f"{line(grant['name'])} at {line(grant['host'])}"
        rows.append(_row(grant, f"until {_day(grant['expires'])}", name))
    login = "No password is set, so no program can log in (`oneiro keys login`)."
    rows = rows or ["There are no keys."]
    return Output("\n".join(rows), found, "" if found["login"] else login)


@keys_.command("revoke", cls=Command)
@click.argument("which")
@click.pass_obj
def revoke_(face: Face, which: str) -> Output:
    """End a key (its id or name), or what a program was granted (its id), at once."""
    found = _access(face).revoke(which)
    ended = found["revoked"]
    text = f"Ended {ended['kind']} {ended['id']} ({ended['role']}) {line(ended['name'])}"
    return Output(text.rstrip(), found)


@keys_.command("login", cls=Command)
@click.option(
    "--remove",
    is_flag=True,
    help="Let nobody log in any more; what was granted stays (see `keys list`).",
)
@click.pass_obj
def login_(face: Face, remove: bool) -> Output:
    """Set the password that lets programs in on the consent page; asked for, or the first line of
    standard input."""
    access = _access(face)
    if remove:
        existed = access.login.remove()
        text = "Nobody can log in any more." if existed else "No password was set."
        return Output(text, {"schema": 1, "login": False})
    access.login.set(_password())
    access.audit.write("local", "set password", "ok")
    return Output("The password is set.", {"schema": 1, "login": True})


def _password() -> str:
    if sys.stdin.isatty():
        return str(
            click.prompt(
                "Password for this vault", hide_input=True, confirmation_prompt=True, err=True
            )
        )
    return sys.stdin.readline().rstrip("\r\n")


def _moment(text: str, now: float) -> float:
    """`30d` from now, or a date, as epoch seconds. Raises InvalidInput."""
    span = re.fullmatch(r"(\d{1,6})([hdwy])", text)
    if span:
        return now + int(span[1]) * _SPANS[span[2]]
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInput(
            f"{shown(text)} is not a moment",
            kept="Nothing was changed.",
            hint="Such as 30d, 12h or 2027-03-05.",
        ) from error


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment).astimezone().isoformat(sep=" ", timespec="minutes")[:16]


def _row(entry: Mapping[str, Any], state: str, name: str) -> str:
    return f"{entry['id']:<14}{entry['role']:<8}{state:<24}{_used(entry):<23}{name}".rstrip()


def _state(key: Mapping[str, Any]) -> str:
    if key["revoked"]:
        return f"revoked {_day(key['revoked'])[:10]}"
    if not key["valid"]:
        return f"expired {_day(key['expires'])[:10]}"
    return f"until {_day(key['expires'])}" if key["expires"] else "good"


def _used(entry: Mapping[str, Any]) -> str:
    return f"used {_day(entry['used'])}" if entry["used"] else "never used"
