"""Lint: what cannot be read, what clashes, what points nowhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from oneiro_vault import answers
from oneiro_vault.api import Progress
from oneiro_vault.core import memory as memories
from oneiro_vault.core.frontmatter import fields
from oneiro_vault.core.frontmatter.salvage import BROKEN
from oneiro_vault.core.markdown.taxonomy import RELATIONS
from oneiro_vault.errors import OneiroError, few, shown
from oneiro_vault.index.base import Row
from oneiro_vault.operations.care import synchronize
from oneiro_vault.operations.care.lint import lint, paragraph, problem
from oneiro_vault.operations.remember import drafts, images
from oneiro_vault.operations.runtime import House, quiet
from oneiro_vault.vault.history.undo import REPORTS


def check(house: House, progress: Progress = quiet) -> answers.Checked:
    """Lint the notes; changes nothing. `level`: error, warning or info."""
    house.reconcile(progress)
    rows = house.index.list(limit=10_000_000)
    problems = [problem("", "settings", "error", str(error), error.hint) for error in house.wrong]
    problems += [
        problem("", "settings", "warning", text, hint) for text, hint in house.settings.idle()
    ]
    problems += [
        problem("oneiro.toml", "loosened", "warning", text)
        for text in synchronize.loosened(house.root)
    ]
    problems += [
        *_unreadable(house),
        *paragraph(house),
        *_shapes(house, rows),
        *_twins(rows),
        *_own_types(rows),
        *_own_relations(house),
        *_nowhere(house, rows),
        *lint(house, progress),
    ]
    problems += [
        problem(path, code, "error" if code == "attachment-damaged" else "warning", message)
        for path, code, message in images.problems(house, progress)
    ]
    ordered = sorted(problems, key=lambda p: (p["path"], p["code"], p["line"] or 0))
    return {"schema": 1, "problems": ordered, "notes": len(rows)}


def _unreadable(house: House) -> Iterator[answers.Problem]:
    for path, reason in house.index.unreadable():
        row = house.index.by_path(path)
        until = (
            "Until then its last good version answers." if row else "Until then it is not indexed."
        )
        if row and not BROKEN.isdisjoint(row.problems):
            until = "Until then its words are found as they stand."
        yield problem(
            path,
            "unreadable",
            "error",
            f"it cannot be read as a note: {reason}",
            f"Mend it in an editor. {until}",
        )


def _shapes(house: House, rows: Sequence[Row]) -> Iterator[answers.Problem]:
    for row in rows:
        values = _values(house, row) if row.problems else {}
        for key in row.problems:
            if key in BROKEN:
                continue  # said together
            if key == "truncated":
                limit = int(house.settings["notes.indexed_bytes"])
                text = f"it has {row.size:,} bytes, and only the first {limit:,} are indexed"
                hint = "Split it."
            else:
                text = (
                    f"`{key}` is {shown(values.get(key, '?'))}, but must be "
                    f"{fields.EXPECTED[key]}; as it is, it counts for nothing"
                )
                hint = f"Correct the line `{key}:` in the note, or take it out."
            yield problem(row.path, "shape", "warning", text, hint)


def _values(house: House, row: Row) -> Mapping[str, object]:
    try:
        return house.load(row)[1].extra
    except OneiroError:
        return {}


def _twins(rows: Sequence[Row]) -> Iterator[answers.Problem]:
    by_id: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        by_id[row.handle].append(row.path)
    for ident, paths in by_id.items():
        for path in paths if len(paths) > 1 else ():
            others = [other for other in paths if other != path]
            which = few(others)
            hint = (
                "Keep it in one of them: take the `id` line out of the others, and `oneiro adopt "
                "PATH` gives each an id of its own."
            )
            yield problem(
                path, "duplicate-id", "error", f"its id {ident} is also that of {which}", hint
            )


def _nowhere(house: House, rows: Sequence[Row]) -> Iterator[answers.Problem]:
    known = {row.handle for row in rows} | house.forgotten().keys()
    for row in rows:
        for key in ("derived_from", "supersedes", "superseded_by"):
            named = getattr(row, key)
            for target in (named,) if isinstance(named, str) else named:
                if target and target not in known:
                    back = (
                        f" A note that was deleted by hand comes back with `oneiro restore "
                        f"{target}`."
                        if memories.is_id(target)
                        else ""
                    )
                    text = f"`{key}` names {shown(target)}, and no note here has that id"
                    yield problem(
                        row.path, "dangling", "warning", text, f"Correct it or take it out.{back}"
                    )


def _own_types(rows: Sequence[Row]) -> Iterator[answers.Problem]:
    found: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.type not in (*memories.TYPES, drafts.UNTYPED) and not row.path.startswith(
            f"{REPORTS}/"
        ):
            found[row.type].append(row.path)
    for name, paths in found.items():
        near = drafts.did_you_mean(name, memories.TYPES)
        count = "1 note has" if len(paths) == 1 else f"{len(paths)} notes have"
        text = (
            f"{count} the type {shown(name)}, which is not one of {', '.join(memories.TYPES)}{near}"
        )
        hint = (
            f"Correct `type:` in {', '.join(paths[:3])}."
            if near
            else "Nothing has to be done: such notes are searched like any other."
        )
        yield problem(paths[0], "type", "warning" if near else "info", text, hint)


def _own_relations(house: House) -> Iterator[answers.Problem]:
    for name, path, notes in house.index.of_their_own():
        near = drafts.did_you_mean(name, (*RELATIONS,))
        count = "1 note states" if notes == 1 else f"{notes} notes state"
        text = f"{count} the relation {shown(name)}, which is not on the list{near}"
        hint = (
            f"Correct it in {path}."
            if near
            else "Nothing has to be done; `oneiro help graph` has the list."
        )
        yield problem(path, "relation", "warning" if near else "info", text, hint)
