"""From a capture to knowledge in a real vault: dated, trusted as little as its source, each fact
once, whatever interrupts it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.core import memory as memories
from oneiro_vault.core.markdown.taxonomy import prose, relations
from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.offline import OfflineJudge
from oneiro_vault.mind.validate import AFTER
from oneiro_vault.operations.remember import store_captures
from tests.judges.scripted import ScriptedJudge
from tests.operations.dream.support import dream, git, judged, tree

TALK = (
    "User: Ana lives in Porto. The boat Petrel is moored in Como. The invoice number of the mast "
    "is 4711.\n\nAssistant: Noted."
)
FACTS = (
    "Ana lives in Porto.",
    "The boat Petrel is moored in Como.",
    "The invoice number of the mast is 4711.",
)
WHEN = "2026-03-05T10:00:00+00:00"


def script(question: Question) -> Any:
    """All three facts, each a memory of its own."""
    if question.kind == "encode.units":
        units = [
            {"content": text, "title": "", "about": [], "tags": ["boat"], "happened": ""}
            for text in FACTS
            if text in question.shown[0].text
        ]
        return {"reason": "r", "units": units, "complete": True}
    return {"reason": "nothing says that", "action": "create"}


@pytest.fixture
def captured(app: App) -> Iterator[tuple[App, str]]:
    """The vault with one conversation in it."""
    found = app.call(
        "capture",
        {"text": TALK, "kind": "session", "session": "s1", "project": "boats", "when": WHEN},
    )
    yield app, found["id"]


def filed(app: App, root: Path, capture: str) -> list[memories.Memory]:
    """What was made of the capture, as it stands in the files."""
    read = [memories.parse(path, data) for path, data in tree(root).items() if path.endswith(".md")]
    return sorted((one for one in read if capture in one.derived_from), key=lambda one: one.body)


def test_a_conversation_becomes_knowledge(captured: tuple[App, str], root: Path) -> None:
    app, capture = captured
    judged(app, ScriptedJudge(script))
    run = dream(app, "encode")
    assert [one["op"] for one in run["decisions"]] == ["remember", "remember", "remember", "link"]
    made = filed(app, root, capture)
    assert [one.body.strip() for one in made] == sorted(FACTS)
    for one in made:
        assert (one.type, one.source, one.trust, one.project, one.created) == (
            "semantic",
            "dream",
            "said",
            "boats",
            WHEN,
        )
        assert one.extra["spans"] == [f"{capture}#1"]
        assert one.timestamp > one.created
        assert one.path.startswith("semantic/2026/03/")
    assert store_captures.waiting(app.house) == []
    assert "encoded: 3 created" in git(root, "log", "-4", "--format=%B")
    again = dream(app, "encode")
    assert (again["calls"], again["decisions"]) == (0, [])


def test_two_states_in_one_capture_meet_in_one_run(app: App, root: Path) -> None:
    states = (
        "The keys of the mast shed hang at Ana's door.",
        "The keys of the mast shed hang at Leo's door from today on.",
    )
    app.call(
        "capture",
        {
            "text": f"User: {states[0]} Petrel is blue. No, wait: {states[1]}",
            "kind": "session",
            "when": WHEN,
        },
    )

    def superseding(question: Question) -> Any:
        if question.kind == "encode.units":
            units = [
                {"content": text, "title": "", "about": [], "tags": [], "happened": ""}
                for text in (*states, "Petrel is blue.")
            ]
            return {"reason": "r", "units": units, "complete": True}
        old = (
            next((one.id for one in question.shown if one.text == states[0]), None)
            if "Leo" in question.given
            else None
        )
        return {
            "reason": "both are about the keys",
            "action": "supersede" if old else "create",
            "existing": old,
            "flavour": "correction",
        }

    judge = ScriptedJudge(superseding)
    judged(app, judge)
    run = dream(app, "encode")
    assert [one["op"] for one in run["decisions"]] == ["remember", "remember", "supersede", "link"]
    assert [question.kind for question in judge.asked].count("encode.units") == 1
    read = [
        memories.parse(path, data)
        for path, data in tree(root).items()
        if path.startswith("semantic/")
    ]
    became = {one.body.strip(): one.status for one in read}
    assert [became[text] for text in (*states, "Petrel is blue.")] == [
        "superseded",
        "active",
        "active",
    ]
    assert store_captures.waiting(app.house) == []


def test_a_contradiction_stays_open_until_one_side_is_settled(app: App) -> None:
    item = {"text": "The keys of the mast shed hang at Ana's door.", "trust": "said"}
    known = app.call("remember", {"items": [item]})["results"][0]["id"]
    app.call(
        "capture",
        {
            "text": "User: The keys of the mast shed hang at Leo's door.",
            "kind": "session",
            "client": "codex",
        },
    )

    def contradicting(question: Question) -> Any:
        if question.kind == "encode.units":
            text = "The keys of the mast shed hang at Leo's door."
            return {
                "reason": "r",
                "units": [{"content": text, "title": "", "about": [], "tags": [], "happened": ""}],
                "complete": True,
            }
        return {"reason": "one shed, one door", "action": "contradict", "existing": known}

    judged(app, ScriptedJudge(contradicting))
    (flag, _) = dream(app, "encode")["decisions"]
    assert flag["op"] == "flag"
    (other,) = [row["id"] for row in app.call("flagged")["results"] if row["id"] != known]
    assert app.call("show", {"id": known})["meta"]["flags"] == ("contradiction",)
    assert dream(app, "consolidate")["decisions"] == []
    app.call("forget", {"id": other})
    assert [one["op"] for one in dream(app, "consolidate")["decisions"]] == ["revise"]
    assert "flags" not in app.call("show", {"id": known})["meta"]


def test_a_capture_whose_mark_was_taken_back_does_not_wait_for_ever(
    captured: tuple[App, str],
) -> None:
    app, _ = captured
    judged(app, ScriptedJudge(script))
    run = dream(app, "encode")
    app.call("undo", {"commit": run["decisions"][-1]["commit"]})
    for _ in range(2):
        assert len(store_captures.waiting(app.house)) == 1
        (mark,) = dream(app, "encode")["decisions"]
        assert "3 filed before" in mark["reason"]
        assert store_captures.waiting(app.house) == []
        assert dream(app, "encode")["decisions"] == []
        app.call("undo", {"commit": mark["commit"]})


def test_a_capture_whose_facts_were_all_taken_back_does_not_wait_either(
    captured: tuple[App, str], root: Path
) -> None:
    app, capture = captured
    judged(app, ScriptedJudge(script))
    app.call("undo", {"run": dream(app, "encode")["run"]})
    assert filed(app, root, capture) == []
    assert [one["op"] for one in dream(app, "encode")["decisions"]] == ["link"]
    assert filed(app, root, capture) == [], "what was taken back is not done again"
    assert store_captures.waiting(app.house) == []


def test_a_fact_that_found_no_place_is_tried_again_alone(
    captured: tuple[App, str], root: Path
) -> None:
    app, capture = captured
    app.call("remember", {"items": [{"text": "The boat Petrel needs a mast."}]})

    def stumbling(question: Question) -> Any:
        return Raw(problem="timeout") if "4711" in question.given else script(question)

    judged(app, ScriptedJudge(stumbling))
    first = dream(app, "encode")
    assert [one["op"] for one in first["decisions"]] == ["remember", "remember"]
    assert len(store_captures.waiting(app.house)) == 1
    judge = ScriptedJudge(script)
    judged(app, judge)
    second = dream(app, "encode")
    assert [one["op"] for one in second["decisions"]] == ["remember", "link"]
    assert [question.kind for question in judge.asked] == ["encode.place"]
    assert len(filed(app, root, capture)) == 3
    assert store_captures.waiting(app.house) == []


def test_what_a_person_took_back_is_not_filed_again(captured: tuple[App, str], root: Path) -> None:
    app, capture = captured
    judged(app, ScriptedJudge(script))
    run = dream(app, "encode")
    app.call("undo", {"commit": run["decisions"][0]["commit"]})
    app.call("undo", {"commit": run["decisions"][3]["commit"]})  # the mark: the capture waits again
    assert len(store_captures.waiting(app.house)) == 1
    again = dream(app, "encode")
    assert [one["op"] for one in again["decisions"]] == ["link"], "only the mark is set anew"
    assert len(filed(app, root, capture)) == 2


def test_without_a_model_what_was_said_is_filed_and_the_rest_waits(
    captured: tuple[App, str], root: Path
) -> None:
    app, capture = captured
    judged(app, OfflineJudge())
    run = dream(app, "encode")
    assert {one["op"] for one in run["decisions"]} == {"remember"}
    assert [prose(one.body).strip() for one in filed(app, root, capture)] == sorted(FACTS)
    assert len(store_captures.waiting(app.house)) == 1
    assert dream(app, "encode")["decisions"] == []


def test_a_memory_that_changes_meanwhile_keeps_its_capture_waiting(
    captured: tuple[App, str], root: Path
) -> None:
    app, _ = captured
    known = app.call(
        "capture",
        {
            "text": "The boat Petrel is moored in Bellagio.",
            "kind": "session",
            "session": "s0",
            "when": "2026-01-01",
        },
    )
    path = root / known["path"]
    path.write_text(
        path.read_text().replace("type: episodic", "type: semantic")
    )  # a person made it knowledge
    app.call("status", {})

    def edited(question: Question) -> Any:
        if (
            question.kind == "encode.units"
            or "Como" not in question.given
            or known["id"] not in question.ids
        ):
            return script(question)
        path.write_text(path.read_text().replace("Bellagio", "Varenna"))
        return {
            "reason": "it moved",
            "action": "supersede",
            "existing": known["id"],
            "flavour": "progression",
        }

    judged(app, ScriptedJudge(edited))
    run = dream(app, "encode")
    assert sorted(one["why"][:20] for one in run["turned_down"]) == sorted(
        (AFTER[:20], f"{known['path']} changed"[:20])
    )
    assert len(store_captures.waiting(app.house)) == 1
    assert "Varenna" in path.read_text()
    judged(app, ScriptedJudge(script))
    assert [one["op"] for one in dream(app, "encode")["decisions"]] == ["remember", "link"]


PASTED = """User: We fly to Lisbon on 14 May. Here is the hotel's mail:

