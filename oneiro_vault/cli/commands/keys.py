"""keys: who may reach the vault from another machine; acts on this machine's files, without an
owner."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import Command, global_options
from oneiro_vault.cli.output import Output, line
from oneiro_vault.errors import InvalidInput, shown

if TYPE_CHECKING:
    from oneiro_vault.app import Access

ROLES: Final = ("reader", "writer", "hook", "admin")
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
    type=click.Choice(ROLES),
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
