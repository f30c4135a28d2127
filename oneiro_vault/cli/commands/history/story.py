"""undo, log, why, strength, stats."""

from __future__ import annotations

import click

from oneiro_vault.cli import render
from oneiro_vault.cli.commands.history import sparkline
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line


@command("undo")
@click.argument("commit", required=False)
@click.option(
    "--run", metavar="ID", help="Undo everything a run of a loop did (`oneiro runs` lists them)."
)
@click.option(
    "--source",
    metavar="NAME",
    help="Undo all that came from an import, a session or an actor, and what loops made of it.",
)
def undo_(face: Face, commit: str | None, run: str | None, source: str | None) -> Output:
    """Bring back the exact bytes from before a commit, a run of a loop or all of a source, as a new
    commit."""
    if (commit, run, source).count(None) != 2:
        raise click.UsageError("Name a commit, a run with --run, or a source with --source.")
    found = face.ops.undo(commit=commit, run=run, source=source)
    what = (
        f"what came from {line(found['undone'])}"
        if source
        else f"{'run ' if run else ''}{line(found['undone'])[:10]}"
    )
    text = [f"Undid {what} in {str(found['commit'])[:10]}"]
    text += [
        f"  {line(path)}" + (" is taken out again" if path in found["removed"] else " is as it was")
        for path in found["paths"]
    ]
    text += [
        face.style(f"  {line(one['path'])} stays: it {line(one['why'])}", "yellow")
        for one in found["left"]
    ]
    return Output("\n".join(text), found)


@command("log")
@click.argument("ident", metavar="[ID]", required=False)
@click.option("-n", "--limit", type=int, default=20, show_default=True, help="How many at most.")
def log_(face: Face, ident: str | None, limit: int) -> Output:
    """What happened in the vault, or to one memory, newest first."""
    found = face.ops.log(id=ident, limit=limit)
    return Output(render.entries(found["entries"], face.style) or "no history", found)


@command("why")
@click.argument("ident", metavar="ID")
def why_(face: Face, ident: str) -> Output:
    """The story of one memory: where it came from, what changed it, how it was used."""
    found = face.ops.why(id=ident)
    return Output(render.story(found, face.style), found)


@command("strength")
@click.argument("ident", metavar="ID")
@click.option("--days", type=int, default=30, show_default=True, help="How far ahead.")
def strength_(face: Face, ident: str, days: int) -> Output:
    """How much of a memory is left: its curve so far, and as it goes on if nobody looks."""
    found = face.ops.strength(id=ident, days=days)
    return Output(sparkline.drawn(found, face.style), found)


@command("stats")
def stats_(face: Face) -> Output:
    """What the vault holds, in numbers."""
    found = face.ops.stats()
    shown = {name: value for name, value in found.items() if name not in ("schema", "settings")}
    return Output(render.facts(shown, face.style), found)
