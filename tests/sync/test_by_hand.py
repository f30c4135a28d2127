"""What a person does with plain git beside the tool: nothing that the tool keeps is in their way,
and nothing of either is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.app import App, clone_vault
from oneiro_vault.errors import RepositoryBusy
from tests.copies import new_vault
from tests.operations.care.test_synchronize import SETTINGS, remember
from tests.sync.support import bare
from tests.vault.support import git


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[App, App]]:
    """Two copies in step, open, with an index, as they are at work."""
    remote = bare(tmp_path / "remote.git")
    new_vault(tmp_path / "one")
    git(tmp_path / "one", "remote", "add", "origin", str(remote))
    with App.open(tmp_path / "one", SETTINGS) as one:
        remember(one, "The boat is called Petrel.")
        one.call("sync")
        clone_vault(str(remote), tmp_path / "two", SETTINGS)
        with App.open(tmp_path / "two", SETTINGS) as two:
            yield one, two


@pytest.mark.parametrize("how", ["--rebase", "--no-rebase"])
def test_a_pull_by_hand_is_never_blocked_by_our_own_files(pair: tuple[App, App], how: str) -> None:
    """Events that wait for the next commit, indexes, sessions and logs: git sees none of them."""
    one, two = pair
    ident = remember(one, "Kim has the keys.")
    one.call("sync")
    mine = remember(two, "The mast is new.")
    two.call("recall", {"query": "what is the boat called"})
    two.house.vault.ledger.use(mine, "use")
    waiting = [event["n"] for event in two.house.vault.ledger.events()]
    assert list(two.house.vault.ledger.waiting())
    root = two.house.root
    assert git(root, "status", "--porcelain", "--untracked-files=all") == ""
    git(root, "pull", "-q", how, "--no-edit")
    assert two.call("show", {"id": ident})["body"].strip() == "Kim has the keys."
    assert set(waiting) <= {event["n"] for event in two.house.vault.ledger.events()}
    assert two.call("sync")["pushed"]
    assert [event["n"] for event in two.house.vault.ledger.waiting()] == []
    assert git(root, "status", "--porcelain", "--untracked-files=all") == ""
    one.call("sync")
    assert set(waiting) <= {event["n"] for event in one.house.vault.ledger.events()}
    assert one.call("show", {"id": mine})["body"].strip() == "The mast is new."


def test_a_pull_with_rebase_merges_what_both_changed(pair: tuple[App, App]) -> None:
    """Ledgers of the same month and one note: the driver that `clone` registered settles each step
    of the rebase."""
    one, two = pair
    ident = remember(one, "Kim has the keys.")
    for app in (one, two):
        app.call("sync")
    for app, old, new in (
        (one, "\nKim has the keys.", "\nKim has the keys.\n\nAnd the map."),
        (two, "\nKim", "\nKim or Ana"),
    ):
        note = app.house.root / app.call("show", {"id": ident})["path"]
        note.write_text(note.read_text().replace(old, new))
        app.house.vault.ledger.use(ident, "use")
        app.house.vault.edits.commit(quiet=0.0)
        app.house.vault.fold()
    noted = {event["n"] for app in pair for event in app.house.vault.ledger.events()}
    one.call("sync")
    git(two.house.root, "pull", "-q", "--rebase")
    found = two.call("show", {"id": ident})["body"]
    assert found.strip() == "Kim or Ana has the keys.\n\nAnd the map."
    assert noted <= {event["n"] for event in two.house.vault.ledger.events()}
    two.call("sync")
    one.call("sync")
    assert one.house.vault.repo.tip() == two.house.vault.repo.tip()


@pytest.mark.parametrize(
    ("how", "abort"), [("--no-rebase", "git merge --abort"), ("--rebase", "git rebase --abort")]
)
def test_git_stops_where_one_side_took_away_what_the_other_changed_and_we_say_what_to_type(
    pair: tuple[App, App], how: str, abort: str
) -> None:
    """git asks no driver about such a file. The way out is in every answer that meets the state,
    and it works when typed."""
    one, two = pair
    ident = one.call("recall", {"query": "boat"})["results"][0]["id"]
    one.call("forget", {"id": ident})
    one.call("sync")
    two.call("reframe", {"id": ident, "text": "The boat is called Petrel, and she leaks."})
    root = two.house.root
    assert "CONFLICT (modify/delete)" in git(root, "pull", how, "--no-edit", check=False)
    way = f"`{abort} && oneiro sync`"
    path = two.call("show", {"id": ident})["path"]
    for name, params in (
        ("remember", {"items": [{"text": "The mast is new."}]}),
        ("sync", {}),
        ("forget", {"id": ident}),
    ):
        with pytest.raises(RepositoryBusy) as refused:
            two.call(name, params)
        assert way in refused.value.hint
    assert way in two.call("status")["busy"]
    found = {one["code"]: one for one in two.call("doctor")["problems"]}
    assert way in found["busy"]["hint"]
    assert way in found["conflict"]["hint"]
    assert found["conflict"]["message"].startswith(f"{path}: one side of a merge took it away")
    git(root, *abort.split()[1:])
    assert two.call("sync")["pushed"]
    assert two.call("status")["busy"] is None
    one.call("sync")
    assert (
        one.call("show", {"id": ident})["body"].strip()
        == "The boat is called Petrel, and she leaks."
    )


@pytest.mark.parametrize(
    ("start", "abort"),
    [("cherry-pick", "git cherry-pick --abort"), ("revert", "git revert --abort")],
)
def test_other_things_left_half_done_name_their_own_way_out(
    pair: tuple[App, App], start: str, abort: str
) -> None:
    """A sync does not do what these do, so it is not what the way out leads to."""
    root = pair[0].house.root
    git(root, "commit", "-q", "--allow-empty", "-m", "by hand")
    (root / ".git" / f"{start.upper().replace('-', '_')}_HEAD").write_text(
        git(root, "rev-parse", "HEAD")
    )
    with pytest.raises(RepositoryBusy) as refused:
        remember(pair[0], "The mast is new.")
    assert f"`{abort}`" in refused.value.hint
    assert "sync" not in refused.value.hint


def test_files_left_unmerged_by_a_stash_are_told_as_that(pair: tuple[App, App]) -> None:
    one, _ = pair
    root = one.house.root
    path = one.call("list")["results"][0]["path"]
    (root / path).write_text((root / path).read_text() + "\nShe leaks.\n")
    git(root, "stash")
    one.call("forget", {"id": one.call("list")["results"][0]["id"]})
    git(root, "stash", "pop", check=False)
    assert "git add FILE" in one.call("status")["busy"]
    found = {problem["code"]: problem for problem in one.call("doctor")["problems"]}
    assert "git rm FILE" in found["conflict"]["hint"]
    with pytest.raises(RepositoryBusy, match="unmerged"):
        remember(one, "The mast is new.")
    git(root, "add", path)
    assert remember(one, "The mast is new.")
