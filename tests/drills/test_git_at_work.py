"""Slow git, slow editors and programs that copy folders, while an owner runs: nothing they did on
the way is ever committed for a person."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.box import Box, eventually
from tests.vault.support import git

ROUNDS = int(os.environ.get("GIT_ROUNDS", "50"))
CHECKOUTS = int(os.environ.get("GIT_CHECKOUTS", "20"))
NOTES = int(os.environ.get("GIT_NOTES", "6000"))
SEED = int(os.environ.get("GIT_SEED", "0")) or random.SystemRandom().randrange(10**9)
QUIET = 0.6
COUNT = 240


def path(number: int) -> str:
    return f"notes/{number % 8}/n{number:04d}.md"


class Desk:
    """A vault with an owner, a person's git in it that the machine keeps stopping, and another
    clone of it."""

    def __init__(self, box: Box, seed: int) -> None:
        self.box, self.root, self.rng = box, box.vault, random.Random(seed)
        self.other = box.folder / "other"
        self.meant: set[str] = set()
        box.ok("stop")
        box.env["ONEIRO_EDITS_QUIET"] = str(QUIET)
        git(self.root, "switch", "-qC", "main")
        self.write(range(20))
        self.by_hand("a few")
        git(self.root, "branch", "old")
        self.write(range(COUNT))
        self.by_hand("all")
        git(self.root, "switch", "-q", "old")
        for number in range(10):
            (self.root / path(number)).write_text(f"# Note {number}\n\nAs it was long ago.\n")
        self.by_hand("as it was")
        git(self.root, "switch", "-q", "main")
        hub = box.folder / "hub.git"
        git(self.root, "clone", "-q", "--bare", str(self.root), str(hub))
        git(self.root, "remote", "add", "origin", str(hub))
        git(self.root, "fetch", "-q")
        git(self.root, "branch", "-q", "--set-upstream-to=origin/main")
        git(box.folder, "clone", "-q", str(hub), str(self.other))
        assert box.pid

    def write(self, numbers: range) -> None:
        for number in numbers:
            file = self.root / path(number)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"# Note {number}\n\nFact number {number} of the flood.\n")

    def by_hand(self, text: str) -> None:
        git(self.root, "add", "-A")
        git(self.root, "commit", "-qm", text)

    def slow(self, *arguments: str, kill: bool = False, fails: bool = False) -> None:
        """A git command that is stopped now and then for longer than an edit has to rest, and dies
        in the end when that is wanted."""
        process = subprocess.Popen(
            ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-C", str(self.root), *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            env=self.box.env,
        )  # fmt: skip
        for _ in range(self.rng.randint(1, 3)):
            time.sleep(self.rng.uniform(0.001, 0.012))
            if process.poll() is not None:
                break
            os.killpg(process.pid, signal.SIGSTOP)
            time.sleep(QUIET * self.rng.uniform(1.5, 3))
            os.killpg(process.pid, signal.SIGKILL if kill else signal.SIGCONT)
        out, _ = process.communicate(timeout=60)
        assert kill or (process.returncode != 0) == fails, out

    def pick(self, most: int) -> list[int]:
        return self.rng.sample(range(20, COUNT), most)

    # -- what happens
    # ---------------------------------------------------------------------------------------------

    def switches(self) -> None:
        self.slow("checkout", "-q", "old")
        time.sleep(self.rng.choice([0, 2 * QUIET]))
        self.slow("checkout", "-q", "main")

    def looks_back(self) -> None:
        """A bisect, or somebody who reads an old version: HEAD is on no branch."""
        self.slow("checkout", "-q", "--detach", "old")
        self.slow("checkout", "-q", "main")

    def stashes(self) -> None:
        for number in self.pick(12):
            (self.root / path(number)).unlink()
        for number in self.rng.sample(range(20), 6):
            (self.root / path(number)).write_text("A thought that is put away again.\n")
            self.meant.add(path(number))  # until git takes it away it is an edit like any other
        if self.rng.random() < 0.5:
            (self.root / "untracked.md").write_text("Put away as well.\n")
            self.meant.add("untracked.md")
            self.slow("stash", "-q", "-u")
        else:
            self.slow("stash", "-q")
            self.slow("stash", "pop", "-q")
            time.sleep(2 * QUIET)
            git(self.root, "stash", "-q")
        git(self.root, "stash", "drop", "-q")

    def rebases(self) -> None:
        self.slow("checkout", "-q", "-b", "topic", "old")
        (self.root / "topic.md").write_text("One more note.\n")
        self.by_hand("topic")
        self.slow("rebase", "-q", "main", "-X", "ours")
        self.slow("checkout", "-q", "main")
        git(self.root, "branch", "-qD", "topic")

    def pulls(self) -> None:
        git(self.root, "push", "-q", "origin", "main")
        git(self.other, "pull", "-q", "--ff-only")
        numbers = self.pick(30)
        for number in numbers:
            (self.other / path(number)).unlink(missing_ok=True)
        (self.other / path(3)).write_text(f"Written elsewhere, {self.rng.random()}.\n")
        git(self.other, "commit", "-qam", "elsewhere")
        git(self.other, "push", "-q")
        self.slow("pull", "-q", "--ff-only")
        git(self.other, "revert", "--no-edit", "HEAD")
        git(self.other, "push", "-q")
        self.slow("pull", "-q", "--rebase")

    def stops(self) -> None:
        """What git could not merge is left to the person for a while, who takes it back."""
        self.slow("checkout", "-q", "-b", "topic")
        (self.root / path(15)).write_text(f"On the topic, {self.rng.random()}.\n")
        self.by_hand("topic")
        self.slow("checkout", "-q", "main")
        (self.root / path(15)).write_text(f"On main, {self.rng.random()}.\n")
        self.by_hand("main")
        for command in ("merge", "cherry-pick", "rebase"):
            self.slow("-c", "merge.oneiro.driver=false", command, "topic", fails=True)
            time.sleep(2 * QUIET)
            assert self.box.json("status")["busy"]
            self.slow(command, "--abort")
        git(self.root, "branch", "-qD", "topic")

    def bisects(self) -> None:
        self.slow("bisect", "start", "main", "main~2")
        self.slow("bisect", "good")
        time.sleep(2 * QUIET)
        self.slow("bisect", "reset")

    def works_elsewhere(self) -> None:
        """Other work trees of the repository, beside the vault and in the middle of it."""
        places = [self.box.folder / "beside", self.root / "notes/inside"]
        for number, place in enumerate(places):
            self.slow("worktree", "add", "-q", "-b", f"work-{number}", str(place), "old")
            (place / path(3)).write_text("Written in another work tree.\n")
        time.sleep(2 * QUIET)
        for number, place in enumerate(places):
            self.slow("worktree", "remove", "--force", str(place))
            git(self.root, "branch", "-qD", f"work-{number}")

    def dies(self) -> None:
        """A git that is killed in the middle: what it has done so far is asked about, and the
        person takes it back."""
        self.slow("checkout", "-q", "old", kill=True)
        if git(self.root, "branch", "--show-current") == "old\n":
            return self.slow("checkout", "-q", "main")  # it was faster
        changed = git(self.root, "status", "--porcelain") != ""
        eventually(lambda: not (self.root / ".git/index.lock").exists() or not changed, 30)
        if changed:
            eventually(lambda: self.box.json("status")["gone"], 30)
        (self.root / ".git/index.lock").unlink(missing_ok=True)
        git(self.root, "restore", ".")
        return None

    def cleans(self) -> None:
        """What git lists as untracked may have rested, and be in history, by the time it removes
        it: a deletion the person meant."""
        for number in range(30):
            (self.root / f"untracked-{number}.md").write_text("Not for long.\n")
            self.meant.add(f"untracked-{number}.md")
        self.slow("clean", "-fdq")
        time.sleep(2 * QUIET)
        git(self.root, "add", "-A")
        git(
            self.root, "commit", "-qm", "they are meant to be gone", check=False
        )  # the owner may have been faster with a handful

    def replaces_all(self) -> None:
        """An editor's replace in all files: some are written anew in place, some are removed and
        made again."""
        for number in self.rng.sample(range(COUNT), 40):
            file = self.root / path(number)
            text = file.read_text() + "Replaced.\n"
            if self.rng.random() < 0.5:
                file.unlink()
            file.write_text(text)
            self.meant.add(path(number))
            time.sleep(self.rng.uniform(0, QUIET / 8))

    def copies(self) -> None:
        """A program that keeps folders alike takes files away and brings them back: many, or a few
        within a moment."""
        many = self.rng.random() < 0.5
        kept = {
            path(number): (self.root / path(number)).read_bytes()
            for number in self.pick(30 if many else 3)
        }
        for name in kept:
            (self.root / name).unlink()
        time.sleep(QUIET * (self.rng.uniform(2, 4) if many else 0.2))
        for name, data in kept.items():
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_bytes(data)

    # -- what must hold
    # -------------------------------------------------------------------------------------------

    def settled(self) -> None:
        """The owner has looked at what rests: a note written now is in history, and nothing else is
        left."""
        self.meant.add("last.md")
        (self.root / "last.md").write_text(f"{self.rng.random()}\n")
        limit = time.monotonic() + 120
        while (
            left := git(self.root, "status", "--porcelain", "--branch")
            .removeprefix("## main...origin/main")
            .partition("\n")[2]
        ):
            assert time.monotonic() < limit, left
            time.sleep(0.05)

    def unmeant(self, since: str) -> list[str]:
        """What commits for the person say beyond what they meant, on any branch."""
        names = git(
            self.root,
            "log",
            "--all",
            "--no-renames",
            "--format=",
            "--name-status",
            "--grep=^Oneiro-Op: edit$",
            f"^{since}",
        )
        found = [tuple(line.split("\t")) for line in names.splitlines() if line]
        gone = [
            name for status, name in found if status == "D" and not name.startswith("untracked-")
        ]
        return gone + [name for _, name in found if name not in self.meant]


@pytest.mark.drill
@pytest.mark.timeout(0)
def test_nothing_git_or_a_copier_does_is_committed_for_a_person(box: Box) -> None:
    print(f"GIT_SEED={SEED}")
    desk = Desk(box, SEED)
    happenings: list[Callable[[], None]] = [
        desk.switches, desk.looks_back, desk.stashes, desk.rebases, desk.pulls, desk.cleans,
        desk.replaces_all, desk.copies, desk.stops, desk.bisects, desk.works_elsewhere, desk.dies
    ]  # fmt: skip
    for number in range(ROUNDS):
        since = git(desk.root, "rev-parse", "main").strip()
        happens = happenings[number % len(happenings)]
        happens()
        print(number, happens.__name__, flush=True)
        desk.settled()
        assert desk.unmeant(since) == [], (number, happens.__name__)
        assert (
            len(git(desk.root, "ls-tree", "-r", "--name-only", "main", "notes").split()) == COUNT
        ), (number, happens.__name__)
        assert len(git(desk.root, "ls-tree", "-r", "--name-only", "old", "notes").split()) == 20
        assert len(list(Path(desk.root, "notes").rglob("*.md"))) == COUNT
        status = box.json("status")
        assert (status["gone"], status["busy"], status["uncommitted"]) == (None, None, 0)
    eventually(lambda: box.json("recall", "flood")["degraded"] is None, 120)
    assert not [
        one for one in box("--json", "doctor").stdout.decode().split("{") if '"brake"' in one
    ]


@pytest.mark.drill
@pytest.mark.timeout(0)
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes the disk slow")
def test_a_slow_disk_and_thousands_of_notes(box: Box) -> None:
    """With default settings the checkout alone takes longer than an edit has to rest. Every fourth
    time the owner gets to look at the folder before git is at it again."""
    root = box.vault
    git(root, "switch", "-qC", "main")
    git(root, "branch", "old")
    for number in range(NOTES):
        file = root / path(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Note {number}\n\nFact number {number} of the flood.\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all")
    assert box.pid
    old, main = (git(root, "rev-parse", name) for name in ("old", "main"))
    for number in range(CHECKOUTS):
        started = time.monotonic()
        subprocess.run(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=unlink,unlinkat",
             "-e", "inject=unlink,unlinkat:delay_enter=8000",
             "git", "-C", str(root), "checkout", "-q", "old"],
            check=True, env=box.env,
        )  # fmt: skip
        seconds = time.monotonic() - started
        git(root, "checkout", "-q", "main")
        if number % 4 == 3:
            (root / "last.md").write_text(f"{number}\n")
            eventually(lambda: git(root, "status", "--porcelain") == "", 180)
            assert git(root, "rev-parse", "main~1") == main
            assert git(root, "show", "--format=", "--name-only", "main") == "last.md\n"
            main = git(root, "rev-parse", "main")
        print(f"{number}: {seconds:.0f} s", flush=True)
        assert [git(root, "rev-parse", name) for name in ("old", "main")] == [old, main]
        assert box.json("status")["gone"] is None  # an owner that nobody asks for anything ends
    assert len(list((root / "notes").rglob("*.md"))) == NOTES
    eventually(lambda: box.json("status")["notes"] == NOTES + (CHECKOUTS > 3), 60)
    status = box.json("status")
    assert (status["gone"], status["busy"], status["uncommitted"]) == (None, None, 0)
    assert '"brake"' not in box("--json", "doctor").stdout.decode()
