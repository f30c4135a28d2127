"""What is true now comes first, what was is found in its order, and nothing outdated is put before
a model alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.index.base import Row
from oneiro_vault.recall import answer_order
from oneiro_vault.settings.definitions import Settings
from tests.copies import new_vault
from tests.operations.conftest import Call, hits, stored

OLD = "Nina's stand-up meeting takes place at 9:15."
NEW = "Nina's stand-up meeting takes place at 10:00."
ASKED = "When does Nina's stand-up meeting take place?"
FILLER = (
    "The boat lies in Bergen harbour.",
    "Invoices are paid on the tenth.",
    "Tomatoes want much sun.",
    "Ana sings tenor.",
)


@pytest.fixture
def told(call: Call) -> tuple[str, str]:
    """An older and a newer answer, and other notes; (older, newer)."""
    for text in FILLER:
        stored(call, text, created="2026-03-01")
    newer = stored(call, NEW, created="2026-03-20", about=["Nina"])
    older = stored(call, f"{OLD} Stand-up, stand-up meeting.", created="2026-03-02", about=["Nina"])
    return older, newer


def test_the_newest_of_several_answers_leads(call: Call, told: tuple[str, str]) -> None:
    older, newer = told
    rows = call("recall", query=ASKED, explain=True)["results"]
    assert [row["id"] for row in rows[:2]] == [newer, older]
    assert rows[0]["score"] >= rows[1]["score"]
    for row in rows[:2]:
        assert sum(row["why"]["parts"].values()) == pytest.approx(row["score"], abs=1e-3)


@pytest.mark.parametrize(
    ("newest", "leads"),
    [
        ({"trust": "external", "source": "import:page"}, False),
        ({"type": "episodic"}, False),
        ({"valid_from": "2099-01-01"}, False),
        ({}, True),
    ],
)
def test_what_leads_is_no_stranger_no_event_and_no_announcement(
    call: Call, newest: dict[str, Any], leads: bool
) -> None:
    older = stored(call, f"{OLD} Stand-up, stand-up meeting.", created="2026-03-02", about=["Nina"])
    newer = stored(call, NEW, created="2026-03-20", about=["Nina"], **newest)
    for text in FILLER:
        stored(call, text)
    assert hits(call, ASKED)[:2] == ([newer, older] if leads else [older, newer])


def test_an_announcement_says_from_when_and_what_has_ended_says_so(call: Call) -> None:
    ahead = stored(call, NEW, valid_from="2099-01-01")
    over = stored(call, OLD, valid_until="2026-01-01")
    rows = {row["id"]: row for row in call("recall", query=ASKED)["results"]}
    assert (rows[ahead]["valid"]["now"], rows[over]["valid"]["now"]) == ("ahead", "over")
    assert rows[ahead]["valid"]["from"].startswith("2099-01-01")


def test_another_subject_is_no_newer_answer(call: Call) -> None:
    rome = stored(call, "Nina visited Rome with her sister.", created="2026-03-02", about=["Nina"])
    paris = stored(
        call, "Nina visited Paris with her sister.", created="2026-03-20", about=["Nina"]
    )
    assert hits(call, "Who did Nina visit Rome with?")[:2] == [rome, paris]


def test_a_question_with_a_date_is_answered_by_that(call: Call, told: tuple[str, str]) -> None:
    older, newer = told
    assert hits(call, f"{ASKED[:-1]} on 2 March 2026?")[:2] == [older, newer]


def test_a_date_that_no_note_has_is_what_things_are_about(
    call: Call, told: tuple[str, str]
) -> None:
    older, newer = told
    assert hits(call, f"{ASKED[:-1]} in July?")[:2] == [newer, older]


def rows(*made: tuple[str, int, dict[str, Any]]) -> dict[str, Row]:
    """Handle -> a row of that name and day, with further values."""
    nothing: dict[str, Any] = dict.fromkeys(Row._fields, "") | {
        "type": "semantic",
        "derived_from": (),
    }
    return {one: Row(**nothing | {"when": day * 86_400.0} | more) for one, day, more in made}


@pytest.mark.parametrize(
    ("order", "leads"),
    [
        (["older", "newer", "first"], ["newer", "older", "first"]),
        (["older", "first", "newer"], ["older", "first", "newer"]),
        (["first", "older", "newer"], ["first", "newer", "older"]),
    ],
)
def test_how_far_behind_the_newer_stands_counts(order: list[str], leads: list[str]) -> None:
    some = rows(("first", 1, {}), ("older", 2, {}), ("newer", 3, {}))

    def next_to(older: Row, _newer: Row, gap: int) -> float:
        return 1.0 - gap if older.when == 2 * 86_400.0 else -1.0

    found, moved = answer_order.leading(order, some, next_to, 1e9)
    assert found == leads
    assert moved == ({"older": "newer"} if leads != order else {})


@pytest.mark.parametrize("order", ["block older newer", "block newer older"])
def test_a_block_made_of_the_older_stands_behind_the_newer(order: str) -> None:
    made = {"type": "orientation", "derived_from": ("older",)}
    some = rows(("block", 3, made), ("older", 1, {}), ("newer", 2, {}))
    found, _ = answer_order.leading(order.split(), some, lambda _older, _newer, _gap: 0.0, 1e9)
    assert found == ["newer", "block", "older"]


def test_a_hook_puts_the_newest_first_and_never_the_older_alone(
    call: Call, told: tuple[str, str]
) -> None:
    older, newer = told
    both = call("inject", prompt=ASKED)
    assert both["ids"][:1] == [newer]
    assert call("inject", prompt=ASKED, known=[older])["ids"] == [newer]
    for tokens in range(0, 200, 9):
        found = call("inject", prompt=ASKED, tokens=tokens)["ids"]
        assert older not in found or found[0] == newer


@pytest.fixture
def line(call: Call) -> list[str]:
    """Three values of one thing, each replaced by the next, in an order that is none of the
    alphabet's."""
    ids = ["0000000000zz", "0000000000aa", "0000000000mm"]
    texts = tuple(
        f"The release day of the team is {day}, as decided in spring."
        for day in ("Tuesday", "Friday", "Monday")
    )
    for number, (ident, text) in enumerate(zip(ids, texts, strict=True)):
        heir = {"status": "superseded", "superseded_by": ids[number + 1]} if number < 2 else {}
        stored(call, text, id=ident, created=f"2026-0{number + 1}-01", **heir)
    for text in FILLER:
        stored(call, text)
    return ids


