"""New vaults and repositories for tests: made once by each process, then written out again for
whoever needs one, in a tenth of the time."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

import pygit2

from oneiro_vault.app import App, init_vault
from tests.conftest import sealed


@dataclass(frozen=True)
class Copy:
    """What stood in a folder: the folders below it, and (path, content, mode) of its files."""

    folders: tuple[str, ...]
    files: tuple[tuple[str, bytes, int], ...]

    @classmethod
    def of(cls, root: Path) -> Copy:
        """Of plain files and folders."""
        found = sorted(path for path in root.rglob("*"))
        return cls(
            tuple(str(path.relative_to(root)) for path in found if path.is_dir()),
            tuple(
                (str(path.relative_to(root)), path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
                for path in found
                if path.is_file()
            ),
        )

    def write(self, root: Path, moved: Mapping[bytes, bytes] = MappingProxyType({})) -> None:
        """Into a folder that is not there yet, or empty; `moved`: other words for words of its git
        configurations."""
        root.mkdir(parents=True, exist_ok=True)
        for name in self.folders:
            os.mkdir(f"{root}/{name}")
        for name, content, mode in self.files:
            if name.endswith("config"):
                for old, new in moved.items():
                    content = content.replace(old, new)
            with open(
                os.open(f"{root}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb"
            ) as file:
                file.write(content)


def new_vault(root: Path) -> Path:
    """A vault as `init_vault` makes it in a new folder."""
    _vault().write(root)
    return root


def new_repository(root: Path) -> Path:
    """A repository without a commit, of somebody with a name, in which nothing is tidied up."""
    _repository().write(root)
    return root


@cache
def _vault() -> Copy:
    with tempfile.TemporaryDirectory(prefix="oneiro-new-") as folder, _surrounded(Path(folder)):
        made = Path(folder, "vault")
        init_vault(made)
        (made / ".git" / "oneiro" / "device").unlink()  # each names itself when it is asked to
        return Copy.of(made)


@cache
def _repository() -> Copy:
    with tempfile.TemporaryDirectory(prefix="oneiro-new-") as folder:
        env = sealed(Path(folder)) | {"GIT_CONFIG_GLOBAL": "/dev/null"}
        told = {"user.name": "Ada", "user.email": "ada@example.org", "gc.auto": "0"}
        git = ["git", "-c", "init.defaultBranch=main", "-C", folder]
        subprocess.run([*git, "init", "-q", "new"], env=env, check=True)
        for name, value in told.items():
            subprocess.run([*git, "-C", "new", "config", name, value], env=env, check=True)
        return Copy.of(Path(folder, "new"))


@contextmanager
def _surrounded(folder: Path) -> Iterator[None]:
    """This process has a sealed environment in the folder, whoever asks."""
    before, wanted = dict(os.environ), sealed(folder)
    level = pygit2.enums.ConfigLevel.GLOBAL
    places = pygit2.settings.search_path[level]
    try:
        os.environ.clear()
        os.environ.update(wanted)
        pygit2.settings.search_path[level] = wanted["HOME"]
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        pygit2.settings.search_path[level] = places


def indexed(app: App) -> None:
    """Bring the index of a vault up to date, with every vector."""
    app.house.indexing.converge()
    app.house.index.open_vectors()
    app.house.index.embed()
