"""Nobody: loops only say what they would ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oneiro_vault.core.question import Question, Raw


class Nobody:
    """Leaves every question open."""

    name = "none"

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """Nothing is answered, and nothing has failed."""
        for question in questions:
            yield question.id, Raw(problem="there is no judge", waits=True)

    def close(self) -> None:
        """Nothing to let go of."""
