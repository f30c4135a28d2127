"""The git room: true compare-and-swap, trees as git would write them, and errors that say what is
wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import UserDict
from collections.abc import ItemsView
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oneiro_vault.errors import (
    DiskProblem,
    GitProblem,
    InvalidInput,
    RepositoryBusy,
    UnsafePath,
    VaultNotFound,
)
from oneiro_vault.vault.change import Write
from oneiro_vault.vault.git import repository as room
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import EXECUTABLE, FILE, Entry, Locked
from oneiro_vault.vault.vault import Vault
from tests.vault.support import REMEMBER, git, make, note, path_of, put, reopen, sound

WHO = ("oneiro (test)", "oneiro@localhost")


def commit(repo: Repo, parent: str, changes: dict[str, Entry | None]) -> str:
    made = repo.commit(parent, changes, "x\n", WHO, WHO, 0.0)
    repo.store().name()
    repo.discard()
    return made


RACER = """
import sys, time
from pathlib import Path
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import Locked
repo = Repo(Path(sys.argv[1]))
old, news = sys.argv[2], sys.argv[3:]
print("ready", flush=True)
sys.stdin.readline()
def moved(new):
    while True:
        try:
            return repo.move("refs/heads/main", old, new)
        except Locked:
            continue
print(sum(moved(new) for new in news))
"""


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("round_", range(4))
def test_exactly_one_of_two_racing_processes_moves_the_branch(
    vault: Vault, root: Path, round_: int, packed: bool
) -> None:
    put(vault)
    if packed:
        git(root, "pack-refs", "--all")
    tip = vault.head()
    rivals = [
        [
            commit(vault.repo, tip, {f"{who}{n}.md": Entry(vault.repo.add(b"x"), FILE)})
            for n in range(20)
        ]
        for who in "ab"
    ]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(root), tip, *news],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for news in rivals
    ]
    for process in running:
        assert process.stdout is not None
        process.stdout.readline()
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    wins = sum(int(process.communicate()[0]) for process in running)
    assert wins == 1
    assert git(root, "rev-parse", "HEAD").strip() in {new for news in rivals for new in news}


def test_a_move_from_another_tip_is_refused(vault: Vault) -> None:
    put(vault)
    tip, repo = vault.head(), vault.repo
    first, second = (
        commit(repo, tip, {f"{name}.md": Entry(repo.add(b"x"), FILE)}) for name in "ab"
    )
    assert repo.move("refs/heads/main", tip, first)
    assert not repo.move("refs/heads/main", tip, second)
    assert not repo.move("refs/heads/main", "", second)
    assert repo.tip() == first
    assert not repo.move("refs/heads/none", tip, second)


def test_the_first_commit_is_a_compare_and_swap_too(vault: Vault) -> None:
    repo = vault.repo
    first = commit(repo, "", {"a.md": Entry(repo.add(b"a"), FILE)})
    second = commit(repo, "", {"b.md": Entry(repo.add(b"b"), FILE)})
    assert repo.move("refs/heads/main", "", first)
    assert not repo.move("refs/heads/main", "", second)
    assert repo.tip() == first


def test_a_move_under_a_lock_says_which(vault: Vault, root: Path) -> None:
    put(vault)
    repo, tip = vault.repo, vault.head()
    new = commit(repo, tip, {"a.md": Entry(repo.add(b"a"), FILE)})
    lock = root / ".git/refs/heads/main.lock"
    lock.write_text("")
    with pytest.raises(Locked) as caught:
        repo.move("refs/heads/main", tip, new)
    assert caught.value.lock == lock


def test_a_move_that_fails_for_no_visible_reason_is_a_git_problem(vault: Vault, root: Path) -> None:
    put(vault)
    missing = "1234567890" * 4
    with pytest.raises(GitProblem, match="could not be moved"):
        vault.repo.move("refs/heads/main", vault.head(), missing)


names = st.text(alphabet="abcdefgh-.é ", min_size=1, max_size=6).filter(
    lambda s: s.strip(".") != "" and s == s.strip()
)
trees = st.dictionaries(
    st.lists(names, min_size=1, max_size=3).map("/".join), st.binary(max_size=8), max_size=12
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=trees, new=trees)
def test_trees_are_what_git_itself_would_write(
    vault: Vault, root: Path, old: dict[str, bytes], new: dict[str, bytes]
) -> None:
    repo = vault.repo

    def no_clash(files: dict[str, bytes]) -> dict[str, bytes]:
        return {
            path: data
            for path, data in files.items()
            if not any(other.startswith(path + "/") for other in [*old, *new])
        }

    before, after = no_clash(old), no_clash(new)
    parent = commit(repo, "", {path: Entry(repo.add(data), FILE) for path, data in before.items()})
    changes: dict[str, Entry | None] = {path: None for path in before if path not in after}
    changes |= {path: Entry(repo.add(data), EXECUTABLE) for path, data in after.items()}
    made = commit(repo, parent, changes)
    (root / "i").unlink(missing_ok=True)
    env = {"GIT_INDEX_FILE": str(root / "i"), "PATH": os.environ["PATH"]}
    lines = "".join(f"100755 {repo.add(data)}\t{path}\0" for path, data in after.items())
    repo.store().name()
    repo.discard()
    subprocess.run(
        ["git", "-C", str(root), "update-index", "-z", "--index-info"],
        input=lines.encode(),
        env=env,
        check=True,
    )
    wanted = subprocess.run(
        ["git", "-C", str(root), "write-tree"], env=env, check=True, capture_output=True, text=True
    ).stdout.strip()
    assert git(root, "rev-parse", f"{made}^{{tree}}").strip() == wanted
    assert repo.listing(made) == {
        path: Entry(entry.blob, EXECUTABLE) for path, entry in repo.listing(made).items()
    }
    assert set(repo.listing(made)) == set(after)


def test_a_lock_taken_between_two_ways_of_writing_the_index_is_a_lock(
    vault: Vault, root: Path
) -> None:
    """libgit2 refused, somebody let go, git was asked instead, and somebody else had come."""
    repo = vault.repo
    lock = root / ".git/index.lock"
    lock.touch()
    with pytest.raises(Locked):
        repo.staging._tell({"a.md": Entry(repo.add(b"x"), FILE)}, lock)
    lock.unlink()
    assert repo.staging.blobs(["a.md"]) == {"a.md": ""}


def test_a_file_and_a_folder_of_one_name_are_refused(vault: Vault) -> None:
    repo = vault.repo
    blob = Entry(repo.add(b"x"), FILE)
    first = commit(repo, "", {"a": blob, "d/x": blob})
    for changes in ({"a/b": blob}, {"d": blob}, {"d": None}):
        with pytest.raises(UnsafePath):
            repo.commit(first, dict(changes), "x", WHO, WHO, 0.0)
    with pytest.raises(InvalidInput, match="refuses the name"):
        repo.commit(first, {".git": blob}, "x", WHO, WHO, 0.0)
    assert repo.listing(commit(repo, first, {"none.md": None, "no/ne.md": None})) == repo.listing(
        first
    )


def test_looking_things_up(vault: Vault, root: Path) -> None:
    repo = vault.repo
    assert (repo.tip(), repo.entry("", "x"), repo.listing("")) == ("", None, {})
    assert repo.contains("", "") is False
    put(vault, 1)
    first = vault.head()
    put(vault, 2)
    tip = vault.head()
    assert repo.entry(tip, "semantic") is None
    assert repo.entry(tip, "semantic/2026/11/none.md") is None
    assert repo.entry(tip, "no/where.md") is None
    assert repo.is_folder(tip, "semantic")
    assert not repo.is_folder(tip, path_of(1))
    assert repo.listing(tip, "semantic/2026").keys() == {path_of(1), path_of(2)}
    assert repo.listing(tip, path_of(1)) == {}
    assert repo.contains(first, tip)
    assert repo.contains(tip, tip)
    assert not repo.contains(tip, first)
    assert not repo.contains("1" * 40, tip)
    assert repo.resolve("HEAD~1") == first
    assert repo.resolve("no such") == ""
    assert repo.whole(tip)
    assert not repo.whole("1" * 40)
    with pytest.raises(GitProblem, match="cannot be read"):
        repo.data("1" * 40)
    assert repo.data(git(root, "rev-parse", "HEAD^{tree}").strip()) == b""


def test_a_submodule_is_no_file(vault: Vault, root: Path, tmp_path: Path) -> None:
    put(vault)
    other = make(tmp_path / "other")
    put(other)
    git(
        root,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(tmp_path / "other"),
        "sub",
    )
    git(root, "commit", "-qm", "submodule")
    put(vault, 1)
    assert set(vault.repo.listing(vault.head())) == {path_of(), path_of(1), ".gitmodules"}
    assert vault.edits.commit() == []
    sound(root)


def test_shallow_and_partial_clones_are_written_like_any_other(
    vault: Vault, root: Path, tmp_path: Path
) -> None:
    for number in range(3):
        put(vault, number)
    git(root, "config", "uploadpack.allowFilter", "true")
    for name, option in (("shallow", "--depth=1"), ("partial", "--filter=blob:none")):
        place = tmp_path / name
        git(root, "clone", "-q", option, f"file://{root}", str(place))
        clone = reopen(place)
        put(clone, 7)
        sound(place)
        assert git(place, "log", "--format=%s", "-1") == "remember: Note 7\n"


def test_the_person_is_known_by_git_or_by_the_system(
    vault: Vault, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert vault.repo.person() == ("Ada", "ada@example.org")
    git(root, "config", "--unset", "user.name")
    git(root, "config", "user.email", "")
    monkeypatch.setenv("USER", "grace")
    fresh = reopen(root)
    (root / "a.md").write_text("x")
    fresh.edits.commit()
    name = fresh.repo.person()[0]
    assert git(root, "log", "-1", "--format=%an <%ae>").strip() == f"{name} <grace@localhost>"


def test_names_git_forbids_in_an_identity_are_cleaned(vault: Vault, root: Path) -> None:
    made = vault.repo.commit("", {}, "x\n", ("a<b>\nc", "<>"), WHO, 1e30)
    vault.repo.store().name()
    assert git(root, "log", "-1", "--format=%an|%ae", made).strip() == "abc|unknown"


def test_a_repository_of_another_user_says_what_to_do(
    vault: Vault, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(vault)
    os.chown(root / ".git", 12345, 12345)
    os.chown(root, 12345, 12345)
    try:
        with pytest.raises(GitProblem, match="another user") as caught:
            reopen(root)
    finally:
        os.chown(root, os.getuid(), os.getgid())
        os.chown(root / ".git", os.getuid(), os.getgid())
    assert "safe.directory" in caught.value.hint


def test_files_kept_elsewhere_are_no_vault(vault: Vault, root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    git(root, "config", "core.worktree", str(tmp_path / "elsewhere"))
    with pytest.raises(VaultNotFound, match="elsewhere"):
        reopen(root)


def test_configure_writes_the_repositorys_own_settings(vault: Vault, root: Path) -> None:
    vault.repo.configure({"merge.oneiro.name": "memories"})
    assert git(root, "config", "--local", "merge.oneiro.name") == "memories\n"
    assert vault.repo.config("merge.oneiro.name") == "memories"
    assert vault.repo.config("no.such") == ""


def test_a_detached_head_names_the_way_back(vault: Vault, root: Path) -> None:
    put(vault)
    git(root, "checkout", "-q", "--detach")
    with pytest.raises(RepositoryBusy) as caught:
        vault.repo.branch()
    assert "git switch NAME" in caught.value.hint


def test_a_disk_that_refuses_the_branch_is_named(
    vault: Vault, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(vault)
    new = commit(vault.repo, vault.head(), {"a.md": Entry(vault.repo.add(b"a"), FILE)})

    def full(**_: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)
    with pytest.raises(DiskProblem, match="full"):
        vault.repo._unmoved("refs/heads/main", vault.head(), OSError("?"))
    assert new


def test_what_to_fsync_follows_the_branch(vault: Vault, root: Path) -> None:
    assert vault.repo.ref_files("refs/heads/main") == [str(root / ".git")]
    put(vault)
    assert vault.repo.ref_files("refs/heads/main")[0] == str(root / ".git/refs/heads/main")


def test_a_damaged_head_or_branch_is_a_git_problem(vault: Vault, root: Path) -> None:
    put(vault)
    (root / ".git/refs/heads/main").write_text("garbage")
    with pytest.raises(GitProblem, match="HEAD cannot be read"):
        vault.repo.tip()
    (root / ".git/HEAD").write_text("")
    with pytest.raises(GitProblem, match="HEAD cannot be read"):
        vault.repo.branch()


def test_time_zones_beyond_the_calendar(vault: Vault) -> None:
    assert room._offset(10**18) == 0


class Meanwhile(UserDict[str, Entry | None]):
    """Entries to set; git works when they are asked for, which is after the index was read."""

    def __init__(self, root: Path, entries: dict[str, Entry | None]) -> None:
        super().__init__(entries)
        self._root = root

    def items(self) -> ItemsView[str, Entry | None]:
        git(self._root, "add", "mine.md")
        return super().items()


def test_what_git_writes_into_the_index_meanwhile_is_not_lost(vault: Vault, root: Path) -> None:
    put(vault)
    (root / "mine.md").write_text("mine")
    with pytest.raises(Locked):
        vault.repo.staging.put(Meanwhile(root, {path_of(): None}))
    assert git(root, "status", "--porcelain") == "A  mine.md\n"
    vault.repo.staging.put({path_of(): None})
    assert git(root, "ls-files").splitlines() == ["mine.md"]


def test_an_index_entry_of_a_file_that_changed_meanwhile_is_looked_at_again(
    vault: Vault, root: Path
) -> None:
    put(vault)
    repo = vault.repo
    other = commit(repo, vault.head(), {path_of(): Entry(repo.add(b"newer"), FILE)})
    wanted = repo.entry(other, path_of())
    repo.staging.put({path_of(): wanted, "gone.md": None})
    assert repo.staging.blobs([path_of(), "x"]) == {
        path_of(): wanted.blob if wanted else "",
        "x": "",
    }
    assert git(root, "diff", "--name-only").strip() == path_of()
    (root / ".git/index.lock").write_text("")
    with pytest.raises(Locked):
        repo.staging.put({"x": None, path_of(): None})
    with pytest.raises(Locked):
        repo.staging.rebuild(vault.head())
    (root / ".git/index.lock").unlink()
    repo.staging.rebuild("")
    assert git(root, "ls-files") == ""
    repo.staging.rebuild(vault.head())
    sound(root)


def test_writing_many_notes_at_once_and_packing(vault: Vault, root: Path) -> None:
    vault.apply([Write(path_of(i), note(i, "x" * 5000)) for i in range(250)], REMEMBER)
    git(root, "gc", "-q")
    put(vault, 999)
    sound(root)
    assert len(vault.listing()) == 251


def test_what_is_no_id_is_known_of_nobody(vault: Vault) -> None:
    """Ledgers that were pulled may say anything."""
    put(vault)
    found = [vault.repo.knows(said) for said in ("", "zz", "0" * 40, vault.head())]
    assert found == [False, False, False, True]
