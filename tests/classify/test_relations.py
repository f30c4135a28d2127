"""How a sentence relates two whom it names: what it states, and nothing of what it only asks,
supposes, denies, or says of the past."""

from __future__ import annotations

import pytest

from oneiro_vault.classify import names
from oneiro_vault.core.markdown.taxonomy import RELATIONS
from tests.classify.marked_names import marked


def said(text: str) -> set[tuple[str, str, str]]:
    ((_, found),) = names.related([text])
    return {(one.subject, one.relation, one.other) for one in found}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana works at Siemens.", {("Ana", "works_for", "Siemens")}),
        ("Priya is my manager.", {("Priya", "manages", "")}),
        (
            "my wife Priya works at Halden Clinic",
            {("Priya", "partner_of", ""), ("Priya", "works_for", "Halden Clinic")},
        ),
        (
            "Meine Schwester Ona arbeitet bei der Sparkasse Kassel.",
            {("Ona", "sibling_of", ""), ("Ona", "works_for", "Sparkasse Kassel")},
        ),
        ("My dog Biscuit hates the vet.", {("Biscuit", "pet_of", "")}),
        ("Lotte ist meine Tochter", {("Lotte", "child_of", "")}),
        ("my mother Carol called", {("Carol", "parent_of", "")}),
        ("my sister's husband Tom", {("", "related_to", "Tom")}),
        ("my aunt Carol called", {("", "related_to", "Carol")}),
    ],
)
def test_what_a_sentence_states_is_read(text: str, expected: set[tuple[str, str, str]]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Does Ana work at Siemens?",
        "If Ana works at Siemens she gets the discount.",
        "Ana doesn't work at Siemens.",
        "Ana used to work at Siemens.",
        "Ana left Siemens last year.",
        "Ana has left the job at Siemens.",
        "Ana moved from Siemens to Bosch.",
        "Ana would love to work at Siemens.",
        "I talked with Ben about Rome.",
        "Sara said the invoice from Telenor is late.",
        "",
        "???",
        "\x00 [[Ana]] works_for [[Siemens]]?",
    ],
)
def test_nothing_is_read_of_what_is_not_stated(text: str) -> None:
    assert said(text) == set()


@pytest.mark.slow
def test_what_surely_is_related_is_no_more_than_that_where_nothing_tells_how() -> None:
    from tests.classify import train_relations  # torch, which takes seconds to import

    (pair,) = [
        one
        for one in train_relations.learned_of(marked("[P:Lena] plays for [O:FC Kassel]."))
        if one.first
    ]
    how = {"none": 0.01, "works_for": 0.5, "member_of": 0.49}
    assert names.told(pair, how) == names.Tie("Lena", names.LOOSE, "FC Kassel", 0.99)
    back = {"none": 0.01, "~manages": 0.99}
    assert names.told(pair, back) == names.Tie("FC Kassel", "manages", "Lena", 0.99)
    assert names.told(pair, {"none": 0.4, "works_for": 0.3, "member_of": 0.3}) is None


def test_places_and_texts_are_told_apart() -> None:
    both = names.related(["Ana works at Siemens.", "", "Ana works at Bosch.\n\nKofi is here."])
    assert [[one.other for one in ties] for _, ties in both] == [["Siemens"], [], ["Bosch"]]
    text = "It rained.\n\nAna works at Bosch."
    ((found, _),) = names.related([text])
    assert [text[one.start : one.end] for one in found] == ["Ana", "Bosch"]


def test_the_answers_are_of_the_closed_list() -> None:
    answers = {str(one).removeprefix("~") for one in names.ties()["answers"]}
    assert answers - {names.NONE} <= RELATIONS.keys()
    assert {names.NONE, "works_for", "manages", "related_to", "works_on"} <= answers


def test_the_corpus_relates_what_it_marks() -> None:
    from tests.classify import train_relations  # torch, which takes seconds to import

    for line, given in train_relations.lines():
        known = {line.text[start:end] for start, end, _ in line.found} | {train_relations.ME}
        assert {end for one, _, two in given for end in (one, two)} <= known, line.text