def test_history_brings_what_was_replaced_in_its_order(call: Call, line: list[str]) -> None:
    asked = "What is the release day of the team?"
    assert [one for one in hits(call, asked) if one in line] == line[2:]
    found = call("recall", query=asked, history=True)["results"]
    assert [row["id"] for row in found[:3]] == line
    assert [row["replaced_by"] for row in found[:3]] == [line[1], line[2], None]
    assert hits(call, "What was the release day of the team before?")[:3] == line
    assert len(call("recall", query=asked, history=True, k=2)["results"]) == 2


def test_a_prompt_that_looks_back_gets_what_was_marked_as_replaced(
    call: Call, line: list[str]
) -> None:
    found = call("inject", prompt="What was the release day of the team before?")
    kept = [one for one in found["ids"] if one in line]
    assert len(kept) > 1
    assert kept == [one for one in line if one in kept]
    assert f'replaced_by="{line[1]}"' in found["text"]
    assert (
        "replaced_by" not in call("inject", prompt="What is the release day of the team?")["text"]
    )


def test_a_passage_whose_fact_was_replaced_says_so_and_ranks_last(call: Call) -> None:
    talks = [
        call("capture", text=f"User: we ship on {day} now.", kind="session", session=day)["id"]
        for day in ("Tuesday", "Friday")
    ]
    new = stored(
        call,
        "The team ships on Friday.",
        id="0000000000nn",
        derived_from=[talks[1]],
        supersedes=["0000000000zz"],
    )
    stored(
        call,
        "The team ships on Tuesday.",
        id="0000000000zz",
        derived_from=[talks[0]],
        status="superseded",
        superseded_by="0000000000nn",
    )
    rows = call("recall", query="do we ship on Tuesday now?")["results"]
    assert [row["id"] for row in rows] == [new, talks[1], talks[0]]
    assert [row["replaced_by"] for row in rows] == [None, None, new]


