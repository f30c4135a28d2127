"""Questions become words, names and an FTS5 expression, and whatever a user types, the expression
runs."""

import random
import sqlite3
import unicodedata
from datetime import date

import pytest

from oneiro_vault.core.text.language import STOP_WORDS
from oneiro_vault.core.text.query import (
    QueryTerms,
    analyse,
    asks,
    capitals,
    date_shares,
    fold,
    fts_expression,
    name_shares,
    of_speaker,
    segment,
    speaker_of,
    spellings,
    verbatim,
    without,
)


def store(*texts: str) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.execute(
        "create virtual table t using fts5(body, tokenize='porter unicode61 remove_diacritics 2')"
    )
    db.executemany("insert into t(body) values (?)", [(segment(text),) for text in texts])
    return db


def found(db: sqlite3.Connection, query: str) -> list[int]:
    expression = fts_expression(analyse(query))
    return (
        [
            row
            for (row,) in db.execute(
                "select rowid from t where t match ? order by bm25(t)", (expression,)
            )
        ]
        if expression
        else []
    )


def test_a_question_loses_its_stop_words_and_keeps_its_order() -> None:
    assert analyse("What did the kids paint, and paint when?").words == ("kids", "paint")


def test_words_are_folded_as_fts5_folds_them() -> None:
    assert analyse("Café-Öffnung in ZÜRICH: naïve_snake").words == (
        "cafe",
        "offnung",
        "zurich",
        "naive",
        "snake",
    )


def test_only_stop_words_are_better_than_nothing() -> None:
    assert analyse("what is it").words == ("what", "is", "it")
    assert fts_expression(analyse("the who")) == '"the" OR "who"'


def test_nothing_to_look_for_gives_an_empty_expression() -> None:
    assert fts_expression(analyse(" ?!\x00 \u0301")) == ""
    assert fts_expression(analyse("")) == ""


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("When did Caroline go to the LGBTQ support group?", ("caroline", "lgbtq")),
        ("Would Caroline's Mother meet Anna Schmidt?", ("caroline", "mother", "anna schmidt")),
        ("Describe the plan. Then Tell Bob", ("bob",)),
        ("what does melanie do", ()),
        ("Did O'Brien and José María van Dam travel?", ("o brien", "jose maria", "dam")),
        ("Nate, Joanna and I", ("nate", "joanna")),
    ],
)
def test_names_are_capitalised_words_that_are_not_question_words(
    query: str, names: tuple[str, ...]
) -> None:
    assert analyse(query).names == names


def test_a_question_is_asked_without_a_name() -> None:
    assert capitals("Where did Oona's aunt meet Mr Okonjo-Lee?") == ["Oona", "Mr", "Okonjo-Lee"]
    assert without("What is Oona's job?", ["Oona"]) == "What is job?"
    assert without("Where does Oona live?", ()) == "Where does Oona live?"
    assert without("Oona?", ["Oona"]) == "Oona?", "nothing else is asked"


def test_quoted_text_is_a_phrase_and_its_words_still_count() -> None:
    terms = analyse('Who read "Nothing is impossible"?')
    assert terms.phrases == ("nothing is impossible",)
    assert terms.words == ("read", "nothing", "impossible")
    assert fts_expression(terms) == '"read" OR "nothing" OR "impossible" OR "nothing is impossible"'


def test_a_page_as_a_question_is_bounded() -> None:
    assert fts_expression(analyse(" ".join(f"word{i}" for i in range(5000)))).count(" OR ") == 63


