"""The tagger of names: on lines that it has not learned, where exactly each stands, and a text of
any length."""

from __future__ import annotations

import pytest

from oneiro_vault.classify import names
from oneiro_vault.classify.names import find
from oneiro_vault.index.embed.onnx import WORDS
from tests.classify import marked_names


def said(text: str) -> list[tuple[str, str]]:
    (found,) = find([text])
    assert all(text[one.start : one.end] == one.text for one in found)
    return [(one.text, one.kind) for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Maren owns the release checklist, not Kofi.", ["Maren", "Kofi"]),
        ("can you ask priya if she is in on monday", ["priya"]),
        ("My sister Oonagh moved to Utrecht in May.", ["Oonagh", "Utrecht"]),
        ("dr okafor says the knee is fine, his nurse called", ["dr okafor"]),
        ("We had dinner at Tadej's place.", ["Tadej"]),
        ("Frau Lindner von der Sparkasse Kassel rief an.", ["Frau Lindner", "Sparkasse Kassel"]),
        ("Good Morning! Thanks for the PDF. What does the API return on Monday?", []),
        ("Der Estrich im Bad ist noch feucht, die Fliesen kommen am Montag.", []),
        ("THIS IS URGENT. The invoice is WRONG again.", []),
    ],
)
def test_names_are_found_and_capitals_alone_are_none(text: str, expected: list[str]) -> None:
    assert [name for name, _ in said(text)] == expected


def test_what_is_named_has_a_kind() -> None:
    found = dict(said("Maren left Utrecht for Lindqvist Bank, where they use Postgres."))
    assert found["Maren"] == "person"
    assert found["Utrecht"] == "place"
    assert found["Lindqvist Bank"] == "organization"
    assert found["Postgres"] == "system"


@pytest.mark.slow
def test_a_text_of_any_length_is_read_to_its_end() -> None:
    filler = "It was a quiet week and nothing of note happened at all. " * WORDS
    text = f"{filler}\n\nThen Maren called.\n{'word ' * 3 * WORDS}\n{filler}Kofi was there too."
    assert [name for name, _ in said(text)] == ["Maren", "Kofi"]
    assert find([]) == []
    assert find(["", " \n", "…", "\x00"]) == [[], [], [], []]


def test_what_stands_around_a_sentence_changes_none_of_its_names() -> None:
    around = "passt so, aber kürzer bitte. {} und was zieh ich zur taufe an?"
    for line in ("frag die gerti ob sie zeit hat.", "der kilian zieht im mai nach graz."):
        assert said(around.format(line)) == said(line) != []


def test_a_name_of_several_words_is_one() -> None:
    labels = ["O", "B-person", "I-person", "B-person", "I-place", "O", "I-work"]
    assert list(names.runs(labels)) == [(1, 2), (3, 3), (4, 4), (6, 6)]


def test_the_corpus_says_where_names_stand() -> None:
    line = marked_names.marked("[P:Jill] left [O:Larks & Co], ok?")
    assert line.text == "Jill left Larks & Co, ok?"
    assert line.found == ((0, 4, "person"), (10, 20, "organization"))
    known = list(marked_names.lines())
    assert len(known) > 3_000
    assert all("[" not in line.text[a:b] for line in known for a, b, _ in line.found)
