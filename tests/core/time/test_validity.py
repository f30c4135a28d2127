"""For how long a memory holds, by its own dates and by what took its place."""

from __future__ import annotations

import pytest

from oneiro_vault.core.memory import epoch
from oneiro_vault.core.time.validity import Claim, Held, spans


def claim(key: int, **said: str) -> Claim:
    dates = {
        "status": "active",
        "created": "",
        "timestamp": "",
        "valid_from": "",
        "valid_until": "",
        "superseded_by": "",
    }
    return Claim(key, f"id{key}", **dates | said)


def test_what_a_memory_says_goes_before_when_it_was_learned() -> None:
    found = spans([
        claim(1, created="2026-01-01", valid_from="2020-01-01", valid_until="2024-01-01"),
        claim(2, created="2026-01-01"),
        claim(3, timestamp="2026-02-01"),
        claim(4),
    ])  # fmt: skip
    assert found[1] == Held(epoch("2020-01-01"), epoch("2024-01-01"), True)
    assert found[2] == Held(epoch("2026-01-01"), None, False)
    assert found[3] == Held(epoch("2026-02-01"), None, False)
    assert found[4] == Held(None, None, False)


def test_what_was_replaced_ends_where_its_successor_begins() -> None:
    old = {"status": "superseded", "created": "2020-01-01", "timestamp": "2026-06-01"}
    found = spans([
        claim(1, **old, superseded_by="id2"),
        claim(2, **old, valid_from="2022-01-01", superseded_by="id3"),
        claim(3, created="2026-05-01", valid_from="2024-01-01"),
        claim(4, **old, superseded_by="gone"),
        claim(5, **old, superseded_by="id3", valid_until="2023-01-01"),
        claim(6, **old, superseded_by="id3", valid_until="2026-06-01"),
    ])  # fmt: skip
    assert [found[key].until for key in (1, 2, 3)] == [
        epoch("2022-01-01"),
        epoch("2024-01-01"),
        None,
    ]
    assert found[4].until == epoch("2026-06-01"), "nothing else says when"
    assert found[5].until == epoch("2023-01-01")
    assert found[6].until == epoch("2024-01-01"), (
        "it says when it was replaced, its heir since when it was not true any more"
    )


def test_an_heir_that_took_over_when_the_old_one_was_created_does_not_unmake_it() -> None:
    old = {
        "status": "superseded",
        "created": "2020-01-01",
        "timestamp": "2026-06-01",
        "superseded_by": "id9",
    }
    copied = spans(
        [claim(1, **old), claim(2, **old, valid_until="2023-01-01"), claim(9, created="2020-01-01")]
    )
    assert [copied[key].until for key in (1, 2)] == [epoch("2026-06-01"), epoch("2023-01-01")]
    assert not any(one.empty for one in copied.values())
    assert spans([claim(1, **old), claim(9)])[1].until == epoch("2026-06-01"), (
        "nobody knows since when the heir holds"
    )
    corrected = spans(
        [
            claim(1, **old, valid_until="2023-01-01"),
            claim(9, created="2026-06-01", valid_from="2020-01-01"),
        ]
    )
    assert corrected[1].empty, "the heir itself says that it was never otherwise"


@pytest.mark.parametrize("status", ["pending", "archived"])
def test_proposals_and_what_was_put_away_hold_never(status: str) -> None:
    assert spans([claim(1, status=status)]) == {}


def test_two_notes_with_one_id_are_two_claims() -> None:
    assert spans([claim(1), Claim(2, "id1", "active", "", "", "", "", "")]).keys() == {1, 2}


def test_held_at_any_time_of_a_span() -> None:
    held = Held(10.0, 20.0, True)
    asked: list[tuple[float | None, float | None]] = [
        (0, 10),
        (0, 11),
        (19, 30),
        (20, 30),
        (12, 13),
        (None, None),
        (None, 5),
        (25, None),
    ]
    assert [held.within(*span) for span in asked] == [
        False,
        True,
        True,
        False,
        True,
        True,
        False,
        False,
    ]
    assert Held(None, None, False).within(1, 2)
    assert not Held(20.0, 20.0, True).within(0, 30), "corrected at once: it never held"
