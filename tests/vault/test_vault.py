"""The one door: what apply promises, and what it refuses."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from oneiro_vault.errors import (
    AmbiguousId,
    Brake,
    DiskProblem,
    InvalidInput,
    LockTimeout,
    NotFound,
    RepositoryBusy,
    SecretFound,
    StaleMemory,
    UnsafePath,
    VaultNotFound,
)
from oneiro_vault.vault.change import Operation, Remove, Write
from oneiro_vault.vault.secrets.secret_scan import Secrets
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import digest
from tests.box import patient
from tests.vault.support import REMEMBER, git, make, note, path_of, put, reopen, run, sound


def test_a_first_write_makes_a_root_commit_with_trailers(vault: Vault, root: Path) -> None:
    operation = Operation(
        "remember",
        "Tea\nat four",
        "model",
        ("0" * 12,),
        reason="asked\n\nOneiro-Op: purge",
        run="r1",
        judge="offline",
    )
    receipt = vault.apply([Write(path_of(), note())], operation)
    assert receipt.commit == vault.head() == git(root, "rev-parse", "HEAD").strip()
    assert receipt.written == {path_of(): digest(note())}
    assert (root / path_of()).read_bytes() == note()
    assert git(root, "log", "-1", "--format=%s") == "remember: Tea at four\n"
    trailers = git(root, "log", "-1", "--format=%(trailers:only,unfold)").strip().splitlines()
    assert trailers[0] == "Oneiro-Op: remember"
    assert "Oneiro-Reason: asked Oneiro-Op: purge" in trailers
    assert f"Oneiro-Device: {vault.ledger.device}" in trailers
    assert sum(line.startswith("Oneiro-Op") for line in trailers) == 1
    assert git(root, "log", "-1", "--format=%an <%ae>") == "oneiro (model) <oneiro@localhost>\n"
    sound(root)


def test_many_changes_are_one_commit(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    before = int(git(root, "rev-list", "--count", "HEAD"))
    receipt = vault.apply(
        [
            Write(path_of(3), note(3)),
            Write(path_of(1), note(1, "new"), digest(note(1))),
            Remove(path_of(2), digest(note(2))),
        ],
        Operation("merge", "two into one", "dream"),
    )
    assert int(git(root, "rev-list", "--count", "HEAD")) == before + 1
    assert receipt.removed == (path_of(2),)
    assert set(receipt.written) == {path_of(1), path_of(3)}
    assert not (root / path_of(2)).exists()
    sound(root)


def test_a_large_batch_is_one_pack_and_reports_progress(vault: Vault, root: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    vault.apply(
        [Write(path_of(i), note(i)) for i in range(400)],
        REMEMBER,
        progress=lambda *step: seen.append(step),
    )
    assert seen[-1] == ("writing", 400, 400)
    assert len(list((root / ".git/objects/pack").glob("*.pack"))) == 1
    assert len(vault.listing()) == 400
    sound(root)


def test_writing_what_is_there_makes_no_commit(vault: Vault) -> None:
    data = put(vault)
    tip = vault.head()
    assert vault.apply([Write(path_of(), data, digest(data))], REMEMBER).commit == ""
    assert vault.head() == tip


def test_a_new_note_never_replaces_one(vault: Vault, root: Path) -> None:
    put(vault)
    with pytest.raises(StaleMemory, match="exists already"):
        vault.apply([Write(path_of(), note(0, "other"))], REMEMBER)
    (root / "mine.md").write_text("not committed yet")
    with pytest.raises(StaleMemory, match="exists already"):
        vault.apply([Write("mine.md", b"other")], REMEMBER)
    (root / path_of()).unlink()
    with pytest.raises(StaleMemory):
        vault.apply([Write(path_of(), b"other")], REMEMBER)
    assert (root / "mine.md").read_text() == "not committed yet"


def test_disk_wins_over_a_stale_write(vault: Vault, root: Path) -> None:
    data = put(vault)
    (root / path_of()).write_bytes(data + b"mine\n")
    tip = vault.head()
    with pytest.raises(StaleMemory, match="changed since"):
        vault.apply([Write(path_of(), note(0, "machine"), digest(data))], REMEMBER)
    assert vault.head() == tip
    proposal = (path_of(9), note(9, "machine"))
    receipt = vault.apply([Write(path_of(), note(0, "machine"), digest(data), proposal)], REMEMBER)
    assert receipt.proposals == {path_of(): path_of(9)}
    assert receipt.written == {path_of(9): digest(note(9, "machine"))}
    assert (root / path_of()).read_bytes() == data + b"mine\n"
    assert git(root, "status", "--porcelain").strip() == f"M {path_of()}"


def test_a_note_that_is_gone_is_stale(vault: Vault, root: Path) -> None:
    data = put(vault)
    (root / path_of()).unlink()
    with pytest.raises(StaleMemory, match="not there"):
        vault.apply([Write(path_of(), b"x", digest(data))], REMEMBER)
    receipt = vault.apply([Remove(path_of(), digest(data))], Operation("forget", "x"))
    assert receipt.removed == (path_of(),)
    sound(root)


def test_the_persons_edit_is_committed_first_under_their_name(vault: Vault, root: Path) -> None:
    put(vault)
    mine = note(0, "mine")
    (root / path_of()).write_bytes(mine)
    vault.apply(
        [Write(path_of(), note(0, "machine"), digest(mine))], Operation("revise", "Note 0", "dream")
    )
    assert git(root, "log", "--format=%an|%s", "-2").splitlines() == [
        "oneiro (dream)|revise: Note 0",
        "Ada|edit: Note 0",
    ]
    assert git(root, "show", f"HEAD~1:{path_of()}").encode() == mine
    sound(root)


def test_an_untracked_note_of_the_person_enters_history_before_it_changes(
    vault: Vault, root: Path
) -> None:
    put(vault, 1)
    (root / "mine.md").write_bytes(b"mine\n")
    vault.apply(
        [Write("mine.md", b"machine\n", digest(b"mine\n"))], Operation("revise", "mine", "model")
    )
    assert git(root, "show", "HEAD~1:mine.md") == "mine\n"
    assert git(root, "show", "HEAD:mine.md") == "machine\n"
    sound(root)


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../x.md", "a/../../x.md", "a//b.md", "./a.md", ".git/config", "a/.GIT/x.md", ".oneiro/x.md", "git~1/x", "a\0b.md",
     "x" * 300 + ".md", "\udcff.md", "d/" * 60 + "x.md", f"{'y' * 200}/" * 11 + "x.md", ".g\u200cit/x", "con.md", "what?.md",
     "trail .", "e\u0301.md"],
)  # fmt: skip
def test_unsafe_and_unportable_paths_are_refused(vault: Vault, path: str) -> None:
    with pytest.raises(UnsafePath):
        vault.apply([Write(path, b"x")], REMEMBER)
    assert vault.head() == ""


def test_links_fifos_and_folders_are_never_written_through(
    vault: Vault, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("secret")
    (root / "link").symlink_to(outside)
    (root / "l.md").symlink_to(outside / "x.md")
    (root / "folder.md").mkdir()
    (root / "file").write_text("")
    for path in ("link/x.md", "link/new.md", "l.md", "folder.md", "file/x.md"):
        with pytest.raises(UnsafePath):
            vault.apply([Write(path, b"y")], REMEMBER)
        with pytest.raises(UnsafePath):
            vault.apply([Remove(path, digest(b"secret"))], REMEMBER)
    assert [p.name for p in outside.iterdir()] == ["x.md"]
    assert (outside / "x.md").read_text() == "secret"


def test_a_file_and_a_folder_cannot_share_a_name(vault: Vault, root: Path) -> None:
    put(vault)
    with pytest.raises(UnsafePath):
        vault.apply([Write("semantic", b"x")], REMEMBER)
    git(root, "rm", "-rq", "--cached", "semantic")
    subprocess.run(["rm", "-r", root / "semantic"], check=True)
    git(root, "read-tree", "HEAD")
    with pytest.raises(UnsafePath, match="folder"):
        vault.apply([Write("semantic", b"x")], REMEMBER)


def test_a_case_twin_is_refused(vault: Vault) -> None:
    vault.apply([Write("Tea.md", b"x")], REMEMBER)
    with pytest.raises(UnsafePath, match="same file"):
        vault.apply([Write("tea.md", b"y")], REMEMBER)
    with pytest.raises(UnsafePath, match="same file"):
        vault.apply([Write("new/A.md", b"y"), Write("new/a.md", b"y")], REMEMBER)


def test_a_path_twice_or_a_secret_refuses_everything(root: Path) -> None:
    make(root)
    vault = Vault.open(root, secrets=Secrets(), reserve=0)
    with pytest.raises(InvalidInput, match="another one here"):
        vault.apply([Write("a.md", b"x"), Write("a.md", b"y")], REMEMBER)
    with pytest.raises(SecretFound, match="API key"):
        vault.apply(
            [Write("a.md", b"x"), Write("b.md", b"y", None, ("c.md", b"sk-" + b"a1b2c3d4e5" * 3))],
            REMEMBER,
        )
    assert vault.head() == ""


def test_staged_work_is_the_persons(vault: Vault, root: Path) -> None:
    data = put(vault)
    put(vault, 1)
    (root / path_of()).write_bytes(b"staged")
    git(root, "add", "-A")
    (root / path_of()).write_bytes(data)
    (root / "other.md").write_text("untracked")
    with pytest.raises(RepositoryBusy, match="staged"):
        vault.apply([Write(path_of(), b"machine", digest(data))], REMEMBER)
    (root / path_of()).write_bytes(b"staged")
    put(vault, 2)
    assert git(root, "diff", "--cached", "--name-only").split() == [path_of()]
    assert git(root, "status", "--porcelain").splitlines() == [f"M  {path_of()}", "?? other.md"]
    assert git(root, "show", f":{path_of()}") == "staged"


def _detach(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")


def _merge(root: Path) -> None:
    _branches(root)
    git(root, "merge", "other", check=False)


def _rebase(root: Path) -> None:
    _branches(root)
    git(root, "rebase", "other", check=False)


def _pick(root: Path) -> None:
    _branches(root)
    git(root, "cherry-pick", "other", check=False)


def _revert(root: Path) -> None:
    _branches(root)
    git(root, "revert", "--no-edit", "HEAD~1", check=False)


def _bisect(root: Path) -> None:
    _branches(root)
    git(root, "bisect", "start")


def _am(root: Path) -> None:
    _branches(root)
    patch = git(root, "format-patch", "-1", "--stdout", "other")
    git(root, "am", stdin=patch, check=False)


def _unmerged(root: Path) -> None:
    _merge(root)
    (root / ".git/MERGE_HEAD").unlink()


def _branches(root: Path) -> None:
    git(root, "switch", "-qc", "other")
    (root / path_of()).write_text("theirs")
    git(root, "commit", "-qam", "theirs")
    git(root, "switch", "-q", "main")
    (root / path_of()).write_text("ours")
    git(root, "commit", "-qam", "ours")
    (root / path_of()).write_text("ours, later")
    git(root, "commit", "-qam", "later")


@pytest.mark.parametrize(
    "state", [_detach, _merge, _rebase, _pick, _revert, _bisect, _am, _unmerged]
)
def test_the_middle_of_something_is_refused_and_left_alone(
    vault: Vault, root: Path, state: object
) -> None:
    put(vault)
    assert callable(state)
    state(root)
    before = git(root, "status", "--porcelain=v2", "--branch"), git(root, "rev-parse", "HEAD")
    with pytest.raises(RepositoryBusy) as caught:
        put(reopen(root), 5)
    assert caught.value.hint
    (root / "mine.md").write_text("x")
    if state is not _unmerged:  # its other files are not in anybody's way
        with pytest.raises(RepositoryBusy):
            vault.edits.commit()
    (root / "mine.md").unlink()
    assert before == (
        git(root, "status", "--porcelain=v2", "--branch"),
        git(root, "rev-parse", "HEAD"),
    )
    assert not (root / path_of(5)).exists()


def test_a_foreign_git_environment_is_ignored(
    vault: Vault, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(vault, 1)
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other / "objects"))
    fresh = reopen(root)
    put(fresh, 2)
    assert [entry.title for entry in fresh.log.entries()] == ["Note 2", "Note 1"]
    monkeypatch.undo()
    sound(root)
    assert not (other / "index").exists()
    assert git(other, "rev-list", "--all") == ""


def test_hooks_signing_filters_and_gc_of_the_person_are_not_run(root: Path) -> None:
    vault = make(root)
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        hook = root / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\ntouch hook-was-run\nexit 1\n")
        hook.chmod(0o755)
    for name, value in {
        "commit.gpgsign": "true",
        "user.signingkey": "none",
        "core.autocrlf": "true",
        "gc.auto": "1",
    }.items():
        git(root, "config", name, value)
    crlf = b"---\r\ntitle: x\r\n---\r\nline\r\n"
    vault.apply([Write("a.md", crlf)], REMEMBER)
    assert not (root / "hook-was-run").exists()
    assert vault.repo.data(vault.listing()["a.md"]) == crlf == (root / "a.md").read_bytes()


def test_a_linked_worktree_is_a_vault_of_its_own_branch(
    vault: Vault, root: Path, tmp_path: Path
) -> None:
    put(vault)
    git(root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = reopen(tmp_path / "side")
    put(side, 7)
    assert git(root, "log", "--format=%s", "side").splitlines()[0] == "remember: Note 7"
    assert not (root / path_of(7)).exists()
    assert side.ledger.device != vault.ledger.device
    sound(tmp_path / "side")
    sound(root)


def test_a_packed_branch_moves(vault: Vault, root: Path) -> None:
    put(vault)
    git(root, "pack-refs", "--all")
    git(root, "gc", "-q")
    put(vault, 1)
    sound(root)


def test_no_repository_is_no_vault(tmp_path: Path) -> None:
    with pytest.raises(VaultNotFound, match="not the root"):
        Vault.open(tmp_path)
    (tmp_path / ".git").mkdir()
    with pytest.raises(VaultNotFound, match="cannot be opened"):
        Vault.open(tmp_path)
    bare = tmp_path / "bare"
    git(tmp_path, "init", "-q", "--bare", str(bare / ".git"))
    with pytest.raises(VaultNotFound):
        Vault.open(bare)


def test_a_vault_inside_another_repository_is_not_that_repository(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "sub").mkdir()
    with pytest.raises(VaultNotFound):
        Vault.open(tmp_path / "sub")


def test_reading(vault: Vault, root: Path) -> None:
    data = put(vault)
    assert vault.read(path_of()) == data
    with pytest.raises(NotFound):
        vault.read("no.md")
    with pytest.raises(UnsafePath):
        vault.read("../x")


def test_changed_between_two_tips(vault: Vault) -> None:
    put(vault, 1)
    first = vault.head()
    put(vault, 2)
    put(vault, 1, "new")
    assert sorted(vault.repo.difference(first, vault.head())) == [path_of(1), path_of(2)]
    assert sorted(vault.repo.difference("", first)) == [path_of(1)]
    assert sorted(vault.repo.difference(first, "")) == [path_of(1)]


def test_a_lock_of_another_process_is_waited_for_and_named(vault: Vault, root: Path) -> None:
    put(vault)
    script = (
        "import sys,time\nfrom pathlib import Path\nfrom oneiro_vault.vault.vault import Vault\n"
        "v=Vault.open(Path(sys.argv[1]))\nwith v.gate.locked():\n print('held', flush=True)\n "
        "time.sleep(float(sys.argv[2]))\n"
    )
    import sys

    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(root), "30"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        started = time.monotonic()
        with pytest.raises(LockTimeout, match=f"process {holder.pid}"):
            put(reopen(root, wait=0.3), 1)
        assert time.monotonic() - started < patient(5)
        assert reopen(root, wait=0.1).gate.flush() is True
        holder.send_signal(signal.SIGSTOP)
        with pytest.raises(
            LockTimeout, match=f"process {holder.pid} has the write lock and is stopped"
        ) as caught:
            put(reopen(root, wait=0.3), 1)
        assert f"kill -CONT {holder.pid}" in caught.value.hint
    finally:
        holder.kill()
        holder.communicate()
    put(vault, 1)
    sound(root)


def test_threads_share_one_vault(vault: Vault, root: Path) -> None:
    failures: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for number in range(first, first + 5):
                put(vault, number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n * 10,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(vault.listing()) == 20
    sound(root)


def test_too_little_space_is_refused_before_anything_happens(root: Path) -> None:
    make(root)
    vault = reopen(root, reserve=1 << 60)
    with pytest.raises(DiskProblem, match="free"):
        put(vault)
    assert [p.kind for p in vault.health.problems()] == ["space"]


def test_removing_most_notes_at_once_is_stopped(vault: Vault) -> None:
    vault.apply([Write(path_of(i), note(i)) for i in range(20)], REMEMBER)
    with pytest.raises(Brake):
        vault.apply(
            [Remove(path_of(i), digest(note(i))) for i in range(11)],
            Operation("merge", "too much", "dream"),
        )
    vault.apply(
        [Remove(path_of(i), digest(note(i))) for i in range(10)],
        Operation("merge", "half", "dream"),
    )
    assert len(vault.listing()) == 10


@pytest.mark.parametrize("clock", [-1e12, 0.0, 1e12, 4e11])
def test_any_clock_makes_a_sound_commit(root: Path, clock: float) -> None:
    make(root)
    vault = Vault.open(root, clock=lambda: clock, quiet=0.0, reserve=0)
    put(vault)
    vault.ledger.use("0" * 12, "use")
    put(vault, 1)
    sound(root)


def test_a_lazy_index_is_settled_later_and_survives_a_person_looking(root: Path) -> None:
    make(root)
    vault = reopen(root, lazy_index=True)
    for number in range(3):
        put(vault, number)
    put(vault, 1, "again")
    assert git(root, "ls-files") == ""
    assert vault.edits.commit() == []
    assert vault.gate.flush()
    assert vault.gate.flush()
    sound(root)
    put(vault, 4)
    vault.close()
    sound(root)


def test_what_a_lagging_index_swallowed_comes_back(root: Path) -> None:
    """A person's `git commit` before the index knows of a write undoes it in HEAD; the note on disk
    brings it back."""
    make(root)
    vault = reopen(root, lazy_index=True)
    put(vault)
    vault.gate.flush()
    put(vault, 1)
    (root / "mine.md").write_text("mine")
    git(root, "add", "mine.md")
    git(root, "commit", "-qm", "by hand")
    assert path_of(1) not in git(root, "ls-files")
    vault.gate.flush()
    vault.edits.commit()
    vault.gate.flush()
    assert vault.repo.data(vault.listing()[path_of(1)]) == note(1)
    sound(root)


def test_forget_leaves_a_tombstone_and_restore_brings_the_bytes_back(
    vault: Vault, root: Path
) -> None:
    data = put(vault, 7)
    memory = f"{7:012d}"
    receipt = vault.forget(memory, path_of(7), digest(data), "user", "no longer true")
    assert receipt.removed == (path_of(7),)
    assert not (root / path_of(7)).exists()
    (event,) = vault.ledger.events()
    assert (event["e"], event["id"], event["sha256"]) == ("tombstone", memory, digest(data))
    assert "hello" not in git(root, "show", f"HEAD:{vault.ledger.file(time.time())}")
    assert vault.log.entries(1)[0].reason == "no longer true"
    sound(root)
    back = vault.restore("0000")
    assert back.written == {path_of(7): digest(data)}
    assert (root / path_of(7)).read_bytes() == data
    assert [event["e"] for event in vault.ledger.events()] == ["tombstone", "restore"]
    sound(root)
    with pytest.raises(NotFound, match="not forgotten"):
        vault.restore(memory)


def test_restore_needs_a_forgotten_memory_and_enough_letters(vault: Vault) -> None:
    for number in (1, 2):
        data = put(vault, number)
        vault.forget(f"{number:012d}", path_of(number), digest(data))
    with pytest.raises(AmbiguousId):
        vault.restore("0000")
    for prefix in ("000", "zzzz", "--al", "...."):
        with pytest.raises(NotFound):
            vault.restore(prefix)
    put(vault, 3)
    (vault.root / path_of(1)).write_text("taken")
    with pytest.raises(StaleMemory):
        vault.restore(f"{1:012d}")


def test_a_note_the_person_deleted_can_be_restored(vault: Vault, root: Path) -> None:
    put(vault, 1)
    data = put(vault, 2)
    (root / path_of(2)).unlink()
    (receipt,) = vault.edits.commit()
    assert receipt.removed == (path_of(2),)
    vault.restore(f"{2:012d}")
    assert (root / path_of(2)).read_bytes() == data


def test_what_commits_by_hand_did_to_a_memory_counts(vault: Vault, root: Path) -> None:
    """They name no memory, so the file is followed instead: moved it is still there, deleted it can
    come back."""
    memory = f"{1:012d}"
    put(vault, 1)
    git(root, "mv", path_of(1), "moved.md")
    git(root, "commit", "-qm", "moved by hand")
    put(vault, 2)
    vault.apply([Write("x.md", b"x")], Operation("link", "names it only", memories=(memory,)))
    with pytest.raises(NotFound, match="not forgotten"):
        vault.restore(memory)
    (root / "moved.md").write_bytes(note(1, "last words"))
    git(root, "commit", "-qam", "changed by hand")
    git(root, "rm", "-q", "moved.md")
    git(root, "commit", "-qm", "deleted by hand")
    vault.restore(memory)
    assert (root / "moved.md").read_bytes() == note(1, "last words")
    sound(root)


def test_what_came_back_under_another_name_is_not_restored_beside_it(
    vault: Vault, root: Path
) -> None:
    memory = f"{1:012d}"
    put(vault, 1)
    vault.forget(memory, path_of(1), digest((root / path_of(1)).read_bytes()))
    (root / "moved.md").write_bytes(note(1))
    git(root, "add", "moved.md")
    git(root, "commit", "-qm", "from another machine")
    with pytest.raises(NotFound, match="not forgotten"):
        vault.restore(memory)
    assert not (root / path_of(1)).exists()


def test_an_id_taken_out_of_its_note_by_hand_is_not_forgotten(vault: Vault, root: Path) -> None:
    put(vault, 1)
    (root / path_of(1)).write_text("no frontmatter any more")
    git(root, "commit", "-qam", "by hand")
    with pytest.raises(NotFound):
        vault.restore(f"{1:012d}")


def test_counting_and_stamps(vault: Vault) -> None:
    assert (vault.log.count(), vault.repo.ahead("", "")) == (0, 0)
    put(vault, 1)
    first, stamp = vault.head(), vault.ledger.stamp()
    put(vault, 2)
    assert vault.log.count() == 2
    assert vault.repo.ahead(first, vault.head()) == 1
    assert vault.repo.ahead("1" * 40, vault.head()) == 0
    assert vault.ledger.stamp() == stamp
    vault.ledger.use("1", "use")
    assert vault.ledger.stamp() != stamp
    waiting = vault.ledger.stamp()
    vault.fold()
    assert vault.ledger.stamp() not in (stamp, waiting)


def test_the_index_waits_for_the_lock_and_for_other_processes(root: Path) -> None:
    make(root)
    vault = reopen(root, lazy_index=True, wait=0.2)
    put(vault, 1)
    with reopen(root).gate.locked():
        assert vault.gate.flush() is False
    put(reopen(root), 2)
    put(vault, 3)
    assert (
        run(
            "import sys\nfrom tests.vault.support import *\nput(reopen(Path(sys.argv[1]), "
            "lazy_index=True), 4)",
            root,
        ).returncode
        == 0
    )
    assert vault.gate.flush() is True
    sound(root)


def test_forgetting_a_note_that_is_not_committed_keeps_its_bytes_in_history(
    vault: Vault, root: Path
) -> None:
    put(vault)
    (root / "mine.md").write_bytes(b"mine")
    vault.forget("", "mine.md", digest(b"mine"))
    assert git(root, "show", "HEAD~1:mine.md") == "mine"
    assert not (root / "mine.md").exists()
    sound(root)


def test_undo_and_undo_of_undo(vault: Vault, root: Path) -> None:
    first = put(vault, 1)
    put(vault, 1, "second")
    undone = vault.undo(vault.head())
    assert (root / path_of(1)).read_bytes() == first
    assert vault.log.entries(1)[0].op == "restore"
    vault.undo(undone.commit[:10])
    assert (root / path_of(1)).read_bytes() == note(1, "second")
    sound(root)


def test_undo_of_remember_forgets_and_of_forget_restores(vault: Vault, root: Path) -> None:
    put(vault, 1)
    data = put(vault, 2)
    vault.undo("HEAD")
    assert not (root / path_of(2)).exists()
    vault.undo("HEAD")
    assert (root / path_of(2)).read_bytes() == data
    assert [event["e"] for event in vault.ledger.events()] == ["tombstone", "restore"]
    sound(root)


def test_undo_of_a_persons_commit_and_of_a_move(vault: Vault, root: Path) -> None:
    put(vault)
    git(root, "mv", path_of(), "moved.md")
    (root / "noid.md").write_text("x")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "by hand")
    vault.undo(vault.head())
    assert (root / path_of()).exists()
    assert not (root / "moved.md").exists()
    assert [event["e"] for event in vault.ledger.events()] == ["restore"]
    sound(root)


def test_undo_refuses_what_it_would_lose(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 1, "second")
    second = vault.head()
    put(vault, 1, "third")
    with pytest.raises(StaleMemory, match=vault.head()[:10]):
        vault.undo(second)
    (root / path_of(1)).write_text("mine")
    with pytest.raises(StaleMemory):
        vault.undo(vault.head())
    git(root, "checkout", "-q", ".")
    git(root, "commit", "-qm", "later", "--allow-empty")
    with pytest.raises(InvalidInput, match="changed no note"):
        vault.undo("HEAD")
    first = git(root, "rev-list", "--max-parents=0", "HEAD").strip()
    with pytest.raises(InvalidInput, match="first commit"):
        vault.undo(first)
    for name in ("", "nope", "--all", "0" * 40):
        with pytest.raises(NotFound):
            vault.undo(name)
    git(root, "switch", "-qc", "side", "HEAD~1")
    (root / "side.md").write_text("x")
    git(root, "add", "side.md")
    git(root, "commit", "-qm", "side")
    side = git(root, "rev-parse", "HEAD").strip()
    git(root, "switch", "-q", "main")
    for action in (vault.undo, vault.log.show):
        with pytest.raises(NotFound):
            action(side)
    git(root, "merge", "-q", "--no-edit", "side")
    with pytest.raises(InvalidInput, match="merge"):
        vault.undo("HEAD")


def test_show_a_commit(vault: Vault) -> None:
    put(vault, 3)
    entry = vault.log.show("HEAD")
    assert (entry.op, entry.paths, entry.memories) == ("remember", (path_of(3),), (f"{3:012d}",))


def test_events_wait_and_ride_along_once(vault: Vault, root: Path) -> None:
    put(vault, 1)
    vault.ledger.use("a" * 12, "use", query="tea")
    assert git(root, "status", "--porcelain") == ""
    assert [event["query"] for event in vault.ledger.events()] == ["tea"]
    assert vault.log.entries(1)[0].op == "remember"
    put(vault, 2)
    vault.ledger.use("b" * 12, "use")
    put(vault, 3)
    assert [event["id"] for event in vault.ledger.events()] == ["a" * 12, "b" * 12]
    assert [event["id"] for event in reopen(root).ledger.events()] == ["a" * 12, "b" * 12]
    assert vault.fold().commit == ""
    vault.ledger.use("c" * 12, "use")
    assert vault.fold().commit
    assert vault.log.entries(1)[0].op == "ledger"
    lines = git(root, "show", f"HEAD:{vault.ledger.file(time.time())}").splitlines()
    assert len(lines) == 3
    sound(root)


def test_a_ledger_whose_last_line_is_torn_is_continued_on_a_new_line(
    vault: Vault, root: Path
) -> None:
    put(vault)
    name = vault.ledger.file(time.time())
    (root / name).parent.mkdir(parents=True)
    (root / name).write_text('{"e": "use", "torn')
    git(root, "add", "-A")
    git(root, "commit", "-qm", "torn")
    vault.ledger.use("a" * 12, "use")
    vault.fold()
    assert [event["id"] for event in vault.ledger.events()] == ["a" * 12]


def test_other_programs_moving_the_branch_are_followed(vault: Vault, root: Path) -> None:
    """A person commits between our look at the tip and our move of the branch: the write lands on
    top of theirs."""
    put(vault, 1)
    moves: list[str] = []
    real = vault.repo.move

    def slow(ref: str, old: str, new: str) -> bool:
        if len(moves) < 2:
            moves.append(git(root, "commit", "--allow-empty", "-qm", f"human {len(moves)}"))
        return real(ref, old, new)

    vault.repo.move = slow  # type: ignore[method-assign]  # only the moment is chosen here; the commits are real
    put(vault, 2)
    assert git(root, "log", "--format=%s").splitlines() == [
        "remember: Note 2",
        "human 1",
        "human 0",
        "remember: Note 1",
    ]
    (root / path_of(1)).write_bytes(note(1, "mine"))
    moves.clear()
    vault.edits.commit()
    assert git(root, "log", "--format=%s").splitlines()[:3] == [
        "edit: Note 1",
        "human 1",
        "human 0",
    ]
    vault.repo.move = lambda ref, old, new: False  # type: ignore[method-assign]  # one step is chosen, the rest is real
    with pytest.raises(LockTimeout, match="keeps moving"):
        put(vault, 3)
    vault.repo.move = real  # type: ignore[method-assign]  # one step is chosen, the rest is real
    assert reopen(root).log.entries(1)[0].title == "Note 1"
    sound(root)


@pytest.mark.slow
def test_two_processes_never_overwrite_each_other(vault: Vault, root: Path) -> None:
    put(vault, 99)
    script = (
        "import sys\nfrom pathlib import Path\nfrom tests.vault.support import *\n"
        "v=reopen(Path(sys.argv[1]), wait=60)\nfor i in range(10): put(v, "
        "int(sys.argv[2])*100+i); print('ok')\n"
    )
    import sys

    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(root), str(n)], stdout=subprocess.PIPE, text=True
        )
        for n in range(3)
    ]
    said = [process.communicate(timeout=120)[0] for process in running]
    assert [text.count("ok") for text in said] == [10, 10, 10]
    assert len(vault.listing()) == 31
    sound(root)


def test_importing_the_door_is_cheap() -> None:
    heavy = ("git", "torch", "chromadb", "pydantic", "detect_secrets", "requests")
    code = f"import sys, oneiro_vault.vault.vault\nprint([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "[]\n", done.stderr
