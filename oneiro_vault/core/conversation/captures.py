"""What a capture is, and when one still waits to become memories."""

from __future__ import annotations

from typing import Final

from oneiro_vault.core.memory import CAPTURE, EPISODIC, Memory, captured

SOURCE: Final = CAPTURE
OWN: Final = CAPTURE
"""Tag of a person's own words, which are theirs (`source: user`) and still wait for encoding."""
REFLECTION: Final = "reflection"
"""Tag of what a conversation left behind in its model's own words."""
KIND: Final = "captured"
"""Key of the frontmatter that says what kind of capture it is: compaction, session, turns or
note."""
CLIENT: Final = "client"
"""Key of the frontmatter that names the program a conversation was held in."""
FILE: Final = "file"
"""Its value for a transcript that a person brought and that lies in no folder of their own clients:
nobody knows who speaks in it."""
IMPORT: Final = "import:"
"""How the source of what another program exported begins."""
ENCODED: Final = "encoded"
"""Key of the frontmatter of an episode that has become memories."""


def imported(source: str) -> bool:
    """Does it come out of an export?"""
    return source.startswith(IMPORT)


def waits(memory: Memory) -> bool:
    """Is it an episode whose facts are still to be filed?"""
    raw = captured(memory) or (memory.type == EPISODIC and REFLECTION in memory.tags)
    return raw and memory.status == "active" and ENCODED not in memory.extra
