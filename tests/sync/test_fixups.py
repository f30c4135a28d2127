"""What a plain merge leaves, which knows names and not memories: `sync` puts it right, the same way
on every machine."""

from __future__ import annotations

from pathlib import Path

from oneiro_vault.sync.engine import Sync
from oneiro_vault.sync.fixups import TITLE
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.edits import id_of
from tests.sync.support import copies, learn, meet, memory, remote_of, sync, where
from tests.vault.support import git


def pulled(vault: Vault, *how: str) -> None:
    git(vault.root, "pull", "-q", "--no-edit", *(how or ("--no-rebase",)), "origin", "main")


def by_hand(vault: Vault, path: str, data: bytes) -> None:
    """A person's file, committed by the person."""
    (vault.root / path).parent.mkdir(parents=True, exist_ok=True)
    (vault.root / path).write_bytes(data)
    git(vault.root, "add", path)
    git(vault.root, "commit", "-qm", path)


def test_names_that_differ_in_case_only_come_apart_after_a_plain_merge(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    for vault, path, note in ((one, "semantic/Same.md", 7), (two, "semantic/same.md", 8)):
        by_hand(vault, path, memory(note))
        by_hand(vault, f"attachments/{path[9]}.png", b"\x89PNG" + bytes([note]))
    git(one.root, "push", "-q", "origin", "main")
    pulled(two)
    done = sync(two)
    assert sorted(action.was for action in done.actions if action.doing == "rename") == [
        "attachments/s.png",
        "semantic/same.md",
    ]
    meet(one, two)
    names = git(one.root, "ls-files", "semantic/*ame*", "attachments").split()
    assert len(names) == len({name.lower() for name in names}) == 4
    assert {id_of((one.root / name).read_bytes()) for name in names if name.endswith(".md")} == {
        f"{7:012d}",
        f"{8:012d}",
    }


def test_one_memory_in_two_files_is_one_again_with_the_words_of_both(tmp_path: Path) -> None:
    """Somebody resolved a merge by keeping both names of a note that one side had moved."""
    one, two = copies(tmp_path)
    by_hand(one, where(1), memory(1, "the keel"))
    git(one.root, "push", "-q", "origin", "main")
    git(two.root, "rm", "-q", where(1))
    by_hand(
        two,
        "boats/moved.md",
        memory(1, "the mast\n\n" + "and much else that nobody said before\n" * 20),
    )
    git(two.root, "pull", "-q", "--no-edit", "--no-rebase", "origin", "main", check=False)
    git(two.root, "add", "-A")
    git(two.root, "commit", "-qm", "both")
    assert (two.root / where(1)).is_file()
    done = sync(two)
    assert [
        (action.doing, action.to, action.was) for action in done.actions if action.doing == "merge"
    ] == [("merge", where(1), "boats/moved.md")]
    text = (two.root / where(1)).read_text()
    assert "the keel" in text
    assert "the mast" in text
    assert not (two.root / "boats/moved.md").exists()
    meet(one, two)
    assert [entry.title for entry in two.log() if TITLE in entry.title] == [TITLE]


def test_nothing_is_looked_for_where_nobody_merged_by_hand(tmp_path: Path) -> None:
    """A copy of a note that a person made stays: `check` names it, and what was meant only they
    know."""
    one, two = copies(tmp_path)
    by_hand(one, "copy.md", memory(1))
    sync(one)
    sync(two)
    assert (one.root / "copy.md").is_file()
    assert not [entry for entry in two.log() if TITLE in entry.title]


def test_what_one_side_had_already_is_its_own(tmp_path: Path) -> None:
    """Twins and a copy of a note that one person made, and a plain merge that has nothing to do
    with them."""
    one, two = copies(tmp_path)
    for path, data in (
        ("tools/run.md", memory(7)),
        ("tools/Run.md", memory(8)),
        ("copy.md", memory(1, "my own words")),
    ):
        by_hand(one, path, data)
    for name in ("tools/run.sh", "tools/Run.sh"):
        by_hand(one, name, b"#!/bin/sh\n")
    by_hand(two, "other.md", memory(9))
    git(two.root, "push", "-q", "origin", "main")
    pulled(one)
    assert sync(one).pushed
    sync(two)
    for path in ("tools/run.md", "tools/Run.md", "copy.md", "tools/run.sh", "tools/Run.sh"):
        assert (two.root / path).is_file(), path
    assert not [entry for entry in two.log() if TITLE in entry.title]


def test_what_a_message_says_stops_no_sync(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    by_hand(two, "other.md", memory(9))
    git(
        two.root,
        "commit",
        "-q",
        "--amend",
        "-m",
        "hello\n\nOneiro-Op: sync\n continued \u2028\x1c here",
    )
    git(two.root, "push", "-q", "origin", "main")
    learn(one, 7)
    assert sync(one).pushed
    meet(one, two)


def test_a_file_that_is_just_being_changed_is_left_for_the_next_time(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    for vault, path, note in ((one, "semantic/Same.md", 7), (two, "semantic/same.md", 8)):
        by_hand(vault, path, memory(note))
    git(one.root, "push", "-q", "origin", "main")
    pulled(two)
    (two.root / "semantic/same.md").write_bytes(memory(8, "half a wo"))
    done = Sync(two, remote_of(two)).run()
    assert [action for action in done.actions if action.doing == "rename"] == []
    assert (two.root / "semantic/same.md").read_bytes() == memory(8, "half a wo")
    assert "rename" in [action.doing for action in sync(two).actions]
    meet(one, two)
