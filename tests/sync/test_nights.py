"""Both machines dream the same night and meet: by a plain `git pull`, by a rebase, or by a sync
whose runs had no lease. What both made is there once, nothing is a question for a person, and every
copy ends with the same tree.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App, clone_vault, init_vault
from oneiro_vault.core.question import Question
from oneiro_vault.errors import UnreadableNote
from oneiro_vault.operations.background import Background
from oneiro_vault.operations.schedule import reconcile_devices
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.vault.change import Operation, Write
from tests.judges.scripted import ScriptedJudge
from tests.operations.care.test_synchronize import SETTINGS
from tests.sync.support import bare, memory, where
from tests.vault.support import git

NIGHT = Settings(
    {name: SETTINGS[name] for name in SETTINGS}
    | {"consolidate.similarity": 0.8, "distil.age": 0.0, "distil.uses": 0}
)
FACTS = (
    "Ana leads the harbour project and decides what is built.",
    "Ana leads the harbour project, and decides what is built.",
    "The release is on Fridays because support is quiet then.",
)
Pair = tuple[App, App]


def judge(times: int, keep: int = 0) -> ScriptedJudge:
    """Merges what it is shown, and makes a block of every fact, which says it so many times."""

    def script(question: Question) -> Mapping[str, Any]:
        if question.kind == "merge":
            ids = list(question.ids)
            return {
                "action": "merge",
                "reason": "the same",
                "keep": ids[keep],
                "members": [one for one in ids if one != ids[keep]],
            }
        if question.kind == "distil.grade":
            return {"orientation_grade": True, "reason": "it lasts"}
        text = " ".join([question.shown[0].text.strip()] * times)
        told = {"unregenerable": True, "describes_not_prescribes": True}
        return {
            "action": "create",
            "reason": "new",
            "title": text.split(".")[0],
            "text": text,
            **told,
        }

    return ScriptedJudge(script)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """Two copies in step, of a vault with three facts, two of which are one."""
    remote = bare(tmp_path / "remote.git")
    init_vault(tmp_path / "one")
    git(tmp_path / "one", "remote", "add", "origin", str(remote))
    with App.open(tmp_path / "one", NIGHT) as one:
        one.call("remember", {"items": [{"text": text} for text in FACTS], "dedupe": False})
        one.call("sync")
        clone_vault(str(remote), tmp_path / "two", NIGHT)
        with App.open(tmp_path / "two", NIGHT) as two:
            yield one, two


def dream(app: App, times: int, keep: int = 0, *, alone: bool = True) -> None:
    """A night of both loops; `alone`: while the remote cannot be asked whose turn it is."""
    made = judge(times, keep)
    app.house.judges = lambda _name: made
    url = git(app.house.root, "config", "remote.origin.url").strip()
    if alone:
        git(app.house.root, "config", "remote.origin.url", f"{url}-away")
    runs = app.call("dream", {"loops": ["consolidate", "distil"]})["runs"]
    git(app.house.root, "config", "remote.origin.url", url)
    assert [len(run["decisions"]) for run in runs] == [1, 2], runs


def both(pair: Pair, **how: bool) -> None:
    """One night on both machines, a moment apart."""
    now = pair[0].house.clock()
    for app, words, late in ((pair[0], 2, 0.0), (pair[1], 3, 90.0)):
        app.house.clock = app.house.vault.clock = partial(float, now + late)
        dream(app, words, **how)


def rows(app: App, *, type_: str, status: str = "active") -> list[Any]:
    return [
        row for row in app.house.index.list(limit=1000) if (row.type, row.status) == (type_, status)
    ]


def pulled(app: App, how: str) -> None:
    """What a person types."""
    app.house.vault.fold()
    app.house.vault.flush_index()
    git(app.house.root, "pull", "-q", how, "--no-edit")


def settled(app: App) -> None:
    """One memory of each pair, one block of each subject with the lineage of both, nothing to
    decide."""
    app.house.reconcile()
    blocks, facts = rows(app, type_="orientation"), rows(app, type_="semantic")
    assert len(blocks) == len(facts) == 2
    assert sorted(block.derived_from for block in blocks) == sorted((fact.id,) for fact in facts)
    behind = rows(app, type_="orientation", status="superseded")
    assert {(row.superseded_by, row.id) for row in behind} == {
        (block.id, ident) for block in blocks for ident in block.supersedes
    }
    assert len(behind) == 2
    assert not any(row.flags for row in app.house.index.list(limit=100))
    assert "[!conflict]" not in "".join(path.read_text() for path in app.house.root.rglob("*.md"))


def tree(app: App) -> str:
    return git(app.house.root, "rev-parse", "HEAD^{tree}").strip()


@pytest.mark.parametrize("how", ["--no-rebase", "--rebase"])
@pytest.mark.parametrize("alone", [True, False])
def test_both_dream_the_same_night_and_a_person_pulls(pair: Pair, how: str, alone: bool) -> None:
    one, two = pair
    both(pair, alone=alone)
    pulled(one, how)
    git(one.house.root, "push", "-q", "origin", "main")
    pulled(two, how)
    assert len(reconcile_devices.settle(two.house)) == 2
    settled(two)
    git(two.house.root, "push", "-q", "origin", "main")
    pulled(one, how)
    assert reconcile_devices.settle(one.house) == []
    settled(one)
    assert tree(one) == tree(two)
    assert reconcile_devices.settle(two.house) == []


def test_both_mend_it_and_mend_the_same(pair: Pair) -> None:
    """Each pulls from the other, each finds the doubles, and each makes the same of them, byte for
    byte."""
    one, two = pair
    both(pair)
    pulled(one, "--no-rebase")
    for app in pair:
        app.house.vault.fold()
    head = git(one.house.root, "rev-parse", "HEAD").strip()
    git(one.house.root, "fetch", "-q", str(two.house.root), "main")
    git(one.house.root, "merge", "-q", "--no-edit", "FETCH_HEAD")
    git(two.house.root, "fetch", "-q", str(one.house.root), head)
    git(two.house.root, "merge", "-q", "--no-edit", "FETCH_HEAD")
    assert tree(one) == tree(two)
    for app in pair:
        assert len(reconcile_devices.settle(app.house)) == 2
        settled(app)
    assert tree(one) == tree(two)
    for app in (one, two, one):
        app.call("sync")
    assert one.house.vault.head() == two.house.vault.head()
    settled(one)


@pytest.mark.parametrize("alone", [True, False])
def test_both_dream_the_same_night_and_sync(pair: Pair, alone: bool) -> None:
    """With leases one of the runs gives way before they meet; without, what both made becomes one
    in the very sync that brings it."""
    one, two = pair
    both(pair, alone=alone)
    answers = [app.call("sync") for app in (one, two)]
    assert [answer["pushed"] for answer in answers] == [True, True]
    assert any(answer["late"] for answer in answers) is not alone
    one.call("sync")
    assert one.house.vault.head() == two.house.vault.head()
    if alone:
        settled(one)
    assert len(rows(one, type_="orientation")) == len(rows(one, type_="semantic")) == 2


@pytest.mark.parametrize("late", [-90.0, 180.0])
def test_three_machines_that_mend_it_in_different_company_agree(
    pair: Pair, tmp_path: Path, late: float
) -> None:
    """The second meets the first, the third meets the first, and only then the two meet; the third
    dreamt before them or after them."""
    one, two = pair
    clone_vault(str(tmp_path / "remote.git"), tmp_path / "three", NIGHT)
    with App.open(tmp_path / "three", NIGHT) as three:
        one.house.clock = partial(float, one.house.clock() + 200.0)
        both(pair)
        three.house.clock = three.house.vault.clock = partial(float, one.house.clock() + late)
        dream(three, 4)
        for app in (one, two, three):
            app.house.vault.fold()
        for app in (two, three):
            git(app.house.root, "fetch", "-q", str(one.house.root), "main")
            git(app.house.root, "merge", "-q", "--no-edit", "FETCH_HEAD")
            assert len(reconcile_devices.settle(app.house)) == 2
        for app in (one, two, three, one, two):
            app.call("sync")
        for app in (one, two, three):
            app.house.reconcile()
            assert tree(app) == tree(one)
            assert len(rows(app, type_="orientation")) == 2
            behind = {
                row.id: row.superseded_by
                for row in rows(app, type_="orientation", status="superseded")
            }
            left = {row.id: set(row.supersedes) for row in rows(app, type_="orientation")}
            assert len(behind) == 4
            assert {behind.get(behind[ident], behind[ident]) for ident in behind} == left.keys(), (
                "each leads to one that stayed"
            )
            assert late < 0 or [len(gone) for gone in left.values()] == [2, 2]
            assert not any(row.flags for row in app.house.index.list(limit=100))


def test_the_next_dream_and_an_owner_mend_it_too(pair: Pair) -> None:
    one, two = pair
    both(pair)
    git(one.house.root, "push", "-q", "origin", "main")
    pulled(two, "--no-rebase")
    git(one.house.root, "fetch", "-q", str(two.house.root), "main")
    git(one.house.root, "merge", "-q", "--ff-only", "FETCH_HEAD")
    one.call("dream", {"loops": ["decay"]})
    settled(one)
    owner = Background(two.house)
    owner.start()
    try:
        for _ in range(600):
            if len(rows(two, type_="orientation")) == 2 or owner._stop.wait(0.1):
                break
    finally:
        owner.stop()
    settled(two)


def test_two_that_replaced_each_other_leave_one_in_force(pair: Pair) -> None:
    """After a pull by hand each of the pair says that the other took its place."""
    one, two = pair
    for app, keep in ((one, 0), (two, 1)):
        made = judge(1, keep)
        app.house.judges = lambda _name, made=made: made
        app.call("dream", {"loops": ["consolidate"]})
        app.house.vault.fold()
    git(one.house.root, "push", "-q", "origin", "main")
    pulled(two, "--no-rebase")
    two.house.reconcile()
    assert len(rows(two, type_="semantic")) == 1
    assert len(reconcile_devices.settle(two.house)) == 1
    left = rows(two, type_="semantic")
    assert len(left) == 2
    gone = rows(two, type_="semantic", status="superseded")
    kept = next(row for row in left if row.id == gone[0].superseded_by)
    assert (kept.superseded_by, kept.valid_until) == ("", "")
    assert reconcile_devices.settle(two.house) == []


def test_what_a_person_changed_or_took_back_stays(pair: Pair) -> None:
    one, two = pair
    both(pair)
    late = [row for row in rows(two, type_="orientation") if "Fridays" in row.title]
    note = two.house.root / late[0].path
    note.write_text(note.read_text().replace("then. The", "then, says Ada. The", 1))
    two.house.vault.commit_edits(quiet=0.0)
    git(one.house.root, "push", "-q", "origin", "main")
    pulled(two, "--no-rebase")
    made = reconcile_devices.settle(two.house)
    settled(two)
    assert late[0].id in {row.id for row in rows(two, type_="orientation")}, (
        "a person's words stay in force, though they came later"
    )
    two.call("undo", {"commit": made[0]})
    side = git(
        two.house.root, "commit-tree", "-p", "HEAD", "-m", "beside it", "HEAD^{tree}"
    ).strip()
    git(two.house.root, "merge", "-q", "--no-ff", "--no-edit", side)
    assert reconcile_devices.settle(two.house) == []
    assert len(rows(two, type_="orientation")) == 3


def test_one_machine_alone_is_never_mended(pair: Pair) -> None:
    """What one machine makes of the same sources in two nights is what it meant to make, also where
    there is another."""
    one, two = pair
    dream(one, 2)
    row = rows(one, type_="orientation")[0]
    data = one.house.vault.read(row.path)
    again = data.replace(row.id.encode(), b"7k2m9x4q8w3n")
    two.call("remember", {"items": [{"text": "The mooring is on the north side."}]})
    two.call("sync")
    one.house.vault.apply(
        [Write("orientation/again.md", again)],
        Operation("distil", "again", "dream", ("7k2m9x4q8w3n",)),
    )
    one.call("sync")
    (one.house.vault.folder / "met").unlink()
    assert reconcile_devices.settle(one.house) == []
    assert len(rows(one, type_="orientation")) == 3


def learn(app: App, numbers: Sequence[int], said: Sequence[int] = ()) -> None:
    """Facts that a loop made, three of each capture, in one commit; `said`: whose words and origin
    they have (their own)."""
    notes = {
        number: memory(
            number, f"Fact {like} is so.", source="dream", derived_from=f"[c{like // 3:011d}]"
        )
        for number, like in zip(numbers, said or numbers, strict=True)
    }
    operation = Operation("distil", "facts", "dream", tuple(f"{number:012d}" for number in notes))
    app.house.vault.apply([Write(where(number), data) for number, data in notes.items()], operation)
    app.house.reconcile()


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What git was asked for since the last call: the git on PATH writes it down and passes it
    on."""
    log, real, program = tmp_path / "asked.txt", shutil.which("git"), tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"""#!/bin/sh\nprintf '%s\\n' "$*" >> "{log}"\nexec "{real}" "$@"\n""")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    def found() -> list[str]:
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [line for line in lines if "--version" not in line]

    return found


