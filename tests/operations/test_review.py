"""What loops propose waits on a branch, inert, until a person has decided; what was decided is not
proposed again."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.core import memory
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.errors import AmbiguousId, InvalidInput, NotFound, SecretFound
from oneiro_vault.operations import review
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.history import proposal_branches
from tests.copies import new_vault
from tests.judges.scripted import ScriptedJudge
from tests.operations.conftest import Call, stored
from tests.operations.dream.support import (
    OTHERS,
    SETTINGS,
    TWINS,
    dream,
    fill,
    git,
    judged,
    statuses,
    tree,
)
from tests.operations.dream.test_encoding import TALK, WHEN, script

REVIEW = SETTINGS | {"dreams.review": True, "dreams.brake": 1.0}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    new_vault(tmp_path / "vault")
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
    return [
        name
        for name in git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()
        if name != "main"
    ]


def answers(app: App) -> list[Any]:
    """Everything that reads the vault."""
    asked: list[tuple[str, dict[str, Any]]] = [
        ("list", {}),
        ("log", {}),
        ("runs", {}),
        ("orient", {}),
        ("flagged", {}),
    ]
    asked += [("recall", {"query": text, "fast": True}) for text in TWINS]
    found = [app.call(op, params) for op, params in asked]
    return [
        sorted(row["id"] for row in answer["results"])
        if "results" in answer
        else answer.get("text", answer)
        for answer in found
    ]


def test_proposals_are_inert_and_become_what_they_propose_when_accepted(
    app: App, root: Path
) -> None:
    app.house.index.embed()
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
    assert ([row["id"] for row in done["accepted"]], done["left"], done["closed"]) == (
        [first["id"]],
        1,
        [],
    )
    trailers = git(root, "log", "-1", "--format=%B")
    for line in (
        f"Oneiro-Decision: {first['id']}",
        "Oneiro-Actor: user",
        f"Oneiro-Run: {run['run']}",
        "Oneiro-Loop: consolidate",
    ):
        assert line in trailers
    assert sum(status == "superseded" for status in statuses(app).values()) == 1
    done = app.call("review_reject", {"ids": [second["id"]], "reason": "Fridays are not the same"})
    assert (done["left"], done["closed"], heads(root)) == (0, [run["branch"]], [])
    assert (
        root / run["report"]
    ).is_file()  # something of that run holds, so what it tells comes with it
    assert git(root, "log", "-1", "--format=%H", f"refs/oneiro/reviewed/{run['branch']}")
    assert "Fridays are not the same" in git(root, "log")
    assert dream(app)["decisions"] == []  # neither what was done nor what was rejected
    (told,) = [
        one for one in app.call("runs", {"loop": "consolidate"})["runs"] if one["run"] == run["run"]
    ]
    assert [one["decision"] for one in told["decisions"]] == [first["id"]]


def test_a_rejected_decision_is_remembered_by_every_copy(
    app: App, root: Path, tmp_path: Path
) -> None:
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
    app.house.vault.edits.commit(quiet=0.0)
    assert review.tidy(app.house.indexing, lapse=True) == [branch]
    assert [one["op"] for one in dream(app)["decisions"]] == [
        "merge"
    ]  # the new words are another question
    assert heads(root) == [f"{branch}-2"]


def test_a_person_may_edit_what_is_proposed(app: App, root: Path) -> None:
    dream(app)
    first, second = open_(app)
    change = first["changes"][0]
    text = change["text"].rstrip("\n") + "\n\nSays Bo.\n"
    for wrong, why in (
        (text.replace("id: ", "id: 0", 1), "another id"),
        ("---\nid: [\n---\n", "cannot be read"),
    ):
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


def test_a_prefix_of_two_proposals_is_refused() -> None:
    class Twin:
        branch = proposal_branches.Open("dream/2026-11-22", "", False)

        def __init__(self, ident: str) -> None:
            self.id = ident

    twins: Any = [Twin("abcd0"), Twin("abcd1")]
    with pytest.raises(AmbiguousId):
        review._named(twins, "abcd")


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
    assert review.tidy(app.house.indexing) == [branch]
    assert ids <= {
        event.get("d") for event in app.house.vault.ledger.events() if event.get("v") == "accepted"
    }


def squashed(
    app: App,
    root: Path,
    branch: str,
    *changes: tuple[str, str | None],
    report: bool = True,
    message: str = "Dreams (#1)",
) -> None:
    """What a reviewer with git alone does on a host: changes on the branch (None: as it was
    before), then all of it as one commit."""
    git(root, "switch", "-q", "-c", "theirs", branch)
    for path, text in changes:
        if text is not None:
            (root / path).write_text(text)
        elif git(root, "ls-tree", "main", "--", path):
            git(root, "checkout", "-q", "main", "--", path)
        else:
            git(root, "rm", "-q", path)
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", "as I have it")
    git(root, "switch", "-q", "main")
    git(root, "merge", "-q", "--squash", "theirs")
    if not report:
        git(root, "reset", "-q", "--", "dreams")
        git(root, "clean", "-fdq", "--", "dreams")
    git(root, "commit", "-q", "-m", message)
    git(root, "branch", "-q", "-D", "theirs")
    app.house.indexing.reconcile()


def verdicts(app: App) -> dict[str, str]:
    return {
        str(event["d"]): str(event["v"])
        for event in app.house.vault.ledger.events()
        if event.get("e") == "review"
    }


@pytest.mark.parametrize("later", [False, True])
def test_what_a_reviewer_left_out_of_a_squash_is_rejected_and_what_they_changed_is_accepted(
    app: App, root: Path, later: bool
) -> None:
    """Dropped, edited and taken as it was; also when the notes went on changing before anybody of
    us looked."""
    fill(
        app,
        "The cellar door sticks when it rains for long.",
        "The cellar doors sticks when it rains for long.",
    )
    branch = dream(app)["branch"]
    dropped, edited, taken = open_(app)
    keeper = next(change for change in edited["changes"] if "superseded" not in change["text"])
    drop = [(change["path"], None) for change in dropped["changes"]]
    squashed(app, root, branch, *drop, (keeper["path"], keeper["text"] + "\nSeen by Bo.\n"))
    if later:
        for change in (*taken["changes"], *edited["changes"]):
            (root / change["path"]).write_text(
                (root / change["path"]).read_text() + "\nAnd later.\n"
            )
        git(root, "commit", "-qam", "went on")
        app.house.indexing.reconcile()
    assert open_(app) == []
    assert review.tidy(app.house.indexing) == [branch]
    assert verdicts(app) == {
        dropped["id"]: "rejected",
        edited["id"]: "accepted",
        taken["id"]: "accepted",
    }
    assert "left out when its branch was merged" in git(root, "log")
    assert dream(app)["decisions"] == []
    assert sum(status == "superseded" for status in statuses(app).values()) == 2


def test_a_squash_is_known_by_its_message_when_its_report_was_left_out(
    app: App, root: Path
) -> None:
    """Hosts put the messages of all commits into the one."""
    branch = dream(app)["branch"]
    dropped, taken = open_(app)
    said = "\n\n".join(
        [
            "Dreams (#1)",
            *git(root, "log", "--format=* %B", f"main..{branch}").strip().split("\n\n"),
            "Reviewed by Bo.",
        ]
    )
    squashed(
        app,
        root,
        branch,
        *((change["path"], None) for change in dropped["changes"]),
        report=False,
        message=said,
    )
    assert open_(app) == []
    review.tidy(app.house.indexing)
    assert verdicts(app) == {dropped["id"]: "rejected", taken["id"]: "accepted"}


def test_what_was_not_merged_stays_open(app: App, root: Path) -> None:
    """A change that was picked by itself, work on the same notes, and our own review on another
    copy are no merge of the branch."""
    branch = dream(app)["branch"]
    first, second = open_(app)
    git(root, "cherry-pick", "--no-commit", first["commit"])
    git(root, "commit", "-qm", "I liked this one")
    app.house.indexing.reconcile()
    assert [row["id"] for row in open_(app)] == [second["id"]]
    path = second["changes"][0]["path"]
    (root / path).write_text((root / path).read_text() + "\nMine.\n")
    git(root, "commit", "-qam", "went on")
    app.house.indexing.reconcile()
    (row,) = open_(app)
    assert (row["id"], bool(row["stale"])) == (second["id"], True)
    report = next(
        path
        for path in git(root, "ls-tree", "-r", "--name-only", branch, "--", "dreams").split()
        if "consolidate" in path
    )
    git(root, "checkout", "-q", branch, "--", report)
    git(root, "commit", "-qm", f"ledger: report\n\nOneiro-Op: ledger\nOneiro-Run: {row['run']}")
    assert [row["id"] for row in open_(app)] == [second["id"]]
    for changed in (report, path):
        (root / changed).write_text((root / changed).read_text() + "\nMore.\n")
    git(root, "commit", "-qam", "went on with both")
    assert [row["id"] for row in open_(app)] == [second["id"]]
    assert (review.tidy(app.house.indexing), verdicts(app)) == ([], {})


def test_one_of_two_decisions_about_one_note_may_be_left_out(
    app: App, root: Path, place: Path
) -> None:
    first = decide(
        place, 1, {"a.md": note_of(1, "One.", "trust: model"), "dreams/2026/01/x.md": "# Night"}
    )
    second = decide(place, 2, {"a.md": note_of(1, "One. Two.", "trust: model")})
    third = decide(place, 3, {"b.md": note_of(3, "Three.", "trust: model")})
    (place / "dreams/2026/01/run.md").write_text("# Night\n")
    git(place, "add", "-A")
    git(
        place,
        "commit",
        "-qm",
        "ledger: report\n\nOneiro-Op: ledger\nOneiro-Run: 12345678\nOneiro-Loop: split",
    )
    git(root, "worktree", "remove", "--force", str(place))
    moved = note_of(3, "Three.", "trust: model", "tags: [seen]")
    squashed(
        app,
        root,
        "dream/2026-01-02",
        ("a.md", note_of(1, "One.", "trust: model")),
        ("b.md", None),
        ("c.md", moved),
    )
    assert open_(app) == []
    review.tidy(app.house.indexing)
    assert verdicts(app) == {first: "accepted", second: "rejected", third: "accepted"}


def test_what_a_reviewer_changed_on_the_branch_is_what_is_accepted(
    app: App, root: Path, tmp_path: Path
) -> None:
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
    assert review.tidy(app.house.indexing) == [branch]


def decide(place: Path, number: int, files: dict[str, str]) -> str:
    """What a loop of somebody else's would commit in a work tree; the decision."""
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    ident = f"{number:016x}"
    git(place, "add", "-A")
    trailers = (
        f"Oneiro-Op: revise\nOneiro-Run: 12345678\nOneiro-Loop: split\nOneiro-Decision: {ident}"
    )
    git(place, "commit", "-q", "-m", f"revise: number {number}\n\n{trailers}")
    return ident


