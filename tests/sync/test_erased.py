"""What one copy purged comes back through no other: not by a remote that still has it, not by a
clone that was away."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.app import App, clone_vault
from oneiro_vault.errors import Brake, InvalidInput, NotFound
from oneiro_vault.operations.care import purge
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.purge import denylist
from oneiro_vault.vault.worktree.files import digest
from tests.copies import new_vault
from tests.operations.care.test_synchronize import SETTINGS
from tests.operations.erasure import everything, remember
from tests.sync.support import bare
from tests.vault.support import git


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[App, App, Path]]:
    """Two copies in step around a remote."""
    remote = bare(tmp_path / "remote.git")
    new_vault(tmp_path / "one")
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
    receipt = purge.look(one.house, ["0123456789ab"]).run()
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
            "remember",
            {
                "items": [{"text": "Kim has the keys to the shed in June.", "id": "0123456789ab"}],
                "partial": True,
            },
        )
        assert "purged" in str(answer)
        three.call("sync")
        assert one.call("sync")["offline"] is None


def test_a_picture_may_be_attached_again(pair: tuple[App, App, Path]) -> None:
    """What goes is the memory that showed it: the picture alone says nothing of it, and is in
    nobody's way when it comes back."""
    one, two, _ = pair
    data = b"%PDF-1.4 the map of the harbour"
    path = f"attachments/{digest(data)[:2]}/{digest(data)}.pdf"

    def attach(ident: str) -> None:
        note = f"---\nid: {ident}\ntype: semantic\ntitle: Map {ident}\n---\n![[{path}]]\n".encode()
        changes = [Write(path, data)] if path not in one.house.vault.listing() else []
        one.house.vault.apply(
            [*changes, Write(f"semantic/{ident}.md", note)], Operation("remember", "a map")
        )
        one.house.indexing.refresh([f"semantic/{ident}.md"])

    attach("00000000000a")
    receipt = purge.look(one.house, ["00000000000a"]).run()
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


@pytest.mark.slow
def test_a_merge_by_hand_is_noticed(pair: tuple[App, App, Path]) -> None:
    one, two, remote = pair
    purge.look(one.house, ["0123456789ab"]).run()
    git(one.house.root, "fetch", "-q", str(two.house.root), "main")
    git(
        one.house.root,
        "merge",
        "-q",
        "--allow-unrelated-histories",
        "-m",
        "back",
        "-s",
        "ours",
        "FETCH_HEAD",
    )
    assert "purged" in {problem["code"] for problem in one.call("doctor")["problems"]}
    assert remote.exists()
    purge.look(one.house, ["0123456789ab"]).run()
    assert not holds(one.house.root)
    assert "purged" not in {problem["code"] for problem in one.call("doctor")["problems"]}


def test_a_pull_by_hand_brings_nothing_back(pair: tuple[App, App, Path]) -> None:
    """A copy that still has it and pulled with plain git has all that the remote has: its own past
    must not go there."""
    one, two, remote = pair
    there = two.house.root
    receipt = purge.look(one.house, ["0123456789ab"]).run()
    (command,) = (todo for todo in receipt["todo"] if todo.startswith("git push"))
    git(one.house.root, *command.split()[1:])
    git(there, "pull", "-q", "--no-rebase", "--no-edit")
    for yes in (False, True):
        with pytest.raises(Brake, match="purged in another copy"):
            two.call("sync", {"yes": yes})
    assert not holds_remote(remote)
    one.call("sync")
    assert not holds(one.house.root)


@pytest.mark.slow
def test_a_pull_by_hand_right_after_a_purge_is_noticed(pair: tuple[App, App, Path]) -> None:
    """The remote still has it, so this sends nothing back there; but the person who purged it must
    not hear that all is well."""
    one, _, _ = pair
    purge.look(one.house, ["0123456789ab"]).run()
    git(
        one.house.root,
        "pull",
        "-q",
        "--no-rebase",
        "--no-edit",
        "--allow-unrelated-histories",
        "origin",
        "main",
    )
    assert holds(one.house.root)
    with pytest.raises(Brake, match="in the history here again"):
        one.call("sync", {"yes": True})
    purge.look(one.house, ["0123456789ab"]).run()
    assert not holds(one.house.root)


