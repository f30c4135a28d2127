"""Operations that look after the vault: what is wrong, what is safe to mend, and a fresh index."""

from __future__ import annotations

import queue
import sqlite3
import time
from collections import defaultdict
from contextlib import suppress
from typing import Any

from oneiro_vault.core import memory as memories
from oneiro_vault.core.listing import Stat, blob_id
from oneiro_vault.errors import OneiroError
from oneiro_vault.index.base import Problem as IndexProblem
from oneiro_vault.operations.house import House, Progress, quiet
from oneiro_vault.vault.problems import Problem as VaultProblem


def reindex(house: House, progress: Progress = quiet) -> dict[str, Any]:
    """Everything derived, afresh. Vectors come from the cache; only texts never seen before are embedded again."""
    started = time.monotonic()
    house.rebuild(progress)
    state = house.index.status()
    return {
        "schema": 1,
        "notes": state["notes"],
        "chunks": state["chunks"],
        "pending": state["pending"],
        "seconds": round(time.monotonic() - started, 2),
    }


def doctor(house: House, fix: bool = False, progress: Progress = quiet) -> dict[str, Any]:
    """What is wrong with the repository, the index and this machine; with `fix`, what is safe is mended."""
    house.reconcile(progress)
    found: list[tuple[dict[str, Any], VaultProblem | IndexProblem | None]] = [(_vault_problem(p), p) for p in house.vault.problems()]
    found += [(_index_problem(p), p) for p in house.index.check(_on_disk(house, progress))]
    found += [(p, None) for p in _machine(house)]
    shown = [_mended(house, shown, problem, progress) if fix else shown for shown, problem in found]
    return {"schema": 1, "problems": shown, "versions": versions()}


def _on_disk(house: House, progress: Progress) -> dict[str, str]:
    """path -> blob id of every note, read afresh: proof that does not trust the shortcuts an index takes."""
    stats = [entry for entry in house.vault.files.scan() if isinstance(entry, Stat)]
    found = {}
    for number, stat in enumerate(stats):
        progress("reading", number, len(stats))
        with suppress(OSError):
            found[stat.path] = blob_id(house.vault.files.read(stat.path))
    return found


def _vault_problem(found: VaultProblem) -> dict[str, Any]:
    text = found.message if found.message.startswith(found.path) else f"{found.path}: {found.message}"
    return _problem(found.kind, "warning", text, found.hint, found.fixable)


def _index_problem(found: IndexProblem) -> dict[str, Any]:
    return _problem(found.code, found.level, found.message, found.hint, found.fixable)


def _problem(code: str, level: str, message: str, hint: str = "", fixable: bool = False) -> dict[str, Any]:
    return {"code": code, "level": level, "message": message, "hint": hint, "fixable": fixable, "fixed": False}


def _mended(house: House, shown: dict[str, Any], problem: VaultProblem | IndexProblem | None, progress: Progress) -> dict[str, Any]:
    if not shown["fixable"] or problem is None:
        return shown
    try:
        if isinstance(problem, IndexProblem):
            house.rebuild(progress)
        elif not house.vault.fix(problem):
            return shown
    except OneiroError as error:
        return shown | {"message": f"{shown['message']} (could not be mended: {error})"}
    return shown | {"fixed": True}


def _machine(house: House) -> list[dict[str, Any]]:
    found = []
    if house.watching.startswith("polling"):
        found.append(
            _problem("watch-polling", "info", f"changes are found by {house.watching}", "Raise fs.inotify.max_user_watches to be faster.")
        )
    state = house.embedder_state()
    if state and "warming" not in state:
        found.append(_problem("embedder", "warning", state, "Recall by keyword still works."))
    if sqlite3.sqlite_version_info < (3, 51, 3):
        text = f"SQLite {sqlite3.sqlite_version} has a known rare fault with two writing connections; the index uses one and can be rebuilt"
        found.append(_problem("sqlite-version", "info", text))
    return found


def versions() -> dict[str, str]:
    """Versions of what the vault rests on, for a bug report."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"sqlite": sqlite3.sqlite_version}
    for name in ("oneiro-vault", "pygit2", "GitPython", "chromadb", "sentence-transformers", "torch", "watchdog", "mcp"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def check(house: House, progress: Progress = quiet) -> dict[str, Any]:
    """Lint the notes: what cannot be read, what clashes, what points nowhere. Changes nothing."""
    house.reconcile(progress)
    rows = house.index.list(limit=10_000_000)
    problems = [{"path": path, "code": "unreadable", "level": "error", "message": reason} for path, reason in house.index.unreadable()]
    by_id: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        by_id[row.handle].append(row.path)
        problems += [{"path": row.path, "code": "shape", "level": "warning", "message": text} for text in row.problems]
        if row.id and not memories.is_id(row.id):
            problems.append(
                {"path": row.path, "code": "id", "level": "warning", "message": f"{row.id!r} is not an id of ours (12 letters and digits)"}
            )
    for ident, paths in by_id.items():
        if len(paths) > 1:
            problems += [
                {"path": p, "code": "duplicate-id", "level": "error", "message": f"the id {ident} is used by {len(paths)} notes"}
                for p in paths
            ]
    gone = {str(event.get("id")) for event in house.vault.events() if event.get("e") == "tombstone"}
    for row in rows:
        for key in ("derived_from", "supersedes"):
            for target in getattr(row, key):
                if target not in by_id and target not in gone:
                    problems.append(
                        {"path": row.path, "code": "dangling", "level": "warning", "message": f"{key} names {target}, which is not here"}
                    )
    return {"schema": 1, "problems": sorted(problems, key=lambda p: (p["path"], p["code"])), "notes": len(rows)}


def embed(house: House, progress: Progress = quiet) -> dict[str, Any]:
    """Compute every vector that is still missing, now."""
    house.converge()
    house.index.open_vectors()
    done = house.index.embed(progress)
    return {"schema": 1, "embedded": done, "pending": house.index.status()["pending"]}


def watch(house: House, progress: Progress = quiet, seconds: float | None = None) -> dict[str, Any]:
    """Report `IDX <path> <sha256>` and `DEL <path>` through `progress` as the index follows the disk, until `seconds` are over."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    house.listeners.append(lines.put)
    end = time.monotonic() + seconds if seconds is not None else None
    try:
        while end is None or time.monotonic() < end:
            house.converge()
            try:
                progress(lines.get(timeout=0.1), 0, 0)
            except queue.Empty:
                progress("", 0, 0)
    finally:
        house.listeners.remove(lines.put)
    return {"schema": 1}
