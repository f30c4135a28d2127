"""Fused scores: every part is shown, a missing sign leaves its weight to its neighbour, and belief
only nudges."""

from collections.abc import Iterable

import numpy as np
import pytest

from oneiro_vault.core.ranking import (
    Array,
    Evidence,
    Features,
    Scale,
    Scored,
    coverage,
    diversify,
    fuse,
    relevant,
)

NAN = float("nan")


def a(*values: float) -> Array:
    return np.array(values, dtype=np.float64)


def order(scored: Iterable[Scored]) -> list[int]:
    return [row.index for row in scored]


def full() -> Features:
    rng = np.random.default_rng(5)
    draw = {
        name: rng.random(20) for name, item in Features.__dataclass_fields__.items() if item.init
    }
    draw["question_cosine"][::2] = NAN
    return Features(**draw)


def test_parts_add_up_to_the_score_and_scores_lie_between_0_and_1() -> None:
    scored = fuse(full())
    for row in scored:
        assert sum(row.parts.values()) == pytest.approx(row.score)
        assert 0 <= row.score <= 1
    assert order(scored) == sorted(
        range(20), key=lambda i: -next(r.score for r in scored if r.index == i)
    )
    assert len(scored[0].parts) == 13


def test_no_candidates_give_no_rows() -> None:
    assert fuse(Features()) == []
    assert fuse(Features(bm25=a())) == []


def test_arrays_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="lengths"):
        fuse(Features(bm25=a(1, 2), cosine=a(1)))


def test_of_notes_that_are_part_of_nothing_what_differs_more_counts_more() -> None:
    even, clear = a(*[5.0, 4.5, 4, 3.5] * 3), a(*[0.9] + [0.1, 0.12, 0.11, 0.1, 0.1] * 2, 0.2)
    assert fuse(Features(bm25=even[::-1], cosine=clear))[0].index == 0
    assert fuse(Features(bm25=10 * clear[::-1], cosine=even / 10))[0].index == 11


def test_where_all_notes_are_alike_meaning_tells_less() -> None:
    f = Features(bm25=a(9, 5, 0), cosine=a(0.3, 0.5, 0.1))
    f.scale = Scale(notes=300, background=0.1, floor=0.1)
    assert order(fuse(f)) == [1, 0, 2]
    f.scale = Scale(notes=300, background=0.7, floor=0.1)
    assert order(fuse(f)) == [0, 1, 2]


def test_a_note_is_its_best_passage_and_the_whole_of_it() -> None:
    f = Features(bm25=a(5, 5, 0), cosine=a(0.5, 0.5, 0.1), whole_cosine=a(0.2, 0.4, 0.1))
    assert order(fuse(f)) == [1, 0, 2]
    assert order(fuse(f.of([1, 0]))) == [0, 1]


def test_own_words_and_own_meaning_are_worth_about_the_same() -> None:
    parted = {name: a(0, 0, 0) for name in ("session_bm25", "context_bm25", "context_cosine")}
    words, meaning = fuse(Features(bm25=a(9, 0, 3), cosine=a(0.1, 0.8, 0.1), **parted))[:2]
    assert {words.index, meaning.index} == {0, 1}
    assert words.score == pytest.approx(meaning.score, abs=0.15)


def test_keywords_alone_rank_by_keywords() -> None:
    scored = fuse(Features(bm25=a(1, 3, 2), cosine=a(NAN, NAN, NAN)))
    assert order(scored) == [1, 2, 0]
    assert scored[0].score > 0.5


def test_vectors_alone_rank_by_vectors() -> None:
    assert order(fuse(Features(cosine=a(0.1, 0.3, 0.2), bm25=a(0, 0, 0)))) == [1, 2, 0]
    assert order(fuse(Features(cosine=a(0.1, 0.3, 0.2)))) == [1, 2, 0]


def test_a_memory_whose_vector_is_still_to_come_is_judged_by_its_words() -> None:
    assert order(fuse(Features(bm25=a(9, 2, 0), cosine=a(NAN, 0.3, 0.2))))[0] == 0


def test_a_memory_without_neighbours_is_its_own_context() -> None:
    lone, alike = fuse(
        Features(
            bm25=a(5, 5, 0),
            context_bm25=a(NAN, 7, 0),
            cosine=a(0.5, 0.5, 0.1),
            context_cosine=a(NAN, 0.4, 0.2),
        )
    )[:2]
    assert lone.score == pytest.approx(alike.score)


