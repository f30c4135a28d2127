"""History that was taken out of the branch while nobody looked stops every write until a person has
said what is meant."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from oneiro_vault.errors import Brake
from oneiro_vault.vault.change import Operation
from oneiro_vault.vault.vault import Vault
from tests.vault.support import git, note, path_of, put, reopen, sound


def rescued(root: Path) -> list[str]:
    return git(root, "for-each-ref", "--format=%(refname)", "refs/oneiro/rescue/").split()


def stopped(vault: Vault, number: int = 9) -> Brake:
    """The error a write meets; nothing is written."""
    before = vault.head()
    with pytest.raises(Brake) as caught:
        put(vault, number)
    assert vault.head() == before
    assert not (vault.root / path_of(number)).exists()
    return caught.value


def filled(vault: Vault, count: int = 4) -> None:
    for number in range(1, count + 1):
        put(vault, number)


@pytest.mark.parametrize("restarted", [True, False])
def test_a_reset_stops_writes_and_not_reading(vault: Vault, root: Path, restarted: bool) -> None:
    filled(vault, 6)
    old = vault.head()
    git(root, "reset", "-q", "--hard", "HEAD~4")
    if restarted:
        vault = reopen(root)
        assert rescued(root) == [f"refs/oneiro/rescue/here/main/{old[:12]}"], (
            "it is kept from the start on"
        )
    error = stopped(vault)
    kept = f"refs/oneiro/rescue/here/main/{old[:12]}"
    assert all(
        word in str(error)
        for word in ("main", old[:10], "4 notes", path_of(3), path_of(5), "1 more")
    )
    assert path_of(6) not in str(error)
    assert kept in error.kept
    assert f"git reset --keep {kept}" in error.hint
    assert "oneiro doctor --fix" in error.hint
    assert vault.read(path_of(1)) == note(1)
    assert len(vault.log.entries()) == 2
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "-q", "--prune=now")
    assert git(root, "rev-parse", kept).strip() == old
    stopped(reopen(root))
    git(root, "reset", "-q", "--keep", kept)
    put(vault, 9)
    assert len(vault.listing()) == 7
    sound(root)


def test_a_person_can_accept_it(vault: Vault, root: Path) -> None:
    filled(vault)
    git(root, "reset", "-q", "--hard", "HEAD~1")
    (root / "mine.md").write_text("mine")
    with pytest.raises(Brake):
        vault.edits.commit()
    assert git(root, "status", "--porcelain") == "?? mine.md\n", "a person's own edit waits too"
    stopped(vault)
    (found,) = vault.health.problems()
    assert (found.kind, found.fixable) == ("rewritten", True)
    assert rescued(root)[0] in found.message
    assert vault.health.fix(found)
    assert vault.health.problems() == []
    put(vault, 9)
    vault.edits.commit()
    assert vault.listing().keys() == {path_of(number) for number in (1, 2, 3, 9)} | {"mine.md"}
    assert len(rescued(root)) == 1, "what was taken out is kept all the same"
    assert reopen(root).health.problems() == []
    sound(root)


def test_another_process_that_has_it_open_knows_at_once(vault: Vault, root: Path) -> None:
    other = reopen(root)
    filled(vault)
    git(root, "reset", "-q", "--hard", "HEAD~1")
    stopped(other)
    vault.health.fix(vault.health.problems()[0])
    put(other, 9)
    git(root, "reset", "-q", "--hard", "HEAD~1")
    stopped(vault)


def test_an_amend_that_takes_words_out(vault: Vault, root: Path) -> None:
    filled(vault)
    (root / path_of(4)).write_text("other words")
    git(root, "commit", "-qa", "--amend", "-m", "said better")
    assert "1 note said then" in str(stopped(vault))


def test_a_commit_that_waits_for_the_index_counts_too(root: Path, vault: Vault) -> None:
    """An owner settles a large index later: what it acknowledged meanwhile is known from its
    journal."""
    put(vault, 1)
    for restarted in (True, False):
        lazy = reopen(root, lazy_index=True)
        put(lazy, 2)
        assert lazy.journal.intents
        git(root, "reset", "-q", "--hard", "HEAD~1")
        after = reopen(root) if restarted else lazy
        stopped(after)
        after.health.fix(after.health.problems()[0])
        put(after, 3, f"said {restarted}")
        after.gate.flush()
    sound(root, clean=False)


def filtered(root: Path) -> None:
    git(root, "checkout", "-q", "--orphan", "fresh")
    git(root, "commit", "-qm", "all at once")
    git(root, "branch", "-qM", "fresh", "main")


def rebased(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "side", "HEAD~2")
    (root / "side.md").write_text("side")
    git(root, "add", "side.md")
    git(root, "commit", "-qm", "side")
    git(root, "checkout", "-q", "main")
    git(root, "rebase", "-q", "side")


def merged_by_a_rebase(root: Path) -> None:
    """The note is neither what one side made of it nor what the other did, but the words of
    both."""
    git(root, "checkout", "-q", "-b", "side", "HEAD~1")
    place = root / path_of(4)
    place.write_text(place.read_text().replace("type: semantic", "type: episodic\ntags: [theirs]"))
    git(root, "commit", "-qam", "side")
    git(root, "checkout", "-q", "main")
    git(root, "rebase", "-q", "side")
    assert "theirs" in place.read_text()
    assert "in other words" in place.read_text()


def moved_here_and_shortened_there(root: Path) -> None:
    """The words that the other side took out stood in the note when both had it, under its old
    name."""
    place = root / path_of(4)
    place.write_text(place.read_text() + "\n\nkept\n\nkept as well\n")
    git(root, "commit", "-qam", "longer")
    git(root, "checkout", "-q", "-b", "side")
    place.write_text(place.read_text().replace("in other words", ""))
    git(root, "commit", "-qam", "shorter")
    git(root, "checkout", "-q", "main")
    git(root, "mv", path_of(4), "moved.md")
    (root / "moved.md").write_text((root / "moved.md").read_text() + "\n\nmine\n")
    git(root, "commit", "-qam", "moved")
    put(reopen(root), 7)
    git(root, "rebase", "-q", "side")
    assert "in other words" not in (root / "moved.md").read_text()


def squashed(root: Path) -> None:
    git(root, "reset", "-q", "--soft", "HEAD~3")
    git(root, "commit", "-qm", "squashed")


def reverted(root: Path) -> None:
    git(root, "revert", "--no-edit", "HEAD")


def reset_and_picked(root: Path) -> None:
    old = git(root, "rev-parse", "HEAD").strip()
    git(root, "reset", "-q", "--hard", "HEAD~1")
    git(root, "commit", "-q", "--allow-empty", "-m", "between")
    git(root, "cherry-pick", old)


def amended(root: Path) -> None:
    git(root, "commit", "-q", "--amend", "-m", "said better")


def elsewhere(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "draft", "HEAD~3")


def no_witness(root: Path) -> None:
    git(root, "reset", "-q", "--hard", "HEAD~1")
    shutil.rmtree(root / ".git/oneiro")


@pytest.mark.parametrize(
    "work",
    [
        amended,
        rebased,
        merged_by_a_rebase,
        moved_here_and_shortened_there,
        squashed,
        filtered,
        reverted,
        reset_and_picked,
        elsewhere,
        no_witness,
    ],
)
def test_what_keeps_every_note_stops_nobody(vault: Vault, root: Path, work: object) -> None:
    filled(vault)
    put(vault, 4, "in other words")
    assert callable(work)
    work(root)
    put(vault, 8)
    after = reopen(root)
    put(after, 9)
    assert after.health.problems() == []
    assert rescued(root) == []
    sound(root)


def test_what_we_do_ourselves_is_no_tampering(vault: Vault, root: Path) -> None:
    filled(vault)
    vault.undo(vault.head())
    vault.restore(f"{4:012d}")
    vault.apply(
        [],
        Operation("ledger", "events"),
        events=[{"t": "2026-11-22T10:00:00+00:00", "e": "use", "id": "a" * 12}],
    )
    git(root, "checkout", "-q", "-b", "draft")
    put(vault, 5)
    git(root, "checkout", "-q", "main")
    put(vault, 6)
    assert vault.health.problems() == []
    assert rescued(root) == []


def test_an_old_history_that_is_gone_is_said(vault: Vault, root: Path) -> None:
    filled(vault)
    git(root, "reset", "-q", "--hard", "HEAD~1")
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "-q", "--prune=now")
    error = stopped(reopen(root))
    assert "not in this repository any more" in str(error)
    assert "backup" in error.hint
    assert rescued(root) == []
    after = reopen(root)
    after.health.fix(after.health.problems()[0])
    put(after, 9)
    sound(root)


def test_a_lost_note_that_is_damaged_as_well_is_still_only_told(vault: Vault, root: Path) -> None:
    filled(vault)
    put(vault, 4, "words that nobody has any more")
    blob = git(root, "rev-parse", f"HEAD:{path_of(4)}").strip()
    git(root, "commit", "-q", "--allow-empty", "-m", "by hand")
    git(root, "reset", "-q", "--hard", "HEAD~2")
    git(root, "commit", "-q", "--allow-empty", "-m", "another")
    (root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    stopped(reopen(root))
    after = reopen(root)
    after.health.fix(
        next(problem for problem in after.health.problems() if problem.kind == "rewritten")
    )
    put(after, 9)


def test_a_restart_of_the_machine_forgets_nothing(vault: Vault, root: Path) -> None:
    filled(vault)
    git(root, "reset", "-q", "--hard", "HEAD~1")
    tip = root / ".git/oneiro/tip"
    tip.write_text(tip.read_text().replace('"boot":"', '"boot":"an earlier '))
    stopped(reopen(root))
    stopped(reopen(root))


def test_in_the_middle_of_a_purge_nothing_is_kept(vault: Vault, root: Path) -> None:
    filled(vault)
    git(root, "reset", "-q", "--hard", "HEAD~1")
    plan = root / ".git/oneiro/purging/plan.json"
    plan.parent.mkdir()
    plan.write_text("{}")
    after = reopen(root)
    assert after.health.rewritten() is None
    assert rescued(root) == []


def test_a_disk_that_cannot_be_written_is_no_obstacle_to_reading(vault: Vault, root: Path) -> None:
    filled(vault)
    git(root, "reset", "-q", "--hard", "HEAD~1")
    lock = root / ".git/oneiro/write.lock"
    lock.unlink()
    lock.mkdir()
    after = reopen(root)
    found = after.health.rewritten()
    assert found is not None
    assert (found.lost, found.kept) == ((path_of(4),), "")
    assert after.read(path_of(1)) == note(1)


def test_a_filter_repo_run_is_noticed(vault: Vault, root: Path) -> None:
    """It clears the old history away at once, so nobody can say what it took."""
    filled(vault)
    words = [
        sys.executable,
        "-m",
        "git_filter_repo",
        "--force",
        "--quiet",
        "--invert-paths",
        "--path",
        path_of(2),
    ]
    subprocess.run(words, cwd=root, check=True, timeout=60)
    assert "not in this repository any more" in str(stopped(reopen(root)))
    after = reopen(root)
    after.health.fix(after.health.problems()[0])
    put(after, 9)
    assert path_of(2) not in after.listing()
    sound(root)
