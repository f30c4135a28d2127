"""However the files came to be what they are, the index is what a fresh one would be."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable

import pytest

from oneiro_vault.index.store import Index
from tests.index.conftest import Notes
from tests.index.contents import dump

NAMES = ["a", "b", "c", "d", "Ä", "e e", "f"]
FOLDERS = ["", "x/", "y/", "x/z/"]
WORDS = [
    "apple",
    "pear",
    "東京",
    "[[a]]",
    "[[c|see]]",
    "[t](b.md)",
    "-",
    "works_for",
    "Carol:",
    "**bold**",
    "`[[no]]`",
    "ünï",
    "#",
    "code\n\n-",
    "item",
]


class World:
    """Random things that happen to a folder of notes; returns the paths a watcher would report."""

    def __init__(self, vault: Notes, seed: int) -> None:
        self.vault = vault
        self.random = random.Random(seed)

    def path(self) -> str:
        return self.random.choice(FOLDERS) + self.random.choice(NAMES) + ".md"

    def existing(self) -> list[str]:
        return sorted(
            path.relative_to(self.vault.root).as_posix()
            for path in self.vault.root.rglob("*.md")
            if path.is_file()
        )

    def step(self) -> set[str]:
        return self.random.choice(
            [
                self.write,
                self.write,
                self.write,
                self.delete,
                self.rename,
                self.move_folder,
                self.copy,
            ]
        )()

    def write(self) -> set[str]:
        path, pick = self.path(), self.random
        body = " ".join(pick.choices(WORDS, k=pick.choice([0, 3, 8, 300])))
        meta: dict[str, object] = {}
        if pick.random() < 0.8:
            meta = {
                "type": pick.choice(["episodic", "semantic", "entity", "odd"]),
                "id": pick.choice(["", f"{pick.randrange(4):012}"]),
                "session": pick.choice(["", "s1", "s2"]),
                "created": pick.choice(["", "2024-01-01", "2024-01-02T10:00:00Z"]),
                "turn": pick.choice(["", "1", "2"]),
                "status": pick.choice(["active", "active", "pending", "superseded"]),
                "about": pick.choice(["", "[Ann Lee, '[[b]]']"]),
                "tags": pick.choice(["", "[one, Two]"]),
                "derived_from": pick.choice(["", "['000000000001']"]),
            }
        self.vault.put(path, body, **{key: value for key, value in meta.items() if value})
        return {path}

    def delete(self) -> set[str]:
        paths = self.existing()
        if not paths:
            return set()
        path = self.random.choice(paths)
        self.vault.drop(path)
        return {path}

    def rename(self) -> set[str]:
        paths = self.existing()
        if not paths:
            return set()
        old, new = self.random.choice(paths), self.path()
        (self.vault.root / new).parent.mkdir(parents=True, exist_ok=True)
        (self.vault.root / old).replace(self.vault.root / new)
        return {old, new}

    def copy(self) -> set[str]:
        paths = self.existing()
        if not paths:
            return set()
        old, new = self.random.choice(paths), self.path()
        (self.vault.root / new).parent.mkdir(parents=True, exist_ok=True)
        if old != new:
            shutil.copy2(self.vault.root / old, self.vault.root / new)
        return {new}

    def move_folder(self) -> set[str]:
        old, new = self.random.choice(["x", "y", "x/z"]), self.random.choice(["x", "y", "w", "y/v"])
        source, target = self.vault.root / old, self.vault.root / new
        if not source.is_dir() or target.exists() or new.startswith(old):
            return set()
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
        return {old + "/", new + "/"}


@pytest.mark.parametrize("seed", range(12))
def test_any_history_ends_in_the_same_index(
    vault: Notes, open_index: Callable[..., Index], seed: int
) -> None:
    world = World(vault, seed)
    index = open_index("lived")
    for _ in range(12):
        touched: set[str] = set()
        for _ in range(world.random.randrange(1, 8)):
            touched |= world.step()
        what = world.random.random()
        if what < 0.5:
            index.refresh(touched)
        elif what < 0.8:
            index.refresh()
        if world.random.random() < 0.3:
            index.embed()
    index.refresh(force=True)
    index.embed()
    fresh = open_index("fresh")
    fresh.refresh()
    fresh.embed()
    assert dump(index) == dump(fresh)
    assert index.check() == fresh.check()
    assert not [problem for problem in index.check() if problem.fixable]
    assert index.status() == fresh.status()


@pytest.mark.parametrize("seed", range(3))
def test_a_rebuild_changes_nothing(
    vault: Notes, open_index: Callable[..., Index], seed: int
) -> None:
    world = World(vault, 100 + seed)
    index = open_index()
    for _ in range(30):
        world.step()
        index.refresh()
    index.refresh(force=True)
    before = dump(index)
    index.rebuild()
    assert dump(index) == before
    done = index.refresh()
    assert (done.added, done.modified, done.removed) == ((), (), ())
