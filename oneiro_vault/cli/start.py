"""init and completion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from oneiro_vault.cli.face import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line
from oneiro_vault.cli.progress import Bar
from oneiro_vault.errors import few

_SHOWN = 20


@command("init")
@click.argument("path", required=False)
@click.option("--here", is_flag=True, help="Make the current folder a vault; notes in it stay as they are.")
def init_(face: Face, path: str | None, here: bool) -> Output:
    """Make a vault: a folder of Markdown in a git repository of its own."""
    face.at_home()
    if here == (path is not None):
        raise click.UsageError("Give a PATH for a new vault, or --here for the current folder.")
    from oneiro_vault.app import init_vault

    place = Path(face.request.cwd) if path is None else Path(face.request.cwd, Path(path).expanduser())
    if face.vault and Path(face.request.cwd, face.vault).expanduser().resolve() != place.resolve():
        raise click.UsageError("--vault names another folder; init makes a vault of PATH, or of the current folder with --here.")
    with Bar(shows=not face.json) as bar:
        made = init_vault(place, here, bar)
    face.vault = str(made["vault"])
    state = _index(face, made["notes"])
    told = {name: state[name] for name in ("unreadable", "partial")}
    return Output(_told(made, state), made | {"indexed": state["notes"]} | told)


def _index(face: Face, notes: int) -> dict[str, Any]:
    if notes:
        face.call("reindex")
    return face.call("status")


def _told(made: dict[str, Any], state: dict[str, Any]) -> str:
    lost = list({entry["path"]: entry for entry in [*made["skipped"], *state["unreadable"]]}.values())
    text = [f"The vault is {made['vault']}"]
    if made["outer"]:
        text.append(f"It is a repository of its own; the one around it ({made['outer']}) was told to ignore it (.git/info/exclude).")
    if made["notes"]:
        text.append(f"{state['notes']} notes are indexed; not a byte of them was changed.")
    if lost:
        text.append(f"{len(lost)} files could not be read as notes (they stay as they are):")
        text += [f"  {line(entry['path'])}: {line(entry['reason'])}" for entry in lost[:_SHOWN]]
        text += [f"  … and {len(lost) - _SHOWN} more (`oneiro status`)"] if len(lost) > _SHOWN else []
    if state["partial"]:
        text.append(f"Of {few([line(path) for path in state['partial']])} only the beginning is searched (notes.indexed_bytes).")
    return "\n".join([*text, f'Next: cd {made["vault"]} && oneiro remember "The first thing worth keeping."'])


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
