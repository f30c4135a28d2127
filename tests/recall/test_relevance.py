"""What may be put before a model unasked: every row on its own signs, most of the time none."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.app import App
from oneiro_vault.recall.gather import Gather
from oneiro_vault.recall.relevance import ENOUGH, Sign
from tests.copies import new_vault
from tests.operations.conftest import QUICK, stored

NOTES = (
    "Ana prefers releases on Thursdays; on Fridays support is short-staffed.",
    "Integration tests need the Postgres container; without it they hang instead of failing.",
    "The search index is rebuilt every Sunday at three and takes nine hours.",
    "The PDF renderer leaks forty megabytes per document, so the worker restarts after fifty "
    "documents.",
    "Invoices are numbered without gaps, as the law demands.",
)


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[App]:

    new_vault(tmp_path / "vault")
    with App.open(tmp_path / "vault", QUICK) as app:
        for note in NOTES:
            stored(lambda op, **params: app.call(op, params), note)
        yield app


def fits(app: App, query: str, *, vector: bool = True) -> list[str]:
    house = app.house
    asked = house.vectors.query(query, wait=True)[0] if vector else None
    plan = Gather(
        house.index, house.uses.remembered(), query, asked, lambda row: row.status == "active"
    )
    return [one.row.title for one in plan.run(unasked=True).candidates]


@pytest.mark.parametrize("vector", [True, False], ids=["meaning", "keywords"])
def test_a_question_about_one_note_gets_that_note(vault: App, vector: bool) -> None:
    assert [
        title[:16]
        for title in fits(
            vault, "at which hour is the search index rebuilt every Sunday?", vector=vector
        )
    ] == ["The search index"]


@pytest.mark.parametrize("vector", [True, False], ids=["meaning", "keywords"])
@pytest.mark.parametrize(
    "query",
    [
        "fix the failing test",
        "write a haiku",
        "continue",
        "yes",
        "?",
        "",
        "make the document shorter",
    ],
)
def test_everyday_requests_get_nothing(vault: App, query: str, vector: bool) -> None:
    assert fits(vault, query, vector=vector) == []


@pytest.mark.parametrize(
    ("sign", "enough"),
    [
        (Sign(0.0, 0, 0.42), True),
        (Sign(0.0, 0, 0.41), False),
        (Sign(1.0, 1, 0.30), False),  # one shared word is chance
        (Sign(1.0, 2, 0.30), True),
        (Sign(0.60, 3, math.nan), True),
        (Sign(0.60, 2, math.nan), False),
        (Sign(0.59, 5, math.nan), False),
    ],
)
def test_what_is_enough(sign: Sign, enough: bool) -> None:
    assert (sign.weight >= ENOUGH) is enough
