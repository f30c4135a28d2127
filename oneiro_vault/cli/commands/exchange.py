"""import: what other programs exported, into the vault; export: the vault as files for them, and
for readers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import click

from oneiro_vault import answers
from oneiro_vault.cli import terminal
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
        notes = _counted(found["notes"]).replace(" grown", " changed")
        text.append(f"  notes          {notes}")
    text += [
        f"  remark         {one['count']:,}: {line(one['remark'])}" for one in found["remarks"]
    ]
    text += _listed(found, style("skipped", "yellow"), "skipped", taken=False)
    text += _listed(found, style("faulty", "yellow") + " ", "faulty", taken=True)
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


def _listed(found: Mapping[str, Any], label: str, kind: str, taken: bool) -> list[str]:
    """What did not come, or (`taken`) came with a fault, the first ones by name."""
    if not found[kind]:
        return []
    told = [one for one in found["reasons"] if one["taken"] is taken]
    text = [f"  {label}        {found[kind]:,}{', taken all the same' if taken else ''}"]
    text += [f"    {line(one['where'])}: {line(one['why'])}" for one in told]
    more = found[kind] - len(told)
    return text + ([f"    … and {more:,} more"] if more else [])


def _example(one: Mapping[str, Any]) -> str:
    messages = f", {one['messages']:,} messages" if one["messages"] else ""
    return f"{one['created']}  {line(one['title'])} ({one['kind']}{messages})"


def _next(found: Mapping[str, Any]) -> list[str]:
    """What happens now, and how to take it back."""
    if not found["commits"]:
        return ["Nothing was new, so nothing was written."]
    text = [
        "Next: `oneiro recall` finds all of it now, by words at once, by meaning as it is read."
    ]
    text += [f"  {_waiting(found)}"] if found["brought"] else []
    return [*text, f"Take it back: oneiro undo --source {found['source']}"]


def _waiting(found: Mapping[str, Any]) -> str:
    """How long what came waits to become memories, with what waited before it."""
    count = found["conversations"]["new"] + found["conversations"]["grown"]
    others, nights = found["waiting"] - found["brought"], -(-found["waiting"] // _NIGHT)
    within = "the next night" if nights == 1 else f"about {nights:,} nights"
    what = "1 conversation of it waits" if count == 1 else f"{count:,} conversations of it wait"
    beside = f" (with {others:,} that waited before)" if others > 0 else ""
    return (
        f"{what} to become memories{beside}: {within}, behind what you say meanwhile; `oneiro "
        "dream` begins at once."
    )


_SITE: Final = "site"
_FORMATS: Final = ("okf", "jsonl", "book", _SITE)


@command("export")
@click.argument("format", type=click.Choice(_FORMATS))
@click.argument("path")
@click.option("--type", "types", multiple=True, help="Only memories of this type; repeatable.")
@click.option("--tag", "tags", multiple=True, help="Only those with this tag; repeatable.")
@click.option("--since", help="Only those from then on: a date, or words such as last month.")
@click.option("--as-of", help="As they were then: a date, or a commit.")
@click.option("--without-conversations", is_flag=True, help="Leave captured conversations out.")
@click.option("--archived", is_flag=True, help="Also what was archived.")
def export_(
    face: Face,
    format: str,
    path: str,
    types: tuple[str, ...],
    tags: tuple[str, ...],
    since: str | None,
    as_of: str | None,
    without_conversations: bool,
    archived: bool,
) -> Output:
    """Write memories to PATH, a folder or a .zip: a bundle of the Open Knowledge Format, lines of
    JSON (or one .jsonl), a book to read (or one .md), or a site of pages that need no server."""
    target = str(Path(face.request.cwd, path).expanduser().resolve())
    asked: Mapping[str, Any] = {
        "type": list(types),
        "tag": list(tags),
        "since": since,
        "as_of": as_of,
        "conversations": not without_conversations,
        "archived": archived,
    }
    if format == _SITE:
        found = _site(face, target, asked)
    else:
        found = face.ops.export(format=format, target=target, **asked)
    return Output(said(found), found)


def _site(face: Face, place: str, asked: Mapping[str, Any]) -> answers.Exported:
    """Pages of what was written as lines, in a place of its own; only here are templates loaded."""
    face.at_home()
    from oneiro_vault.app import export_target
    from oneiro_vault.web import static_site

    with (
        export_target(place, _SITE, face.root) as target,
        tempfile.TemporaryDirectory(prefix="oneiro-site-") as folder,
    ):
        lines = Path(folder).resolve() / "lines"
        found = face.ops.export(format="jsonl", target=str(lines), **asked)
        with terminal.Waiting(aloud=True, shows=not face.json) as sign:
            static_site.build(face.root.resolve().name, lines, target, sign.count)
        files = target.files
    changed: Mapping[str, Any] = {"format": _SITE, "target": str(target.place), "files": files}
    return cast("answers.Exported", {**found, **changed})


def said(found: answers.Exported) -> str:
    """What was written where, and what was not."""
    memories = _number(found["memories"], "memory", "memories")
    text = [f"Exported {memories} to {line(found['target'])}"]
    beside = found["attachments"] - found["left_beside"]
    if beside:
        text.append(f"  with {_number(beside, 'file', 'files')} that they show")
    if found["left_beside"]:
        shown = _number(found["left_beside"], "file", "files")
        text.append(f"  without {shown} that they show: a folder or a .zip has room for them")
    if found["withheld"]:
        stayed = _number(found["withheld"], "memory", "memories")
        text.append(f"  something private of {stayed} stayed here")
    if found["files_cut"]:
        cut = _number(found["files_cut"], "file", "files")
        text.append(f"  something private was taken out of {cut} that they show")
    if found["files_kept"]:
        kept = _number(found["files_kept"], "file", "files")
        text.append(f"  {kept} that they show stayed here: something private cannot be taken out")
    if found["conversations_left"]:
        text.append(f"  without {_number(found['conversations_left'], 'capture', 'captures')}")
    if found["archived_left"]:
        text.append(f"  without {found['archived_left']:,} archived (--archived takes them along)")
    return "\n".join(text)


def _number(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
