"""undo, log, why, strength, stats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from oneiro_vault import answers
from oneiro_vault.cli import render
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, Style, line

ROWS: Final = 6
_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_NARROW: Final = 20
_MARGIN: Final = 6


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
    return Output(drawn(found, face.style), found)


@command("stats")
def stats_(face: Face) -> Output:
    """What the vault holds, in numbers."""
    found = face.ops.stats()
    shown = {name: value for name, value in found.items() if name not in ("schema", "settings")}
    return Output(render.facts(shown, face.style), found)


def drawn(found: answers.Strength, style: Style) -> str:
    """What `strength` answered, as a picture with a sentence below."""
    head = [
        style(line(found["title"]), "bold"),
        style(f"{line(found['id'])}  {line(found['type'])}", "dim"),
    ]
    if found["stability"] is None:
        return "\n".join([*head, "Memories of this type do not fade."])
    points = _thinned(
        found["points"],
        max(_NARROW, style.width - _MARGIN) if style.width else len(found["points"]),
    )
    days = f"{points[0]['when'][:10]} … {points[-1]['when'][:10]}"
    return "\n".join(
        [
            *head,
            "",
            *_picture(points, style),
            f"{'':{_MARGIN}}{style(days, 'dim')}",
            "",
            *_said(found),
        ]
    )


def _thinned(points: Sequence[answers.Point], width: int) -> list[answers.Point]:
    """At most `width` of the points, the first and the last among them."""
    if len(points) <= width:
        return list(points)
    return [points[round(at * (len(points) - 1) / (width - 1))] for at in range(width)]


def _picture(points: Sequence[answers.Point], style: Style) -> list[str]:
    past = sum(1 for point in points if not point["ahead"])
    rows = []
    for row in range(ROWS - 1, -1, -1):
        cells = [
            _EIGHTHS[max(0, min(8, round((point["strength"] * ROWS - row) * 8)))]
            for point in points
        ]
        label = f"{(row + 1) / ROWS:>4.0%}  " if row in (ROWS - 1, ROWS // 2 - 1) else " " * _MARGIN
        rows.append(
            (
                style(label, "dim")
                + style("".join(cells[:past]), "green")
                + style("".join(cells[past:]), "dim")
            ).rstrip()
        )
    return rows


def _said(found: answers.Strength) -> list[str]:
    fades = str(found["fades"] or "")[:10]
    used = render.used(found["uses"])
    left = f"{found['strength']:.0%} is left; stability {found['stability']:g} days; {used}."
    if found["faded"]:
        return [
            left,
            f"It left passive recall on {fades} (below {found['threshold']:.0%}); a search still "
            f"finds it, and looking brings it back.",
        ]
    return [
        left,
        f"If nobody looks, it leaves passive recall on {fades} (below {found['threshold']:.0%})."
        if fades
        else "It does not fade.",
    ]
