"""trust: a person at a terminal takes over what the vault's settings make looser than they are in
force here."""

from __future__ import annotations

from collections.abc import Sequence

import click

from oneiro_vault.cli import terminal
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line, settled
from oneiro_vault.errors import InvalidInput

_KEPT = "Nothing was changed."


@command("trust")
def trust_(face: Face) -> Output:
    """Put in force on this machine what the vault's oneiro.toml makes looser (secrets, brakes,
    review); asks first, at a terminal only."""
    face.at_home()
    from oneiro_vault.app import trust

    left = trust(face.root, face.request.env, lambda found: _asked(face, found))
    if left:
        raise InvalidInput(
            "not taken over", kept=_KEPT, hint="To be rid of it: set it back in oneiro.toml."
        )
    return Output("Every setting of this vault is in force here.", {"schema": 1, "loosened": left})


def _asked(face: Face, found: Sequence[str]) -> bool:
    terminal.emit(terminal.ERR, terminal.encode(settled("\n".join(map(line, found))) + "\n"))
    face.person(
        "can agree to that",
        "A machine's own settings can say it too: ~/.config/oneiro/config.toml or the environment.",
    )
    return click.confirm("Put this in force on this machine?", default=False, err=True)
