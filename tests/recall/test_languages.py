"""Other languages than English: keywords find a note by another form of its words about as often as in English."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.app import App, init_vault
from oneiro_vault.config import Settings
from oneiro_vault.recall.search import Asked, Search
from tests.recall.languages import LANGUAGES, recalled

SETTINGS = Settings({"embed.model": "hash", "disk.reserve": 0})


@pytest.mark.parametrize("together", [False, True])
def test_each_language_is_at_most_five_points_below_its_english_twin(tmp_path: Path, together: bool) -> None:
    vaults = [LANGUAGES] if together else [(language,) for language in LANGUAGES]
    scores: dict[str, tuple[float, float]] = {}
    for number, languages in enumerate(vaults):
        scores |= recalled(tmp_path / str(number), languages)
    questions, words = scores["en"]
    assert 0.5 < words < 0.9  # a bar that everything passes would measure nothing
    for language, (found, alone) in scores.items():
        assert found >= questions - 0.05, (language, scores)
        assert alone >= words - 0.15, (language, scores)


def asked(root: Path, notes: dict[str, str], question: str) -> list[str]:
    """The paths that answer by keywords, best first."""
    init_vault(root)
    for path, text in notes.items():
        (root / path).write_text(text, encoding="utf-8")
    with App.open(root, SETTINGS) as app:
        app.house.reconcile()
        found = Search(app.house.index, app.house.remembered()).run(Asked(question, 10), None)
        return [one.row.path for one in found]


NOTES = {
    "de.md": "Die Häuser am Fluss wurden im Frühling verkauft, und der Vertrag liegt beim Notar.\n",
    "ru.md": "Я купил новую машину в Москве, и она стоит во дворе.\n",
    "ja.md": "昨日東京に行きました。とても楽しかったです。\n",
    "en.md": "The boats in the harbour were painted, and the invoices are with the accountant.\n",
}


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("Wo steht das Haus?", "de.md"), ("Haeuser verkaufen", "de.md"), ("haus", "de.md"), ("Verträge", "de.md"), ("машина", "ru.md"),
        ("東京はどこ？", "ja.md"), ("painting a boat", "en.md"), ('"Häuser am Fluss"', "de.md"), ("invoice", "en.md"),
    ],
)  # fmt: skip
def test_every_language_is_found_in_a_vault_of_several(tmp_path: Path, question: str, path: str) -> None:
    assert asked(tmp_path / "v", NOTES, question)[0] == path


def test_the_words_that_say_nothing_are_those_of_the_question(tmp_path: Path) -> None:
    init_vault(tmp_path / "v")
    for path, text in NOTES.items():
        (tmp_path / "v" / path).write_text(text, encoding="utf-8")
    with App.open(tmp_path / "v", SETTINGS) as app:
        app.house.reconcile()
        terms = app.house.index.terms("Wo liegt der Vertrag über die Häuser?")
        assert (terms.language, terms.words) == ("de", ("liegt", "vertrag", "hauser"))
        assert "wo" not in terms.names
        assert app.house.index.terms("who would die hard?").words == ("die", "hard")
