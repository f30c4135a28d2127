"""A report is read by a person, and nothing a note says can write a section of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from oneiro_vault.judges.budget import Spent
from oneiro_vault.mind.base import Decision, New, Set
from oneiro_vault.mind.report import (
    MOST,
    Done,
    Run,
    body_of,
    gathered,
    meta_of,
    name_of,
    plain,
    row,
    title_of,
)
from oneiro_vault.mind.validate import Turned
from tests.mind.support import archive, note, snapshot

A = note("a", "text")


def run(**facts: object) -> Run:
    return Run("abcd1234", "toy", "scripted", "2026-11-22T00:00:00+01:00", **facts)  # type: ignore[arg-type]  # keywords of one test, of many types


def test_it_lies_where_its_date_says() -> None:
    assert name_of(run()) == "dreams/2026/11/2026-11-22-toy-abcd1234.md"
    assert meta_of(run())["status"] == "archived"


def test_the_title_counts() -> None:
    found = run(done=[Done(archive(A))] * 2, turned=[Turned(archive(A), "no")], waiting=["q"])
    assert title_of(found) == "toy: 2 revised, 1 turned down, 1 left open"
    assert (
        title_of(replace(found, judge="deferred"))
        == "toy: 2 revised, 1 turned down, 1 waiting for an answer"
    )
    assert title_of(run()) == "toy: nothing to change"
    assert (
        title_of(run(asked=Counter({"merge": 2}), failed=[("merge", "no")] * 2))
        == "toy: 2 of 2 questions failed"
    )
    assert (
        title_of(run(asked=Counter({"merge": 1}), failed=[("merge", "no"), ("judge", "OSError")]))
        == "toy: a fault, 1 of 1 question failed"
    )
    assert (
        title_of(run(done=[Done(archive(A))], branch="dream/2026-11-22"))
        == "toy: 1 revised (proposed)"
    )


def test_a_capture_that_was_taken_apart_is_called_that() -> None:
    mark = Decision(
        "encode", "link", "a talk", "encoded: 2 created", (Set(A.id, {"encoded": "@now"}),), (A.id,)
    )
    source = Decision(
        "encode",
        "link",
        "a talk",
        "one more source",
        (Set(A.id, {"derived_from": ["x"]}),),
        (A.id,),
    )
    assert title_of(run(done=[Done(mark), Done(source)])) == "toy: 1 taken apart, 1 linked"


def test_it_tells_everything() -> None:
    made = Decision(
        "toy",
        "remember",
        "new one",
        "because",
        (New({"type": "semantic", "title": "T"}, "b"), Set(A.id, {}, "b")),
        (A.id,),
    )
    found = run(
        done=[Done(archive(A), "0123456789ab")],
        seen=[Decision("toy", "flag", "left", "as it is", (), (A.id,), transcript="one\n# two")],
        turned=[Turned(made, "the brake")], failed=[("merge", "it is not JSON")],
        asked=Counter({"merge": 3}), known=2,
        spent=Spent(tokens_in=1000, tokens_out=5, cost=0.5, estimated=1),
        unasked=[(f"q{n}", "not asked: the ceiling of calls is reached") for n in range(4)],
        told="## Faded\n\n- a", notes=["It was stopped"], waiting=["q"],
    )  # fmt: skip
    found.probes = {"probes": 4, "before": 3, "after": 3, "dropped": 1}
    text = body_of(found, snapshot(A))
    for words in (
        "## What changed", "(01234567)", "why: so", "archived, still readable",
        "## Looked at and left as it is", "> one", "> \\# two",
        "## Turned down", "remember new one: the brake", "## Faded", "## What failed",
        "it is not JSON", "4 probes; 3 found their memory before",
        "1 decision dropped", "3 questions asked (3 merge): 2 answered, 1 failed",
        "2 answered before", "1,000 tokens in", "0.5000 spent",
        "1 left open", "4 not asked: the ceiling of calls is reached",
        "(1 of the answers came without a count: estimated)",
        "It was stopped",
        "undo --run abcd1234",
    ):  # fmt: skip
        assert words in text, words
    data = row(found)
    assert data["calls"] == 3
    assert data["title"] == title_of(found)
    assert data["title"] == (
        "toy: 1 revised, 1 left as it is, 1 turned down, 1 of 3 questions failed, 4 not asked, 1 "
        "left open"
    )
    assert data["unasked"] == [{"problem": "the ceiling of calls is reached", "questions": 4}]


def test_long_lists_are_counted() -> None:
    text = body_of(run(turned=[Turned(archive(A), "no")] * (MOST + 5)), snapshot(A))
    assert "- and 5 more" in text
    assert text.count(": no") == MOST


def test_a_title_cannot_write_the_report() -> None:
    evil = note("e", "x", title="x\n## Recall\n\n- **all** [is](well) <b>")
    text = body_of(run(done=[Done(archive(evil))]), snapshot(evil))
    assert text.count("\n## Recall\n") == 1
    assert "[is](" not in text
    assert plain("a\x00b\u202ec") == "a b c"
    assert len(plain("x" * 999)) == 300


def test_what_is_quiet() -> None:
    assert run(known=5).quiet
    assert run(turned=[Turned(archive(A), "no")]).quiet  # an earlier report has told it
    assert not any(one.quiet for one in (*DECIDED, *IDLE))


DECIDED = (
    run(news=1),
    run(done=[Done(archive(A))]),
    run(failed=[("a", "b")]),
    run(notes=["It was stopped"]),
)
IDLE = (
    run(asked=Counter({"a": 1})),
    run(unasked=[("q", "the run was stopped")]),
    run(waiting=["q"]),
)


def test_a_report_is_of_what_was_decided() -> None:
    assert all(one.decided for one in DECIDED)
    assert not any(one.decided for one in (*IDLE, run()))


def test_a_quiet_night_is_said_of_the_night_not_of_one_loop() -> None:
    assert gathered([run(), run(known=3)], whole=True) == "a quiet night (toy, toy): nothing to do"
    assert gathered([run()], whole=False) == "toy: nothing to do"
    assert (
        gathered([run(waiting=["q"]), run()], whole=True) == "toy: 1 left open; toy: nothing to do"
    )


def test_it_names_who_judged() -> None:
    by = [replace(archive(A), judge=name) for name in ("offline", "deferred", "")]
    made = replace(run(done=[Done(one) for one in by[:1]]), judge="auto")
    assert "judged by rules." in body_of(made, snapshot(A))
    made = replace(run(done=[Done(one) for one in by]), judge="auto")
    assert "judged by rules and the connected model." in body_of(made, snapshot(A))
    assert "judged by rules." in body_of(replace(run(), judge="auto"), snapshot(A))
    assert "judged by scripted." in body_of(run(done=[Done(by[2])]), snapshot(A))
