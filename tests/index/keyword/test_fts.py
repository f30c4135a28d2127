"""Keyword search: exact where it can be, nearly exact where that would take too long."""

from __future__ import annotations

import random
import sqlite3

import pytest

from oneiro_vault.index.keyword import database, fts
from oneiro_vault.index.keyword.fts import Frequencies

WORDS = [f"word{i}" for i in range(200)]


@pytest.fixture
def db(tmp_path_factory: pytest.TempPathFactory) -> sqlite3.Connection:
    db = database.create(tmp_path_factory.mktemp("t") / "x.db")
    pick = random.Random(3)
    rows = [
        (key, "", "", "", " ".join(pick.choices(WORDS, weights=range(200, 0, -1), k=20)))
        for key in range(1, 801)
    ]
    database.put(db, "own", rows)
    db.executemany(
        "INSERT INTO notes (key, path) VALUES (?, ?)",
        ((key, f"{9999 - key}.md") for key, *_ in rows),
    )
    return db


def ask(*words: str) -> str:
    return " OR ".join(f'"{word}"' for word in words)


def test_the_best_rows_in_order(db: sqlite3.Connection) -> None:
    everything = fts.scores(db, "own", ask("word3", "word150"), None)
    found = fts.search(db, "own", ask("word3", "word150"), 20, None, Frequencies())
    assert [score for _, score in found] == sorted(everything.values(), reverse=True)[:20]
    assert dict(found).items() <= everything.items()
    assert all(score > 0 for _, score in found)


def test_of_equals_at_the_end_those_with_the_first_paths(db: sqlite3.Connection) -> None:
    everything = fts.scores(db, "own", ask("word3"), None)
    by_path = sorted(everything.items(), key=lambda pair: (-pair[1], -pair[0]))
    limits = [n for n in range(1, len(by_path)) if by_path[n - 1][1] == by_path[n][1]]
    assert len(limits) > 20
    for limit in limits:
        assert set(fts.search(db, "own", ask("word3"), limit, None, Frequencies())) == set(
            by_path[:limit]
        )


def test_those_with_every_word_shortest_first(db: sqlite3.Connection) -> None:
    database.put(
        db, "own", [(900 + n, "", "", "", "harbour master " + "boats " * n) for n in range(5)]
    )
    kinds = ["semantic", "semantic", "semantic", "episodic", "semantic"]
    rows = [
        (900 + n, str(900 + n), kind, "superseded" if n == 0 else "active")
        for n, kind in enumerate(kinds)
    ]
    db.executemany("INSERT INTO notes (key, path, type, status) VALUES (?, ?, ?, ?)", rows)
    db.executemany(
        "INSERT INTO stats (path, size) VALUES (?, ?)", [("901", 30), ("902", 20), ("904", 10)]
    )
    assert fts.holding(db, ["master", "harbour", "boats"], "semantic", 2) == [904, 902]
    assert fts.holding(db, {"harbour", "ferry"}, "semantic", 2) == []
    assert fts.holding(db, [], "semantic", 2) == []


def test_only_allowed_rows(db: sqlite3.Connection) -> None:
    allowed = set(range(1, 801, 3))
    everything = fts.scores(db, "own", ask("word3"), None)
    found = fts.search(db, "own", ask("word3"), 1000, allowed, Frequencies())
    assert dict(found) == {key: score for key, score in everything.items() if key in allowed}


def test_a_big_vault_is_searched_by_its_rarest_words_and_scored_by_all(
    db: sqlite3.Connection,
) -> None:
    question = ask("word95", "word96", "word190", "word195")
    narrow = Frequencies(big=100, rows=60)
    assert set(narrow.narrow(db, "own", question).split(" OR ")) == {'"word190"', '"word195"'}
    exact = fts.scores(db, "own", question, None)
    found = fts.search(db, "own", question, 10, None, narrow)
    assert all(score == pytest.approx(exact[key]) for key, score in found)
    best = [key for key, _ in sorted(exact.items(), key=lambda pair: -pair[1])[:10]]
    assert len(set(best) & {key for key, _ in found}) >= 8


def test_words_in_every_eighth_note_of_a_big_vault_count_for_nothing_beside_rarer_ones(
    db: sqlite3.Connection,
) -> None:
    big = Frequencies(big=100)
    assert big.telling(db, "own", ask("word0", "word1", "word195")) == '"word195"'
    assert big.telling(db, "own", ask("word0", "word1")) == ask("word0", "word1")
    assert big.telling(db, "own", ask("word0", "nowhere")) == ask("word0", "nowhere")
    assert Frequencies().telling(db, "own", ask("word0", "word195")) == ask("word0", "word195")
    found = dict(fts.search(db, "own", ask("word0", "word195"), 5, None, big))
    assert fts.scores(db, "own", ask("word0", "word195"), list(found), big) == pytest.approx(found)


def test_the_rarest_word_is_always_kept_and_unknown_ones_do_not_count(
    db: sqlite3.Connection,
) -> None:
    narrow = Frequencies(big=100, rows=1)
    assert narrow.narrow(db, "own", ask("word0", "word1", "nowhere")) == '"word1"'
    assert narrow.narrow(db, "own", ask("nowhere", "neither")) == ask("nowhere", "neither")


def test_other_expressions_are_left_alone(db: sqlite3.Connection) -> None:
    for expression in ('"word0" AND "word1"', "word0 NEAR word1", '("word0")'):
        assert Frequencies(big=1).narrow(db, "own", expression) == expression


def test_what_is_remembered_is_forgotten_when_the_index_changes(db: sqlite3.Connection) -> None:
    recent = Frequencies()
    assert recent.all(db, "own", ["brandnew"]) == {"brandnew": 0}
    assert fts.search(db, "own", ask("brandnew"), 5, None, recent) == []
    database.put(db, "own", [(900, "", "", "", "brandnew")])
    db.execute("UPDATE meta SET value = value + 1 WHERE name = 'generation'")
    assert recent.all(db, "own", ["brandnew"]) == {"brandnew": 1}
    assert [key for key, _ in fts.search(db, "own", ask("brandnew"), 5, None, recent)] == [900]
    assert fts.scores(db, "own", ask("brandnew"), [900, 1], recent).keys() == {900}


def test_the_title_weighs_most(db: sqlite3.Connection) -> None:
    database.put(
        db,
        "own",
        [(901, "quokka", "", "", "filler " * 20), (902, "", "", "", "quokka " + "filler " * 20)],
    )
    assert [key for key, _ in fts.search(db, "own", ask("quokka"), 5, None, Frequencies())] == [
        901,
        902,
    ]


def test_any_text_can_be_quoted(db: sqlite3.Connection) -> None:
    for phrase in ('a"b', "x* OR y", "(", "NEAR(", "", "東京", "\0"):
        Frequencies().all(db, "own", [phrase])


def test_damage_between_words_and_text_is_found(db: sqlite3.Connection) -> None:
    assert fts.sound(db) == ""
    db.execute("UPDATE own_content SET c3 = 'other' WHERE id = 5")
    assert "does not fit" in fts.sound(db)
