"""The same notes and questions in four languages, and how many of the questions find their note by
keywords alone."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

from oneiro_vault.app import App
from oneiro_vault.core.text.language import stop_words
from oneiro_vault.core.text.query import tokens
from oneiro_vault.recall.request import Asked
from oneiro_vault.recall.search import Search
from oneiro_vault.settings.definitions import Settings
from tests.copies import new_vault

TWINS: Final = Path(__file__).with_suffix(".jsonl")
PARTS: Final = Path(__file__).with_suffix(".json")
LANGUAGES: Final = ("en", "es", "fr", "de")
OTHERS: Final = 480
"""Notes beside those that are asked for, in each language, of the same words."""


def twins() -> list[dict[str, Any]]:
    """Rows of `note` and `question`, each in all languages."""
    return [json.loads(line) for line in TWINS.read_text(encoding="utf-8").splitlines()]


def fill(root: Path, languages: Collection[str]) -> None:
    """Write what is asked for (`LANGUAGE-NUMBER.md`) and the others into a vault."""
    for language in languages:
        for number, row in enumerate(twins()):
            (root / f"{language}-{number}.md").write_text(
                row["note"][language] + "\n", encoding="utf-8"
            )
        for number, sentence in enumerate(others(language)):
            (root / f"{language}-other-{number}.md").write_text(sentence + "\n", encoding="utf-8")


def others(language: str) -> Iterator[str]:
    """Sentences of the same words as those that are asked for."""
    pick = random.Random(1)  # the same choices in every language
    parts = json.loads(PARTS.read_text(encoding="utf-8"))[language]
    for _ in range(OTHERS):
        yield parts["form"].format(
            **{
                name: parts[name][pick.randrange(len(parts[name]))]
                for name in ("who", "did", "what", "where")
            }
        )


def recalled(root: Path, languages: Collection[str]) -> dict[str, tuple[float, float]]:
    """Language -> Recall@10 by keywords, of the questions and of their content words each alone, in
    a new vault at `root` with the notes of all these languages."""
    new_vault(root)
    fill(root, languages)
    with App.open(root, Settings({"embed.model": "hash", "disk.reserve": 0})) as app:
        app.house.indexing.reconcile()
        search = Search(app.house.index, app.house.uses.remembered())
        return {language: _share(search, language) for language in languages}


def _share(search: Search, language: str) -> tuple[float, float]:
    questions = [
        (row["question"][language], f"{language}-{number}.md") for number, row in enumerate(twins())
    ]
    idle = stop_words(language)
    words = [(word, path) for text, path in questions for word in tokens(text) if word not in idle]
    return _found(search, questions), _found(search, words)


def _found(search: Search, asked: Collection[tuple[str, str]]) -> float:
    return sum(
        path in [one.row.path for one in search.run(Asked(text, 10), None)] for text, path in asked
    ) / len(asked)