def test_the_way_on_after_a_purge_overwrites_nothing_unseen(pair: tuple[App, App, Path]) -> None:
    one, two, remote = pair
    receipt = purge.look(one.house, ["0123456789ab"]).run()
    remember(two, "Learned while away.")
    two.call("sync")
    with pytest.raises(Brake) as stopped:
        one.call("sync")
    assert "receipt" in stopped.value.hint
    assert "new clone first" in stopped.value.hint
    (command,) = (todo for todo in receipt["todo"] if todo.startswith("git push"))
    refused = subprocess.run(
        command.split(), cwd=one.house.root, capture_output=True, text=True, timeout=60
    )
    assert refused.returncode != 0
    assert "stale info" in refused.stderr
    assert "Learned while away" in git(remote, "log", "-p")


def test_nothing_purged_costs_nothing(pair: tuple[App, App, Path]) -> None:
    one, _, _ = pair
    assert denylist.purged(one.house.vault.repo, one.house.vault.head()) == frozenset()
    assert denylist.purged(one.house.vault.repo, "") == frozenset()
    with pytest.raises(InvalidInput):
        purge.look(one.house, ["0123456789ab"], "and a text")


# -- git joins what `sync` would not
# --------------------------------------------------------------------------------------------------

IDENT = "0123456789ab"
SAID = "Kim has the keys"
EDIT = Operation("reframe", "x", "dream")


