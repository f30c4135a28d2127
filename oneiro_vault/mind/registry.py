"""The loops there are, in the order of a night. A new one is one line here and one table in
`parameters`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from oneiro_vault.mind.base import Loop
from oneiro_vault.mind.loops import (
    consolidate,
    decay,
    dialectic,
    distil,
    encode,
    split,
    synthesize,
    whittle,
)

LOOPS: Final[Mapping[str, Loop]] = {
    found.name: found
    for found in (
        encode.LOOP,
        consolidate.LOOP,
        split.LOOP,
        synthesize.LOOP,
        distil.LOOP,
        whittle.LOOP,
        dialectic.LOOP,
        decay.LOOP,
    )
}
"""Name -> loop."""