def test_an_insight_does_not_hide_what_it_is_made_of(call: Call) -> None:
    facts = [
        stored(call, f"The team ships on {day} in {month}.")
        for day, month in (("Friday", "May"), ("Monday", "June"))
    ]
    insight = stored(
        call,
        "The team ships on Friday in May, on Monday in June: the team ships.",
        level=1,
        derived_from=facts,
    )
    for number in range(12):
        stored(call, f"The team eats soup number {number}.")
    assert set(hits(call, "When does the team ship?", k=3)) == {insight, *facts}


def test_what_was_changed_in_passing_leads_where_no_judge_compared_it(call: Call) -> None:
    """Two captured sentences; as memories of their own, the newer of the same two is not near
    enough to lead."""
    first = "The ferry to Bergen leaves on 14 May from pier nine, the ferry is booked for two."
    then = "Change of plan, our ferry to Bergen leaves on 21 May now."
    asked = "When does the ferry to Bergen leave?"
    for text in FILLER:
        stored(call, text, created="2026-03-01")
    written = [
        stored(call, text, created=day)
        for text, day in ((first, "2026-01-02"), (then, "2026-01-20"))
    ]
    assert hits(call, asked)[:2] == written
    for ident in written:
        call("forget", id=ident)
    for day, words in (("2026-03-02", first), ("2026-03-20", then)):
        call(
            "capture",
            text=f"User: {words}\n\nAssistant: Noted.",
            kind="session",
            session=day,
            when=f"{day}T10:00:00+00:00",
        )
    call("dream", loops=["encode"])
    facts = [
        row["title"] for row in call("recall", query=asked)["results"] if row["type"] == "semantic"
    ]
    assert [title[:12] for title in facts[:2]] == [then[:12], first[:12]]


@pytest.mark.model
@pytest.mark.parametrize(
    ("asked", "first"),
    [("was wünscht sich jule?", "unsere tochter jule"), ("wann hat jule geburtstag?", "unsere")],
)
def test_in_a_language_that_the_model_does_not_know_words_say_what_is_of_the_same(
    tmp_path: Path, asked: str, first: str
) -> None:
    """All of it is alike to the model: whatever came last stood before the answer."""
    said = (
        "unsere tochter jule wird am 9. dezember 8, sie wünscht sich ein mikroskop.",
        "die waage ist ne beelogger und hängt an volk 7, der pin steht im schuppen.",
        "wir sind gestern endlich umgezogen, nach bovenden in den rosenweg 11.",
        "mein knie macht mir zu schaffen, der doktor will ein mrt.",
        "ich trink ja kein bier mehr seit ostern.",
    )
    with App.open(new_vault(tmp_path / "v"), Settings({"disk.reserve": 0})) as app:
        for day, words in enumerate(said, start=1):
            app.call(
                "capture",
                {
                    "text": f"User: {words}\n\nAssistant: Gut.",
                    "kind": "session",
                    "session": str(day),
                    "when": f"2026-03-{day:02}T10:00:00+00:00",
                },
            )
        app.call("dream", {"loops": ["encode"]})
        rows = app.call("recall", {"query": asked})["results"]
    assert rows[0]["title"].startswith(first)


def test_a_later_state_stands_before_an_earlier_one_that_fits_better(app: App, call: Call) -> None:
    """Nobody said that one replaces the other; by itself the earliest would stand second."""
    texts = [
        f"The release day of the team is {day}, as decided in spring."
        for day in ("Tuesday", "Friday", "Monday")
    ]
    ids = [
        stored(call, text, created=f"2026-0{number}-01")
        for number, text in enumerate(texts, start=1)
    ]
    for text in FILLER:
        stored(call, text)
    app.house.index.embed()
    prompt = "What is the release day of the team?"
    assert call("inject", prompt=prompt)["ids"] == ids[::-1]
    assert call("context", prompt=prompt)["sections"]["memories"] == ids[::-1]


def test_what_is_announced_stands_behind_what_holds_however_far_that_is() -> None:
    some = rows(
        ("ahead", 3, {"valid_from": "2099-01-01"}), ("one", 1, {}), ("two", 1, {}), ("now", 2, {})
    )

    def like(_: Row, other: Row, gap: int) -> float:
        return 1.0 - gap if other.when == 2 * 86_400.0 else -1.0

    found, moved = answer_order.leading(["ahead", "one", "two", "now"], some, like, 1e9)
    assert (found, moved) == (["now", "ahead", "one", "two"], {"ahead": "now"})
