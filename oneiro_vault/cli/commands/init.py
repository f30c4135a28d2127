"""init and completion."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from oneiro_vault import answers
from oneiro_vault.cli import terminal
from oneiro_vault.cli.commands.memories import HINT
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line
from oneiro_vault.cli.render import embedded, pace
from oneiro_vault.errors import LockTimeout, OwnerProblem, few

_SHOWN = 20
LIMIT = 600.0
"""Seconds in which an owner must have opened the new vault."""
STUCK = 60.0
"""Seconds without another vector after which they are not waited for any longer."""


@command("init")
@click.argument("path", required=False)
@click.option(
    "--here", is_flag=True, help="Make the current folder a vault; notes in it stay as they are."
)
@click.option(
    "--workflows",
    is_flag=True,
    help="With --here: add the workflows for GitHub that a new vault has.",
)
@click.option(
    "--no-wait", is_flag=True, help="Leave it to the owner process to make recall by meaning ready."
)
def init_(face: Face, path: str | None, here: bool, workflows: bool, no_wait: bool) -> Output:
    """Make a vault: a folder of Markdown in a git repository of its own."""
    face.at_home()
    if here == (path is not None):
        raise click.UsageError("Give a PATH for a new vault, or --here for the current folder.")
    place = (
        Path(face.request.cwd) if path is None else Path(face.request.cwd, Path(path).expanduser())
    )
    if face.vault and Path(face.request.cwd, face.vault).expanduser().resolve() != place.resolve():
        raise click.UsageError(
            "--vault names another folder; init makes a vault of PATH, or of the current folder "
            "with --here."
        )
    with terminal.Waiting("making the vault", True, shows=not face.json).ticks() as sign:
        from oneiro_vault.app import (
            init_vault,
        )  # half a second on a busy machine, which the sign covers

        made = init_vault(place, here, sign.count, workflows)
    face.vault = str(made["vault"])
    face.session().limit = LIMIT
    state = _index(face, made["notes"])
    if state["owner"] and not no_wait and not face.json and os.isatty(terminal.ERR):
        state |= {"embedding": _embed(face, state["embedding"])}
    told = {
        name: state[name]
        for name in ("unreadable", "partial", "broken", "language", "embedding", "waiting")
    }
    return Output(_told(made, state), {**made, "indexed": state["notes"], **told})


def _index(face: Face, notes: int) -> dict[str, Any]:
    """What the index holds; `waiting`: why that is not all yet. A vault without notes waits for
    nobody."""
    nothing: dict[str, Any] = {
        "notes": 0,
        "unreadable": [],
        "partial": [],
        "broken": [],
        "language": None,
    }
    nothing |= {"embedding": None, "waiting": None, "owner": False}
    if not notes:
        face.session().begin()
        return nothing
    try:
        face.ops.reindex(missing=True)
        return nothing | face.ops.status() | {"owner": face.session().owner() is not None}
    except (OwnerProblem, LockTimeout) as error:  # the vault is made all the same
        return nothing | {"waiting": str(error)}


def _embed(face: Face, left: answers.Embedding | None) -> answers.Embedding | None:
    """Show how vectors are made until none is missing, a person has seen enough or none comes any
    more; what is left then."""
    try:
        with terminal.Waiting(aloud=True, after=0.0) as sign:
            moved, done = time.monotonic(), -1
            while left and time.monotonic() - moved < STUCK:
                if left["done"] != done:
                    moved, done = time.monotonic(), left["done"]
                said = filter(None, (pace(left), "Ctrl-C does not stop it"))
                sign.count("embedding", done, left["total"], ", ".join(said))
                time.sleep(1.0)
                left = face.ops.status()["embedding"]
    except KeyboardInterrupt:
        return left
    return left


def _told(made: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    waiting = {entry["path"]: entry for entry in made["skipped"] if entry["waits"]}
    lost = {
        entry["path"]: entry
        for entry in [*state["unreadable"], *made["skipped"]]
        if entry["path"] not in waiting
    }
    text = [f"The vault is {made['vault']}"]
    if made["outer"]:
        text.append(
            f"It is a repository of its own; the one around it ({made['outer']}) was told to "
            f"ignore it (.git/info/exclude)."
        )
    if state["waiting"]:
        text.append(
            f"Its {made['notes']} notes are not indexed yet: {line(state['waiting'])}. `oneiro "
            f"status` shows how far it is."
        )
    elif made["notes"]:
        text.append(f"{state['notes']} notes are indexed; not a byte of them was changed.")
    if state["broken"]:
        text.append(
            f"Of {_files(len(state['broken']), 'note')} the frontmatter is broken; the words are "
            f"found (`oneiro check`)."
        )
    text += _listed(
        f"{_files(len(lost))} could not be read as notes (they stay as they are):",
        list(lost.values()),
    )
    text += _listed(
        f"{_files(len(waiting))} can be read and found, but not committed without you:",
        list(waiting.values()),
    )
    if state["partial"]:
        text.append(
            f"Of {few([line(path) for path in state['partial']])} only the beginning is searched."
        )
    if state["language"]:
        text.append(line(state["language"]))
    if state["embedding"]:
        rest = (
            "the owner process goes on with the rest"
            if state["owner"]
            else "the next recall waits for the rest"
        )
        text.append(
            f"Keywords find them now; for recall by meaning {embedded(state['embedding'])}, and "
            f"{rest} (`oneiro status`)."
        )
    text.append(f'Next: cd {made["vault"]} && oneiro remember "The first thing worth keeping."')
    return "\n".join([*text, HINT])


def _files(count: int, name: str = "file") -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


def _listed(head: str, found: Sequence[Mapping[str, str]]) -> list[str]:
    text = [f"  {line(entry['path'])}: {line(entry['reason'])}" for entry in found[:_SHOWN]]
    text += [f"  … and {len(found) - _SHOWN} more (`oneiro status`)"] if len(found) > _SHOWN else []
    return [head, *text] if found else []


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_(face: Face, shell: str) -> Output:
    """Print a script that makes SHELL complete `oneiro`: eval "$(oneiro completion bash)"."""
    from click.shell_completion import get_completion_class

    from oneiro_vault.cli.group import oneiro

    face.at_home()
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    source = found.source_template % found(oneiro, {}, "oneiro", "_ONEIRO_COMPLETE").source_vars()
    return Output(source, {"schema": 1, "shell": shell, "source": source})
