"""A run from beginning to end: one commit a decision, a report, nothing twice, and a person's words
before a machine's."""

from __future__ import annotations

import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.question import Question
from oneiro_vault.errors import Brake, InvalidInput, NotFound, StaleMemory
from oneiro_vault.operations.dream.run_now import FILE, LOOPS, Verdicts
from oneiro_vault.vault.history.commit_log import trailers
from tests.judges.scripted import TEMPERAMENTS, ScriptedJudge, temperament
from tests.operations.dream.support import (
    OTHERS,
    TWINS,
    dream,
    during,
    fill,
    git,
    judged,
    merge,
    statuses,
    tree,
)


def asked(judge: Any) -> int:
    return len(judge.asked)


def test_a_decision_is_one_commit_that_says_who_and_why(app: App, root: Path) -> None:
    before = int(git(root, "rev-list", "--count", "HEAD"))
    run = dream(app)
    assert len(run["decisions"]) == 2
    assert (
        int(git(root, "rev-list", "--count", "HEAD")) == before + 3
    )  # one a decision, one for the report
    told = trailers(git(root, "log", "-1", "--format=%B", run["decisions"][0]["commit"]))
    assert told["Op"] == ["merge"]
    assert told["Actor"] == ["dream"]
    assert told["Run"] == [run["run"]]
    assert told["Loop"] == ["consolidate"]
    assert told["Judge"] == ["scripted"]
    assert told["Reason"] == ["they say the same"]
    assert sorted(told["Memory"]) == sorted(run["decisions"][0]["memories"])
    assert len(told["Decision"][0]) == 16
    assert sorted(statuses(app).values()) == ["active"] * 5 + ["superseded"] * 2
    assert git(root, "status", "--porcelain") == ""


def test_the_report_tells_what_happened(app: App, root: Path) -> None:
    run = dream(app)
    day = run["started"][:10]
    assert run["report"] == f"dreams/{day[:4]}/{day[5:7]}/{day}-consolidate-{run['run']}.md"
    meta, body = yaml_block.read((root / run["report"]).read_text())
    assert meta["status"] == "archived"
    assert meta["run"] == run["run"]
    for words in (
        "2 merged",
        "they say the same",
        "4 probes; 4 found their memory before, 4 after",
        "2 questions asked",
        run["run"],
    ):
        assert words in body
    told = app.call("reports", {"date": day})["reports"]
    assert [one["path"] for one in told] == [run["report"]]
    assert all(
        row["path"] != run["report"]
        for row in app.call("recall", {"query": "consolidate merged staging database"})["results"]
    )


def test_a_quiet_night_asks_nothing(app: App, root: Path) -> None:
    dream(app)
    judge = judged(app)
    head = git(root, "rev-parse", "HEAD^{tree}:semantic")
    for _ in range(3):
        run = dream(app)
        assert run["calls"] == 0
        assert not run["decisions"]
        assert run["report"] is None
    assert asked(judge) == 0
    assert git(root, "rev-parse", "HEAD^{tree}:semantic") == head


def test_a_quiet_night_leaves_no_file_and_no_commit_and_stands_in_runs(
    app: App, root: Path
) -> None:
    judged(app, temperament("no", seed=7))
    app.call("dream")
    head = git(root, "rev-parse", "HEAD")
    for _ in range(3):
        assert [run["report"] for run in app.call("dream")["runs"]] == [None] * len(LOOPS)
    assert git(root, "rev-parse", "HEAD") == head
    assert git(root, "status", "--porcelain") == ""
    quiet = [run for run in app.call("runs")["runs"] if run["title"].startswith("a quiet night")]
    assert [(run["loops"], run["report"], run["decisions"]) for run in quiet] == [
        (list(LOOPS), None, [])
    ], "one a day"
    assert quiet[0] in app.call("runs", {"loop": "distil"})["runs"]
    app.call("remember", {"items": [{"text": "The gate code is on the blue card."}]})
    assert quiet[0] in app.call("runs")["runs"], "the event rode in that commit"
    assert git(root, "log", "-1", "--format=%s").startswith("remember:")


