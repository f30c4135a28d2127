"""Which notes are hit when objects of the repository are damaged or missing: every object that a
ref leads to is read and checked.

Slow (seconds for ten thousand notes), so it is done only where `git fsck` has found something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.errors import OneiroError
from oneiro_vault.vault.git.objects import Store
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.worktree.files import Files

_LINKS: Final = re.compile(rb"(?m)^(tree|parent|object) ([0-9a-f]{40})$")
_ENTRY: Final = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
_FOLDER, _SUBMODULE = b"40000", b"160000"


@dataclass
class Hit:
    """One damaged or missing object: its type as far as is known ("" when nothing leads to it), the
    paths it was ever seen under, and those it has at the tip."""

    oid: str
    kind: str
    paths: set[str] = field(default_factory=set)
    now: set[str] = field(default_factory=set)


def survey(repo: Repo) -> dict[str, Hit]:
    """Every damaged or missing object by its id."""
    return _Survey(repo).run()


class _Survey:
    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._store = Store(str(repo.root))
        self._there = self._store.ids()
        self._promised = any(
            repo.config(f"remote.{name}.promisor") == "true" for name in repo.remotes()
        )
        shallow = repo.common_dir / "shallow"
        self._ends = set(shallow.read_text().split()) if shallow.exists() else set()
        self._hits: dict[str, Hit] = {}
        self._seen: set[str] = set()

    def run(self) -> dict[str, Hit]:
        tip = self._repo.tip()
        refs = self._repo.commands.text(
            "for-each-ref", "--format=%(objecttype) %(objectname)"
        ).splitlines()
        roots = [
            (oid, "", kind or "commit") for kind, _, oid in (line.partition(" ") for line in refs)
        ]
        self._walk([*roots, (tip, "", "commit")] if tip else roots)
        for oid in self._there - self._seen:
            if self._store.get(oid) is None:
                self._hits[oid] = Hit(oid, "")
        if self._hits:
            self._place_now(tip)
        return self._hits

    def _walk(self, ahead: list[tuple[str, str, str]]) -> None:
        while ahead:
            oid, path, kind = ahead.pop()
            if oid in self._hits:
                self._hits[oid].paths.add(path)
            if oid in self._seen:
                continue
            self._seen.add(oid)
            found = self._store.get(oid)
            if found is not None:
                ahead.extend(self._below(oid, path, *found))
            elif (
                oid in self._there or not self._promised
            ):  # a partial clone fetches what it misses by itself
                self._hits[oid] = Hit(oid, kind, {path})

    def _below(self, oid: str, path: str, kind: str, data: bytes) -> Iterator[tuple[str, str, str]]:
        if kind == "tree":
            yield from _entries(data, path)
        elif kind in ("commit", "tag"):
            for word, other in reversed(
                _LINKS.findall(data.partition(b"\n\n")[0])
            ):  # the newest tree is walked first
                if word != b"parent" or oid not in self._ends:
                    yield (
                        other.decode(),
                        "",
                        {b"parent": "commit", b"object": "object"}.get(word, "tree"),
                    )

    def _place_now(self, tip: str) -> None:
        """Where the tip has them."""
        commit = self._store.get(tip) if tip else None
        ahead = (
            [(other, path) for other, path, kind in self._below("", "", *commit) if kind == "tree"]
            if commit
            else []
        )
        while ahead:
            oid, path = ahead.pop()
            if oid in self._hits:
                self._hits[oid].paths.add(path)
                self._hits[oid].now.add(path)
            elif (found := self._store.get(oid)) is not None and found[0] == "tree":
                ahead.extend(
                    (other, place)
                    for other, place, kind in _entries(found[1], path)
                    if kind == "tree" or other in self._hits
                )


def _entries(tree: bytes, path: str) -> Iterator[tuple[str, str, str]]:
    for mode, name, oid in _ENTRY.findall(tree):
        if mode != _SUBMODULE:
            place = f"{path}/{name.decode('utf-8', 'surrogateescape')}".lstrip("/")
            yield oid.hex(), place, "tree" if mode == _FOLDER else "blob"


def on_disk(files: Files, hit: Hit) -> bytes | None:
    """The bytes of a damaged file, where one of its paths still holds them."""
    for path in sorted(hit.paths) if hit.kind == "blob" else ():
        try:
            data = files.content(path)
        except (OSError, OneiroError):
            continue
        if data is not None and blob_id(data) == hit.oid:
            return data
    return None


def told(files: Files, hits: dict[str, Hit]) -> list[str]:
    """What a person is told: what is hit now first, then what lies behind."""
    lines = [(not hit.now, line) for hit in hits.values() for line in _lines(files, hit)]
    return [line for _, line in sorted(lines)]


def _lines(files: Files, hit: Hit) -> Iterator[str]:
    if hit.kind == "blob":
        intact = on_disk(files, hit) is not None
        for path in sorted(hit.paths):
            now = f"as it is now; the copy on disk is {'intact' if intact else 'not the same'}"
            yield f"{path} ({now if path in hit.now else 'an earlier version'})"
    elif hit.kind == "tree":
        when = "as it is now" if hit.now else "as it was once"
        yield from (
            f"the folder {path or Path(files.root).name} ({when})" for path in sorted(hit.paths)
        )
    else:
        yield f"{hit.kind or 'object'} {hit.oid[:10]}" + (
            "" if hit.kind else ", which nothing leads to"
        )
