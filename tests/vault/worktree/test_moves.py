"""A note that a person moved: one edit with both ends, however its events arrive; the memory is
never in a commit twice."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from oneiro_vault.vault.change import Write
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree import moves
from oneiro_vault.vault.worktree.files import digest
from tests.vault.support import REMEMBER, git, note, path_of, put, reopen, sound

QUIET = 600.0


def later(root: Path, seconds: float = 2 * QUIET) -> Vault:
    """The vault as it is opened after a while."""
    return Vault.open(root, clock=lambda: time.time() + seconds, quiet=QUIET, reserve=0)


def move(root: Path, old: str, new: str) -> None:
    """As a file manager does: the file keeps the time of its last edit, long ago; the folder is
    touched now."""
    os.utime(root / old, (time.time() - 10 * QUIET,) * 2)
    (root / new).parent.mkdir(parents=True, exist_ok=True)
    (root / old).rename(root / new)


def tree(root: Path) -> list[str]:
    return git(root, "ls-tree", "-r", "--name-only", "HEAD").split()


def touched(root: Path, commit: str = "HEAD") -> list[str]:
    return git(root, "show", "--no-renames", "--name-only", "--format=", commit).split()


def test_both_ends_wait_together_and_are_one_edit(vault: Vault, root: Path) -> None:
    put(vault, 1)
    move(root, path_of(1), "boats/one.md")
    now = reopen(root, quiet=QUIET)
    assert now.commit_edits() == []
    assert set(now.look().waiting) == {"boats/one.md", path_of(1)}
    (receipt,) = later(root).commit_edits()
    assert (list(receipt.written), receipt.removed) == (["boats/one.md"], (path_of(1),))
    entry = vault.log(1)[0]
    assert (entry.op, entry.author, entry.title, entry.memories) == (
        "edit",
        "Ada",
        "Note 1",
        (f"{1:012d}",),
    )
    assert [entry.op for entry in vault.log()] == ["edit", "remember"]
    sound(root)


def test_a_folder_that_never_rests_does_not_keep_a_move(vault: Vault, root: Path) -> None:
    put(vault, 1)
    move(root, path_of(1), "one.md")
    after = later(root)
    os.utime((root / path_of(1)).parent, (time.time() + 2 * QUIET,) * 2)
    assert after.commit_edits()[0].removed == (path_of(1),)
    assert tree(root) == ["one.md"]


def test_a_note_edited_where_it_went_takes_its_deletion_along(vault: Vault, root: Path) -> None:
    put(vault, 1)
    move(root, path_of(1), "one.md")
    (root / "one.md").write_bytes(note(1, "and edited"))
    os.utime((root / path_of(1)).parent, (time.time() - QUIET,) * 2)
    waiting = reopen(root, quiet=QUIET)
    assert waiting.commit_edits() == []  # the deletion alone has rested
    assert set(waiting.look().waiting) == {"one.md", path_of(1)}
    assert later(root).commit_edits()[0].removed == (path_of(1),)
    assert len(vault.log()) == 2


@pytest.mark.parametrize("named", ["one.md", path_of(1)])
def test_whoever_names_one_end_means_both(vault: Vault, root: Path, named: str) -> None:
    put(vault, 1)
    put(vault, 2)
    move(root, path_of(1), "one.md")
    (root / path_of(2)).unlink()
    (receipt,) = vault.commit_edits([named])
    assert (list(receipt.written), receipt.removed) == (["one.md"], (path_of(1),))


def test_a_machines_change_of_a_moved_note_commits_the_move_first(vault: Vault, root: Path) -> None:
    data = put(vault, 1)
    move(root, path_of(1), "one.md")
    reopen(root, quiet=QUIET).apply([Write("one.md", note(1, "revised"), digest(data))], REMEMBER)
    assert [entry.op for entry in vault.log(2)] == ["remember", "edit"]
    assert (touched(root), touched(root, "HEAD~1")) == (["one.md"], ["one.md", path_of(1)])
    assert (root / "one.md").read_bytes() == note(1, "revised")
    sound(root)


def test_over_another_note(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    move(root, path_of(1), path_of(2))
    assert reopen(root, quiet=QUIET).commit_edits() == []
    (receipt,) = later(root).commit_edits()
    assert (list(receipt.written), receipt.removed) == ([path_of(2)], (path_of(1),))


def test_a_note_without_an_id_is_known_by_its_bytes(vault: Vault, root: Path) -> None:
    vault.apply([Write("plain.md", b"just words\n"), Write("other.md", b"other words\n")], REMEMBER)
    move(root, "plain.md", "kept.md")
    move(root, "other.md", "changed.md")
    (root / "changed.md").write_bytes(b"another text altogether\n")
    later(root).commit_edits(["kept.md"])
    assert touched(root) == ["kept.md", "plain.md"]
    assert sorted(tree(root)) == ["kept.md", "other.md"]


def test_a_copy_is_no_move_and_a_staged_move_is_the_persons(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    (root / "copy.md").write_bytes((root / path_of(1)).read_bytes())
    git(root, "mv", path_of(2), "two.md")
    (receipt,) = vault.commit_edits()
    assert (list(receipt.written), receipt.removed) == (["copy.md"], ())
    assert set(vault.look().staged) == {"two.md", path_of(2)}


def test_when_the_brake_holds_deletions_a_move_is_still_whole(vault: Vault, root: Path) -> None:
    vault.apply([Write(path_of(i), note(i)) for i in range(15)], REMEMBER)
    for number in range(1, 13):
        (root / path_of(number)).unlink()
    move(root, path_of(0), "zero.md")
    vault.commit_edits()
    assert len(vault.look().gone) == 12
    assert touched(root) == [path_of(0), "zero.md"]


def test_marks_meet_once() -> None:
    assert moves.id_of(note(7)) == f"{7:012d}"
    assert moves.id_of(b"---\ntitle: [\nid: '7k2m9x4q8w3n'\n---\n") == "7k2m9x4q8w3n"
    assert moves.id_of(b"id: 7k2m9x4q8w3n\n") == ""


def test_of_two_equal_notes_each_finds_one_old_place(vault: Vault, root: Path) -> None:
    vault.apply([Write("a.md", b""), Write("b.md", b"")], REMEMBER)
    found = moves.pairs(
        vault.repo, vault.head(), {"x.md": b"", "y.md": b"", "z.md": b""}, ["a.md", "b.md"]
    )
    assert found == {"x.md": "a.md", "y.md": "b.md"}
