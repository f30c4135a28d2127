"""recall, show, list, reframe, forget, restore."""

from __future__ import annotations

from typing import Any

import click

from oneiro_vault.cli import render
from oneiro_vault.cli.commands.daily.text_input import words
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line


@command("recall")
@click.argument("query", nargs=-1, required=True)
@click.option("-k", type=int, help="How many rows at most.")
@click.option("--type", "types", multiple=True, help="Only this type; repeatable.")
@click.option("--tag", "tags", multiple=True, help="Only with this tag; repeatable.")
@click.option("--entity", help="Only about this person or thing.")
@click.option("--project", help="Only from this project.")
@click.option("--since", help='From this date on: 2026-03, "last March", "3 weeks ago".')
@click.option("--until", help="Up to this date.")
@click.option("--as-of", metavar="DATE", help="What was believed then: a date, or a commit.")
@click.option(
    "--valid-at",
    metavar="DATE",
    help="What held then, also what was replaced since; with --as-of: by what was believed.",
)
@click.option(
    "--history", is_flag=True, help="Also what was replaced, in its order: how it came to be."
)
@click.option("--explain", is_flag=True, help="Show the score and what it is made of.")
@click.option("--fast", is_flag=True, help="Do not wait for the embedding model.")
def recall_(
    face: Face,
    query: tuple[str, ...],
    k: int | None,
    types: tuple[str, ...],
    tags: tuple[str, ...],
    entity: str | None,
    project: str | None,
    since: str | None,
    until: str | None,
    as_of: str | None,
    valid_at: str | None,
    history: bool,
    explain: bool,
    fast: bool,
) -> Output:
    """Find memories by meaning and by words."""
    found = face.ops.recall(
        query=" ".join(query),
        k=k,
        type=list(types),
        tag=list(tags),
        entity=entity,
        project=project,
        since=since,
        until=until,
        as_of=as_of,
        valid_at=valid_at,
        history=history,
        explain=explain,
        fast=fast,
    )
    text = (
        render.rows(found["results"], face.style, explain, " ".join(query)) or "no relevant memory"
    )
    return Output("\n".join([*render.heading(found, face.style), text]), found, render.gaps(found))


@command("show")
@click.argument("ident", metavar="ID")
@click.option("--why", is_flag=True, help="How it is indexed, and what would make it found.")
@click.option("--as-of", metavar="DATE", help="As it was then: a date, or a commit.")
def show_(face: Face, ident: str, why: bool, as_of: str | None) -> Output:
    """Show one memory in full."""
    found = face.ops.show(id=ident, why=why, as_of=as_of)
    return Output(render.memory(found, face.style), found)


@command("list")
@click.option("--type", help="Only this type.")
@click.option("--tag", help="Only with this tag.")
@click.option("--status", help="Only with this status (active, pending, superseded, …).")
@click.option("--session", help="Only from this conversation.")
@click.option("--entity", help="Only about this person or thing.")
@click.option("--since", help="Created from this date on.")
@click.option("--until", help="Created up to this date.")
@click.option("-n", "--limit", type=int, default=50, show_default=True, help="How many at most.")
def list_(face: Face, limit: int, **filters: Any) -> Output:
    """List memories, newest first."""
    found = face.ops.list(limit=limit, **filters)
    rest = found["total"] - len(found["results"])
    more = f"\n{rest} more are not shown" if rest > 0 and not any(filters.values()) else ""
    return Output((render.rows(found["results"], face.style) or "no memories") + more, found)


@command("reframe")
@click.argument("ident", metavar="ID")
@click.argument("text", nargs=-1)
@click.option("--title", help="A new title.")
@click.option("--description", help="A new one-line summary.")
@click.option(
    "--base",
    help="sha256 of the text this is based on; a note that changed since gets a proposal instead.",
)
@click.option("--reason", help="Why; kept in the history.")
def reframe_(
    face: Face,
    ident: str,
    text: tuple[str, ...],
    title: str | None,
    description: str | None,
    base: str | None,
    reason: str | None,
) -> Output:
    """Say a memory anew; the old words stay in the history. TEXT, or - for standard input."""
    body = words(face, text, lambda: str(face.ops.show(id=ident)["body"]))
    found = face.ops.reframe(
        id=ident,
        text=body,
        title=title,
        description=description,
        base=base,
        reason=reason or "",
    )
    if found["proposal"]:
        waiting = found["proposal"]["path"]
        return Output(
            f"The note changed meanwhile and stays as it is; your text waits in {line(waiting)}",
            found,
        )
    return Output(f"Reframed {found['id']}  {line(found['path'])}", found)


@command("forget")
@click.argument("ident", metavar="ID")
@click.option("--reason", help="Why; kept in the history.")
def forget_(face: Face, ident: str, reason: str | None) -> Output:
    """Take a memory out of the vault; `restore` brings it back."""
    found = face.ops.forget(id=ident, reason=reason or "")
    return Output(f"Forgot {line(found['title'])}\n`oneiro {found['back']}` brings it back.", found)


@command("restore")
@click.argument("ident", metavar="ID")
def restore_(face: Face, ident: str) -> Output:
    """Bring a forgotten memory back, byte for byte."""
    found = face.ops.restore(id=ident)
    return Output(f"Restored {found['id']}  {line(found['path'])}", found)
