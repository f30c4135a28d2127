"""What recall says where a vault knows nothing: questions of others, and its own."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from oneiro_vault.app import App, init_vault
from oneiro_vault.settings.definitions import Settings
from tests.bench.kit import Row
from tests.copies import indexed
from tests.month import life, story
from tests.recall import domains, languages

ASKED = 20
"""Questions of either kind in each vault, where it has so many notes."""


def run(scale: int) -> Iterator[Row]:
    """The share of first rows without a mark among questions that have nothing to do with a vault,
    and of any first row among those a note answers; `scale` changes nothing."""
    rng = random.Random(5)
    own: list[list[bool | None]] = []
    foreign: list[list[bool | None]] = []
    for pairs, others in vaults():
        mine = [question for _, question in pairs]
        theirs = rng.sample(others, ASKED // 2) + rng.sample(domains.general(), ASKED // 2)
        answers = first_rows([note for note, _ in pairs], mine[:ASKED] + theirs)
        own.append(answers[: len(answers) - ASKED])
        foreign.append(answers[-ASKED:])
    lived = month()
    own.append(lived[: len(lived) - ASKED])
    foreign.append(lived[-ASKED:])
    yield Row(
        "unrelated questions to a month's vault whose first row has no mark",
        _share([row is False for row in foreign[-1]]),
        None,
        "<= 0.05",
        "",
    )
    related, unrelated = ([row for rows in some for row in rows] for some in (own, foreign))
    unmarked = [row is False for row in unrelated]
    shown = [row is not None for row in related]
    clear = [row is False for row in related]
    yield Row(
        "unrelated questions whose first row has no mark", _share(unmarked), None, "<= 0.05", ""
    )
    yield Row("related questions that get a row", _share(shown), None, ">= 0.95", "")
    yield Row("related questions whose first row has no mark", _share(clear), None, ">= 0.85", "")


def vaults() -> Iterator[tuple[list[tuple[str, str]], list[str]]]:
    """(notes with a question each, questions of other vaults): eight of 5 to 12 notes, one of 48
    and one of 200, of which most are asked for nothing."""
    kinds = domains.pairs()
    for at, size in enumerate((5, 6, 8, 9, 10, 11, 12, 12)):
        yield (
            kinds[at][:size],
            [question for kind in kinds if kind is not kinds[at] for _, question in kind],
        )
    half = [pair for kind in kinds[:4] for pair in kind]
    rest = [pair for kind in kinds[4:] for pair in kind]
    yield half[::-1], [question for _, question in rest]
    filling = [(note, "") for note in list(languages.others("en"))[: 200 - len(rest)]]
    yield [*rest[::-1], *filling], [question for _, question in half]


def first_rows(notes: Sequence[str], questions: Sequence[str]) -> list[bool | None]:
    """For each question whether the first row is marked as weak; None without a row. A note without
    a question is not asked for."""
    with filed(notes) as app:
        return _first(app, questions)


@contextmanager
def filed(notes: Sequence[str]) -> Iterator[App]:
    """A new vault with these notes."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        init_vault(root)
        with App.open(root, Settings({"disk.reserve": 0})) as app:
            app.call("remember", {"items": [{"text": note} for note in notes], "dedupe": False})
            indexed(app)
            yield app


def month() -> list[bool | None]:
    """The same of a month of conversations with its nights, judged by rules: its own questions,
    then unrelated ones."""
    rng = random.Random(5)
    others = [question for kind in domains.pairs() for _, question in kind]
    asked = [thread.question for thread in story.THREADS if thread.at(story.DAYS - 1)]
    asked = (
        rng.sample(asked, ASKED)
        + rng.sample(others, ASKED // 2)
        + rng.sample(domains.general(), ASKED // 2)
    )
    with tempfile.TemporaryDirectory() as folder:
        lived = life.live(Path(folder) / "vault", None, settings={"embed.model": "default"})
        with lived.app as app:
            indexed(app)
            return _first(app, asked)


def _first(app: App, questions: Sequence[str]) -> list[bool | None]:
    found = [
        app.call("recall", {"query": question, "k": 5})["results"]
        for question in questions
        if question
    ]
    return [rows[0]["weak"] if rows else None for rows in found]


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values)
