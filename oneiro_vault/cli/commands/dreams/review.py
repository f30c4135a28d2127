"""review: what loops propose, looked at and decided by a person: in a terminal or by ids."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, Style, line, safe

NOTHING: Final = "Nothing waits for review."


@command("review")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="Show what waits, and why.")
@click.option(
    "--accept",
    is_flag=True,
    help="Let the proposals named happen; a branch stands for all of its own.",
)
@click.option("--reject", is_flag=True, help="They shall not happen, and not be proposed again.")
@click.option("--reason", help="Why (with --reject); kept in the history.")
def review_(
    face: Face, ids: tuple[str, ...], listed: bool, accept: bool, reject: bool, reason: str | None
) -> Output:
    """Decide what loops propose: one by one in a terminal (accept, reject, edit, all of a kind),
    or with the options below."""
    if listed + accept + reject > 1:
        raise click.UsageError("Give one of --list, --accept, --reject.")
    if ids and not (accept or reject):
        raise click.UsageError("IDs go with --accept or --reject.")
    if reason is not None and not reject:
        raise click.UsageError("--reason goes with --reject.")
    if accept:
        return done(face.ops.review_accept(ids=_some(ids)), face.style)
    if reject:
        return done(face.ops.review_reject(ids=_some(ids), reason=reason or ""), face.style)
    found = face.ops.review()
    if listed or not found["total"]:
        return Output(
            "\n\n".join(shown(row, face.style) for row in found["proposals"]) or NOTHING, found
        )
    face.at_home()
    if face.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return Output("\n\n".join(shown(row, face.style) for row in found["proposals"]), found)
    from oneiro_vault.cli.commands.dreams.review_session import Sitting, terminal

    return Output(
        Sitting(face.ops, *terminal(face), face.style).run(found["proposals"]), face.ops.review()
    )


def _some(ids: Sequence[str]) -> Sequence[str]:
    if not ids:
        raise click.UsageError(
            "Name what it is about: ids, or a branch, as `oneiro review --list` shows them."
        )
    return ids


def shown(row: Mapping[str, Any], style: Style) -> str:
    """One proposal: what, why, and what changes, word by word."""
    judge = f"  {line(row['judge'])}" if row["judge"] else ""
    head = f"{style(row['id'][:8], 'cyan')}  {style(row['op'], 'bold')}: {line(row['title'])}"
    lines = [head + style(f"  {line(row['branch'])}  {line(row['loop'])}{judge}", "dim")]
    lines += [f"  why: {line(row['reason'])}"] if row["reason"] else []
    lines += [style(f"  no longer fits: {line(row['stale'])}", "yellow")] if row["stale"] else []
    for change in row["changes"]:
        keys = "".join(
            f"  {line(key)}: {line(value) or '(none)'}" for key, value in change["keys"].items()
        )
        lines.append(
            f"  {style('new' if change['is_new'] else 'note', 'bold')} "
            f"{line(change['title'])}{style(keys, 'dim')}"
        )
        lines += [f"    {part}" for part in safe(change["words"]).splitlines()]
    return "\n".join(lines)


def done(found: Mapping[str, Any], style: Style) -> Output:
    """What became of proposals."""
    text = [f"Accepted {row['op']}: {line(row['title'])}" for row in found.get("accepted", ())]
    text += [f"Rejected {row['op']}: {line(row['title'])}" for row in found.get("rejected", ())]
    text += [
        style(f"Not done {row['op']}: {line(row['title'])} ({line(row['why'])})", "yellow")
        for row in found.get("stale", ())
    ]
    text += [
        f"{line(name)} is settled; its commits stay under refs/oneiro/reviewed/"
        for name in found["closed"]
    ]
    text.append(f"{found['left']} still wait for review" if found["left"] else NOTHING)
    return Output(
        "\n".join(text), found, code=1 if found.get("stale") and not found.get("accepted") else 0
    )