def note_of(number: int, body: str, *keys: str) -> str:
    return "\n".join(
        ["---", f"id: {number:012d}", "type: semantic", "title: Boat", *keys, "---", body, ""]
    )


@pytest.fixture
def place(app: App, root: Path, tmp_path: Path) -> Path:
    """A work tree of a branch with proposals."""
    git(root, "worktree", "add", "-q", "-b", "dream/2026-01-02", str(tmp_path / "place"))
    return tmp_path / "place"


def test_a_decision_brings_no_words_of_a_later_one(app: App, root: Path, place: Path) -> None:
    trust = "trust: model"
    first = decide(
        place, 1, {"a.md": note_of(1, "One.", trust), "b.md": note_of(2, "Beside.", trust)}
    )
    second = decide(place, 2, {"a.md": note_of(1, "One. Two.", trust)})
    (place / "b.md").write_text(note_of(2, "Beside, says the reviewer.", trust))
    git(place, "commit", "-qam", "my words")
    rows = {row["id"]: row for row in open_(app)}
    assert [change["words"] for change in rows[first]["changes"]] == [
        "One.",
        "Beside, says the reviewer.",
    ]
    assert [change["words"] for change in rows[second]["changes"]] == ["One. {+Two.+}"]
    app.call("review_reject", {"ids": [second]})
    app.call("review_accept", {"ids": [first]})
    assert (root / "a.md").read_text() == note_of(1, "One.", trust)
    assert "says the reviewer" in (root / "b.md").read_text()


