"""Which commit stood at a moment, and its notes as something an index can read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.core.tree_diff import Stat, blob_id, committed
from oneiro_vault.vault.history import snapshot
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import SPEC_MARK
from tests.vault.support import git, make, note, path_of, put

NOW = 10**10


def at(root: Path, when: int) -> Vault:
    """The vault with its clock at `when`."""
    return Vault.open(root, clock=lambda: float(when), quiet=0.0, reserve=0)


def test_the_last_commit_at_or_before_a_moment(root: Path) -> None:
    repo = make(root).repo
    assert snapshot.at(repo, 10, NOW) is None
    assert snapshot.first(repo) is None
    for number, when in enumerate([1000, 2000, 1500, 3000]):  # a clock was wrong once
        put(at(root, when), number)
    found = {
        moment: snapshot.at(repo, moment, NOW)
        for moment in (999, 1000, 1499, 1500, 1999, 2000, 2999, 3000, 9999)
    }
    titles = {
        moment: (point.title, point.disordered) if point else None
        for moment, point in found.items()
    }
    assert titles == {
        999: None, 1000: ("Note 0", False), 1499: ("Note 0", False), 1500: ("Note 0", True),
        1999: ("Note 0", True),
        2000: ("Note 2", True), 2999: ("Note 2", True), 3000: ("Note 3", False),
        9999: ("Note 3", False),
    }  # fmt: skip
    point = found[1000]
    assert point == snapshot.first(repo)
    assert point is not None
    assert (point.when, point.op) == (1000, "remember")
    assert point.tree == git(root, "rev-parse", f"{point.commit}^{{tree}}").strip()


def test_what_another_machine_knew_counts_from_the_merge_on(root: Path) -> None:
    make(root)
    put(at(root, 1000), 1)
    git(root, "checkout", "-qb", "side")
    put(at(root, 2000), 2)
    git(root, "checkout", "-q", "-")
    put(at(root, 3000), 3)
    git(root, "merge", "-q", "--no-edit", "side")
    repo = at(root, 4000).repo
    point = snapshot.at(repo, 2500, NOW)
    assert point is not None
    assert point.title == "Note 1"
    newest = snapshot.at(repo, NOW, NOW)
    assert newest is not None
    assert newest.commit == repo.tip()
    assert newest.op == ""


@pytest.mark.parametrize(
    ("dates", "came"),
    [
        ([], []),
        ([5], [5]),
        ([1, 2, 3, 3, 9], [1, 2, 3, 3, 9]),
        (
            [10, 20, 3, 30, 40],
            [10, 20, 20, 30, 40],
        ),  # a date in the past: a rebase kept it, or a battery was flat
        ([10, 20, 80, 30, 40], [10, 20, 20, 30, 40]),  # a clock that was ahead for a while
        ([10, 20, 30, 5], [10, 20, 30, 30]),
        (
            [10, 20, 101, 102],
            [10, 20, 20, 20],
        ),  # what is dated after today came today at the latest
        ([101, 10, 20], [10, 10, 20]),
        ([90, 10, 20], [10, 10, 20]),
        ([101, 102], [100, 100]),
        (
            [10, 12, 11, 13, 12, 14],
            [10, 12, 12, 13, 13, 14],
        ),  # two machines whose clocks differ a little
    ],
)
def test_when_commits_came_by_their_order_and_their_dates(
    dates: list[int], came: list[int]
) -> None:
    assert snapshot.arrivals(dates, 100) == came


@pytest.mark.slow
@given(st.lists(st.integers(0, 130), max_size=12))
def test_arrivals_never_fall_and_most_dates_hold(dates: list[int]) -> None:
    came = snapshot.arrivals(dates, 100)
    assert came == sorted(came)
    assert all(moment <= 100 for moment in came)
    kept = sum(one == other for one, other in zip(came, dates, strict=True))
    held = [
        [number for number, date in enumerate(dates) if date <= 100 and mask >> number & 1]
        for mask in range(1 << len(dates))
    ]
    assert kept >= max(
        len(run)
        for run in held
        if [dates[number] for number in run] == sorted(dates[number] for number in run)
    )


@pytest.mark.parametrize(
    ("name", "fits"),
    [("HEAD", True), ("main", True), ("nothing", False), ("--all", False), ("", False)],
)
def test_a_commit_by_name(vault: Vault, name: str, fits: bool) -> None:
    put(vault, 1)
    found = snapshot.named(vault.repo, name)
    assert (found is not None and found.commit == vault.head()) is fits


def test_what_may_be_the_id_of_a_commit() -> None:
    assert [
        text
        for text in (
            "deadbeef",
            "1234567",
            "20260305",
            "1232530777",
            "abcdef",
            "2024",
            "deadbeeg",
            "a" * 40,
        )
        if snapshot.looks_like_id(text)
    ] == [
        "deadbeef",
        "1232530777",
        "a" * 40,
    ]


def test_a_tree_is_the_notes_of_a_commit(vault: Vault, root: Path) -> None:
    put(vault, 1, "old")
    (root / "README.md").write_bytes(SPEC_MARK + b"\n")
    (root / ".hidden").mkdir()
    (root / ".hidden" / "a.md").write_text("x")
    (root / "plain.txt").write_text("x")
    (root / "link.md").symlink_to("plain.txt")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "by hand")
    old = vault.head()
    put(vault, 1, "new")
    tree = snapshot.Tree(vault.repo, old)
    data = note(1, "old")
    assert tree.blobs == {path_of(1): blob_id(data)}
    assert list(tree.scan()) == [committed(path_of(1), len(data), blob_id(data))]
    assert isinstance(tree.stat(path_of(1)), Stat)
    assert tree.stat("link.md") is None
    assert tree.read(path_of(1), 10**6) == data
    assert tree.read(path_of(1), 4) == data[:5]
    with pytest.raises(FileNotFoundError):
        tree.read("none.md", 1)


def test_a_note_whose_object_is_lost_is_an_error_of_the_disk(vault: Vault, root: Path) -> None:
    put(vault, 1)
    tree = snapshot.Tree(vault.repo, vault.head())
    tree.blobs["lost.md"] = "1" * 40
    assert tree.stat("lost.md") == committed("lost.md", 0, "1" * 40)
    with pytest.raises(OSError, match="cannot be read"):
        tree.read("lost.md", 10)
    assert not vault.repo.shallow
