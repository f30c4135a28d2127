"""Questions that wait for the connected model or a person: one file each, answered at any time,
found again by the next run."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from oneiro_vault import answers
from oneiro_vault.core.question import Question, Raw


class DeferredJudge:
    """Parks what it is asked in `folder` as `<id>.json`; an answer somebody put beside it
    (`<id>.answer.json`) is taken up by `ask`."""

    name = "deferred"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """Answers that are there; the others wait."""
        for question in questions:
            answer = self.answered(question)
            if answer is None:
                self.park(question)
                yield question.id, Raw(problem="waits for an answer", waits=True)
            else:
                yield question.id, Raw(answer)

    def close(self) -> None:
        """Nothing to let go of."""

    def answered(self, question: Question) -> dict[str, Any] | None:
        """What somebody answered meanwhile."""
        return _read(self._folder / f"{question.id}.answer.json")

    def park(self, question: Question) -> None:
        """Let it wait."""
        entry = {
            "id": question.id,
            "kind": question.kind,
            "stage": question.stage,
            "prompt": question.prompt(),
            "instruction": question.instruction,
            "memories": [one.brief() for one in question.shown],
            "given": question.given,
            "schema": question.schema,
            "ids": list(question.ids),
        }
        _write(self._folder / f"{question.id}.json", entry)


def waiting(folder: Path) -> list[answers.Question]:
    """Parked questions without an answer, oldest first; one that another version parked is parked
    anew by the next run of its loop."""
    found = [path for path in folder.glob("*.json") if not path.name.endswith(".answer.json")]
    open_ = [path for path in found if not path.with_suffix(".answer.json").exists()]
    entries = [
        _read(path) for path in sorted(open_, key=lambda path: (path.stat().st_mtime_ns, path.name))
    ]
    return [
        cast(answers.Question, entry)
        for entry in entries
        if entry is not None and "memories" in entry
    ]


def answer(folder: Path, ident: str, said: Mapping[str, Any]) -> bool:
    """Put an answer beside its question; False when no such question waits."""
    if not ident.isalnum() or not (folder / f"{ident}.json").exists():
        return False
    _write(folder / f"{ident}.answer.json", dict(said))
    return True


def drop(folder: Path, idents: Sequence[str]) -> None:
    """Forget questions that are settled, or that nobody asks any more."""
    for ident in idents:
        for name in (f"{ident}.json", f"{ident}.answer.json"):
            with suppress(OSError):
                (folder / name).unlink()


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _write(path: Path, entry: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temp = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(entry, file, ensure_ascii=False, indent=1)
    Path(temp).replace(path)