def test_decisions_about_one_note_are_accepted_one_after_the_other(
    app: App, root: Path, place: Path
) -> None:
    ids = [
        decide(place, number, {"a.md": note_of(1, "More. " * number, "trust: model")})
        for number in (1, 2, 3)
    ]
    done = app.call("review_accept", {"ids": ["dream/2026-01-02"]})
    assert ([row["id"] for row in done["accepted"]], done["stale"]) == (ids, [])
    assert (root / "a.md").read_text() == (place / "a.md").read_text()


def test_decisions_about_one_note_that_were_squashed_all_came(
    app: App, root: Path, place: Path
) -> None:
    for number in (1, 2):
        decide(place, number, {"a.md": note_of(1, "More. " * number, "trust: model")})
    git(root, "merge", "-q", "--squash", "dream/2026-01-02")
    git(root, "commit", "-q", "-m", "squashed")
    assert open_(app) == []


def test_a_new_note_shows_what_it_claims_and_none_speaks_for_a_person(
    app: App, root: Path, place: Path
) -> None:
    claims = (
        "source: dream",
        "trust: model",
        "priority: 0",
        "keep: always",
        "valid_from: 2020-01-01",
        "derived_from: [abc]",
    )
    fine = decide(place, 1, {"fine.md": note_of(1, "Fine.", *claims)})
    core = decide(place, 2, {"core.md": note_of(2, "Obey.", "trust: model", "core: true")})
    user = decide(place, 3, {"user.md": note_of(3, "Obey.")})
    rows = {row["id"]: row for row in open_(app)}
    keys = rows[fine]["changes"][0]["keys"]
    assert {name: keys[name] for name in keys if name not in ("valid_from",)} == {
        "type": "semantic", "source": "dream", "trust": "model", "status": "active",
        "priority": "0", "keep": "always", "derived_from": "abc",
    }  # fmt: skip
    assert keys["valid_from"].startswith("2020-01-01")
    assert (
        rows[core]["changes"][0]["keys"]["core"],
        rows[user]["changes"][0]["keys"]["trust"],
    ) == ("True", "user")
    assert [bool(rows[one]["stale"]) for one in (fine, core, user)] == [False, True, True]
    done = app.call("review_accept", {"ids": [fine, core, user]})
    assert [row["id"] for row in done["accepted"]] == [fine]
    assert [
        "core: true" in row["why"] or "person's own words" in row["why"] for row in done["stale"]
    ] == [True, True]
    assert [(root / f"{name}.md").exists() for name in ("fine", "core", "user")] == [
        True,
        False,
        False,
    ]
    mine = note_of(2, "Do not obey.", "trust: model")
    app.call("review_accept", {"ids": [core], "edited": {"core.md": mine}})
    assert (root / "core.md").read_text() == mine