def test_no_text_breaks_the_expression() -> None:
    db, rng = store("a b"), random.Random(7)
    alphabet = "\"'*^:()-+{}[]NEAR AND OR NOT col\x00\n_.,\\%;é漢字กำहिन्दी🙂\ud7ff\u0301" + "".join(
        map(chr, range(0x250, 0x2000, 37))
    )
    for _ in range(2000):
        found(db, "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 40))))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("昨日東京に行きました", "東京はどこ？"),
        ("서울에서 살아요", "서울"),
        ("हिन्दी भाषा", "हिन्दी"),
        ("ฉันชอบกาแฟ", "กาแฟ"),
        ("Ελλάδα το καλοκαίρι", "ΕΛΛΆΔΑ"),
        ("Grüße aus Münster", "munster"),
        ("Frau Groß wohnt hier", "Gross"),
        ("Herr Gross wohnt hier", "Groß"),
        ("DIE GROẞE STRAẞE", "große straße"),
        ("Bjørn og Łukasz", "bjorn lukasz"),
        ("Tiếng Việt", "tieng viet"),
        ("переезд в Москву", "Москву"),
        ("she runs daily", "running"),
        ("ISO 漢字コード 9001", "iso9001 9001"),
    ],
)
def test_other_languages_are_found_and_the_wrong_text_is_not(text: str, query: str) -> None:
    assert found(store("something else entirely 北海", text), query) == [2]


def test_plain_text_is_stored_as_it_is() -> None:
    assert segment("plain words") == "plain words"
    assert segment("é漢字b").split() == ["é", "漢", "字", "b"]


def test_every_latin_letter_is_folded_like_fts5() -> None:
    letters = [
        c
        for c in map(chr, range(0xC0, 0x180))
        if c.isalpha() and unicodedata.normalize("NFD", c)[0].isascii()
    ]
    db = store(*(f"x{c}y" for c in letters))
    for row, letter in enumerate(letters, 1):
        assert row in found(db, f"x{letter}y"), letter


def test_fold_forgets_case_accents_and_spaces() -> None:
    assert fold("  José   GRÜẞE ") == "jose grusse"
    assert fold("Bjørn Æsop") == "bjorn aesop"


def test_a_name_with_an_umlaut_is_also_written_without() -> None:
    assert spellings("Jürgen Groß") == ("jurgen gross", "juergen gross")
    assert spellings("Mu\u0308ller") == ("muller", "mueller")
    assert spellings("Michael") == ("michael",)


@pytest.mark.parametrize("asked", ["Was mag Jürgen?", "Was mag Juergen?"])
def test_both_spellings_of_a_name_fit_both(asked: str) -> None:
    about = [spellings("Jürgen"), spellings("Juergen"), spellings("Michael")]
    assert name_shares(analyse(asked), about) == [1.0, 1.0, 0.0]


def test_text_that_needs_no_spelling_out_is_not_copied() -> None:
    text = "schöne Grüsse"
    assert segment(text) is text


def test_a_question_mark_asks() -> None:
    assert asks("Bob: really? ok")
    assert asks("本当？")
    assert not asks("Bob: no")


def test_shares_count_only_names_somebody_has() -> None:
    terms = analyse("Did Caroline and Melanie meet Zorro?")
    assert name_shares(terms, [["caroline smith"], ["melanie"], ["melanie", "caroline"], []]) == [
        0.5,
        0.5,
        1.0,
        0.0,
    ]


def test_lower_case_words_match_a_whole_name_but_not_a_part() -> None:
    assert name_shares(
        analyse("when did caroline start the project"), [["caroline"], ["project alpha"]]
    ) == [1.0, 0.0]
    assert name_shares(analyse("Start of Project?"), [["project alpha"]]) == [1.0]


def test_nobody_known_is_no_signal() -> None:
    assert name_shares(analyse("Who is Zorro?"), [["caroline"], []]) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("query", "dates"),
    [
        ("What happened on October 13, 2023?", [(2023, 10, 13)]),
        ("on 3rd of Jan. 2020 and 1 FEBRUARY", [(2020, 1, 3), (None, 2, 1)]),
        ("camping in June, or in July 2022", [(None, 6, None), (2022, 7, None)]),
        (
            "since 2021-05 or on 2021-05-06 or in 2019",
            [(2021, 5, None), (2021, 5, 6), (2019, None, None)],
        ),
        ("May I march with June in 2100 steps at 2023?", []),
        ("12:30, 1/2/2023, 45 May, item 2023-13", []),
    ],
)
def test_dates(query: str, dates: list[tuple[int | None, int | None, int | None]]) -> None:
    assert [(period.year, period.month, period.day) for period in analyse(query).dates] == dates