def test_a_long_note_is_as_good_as_its_best_passage() -> None:
    f = Features(bm25=a(1, 4, 0), passage_bm25=a(8, NAN, 0))
    assert order(fuse(f))[0] == 0


def test_an_answer_is_found_through_its_question() -> None:
    scored = fuse(Features(bm25=a(2, 2, 6), question_bm25=a(NAN, 6, NAN)))
    assert order(scored) == [2, 1, 0]
    assert "words of its question" in scored[1].parts


def test_the_one_the_question_names_comes_first_among_equals() -> None:
    assert order(fuse(Features(bm25=a(2, 2, 1), names=a(0, 1, 0)))) == [1, 0, 2]


def test_the_one_of_the_right_day_comes_first_among_equals() -> None:
    assert order(fuse(Features(bm25=a(2, 2, 1), dates=a(0, 1, 0)))) == [1, 0, 2]


def test_one_candidate_that_matches_scores_high_and_one_that_does_not_scores_nothing() -> None:
    assert fuse(Features(bm25=a(2.5)))[0].score > 0.9
    assert fuse(Features(bm25=a(0)))[0].score == 0


@pytest.mark.parametrize("name", ["importance", "recency", "frequency", "strength"])
def test_belief_decides_between_equals_and_costs_nothing_when_neutral(name: str) -> None:
    base = {"bm25": a(3, 3, 2), "cosine": a(0.3, 0.3, 0.2)}
    assert order(fuse(Features(**base, **{name: a(0.4, 0.6, 1.0)}))) == [1, 0, 2]
    plain, neutral = fuse(Features(**base)), fuse(Features(**base, **{name: a(0.5, NAN, 0.5)}))
    assert [row.score for row in plain] == [row.score for row in neutral]


def test_own_words_count_as_near_to_the_question_as_their_speaker_would_put_it() -> None:
    near = {"cosine": a(0.5, 0.3, 0.2), "bm25": a(0, 0, 0)}
    assert order(fuse(Features(**near))) == [0, 1, 2]
    assert order(fuse(Features(**near, speaker_cosine=a(NAN, 0.2, 0.6)))) == [2, 0, 1]


def test_belief_alone_moves_a_score_by_a_few_percent() -> None:
    high, low = (
        {name: a(value, 0.5) for name in ("importance", "recency", "frequency", "strength")}
        for value in (1.0, 0.0)
    )
    scores = [
        next(row.score for row in fuse(Features(bm25=a(4, 1), **kind)) if row.index == 0)
        for kind in (high, {}, low)
    ]
    assert scores[0] / scores[1] == pytest.approx(1.05)
    assert scores[2] / scores[1] == pytest.approx(0.95)


def test_a_memory_and_its_sources_do_not_fill_one_answer() -> None:
    lineage = {"insight": ["e1", "e2"], "newer": ["older"]}
    assert diversify(["insight", "e1", "x", "e2", "older", "newer"], lineage) == [
        "insight",
        "x",
        "older",
        "e1",
        "e2",
        "newer",
    ]
    assert diversify(["e1", "e2", "insight"], lineage) == ["e1", "e2", "insight"]
    assert diversify([], lineage) == []


def test_coverage_counts_rare_words_more_and_unknown_words_most() -> None:
    matches = np.array([[True, True], [True, False], [False, False]])
    common_and_rare, common = coverage(matches, [90, 2, 0], 100)
    assert 0.4 < common_and_rare < 0.6
    assert common < 0.1
    assert coverage(np.zeros((0, 2), dtype=bool), [], 100).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("evidence", "kept"),
    [
        (Evidence(named=True, known=True, coverage=0.0), True),
        (Evidence(named=True, known=False, coverage=0.3), False),
        (Evidence(named=True, known=False, coverage=0.6), True),
        (Evidence(named=False, known=False, coverage=0.3), True),
        (Evidence(named=False, known=False, coverage=0.0), False),
        (
            Evidence(named=True, known=False, coverage=0.1, cosine=0.8, background=0.3, spread=0.1),
            True,
        ),
        (
            Evidence(
                named=True, known=False, coverage=0.1, cosine=0.35, background=0.3, spread=0.1
            ),
            False,
        ),
        (Evidence(named=False, known=False, coverage=0.0, cosine=0.4), False),
    ],
)
def test_nothing_is_an_answer_when_every_sign_says_so(evidence: Evidence, kept: bool) -> None:
    rows = [Scored(0, 0.5)]
    assert relevant(rows, evidence) == (rows if kept else [])
