"""The offline judge on pairs labelled by hand: it never merges what is different, and it finds
about half of what is merely written differently."""

from __future__ import annotations

from collections import Counter

import pytest

from oneiro_vault.core.question import Question, check
from oneiro_vault.judges.offline import OfflineJudge
from oneiro_vault.mind.loops.consolidate import Merge, merging, question
from oneiro_vault.operations.remember.drafts import title_of
from tests.mind.pairs import Pair, pairs
from tests.mind.support import note

PAIRS = pairs()
HELD = [pair for pair in PAIRS if pair.held]


def merged(pair: Pair) -> bool:
    """Does the judge, asked as a loop asks it, make one of the two?"""
    group = [
        note(letter, text, title=title_of(text))
        for letter, text in zip("ab", (pair.a, pair.b), strict=True)
    ]
    asked: Question = question(group)
    ((_, raw),) = OfflineJudge().ask([asked])
    verdict = check(asked, raw, "offline")
    assert verdict.ok or verdict.waits
    return (
        isinstance(verdict.answer, Merge)
        and merging(group, verdict.answer, asked.id, "offline") is not None
    )


MERGED = {pair: merged(pair) for pair in PAIRS}


def test_there_are_enough_pairs_of_every_kind() -> None:
    assert len(PAIRS) >= 200
    assert len(HELD) >= 200
    assert len({(pair.a, pair.b) for pair in PAIRS}) == len(PAIRS)
    kinds = Counter(pair.kind for pair in PAIRS)
    assert {
        "near-duplicate",
        "paraphrase",
        "progression",
        "contradiction",
        "principle-instance",
        "date",
        "number",
        "person",
    } <= set(kinds)
    assert min(kinds.values()) >= 5
    assert {pair.label for pair in PAIRS} == {"same", "different"}


@pytest.mark.parametrize("chosen", [PAIRS, HELD], ids=["all", "held out"])
def test_nothing_different_is_merged(chosen: list[Pair]) -> None:
    wrong = [
        (pair.kind, pair.a, pair.b) for pair in chosen if MERGED[pair] and pair.label == "different"
    ]
    assert wrong == []


@pytest.mark.parametrize(("chosen", "least"), [(PAIRS, 0.5), (HELD, 0.4)], ids=["all", "held out"])
def test_what_is_found(chosen: list[Pair], least: float) -> None:
    same = [pair for pair in chosen if pair.label == "same"]
    found = [pair for pair in same if MERGED[pair]]
    print(
        f"recall {len(found)}/{len(same)}, near-duplicates {_share(chosen, 'near-duplicate')}, "
        f"paraphrases {_share(chosen, 'paraphrase')}"
    )
    near = [pair for pair in same if pair.kind == "near-duplicate"]
    assert sum(MERGED[pair] for pair in near) >= least * len(near)
    assert not any(
        MERGED[pair] for pair in same if pair.kind == "paraphrase"
    )  # other words are another text to it: a model's to judge


def test_the_order_of_two_notes_says_nothing() -> None:
    for pair in PAIRS:
        assert merged(Pair(pair.b, pair.a, pair.label, pair.kind, pair.held)) == MERGED[pair], pair


def _share(chosen: list[Pair], kind: str) -> str:
    found = [MERGED[pair] for pair in chosen if pair.kind == kind]
    return f"{sum(found)}/{len(found)}"
