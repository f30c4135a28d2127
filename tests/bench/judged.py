"""A month of conversations whose nights are judged by somebody at a folder: a model that is not
reachable by an API, or a person.

`python -m tests.bench.judged MONTH FOLDER` lives the month with a night every fourth day. Each
question stands as `FOLDER/0001.prompt`, word for word what a program of `dreams.command` would read,
until its answer (JSON) stands beside it as `0001.answer`. At the end the same figures as of
`tests.bench.months`, where questions call the person "the user", as judges do.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.base import SYSTEM, in_words, json_in, used
from tests.bench import months
from tests.bench.labelled import Fact, Labelled

EVERY: Final = timedelta(days=4)
"""Between two nights: whoever answers has some fifty rounds to answer, not two hundred."""
_TICK: Final = 0.3


class FolderJudge:
    """Asks through files, and waits as long as it takes."""

    name = "command:folder"
    at_once = 60

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.asked = 0

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """All at once; each answer as it comes."""
        waiting: dict[Path, tuple[Question, str]] = {}
        for question in questions:
            self.asked += 1
            sent = f"{SYSTEM}\n\n{in_words(question)}\n"
            path = self.folder / f"{self.asked:04}.prompt"
            _put(path, sent)
            waiting[path.with_suffix(".answer")] = question, sent
        while waiting:
            for path in [path for path in waiting if path.exists()]:
                question, sent = waiting.pop(path)
                said = path.read_text(encoding="utf-8")
                yield question.id, Raw(json_in(said), **used(sent, said))
            time.sleep(_TICK)

    def close(self) -> None:
        """Nothing goes on behind it."""


def of_the_user(month: Labelled) -> list[Fact]:
    """The facts of a month, asked of "the user" in place of the person's name."""

    def said(question: str) -> str:
        whose = re.sub(rf"\b{month.person}['’]s\b", "the user's", question)
        return re.sub(rf"\b{month.person}\b", "the user", whose)

    return [
        replace(fact, question=said(fact.question), history_question=said(fact.history_question))
        for fact in month.facts
    ]


def _put(path: Path, words: str) -> None:
    """Whole or not at all: whoever looks for prompts reads none that is half written."""
    part = path.with_suffix(".part")
    part.write_text(words, encoding="utf-8")
    part.rename(path)


def main() -> None:
    """Live it, and print what is known at its end and every miss."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("month", type=Path)
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    month, judge = Labelled(asked.month), FolderJudge(asked.folder)
    with months.lived(month, asked.folder / "vault", judge, EVERY) as (app, retired):
        month.facts = of_the_user(month)
        result = months.measure(app, month, months.notes(app, retired))
    for name, (hits, all_) in result.found.items():
        print(f"{months.MEASURES[name]}: {hits} of {all_}")
        for miss in result.misses.get(name, ()):
            print(f"    {' '.join(miss.split())}")
    print(f"{judge.asked} questions")


if __name__ == "__main__":
    main()
