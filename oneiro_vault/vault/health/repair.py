"""Damaged and missing objects made good: from the files on disk where they are the same, else from
a remote. Nothing is deleted.

git never fetches again what it believes it has, and a remote may hold what was purged here; so
everything is fetched into a repository of its own that is thrown away, and only what is missing is
taken over from there.
"""
# pathlib is left out here: one rename over an existing file.
# ruff: noqa: PTH105

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from oneiro_vault.errors import DiskProblem, GitProblem, OneiroError, few
from oneiro_vault.vault.git import network, new_repository, objects
from oneiro_vault.vault.git.commands import Commands
from oneiro_vault.vault.health import fsck
from oneiro_vault.vault.write import disk

if TYPE_CHECKING:
    from oneiro_vault.vault.health.fsck import Hit
    from oneiro_vault.vault.vault import Vault

log = logging.getLogger("oneiro.vault")
_LONG: Final = 3600.0
_STALL: Final = 60.0
_AT_ONCE: Final = 5000
"""Objects of one new pack: they are held in memory."""


def mend(vault: Vault) -> None:
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
            f"still damaged: {few(fsck.told(vault.files, hits), 20)} ({where})",
            kept="What could be refilled was; what was damaged lies in .git/oneiro/aside.",
            hint="Another clone or a backup may have it: git remote add NAME PATH, then `oneiro "
            "doctor --fix` again.",
        )


def _from_remote(vault: Vault, name: str) -> dict[str, Hit]:
    """What is still missing after looking at a remote. Raises GitProblem or Unreachable."""
    with tempfile.TemporaryDirectory(prefix="oneiro-mend-") as folder:
        new_repository.borrow(folder, vault.repo.common_dir / "config")
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


def _refilled(vault: Vault, other: objects.Store | None) -> dict[str, Hit]:
    """Put what the disk, or the `other` store, has in the place of what is damaged, as long as that
    leads on; returns what is left."""
    hits = fsck.survey(vault.repo)
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
        before, hits = hits, fsck.survey(vault.repo)
        if found:
            log.warning(
                "%d damaged objects were refilled from %s",
                len(found),
                "a remote" if other else "the files on disk",
            )
        if not found and hits.keys() == before.keys():
            break
    return hits


def _known(vault: Vault, hit: Hit, other: objects.Store | None) -> tuple[str, bytes] | None:
    if other is not None:
        return other.get(hit.oid)
    data = fsck.on_disk(vault.files, hit)
    return None if data is None else ("blob", data)


# -- packs
# --------------------------------------------------------------------------------------------------


def _sound_packs(vault: Vault) -> None:
    """A pack that is not sound is replaced by what can be read of it, and moved aside: libgit2
    would ask it first for ever."""
    for pack in sorted((vault.repo.common_dir / "objects/pack").glob("pack-*.pack")):
        if vault.repo.commands.attempt("verify-pack", str(pack), timeout=_LONG)[
            0
        ] and not _indexed_anew(vault, pack):
            _replaced(vault, pack)
    vault.repo.renew()


def _indexed_anew(vault: Vault, pack: Path) -> bool:
    """When only its index was damaged, a new one will do; under another name, since libgit2
    remembers the old by its own."""
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


def _replaced(vault: Vault, pack: Path) -> None:
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
