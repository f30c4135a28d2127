"""The small pieces a durable write is made of: disk, objects, journal, gate."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pygit2
import pytest

from oneiro_vault.errors import DiskProblem, GitProblem
from oneiro_vault.vault.git import objects
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.write import disk, journal
from oneiro_vault.vault.write.journal import Intent, Journal, Owed, boot_id, owed
from tests.vault.support import git, note, path_of, put, reopen, run, sound

REF = "refs/heads/main"
ERRORS = [
    (28, "full"),
    (30, "read-only"),
    (13, "permission"),
    (5, "input/output"),
    (17, "File exists"),
    (0, "odd"),
]
READ = (
    "import sys\nfrom pathlib import Path\nfrom tests.vault.support import *\n"
    "print(len(reopen(Path(sys.argv[1]), wait=0.2).listing()))"
)


@pytest.mark.parametrize(("number", "words"), ERRORS)
def test_disk_errors_say_what_happened_and_what_to_do(number: int, words: str) -> None:
    with pytest.raises(DiskProblem, match=words) as caught, disk.guarded("Writing x"):
        raise OSError(number, os.strerror(number)) if number else OSError("odd")
    assert str(caught.value).startswith("Writing x failed")
    assert caught.value.hint
    assert caught.value.kept


def test_sync_takes_none_one_and_many(tmp_path: Path) -> None:
    disk.sync([])
    disk.sync([str(tmp_path), str(tmp_path)])
    disk.sync([str(tmp_path), os.fspath(tmp_path.parent)])
    with pytest.raises(FileNotFoundError):
        disk.sync([str(tmp_path), str(tmp_path / "none")])


def test_write_new_never_replaces_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.write_new(str(tmp_path / "x"), b"one")
    with pytest.raises(FileExistsError):
        disk.write_new(str(tmp_path / "x"), b"two")

    def full(fd: int, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "write_all", full)
    with pytest.raises(OSError, match="No space"):
        disk.write_new(str(tmp_path / "y"), b"two")
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_free_space_is_positive(tmp_path: Path) -> None:
    assert disk.free(str(tmp_path)) > 0


def test_packs_are_what_git_reads(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    made: dict[pygit2.Oid, tuple[int, bytes]] = {}
    for size in (0, 1, 15, 16, 127, 2047, 2048, 300_000):
        data = os.urandom(size)
        made[pygit2.hash(data)] = (3, data)
    (tmp_path / "p.pack").write_bytes(b"".join(objects.pack(made)))
    with (tmp_path / "p.pack").open("rb") as file:
        subprocess.run(
            ["git", "-C", str(tmp_path), "index-pack", "--stdin"],
            stdin=file,
            check=True,
            capture_output=True,
        )
    repo = pygit2.Repository(str(tmp_path))
    assert all(repo.get(oid).data == data for oid, (_, data) in made.items())  # type: ignore[union-attr]  # it is there: the test made it


def test_the_memory_answers_for_what_is_not_on_disk_yet(vault: Vault) -> None:
    blob = vault.repo.add(b"x")
    assert vault.repo._draft[blob].data == b"x"
    with pytest.raises(GitProblem):
        vault.repo.data(blob)  # readers see what is on disk and nothing else
    memory = vault.repo._memory
    assert memory.read_header_cb(pygit2.Oid(hex=blob)) == (3, 1)
    with pytest.raises(KeyError):
        memory.exists_prefix_cb("abcd")
    memory.refresh_cb()
    vault.repo.discard()
    assert vault.repo.store().files == []


def test_objects_that_cannot_be_written_leave_no_file(
    vault: Vault, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(vault)
    real = disk.write_new
    count = 0

    def full(path: str, data: bytes, mode: int = 0o666) -> None:
        nonlocal count
        count += 1
        if count > 3:
            raise OSError(28, "No space left on device")
        real(path, data, mode)

    monkeypatch.setattr(disk, "write_new", full)
    with pytest.raises(DiskProblem, match="full"):
        put(vault, 1)
    monkeypatch.undo()
    assert not list((root / ".git/objects").glob("tmp_obj_*"))
    put(vault, 1)
    sound(root)


@pytest.mark.parametrize("step", ["begin", "name"])
def test_an_intent_that_is_not_durable_changes_nothing(
    vault: Vault, root: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    put(vault)
    tip = vault.head()

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    if step == "begin":
        monkeypatch.setattr(vault.journal, "begin", full)
    else:
        monkeypatch.setattr(objects.Stored, "name", full)
    with pytest.raises(DiskProblem):
        put(vault, 1)
    monkeypatch.undo()
    assert vault.head() == tip
    assert not list((root / ".git/objects").glob("tmp_obj_*"))
    put(vault, 1)
    sound(root)


def test_a_sync_that_fails_after_the_move_tears_nothing(
    vault: Vault, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(vault)
    real, calls = disk.sync, []

    def broken(paths: object) -> None:
        calls.append(paths)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")
        real(paths)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(disk, "sync", broken)
    with pytest.raises(DiskProblem, match="input/output"):
        put(vault, 1)
    monkeypatch.undo()
    fresh = reopen(root)
    assert fresh.read(path_of(1)) == note(1)
    sound(root)


def intent(commit: str, **paths: tuple[str, str, int]) -> Intent:
    return Intent(REF, "", commit, paths)


def test_what_is_owed_is_the_newest_and_what_may_be_there_is_anything_older() -> None:
    found = owed(
        [intent("1", a=("", "x", 0o100644)), intent("2", a=("x", "y", 0o100644), b=("z", "", 0))]
    )
    assert found["a"] == Owed("y", 0o100644, {"", "x"})
    assert (found["b"].entry, found["a"].entry) == (None, ("y", 0o100644))


def test_the_journal_keeps_what_it_was_told(tmp_path: Path) -> None:
    book = Journal(tmp_path)
    assert (book.read(), book.unchanged(), book.witnesses()) == ([], True, [])
    for name in "abc":
        book.begin(intent(name, x=("", name, 1)))
    book.done(book.intents[0])
    book.void(book.intents[1])
    other = Journal(tmp_path)
    assert other.unchanged() is False
    assert other.peek() == book.intents
    assert other.intents == []
    assert [(i.commit, i.on_disk) for i in other.read()] == [("a", True), ("c", False)]
    other.keep(other.intents[1:])
    assert book.unchanged() is False
    assert [i.commit for i in book.read()] == ["c"]
    book.keep(book.intents)
    book.keep([])
    assert (tmp_path / "journal").read_bytes() == b""
    book.clear()
    (tmp_path / "journal").write_bytes(b'[1]\n{"done": "none"}\n{"void": "none"}\n{"torn')
    assert book.read() == []
    book.begin(intent("d"))
    assert [i.commit for i in Journal(tmp_path).read()] == ["d"]


def test_a_journal_on_a_full_disk_has_whole_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = Journal(tmp_path)
    book.begin(intent("a"))

    def full(fd: int, data: bytes) -> None:
        os.write(fd, data[:7])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "write_all", full)
    with pytest.raises(OSError, match="No space"):
        book.begin(intent("b"))
    monkeypatch.undo()
    assert [i.commit for i in Journal(tmp_path).read()] == ["a"]


def test_a_system_without_boot_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    assert boot_id()

    def refuse(self: Path) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", refuse)
    assert boot_id() == ""
    assert journal._lines(Path("/none")) == []


def test_faults_do_nothing_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    disk.reach("locked")
    monkeypatch.setenv("ONEIRO_FAULT", "note:1000000")
    disk.reach("locked")
    disk.reach("note")
    assert (
        run(
            "from oneiro_vault.vault.write.disk import reach\nreach('a')\nreach('a')\n"
            "print('alive')",
            fault="a:3",
        ).stdout
        == "alive\n"
    )
    assert (
        run(
            "from oneiro_vault.vault.write.disk import reach\nreach('a')\nreach('a')\n"
            "print('alive')",
            fault="a:2",
        ).returncode
        == 137
    )
    assert (
        run("from oneiro_vault.vault.write.disk import reach\nreach('a')", fault="a").returncode
        == 137
    )


def test_an_unsettled_index_takes_no_acknowledgement_back(
    vault: Vault, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(vault)

    def broken(commit: object, *_: object) -> None:
        raise GitProblem("no")

    monkeypatch.setattr(vault.repo.staging, "put", broken)
    put(vault, 1)
    monkeypatch.undo()
    assert vault.gate.flush()
    sound(root)


def test_a_damaged_index_is_noticed_between_two_writes(vault: Vault, root: Path) -> None:
    put(vault)
    (root / ".git/index").write_bytes(b"DIRC" + bytes(60))
    put(vault, 1)
    sound(root)
    (root / ".git/index").write_bytes(b"DIRC" + bytes(60))
    (root / "mine.md").write_text("x")
    assert len(vault.edits.commit()) == 1
    sound(root)


@pytest.mark.parametrize("damage", ["middle", "cut", "gone"])
def test_a_damaged_index_heals_while_nobody_writes(vault: Vault, root: Path, damage: str) -> None:
    """As an owner sees it: the vault stays open, and what libgit2 read before still ends in the
    same bytes."""
    put(vault)
    vault.edits.commit()
    index = root / ".git/index"
    raw = bytearray(index.read_bytes())
    if damage == "gone":
        index.unlink()
    else:
        raw[20:60] = b"\xff" * 40
        index.write_bytes(raw if damage == "middle" else raw[:70])
    assert vault.gate.flush()
    sound(root)


def test_an_index_that_may_not_be_read_is_not_judged(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(vault)

    def refuse(*args: object, **options: object) -> object:
        raise PermissionError(13, "Permission denied")

    os.utime(vault.repo.staging.file, (1, 1))
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert vault.recovery.index_is_whole() is True


def test_a_damaged_index_under_a_living_lock_waits(vault: Vault, root: Path) -> None:
    put(vault)
    (root / ".git/index").write_bytes(b"garbage")
    (root / ".git/index.lock").write_text("")
    vault.recovery.mend_index()
    assert not (root / ".git/index").exists()
    (root / ".git/index.lock").unlink()
    put(vault, 1)
    sound(root)


def test_unmerged_files_are_not_mended_away(vault: Vault, root: Path) -> None:
    put(vault)
    git(
        root,
        "update-index",
        "--index-info",
        stdin=f"100644 {vault.listing()[path_of()]} 2\t{path_of()}\n",
    )
    vault.recovery.mend_index()
    assert git(root, "ls-files", "-u") != ""


def test_a_vault_opens_for_reading_while_another_process_writes(vault: Vault, root: Path) -> None:
    put(vault)
    (root / ".git/oneiro/journal").write_bytes(b'{"torn')  # something to repair
    (root / ".git/HEAD.lock").write_text("")
    with vault.gate.locked():
        started = time.monotonic()
        assert run(READ, root).stdout == "1\n"
        assert time.monotonic() - started < 20


def test_a_disk_without_room_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(DiskProblem, match="are free on the disk"):
        disk.refuse_full(tmp_path, 1 << 62)
    disk.refuse_full(tmp_path, 0)


def test_a_lost_holder_name_is_no_obstacle(vault: Vault, root: Path) -> None:
    from oneiro_vault.vault.write.write_lock import _kept

    assert str(_kept(root / "lock", root / "none", 3)).startswith("another process has held ")


def test_problems_are_found_and_the_safe_ones_fixed(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    assert vault.health.problems() == []
    (root / ".git/index.lock").write_text("")
    (root / ".git/config.lock").write_text("")
    for name in ("index.lock", "config.lock"):
        os.utime(root / ".git" / name, (time.time() - 5,) * 2)
    (found,) = vault.health.problems()
    assert (found.kind, found.fixable) == ("unfinished", True)
    assert vault.health.fix(found)
    assert vault.health.problems() == []
    for name in ("Twin.md", "twin.md"):
        (root / name).write_text(name)
    vault.edits.commit()
    (found,) = vault.health.problems()
    assert (found.kind, vault.health.fix(found)) == ("twins", "")
    git(root, "reset", "-q", "--hard", "HEAD~1")
    assert [p.kind for p in vault.health.problems()] == ["rewritten"]
    oid = vault.listing()[path_of(1)]
    place = root / ".git/objects" / oid[:2] / oid[2:]
    place.unlink()
    assert "damage" in [p.kind for p in reopen(root).health.problems()]


def test_a_new_vault_has_no_problems(vault: Vault) -> None:
    assert vault.health.problems() == []
