"""Every way a person's tools save, while the owner runs: within five seconds of quiet the index is
what a fresh one would be."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.box import Box, eventually
from tests.drills.whole import differences, fresh_index, owners_index
from tests.vault.support import git

QUIET = 5.0


def notes(root: Path) -> list[Path]:
    return sorted(path for path in root.glob("semantic/**/*.md"))


def words(rng: random.Random) -> str:
    return " ".join(
        rng.choice(
            [
                "boat",
                "lantern",
                "harbour",
                "Ana",
                "[[Petrel]]",
                "# Heading\n",
                "\n- item",
                "zucchini",
            ]
        )
        for _ in range(20)
    )


def vim(path: Path, text: bytes, rng: random.Random) -> None:
    """Move the old file to a backup, write a new one, remove the backup; or (backupcopy=yes) write
    in place beside a swap file."""
    swap, backup = path.with_name(f".{path.name}.swp"), path.with_name(path.name + "~")
    swap.write_bytes(b"b0VIM 9.0")
    if rng.random() < 0.5:
        path.rename(backup)
        path.write_bytes(text)
    else:
        backup.write_bytes(path.read_bytes())
        with path.open("r+b") as file:
            file.truncate()
            file.write(text)
    backup.unlink()
    swap.unlink()


def code(path: Path, text: bytes, _rng: random.Random) -> None:
    """VS Code and friends: a temporary file renamed over the note."""
    temp = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temp.write_bytes(text)
    temp.replace(path)


def emacs(path: Path, text: bytes, _rng: random.Random) -> None:
    """A lock that is a link to nowhere, a numbered backup that stays for a while."""
    lock, backup = path.with_name(f".#{path.name}"), path.with_name(f"{path.name}.~1~")
    lock.symlink_to("pat@machine.1")
    os.link(path, backup)
    code(path, text, _rng)
    backup.unlink()
    lock.unlink()


def sed(path: Path, _text: bytes, rng: random.Random) -> None:
    subprocess.run(["sed", "-i", f"s/[aeiou]/{rng.choice('aeiou')}/3", str(path)], check=True)


def shell(path: Path, _text: bytes, rng: random.Random) -> None:
    """An append, a move and back again, an old time stamp kept."""
    with path.open("a") as file:
        file.write(f"appended {rng.random()}\n")
    moved = path.with_name("moved " + path.name)
    path.rename(moved)
    if rng.random() < 0.9:
        moved.rename(path)
    else:
        os.utime(moved, (1e9, 1e9))


SAVES: list[Callable[[Path, bytes, random.Random], None]] = [vim, code, emacs, sed, shell]


@pytest.fixture
def full(box: Box) -> Box:
    """Forty notes; a person's edits are committed after half a second."""
    box.ok("stop")
    box.env["ONEIRO_EDITS_QUIET"] = "0.5"
    lines = "".join(
        f'{{"text": "Note {n} about boats, see [[Note {n + 1}]].", "session": "s{n % 5}", "type": '
        f'"episodic"}}\n'
        for n in range(10)
    )
    lines += "".join(f'{{"text": "Fact {n} about the harbour."}}\n' for n in range(30))
    box.ok("remember", "--from-jsonl", "-", stdin=lines.encode())
    assert box.pid
    return box


def settled(box: Box, tmp_path: Path, label: str) -> None:
    """Within QUIET seconds from now the owner's index is that of a fresh build, and nothing is left
    to commit."""
    started = time.monotonic()
    expected = fresh_index(box, tmp_path / f"fresh-{label}-{time.monotonic_ns()}")
    built = time.monotonic() - started
    try:
        eventually(lambda: owners_index(box) == expected, max(QUIET - built, 0.5))
    except AssertionError:
        pytest.fail(f"{label}: {differences(owners_index(box), expected)}")
    print(f"{label}: equal after {time.monotonic() - started:.2f} s")


def resting(box: Box) -> None:
    """The person's edits are committed and their work tree is clean."""
    eventually(lambda: git(box.vault, "status", "--porcelain", "--untracked-files=all") == "", 8)


