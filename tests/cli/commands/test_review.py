"""A person's review: by ids, as one file, and one by one at a terminal."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App, init_vault
from oneiro_vault.cli.commands.review import Sitting
from oneiro_vault.cli.output import Style
from oneiro_vault.daemon.protocol import Terminal
from oneiro_vault.settings.definitions import Settings
from tests.box import Box, until_closed
from tests.operations.dream.support import SETTINGS, TWINS, dream, fill, git, judged

ALIKE = (
    *TWINS,
    "The boat in the harbour is called Petrel.",
    "The boat in the harbour is called the Petrel.",
)

TWICE = ("The tap in the kitchen drips all winter.", "The oven hums when it is cold outside.") * 2


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """Three proposals wait."""
    init_vault(tmp_path / "vault")
    with App.open(
        tmp_path / "vault",
        Settings(
            SETTINGS | {"dreams.review": True, "consolidate.similarity": 0.6, "dreams.brake": 1.0}
        ),
    ) as found:
        fill(found, *ALIKE)
        judged(found)
        assert len(dream(found)["decisions"]) == 3
        yield found


def sit(app: App, *answers: str, edit: str = "", replace: tuple[str, str] = ("", "")) -> str:
    """Give these answers, one after the other; everything that was said."""
    given, said = iter(answers), []

    def ask(question: str) -> str:
        said.append(question)
        return next(given)

    sitting = Sitting(
        app,
        ask,
        said.append,
        lambda text: text.rstrip("\n").replace(*replace, 1) + edit,
        Style(Terminal(0, False)),
    )
    said.append(sitting.run(app.call("review")["proposals"]))
    assert next(given, None) is None
    return "\n".join(said)


def left(app: App) -> int:
    return int(app.call("review")["total"])


def test_one_by_one(app: App) -> None:
    said = sit(app, "?", "a", "r", "not the same", "q")
    for words in (
        "1 of 3",
        "why: they say the same",
        "Accepted merge",
        "Rejected merge",
        "3 of 3",
        "1 still wait",
    ):
        assert words in said
    assert left(app) == 1
    assert "Everything is reviewed." in sit(app, "e", edit="\n\nSays Bo.\n")
    (edited,) = [
        text
        for path in (app.house.root / "semantic").rglob("*.md")
        if "Says Bo." in (text := path.read_text())
    ]
    assert "status: superseded" not in edited, "what a person writes is in force"


def test_all_of_a_kind_and_what_cannot_be_done_is_asked_again(app: App) -> None:
    row = app.call("review")["proposals"][1]
    note = app.house.root / row["changes"][0]["path"]
    note.write_text(note.read_text() + "\nA person's line.\n")
    said = sit(app, "s", "k")
    assert "Not done merge" in said
    assert "no longer fits" in said
    assert said.count("Accepted") == 2
    assert "A person's line." in note.read_text()


def test_an_edit_that_is_refused_is_asked_again(app: App) -> None:
    said = sit(app, "e", "q", replace=("id: ", "id: 0"))
    assert "another id" in said
    assert left(app) == 3


def test_at_the_command_line(fresh: Box) -> None:
    fresh.init()
    fresh.env["ONEIRO_CONSOLIDATE_SIMILARITY"] = "0.6"
    assert "Nothing waits" in fresh.ok("review")
    for text in TWICE:
        fresh.remember(text, "--again")
    said = fresh.ok("dream", "consolidate", "--review")
    assert "waits on dream/" in said
    first, second = fresh.json("review", "--list")["proposals"]
    shown = fresh.ok("review")
    for words in (first["id"][:8], "why: ", "status: superseded"):
        assert words in shown
    assert "Rejected" in fresh.ok("review", "--reject", second["id"], "--reason", "not now")
    said = fresh.ok("review", "--accept", first["branch"])
    assert "Accepted" in said
    assert "is settled" in said
    assert "not now" in fresh.ok("log", "--json")
    for words, code in (
        (("--accept",), 2), (("abcd",), 2), (("--accept", "abcd"), 3), (("--list", "--accept"), 2),
        (("--reason", "x"), 2),
    ):  # fmt: skip
        assert fresh("review", *words).returncode == code, words
    assert "Nothing waits" in fresh.ok("review", "--list")


def test_at_a_terminal(fresh: Box) -> None:
    fresh.init()
    fresh.env |= {
        "ONEIRO_DREAMS_REVIEW": "true",
        "EDITOR": "sed -i 's/kitchen/galley/'",
        "TERM": "dumb",
    }
    for text in TWICE:
        fresh.remember(text, "--again")
    fresh.ok("dream", "consolidate")
    order = [row["title"] for row in fresh.json("review")["proposals"]]
    edits = ["e" if "kitchen" in title else "a" for title in order]
    ours, theirs = pty.openpty()
    child = fresh.start("review", stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, "".join(f"{key}\n" for key in ("x", *edits)).encode())
    said = until_closed(ours)
    assert child.wait(timeout=60) == 0, said
    assert b"Everything is reviewed." in said
    assert any("galley" in path.read_text() for path in (fresh.vault / "semantic").rglob("*.md"))


def proposed(fresh: Box) -> list[Any]:
    """The proposals of a first night in a new vault."""
    fresh.init()
    fresh.env["ONEIRO_DREAMS_REVIEW"] = "true"
    for text in TWICE:
        fresh.remember(text, "--again")
    fresh.ok("dream", "consolidate")
    found: list[Any] = fresh.json("review")["proposals"]
    return found


def test_ids_and_branches_at_the_command_line(fresh: Box) -> None:
    rows = proposed(fresh)
    head = git(fresh.vault, "rev-parse", "HEAD")
    for name in ("ffff0000ffff0000", "dream/1999-01-01"):
        done = fresh("review", "--accept", rows[0]["id"], name)
        assert (done.returncode, b"Nothing was changed" in done.stderr) == (3, True), name
    assert git(fresh.vault, "rev-parse", "HEAD") == head
    assert "1 still wait" in fresh.ok(
        "review", "--reject", rows[0]["id"][:8], "--reason", "they differ"
    )
    note = fresh.vault / rows[1]["changes"][0]["path"]
    kept = note.read_text()
    note.write_text(kept + "\nMine.\n")
    done = fresh("review", "--accept", rows[1]["id"])
    assert (done.returncode, b"changed since" in done.stdout) == (1, True)
    assert note.read_text() == kept + "\nMine.\n"
