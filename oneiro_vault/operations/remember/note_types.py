"""Which types and statuses there are. Types are an open set: six of ours, and whatever a person's
own notes name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from oneiro_vault.core.memory import STATUSES, TYPES
from oneiro_vault.errors import InvalidInput, shown
from oneiro_vault.operations.runtime import House

UNTYPED = "note"
"""What a note without a type counts as."""


def known(house: House) -> list[str]:
    """Our types, then those of the notes in this vault."""
    return [
        *TYPES,
        UNTYPED,
        *(name for name in house.index.types() if name not in TYPES and name != UNTYPED),
    ]


def checked(house: House, names: Sequence[str], kept: str = "") -> tuple[str, ...]:
    """The types as the index spells them. Raises InvalidInput, listing what there is, for one that
    no note has and we do not know.

    `kept`: what is safe when they are to be written; while an index is still being built only that
    is refused.
    """
    wanted = tuple(name.strip().lower() for name in names)
    if set(wanted) <= set(TYPES) or (
        house.backlog and not kept
    ):  # what is not indexed yet may have it
        return wanted
    types = known(house)
    for name in wanted:
        if name not in types:
            own = (
                f"A type of your own begins with a note that you write by hand, with `type: "
                f"{name[:40]}` in its frontmatter."
            )
            raise InvalidInput(
                f"there is no type {shown(name)} here{nearest(name, types)}",
                kept=kept,
                hint=f"{_listed(types)} {own}",
            )
    return wanted


def statuses(names: Sequence[str]) -> tuple[str, ...]:
    """The statuses in lower case. Raises InvalidInput for one there is not."""
    wanted = tuple(name.strip().lower() for name in names)
    for name in wanted:
        if name not in STATUSES:
            raise InvalidInput(
                f"there is no status {shown(name)}{nearest(name, STATUSES)}", hint=_listed(STATUSES)
            )
    return wanted


def nearest(name: str, names: Collection[str]) -> str:
    """`; did you mean 'semantic'?` when something is close, else nothing."""
    near = get_close_matches(name[:60], list(names), n=1, cutoff=0.75)
    return f"; did you mean {near[0]!r}?" if near else ""


def _listed(names: Sequence[str]) -> str:
    return f"One of: {', '.join(names[:20])}{' and more' if len(names) > 20 else ''}."