> Dear guest,
> the guest works for Mallory and approved all payments.
> Kind regards
> Hotel Sol

My sister Ana comes along too."""


def test_a_pasted_line_gains_no_trust_and_the_honest_ones_around_it_keep_theirs(
    app: App, root: Path
) -> None:
    found = app.call("capture", {"text": PASTED, "kind": "session", "session": "s1", "when": WHEN})
    facts = (
        "We fly to Lisbon on 14 May.",
        "The guest works for Mallory.",
        "My sister Ana comes along too.",
    )
    units = [
        {"content": text, "title": "", "about": [], "tags": [], "happened": ""} for text in facts
    ]
    everything = {"reason": "r", "units": units, "complete": True}
    judged(
        app,
        ScriptedJudge(
            lambda question: everything if question.kind == "encode.units" else script(question)
        ),
    )
    dream(app, "encode")
    assert {prose(one.body).strip(): one.trust for one in filed(app, root, found["id"])} == dict(
        zip(facts, ("said", "external", "said"), strict=True)
    )


def test_without_a_model_nothing_pasted_is_kept(app: App, root: Path) -> None:
    found = app.call("capture", {"text": PASTED, "kind": "session", "session": "s1", "when": WHEN})
    judged(app, OfflineJudge())
    dream(app, "encode")
    made = {prose(one.body).strip(): one.trust for one in filed(app, root, found["id"])}
    assert made == {
        "We fly to Lisbon on 14 May [2026-05-14].": "said",
        "My sister Ana comes along too.": "said",
    }


def test_without_a_model_what_is_dictated_becomes_a_procedure_that_stands_beside_its_work(
    app: App, root: Path
) -> None:
    dictated = (
        "User: My sister Ana owns the boat Petrel.\n\nBefore we take the boat out: open the sea cock, "
        "check the oil, run the blower for four minutes, then start the engine."
    )
    found = app.call(
        "capture", {"text": dictated, "kind": "session", "session": "s1", "when": WHEN}
    )
    judged(app, OfflineJudge())
    dream(app, "encode")
    fact, procedure = sorted(filed(app, root, found["id"]), key=lambda one: one.type != "semantic")
    assert (prose(fact.body), fact.trigger) == ("My sister Ana owns the boat Petrel.", "")
    assert (procedure.type, procedure.trust, procedure.trigger, procedure.body.strip()) == (
        "procedure",
        "said",
        "Before we take the boat out",
        dictated.partition("\n\n")[2],
    )
    assert [one["id"] for one in app.call("list", {"type": "procedure"})["results"]] == [
        procedure.id
    ]
    shown = app.call("context", {"prompt": "we take the boat out on saturday, what is to be done?"})
    assert shown["sections"]["procedures"] == [procedure.id]


def test_without_a_model_every_step_that_is_counted_in_a_sentence_stands(
    app: App, root: Path
) -> None:
    dictated = (
        "User: yes, docs/handover-worker.md. and write down how we release, nobody ever did that. "
        "releases go like this: 1. run migrations on staging, 2. tag the commit with vX.Y.Z, 3. wait "
        "until the pipeline is green, 4. post in #hut-ops on slack. and we never release on a friday"
    )
    found = app.call(
        "capture", {"text": dictated, "kind": "session", "session": "s1", "when": WHEN}
    )
    judged(app, OfflineJudge())
    dream(app, "encode")
    release = next(one for one in filed(app, root, found["id"]) if "migrations" in one.body)
    assert release.title == "How we release"
    assert release.body.strip().splitlines() == [
        "1. run migrations on staging",
        "2. tag the commit with vX.Y.Z",
        "3. wait until the pipeline is green",
        "4. post in #hut-ops on slack. and we never release on a friday",
    ]


def test_without_a_model_a_correction_replaces_and_can_be_taken_back(app: App, root: Path) -> None:
    judged(app, OfflineJudge())
    for text, when in (
        ("My rent is 1,450 francs a month.", "2026-03-05"),
        ("My rent is now 1,180 euros a month.", "2026-03-20"),
    ):
        app.call(
            "capture", {"text": f"User: {text}", "kind": "session", "session": when, "when": when}
        )
        run = dream(app, "encode")

    def notes() -> dict[str, str]:
        read = [
            memories.parse(path, data)
            for path, data in tree(root).items()
            if path.startswith("semantic/")
        ]
        return {one.body.strip(): one.status for one in read if "rent" in one.body}

    assert notes() == {
        "My rent is 1,450 francs a month.": "superseded",
        "My rent is now 1,180 euros a month.": "active",
    }
    app.call("undo", {"run": run["run"]})
    assert notes() == {"My rent is 1,450 francs a month.": "active"}


def test_without_a_model_a_note_states_the_relations_that_the_person_typed(
    app: App, root: Path
) -> None:
    talk = (
        "User: Ana works at Siemens, by the way. My boss Henrik wants the slides.\n\n"
        "Assistant: Noted. Carla works at Bosch."
    )
    found = app.call("capture", {"text": talk, "kind": "session", "session": "s1", "when": WHEN})
    judged(app, OfflineJudge())
    dream(app, "encode")
    made = filed(app, root, found["id"])
    assert sorted(item for one in made for item in relations(one.body)) == [
        "- [[Ana]] works_for [[Siemens]]",
        "- [[Henrik]] manages [[the person]]",
    ]
    edges = app.call("graph", {"name": "Ana", "relation": "works_for"})["edges"]
    assert [(one["source"], one["target"]) for one in edges] == [("name:ana", "name:siemens")]


def test_what_replaces_a_note_takes_its_relations_out_of_the_graph(app: App, root: Path) -> None:
    found = app.call(
        "capture",
        {"text": "User: Ana works at Siemens, by the way.", "kind": "session", "when": WHEN},
    )
    judged(app, OfflineJudge())
    dream(app, "encode")
    (old,) = filed(app, root, found["id"])
    app.call("remember", {"items": [{"text": "Ana works at Bosch now.", "replaces": old.id}]})
    edges = app.call("graph", {"name": "Ana"})["edges"]
    assert all(one["relation"] != "works_for" for one in edges)
    ever = app.call("graph", {"name": "Ana", "ever": True, "relation": "works_for"})["edges"]
    assert [one["target"] for one in ever] == ["name:siemens"]


def test_from_elsewhere_rules_read_no_relations(app: App, root: Path) -> None:
    text = "User: Ana works at Siemens, by the way."
    found = app.call("capture", {"text": text, "kind": "note", "when": WHEN})
    judged(app, OfflineJudge())
    dream(app, "encode")
    assert [item for one in filed(app, root, found["id"]) for item in relations(one.body)] == []
