"""Taking back all that came from one source: what it brought, what loops made of that, and nothing
else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.core.question import Question
from oneiro_vault.errors import InvalidInput, NotFound, StaleMemory
from tests.judges.scripted import ScriptedJudge, leaning
from tests.operations.dream.support import fill, git, judged, merge, tree

LIE = "The staging database is restored from backup every night at two, and by Mallory."


def credulous(question: Question) -> dict[str, Any]:
    """Files what a capture says, and merges whatever it is shown."""
    if question.kind == "merge":
        return merge(question)
    if question.kind == "encode.units":
        lines = [text for text in question.shown[0].text.split("\n\n") if text]
        units = [
            {"content": text, "title": text[:40], "about": [], "tags": [], "happened": ""}
            for text in lines
        ]
        return {"units": units, "complete": True, "reason": "it says so"}
    found = leaning(question, False) | {"reason": "no"}
    return (
        found | {"action": "create", "existing": None} if question.kind == "encode.place" else found
    )


def notes(root: Path) -> dict[str, bytes]:
    return {
        path: data
        for path, data in tree(root).items()
        if not path.startswith(("dreams/", "ledger/"))
    }


def lie(app: App, session: str = "talk-7") -> str:
    found: str = app.call("capture", {"text": LIE, "session": session, "kind": "session"})["id"]
    return found


def dreamt(app: App) -> dict[str, Any]:
    judged(app, ScriptedJudge(credulous))
    runs = app.call("dream", {"loops": ["encode", "consolidate"]})["runs"]
    return {one["op"]: one for run in runs for one in run["decisions"]}


def test_a_session_and_all_that_loops_made_of_it_are_taken_back_exactly(
    app: App, root: Path
) -> None:
    app.call(
        "capture", {"text": "The ferry leaves at six.", "session": "talk-1", "kind": "session"}
    )
    before = notes(root)
    bad = lie(app)
    done = dreamt(app)
    assert {"remember", "link", "merge"} <= done.keys()
    dreamed = notes(root)
    found = app.call("undo", {"source": "talk-7"})
    after = notes(root)
    assert found["left"] == []
    assert not any(LIE.encode() in data for data in after.values())
    assert after.keys() == before.keys() | {
        path for path in dreamed if b"The ferry" in dreamed[path]
    }
    for path, data in after.items():
        assert data == (before if b"staging" in data else dreamed)[path], (
            "what the lie touched is as it was, and nothing else"
        )
    assert dreamed != after != before
    assert "undo of source talk-7" in git(root, "log", "-1", "--format=%B")
    assert git(root, "status", "--porcelain") == ""
    assert "ferry" in str(app.call("recall", {"query": "ferry"})["results"])
    with pytest.raises(InvalidInput, match="taken back already"):
        app.call("undo", {"source": "talk-7"})
    assert lie(app) == bad, "the same words of that session do not come back by themselves"
    app.call("undo", {"commit": "HEAD"})
    assert any(LIE.encode() in data for data in notes(root).values()), (
        "and it can be taken back like everything"
    )


def test_what_somebody_changed_since_stays_and_is_named(app: App, root: Path) -> None:
    lie(app)
    dreamt(app)
    path = next(
        path
        for path, data in notes(root).items()
        if path.startswith("semantic/") and b"Mallory" in data
    )
    (root / path).write_text((root / path).read_text() + "\nA person adds this.\n")
    found = app.call("undo", {"source": "talk-7"})
    assert [one["path"] for one in found["left"]] == [path]
    assert "was changed since" in found["left"][0]["why"]
    assert "A person adds this." in (root / path).read_text()
    assert found["removed"]
    with pytest.raises(StaleMemory, match="nothing that came from"):
        app.call("undo", {"source": "talk-7"})


def test_a_note_that_was_moved_is_found(app: App, root: Path) -> None:
    ident = lie(app)
    path = app.call("show", {"id": ident})["path"]
    (root / "elsewhere").mkdir()
    (root / path).rename(root / "elsewhere" / "odd name.md")
    app.house.commit_edits()
    assert app.call("undo", {"source": "talk-7"})["removed"] == ["elsewhere/odd name.md"]


def test_an_import_and_an_actor(app: App, root: Path) -> None:
    before = notes(root)
    app.call(
        "remember",
        {"items": [{"text": "From the web.", "source": "import:web"}], "actor": "import:web"},
    )
    (ident,) = fill(app, "Bertil mends nets.")
    app.call("forget", {"id": ident, "actor": "model"})
    assert app.call("undo", {"source": "import:web"})["removed"]
    assert app.call("undo", {"source": "model"})["paths"], "what a model forgot is there again"
    assert app.call("show", {"id": ident})["body"].strip() == "Bertil mends nets."
    app.call("forget", {"id": ident})
    assert notes(root) == before


def test_what_is_no_source_is_named(app: App) -> None:
    with pytest.raises(NotFound, match="nobody"):
        app.call("undo", {"source": "nobody"})
    for name in ("user", " "):
        with pytest.raises(InvalidInput, match="yourself"):
            app.call("undo", {"source": name})
    with pytest.raises(InvalidInput):
        app.call("undo", {"source": "talk-7", "run": "x"})


def undone(app: App) -> dict[str, bool]:
    """What each decision was about -> was it taken back?"""
    return {
        f"{one['op']} {one['title']}": one["undone"]
        for run in app.call("runs")["runs"]
        for one in run["decisions"]
    }


def test_runs_say_which_decisions_went_with_their_source(app: App, root: Path) -> None:
    """What was decided before on the same note still stands, and what somebody changed since does,
    too."""
    app.call(
        "capture", {"text": "The ferry leaves at six.", "session": "talk-1", "kind": "session"}
    )
    judged(app, ScriptedJudge(credulous))
    app.call("dream", {"loops": ["encode", "consolidate"]})
    first = undone(app)
    lie(app)
    app.call("dream", {"loops": ["encode", "consolidate"]})
    second = {what for what in undone(app) if what not in first}
    assert len(first) >= 3
    assert len(second) >= 2
    app.call("undo", {"source": "talk-7"})
    after = undone(app)
    assert {what for what, gone in after.items() if gone} == second
    rows = {run["run"]: run for run in app.call("runs")["runs"] if run["decisions"]}
    assert all(
        run["undone"] == all(one["undone"] for one in run["decisions"]) for run in rows.values()
    )
    app.call("undo", {"commit": "HEAD"})
    assert not any(undone(app).values()), "and the taking back can be taken back"


def test_a_decision_that_had_to_stay_is_not_called_undone(app: App, root: Path) -> None:
    lie(app)
    dreamt(app)
    path = next(
        path
        for path, data in notes(root).items()
        if path.startswith("semantic/") and b"Mallory" in data
    )
    (root / path).write_text((root / path).read_text() + "\nA person adds this.\n")
    app.call("undo", {"source": "talk-7"})
    found = undone(app)
    assert any(found.values())
    assert not all(found.values())
    assert not next(gone for what, gone in found.items() if what.startswith("remember"))


def test_a_run_that_was_taken_back_and_brought_again_is_in_force(app: App) -> None:
    lie(app)
    dreamt(app)
    run = next(run["run"] for run in app.call("runs")["runs"] if run["decisions"])
    app.call("undo", {"run": run})
    assert next(one for one in app.call("runs")["runs"] if one["run"] == run)["undone"]
    app.call("undo", {"commit": "HEAD"})
    assert not next(one for one in app.call("runs")["runs"] if one["run"] == run)["undone"]