def test_nobody_is_asked_while_the_history_is_rewritten(app: App, root: Path) -> None:
    judge = judged(app)
    app.call("remember", {"items": [{"text": "The gate code is on the blue card."}]})
    git(root, "reset", "-q", "--hard", "HEAD~1")
    head = git(root, "rev-parse", "HEAD")
    with pytest.raises(Brake, match="rewritten"):
        dream(app)
    assert asked(judge) == 0
    assert git(root, "rev-parse", "HEAD") == head
    assert dream(app, dry_run=True)["decisions"]
    app.call("doctor", {"fix": True})
    assert dream(app)["decisions"]


def test_kept_distinct_stays_answered(app: App) -> None:
    judge = judged(
        app,
        ScriptedJudge(
            lambda _: {"action": "keep_distinct", "reason": "no", "keep": None, "members": []}
        ),
    )
    assert dream(app)["calls"] == 2
    again = dream(app)
    assert (again["calls"], again["known"]) == (0, 2)
    assert asked(judge) == 2


def test_a_dry_run_changes_nothing(app: App, root: Path) -> None:
    before, head = tree(root), git(root, "rev-parse", "HEAD")
    run = dream(app, dry_run=True)
    assert len(run["decisions"]) == 2
    assert run["report"] is None
    assert all(one["commit"] is None for one in run["decisions"])
    assert tree(root) == before
    assert git(root, "rev-parse", "HEAD") == head
    assert git(root, "status", "--porcelain") == ""


def test_a_dry_run_says_which_topics_are_due(app: App) -> None:
    texts = [f"In {month} the kiln cracked." for month in ("May", "June", "July")]
    app.call("remember", {"items": [{"text": text, "tags": ["kiln"]} for text in texts]})
    tried = dream(app, "synthesize", dry_run=True, judge="none")
    assert [(one["topic"], len(one["memories"])) for one in tried["due"]] == [("kiln", 3)]
    assert dream(app, "synthesize", judge="none")["due"] == []


def test_undo_of_a_run_brings_back_the_exact_bytes(app: App, root: Path) -> None:
    before = tree(root)
    run = dream(app)
    assert tree(root) != before
    done = app.call("undo", {"run": run["run"]})
    after = tree(root)
    assert {
        path: data
        for path, data in after.items()
        if path in before and not path.startswith("ledger/")
    } == {path: data for path, data in before.items() if not path.startswith("ledger/")}
    assert set(done["paths"]) < set(before)
    assert run["report"] in after  # what happened has happened
    row = app.call("runs")["runs"][0]
    assert row["undone"]
    assert all(one["undone"] for one in row["decisions"])
    assert dream(app)["decisions"] == []  # taken back is not decided anew
    with pytest.raises(StaleMemory):
        app.call("undo", {"run": run["run"]})


def test_of_a_run_with_a_later_edit_the_rest_is_undone(app: App, root: Path) -> None:
    before = tree(root)
    run = dream(app)
    path = next(path for path in before if "staging" in path)
    (root / path).write_text((root / path).read_text() + "\nA person adds this.\n")
    changed = {
        name
        for name, data in tree(root).items()
        if data != before.get(name) and name in before and "/" in name
    }
    done = app.call("undo", {"run": run["run"]})
    assert "A person adds this." in (root / path).read_text()
    assert path in {one["path"] for one in done["left"]}
    stays = {one["path"] for one in done["left"]}
    assert all(
        (tree(root)[name] == before[name]) is (name not in stays)
        for name in changed
        if not name.startswith("ledger")
    )
    undone = [one["undone"] for one in app.call("runs")["runs"][0]["decisions"]]
    assert any(undone)
    assert not all(undone)
    with pytest.raises(StaleMemory):
        app.call("undo", {"run": run["run"]})
    with pytest.raises(NotFound):
        app.call("undo", {"run": "nobody"})
    with pytest.raises(InvalidInput):
        app.call("undo", {})


def test_a_persons_edit_during_the_run_wins(app: App, root: Path) -> None:
    path = next(path for path in tree(root) if "staging" in path)

    def edit() -> None:
        (root / path).write_text((root / path).read_text() + "\nNo longer: it moved to four.\n")

    with during(app, edit):
        run = dream(app)
    assert len(run["decisions"]) == 1
    assert "changed since the run began" in run["turned_down"][0]["why"]
    assert "No longer: it moved to four." in (root / path).read_text()
    app.house.commit_edits()
    assert git(root, "log", "-1", "--format=%an", "--", path).strip() == "Pat Person"
    assert "status: superseded" not in (root / path).read_text()


