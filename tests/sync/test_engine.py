"""Copies of a vault meet through real remotes: the seed's own cases, what stops a sync, and what a
remote can do wrong."""

from __future__ import annotations

import os
import shutil
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from oneiro_vault.core.frontmatter.yaml_block import edit
from oneiro_vault.errors import (
    Brake,
    GitProblem,
    LockTimeout,
    NotFound,
    RepositoryBusy,
    Unreachable,
    UnsafePath,
)
from oneiro_vault.sync import engine
from oneiro_vault.sync.engine import TITLE, Sync
from oneiro_vault.vault.change import Operation, Remove, Write
from oneiro_vault.vault.git import network
from oneiro_vault.vault.secrets.secret_scan import Secrets
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.edits import id_of
from oneiro_vault.vault.worktree.files import digest
from tests.box import command_line, eventually
from tests.sync import support
from tests.sync.support import (
    copies,
    copy,
    forget,
    learn,
    meet,
    memory,
    person,
    reframe,
    remote_of,
    sync,
    text,
    tree,
    where,
)
from tests.vault.support import git, reopen


def test_nothing_new_changes_nothing(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    before = one.head()
    done = sync(two)
    assert (done.commit, done.pushed, done.actions, done.tries) == ("", False, [], 1)
    assert two.head() == before == git(tmp_path / "remote.git", "rev-parse", "main").strip()


def test_one_side_only_is_a_plain_advance(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    learn(one, 7, "the boat is red")
    assert [action.doing for action in sync(one).actions] == ["send"]
    done = sync(two)
    assert [action.doing for action in done.actions] == ["take"]
    assert two.head() == one.head()
    assert "the boat is red" in text(two, where(7))
    assert git(two.root, "log", "--merges", "--oneline") == ""
    meet(one, two)


def test_different_memories_changed_on_both_sides_meet_in_one_commit(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    reframe(one, where(0), "new here", day=2)
    learn(two, 8, "learned there")
    forget(two, 1)
    sync(one)
    done = sync(two)
    assert {(action.doing, action.memory) for action in done.actions} == {
        ("take", "000000000000"), ("send", "000000000008"), ("send", "000000000001"),
    } | {(a.doing, "") for a in done.actions if not a.memory}  # fmt: skip
    assert len(git(two.root, "rev-list", "--parents", "-n1", "HEAD").split()) == 3
    message = git(two.root, "log", "-1", "--format=%B%an")
    assert "Oneiro-Op: sync" in message
    assert "oneiro (user)" in message
    meet(one, two)
    assert "new here" in text(two, where(0))
    assert not (one.root / where(1)).exists()


# -- the seed's own cases
# --------------------------------------------------------------------------------------------------


def test_a_person_edits_while_a_dream_reframes(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    person(one, where(0), "hello", "hello, said by a person")
    reframe(two, where(0), "a dream's wording", day=3, actor="dream")
    meet(one, two)
    found = text(one, where(0))
    head, _, callout = found.partition("[!conflict]")
    assert "hello, said by a person" in head
    assert "a dream's wording" in callout
    assert "conflict" in head.split("flags", 1)[1]


def test_both_reframe(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    reframe(one, where(0), "the first wording", day=2)
    reframe(two, where(0), "the second wording", day=5)
    meet(one, two)
    head, _, callout = text(one, where(0)).partition("[!conflict]")
    assert "the second wording" in head
    assert "the first wording" in callout
    assert "2026-11-05" in head


def test_one_forgets_what_the_other_reframes(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    forget(one, 0)
    reframe(two, where(0), "a machine's new wording", day=4)
    sync(one)
    done = sync(two)
    assert ("forget", where(0)) in {(action.doing, action.was) for action in done.actions}
    meet(one, two)
    assert not (two.root / where(0)).exists()
    assert two.restore("000000000000").commit  # and its words are in the history
    assert "000000000000" in text(two, where(0))


@pytest.mark.parametrize("merger", [0, 1])
def test_what_is_forgotten_here_and_changed_there_comes_back_with_the_words_of_both(
    tmp_path: Path, merger: int
) -> None:
    """Whoever joins the two: `restore` brings back what either side said last, not only what the
    forgetting side knew."""
    one, two = copies(tmp_path)
    person(one, where(0), "hello", "hello\n\nsaid before it was forgotten")
    one.edits.commit(quiet=0.0)
    forget(one, 0)
    reframe(two, where(0), "hello", day=4, tags=["late"])
    meet(*((one, two) if merger else (two, one)))
    assert not (two.root / where(0)).exists()
    for vault in (one, two):
        vault.restore("000000000000")
        assert "said before it was forgotten" in text(vault, where(0))
        assert "late" in text(vault, where(0))
    meet(one, two)


def test_what_a_night_changed_and_the_other_copy_forgot_comes_back_changed(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    forget(one, 0)
    old = two.read(where(0))
    new = edit(old.decode(), {"timestamp": support.DAY % 4, "tags": ["late"]}).encode()
    two.apply(
        [Write(where(0), new, digest(old))],
        Operation("reframe", "Note 0", "dream", ("000000000000",)),
    )
    meet(one, two)
    one.restore("000000000000")
    assert one.read(where(0)) == new


def test_one_forgets_what_a_person_edits_and_it_stays(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    forget(one, 0)
    person(two, where(0), "hello", "hello, which matters to me")
    meet(one, two)
    assert "which matters to me" in text(one, where(0))
    kinds = [event["e"] for event in one.ledger.events() if event["id"] == "000000000000"]
    assert kinds == ["tombstone", "restore"]


@pytest.mark.parametrize("merger", [0, 1])
@pytest.mark.parametrize(
    ("who", "stays"),
    [
        ("user", True),
        ("editor", True),
        ("git", True),
        ("model", False),
        ("dream", False),
        ("capture", False),
    ],
)
def test_who_changed_it_decides_what_a_forgetting_meets(
    tmp_path: Path, who: str, stays: bool, merger: int
) -> None:
    """A person's words, typed at the terminal (which moves the date, as a machine does), in an
    editor, or committed with git, also when a machine went over them later; their change to another
    memory, or before both sides parted, is no reason."""
    one, two = copies(tmp_path)
    reframe(two, where(0), "said before both parted", day=2, actor="user")
    meet(one, two)
    one.forget("000000000000", where(0), digest(one.read(where(0))), "model")
    if who in ("editor", "git"):
        person(two, where(0), "said", "really said")
    if who == "git":
        git(two.root, "commit", "-qam", "by hand")
    elif who == "editor":
        two.edits.commit(quiet=0.0)
    else:
        reframe(two, where(0), "really said before both parted", day=3, actor=who)
    reframe(two, where(1), "another memory", day=3, actor="user")
    two.gate.flush()
    reframe(two, where(0), "really said, in other words", day=4, actor="dream")
    meet(*((one, two) if merger else (two, one)))
    assert (one.root / where(0)).exists() == stays
    kinds = [event["e"] for event in one.ledger.events() if event["id"] == "000000000000"]
    assert kinds == (["tombstone", "restore"] if stays else ["tombstone"])


def test_a_file_a_person_deleted_and_a_machine_changed_stays(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    (one.root / where(0)).unlink()
    reframe(two, where(0), "a machine's new wording", day=4)
    meet(one, two)
    assert "a machine's new wording" in text(one, where(0))


def test_both_create_the_same_duplicate(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    learn(one, 21, "Ana likes Fridays")
    learn(two, 22, "Ana likes Fridays")
    same = learn(one, 23, "imported twice", path="semantic/import.md")
    learn(two, 23, "imported twice", path=same)
    meet(one, two)
    assert "Ana likes Fridays" in text(one, where(21))
    assert "Ana likes Fridays" in text(one, where(22))
    assert text(one, same) == memory(23, "imported twice").decode()


def test_both_dream_the_same_night(tmp_path: Path) -> None:
    """Each merged the pair onto another keeper: together neither would be in force."""
    one, two = copies(tmp_path)
    for vault, keeper, loser in ((one, 0, 1), (two, 1, 0)):
        changes = []
        for number, keys in (
            (keeper, {"supersedes": [f"{loser:012d}"]}),
            (loser, {"status": "superseded", "superseded_by": f"{keeper:012d}", "valid_until": support.DAY % 4}),
        ):  # fmt: skip
            old = vault.read(where(number))
            new = edit(old.decode(), {"timestamp": support.DAY % 4, **keys})
            changes.append(Write(where(number), new.encode(), digest(old)))
        run = f"run{keeper}"
        changes.append(
            Write(f"dreams/2026/11/2026-11-04-consolidate-{run}.md", f"# Night of {run}\n".encode())
        )
        vault.apply(changes, Operation("merge", "the same", "dream", run=run, loop="consolidate"))
    meet(one, two)
    assert "status" not in text(one, where(0))
    assert "superseded_by: '000000000000'" in text(one, where(1)).replace('"', "'")
    assert {path.name[-7:-3] for path in (one.root / "dreams/2026/11").iterdir()} == {
        "run0",
        "run1",
    }


def test_a_copy_without_the_driver_merges_all_the_same(tmp_path: Path) -> None:
    """Row 27: what `git merge` would ask for is not in this clone's settings."""
    one, two = copies(tmp_path)
    assert two.repo.config("merge.oneiro.driver") == ""
    reframe(one, where(0), "their wording", day=2, tags=["red"])
    reframe(two, where(0), "our wording", day=3, tags=["blue"])
    meet(one, two)
    found = text(two, where(0))
    assert "their wording" in found
    assert "our wording" in found
    assert "red" in found
    assert "blue" in found
    assert "<<<<<<<" not in found


# -- names
# --------------------------------------------------------------------------------------------------


def test_a_moved_memory_takes_the_other_sides_words_along(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    (one.root / "boats").mkdir()
    (one.root / where(0)).rename(one.root / "boats/petrel.md")
    reframe(two, where(0), "reworded meanwhile, so much that nothing is alike", day=3)
    meet(one, two)
    assert "reworded meanwhile" in text(one, "boats/petrel.md")
    assert not (two.root / where(0)).exists()


def test_both_move_one_memory_and_the_later_name_stays(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    for vault, name in ((one, "first.md"), (two, "second.md")):
        (vault.root / where(0)).rename(vault.root / name)
        vault.edits.commit(quiet=0.0)
    meet(one, two)
    kept = [name for name in ("first.md", "second.md") if (one.root / name).exists()]
    assert len(kept) == 1
    assert not (one.root / where(0)).exists()


def test_two_memories_of_one_name_both_stay(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    learn(one, 31, "about a boat", path="semantic/boat.md")
    learn(two, 32, "about another boat", path="semantic/boat.md")
    learn(one, 33, "in capitals", path="semantic/Crew.md")
    learn(two, 34, "in small letters", path="semantic/crew.md")
    meet(one, two)
    found = {path.name: path.read_text() for path in (one.root / "semantic").glob("*.md")}
    assert len(found) == 4
    assert "about a boat" in found["boat.md"]
    assert "about another boat" in found["boat-0000.md"]
    assert len({name.lower() for name in found}) == 4


def test_a_daily_note_written_on_both_machines_is_one(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    (one.root / "daily.md").write_text("# Today\n\nBreakfast was good.\n")
    (two.root / "daily.md").write_text("# Today\n\nThe meeting was long.\n")
    meet(one, two)
    assert "Breakfast was good." in text(one, "daily.md")
    assert "The meeting was long." in text(one, "daily.md")
    assert "<<<<" not in text(one, "daily.md")


def test_other_files_are_merged_or_both_kept(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    for vault in (one, two):
        (vault.root / "picture.canvas").write_text("start")
        (vault.root / "oneiro.toml").write_text("[recall]\nk = 5\n")
    git(one.root, "add", "picture.canvas")
    git(one.root, "commit", "-qm", "canvas")
    git(two.root, "add", "picture.canvas")
    git(two.root, "commit", "-qm", "canvas")
    meet(one, two)
    for vault, word in ((one, "one"), (two, "two")):
        (vault.root / "picture.canvas").write_text(word)
        git(vault.root, "commit", "-qam", word)
    meet(one, two)
    left = {path.read_text() for path in one.root.glob("picture*.canvas")}
    assert left == {"one", "two"}


# -- gates
# --------------------------------------------------------------------------------------------------


def test_a_force_pushed_remote_stops_and_keeps_the_old_history(tmp_path: Path) -> None:
    """Row 24: our commits stay on main, the old tip is kept, the person is told; nothing is
    sent."""
    one, two = copies(tmp_path)
    learn(one, 5, "shared, then rewritten away")
    meet(one, two)
    old = two.head()
    git(one.root, "reset", "-q", "--hard", "HEAD~1")
    git(one.root, "commit", "-q", "--allow-empty", "-m", "another history")
    git(one.root, "push", "-q", "--force", "origin", "main")
    learn(two, 6, "ours")
    mine = two.head()
    for _ in range(2):  # it does not become usual by itself
        with pytest.raises(Brake, match="rewritten") as stopped:
            sync(two)
        assert f"refs/oneiro/rescue/origin/main/{old[:12]}" in stopped.value.kept
    assert two.head() == mine
    assert git(two.root, "rev-parse", f"refs/oneiro/rescue/origin/main/{old[:12]}").strip() == old
    git(two.root, "fetch", "-q")  # nor by fetching by hand
    with pytest.raises(Brake, match="rewritten"):
        sync(two)
    done = sync(two, yes=True)
    assert done.rescued
    assert "ours" in text(two, where(6))
    assert "shared, then rewritten away" in text(two, where(5))


def test_who_rewrote_the_history_is_not_asked(tmp_path: Path) -> None:
    one, _ = copies(tmp_path)
    learn(one, 5)
    sync(one)
    git(one.root, "commit", "-q", "--amend", "-m", "said better")
    git(one.root, "push", "-q", "--force", "origin", "main")
    assert sync(one).rescued


def test_an_unrelated_remote_is_refused_until_a_person_says_so(tmp_path: Path) -> None:
    one, _ = copies(tmp_path)
    other = copy(support.bare(tmp_path / "other.git"), tmp_path / "stranger")
    learn(other, 60, "a stranger's")
    learn(other, 0, "another text under an id that is known", day=9)
    sync(other)
    git(one.root, "remote", "set-url", "origin", str(tmp_path / "other.git"))
    git(one.root, "update-ref", "-d", "refs/remotes/origin/main")
    git(one.root, "update-ref", "-d", "refs/oneiro/seen/origin/main")
    before = one.head()
    with pytest.raises(Brake, match="nothing in common"):
        sync(one)
    assert one.head() == before
    sync(one, yes=True)
    meet(one, other)
    assert "a stranger's" in text(one, where(60))
    assert "hello" in text(one, where(0))
    assert "another text under an id that is known" in text(one, where(0))


@pytest.mark.parametrize("direction", ["theirs", "ours"])
def test_far_too_many_deletions_stop_in_either_direction(tmp_path: Path, direction: str) -> None:
    """Row 25: more than a fifth of the notes, and more than ten: asks first, nothing spreads."""
    one, two = copies(tmp_path, notes=30)
    gone = [Remove(where(number), digest(one.read(where(number)))) for number in range(12)]
    one.apply(gone, Operation("forget", "a dozen", "model"))
    learn(two, 99, "so that there is something to merge")
    if direction == "theirs":
        git(one.root, "push", "-q", "origin", "main")
    else:
        sync(two)
    asked, before = (two, two.head()) if direction == "theirs" else (one, one.head())
    there = git(tmp_path / "remote.git", "rev-parse", "main")
    with pytest.raises(Brake, match=r"12 of 3[01] notes would vanish"):
        sync(asked)
    assert asked.head() == before
    assert git(tmp_path / "remote.git", "rev-parse", "main") == there
    assert (two.root / where(0)).exists()
    sync(asked, yes=True)
    sync(one, yes=True)
    sync(two, yes=True)  # every copy asks its own person
    meet(one, two)
    assert len(one.listing()) == 19


@pytest.mark.slow
def test_a_few_deletions_and_many_moves_do_not_stop(tmp_path: Path) -> None:
    one, two = copies(tmp_path, notes=12)
    (one.root / "moved").mkdir()
    for number in range(12):
        (one.root / where(number)).rename(one.root / f"moved/{number}.md")
    meet(one, two)
    assert len(list((two.root / "moved").iterdir())) == 12


def test_links_and_submodules_come_into_history_and_never_into_the_folder(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    os.symlink("/etc/passwd", one.root / "semantic/link.md")
    git(one.root, "add", "-A")
    git(one.root, "update-index", "--add", "--cacheinfo", f"160000,{one.head()},inner")
    git(one.root, "commit", "-qm", "odd things")
    git(one.root, "push", "-q", "origin", "main")
    learn(two, 9)
    sync(two)
    sync(two)
    assert not os.path.lexists(two.root / "semantic/link.md")
    assert not os.path.lexists(two.root / "inner")
    tracked = git(two.root, "ls-tree", "-r", "HEAD")
    assert "120000 blob" in tracked
    assert "160000 commit" in tracked
    assert git(two.root, "status", "--porcelain", "--untracked-files=all") == ""
    assert two.edits.commit(quiet=0.0) == []
    assert reopen(two.root).edits.commit(quiet=0.0) == []
    assert not os.path.lexists(two.root / "semantic/link.md")


def test_a_note_that_became_a_link_there_leaves_the_folder_with_its_words_kept(
    tmp_path: Path,
) -> None:
    one, two = copies(tmp_path)
    (one.root / where(0)).unlink()
    (one.root / where(0)).symlink_to("/etc/passwd")
    git(one.root, "commit", "-qam", "a link")
    sync(one)
    (two.root / where(0)).write_text("not committed yet\n")
    with suppress(RepositoryBusy):
        sync(two)
    history = git(two.root, "log", "--all", "-p", "--format=")
    assert (
        "not committed yet" in history or "not committed yet" in (two.root / where(0)).read_text()
    )
    assert not os.path.islink(two.root / where(0))


def test_an_unsafe_name_is_refused(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    before = two.head()
    blob = git(one.root, "hash-object", "-w", "--stdin", stdin="x").strip()
    git(one.root, "update-index", "--add", "--cacheinfo", f"100644,{blob},.oneiro/settings.toml")
    git(one.root, "commit", "-qm", "odd")
    git(one.root, "push", "-q", "origin", "main")
    with pytest.raises(UnsafePath):
        sync(two)
    assert two.head() == before
    assert not (two.root / ".oneiro").exists()


def test_a_file_here_and_a_folder_of_that_name_there(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    learn(one, 41, path="semantic/x.md")
    learn(two, 42, path="semantic/x.md/y.md")
    sync(one)
    with pytest.raises(UnsafePath, match="a file and a folder"):
        sync(two)


# -- a person at work
# --------------------------------------------------------------------------------------------------


def test_a_text_on_disk_only_goes_into_history_before_it_is_merged(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    reframe(one, where(0), "their wording", day=3)
    sync(one)
    person(two, where(0), "hello", "hello from the disk")
    Sync(two, remote_of(two)).run()  # without committing edits first
    found = text(two, where(0))
    assert "hello from the disk" in found
    assert "their wording" in found
    meet(one, two)


def test_staged_work_that_the_other_side_changed_stops(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    reframe(one, where(0), "their wording", day=3)
    sync(one)
    person(two, where(0), "hello", "staged by a person")
    git(two.root, "add", where(0))
    before = two.head()
    with pytest.raises(RepositoryBusy, match="staged"):
        sync(two)
    assert two.head() == before
    assert "staged by a person" in git(two.root, "show", f":{where(0)}")
    git(two.root, "commit", "-qm", "by hand")
    meet(one, two)


def test_staged_work_of_another_file_stays_staged(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    reframe(one, where(0), "their wording", day=3)
    sync(one)
    person(two, where(1), "hello", "staged by a person")
    git(two.root, "add", where(1))
    sync(two)
    assert git(two.root, "diff", "--cached", "--name-only").strip() == where(1)
    assert "their wording" in text(two, where(0))


def test_a_changed_file_that_is_not_ours_stops_by_name(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    (one.root / "script.sh").write_text("echo theirs\n")
    git(one.root, "add", "script.sh")
    git(one.root, "commit", "-qm", "script")
    sync(one)
    (two.root / "script.sh").write_text("echo mine\n")
    with pytest.raises(RepositoryBusy, match=r"script\.sh"):
        sync(two)
    assert (two.root / "script.sh").read_text() == "echo mine\n"
    (two.root / "script.sh").unlink()
    sync(two)
    assert (two.root / "script.sh").read_text() == "echo theirs\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("<<<<<<< HEAD\nmine\n=======\nyours\n>>>>>>> theirs\n", "conflict markers"),
        (f"The token is ghp_{'AbCdEf0123456789' * 2}abcd.\n", "a GitHub token"),
    ],
)
def test_what_keeps_a_persons_text_out_of_history_is_said(
    tmp_path: Path, words: str, says: str
) -> None:
    one, two = copies(tmp_path)
    reframe(one, where(0), "their wording", day=3)
    sync(one)
    two = Vault.open(two.root, quiet=0.0, reserve=0, secrets=Secrets())
    person(two, where(0), "hello", f"hello\n\n{words}")
    before = two.head()
    with pytest.raises(RepositoryBusy, match=says):
        sync(two)
    assert two.head() == before
    assert words in text(two, where(0))
    person(two, where(0), words, "settled")
    meet(one, two)
    assert "settled" in text(one, where(0))


def test_in_the_middle_of_a_rebase_it_refuses(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    learn(one, 5)
    sync(one)
    (two.root / ".git/rebase-merge").mkdir()
    with pytest.raises(RepositoryBusy, match="rebase"):
        Sync(two, remote_of(two)).run()
    (two.root / ".git/rebase-merge").rmdir()
    meet(one, two)


def test_an_executable_stays_one(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    (one.root / "run.sh").write_text("echo\n")
    (one.root / "run.sh").chmod(0o755)
    git(one.root, "add", "run.sh")
    git(one.root, "commit", "-qm", "script")
    meet(one, two)
    assert os.access(two.root / "run.sh", os.X_OK)


def test_a_criss_cross_is_no_obstacle(tmp_path: Path) -> None:
    """Both merged the other's work by hand before they met: there are two common ancestors."""
    one, two = copies(tmp_path)
    reframe(one, where(0), "one's wording", day=2)
    reframe(two, where(1), "two's wording", day=2)
    for vault, other in ((one, two), (two, one)):
        git(vault.root, "fetch", "-q", str(other.root), "main:refs/heads/other")
    for vault in (one, two):
        git(vault.root, "merge", "-q", "--no-edit", "other")
    reframe(reopen(one.root), where(2), "one again", day=3)
    person(two, where(0), "one's wording", "one's wording, by two")
    one, two = reopen(one.root), reopen(two.root)
    meet(one, two)
    assert "one's wording, by two" in text(one, where(0))
    assert "[!conflict]" not in text(one, where(0)) + text(one, where(1)) + text(one, where(2))


# -- remotes
# --------------------------------------------------------------------------------------------------


def test_without_a_remote_it_says_how_to_get_one(tmp_path: Path) -> None:
    one, _ = copies(tmp_path)
    git(one.root, "remote", "remove", "origin")
    with pytest.raises(NotFound, match="no remote") as failed:
        sync(one)
    assert "git remote add" in failed.value.hint
    for name in ("disk", "host"):
        git(one.root, "remote", "add", name, str(tmp_path / "remote.git"))
    with pytest.raises(NotFound, match="none of disk, host is called origin") as failed:
        sync(one)
    assert "sync.remote" in failed.value.hint
    assert "git remote add" not in failed.value.hint


def test_a_remote_that_hangs_is_given_up_and_nothing_is_left(tmp_path: Path) -> None:
    """Row 23, a server that takes the call and says nothing; nobody is asked, no lock stays, the
    next sync completes."""
    one, two = copies(tmp_path)
    learn(one, 5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        git(
            one.root,
            "remote",
            "set-url",
            "origin",
            f"git://127.0.0.1:{silent.getsockname()[1]}/x.git",
        )
        with pytest.raises(Unreachable, match="does not answer"):
            sync(one, wait=0.5)
        learn(one, 6)  # writing goes on
    git(one.root, "remote", "set-url", "origin", str(tmp_path / "remote.git"))
    meet(one, two)


def test_an_ssh_that_hangs_ends_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = copies(tmp_path)
    mark = tmp_path / "pid"
    monkeypatch.setenv("GIT_SSH_COMMAND", f"echo $$ > {mark}; exec sleep 600 #")
    git(one.root, "remote", "set-url", "origin", "ssh://somebody@example.invalid/x.git")
    with pytest.raises(Unreachable):
        sync(one, wait=1.0)
    eventually(lambda: not command_line(int(mark.read_text())), 30)


@pytest.mark.parametrize(
    "url",
    ["https://ada:hunter2@127.0.0.1:9/x.git", "https://127.0.0.1:9/x.git?access_token=hunter2"],
)
def test_a_password_in_the_address_is_never_told(tmp_path: Path, url: str) -> None:
    one, _ = copies(tmp_path)
    git(one.root, "remote", "set-url", "origin", url)
    with pytest.raises(Unreachable) as failed:
        sync(one)
    told = str(failed.value) + failed.value.hint + failed.value.kept + remote_of(one).url
    assert "hunter2" not in told
    assert "127.0.0.1" in told


def test_a_remote_that_is_not_there_is_a_plain_error(tmp_path: Path) -> None:
    one, _ = copies(tmp_path)
    git(one.root, "remote", "set-url", "origin", str(tmp_path / "nowhere.git"))
    with pytest.raises(GitProblem, match=r"nowhere\.git") as failed:
        sync(one)
    assert not isinstance(failed.value, Unreachable)
    git(one.root, "remote", "set-url", "origin", str(tmp_path / "no where.git"))
    with pytest.raises(GitProblem) as failed:
        sync(one)
    assert f"`git fetch '{tmp_path}/no where.git'`" in failed.value.hint, (
        "a command to copy works as it stands"
    )


def test_a_remote_that_refuses_is_not_asked_again(tmp_path: Path) -> None:
    one, _ = copies(tmp_path)
    hook = tmp_path / "remote.git/hooks/pre-receive"
    hook.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\nexit 1\n")
    hook.chmod(0o755)
    learn(one, 5)
    with pytest.raises(GitProblem, match="pre-receive hook declined") as failed:
        sync(one)
    assert (tmp_path / "asked").read_text() == "asked\n"
    assert "Enumerating" not in str(failed.value)
    assert "Delta" not in str(failed.value)


@pytest.mark.parametrize("hook", ["pre-receive", "update", "post-receive"])
def test_a_remote_that_dies_in_the_middle_of_a_push(tmp_path: Path, hook: str) -> None:
    """Before, while and after its branch moves: an error here, and the next sync completes it with
    nothing doubled."""
    one, two = copies(tmp_path)
    learn(one, 5)
    sync(one)
    learn(two, 6)
    script = tmp_path / "remote.git/hooks" / hook
    script.write_text("#!/bin/sh\nkill -9 $PPID\n")
    script.chmod(0o755)
    with pytest.raises((Unreachable, GitProblem)):
        sync(two)
    script.unlink()
    meet(two, one)
    assert {where(5), where(6)} <= one.listing().keys()
    assert len(git(one.root, "rev-list", "--merges", "HEAD").split()) == 1


@pytest.mark.slow
def test_a_race_is_run_again_without_a_storm_of_merges(tmp_path: Path) -> None:
    """Row 28: somebody is faster three times; ours arrives, with one merge for each time."""
    one, two = copies(tmp_path)
    learn(two, 50)

    class Raced(Sync):
        left = 3

        def _fetch(self) -> str:
            found = super()._fetch()
            if self.left:
                self.left -= 1
                learn(one, 70 + self.left)
                sync(one)
            return found

    done = Raced(two, remote_of(two)).run()
    assert (done.tries, done.pushed) == (4, True)
    assert len(git(two.root, "rev-list", "--merges", "HEAD").split()) == 3
    meet(one, two)


@pytest.mark.slow
def test_a_race_that_never_ends_is_given_up(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    learn(two, 50)

    class Raced(Sync):
        number = 100

        def _fetch(self) -> str:
            found = super()._fetch()
            self.number += 1
            learn(one, self.number)
            git(one.root, "fetch", "-q")
            git(one.root, "push", "-q", "origin", "main")
            return found

    with pytest.raises(LockTimeout, match=f"{engine.TRIES} times"):
        Raced(two, remote_of(two)).run()
    meet(two, one)


def test_somebody_writes_while_it_is_decided(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    learn(one, 50)
    learn(two, 51)
    sync(one)
    work = Sync(two, remote_of(two))
    work.look()
    learn(two, 52)
    work.run()
    meet(one, two)
    assert {where(50), where(51), where(52)} <= two.listing().keys()


def test_a_shallow_copy_fetches_what_it_lacks(tmp_path: Path) -> None:
    one, _ = copies(tmp_path)
    for number in range(5, 9):
        learn(one, number)
    sync(one)
    git(
        tmp_path,
        "clone",
        "-q",
        "--depth=1",
        f"file://{tmp_path}/remote.git",
        str(tmp_path / "thin"),
    )
    git(tmp_path / "thin", "config", "user.name", "Ada")
    thin = reopen(tmp_path / "thin")
    learn(thin, 20)
    forget(one, 5)
    meet(one, thin)


def test_an_empty_remote_gets_everything(tmp_path: Path) -> None:
    one, _ = copies(tmp_path)
    git(one.root, "remote", "add", "disk", str(support.bare(tmp_path / "disk.git")))
    done = Sync(one, network.choose(one.repo, one.recovery, "disk", support.WAIT)).run()
    assert done.pushed
    assert {action.doing for action in done.actions} == {"send"}
    assert git(tmp_path / "disk.git", "rev-parse", "main").strip() == one.head()


def test_a_lock_left_by_a_dead_git_is_no_obstacle(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    learn(one, 5)
    sync(one)
    lock = two.root / ".git/refs/remotes/origin/main.lock"
    lock.write_text("")
    os.utime(lock, (1, 1))
    sync(two)
    assert not lock.exists()
    meet(one, two)


def test_a_copy_whose_remote_was_replaced_by_an_empty_one(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    shutil.rmtree(tmp_path / "remote.git")
    support.bare(tmp_path / "remote.git")
    sync(two)
    meet(one, two)
    assert tree(one) == tree(two)


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
    assert [entry.title for entry in two.log.entries() if TITLE in entry.title] == [TITLE]


def test_nothing_is_looked_for_where_nobody_merged_by_hand(tmp_path: Path) -> None:
    """A copy of a note that a person made stays: `check` names it, and what was meant only they
    know."""
    one, two = copies(tmp_path)
    by_hand(one, "copy.md", memory(1))
    sync(one)
    sync(two)
    assert (one.root / "copy.md").is_file()
    assert not [entry for entry in two.log.entries() if TITLE in entry.title]


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
    assert not [entry for entry in two.log.entries() if TITLE in entry.title]


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
