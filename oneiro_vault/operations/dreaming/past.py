"""What loops did and why, answered from git alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from oneiro_vault.core import when as dates
from oneiro_vault.operations.house import House
from oneiro_vault.vault.history import Entry

_UNDONE: Final = re.compile(r"undo of run ([0-9a-z-]+)")


def runs(house: House, since: str | None = None, until: str | None = None, loop: str | None = None, limit: int = 50) -> dict[str, Any]:
    """Runs of loops, newest first, each with its decisions: what, why, by whose judgement, in which commit, taken back or not."""
    now = datetime.fromtimestamp(house.clock()).astimezone()
    start = dates.parse_range(since, now)[0] if since else float("-inf")
    end = dates.parse_range(until, now)[1] if until else float("inf")
    found: dict[str, list[Entry]] = {}
    history = house.vault.history
    for entry in history.runs() if house.vault.head() else ():
        found.setdefault(entry.run, []).append(entry)
    back = {one.undoes for one in history.undoings()} if found else set()
    taken = {match[1] for one in (history.undoings() if found else ()) if (match := _UNDONE.fullmatch(one.reason))}
    rows = [_run(run, entries, back, run in taken) for run, entries in found.items()]
    wanted = [row for row in rows if start <= row.pop("_when") < end and (loop is None or loop in row["loops"])]
    return {"schema": 1, "runs": wanted[: max(1, limit)], "total": len(wanted)}


def _run(run: str, entries: Sequence[Entry], back: set[str], taken: bool) -> dict[str, Any]:
    """Commits of one run, newest first, as data."""
    made = [entry for entry in reversed(entries) if entry.decision]
    reports = [path for entry in entries for path in entry.paths if path.startswith("dreams/")]
    told = next((entry.title.removeprefix("report of ") for entry in entries if not entry.decision), "")
    decisions = [
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
        "started": _iso(entries[-1].when),
        "ended": _iso(entries[0].when),
        "title": told,
        "report": reports[0] if reports else None,
        "undone": taken,
        "decisions": decisions,
        "_when": entries[-1].when,
    }


def _loops(entry: Entry, told: str) -> list[str]:
    """The loops a run stands for; a quiet night has one report for several."""
    return [name.strip() for name in told.partition(":")[0].split(",")] if entry.loop == "night" else [entry.loop]


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment).astimezone().isoformat(timespec="seconds")
