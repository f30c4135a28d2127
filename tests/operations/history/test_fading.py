"""What fades if nobody looks is what the loop `decay` says; keeping it puts that off."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.core.time.strength import DAY
from oneiro_vault.errors import InvalidInput
from oneiro_vault.mind.loops import decay
from oneiro_vault.operations.dream import vault_snapshot
from tests.operations.past import Life, life


def told(found: dict[str, Any]) -> list[tuple[str, int]]:
    """(id, epoch second) of each row."""
    return [
        (row["id"], round(datetime.fromisoformat(row["fades"]).timestamp()))
        for row in found["results"]
    ]


def forecast(lived: Life) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """What the loop says: (has faded, will fade)."""
    faded, soon = decay.forecast(vault_snapshot.take(lived.app.house).snapshot)
    return [(n.id, int(w)) for w, n in faded], [(n.id, int(w)) for w, n in soon]


def test_it_says_what_decay_says(root: Path) -> None:
    with life(root) as lived:
        for day, kind in itertools.product(
            (0, 9, 20, 33, 48, 60), ("episodic", "semantic", "procedure")
        ):
            lived.day = day
            lived.remember(f"It was said on day {day}, as {kind}.", type=kind)
        looked = lived.remember("The lamp was mended.", type="episodic")
        lived.day = 62
        lived("show", id=looked)
        lived.day = 65
        faded, soon = forecast(lived)
        assert len(faded) > 2 < len(soon)
        assert told(lived("fading")) == soon
        assert told(lived("fading", gone=True)) == faded
        found = lived("fading")
        assert found["faded"] == len(faded)
        assert found["total"] == sum(found["days"].values()) == sum(found["types"].values())


def test_kept_it_lasts_longer(root: Path) -> None:
    with life(root) as lived:
        ident = lived.remember("The lamp was mended.", type="episodic")
        lived.remember("A letter came.", type="semantic")
        lived.day = 20
        before = lived("fading", days=5)
        assert [row["id"] for row in before["results"]] == [ident]
        lived("feedback", id=ident, useful=True)
        assert lived("fading", days=5)["total"] == 0
        later = lived("fading", days=365, type="episodic")["results"][0]
        assert later["stability"] > before["results"][0]["stability"]
        assert later["uses"]["days"] == 1
        assert later["fades"] > before["results"][0]["fades"]


def test_what_is_wrong_or_replaced_is_not_told(root: Path) -> None:
    with life(root) as lived:
        wrong = lived.remember("The lamp is green.", type="episodic")
        old = lived.remember("The boat is red.", type="episodic")
        lived("feedback", id=wrong, useful=False)
        new = lived("correct", id=old, text="The boat is blue.")["id"]
        assert [row["id"] for row in lived("fading", days=365)["results"]] == [new]
        assert lived("fading", gone=True)["total"] == 0


def test_as_it_was(root: Path) -> None:
    with life(root) as lived:
        first = lived.remember("The lamp was mended.", type="episodic")
        lived.day = 10
        lived.remember("A letter came.", type="episodic")
        lived.day = 60
        assert lived("fading", gone=True)["total"] == 2
        then = datetime.fromtimestamp(lived.app.house.clock() - 55 * DAY, UTC).date().isoformat()
        found = lived("fading", as_of=then)
        assert [row["id"] for row in found["results"]] == [first]
        assert found["as_of"]["asked"] == then


def test_parts_of_a_long_list(root: Path) -> None:
    with life(root) as lived:
        lived.several(*({"text": f"Note {n}.", "type": "episodic"} for n in range(7)))
        parts = [lived("fading", limit=3, offset=at) for at in (0, 3, 6, 9)]
        assert [len(part["results"]) for part in parts] == [3, 3, 1, 0]
        assert {part["total"] for part in parts} == {7}
        assert len({row["id"] for part in parts for row in part["results"]}) == 7


@pytest.mark.parametrize("bad", [{"days": 0}, {"limit": 0}, {"limit": 9999}, {"offset": -1}])
def test_odd_numbers(root: Path, bad: dict[str, int]) -> None:
    with life(root) as lived, pytest.raises(InvalidInput):
        lived("fading", **bad)
