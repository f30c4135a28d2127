"""Notes as files: what a path of the vault shows, and what a note keeps when it gets another
one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import InvalidInput, NotFound, OneiroError, StaleMemory, UnsafePath
from tests.operations.conftest import Call, stored
from tests.vault.support import git


def test_a_folder_two_levels_deep(call: Call) -> None:
    ids = {
        path: stored(call, f"About {path}.", path=path)
        for path in ("a.md", "b/c.md", "b/d/e.md", "b/d/f/g.md")
    }
    found = call("browse")
    assert [(one["path"], one["notes"], one["id"]) for one in found["entries"]] == [
        ("a.md", 1, ids["a.md"]), ("b/", 3, None), ("b/c.md", 1, ids["b/c.md"]), ("b/d/", 2, None),
    ]  # fmt: skip
    assert (found["note"], found["left"], found["degraded"]) == (None, 0, None)
    assert [one["path"] for one in call("browse", path="b/d")["entries"]] == [
        "b/d/e.md",
        "b/d/f/",
        "b/d/f/g.md",
    ]


def test_a_note_by_its_path_is_a_use_once_a_day(root: Path, call: Call) -> None:
    ident = stored(call, "The boat is called Petrel.", path="boat.md")
    for _ in range(2):
        note = call("browse", path="boat.md")["note"]
    assert (note["id"], note["body"], note["core"], note["notice"]) == (
        ident,
        "The boat is called Petrel.\n",
        False,
        None,
    )
    assert call("show", id=ident)["sha256"] == note["sha256"]
    assert call("why", id=ident)["uses"]["days"] == 1
    (root / "plain.md").write_text("No frontmatter.\n")
    assert call("browse", path="plain.md")["note"]["body"] == "No frontmatter.\n"


@pytest.mark.parametrize(
    "path",
    [
        "none.md",
        "none",
        "../x",
        "/etc",
        ".git",
        ".git/config",
        "a//b",
        "\0",
        "\ud800",
        7,
        None,
        ["a.md"],
    ],
)
def test_what_is_no_path(call: Call, path: Any) -> None:
    with pytest.raises((NotFound, InvalidInput)):
        call("browse", path=path)


def test_a_note_keeps_its_bytes_its_id_and_its_story(root: Path, call: Call) -> None:
    ident = stored(call, "The boat is called Petrel.", path="boat.md")
    data = (root / "boat.md").read_bytes()
    done = call("move", id=ident, path="boats/petrel.md", actor="model")
    assert (done["path"], done["was"]) == ("boats/petrel.md", "boat.md")
    assert (root / "boats/petrel.md").read_bytes() == data
    assert not (root / "boat.md").exists()
    assert (
        git(root, "log", "-1", "--format=%an|%s").strip()
        == "oneiro (model)|revise: The boat is called Petrel. is boats/petrel.md now"
    )
    assert [entry["op"] for entry in call("why", id=ident)["story"]] == ["remember", "revise"]
    call("undo", commit=done["commit"])
    assert (root / "boat.md").read_bytes() == data


def test_a_person_may_move_what_a_machine_may_not(root: Path, call: Call) -> None:
    ident = stored(call, "The harbour is Kiel.", path="orientation/harbour.md", type="orientation")
    note = root / "orientation/harbour.md"
    note.write_text(note.read_text().replace("type:", "core: true\ntype:"))
    with pytest.raises(InvalidInput, match="ratified by a person"):
        call("move", id=ident, path="harbour.md", actor="model")
    assert call("move", id=ident, path="harbour.md")["path"] == "harbour.md"


def test_a_note_that_shows_pictures_stays_in_its_folder(call: Call) -> None:
    link = f"![sea](../attachments/ab/{'ab' * 32}.png)"
    ident = stored(call, f"The sea at nine.\n\n{link}", path="sea/nine.md")
    with pytest.raises(InvalidInput, match="by where it is"):
        call("move", id=ident, path="nine.md")
    assert call("move", id=ident, path="sea/ten.md")["path"] == "sea/ten.md"


@pytest.mark.parametrize(
    "path",
    ["boat.md", "other.md", "x.txt", "../x.md", ".hidden/x.md", "a/.b.md", "", None, "con.md"],
)
def test_where_no_note_may_go(root: Path, call: Call, app: App, path: Any) -> None:
    ident = stored(call, "The boat is called Petrel.", path="boat.md")
    stored(call, "Another one.", path="other.md")
    before = git(root, "rev-parse", "HEAD")
    with pytest.raises(OneiroError) as caught:
        call("move", id=ident, path=path)
    assert isinstance(caught.value, StaleMemory) is (path == "other.md")
    assert git(root, "rev-parse", "HEAD") == before


def test_no_memory_is_stored_where_it_would_never_be_found(call: Call) -> None:
    with pytest.raises(UnsafePath, match="hidden"):
        stored(call, "Words.", path=".notes/x.md")


def test_a_link_leads_to_what_it_means(call: Call) -> None:
    boat = stored(call, "The boat.", title="Petrel", path="boats/petrel.md")
    kiln = stored(call, "See [[Petrel]].", path="kilns/kiln.md")
    for link in ("Petrel", "petrel", "boats/petrel", "boats/petrel.md", "/boats/petrel.md", boat):
        assert [one["id"] for one in call("follow", to=link)["results"]] == [boat], link
    assert call("follow", to="../boats/petrel.md", source=kiln)["results"][0]["id"] == boat
    for link in ("nowhere", "https://a.example/petrel", " ", "../../../etc/passwd"):
        assert call("follow", to=link)["results"] == [], link
