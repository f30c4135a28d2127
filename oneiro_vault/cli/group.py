"""The command `oneiro`: global options, and commands that are imported when they are used."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

import oneiro_vault
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.output import line

GROUPS: Final[dict[str, dict[str, str]]] = {
    "Every day": {
        "init": "init", "demo": "demo", "remember": "remember",
        "correct": "remember",
        "recall": "memories", "graph": "memories", "context": "memories",
        "show": "memories", "list": "memories", "reframe": "memories",
        "forget": "memories",
        "restore": "memories", "orient": "memories", "flags": "memories",
        "ratify": "memories", "useful": "memories", "wrong": "memories",
        "capture": "programs", "ui": "serve", "status": "serve", "help": "guides",
    },
    "History": {
        "log": "history", "why": "history", "blame": "history",
        "diff": "history", "undo": "history",
        "strength": "history", "pr-summary": "maintenance",
    },
    "Moving in and out": {
        "import": "exchange", "export": "exchange",
    },
    "Wisdom": {
        "consult": "history", "learn": "history", "ponder": "history",
        "influence": "history",
    },
    "Dreams and review": {
        "dream": "dream", "runs": "dream", "review": "dream",
        "schedule": "dream",
    },
    "Machines": {
        "setup": "programs", "sync": "machines", "clone": "machines",
        "serve": "serve", "stop": "serve",
        "keys": "machines", "trust": "guides",
    },
    "Care": {
        "doctor": "maintenance", "check": "maintenance", "stats": "history",
        "settings": "guides",
        "reindex": "maintenance", "adopt": "maintenance", "purge": "maintenance",
    },
    "Programs call these": {
        "mcp": "programs", "hook": "programs",
        "merge-driver": "programs", "watch": "serve",
        "completion": "init",
    },
}  # fmt: skip
"""Commands as --help shows them: heading -> command -> module of this package that holds it."""
COMMANDS: Final = {name: module for group in GROUPS.values() for name, module in group.items()}

EPILOG: Final = """\
The vault is --vault, else $ONEIRO_VAULT, else the nearest folder upwards with an oneiro.toml, \
else what an .oneiro-capture here or above names, else the machine's default.

Exit codes: 0 done · 1 something is wrong · 2 bad input or settings · 3 no such memory · \
4 ambiguous id · 5 no vault · 6 the note changed meanwhile · 7 repository busy · \
8 too much would vanish · 9 a lock is held · 10 disk · 11 git · 12 index or model · \
13 owner process · 70 a fault of ours (see the log it names) · 130 interrupted"""


def _setter(name: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def keep(ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
        if value:
            setattr(ctx.find_object(Face), name, value)
        return value

    return keep


def global_options(hidden: bool) -> list[click.Option]:
    """Options every command takes; they end up in the Face, not in the command's parameters."""

    def make(names: list[str], attribute: str, **extra: Any) -> click.Option:
        return click.Option(
            [*names, f"_{attribute}"],
            callback=_setter(attribute),
            expose_value=False,
            hidden=hidden,
            **extra,
        )

    return [
        make(["--vault", "-C"], "vault", metavar="PATH", help="The vault to use."),
        make(
            ["--no-daemon"],
            "no_daemon",
            is_flag=True,
            help="Start no owner process; without one, open the vault here.",
        ),
        make(["--json"], "json", is_flag=True, help="Print JSON (its schema is versioned)."),
        make(["--verbose", "-v"], "verbose", is_flag=True, help="Say which vault was used."),
    ]


_WHOLE: Final = 300
"""Characters of a command's line among the others: its first sentence, which is not cut."""


_OFFERED: Final = 500
"""Memories a shell is offered, newest first."""


class Ident(click.types.StringParamType):
    """The id of a memory, which a shell can complete while an owner runs: none is started for it,
    and no vault is opened."""

    def shell_complete(
        self, ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Ids that begin like this, with their titles for shells that show them."""
        face = ctx.find_object(Face)
        with suppress(Exception):  # a shell's line is no place for an error
            if face and face.session(start=False).owner():
                face.quiet(start=False)
                rows = face.running.list(limit=_OFFERED)["results"]
                found = [(str(row["id"])[:_SHORT], line(row["title"])) for row in rows]
                return [
                    CompletionItem(ident, help=title)
                    for ident, title in found
                    if ident.startswith(incomplete)
                ]
        return []


_SHORT: Final = 8


class Command(click.Command):
    """A command that also takes the global options, and whose ids a shell completes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for param in self.params:
            if isinstance(param, click.Argument) and param.name == "ident":
                param.type = Ident()
        self.params += global_options(hidden=True)


class Group(click.Group):
    """Finds commands by name and imports only the one that runs."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """All commands, in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module that holds the command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"oneiro_vault.cli.commands.{COMMANDS[cmd_name]}")
        found: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_")
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each group under its heading."""
        for heading, group in GROUPS.items():
            found = ((name, self.get_command(ctx, name)) for name in group)
            rows = [
                (name, one.get_short_help_str(_WHOLE)) for name, one in found if one is not None
            ]
            with formatter.section(heading):
                formatter.write_dl(rows, col_max=max(map(len, COMMANDS)) + 2)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a guess at what was meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else " `oneiro --help` lists the commands."
            raise click.UsageError(error.message + hint, ctx) from error


def command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command; its function gets the Face first and returns an Output."""

    def declare(function: Callable[..., Any]) -> click.Command:
        return click.command(name, cls=Command)(click.pass_obj(function))

    return declare


@click.group(
    name="oneiro",
    cls=Group,
    params=[],
    epilog=EPILOG,
    context_settings={"max_content_width": 100},
    help="A memory for AI models: Markdown notes in a git repository.",
)
def oneiro() -> None:
    """The whole command line; options are added below."""


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    """Print the version and end; eager, so `--json` is looked for among the words themselves."""
    if value:
        version = oneiro_vault.__version__
        face = ctx.find_object(Face)
        wants_json = face is not None and "--json" in face.request.argv
        data = json.dumps({"schema": 1, "version": version})
        click.echo(data if wants_json else f"oneiro {version}")
        ctx.exit()


_VERSION = click.Option(
    ["--version"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version.",
)
oneiro.params = [*global_options(hidden=False), _VERSION, *oneiro.params]