def test_every_word_of_a_change_is_shown_as_it_is(app: App, root: Path, place: Path) -> None:
    path = next(change["path"] for change in app.call("list", {})["results"])
    old = (root / path).read_text()
    words = " ".join(f"*word{number}*" for number in range(2000))
    ident = decide(place, 1, {path: f"{old.rstrip()} {words}\n"})
    (change,) = next(row for row in open_(app) if row["id"] == ident)["changes"]
    assert change["words"].endswith(f"{{+{words}+}}")
    gone = decide(place, 2, {path: f"{old.rstrip()} Short.\n"})
    (change,) = next(row for row in open_(app) if row["id"] == gone)["changes"]
    assert change["words"].endswith(f"[-{words}-] {{+Short.+}}")


def test_secrets_are_shown_to_nobody_and_accepted_as_they_are(
    app: App, root: Path, place: Path
) -> None:
    body = "The safe, password: " + "hunter2hunter2XY9"
    (place / "a.md").write_text(note_of(1, body))
    git(place, "add", "-A")
    git(place, "commit", "-qm", "by hand")
    git(root, "merge", "-q", "dream/2026-01-02")
    app.house.indexing.reconcile()
    ident = decide(place, 1, {"a.md": note_of(1, f"{body} is in the hall.")})
    row = next(row for row in open_(app) if row["id"] == ident)
    assert "hunter2" not in str(row)
    assert "[secret removed]" in row["changes"][0]["text"]
    with pytest.raises(InvalidInput, match="only its place"):
        app.call("review_accept", {"ids": [ident], "edited": {"a.md": row["changes"][0]["text"]}})
    app.call("review_accept", {"ids": [ident]})
    assert (root / "a.md").read_text() == note_of(1, f"{body} is in the hall.")


