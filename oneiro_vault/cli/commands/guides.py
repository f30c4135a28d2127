"""help, settings, trust: the guides, the settings in force, and those of the vault that a person
lets loosen them here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

import click

from oneiro_vault import answers
from oneiro_vault.cli import terminal
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line, settled
from oneiro_vault.errors import InvalidInput, NotFound
from oneiro_vault.settings.definitions import in_force, load, make_default

_FOLDER = files("oneiro_vault") / "help"


def _guides(folder: Traversable = _FOLDER) -> dict[str, Traversable]:
    """Topic -> its guide, in order, from the folder and those in it."""
    found: dict[str, Traversable] = {}
    for one in folder.iterdir():
        if one.is_dir():
            found |= _guides(one)
        elif one.name.endswith(".md"):
            found[one.name.removesuffix(".md")] = one
    return dict(sorted(found.items()))


def _topics(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in _guides() if name.startswith(incomplete)]


@command("help")
@click.argument("topic", required=False, shell_complete=_topics)
@click.option("--man", is_flag=True, help="Print the manual page of all commands, as roff.")
def help_(face: Face, topic: str | None, man: bool) -> Output:
    """Show the guide to a TOPIC, or the list of topics."""
    if man:
        text = (_FOLDER / "reference" / "oneiro.1").read_text("utf-8")
        return Output(text.rstrip("\n"), {"schema": 1, "text": text})
    guides = _guides()
    if topic is None:
        titles = {
            name: one.read_text("utf-8").partition("\n")[0].lstrip("# ")
            for name, one in guides.items()
        }
        rows = [f"{face.style(name.ljust(14), 'cyan')}{title}" for name, title in titles.items()]
        text = "\n".join(
            [
                *rows,
                "",
                "`oneiro help TOPIC` shows one; `oneiro COMMAND --help` a command's options.",
            ]
        )
        return Output(text, {"schema": 1, "topics": titles})
    if topic not in guides:
        raise NotFound(
            f"there is no guide to {line(topic)}", hint=f"There are: {', '.join(guides)}."
        )
    text = guides[topic].read_text("utf-8")
    if not face.json and sys.stdin.isatty() and sys.stdout.isatty():
        face.at_home()
        _page(text)
        return Output()
    return Output(text.rstrip(), {"schema": 1, "topic": topic, "text": text})


def _page(text: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(width=min(100, Console().width))
    with console.pager(styles=True):
        console.print(Markdown(text))


@command("settings")
@click.option("--all", "every", is_flag=True, help="Also those that have their default.")
@click.option(
    "--default",
    is_flag=True,
    help="Make the vault this machine's default, for folders where none is near.",
)
def settings_(face: Face, every: bool, default: bool) -> Output:
    """Show the settings that differ from their defaults: value, default, what it is. Without a
    vault: those of this machine."""
    if default:
        face.at_home()
        root = face.root.resolve()
        file = make_default(root, face.request.env)
        told = f"{line(str(root))} is this machine's default vault from now on ({line(str(file))})."
        return Output(told, {"schema": 1, "vault": str(root), "file": str(file)})
    found = face.ops.settings() if face.named else in_force(load(None, face.request.env))
    rows = [one for one in found["settings"] if every or one["value"] != one["default"]]
    width = max((len(one["name"]) for one in rows), default=0)
    text = [_row(one, width, face) for one in rows] or [
        "Every setting has its default; `oneiro settings --all` shows them."
    ]
    return Output("\n".join(text), found)


def _row(one: answers.SettingRow, width: int, face: Face) -> str:
    changed = one["value"] != one["default"]
    value = face.style(repr(one["value"]), *(["bold"] if changed else []))
    default = face.style(f" (default {one['default']!r})", "dim") if changed else ""
    return f"{one['name'].ljust(width)}  {value}{default}  {face.style(line(one['help']), 'dim')}"


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
