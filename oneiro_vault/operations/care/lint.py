"""What `check` finds in the text of a note, frontmatter that cannot be read, and its mend where
there is only one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from difflib import unified_diff
from typing import Final

from oneiro_vault import answers
from oneiro_vault.api import Progress
from oneiro_vault.core import memory as memories
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.frontmatter.salvage import Fault, fault, mended
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.memory import Memory
from oneiro_vault.core.merge import units
from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.errors import OneiroError, UnreadableNote, few
from oneiro_vault.operations.care import synchronize
from oneiro_vault.operations.runtime import House
from oneiro_vault.settings.definitions import HINT
from oneiro_vault.vault.secrets.secret_scan import quoted, told
from oneiro_vault.vault.worktree.edits import has_markers

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
    house.converge()
    whole = {path: (data, mended(data)) for path, data, _ in faults(house)}
    plain = {path: (old, new) for path, (old, new) in whole.items() if new is not None}
    if yes and plain:
        house.vault.repo.check_ready()
        plain = {
            path: (old, new) for path, (old, new) in plain.items() if _put(house, path, old, new)
        }
        receipts = (
            house.vault.commit_edits(list(plain), quiet=0.0)
            if house.settings["edits.commit"]
            else []
        )
        house.refresh(list(plain))
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
