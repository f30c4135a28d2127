"""Lint: what cannot be read, what clashes, what points nowhere, what is wrong in the text of a
note; and the mend of a frontmatter that cannot be read, where there is only one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Final

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core import memory as memories
from oneiro_vault.core.frontmatter import fields, yaml_block
from oneiro_vault.core.frontmatter.salvage import BROKEN, Fault, fault, mended
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.markdown.taxonomy import RELATIONS
from oneiro_vault.core.memory import Memory
from oneiro_vault.core.merge import units
from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.errors import OneiroError, UnreadableNote, few, shown
from oneiro_vault.index.base import Row
from oneiro_vault.operations.care import synchronize
from oneiro_vault.operations.remember import drafts, images
from oneiro_vault.operations.runtime import House
from oneiro_vault.settings.definitions import HINT
from oneiro_vault.vault.history.undo import REPORTS
from oneiro_vault.vault.secrets.secret_scan import quoted, told
from oneiro_vault.vault.worktree.edits import has_markers


def check(house: House, progress: Progress = quiet) -> answers.Checked:
    """Lint the notes; changes nothing. `level`: error, warning or info."""
    house.indexing.reconcile(progress)
    rows = house.index.list(limit=10_000_000)
    problems = [
        problem("", "settings", "error", str(error), error.hint) for error in house.settings.wrong
    ]
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
        *(
            problem(one.path, one.code, one.level, one.message, one.hint)
            for one in house.index.copies()
        ),
        *_own_types(rows),
        *_own_relations(house),
        *_nowhere(house, rows),
        *lint(house, progress),
    ]
    problems += [
        problem(path, code, "error" if code == "attachment-damaged" else "warning", message)
        for path, code, message in images.problems(house.vault, house.index, progress)
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
        return house.indexing.load(row)[1].extra
    except OneiroError:
        return {}


def _nowhere(house: House, rows: Sequence[Row]) -> Iterator[answers.Problem]:
    known = {row.handle for row in rows} | house.uses.forgotten().keys()
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
        if row.type not in (*memories.TYPES, drafts.UNTYPED) and not row.path.startswith(REPORTS):
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


RESERVED: Final = ("index.md", "log.md")
"""Names that mean something else in the Open Knowledge Format."""
_LOADED: Final = ("active", "dormant", "pending")


def problem(
    path: str, code: str, level: str, message: str, hint: str = "", line: int | None = None
) -> answers.Problem:
    """One finding; `line` counts from 1 in the whole file."""
    return {
        "path": path,
        "code": code,
        "level": level,
        "message": message,
        "hint": hint,
        "line": line,
    }


def lint(house: House, progress: Progress) -> Iterator[answers.Problem]:
    """Findings about every note on disk, readable or not."""
    untyped: list[str] = []
    offered = synchronize.offered(house.root)
    paths = sorted(
        {row.path for row in house.index.list(limit=10_000_000)}
        | {path for path, _ in house.index.unreadable()}
    )
    for number, path in enumerate(paths):
        if number % 100 == 0:
            progress("reading", number, len(paths))
        try:
            data = house.vault.read(path)
        except OneiroError:
            continue
        yield from _secrets(house, path, data, offered)
        if has_markers(data):
            line = data[: data.index(b"<<<<<<<")].count(b"\n") + 1
            yield problem(
                path,
                "conflict-markers",
                "error",
                "a merge was left unfinished here",
                "Resolve it in any editor.",
                line,
            )
        try:
            note, meta = memories.parse(path, data), yaml_block.read(yaml_block.decode(data))[0]
        except UnreadableNote:
            continue  # said already
        at = _lines(data, note.body)
        yield from _conflicts(note, at)
        yield from _prescribing(note)
        if not str(meta.get("type") or "").strip() and path.rpartition("/")[2] not in RESERVED:
            untyped.append(path)
        elif note.id and path.rpartition("/")[2] in RESERVED:
            text = (
                f"{path.rpartition('/')[2]} is a list of notes for programs that read the Open "
                f"Knowledge Format, not a note"
            )
            yield problem(path, "format", "warning", text, "Give the file another name.")
    yield from _format(untyped)


def _secrets(
    house: House, path: str, data: bytes, offered: Callable[[str], bool]
) -> Iterator[answers.Problem]:
    found = house.vault.secrets.inside(path, data) if house.vault.secrets.mode != "off" else []
    for one in found:
        hint = (
            "Withdraw it where it opens something, then take it out here; what is committed stays "
            "in history. If it is none, oneiro.toml"
        )
        text = f"it holds what looks like {told([one])}"
        if offered(one.sha256):
            yield problem(
                path,
                "secret",
                "warning",
                f"{text}, which oneiro.toml allows and nobody here has agreed to",
                HINT,
                one.line,
            )
            continue
        yield problem(
            path,
            "secret",
            "error",
            text,
            f"{hint} allows it: [secrets] allowed = {quoted([one])}",
            one.line,
        )


def _lines(data: bytes, body: str) -> Callable[[int], int]:
    """Offset in the body -> line of the file."""
    before = data.decode("utf-8", "replace").count("\n") - body.count("\n")
    return lambda offset: before + body.count("\n", 0, offset) + 1


def _conflicts(note: Memory, at: Callable[[int], int]) -> Iterator[answers.Problem]:
    if f"[!{units.KIND}]" not in note.body.lower():
        return  # a note may be so large that taking it apart costs seconds
    for callout in parser.parse(note.body).callouts:
        if callout.kind == units.KIND:
            text = "two machines said different things here, and both are kept"
            hint = "Keep what holds, take the callout out, then `oneiro flags --resolve` the note."
            yield problem(note.path, "conflict", "warning", text, hint, at(callout.start))


def _prescribing(note: Memory) -> Iterator[answers.Problem]:
    """A person may write what they like into their own orientation; that it was a machine is the
    error."""
    if note.type != "orientation" or note.status not in _LOADED:
        return
    from oneiro_vault.classify import orientation_gate  # as in `drafts`

    why = orientation_gate.prescribes("\n".join((note.body, note.title, note.description)))
    if not why:
        return
    if note.core or (note.source in ("", "user") and note.trust == "user"):
        text = f"it does more than describe ({why})"
        yield problem(
            note.path, "prescribing", "info", text, "It is yours to say; no loop would write it."
        )
    else:
        hint = (
            "Say it of the person or the world, in the third person; or make it yours: `oneiro "
            "ratify`."
        )
        yield problem(
            note.path,
            "prescribing",
            "error",
            f"orientation only describes, and this does more ({why})",
            hint,
        )


def _format(untyped: list[str]) -> Iterator[answers.Problem]:
    if untyped:
        count = "1 note has" if len(untyped) == 1 else f"{len(untyped)} notes have"
        which = few(untyped)
        text = (
            f"{count} no `type`, so programs that read the Open Knowledge Format pass over them: "
            f"{which}"
        )
        yield problem(
            untyped[0],
            "format",
            "info",
            text,
            "Nothing has to be done; `oneiro adopt` gives them one.",
        )


def faults(house: House) -> Iterator[tuple[str, bytes, Fault]]:
    """(path, bytes, what is wrong) of every note that is found by its words although it cannot be
    read."""
    for path in house.index.broken():
        try:
            data = house.vault.read(path)
        except OneiroError:
            continue
        if wrong := fault(data):
            yield path, data, wrong


def paragraph(house: House) -> Iterator[answers.Problem]:
    """One finding for all of them."""
    kinds: dict[str, list[str]] = defaultdict(list)
    found = [(path, wrong) for path, _, wrong in faults(house)]
    for path, wrong in found:
        kinds[wrong.mend].append(f"{path} (line {wrong.line})" if wrong.line else path)
    if not found:
        return
    count = "1 note" if len(found) == 1 else f"{len(found)} notes"
    how = "; ".join(
        f"{mend}: {few(paths)}"
        for mend, paths in sorted(kinds.items(), key=lambda kind: -len(kind[1]))
    )
    text = (
        f"{count} cannot be read in full: every word is found, and nothing is written into them. "
        f"To mend: {how}"
    )
    path, wrong = found[0]
    yield problem(
        path,
        "broken",
        "error",
        text,
        "`oneiro check --fix` quotes the values that only need quotes.",
        wrong.line,
    )


def mend(house: House, yes: bool = False) -> answers.Mended:
    """Quote the values that are no YAML without quotes, where that alone makes a note readable;
    without `yes` nothing is changed. `left`: what only a person can mend. Raises RepositoryBusy
    before anything is written."""
    house.indexing.converge()
    whole = {path: (data, mended(data)) for path, data, _ in faults(house)}
    plain = {path: (old, new) for path, (old, new) in whole.items() if new is not None}
    if yes and plain:
        house.vault.repo.check_ready()
        plain = {
            path: (old, new) for path, (old, new) in plain.items() if _put(house, path, old, new)
        }
        receipts = (
            house.vault.edits.commit(list(plain), quiet=0.0)
            if house.settings["edits.commit"]
            else []
        )
        house.indexing.refresh(list(plain))
    else:
        receipts = []
    return {
        "schema": 1,
        "mends": [
            {"path": path, "diff": _diff(path, old, new)} for path, (old, new) in plain.items()
        ],
        "left": [path for path in whole if path not in plain],
        "done": yes,
        "commit": receipts[-1].commit if receipts else None,
    }


def _put(house: House, path: str, old: bytes, new: bytes) -> bool:
    files = house.vault.files
    return files.publish(path, files.stage(path, new), blob_id(old))


def _diff(path: str, old: bytes, new: bytes) -> str:
    before, after = (data.decode().splitlines(keepends=True) for data in (old, new))
    return "".join(unified_diff(before, after, path, path, n=0))
