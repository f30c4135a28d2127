"""What loops did and why, answered from the history and the ledger alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from oneiro_vault import answers
from oneiro_vault.core.memory import epoch
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.errors import OneiroError
from oneiro_vault.operations.history import note_change
from oneiro_vault.operations.history.diff import probes_of
from oneiro_vault.vault.history.commit_log import Entry
from oneiro_vault.vault.history.undo import OF_SOURCE, REPORTS
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import is_note

_UNDONE: Final = re.compile(r"undo of run ([0-9a-z-]+)")
EVENT: Final = "run"
"""Kind of the ledger's events for runs that decided nothing: `id` of the first of them, `loops`,
`judge`, `title`, `since`."""
LAST: Final = "last"
_PAUSE: Final = 3600.0
"""Seconds between two runs of different nights, at least."""
_COST: Final = re.compile(r"(?m)^## Cost\n\n(.+)$")


@dataclass(frozen=True)
class _Back:
    """What was taken back, and by which commit: whole runs, single commits; and commits with all
    that came from a source."""

    runs: Mapping[str, str]
    commits: Mapping[str, str]
    sources: frozenset[str]

    def has(self, run: str, commit: str) -> bool:
        """Does the decision of this commit no longer stand?"""
        return run in self.runs or commit in self.commits or commit in self.sources


def runs(
    vault: Vault,
    clock: Callable[[], float],
    /,
    since: str | None = None,
    until: str | None = None,
    loop: str | None = None,
    limit: int = 50,
    night: str | None = None,
    changes: bool = False,
) -> answers.Runs:
    """Runs of loops, newest first, each with its decisions, taken back or not. `night`: those of
    the night of this run, or of the `last` that changed something. `changes`: also what each
    decision made of which notes, word by word, and the report. Raises InvalidInput."""
    now = dates.local(clock())
    start = dates.parse_range(since, now)[0] if since else None
    end = dates.parse_range(until, now)[1] if until else None
    found: dict[str, list[Entry]] = {}
    history = vault.history
    for entry in history.runs() if vault.head() else ():
        found.setdefault(entry.run, []).append(entry)
    undoings = list(_standing(history.undoings())) if found else []
    made = [entry for entries in found.values() for entry in entries if entry.decision]
    back = _Back(
        {m[1]: one.commit for one in undoings if (m := _UNDONE.fullmatch(one.reason))},
        {one.undoes: one.commit for one in undoings},
        frozenset(commit for one in undoings for commit in _with_source(vault, one, made)),
    )
    idle = [
        event
        for event in vault.ledger.events()
        if event.get("e") == EVENT and event.get("id") not in found
    ]
    rows: list[tuple[float, answers.PastRun]] = [
        (epoch(row["started"]) or 0.0, row) for row in map(_idle, reversed(idle))
    ]
    rows += [(entries[-1].when, _run(name, entries, back)) for name, entries in found.items()]
    rows.sort(key=lambda pair: pair[0], reverse=True)
    _into_nights(rows)
    began = _night([row for _, row in rows], night) if night else None
    wanted = [
        row
        for when, row in rows
        if (start is None or start <= when)
        and (end is None or when < end)
        and (loop is None or loop in row["loops"])
        and began in (None, row["night"])
    ]
    shown = wanted[: max(1, limit)]
    for row in shown:
        _tell(vault, row, changes)
    return {"schema": 1, "runs": shown, "total": len(wanted)}


def _into_nights(rows: Sequence[tuple[float, answers.PastRun]]) -> None:
    """Runs, newest first, that follow one another without a pause are of one night."""
    before, night = float("-inf"), ""
    for when, row in reversed(rows):
        night = night if when - before < _PAUSE else row["started"]
        row["night"], before = night, when


def _night(rows: Sequence[answers.PastRun], of: str) -> str:
    """When the night began that a run is of; "" when there is no such run."""
    meant = (row for row in rows if row["run"] == of or (of == LAST and row["decisions"]))
    return next((row["night"] for row in meant), "")


def _tell(vault: Vault, row: answers.PastRun, changes: bool) -> None:
    """What its report says of it; with `changes`, all of it, and what its decisions changed."""
    from oneiro_vault.mind.report import costs_of  # with much behind it

    words = ""
    with suppress(OneiroError, OSError):  # a person may have deleted it
        if row["report"]:
            data = vault.secrets.shown(vault.files.read(row["report"]))
            note = note_change.parsed(row["report"], data)
            words = note.body if note else ""
    if probes := probes_of(words):
        names = ("probes", "before", "after", "dropped")
        row["recall"] = dict(zip(names, probes, strict=True))
    if cost := _COST.search(words):
        row["cost"] = cost[1]
        _, tokens_in, tokens_out, row["spent"] = costs_of(words)
        row["tokens"] = tokens_in + tokens_out
    if changes:
        row["words"] = words
        for one in row["decisions"]:
            one["changes"] = note_change.in_commit(vault, one["commit"])


def _standing(undoings: Iterable[Entry]) -> Iterator[Entry]:
    """Those, newest first, that were not taken back themselves."""
    gone = set()
    for one in undoings:
        if one.commit not in gone:
            gone.add(one.undoes)
            yield one


def _with_source(vault: Vault, undo: Entry, made: Sequence[Entry]) -> Iterator[str]:
    """The commits among `made` that were taken back with all of a source: each of their notes has
    the bytes it had before them."""
    if not undo.reason.startswith(OF_SOURCE):
        return
    notes = {path for path in undo.paths if is_note(path)}
    touching = [one for one in made if notes.intersection(one.paths)]
    if not touching:
        return
    since = _since(
        vault, undo, sorted(notes.intersection(path for one in touching for path in one.paths))
    )
    for one in touching:
        mine = [path for path in one.paths if is_note(path)]
        if all(path in notes and one.commit in since[path] for path in mine):
            yield one.commit


def _since(vault: Vault, undo: Entry, paths: Sequence[str]) -> Mapping[str, set[str]]:
    """path -> the commits before `undo` that changed it after it had the bytes that `undo` gave it
    back."""
    repo = vault.repo
    wanted = {path: repo.entry(undo.commit, path) for path in paths}
    found: dict[str, set[str]] = {path: set() for path in paths}
    there: set[str] = set()
    for entry in vault.history.log(start=f"{undo.commit}^", paths=paths):
        for path in wanted.keys() & set(entry.paths) - there:
            if repo.entry(entry.commit, path) == wanted[path]:
                there.add(path)
            else:
                found[path].add(entry.commit)
    return found


def _run(run: str, entries: Sequence[Entry], back: _Back) -> answers.PastRun:
    from oneiro_vault.mind.report import DOES  # with much behind it

    made = [entry for entry in reversed(entries) if entry.decision]
    reports = [path for entry in entries for path in entry.paths if path.startswith(REPORTS)]
    gone = run in back.runs or (bool(made) and all(back.has(run, one.commit) for one in made))
    told = next(
        (entry.title.removeprefix("report of ") for entry in entries if not entry.decision), ""
    )
    decisions: list[answers.PastDecision] = [
        {
            "op": one.op,
            "did": DOES.get(one.op, one.op),
            "title": one.title,
            "reason": one.reason,
            "judge": one.judge,
            "memories": list(one.memories),
            "commit": one.commit,
            "decision": one.decision,
            "undone": back.has(run, one.commit),
            "undone_by": back.commits.get(one.commit),
        }
        for one in made
    ]
    return {
        "run": run,
        "loop": entries[0].loop,
        "loops": _loops(entries[0], told),
        "judge": entries[0].judge,
        "night": "",
        "started": dates.iso(entries[-1].when),
        "ended": dates.iso(entries[0].when),
        "title": told,
        "report": reports[0] if reports else None,
        "recall": None,
        "cost": "",
        "tokens": 0,
        "spent": 0.0,
        "undone": gone,
        "undone_by": back.runs.get(run),
        "decisions": decisions,
    }


def _idle(event: Mapping[str, Any]) -> answers.PastRun:
    began, ended = (str(event.get(name, "")) for name in ("since", "t"))
    loops = event.get("loops")
    names = [str(name) for name in loops] if isinstance(loops, list) else []
    return {
        "run": str(event.get("id", "")),
        "loop": names[0] if len(names) == 1 else "night",
        "loops": names,
        "judge": str(event.get("judge", "")),
        "night": "",
        "started": began,
        "ended": ended,
        "title": str(event.get("title", "")),
        "report": None,
        "recall": None,
        "cost": "",
        "tokens": 0,
        "spent": 0.0,
        "undone": False,
        "undone_by": None,
        "decisions": [],
    }


def _loops(entry: Entry, told: str) -> list[str]:
    return (
        [name.strip() for name in told.partition(":")[0].split(",")]
        if entry.loop == "night"
        else [entry.loop]
    )
