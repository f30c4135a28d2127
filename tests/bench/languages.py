"""Keywords in other languages than English, against the same notes and questions in English."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.kit import Row
from tests.recall.languages import LANGUAGES, recalled


def run(scale: int) -> Iterator[Row]:
    """Recall@10 in a vault of each language, and of single words in one of all four; `scale`
    changes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        alone = {
            language: recalled(Path(folder) / language, [language])[language]
            for language in LANGUAGES
        }
        together = recalled(Path(folder) / "all", LANGUAGES)
    for language in LANGUAGES[1:]:
        yield Row(
            f"Recall@10 of questions by keywords, {language} / en",
            alone[language][0],
            alone["en"][0],
            ">= 0.95",
            "",
        )
        yield Row(
            f"Recall@10 of single words, {language} / en",
            alone[language][1],
            alone["en"][1],
            ">= 0.95",
            "",
        )
        yield Row(
            f"the same in a vault of four languages, {language} / en",
            together[language][1],
            together["en"][1],
            ">= 0.95",
            "",
        )
