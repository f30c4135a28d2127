"""merge-driver as people see it (git runs it on a faster way, see `main`)."""

from __future__ import annotations

import click

from oneiro_vault.cli.commands.plumbing import merge_driver_program
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output


@command("merge-driver")
@click.argument("base")
@click.argument("ours")
@click.argument("theirs")
@click.argument("path")
def merge_driver_(face: Face, base: str, ours: str, theirs: str, path: str) -> Output:
    """Merge two versions of a note into the file OURS; git runs this (`init` and `doctor --fix`
    register it)."""
    face.at_home()
    return Output(
        "", {"schema": 1, "path": path}, code=merge_driver_program.main((base, ours, theirs, path))
    )