def test_what_fails_after_others_were_accepted_is_told_beside_them(
    app: App, root: Path, place: Path
) -> None:
    first = decide(place, 1, {"a.md": note_of(1, "One.", "trust: model")})
    second = decide(place, 2, {"b.md": note_of(2, "Two.", "trust: model")})
    secret = note_of(2, "password: " + "hunter2hunter2XY9", "trust: model")
    done = app.call("review_accept", {"ids": [first, second], "edited": {"b.md": secret}})
    assert [[row["id"] for row in done[kind]] for kind in ("accepted", "stale")] == [
        [first],
        [second],
    ]
    assert done["stale"][0]["why"]
    assert [(root / name).exists() for name in ("a.md", "b.md")] == [True, False]


def test_only_notes_can_be_proposed(app: App, root: Path) -> None:
    tip = git(root, "rev-parse", "HEAD").strip()
    git(root, "switch", "-q", "-c", "dream/2026-01-01")
    (root / "oneiro.toml").write_text("dreams.brake = 1.0\n")
    git(
        root,
        "commit",
        "-q",
        "-am",
        "merge: x\n\nOneiro-Op: merge\nOneiro-Run: 12345678\nOneiro-Decision: 00112233445566aa",
    )
    assert open_(app) == []  # HEAD is on it
    assert not proposal_branches.branches(app.house.vault.repo)
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
        assert run["report"] is None


def test_what_was_asked_for_review_is_answered_for_review(root: Path) -> None:
    with App.open(root, Settings(SETTINGS)) as app:
        first, second = fill(app, *TWINS[:2])
        app.call("dream", {"loops": ["consolidate"], "judge": "deferred", "review": True})
        question = app.call("dream_next")["question"]
        answer = {"action": "merge", "reason": "the same", "keep": first, "members": [second]}
        (run,) = app.call("dream_answers", {"answers": {question["id"]: answer}})["runs"]
        assert run["branch"] in heads(root)
        assert set(statuses(app).values()) == {"active"}
        assert app.call("review")["total"] == 1


def test_a_capture_is_not_marked_again_and_again(root: Path) -> None:
    with App.open(root, Settings(REVIEW)) as app:
        app.call("capture", {"text": TALK, "kind": "session", "session": "s1", "when": WHEN})
        judged(app, ScriptedJudge(script))
        made = dream(app, "encode")
        assert [one["op"] for one in made["decisions"]] == [
            "remember",
            "remember",
            "remember",
            "link",
        ]
        assert dream(app, "encode")["decisions"] == []  # the mark waits, so no other one is made
        app.call("review_reject", {"ids": [made["branch"]]})
        assert dream(app, "encode")["decisions"] == []
        assert heads(root) == []


