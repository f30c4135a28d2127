"""doctor, check, pr-summary, reindex, adopt; and purge, for which a person at a terminal sees the
plan and types the vault's name: there is no other way in."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from oneiro_vault import answers
from oneiro_vault.cli import render, terminal
from oneiro_vault.cli.commands.serve import prompted
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line, safe, settled
from oneiro_vault.errors import Brake, InvalidInput, NotFound, few

if TYPE_CHECKING:
    from oneiro_vault.app import App


@command("doctor")
@click.option("--fix", is_flag=True, help="Mend what is safe to mend.")
def doctor_(face: Face, fix: bool) -> Output:
    """Say what is wrong with the vault, its indexes and this machine, and whether conversations in
    this folder are captured."""
    found = face.ops.doctor(fix=fix, cwd=face.request.cwd)
    bad = any(one["level"] == "error" and not one["fixed"] for one in found["problems"])
    shown = [problem for problem in found["problems"] if not problem.get("verbose") or face.verbose]
    text = render.problems(shown, face.style) or "Everything is in order."
    notes = [
        _permission(found["capture"]) if found["capture"] else "",
        *(f"Prompts: {said}." for said in prompted(found["prompts"])),
    ]
    return Output(text, found, "" if face.json else "\n".join(notes), code=1 if bad else 0)


def _permission(found: answers.CaptureHere) -> str:
    folder, marker = line(found["folder"]), line(found["marker"] or "")
    why = f"{marker} forbids it" if marker else "no .oneiro-capture here or above"
    if found["problem"]:
        why = f"{marker} does not count, {line(found['problem'])}"
    if found["problem"] or not found["allowed"]:
        return f"Conversations in {folder} are not captured: {why}"
    facts = {"vault": found["vault"], "project": found["project"]}
    named = ", ".join(f"{name} {line(value)}" for name, value in facts.items() if value)
    return f"Conversations in {folder} are captured: {marker}{f' ({named})' if named else ''}"


@command("check")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "github"]),
    default="text",
    help="github: as annotations of a pull request.",
)
@click.option(
    "--fix",
    is_flag=True,
    help="Put values in quotes where that alone makes broken frontmatter readable; shows the diff "
    "first.",
)
@click.option("--yes", is_flag=True, help="With --fix: do not ask.")
def check_(face: Face, format_: str, fix: bool, yes: bool) -> Output:
    """Lint the notes; changes nothing without --fix. Exit code 1 when there is an error (for
    CI)."""
    if yes and not fix:
        raise click.UsageError("--yes goes with --fix.")
    if fix:
        return _mended(face, yes)
    found = face.ops.check()
    bad = any(problem["level"] == "error" for problem in found["problems"])
    if format_ == "github":
        return Output(render.workflow_commands(found["problems"]), found, code=1 if bad else 0)
    wrong = sum(problem["level"] != "info" for problem in found["problems"])
    summary = f"{found['notes']} notes, {wrong or 'no'} problem{'' if wrong == 1 else 's'}"
    text = [render.problems(found["problems"], face.style), summary]
    return Output("\n".join(filter(None, text)), found, code=1 if bad else 0)


def _mended(face: Face, yes: bool) -> Output:
    found = face.ops.mend(yes=yes)
    diffs = "\n".join(safe(one["diff"]).rstrip("\n") for one in found["mends"])
    if found["mends"] and not yes and not face.json and sys.stdin.isatty():
        terminal.emit(terminal.ERR, terminal.encode(f"{diffs}\n"))
        if click.confirm(f"Change these lines in {len(found['mends'])} notes?", err=True):
            found, diffs = face.ops.mend(yes=True), ""
    count = len(found["mends"])
    notes = "1 note" if count == 1 else f"{count} notes"
    said = f"{notes} can be mended so; nothing was changed (--yes does it)."
    said = f"Mended {notes}." if found["done"] else said
    if not count:
        said = "There is nothing that quotes alone would mend."
    left = [line(path) for path in found["left"]]
    note = f"Left to you: {few(left)} (`oneiro check` says what is wrong)." if left else ""
    return Output("\n".join(filter(None, [diffs, said])), found, note)


@command("pr-summary")
@click.argument("range_", metavar="BASE..HEAD")
def pr_summary_(face: Face, range_: str) -> Output:
    """What a branch would change in the memory, as Markdown for a pull request: believed, revised,
    merged, retired, recall."""
    found = face.ops.pr_summary(range=range_)
    return Output(found["markdown"].rstrip("\n"), found)


@command("reindex")
@click.option("--yes", is_flag=True, help="Go on even when some notes are in the old index only.")
def reindex_(face: Face, yes: bool) -> Output:
    """Build the indexes anew from the files, beside the old ones, which answer until then."""
    face.at_home()
    if not face.json:
        terminal.emit(
            terminal.ERR,
            b"Building new indexes beside the old ones, which answer meanwhile. Notes, history "
            b"and vectors stay.\n",
        )
    try:
        found = face.ops.reindex(force=yes)
    except Brake as error:
        if (
            face.json
            or not sys.stdin.isatty()
            or not click.confirm(f"{line(str(error))}. Go on without them?", err=True)
        ):
            raise
        found = face.ops.reindex(force=True)
    later = f"; {found['pending']} chunks wait for their vectors" if found["pending"] else ""
    return Output(f"Indexed {found['notes']} notes in {found['seconds']} s{later}", found)


@command("adopt")
@click.argument("paths", nargs=-1)
def adopt_(face: Face, paths: tuple[str, ...]) -> Output:
    """Give notes without an id one, so that they are memories. PATHS are notes and folders; without
    any, all of them."""
    found = face.ops.adopt(paths=[_inside(face, path) for path in paths])
    text = [f"Adopted {line(entry['path'])} as {entry['id']}" for entry in found["adopted"]]
    note = [f"Skipped {line(entry['path'])}: {line(entry['reason'])}" for entry in found["skipped"]]
    codes = {entry["code"] for entry in found["skipped"]}
    code = InvalidInput.exit_code if "unreadable" in codes else 0
    code = NotFound.exit_code if "missing" in codes else code
    text = text or ["No note got an id: every one that can be read has one already."]
    return Output("\n".join(text), found, "\n".join(note), code)


def _inside(face: Face, path: str) -> str:
    """A path as the vault knows it, taken from where the person stands if it exists there."""
    standing = Path(face.request.cwd, path)
    root = os.path.realpath(face.root)
    with suppress(OSError):  # no file can have a name so long
        if standing.exists() and (os.path.realpath(standing) + os.sep).startswith(root + os.sep):
            return Path(os.path.realpath(standing)).relative_to(root).as_posix()
    return path


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
    question = f"Type the name of the vault ({line(name)}) to go on"
    if str(click.prompt(question, default="", show_default=False, err=True)) != name:
        raise InvalidInput("that is not the name of the vault", kept=_KEPT)
    return _told(purge.run(sign.count))


@contextmanager
def _alone(face: Face, root: Path) -> Iterator[App]:
    """The vault, open here; its owner is asked to end."""
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
    gone = found["memories"]
    text = [f"These go, with all of their history ({len(gone)}):"] if gone else []
    text += [f"  {one['id']}  {line(one['title'])}" for one in gone]
    text += ["It was found in:"]
    text += [f"  {count:>7}  {kind}" for kind, count in found["found"].items()]
    also = "These notes say some of the same and stay (name them as well, or use --matching):"
    text += _listed(also, found["also"])
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
