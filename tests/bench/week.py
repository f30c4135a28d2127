"""What a week's questions cost the connected model: calls, and characters in both directions.

The same judge answers every question twice, as the tools show it and as the loop asked it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from oneiro_vault.app import App, init_vault
from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.deferred import DeferredJudge
from oneiro_vault.operations.dream import choose_judge
from oneiro_vault.settings.definitions import Settings
from tests.bench.kit import Row
from tests.month.connected import Account, Script, converse, without_null
from tests.month.judge import answer
from tests.month.life import Clock
from tests.month.story import START, Talk, story

DAYS: Final = 7
NIGHTS: Final = 3
"""Nights after the week: what is made of its facts asks again."""


@dataclass
class Parking:
    """Lets every question wait, and keeps it as the loop asked it."""

    folder: Path
    asked: dict[str, Question] = field(default_factory=dict)
    name: str = DeferredJudge.name

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """As `DeferredJudge` does."""
        self.asked |= {question.id: question for question in questions}
        return DeferredJudge(self.folder).ask(questions)

    def agrees(self, script: Script, short: str, read: Question, said: dict[str, Any]) -> bool:
        """Is the whole question answered as the one that was read?"""
        for ident, one in reversed(self.asked.items()):
            if ident.startswith(short) and len(one.ids) == len(read.ids) and one.kind == read.kind:
                names = dict(zip(read.ids, one.ids, strict=True))
                return bool(_named(said, names) == without_null(script(one)))
        return False

    def close(self) -> None:
        """Nothing to let go of."""


def run(_scale: int) -> Iterator[Row]:
    """A week of the month's story, answered in one go and in the nights after it."""
    talks = [talk for day in story(days=DAYS) for talk in day]
    found, differ = week(talks, answer)
    yield Row(
        f"{len(talks)} conversations: calls of the connected model",
        found.calls,
        None,
        "<= 40",
        "calls",
    )
    yield Row("characters it reads", found.heard.total(), None, "<= 60000", "characters")
    yield Row("characters of its answers", found.said.total(), None, "<= 60000", "characters")
    yield Row(
        "answers that differ where the whole question is read", differ, None, "<= 0", "answers"
    )


def week(talks: Sequence[Talk], script: Script) -> tuple[Account, int]:
    """(what it took, how many questions are answered otherwise where they are read whole)."""
    account = Account()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "vault"
        init_vault(root)
        clock = Clock(START.timestamp())
        given: dict[str, Any] = {"embed.model": "hash", "disk.reserve": 0, "edits.quiet": 0.0}
        with App.open(root, Settings(given | {"dreams.judge": "deferred"}), clock=clock) as app:
            parking = Parking(choose_judge.folder(app.house.dreams))
            app.house.dreams.judges = lambda _name: parking
            for talk in talks:
                clock.now = talk.when.timestamp()
                said = {"text": talk.text, "kind": "session", "session": talk.session}
                app.call("capture", said | {"when": talk.when.isoformat()})
            for _ in range(NIGHTS):
                clock.now += 86_400
                app.call("dream", {})
                converse(app, script, account)
    return account, sum(not parking.agrees(script, *one) for one in account.answers)


def _named(value: Any, names: Mapping[str, str]) -> Any:
    """An answer with whole ids for short ones."""
    if isinstance(value, dict):
        return {key: _named(held, names) for key, held in value.items()}
    if isinstance(value, list):
        return [_named(held, names) for held in value]
    return names.get(value, value) if isinstance(value, str) else value