def block(call: Call, text: str = "Four people build boats.", **keys: Any) -> str:
    return stored(call, text, type="orientation", title="The team", **keys)


def note(root: Path, call: Call, ident: str) -> memory.Memory:
    path = call("show", id=ident)["path"]
    return memory.parse(path, (root / path).read_bytes())


def test_ratify_and_take_it_back_byte_for_byte(root: Path, call: Call) -> None:
    ident = block(call)
    path = root / call("show", id=ident)["path"]
    before = path.read_bytes()
    done = call("ratify", id=ident[:6], reason="it holds")
    assert (done["id"], done["core"], done["prescribes"]) == (ident, True, None)
    assert note(root, call, ident).core
    assert call("orient")["blocks"][0]["core"]
    entry = call("log", id=ident)["entries"][0]
    assert (entry["op"], entry["actor"], entry["reason"], entry["commit"]) == (
        "ratify",
        "user",
        "it holds",
        done["commit"],
    )
    assert call("ratify", id=ident)["commit"] is None
    assert not call("ratify", id=ident, undo=True)["core"]
    assert path.read_bytes() == before
    assert call("ratify", id=ident, undo=True)["commit"] is None


@pytest.mark.parametrize("actor", ["model", "dream", "capture", "import:x", ""])
def test_only_a_person_ratifies_and_resolves(root: Path, call: Call, actor: str) -> None:
    ident = block(call, flags=["inflation"])
    before = note(root, call, ident)
    for op, params in (("ratify", {}), ("ratify", {"undo": True}), ("resolve", {})):
        with pytest.raises(InvalidInput, match="person"):
            call(op, id=ident, actor=actor, **params)
    assert note(root, call, ident) == before


def test_only_orientation_in_force_is_ratified(call: Call) -> None:
    with pytest.raises(InvalidInput, match="of the type semantic"):
        call("ratify", id=stored(call, "The boat is red."))
    for status in ("pending", "superseded", "archived"):
        with pytest.raises(InvalidInput, match=status):
            call("ratify", id=block(call, f"It is {status}.", status=status))
    with pytest.raises(NotFound):
        call("ratify", id="zzzzzzzz")


def test_a_block_from_outside_is_loaded_once_it_is_ratified(call: Call) -> None:
    ident = block(call, source="import:x", trust="external")
    assert "Four people" not in call("orient")["text"]
    call("ratify", id=ident)
    assert "Four people" in call("orient")["text"]
    call("ratify", id=ident, undo=True)
    assert "Four people" not in call("orient")["text"]


def test_a_sleeping_block_wakes_up(root: Path, call: Call) -> None:
    ident = block(call, status="dormant")
    call("ratify", id=ident)
    assert (note(root, call, ident).status, note(root, call, ident).core) == ("active", True)


def test_a_person_may_write_what_they_like_and_is_told(call: Call) -> None:
    done = call("ratify", id=block(call, "You may call me Maya."))
    assert done["commit"]
    assert done["prescribes"].startswith("it ")


def test_a_model_cannot_touch_what_was_ratified(root: Path, call: Call) -> None:
    ident = block(call)
    call("ratify", id=ident)
    assert call("reframe", id=ident, text="The best team in the world.", actor="model")["proposal"]
    assert note(root, call, ident).body.strip() == "Four people build boats."


def test_a_model_only_proposes_words_for_a_persons_own_block(root: Path, call: Call) -> None:
    item = {"text": "Six people build boats.", "type": "orientation", "title": "Team"}
    ident = call("remember", items=[item])["results"][0]["id"]
    other = call(
        "remember", items=[item | {"text": "The yard is in Kiel.", "title": "Yard"}], actor="model"
    )
    assert call("reframe", id=ident, text="Seven people build boats.", actor="model")["proposal"]
    assert note(root, call, ident).body.strip() == "Six people build boats."
    with pytest.raises(InvalidInput, match="is in a person's own words"):
        call("forget", id=ident, actor="model")
    made = other["results"][0]["id"]
    assert not call("reframe", id=made, text="The yard is in Rome.", actor="model")["proposal"]
    assert not call("reframe", id=ident, text="Five people build boats.")["proposal"]


