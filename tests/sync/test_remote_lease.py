"""The lease among machines, over real repositories, with clocks that the tests turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from oneiro_vault.core.frontmatter.yaml_block import edit
from oneiro_vault.errors import Elsewhere, GitProblem, Unreachable
from oneiro_vault.sync import remote_lease
from oneiro_vault.sync import remote_lease as posts
from oneiro_vault.sync.remote_lease import (
    ASTRAY,
    PATIENCE,
    REF,
    HeldLease,
    LeaseRef,
    Record,
    Seen,
    fenced_by_another,
    parse,
    remembered,
    shown,
)
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import digest
from tests.sync import support
from tests.sync.support import copies, meet, remote_of, sync, text, where
from tests.vault.support import git

HELD = 100.0
"""Seconds of every lease here: no sign of life comes by itself while a test runs."""
HOUR = 3600.0


class Machine:
    """A copy of the vault with a clock of its own (`clock`, what people set) and its seconds since
    it was started (`up`)."""

    def __init__(self, vault: Vault, clock: float = 1_800_000_000.0, up: float = 5000.0) -> None:
        self.vault, self.clock, self.up = vault, clock, up
        vault.clock = lambda: self.clock
        self.ref = LeaseRef(vault, remote_of(vault), lambda: self.up)

    def pass_by(self, seconds: float) -> None:
        self.clock += seconds
        self.up += seconds

    def take(self) -> HeldLease:
        return HeldLease(self.ref, ["consolidate"], HELD)


@pytest.fixture
def two(tmp_path: Path) -> tuple[Machine, Machine]:
    """Their clocks are an hour apart, and one was started long before the other."""
    one, other = copies(tmp_path, notes=1)
    return Machine(one), Machine(other, 1_800_000_000.0 - HOUR, 77.0)


def pass_by(seconds: float, *machines: Machine) -> None:
    for machine in machines:
        machine.pass_by(seconds)


@contextmanager
def dead(lease: HeldLease) -> Iterator[HeldLease]:
    """One that gives no more signs of life, and does not give back."""
    lease._over.set()
    lease._thread.join()
    yield lease


def far(machine: Machine) -> Record:
    """What everybody can read on the remote."""
    record = parse(
        git(
            Path(machine.vault.repo.config("remote.origin.url")),
            "show",
            "--no-patch",
            "--format=%B",
            REF,
        )
    )
    assert record is not None
    return record


def test_one_at_a_time_and_given_back(two: tuple[Machine, Machine]) -> None:
    one, other = two
    with one.take() as lease:
        assert lease.fence == 1
        assert lease.held()
        with pytest.raises(Elsewhere, match=rf"{one.ref.device} dreams: consolidate") as error:
            other.take()
        assert f"{HELD * PATIENCE:.0f} s" in error.value.hint
        assert (far(one).device, far(one).fence, far(one).over) == (one.ref.device, 1, False)
        seen = shown(other.ref, remembered(other.vault))
        assert seen is not None
        assert (seen["device"], seen["here"], seen["held"]) == (one.ref.device, False, True)
    assert far(one).over
    with other.take() as lease:
        assert lease.fence == 2
    assert (
        git(Path(one.vault.repo.config("remote.origin.url")), "rev-list", "--count", REF).strip()
        == "1"
    ), "it grows no history"


def test_of_two_who_try_at_once_one_has_it(two: tuple[Machine, Machine]) -> None:
    one, other = two
    seen = other.ref.look()
    with one.take():
        record = Record(other.ref.device, "x", ("consolidate",), 1, "2026", "2026", "2026")
        assert other.ref.put(seen.commit, record) == ""
        assert far(one).device == one.ref.device


@pytest.mark.parametrize("ahead", [-HOUR, 0.0, HOUR])
def test_a_holder_that_died_is_taken_over_when_it_stood_still_here(
    two: tuple[Machine, Machine], ahead: float
) -> None:
    """Whatever the clocks say: only how long this machine has seen nothing counts."""
    one, other = two
    other.clock = one.clock + ahead
    with dead(one.take()) as lease:
        with pytest.raises(Elsewhere):
            other.take()
        pass_by(HELD, one, other)
        assert lease.held()
        with pytest.raises(Elsewhere):
            other.take()
        pass_by(1, one, other)
        assert not lease.held(), "the holder has stopped before anybody may take over"
        pass_by(HELD * (PATIENCE - 1), one, other)
        with other.take() as taken:
            assert taken.fence == 2
            assert not lease.held()
            lease.beat()
            pass_by(-HELD * PATIENCE, one)
            assert not lease.held(), "once lost, for ever lost"
            assert far(one).fence == 2


def test_signs_of_life_keep_it(two: tuple[Machine, Machine]) -> None:
    one, other = two
    with one.take() as lease:
        for _ in range(5):
            with pytest.raises(Elsewhere):
                other.take()
            pass_by(HELD * 0.9, one, other)
            lease.beat()
        assert lease.held()
        assert far(one).beat == 6


def test_signs_of_life_come_by_themselves(two: tuple[Machine, Machine]) -> None:
    one, _ = two
    lease = HeldLease(LeaseRef(one.vault, remote_of(one.vault)), ["decay"], 0.4)
    first = far(one).beat
    while far(one).beat < first + 2:
        lease._thread.join(0.05)
    lease.release()


def test_what_ended_long_ago_needs_no_watching(two: tuple[Machine, Machine]) -> None:
    one, other = two
    with dead(one.take()):
        other.pass_by(HOUR + ASTRAY + HELD + 2)
        with other.take() as taken:
            assert taken.fence == 2


def test_a_restart_of_the_machine_that_watches(two: tuple[Machine, Machine]) -> None:
    """Its seconds begin anew; it has watched for at least as long as it runs."""
    one, other = two
    with dead(one.take()):
        with pytest.raises(Elsewhere):
            other.take()
        other.up = HELD * PATIENCE - 1
        other.ref._note(remembered(other.vault).commit, remembered(other.vault).record, 1)
        other.up = 3.0
        with pytest.raises(Elsewhere):
            other.take()
        other.up = HELD * PATIENCE - 2
        with pytest.raises(Elsewhere):
            other.take()


def test_what_died_on_this_machine_is_ours_at_once(two: tuple[Machine, Machine]) -> None:
    one, _ = two
    with dead(one.take()), one.take() as again:
        assert again.fence == 2


def test_an_answer_that_was_lost_is_no_lost_lease(two: tuple[Machine, Machine]) -> None:
    """The sign of life arrived, and nobody told us so."""
    one, _ = two
    with one.take() as lease:
        before = lease._commit
        lease.beat()
        lease._commit = before
        lease.beat()
        assert lease.held()


def test_the_number_never_falls(two: tuple[Machine, Machine]) -> None:
    """A remote that lost the ref (or is another one): the history knows, and so does each
    machine."""
    from oneiro_vault.vault.change import Operation, Write

    one, other = two
    remote = one.vault.repo.config("remote.origin.url")
    run = Operation("merge", "x", "dream", run="r", loop="consolidate", decision="d", fence=7)
    other.vault.apply([Write("x.md", b"x")], run)
    assert other.vault.log.entries(1)[0].fence == 7
    with other.take() as lease:
        assert lease.fence == 8
    with one.take() as lease:
        assert lease.fence == 9
    git(Path(remote), "update-ref", "-d", REF)
    with one.take() as lease:
        assert lease.fence == 10


@pytest.mark.parametrize(
    "text",
    ["", "lease", "{", "{}", '{"device": 1, "fence": "x"}', '{"device": "a\\u001b[2J", "run": '
                                                            '"r", "fence": 1, "since": "2", '
                                                            '"at": "2", "until": "2"}',
     '{"device": "a", "run": "r", "fence": -1}', '{"loops": 3}',
     '{"device": "a", "run": "r", "fence": 99999999999999}'],
)  # fmt: skip
def test_a_record_that_makes_no_sense_is_none(text: str) -> None:
    assert parse(text) is None


def test_a_record_cannot_ask_for_ever(two: tuple[Machine, Machine]) -> None:
    one, other = two
    record = Record(
        "elsewhere",
        "r",
        ("consolidate",),
        3,
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00Z",
        "9999-01-01T00:00:00Z",
    )
    assert record.seconds == posts.LONGEST
    assert replace(record, at="?").seconds == posts.LONGEST
    one.ref.put("", record)
    with pytest.raises(Elsewhere):
        other.take()
    other.pass_by(posts.LONGEST * PATIENCE + 1)
    with other.take() as lease:
        assert lease.fence == 4


def test_nonsense_on_the_remote_is_in_nobodys_way(two: tuple[Machine, Machine]) -> None:
    one, other = two
    head = git(one.vault.root, "rev-parse", "HEAD").strip()
    git(one.vault.root, "push", "-q", "origin", f"{head}:{REF}")
    assert shown(other.ref, other.ref.look()) is None
    with other.take() as lease:
        assert lease.fence == 1


@pytest.mark.parametrize(
    "left",
    [
        "",
        "{}",
        "[]",
        '{"device": "d", "commit": 3, "since": 1.0, "fence": 1, "record": null}',
        "\0",
    ],
)
def test_what_was_noted_and_cannot_be_read_is_forgotten(
    two: tuple[Machine, Machine], left: str
) -> None:
    one, _ = two
    (one.vault.folder / "lease.json").write_text(left)
    assert remembered(one.vault) == Seen()


def test_what_another_machine_noted_does_not_count(two: tuple[Machine, Machine]) -> None:
    one, _ = two
    (one.vault.folder / "lease.json").write_text(
        json.dumps(asdict(Seen("another", "c", 1.0, 4, None)))
    )
    assert remembered(one.vault) == Seen()


def test_a_remote_that_takes_no_such_refs(two: tuple[Machine, Machine]) -> None:
    one, other = two
    remote = Path(one.vault.repo.config("remote.origin.url"))
    git(remote, "config", "receive.hideRefs", "refs/oneiro")
    with pytest.raises(GitProblem, match="hidden ref"):
        one.take()
    assert fenced_by_another(other.ref) is None
    git(remote, "config", "--unset", "receive.hideRefs")
    with one.take() as lease:
        git(one.vault.root, "remote", "set-url", "origin", str(remote / "gone"))
        with pytest.raises(GitProblem):
            lease.beat()
        assert lease.held(), "for a while"
        assert fenced_by_another(one.ref) is None
        git(one.vault.root, "remote", "set-url", "origin", "https://127.0.0.1:9/x.git")
        with pytest.raises(Unreachable):
            fenced_by_another(one.ref)
        one.pass_by(HELD + 1)
        assert not lease.held()


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
def vaults(tmp_path: Path) -> tuple[Vault, Vault]:
    one, other = copies(tmp_path, notes=4)
    return one, other


def test_the_late_holder_gives_way(vaults: tuple[Vault, Vault]) -> None:
    """It hung, was taken over, and woke up: what it had decided is taken back and kept, whoever
    syncs first."""
    one, other = vaults
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
    assert remote_lease.withdrawn(one.history) == {late_run}


def test_being_quick_does_not_let_a_late_holder_in(vaults: tuple[Vault, Vault]) -> None:
    one, other = vaults
    late_run = merged(one, 0, 1, held(one))
    merged(other, 1, 0, held(other))
    done = sync(one)
    assert [gone.run for gone in done.late] == [late_run]
    assert "has taken the lease since" in done.late[0].why
    assert not sync(other).late
    meet(one, other)
    assert replaced(one) == {0}


def test_what_was_sent_stays_and_the_other_gives_way(vaults: tuple[Vault, Vault]) -> None:
    """Nobody forces a history; a run that did not look at what was sent before it is the one that
    gives way."""
    one, other = vaults
    merged(one, 0, 1, held(one))
    sync(one)
    second = merged(other, 1, 0, held(other))
    assert [gone.run for gone in sync(other).late] == [second]
    meet(one, other)
    assert replaced(one) == {1}


def test_a_run_without_a_lease_gives_way_to_one_with(vaults: tuple[Vault, Vault]) -> None:
    one, other = vaults
    merged(one, 0, 1, held(one))
    sync(one)
    second = merged(other, 1, 0, 0)
    assert [gone.run for gone in sync(other).late] == [second]
    assert replaced(other) == {1}


def test_nobody_gives_way_without_a_reason(vaults: tuple[Vault, Vault]) -> None:
    """Another loop; runs that knew each other; what a person accepted; runs where there are no
    leases; what was taken back anyway."""
    one, other = vaults
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


def test_without_leases_everything_is_as_it_was(vaults: tuple[Vault, Vault]) -> None:
    one, other = vaults
    merged(one, 0, 1, 0)
    merged(other, 2, 3, 0)
    sync(one)
    assert not sync(other).late
    assert replaced(other) == {1, 3}


def test_what_a_person_changed_since_stays(vaults: tuple[Vault, Vault]) -> None:
    """Of a run that gives way, decisions whose notes were edited meanwhile are named, not taken
    back; the others are."""
    one, other = vaults
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


def test_a_dry_run_says_so_and_changes_nothing(vaults: tuple[Vault, Vault]) -> None:
    one, other = vaults
    run = merged(one, 0, 1, held(one))
    held(other)
    before = one.head()
    met = remote_lease.late_runs(one, remote_of(one), before, "")
    assert [(gone.run, gone.kept) for gone in met] == [(run, "")]
    assert one.head() == before
    assert remote_lease.late_runs(one, remote_of(one), "", "") == []
