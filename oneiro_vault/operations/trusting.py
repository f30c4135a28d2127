"""What a vault's `oneiro.toml` makes looser than this machine has agreed to: said wherever one looks, and a person's change of it here."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from oneiro_vault import agreement
from oneiro_vault.config import GUARDED, Settings, load
from oneiro_vault.core.listing import blob_id
from oneiro_vault.errors import GitProblem
from oneiro_vault.vault.git import Repo

_NAME = "oneiro.toml"


def told(root: Path) -> list[str]:
    """A sentence for each setting that is not taken over."""
    return [f"{one.text}. {agreement.HINT}" for one in load(root, strict=False).loosened]


def offered(root: Path) -> frozenset[str]:
    """What the vault allows as no secret, whether this machine agrees or not."""
    found = next((one.theirs for one in load(root, strict=False).loosened if one.name == "secrets.allowed"), "")
    return frozenset(found.lower().split())


def own(repo: Repo, settings: Settings) -> Settings:
    """The settings, with what a person has changed in the file on this disk; what became stricter is kept from now on."""
    mine = _changed_here(repo, settings) if settings.loosened else []
    accepted = agreement.accepted(settings.agreed, mine)
    if accepted:
        with suppress(OSError):  # a disk that is full or read-only: it is asked again next time
            agreement.write(repo.root, accepted, GUARDED)
    return settings.accepting(mine)


def _changed_here(repo: Repo, settings: Settings) -> list[agreement.Loosened]:
    """What differs from HEAD, in a file that no commit has brought: git knows the bytes of every file that it fetched."""
    try:
        data = (repo.root / _NAME).read_bytes()
        if repo.knows(blob_id(data)):
            return []
        entry = repo.entry(repo.tip(), _NAME)
        before = repo.data(entry.blob).decode("utf-8", "replace") if entry is not None else ""
    except (OSError, GitProblem):
        return []
    return agreement.changed(settings.loosened, before, GUARDED)


def accept(root: Path, settings: Settings) -> None:
    """A person agrees to all of it. Raises OSError."""
    agreement.write(root, agreement.accepted(settings.agreed, settings.loosened), GUARDED)