def test_a_vault_of_one_machine_costs_one_look_at_its_commits(
    tmp_path: Path, asked: Callable[[], list[str]]
) -> None:
    init_vault(tmp_path / "one")
    with App.open(tmp_path / "one", NIGHT) as app:
        learn(app, range(300))
        asked()
        assert reconcile_devices.settle(app.house) == []
        assert [line.partition(" log ")[2] for line in asked()] == [
            f"--format=%(trailers:key=Oneiro-Device,valueonly) {app.house.vault.head()}"
        ]
        learn(app, range(300, 303))
        asked()
        assert reconcile_devices.settle(app.house) == []
        assert asked() == []


def test_only_the_history_of_doubles_is_asked_for(
    pair: Pair, asked: Callable[[], list[str]]
) -> None:
    """Three hundred facts share the captures they are of; one of them was made by the other
    machine, too."""
    one, two = pair
    learn(one, range(300))
    learn(two, [900, 901], [7, 901])
    one.call("sync")
    pulled(two, "--no-rebase")
    two.house.reconcile()
    asked()
    assert len(reconcile_devices.settle(two.house)) == 1
    lines = asked()
    assert (
        len([line for line in lines if "--follow" in line])
        == len([line for line in lines if "=Oneiro-Memory: " in line])
        == 2
    )
    gone = rows(two, type_="semantic", status="superseded")
    assert [(row.id, row.superseded_by) for row in gone] == [(f"{900:012d}", f"{7:012d}")]
    assert reconcile_devices._WHY["double"] in git(two.house.root, "log", "-1", "--format=%B")
    other = git(
        two.house.root, "commit-tree", "-p", "HEAD", "-m", "beside it", "HEAD^{tree}"
    ).strip()
    git(two.house.root, "merge", "-q", "--no-ff", "--no-edit", other)
    asked()
    assert reconcile_devices.settle(two.house) == []
    assert asked() == [], "nothing is double any more: no history was read"


