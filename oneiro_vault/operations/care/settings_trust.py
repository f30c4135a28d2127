"""What a vault's `oneiro.toml` makes looser than this machine has agreed to: said wherever one
looks, and a person's change of it here."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.errors import OneiroError
from oneiro_vault.settings import guard
from oneiro_vault.settings.definitions import GUARDED, Settings, load
from oneiro_vault.vault.git.repository import Repo

_NAME = "oneiro.toml"


def told(root: Path) -> list[str]:
    """A sentence for each setting that is not taken over."""
    return [f"{one.text}. {guard.HINT}" for one in load(root, strict=False).loosened]


def offered(root: Path) -> Callable[[str], bool]:
    """Does the vault let what looks like a secret pass, by the sha256 of its text, and nobody here
    has agreed to it?"""
    theirs = {one.name: one.theirs for one in load(root, strict=False).loosened}
    allowed = frozenset(theirs.get("secrets.allowed", "").lower().split())
    return lambda sha256: theirs.get("secrets.mode") == "off" or sha256 in allowed


def own(repo: Repo, settings: Settings) -> Settings:
    """The settings, with what a person has changed in the file on this disk; what became stricter
    is kept from now on."""
    mine = _changed_here(repo, settings) if settings.loosened else []
    accepted = guard.accepted(settings.agreed, mine)
    if accepted:
        with suppress(OSError):  # a disk that is full or read-only: it is asked again next time
            guard.write(repo.root, accepted, GUARDED)
    return settings.accepting(mine)


def _changed_here(repo: Repo, settings: Settings) -> list[guard.Loosened]:
    """What differs from HEAD, in a file that no commit has brought: git knows the bytes of every
    file that it fetched."""
    file = repo.root / _NAME
    try:
        if repo.knows(blob_id(file.read_bytes())):  # mostly, and it asks no program
            return []
        there = _settled(repo)
        data = file.read_bytes()
        if there is None or any(map(repo.knows, _stored(repo, data))) or _settled(repo) != there:
            return []
        before = repo.data(there[1]).decode("utf-8", "replace") if there[1] else ""
    except (OSError, OneiroError):
        return []
    return guard.changed(settings.loosened, before, GUARDED)


def _settled(repo: Repo) -> tuple[str, str] | None:
    """The tip and the blob it has of the file; None while git writes, or has stopped half-way: then
    the bytes may be those of others.

    A merge writes the files first, then git's index, and moves HEAD last. Raises RepositoryBusy in
    the middle of something.
    """
    repo.check_ready()
    tip = repo.tip()
    entry = repo.entry(tip, _NAME)
    blob = entry.blob if entry is not None else ""
    listed = repo.commands.text("ls-files", "--stage", "--", _NAME).split()
    if (repo.git_dir / "index.lock").exists() or (listed[1:3] or ["", "0"]) != [blob, "0"]:
        return None
    return tip, blob


def _stored(repo: Repo, data: bytes) -> list[str]:
    """The blobs these bytes may have been written from: git's attributes change line ends and
    `$Id$` on the way to the disk."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        cleaned = (
            repo.commands.run("hash-object", "--stdin", f"--path={_NAME}", source=file)
            .decode()
            .strip()
        )
    plain = data.replace(b"\r\n", b"\n")
    return [cleaned, *map(blob_id, (data, plain, re.sub(rb"\$Id:[^$\n]*\$", b"$Id$", plain)))]


def accept(root: Path, settings: Settings) -> None:
    """A person agrees to all of it. Raises OSError."""
    guard.write(root, guard.accepted(settings.agreed, settings.loosened), GUARDED)