def stale_joined(one: App, two: App) -> None:
    """A plain `git pull` of a copy that still has it; the copy has moved, changed and doubled
    it."""
    there = two.house.root
    path = two.call("show", {"id": IDENT})["path"]
    data = (there / path).read_text()
    (there / "moved").mkdir()
    git(there, "mv", path, "moved/elsewhere.md")
    (there / "moved/elsewhere.md").write_text(data + "\nAnd the shed is green.\n")
    (there / "moved/twin.md").write_text(data.replace(f"id: {IDENT}\n", "id: abcdefghjkmn\n"))
    git(there, "add", "-A")
    git(there, "commit", "-qm", "moved")
    git(there, "push", "-q", "origin", "main")
    git(one.house.root, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    assert (one.house.root / "moved/elsewhere.md").exists(), "git itself knows nothing of purges"
    assert (one.house.root / "moved/twin.md").exists()


@pytest.mark.slow
@pytest.mark.parametrize("reopened", [False, True])
def test_what_git_brings_back_nobody_reads(pair: tuple[App, App, Path], reopened: bool) -> None:
    one, two, _ = pair
    twin = remember(one, "Kim sells boats in the harbour.")
    purge.look(one.house, [IDENT]).run()
    if reopened:
        stale_joined(one, two)
        one.close()
        one = App.open(one.house.root, SETTINGS)
    else:
        one.house.indexing.converge()
        stale_joined(one, two)
    for op, params in (
        ("recall", {"query": "Who has the keys to the shed?"}), ("list", {}), ("orient", {}),
        ("log", {}), ("status", {}), ("doctor", {}),
        ("recall", {"query": "Who has the keys to the shed?", "as_of": "HEAD"}), ("check", {}),
        ("diff", {"before": "HEAD~1"}),
    ):  # fmt: skip
        answer = json.dumps(one.call(op, params))
        assert SAID not in answer, op
        assert "the shed" not in answer.replace("keys to the shed?", ""), op
    for ident in (IDENT, "abcdefghjkmn"):
        for op in ("show", "why", "restore", "blame", "reframe"):
            with pytest.raises((NotFound, InvalidInput)):
                one.call(op, {"id": ident} | ({"text": "x"} if op == "reframe" else {}))
    assert one.call("show", {"id": twin})["body"].startswith("Kim sells boats")
    told = {entry["path"]: entry["reason"] for entry in one.call("status")["unreadable"]}
    assert set(told) == {"moved/elsewhere.md", "moved/twin.md"}
    assert f"`oneiro purge {IDENT}`" in told["moved/elsewhere.md"]
    assert {"purged"} <= {problem["code"] for problem in one.call("doctor")["problems"]}
    (one.house.root / "moved/again.md").write_text(
        (one.house.root / "moved/elsewhere.md").read_text() + "\nCopied by hand.\n"
    )
    one.house.vault.edits.commit()
    assert git(one.house.root, "ls-files", "moved/again.md") == ""
    assert "moved/again.md" in {entry["path"] for entry in one.call("status")["held"]}
    (one.house.root / "moved/again.md").unlink()
    purge.look(one.house, [IDENT]).run()
    purge.look(one.house, ["abcdefghjkmn"]).run()
    assert not holds(one.house.root)
    assert one.call("status")["unreadable"] == []


@pytest.mark.slow
def test_an_owner_hides_it_as_soon_as_git_has_joined(pair: tuple[App, App, Path]) -> None:
    """Also in the other copy, which learns of the purge by its own plain pull: there the note was
    indexed long before."""
    one, two, _ = pair
    receipt = purge.look(one.house, [IDENT]).run()
    two.house.indexing.reconcile()
    two.house.indexing.owner = True
    assert SAID in json.dumps(two.call("recall", {"query": "keys to the shed"}))
    (command,) = (todo for todo in receipt["todo"] if todo.startswith("git push"))
    git(one.house.root, *command.split()[1:])
    git(two.house.root, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    assert list(two.house.root.rglob(f"*{IDENT}*")), "the file is still there"
    assert SAID not in json.dumps(two.call("recall", {"query": "keys to the shed"}))
    with pytest.raises(NotFound, match="was purged"):
        two.call("show", {"id": IDENT})


@pytest.mark.slow
def test_a_person_takes_it_up_again(pair: tuple[App, App, Path]) -> None:
    one, _, _ = pair
    purge.look(one.house, [IDENT]).run()
    text = "Kim has the keys to the shed in June."
    with pytest.raises(InvalidInput, match="was purged"):
        remember(one, text)
    (row,) = one.call("remember", {"items": [{"text": text}], "dedupe": False})["results"]
    (again,) = one.call("remember", {"items": [{"text": text, "id": IDENT}], "dedupe": False})[
        "results"
    ]
    for ident in (row["id"], again["id"]):
        assert one.call("show", {"id": ident})["body"].strip() == text
    purge.look(one.house, [IDENT]).run()
    with pytest.raises(NotFound, match="was purged"):
        one.call("show", {"id": IDENT})
    assert one.call("show", {"id": row["id"]})["body"].strip() == text, (
        "another memory that says the same was left alone"
    )


def test_no_command_of_ours_says_it_again_in_another_memory(pair: tuple[App, App, Path]) -> None:
    """A living memory with those words is none that git has brought back: nobody is told to purge
    it."""
    one, _, _ = pair
    body, title = one.call("show", {"id": IDENT})["body"], one.house.indexing.resolve(IDENT).title
    other = remember(one, "Kim sells boats in the harbour.")
    purge.look(one.house, [IDENT]).run()
    before = one.house.vault.head()
    with pytest.raises(InvalidInput, match="what was purged") as refused:
        one.call("reframe", {"id": other, "text": body, "title": title})
    assert "`oneiro remember --again`" in refused.value.hint
    assert one.house.vault.head() == before
    place = one.house.root / one.call("show", {"id": other})["path"]
    edited = f"---\nid: {other}\ntype: semantic\ntitle: {title}\n---\n{body}\n"
    place.write_text(edited)
    one.house.vault.edits.commit(quiet=0.0)
    one.house.indexing.reconcile()
    assert one.house.vault.head() == before
    state = one.call("status")
    for entry in (*state["held"], *state["unreadable"]):
        assert "it says what was purged on" in entry["reason"]
        assert "`oneiro remember --again`" in entry["reason"]
    assert state["held"]
    with pytest.raises((InvalidInput, NotFound)):
        one.house.vault.apply(
            [
                Write(
                    place.relative_to(one.house.root).as_posix(),
                    b"Other words.\n",
                    digest(edited.encode()),
                )
            ],
            EDIT,
        )
    assert one.house.vault.head() == before, "a machine's change takes no such edit along"
    assert place.read_text() == edited
    (told,) = (
        found["message"] for found in one.call("check")["problems"] if found["code"] == "unreadable"
    )
    assert "it says what was purged on" in told
    assert "`oneiro purge" not in told


def test_what_was_taken_up_and_forgotten_again_is_taken_up_once_more(
    pair: tuple[App, App, Path],
) -> None:
    one, _, _ = pair
    purge.look(one.house, [IDENT]).run()
    item = {"text": "Kim has the keys to the shed in June."}
    (row,) = one.call("remember", {"items": [item], "dedupe": False})["results"]
    one.call("forget", {"id": row["id"]})
    (row,) = one.call("remember", {"items": [item], "dedupe": False})["results"]
    assert one.call("show", {"id": row["id"]})["body"].strip() == item["text"]


def test_only_what_came_since_is_gone_through(pair: tuple[App, App, Path]) -> None:
    """The answer stays the same over commits that only go on, and another history is gone through
    anew."""
    one, two, _ = pair
    purge.look(one.house, matching="keys to the shed").run()
    git(two.house.root, "push", "-q", "origin", "main")
    git(one.house.root, "fetch", "-q", "origin")
    erased, clean = one.house.vault.erased, one.house.vault.head()
    assert erased.known().back == {}
    git(
        one.house.root,
        "merge",
        "-q",
        "--allow-unrelated-histories",
        "-s",
        "ours",
        "--no-edit",
        "origin/main",
    )
    assert set(erased.known().back) == {IDENT}
    remember(one, "The harbour is closed.")
    assert set(erased.known().back) == {IDENT}
    git(one.house.root, "reset", "-q", "--hard", clean)
    assert erased.known().back == {}


@pytest.mark.slow
@pytest.mark.parametrize("changed", [False, True])
def test_a_text_that_was_purged_does_not_come_back_in_its_note(
    pair: tuple[App, App, Path], changed: bool
) -> None:
    """Both sides have the note, so git merges them: nobody reads what came of it until a person has
    purged the text again."""
    one, two, _ = pair
    purge.look(one.house, matching="keys to the shed").run()
    assert one.call("show", {"id": IDENT})["body"].strip() == "Kim has the [purged] in June."
    if changed:
        two.call("reframe", {"id": IDENT, "text": "Kim has the keys to the shed in June and July."})
    remember(two, "Learned while away.")
    git(two.house.root, "push", "-q", "origin", "main")
    git(one.house.root, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    assert holds(one.house.root)
    for op, params in (
        ("recall", {"query": "Kim in June", "k": 50}),
        ("list", {}),
        ("log", {}),
        ("status", {}),
    ):
        assert "the shed" not in json.dumps(one.call(op, params)), op
    with pytest.raises(NotFound):
        one.call("show", {"id": IDENT})
    told = one.call("status")["unreadable"]
    assert told
    assert all("`oneiro purge --matching TEXT`" in entry["reason"] for entry in told)
    purge.look(one.house, matching="keys to the shed").run()
    assert "the shed" not in json.dumps(one.call("show", {"id": IDENT}))
    assert one.call("status")["unreadable"] == []
