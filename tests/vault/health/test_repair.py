"""Objects that are damaged or missing: the notes they belong to are named, everything else goes on,
and what somebody still has comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.errors import GitProblem
from oneiro_vault.vault.health.problems import Problem
from oneiro_vault.vault.vault import Vault
from tests.vault.support import git, note, path_of, put, reopen, sound


def flip(place: Path, at: int) -> None:
    """One byte is another."""
    raw = bytearray(place.read_bytes())
    raw[at] ^= 0xFF
    place.chmod(0o644)
    place.write_bytes(raw)


def loose(root: Path, oid: str) -> Path:
    return root / ".git/objects" / oid[:2] / oid[2:]


def the_pack(root: Path) -> Path:
    (found,) = (root / ".git/objects/pack").glob("*.pack")
    return found


def flip_in_pack(root: Path, oid: str) -> None:
    """Damage one object of the only pack, in the middle of its bytes."""
    rows = [
        line.split() for line in git(root, "verify-pack", "-v", str(the_pack(root))).splitlines()
    ]
    size, start = next((int(row[3]), int(row[4])) for row in rows if row[0] == oid)
    flip(the_pack(root), start + size // 2)


def blob(root: Path, number: int, commit: str = "HEAD") -> str:
    return git(root, "rev-parse", f"{commit}:{path_of(number)}").strip()


def damage(vault: Vault) -> Problem:
    (found,) = vault.health.problems()
    assert (found.kind, found.fixable) == ("damage", True)
    return found


def others_go_on(vault: Vault) -> None:
    """What is not hit can be read and written."""
    assert vault.read(path_of(1)) == note(1)
    put(vault, 7)
    put(vault, 7, "and again")


def aside(root: Path) -> list[str]:
    return sorted(path.name for path in (root / ".git/oneiro/aside").glob("*.aside"))


@pytest.fixture
def filled(vault: Vault, root: Path) -> Vault:
    """Three notes; the third was said differently once. There is a remote that has it all."""
    for number in (1, 2, 3):
        put(vault, number, f"said first {number}" if number == 3 else "hello")
    put(vault, 3, "said last")
    git(root.parent, "clone", "-q", "--bare", "--no-hardlinks", str(root), "remote.git")
    git(root, "remote", "add", "origin", "../remote.git")
    return vault


@pytest.mark.parametrize("packed", [False, True])
def test_the_current_version_comes_back_from_the_disk(
    filled: Vault, root: Path, packed: bool
) -> None:
    git(root, "remote", "remove", "origin")
    oid = blob(root, 2)
    if packed:
        git(root, "repack", "-adq")
        flip_in_pack(root, oid)
    else:
        flip(loose(root, oid), 12)
    vault = reopen(root)
    others_go_on(vault)
    found = damage(vault)
    assert f"{path_of(2)} (as it is now; the copy on disk is intact)" in found.message
    assert path_of(1) not in found.message
    assert vault.health.fix(found)
    assert vault.health.problems() == []
    assert git(root, "cat-file", "blob", oid).encode() == vault.repo.data(oid) == note(2)
    assert any("pack" in name if packed else oid[2:] in name for name in aside(root)), (
        "nothing is deleted"
    )
    put(vault, 8)
    sound(root)


@pytest.mark.parametrize("how", ["flipped", "missing", "emptied", "other bytes", "packed"])
def test_an_earlier_version_comes_back_from_the_remote(filled: Vault, root: Path, how: str) -> None:
    oid = blob(root, 3, "HEAD~1")
    if how == "packed":
        git(root, "repack", "-adq")
        flip_in_pack(root, oid)
    elif how == "missing":
        loose(root, oid).unlink()
    elif how == "flipped":
        flip(loose(root, oid), 12)
    else:
        loose(root, oid).chmod(0o644)
        loose(root, oid).write_bytes(
            b"" if how == "emptied" else loose(root, blob(root, 1)).read_bytes()
        )
    vault = reopen(root)
    others_go_on(vault)
    found = damage(vault)
    assert (
        f"{path_of(3)} (an earlier version)" in found.message
    )  # in a pack the newer one may be told by the older
    assert path_of(2) not in found.message
    assert vault.health.fix(found)
    assert vault.health.problems() == []
    assert vault.repo.data(oid) == note(3, "said first 3")
    sound(root)


def test_folders_and_commits_come_back_too(filled: Vault, root: Path) -> None:
    folder, commit = git(root, "rev-parse", "HEAD:semantic/2026", "HEAD~2").split()
    loose(root, folder).unlink()
    flip(loose(root, commit), 12)
    vault = reopen(root)
    (found,) = [one for one in filled.health.problems() if one.kind == "damage"]
    assert "the folder semantic/2026 (as it is now)" in found.message
    assert f"commit {commit[:10]}" in found.message
    assert vault.health.fix(found)
    assert vault.health.problems() == []
    assert vault.listing().keys() == {path_of(number) for number in (1, 2, 3)}
    put(vault, 7)
    sound(root)


def test_a_damaged_index_of_a_pack_is_made_anew(filled: Vault, root: Path) -> None:
    git(root, "remote", "remove", "origin")
    git(root, "repack", "-adq")
    index = the_pack(root).with_suffix(".idx")
    flip(
        index, index.read_bytes().find(bytes.fromhex(blob(root, 3, "HEAD~1"))) + 10
    )  # in the list of ids
    vault = reopen(root)
    assert [one.kind for one in vault.health.problems()] == ["damage"]
    assert vault.health.fix(vault.health.problems()[0])
    assert vault.health.problems() == []
    assert vault.repo.data(blob(root, 3, "HEAD~1")) == note(3, "said first 3")
    assert any(name.endswith(".idx.aside") for name in aside(root))
    sound(root)


def test_what_nobody_has_is_named(filled: Vault, root: Path) -> None:
    git(root, "remote", "set-url", "origin", "../nowhere.git")
    old, now = blob(root, 3, "HEAD~1"), blob(root, 2)
    for oid in (old, now):
        loose(root, oid).unlink()
    (root / path_of(2)).write_bytes(note(2, "by hand"))
    vault = reopen(root)
    found = next(one for one in vault.health.problems() if one.kind == "damage")
    assert f"{path_of(2)} (as it is now; the copy on disk is not the same)" in found.message
    with pytest.raises(GitProblem, match="nowhere") as failed:
        vault.health.fix(found)
    assert path_of(3) in str(failed.value)
    (root / path_of(2)).write_bytes(note(2))
    with pytest.raises(GitProblem) as failed:
        vault.health.fix(found)
    assert path_of(2) not in str(failed.value), "as much as can be is mended"
    git(root, "remote", "add", "backup", str(root.parent / "remote.git"))
    assert vault.health.fix(found)
    assert vault.health.problems() == []
    sound(root)


def test_only_what_is_missing_is_taken_from_a_remote(
    filled: Vault, root: Path, tmp_path: Path
) -> None:
    """It may hold what was purged here."""
    git(tmp_path, "clone", "-q", "remote.git", "other")
    (tmp_path / "other/purged.md").write_text("purged here, not there")
    git(tmp_path / "other", "add", "purged.md")
    git(tmp_path / "other", "commit", "-qm", "purged")
    git(tmp_path / "other", "push", "-q", "origin", "HEAD:main")
    foreign = git(tmp_path / "other", "rev-parse", "HEAD:purged.md").strip()
    loose(root, blob(root, 3, "HEAD~1")).unlink()
    vault = reopen(root)
    assert vault.health.fix(damage(vault))
    assert git(root, "cat-file", "-t", foreign, check=False) == ""
    assert "refs/mend" not in git(root, "for-each-ref")
    sound(root)


def test_objects_that_nothing_leads_to_are_moved_aside(filled: Vault, root: Path) -> None:
    oid = git(root, "hash-object", "-w", "--stdin", stdin="nobody wants it").strip()
    flip(loose(root, oid), 8)
    found = damage(filled)
    assert f"object {oid[:10]}, which nothing leads to" in found.message
    assert filled.health.fix(found)
    assert filled.health.problems() == []
    assert aside(root)


def test_a_damaged_ledger_stops_neither_answers_nor_writes(filled: Vault, root: Path) -> None:
    filled.ledger.use("a" * 12, "use")
    put(filled, 4)
    path = filled.ledger.file(filled.clock())
    loose(root, git(root, "rev-parse", f"HEAD:{path}").strip()).unlink()
    vault = reopen(root)
    assert [event["id"] for event in vault.ledger.events()] == ["a" * 12]
    vault.ledger.use("b" * 12, "use")
    put(vault, 5)
    assert [event["id"] for event in vault.ledger.events()] == ["a" * 12, "b" * 12]
    assert f"{path} (an earlier version)" in damage(vault).message


def test_a_sound_vault_is_left_as_it_is(filled: Vault, root: Path) -> None:
    git(root, "repack", "-adq")
    before = sorted(path.name for path in (root / ".git/objects").rglob("*"))
    assert filled.health.fix(Problem("damage", "", fixable=True))
    assert sorted(path.name for path in (root / ".git/objects").rglob("*")) == before
    assert not aside(root)
