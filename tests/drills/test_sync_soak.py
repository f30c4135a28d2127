"""Three copies, people and machines at work in each, some offline, some killed while they sync: in
the end all are one, and every word anybody wrote is in the tree or in its history."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from oneiro_vault.core.frontmatter.yaml_block import edit, read
from oneiro_vault.errors import OneiroError
from oneiro_vault.vault.git.activity import SETTLE
from oneiro_vault.vault.git.merge_driver import register_driver
from oneiro_vault.vault.vault import Vault
from tests.sync.support import copies, forget, learn, reframe, sync, tree
from tests.vault.support import git, reopen

SCRIPT = """
import sys
from pathlib import Path
from tests.sync.support import sync
from tests.vault.support import reopen
print("ready", flush=True)
sync(reopen(Path(sys.argv[1])))
"""
_WORD = re.compile(r"\bword\d+\b")


class Life:
    """What happens to the copies; `words` is every word that was ever saved, `tags` what was ever
    added to a memory, `usual` how long a sync takes, in seconds."""

    def __init__(self, folder: Path, seed: int) -> None:
        print("seed", seed)
        self.random = random.Random(seed)
        self.vaults = copies(folder, 3, notes=6)
        for vault in self.vaults:
            register_driver(vault.repo, (sys.executable, "-m", "oneiro_vault"))
        self.words: set[str] = set()
        self.tags: dict[str, set[str]] = {}
        self.number = 100
        self.usual = 0.3

    def word(self) -> str:
        self.number += 1
        found = f"word{self.number}"
        self.words.add(found)
        return found

    def step(self) -> str:
        return self.one_of({**self.changes(), self.meets: 5, self.pulls: 2})

    def changes(self) -> dict[Callable[[Vault], object], int]:
        """What is done to one copy, and how often."""
        return {
            self.learns: 3, self.reframes: 5, self.tells: 6, self.tags_it: 4, self.forgets: 1,
            self.restores: 1, self.moves: 1, self.deletes: 1,
        }  # fmt: skip

    def one_of(self, kinds: dict[Callable[[Vault], object], int]) -> str:
        kind = self.random.choices(list(kinds), list(kinds.values()))[0]
        kind(self.random.choice(self.vaults))
        return getattr(kind, "__name__", "")

    def note(self, vault: Vault) -> str:
        return self.random.choice(
            sorted(
                path
                for path in vault.listing()
                if path != "README.md" and (vault.root / path).exists()
            )
        )

    def learns(self, vault: Vault) -> None:
        self.number += 1
        body = "\n\n".join(self.word() for _ in range(3))
        learn(
            vault,
            self.number,
            body,
            path=self.random.choice(
                ["", f"semantic/same-{self.random.randrange(3)}-{self.number}.md"]
            ),
        )

    def reframes(self, vault: Vault) -> None:
        vault.edits.commit(quiet=0.0)
        path = self.note(vault)
        paragraphs = read(vault.read(path).decode())[1].strip().split("\n\n")
        paragraphs[self.random.randrange(len(paragraphs))] = self.word()
        reframe(vault, path, "\n\n".join(paragraphs), day=self.random.randrange(2, 28))

    def tells(self, vault: Vault) -> None:
        """A person writes something into a note, at its end or in its middle."""
        file = vault.root / self.note(vault)
        text = file.read_text()
        body = read(text)[1]
        if "\n\n" in body and self.random.random() < 0.5:
            file.write_text(
                text.removesuffix(body) + body.replace("\n\n", f"\n\n{self.word()}\n\n", 1)
            )
        else:
            file.write_text(f"{text}\n{self.word()}\n")

    def tags_it(self, vault: Vault) -> None:
        vault.edits.commit(quiet=0.0)
        path, tag = self.note(vault), f"tag{self.number}"
        self.number += 1
        meta, body = read(vault.read(path).decode())
        found = meta.get("tags")
        if "id" not in meta:
            return
        self.tags.setdefault(str(meta["id"]), set()).add(tag)
        tags = [*(found if isinstance(found, list) else []), tag]
        if self.random.random() < 0.5:
            reframe(
                vault, path, body.removesuffix("\n"), day=self.random.randrange(2, 28), tags=tags
            )
        else:
            (vault.root / path).write_text(edit(vault.read(path).decode(), {"tags": tags}))

    def forgets(self, vault: Vault) -> None:
        vault.edits.commit(quiet=0.0)
        path = self.note(vault)
        ident = read(vault.read(path).decode())[0].get("id")
        if ident and len(vault.listing()) > 5:
            self.goes(str(ident))
            forget(vault, int(str(ident)), path)

    def goes(self, ident: str) -> None:
        """If an edit made elsewhere brings it back, then as it was there; what only this copy had
        is in history."""
        self.tags.pop(ident, None)

    def restores(self, vault: Vault) -> None:
        gone = sorted(
            {str(event["id"]) for event in vault.ledger.events() if event["e"] == "tombstone"}
        )
        if gone:
            ident = self.random.choice(gone)
            with suppress(OneiroError):  # it is there again already
                vault.restore(ident)
                metas = (read(vault.read(path).decode())[0] for path in vault.listing())
                (back,) = (meta for meta in metas if str(meta.get("id")) == ident)
                # as it was when it was forgotten; what a machine added elsewhere meanwhile is in
                # history
                self.tags[ident] = set(back.get("tags") or [])  # type: ignore[call-overload]  # as YAML has it

    def moves(self, vault: Vault) -> None:
        vault.edits.commit(quiet=0.0)
        path = self.note(vault)
        self.number += 1
        (vault.root / path).rename(vault.root / f"semantic/moved-{self.number}.md")

    def deletes(self, vault: Vault) -> None:
        vault.edits.commit(quiet=0.0)
        if len(vault.listing()) > 8:
            file = vault.root / self.note(vault)
            self.goes(str(read(file.read_text())[0].get("id")))
            file.unlink()

    def meets(self, vault: Vault) -> None:
        if self.random.random() < 0.25:
            self.killed(vault)
        else:
            sync(vault)

    def killed(self, vault: Vault) -> bool:
        """Sync in a process that is killed at some moment of it. Did it die of that?"""
        command = [sys.executable, "-c", SCRIPT, str(vault.root)]
        with subprocess.Popen(
            command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()  # its imports are done
            started = time.monotonic()
            with suppress(subprocess.TimeoutExpired):
                process.wait(self.random.uniform(0, self.usual))
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            died = process.wait() == -signal.SIGKILL
        if not died:
            self.usual = max(self.usual / 2, time.monotonic() - started)
        else:
            self.usual *= 1.1
        time.sleep(SETTLE)  # the next command takes that long to start
        self.vaults[self.vaults.index(vault)] = reopen(vault.root)
        return died

    def pulls(self, vault: Vault) -> None:
        """A person does it by hand, with the driver but without the tool; where git stops (a
        deletion met an edit) they give up."""
        vault.edits.commit(quiet=0.0)
        vault.fold()
        vault.gate.flush()
        git(vault.root, "pull", "-q", "--no-rebase", "--no-edit", check=False)
        if (vault.root / ".git/MERGE_HEAD").exists():
            git(vault.root, "merge", "--abort")

    def end(self) -> None:
        for _ in range(2):
            for vault in self.vaults:
                sync(vault)
        sync(self.vaults[0])
        assert len({tree(vault) for vault in self.vaults}) == 1, [
            str(vault.root) for vault in self.vaults
        ]
        for vault in self.vaults:
            assert git(vault.root, "status", "--porcelain", "--untracked-files=all") == ""
            assert git(vault.root, "fsck", "--strict", "--no-dangling") == ""
        self.nothing_lost(self.vaults[0])

    def nothing_lost(self, vault: Vault) -> None:
        objects = git(vault.root, "rev-list", "--objects", "HEAD").splitlines()
        names = "\n".join(line.split()[0] for line in objects if line.endswith(".md"))
        history = git(vault.root, "cat-file", "--batch", stdin=names)
        assert self.words <= set(_WORD.findall(history)), self.words - set(_WORD.findall(history))
        assert "<<<<<<<" not in history
        for path in vault.listing():
            meta, _ = read(vault.read(path).decode())
            tags = set(meta.get("tags") or [])  # type: ignore[call-overload]  # as YAML has it
            missing = self.tags.get(str(meta.get("id")), set()) - tags
            assert not missing, (path, missing)
        events = [event["n"] for event in vault.ledger.events()]
        assert len(events) == len(set(events))


def soak(folder: Path, steps: int, seed: int) -> None:
    print("seed", seed)
    life = Life(folder, seed)
    for number in range(steps):
        print(number, life.step())
    life.end()


def kills(folder: Path, count: int, seed: int) -> None:
    """That many syncs end in the middle; the next one of the same copy always completes, and every
    tenth time all are looked at."""
    print("seed", seed)
    life = Life(folder, seed)
    died = tries = 0
    while died < count:
        for _ in range(life.random.randrange(1, 6)):
            life.one_of(life.changes())
        vault = life.random.choice(life.vaults)
        if not life.killed(vault):
            tries += 1
            assert tries < 3 * count, "hardly one was still at it"
            continue
        died += 1
        sync(next(one for one in life.vaults if one.root == vault.root))
        if died % 10 == 0:
            life.end()
    life.end()


SEED = int(os.environ.get("SOAK_SEED", "0")) or random.SystemRandom().randrange(10**9)


@pytest.mark.slow
def test_thirty_steps(tmp_path: Path) -> None:
    soak(tmp_path, 30, 20261122)


@pytest.mark.slow
def test_five_kills(tmp_path: Path) -> None:
    kills(tmp_path, 5, 20261122)


@pytest.mark.drill
@pytest.mark.timeout(7200)
def test_a_thousand_steps(tmp_path: Path) -> None:
    soak(tmp_path, int(os.environ.get("SOAK_STEPS", "1000")), SEED)


@pytest.mark.drill
@pytest.mark.timeout(7200)
def test_two_hundred_kills(tmp_path: Path) -> None:
    kills(tmp_path, 200, SEED)