@pytest.mark.parametrize(
    ("query", "dates", "names"),
    [
        ("¿Qué compramos en marzo de 2024?", [(2024, 3, None)], ()),
        ("¿Qué pasó el 5 de mayo?", [(None, 5, 5)], ()),
        ("Was haben wir im März gekauft?", [(None, 3, None)], ()),
        ("Wer kam am 3. Mai 2024?", [(2024, 5, 3)], ()),
        ("Qui est venu le 1er aout 2023 ?", [(2023, 8, 1)], ()),
        ("où étions-nous en 2022 ?", [(2022, None, None)], ()),
        ("¿dónde está el mar?", [], ()), ("Quand sont venus les sept nains ?", [], ()),
    ],
)  # fmt: skip
def test_dates_in_a_question_of_another_language(
    query: str, dates: list[tuple[int | None, ...]], names: tuple[str, ...]
) -> None:
    terms = analyse(query, dict.fromkeys(("de", "es", "fr"), 0.2))
    assert [(period.year, period.month, period.day) for period in terms.dates] == dates
    assert terms.names == names


def test_a_month_in_a_date_is_not_a_name() -> None:
    assert analyse("Did April sing in June with Ann in Rome?").names == ("april", "ann", "rome")


def test_a_memory_of_the_day_has_full_share_and_a_week_halves_it() -> None:
    when = [date(2023, 10, 13), date(2023, 10, 20), date(2023, 10, 6), date(2020, 1, 1), None]
    assert [round(share, 3) for share in date_shares(analyse("on 13 October 2023"), when)] == [
        1.0,
        0.5,
        0.5,
        0.0,
        0.0,
    ]
    assert date_shares(analyse("who sang?"), when) == [0.0] * 5


def test_a_month_without_a_year_is_that_of_any_year() -> None:
    assert date_shares(analyse("in December"), [date(1999, 12, 5), date(2024, 1, 7)]) == [1.0, 0.5]
    assert date_shares(analyse("on 30 February"), [date(2024, 2, 29), date(1, 1, 1)])[0] == 1.0


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("Caroline: Hey Mel!", "Caroline"),
        ("**Anna Schmidt:** hello", "Anna Schmidt"),
        ("**Bob**: hello", "Bob"),
        ("- user: my dog", "user"),
        ("田中：こんにちは", None),
        ("田中： こんにちは", "田中"),
        ("Note: buy milk", None),
        ("Why: because", None),
        ("https://example.org is down", None),
        ("the plan: go", None),
        ("A Very Long Title Here: go", None),
        ("12:30 lunch", None),
        ("Ann: hi\n\nBob: hello\n\nAnn: bye", None),
        ("Ann: hi\n\nNote: she waved\n\nAnn: bye", "Ann"),
        ("no colon", None),
        ("", None),
    ],
)
def test_who_speaks(text: str, who: str | None) -> None:
    assert speaker_of(text) == who


@pytest.mark.parametrize(
    ("question", "put"),
    [
        ("Where does Garvan live?", "Where does I live?"),
        ("What is wrong with Garvan's knee?", "What is wrong with my knee?"),
        ("Does Ada Lovelace’s cat know Ada?", "Does my cat know I?"),
        ("where is the key?", "where is the key?"),
    ],
)
def test_a_question_as_whom_it_names_would_put_it(question: str, put: str) -> None:
    assert of_speaker(question, analyse(question).names) == put


def test_stop_words_are_folded_tokens() -> None:
    assert all(list(analyse(word).words) == [word] for word in STOP_WORDS)
    assert isinstance(analyse("x"), QueryTerms)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("On the way — home, again", [1]),
        ("the home way again on", []),
        ('the boat "on the way" or “red boat”', [1, 2]),
        ("帰り道で赤い船を見た", [3]),
        ("赤い船で帰り道を見た", []),
    ],
)
def test_words_that_are_wanted_as_they_stand(query: str, rows: list[int]) -> None:
    db = store(
        "We met on the way home, again.", "a red boat, home again", "昨日帰り道で赤い船を見た。"
    )
    asked = (verbatim(query),)
    assert [row for (row,) in db.execute("select rowid from t where t match ?", asked)] == rows


@pytest.mark.parametrize("query", ["on the way home?", "three words only", '"one" more', ""])
def test_few_words_and_questions_are_not_wanted_as_they_stand(query: str) -> None:
    assert verbatim(query) == ""
