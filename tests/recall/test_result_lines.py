"""What rows show: the line that answers, found by words or by meaning, and which rows barely
fit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.classify import classifier
from oneiro_vault.index.base import Row
from oneiro_vault.index.embed.embedders import HashEmbedder
from oneiro_vault.index.store import Index
from oneiro_vault.recall import result_lines
from tests.index.conftest import Notes

FILLER = "".join(
    f"Paragraph {n} says nothing that anybody would ask about, in many words.\n\n"
    for n in range(40)
)


@pytest.fixture
def vault(tmp_path: Path) -> Notes:
    (tmp_path / "notes").mkdir()
    return Notes(tmp_path / "notes")


@pytest.fixture
def index(vault: Notes, tmp_path: Path) -> Iterator[Index]:
    found = Index.open(tmp_path / "index", vault.source, HashEmbedder(), vectors="ram")
    try:
        yield found
    finally:
        found.close()


NAN = float("nan")


def rows(index: Index, *paths: str) -> list[tuple[Row, float]]:
    found = []
    for number, path in enumerate(paths):
        row = index.by_path(path)
        assert row is not None
        found.append((row, 1.0 - number / 10))
    return found


def snippets(index: Index, query: str, *paths: str, meaning: bool = True) -> list[str]:
    index.refresh()
    index.open_vectors()
    index.embed()
    return [
        one.snippet
        for one in result_lines.show(
            index, query, index.query(query) if meaning else None, rows(index, *paths)
        )
    ]


def test_the_line_with_the_words_is_shown(vault: Notes, index: Index) -> None:
    vault.put(
        "a.md",
        "# House\n\nThe garden is large.\n\n- The **pump** is broken; [[Jan]] brings an "
        "impeller.\n",
    )
    vault.put("b.md", "No such thing here.", title="Other", description="What it says.")
    assert snippets(index, "broken pumps", "a.md", "b.md") == [
        "The pump is broken; Jan brings an impeller.",
        "What it says.",
    ]


def test_raw_text_stays_raw(vault: Notes, index: Index) -> None:
    vault.put("a.md", "The \u202ehose is in the shed.")
    assert snippets(index, "hose", "a.md") == ["The \u202ehose is in the shed."]


@pytest.mark.parametrize("length", [1, 20], ids=["long", "very long"])
def test_the_line_is_found_anywhere_in_a_long_note(vault: Notes, index: Index, length: int) -> None:
    vault.put("a.md", FILLER * length + "The impeller arrives in June, says Jan.\n\n" + FILLER)
    assert snippets(index, "when does the impeller come?", "a.md") == [
        "The impeller arrives in June, says Jan."
    ]
    assert snippets(index, "when does the impeller come?", "a.md", meaning=False) == [
        "The impeller arrives in June, says Jan."
    ]


def test_without_the_words_the_nearest_passage_speaks(vault: Notes, index: Index) -> None:
    """No word of this question is in the note; its vector is given, as a model that knows meanings
    would."""
    vault.put(
        "a.md",
        FILLER + "## Waterworks\n\nThe waterpumps were overhauled by Jan.\n\n## Rest\n\n" + FILLER,
    )
    vault.put("b.md", "A single chunk.", description="What it says.")
    index.refresh()
    index.open_vectors()
    index.embed()
    near = index.query("waterpumps overhauled Jan")
    shown = result_lines.show(index, "plumbing repairs", near, rows(index, "a.md", "b.md"))
    assert [one.snippet for one in shown] == [
        "The waterpumps were overhauled by Jan.",
        "What it says.",
    ]


def test_a_note_that_is_not_searched_shows_its_description(vault: Notes, index: Index) -> None:
    vault.put("a.md", "The words.", title="Proposed", status="pending", description="A proposal.")
    assert snippets(index, "words", "a.md") == ["A proposal."]


@pytest.mark.parametrize(
    ("scores", "shares", "near", "weak"),
    [
        ((0.9, 0.8, 0.1), (1, 1, 0), (0.5, 0.4, 0.1), (False, False, True)),
        (
            (0.9, 0.1),
            (0, 0),
            (0.5, 0.49),
            (False, False),
        ),  # as near: only the scale made them differ
        ((0.9, 0.1), (1, 0.8), (0.5, 0.1), (False, False)),  # it has the words
        ((0.9, 0.5), (1, 0), (0.5, 0.1), (False, False)),  # it scores well enough
        ((0.9, 0.1), (1, 0), (NAN, NAN), (False, True)),  # by keywords alone
        ((0.1,), (0,), (0.1,), (False,)),
        ((), (), (), ()),
    ],
)
def test_rows_that_barely_fit_beside_better_ones(
    scores: tuple[float, ...],
    shares: tuple[float, ...],
    near: tuple[float, ...],
    weak: tuple[bool, ...],
) -> None:
    assert tuple(result_lines._weak(scores, shares, near)) == weak


def speaks(
    reach: float, others: float, unheard: float, most: int, known: bool = False, size: int = 100
) -> bool:
    """Is a question most likely answered whose nearest row, the first, reaches so far?"""
    found = [reach, reach - others, unheard, most, reach, float(known), math.log1p(size)]
    return classifier.answered(found) >= result_lines.SURE


def test_what_speaks_for_an_answer() -> None:
    assert speaks(0.56, 0.1, 0.33, 0), "near, and nearer than the others"
    assert not speaks(0.22, 0.2, 0.33, 0), "as all others are"
    assert not speaks(0.11, 0.0, 0.67, 1), "one word of three is chance"
    assert speaks(0.3, 0.1, 0.0, 3), "all of its words are here, and some of its meaning"


def test_most_words_are_not_enough_where_another_was_never_heard_of() -> None:
    """ "How do I fold a paper crane?" has two of its words in a note on a paper that is a fold."""
    assert not speaks(0.0, 0.0, 0.33, 2)
    assert speaks(0.56, 0.0, 0.33, 2)


def test_somebody_known_speaks_for_an_answer_and_much_that_may_be_alike_by_chance_against_it() -> (
    None
):
    assert speaks(0.2, 0.1, 0.3, 1, known=True)
    assert not speaks(0.2, 0.1, 0.3, 1)
    assert speaks(0.35, 0.2, 0.3, 0, size=5)
    assert not speaks(0.35, 0.2, 0.3, 0, size=500)


def weak(index: Index, query: str, *paths: str, meaning: bool = True) -> list[bool]:
    index.refresh()
    index.open_vectors()
    index.embed()
    vector = index.query(query) if meaning else None
    return [one.weak for one in result_lines.show(index, query, vector, rows(index, *paths))]


def test_words_that_are_looked_for_are_enough_by_themselves(vault: Notes, index: Index) -> None:
    vault.put("a.md", "The crane in the harbour lifts forty tonnes of paper.\n")
    assert weak(index, "paper crane", "a.md") == [False]
    assert weak(index, "harbour", "a.md", meaning=False) == [False]
    assert weak(index, "paper tonnes umbrella", "a.md", meaning=False) == [False], "most of them"
    assert weak(index, "paper umbrella origami swan", "a.md", meaning=False) == [True]


def test_an_answer_without_rows(index: Index) -> None:
    index.refresh()
    assert result_lines.show(index, "x", None, []) == []
