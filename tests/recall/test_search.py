"""A phrase finds the note that has it, whatever else is like it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.app import App
from tests.copies import new_vault
from tests.operations.conftest import QUICK

PHRASE = "after that it is as good as it was on the first day"
NOTES = (
    f"# Varnish\n\nThree coats, two days each; {PHRASE}, they say at the yard.",
    "# Days\n\nThe first day was good. On the first day it was as good as that.",
    "# First things\n\nIt is good to start the day with what was left on the day before.",
    "# Boats\n\nThe first boat was varnished after a day.",
)


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[App]:
    new_vault(tmp_path / "vault")
    for number, note in enumerate(NOTES):
        (tmp_path / "vault" / f"note{number}.md").write_text(note + "\n")
    with App.open(tmp_path / "vault", QUICK) as app:
        yield app


def first(app: App, query: str) -> tuple[str, bool]:
    row = app.call("recall", {"query": query})["results"][0]
    return row["path"], bool(row["weak"])


@pytest.mark.parametrize(
    "query",
    [
        "it is as good as it was on the",
        'first day boat varnished "as good as it was on"',
        "As good, as it WAS: on the first",
        "„it was on the first day“",
    ],
)
def test_the_note_with_the_very_words_is_first_and_not_weak(vault: App, query: str) -> None:
    assert first(vault, query) == ("note0.md", False)


def test_a_captured_wording_does_not_come_back_first(vault: App) -> None:
    vault.call(
        "capture",
        {"text": "User: as good as it was on the first day, write that", "kind": "session"},
    )
    assert first(vault, "as good as it was on the first day")[0] == "note0.md"


FILLER = tuple(
    f"Shelf {number} of the archive holds {number} boxes of letters." for number in range(12)
)
ASKED = "what is the state of the paper that Tekla sent to the journal?"


@pytest.fixture
def corrected(tmp_path: Path) -> Iterator[tuple[App, list[str]]]:
    """A memory that has the question's words, and what replaced it twice, which has none."""
    new_vault(tmp_path / "vault")
    with App.open(tmp_path / "vault", QUICK) as app:
        for text in FILLER:
            app.call("remember", {"items": [{"text": text}]})
        ids: list[str] = []
        for text in ("Tekla sent the paper to the journal; its state: under review.",
                     "They asked for a second round.", "It was a no this morning."):  # fmt: skip
            item = {"text": text} | ({"replaces": ids[-1]} if ids else {})
            ids.append(app.call("remember", {"items": [item]})["results"][0]["id"])
        yield app, ids


def test_what_replaced_another_answers_where_that_would_have(
    corrected: tuple[App, list[str]],
) -> None:
    app, (first_, second, now) = corrected
    rows = app.call("recall", {"query": ASKED, "explain": True})["results"]
    found = [row["id"] for row in rows]
    assert found[0] == now
    assert not {first_, second} & set(found), "what was replaced does not answer itself"
    assert "what it replaced" in rows[0]["why"]["parts"]
    assert not rows[0]["weak"], "what it replaced speaks for it"
    assert sum(rows[0]["why"]["parts"].values()) == pytest.approx(rows[0]["score"], abs=1e-3)
    assert rows[1]["score"] < rows[0]["score"]
    assert app.call("inject", {"prompt": ASKED})["ids"] == [now]
    assert max(row["score"] for row in rows) <= 1


def test_a_successor_that_was_forgotten_answers_nothing(corrected: tuple[App, list[str]]) -> None:
    app, ids = corrected
    app.call("forget", {"id": ids[-1]})
    assert not set(ids) & {row["id"] for row in app.call("recall", {"query": ASKED})["results"]}
