"""Copies of one vault and everything people, machines and plain git do to them, found by
Hypothesis: in the end all are one tree, every word anybody wrote is in it or in its history, and no
conflict marker was ever committed.

By default a few short lives, always the same; LIVES and STEPS say how many and how long they are in
the drill.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from oneiro_vault.app import App, clone_vault, init_vault
from oneiro_vault.core.frontmatter.yaml_block import edit, read
from oneiro_vault.errors import OneiroError
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import digest
from tests.sync import support
from tests.sync.support import WAIT, bare, forget, learn, reframe
from tests.vault.support import SEALED, git

COPIES: Final = 3
SETTINGS: Final = Settings(
    {
        "embed.model": "hash",
        "disk.reserve": 0,
        "edits.quiet": 0.0,
        "sync.wait": WAIT,
        "secrets.mode": "off",
    }
)
_WORD: Final = re.compile(r"\bword\d+z\b")
_which = st.integers(0, COPIES - 1)
_pick = st.integers(0, 30)
_day = st.integers(2, 27)


class Clock:
    """A second further with every look, so that nothing depends on how fast the machine is."""

    now = 1_800_000_000.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


class Lives(RuleBasedStateMachine):
    """Each rule is something one person or machine does in one copy."""

    template: Path

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=self.template.parent))
        shutil.copytree(
            self.template,
            self.folder,
            dirs_exist_ok=True,
            symlinks=True,
            ignore=lambda *_: {".oneiro"},
        )
        self.clock = Clock()
        self.apps = []
        for number in range(COPIES):
            root = self.folder / f"copy{number}"
            self.hand(root, "remote", "set-url", "origin", str(self.folder / "remote.git"))
            self.hand(root, "update-index", "-q", "--refresh")
            self.apps.append(App.open(root, SETTINGS, clock=self.clock))
        self.words: set[str] = set()
        self.number = 100

    # -- who does it
    # ----------------------------------------------------------------------------------------------

    def hand(
        self, root: Path, *arguments: str, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """What a person types; `check`: it must succeed."""
        date = f"@{int(self.clock())} +0000"
        env = (
            dict(os.environ)
            | SEALED
            | {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date, "GIT_EDITOR": "true"}
        )
        words = [
            "git",
            "-C",
            str(root),
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@example.org",
            *arguments,
        ]
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, f"git {arguments}: {done.stdout}{done.stderr}"
        return done

    def vault(self, which: int) -> Vault:
        return self.apps[which].house.vault

    def word(self) -> str:
        self.number += 1
        found = f"word{self.number}z"
        self.words.add(found)
        return found

    def some(self, vault: Vault, pick: int) -> str:
        found = sorted(path for path in vault.listing() if (vault.root / path).is_file())
        return found[pick % len(found)] if found else ""

    def kept(self, vault: Vault) -> None:
        vault.edits.commit(quiet=0.0)

    # -- memories
    # ----------------------------------------------------------------------------------------------

    @rule(
        which=_which,
        name=st.sampled_from(["", "", "semantic/same.md", "semantic/Same.md", "same.md"]),
    )
    def learns(self, which: int, name: str) -> None:
        vault, self.number = self.vault(which), self.number + 1
        self.kept(vault)
        if name and any(path.lower() == name.lower() for path in vault.listing()):
            name = ""
        learn(vault, self.number, f"{self.word()}\n\n{self.word()}\n\n- {self.word()}", path=name)

    @rule(which=_which, pick=_pick, day=_day, place=_pick, tag=st.booleans())
    def reframes(self, which: int, pick: int, day: int, place: int, tag: bool) -> None:
        vault = self.vault(which)
        self.kept(vault)
        if path := self.some(vault, pick):
            meta, body = read(vault.read(path).decode())
            pieces = body.strip().split("\n\n")
            pieces[place % len(pieces)] = self.word()
            tags = meta.get("tags")
            keys: dict[str, Any] = (
                {"tags": [*(tags if isinstance(tags, list) else []), self.word()]} if tag else {}
            )
            reframe(vault, path, "\n\n".join(pieces), day=day, **keys)

    @rule(which=_which, pick=_pick, other=_pick, day=_day)
    def supersedes(self, which: int, pick: int, other: int, day: int) -> None:
        """A night puts one memory in the place of another."""
        vault = self.vault(which)
        self.kept(vault)
        paths = [self.some(vault, pick), self.some(vault, other)]
        if not all(paths) or paths[0] == paths[1]:
            return
        texts = [vault.read(path) for path in paths]
        ids = [read(text.decode())[0].get("id") for text in texts]
        if not all(ids):
            return
        date = support.DAY % day
        keys: list[dict[str, Any]] = [
            {"timestamp": date, "supersedes": [ids[1]]},
            {
                "timestamp": date,
                "status": "superseded",
                "superseded_by": ids[0],
                "valid_until": date,
            },
        ]
        changes = [
            Write(path, edit(text.decode(), key).encode(), digest(text))
            for path, text, key in zip(paths, texts, keys, strict=True)
        ]
        vault.apply(
            changes,
            Operation("merge", "one of two", "dream", run=f"run{self.number}", loop="consolidate"),
        )

    @rule(which=_which, pick=_pick)
    def forgets(self, which: int, pick: int) -> None:
        vault = self.vault(which)
        self.kept(vault)
        path = self.some(vault, pick)
        ident = path and read(vault.read(path).decode())[0].get("id")
        if ident and len(vault.listing()) > 3:
            forget(vault, int(str(ident)), path)

    @rule(which=_which, pick=_pick)
    def restores(self, which: int, pick: int) -> None:
        vault = self.vault(which)
        self.kept(vault)
        gone = sorted(
            {str(event["id"]) for event in vault.ledger.events() if event["e"] == "tombstone"}
        )
        if gone:
            with suppress(OneiroError):  # it is there again already
                vault.restore(gone[pick % len(gone)])

    @rule(which=_which, pick=_pick)
    def uses(self, which: int, pick: int) -> None:
        if path := self.some(self.vault(which), pick):
            self.vault(which).ledger.use(
                str(read(self.vault(which).read(path).decode())[0].get("id") or "0" * 12), "use"
            )

    # -- people
    # ----------------------------------------------------------------------------------------------

    @rule(
        which=_which,
        pick=_pick,
        place=st.sampled_from(["top", "middle", "end", "replace", "title"]),
    )
    def writes(self, which: int, pick: int, place: str) -> None:
        vault = self.vault(which)
        if not (path := self.some(vault, pick)):
            return
        text = (vault.root / path).read_text()
        head, body = text.removesuffix(read(text)[1]), read(text)[1]
        pieces = body.strip().split("\n\n")
        word = self.word()
        if place == "title":
            head = edit(text, {"title": word}).removesuffix(body)
        elif place == "replace":
            pieces[-1] = word
        else:
            pieces.insert({"top": 0, "middle": len(pieces) // 2}.get(place, len(pieces)), word)
        (vault.root / path).write_text(head + "\n\n".join(pieces) + "\n")
        self.kept(vault)

    @rule(
        which=_which,
        pick=_pick,
        to=st.sampled_from(["moved.md", "Moved.md", "boats/moved.md", "same.md"]),
    )
    def moves(self, which: int, pick: int, to: str) -> None:
        vault = self.vault(which)
        path = self.some(vault, pick)
        if path and not any(known.lower() == to.lower() for known in vault.listing()):
            (vault.root / to).parent.mkdir(exist_ok=True)
            (vault.root / path).rename(vault.root / to)
            self.kept(vault)

    @rule(which=_which, pick=_pick, other=_pick)
    def swaps(self, which: int, pick: int, other: int) -> None:
        """Two notes take each other's name."""
        vault = self.vault(which)
        one, two = self.some(vault, pick), self.some(vault, other)
        if one and one != two:
            data = [(vault.root / path).read_bytes() for path in (one, two)]
            (vault.root / one).write_bytes(data[1])
            (vault.root / two).write_bytes(data[0])
            self.kept(vault)

    @rule(which=_which, pick=_pick)
    def deletes(self, which: int, pick: int) -> None:
        vault = self.vault(which)
        if len(vault.listing()) > 3:
            (vault.root / self.some(vault, pick)).unlink()
            self.kept(vault)

    @rule(which=_which, name=st.sampled_from(["a.png", "b.png", "A.png"]), size=st.integers(1, 3))
    def attaches(self, which: int, name: str, size: int) -> None:
        root = self.vault(which).root
        folder = root / "attachments"
        if any(
            path.name != name and path.name.lower() == name.lower() for path in folder.glob("*")
        ):
            return
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"\x89PNG\0" + self.word().encode() * size)
        self.hand(root, "add", "-f", "attachments")
        self.hand(root, "commit", "-q", "-m", "a picture")

    # -- meeting
    # ----------------------------------------------------------------------------------------------

    @rule(which=_which)
    def syncs(self, which: int) -> None:
        self.apps[which].call("sync", {"yes": True})

    @rule(which=_which, rebase=st.booleans())
    def pulls(self, which: int, rebase: bool) -> None:
        """A person does it by hand; where git stops (a deletion met an edit) they give up."""
        vault = self.vault(which)
        self.kept(vault)
        vault.gate.flush()
        before = self.hand(vault.root, "rev-parse", "HEAD").stdout
        done = self.hand(
            vault.root,
            "pull",
            "-q",
            "--rebase" if rebase else "--no-rebase",
            *([] if rebase else ["--no-edit"]),
            check=False,
        )
        stopped = [
            name
            for name in ("MERGE_HEAD", "rebase-merge", "rebase-apply")
            if (vault.root / ".git" / name).exists()
        ]
        if stopped:
            conflicts = self.hand(vault.root, "status", "--porcelain").stdout
            assert re.search(r"(?m)^(?:DU|UD|AU|UA|DD|AA|UU) ", conflicts), (
                f"{done.stdout}{done.stderr}{conflicts}"
            )
            self.hand(vault.root, "rebase" if "rebase" in stopped[0] else "merge", "--abort")
            assert self.hand(vault.root, "rev-parse", "HEAD").stdout == before
        else:
            assert done.returncode == 0, done.stdout + done.stderr

    @rule(which=_which)
    def pushes(self, which: int) -> None:
        self.hand(self.vault(which).root, "push", "-q", "origin", "main", check=False)

    # -- the end
    # ----------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self.ends()
        finally:
            for app in self.apps:
                app.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def answers(self, app: App) -> None:
        """A person who is asked whether so many deletions are meant says that they are."""
        if any(problem.kind == "brake" for problem in app.house.vault.health.problems()):
            self.hand(app.house.root, "add", "-A")
            self.hand(app.house.root, "commit", "-q", "-m", "these are meant")

    def ends(self) -> None:
        for app in self.apps:
            self.answers(app)
        for app in (*self.apps, *self.apps[:-1]):
            app.call("sync", {"yes": True})
        roots = [app.house.root for app in self.apps]
        trees = {self.hand(root, "rev-parse", "HEAD^{tree}").stdout for root in roots}
        assert len(trees) == 1, [self.hand(root, "ls-tree", "-r", "HEAD").stdout for root in roots]
        for app in self.apps:
            assert (
                self.hand(app.house.root, "status", "--porcelain", "--untracked-files=all").stdout
                == ""
            )
            assert self.hand(app.house.root, "fsck", "--strict", "--no-dangling").stdout == ""
            assert [problem.kind for problem in app.house.vault.health.problems()] == []
        self.nothing_is_lost(roots[0])

    def nothing_is_lost(self, root: Path) -> None:
        objects = self.hand(root, "rev-list", "--objects", "HEAD").stdout.split("\n")
        names = "\n".join(
            line[:40] for line in objects if " " in line and "." in line.rpartition("/")[2]
        )
        blobs = subprocess.run(
            ["git", "-C", str(root), "cat-file", "--batch"],
            input=names.encode(),
            capture_output=True,
            check=True,
        ).stdout
        missing = self.words - set(_WORD.findall(blobs.replace(b"z", b"z ").decode("latin-1")))
        note(f"missing: {missing}")
        assert not missing
        assert b"<<<<<<<" not in blobs
        assert b">>>>>>>" not in blobs
        marks = [event["n"] for event in self.vault(0).ledger.events()]
        assert len(marks) == len(set(marks))
        metas = [read(self.vault(0).read(path).decode())[0] for path in self.vault(0).listing()]
        ids = [str(meta["id"]) for meta in metas if "id" in meta]
        assert len(ids) == len(set(ids)), sorted(ids)


