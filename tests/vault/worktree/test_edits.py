"""A person's edits: found, judged, committed under their name; nothing swept up, nothing
invented."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oneiro_vault.errors import RepositoryBusy, StaleMemory
from oneiro_vault.vault.change import Write
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree import edits
from oneiro_vault.vault.worktree.files import LARGEST, Files, digest
from tests.box import patient
from tests.vault.support import REMEMBER, git, long_ago, make, note, path_of, put, reopen, sound

MARKED = b"---\ntitle: x\n---\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n"


def test_new_changed_deleted_and_moved_files_are_one_commit_of_the_person(
    vault: Vault, root: Path
) -> None:
    for number in range(4):
        put(vault, number)
    (root / path_of(0)).write_bytes(note(0, "mine"))
    (root / path_of(1)).unlink()
    (root / "projects").mkdir()
    (root / path_of(2)).rename(root / "projects/Two words.md")
    (root / "new.md").write_text("no frontmatter")
    (root / "attachments/ab").mkdir(parents=True)
    (root / "attachments/ab/x.png").write_bytes(b"\0png")
    (root / "oneiro.toml").write_text("")
    (root / "script.py").write_text("not a note")
    (root / ".obsidian").mkdir()
    (root / ".obsidian/x.md").write_text("not ours")
    (receipt,) = vault.edits.commit()
    assert set(receipt.written) == {
        path_of(0),
        "projects/Two words.md",
        "new.md",
        "attachments/ab/x.png",
        "oneiro.toml",
    }
    assert set(receipt.removed) == {path_of(1), path_of(2)}
    entry = vault.log.entries(1)[0]
    assert (entry.op, entry.author, entry.actor, entry.title) == ("edit", "Ada", "user", "7 files")
    assert set(entry.memories) == {f"{n:012d}" for n in (0, 1, 2)}
    assert git(root, "status", "--porcelain").splitlines() == ["?? .obsidian/", "?? script.py"]
    assert vault.edits.commit() == []


def test_one_file_gives_the_subject_its_title(vault: Vault, root: Path) -> None:
    put(vault, 1)
    (root / path_of(1)).write_bytes(note(1, "mine"))
    vault.edits.commit()
    (root / "oneiro.toml").write_text("x")
    vault.edits.commit()
    assert git(root, "log", "--format=%s", "-2").splitlines() == [
        "edit: oneiro.toml",
        "edit: Note 1",
    ]


def test_the_readme_of_the_vault_can_be_edited_though_it_is_no_note(
    vault: Vault, root: Path
) -> None:
    (root / "README.md").write_text("<!-- oneiro-vault: what this folder is -->\n")
    vault.edits.commit()
    assert git(root, "ls-files") == "README.md\n"
    assert [stat.path for stat in vault.files.scan()] == []
    (root / "README.md").unlink()
    vault.edits.commit()
    assert git(root, "ls-files") == ""


def test_a_file_in_use_waits_and_a_time_in_the_future_does_not_block_for_ever(root: Path) -> None:
    vault = make(root)
    put(vault)
    slow = reopen(root, quiet=3600)
    for name in ("a.md", "b.md", "c.md"):
        (root / name).write_text(name)
    os.utime(root / "b.md", (time.time() - 7200,) * 2)
    long_ago(root)
    assert slow.edits.look().waiting == ["a.md", "c.md"]
    (receipt,) = slow.edits.commit()
    assert list(receipt.written) == ["b.md"]
    os.utime(root / "a.md", (time.time() + 86400,) * 2)
    assert slow.edits.look().waiting == ["a.md", "c.md"]
    later = Vault.open(root, clock=lambda: time.time() + 7200, quiet=3600, reserve=0)
    (receipt,) = later.edits.commit()
    assert list(receipt.written) == ["a.md", "c.md"]
    back = Vault.open(root, clock=lambda: time.time() - 10**6, quiet=3600, reserve=0)
    (root / "d.md").write_text("written while the clock was ahead")
    assert len(back.edits.commit()) == 1


def test_a_deletion_waits_until_its_folder_rests(root: Path) -> None:
    vault = make(root)
    put(vault, 1)
    put(vault, 2)
    slow = reopen(root, quiet=3600)
    (root / path_of(1)).unlink()
    assert slow.edits.look().waiting == [path_of(1)]
    os.utime((root / path_of(1)).parent, (time.time() - 7200,) * 2)
    long_ago(root)
    (receipt,) = slow.edits.commit()
    assert receipt.removed == (path_of(1),)


def test_only_the_named_paths_are_committed(vault: Vault, root: Path) -> None:
    put(vault)
    (root / "a.md").write_text("a")
    (root / "b.md").write_text("b")
    (receipt,) = vault.edits.commit(["a.md", "a.md", "not-there.md"])
    assert list(receipt.written) == ["a.md"]
    assert git(root, "status", "--porcelain").strip() == "?? b.md"


def test_conflict_markers_are_never_committed(vault: Vault, root: Path) -> None:
    data = put(vault)
    (root / path_of()).write_bytes(MARKED)
    (root / "ok.md").write_text("text about <<<<<<< markers\n=======\n")
    (receipt,) = vault.edits.commit()
    assert list(receipt.written) == ["ok.md"]
    assert vault.edits.look().conflicted == [path_of()]
    assert [(p.kind, p.path) for p in vault.health.problems()] == [("conflict", path_of())]
    assert vault.repo.data(vault.listing()[path_of()]) == data
    with pytest.raises(StaleMemory, match="conflict markers"):
        vault.apply([Write(path_of(), b"machine", digest(MARKED))], REMEMBER)


def test_staged_and_unmerged_paths_are_the_persons(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    (root / path_of(1)).write_bytes(note(1, "staged"))
    git(root, "add", path_of(1))
    (root / path_of(1)).write_bytes(note(1, "staged and more"))
    (root / path_of(2)).write_bytes(note(2, "mine"))
    (receipt,) = vault.edits.commit()
    assert list(receipt.written) == [path_of(2)]
    assert git(root, "status", "--porcelain").strip() == f"MM {path_of(1)}"
    assert git(root, "show", f":{path_of(1)}").encode() == note(1, "staged")
    assert [p.kind for p in vault.health.problems()] == ["staged"]
    git(root, "commit", "-qm", "by hand")
    git(root, "stash", "-q")
    (root / path_of(1)).write_bytes(note(1, "other"))
    git(root, "commit", "-qam", "other")
    git(root, "stash", "pop", check=False)
    assert vault.edits.look().conflicted == [path_of(1)]
    with pytest.raises(RepositoryBusy, match="unmerged"):
        put(vault, 3)
    assert "busy" in [p.kind for p in vault.health.problems()]


def test_links_and_other_strangers_are_not_read(vault: Vault, root: Path, tmp_path: Path) -> None:
    put(vault)
    (tmp_path / "secret.md").write_text("secret")
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    (root / path_of()).unlink()
    (root / path_of()).symlink_to(tmp_path / "secret.md")
    nested = root / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    (nested / "x.md").write_text("theirs")
    assert vault.edits.commit() == []
    assert {refused.path for refused in vault.edits.look().refused} == {"link.md", path_of()}
    assert {p.path for p in vault.health.problems()} == {"link.md", path_of(), "nested"}


def test_a_huge_file_is_left_alone(vault: Vault, root: Path) -> None:
    put(vault)
    with (root / "huge.md").open("wb") as file:
        file.truncate(100_000_001)
    assert vault.edits.commit() == []
    assert "100 MB" in vault.edits.look().refused[0].reason


def test_a_handful_of_deletions_is_believed_and_more_are_asked_about(
    vault: Vault, root: Path
) -> None:
    vault.apply([Write(path_of(i), note(i)) for i in range(15)], REMEMBER)
    vault.apply([Write(f"other/{i}.md", b"x%d" % i) for i in range(5)], REMEMBER)
    shutil.rmtree(root / "other")
    (receipt,) = vault.edits.commit()
    assert len(receipt.removed) == 5
    (root / "mine.md").write_text("mine")
    shutil.rmtree(root / "semantic")
    assert [list(receipt.written) for receipt in vault.edits.commit()] == [["mine.md"]]
    assert vault.edits.commit([path_of(3)]) == []  # nor by a look at one of them
    (problem,) = vault.health.problems()
    assert (problem.kind, problem.message) == (
        "brake",
        "15 notes are gone from the disk, and that is not committed",
    )
    assert "git add -A" in problem.hint
    git(root, "add", "-A")
    git(root, "commit", "-qm", "they are meant to be gone")
    assert (vault.edits.look().asked, vault.health.problems()) == (False, [])
    sound(root)


def test_what_takes_a_loss_back_leaves_every_other_edit_alone(vault: Vault, root: Path) -> None:
    """And what it names is what there is to name: git refuses a command with a file it does not
    know."""
    for place in ("a", "a/deep", "b c", "d"):
        (root / place).mkdir()
        for number in range(4):
            (root / place / f"{number}.md").write_text(f"{place} {number}")
    assert vault.edits.commit()
    shutil.rmtree(root / "a")
    for number in range(3):
        (root / f"b c/{number}.md").unlink()
    (root / "b c/3.md").write_text("mine, and not committed yet")
    (root / "oneiro.toml").write_text("# mine as well\n")
    (root / "d/0.md").unlink()
    (root / "d/new.md").write_bytes(b"")  # empty: nobody knows whether that is meant
    look = vault.edits.look()
    assert look.asked
    command, meant = (part.split("`")[0] for part in look.way_back().split("`git ")[1:3])
    assert command == "restore a 'b c/0.md' 'b c/1.md' 'b c/2.md' d"
    assert meant == "add -A a 'b c/0.md' 'b c/1.md' 'b c/2.md' d"
    git(root, *shlex.split(command))
    assert not vault.edits.look().gone
    assert (root / "b c/3.md").read_text() == "mine, and not committed yet"
    assert (root / "oneiro.toml").read_text() == "# mine as well\n"


def test_attachments_that_vanish_count_as_well(vault: Vault, root: Path) -> None:
    (root / "attachments").mkdir()
    for number in range(6):
        (root / f"attachments/{number}.png").write_bytes(b"\0%d" % number)
    vault.edits.commit()
    for number in range(6):
        (root / f"attachments/{number}.png").unlink()
    assert vault.edits.commit() == []
    assert vault.edits.look().question().startswith("6 files are gone from the disk")
    git(root, "restore", ".")
    (root / "attachments").rename(root / "elsewhere")
    (root / "elsewhere").rename(root / "attachments")
    (root / "attachments/0.png").unlink()
    assert vault.edits.commit()[0].removed == ("attachments/0.png",)


def test_deletions_that_trickle_in_add_up_until_they_are_old(root: Path) -> None:
    now = [time.time()]
    make(root)
    vault = Vault.open(root, clock=lambda: now[0], quiet=0.0, reserve=0)
    vault.apply([Write(f"{i}.md", b"x%d" % i) for i in range(12)], REMEMBER)
    for number in range(5):
        (root / f"{number}.md").unlink()
        assert len(vault.edits.commit()) == 1
    (root / "5.md").unlink()
    (root / "6.md").rename(root / "six.md")
    assert list(vault.edits.commit()[0].written) == ["six.md"]
    assert (
        vault.edits.look().question()
        == "1 more note is gone from the disk, and that is not committed"
    )
    now[0] += edits.LATELY + 1
    assert vault.edits.commit()[0].removed == ("5.md",)


def test_moving_everything_is_not_vanishing(vault: Vault, root: Path) -> None:
    vault.apply([Write(path_of(i), note(i)) for i in range(15)], REMEMBER)
    (root / "semantic").rename(root / "knowledge")
    (receipt,) = vault.edits.commit()
    assert len(receipt.removed) == len(receipt.written) == 15
    sound(root)


def test_ignored_files_stay_out(vault: Vault, root: Path) -> None:
    put(vault)
    (root / ".git/info/exclude").write_text("private/\n")
    (root / "private").mkdir()
    (root / "private/x.md").write_text("x")
    assert vault.edits.commit() == []


def test_the_executable_bit_of_a_new_file_is_kept(vault: Vault, root: Path) -> None:
    (root / "a.md").write_text("x")
    (root / "a.md").chmod(0o755)
    vault.edits.commit()
    assert git(root, "ls-files", "--stage").startswith("100755")
    sound(root)


def test_a_note_that_cannot_be_parsed_is_still_known_by_its_id() -> None:
    assert edits.identify("a/b.md", b"---\ntitle: [\nid: 7k2m9x4q8w3n\n---\n") == (
        "7k2m9x4q8w3n",
        "b.md",
    )
    assert edits.identify("a/b.md", b"\0\1") == ("", "b.md")


class SavedMeanwhile(Files):
    """A work tree in which an editor empties a file and writes it anew just as it is being read."""

    def read(self, path: str, limit: int = LARGEST) -> bytes:
        with open(self.absolute(path), "r+b") as file:
            text = file.read()
            file.truncate(0)
            half = super().read(path, limit)
            file.seek(0)
            file.write(text)
        return half


def test_bytes_that_change_while_they_are_read_are_not_believed(vault: Vault, root: Path) -> None:
    put(vault)
    (root / path_of()).write_bytes(note(0, "mine"))
    os.utime(root / path_of(), (1e9, 1e9))
    saved = edits.Edits(vault.repo, SavedMeanwhile(root))
    look = saved.look(
        vault.head(), edits.fresher(time.time, 600.0), None, (), vault.repo.staging.status()
    )
    assert (look.ready, look.waiting) == ({}, [path_of()])


WRITER = """
import sys, time
path, rounds = sys.argv[1], int(sys.argv[2])
for number in range(rounds):
    text = b"whole %d\\n" % number * 1000
    with open(path, "r+b", buffering=0) as file:
        emptied = time.monotonic()
        file.truncate(0)
        time.sleep(0.05)
        file.write(text)
        print(number, time.monotonic() - emptied, flush=True)
    time.sleep(0.4)
