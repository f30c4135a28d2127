"""Two machines ran the same loop, neither knowing of the other's: what is joined is one of the two
runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.core.frontmatter.yaml_block import edit
from oneiro_vault.sync import stale_runs
from oneiro_vault.sync.remote_lease import HeldLease, LeaseRef
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import digest
from tests.sync import support
from tests.sync.support import copies, meet, remote_of, sync, text, where
from tests.vault.support import git


def held(vault: Vault, *loops: str) -> int:
    """Take the lease and give it back; the number it had."""
    with HeldLease(LeaseRef(vault, remote_of(vault)), loops or ("consolidate",), 600.0) as held:
        return held.fence


def merged(
    vault: Vault,
    keeper: int,
    loser: int,
    fence: int,
    loop: str = "consolidate",
    actor: str = "dream",
) -> str:
    """One run with one decision: a pair becomes one. Its name."""
    changes = []
    for number, keys in (
        (keeper, {"supersedes": [f"{loser:012d}"]}),
        (loser, {"status": "superseded", "superseded_by": f"{keeper:012d}"}),
    ):
        old = vault.read(where(number))
        changes.append(
            Write(
                where(number),
                edit(old.decode(), {"timestamp": support.DAY % 4, **keys}).encode(),
                digest(old),
            )
        )
    run = f"run{fence}{keeper}{vault.ledger.device[-4:]}"
    vault.apply(
        changes,
        Operation(
            "merge",
            "the same",
            actor,
            run=run,
            loop=loop,
            decision=f"d{keeper}{loser}",
            fence=fence,
        ),
    )
    return run


def replaced(vault: Vault) -> set[int]:
    return {number for number in range(4) if "superseded_by" in text(vault, where(number))}


@pytest.fixture
def two(tmp_path: Path) -> tuple[Vault, Vault]:
    one, other = copies(tmp_path, notes=4)
    return one, other


def test_the_late_holder_gives_way(two: tuple[Vault, Vault]) -> None:
    """It hung, was taken over, and woke up: what it had decided is taken back and kept, whoever
    syncs first."""
    one, other = two
    late_run = merged(one, 0, 1, held(one))
    merged(other, 1, 0, held(other))
    before = one.head()
    sync(other)
    done = sync(one)
    assert [(gone.run, gone.fence, gone.left) for gone in done.late] == [(late_run, 1, 0)]
    assert "sent first" in done.late[0].why
    assert git(one.root, "rev-parse", done.late[0].kept).strip() == before
    meet(one, other)
    assert replaced(one) == {0}
    assert stale_runs.withdrawn(one.history) == {late_run}


def test_being_quick_does_not_let_a_late_holder_in(two: tuple[Vault, Vault]) -> None:
    one, other = two
    late_run = merged(one, 0, 1, held(one))
    merged(other, 1, 0, held(other))
    done = sync(one)
    assert [gone.run for gone in done.late] == [late_run]
    assert "has taken the lease since" in done.late[0].why
    assert not sync(other).late
    meet(one, other)
    assert replaced(one) == {0}


def test_what_was_sent_stays_and_the_other_gives_way(two: tuple[Vault, Vault]) -> None:
    """Nobody forces a history; a run that did not look at what was sent before it is the one that
    gives way."""
    one, other = two
    merged(one, 0, 1, held(one))
    sync(one)
    second = merged(other, 1, 0, held(other))
    assert [gone.run for gone in sync(other).late] == [second]
    meet(one, other)
    assert replaced(one) == {1}


def test_a_run_without_a_lease_gives_way_to_one_with(two: tuple[Vault, Vault]) -> None:
    one, other = two
    merged(one, 0, 1, held(one))
    sync(one)
    second = merged(other, 1, 0, 0)
    assert [gone.run for gone in sync(other).late] == [second]
    assert replaced(other) == {1}


def test_nobody_gives_way_without_a_reason(two: tuple[Vault, Vault]) -> None:
    """Another loop; runs that knew each other; what a person accepted; runs where there are no
    leases; what was taken back anyway."""
    one, other = two
    merged(one, 0, 1, held(one))
    merged(other, 2, 3, held(other, "synthesize"), loop="synthesize")
    assert not sync(one).late
    assert not sync(other).late
    assert not sync(one).late
    assert replaced(one) == {1, 3}
    gone = merged(one, 0, 2, held(one))
    one.undo_run(gone)
    merged(one, 0, 2, 1, actor="user")
    merged(other, 2, 0, held(other))
    sync(other)
    assert not sync(one).late


def test_without_leases_everything_is_as_it_was(two: tuple[Vault, Vault]) -> None:
    one, other = two
    merged(one, 0, 1, 0)
    merged(other, 2, 3, 0)
    sync(one)
    assert not sync(other).late
    assert replaced(other) == {1, 3}


def test_what_a_person_changed_since_stays(two: tuple[Vault, Vault]) -> None:
    """Of a run that gives way, decisions whose notes were edited meanwhile are named, not taken
    back; the others are."""
    one, other = two
    fence = held(one)
    run = merged(one, 0, 1, fence)
    merged(one, 2, 3, fence)
    operation = Operation(
        "merge", "x", "dream", run=run, loop="consolidate", decision="again", fence=fence
    )
    one.apply([Write("semantic/more.md", b"more")], operation)
    support.person(one, where(1), "hello", "hello, said Ada")
    merged(other, 1, 0, held(other))
    sync(other)
    done = sync(one)
    assert sorted((gone.left, len(gone.commits)) for gone in done.late) == [(0, 1), (1, 2)]
    assert not (one.root / "semantic/more.md").exists()
    assert "said Ada" in text(one, where(1))
    assert "superseded_by" not in text(one, where(3))


def test_a_dry_run_says_so_and_changes_nothing(two: tuple[Vault, Vault]) -> None:
    one, other = two
    run = merged(one, 0, 1, held(one))
    held(other)
    before = one.head()
    met = stale_runs.find(one, remote_of(one), before, "")
    assert [(gone.run, gone.kept) for gone in met] == [(run, "")]
    assert one.head() == before
    assert stale_runs.find(one, remote_of(one), "", "") == []
