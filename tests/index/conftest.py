"""A folder of notes as a Source, and notes to put into it."""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oneiro_vault.core.tree_diff import Refused, Stat
from oneiro_vault.index.embed.embedders import HashEmbedder
from oneiro_vault.index.keyword import chunk_rows
from oneiro_vault.index.store import Index
from oneiro_vault.index.vectors.service import Backlog


def waiting_texts(index: Index) -> list[str]:
    """The texts that wait for a vector, in the order in which they get theirs."""
    vectors = index._semantic
    chunk_rows.settle(vectors._writing)
    with Backlog(vectors._reading(), vectors.missing(vectors._reading())) as backlog:
        return [words for _, batch in backlog for words in batch]


class FolderSource:
    """The simplest Source there is: `*.md` below a folder, dot-folders left out; paths in `closed`
    cannot be entered."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.closed: set[str] = set()
        self.reads = 0

    def scan(self) -> Iterator[Stat | Refused]:
        todo = [""]
        while todo:
            folder = todo.pop()
            if folder.rstrip("/") in self.closed:
                yield Refused(folder.rstrip("/"), "no permission", folder=True)
                continue
            for entry in os.scandir(self.root / folder):
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    todo.append(f"{folder}{entry.name}/")
                elif (
                    entry.name.lower().endswith(".md")
                    and (found := self.stat(folder + entry.name)) is not None
                ):
                    yield found

    def stat(self, path: str) -> Stat | Refused | None:
        if any(
            path == closed or path.startswith(f"{closed}/") or not closed for closed in self.closed
        ):
            return Refused(path, "no permission")
        try:
            found = os.lstat(self.root / path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not modes.S_ISREG(found.st_mode):
            return Refused(path, "not a regular file")
        return Stat(path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)

    def read(self, path: str, limit: int) -> bytes:
        self.reads += 1
        with open(self.root / path, "rb") as file:
            return file.read()[: limit + 1]  # no buffer of a megabyte for every small file


class Notes:
    """A vault's worth of notes for a test."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = FolderSource(root)

    def put(self, path: str, body: str, **meta: object) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        head = "".join(f"{key}: {value}\n" for key, value in meta.items())
        file.write_text(f"---\n{head}---\n{body}" if meta else body, encoding="utf-8")

    def drop(self, path: str) -> None:
        (self.root / path).unlink()


@pytest.fixture
def vault(tmp_path: Path) -> Notes:
    """An empty folder for notes."""
    (tmp_path / "notes").mkdir()
    return Notes(tmp_path / "notes")


@pytest.fixture
def open_index(vault: Notes, tmp_path: Path) -> Iterator[Callable[..., Index]]:
    """Opens indexes of the vault (in memory vectors, hash embedder, unless told otherwise) and
    closes them after the test."""
    opened: list[Index] = []

    def open_(name: str = "index", **options: object) -> Index:
        options = {"vectors": "ram", "embedder": HashEmbedder(), **options}
        embedder = options.pop("embedder")
        index = Index.open(tmp_path / name, vault.source, embedder, **options)  # type: ignore[arg-type]  # keywords of one test, of many types
        opened.append(index)
        return index

    yield open_
    for index in opened:
        index.close()
