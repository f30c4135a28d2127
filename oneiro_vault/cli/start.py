"""init and completion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
@click.option("--workflows", is_flag=True, help="With --here: add the workflows for GitHub that a new vault has.")
def init_(face: Face, path: str | None, here: bool, workflows: bool) -> Output:
    """Make a vault: a folder of Markdown in a git repository of its own."""
    face.at_home()
    if here == (path is not None):
        raise click.UsageError("Give a PATH for a new vault, or --here for the current folder.")
    from oneiro_vault.app import init_vault

    place = Path(face.request.cwd) if path is None else Path(face.request.cwd, Path(path).expanduser())
    if face.vault and Path(face.request.cwd, face.vault).expanduser().resolve() != place.resolve():
        raise click.UsageError("--vault names another folder; init makes a vault of PATH, or of the current folder with --here.")
    with Bar(shows=not face.json) as bar:
        made = init_vault(place, here, bar, workflows)
    face.vault = str(made["vault"])
    state = _index(face, made["notes"])
    told = {name: state[name] for name in ("unreadable", "partial", "broken", "language")}
    return Output(_told(made, state), made | {"indexed": state["notes"]} | told)


def _index(face: Face, notes: int) -> dict[str, Any]:
    if notes:
        face.call("reindex")
    return face.call("status")


def _told(made: dict[str, Any], state: dict[str, Any]) -> str:
    waiting = {entry["path"]: entry for entry in made["skipped"] if entry["waits"]}
    lost = {entry["path"]: entry for entry in [*state["unreadable"], *made["skipped"]] if entry["path"] not in waiting}
    text = [f"The vault is {made['vault']}"]
    if made["outer"]:
        text.append(f"It is a repository of its own; the one around it ({made['outer']}) was told to ignore it (.git/info/exclude).")
    if made["notes"]:
        text.append(f"{state['notes']} notes are indexed; not a byte of them was changed.")
    if state["broken"]:
        text.append(f"Of {_files(len(state['broken']), 'note')} the frontmatter is broken; the words are found (`oneiro check`).")
    text += _listed(f"{_files(len(lost))} could not be read as notes (they stay as they are):", list(lost.values()))
    text += _listed(f"{_files(len(waiting))} can be read and found, but not committed without you:", list(waiting.values()))
    if state["partial"]:
        text.append(f"Of {few([line(path) for path in state['partial']])} only the beginning is searched (notes.indexed_bytes).")
    if state["language"]:
        text.append(line(state["language"]))
    return "\n".join([*text, f'Next: cd {made["vault"]} && oneiro remember "The first thing worth keeping."'])


def _files(count: int, name: str = "file") -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


def _listed(head: str, found: Sequence[Mapping[str, str]]) -> list[str]:
    """A heading and the first of what is below it; nothing for nothing."""
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
