"""doctor, check, reindex, adopt."""

from __future__ import annotations

import os
from pathlib import Path

import click

from oneiro_vault.cli import render
from oneiro_vault.cli.face import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output


@command("doctor")
@click.option("--fix", is_flag=True, help="Mend what is safe to mend.")
def doctor_(face: Face, fix: bool) -> Output:
    """Say what is wrong with the vault, its indexes and this machine."""
    found = face.call("doctor", fix=fix or None)
    bad = [problem for problem in found["problems"] if problem["level"] == "error" and not problem["fixed"]]
    return Output(render.problems(found["problems"], face.style) or "Everything is in order.", found, code=1 if bad else 0)


@command("check")
def check_(face: Face) -> Output:
    """Lint the notes; changes nothing. Exit code 1 when there is an error (for CI)."""
    found = face.call("check")
    bad = any(problem["level"] == "error" for problem in found["problems"])
    summary = f"{found['notes']} notes, {len(found['problems']) or 'no'} problems"
    return Output("\n".join(filter(None, [render.problems(found["problems"], face.style), summary])), found, code=1 if bad else 0)


@command("reindex")
def reindex_(face: Face) -> Output:
    """Build the indexes anew from the files."""
    found = face.call("reindex")
    later = f"; {found['pending']} chunks wait for their vectors" if found["pending"] else ""
    return Output(f"Indexed {found['notes']} notes in {found['seconds']} s{later}", found)


@command("adopt")
@click.argument("paths", nargs=-1)
def adopt_(face: Face, paths: tuple[str, ...]) -> Output:
    """Give notes without an id one, so that they are memories. Without PATHS, all of them."""
    found = face.call("adopt", paths=[_inside(face, path) for path in paths])
    text = [f"Adopted {entry['path']} as {entry['id']}" for entry in found["adopted"]]
    text += [f"Skipped {entry['path']}: {entry['reason']}" for entry in found["skipped"]]
    return Output("\n".join(text) or "Every note has an id already.", found)


def _inside(face: Face, path: str) -> str:
    """A path as the vault knows it: one that exists from where the person stands is taken from there."""
    standing = Path(face.request.cwd, path)
    root = os.path.realpath(face.root)
    if standing.exists() and os.path.realpath(standing).startswith(root + os.sep):
        return Path(os.path.realpath(standing)).relative_to(root).as_posix()
    return path