def test_what_comes_in_during_a_look_is_looked_at_by_the_next(pair: Pair) -> None:
    one, two = pair
    learn(two, [900, 904], [0, 4])
    learn(one, [0])
    one.call("sync")
    pulled(two, "--no-rebase")
    learn(one, [4])
    one.house.vault.fold()
    git(one.house.root, "push", "-q", "origin", "main")
    came: list[str] = []

    def pull(done: Any) -> None:
        if where(900) in done.modified and not came:
            came.append(two.house.vault.head())
            pulled(two, "--no-rebase")

    two.house.refreshed.append(pull)
    assert reconcile_devices.settle(two.house) == came != []
    assert len(reconcile_devices.settle(two.house)) == 1
    assert {row.id for row in rows(two, type_="semantic", status="superseded")} == {
        f"{900:012d}",
        f"{904:012d}",
    }
    assert reconcile_devices.settle(two.house) == []


def test_what_cannot_be_read_holds_up_nothing_and_has_its_turn_later(
    pair: Pair, asked: Callable[[], list[str]]
) -> None:
    one, two = pair
    learn(two, [900, 904], [0, 4])
    learn(one, [0, 4])
    one.call("sync")
    pulled(two, "--no-rebase")
    two.house.reconcile()
    two.house.owner = True  # from now on the index believes its watcher, of which there is none
    note, now = two.house.root / where(0), time.time()
    two.house.clock = partial(float, now)
    data = note.read_bytes()
    note.write_bytes(b"---\nid: [\n---\n\xff")
    with pytest.raises(UnreadableNote):
        reconcile_devices.settle(two.house)
    assert [row.id for row in rows(two, type_="semantic", status="superseded")] == [f"{904:012d}"]
    asked()
    assert reconcile_devices.settle(two.house) == []
    assert asked() == []
    note.write_bytes(data)
    two.house.clock = partial(float, now + reconcile_devices.AGAIN - 1.0)
    assert reconcile_devices.settle(two.house) == []
    two.house.clock = partial(float, now + reconcile_devices.AGAIN)
    assert len(reconcile_devices.settle(two.house)) == 1
    assert len(rows(two, type_="semantic", status="superseded")) == 2
    assert reconcile_devices.settle(two.house) == []
