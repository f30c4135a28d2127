"""What a capture is, and when one still waits to become memories: said once, for the queue and for the loop that encodes."""

from __future__ import annotations

from typing import Final

from oneiro_vault.core.memory import Memory

TYPE: Final = "episodic"
SOURCE: Final = "capture"
REFLECTION: Final = "reflection"
"""Tag of what a conversation left behind in its model's own words."""
OWN: Final = "capture"
"""Tag of a person's own words, which are theirs (`source: user`) and still wait for encoding."""
ENCODED: Final = "encoded"
"""Key of the frontmatter of an episode that has become memories."""


def waits(memory: Memory) -> bool:
    """Is it an episode whose facts are still to be filed?"""
    captured = memory.source == SOURCE or not {REFLECTION, OWN}.isdisjoint(memory.tags)
    return memory.type == TYPE and memory.status == "active" and captured and ENCODED not in memory.extra
