"""What is served while files cannot speak for themselves: broken notes, and a vault that seems to
vanish."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import Brake, InvalidInput, NotFound, UnreadableNote
from tests.operations.conftest import QUICK, Call, hits, stored
from tests.operations.remember.test_write import git

MARKERS = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n"


@pytest.fixture
def broken(root: Path, call: Call) -> tuple[str, Path]:
    """A memory whose file a merge has filled with markers: its id, and the file."""
    ident = stored(call, "The boiler was serviced in March.", title="Boiler")
    path = root / call("show", id=ident)["path"]
    path.write_text(path.read_text() + MARKERS)
    return ident, path


def test_a_note_with_conflict_markers_shows_its_last_good_version_and_says_so(
    call: Call, broken: tuple[str, Path], root: Path
) -> None:
    ident, path = broken
    found = call("show", id=ident)
    assert found["body"].strip() == "The boiler was serviced in March."
    assert found["notice"]["path"] == path.relative_to(root).as_posix()
    assert "conflict markers" in found["notice"]["reason"]
    assert "editor" in found["notice"]["hint"]
    assert call("why", id=ident)["notice"] == found["notice"]
    path.write_text(path.read_text().replace(MARKERS, "Next in May.\n"))
    assert "Next in May." in call("show", id=ident)["body"]
    assert call("show", id=ident)["notice"] is None


def test_show_and_recall_say_what_head_says_when_it_moved_on(
    call: Call, broken: tuple[str, Path], root: Path
) -> None:
    """The file stays broken while a newer good version is committed beside it, as a sync does."""
    ident, path = broken
    name = path.relative_to(root).as_posix()
    before = path.read_bytes()
    path.write_text(before.decode().replace(MARKERS, "").replace("March", "October"))
    git(root, "commit", "-qm", "from elsewhere", "--", name)
    path.write_bytes(before)
    assert hits(call, "October") == [ident]
    assert "October" in call("show", id=ident)["body"]
    assert call("show", id=ident)["notice"]


def test_a_person_who_committed_the_markers_still_finds_the_version_before(
    root: Path, call: Call, app: App
) -> None:
    ident = stored(call, "The boiler was serviced in March.")
    path = root / call("show", id=ident)["path"]
    path.write_text(path.read_text() + MARKERS)
    git(root, "commit", "-qam", "oops")
    app.close()
    shutil.rmtree(root / ".oneiro")
    with App.open(root, QUICK) as again:
        found = again.call("show", {"id": ident})
        assert found["body"].strip() == "The boiler was serviced in March."
        assert [row["id"] for row in again.call("recall", {"query": "boiler"})["results"]] == [
            ident
        ]


def test_words_that_were_never_committed_are_shown_from_the_index(root: Path) -> None:
    settings = QUICK.but(edits_commit=False)
    with App.open(root, settings) as app:
        (root / "loose.md").write_text(
            "---\ntitle: Loose\ntags: [tea]\n---\nOolong at 90 degrees.\n"
        )
        ident = app.call("list")["results"][0]["id"]
        (root / "loose.md").write_bytes(b"Oolong\0")
        found = app.call("show", {"id": ident})
        assert (found["meta"]["title"], found["meta"]["tags"]) == ("Loose", ("tea",))
        assert found["body"].strip() == "Oolong at 90 degrees."
        assert "loose.md" in found["notice"]["path"]
        with pytest.raises(Brake, match=r"loose\.md"):
            app.call("reindex")
        assert app.call("recall", {"query": "Oolong degrees"})["results"]
        assert app.call("reindex", {"force": True})["notes"] == 0


def test_a_note_with_broken_frontmatter_shows_what_can_be_read_of_it(
    root: Path, call: Call
) -> None:
    ident = stored(call, "The boiler was serviced in March.", title="Boiler")
    path = root / call("show", id=ident)["path"]
    text = (
        path.read_text()
        .replace("title: Boiler", "title: Boiler: serviced")
        .replace("March", "October")
    )
    path.write_text(text)
    found = call("show", id=ident)
    assert (found["id"], found["meta"]["title"], found["body"].strip()) == (
        ident,
        "Boiler: serviced",
        "The boiler was serviced in October.",
    )
    assert (found["notice"]["shown"], found["problems"]) == (
        "what can be read of it",
        ["frontmatter"],
    )
    assert hits(call, "October") == [ident]
    with pytest.raises(UnreadableNote):
        call("reframe", id=ident, text="Other words.")
    assert path.read_text() == text
    path.write_text(text.replace("Boiler: serviced", "'Boiler: serviced'"))
    assert call("show", id=ident)["notice"] is None


def test_a_link_in_the_place_of_a_note_is_not_followed(
    call: Call, root: Path, tmp_path: Path
) -> None:
    ident = stored(call, "The gate code is on the blue card.")
    path = root / call("show", id=ident)["path"]
    path.unlink()
    (tmp_path / "secret.md").write_text("Somebody else's words.")
    path.symlink_to(tmp_path / "secret.md")
    found = call("show", id=ident)
    assert found["body"].strip() == "The gate code is on the blue card."
    assert "link" in found["notice"]["reason"]


@pytest.fixture
def vanished(root: Path, call: Call) -> list[Path]:
    """30 notes, committed; then 25 of their files are gone at once."""
    call("remember", items=[{"text": f"Fact number {n} about item {n}."} for n in range(30)])
    files = sorted((root / "semantic").rglob("*.md"))
    for path in files[:25]:
        path.rename(path.with_suffix(".away"))
    return files[:25]


READING: list[Callable[[Call], dict[str, object]]] = [
    lambda call: call("recall", query="fact about item 3"),
    lambda call: call("list", limit=100),
    lambda call: call("log"),
    lambda call: call("stats"),
    lambda call: call("status"),
    lambda call: call("check"),
    lambda call: call("show", id=call("list", limit=100)["results"][0]["id"]),
    lambda call: call("why", id=call("list", limit=100)["results"][0]["id"]),
]


@pytest.mark.parametrize("ask", READING, ids="recall list log stats status check show why".split())
def test_every_answer_says_that_the_brake_holds(
    call: Call, vanished: list[Path], ask: Callable[[Call], dict[str, object]]
) -> None:
    call("list")
    found = ask(call)
    assert "25 of 30 files vanished at once" in str(found["degraded"])
    assert ["25 of 30 files vanished at once" in text for text in found["notices"]] == [True]  # type: ignore[attr-defined]  # the type is wider than what is in it


def test_notes_whose_files_are_gone_are_marked_and_shown_with_a_notice(
    call: Call, vanished: list[Path]
) -> None:
    rows = call("list", limit=100)["results"]
    gone = [row for row in rows if row["gone"]]
    assert (len(rows), len(gone)) == (30, 25)
    found = call("show", id=gone[0]["id"])
    assert found["body"].startswith("Fact number")
    assert "git restore" in found["notice"]["hint"]
    assert any(row["gone"] for row in call("recall", query="fact number about item")["results"])


def test_the_notice_goes_when_the_files_come_back(call: Call, vanished: list[Path]) -> None:
    call("list")
    for path in vanished:
        path.with_suffix(".away").rename(path)
    found = call("list", limit=100)
    assert (found["degraded"], found.get("notices")) == (None, None)
    assert not any(row["gone"] for row in found["results"])


def test_what_was_taken_out_on_purpose_is_gone_at_once(call: Call, app: App, root: Path) -> None:
    call("remember", items=[{"text": f"Fact number {n} about item {n}."} for n in range(30)])
    names = [row["path"] for row in call("list", limit=100)["results"]][:25]
    git(root, "rm", "-q", *names)
    git(root, "commit", "-qm", "cleared out")
    app.house.indexing.refresh(names)  # as an owner hears of it, path by path
    assert (app.house.index.count(), app.house.indexing.braked) == (5, None)


def test_an_owner_that_hears_of_it_path_by_path_holds_on_too(
    call: Call, app: App, vanished: list[Path], root: Path
) -> None:
    names = [path.relative_to(root).as_posix() for path in vanished]
    app.house.indexing.refresh(names)
    assert (app.house.index.count(), len(app.house.indexing.held)) == (30, 25)
    assert "25 of 30" in str(app.house.indexing.braked)
    for path in vanished:
        path.with_suffix(".away").rename(path)
    app.house.indexing.refresh(names)
    assert app.house.indexing.backlog, "a look at everything is due: they may be coming back"


def test_a_new_index_is_not_built_over_the_brake(call: Call, vanished: list[Path]) -> None:
    with pytest.raises(Brake, match="25 notes") as caught:
        call("reindex")
    assert "--yes" in caught.value.hint
    assert len(call("list", limit=100)["results"]) == 30
    assert not any(
        problem["fixed"]
        for problem in call("doctor", fix=True)["problems"]
        if problem["code"].startswith("index")
    )
    assert call("reindex", force=True)["notes"] == 5
    assert call("list")["degraded"] is None


def test_a_faded_row_says_so_in_lists_and_in_answers(call: Call) -> None:
    stored(
        call,
        "The lighthouse lamp was replaced.",
        type="episodic",
        created="2020-01-01",
        timestamp="2020-01-01",
    )
    assert [row["faded"] for row in call("list")["results"]] == [True]
    assert [row["faded"] for row in call("recall", query="lighthouse lamp")["results"]] == [True]


def test_a_note_that_is_really_gone_is_not_served(call: Call, root: Path) -> None:
    ident = stored(call, "Short-lived.")
    (root / call("show", id=ident)["path"]).unlink()
    with pytest.raises(NotFound):
        call("show", id=ident)


def test_a_broken_note_is_not_changed_by_machines(call: Call, broken: tuple[str, Path]) -> None:
    ident, path = broken
    before = path.read_bytes()
    with pytest.raises(UnreadableNote):
        call("reframe", id=ident, text="Something else.")
    assert path.read_bytes() == before


def test_a_secret_from_before_is_not_written_over_by_its_place(root: Path) -> None:
    with App.open(root, QUICK.but(secrets_mode="off")) as app:
        item = {"text": "Door 3. Password: hunter22x", "title": "The doors"}
        ident = app.call("remember", {"items": [item]})["results"][0]["id"]
    with App.open(root, QUICK) as app:
        shown = app.call("show", {"id": ident})
        assert "hunter22x" not in json.dumps([shown, app.call("recall", {"query": "door"})])
        with pytest.raises(InvalidInput, match="only its place"):
            app.call("reframe", {"id": ident, "text": shown["body"].replace("3", "4")})
        app.call("reframe", {"id": ident, "text": "Door 4."})
        assert app.call("show", {"id": ident})["body"].strip() == "Door 4."


def test_a_secret_is_shown_once_a_person_has_said_that_it_is_none(root: Path) -> None:
    """Until then the note is found by its other words, and says what it lacks."""
    (root / "door.md").write_text("The back door. Password: hunter22x\n")
    with App.open(root, QUICK) as app:
        (row,) = app.call("recall", {"query": "back door"})["results"]
        shown = app.call("show", {"id": row["id"]})
        assert "hunter22x" not in json.dumps([row, shown])
        assert "a password" in shown["notice"]["reason"]
        assert shown["sha256"] == sha256((root / "door.md").read_bytes()).hexdigest()
    mark = sha256(b"hunter22x").hexdigest()
    with App.open(root, QUICK.but(secrets_allowed=mark)) as app:
        (row,) = app.call("recall", {"query": "back door"})["results"]
        shown = app.call("show", {"id": row["id"]})
        assert "hunter22x" in row["snippet"]
        assert ("hunter22x" in shown["text"], shown["notice"]) == (True, None)
