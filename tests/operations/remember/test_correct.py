"""What is said to hold now replaces what was: in one commit, the old words kept, each found in its
time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import AmbiguousId, InvalidInput, NotFound
from oneiro_vault.operations.remember.dedupe import _affirms, _denied
from oneiro_vault.settings.definitions import Settings
from tests.copies import new_vault
from tests.month.life import Clock
from tests.operations.conftest import Call, hits, stored

CHANGES = [
    ("Peter works on the Anderson order.", "No, Peter works on the Miller order now.", "which order does Peter work on?"),
    ("The staging database is reset every night at two.", "The staging database is reset at four in the morning now.", "when is the staging database reset?"),
    ("Ana prefers releases on Fridays.", "Ana prefers releases on Thursdays now.", "on which day does Ana prefer releases?"),
    ("The office is in the Lindengasse.", "The office has moved to the Burggasse.", "where is the office?"),
    ("Tom's piano lesson is on Mondays at five.", "Tom's piano lesson is on Wednesdays at half past four.", "when is Tom's piano lesson?"),
    ("The rent of the workshop is 840 euros.", "The rent of the workshop is 910 euros from January on.", "what is the rent of the workshop?"),
    ("Our dentist is Dr. Huber.", "Our dentist is Dr. Maier now, Huber has retired.", "who is our dentist?"),
    ("The API rate limit is 100 requests a minute.", "The API rate limit is 250 requests a minute.", "what is the API rate limit?"),
    ("Grandma lives with Aunt Rosa.", "Grandma lives in the home in Melk since the fall.", "where does Grandma live?"),
    ("The backup goes to the NAS in the cellar.", "The backup goes to the object store, the NAS in the cellar is gone.", "where does the backup go?"),
]  # fmt: skip
MAY = 1_777_600_000.0
JUNE = MAY + 40 * 86_400


@pytest.fixture
def clock() -> Clock:
    return Clock(MAY)


@pytest.fixture
def lived(tmp_path: Path, clock: Clock) -> Iterator[App]:
    """A vault with the packaged model."""
    new_vault(tmp_path / "vault")
    settings = Settings({"disk.reserve": 0, "edits.quiet": 0.0})
    with App.open(tmp_path / "vault", settings, clock=clock) as app:
        yield app


@pytest.mark.model
def test_what_is_true_now_and_what_was_on_a_day(lived: App, clock: Clock) -> None:
    def call(op: str, **params: Any) -> dict[str, Any]:
        return lived.call(op, params)

    old = [stored(call, before) for before, _, _ in CHANGES]
    lived.house.index.embed()
    clock.now = JUNE
    for (_, after, _), before in zip(CHANGES, old, strict=True):
        done = call("correct", text=after)
        assert done["replaced"]["id"] == before, after
        entry = call("log", limit=1)["entries"][0]
        assert (entry["op"], entry["commit"]) == ("supersede", done["commit"])
        assert set(entry["memories"]) == {done["id"], before}
    lived.house.index.embed()
    for (_, after, question), before in zip(CHANGES, old, strict=True):
        row = call("recall", query=question)["results"][0]
        assert after.rstrip(".").startswith(row["title"].rstrip("….")), question
        then = call("recall", query=question, valid_at="2026-05-10")["results"][0]
        assert then["id"] == before, question
        known = call("show", id=before)
        assert known["meta"]["status"] == "superseded"
        assert known["body"].strip() == CHANGES[old.index(before)][0]


def test_one_that_is_named_is_replaced(call: Call) -> None:
    old = stored(call, "The boat is called Petrel.", about=["the boat"], kind="definitional")
    done = call("correct", text="The boat is called Fulmar.", id=old[:6], valid_from="2026-04-01")
    new = call("show", id=done["id"])["meta"]
    assert list(new["supersedes"]) == [old]
    assert (list(new["about"]), new["kind"]) == (["the boat"], "definitional")
    was = call("show", id=old)["meta"]
    assert (was["status"], was["superseded_by"]) == ("superseded", done["id"])
    assert was["valid_until"].startswith("2026-04-01")
    call("undo", commit=done["commit"])
    assert call("show", id=old)["meta"]["status"] == "active"


@pytest.mark.model
@pytest.mark.parametrize(
    ("wrong", "right", "text"),
    [
        (
            "physio for my knee every monday at 10",
            "physio is at 7:45 from now on, not 10",
            "Physio is on Mondays at 7:45, not at 10.",
        ),
        (
            "dentist is on thursday the 19th at 8:30",
            "the dentist moved me to tuesday the 24th at 8:30, not thursday the 19th",
            "The dentist is on Tuesday the 24th at 8:30, not on Thursday the 19th.",
        ),
        (
            "the standup is in the small room",
            "standup is in the big room from monday, instead of the small room",
            "The standup is in the big room, not in the small room.",
        ),
        (
            "die Physio ist montags um 10 Uhr",
            "die Physio ist jetzt um 7:45, nicht mehr um 10",
            "Die Physio ist montags um 7:45, nicht um 10.",
        ),
    ],
)
def test_what_says_the_denied_is_replaced_not_what_says_the_new_already(
    lived: App, clock: Clock, wrong: str, right: str, text: str
) -> None:
    def call(op: str, **params: Any) -> dict[str, Any]:
        return lived.call(op, params)

    old = stored(call, wrong)
    stored(call, "the ten of us meet on monday at 10 for the sprint planning")
    clock.now += 86_400
    newer = stored(call, right)
    lived.house.index.embed()
    clock.now = JUNE
    assert call("correct", text=text)["replaced"]["id"] == old
    assert call("show", id=newer)["meta"]["status"] == "active"


@pytest.mark.parametrize(
    ("text", "body", "affirmed"),
    [
        ("Physio is at 7:45, not at 10.", "physio at 10", True),
        ("Physio is at 7:45, not at 10.", "physio at 10:00", True),
        ("Physio is at 7:45, not at 10.", "physio at 10:30", False),
        ("Physio is at 7:45, not at 10:30.", "physio at 10:30", True),
        ("Physio isn't at 10 but at 7:45.", "physio at 10", True),
        ("Physio isn't at 10 but at 7:45.", "physio isn’t at 10", False),
        ("Wir haben keinen Hund, eine Katze.", "wir haben einen Hund", True),
    ],
)
def test_what_affirms_the_denied(text: str, body: str, affirmed: bool) -> None:
    assert _affirms(body, _denied(text)) == affirmed


@pytest.mark.parametrize("text", ["Don't forget the physio at 7:45.", "It is so, not that."])
def test_what_denies_nothing_telling(text: str) -> None:
    assert not _denied(text)


def test_a_weak_memory_of_the_denied_is_not_replaced_unasked(call: Call) -> None:
    old = stored(call, "The standup of the platform team is in the large room at ten.")
    stored(call, "The platform team has 14 large chairs.")
    text = "The standup of the platform team is in the large room at nine, not at 14."
    assert call("correct", text=text)["replaced"]["id"] == old


@pytest.mark.model
def test_what_a_memory_says_besides_stays(lived: App) -> None:
    def call(op: str, **params: Any) -> dict[str, Any]:
        return lived.call(op, params)

    migraine = "I get migraines when I sleep badly, I just take paracetamol."
    old = stored(call, f"I study on Tuesday evenings for the course. {migraine}", trust="external")
    done = call("correct", text="I study on Friday evenings, not on Tuesday evenings.", id=old)
    kept = call("show", id=done["kept"]["id"])
    assert kept["body"].strip() == migraine
    assert (kept["meta"]["status"], kept["meta"]["trust"]) == ("active", "external")
    assert list(kept["meta"]["derived_from"]) == [old]
    entry = call("log", limit=1)["entries"][0]
    assert (entry["op"], entry["commit"]) == ("supersede", done["commit"])
    assert call("show", id=old)["meta"]["superseded_by"] == done["id"]
    call("undo", commit=done["commit"])
    assert call("show", id=old)["meta"]["status"] == "active"
    with pytest.raises(NotFound):
        call("show", id=done["kept"]["id"])


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        (
            "Der Rückenkurs startet im April, donnerstags um 18 Uhr, 8 Termine, 120 Euro.",
            "Der Rückenkurs ist dienstags um 18 Uhr, nicht donnerstags.",
            "Der Rückenkurs startet im April, … um 18 Uhr, 8 Termine, 120 Euro.",
        ),
        (
            "The yoga course runs on Thursdays from April, eight sessions for 120 euros.",
            "The yoga course is on Tuesdays, not Thursdays.",
            "The yoga course runs on … from April, eight sessions for 120 euros.",
        ),
        ("The yoga course is on Thursdays.", "The yoga course is on Tuesdays, not Thursdays.", ""),
    ],
)
def test_what_the_corrected_sentence_says_besides_stays(
    call: Call, old: str, new: str, left: str
) -> None:
    ident = stored(call, old)
    done = call("correct", text=new, id=ident)
    assert done["replaced"]["id"] == ident
    kept = done["kept"] and call("show", id=done["kept"]["id"])["body"].strip()
    assert (kept or "") == left


def test_nothing_is_kept_besides_one_sentence_or_what_is_said_again(call: Call) -> None:
    old = stored(call, "The boat is called Petrel.")
    assert call("correct", text="The boat is called Fulmar.", id=old)["kept"] is None
    old = stored(call, "The kiln is in Leeds. It is fired on Mondays.")
    done = call("correct", text="The kiln is in Hull and is fired on Mondays.", id=old)
    assert done["kept"] is None


def test_remember_says_what_it_replaces(call: Call) -> None:
    old = stored(call, "Ana wants the release on Fridays.")
    new = stored(call, "Ana wants the release on Thursdays.", replaces=old)
    assert hits(call, "when does Ana want the release?") == [new]
    with pytest.raises(InvalidInput, match="replaced already"):
        call("remember", items=[{"text": "Ana wants it on Mondays.", "replaces": [old]}])
    with pytest.raises(NotFound):
        call("remember", items=[{"text": "Ana wants it on Mondays.", "replaces": "zzzzzzzzzzzz"}])
    with pytest.raises(InvalidInput, match="replaces must be"):
        call("remember", items=[{"text": "Ana wants it on Mondays.", "replaces": 3}])


def test_the_same_words_but_for_one_are_no_duplicate_then(call: Call) -> None:
    old = stored(call, "The standup of the platform team begins at nine in the small room.")
    new = stored(call, "The standup of the platform team begins at nine in the room.", replaces=old)
    assert new != old
    assert call("show", id=old)["meta"]["superseded_by"] == new


def test_a_model_replaces_nothing_that_a_person_ratified(call: Call) -> None:
    block = stored(call, "The person works at night.", type="orientation")
    call("ratify", id=block)
    with pytest.raises(InvalidInput, match="ratified by a person"):
        call(
            "remember",
            items=[{"text": "The person works by day.", "replaces": block}],
            actor="model",
        )


def test_in_doubt_it_asks(call: Call) -> None:
    for room in ("blue", "green"):
        stored(call, f"The {room} meeting room seats twelve people at one table.")
    with pytest.raises(AmbiguousId, match=r"blue meeting room.*|green meeting room.*"):
        call("correct", text="The meeting room seats sixteen people at one table.")
    with pytest.raises(NotFound, match="nothing here says something of that"):
        call("correct", text="Walnuts grow in Georgia.")


@pytest.mark.model
@pytest.mark.parametrize("given", [{}, {"valid_from": "2026-08-01"}])
def test_what_begins_later_replaces_on_its_day(
    lived: App, clock: Clock, given: dict[str, str]
) -> None:
    def call(op: str, **params: Any) -> dict[str, Any]:
        return lived.call(op, params)

    old = stored(call, "Our base is Camborne.")
    lived.house.index.embed()
    clock.now = JUNE
    done = call("correct", text="Our base is Barncoose from 1 August.", id=old, **given)
    assert done["replaced"]["id"] == old
    new, was = call("show", id=done["id"])["meta"], call("show", id=old)["meta"]
    assert new["valid_from"].startswith("2026-08-01")
    assert was["valid_until"].startswith("2026-08-01")
    assert "superseded_by" not in was
    lived.house.index.embed()
    first, second = call("recall", query="where is our base?")["results"][:2]
    assert [first["id"], second["id"]] == [old, done["id"]]
    assert second["valid"]["now"] == "ahead"
    clock.now = JUNE + 90 * 86_400
    assert call("recall", query="where is our base?")["results"][0]["id"] == done["id"]


@pytest.mark.model
def test_a_profile_is_never_what_a_text_corrects(lived: App) -> None:
    """It quotes what is, and stands first by its words."""

    def call(op: str, **params: Any) -> dict[str, Any]:
        return lived.call(op, params)

    folder = lived.house.root / "entities"
    folder.mkdir()
    (folder / "furosemide.md").write_text(
        "---\nid: 0123456789ab\ntype: entity\ntitle: furosemide\nsource: dream\ntrust: model\n"
        "created: 2026-04-01T08:00:00+00:00\n---\nDad takes furosemide 40 mg.\n"
    )
    old = stored(call, "Dad takes furosemide 40 mg for his heart.")
    for text in ("The boat lies in Bergen harbour.", "Ana sings tenor."):
        stored(call, text)
    lived.house.index.embed()
    done = call("correct", text="Dad takes furosemide 60 mg now, no longer 40.")
    assert done["replaced"]["id"] == old