"""


@pytest.mark.slow
def test_an_editor_that_empties_a_file_before_it_writes_is_never_caught_half_way(
    vault: Vault, root: Path
) -> None:
    """No rest at all is asked for here; only an editor that is stopped by the machine for longer
    than a moment could be caught."""
    put(vault)
    rounds = 6
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root / path_of()), str(rounds)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        while process.poll() is None:
            vault.edits.commit()
        assert process.stdout is not None
        gaps = [float(line.split()[1]) for line in process.stdout]
    vault.edits.commit()
    whole = {b"whole %d\n" % number * 1000 for number in range(rounds)} | {note()}
    versions = {
        vault.repo.data(blob)
        for blobs in vault.past.versions([path_of()]).values()
        for blob in blobs
    }
    caught = versions - whole
    assert len(gaps) == rounds
    assert len(versions) > 2
    assert len(caught) <= sum(gap > edits.MOMENT for gap in gaps)


def test_a_machine_waits_for_a_text_that_is_a_moment_old(vault: Vault, root: Path) -> None:
    """Replacing a file that an editor has emptied and not yet filled would send the person's words
    nowhere."""
    put(vault)
    path = root / path_of()
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), "1"], stdout=subprocess.PIPE, text=True
    ) as process:
        while path.stat().st_size:
            time.sleep(0.002)
        caught = False
        try:
            vault.apply([Write(path_of(), b"of the machine", digest(b""))], REMEMBER)
        except StaleMemory:
            caught = True
        assert process.stdout is not None
        (gap,) = [float(line.split()[1]) for line in process.stdout]
    texts = [
        path.read_bytes(),
        *(
            vault.repo.data(blob)
            for blobs in vault.past.versions([path_of()]).values()
            for blob in blobs
        ),
    ]
    # only an editor that the machine stopped for longer than a moment, twice in its own pause,
    # could lose the file to the other
    assert caught or gap > edits.MOMENT or b"whole 0\n" * 1000 in texts


def test_a_file_that_only_looks_changed_makes_no_commit(vault: Vault, root: Path) -> None:
    data = put(vault)
    os.utime(root / path_of(), (1, 1))
    assert vault.edits.commit() == []
    (root / path_of()).write_bytes(b"x")
    (root / path_of()).write_bytes(data)
    assert vault.edits.commit() == []


def test_a_folder_that_cannot_be_listed_deletes_nothing(
    vault: Vault, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(vault, 1)
    put(vault, 2)
    (root / path_of(1)).unlink()

    def refuse(self: Path) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(
        Path, "iterdir", refuse
    )  # root may list anything, so the system's answer is set here
    assert vault.edits.commit() == []
    assert vault.edits.look().refused[0].reason == "its folder cannot be listed: Permission denied"


def test_index_formats_libgit2_does_not_know_work_too(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    git(root, "update-index", "--split-index")
    (root / path_of(1)).write_bytes(note(1, "mine"))
    (root / path_of(2)).unlink()
    (root / "new.md").write_text("x")
    fresh = reopen(root)
    (receipt,) = fresh.edits.commit()
    assert set(receipt.written) == {path_of(1), "new.md"}
    assert receipt.removed == (path_of(2),)
    put(fresh, 3)
    (root / path_of(3)).write_bytes(note(3, "staged"))
    git(root, "add", "-A")
    assert reopen(root).edits.look().staged == [path_of(3)]
    git(root, "commit", "-qm", "x")
    git(root, "switch", "-qc", "other", "HEAD~1")
    (root / path_of(3)).write_bytes(note(3, "theirs"))
    git(root, "commit", "-qam", "theirs")
    git(root, "merge", "main", check=False)
    git(root, "update-index", "--split-index", check=False)
    busy = reopen(root)
    assert busy.edits.look().conflicted == [path_of(3)]
    (root / ".git/MERGE_HEAD").unlink()
    with pytest.raises(RepositoryBusy):
        put(busy, 9)
    git(root, "reset", "-q", "--hard")
    git(root, "update-index", "--no-split-index")
    sound(root)


@pytest.mark.slow
def test_a_check_without_changes_is_quick(vault: Vault, root: Path) -> None:
    vault.apply(
        [Write(f"semantic/2026/{i % 12 + 1:02d}/n{i}-{i:012d}.md", note(i)) for i in range(3000)],
        REMEMBER,
    )
    git(root, "update-index", "-q", "--refresh")
    vault.edits.commit()
    started = time.process_time()
    assert vault.edits.commit() == []
    assert time.process_time() - started < patient(0.25)


def test_a_file_that_cannot_be_read_or_vanishes_is_told_or_forgotten(
    vault: Vault, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(vault, 1)
    (root / "a.md").write_text("x")

    def refuse(path: str, limit: int = 0) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(vault.files, "read", refuse)
    assert vault.edits.commit() == []
    assert "cannot be read" in vault.edits.look().refused[0].reason
    monkeypatch.undo()
    real = vault.repo.staging.status

    def gone() -> dict[str, int]:
        found = real()
        (root / "a.md").unlink(missing_ok=True)
        return found

    monkeypatch.setattr(vault.repo.staging, "status", gone)  # new when listed, gone when looked at
    assert vault.edits.commit() == []


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
    assert now.edits.commit() == []
    assert set(now.edits.look().waiting) == {"boats/one.md", path_of(1)}
    (receipt,) = later(root).edits.commit()
    assert (list(receipt.written), receipt.removed) == (["boats/one.md"], (path_of(1),))
    entry = vault.log.entries(1)[0]
    assert (entry.op, entry.author, entry.title, entry.memories) == (
        "edit",
        "Ada",
        "Note 1",
        (f"{1:012d}",),
    )
    assert [entry.op for entry in vault.log.entries()] == ["edit", "remember"]
    sound(root)


def test_a_folder_that_never_rests_does_not_keep_a_move(vault: Vault, root: Path) -> None:
    put(vault, 1)
    move(root, path_of(1), "one.md")
    after = later(root)
    os.utime((root / path_of(1)).parent, (time.time() + 2 * QUIET,) * 2)
    assert after.edits.commit()[0].removed == (path_of(1),)
    assert tree(root) == ["one.md"]


def test_a_note_edited_where_it_went_takes_its_deletion_along(vault: Vault, root: Path) -> None:
    put(vault, 1)
    move(root, path_of(1), "one.md")
    (root / "one.md").write_bytes(note(1, "and edited"))
    os.utime((root / path_of(1)).parent, (time.time() - QUIET,) * 2)
    waiting = reopen(root, quiet=QUIET)
    assert waiting.edits.commit() == []  # the deletion alone has rested
    assert set(waiting.edits.look().waiting) == {"one.md", path_of(1)}
    assert later(root).edits.commit()[0].removed == (path_of(1),)
    assert len(vault.log.entries()) == 2


@pytest.mark.parametrize("named", ["one.md", path_of(1)])
def test_whoever_names_one_end_means_both(vault: Vault, root: Path, named: str) -> None:
    put(vault, 1)
    put(vault, 2)
    move(root, path_of(1), "one.md")
    (root / path_of(2)).unlink()
    (receipt,) = vault.edits.commit([named])
    assert (list(receipt.written), receipt.removed) == (["one.md"], (path_of(1),))


def test_a_machines_change_of_a_moved_note_commits_the_move_first(vault: Vault, root: Path) -> None:
    data = put(vault, 1)
    move(root, path_of(1), "one.md")
    reopen(root, quiet=QUIET).apply([Write("one.md", note(1, "revised"), digest(data))], REMEMBER)
    assert [entry.op for entry in vault.log.entries(2)] == ["remember", "edit"]
    assert (touched(root), touched(root, "HEAD~1")) == (["one.md"], ["one.md", path_of(1)])
    assert (root / "one.md").read_bytes() == note(1, "revised")
    sound(root)


def test_over_another_note(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    move(root, path_of(1), path_of(2))
    assert reopen(root, quiet=QUIET).edits.commit() == []
    (receipt,) = later(root).edits.commit()
    assert (list(receipt.written), receipt.removed) == ([path_of(2)], (path_of(1),))


def test_a_note_without_an_id_is_known_by_its_bytes(vault: Vault, root: Path) -> None:
    vault.apply([Write("plain.md", b"just words\n"), Write("other.md", b"other words\n")], REMEMBER)
    move(root, "plain.md", "kept.md")
    move(root, "other.md", "changed.md")
    (root / "changed.md").write_bytes(b"another text altogether\n")
    later(root).edits.commit(["kept.md"])
    assert touched(root) == ["kept.md", "plain.md"]
    assert sorted(tree(root)) == ["kept.md", "other.md"]


def test_a_copy_is_no_move_and_a_staged_move_is_the_persons(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    (root / "copy.md").write_bytes((root / path_of(1)).read_bytes())
    git(root, "mv", path_of(2), "two.md")
    (receipt,) = vault.edits.commit()
    assert (list(receipt.written), receipt.removed) == (["copy.md"], ())
    assert set(vault.edits.look().staged) == {"two.md", path_of(2)}


def test_when_the_brake_holds_deletions_a_move_is_still_whole(vault: Vault, root: Path) -> None:
    vault.apply([Write(path_of(i), note(i)) for i in range(15)], REMEMBER)
    for number in range(1, 13):
        (root / path_of(number)).unlink()
    move(root, path_of(0), "zero.md")
    vault.edits.commit()
    assert len(vault.edits.look().gone) == 12
    assert touched(root) == [path_of(0), "zero.md"]


def test_marks_meet_once() -> None:
    assert edits.id_of(note(7)) == f"{7:012d}"
    assert edits.id_of(b"---\ntitle: [\nid: '7k2m9x4q8w3n'\n---\n") == "7k2m9x4q8w3n"
    assert edits.id_of(b"id: 7k2m9x4q8w3n\n") == ""


def test_of_two_equal_notes_each_finds_one_old_place(vault: Vault, root: Path) -> None:
    vault.apply([Write("a.md", b""), Write("b.md", b"")], REMEMBER)
    found = edits.pairs(
        vault.repo, vault.head(), {"x.md": b"", "y.md": b"", "z.md": b""}, ["a.md", "b.md"]
    )
    assert found == {"x.md": "a.md", "y.md": "b.md"}
