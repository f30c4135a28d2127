"""Languages are told by their function words, and words lose the endings of their own language."""

from __future__ import annotations

import subprocess
import sys

import pytest

from oneiro_vault.core.text.language import (
    NAMES,
    STOP_WORDS,
    detect,
    folded,
    is_english,
    mark,
    stem,
    stop_words,
)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("La abuela nació en Sevilla", "es"), ("Le code du portail est 4821", "fr"),
        ("L'homme d'affaires achète", "fr"), ("Schlüssel liegt unter dem Blumentopf", "de"),
        ("Eu não gosto de café", "pt"), ("L'appartamento è stato venduto ieri", "it"),
        ("Het huis is verkocht aan de buren", "nl"),
        ("Я купил новую машину в Москве", "ru"), ("昨日東京に行きました", "ja"), ("서울에서 살아요", "ko"),
        ("我喜欢北京", "zh"),
        ("Reunión con Marta: presupuesto aprobado", "es"),
        ("Call with Lene moved to Donnerstag. Regen, und Bastian hat wegen der Küche angerufen.", "de"),
    ],
)  # fmt: skip
def test_a_sentence_tells_its_language(text: str, language: str) -> None:
    assert detect(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "", "fix failing test", "Buy milk", "Caroline: Hey Mel!", "wifi password: hunter2",
        "It's die hard", "Take care! Keep pushing on.",
        "The man said: was ist das, and then he left",
        "Die Katze schläft auf dem Sofa, and the dog is on the bed", "kalorens mobit luzet",
        "1234 !?",
        "Our trip to 東京 was the best we ever had", "Milch kaufen",
        "h = i * k + r * u - b / n, f(o) = e", "n\0a\0 u\0n\0d\0 b\0r\0",
    ],
)  # fmt: skip
def test_english_short_and_mixed_texts_stay_as_they_are(text: str) -> None:
    assert detect(text) == ""


def test_a_question_is_short_and_is_told_among_the_languages_there_are() -> None:
    assert detect("Wo liegt das?", ("de",), least=1) == "de"
    assert detect("Wo liegt das?", ("es",), least=1) == ""
    assert detect("東京", ("de",), least=1) == ""


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de", ("Haus", "Häuser", "HÄUSERN", "Haeuser", "Hauser")),
        ("de", ("Straße", "Strassen", "straße")),
        ("es", ("canción", "canciones", "cancion")), ("fr", ("élève", "Élèves", "eleves")),
        ("ru", ("машина", "машину", "Машины")),
        ("zh", ("北京",)),
    ],
)  # fmt: skip
def test_forms_of_a_word_have_one_stem_however_they_are_typed(
    language: str, words: tuple[str, ...]
) -> None:
    assert len({stem(word, language) for word in words}) == 1


def test_a_stem_of_another_language_is_no_english_word() -> None:
    assert mark("Häuser", "de") == mark("Hauses", "de") != "haus"
    assert mark("atelier", "da") != "at"


def test_english_words_in_other_languages_keep_their_english_forms_together() -> None:
    assert all(stem("deployments", name) == stem("deployment", name) for name in ("de", "es", "fr"))


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("where is the boat?", True),
        ("boat harbour", False),
        ("Wo liegt das Boot?", False),
        ("Wann war in Wien die Messe?", False),
    ],
)
def test_a_word_that_only_english_has_tells_english(text: str, english: bool) -> None:
    assert is_english(text) is english


def test_stop_words_are_those_of_the_language_and_folded() -> None:
    assert stop_words("") is STOP_WORDS
    assert stop_words("ja") is STOP_WORDS
    assert {"uber", "fur", "und"} <= stop_words("de")
    assert all(stop_words(name) == set(map(folded, stop_words(name))) for name in NAMES)


def test_nothing_is_loaded_for_who_only_folds_names() -> None:
    code = (
        "import sys, oneiro_vault.core.text.query as q; q.analyse('Wer ist Jürgen?'); "
        "sys.exit(any(n in sys.modules for n in ('Stemmer', 'stop_words')))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
