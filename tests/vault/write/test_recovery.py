"""A write may die between any two steps, and the power may go: the next opening repairs it without
inventing or losing anything."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from oneiro_vault.errors import Brake, GitProblem
from oneiro_vault.vault.change import Operation, Remove, Write
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import digest
from oneiro_vault.vault.write import recovery
from oneiro_vault.vault.write.disk import POINTS
from oneiro_vault.vault.write.journal import Journal
from tests.vault.support import REMEMBER, git, make, note, path_of, put, reopen, run, sound

ONE_WRITE = """
import sys
from pathlib import Path
from oneiro_vault.vault.change import Operation, Remove, Write
from oneiro_vault.vault.worktree.files import digest
from tests.vault.support import note, path_of, reopen
vault = reopen(Path(sys.argv[1]))
vault.ledger.use("a" * 12, "use")
changes = [Write(path_of(3), note(3)), Write("new/folder/x.md", b"x"), Write(path_of(1), note(1, "new"), digest(note(1)))]
changes.append(Remove(path_of(2), digest(note(2))))
print(vault.apply(changes, Operation("merge", "three", "dream")).commit, flush=True)
"""
EDIT = """
import sys
from pathlib import Path
from tests.vault.support import reopen
vault = reopen(Path(sys.argv[1]))
print(vault.edits.commit()[0].commit, flush=True)
"""


def old_state(vault: Vault) -> dict[str, bytes]:
    return {path_of(1): note(1), path_of(2): note(2)}


NEW_STATE = {path_of(1): note(1, "new"), path_of(3): note(3), "new/folder/x.md": b"x"}


def content(vault: Vault) -> dict[str, bytes]:
    return {path: vault.read(path) for path in vault.listing()}


@pytest.mark.parametrize("point", POINTS)
def test_dying_at_any_step_leaves_the_old_or_the_new_and_nothing_between(
    vault: Vault, root: Path, point: str
) -> None:
    put(vault, 1)
    put(vault, 2)
    done = run(ONE_WRITE, root, fault=point)
    assert done.returncode == 137, done.stderr
    after = reopen(root)
    sound(root)
    moved = POINTS.index(point) >= POINTS.index("moved") and point != "folded"
    assert content(after) == (NEW_STATE if moved else old_state(after))
    assert [event["id"] for event in after.ledger.events()] == ["a" * 12]
    assert after.edits.commit() == []
    put(after, 5)
    sound(root)
    assert [event["id"] for event in after.ledger.events()] == ["a" * 12]
    assert len(git(root, "show", f"HEAD:{after.ledger.file(after.clock())}").splitlines()) == 1
    assert not after.health.problems()


@pytest.mark.parametrize(
    "point", ["objects", "journal", "moved", "durable", "files", "index", "witness", "cleared"]
)
def test_dying_while_committing_a_persons_edit_changes_no_byte_on_disk(
    vault: Vault, root: Path, point: str
) -> None:
    put(vault, 1)
    (root / path_of(1)).write_bytes(note(1, "mine"))
    (root / "new.md").write_text("new")
    assert run(EDIT, root, fault=point).returncode == 137
    after = reopen(root)
    after.edits.commit()
    assert (root / path_of(1)).read_bytes() == note(1, "mine")
    assert git(root, "log", "--format=%an", "-1").strip() == "Ada"
    assert git(root, "show", "HEAD:new.md") == "new"
    assert int(git(root, "rev-list", "--count", "HEAD")) == 2
    sound(root)


def test_a_text_saved_after_the_crash_is_the_persons(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    assert run(ONE_WRITE, root, fault="durable").returncode == 137
    (root / path_of(1)).write_bytes(note(1, "mine"))
    after = reopen(root)
    assert (root / path_of(1)).read_bytes() == note(1, "mine")
    assert (root / path_of(3)).read_bytes() == note(3)
    after.edits.commit()
    assert [
        line.split("|")[0] for line in git(root, "log", "--format=%an|%s", "-2").splitlines()
    ] == ["Ada", "oneiro (dream)"]
    sound(root)


def test_a_branch_that_moved_on_after_the_crash_is_respected(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    assert run(ONE_WRITE, root, fault="durable").returncode == 137
    git(root, "reset", "-q", "--hard", "HEAD")
    (root / path_of(1)).write_bytes(note(1, "later"))
    git(root, "commit", "-qam", "later")
    after = reopen(root)
    assert after.read(path_of(1)) == note(1, "later")
    sound(root)


def test_a_reset_before_the_next_start_is_not_undone(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    assert run(ONE_WRITE, root, fault="files").returncode == 137
    git(root, "reset", "-q", "--hard", "HEAD~1")
    after = reopen(root)
    assert content(after) == old_state(after)
    git(root, "clean", "-fdq")
    sound(root)
    assert [p.kind for p in after.health.problems()] == ["rewritten"]
    with pytest.raises(Brake):
        put(after, 5)


def test_recovery_waits_while_a_person_is_in_the_middle_of_something(
    vault: Vault, root: Path
) -> None:
    put(vault, 1)
    put(vault, 2)
    assert run(ONE_WRITE, root, fault="durable").returncode == 137
    git(root, "checkout", "-q", "--detach", check=False)
    after = reopen(root)
    assert after.journal.intents
    assert after.gate.flush() is False
    git(root, "switch", "-q", "main")
    put(reopen(root), 5)
    sound(root)
    assert content(reopen(root)) == NEW_STATE | {path_of(5): note(5)}


def test_an_intent_of_a_branch_that_was_left_is_settled_by_leaving_it(
    vault: Vault, root: Path
) -> None:
    put(vault, 1)
    put(vault, 2)
    git(root, "branch", "side")
    assert run(ONE_WRITE, root, fault="files").returncode == 137
    git(root, "add", "-A")
    git(root, "switch", "-q", "side")
    other = reopen(root)
    put(other, 6)
    assert not other.journal.intents
    assert not other.health.problems()
    git(root, "switch", "-q", "main")
    back = reopen(root)
    assert content(back) == NEW_STATE
    sound(root)


@pytest.mark.parametrize(
    "how", ["symbolic-ref HEAD refs/heads/side", "update-ref --no-deref HEAD side"]
)
def test_what_was_written_while_git_left_the_branch_stays_on_that_branch(
    vault: Vault, root: Path, how: str
) -> None:
    """git passes over what it did not expect in the folder: it would become an edit of the person
    on the other branch, and git would not go back over a file that it does not know."""
    for number in range(3):
        put(vault, number)
    git(root, "branch", "side")
    late = reopen(root, lazy_index=True)
    put(late, 1, "revised")
    put(late, 7)
    late.forget(f"{2:012d}", path_of(2), digest(note(2)))
    main = late.head()
    git(root, "read-tree", "side")
    git(root, *how.split())
    if how.startswith("symbolic"):
        assert late.edits.commit() == []
    late.gate.flush()
    assert content(late) == {path_of(number): note(number) for number in range(3)}
    sound(root)
    git(root, "switch", "-q", "main")
    assert late.edits.commit() == []
    assert late.head() == main
    assert content(late) == {
        path_of(0): note(0), path_of(1): note(1, "revised"), path_of(7): note(7)
    }  # fmt: skip
    sound(root)
    assert not late.health.problems()


def test_an_index_that_git_has_just_written_is_left_alone_until_head_has_followed(
    vault: Vault, root: Path
) -> None:
    put(vault, 1)
    git(root, "branch", "side")
    late = reopen(root, lazy_index=True)
    put(late, 7)
    git(root, "read-tree", "side")
    os.utime(root / ".git/index")  # this very moment, however long git took to end
    assert not late.gate.settled()
    git(root, "symbolic-ref", "HEAD", "refs/heads/side")
    assert late.gate.flush()
    assert content(late) == {path_of(1): note(1)}
    sound(root)


def test_a_head_that_has_moved_already_is_not_waited_for(vault: Vault, root: Path) -> None:
    put(vault, 1)
    late = reopen(root, lazy_index=True)
    put(late, 7)
    now = time.time_ns()
    os.utime(root / ".git/index", ns=(now, now))
    assert not late.gate.settled()
    os.utime(root / ".git/HEAD", ns=(now + 1, now + 1))
    assert late.gate.settled()
    assert path_of(7) in git(root, "ls-files")


def test_a_branch_made_from_what_was_just_written_has_it(vault: Vault, root: Path) -> None:
    put(vault, 1)
    late = reopen(root, lazy_index=True)
    put(late, 7)
    git(root, "switch", "-qc", "side")
    assert late.gate.flush()
    assert content(late) == {path_of(1): note(1), path_of(7): note(7)}
    sound(root)


@pytest.mark.parametrize(
    "name", ["index.lock", "HEAD.lock", "refs/heads/main.lock", "packed-refs.lock", "config.lock"]
)
def test_a_lock_of_a_dead_program_is_moved_aside_and_logged(
    vault: Vault, root: Path, name: str
) -> None:
    put(vault, 1)
    lock = root / ".git" / name
    lock.write_text("left behind")
    os.utime(lock, (time.time() - 5,) * 2)
    put(vault, 2) if name in ("index.lock", "refs/heads/main.lock") else put(reopen(root), 2)
    assert not lock.exists()
    sound(root)
    (logged,) = (
        json.loads(line) for line in (root / ".git/oneiro/repairs.jsonl").read_text().splitlines()
    )
    assert Path(logged["aside"]).read_text() == "left behind"
    if name in ("index.lock", "refs/heads/main.lock"):
        lock.write_text("left behind just now")
        put(vault, 3)
        assert vault.gate.flush()
        assert not lock.exists()


def _hold(path: Path) -> str:
    return f"import time; f=open({str(path)!r}, 'w'); print('held', flush=True); time.sleep(60)"


@pytest.mark.parametrize("name", ["index.lock", "refs/heads/main.lock"])
def test_a_lock_of_a_living_program_is_left_alone(root: Path, name: str) -> None:
    import subprocess
    import sys

    from oneiro_vault.errors import LockTimeout

    make(root)
    vault = reopen(root, wait=0.5)
    put(vault, 1)
    lock = root / ".git" / name
    holder = subprocess.Popen(
        [sys.executable, "-c", _hold(lock)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        if name == "index.lock":
            put(vault, 2)
            assert (root / path_of(2)).exists()
            assert vault.gate.flush() is False
            assert vault.edits.commit() == []
        else:
            with pytest.raises(LockTimeout, match=r"main\.lock"):
                put(vault, 2)
            assert not (root / path_of(2)).exists()
        assert lock.exists()
    finally:
        holder.kill()
        holder.communicate()
    lock.unlink()
    if name == "index.lock":
        assert vault.gate.flush()
    else:
        put(vault, 2)
    sound(root)


def _cut_power(root: Path) -> None:
    """Make the next opening believe that the machine was restarted."""
    tip = root / ".git/oneiro/tip"
    lines = [json.loads(line) | {"boot": "the one before"} for line in tip.read_text().splitlines()]
    tip.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("damage", [b"", b"\0" * 200, b"garbage", None])
def test_a_damaged_index_is_rebuilt_from_head(
    vault: Vault, root: Path, damage: bytes | None
) -> None:
    put(vault, 1)
    index = root / ".git/index"
    if damage is None:
        index.unlink()
    else:
        index.write_bytes(damage)
    put(vault, 2)
    sound(root)
    if damage is None:
        index.unlink()
    else:
        index.write_bytes(damage)
    reopen(root)
    sound(root)
    assert len(list((root / ".git/oneiro/aside").glob("*index.aside"))) == (
        0 if damage is None else 2
    )


@pytest.mark.parametrize("damage", [bytes(40), b"\xff" * 40, b"\x30" * 40])
def test_a_damaged_index_in_its_middle_is_rebuilt_too(
    vault: Vault, root: Path, damage: bytes
) -> None:
    for number in range(3):
        put(vault, number)
    index = root / ".git/index"

    def scratch(at: int) -> None:
        raw = bytearray(index.read_bytes())
        raw[at : at + len(damage)] = damage
        index.write_bytes(raw)

    for number, at in enumerate(range(12, 160, 12), start=4):
        scratch(at)
        put(reopen(root), number)
        sound(root)
    scratch(60)
    assert reopen(root).edits.commit() == []
    sound(root)


def test_an_emptied_branch_comes_back_from_the_witness(vault: Vault, root: Path) -> None:
    put(vault, 1)
    data = put(vault, 2)
    tip = vault.head()
    for damage in (b"", b"garbage\n", b"0123456789012345678901234567890123456789\n"):
        (root / ".git/refs/heads/main").write_bytes(damage)
        after = reopen(root)
        assert after.head() == tip
        assert after.read(path_of(2)) == data
        sound(root)
    (root / ".git/refs/heads/main").unlink()
    assert reopen(root).head() == tip
    sound(root)


def test_a_branch_whose_objects_were_not_durable_goes_back_to_the_last_whole_commit(
    vault: Vault, root: Path
) -> None:
    put(vault, 1)
    tip = vault.head()
    (root / path_of(1)).write_bytes(note(1, "by hand"))
    git(root, "commit", "-qam", "by hand, without fsync")
    lost = git(root, "rev-parse", "HEAD", "HEAD^{tree}", "HEAD:" + path_of(1)).split()
    for oid in lost:
        place = root / ".git/objects" / oid[:2] / oid[2:]
        place.chmod(0o644)
        place.write_bytes(b"")
    (root / ".git/index").write_bytes(b"")
    after = reopen(root)
    assert after.head() == tip
    assert (root / path_of(1)).read_bytes() == note(1, "by hand")
    after.edits.commit()
    assert git(root, "show", f"HEAD:{path_of(1)}").encode() == note(1, "by hand")
    sound(root)


def test_an_intent_whose_branch_is_unreadable_still_counts(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    assert run(ONE_WRITE, root, fault="durable").returncode == 137
    (root / ".git/refs/heads/main").write_bytes(b"")
    after = reopen(root)
    assert content(after) == NEW_STATE
    sound(root)


def test_nothing_whole_anywhere_is_said_clearly(vault: Vault, root: Path) -> None:
    put(vault, 1)
    shutil.rmtree(root / ".git/objects")
    (root / ".git/objects").mkdir()
    with pytest.raises(GitProblem, match="cannot be read") as caught:
        reopen(root)
    assert "untouched" in caught.value.kept
    assert (root / path_of(1)).read_bytes() == note(1)


@pytest.mark.parametrize("damage", [b"", b"\0\0\0", None])
def test_an_emptied_head_is_written_again(vault: Vault, root: Path, damage: bytes | None) -> None:
    put(vault, 1)
    if damage is None:
        (root / ".git/HEAD").unlink()
    else:
        (root / ".git/HEAD").write_bytes(damage)
    after = reopen(root)
    assert after.read(path_of(1)) == note(1)
    sound(root)


def test_a_head_is_not_invented(tmp_path: Path, vault: Vault, root: Path) -> None:
    assert recovery.mend_head(tmp_path) is False
    put(vault)
    assert recovery.mend_head(root) is False


def test_notes_emptied_by_a_power_cut_are_restored_and_only_then(vault: Vault, root: Path) -> None:
    data = put(vault, 1)
    (root / path_of(1)).write_bytes(b"")
    assert reopen(root).read(path_of(1)) == b""
    _cut_power(root)
    after = reopen(root)
    assert after.read(path_of(1)) == data
    sound(root)
    (root / path_of(1)).write_bytes(b"")
    assert reopen(root).read(path_of(1)) == b""


def test_a_power_cut_in_the_middle_of_a_write(vault: Vault, root: Path) -> None:
    """What was not fsynced yet at the moment of dying is emptied: the staged notes (under temporary
    and final names) and the index."""
    put(vault, 1)
    put(vault, 2)
    for point in ("journal", "moved", "note-temp"):
        shutil.copytree(root, copy := root.parent / point, symlinks=True)
        assert run(ONE_WRITE, copy, fault=point).returncode == 137
        for path in [
            *copy.rglob("*.oneiro-tmp"),
            copy / ".git/index",
            *(copy / ".git/logs").rglob("main"),
        ]:
            path.write_bytes(b"")
        _cut_power(copy)
        after = reopen(copy)
        assert content(after) == (old_state(after) if point == "journal" else NEW_STATE)
        sound(copy)
    shutil.copytree(root, copy := root.parent / "published", symlinks=True)
    assert run(ONE_WRITE, copy, fault="files").returncode == 137
    for name in (path_of(1), path_of(3)):
        (copy / name).write_bytes(b"")
    journal = copy / ".git/oneiro/journal"
    journal.write_bytes(
        b"".join(
            line for line in journal.read_bytes().splitlines(keepends=True) if b'"done"' not in line
        )
    )
    _cut_power(copy)
    after = reopen(copy)
    assert content(after) == NEW_STATE
    sound(copy)


def test_a_torn_journal_line_is_no_intent(vault: Vault, root: Path) -> None:
    put(vault, 1)
    journal = root / ".git/oneiro/journal"
    journal.write_bytes(b'{"commit":"' + b"a" * 40)
    after = reopen(root)
    put(after, 2)
    sound(root)
    assert journal.read_bytes() == b""


def test_a_note_that_could_not_be_written_is_caught_up(vault: Vault, root: Path) -> None:
    """The commit is durable but the disk refuses the note: acknowledged, and brought when it can
    be."""
    put(vault, 1)
    real = vault.files.stage

    def refuse(path: str, data: bytes) -> str:
        raise OSError(28, "No space left on device")

    vault.files.stage = refuse  # type: ignore[method-assign]  # a full disk at exactly this step
    receipt = vault.apply([Write(path_of(2), note(2)), Write(path_of(3), note(3))], REMEMBER)
    vault.files.stage = real  # type: ignore[method-assign]  # a disk that refuses one file
    assert receipt.commit == vault.head()
    assert not (root / path_of(2)).exists()
    put(vault, 4)
    assert vault.read(path_of(2)) == note(2)
    sound(root)


def test_a_removal_that_could_not_be_done_is_caught_up(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    real = vault.files.remove

    def refuse(path: str, expected: str) -> bool:
        raise OSError(5, "Input/output error")

    vault.files.remove = refuse  # type: ignore[method-assign]  # a disk that refuses one file
    vault.apply([Remove(path_of(2), digest(note(2)))], Operation("forget", "x"))
    vault.files.remove = real  # type: ignore[method-assign]  # a disk that refuses one file
    assert (root / path_of(2)).exists()
    assert reopen(root).listing() == {path_of(1): vault.listing()[path_of(1)]}
    assert not (root / path_of(2)).exists()
    sound(root)


def test_the_witness_is_short(root: Path) -> None:
    make(root)
    journal = Journal(root / ".git/oneiro")
    journal.folder.mkdir(exist_ok=True)
    for number in range(900):
        journal.witness("refs/heads/main", f"{number:040d}", ["a/b.md"])
    assert (root / ".git/oneiro/tip").stat().st_size < 70_000
    assert journal.witnesses()[0].commit == f"{899:040d}"


def test_a_restart_is_noted_once(vault: Vault, root: Path) -> None:
    put(vault)
    _cut_power(root)
    assert vault.recovery.needed()
    reopen(root)
    assert not vault.recovery.needed()


def test_a_folder_that_was_swept_away_stops_no_repair(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    assert run(ONE_WRITE, root, fault="note-temp").returncode == 137
    shutil.rmtree(root / "semantic")
    after = reopen(root)
    assert (root / path_of(3)).exists()
    assert not (root / path_of(2)).exists()
    # note 1 was there before and is gone now: that was the person, and it is not written back
    # behind their back
    assert not (root / path_of(1)).exists()
    after.edits.commit()
    sound(root)


def test_no_proc_means_no_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from oneiro_vault.vault.git import activity

    lock = tmp_path / "index.lock"
    assert activity.abandoned(lock, tmp_path) is False
    lock.write_text("")
    monkeypatch.setattr(os.path, "isdir", lambda path: False)
    assert activity.abandoned(lock, tmp_path) is False


def test_a_branch_of_the_persons_own_is_not_repaired(vault: Vault, root: Path) -> None:
    put(vault)
    git(root, "switch", "-q", "--orphan", "mine")
    fresh = reopen(root)
    assert fresh.head() == ""
    assert git(root, "branch", "--show-current") == "mine\n"


def test_a_restart_in_the_middle_of_something_is_noted_later(vault: Vault, root: Path) -> None:
    put(vault)
    git(root, "checkout", "-q", "--detach")
    _cut_power(root)
    assert reopen(root).recovery.needed()
    git(root, "switch", "-q", "main")
    reopen(root)
    assert not reopen(root).recovery.needed()


def test_a_lost_reflog_is_no_obstacle(vault: Vault, root: Path) -> None:
    put(vault)
    shutil.rmtree(root / ".git/logs")
    (root / ".git/refs/heads/main").write_bytes(b"")
    assert reopen(root).read(path_of()) == note()
    sound(root)


def test_a_person_saving_in_the_middle_keeps_their_text(vault: Vault, root: Path) -> None:
    """Between the commit and the new file: their text stays on disk and is committed on top."""
    base = digest(put(vault, 1))
    real = vault.files.stage

    def stage(path: str, data: bytes) -> str:
        temp = real(path, data)
        (root / path_of(1)).write_bytes(note(1, "mine"))
        return temp

    vault.files.stage = stage  # type: ignore[method-assign]  # only the moment is chosen
    vault.apply([Write(path_of(1), note(1, "machine"), base)], REMEMBER)
    vault.files.stage = real  # type: ignore[method-assign]  # a disk that refuses one file
    assert vault.read(path_of(1)) == note(1, "mine")
    vault.edits.commit()
    assert git(root, "show", f"HEAD:{path_of(1)}").encode() == note(1, "mine")
    assert git(root, "show", f"HEAD~1:{path_of(1)}").encode() == note(1, "machine")
    sound(root)


def test_a_lock_that_is_released_is_waited_for(vault: Vault, root: Path) -> None:
    import subprocess
    import sys

    put(vault, 1)
    lock = root / ".git/refs/heads/main.lock"
    script = (
        f"import os, time; f=open({str(lock)!r}, 'w'); print('held', flush=True); time.sleep(1); "
        f"os.unlink({str(lock)!r})"
    )
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    holder.stdout.readline()
    put(vault, 2)
    assert holder.wait() == 0
    sound(root)
    holder.communicate()


def test_a_branch_that_is_unreadable_without_a_witness_is_said_clearly(
    vault: Vault, root: Path
) -> None:
    put(vault)
    (root / ".git/oneiro/tip").unlink()
    (root / ".git/refs/heads/main").write_bytes(b"garbage")
    with pytest.raises(GitProblem, match="refs/heads/main cannot be read"):
        reopen(root)
    assert (root / path_of()).read_bytes() == note()


def test_a_head_file_that_names_no_branch(tmp_path: Path) -> None:
    assert recovery._head_ref(tmp_path) == ""
    (tmp_path / "HEAD").write_bytes(b"\xff")
    assert recovery._head_ref(tmp_path) == ""
    (tmp_path / "HEAD").write_text("ref: refs/heads/main\n")
    assert recovery._head_ref(tmp_path) == "refs/heads/main"
