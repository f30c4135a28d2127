"""doctor, check, pr-summary, reindex, adopt."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import click

from oneiro_vault import answers
from oneiro_vault.cli import render, terminal
from oneiro_vault.cli.commands.machines.serve import prompted
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line, safe
from oneiro_vault.errors import Brake, InvalidInput, NotFound, few


@command("doctor")
@click.option("--fix", is_flag=True, help="Mend what is safe to mend.")
def doctor_(face: Face, fix: bool) -> Output:
    """Say what is wrong with the vault, its indexes and this machine, and whether conversations in
    this folder are captured."""
    found = face.ops.doctor(fix=fix, cwd=face.request.cwd)
    bad = [
        problem
        for problem in found["problems"]
        if problem["level"] == "error" and not problem["fixed"]
    ]
    shown = [problem for problem in found["problems"] if not problem.get("verbose") or face.verbose]
    text = render.problems(shown, face.style) or "Everything is in order."
    notes = [
        _permission(found["capture"]) if found["capture"] else "",
        *(f"Prompts: {said}." for said in prompted(found["prompts"])),
    ]
    return Output(text, found, "" if face.json else "\n".join(notes), code=1 if bad else 0)


def _permission(found: answers.CaptureHere) -> str:
    """Whether hooks capture conversations in a folder, and the marker that says so."""
    folder, marker = line(found["folder"]), line(found["marker"] or "")
    if found["problem"]:
        return (
            f"Conversations in {folder} are not captured: {marker} does not count, "
            f"{line(found['problem'])}"
        )
    if not found["allowed"]:
        return (
            f"Conversations in {folder} are not captured: "
            f"{f'{marker} forbids it' if marker else 'no .oneiro-capture here or above'}"
        )
    facts = {"vault": found["vault"], "project": found["project"]}
    named = [f"{name} {line(value)}" for name, value in facts.items() if value]
    return f"Conversations in {folder} are captured: {marker}" + (
        f" ({', '.join(named)})" if named else ""
    )


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
    return Output(
        "\n".join(filter(None, [render.problems(found["problems"], face.style), summary])),
        found,
        code=1 if bad else 0,
    )


def _mended(face: Face, yes: bool) -> Output:
    """What could be mended, and after a yes is; nothing changes without one."""
    found = face.ops.mend(yes=yes)
    diffs = "\n".join(safe(one["diff"]).rstrip("\n") for one in found["mends"])
    if found["mends"] and not yes and not face.json and sys.stdin.isatty():
        terminal.emit(terminal.ERR, terminal.encode(f"{diffs}\n"))
        if click.confirm(f"Change these lines in {len(found['mends'])} notes?", err=True):
            found, diffs = face.ops.mend(yes=True), ""
    count = len(found["mends"])
    notes = "1 note" if count == 1 else f"{count} notes"
    said = (
        f"Mended {notes}."
        if found["done"]
        else f"{notes} can be mended so; nothing was changed (--yes does it)."
    )
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
    code = (
        NotFound.exit_code
        if "missing" in codes
        else InvalidInput.exit_code
        if "unreadable" in codes
        else 0
    )
    return Output(
        "\n".join(text) or "No note got an id: every one that can be read has one already.",
        found,
        "\n".join(note),
        code,
    )


def _inside(face: Face, path: str) -> str:
    """A path as the vault knows it: one that exists from where the person stands is taken from
    there."""
    standing = Path(face.request.cwd, path)
    root = os.path.realpath(face.root)
    with suppress(OSError):  # no file can have a name so long
        if standing.exists() and (os.path.realpath(standing) + os.sep).startswith(root + os.sep):
            return Path(os.path.realpath(standing)).relative_to(root).as_posix()
    return path
