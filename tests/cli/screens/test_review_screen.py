"""Review on a full screen: read, narrowed down, accepted, rejected, edited, by keys alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from oneiro_vault.app import App
from oneiro_vault.cli.screens.base import Twin
from oneiro_vault.cli.screens.review_screen import ReviewScreen
from oneiro_vault.errors import InvalidInput
from oneiro_vault.settings.definitions import Settings
from tests.cli.screens.support import Stage, play
from tests.copies import new_vault
from tests.operations.dream.support import SETTINGS, TWINS, dream, fill, judged

NOTES = (
    *TWINS,
    "The boat in the harbour is called Petrel.",
    "The boat in the harbour is called the Petrel.",
)
PLAIN = SETTINGS | {"dreams.review": True, "consolidate.similarity": 0.6, "dreams.brake": 1.0}


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """Three proposals wait."""
    new_vault(tmp_path / "vault")
    with App.open(tmp_path / "vault", Settings(PLAIN)) as found:
        fill(found, *NOTES)
        judged(found)
        assert len(dream(found)["decisions"]) == 3
        yield found


def left(app: App) -> int:
    return int(app.call("review")["total"])


@pytest.mark.slow
def test_read_accept_and_reject_with_a_reason(app: App) -> None:
    async def scene(stage: Stage) -> None:
        await stage.sees("Review · 3 to decide")
        assert len(stage.rows) == 3
        assert "why: they say the same" in stage.text("detail")
        first = stage.text("detail")
        await stage.press("j")
        assert stage.text("detail") != first
        await stage.press("k", "k")
        assert stage.text("detail") == first
        await stage.press("a")
        await stage.sees("Review · 2 to decide")
        await stage.sees("Accepted merge")
        await stage.press("r")
        await stage.sees("Why?")
        await stage.press(*"not now", "enter")
        await stage.sees("Rejected merge")
        await stage.sees("Review · 1 to decide")
        await stage.press("r", "escape")
        await stage.press("q")

    assert play(app, scene) == "1 still wait for review."
    assert left(app) == 1
    assert any("not now" in entry["reason"] for entry in app.call("log")["entries"])


def test_an_edit_is_what_is_accepted_and_one_that_is_refused_leaves_it(app: App) -> None:
    tries: list[tuple[str, str]] = [("id: ", "id: 0"), ("\n", "\n")]
    ends = ["", "\nSays Bo.\n"]

    def edit(text: str) -> str:
        return text.replace(*tries.pop(0), 1) + ends.pop(0)

    async def scene(stage: Stage) -> None:
        await stage.sees("Review · 3")
        await stage.press("e")
        await stage.sees("another id")
        assert left(app) == 3
        await stage.press("e")
        await stage.sees("Review · 2")

    play(app, scene, edit=edit)
    notes = [path.read_text() for path in (app.house.root / "semantic").rglob("*.md")]
    assert [("status: superseded" in text) for text in notes if "Says Bo." in text] == [False]


def test_an_editor_that_saved_nothing_is_said(app: App) -> None:
    def edit(text: str) -> str:
        raise InvalidInput("no text was saved in the editor", kept="Nothing was changed.")

    async def scene(stage: Stage) -> None:
        await stage.sees("Review · 3")
        await stage.press("e")
        await stage.sees("no text was saved in the editor. Nothing was changed.")

    play(app, scene, edit=edit)
    assert left(app) == 3


@pytest.mark.slow
def test_narrowed_down_and_all_of_a_kind(app: App) -> None:
    async def scene(stage: Stage) -> None:
        await stage.sees("Review · 3")
        await stage.press("slash", *"boat pet")
        await stage.sees("Review · 1 of 3")
        assert "boat" in stage.rows[0]
        await stage.press("enter", "escape")
        await stage.sees("Review · 3 to decide")
        await stage.press("A")
        await stage.sees("Accept all 3 of the kind “merge”?")
        await stage.press("n")
        assert left(app) == 3
        await stage.press("A", "y")
        await stage.sees("Nothing waits for review.")
        await stage.press("a", "r", "e", "A", "j", "G", "space")  # with nothing there: nothing
        await stage.press("q")

    assert play(app, scene) == "Everything is reviewed."
    assert left(app) == 0


def test_what_no_longer_fits_is_said_and_not_done(app: App) -> None:
    row = app.call("review")["proposals"][0]
    note = app.house.root / row["changes"][0]["path"]
    note.write_text(note.read_text() + "\nA person's line.\n")

    async def scene(stage: Stage) -> None:
        await stage.sees("no longer fits")
        await stage.press("a")
        await stage.sees("Not done merge")

    play(app, scene)
    assert "A person's line." in note.read_text()


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (200, 50)])
def test_it_fits_and_needs_no_colour(
    app: App, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def scene(stage: Stage) -> None:
        await stage.sees("Review · 3")
        assert all(len(line) <= size[0] for line in stage.screen.splitlines())
        assert "status: superseded" in stage.text("detail")
        if size >= (80, 24):
            assert "a accept  r reject  e edit  / filter" in stage.screen
            await stage.press("question_mark")
            await stage.sees("accept all of this kind")
            await stage.press("q")
        await stage.press("g", "s")
        await stage.sees("Search")
        await stage.press("escape", "g", "d")
        await stage.sees("Review · 3")

    play(app, scene, size=size)


def test_a_note_cannot_steer_the_screen(tmp_path: Path) -> None:
    evil = "The [red]tap[/red] \x1b[2J\x1b]0;owned\x07 drips [@click=app.exit]here[/] \u202eall winter."
    new_vault(tmp_path / "vault")
    with App.open(tmp_path / "vault", Settings(PLAIN)) as vault:
        fill(vault, evil, evil + "\n")
        judged(vault)
        dream(vault)

        async def scene(stage: Stage) -> None:
            await stage.sees("Review · 1")
            shown = f"{stage.rows[0]}\n{stage.text('detail')}\n{stage.screen}"
            assert "[red]tap[/red]" in shown
            assert not {"\x1b", "\x07", "\u202e"} & set(shown)

        play(vault, scene)


def test_an_answer_to_a_program_that_ended_reaches_no_screen(app: App) -> None:
    begun, goes_on = Event(), Event()

    def slow() -> bool:
        begun.set()
        return goes_on.wait()

    async def run() -> None:
        twin = Twin(app, str, {"review": ReviewScreen}, "review")
        async with twin.run_test() as pilot:
            asked = asyncio.ensure_future(twin.asked(slow))
            await Stage(pilot).until(begun.is_set)
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await asked

    asyncio.run(run())
