"""`diff`: what is believed at one moment and was not at another, by memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from oneiro_vault import answers
from oneiro_vault.core.markdown.word_diff import steps
from oneiro_vault.core.memory import Memory
from oneiro_vault.errors import NotFound
from oneiro_vault.operations.history import revisions
from oneiro_vault.operations.history.compare import ALIVE, Comparison, Pair, between, said
from oneiro_vault.operations.history.revisions import Moment, iso
from oneiro_vault.operations.runtime import House

KINDS: Final = ("new", "revised", "merged", "retired", "moved", "contradicted", "pending")
"""Lists of an answer; a memory is in one of the first four, and may be among the moved and
contradicted besides."""


def diff(house: House, before: str, after: str | None = None) -> answers.Diff:
    """What became of each memory between two moments (dates, or commits; without `after`: until
    now), in the order of history.

    What is committed counts. `new`, `revised` (word by word), `merged`, `retired`, `moved`,
    `contradicted`, `pending`; `orientation`: its blocks `before` and `after`, and which changed.
    From before the first commit on, all is new. Raises InvalidInput, NotFound.
    """
    house.converge()
    first, last = _ends(house, before, "HEAD" if after is None else after)
    found = between(house, first.point.commit if first else "", last.point.commit)
    lists: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for key, pair in found.pairs.items():
        for kind in _kinds(found, key, pair):
            lists[kind].append(_row(found, key, pair, kind))
    kept = sum(
        not pair.loaded and _kinds(found, key, pair) == [] and pair.kind == "kept"
        for key, pair in found.pairs.items()
    )
    answer = {
        "schema": 1,
        "from": first.data() if first else None,
        "to": last.data(),
        "commits": found.commits,
        **lists,
        "orientation": _orientation(found),
        "kept": kept,
        "captures": found.captures,
        "runs": len(found.reports),
        "unreadable": found.unreadable,
    }
    return cast(answers.Diff, answer)  # each list has the rows of its kind: `_details`


def _ends(house: House, before: str, after: str) -> tuple[Moment | None, Moment]:
    """Both moments, the earlier one first; None stands for the time before the first commit."""
    found: list[Moment] = []
    for text in (before, after):
        try:
            found.append(revisions.find(house, text))
        except NotFound as error:
            missing = error
    if not found:
        raise missing
    if len(found) == 2 and house.vault.repo.contains(found[1].point.commit, found[0].point.commit):
        found.reverse()
    return (found[0] if len(found) == 2 else None), found[-1]


def _kinds(found: Comparison, key: str, pair: Pair) -> list[str]:
    fate = found.fate(key)
    kinds = [fate] if fate in KINDS and not pair.loaded else []
    kinds += ["moved"] if pair.before and pair.after and pair.before.path != pair.after.path else []
    return kinds + (["contradicted"] if pair.contradicted else [])


def _row(found: Comparison, key: str, pair: Pair, kind: str) -> dict[str, Any]:
    return _named(found, key, pair) | _details(found, pair, kind)


def _named(found: Comparison, key: str, pair: Pair) -> dict[str, Any]:
    note, entry = pair.now, found.why.get(key)
    why = entry and {
        "commit": entry.commit, "when": iso(entry.when), "op": entry.op, "actor": entry.actor,
        "reason": entry.reason or None,
        "run": entry.run or None, "judge": entry.judge or None,
    }  # fmt: skip
    return {
        "id": note.id or None,
        "path": note.path,
        "title": note.title,
        "type": note.type,
        "why": why,
    }


def _details(found: Comparison, pair: Pair, kind: str) -> dict[str, Any]:
    note = pair.now
    if kind == "moved":
        return {"was": pair.before.path if pair.before else None}
    if kind == "contradicted":
        return {"doubts": pair.doubts, "says": note.body.strip()}
    if kind in ("merged", "retired"):
        return {
            "said": pair.before.body.strip() if pair.before else "",
            "fate": _fate(pair),
            "into": _heir(found, note),
        }
    if kind == "revised":
        return _words(pair.before, pair.after)
    return {
        "says": note.body.strip(),
        "source": note.source or "user",
        "trust": note.trust,
        "derived_from": list(note.derived_from),
    }


def _fate(pair: Pair) -> str:
    """forgotten, ended (its time is over), or its status now."""
    return (
        "forgotten"
        if pair.after is None
        else "ended"
        if pair.after.status in ALIVE
        else pair.after.status
    )


def _heir(found: Comparison, note: Memory) -> dict[str, str] | None:
    """What took its place; its title where it changed too."""
    heir = found.pairs.get(note.superseded_by)
    return (
        {"id": note.superseded_by, "title": heir.now.title if heir else ""}
        if note.superseded_by
        else None
    )


def _words(before: Memory | None, after: Memory | None) -> dict[str, Any]:
    if before and after:
        old, new = said(before, after)
    else:
        old, new = (note.body.strip() if note else "" for note in (before, after))
    return {"before": old, "after": new, "words": [list(step) for step in steps(old, new)]}


def _orientation(found: Comparison) -> dict[str, Any]:
    """What is always loaded, before and after, and each block that changed, came or went."""
    before, after = found.blocks
    changes = [
        _named(found, key, pair) | _words(before.get(key), after.get(key))
        for key, pair in found.pairs.items()
        if pair.loaded and _differs(before.get(key), after.get(key))
    ]
    return {"before": _blocks(before), "after": _blocks(after), "changes": changes}


def _differs(before: Memory | None, after: Memory | None) -> bool:
    return (before is None) != (after is None) or (
        before is not None and after is not None and len(set(said(before, after))) > 1
    )


def _blocks(side: Mapping[str, Memory]) -> list[dict[str, Any]]:
    return [
        {"id": note.id or None, "title": note.title, "text": note.body.strip()}
        for _, note in sorted(side.items())
    ]
