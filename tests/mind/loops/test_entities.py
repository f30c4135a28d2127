"""Names that several memories are about get a profile: each sentence with its source, nobody
guessed, nobody merged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.mind.base import Decision, Named, New, Note, Set
from oneiro_vault.mind.drive_loop import Driver
from oneiro_vault.mind.loops import entities as loop
from oneiro_vault.operations.dream.vault_snapshot import NAMES
from oneiro_vault.settings.definitions import Settings
from tests.copies import new_vault
from tests.judges.scripted import ScriptedJudge
from tests.mind.support import Memo, note, snapshot
from tests.operations.conftest import Call, stored

SAID = [
    ("Peter Novak writes eight articles a week.", ["Peter Novak"], "2026-05-01"),
    ("Peter Novak moved to the Miller order.", ["Peter Novak", "Miller order"], "2026-05-09"),
    ("The Miller order is due in June.", ["Miller order"], "2026-05-10"),
    ("Dana leads the editors.", ["Dana"], "2026-05-02"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    new_vault(tmp_path / "vault")
    return tmp_path / "vault"


@pytest.fixture
def call(root: Path) -> Iterator[Call]:
    settings = Settings({"embed.model": "hash", "disk.reserve": 0, "edits.quiet": 0.0})
    with App.open(root, settings) as app:
        yield lambda op, **params: app.call(op, params)


def say(call: Call, text: str, about: list[str], day: str, **more: Any) -> str:
    return stored(call, text, about=about, created=day, **more)


def night(call: Call) -> dict[str, dict[str, Any]]:
    """Title -> what each entity says after a night."""
    call("dream", loops=["entities"], judge="offline")
    return entities(call)


def entities(call: Call) -> dict[str, dict[str, Any]]:
    rows = call("list", type="entity", limit=100)["results"]
    return {row["title"]: call("show", id=row["id"]) for row in rows}


def test_whoever_two_memories_are_about_has_a_note(call: Call, root: Path) -> None:
    ids = [say(call, *one) for one in SAID]
    found = night(call)
    assert set(found) == {"Peter Novak", "Miller order"}, "once is not enough"
    assert found["Peter Novak"]["path"] == "entities/Peter Novak.md"
    body = found["Peter Novak"]["body"].strip().splitlines()
    files = [next(root.rglob(f"*-{one}.md")).stem for one in ids[:2]]
    assert body == [
        f"- 2026-05-01: “Peter Novak writes eight articles a week.” ([[{files[0]}|{ids[0]}]])",
        f"- 2026-05-09: “Peter Novak moved to the Miller order.” ([[{files[1]}|{ids[1]}]])",
    ], "by their files' names: Obsidian opens them"
    assert list(found["Peter Novak"]["meta"]["derived_from"]) == ids[:2]
    assert found["Peter Novak"]["meta"]["trust"] == "model"
    last = found["Peter Novak"]["meta"]["description"]
    assert last == "2026-05-09: “Peter Novak moved to the Miller order.”", "what a list shows"
    graph = call("graph", name="peter")
    assert ids[1] in {node["id"] for node in graph["nodes"]}
    before = call("log", limit=1)["entries"][0]["commit"]
    assert night(call).keys() == found.keys()
    assert call("log", limit=1)["entries"][0]["commit"] == before, "a second night changes nothing"


def test_the_profile_lives(call: Call) -> None:
    ids = [say(call, *one) for one in SAID]
    night(call)
    say(call, "Peter Novak works for Acme now.", ["Peter Novak"], "2026-05-20", replaces=ids[1])
    body = night(call)["Peter Novak"]["body"]
    assert "works for Acme" in body
    assert "Miller" not in body, "what was replaced leaves the profile"


def test_two_of_one_first_name_stay_two(call: Call) -> None:
    for name in ("Peter Novak", "Peter Okafor"):
        for day in ("2026-05-01", "2026-05-02"):
            say(call, f"{name} was in on {day}.", [name], day)
    for day in ("2026-05-03", "2026-05-04"):
        say(call, f"Peter called on {day}.", ["Peter"], day)
    assert set(night(call)) == {"Peter Novak", "Peter Okafor"}


def test_what_is_no_name_makes_nobody(call: Call) -> None:
    for day in ("2026-05-01", "2026-05-02"):
        for name in ("Monday", "user", "the boat", "The person"):
            say(call, f"About {name} on {day}.", [name], day)
        call(
            "remember",
            items=[{"text": f"Mallory on {day}.", "about": ["Mallory"], "trust": "external"}],
        )
    assert night(call) == {}


def test_a_person_may_change_or_forbid_it(call: Call, root: Path) -> None:
    for one in SAID:
        say(call, *one)
    found = night(call)
    call("forget", id=found["Miller order"]["id"])
    own = found["Peter Novak"]
    call("reframe", id=own["id"], text="My best writer.", title="Peter Novák", actor="user")
    say(call, "Peter Novak is ill.", ["Peter Novak"], "2026-05-21")
    say(call, "The Miller order grew.", ["Miller order"], "2026-05-21")
    after = night(call)
    assert set(after) == {"Peter Novák"}
    assert after["Peter Novák"]["body"].strip() == "My best writer."


def test_a_profile_stands_in_no_answers_way(call: Call) -> None:
    ids = [say(call, *one) for one in SAID]
    before = [row["id"] for row in call("recall", query="Peter Novak")["results"]]
    profile = night(call)["Peter Novak"]["id"]
    after = [row["id"] for row in call("recall", query="Peter Novak")["results"]]
    assert after == before
    assert set(ids[:2]) <= set(after)
    assert (
        next(row["id"] for row in call("recall", query="Peter Novak", type="entity")["results"])
        == profile
    )
    shown = call("context", prompt="What does Peter Novak do?")["sections"]
    assert profile in shown["people"]


@pytest.mark.slow
def test_a_night_makes_some_and_the_next_goes_on(call: Call) -> None:
    items = [
        {"text": f"Person{n} did thing {m}.", "about": [f"Person{n}"], "created": "2026-05-01"}
        for n in range(45)
        for m in range(2 + (n == 44))
    ]
    call("remember", items=items)
    first = night(call)
    assert len(first) == 40
    assert "Person44" in first, "what most memories are about goes first"
    assert len(night(call)) == 45


def capture(ident: str, text: str, **facts: Any) -> Note:
    given: dict[str, Any] = {
        "type": "episodic", "source": "capture", "trust": "external", "session": ident,
        "created": "2026-05-01T10:00:00+00:00", "extra": {"captured": "session"},
    }  # fmt: skip
    return note(ident, f"User: {text}", **(given | facts))


Tags = dict[str, list[Any]]
"""What the tagger finds, by the letter of the note: as `Named`."""


def decided(*notes: Note, named: Tags | None = None) -> list[Decision]:
    found = {12 * ident: [Named(*one) for one in some] for ident, some in (named or {}).items()}
    taken = snapshot(*notes, named=lambda _: found)
    return Driver(ScriptedJudge(lambda _: None), Memo()).drive(loop.run(taken))


def made(*notes: Note, named: Tags | None = None) -> dict[str, dict[str, Any]]:
    """Title -> frontmatter of every entity that a night would make."""
    edits = [edit for one in decided(*notes, named=named) for edit in one.edits]
    news = [edit for edit in edits if isinstance(edit, New)]
    return {new.meta["title"]: {**new.meta, "body": new.body} for new in news}


def person(name: str, likely: float = 0.9, sure: float = 1.0) -> Named:
    return Named(name, "person", likely, sure)


def test_forms_of_a_name_are_one_and_shown_as_most_write_it() -> None:
    found = made(
        capture("a", "dr sunil achar has been my gp for years"),
        capture("b", "Dr Achar hung up his stethoscope."),
        capture("c", "achars son is a gp too"),
        named={
            "a": [person("dr sunil achar")], "b": [person("Dr Achar")], "c": [person("achars")],
        },
    )  # fmt: skip
    (achar,) = found.values()
    assert achar["kind"] == "person"
    assert achar["title"] == "Dr Achar"
    assert set(achar["aliases"]) == {"achar", "achars", "dr sunil achar"}
    assert achar["body"].count("[[") == 3


def test_who_cannot_be_told_apart_stays_apart() -> None:
    both = {
        "a": [person("Mr Novak"), person("Adam")],
        "b": [person("Mrs Novak"), person("Mr Adams")],
        "c": [person("Mr Novak"), person("Mrs Novak"), person("Adam")],
        "d": [person("Novak"), person("Mr Adams")],
    }
    texts = {
        "a": "Mr Novak saw Adam.",
        "b": "Mrs Novak saw Mr Adams.",
        "c": "Mr Novak, Mrs Novak and Adam.",
        "d": "Novak called Mr Adams.",
    }
    found = made(*(capture(ident, text) for ident, text in texts.items()), named=both)
    assert set(found) == {"Mr Novak", "Mrs Novak", "Adam", "Mr Adams"}
    assert all("aliases" not in one for one in found.values())


def test_a_conversation_and_what_was_kept_of_it_are_enough_for_a_person_only() -> None:
    text = "my cousin Ilse uses Zotero in Graz"
    fact = note("f", text, derived_from=(12 * "a",), trust="said")
    tags = [
        person("Ilse", 0.97),
        person("Zot", 0.6),
        ("Zotero", "system", 0.99),
        ("Graz", "place", 1.0),
    ]
    both = {"a": tags, "f": tags}
    assert set(made(capture("a", text), fact, named=both)) == {"Ilse"}
    assert made(capture("a", text), named=both) == {}, "once is not enough"
    again = capture("b", "Zotero again, in Graz")
    assert set(made(capture("a", text), fact, again, named=both)) == {"Ilse", "Zotero", "Graz"}


def test_a_word_that_seldom_is_a_name_is_none() -> None:
    notes = [capture(ident, "the windows are old") for ident in "abcdefg"]
    named = {ident: [("windows", "system", 0.8)] for ident in "ab"}
    assert made(*notes, named=named) == {}


def test_a_name_that_is_a_common_word_too_stays_one_where_it_surely_is() -> None:
    notes = [capture(ident, "it will rain and will be cold") for ident in "abcdefgh"]
    notes += [capture(ident, f"Will came on day {ident}") for ident in "wxz"]
    named = {ident: [person("Will", 0.98)] for ident in "wx"}
    (will,) = made(*notes, named=named).values()
    assert will["body"].count("[[") == 2


def test_what_was_named_once_counts_wherever_it_stands() -> None:
    notes = (capture("a", "egid eats no meat"), capture("b", "i must ask egid about the wallbox"))
    (egid,) = made(*notes, named={"a": [person("egid", 0.7)]}).values()
    assert egid["body"].count("[[") == 2


def test_words_from_elsewhere_name_nobody(call: Call) -> None:
    said = "User: Ilse Brandt called today.\n\nAssistant: Mallory Webb wrote that too."
    for session in ("s1", "s2"):
        call("capture", text=f"{said} {session}", kind="session", session=session)
    assert set(night(call)) == {"Ilse Brandt"}


def test_names_are_found_once_and_again_when_a_note_changes(call: Call, root: Path) -> None:
    place = root / ".oneiro" / NAMES
    first = say(call, "Ilse Brandt called.", [], "2026-05-01")
    say(call, "The boat was sold by Ilse Brandt.", [], "2026-05-02")
    assert set(night(call)) == {"Ilse Brandt"}
    kept = json.loads(place.read_text())["names"]
    sure = pytest.approx(1, abs=0.05)
    assert list(kept.values()) == [[["Ilse Brandt", "person", sure, sure]]] * 2
    place.write_text("no json")
    assert set(night(call)) == {"Ilse Brandt"}
    call("reframe", id=first, text="Ruta Kalnins called.", actor="user")
    say(call, "The tent belongs to Ruta Kalnins.", [], "2026-05-03")
    assert set(night(call)) == {"Ilse Brandt", "Ruta Kalnins"}


def test_what_was_forgotten_leaves_the_profile_too(call: Call) -> None:
    ids = [say(call, *one) for one in SAID]
    profile = night(call)["Peter Novak"]["id"]
    for ident in ids[:2]:
        call("forget", id=ident)
    left = night(call)["Peter Novak"]
    assert profile not in {node["id"] for node in call("graph", name="Miller order")["nodes"]}
    assert left["meta"]["status"] == "archived"
    assert "articles" not in json.dumps(left)
    say(call, "Peter Novak is back from Riga.", ["Peter Novak"], "2026-06-01")
    say(call, "Peter Novak edits now.", ["Peter Novak"], "2026-06-02")
    again = night(call)["Peter Novak"]
    assert (again["id"], again["meta"].get("status", "active")) == (profile, "active")
    assert "Riga" in again["body"]


def test_a_profile_does_not_stand_for_the_conversation_it_quotes(root: Path) -> None:
    settings = Settings({"embed.model": "hash", "disk.reserve": 0, "edits.quiet": 0.0})
    with App.open(root, settings) as app:
        said = [
            app.call("capture", {"text": f"User: Ilse Brandt {what}.", "kind": "session"})["id"]
            for what in ("called about the boat", "sold the tent")
        ]
        app.call("dream", {"loops": ["entities"], "judge": "offline"})
        (profile,) = app.call("list", {"type": "entity"})["results"]
        sources = app.call("show", {"id": profile["id"]})["meta"]["derived_from"]
        assert sorted(sources) == sorted(said)
        assert app.house.index.made_of(said) == {}


def test_a_conversation_says_nothing_that_a_fact_of_it_no_longer_says() -> None:
    talk = capture("a", "Our base is barncoose instead of camborne. Camborne has a nice harbour.")
    again = capture("b", "i like camborne")
    fact = note(
        "f",
        "Our base is barncoose instead of camborne.",
        derived_from=(talk.id,),
        trust="said",
        status="superseded",
    )
    named = {
        "a": [("Camborne", "place", 1.0)],
        "b": [("camborne", "place", 1.0)],
    }
    (place,) = made(talk, again, fact, named=named).values()
    assert "instead of" not in place["body"]
    assert "harbour" in place["body"]
    (place,) = made(talk, again, replace(fact, doubted=True), named=named).values()
    assert "instead of" not in place["body"]


def test_a_title_alone_names_nobody() -> None:
    talk = capture("a", "my supervisor isnt dr lanyon anymore. its dr metha now")
    again = capture("b", "dr metha called")
    found = made(
        talk,
        again,
        named={"a": [person("dr lanyon", 1.0), person("dr metha", 1.0)], "b": [person("dr metha")]},
    )
    assert "lanyon" not in found["dr metha"]["body"]


def test_a_form_of_a_title_is_no_part_of_the_name() -> None:
    notes = (capture("a", "physio bei herrn bielig"), capture("b", "herrn bielig abgesagt"))
    (name,) = made(*notes, named={one: [person("herrn bielig")] for one in "ab"})
    assert name == "herr bielig"


def test_days_and_common_words_make_nobody() -> None:
    notes = (
        capture("a", "montag was the familienabend, furosemide 40mg"),
        capture("b", "montag ist familienabend, furosemide 60"),
    )
    tags = [
        ("montag", "place", 0.98),
        ("familienabend", "person", 0.83),
        ("furosemide", "organization", 0.93),
    ]
    assert made(*notes, named={"a": tags, "b": tags}) == {}


def test_somebody_with_an_article_is_somebody() -> None:
    notes = (
        capture("a", "14 windows for a mrs quill-ryan"),
        capture("b", "mrs quill-ryan has roofers up"),
    )
    named = {one: [person("mrs quill-ryan", 0.99)] for one in "ab"}
    assert set(made(*notes, named=named)) == {"mrs quill-ryan"}


def test_a_title_makes_somebody_though_it_is_not_sure() -> None:
    notes = [capture("a", "the mould, says a mr dorner"), capture("b", "a mr dorner paid at last")]
    assert set(made(*notes, named={one: [person("mr dorner", 0.7)] for one in "ab"})) == {
        "mr dorner"
    }
    drink = {one: [("dr pepper", "organization", 0.7)] for one in "ab"}
    notes = [capture(one, f"bought a dr pepper {one}") for one in "ab"]
    assert made(*notes, named=drink) == {}


def test_a_possessive_without_its_apostrophe_is_no_other_name() -> None:
    text = "{} talked me into a run"
    named = {one: [person("bukolas", 0.99), person("james", 0.99)] for one in "ab"}
    notes = [capture(one, text.format("bukolas and james")) for one in "ab"]
    assert set(made(*notes, named=named)) == {"bukolas", "james"}
    chat = capture("c", "what does she mean\n\nAssistant: Bukola will be late.")
    assert set(made(*notes, chat, named=named)) == {"bukola", "james"}
    run = capture("d", "running with bukola again")
    found = made(*notes, run, named=named | {"d": [person("bukola", 0.99)]})
    assert set(found) == {"bukola", "james"}
    assert found["bukola"]["body"].count("[[") == 2, "of three notes two say the same"


def test_a_name_that_ends_like_a_possessive_is_a_name() -> None:
    two = [person("andreas", 0.99), person("andrea", 0.99)]
    notes = [capture(one, f"andreas and andrea came on day {one}") for one in "ab"]
    assert set(made(*notes, named=dict.fromkeys("ab", two))) == {"andreas", "andrea"}
    banks = {"a": [person("mr banks", 0.99)], "b": [person("banks", 0.99)]}
    notes = [capture("a", "mr banks rang"), capture("b", "banks is here"), capture("c", "the bank")]
    (one,) = made(*notes, named=banks).values()
    assert one["title"] == "mr banks"


def test_a_possessive_with_a_title_is_of_the_same() -> None:
    halim = {"a": [person("halim", 0.99)], "b": [person("dr halims", 0.99)]}
    notes = [capture("a", "halim rang"), capture("b", "dr halims receptionist rang")]
    (one,) = made(*notes, named=halim).values()
    assert one["body"].count("[[") == 2


def test_a_thing_with_a_capital_is_no_common_word() -> None:
    notes = (
        capture("a", "the thesis is in LaTeX, the drive is Kelp"),
        capture("b", "LaTeX failed, and Kelp is full"),
        capture("c", "i have a latex allergy"),
        capture("d", "why did the seagrass leave the kelp"),
    )
    tags = [("LaTeX", "system", 0.9), ("Kelp", "system", 0.8)]
    found = made(*notes, named={"a": tags, "b": tags})
    assert {name: one["body"].count("[[") for name, one in found.items()} == {"LaTeX": 2, "Kelp": 2}
    assert "allergy" not in found["LaTeX"]["body"]
    said = capture("e", "Kelp is slow. my latex template is done")
    found = made(*notes, said, named={"a": tags, "b": tags, "e": [("latex", "system", 0.9)]})
    assert "my latex template" in found["LaTeX"]["body"], "there it was taken for the name"


def test_whoever_writes_no_capitals_speaks_of_the_same() -> None:
    notes = (capture("a", "Joss is here"), capture("b", "tell joss to call"))
    (joss,) = made(*notes, named={"a": [person("Joss")]}).values()
    assert joss["body"].count("[[") == 2
    fact = note("f", "Der Flyer ist fertig.", about=("Flyer",), derived_from=(12 * "a",))
    talks = (capture("a", "der flyer ist fertig"), capture("b", "der flyer geht raus"))
    assert "geht raus" in made(*talks, fact)["Flyer"]["body"], "only a model wrote the capital"


def test_a_german_genitive_is_of_the_same() -> None:
    notes = [
        capture("a", "Lotte hat Fieber"),
        capture("b", "Lotte isst Fisch"),
        capture("c", "Lottes Turnier ist verschoben"),
        capture("d", "Morgen ist Lottes Turnier"),
    ]
    tags = {one: [person("Lotte")] for one in "ab"} | {one: [person("Lottes")] for one in "cd"}
    (lotte,) = made(*notes, named=tags).values()
    assert (lotte["title"], lotte["body"].count("[[")) == ("Lotte", 4)
    both = {one: [person("Andrea")] for one in "ab"} | {one: [person("Andreas")] for one in "cd"}
    texts = ("Andrea hat Fieber", "Andrea kommt", "Andreas kommt", "Andreas Turnier ist morgen")
    notes = [capture(ident, text) for ident, text in zip("abcd", texts, strict=True)]
    assert set(made(*notes, named=both)) == {"Andrea", "Andreas"}


def test_a_title_with_a_point_is_the_same() -> None:
    notes = [capture("a", "Dr. Hempel rang"), capture("b", "dr hempel said no")]
    tags = {"a": [person("Dr. Hempel")], "b": [person("dr hempel")]}
    (hempel,) = made(*notes, named=tags).values()
    assert hempel["title"] == "Dr. Hempel"
    two = [
        note(letter, "", type="entity", title=name, source="dream", created=f"2026-05-0{day}")
        for day, (letter, name) in enumerate((("e", "dr hempel"), ("f", "Dr. Hempel")), 1)
    ]
    first, second = decided(*notes, *two, named=tags)
    assert isinstance(first.edits[0], Set)
    assert (first.title, first.edits[0].changes["aliases"]) == ("Dr. Hempel", ["dr hempel"])
    assert isinstance(second.edits[0], Set)
    assert (second.title, second.edits[0].changes["status"]) == ("dr hempel", "archived")


@pytest.mark.parametrize(
    ("text", "tag", "kind"),
    [
        ("Carrack is full", person("Carrack", sure=0.6), None),
        ("Joss is here", person("Joss", sure=0.9), "person"),
        ("Dr Joss is here", person("Dr Joss", sure=0.6), "person"),
        ("We sampled in Looe", person("Looe"), None),
        ("it uses Renv", person("Renv"), None),
        ("our dog Limpet barks", person("Limpet"), None),
        ("Aoife is new\n\n- [[Aoife]] works_on [[Fal cores]]", person("Aoife", sure=0.6), "person"),
        ("Limpet barks\n\n- [[Limpet]] pet_of [[the person]]", person("Limpet"), None),
        ("Renv works\n\n- [[zoscore]] uses [[Renv]]", person("Renv"), "system"),
        ("Helen hates viridis", person("viridis"), None),
        ("Joss is in Looe\n\n- [[Joss]] located_at [[Looe]]", person("Looe"), "place"),
    ],
)
def test_a_person_is_one_who_surely_is(text: str, tag: Named, kind: str | None) -> None:
    notes = [note(one, text, trust="said") for one in "ab"]
    tags = [tag, person("Helen")] if "Helen" in text else [tag]
    assert made(*notes, named={"a": tags, "b": tags})[tag.name].get("kind") == kind


def test_a_profile_learns_what_it_is_of() -> None:
    notes = [capture(one, f"Carrack is full {one}") for one in "ab"]
    named = {one: [person("Carrack", sure=0.6)] for one in "ab"}
    old = note("e", "", type="entity", title="Carrack", kind="person", source="dream")
    (decision,) = decided(*notes, old, named=named)
    assert isinstance(decision.edits[0], Set)
    assert decision.edits[0].changes["kind"] is None


@pytest.mark.parametrize(
    "text",
    [
        "hi, i'm Freya Tregear, third-year",
        "The user is Freya Tregear, a third-year",
        "Die Nutzerin heißt Freya Tregear.",
        "my name is Freya Tregear",
    ],
)
def test_whoever_says_their_name_is_the_person(text: str) -> None:
    tags = {"a": [person("Freya Tregear"), person("Carol")], "b": [person("Carol")]}
    told = note("b", "Die Mutter der Nutzerin ist Carol.", trust="said")
    found = made(note("a", text, trust="said"), told, named=tags)
    assert found["Freya Tregear"]["aliases"] == ["the person"]
    old = note("e", "", type="entity", title="Carol", aliases=("the person",), source="dream")
    (_, kept) = decided(note("a", text, trust="said"), told, old, named=tags)
    assert isinstance(kept.edits[0], Set)
    assert kept.edits[0].changes["aliases"] is None, "who is not the person stands for nobody else"
    other = note("c", "i am Carol", trust="said")
    found = made(note("a", text, trust="said"), told, other, named=tags | {"c": [person("Carol")]})
    assert not any("aliases" in one for one in found.values()), "of two nobody knows which"


def test_a_sister_is_found_by_the_name_of_whoever_said_so(call: Call) -> None:
    say(call, "I'm Freya Tregear.", ["Freya Tregear"], "2026-05-01", actor="user")
    sister = "Bryony is my sister.\n\n- [[Bryony]] sibling_of [[the person]]"
    ident = say(call, sister, ["Bryony"], "2026-05-02", actor="user")
    assert night(call)["Freya Tregear"]["meta"]["aliases"] == ("the person",)
    graph = call("graph", name="Freya Tregear", relation="sibling_of")
    assert "Bryony" in {node["name"] for node in graph["nodes"]}
    assert call("recall", query="who is my sister")["results"][0]["id"] == ident
