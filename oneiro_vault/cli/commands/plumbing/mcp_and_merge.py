"""mcp, which a client starts to reach the tools over standard input and output; and merge-driver
as people see it (git runs it on a faster way, see `main`)."""

from __future__ import annotations

import click

from oneiro_vault.cli.commands.plumbing import merge_driver_program
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output
from oneiro_vault.errors import InvalidInput


@command("mcp")
def mcp_(face: Face) -> Output:
    """Serve the vault's tools to a model's program over standard input and output."""
    face.at_home()
    if face.no_daemon:
        raise InvalidInput(
            "mcp is a way to the owner process and cannot do without it",
            hint="Leave --no-daemon out.",
        )
    root = face.root
    face.json = face.verbose = False  # standard output is for messages
    from oneiro_vault.cli.bridge import stdio

    return Output("", {}, code=stdio.run(str(root)))


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
