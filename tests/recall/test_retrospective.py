"""A question about what was is told from one about what is, in the languages read most."""

from __future__ import annotations

import pytest

from oneiro_vault.recall.retrospective import looks_back


@pytest.mark.parametrize(
    "question",
    [
        "What did we use before the migration?", "Where did Nina live before?",
        "How has the release day changed?", "What used to be her job?",
        "Who was the previous landlord?", "How did the rule come to be?",
        "Why did we switch the database?", "What was the original plan?",
        "the history of the budget", "Which editor did he use back then?",
        "Wo hat sie früher gewohnt?", "Wie hat sich der Plan geändert?",
        "Wer war der vorherige Vermieter?", "Wie kam es zu der Regel?",
        "How did the date of the launch move?", "Who was the contact before, and who came after?",
        "Where did Ana live before Bern?",
        "What did she want at first and later?", "How were the hours changed?",
        "What was the dose before and after the visit?",
        "Wie wurde die Reise verlegt?", "Wie entwickelte sich der Preis?",
        "Wer war der Arzt, und wer danach?", "Was wollte sie zuerst, was jetzt?",
        "Où habitait-elle avant ?", "Quel était l'ancien bureau ?",
        "Comment le projet a-t-il évolué ?",
        "¿Dónde vivía antes?", "¿Cómo ha cambiado el plan?", "Quem era o chefe anterior?",
        "Dove abitava prima?", "Waar woonde ze vroeger?",
    ],
)  # fmt: skip
def test_what_looks_back(question: str) -> None:
    assert looks_back(question)


@pytest.mark.parametrize(
    "question",
    [
        "Where does Nina live?", "What should I do before the release?", "When did we decide it?",
        "How old is the history teacher?", "Tell me a story of the sea.",
        "fix the failing test", "Is she used to it?", "What changes tomorrow?",
        "Which train goes before noon?", "Why do we use Postgres?",
        "How did it go?", "How do I move a file?", "What happens before and during the move?",
        "What comes first, tea or milk?",
        "Wo wohnt sie?", "Was muss vor dem Essen fertig sein?", "Où habite-t-elle ?",
        "¿Qué hago antes de la reunión?", "Dove abita?", "",
    ],
)  # fmt: skip
def test_what_does_not(question: str) -> None:
    assert not looks_back(question)
