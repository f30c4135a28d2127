"""Damaged and missing objects: which notes they hit, and how they are made good, from the files on
disk where they are the same, else from a remote. Nothing is deleted.

Every object that a ref leads to is read, so it is done only where `git fsck` has found something. A
remote may hold what was purged here: everything is fetched into a repository that is thrown away,
and only what is missing is taken over.
"""
# pathlib is left out here: one rename over an existing file.
# ruff: noqa: PTH105

from __future__ import annotations

import logging
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.errors import DiskProblem, GitProblem, OneiroError, few
from oneiro_vault.vault.git import network, objects, repository
from oneiro_vault.vault.git.commands import Commands
from oneiro_vault.vault.git.objects import Store
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.parts import Parts
from oneiro_vault.vault.worktree.files import Files
from oneiro_vault.vault.write import disk

_LINKS: Final = re.compile(rb"(?m)^(tree|parent|object) ([0-9a-f]{40})$")
_ENTRY: Final = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
_FOLDER, _SUBMODULE = b"40000", b"160000"


@dataclass
class Hit:
    """One damaged or missing object: its type ("" when nothing leads to it), the paths it was ever
    seen under, and those it has at the tip."""

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


log = logging.getLogger("oneiro.vault")
_LONG: Final = 3600.0
_STALL: Final = 60.0
_AT_ONCE: Final = 5000


def mend(vault: Parts) -> None:
    """Refill what can be refilled. Raises GitProblem naming what is still damaged, LockTimeout or
    DiskProblem."""
    with vault.gate.locked(), disk.guarded("Mending the repository"):
        _sound_packs(vault)
        hits = _refilled(vault, None)
    reasons = []
    for name in vault.repo.remotes():
        if not hits:
            return
        try:
            hits = _from_remote(vault, name)
        except DiskProblem:
            raise
        except OneiroError as error:
            reasons.append(f"{name}: {error}")
    if hits:
        where = "; ".join(reasons) or (
            "no remote has it" if vault.repo.remotes() else "there is no remote to fetch it from"
        )
        raise GitProblem(
            f"still damaged: {few(told(vault.files, hits), 20)} ({where})",
            kept="What could be refilled was; what was damaged lies in .git/oneiro/aside.",
            hint="Another clone or a backup may have it: git remote add NAME PATH, then `oneiro "
            "doctor --fix` again.",
        )


def _from_remote(vault: Parts, name: str) -> dict[str, Hit]:
    with tempfile.TemporaryDirectory(prefix="oneiro-mend-") as folder:
        repository.borrow(folder, vault.repo.common_dir / "config")
        refs = ("+refs/heads/*:refs/mend/heads/*", "+refs/tags/*:refs/mend/tags/*")
        words = ("fetch", "--progress", "--no-tags", "--no-write-fetch-head", name, *refs)
        status, _, err = Commands(vault.root, Path(folder)).attend(*words, stall=_STALL)
        if status:
            lines = [
                line
                for line in network.clean(err).splitlines()
                if line.startswith(("fatal:", "error:"))
            ]
            raise GitProblem(" ".join(lines) or f"git fetch ended with status {status}")
        with vault.gate.locked(), disk.guarded("Mending the repository"):
            return _refilled(vault, objects.Store(folder))


def _refilled(vault: Parts, other: objects.Store | None) -> dict[str, Hit]:
    """From the disk or the `other` store, as long as that leads on; returns what is left."""
    hits = survey(vault.repo)
    while hits:
        for oid in hits:
            place = vault.repo.common_dir / "objects" / oid[:2] / oid[2:]
            if place.exists():
                vault.journal.set_aside(place, "a damaged object")
        if other is None and any(hit.kind == "tree" for hit in hits.values()):
            vault.repo.commands.attempt(
                "write-tree", "--missing-ok"
            )  # `.git/index` knows what the folders of the tip hold
        found = {
            oid: known
            for oid, hit in hits.items()
            if (known := _known(vault, hit, other)) is not None
        }
        objects.put(str(vault.repo.common_dir / "objects"), found)
        vault.repo.renew()
        before, hits = hits, survey(vault.repo)
        if found:
            log.warning(
                "%d damaged objects were refilled from %s",
                len(found),
                "a remote" if other else "the files on disk",
            )
        if not found and hits.keys() == before.keys():
            break
    return hits


def _known(vault: Parts, hit: Hit, other: objects.Store | None) -> tuple[str, bytes] | None:
    if other is not None:
        return other.get(hit.oid)
    data = on_disk(vault.files, hit)
    return None if data is None else ("blob", data)


# -- packs


def _sound_packs(vault: Parts) -> None:
    """An unsound pack is replaced by what can be read of it: libgit2 would ask it first for
    ever."""
    for pack in sorted((vault.repo.common_dir / "objects/pack").glob("pack-*.pack")):
        if vault.repo.commands.attempt("verify-pack", str(pack), timeout=_LONG)[
            0
        ] and not _indexed_anew(vault, pack):
            _replaced(vault, pack)
    vault.repo.renew()


def _indexed_anew(vault: Parts, pack: Path) -> bool:
    """When only its index was damaged; under another name, since libgit2 remembers the old by its
    own."""
    new = vault.folder / "mending.idx"
    status, _, _ = vault.repo.commands.attempt(
        "index-pack", "-o", str(new), str(pack), timeout=_LONG
    )
    if status == 0:
        if pack.with_suffix(".idx").exists():
            vault.journal.set_aside(pack.with_suffix(".idx"), "a damaged index of a pack")
        name = pack.with_name(f"pack-{os.urandom(20).hex()}.pack")
        os.replace(pack, name)
        os.replace(new, name.with_suffix(".idx"))
        disk.sync([str(name.with_suffix(".idx")), str(name.parent)])
    for left in (*vault.folder.glob("mending.*"), pack.with_suffix(".rev")):
        left.unlink(missing_ok=True)
    return status == 0


def _replaced(vault: Parts, pack: Path) -> None:
    store, ids = objects.Store(str(vault.root)), []
    index = pack.with_suffix(".idx")
    if index.exists():
        with index.open("rb") as file:
            ids = [
                line.split()[1].decode()
                for line in vault.repo.commands.attempt("show-index", source=file)[1].splitlines()
            ]
    for start in range(0, len(ids), _AT_ONCE):
        readable = {
            oid: found
            for oid in ids[start : start + _AT_ONCE]
            if (found := store.get(oid)) is not None
        }
        with tempfile.TemporaryFile(dir=vault.folder) as file:
            for piece in objects.packed(readable):
                file.write(piece)
            file.seek(0)
            vault.repo.commands.run("index-pack", "--stdin", source=file, timeout=_LONG)
    for suffix in (".idx", ".rev", ".bitmap", ".mtimes", ".pack"):
        if (part := pack.with_suffix(suffix)).exists():
            vault.journal.set_aside(part, "a damaged pack")
