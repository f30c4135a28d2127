"""What a vault's `oneiro.toml` makes looser than this machine has agreed to: said wherever one
looks, until a person agrees."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from oneiro_vault.settings.definitions import HINT, Settings, accepted, keep_agreed, load


def told(root: Path) -> list[str]:
    """A sentence for each setting that is not taken over."""
    return [f"{one.text}. {HINT}" for one in load(root, strict=False).loosened]


def offered(root: Path) -> Callable[[str], bool]:
    """Does the vault let what looks like a secret pass, by the sha256 of its text, and nobody here
    has agreed to it?"""
    theirs = {one.name: one.theirs for one in load(root, strict=False).loosened}
    allowed = frozenset(theirs.get("secrets.allowed", "").lower().split())
    return lambda sha256: theirs.get("secrets.mode") == "off" or sha256 in allowed


def keep(root: Path, settings: Settings) -> None:
    """What became stricter is kept from now on."""
    if settings.agreed:
        with suppress(OSError):  # a disk that is full or read-only: it is asked again next time
            keep_agreed(root, settings.agreed)


def accept(root: Path, settings: Settings) -> None:
    """A person agrees to all of it. Raises OSError."""
    keep_agreed(root, accepted(settings.agreed, settings.loosened))
