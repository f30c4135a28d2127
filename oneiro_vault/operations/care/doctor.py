"""Operations that look after the vault: what is wrong, what is safe to mend, and a fresh index."""

from __future__ import annotations

import queue
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.capture import prompt_counts
from oneiro_vault.core.tree_diff import Stat, blob_id
from oneiro_vault.errors import Brake, GitProblem, OneiroError, UnsafePath, few
from oneiro_vault.index.base import Problem as IndexProblem
from oneiro_vault.operations.care import synchronize
from oneiro_vault.operations.read import recall_show
from oneiro_vault.operations.remember import images, store_captures
from oneiro_vault.operations.runtime import House
from oneiro_vault.vault.health.problems import Problem as VaultProblem
from oneiro_vault.vault.worktree.attachments import named_in


@dataclass(frozen=True)
class Fault:
    """A known fault of something the vault rests on: `name` as in `versions`, `first` to `last`
    have it. An entry goes when no version that can be installed has the fault."""

    name: str
    first: tuple[int, ...]
    last: tuple[int, ...]
    text: str


FAULTS: Final = (
    Fault(
        "sqlite", (3, 7, 0), (3, 51, 2),
        "has a known rare fault with two writing connections; the index uses one and can be "
        "rebuilt",
    ),
    Fault(
        "chromadb", (1, 5, 9), (1, 5, 9),
        "loses vectors when two processes open it, and opens a damaged store as if it were whole; "
        "one process owns it here, and looks again and again whether it still finds what it holds",
    ),
    Fault(
        "mcp", (2, 3, 0), (2, 3, 0),
        "answers nothing to a line that is no JSON and takes one of any length; they are refused "
        "here before it sees them",
    ),
)  # fmt: skip
"""SQLite: the WAL-reset bug, published with 3.51.3. The others were measured."""
_BUSY: Final = (
    "The machine was busy. A capture comes with the next one of its conversation; a conversation "
    "gets its orientation after `/clear`. A larger `owner.idle` (seconds) keeps an owner ready, "
    "which answers sooner."
)
_PICTURES = {
    "attachment-damaged": "`git log -- PATH` shows its versions; `git restore PATH` brings back "
    "the last one.",
    "attachment-missing": "Sync this vault with the one the picture was added to.",
    "attachment-unused": "It stays: a memory that is restored may need it. `git rm` takes it out "
    "of the tree, never out of the history.",
}


_GRAVE = frozenset({"brake", "rewritten", "damage"})
"""Findings that are errors: something stands still, or is lost unless somebody acts."""


def reindex(
    house: House, force: bool = False, missing: bool = False, progress: Progress = quiet
) -> answers.Reindexed:
    """Everything derived, afresh; vectors come from the cache. `missing`: only wait until
    everything on the disk is in it. Raises Brake, unless `force`, when the index alone still knows
    some notes."""
    started = time.monotonic()
    if missing:
        house.indexing.reconcile(progress)
        house.index.settle(progress)
    else:
        if not force:
            _spare(house, progress)
        house.indexing.rebuild(progress)
    state = house.index.status()
    return {
        "schema": 1,
        "notes": state["notes"],
        "chunks": state["chunks"],
        "pending": state["pending"],
        "seconds": round(time.monotonic() - started, 2),
    }


def _spare(house: House, progress: Progress) -> None:
    """Raise Brake for notes that a new index would not hold."""
    if not house.index.count():
        return
    house.indexing.reconcile(progress)
    broken = [
        row
        for path, _ in house.index.unreadable()
        if (row := house.index.by_path(path)) is not None
    ]
    gone = {row.path for row in broken if not _committed(house, row.blob)}
    lost = sorted(gone | house.indexing.held)
    if lost:
        which = few(lost)
        raise Brake(
            f"a new index would not hold {len(lost)} notes that this one still serves: {which}",
            kept="Nothing was changed; the index answers as before.",
            hint="Bring the files back, or mend them. `oneiro reindex --yes` goes on without them.",
        )


def _committed(house: House, blob: str) -> bool:
    try:
        house.vault.past.data(blob)
    except OneiroError:
        return False
    return True


def doctor(
    house: House, fix: bool = False, cwd: str | None = None, progress: Progress = quiet
) -> answers.Diagnosis:
    """What is wrong with the repository, the index and this machine; with `fix`, what is safe is
    mended. `capture`: are conversations in `cwd` captured? `prompts`: what the hook did with
    today's."""
    mender = _Mender(house, progress) if fix else None
    harm = [
        mender(_vault_problem(p), p) if mender else _vault_problem(p)
        for p in house.vault.health.damaged()
    ]
    try:
        found = _findings(house, progress)
    except GitProblem:
        if all(one["fixed"] for one in harm):
            raise
        found = []  # a folder of the history cannot be read, so nothing can be compared with it
    shown = [
        *harm,
        *(mender(shown, problem) if mender else shown for shown, problem in found),
        *_machine(house),
    ]
    capture = store_captures.permission(cwd) if cwd else None
    return {
        "schema": 1,
        "problems": shown,
        "capture": capture,
        "prompts": prompt_counts.today(str(house.vault.folder)),
        "versions": versions(),
    }