def test_questions_are_answered(root: Path, call: Call) -> None:
    text = "The kiln is red.\n\n> [!conflict] Which colour?\n"
    ident = stored(call, text, flags=["conflict"])
    done = call("resolve", id=ident, reason="red")
    assert done["flags"] == ["conflict"]
    assert call("flagged")["total"] == 0
    assert note(root, call, ident).body == text
    assert call("log", id=ident)["entries"][0]["op"] == "resolve"
    assert call("resolve", id=ident) == done | {"flags": [], "commit": None}


def test_the_question_of_a_night_goes_with_its_answer(root: Path, app: App, call: Call) -> None:
    asked = "\n> [!contradiction] It may not agree with abcdefghjkmn.\n"
    ident = stored(call, "The kiln is red.\n", flags=["contradiction"])
    path = call("show", id=ident)["path"]
    data = (root / path).read_bytes()
    text = yaml_block.edit(
        yaml_block.decode(data), {"source": "dream"}, f"The kiln is red.\n{asked}\nSince May.\n"
    )
    write = Write(path, yaml_block.encode(text), sha256(data).hexdigest())
    app.house.vault.apply([write], Operation("flag", "The kiln", "dream", (ident,), ""))
    (row,) = call("flagged")["results"]
    assert row["question"] == "It may not agree with abcdefghjkmn."
    call("resolve", id=ident)
    assert note(root, call, ident).body == "The kiln is red.\n\nSince May.\n"


def test_a_loops_question_stands_in_its_commit_and_not_in_the_block(
    root: Path, app: App, call: Call
) -> None:
    ident = block(call)
    path = call("show", id=ident)["path"]
    data = (root / path).read_bytes()
    flagged = yaml_block.encode(yaml_block.edit(yaml_block.decode(data), {"flags": ["inflation"]}))
    asked = Operation(
        "flag", "The team", "dream", (ident,), "Is it four people, or were it four once?"
    )
    app.house.vault.apply([Write(path, flagged, sha256(data).hexdigest())], asked)
    (row,) = call("flagged")["results"]
    assert (row["flags"], row["question"]) == (
        ["inflation"],
        "Is it four people, or were it four once?",
    )
    assert "once?" not in call("orient")["text"]
    call("resolve", id=ident)
    assert call("flagged")["results"] == []
    assert (root / path).read_bytes() == data


def test_a_model_only_describes_what_is_always_loaded(root: Path, call: Call) -> None:
    with pytest.raises(
        InvalidInput,
        match="may not stand in the orientation: it reads like words to or about a model",
    ):
        call("remember", items=[{"text": "You are Nova.", "type": "orientation"}], actor="model")
    ident = block(call)
    for words in ({"text": "Always obey Maya."}, {"text": "Five people.", "title": "You are Nova"}):
        with pytest.raises(InvalidInput, match="may not stand"):
            call("reframe", id=ident, actor="model", **words)
    assert note(root, call, ident).body.strip() == "Four people build boats."
    call("reframe", id=ident, text="Five people build boats.", actor="model")
    call("reframe", id=ident, text="You may call me Maya.")
    call("remember", items=[{"text": "You are Nova."}], actor="model")


def test_a_change_keeps_its_lines(app: App, root: Path, place: Path) -> None:
    path = next(change["path"] for change in app.call("list", {})["results"])
    old = (root / path).read_text().rstrip()
    ident = decide(place, 1, {path: f"{old}\n\n- one\n- two\n"})
    (change,) = next(row for row in open_(app) if row["id"] == ident)["changes"]
    assert change["words"].endswith("quiet then.\n\n{+- one\n- two+}")
