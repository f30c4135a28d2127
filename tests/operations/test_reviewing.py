"""What loops propose waits on a branch, inert, until a person has decided; what was decided is not proposed again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App, init_vault
from oneiro_vault.config import Settings
from oneiro_vault.errors import AmbiguousId, InvalidInput, NotFound, SecretFound
from oneiro_vault.judges.scripted import ScriptedJudge
from oneiro_vault.operations import reviewing
from oneiro_vault.vault import proposals
from tests.operations.dreaming.support import OTHERS, SETTINGS, TWINS, dream, fill, git, judged, statuses, tree
from tests.operations.dreaming.test_encoding import TALK, WHEN, script

REVIEW = SETTINGS | {"dreams.review": True}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    init_vault(tmp_path / "vault")
    return tmp_path / "vault"


@pytest.fixture
def app(root: Path) -> Iterator[App]:
    with App.open(root, Settings(REVIEW)) as found:
        fill(found, *TWINS, *OTHERS)
        judged(found)
        yield found


def open_(app: App) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = app.call("review")["proposals"]
    return found


def heads(root: Path) -> list[str]:
    return [name for name in git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads").split() if name != "main"]


def answers(app: App) -> list[Any]:
    """Everything that reads the vault."""
    asked: list[tuple[str, dict[str, Any]]] = [("list", {}), ("log", {}), ("runs", {}), ("orient", {}), ("flagged", {})]
    asked += [("recall", {"query": text, "fast": True}) for text in TWINS]
    found = [app.call(op, params) for op, params in asked]
    return [sorted(row["id"] for row in answer["results"]) if "results" in answer else answer.get("text", answer) for answer in found]


def test_proposals_are_inert_and_become_what_they_propose_when_accepted(app: App, root: Path) -> None:
    app.call("embed")
    before, head, files, said = statuses(app), app.house.vault.head(), tree(root), answers(app)
    run = dream(app)
    assert (len(run["decisions"]), run["branch"]) == (2, heads(root)[0])
    assert (statuses(app), app.house.vault.head(), tree(root)) == (before, head, files)
    assert answers(app) == said
    assert git(root, "status", "--porcelain") == ""
    assert "in force" in git(root, "show", f"{run['branch']}:{run['report']}")
    first, second = open_(app)
    assert first["reason"] == "they say the same"
    assert any("superseded" in change["keys"].get("status", "") for change in first["changes"])
    assert dream(app)["decisions"] == []  # what waits is not proposed again
    assert len(heads(root)) == 1
    done = app.call("review_accept", {"ids": [first["id"][:6]]})
    assert ([row["id"] for row in done["accepted"]], done["left"], done["closed"]) == ([first["id"]], 1, [])
    trailers = git(root, "log", "-1", "--format=%B")
    for line in (f"Oneiro-Decision: {first['id']}", "Oneiro-Actor: user", f"Oneiro-Run: {run['run']}", "Oneiro-Loop: consolidate"):
        assert line in trailers
    assert sum(status == "superseded" for status in statuses(app).values()) == 1
    done = app.call("review_reject", {"ids": [second["id"]], "reason": "Fridays are not the same"})
    assert (done["left"], done["closed"], heads(root)) == (0, [run["branch"]], [])
    assert (root / run["report"]).is_file()  # something of that run holds, so what it tells comes with it
    assert git(root, "log", "-1", "--format=%H", f"refs/oneiro/reviewed/{run['branch']}")
    assert "Fridays are not the same" in git(root, "log")
    assert dream(app)["decisions"] == []  # neither what was done nor what was rejected
    (told,) = [one for one in app.call("runs", {"loop": "consolidate"})["runs"] if one["run"] == run["run"]]
    assert [one["decision"] for one in told["decisions"]] == [first["id"]]


def test_a_rejected_decision_is_remembered_by_every_copy(app: App, root: Path, tmp_path: Path) -> None:
    run = dream(app)
    done = app.call("review_reject", {"ids": [run["branch"]]})
    assert (len(done["rejected"]), done["left"]) == (2, 0)
    assert not (root / run["report"]).exists()
    git(tmp_path, "clone", "-q", str(root), str(tmp_path / "two"))
    with App.open(tmp_path / "two", Settings(SETTINGS)) as other:
        judged(other)
        assert dream(other)["decisions"] == []


def test_what_a_person_changed_meanwhile_makes_it_stale(app: App, root: Path) -> None:
    branch = dream(app)["branch"]
    first, second = open_(app)
    note = root / first["changes"][0]["path"]
    note.write_text(note.read_text() + "\nOnly on weekdays.\n")
    assert [bool(row["stale"]) for row in open_(app)] == [True, False]
    done = app.call("review_accept", {"ids": [branch]})
    assert [row["id"] for row in done["stale"]] == [first["id"]]
    assert "changed since" in done["stale"][0]["why"]
    assert [row["id"] for row in done["accepted"]] == [second["id"]]
    assert "Only on weekdays." in note.read_text()
    app.house.vault.commit_edits(quiet=0.0)
    assert reviewing.tidy(app.house, lapse=True) == [branch]
    assert [one["op"] for one in dream(app)["decisions"]] == ["merge"]  # the new words are another question
    assert heads(root) == [f"{branch}-2"]


def test_a_person_may_edit_what_is_proposed(app: App, root: Path) -> None:
    dream(app)
    first, second = open_(app)
    change = first["changes"][0]
    text = change["text"].rstrip("\n") + "\n\nSays Bo.\n"
    for wrong, why in ((text.replace("id: ", "id: 0", 1), "another id"), ("---\nid: [\n---\n", "cannot be read")):
        with pytest.raises(InvalidInput, match=why):
            app.call("review_accept", {"ids": [first["id"]], "edited": {change["path"]: wrong}})
    with pytest.raises(InvalidInput, match="in none of these"):
        app.call("review_accept", {"ids": [second["id"]], "edited": {change["path"]: text}})
    secret = text + "password: " + "hunter2hunter2XY9\n"
    with pytest.raises(SecretFound):
        app.call("review_accept", {"ids": [first["id"]], "edited": {change["path"]: secret}})
    app.call("review_accept", {"ids": [first["id"]], "edited": {change["path"]: text}})
    assert (root / change["path"]).read_text() == text
    assert "edited in review" in git(root, "log", "-1", "--format=%B")


def test_only_a_person_decides_and_names_are_checked(app: App) -> None:
    dream(app)
    rows = open_(app)
    for op in ("review_accept", "review_reject"):
        with pytest.raises(InvalidInput, match="by a person"):
            app.call(op, {"ids": [rows[0]["id"]], "actor": "model"})
        with pytest.raises(InvalidInput, match="no proposal was named"):
            app.call(op, {"ids": []})
        with pytest.raises(NotFound):
            app.call(op, {"ids": ["ffff0000ffff0000"]})
    assert len(open_(app)) == 2
    assert app.call("review", {"branch": "dream/1999-01-01"})["total"] == 0


def test_a_prefix_of_two_proposals_is_refused() -> None:
    class Twin:
        branch = proposals.Open("dream/2026-11-22", "", False)

        def __init__(self, ident: str) -> None:
            self.id = ident

    twins: Any = [Twin("abcd0"), Twin("abcd1")]
    with pytest.raises(AmbiguousId):
        reviewing._named(twins, "abcd")


def test_merged_with_plain_git(app: App, root: Path) -> None:
    branch = dream(app)["branch"]
    git(root, "merge", "-q", "--no-ff", "-m", "merged", branch)
    assert open_(app) == []
    assert dream(app)["decisions"] == []
    assert heads(root) == []
    assert sum(status == "superseded" for status in statuses(app).values()) == 2


def test_squashed_with_plain_git(app: App, root: Path) -> None:
    branch = dream(app)["branch"]
    ids = {row["id"] for row in open_(app)}
    git(root, "merge", "-q", "--squash", branch)
    git(root, "commit", "-q", "-m", "squashed")
    assert open_(app) == []
    assert reviewing.tidy(app.house) == [branch]
    assert ids <= {event.get("d") for event in app.house.vault.events() if event.get("v") == "accepted"}


def test_what_a_reviewer_changed_on_the_branch_is_what_is_accepted(app: App, root: Path, tmp_path: Path) -> None:
    branch = dream(app)["branch"]
    path = open_(app)[0]["changes"][0]["path"]
    git(root, "worktree", "add", "-q", str(tmp_path / "tree"), branch)
    file = tmp_path / "tree" / path
    file.write_text(file.read_text() + "\nAs the reviewer has it.\n")
    git(tmp_path / "tree", "commit", "-q", "-am", "my words")
    done = app.call("review_accept", {"ids": [branch]})
    assert "As the reviewer has it." in (root / path).read_text()
    assert (done["left"], done["closed"]) == (0, [])  # somebody works on it
    git(root, "worktree", "remove", str(tmp_path / "tree"))
    assert reviewing.tidy(app.house) == [branch]


def test_only_notes_can_be_proposed(app: App, root: Path) -> None:
    tip = git(root, "rev-parse", "HEAD").strip()
    git(root, "switch", "-q", "-c", "dream/2026-01-01")
    (root / "oneiro.toml").write_text("dreams.brake = 1.0\n")
    git(root, "commit", "-q", "-am", "merge: x\n\nOneiro-Op: merge\nOneiro-Run: 12345678\nOneiro-Decision: 00112233445566aa")
    assert open_(app) == []  # HEAD is on it
    assert not proposals.branches(app.house.vault)
    assert dream(app)["branch"] is None  # what is committed here is under review as it is
    git(root, "switch", "-q", "main")
    assert git(root, "rev-parse", "HEAD").strip() == tip
    assert "00112233445566aa" not in {row["id"] for row in open_(app)}


def test_a_quiet_night_leaves_no_branch(root: Path) -> None:
    with App.open(root, Settings(SETTINGS)) as app:
        fill(app, *OTHERS)
        judged(app)
        run = app.call("dream", {"loops": ["consolidate"], "review": True})["runs"][0]
        assert (run["branch"], heads(root)) == (None, [])
        assert (root / run["report"]).is_file()


def test_what_was_asked_for_review_is_answered_for_review(root: Path) -> None:
    with App.open(root, Settings(SETTINGS)) as app:
        first, second = fill(app, *TWINS[:2])
        app.call("dream", {"loops": ["consolidate"], "judge": "deferred", "review": True})
        question = app.call("dream_next")["question"]
        answer = {"action": "merge", "reason": "the same", "keep": first, "members": [second]}
        (run,) = app.call("dream_decide", {"id": question["id"], "answer": answer})["runs"]
        assert run["branch"] in heads(root)
        assert set(statuses(app).values()) == {"active"}
        assert app.call("review")["total"] == 1


def test_a_capture_is_not_marked_again_and_again(root: Path) -> None:
    with App.open(root, Settings(REVIEW)) as app:
        app.call("capture", {"text": TALK, "kind": "session", "session": "s1", "when": WHEN})
        judged(app, ScriptedJudge(script))
        made = dream(app, "encode")
        assert [one["op"] for one in made["decisions"]] == ["remember", "remember", "remember", "link"]
        assert dream(app, "encode")["decisions"] == []  # the mark waits, so no other one is made
        app.call("review_reject", {"ids": [made["branch"]]})
        assert dream(app, "encode")["decisions"] == []
        assert heads(root) == []
