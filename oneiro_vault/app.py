"""The only wiring: settings become a vault, an index, an embedder and the operations over them."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from oneiro_vault.config import Settings, load
from oneiro_vault.errors import DiskProblem, InvalidInput, OneiroError
from oneiro_vault.index.base import Embedder
from oneiro_vault.index.embed import HashEmbedder, WorkerEmbedder
from oneiro_vault.index.store import Index
from oneiro_vault.operations import reading, upkeep, writing
from oneiro_vault.operations.background import Background
from oneiro_vault.operations.house import House, Progress, quiet
from oneiro_vault.vault import layout
from oneiro_vault.vault.vault import Vault

SMALL_INDEX: Final = 1_000_000
"""Bytes of `.git/index` (about 8,000 files) up to which an owner rewrites it with every commit, so that a person's `git commit` never
meets one that lags; a larger one follows within a second."""


@dataclass(frozen=True)
class Op:
    """One operation: its function, whether it only reads, and whether it reports progress."""

    run: Callable[..., dict[str, Any]]
    reads_only: bool = False

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """What a caller may pass (the house and the progress callback are ours)."""
        found = inspect.signature(self.run).parameters
        return {name: p for name, p in found.items() if name not in {"house", "progress"}}

    @property
    def reports(self) -> bool:
        """Does it take a progress callback?"""
        return "progress" in inspect.signature(self.run).parameters


OPS: Final[dict[str, Op]] = {
    "remember": Op(writing.remember),
    "reframe": Op(writing.reframe),
    "forget": Op(writing.forget),
    "restore": Op(writing.restore),
    "undo": Op(writing.undo),
    "adopt": Op(writing.adopt),
    "recall": Op(reading.recall, reads_only=True),
    "show": Op(reading.show, reads_only=True),
    "list": Op(reading.list_, reads_only=True),
    "log": Op(reading.log, reads_only=True),
    "why": Op(reading.why, reads_only=True),
    "stats": Op(reading.stats, reads_only=True),
    "status": Op(reading.status, reads_only=True),
    "check": Op(upkeep.check, reads_only=True),
    "doctor": Op(upkeep.doctor),
    "reindex": Op(upkeep.reindex),
    "embed": Op(upkeep.embed),
    "watch": Op(upkeep.watch, reads_only=True),
}


class App:
    """An open vault. `call` is the one way in; it may be used from several threads."""

    OPS: Final = OPS

    def __init__(self, house: House) -> None:
        self.house = house
        self._background: Background | None = None

    @classmethod
    def open(cls, root: Path, settings: Settings, *, owner: bool = False, clock: Callable[[], float] = time.time) -> App:
        """Open the vault at `root` (repairing what a crash left). Only the holder of the owner lock may do this.

        Raises VaultNotFound, GitProblem, DiskProblem.
        """
        vault = Vault.open(
            root,
            clock=clock,
            quiet=settings["edits.quiet"],
            wait=settings["git.wait"],
            reserve=settings["disk.reserve"],
            lazy_index=owner,
            small_index=SMALL_INDEX,
        )
        embedder = make_embedder(settings)
        folder = index_folder(root, settings)
        limits = {"indexed_bytes": settings["notes.indexed_bytes"], "brake": settings["notes.brake"]}
        try:
            index = Index.open(folder, vault.files, embedder, clock=clock, former=former_embedder, last_good=vault.last_good, **limits)
        except OSError as error:
            raise DiskProblem(
                f"the index folder {folder} cannot be used: {error.strerror}",
                kept="The notes are untouched.",
                hint="Make it writable, or choose another with the setting index.dir.",
            ) from error
        return cls(House(root, settings, vault, index, embedder, owner=owner, clock=clock))

    def call(self, op: str, params: Mapping[str, Any] | None = None, progress: Progress | None = None) -> dict[str, Any]:
        """Run one operation. Raises OneiroError for anything a caller did or met; parameters are checked by name."""
        found = OPS.get(op)
        if found is None:
            raise InvalidInput(f"there is no operation {op!r}", hint=f"One of: {', '.join(sorted(OPS))}.")
        given = dict(params or {})
        unknown = given.keys() - found.parameters.keys()
        missing = [n for n, p in found.parameters.items() if p.default is p.empty and n not in given]
        if unknown or missing:
            raise InvalidInput(f"{op}: " + "; ".join([f"unknown {n!r}" for n in sorted(unknown)] + [f"{n!r} is needed" for n in missing]))
        if found.reports:
            given["progress"] = progress or quiet
        return found.run(self.house, **given)

    def start(self) -> None:
        """Owner only: watch the disk, embed, commit a person's resting edits, compare everything once a minute."""
        self._background = Background(self.house)
        self._background.start()

    def busy(self) -> bool:
        """Is background work under way?"""
        return self._background is not None and self._background.busy()

    def close(self) -> None:
        """Stop background work, flush what is owed to git's index, close the indexes."""
        if self._background is not None:
            self._background.stop()
        if not self.house.owner:
            with suppress(OneiroError):  # resting edits are a courtesy: `doctor` says what is in their way
                self.house.commit_edits()
        self.house.vault.close()
        self.house.index.close()
        self.house.embedder.close()

    def __enter__(self) -> App:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def make_embedder(settings: Settings) -> Embedder:
    """The embedder the machine's settings name."""
    model = settings["embed.model"]
    if model == "hash":
        return HashEmbedder()
    return WorkerEmbedder(model, threads=settings["embed.threads"], idle=settings["embed.idle"])


def former_embedder(name: str) -> Embedder | None:
    """The embedder whose vectors are called `name`, so that they answer while another model's are computed; None if it is not ours."""
    for found in (HashEmbedder(), WorkerEmbedder("default")):
        if found.name == name:
            return found
    return None


def index_folder(root: Path, settings: Settings) -> Path:
    """Where this machine keeps the disposable indexes of a vault; one setting serves many vaults, so each has a folder of its own."""
    if not settings["index.dir"]:
        return root / ".oneiro"
    mark = sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
    return Path(settings["index.dir"]).expanduser() / mark


def init_vault(path: Path, here: bool = False, progress: Progress = quiet) -> dict[str, Any]:
    """Make a vault of a new folder, or (`here`) of a folder of notes; rewrites nothing that is there."""
    made = layout.create_here(path, progress) if here else layout.create(path, progress)
    return {
        "schema": 1,
        "vault": str(made.root),
        "commit": made.commit or None,
        "created": list(made.added),
        "notes": sum(1 for name in made.adopted if name.lower().endswith(".md")),
        "skipped": [{"path": entry.path, "reason": entry.reason} for entry in made.skipped],
        "outer": str(made.outer) if made.outer else None,
    }


def open_vault(path: str | os.PathLike[str], **overrides: bool | int | float | str) -> App:
    """The Python API: an open vault in this process. Keyword arguments are settings with `_` for `.`.

    >>> with open_vault("my-vault") as vault:
    ...     vault.call("remember", {"items": [{"text": "The release is on Friday."}]})
    ...     vault.call("recall", {"query": "when do we ship?"})
    """
    root = Path(path).expanduser().resolve()
    env = dict(os.environ) | {"ONEIRO_" + name.upper(): str(value) for name, value in overrides.items()}
    return App.open(root, load(root, env))


__all__ = ["OPS", "App", "OneiroError", "Op", "index_folder", "init_vault", "make_embedder", "open_vault"]
