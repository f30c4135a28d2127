"""Where a vault is, and how one comes to be: from nothing, from a folder of notes, or inside
somebody's repository."""
# pathlib is left out here: names of any shape.
# ruff: noqa: PTH100, PTH113

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from oneiro_vault.api import Progress
from oneiro_vault.core.tree_diff import Refused
from oneiro_vault.errors import InvalidInput
from oneiro_vault.vault.git import repository
from oneiro_vault.vault.git.merge_driver import register_driver
from oneiro_vault.vault.secrets.secret_scan import OFF, Secrets
from oneiro_vault.vault.vault import RESERVE, Vault
from oneiro_vault.vault.worktree.files import Files
from oneiro_vault.vault.write import disk

MARK: Final = "oneiro.toml"
"""The file that makes a folder a vault."""
_NEEDED: Final = frozenset((MARK, ".gitattributes", ".gitignore"))
_WORKFLOWS: Final = ".github/workflows/"
_KEPT: Final = "Nothing was changed."
_OURS: Final = {"gc.auto": "0", "core.autocrlf": "false", "core.fsync": "committed,reference"}
"""No gc behind our back, bytes as they are, and a person's own commits durable too."""


@dataclass(frozen=True)
class Created:
    """What init did: `added` template files, `adopted` files of the person, `skipped` ones, `outer`
    the repository that was told to ignore this one."""

    root: Path
    commit: str
    added: tuple[str, ...]
    adopted: tuple[str, ...]
    skipped: tuple[Refused, ...]
    outer: Path | None = None


def packaged(name: str) -> Path:
    """A folder of ours: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def template() -> dict[str, bytes]:
    """Template path -> bytes."""
    folder = packaged("vault_template")
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def is_vault(folder: Path) -> bool:
    """Does the folder have an oneiro.toml? (False also when it cannot be looked at.)"""
    return os.path.isfile(folder / MARK)


def create(
    path: Path,
    progress: Progress | None = None,
    *,
    secrets: Secrets = OFF,
) -> Created:
    """A new vault in a folder that is empty or not there yet. Raises InvalidInput or
    DiskProblem."""
    root = Path(os.path.abspath(path))
    if os.path.lexists(root) and not root.is_dir():
        raise InvalidInput(f"{root} is not a folder", kept=_KEPT)
    _refuse_inside_vault(root)
    with disk.guarded(f"Creating {root}"):
        if root.is_dir() and next(root.iterdir(), None) is not None:
            raise InvalidInput(
                f"{root} is not empty",
                kept=_KEPT,
                hint=f"To make this folder a vault, with what is in it: cd {root} && oneiro init "
                f"--here",
            )
        root.mkdir(parents=True, exist_ok=True)
    return create_here(root, progress, secrets=secrets)


def create_here(
    path: Path,
    progress: Progress | None = None,
    *,
    clock: Callable[[], float] = time.time,
    secrets: Secrets = OFF,
    workflows: bool = False,
) -> Created:
    """Make an existing folder a vault: add what is missing, rewrite nothing, one commit.

    A folder with files of its own gets only what a vault cannot do without, and `workflows` for
    GitHub when asked for; an empty one the whole template. Without history every readable file goes
    into that commit, with history only notes that are not tracked yet. Raises InvalidInput,
    RepositoryBusy or DiskProblem.
    """
    root = Path(os.path.realpath(path))
    if not root.is_dir():
        raise InvalidInput(
            f"{root} is not a folder", kept=_KEPT, hint="Create a new vault with: oneiro init PATH"
        )
    _refuse_inside_vault(root)
    disk.refuse_full(root, RESERVE)
    wanted = [
        name
        for name in template()
        if name in _NEEDED or not _inhabited(root) or (workflows and name.startswith(_WORKFLOWS))
    ]
    known = is_vault(root)
    outer = _make_repository(root)
    vault = Vault.open(root, clock=clock, quiet=0.0, secrets=secrets)
    try:
        fresh = not vault.head()
        vault.repo.check_ready()
        with disk.guarded(f"Creating {root}"):
            added = _copy(vault, wanted)
            register_driver(vault.repo)
        ours = [
            *added,
            *(template() if fresh and known else ()),
        ]  # a vault whose repository was taken away has them all
        adopted, skipped = vault.edits.adopt(everything=fresh, also=ours, progress=progress)
        return Created(
            root,
            vault.head(),
            tuple(added),
            tuple(sorted(set(adopted) - set(ours))),
            tuple(skipped),
            outer,
        )
    finally:
        vault.close()


def blank(path: Path) -> Path:
    """A repository without a commit, for a clone, in a folder that is empty or not there yet.
    Raises InvalidInput or DiskProblem."""
    root = Path(os.path.abspath(path))
    _refuse_inside_vault(root)
    with disk.guarded(f"Creating {root}"):
        if os.path.lexists(root) and (not root.is_dir() or next(root.iterdir(), None) is not None):
            raise InvalidInput(
                f"{root} is there already, and is not an empty folder",
                kept=_KEPT,
                hint="Choose another PATH.",
            )
        root.mkdir(parents=True, exist_ok=True)
    _make_repository(root)
    return root


def _refuse_inside_vault(root: Path) -> None:
    above = next((folder for folder in root.parents if is_vault(folder)), None)
    if above is not None:
        raise InvalidInput(
            f"{root} is inside the vault {above}",
            kept=_KEPT,
            hint="Choose a folder outside of it; its notes are memories there already.",
        )


def _make_repository(root: Path) -> Path | None:
    if os.path.lexists(root / ".git"):
        return None
    with disk.guarded(f"Creating {root}"):
        repository.init(root, _OURS)
        return _hide(root)


def _hide(root: Path) -> Path | None:
    """In its private exclude file, so that memories never become its commits."""
    outer = repository.around(root.parent)
    if outer is None:
        return None
    workdir, private = outer
    repository.exclude(private, "/" + _escaped(root.relative_to(workdir).as_posix()) + "/")
    return workdir


def _escaped(path: str) -> str:
    return "".join("\\" + c if c in "*?[]\\! #" else c for c in path)


def _inhabited(root: Path) -> bool:
    return any(entry.name != ".git" for entry in root.iterdir())


def _copy(vault: Vault, wanted: Collection[str]) -> list[str]:
    """A person's own .gitignore and .gitattributes stay: what they lack goes to `.git/info/`."""
    added = []
    for name, data in template().items():
        if name not in wanted:
            continue
        if not os.path.lexists(vault.root / name):
            Files(vault.root).write(name, data)
            added.append(name)
        elif name == ".gitignore":
            repository.exclude(vault.repo.common_dir, ".oneiro/")
        elif name == ".gitattributes":
            for line in data.decode().splitlines():
                repository.exclude(vault.repo.common_dir, line, "attributes")
    return added
