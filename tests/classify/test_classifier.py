"""What is worth keeping, what asks about an earlier state and what says how something is done by
the packaged weights, and that training makes such weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oneiro_vault.classify import classifier
from oneiro_vault.classify.classifier import (
    PROCEDURE,
    RARE,
    THRESHOLD,
    dictates,
    looks_back,
    probabilities,
    weights,
    worth_keeping,
)
from tests.classify import lines


def test_facts_are_worth_keeping_and_talk_is_not() -> None:
    facts = [
        "My brother-in-law Henk runs the bakery in Utrecht.",
        "We postponed the launch to 9 September.",
        "I can't eat anything with sesame.",
        "Meine Tochter kommt im August in die Schule.",
    ]
    talk = [
        "Thanks, that helps a lot!",
        "Could you make it a bit shorter?",
        "Hm, let me think.",
        "Und jetzt?",
        "",
    ]
    assert [
        one for one, worth in zip(facts, worth_keeping(facts), strict=True) if worth < THRESHOLD
    ] == []
    assert [
        one for one, worth in zip(talk, worth_keeping(talk), strict=True) if worth >= THRESHOLD
    ] == []


def test_what_a_tool_answers_is_worth_less() -> None:
    sentence = "The meeting takes place on 9 September."
    mine, theirs = worth_keeping([sentence, sentence], ["user", "tool"])
    assert theirs < mine
    assert worth_keeping([]) == []


def test_the_model_runs_in_a_process_that_can_end_at_any_time() -> None:
    before = worth_keeping(["We postponed the launch to 9 September."])
    assert classifier.model().pid is not None
    classifier.model().close()
    assert classifier.model().pid is None
    assert worth_keeping(["We postponed the launch to 9 September."]) == before


@pytest.mark.parametrize(
    "question",
    [
        "What did we use before the migration?", "Where did Nina live before?",
        "How has the release day changed?", "What used to be her job?",
        "Who was the previous landlord?", "How did the rule come to be?",
        "What was the original plan?", "the history of the budget",
        "Who was the contact before, and who came after?",
        "Wo hat sie früher gewohnt?", "Wie hat sich der Plan geändert?",
        "Où habitait-elle avant ?", "Quel était l'ancien bureau ?",
        "¿Dónde vivía antes?", "Quem era o chefe anterior?", "Dove abitava prima?",
        "Waar woonde ze vroeger?",
    ],
)  # fmt: skip
def test_a_question_about_an_earlier_state_looks_back(question: str) -> None:
    assert looks_back(question)


@pytest.mark.parametrize(
    "question",
    [
        "Where does Nina live?", "What should I do before the release?", "When did we decide it?",
        "When did Nina first see the sea?", "How long has Nina been in Bern?",
        "What did Nina cook last week?", "How old is the history teacher?", "Is she used to it?",
        "What happens before and during the move?", "Why do we use Postgres?",
        "fix the failing test", "Wo wohnt sie?", "Was muss vor dem Essen fertig sein?",
        "Où habite-t-elle ?", "¿Cuándo se casó Nina?", "Dove abita?", "",
    ],
)  # fmt: skip
def test_what_asks_how_things_are_or_what_happened_does_not(question: str) -> None:
    assert not looks_back(question)


def test_a_question_waits_for_no_model() -> None:
    assert not {"history/in", "history/out"} & weights().keys()


def test_how_something_is_always_done_is_told_from_what_happened_or_is_asked_for() -> None:
    steps = "soak the pots, let them drain, wipe the leaves, and put them back on the sill"
    always, story, plan, request = dictates(
        [
            f"This is how I water the orchids: {steps}.",
            "Yesterday I soaked the pots, let them drain, wiped the leaves and put them back.",
            f"Tomorrow morning I'll {steps}, and then I have to catch the train.",
            f"Can you {steps} please?",
        ]
    )
    assert always >= PROCEDURE
    assert max(story, plan, request) < THRESHOLD
    assert dictates([]) == []


@pytest.mark.slow
def test_paragraphs_it_has_learned_are_judged_as_they_are_labelled() -> None:
    some = lines.lines("procedure")[::3]
    found = dictates([line.text for line in some])
    taken = [line.label for line, sure in zip(some, found, strict=True) if sure >= PROCEDURE]
    assert sum(taken) >= 0.97 * len(taken)
    assert sum(taken) >= 0.85 * sum(line.label for line in some)


@pytest.mark.slow
def test_lines_about_earlier_states_are_judged_as_they_are_labelled() -> None:
    known = lines.lines("history")
    found = probabilities("history", [line.text for line in known], ["user"] * len(known))
    false = [
        line.text
        for line, sure in zip(known, found, strict=True)
        if sure >= RARE and not line.label
    ]
    right = sum(sure >= RARE and line.label for line, sure in zip(known, found, strict=True))
    assert len(false) <= 0.01 * len(known), false
    assert right >= 0.9 * sum(line.label for line in known)


@pytest.mark.slow
def test_lines_it_has_learned_are_judged_as_they_are_labelled() -> None:
    some = lines.lines("keep")[::5]
    found = probabilities(
        "keep", [line.text for line in some], [classifier.SPEAKERS[line.speaker] for line in some]
    )
    wrong = [
        line.text
        for line, sure in zip(some, found, strict=True)
        if (sure >= THRESHOLD) is not line.label
    ]
    assert len(wrong) <= 0.03 * len(some), wrong


@pytest.mark.slow
def test_training_learns_and_always_makes_the_same() -> None:
    from tests.classify import train

    every = lines.examples("keep")
    few = lines.Examples(
        every.texts[::25], every.labels[::25], every.speakers[::25], every.parts[::25]
    )
    learned, again = train.learn("keep", few), train.learn("keep", few)
    assert all(np.array_equal(learned[name], again[name]) for name in learned)
    assert learned.keys() == {
        name.removeprefix("keep/") for name in weights() if name.startswith("keep/")
    }


def test_weights_of_other_features_are_refused(tmp_path: Path) -> None:
    others: dict[str, Any] = {"trained with": np.array("features 0, model none")}
    np.savez_compressed(tmp_path / "w.npz", **others)
    with pytest.raises(ValueError, match="make train"):
        weights(tmp_path / "w.npz")


@pytest.mark.slow
def test_probabilities_are_as_sure_as_they_are_right() -> None:
    from tests.classify import train  # takes scikit-learn, which is long to import

    rng = np.random.default_rng(1)
    labels = (rng.random((4000, 1)) < 0.5).astype(np.float32)
    scores = np.where(labels > 0, 5.0, -5.0) + 5 * rng.normal(size=(4000, 1)) + 1
    factor, added = train.calibrated("gate", scores, labels)
    sure = classifier.likely("gate", scores * factor + added)
    assert abs(np.mean(labels[sure > 0.8]) - np.mean(sure[sure > 0.8])) < 0.05


def test_what_is_nearer_and_has_more_of_the_words_is_needed_more() -> None:
    """One memory a section, with nothing of the prompt and then with much of it."""
    far = np.array([[0, 0, 0.0, -0.2, 2.0, 3.9, 0, 0, 0, 0, 0]] * 5, dtype=np.float32)
    near = np.array([[0.6, 3, 0.5, 0.0, 0.0, 0.0, 0, 0, 0, 0, 0]] * 5, dtype=np.float32)
    sections = [0, 1, 2, 3, 4]
    low, high = classifier.needed(far, sections), classifier.needed(near, sections)
    for section in sections[1:]:  # of people, being named says more than words
        assert 0 < low[section] < 0.1 < high[section] < 1
    asked = dict.fromkeys(classifier.INTENTS, 0.0) | {"process": 1.0}
    assert classifier.needed(near, sections, asked)[2] > high[2], "a procedure for how it is done"
    assert classifier.needed(far[:0], []) == []