def _findings(
    house: House, progress: Progress
) -> list[tuple[answers.Finding, VaultProblem | IndexProblem | None]]:
    house.indexing.reconcile(progress)
    with suppress(OneiroError):  # what stands in the way is listed below
        house.vectors.await_model(progress)
    house.index.open_vectors()
    found: list[tuple[answers.Finding, VaultProblem | IndexProblem | None]] = []
    of_vault = house.vault.health.undamaged()
    if house.indexing.braked and not any(p.kind == "brake" for p in of_vault):
        back = house.vault.edits.look().way_back()
        found.append((_problem("brake", "error", house.indexing.braked, back), None))
    listed = {path for path, _ in house.index.unreadable()}  # told once, by the index
    found += [
        (_vault_problem(p), p) for p in of_vault if p.kind != "unreadable" or p.path not in listed
    ]
    mentioned: set[str] = set()
    found += [
        (_index_problem(p), p)
        for p in house.index.check(_on_disk(house, progress, mentioned))
        if p.path not in house.indexing.held
    ]
    found += [(p, None) for p in _pictures(house, mentioned, progress)]
    found += [
        (_problem("captures", level, text, hint), None)
        for level, text, hint in store_captures.problems(house)
    ]
    late = prompt_counts.told(prompt_counts.late(str(house.vault.folder)))
    if late:
        said = f"hooks had no time left in the last seven days: {late}"
        found.append((_problem("hooks", "info", said, _BUSY), None))
    return found


def _pictures(house: House, mentioned: set[str], progress: Progress) -> Iterator[answers.Finding]:
    for path, code, message in images.problems(house.vault, house.index, progress):
        damaged = code == "attachment-damaged"
        yield _problem(
            code,
            "error" if damaged else "warning",
            message if damaged else f"{path}: {message}",
            _PICTURES[code],
        )
    for path in images.unused(house.vault, mentioned):
        yield _problem(
            "attachment-unused",
            "info",
            f"{path}: no note here shows it",
            _PICTURES["attachment-unused"],
        )


def _on_disk(house: House, progress: Progress, mentioned: set[str]) -> dict[str, str]:
    """path -> blob id of every note, read afresh. Adds the hashes they mention."""
    stats = [entry for entry in house.vault.files.scan() if isinstance(entry, Stat)]
    found = {}
    for number, stat in enumerate(stats):
        progress("reading", number, len(stats))
        # a path that is too deep to be read is told by the index
        with suppress(OSError, UnsafePath):
            data = house.vault.files.read(stat.path)
            found[stat.path] = blob_id(data)
            mentioned |= named_in(data)
    return found


def _vault_problem(found: VaultProblem) -> answers.Finding:
    text = (
        found.message if found.message.startswith(found.path) else f"{found.path}: {found.message}"
    )
    return _problem(
        found.kind, "error" if found.kind in _GRAVE else "warning", text, found.hint, found.fixable
    )


def _index_problem(found: IndexProblem) -> answers.Finding:
    return _problem(found.code, found.level, found.message, found.hint, found.fixable)


def _problem(
    code: str, level: str, message: str, hint: str = "", fixable: bool = False
) -> answers.Finding:
    return {
        "code": code,
        "level": level,
        "message": message,
        "hint": hint,
        "fixable": fixable,
        "fixed": False,
    }


class _Mender:
    """One rebuild mends whatever is wrong with the index."""

    def __init__(self, house: House, progress: Progress) -> None:
        self._house, self._progress = house, progress

    @cached_property
    def _rebuilt(self) -> OneiroError | None:
        try:
            _spare(self._house, self._progress)
            self._house.indexing.rebuild(self._progress)
        except OneiroError as error:
            return error
        return None

    def __call__(
        self, shown: answers.Finding, problem: VaultProblem | IndexProblem | None
    ) -> answers.Finding:
        if not shown["fixable"] or problem is None:
            return shown
        try:
            if isinstance(problem, IndexProblem):
                if self._rebuilt is not None:
                    raise self._rebuilt
            elif not self._house.vault.health.fix(problem):
                return shown
        except OneiroError as error:
            return {**shown, "message": f"{shown['message']} (could not be mended: {error})"}
        return {**shown, "fixed": True}


def _machine(house: House) -> list[answers.Finding]:
    settings = house.settings
    found = [_problem("settings", "error", str(one), one.hint) for one in settings.wrong]
    found += [_problem("settings", "info", *former) for former in settings.idle()]
    found += [_problem("loosened", "warning", text) for text in synchronize.loosened(house.root)]
    if house.indexing.watching.startswith("polling"):
        found.append(
            _problem(
                "watch-polling",
                "info",
                f"changes are found by {house.indexing.watching}",
                "Raise fs.inotify.max_user_watches to be faster.",
            )
        )
    if problem := house.vectors.embedder.problem:
        found.append(_problem("embedder", "warning", str(problem), problem.hint))
    if unknown := recall_show.unknown(house):
        found.append(_problem("language", "info", *unknown))
    return [*found, *_faults(versions())]


def _faults(installed: Mapping[str, str]) -> Iterator[answers.Finding]:
    """`verbose`: nothing has to be done, so a person hears of it with -v only."""
    for fault in FAULTS:
        version = installed.get(fault.name, "")
        numbers = tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])
        if numbers and fault.first <= numbers <= fault.last:
            row = _problem(f"{fault.name}-version", "info", f"{fault.name} {version} {fault.text}")
            yield {**row, "verbose": True}


def versions() -> dict[str, str]:
    """Versions of what the vault rests on, for a bug report."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"sqlite": sqlite3.sqlite_version}
    for name in (
        "oneiro-vault",
        "pygit2",
        "GitPython",
        "git-filter-repo",
        "chromadb",
        "onnxruntime",
        "sentence-transformers",
        "watchdog",
        "pillow",
        "detect-secrets",
        "mcp",
    ):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def watch(house: House, progress: Progress = quiet) -> answers.Answer:
    """Report `IDX <path> <sha256>` and `DEL <path>` through `progress`, until it raises."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    house.indexing.listeners.append(lines.put)
    try:
        while True:
            house.indexing.converge()
            try:
                progress(lines.get(timeout=0.1), 0, 0)
            except queue.Empty:
                progress("", 0, 0)
    finally:
        house.indexing.listeners.remove(lines.put)
