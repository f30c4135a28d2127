"""How the loops of a vault fare on this machine: who judges, what waits, when somebody last
answered, what the last run did."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from oneiro_vault import answers
from oneiro_vault.judges import deferred
from oneiro_vault.operations.dream import choose_judge
from oneiro_vault.operations.remember.drafts import moment
from oneiro_vault.operations.remember.pending_captures import waiting
from oneiro_vault.operations.runtime import House

_FILE: Final = "last-dream.json"
"""Beside the journal: `ended` and `did` of the last run, `answered` of the last run in which
somebody judged (RFC 3339)."""
_RULES: Final = ("", "offline", "none")


def standing(house: House) -> answers.DreamState:
    """`judge`: who answers (`judging.Choice`); `captures` and `questions` that wait; the last run
    and the last answer, null when never."""
    known, judge = _known(house), choose_judge.choice(house.settings, os.environ)
    return {
        "judge": {
            "name": judge.name,
            "title": judge.title,
            "ready": judge.ready,
            "problem": judge.problem,
        },
        "captures": len(waiting(house)),
        "questions": len(deferred.waiting(choose_judge.folder(house))),
        "ended": known.get("ended"),
        "did": known.get("did", []),
        "answered": known.get("answered"),
    }


def note(house: House, rows: Sequence[answers.Run]) -> None:
    """Keep what these runs did; a night on which nothing was to do is a run too."""
    judges = {one["judge"] for row in rows for one in row["decisions"]} | {
        row["judge"] for row in rows if row["calls"]
    }
    ended, path = moment(house), house.vault.folder / _FILE
    known = _known(house) | {"ended": ended, "did": [row["title"] for row in rows]}
    if judges - {*_RULES, "auto"}:
        known["answered"] = ended
    with suppress(OSError):
        temp = path.with_suffix(f".{os.getpid()}")
        temp.write_text(json.dumps(known), encoding="utf-8")
        temp.replace(path)


def _known(house: House) -> dict[str, Any]:
    try:
        found = json.loads((house.vault.folder / _FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return (
        {name: found[name] for name in ("ended", "did", "answered") if name in found}
        if isinstance(found, dict)
        else {}
    )
