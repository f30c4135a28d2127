"""import: what other programs exported, into the vault."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, Style, line

_NIGHT: Final = 200
"""Captures that a night takes (`encode.captures`)."""


@command("import")
@click.argument("given", metavar="[FORMAT] PATH", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Only count, show a few, and write nothing.")
@click.option(
    "--foreign", is_flag=True, help="Somebody else's: nothing in it counts as your own words."
)
@click.option("--project", help="File all of it under this project.")
def import_(
    face: Face, given: tuple[str, ...], dry_run: bool, foreign: bool, project: str | None
) -> Output:
    """Bring in what another program exported: PATH is the zip, folder or file as it came; what it
    is, is found out, or said by FORMAT. The same export twice adds nothing, a newer one what is
    new; `oneiro help import` says how to get each."""
    face.at_home()
    if len(given) > 2:
        raise click.UsageError("Give one PATH, with a FORMAT before it if you like.")
    named = Path(face.request.cwd, Path(given[-1]).expanduser())
    path = Path(os.path.abspath(named))  # noqa: PTH100 (a link stays a link)
    found = face.ops.import_(
        path=str(path),
        format=given[0] if len(given) == 2 else None,
        dry_run=dry_run,
        foreign=foreign,
        project=project,
    )
    return Output("\n".join(_told(found, path.name, face.style)), found)


def _told(found: Mapping[str, Any], name: str, style: Style) -> list[str]:
    heading = "Would be imported from" if found["dry_run"] else "Imported from"
    text = [f"{heading} {found['title']} ({line(name)})"]
    text += [f"  conversations  {_counted(found['conversations'])}"]
    if found["messages"]:
        text[-1] += f" ({found['messages']:,} new messages)"
    if any(found["notes"].values()):
        text.append(f"  notes          {_counted(found['notes'])}")
    text += [
        f"  remark         {one['count']:,}: {line(one['remark'])}" for one in found["remarks"]
    ]
    text += _skipped(found, style)
    if found["dry_run"]:
        text += [f"  for example    {_example(one)}" for one in found["sample"]]
        return [*text, "Nothing was written."]
    return text + _next(found)


def _counted(counts: Mapping[str, int]) -> str:
    """`1,204 new, 3 grown`; of what did not happen nothing."""
    said = {
        "new": "new", "grown": "grown", "known": "known already",
        "forgotten": "forgotten here, so they stay away",
        "changed_here": "changed here and there: `oneiro review`",
    }  # fmt: skip
    told = [f"{counts[key]:,} {words}" for key, words in said.items() if counts[key]]
    return ", ".join(told) or "none"


def _skipped(found: Mapping[str, Any], style: Style) -> list[str]:
    if not found["skipped"]:
        return []
    text = [f"  {style('skipped', 'yellow')}        {found['skipped']:,}"]
    text += [f"    {line(one['where'])}: {line(one['why'])}" for one in found["reasons"]]
    more = found["skipped"] - len(found["reasons"])
    return text + ([f"    … and {more:,} more"] if more else [])


def _example(one: Mapping[str, Any]) -> str:
    messages = f", {one['messages']:,} messages" if one["messages"] else ""
    return f"{one['created']}  {line(one['title'])} ({one['kind']}{messages})"


def _next(found: Mapping[str, Any]) -> list[str]:
    """What happens now, and how to take it back."""
    if not found["commits"]:
        return ["Nothing was new, so nothing was written."]
    nights = -(-found["waiting"] // _NIGHT)
    text = [
        "Next: `oneiro recall` finds all of it now, by words at once, by meaning as it is read."
    ]
    if found["waiting"]:
        within = "the next night" if nights == 1 else f"about {nights:,} nights"
        text.append(
            f"  {found['waiting']:,} conversations wait to become memories: {within}, behind what "
            "you say meanwhile; `oneiro dream` begins at once."
        )
    return [*text, f"Take it back: oneiro undo --source {found['source']}"]
