"""Files named by their content: stored once, never mixed up, found when they are damaged, never
taken away."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oneiro_vault.core.picture import path_of
from oneiro_vault.errors import NotFound, RepositoryBusy, StaleMemory, UnsafePath
from oneiro_vault.vault.change import Receipt, Write
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.attachments import Attachments, named_in, sha256_of
from oneiro_vault.vault.worktree.files import digest
from tests.vault.support import REMEMBER, git, note, reopen, run, sound
from tests.vault.support import path_of as note_path

DATA = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
PATH = path_of(digest(DATA), "png")


def attachments(vault: Vault) -> Attachments:
    return Attachments(vault.files, vault.past)


def store(vault: Vault, number: int = 0, data: bytes = DATA) -> Receipt:
    """A note and its attachment in one operation."""
    return vault.apply(
        [Write(note_path(number), note(number)), Write(path_of(digest(data), "png"), data)],
        REMEMBER,
    )


def commits(root: Path) -> int:
    return int(git(root, "rev-list", "--count", "HEAD"))


def test_a_note_and_its_attachment_are_one_commit(vault: Vault, root: Path) -> None:
    done = store(vault)
    assert set(git(root, "show", "--format=", "--name-only", done.commit).split()) == {
        note_path(),
        PATH,
    }
    assert (root / PATH).read_bytes() == DATA
    assert attachments(vault).read(PATH) == (DATA, "")
    sound(root)


def test_a_shared_attachment_is_stored_once(vault: Vault, root: Path) -> None:
    store(vault, 0)
    done = store(vault, 1)
    assert git(root, "show", "--format=", "--name-only", done.commit).split() == [note_path(1)]
    assert attachments(vault).paths() == [PATH]
    sound(root)


def test_writers_at_once_store_it_once(vault: Vault, root: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(store, vault, number) for number in range(16)]:
            done.result(timeout=60)
    assert [
        line for line in git(root, "log", "--format=", "--name-only").split() if line == PATH
    ] == [PATH]
    sound(root)


def test_what_a_person_put_there_is_committed_as_theirs_first(vault: Vault, root: Path) -> None:
    store(vault, 5, b"another")
    place = root / PATH
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(DATA)
    done = store(vault)
    assert git(root, "show", "--format=", "--name-only", done.commit).split() == [note_path()]
    assert git(root, "log", "-1", "--format=%an", "--", PATH).strip() == "Ada"
    sound(root)


def test_what_a_person_deleted_comes_back_when_it_is_stored_again(vault: Vault, root: Path) -> None:
    store(vault, 0)
    (root / PATH).unlink()
    store(vault, 1)
    assert (root / PATH).read_bytes() == DATA
    assert [line for line in git(root, "log", "--format=%s", "--", PATH).split("\n") if line][
        1
    ].startswith("edit:")
    sound(root)


def test_a_file_that_is_not_what_its_name_says_is_never_overwritten(
    vault: Vault, root: Path
) -> None:
    store(vault, 0)
    (root / PATH).write_bytes(b"cropped by a person")
    with pytest.raises(StaleMemory):
        store(vault, 1)
    assert (root / PATH).read_bytes() == b"cropped by a person"
    assert not (root / note_path(1)).exists()


def test_a_link_in_its_place_is_not_followed(vault: Vault, root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "attachments").mkdir()
    (root / "attachments" / PATH.split("/")[1]).symlink_to(outside)
    with pytest.raises((UnsafePath, OSError)):
        store(vault)
    assert list(outside.iterdir()) == []


def test_staged_by_the_person_is_theirs(vault: Vault, root: Path) -> None:
    store(vault, 5, b"another")
    (root / PATH).parent.mkdir(parents=True, exist_ok=True)
    (root / PATH).write_bytes(DATA)
    git(root, "add", PATH)
    with pytest.raises(RepositoryBusy):
        store(vault)


def test_a_flipped_byte_is_found_and_the_right_bytes_are_served(vault: Vault, root: Path) -> None:
    store(vault)
    place = root / PATH
    flipped = bytearray(DATA)
    flipped[100] ^= 1
    place.write_bytes(flipped)
    found = attachments(vault)
    assert [path for path, _ in found.damaged(lambda *_: None)] == [PATH]
    data, notice = found.read(PATH)
    assert data == DATA
    assert "not what its name promises" in notice
    git(root, "commit", "-qam", "damage is in history too")
    assert found.read(PATH)[0] == DATA


def test_damage_without_a_good_version_is_an_error(vault: Vault, root: Path) -> None:
    store(vault)
    wrong = path_of("0" * 64, "png")
    (root / wrong).parent.mkdir(parents=True)
    (root / wrong).write_bytes(DATA)
    with pytest.raises(StaleMemory, match="not what its name promises"):
        attachments(vault).read(wrong)
    assert [path for path, _ in attachments(vault).damaged(lambda *_: None)] == [wrong]


def test_not_here_yet_and_gone_from_the_disk(vault: Vault, root: Path) -> None:
    with pytest.raises(NotFound, match="not here yet"):
        attachments(vault).read(PATH)
    assert attachments(vault).head_of(PATH) == b""
    store(vault)
    (root / PATH).unlink()
    data, notice = attachments(vault).read(PATH)
    assert (data, "gone from the disk" in notice) == (DATA, True)
    assert attachments(vault).head_of(PATH) == DATA


def test_what_cannot_be_read_is_reported(vault: Vault, root: Path) -> None:
    store(vault)
    (root / PATH).unlink()
    (root / PATH).symlink_to("/etc/hostname")
    assert [path for path, _ in attachments(vault).damaged(lambda *_: None)] == [PATH]


def test_undo_leaves_an_attachment_others_may_show(vault: Vault, root: Path) -> None:
    store(vault, 5, b"another")
    first = store(vault, 0)
    store(vault, 1)
    vault.undo(first.commit)
    assert not (root / note_path(0)).exists()
    assert (root / PATH).read_bytes() == DATA
    sound(root)


def test_undo_brings_back_a_deleted_one(vault: Vault, root: Path) -> None:
    store(vault)
    (root / PATH).unlink()
    gone = vault.edits.commit()[0].commit
    vault.undo(gone)
    assert (root / PATH).read_bytes() == DATA


DYING = """
import sys
from pathlib import Path
from tests.vault.support import reopen
from tests.vault.worktree.test_attachments import store
store(reopen(Path(sys.argv[1])))
"""


@pytest.mark.parametrize("step", ["moved", "durable", "note"])
def test_a_write_that_died_is_finished(vault: Vault, root: Path, step: str) -> None:
    """The branch has moved: the picture comes back with its note, however little of them had
    reached the disk."""
    store(vault, 5, b"another")
    assert run(DYING, root, fault=step).returncode != 0
    again = reopen(root)
    assert (root / PATH).read_bytes() == DATA
    assert (root / note_path()).read_bytes() == note()
    assert attachments(again).read(PATH) == (DATA, "")
    sound(root)


@pytest.mark.parametrize(
    ("path", "sha"),
    [
        (PATH, digest(DATA)),
        (PATH.removesuffix("png") + "svg", digest(DATA)),
        ("attachments/boat.png", ""),
        (f"attachments/00/{digest(DATA)}.png", ""),
        (f"attachments/{PATH.split('/')[1]}/{digest(DATA)[:-1]}.png", ""),
        (f"other/{PATH}", ""),
        (f"{PATH}/x", ""),
    ],
)
def test_names(path: str, sha: str) -> None:
    assert sha256_of(path) == sha


def test_a_persons_own_files_are_theirs(vault: Vault, root: Path) -> None:
    (root / "attachments").mkdir()
    (root / "attachments" / "boat.png").write_bytes(b"whatever")
    (root / "attachments" / "ab").mkdir()
    (root / "attachments" / "ab" / "notes.txt").write_bytes(b"whatever")
    assert attachments(vault).paths() == []
    assert list(attachments(vault).damaged(lambda *_: None)) == []


def test_any_mention_counts() -> None:
    sha = digest(DATA)
    assert named_in(f"![a](../attachments/ab/{sha}.png)".encode()) == {sha}
    assert named_in(f"---\nbroken: [yaml\n---\n`attachments/ab/{sha}.png`".encode()) == {sha}
    assert named_in(f"![[{sha}.png]]".encode()) == {sha}
    assert named_in(b"nothing") == set()
    assert named_in(f"attachments 0{sha}".encode()) == set()


def test_the_person_may_own_an_executable_one(vault: Vault, root: Path) -> None:
    store(vault, 0)
    os.chmod(root / PATH, 0o755)
    store(vault, 1)
    assert attachments(vault).read(PATH) == (DATA, "")
