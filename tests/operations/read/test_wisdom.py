"""Before a decision: principles, precedents and how they ended; a lesson filed; one to turn over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import InvalidInput, NotFound
from oneiro_vault.operations.read.wisdom import KINDS
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.vault import ledger
from tests.copies import new_vault
from tests.month.life import Clock
from tests.operations.conftest import Call, stored


@pytest.fixture
def clock() -> Clock:
    return Clock(1_777_600_000.0)


@pytest.fixture
def lived(tmp_path: Path, clock: Clock) -> Iterator[App]:
    """A vault with the packaged model and a small company's past."""
    new_vault(tmp_path / "vault")
    settings = Settings({"disk.reserve": 0, "edits.quiet": 0.0})
    with App.open(tmp_path / "vault", settings, clock=clock) as app:
        yield app


@pytest.mark.model
def test_a_decision_is_taken_to_what_was_learned(lived: App) -> None:
    def call(op: str, **params: Any) -> dict[str, Any]:
        return lived.call(op, params)

    principle = stored(
        call, "Nothing is released that nobody can watch over.", type="principle", tags=["release"]
    )
    lesson = call("learn", text="A release on Friday evening leaves the support team alone.",
                   concepts=["release"])["results"][0]["id"]  # fmt: skip
    well = stored(
        call, "We released the invoices on a Tuesday.", type="episodic", kind="decision",
        outcome="Quiet: no ticket at all, everybody was happy.",
    )  # fmt: skip
    badly = stored(
        call, "We released the new login on a Friday evening.", type="episodic", kind="decision",
        outcome="It broke for two days and had to be rolled back.",
    )  # fmt: skip
    stored(call, "Tomatoes need a lot of sun.", type="principle", tags=["garden"])
    after = stored(call, "Logins are tested by two people now.", derived_from=[badly])
    lived.house.index.embed()
    found = call("consult", decision="Shall we release on Friday evening?")
    assert {principle, lesson} <= {one["id"] for one in found["principles"]}
    assert "garden" not in str(found["principles"])
    assert [one["id"] for one in found["counter"]] == [badly]
    assert well in [one["id"] for one in found["precedents"]]
    assert [one["id"] for one in found["counter"][0]["then"]] == [after]
    only = call("consult", decision="Shall we release on Friday evening?", concept="garden")
    assert all("omatoes" in one["title"] for one in only["principles"])


def test_a_lesson_is_a_file_and_does_not_fade(call: Call, root: Path) -> None:
    found = call("learn", text="Ask before deleting.", concepts=["trust"], about=["Ana"])
    row = found["results"][0]
    assert row["path"].startswith("principles/")
    assert (root / row["path"]).is_file()
    meta = call("show", id=row["id"])["meta"]
    assert (meta["type"], meta["kind"], list(meta["tags"])) == ("principle", "learning", ["trust"])
    assert call("strength", id=row["id"])["stability"] is None
    assert call("learn", text="Ask before deleting.")["results"][0]["duplicate_of"] == row["id"]


def test_one_to_turn_over_is_the_same_all_day(call: Call) -> None:
    with pytest.raises(NotFound, match="no principle to turn over"):
        call("ponder")
    ids = {call("learn", text=f"Lesson number {n} of ten.")["results"][0]["id"] for n in range(10)}
    first = call("ponder")
    assert first["id"] in ids
    assert call("ponder")["id"] == first["id"]
    call("feedback", id=first["id"], useful=False)
    assert call("ponder")["id"] != first["id"]
    with pytest.raises(NotFound):
        call("ponder", concept="nothing")


def test_what_had_influence(call: Call) -> None:
    one = call("learn", text="Ask before deleting.")["results"][0]["id"]
    other = call("learn", text="Write it down.")["results"][0]["id"]
    call("feedback", id=one, useful=True)
    call("feedback", id=one, useful=False)
    rows = call("influence")["results"]
    assert [(row["id"], row["uses"], row["useful"], row["wrong"]) for row in rows] == [
        (one, 1, 1, 1),
        (other, 0, 0, 0),
    ]
    assert sum(rows[0]["months"].values()) == 1
    assert [sum(rows[0]["days"][kind].values()) for kind in KINDS] == [0, 0, 1, 1]


def test_the_influence_of_memories_that_are_named(call: Call) -> None:
    kiln = call("remember", items=[{"text": "The kiln is red."}])["results"][0]["id"]
    boat = call("remember", items=[{"text": "The boat is blue."}])["results"][0]["id"]
    assert call("influence")["results"] == []
    call("recall", query="colour of the kiln")
    call("show", id=kiln)
    rows = call("influence", ids=[boat[:6], kiln])["results"]
    assert [(row["id"], row["uses"]) for row in rows] == [(kiln, 1), (boat, 0)]
    ((day, number),) = rows[0]["days"]["looked"].items()
    assert rows[0]["days"]["found"] == {day: number} == {day: 1}
    assert rows[0]["months"] == {day[:7]: 1}
    with pytest.raises(InvalidInput, match="too many"):
        call("influence", ids=[kiln] * 101)
    with pytest.raises(NotFound):
        call("influence", ids=["zzzz"])


def test_a_ledger_line_without_a_day_is_left_out(app: App, call: Call) -> None:
    ident = call("learn", text="Ask before deleting.")["results"][0]["id"]
    broken = [{"t": "soon", "e": "use", "id": ident, "why": "shown"}, {"e": "use", "id": [ident]}]
    with (app.house.vault.folder / "pending.jsonl").open("ab") as file:
        file.write(ledger.encode(broken))
    assert [row["uses"] for row in call("influence")["results"]] == [0]


def test_bad_requests(call: Call) -> None:
    for wrong in ({"decision": " "}, {"decision": "x", "limit": 0}):
        with pytest.raises(InvalidInput):
            call("consult", **wrong)
    assert call("consult", decision="ship on a Friday?")["principles"] == []
