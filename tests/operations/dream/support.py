"""A vault in which some memories say the same, and judges that say what a test wants."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oneiro_vault.app import App
from oneiro_vault.core.question import Question
from oneiro_vault.judges.base import Judge
from tests.judges.scripted import ScriptedJudge

TWINS = (
    "The staging database is restored from backup every night at two.",
    "The staging database is restored from the backup every night at two.",
    "Ana prefers the release on Fridays because support is quiet then.",
    "Ana prefers the releases on Fridays because support is quiet then.",
)
OTHERS = (
    "The boat is called Petrel.",
    "Invoices are paid on the tenth.",
    "The kitchen tap drips in winter.",
)
SETTINGS: dict[str, Any] = {
    "embed.model": "hash",
    "disk.reserve": 0,
    "edits.quiet": 0.0,
    "consolidate.similarity": 0.8,
}


def merge(question: Question) -> dict[str, Any]:
    """The first memory stands for all."""
    first, *others = question.ids
    return {"action": "merge", "reason": "they say the same", "keep": first, "members": others}


def merged(question: Mapping[str, Any]) -> dict[str, Any]:
    """What somebody answers who is shown `question` and says that all of it is one memory."""
    first, *others = question["ids"]
    return {"action": "merge", "reason": "the same", "keep": first, "members": others}


def fill(app: App, *texts: str) -> list[str]:
    """Store texts, whatever they repeat; their ids."""
    found = app.call("remember", {"items": [{"text": text} for text in texts], "dedupe": False})[
        "results"
    ]
    return [row["id"] for row in found]


def judged(app: App, judge: Judge | None = None) -> Judge:
    """Let this judge answer everything in this vault."""
    made = judge or ScriptedJudge(merge)
    app.house.dreams.judges = lambda _name: made
    return made


def dream(app: App, *loops: str, **params: Any) -> dict[str, Any]:
    """Run loops (`consolidate` when none is named); the first run."""
    runs: list[dict[str, Any]] = app.call(
        "dream", {"loops": list(loops or ("consolidate",)), **params}
    )["runs"]
    return runs[0]


def git(root: Path, *words: str) -> str:
    """What git says."""
    return subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=60
    ).stdout


def tree(root: Path) -> dict[str, bytes]:
    """Every file of the vault but what git and the index keep."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.relative_to(root).parts[0] not in (".git", ".oneiro")
    }


def statuses(app: App) -> dict[str, str]:
    """id -> status of every note that has an id."""
    return {row.id: row.status for row in app.house.index.list(limit=10_000) if row.id}


@contextmanager
def during(app: App, act: Any) -> Iterator[None]:
    """Let something happen while the judge thinks: `act` is called with its first question."""
    done: list[bool] = []

    def script(question: Question) -> dict[str, Any]:
        if not done:
            done.append(True)
            act()
        return merge(question)

    judged(app, ScriptedJudge(script))
    yield
