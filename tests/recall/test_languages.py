"""Other languages than English: keywords find a note by another form of its words about as often as
in English."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.app import App
from oneiro_vault.core.text.language import detect
from oneiro_vault.recall.request import Asked
from oneiro_vault.recall.search import Search
from oneiro_vault.settings.definitions import Settings
from tests.copies import new_vault
from tests.recall.languages import LANGUAGES, others, recalled, twins

SETTINGS = Settings({"embed.model": "hash", "disk.reserve": 0})
USUAL = 0.775
"""Share of single English words that find their note, when the bar was set: what helps English more
is no loss of the others."""


@pytest.mark.slow
@pytest.mark.parametrize("together", [False, True])
def test_each_language_is_at_most_five_points_below_its_english_twin(
    tmp_path: Path, together: bool
) -> None:
    vaults = [LANGUAGES] if together else [(language,) for language in LANGUAGES]
    scores: dict[str, tuple[float, float]] = {}
    for number, languages in enumerate(vaults):
        scores |= recalled(tmp_path / str(number), languages)
    questions, words = scores["en"]
    assert 0.5 < words < 0.9  # a bar that everything passes would measure nothing
    for language, (found, alone) in scores.items():
        assert found >= questions - 0.05, (language, scores)
        assert alone >= min(words, USUAL) - 0.05, (language, scores)


def asked(root: Path, notes: dict[str, str], question: str) -> list[str]:
    """The paths that answer by keywords, best first."""
    new_vault(root)
    for path, text in notes.items():
        (root / path).write_text(text, encoding="utf-8")
    with App.open(root, SETTINGS) as app:
        app.house.indexing.reconcile()
        found = Search(app.house.index, app.house.uses.remembered()).run(Asked(question, 10), None)
        return [one.row.path for one in found]


NOTES = {
    "de.md": "Die Häuser am Fluss wurden im Frühling verkauft, und der Vertrag liegt beim Notar. "
    "Nummer 123, Film h264.\n",
    "ru.md": "Я купил новую машину в Москве, и она стоит во дворе.\n",
    "ja.md": "昨日東京に Toyota で行きました。とても楽しかったです。\n",
    "en.md": "The boats in the harbour were painted, and the invoices are with the accountant.\n",
}


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("Wo steht das Haus?", "de.md"), ("Haeuser verkaufen", "de.md"), ("haus", "de.md"),
        ("Verträge", "de.md"), ("машина", "ru.md"),
        ("東京はどこ？", "ja.md"), ("painting a boat", "en.md"), ('"Häuser am Fluss"', "de.md"),
        ("invoice", "en.md"),
        ("Toyota", "ja.md"), ("123", "de.md"), ("h264", "de.md"),
    ],
)  # fmt: skip
def test_every_language_is_found_in_a_vault_of_several(
    tmp_path: Path, question: str, path: str
) -> None:
    assert asked(tmp_path / "v", NOTES, question)[0] == path


def test_the_words_that_say_nothing_are_those_of_the_question(tmp_path: Path) -> None:
    new_vault(tmp_path / "v")
    for path, text in NOTES.items():
        (tmp_path / "v" / path).write_text(text, encoding="utf-8")
    with App.open(tmp_path / "v", SETTINGS) as app:
        app.house.indexing.reconcile()
        terms = app.house.index.terms("Wo liegt der Vertrag über die Häuser?")
        assert (terms.language, terms.words) == ("de", ("liegt", "vertrag", "hauser"))
        assert "wo" not in terms.names
        assert app.house.index.terms("who would die hard?").words == ("die", "hard")


def rows(root: Path, notes: dict[str, str], questions: list[str]) -> list[list[str]]:
    """The paths that answer each question by keywords, best first."""
    new_vault(root)
    for path, text in notes.items():
        (root / path).write_text(text + "\n", encoding="utf-8")
    with App.open(root, SETTINGS) as app:
        app.house.indexing.reconcile()
        search = Search(app.house.index, app.house.uses.remembered())
        return [
            [one.row.path for one in search.run(Asked(question, 10), None)]
            for question in questions
        ]


@pytest.mark.slow
def test_few_notes_of_another_language_or_taken_for_it_change_no_english_answer(
    tmp_path: Path,
) -> None:
    """Of a stem that is in few notes one occurrence outweighs everything else; so it is asked for
    in its own language alone."""
    sentences = sorted({row["note"]["en"] for row in twins()} | set(others("en")))
    english = {f"en-{number:03}.md": sentence for number, sentence in enumerate(sentences)}
    questions = [row["question"]["en"] for row in twins()]
    verse = (
        "Et atelier ved havet, og hvad skal mig nogle af de gamle både, når jeg alligevel ikke "
        "ved, hvor du blev af efter os."
    )
    told = {
        path: f"{text} {verse}" if number % 50 == 7 else text
        for number, (path, text) in enumerate(english.items())
    }
    foreign = {f"es-{number}.md": row["note"]["es"] for number, row in enumerate(twins()[:10])}
    alone, beside, quoted = (
        rows(tmp_path / str(at), notes, questions)
        for at, notes in enumerate((english, english | foreign, told))
    )
    odd = {path for path in english if told[path] != english[path]}
    assert all(detect(told[path]) for path in odd)
    assert [found[:3] for found in beside] == [found[:3] for found in alone]
    assert not any(set(found) & foreign.keys() for found in beside)
    led = [sum(found[0] in odd for found in answers if found) for answers in (alone, quoted)]
    assert led[1] <= led[0], led


def test_a_language_of_few_notes_is_found_by_other_forms_when_it_is_asked_in_it(
    tmp_path: Path,
) -> None:
    notes = {f"en-{number}.md": sentence for number, sentence in enumerate(others("en"))}
    notes["de.md"] = (
        "Die Häuser am Fluss wurden im Frühling verkauft, und der Vertrag liegt beim Notar."
    )
    found = rows(tmp_path / "v", notes, ["Wo steht das Haus?", "Notar", "who sold the Häuser?"])
    assert [paths[0] for paths in found] == ["de.md"] * 3


def test_a_word_that_no_note_has_is_found_where_a_compound_begins_with_it(tmp_path: Path) -> None:
    notes = {f"de-{number}.md": sentence for number, sentence in enumerate(others("de"))} | {
        "club.md": "Büchertausch und Lesekreis: die Reihenfolge steht nach der Abstimmung fest, "
        "und Miriam ist als zweite dran.",
        "fest.md": "Das Schulfest ist am Samstag, und wir backen einen Kuchen.",
        "en.md": "The bookkeeper wants the receipts until Friday, and the schooner is out of the "
        "water.",
    }
    found = rows(
        tmp_path / "v",
        notes,
        [
            "welches Buch wollte Miriam lesen?",
            "Wann feiert die Schule?",
            "who is in school?",
            "Schule",
            "Zug",
        ],
    )
    assert [paths[:1] for paths in found] == [["club.md"], ["fest.md"], [], ["fest.md"], []]


def test_the_language_of_some_notes_brings_none_of_them_first(tmp_path: Path) -> None:
    """A word that notes in two languages have says nothing of either, though its stem is marked in
    the rarer one alone."""
    notes = {
        f"en-{number:02}.md": f"The toyota was in the garage, where we {word} it for the third "
        f"time."
        for number, word in enumerate(
            f"{start}{end}"
            for start in ("wash", "paint", "clean", "pack", "push", "lock", "mend", "test", "park")
            for end in ("ed", "es")
        )
    }
    notes |= {
        f"de-{number}.md": f"Wir haben den toyota in der Werkstatt {word} und dann nicht mehr "
        f"gesehen."
        for number, word in enumerate(("gelassen", "geputzt", "verkauft"))
    }
    first, second = rows(tmp_path / "v", notes, ["toyota", "toyota werkstatt"])
    assert any(path.startswith("en") for path in first[:3])
    assert all(path.startswith("de") for path in second[:3])


def test_a_german_noun_that_no_note_has_is_no_name_nobody_knows(tmp_path: Path) -> None:
    """Every noun has a capital there: most questions would be taken for ones about strangers, and
    get no answer."""
    notes = {
        f"{number}.md": f"Am {number}. Mai war ich mit Katrin im Garten, und wir haben Erbsen "
        f"gesät.\n"
        for number in range(1, 9)
    }
    notes["zucker.md"] = "Ich nehme Metformin für meinen Zucker, zuletzt war er bei sieben.\n"
    assert (
        asked(tmp_path / "v", notes, "Wie hoch war denn der Langzeitblutzucker zuletzt?")[0]
        == "zucker.md"
    )
