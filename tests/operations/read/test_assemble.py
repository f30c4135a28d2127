"""What stands beside a prompt: the right people, rules, procedures and events, within a budget."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import quicktok

from oneiro_vault.app import App
from oneiro_vault.core.markdown.orientation import at_most
from oneiro_vault.errors import InvalidInput
from oneiro_vault.recall import sections
from oneiro_vault.recall.sections import Piece, fitted
from oneiro_vault.settings.definitions import Settings
from tests.copies import new_vault
from tests.operations.conftest import QUICK, Call, stored

PROMPT = "Check if Peter's content is passing as human"
OCTYBOT: list[dict[str, Any]] = [
    {
        "type": "entity", "kind": "person", "title": "Peter Novak", "created": "2026-01-05",
        "text": "Writes articles for clients.\n\n- works_for [[WOBS]]\n- works_on [[Anderson order]]",
    },
    {"type": "entity", "kind": "organization", "title": "WOBS", "text": "Does link building."},
    {"type": "entity", "kind": "project", "title": "Anderson order", "text": "Twelve articles."},
    {
        "type": "procedure", "title": "AI detection", "created": "2026-02-01",
        "trigger": "checking whether content passes as human",
        "text": "Run the content through the detector; a score above .8 passes.",
    },
    {
        "type": "episodic", "title": "Eight articles handed in", "about": ["Peter Novak"],
        "text": "Peter submitted 8 articles for the Anderson order on Tuesday.",
        "created": "2026-11-17",
    },
    {
        "kind": "instruction", "title": "Detection before submitting", "created": "2026-03-01",
        "text": "Always check AI detection before submitting content to a client.",
    },
]  # fmt: skip
OTHERS = [
    "The office in Newark has a new coffee machine.",
    "Dana prefers Google Docs over Word.",
    "Invoices are sent on the first of the month.",
    "The CRM was migrated in March.",
    "Squarespace was too slow, so the site runs on WordPress.",
    "The dentist appointment is on Friday at nine.",
    "Anna is allergic to walnuts.",
    "The rent goes up by three percent in July.",
]


@pytest.fixture
def lived(tmp_path: Path) -> Iterator[App]:
    """A vault with the packaged model."""
    new_vault(tmp_path / "vault")
    settings = Settings({"disk.reserve": 0, "edits.quiet": 0.0})
    with App.open(tmp_path / "vault", settings) as app:
        yield app


@pytest.fixture
def model_call(lived: App) -> Call:
    return lambda op, **params: lived.call(op, params)


@pytest.mark.model
def test_octybots_worked_example(lived: App, model_call: Call) -> None:
    ids = [
        row["id"]
        for row in model_call("remember", items=[*OCTYBOT, *({"text": one} for one in OTHERS)])[
            "results"
        ]
    ]
    peter, wobs, order, checking, handed_in, rule = ids[:6]
    lived.house.index.embed()
    found = model_call("context", prompt=PROMPT, tokens=800, trace=True)
    assert found["sections"]["people"][0] == peter
    assert set(found["sections"]["people"]) == {peter, wobs, order}
    assert found["sections"]["procedures"] == [checking]
    assert handed_in in found["sections"]["episodes"]
    assert rule in found["sections"]["instructions"]
    assert "works_for [[WOBS]]" in found["text"]
    assert not set(ids[6:]) & {one for some in found["sections"].values() for one in some}
    assert found["tokens"] <= 800
    tools = [step["tool"] for step in found["trace"]]
    assert tools == [
        "search_entity", "get_relationships", "get_instructions", "search_processes",
        "search_facts", "search_facts", "search_events",
    ]  # fmt: skip
    shown = {one for some in found["sections"].values() for one in some}
    assert {one for step in found["trace"] for one in step["found"]} <= shown
    hook = model_call("inject", prompt=PROMPT, tokens=800)
    assert {peter, checking} <= set(hook["ids"])


@pytest.mark.model
def test_a_rule_comes_when_the_work_touches_it_whatever_its_age(model_call: Call) -> None:
    rule = stored(
        model_call, "We never use postgres enums.", kind="instruction", created="2021-01-01"
    )
    for text in OTHERS:
        stored(model_call, text)
    found = model_call("context", prompt="add a column status: open, paid, cancelled")
    assert found["sections"]["instructions"] == [rule]
    assert model_call("context", prompt="what is on the menu tonight?")["sections"] == {}


def test_two_of_one_name_are_named_and_one_is_taken_where_the_prompt_tells(call: Call) -> None:
    call("remember", items=OCTYBOT[:3])
    other = stored(call, "Paints houses.", type="entity", kind="person", title="Peter Okafor")
    found = call("context", prompt="Is Peter in today?")
    assert {one["id"] for one in found["ambiguous"]["Peter"]} > {other}
    assert "which one is meant is not known" in found["text"]
    told = call("context", prompt="Is Peter done with the Anderson order?")
    assert told["ambiguous"] == {}
    assert other not in told["sections"]["people"]


@pytest.mark.slow
def test_a_budget_is_never_exceeded_and_nothing_is_cut(call: Call) -> None:
    call("remember", items=OCTYBOT)
    for number in range(12):
        stored(call, f"Peter checked content number {number}. It was passing as human.")
    everything = call("context", prompt=PROMPT, tokens=100_000)
    shown = {one for some in everything["sections"].values() for one in some}
    assert len(shown) > 6
    count = quicktok.get_encoding("o200k_base")
    for tokens in range(0, everything["tokens"] + 40, 23):
        found = call("context", prompt=PROMPT, tokens=tokens)
        assert len(count.encode(found["text"])) <= found["tokens"] <= tokens
        assert found["text"].count("<memory") == found["text"].count("</memory>")


@pytest.mark.parametrize("seed", range(8))
def test_more_tokens_are_counted_than_a_tokenizer_makes(seed: int) -> None:
    rng = random.Random(seed)
    alphabets = (
        "abcdefghijklmnopqrstuvwxyz   ", "Kühne größe straße éà ", "的是不了人我在有他这 ", "0123456789.,:/-",
        "{}[]()<>|&;$#@!*\\\"'`~^ \n\t", "🚢🎉👩‍👩‍👧‍👦 ", "приветмир ", "مرحبا بالعالم ",
    )  # fmt: skip
    count = quicktok.get_encoding("o200k_base")
    for _ in range(60):
        text = "".join(rng.choice(rng.choice(alphabets)) for _ in range(rng.randrange(400)))
        assert len(count.encode(text)) <= at_most(text)


def test_sections_compete_for_one_budget() -> None:
    rng = random.Random(4)
    for _ in range(300):
        pieces = [
            Piece(
                rng.choice([*sections.SHARES]), f"m{rng.randrange(20)}", "x", rng.random(),
                rng.randrange(1, 60),
            )
            for _ in range(rng.randrange(40))
        ]  # fmt: skip
        tokens = rng.randrange(300)
        kept = fitted(pieces, tokens, sections.SHARES)
        assert sum(one.cost for one in kept) <= tokens
        assert len({one.id for one in kept}) == len(kept), "a memory stands in one section"
        order = [*sections.SHARES]
        assert [order.index(one.section) for one in kept] == sorted(
            order.index(one.section) for one in kept
        )
        left = tokens - sum(one.cost for one in kept)
        out = {one.id for one in pieces} - {one.id for one in kept}
        first = {one.id: one for one in sorted(pieces, key=lambda one: -one.score)}
        assert all(len([p for p in pieces if p.id == ident]) > 1 or first[ident].cost > left
                   for ident in out)  # fmt: skip


def test_shares_are_a_setting(root: Path) -> None:
    with App.open(root, QUICK.but(context_shares="people=0")) as app:
        app.call("remember", {"items": OCTYBOT})
        found = app.call("context", {"prompt": PROMPT})
        assert "people" not in found["sections"]
    with pytest.raises(ValueError, match="dogs"):
        sections.shares("dogs=1")


def test_bad_requests(call: Call) -> None:
    with pytest.raises(InvalidInput):
        call("context", prompt="x", tokens=-1)
    assert call("context", prompt="")["text"] == ""


@pytest.mark.model
def test_what_a_person_always_wants_is_a_rule(tmp_path: Path) -> None:
    """Said in passing one day, it stands beside the work that it is about."""
    new_vault(tmp_path / "vault")
    said = (
        "User: the invoice page is slow again.\n\n"
        "User: from now on never deploy on fridays, support is empty then.\n\n"
        "User: the office moves to Graz in May.\n"
    )
    with App.open(tmp_path / "vault", Settings({"disk.reserve": 0, "edits.quiet": 0.0})) as app:
        app.call("capture", {"text": said, "kind": "session", "session": "s1"})
        app.call("dream", {"loops": ["encode"], "judge": "offline"})
        rows = app.call("list", {"type": "semantic"})["results"]
        kinds = {
            row["title"]: app.call("show", {"id": row["id"]})["meta"].get("kind", "")
            for row in rows
        }
        assert {kind for title, kind in kinds.items() if "deploy" in title} == {"instruction"}
        assert {kind for title, kind in kinds.items() if "Graz" in title} == {""}
        app.house.index.embed()
        found = app.call("context", {"prompt": "deploy the invoice fix, it is friday afternoon"})
        assert "never deploy on fridays" in found["text"]
        assert found["sections"]["instructions"]


@pytest.mark.model
def test_a_conversation_stands_there_with_how_it_ended_and_not_with_its_words(
    tmp_path: Path,
) -> None:
    new_vault(tmp_path / "vault")
    said = "User: the fare table is wrong on sundays\n\nAssistant: I corrected the sunday fares."
    with App.open(tmp_path / "vault", Settings({"disk.reserve": 0, "edits.quiet": 0.0})) as app:
        made = app.call("capture", {"text": said, "kind": "session", "session": "s1"})
        path = tmp_path / "vault" / made["path"]
        ended = "The Sunday fares of the table were corrected."
        path.write_text(path.read_text().replace("\n---\n", f"\noutcome: {ended}\n---\n", 1))
        app.house.indexing.reconcile()
        app.house.index.embed()
        found = app.call("context", {"prompt": "what about the fare table for sundays?"})
        assert found["sections"]["episodes"] == [made["id"]]
        assert ended in found["text"]
        assert "I corrected the sunday fares" not in found["text"]
