"""What loops did and why, answered from the history and the ledger alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from oneiro_vault import answers
from oneiro_vault.core.memory import epoch
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.operations.runtime import House
from oneiro_vault.vault.history.commit_log import Entry
from oneiro_vault.vault.worktree.files import is_note

_UNDONE: Final = re.compile(r"undo of run ([0-9a-z-]+)")
_SOURCE: Final = "undo of source "
EVENT: Final = "run"
"""Kind of the ledger's events for runs that decided nothing: `id` of the first of them, `loops`,
`judge`, `title`, `since`."""


def runs(
    house: House,
    since: str | None = None,
    until: str | None = None,
    loop: str | None = None,
    limit: int = 50,
) -> answers.Runs:
    """Runs of loops, newest first, each with its decisions, taken back or not."""
    now = datetime.fromtimestamp(house.clock()).astimezone()
    start = dates.parse_range(since, now)[0] if since else None
    end = dates.parse_range(until, now)[1] if until else None
    found: dict[str, list[Entry]] = {}
    history = house.vault.history
    for entry in history.runs() if house.vault.head() else ():
        found.setdefault(entry.run, []).append(entry)
    undoings = list(_standing(history.undoings())) if found else []
    taken = {match[1] for one in undoings if (match := _UNDONE.fullmatch(one.reason))}
    made = [entry for entries in found.values() for entry in entries if entry.decision]
    back = {one.undoes for one in undoings} | {
        commit for one in undoings for commit in _with_source(house, one, made)
    }
    idle = [
        event
        for event in house.vault.events()
        if event.get("e") == EVENT and event.get("id") not in found
    ]
    rows: list[tuple[float, answers.PastRun]] = [
        (epoch(row["started"]) or 0.0, row) for row in map(_idle, reversed(idle))
    ]
    rows += [
        (entries[-1].when, _run(run, entries, back, run in taken)) for run, entries in found.items()
    ]
    rows.sort(key=lambda pair: pair[0], reverse=True)
    wanted = [
        row
        for when, row in rows
        if (start is None or start <= when)
        and (end is None or when < end)
        and (loop is None or loop in row["loops"])
    ]
    return {"schema": 1, "runs": wanted[: max(1, limit)], "total": len(wanted)}


def _standing(undoings: Iterable[Entry]) -> Iterator[Entry]:
    """Those, newest first, that were not taken back themselves."""
    gone = set()
    for one in undoings:
        if one.commit not in gone:
            gone.add(one.undoes)
            yield one


def _with_source(house: House, undo: Entry, made: Sequence[Entry]) -> Iterator[str]:
    """The commits among `made` that were taken back with all of a source: each of their notes has
    the bytes it had before them."""
    if not undo.reason.startswith(_SOURCE):
        return
    notes = {path for path in undo.paths if is_note(path)}
    touching = [one for one in made if notes.intersection(one.paths)]
    if not touching:
        return
    since = _since(
        house, undo, sorted(notes.intersection(path for one in touching for path in one.paths))
    )
    for one in touching:
        mine = [path for path in one.paths if is_note(path)]
        if all(path in notes and one.commit in since[path] for path in mine):
            yield one.commit


def _since(house: House, undo: Entry, paths: Sequence[str]) -> Mapping[str, set[str]]:
    """path -> the commits before `undo` that changed it after it had the bytes that `undo` gave it
    back."""
    repo = house.vault.repo
    wanted = {path: repo.entry(undo.commit, path) for path in paths}
    found: dict[str, set[str]] = {path: set() for path in paths}
    there: set[str] = set()
    for entry in house.vault.history.log(start=f"{undo.commit}^", paths=paths):
        for path in wanted.keys() & set(entry.paths) - there:
            if repo.entry(entry.commit, path) == wanted[path]:
                there.add(path)
            else:
                found[path].add(entry.commit)
    return found


def _run(run: str, entries: Sequence[Entry], back: set[str], taken: bool) -> answers.PastRun:
    made = [entry for entry in reversed(entries) if entry.decision]
    reports = [path for entry in entries for path in entry.paths if path.startswith("dreams/")]
    gone = taken or (bool(made) and all(one.commit in back for one in made))
    told = next(
        (entry.title.removeprefix("report of ") for entry in entries if not entry.decision), ""
    )
    decisions: list[answers.PastDecision] = [
        {
            "op": one.op,
            "title": one.title,
            "reason": one.reason,
            "judge": one.judge,
            "memories": list(one.memories),
            "commit": one.commit,
            "decision": one.decision,
            "undone": taken or one.commit in back,
        }
        for one in made
    ]
    return {
        "run": run,
        "loop": entries[0].loop,
        "loops": _loops(entries[0], told),
        "judge": entries[0].judge,
        "started": dates.iso(entries[-1].when),
        "ended": dates.iso(entries[0].when),
        "title": told,
        "report": reports[0] if reports else None,
        "undone": gone,
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
        "started": began,
        "ended": ended,
        "title": str(event.get("title", "")),
        "report": None,
        "undone": False,
        "decisions": [],
    }


def _loops(entry: Entry, told: str) -> list[str]:
    return (
        [name.strip() for name in told.partition(":")[0].split(",")]
        if entry.loop == "night"
        else [entry.loop]
    )
