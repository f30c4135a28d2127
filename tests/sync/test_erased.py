"""What one copy purged comes back through no other: not by a remote that still has it, not by a clone that was away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.app import App, clone_vault, init_vault
from oneiro_vault.errors import Brake, InvalidInput
from oneiro_vault.operations import purging
from oneiro_vault.vault import purging as erasure
from tests.operations.erasure import everything, remember
from tests.operations.test_syncing import SETTINGS
from tests.sync.support import bare
from tests.vault.support import git


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[App, App, Path]]:
    """Two copies in step around a remote."""
    remote = bare(tmp_path / "remote.git")
    init_vault(tmp_path / "one")
    git(tmp_path / "one", "remote", "add", "origin", str(remote))
    with App.open(tmp_path / "one", SETTINGS) as one:
        remember(one, "The boat is called Petrel.")
        remember(one, "Kim has the keys to the shed in June.", id="0123456789ab")
        one.call("sync")
        clone_vault(str(remote), tmp_path / "two", SETTINGS)
        with App.open(tmp_path / "two", SETTINGS) as two:
            yield one, two, remote


def holds(root: Path) -> bool:
    return bool(everything(root, ("Kim has", "the shed")))


def test_nothing_comes_back(pair: tuple[App, App, Path], tmp_path: Path) -> None:
    one, two, remote = pair
    here, there = one.house.root, two.house.root
    remember(two, "Learned while away.")
    receipt = purging.look(one.house, ["0123456789ab"]).run()
    assert not holds(here)
    with pytest.raises(Brake, match="still holds what was purged here"):
        one.call("sync", {"yes": True})
    assert not holds(here), "what was fetched to be looked at is gone again"
    with pytest.raises(Brake, match="still holds what was purged here"):
        one.call("sync", {"dry_run": True})
    (command,) = (todo for todo in receipt["todo"] if todo.startswith("git push"))
    git(here, *command.split()[1:])
    one.call("sync")
    with pytest.raises(Brake, match="purged in another copy"):
        two.call("sync", {"yes": True})
    assert holds(there)
    assert not holds_remote(remote)
    clone_vault(str(remote), tmp_path / "three", SETTINGS)
    with App.open(tmp_path / "three", SETTINGS) as three:
        assert not holds(three.house.root)
        answer = three.call(
            "remember", {"items": [{"text": "Kim has the keys to the shed in June.", "id": "0123456789ab"}], "partial": True}
        )
        assert "purged" in str(answer)
        three.call("sync")
        assert one.call("sync")["offline"] is None


def holds_remote(remote: Path) -> bool:
    return "Kim has" in git(remote, "log", "--all", "-p")


def test_a_merge_by_hand_is_noticed(pair: tuple[App, App, Path]) -> None:
    one, two, remote = pair
    purging.look(one.house, ["0123456789ab"]).run()
    git(one.house.root, "fetch", "-q", str(two.house.root), "main")
    git(one.house.root, "merge", "-q", "--allow-unrelated-histories", "-m", "back", "-s", "ours", "FETCH_HEAD")
    assert "purged" in {problem["code"] for problem in one.call("doctor")["problems"]}
    assert remote.exists()
    purging.look(one.house, ["0123456789ab"]).run()
    assert not holds(one.house.root)
    assert "purged" not in {problem["code"] for problem in one.call("doctor")["problems"]}


def test_nothing_purged_costs_nothing(pair: tuple[App, App, Path]) -> None:
    one, _, _ = pair
    assert erasure.purged(one.house.vault.repo, one.house.vault.head()) == frozenset()
    assert erasure.purged(one.house.vault.repo, "") == frozenset()
    with pytest.raises(InvalidInput):
        purging.look(one.house, ["0123456789ab"], "and a text")
