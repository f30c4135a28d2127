"""init and completion."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from oneiro_vault import answers
from oneiro_vault.answers import Json
from oneiro_vault.cli import terminal
from oneiro_vault.cli.commands.memories import HINT
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line
from oneiro_vault.cli.render import embedded, pace
from oneiro_vault.errors import LockTimeout, OneiroError, OwnerProblem, few
from oneiro_vault.settings.definitions import load, make_default
from oneiro_vault.settings.locations import MARK

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
        # half a second on a busy machine, which the sign covers
        from oneiro_vault.app import init_vault

        made = init_vault(place, here, sign.count, workflows)
    face.vault = str(made["vault"])
    default = _default(Path(made["vault"]), face.request.env)  # an owner ends when settings change
    face.session().limit = LIMIT
    state = _index(face, made["notes"])
    if state["owner"] and not no_wait and not face.json and os.isatty(terminal.ERR):
        state |= {"embedding": _embed(face, state["embedding"])}
    names = "unreadable partial broken language embedding waiting".split()
    told = {"indexed": state["notes"]} | {name: state[name] for name in names}
    return Output(_told(made, state) + default, {**made, **told})


def _default(vault: Path, env: Mapping[str, str]) -> str:
    """Make it the machine's default where there is none; what was done, or failed."""
    import tempfile

    how = f"`oneiro --vault {shlex.quote(str(vault))} settings --default`"
    try:
        known = env.get("ONEIRO_VAULT") or load(None, env, strict=False)["vault"]
        home, temp = Path(env.get("HOME") or "~").expanduser(), Path(tempfile.gettempdir())
        made = vault.resolve()
        passing = made.is_relative_to(temp.resolve()) and not made.is_relative_to(home.resolve())
        if known and Path(known, MARK).expanduser().is_file():
            return ""
        if passing:
            return f"\nIt is no default, for what lies there may vanish: {how} makes it that."
        file = make_default(vault, env)
    except (OneiroError, OSError, ValueError) as error:  # the vault is made all the same
        return f"\nIt is not the default yet: {line(str(error))}. {how} makes it that."
    return f"\nIt is the default where no vault is named or near ({line(str(file))})."


def _index(face: Face, notes: int) -> Json:
    """What the index holds; `waiting`: why that is not all yet. A vault without notes waits for
    nobody."""
    nothing: Json = dict.fromkeys(("language", "embedding", "waiting"))
    nothing |= {"notes": 0, "unreadable": [], "partial": [], "broken": [], "owner": False}
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
        around = f"It is a repository of its own; the one around it ({made['outer']})"
        text.append(f"{around} was told to ignore it (.git/info/exclude).")
    if state["waiting"]:
        why = f"Its {made['notes']} notes are not indexed yet: {line(state['waiting'])}"
        text.append(f"{why}. `oneiro status` shows how far it is.")
    elif made["notes"]:
        text.append(f"{state['notes']} notes are indexed; not a byte of them was changed.")
    if state["broken"]:
        of = _files(len(state["broken"]), "note")
        text.append(f"Of {of} the frontmatter is broken; the words are found (`oneiro check`).")
    text += _listed("could not be read as notes (they stay as they are):", list(lost.values()))
    asks = "can be read and found, but not committed without you:"
    text += _listed(asks, list(waiting.values()))
    if state["partial"]:
        partial = few([line(path) for path in state["partial"]])
        text.append(f"Of {partial} only the beginning is searched.")
    if state["language"]:
        text.append(line(state["language"]))
    if state["embedding"]:
        who = "the owner process goes on with" if state["owner"] else "the next recall waits for"
        far = f"for recall by meaning {embedded(state['embedding'])}"
        text.append(f"Keywords find them now; {far}, and {who} the rest (`oneiro status`).")
    text.append(f'Next: cd {made["vault"]} && oneiro remember "The first thing worth keeping."')
    return "\n".join([*text, HINT])


def _files(count: int, name: str = "file") -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


def _listed(head: str, found: Sequence[Mapping[str, str]]) -> list[str]:
    text = [f"  {line(entry['path'])}: {line(entry['reason'])}" for entry in found[:_SHOWN]]
    text += [f"  … and {len(found) - _SHOWN} more (`oneiro status`)"] if len(found) > _SHOWN else []
    return [f"{_files(len(found))} {head}", *text] if found else []


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
