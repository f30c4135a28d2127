"""A vault's first copy on this machine. It is untrusted: its files are written as a sync writes
them, and nothing in it is run."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from oneiro_vault.api import Progress
from oneiro_vault.core.tree_diff import Stat
from oneiro_vault.errors import GitProblem, InvalidInput, NotFound, Unreachable
from oneiro_vault.sync.engine import Sync
from oneiro_vault.vault import layout
from oneiro_vault.vault.git import network
from oneiro_vault.vault.git.merge_driver import register_driver
from oneiro_vault.vault.vault import Vault

PATIENCE: Final = 4
"""A first copy may wait so many times longer for the next byte than a sync: a server has to pack a
whole history, or a disk to wake up."""
_LIMIT: Final = 86_400.0
_NAME: Final = "origin"


@dataclass(frozen=True)
class Cloned:
    """What a clone made; `url` without passwords; not `is_vault`: it has no oneiro.toml yet."""

    root: Path
    url: str
    branch: str
    notes: int
    is_vault: bool


def clone(url: str, path: Path, wait: float, progress: Progress) -> Cloned:
    """Into a folder that is empty or not there yet; on failure nothing is left of it.

    Raises InvalidInput, NotFound for an empty repository, Unreachable, GitProblem, UnsafePath or
    DiskProblem.
    """
    if not url or url.startswith("-"):
        raise InvalidInput(
            "that is no address of a repository",
            kept="Nothing was changed.",
            hint="oneiro clone URL PATH",
        )
    there = path.exists()
    root = layout.blank(path)
    try:
        return _filled(url, root, wait * PATIENCE, progress)
    except BaseException as error:
        shutil.rmtree(root / ".git" if there else root, ignore_errors=True)
        if isinstance(error, GitProblem):  # it speaks as to a vault that is there
            error.kept = "Nothing of it was left here."
            if isinstance(error, Unreachable):
                error.hint = "Check the address, and run `oneiro clone` again when it answers."
        raise


def _filled(url: str, root: Path, wait: float, progress: Progress) -> Cloned:
    vault = Vault.open(root, quiet=0.0)
    try:
        local = os.path.expanduser(url)  # noqa: PTH111  # leaves a user it does not know as he is
        there = os.path.exists(local)  # noqa: PTH110  # of any length
        address = str(Path(local).resolve()) if there else url
        vault.repo.configure(
            {
                f"remote.{_NAME}.url": address,
                f"remote.{_NAME}.fetch": f"+refs/heads/*:refs/remotes/{_NAME}/*",
            }
        )
        remote = network.choose(vault.repo, vault.recovery, _NAME, wait, _LIMIT)
        branch = remote.default_branch()
        if not branch:
            raise NotFound(
                f"the repository at {network.clean(url)} is empty",
                kept="Nothing was changed.",
                hint="Make a vault and send it there: oneiro init PATH, git remote add origin "
                "URL, oneiro sync.",
            )
        vault.repo.commands.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        vault.repo.configure(
            {f"branch.{branch}.remote": _NAME, f"branch.{branch}.merge": f"refs/heads/{branch}"}
        )
        Sync(
            vault,
            network.choose(vault.repo, vault.recovery, _NAME, wait, _LIMIT),
            progress=progress,
        ).run()
        register_driver(vault.repo)
        return Cloned(
            root,
            remote.url,
            branch,
            sum(isinstance(found, Stat) for found in vault.files.scan()),
            layout.is_vault(root),
        )
    finally:
        vault.close()
