"""Making a repository, and finding the one around a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pygit2


def init(root: Path, settings: Mapping[str, str]) -> None:
    """A new repository on branch `main` in `root`, with `settings` in its own configuration. Raises
    OSError."""
    try:
        made = pygit2.init_repository(str(root), initial_head="main")
    except (pygit2.GitError, OSError) as error:
        with suppress(FileExistsError):
            (root / ".git").mkdir()  # libgit2 keeps the errno to itself: let the system say it
        raise OSError(0, str(error)) from error
    for name, value in settings.items():
        made.config[name] = value


def borrow(folder: str, config: Path) -> None:
    """A bare repository in `folder` that knows the remotes, and how to talk to them, from another's
    configuration."""
    made = pygit2.init_repository(folder, bare=True)
    made.config["include.path"] = str(config)


def around(folder: Path) -> tuple[Path, Path] | None:
    """Work tree and private folder (`info/` and so on) of the repository that `folder` is in, if
    any."""
    found = pygit2.discover_repository(str(folder))
    workdir = pygit2.Repository(found).workdir if found else None
    return (Path(os.path.realpath(workdir)), common_dir(Path(found))) if found and workdir else None


def common_dir(git_dir: Path) -> Path:
    """Where objects and branches live: another folder for linked worktrees."""
    pointer = git_dir / "commondir"
    return (git_dir / pointer.read_text().strip()).resolve() if pointer.exists() else git_dir


def exclude(private: Path, line: str, name: str = "exclude") -> None:
    """Add a line to a repository's private `info/` file unless it is there."""
    place = private / "info" / name
    old = place.read_bytes() if place.exists() else b""
    if line.encode() in old.splitlines():
        return
    place.parent.mkdir(exist_ok=True)
    with place.open("ab") as file:
        file.write((b"\n" if old and not old.endswith(b"\n") else b"") + line.encode() + b"\n")