def test_a_merge_that_costs_recall_is_dropped(app: App, root: Path) -> None:
    """The keeper lacks the words by which the other is found, and there are enough others that have
    them."""
    fill(
        app,
        *[
            f"The lighthouse keeper number {n} keeps a diary about storms and boats."
            for n in range(14)
        ],
    )
    found = fill(app, "Zinnia Quorn paints lighthouses.", "Bertil mends nets.")
    keep, lose = found[1], found[0]

    class Harmful:
        name = "consolidate"

        def run(self, snapshot: Any) -> Any:
            from oneiro_vault.mind.base import Decision, Set, superseding

            yield []
            merged = (Set(keep, {"supersedes": [lose]}), superseding(snapshot.notes[lose], keep))
            return [
                Decision("consolidate", "merge", "Bertil", "they are alike", merged, (keep, lose))
            ]

    run = run_loop(app, Harmful())
    assert not run.done
    assert "recall gate" in run.turned[0].why
    assert run.probes["dropped"] == 1
    assert run.probes["before"] == run.probes["after"] > 0
    assert statuses(app)[lose] == "active"
    assert "would no longer find it" in (root / run.path).read_text()


def run_loop(app: App, loop: Any, judge: Any = None) -> Any:
    from oneiro_vault.judges.budget import Budgeted, Ceilings
    from oneiro_vault.operations.dream.run_lease import Lease
    from oneiro_vault.operations.dream.run_loop import Runner

    answers = Verdicts(app.house.vault.folder)
    with Lease(app.house.vault, "test") as lease:
        return Runner(
            app.house, Budgeted(judge or ScriptedJudge(merge), Ceilings()), answers, lease
        ).run(loop)


def test_real_questions_are_probes(app: App) -> None:
    (ident,) = fill(app, "The harbour master wants the keys back by noon.")
    assert (
        app.call("recall", {"query": "when must the keys be returned?"})["results"][0]["id"]
        == ident
    )
    app.call("show", {"id": ident})
    from oneiro_vault.operations.dream import vault_snapshot

    assert vault_snapshot.take(app.house).asked == {ident: ["when must the keys be returned?"]}


@pytest.mark.parametrize("name", sorted(TEMPERAMENTS))
def test_no_judge_can_lose_anything(app: App, root: Path, name: str) -> None:
    before = tree(root)
    judged(app, temperament(name, seed=7))
    for _ in range(3):
        run = dream(app)
        assert bool(run["report"]) == bool(
            run["decisions"] or run["left"] or run["turned_down"] or run["failed"]
        )
        assert run["probes"]["after"] >= run["probes"]["before"]
    after = tree(root)
    assert before.keys() <= after.keys()
    for text in (*TWINS, *OTHERS):
        assert any(
            text.encode() in data for path, data in after.items() if path.startswith("semantic/")
        )
    changed = [
        path for path in before if before[path] != after[path] and path.startswith("semantic/")
    ]
    assert changed == [] or name in ("yes", "random", "truncated")
    assert git(root, "status", "--porcelain") == ""


@pytest.mark.parametrize("name", sorted(TEMPERAMENTS))
def test_whole_nights_of_any_judge(app: App, root: Path, name: str) -> None:
    """All loops over knowledge, a capture and a standing orientation: every night is told, and what
    was there is there."""
    block = {"text": "The flat is in Porto.", "type": "orientation", "title": "Where Ana lives"}
    app.call("remember", {"items": [block]})
    app.call(
        "capture",
        {"text": "User: Ana moved to Porto in May.\n\nUser: The boat now lies in Kiel, said Ana."},
    )
    before = tree(root)
    judged(app, temperament(name, seed=11))
    for _ in range(2):
        runs = app.call("dream")["runs"]
        assert [run["loop"] for run in runs] == list(LOOPS)
        assert all(run["report"] for run in runs if run["decisions"] or run["failed"])
        assert all(run["probes"]["after"] >= run["probes"]["before"] for run in runs)
        assert not [run for run in runs if ("loop" in {one["kind"] for one in run["failed"]})]
    assert before.keys() <= tree(root).keys()
    assert app.call("orient")["text"].strip()
    assert git(root, "status", "--porcelain") == ""
    decisions = git(root, "log", "--format=%(trailers:key=Oneiro-Decision,valueonly)").split()
    assert len(decisions) == len(set(decisions))


