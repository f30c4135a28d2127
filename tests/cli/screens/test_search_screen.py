"""Search as you type on a full screen: rows and why they are there, the note, its history, and
changes by keys, over a real vault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.binding import Binding
from textual.widgets import Input

from oneiro_vault.app import App
from oneiro_vault.cli.screens import key_table
from oneiro_vault.cli.screens.review_screen import ReviewScreen
from oneiro_vault.cli.screens.search_screen import NoteScreen, SearchScreen
from oneiro_vault.settings.definitions import Settings
from tests.cli.screens.support import Stage, play
from tests.copies import new_vault

BOAT = "The boat in the harbour is called Petrel."
OVEN = "# The oven\n\nIt *hums* when it is [cold](http://example.org) outside.\n\n- item one\n"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    new_vault(tmp_path / "vault")
    plain: dict[str, Any] = {"disk.reserve": 0, "edits.quiet": 0.0, "embed.model": "hash"}
    with App.open(tmp_path / "vault", Settings(plain)) as vault:
        for text in (BOAT, OVEN):
            vault.call("remember", {"items": [{"text": text}]})
        yield vault


def boat(app: App) -> dict[str, Any]:
    (row,) = [row for row in app.call("list")["results"] if "boat" in row["title"]]
    return dict(row)


def test_rows_follow_what_is_typed_and_say_why_they_are_there(app: App) -> None:
    async def scene(stage: Stage) -> None:
        assert stage.rows == []
        await stage.press(*"boat harbour")
        await stage.until(lambda: stage.rows and "Petrel" in stage.rows[0])
        await stage.until(lambda: "meaning +" in stage.rows[0])  # what put it there, model and all
        assert "parts=" not in stage.rows[0]
        assert f"· {boat(app)['id'][:8]}" in stage.rows[0]
        await stage.press("escape", "slash", "ctrl+a", "ctrl+k", *"oven hums")
        await stage.until(lambda: stage.rows and "The oven" in stage.rows[0])
        await stage.press("escape", "slash", "ctrl+a", "ctrl+k")
        await stage.until(lambda: not stage.rows)
        await stage.press("escape", "j", "k", "G", "b", "enter", "h", "u", "f", "e")
        await stage.press("q")

    assert play(app, scene, starts="search") == ""


def test_looking_for_something_letter_by_letter_is_no_use_of_it(app: App) -> None:
    before = app.call("why", {"id": boat(app)["id"]})["uses"]

    async def scene(stage: Stage) -> None:
        await stage.press(*"boat harbour")
        await stage.until(lambda: stage.rows)

    play(app, scene, starts="search")
    assert app.call("why", {"id": boat(app)["id"]})["uses"] == before


def test_what_no_passive_look_finds_is_found(app: App) -> None:
    item = {"text": "The anchor weighs nine stone.", "type": "orientation", "title": "Anchor"}
    app.call("remember", {"items": [item]})

    async def scene(stage: Stage) -> None:
        await stage.press(*"anchor")
        await stage.until(lambda: stage.rows)

    play(app, scene, starts="search")


def test_the_note_is_laid_out_and_its_history_told(app: App) -> None:
    async def scene(stage: Stage) -> None:
        await stage.until(lambda: stage.rows)
        await stage.press("enter")
        await stage.sees("• item one")
        assert "It hums when it is cold outside." in stage.screen
        assert "strength:" in stage.text("facts")
        await stage.press("space", "b", "j", "k", "G", "g", "g", "h")
        await stage.sees("How it came to be")
        await stage.sees("remember")
        await stage.press("q", "q")
        await stage.sees("Search · ")

    play(app, scene, starts="search", query="the oven hums")


def test_said_anew_taken_back_and_forgotten(app: App) -> None:
    ident = boat(app)["id"]

    def body() -> str:
        return str(app.call("show", {"id": ident})["body"]).strip()

    async def scene(stage: Stage) -> None:
        await stage.until(lambda: stage.rows and "Petrel" in stage.rows[0])
        await stage.press("escape", "e")
        await stage.sees("Reframed")
        assert body() == BOAT.replace("Petrel", "Puffin")
        await stage.until(lambda: "Puffin" in stage.rows[0])
        await stage.press("u")
        await stage.sees("Take this back: reframe")
        await stage.press("n")
        await stage.sees("Nothing was changed.")
        await stage.press("u", "y")
        await stage.sees("Undid")
        assert body() == BOAT
        await stage.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, NoteScreen))
        await stage.press("f", *"sold", "enter")
        await stage.sees("brings it back")
        assert isinstance(stage.app.screen, SearchScreen), "its screen has gone with it"

    play(
        app,
        scene,
        starts="search",
        query="boat harbour",
        edit=lambda text: text.replace("Petrel", "Puffin"),
    )
    gone = app.call("log")["entries"][0]
    assert (gone["op"], gone["reason"], gone["actor"]) == ("forget", "sold", "user")


def test_a_note_that_went_meanwhile_is_said(app: App) -> None:
    async def scene(stage: Stage) -> None:
        await stage.until(lambda: stage.rows)
        app.call("forget", {"id": boat(app)["id"]})
        await stage.press("enter")
        await stage.sees("restore")
        await stage.press("h")
        await stage.sees("How it came to be")
        await stage.press("q", "e")
        await stage.sees("restore")

    play(app, scene, starts="search", query="boat harbour")


@pytest.mark.parametrize("query", ['"', "   ", "[red]x[/red]", "é🙂 ' OR 1=1 --", "x" * 3000])
def test_odd_questions(app: App, query: str) -> None:
    async def scene(stage: Stage) -> None:
        await stage.press("end", "x", "backspace", "enter", "question_mark")
        await stage.sees("type another question")
        await stage.press("q", "slash")
        assert stage.app.screen.query_one("#query", Input).value == query

    play(app, scene, starts="search", query=query)


@pytest.mark.parametrize("place", [ReviewScreen, SearchScreen, NoteScreen])
def test_one_table_drives_keys_help_and_foot(place: type[SearchScreen]) -> None:
    names = [name for one in place.KEYS for name in one.names.split(",")]
    assert len(names) == len(set(names)), "no key does two things"
    for one in place.KEYS:
        assert callable(getattr(place, f"action_{one.action.partition('(')[0]}")), one
    keys = (one.key for one in place.BINDINGS if isinstance(one, Binding))
    bound = {name for key in keys for name in key.split(",")}
    assert bound == set(names)
    told = "\n".join(key_table.told(place.KEYS))
    assert all(one.says in told for one in place.KEYS)
    assert len(key_table.foot(place.KEYS)) <= 80
    assert all(len(line) <= 72 for line in told.splitlines())
