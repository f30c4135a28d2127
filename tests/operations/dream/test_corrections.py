"""Nights by rules: what somebody says they had wrong is replaced, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.capture.transcripts import Turn, render
from oneiro_vault.core.conversation.personal import bare
from oneiro_vault.core.markdown.taxonomy import prose
from oneiro_vault.settings.definitions import Settings
from tests.copies import new_vault
from tests.month.life import Clock
from tests.operations.dream.support import SETTINGS

MOVE = "Tim moves to Porto in January and Jo starts school in September."
CASES = (
    (MOVE, "No wait, Tim moves in February, not January."),
    ("My dentist appointment is on 4 December.", "Sorry, my dentist appointment is on the 14th of "
     "December, not the 4th."),
    ("My cousin Anna lives in Graz.", "Actually, my cousin Anna lives in Linz, not Graz."),
    ("Our wedding is on 12 June.", "Scratch that, the wedding is on 19 June, not 12 June."),
    ("Our choir rehearsal starts at 7 pm.", "I meant our choir rehearsal starts at 8 pm, not 7."),
    ("My rent is 950 euros a month.", "Correction: my rent is 980 euros, not 950."),
    ("Tom is my new boss.", "No, my new boss is Tony, not Tom."),
    ("Meine Schwester zieht im Juli nach Bern.", "Anders als ich sagte, zieht meine Schwester "
     "nicht im Juli, sondern im August nach Bern."),
    ("Lea works at Siemens in Munich.", "Actually Lea doesn't work at Siemens but at Bosch."),
    ("We fly to Lisbon on Friday.", "Oops, we fly to Lisbon on Saturday, not Friday."),
    ("Sam has three kids and a dog called Rex.", "I got that wrong, Sam has two kids, not three."),
    ("The shop launch is in May and the fair is in October.", "The shop launch isn't in May, it's "
     "in November."),
    ("My niece Mia turns 6 in March.", "I got that wrong, my niece Mia turns 7, not 6."),
    ("mein umzug ist am dienstag", "nein, mein umzug ist am mittwoch, nicht am dienstag"),
)  # fmt: skip
STAY = (
    ("Ola moves to Porto in January.", "My sister Eva moves in February, not January."),
    ("The exam in biology is on the 4th of May.", "The exam in chemistry is on the 14th, not the "
     "4th."),
    ("My brother lives in Graz.", "My sister lives in Linz, not Graz."),
    ("I work with Ana on the garden of Bo.", "I work with Kim, not Bo."),
    ("Jan drives to Bonn in April.", "Is it true that Jan drives to Bonn in June, not April?"),
    ("Pia plays the cello in the town band.", "If Pia plays the viola, not the cello, we need a "
     "score."),
)  # fmt: skip


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """An empty vault with rules in its nights."""
    clock = Clock(_at("2026-11-03T09:00:00+00:00"))
    settings = Settings(SETTINGS | {"dreams.judge": "offline"})
    with App.open(new_vault(tmp_path / "vault"), settings, clock=clock) as found:
        yield found


def _at(when: str) -> float:
    return datetime.fromisoformat(when).timestamp()


def said(app: App, day: int, *turns: str, who: Sequence[str] = ("user", "assistant")) -> None:
    """One conversation after noon, a turn by each in turn."""
    now = max(_at(f"2026-11-{day:02}T12:00:00+00:00"), app.house.clock()) + 60
    app.house.clock.now = now  # type: ignore[attr-defined]  # a test's clock
    when = datetime.fromtimestamp(now, UTC).isoformat()
    talk = [Turn(who[n % 2], text) for n, text in enumerate(turns)]
    app.call("capture", {"text": render(talk), "kind": "session", "session": f"s{day}{turns[0]}"[:20],
                         "client": "claude-code", "when": when})  # fmt: skip


def night(app: App, day: int) -> None:
    """The one after a day."""
    app.house.clock.now = _at(f"2026-11-{day + 1:02}T03:00:00+00:00")  # type: ignore[attr-defined]  # a test's clock
    app.call("dream", {})


def facts(app: App) -> dict[str, dict[str, Any]]:
    """The words of what is known, without the days set beside them -> the note."""
    rows = app.call("list", {"limit": 1000, "type": "semantic"})["results"]
    notes = (app.call("show", {"id": row["id"]}) for row in rows)
    return {bare(prose(one["body"])).strip(): one for one in notes}


def status(app: App, text: str) -> str:
    """Of the fact that says this."""
    return str(facts(app)[text]["meta"]["status"])


@pytest.mark.parametrize("same", [True, False], ids=["the same day", "another day"])
def test_what_was_wrong_is_replaced(app: App, same: bool) -> None:
    for old, _ in CASES:
        said(app, 3, old, "Noted.")
    if not same:
        night(app, 3)
    for _, new in CASES:
        said(app, 3 if same else 4, new, "All right.")
    for day in range(4, 8):  # a run touches a few notes only
        night(app, day)
    known = facts(app)
    assert {old: known[old]["meta"]["status"] for old, _ in CASES} == dict.fromkeys(
        (old for old, _ in CASES), "superseded"
    )


def test_what_still_holds_is_found_and_the_orientation_follows(app: App) -> None:
    said(app, 3, MOVE, "Noted.")
    night(app, 3)
    assert "January" in app.call("orient", {})["text"]
    said(app, 4, CASES[0][1], "All right.")
    night(app, 4)
    oriented = app.call("orient", {})["text"]
    assert "February" in oriented
    assert "January" not in oriented
    assert app.call("flagged")["results"] == []
    found = app.call("recall", {"query": "When does Jo start school?"})["results"]
    (rest,) = [row for row in found if row["title"].startswith("Tim moves to Porto … and Jo")]
    note = app.call("show", {"id": rest["id"]})
    assert (note["meta"]["status"], note["meta"]["created"][:10]) == ("active", "2026-11-03")
    assert "January" not in note["body"]
    assert note["meta"]["trust"] == "said"
    assert "Jo starts school in September" in oriented
    (run,) = [one for one in app.call("log", {"limit": 50})["entries"] if one["op"] == "supersede"]
    app.call("undo", {"commit": run["commit"]})
    assert status(app, MOVE) == "active"


def test_within_a_conversation_it_need_not_name_its_subject(app: App) -> None:
    said(app, 3, "My dentist appointment is on the 4th of December.", "Noted.",
         "Sorry, it's the 14th of December, not the 4th.", "All right.")  # fmt: skip
    night(app, 3)
    night(app, 4)
    assert status(app, "My dentist appointment is on the 4th of December.") == "superseded"
    (now,) = [one for one in facts(app).values() if one["meta"]["status"] == "active"]
    assert now["body"].startswith("My dentist appointment … Sorry, it's the 14th of December")


def test_in_another_conversation_it_must(app: App) -> None:
    said(app, 3, "My dentist appointment is on the 4th of December.", "Noted.")
    night(app, 3)
    said(app, 4, "Sorry, it's the 14th of December, not the 4th.", "All right.")
    night(app, 4)
    assert status(app, "My dentist appointment is on the 4th of December.") == "active"


def test_nothing_else_is(app: App) -> None:
    for old, _ in STAY:
        said(app, 3, old, "Noted.")
    night(app, 3)
    for _, new in STAY:
        said(app, 4, new, "All right.")
    night(app, 4)
    assert {one["meta"]["status"] for one in facts(app).values()} == {"active"}


def test_what_the_assistant_or_a_paste_says_corrects_nothing(app: App) -> None:
    said(app, 3, MOVE, "Noted.")
    night(app, 3)
    said(app, 4, "Thanks!", CASES[0][1])
    said(app, 4, f"This mail came in today:\n\n> From: Kim\n> {CASES[0][1]}\n> Best, Kim", "I see.")
    night(app, 4)
    assert status(app, MOVE) == "active"


def test_what_a_person_wrote_themselves_is_only_flagged(app: App) -> None:
    item = {"text": "Tim moves to Porto in January.", "trust": "user"}
    known = app.call("remember", {"items": [item]})["results"][0]["id"]
    said(app, 4, CASES[0][1], "All right.")
    night(app, 4)
    assert app.call("show", {"id": known})["meta"]["status"] == "active"
    assert len(app.call("flagged")["results"]) == 1
