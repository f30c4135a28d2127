"""Both machines dream the same night and meet: by a plain `git pull`, by a rebase, or by a sync
whose runs had no lease. What both made is there once after the next `consolidate`, and nothing is a
question for a person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App, clone_vault
from oneiro_vault.core.question import Question
from oneiro_vault.settings.definitions import Settings
from tests.copies import new_vault
from tests.judges.scripted import ScriptedJudge
from tests.operations.care.test_synchronize import SETTINGS
from tests.sync.support import bare
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
        return {
            "action": "create",
            "reason": "new",
            "title": text.split(".")[0],
            "text": text,
        }

    return ScriptedJudge(script)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """Two copies in step, of a vault with three facts, two of which are one."""
    remote = bare(tmp_path / "remote.git")
    new_vault(tmp_path / "one")
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
    app.house.dreams.judges = lambda _name: made
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
    app.house.vault.gate.flush()
    git(app.house.root, "pull", "-q", how, "--no-edit")


def mended(app: App) -> list[Any]:
    """What the next `consolidate` decides without asking anybody."""
    app.house.dreams.judges = lambda _name: ScriptedJudge(lambda _question: {})
    found: list[Any] = app.call("dream", {"loops": ["consolidate"]})["runs"][0]["decisions"]
    app.house.vault.fold()
    return found


def settled(app: App) -> None:
    """One memory of each pair, one block of each subject, the others readable behind it."""
    app.house.indexing.reconcile()
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


@pytest.mark.slow
@pytest.mark.parametrize("how", ["--no-rebase", "--rebase"])
def test_both_dream_the_same_night_and_a_person_pulls(pair: Pair, how: str) -> None:
    one, two = pair
    both(pair)
    pulled(one, how)
    git(one.house.root, "push", "-q", "origin", "main")
    pulled(two, how)
    assert len(mended(two)) == 2
    settled(two)
    git(two.house.root, "push", "-q", "origin", "main")
    pulled(one, how)
    assert mended(one) == mended(two) == []
    settled(one)


@pytest.mark.slow
@pytest.mark.parametrize("alone", [True, False])
def test_both_dream_the_same_night_and_sync(pair: Pair, alone: bool) -> None:
    """With leases one of the runs gives way before they meet; without, what both made becomes one
    in the next night."""
    one, two = pair
    both(pair, alone=alone)
    answers = [app.call("sync") for app in (one, two)]
    assert [answer["pushed"] for answer in answers] == [True, True]
    assert any(answer["late"] for answer in answers) is not alone
    one.call("sync")
    assert len(mended(one)) == 2 * alone
    one.call("sync")
    two.call("sync")
    assert one.house.vault.head() == two.house.vault.head()
    if alone:
        settled(two)
    assert len(rows(one, type_="orientation")) == len(rows(one, type_="semantic")) == 2


def test_two_that_replaced_each_other_leave_one_in_force(pair: Pair) -> None:
    """After a pull by hand each of the pair says that the other took its place."""
    one, two = pair
    for app, keep in ((one, 0), (two, 1)):
        made = judge(1, keep)
        app.house.dreams.judges = lambda _name, made=made: made
        app.call("dream", {"loops": ["consolidate"]})
        app.house.vault.fold()
    git(one.house.root, "push", "-q", "origin", "main")
    pulled(two, "--no-rebase")
    two.house.indexing.reconcile()
    assert len(rows(two, type_="semantic")) == 1
    assert len(mended(two)) == 1
    left = rows(two, type_="semantic")
    assert len(left) == 2
    gone = rows(two, type_="semantic", status="superseded")
    kept = next(row for row in left if row.id == gone[0].superseded_by)
    assert (kept.superseded_by, kept.valid_until) == ("", "")
    assert mended(two) == []


@pytest.mark.slow
def test_what_a_person_changed_or_took_back_stays(pair: Pair) -> None:
    one, two = pair
    both(pair)
    late = [row for row in rows(two, type_="orientation") if "Fridays" in row.title]
    note = two.house.root / late[0].path
    note.write_text(note.read_text().replace("then. The", "then, says Ada. The", 1))
    two.house.vault.edits.commit(quiet=0.0)
    git(one.house.root, "push", "-q", "origin", "main")
    pulled(two, "--no-rebase")
    made = mended(two)
    settled(two)
    assert late[0].id in {row.id for row in rows(two, type_="orientation")}, (
        "a person's words stay in force, though they came later"
    )
    two.call("undo", {"commit": made[0]["commit"]})
    assert mended(two) == []
    assert len(rows(two, type_="orientation")) == 3