@pytest.mark.slow
def test_every_way_of_saving(full: Box, tmp_path: Path) -> None:
    seed = 20261122
    print("seed", seed)
    rng = random.Random(seed)
    commits = int(git(full.vault, "rev-list", "--count", "HEAD"))
    for save in SAVES:
        for _ in range(6):
            path = rng.choice(notes(full.vault))
            text = path.read_bytes() + words(rng).encode() + b"\n"
            save(path, text, rng)
        settled(full, tmp_path, save.__name__)
    for _ in range(40):
        rng.choice(SAVES)(
            path := rng.choice(notes(full.vault)), path.read_bytes() + words(rng).encode(), rng
        )
    # More than five in ten minutes would be asked about, and moved ones count that rest later than
    # their old place.
    for path in rng.sample(notes(full.vault), 2):
        path.unlink()
    (full.vault / "semantic/new/deep/er").mkdir(parents=True)
    (full.vault / "semantic/new/deep/er/one.md").write_text("# One\n\nIn a new folder.\n")
    (full.vault / "semantic/new/deep").rename(full.vault / "semantic/elsewhere")
    settled(full, tmp_path, "everything at once")
    resting(full)
    settled(full, tmp_path, "after the commits")
    people = git(
        full.vault,
        "log",
        "--format=%an",
        f"-{int(git(full.vault, 'rev-list', '--count', 'HEAD')) - commits}",
    ).split("\n")
    assert set(filter(None, people)) == {"Pat Person"}


@pytest.mark.slow
def test_git_at_work_beside_the_owner(full: Box, tmp_path: Path) -> None:
    """A pull from another clone, a branch and back, a merge, a reset, a stash: what a person does
    with git."""
    other = tmp_path / "other"
    resting(full)
    git(tmp_path, "clone", "-q", str(full.vault), str(other))
    for path in notes(other)[:12]:
        path.write_text(path.read_text() + "Changed on the other machine.\n")
    notes(other)[15].unlink()
    (other / "semantic/over there.md").write_text("# Over there\n\nA note of the other machine.\n")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "other machine")
    git(full.vault, "pull", "-q", "--no-rebase", str(other), "main")
    settled(full, tmp_path, "pull")
    git(full.vault, "checkout", "-q", "-b", "draft", "HEAD~1")
    settled(full, tmp_path, "checkout of an older state as a branch")
    full.remember("Said on the draft branch.")
    settled(full, tmp_path, "a memory on the branch")
    resting(full)
    git(full.vault, "checkout", "-q", "main")
    settled(full, tmp_path, "and back")
    git(full.vault, "merge", "-q", "--no-edit", "draft")
    settled(full, tmp_path, "merge")
    assert full.json("recall", "draft branch")["results"][0]["title"] == "Said on the draft branch."
    notes(full.vault)[0].write_text("A saved thought.\n")
    git(full.vault, "stash", "-q")
    settled(full, tmp_path, "stash")
    git(full.vault, "reset", "-q", "--hard", "HEAD~1")
    settled(full, tmp_path, "reset")
    assert git(full.vault, "fsck", "--strict", "--no-dangling") == ""


@pytest.mark.drill
@pytest.mark.timeout(600)
def test_a_checkout_of_five_thousand_files(full: Box, tmp_path: Path) -> None:
    resting(full)
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(full.vault), str(other))
    for number in range(5000):
        place = other / f"notes/{number // 200:02d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"note {number}.md").write_text(
            f"# Note {number}\n\nAbout item {number}, see [[note {number // 2}]].\n"
        )
    git(other, "add", "-A")
    git(other, "commit", "-qm", "five thousand")
    git(full.vault, "fetch", "-q", str(other), "main:big")
    git(full.vault, "checkout", "-q", "big")
    started = time.monotonic()
    eventually(lambda: len(owners_index(full)["notes"]) >= 5040, 30)
    print(f"all searchable {time.monotonic() - started:.2f} s after the checkout")
    expected = fresh_index(full, tmp_path / "fresh")
    eventually(lambda: owners_index(full) == expected, 60)
    print(f"all equal {time.monotonic() - started:.2f} s after the checkout")
    git(full.vault, "checkout", "-q", "main")
    started = time.monotonic()
    expected = fresh_index(full, tmp_path / "fresh again")
    eventually(lambda: owners_index(full) == expected, 180)
    print(f"back to forty: equal after {time.monotonic() - started:.2f} s")
    shutil.rmtree(other)