def test_two_at_once(app: App, root: Path) -> None:
    """Four runners: one works, the others wait and find nothing left to do; no decision twice."""
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(dream(app))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert len(results) == 4
    decisions = git(root, "log", "--format=%(trailers:key=Oneiro-Decision,valueonly)").split()
    assert len(decisions) == len(set(decisions)) == 2


def test_an_unknown_loop_or_judge_is_named(app: App) -> None:
    with pytest.raises(InvalidInput, match="nap"):
        dream(app, "nap")
    app.house.dreams.judges = None
    with pytest.raises(InvalidInput, match="oracle"):
        dream(app, judge="oracle")
    with pytest.raises(InvalidInput, match=r"needs a model|cannot be asked"):
        dream(app, judge="anthropic")
    assert dream(app, judge="none")["calls"] == 0


def test_a_damaged_verdict_store_is_begun_anew(app: App, tmp_path: Path) -> None:
    (app.house.vault.folder / FILE).write_bytes(b"SQLite format 3\0" + b"rubbish" * 1000)
    assert dream(app)["calls"] == 2
    store = Verdicts(tmp_path)
    store.put("q", "j", {"a": 1})
    store.close()
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("UPDATE said SET answer = '[broken'")
    store = Verdicts(tmp_path)
    assert store.get("q", "j") is None
    assert store.get("other", "j") is None
    store.close()
    store.put("q", "j", {"a": 1})
    assert store.get("q", "j") is None


def test_unused_answers_are_forgotten_and_used_ones_kept(tmp_path: Path) -> None:
    now = [0.0]
    store = Verdicts(tmp_path, lambda: now[0])
    store.put("used", "j", {"a": 1})
    store.put("left", "j", {"a": 1})
    now[0] = 100 * 86_400.0
    assert store.get("used", "j") == {"a": 1}
    store.close()
    now[0] = 200 * 86_400.0
    store = Verdicts(tmp_path, lambda: now[0])
    assert store.get("used", "j") == {"a": 1}
    assert store.get("left", "j") is None
    store.close()


def test_stopping_keeps_what_was_done(app: App, root: Path) -> None:
    def script(question: Question) -> dict[str, Any]:
        app.call("dream_stop")
        return merge(question)

    judged(app, ScriptedJudge(script))
    run = dream(app)
    assert any("stopped" in note for note in run["notes"])
    assert run["decisions"] == []
    judged(app)
    assert len(dream(app)["decisions"]) == 2  # the next run asks what was left open, and goes on
    assert git(root, "status", "--porcelain") == ""


def test_a_fault_in_one_loop_is_told(app: App, root: Path) -> None:
    class Broken:
        name = "broken"

        def run(self, snapshot: Any) -> Any:
            yield []
            raise ZeroDivisionError("oops")

    run = run_loop(app, Broken())
    assert run.failed == [("loop", "ZeroDivisionError: oops")]
    assert "oops" in (root / run.path).read_text()


def test_what_loops_did_is_told_by_git_alone(app: App) -> None:
    run = dream(app)
    (app.house.vault.folder / FILE).unlink()
    found = app.call("runs", {"since": "3 weeks ago", "loop": "consolidate"})["runs"]
    assert [one["run"] for one in found] == [run["run"]]
    assert [one["commit"] for one in found[0]["decisions"]] == [
        one["commit"] for one in run["decisions"]
    ]
    assert found[0]["report"] == run["report"]
    assert app.call("runs", {"loop": "decay"})["runs"] == []
    assert app.call("runs", {"until": "3 weeks ago"})["runs"] == []
    story = app.call("why", {"id": run["decisions"][0]["memories"][0]})["story"]
    assert (story[-1]["run"], story[-1]["judge"], story[-1]["reason"]) == (
        run["run"],
        "scripted",
        "they say the same",
    )


def test_one_decision_taken_back_is_not_made_again(app: App) -> None:
    run = dream(app)
    app.call("undo", {"commit": run["decisions"][0]["commit"]})
    assert dream(app)["decisions"] == []
    row = app.call("runs", {"limit": 5})["runs"][-1]
    assert sorted(one["undone"] for one in row["decisions"]) == [False, True]


def test_json_of_a_run_is_data(app: App) -> None:
    assert json.loads(json.dumps(app.call("dream", {"loops": ["consolidate"]})))["schema"] == 1