def live(folder: Path, lives: int, steps: int, *, always_the_same: bool) -> None:
    remote = bare(folder / "template/remote.git")
    init_vault(folder / "template/copy0")
    with App.open(folder / "template/copy0", SETTINGS) as first:
        git(first.house.root, "remote", "add", "origin", str(remote))
        for number in range(4):
            learn(first.house.vault, number)
        first.call("sync")
    for number in range(1, COPIES):
        clone_vault(str(remote), folder / f"template/copy{number}", SETTINGS)
    machine = type("Lives", (Lives,), {"template": folder / "template"})
    phases = [Phase.generate] if always_the_same else [Phase.generate, Phase.shrink]
    found = settings(
        max_examples=lives, stateful_step_count=steps, derandomize=always_the_same,
        database=None, phases=phases,
        suppress_health_check=list(HealthCheck), print_blob=not always_the_same,
    )  # fmt: skip
    run_state_machine_as_test(machine, settings=found)


@pytest.mark.slow
def test_a_few_short_lives(tmp_path: Path) -> None:
    live(tmp_path, 3, 12, always_the_same=True)


@pytest.mark.drill
@pytest.mark.timeout(7200)
def test_many_long_lives(tmp_path: Path) -> None:
    live(
        tmp_path,
        int(os.environ.get("LIVES", "200")),
        int(os.environ.get("STEPS", "60")),
        always_the_same=False,
    )
