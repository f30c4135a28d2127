"""What one copy purged comes back through no other: not by a remote that still has it, not by a clone that was away."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.app import App, clone_vault, init_vault
from oneiro_vault.core.change import Operation, Write
from oneiro_vault.errors import Brake, InvalidInput
from oneiro_vault.operations import purging
from oneiro_vault.vault import purging as erasure
from oneiro_vault.vault.files import digest
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


def test_a_picture_may_be_attached_again(pair: tuple[App, App, Path]) -> None:
    """What goes is the memory that showed it: the picture alone says nothing of it, and is in nobody's way when it comes back."""
    one, two, _ = pair
    data = b"%PDF-1.4 the map of the harbour"
    path = f"attachments/{digest(data)[:2]}/{digest(data)}.pdf"

    def attach(ident: str) -> None:
        note = f"---\nid: {ident}\ntype: semantic\ntitle: Map {ident}\n---\n![[{path}]]\n".encode()
        changes = [Write(path, data)] if path not in one.house.vault.listing() else []
        one.house.vault.apply([*changes, Write(f"semantic/{ident}.md", note)], Operation("remember", "a map"))
        one.house.refresh([f"semantic/{ident}.md"])

    attach("00000000000a")
    receipt = purging.look(one.house, ["00000000000a"]).run()
    assert path not in one.house.vault.listing()
    for todo in receipt["todo"]:
        if todo.startswith("git push"):
            git(one.house.root, *todo.split()[1:])
    attach("00000000000b")
    one.call("sync")
    remember(two, "Learned while away.")
    two.call("sync")
    assert (two.house.root / path).read_bytes() == data


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


def test_a_pull_by_hand_brings_nothing_back(pair: tuple[App, App, Path]) -> None:
    """A copy that still has it and pulled with plain git has all that the remote has: its own past must not go there."""
    one, two, remote = pair
    there = two.house.root
    receipt = purging.look(one.house, ["0123456789ab"]).run()
    (command,) = (todo for todo in receipt["todo"] if todo.startswith("git push"))
    git(one.house.root, *command.split()[1:])
    git(there, "pull", "-q", "--no-rebase", "--no-edit")
    for yes in (False, True):
        with pytest.raises(Brake, match="purged in another copy"):
            two.call("sync", {"yes": yes})
    assert not holds_remote(remote)
    one.call("sync")
    assert not holds(one.house.root)


def test_a_pull_by_hand_right_after_a_purge_is_noticed(pair: tuple[App, App, Path]) -> None:
    """The remote still has it, so this sends nothing back there; but the person who purged it must not hear that all is well."""
    one, _, _ = pair
    purging.look(one.house, ["0123456789ab"]).run()
    git(one.house.root, "pull", "-q", "--no-rebase", "--no-edit", "--allow-unrelated-histories", "origin", "main")
    assert holds(one.house.root)
    with pytest.raises(Brake, match="in the history here again"):
        one.call("sync", {"yes": True})
    purging.look(one.house, ["0123456789ab"]).run()
    assert not holds(one.house.root)


def test_the_way_on_after_a_purge_overwrites_nothing_unseen(pair: tuple[App, App, Path]) -> None:
    one, two, remote = pair
    receipt = purging.look(one.house, ["0123456789ab"]).run()
    remember(two, "Learned while away.")
    two.call("sync")
    with pytest.raises(Brake) as stopped:
        one.call("sync")
    assert "receipt" in stopped.value.hint
    assert "new clone first" in stopped.value.hint
    (command,) = (todo for todo in receipt["todo"] if todo.startswith("git push"))
    refused = subprocess.run(command.split(), cwd=one.house.root, capture_output=True, text=True, timeout=60)
    assert refused.returncode != 0
    assert "stale info" in refused.stderr
    assert "Learned while away" in git(remote, "log", "-p")


def test_nothing_purged_costs_nothing(pair: tuple[App, App, Path]) -> None:
    one, _, _ = pair
    assert erasure.purged(one.house.vault.repo, one.house.vault.head()) == frozenset()
    assert erasure.purged(one.house.vault.repo, "") == frozenset()
    with pytest.raises(InvalidInput):
        purging.look(one.house, ["0123456789ab"], "and a text")
