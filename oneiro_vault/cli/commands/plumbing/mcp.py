"""mcp: what a client starts to reach the vault's tools over standard input and output."""

from __future__ import annotations

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
