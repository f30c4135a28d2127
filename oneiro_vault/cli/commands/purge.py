"""purge: a person at a terminal, who sees the plan and types the vault's name. There is no other
way in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from oneiro_vault.cli import terminal
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line, settled
from oneiro_vault.errors import InvalidInput

if TYPE_CHECKING:
    from oneiro_vault.app import App

_SHOWN: Final = 20
_KEPT: Final = "Nothing was changed."


@command("purge")
@click.argument("ids", metavar="ID…", nargs=-1)
@click.option(
    "--matching",
    metavar="TEXT",
    help="Take this text out of everything instead; `-` asks for it, so that no shell keeps it.",
)
@click.option("--resume", is_flag=True, help="Finish a purge that was interrupted.")
def purge_(face: Face, ids: tuple[str, ...], matching: str | None, resume: bool) -> Output:
    """Take memories, or a TEXT, out of the vault and all of its history, for good; asks first, at a
    terminal only."""
    face.person("can purge", "For programs there is `forget`: it keeps the words in the history.")
    if resume and (ids or matching):
        raise InvalidInput("--resume goes on with what was begun; give nothing else", kept=_KEPT)
    root = face.root
    wanted = str(click.prompt("Text to purge", err=True)) if matching == "-" else matching or ""
    with _alone(face, root) as app, terminal.Waiting(aloud=True) as sign:
        return _resumed(app, sign) if resume else _purged(app, root, ids, wanted, sign)


def _resumed(app: App, sign: terminal.Waiting) -> Output:
    from oneiro_vault.app import resume_purge

    return _told(resume_purge(app, sign.count))


def _purged(
    app: App, root: Path, ids: tuple[str, ...], matching: str, sign: terminal.Waiting
) -> Output:
    from oneiro_vault.app import plan_purge

    purge = plan_purge(app, ids, matching)
    terminal.emit(terminal.OUT, terminal.encode(settled("\n".join(_plan(purge.shown()))) + "\n"))
    name = root.resolve().name
    if (
        str(
            click.prompt(
                f"Type the name of the vault ({line(name)}) to go on",
                default="",
                show_default=False,
                err=True,
            )
        )
        != name
    ):
        raise InvalidInput("that is not the name of the vault", kept=_KEPT)
    return _told(purge.run(sign.count))


@contextmanager
def _alone(face: Face, root: Path) -> Iterator[App]:
    """The vault, open here, with nobody else at it: its owner is asked to end."""
    from oneiro_vault.app import App
    from oneiro_vault.daemon import spawn
    from oneiro_vault.daemon.owner_lock import OwnerLock
    from oneiro_vault.settings import locations
    from oneiro_vault.settings.definitions import load

    settings = load(root, face.request.env, strict=False)
    spawn.end(root, wait=8.0)
    lock = OwnerLock(Path(locations.state_dir(str(root))))
    lock.acquire(settings["git.wait"], "a purge")
    try:
        with App.open(root, settings) as app:
            yield app
    finally:
        lock.release()


def _plan(found: Mapping[str, Any]) -> list[str]:
    text = (
        [f"These go, with all of their history ({len(found['memories'])}):"]
        if found["memories"]
        else []
    )
    text += [f"  {one['id']}  {line(one['title'])}" for one in found["memories"]]
    text += [
        "It was found in:",
        *(f"  {count:>7}  {kind}" for kind, count in found["found"].items()),
    ]
    text += _listed(
        "These notes say some of the same and stay (name them as well, or use --matching):",
        found["also"],
    )
    text += _listed("git does not know these files; they are yours to remove:", found["untouched"])
    text += [
        "Every commit gets a new id; reflogs are cleared; nothing that is kept holds what goes. "
        "There is no way back."
    ]
    return text


def _listed(head: str, paths: list[str]) -> list[str]:
    more = [f"  … and {len(paths) - _SHOWN} more"] if len(paths) > _SHOWN else []
    return [head, *(f"  {line(path)}" for path in paths[:_SHOWN]), *more] if paths else []


def _told(receipt: Mapping[str, Any]) -> Output:
    text = [
        f"Purged: {receipt['files']} versions of files, {receipt['messages']} messages and "
        f"{receipt['names']} file names, in {receipt['commits']} commits. The history is now "
        f"{receipt['after'][:10]}.",
        f"Receipt (it holds no words): {receipt['receipt']}",
        "Still to do, by you:",
        *(f"  {todo}" for todo in receipt["todo"]),
    ]
    left = _listed("It is still here:", receipt["left"])
    return Output("\n".join([*text, *left]), receipt, code=1 if left else 0)
