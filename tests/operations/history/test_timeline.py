"""When memories came to be, by year, month and day; now, and as it was known."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.core.time.strength import DAY
from oneiro_vault.errors import InvalidInput
from tests.operations.conftest import Call, stored
from tests.operations.past import life

AT = ("2023-05-08", "2024-01-31", "2024-02-29", "2024-02-29", "2024-12-31")


def filled(call: Call) -> list[str]:
    return [
        stored(call, f"Note {n}.", type=("episodic", "semantic")[n % 2], created=f"{day}T12:00:00Z")
        for n, day in enumerate(AT)
    ]


def counts(found: dict[str, Any]) -> dict[str, int]:
    return {one["start"]: sum(one["types"].values()) for one in found["spans"] if any(one["types"])}


def test_an_empty_vault(call: Call) -> None:
    found = call("timeline")
    assert (found["spans"], found["results"], found["total"], found["first"]) == ([], [], 0, None)
    assert found["began"] is not None
    assert len(call("timeline", within="2024-02")["spans"]) == 29


def test_spans_without_a_gap(call: Call) -> None:
    filled(call)
    ever = call("timeline")
    assert (ever["by"], ever["first"], ever["last"], ever["total"]) == (
        "month",
        "2023-05-08",
        "2024-12-31",
        5,
    )
    assert len(ever["spans"]) == 20
    assert all(
        one["end"] == two["start"]
        for one, two in zip(ever["spans"], ever["spans"][1:], strict=False)
    )
    assert counts(ever) == {
        "2023-05-01": 1,
        "2024-01-01": 1,
        "2024-02-01": 2,
        "2024-12-01": 1,
    }


def test_closer(call: Call) -> None:
    ids = filled(call)
    year = call("timeline", within="2024")
    assert (year["by"], len(year["spans"]), year["total"]) == ("month", 12, 4)
    month = call("timeline", within="2024-02")
    assert (month["by"], len(month["spans"]), counts(month)) == ("day", 29, {"2024-02-29": 2})
    day = call("timeline", within="2024-02-29")
    assert {row["id"] for row in day["results"]} == set(ids[2:4])
    assert day["types"] == {"episodic": 1, "semantic": 1}
    only = call("timeline", within="2024-02-29", type="semantic")
    assert [row["id"] for row in only["results"]] == [ids[3]]
    assert (only["total"], only["types"]) == (1, day["types"])
    assert call("timeline", within="1999")["total"] == 0


def test_parts_of_a_long_list(call: Call) -> None:
    filled(call)
    parts = [call("timeline", limit=2, offset=at) for at in (0, 2, 4)]
    assert [len(part["results"]) for part in parts] == [2, 2, 1]
    rows = [row["created"] for part in parts for row in part["results"]]
    assert rows == sorted(rows, reverse=True)


def test_as_it_was_known(root: Path) -> None:
    with life(root) as lived:
        first = lived.remember("The lamp is green.")
        lived.day = 10
        lived.remember("A letter came.")
        lived("forget", id=first)
        then = datetime.fromtimestamp(lived.app.house.clock() - 5 * DAY, UTC).date().isoformat()
        found = lived("timeline", as_of=then)
        assert [(row["id"], row["now"]) for row in found["results"]] == [(first, "forgotten")]
        assert found["as_of"]["asked"] == then
        assert lived("timeline")["total"] == 1


@pytest.mark.parametrize(
    "bad",
    [{"within": "soonish"}, {"limit": 0}, {"offset": -1}, {"as_of": "2999-01-01"}],
)
def test_odd_values(call: Call, bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        call("timeline", **bad)


def test_many_years_are_told_by_the_year(call: Call) -> None:
    stored(call, "Long ago.", created="1890-01-01T12:00:00Z")
    stored(call, "Now.", created="2024-01-01T12:00:00Z")
    assert call("timeline")["by"] == "year"


def test_the_ends_of_the_calendar(call: Call, root: Path) -> None:
    """A file may say anything."""
    stored(call, "At the end.", path="semantic/end.md")
    file = root / "semantic/end.md"
    later = re.sub(r"(?m)^(created|timestamp): .*$", r"\1: 9999-12-31T12:00:00Z", file.read_text())
    file.write_text(later)
    assert call("timeline")["last"] == "9999-12-31"
    stored(call, "Now.", created="2024-01-01T12:00:00Z")
    spans = [one["start"] for one in call("timeline")["spans"]]
    assert spans == ["2024-01-01", "9999-01-01"]
    assert len(call("timeline", within="0001-01-01")["spans"]) == 1


def test_one_wrong_date_hides_nothing(call: Call) -> None:
    stored(call, "The year one.", created="0001-01-01T12:00:00Z")
    filled(call)
    found = call("timeline")
    assert counts(found) == {"0001-01-01": 1, "2023-01-01": 1, "2024-01-01": 4}
    assert found["total"] == 6
