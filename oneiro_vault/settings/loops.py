"""The numbers of the loops, one table a loop: (name, value, what it is). Nothing is imported here:
every client reads them.

A loop's module has its own table as `SETTINGS`. Those in `SETTABLE` are settings of the vault; what
such a value may be follows from its default: a whole number is not negative, a fraction lies
between 0 and 1.
"""

from __future__ import annotations

from typing import Final

Table = tuple[tuple[str, bool | int | float | str, str], ...]

ENCODE: Final[Table] = (
    ("encode.captures", 200, "captures that one run takes at most"),
    ("encode.piece", 6000, "characters of a capture that are taken apart in one question"),
    ("encode.candidates", 8, "memories among which a fact finds its place"),
    (
        "encode.guard",
        4000,
        "characters above which a capture of which nothing was filed is flagged",
    ),
)
CONSOLIDATE: Final[Table] = (
    ("consolidate.similarity", 0.85, "cosine above which two pieces of knowledge may be one"),
    ("consolidate.largest", 8, "members of a cluster at most"),
    ("consolidate.clusters", 40, "clusters judged in one run at most"),
)
SPLIT: Final[Table] = (
    ("split.length", 1200, "characters above which a memory may be several"),
    ("split.axes", 2, "orientation blocks made of one memory from which on it may be several"),
    ("split.notes", 10, "memories judged in one run at most"),
)
SYNTHESIZE: Final[Table] = (
    ("synthesize.due", 5, "raw memories that must wait before anything is synthesised"),
    ("synthesize.group", 3, "memories on one topic that make an insight at least"),
    ("synthesize.largest", 12, "memories on one topic that are shown at once"),
    ("synthesize.groups", 10, "topics judged in one run at most"),
)

DISTIL: Final[Table] = (
    ("distil.strength", 0.3, "strength from which on knowledge may enter the orientation"),
    (
        "distil.age",
        3.0,
        "days after which knowledge may enter the orientation; what the person said may at once",
    ),
    ("distil.uses", 2, "days of use with which one source is enough"),
    (
        "distil.sources",
        2,
        "sources with which no use is needed; what came from outside always needs as many",
    ),
    ("distil.notes", 40, "pieces of knowledge judged in one run at most"),
    ("distil.new", 5, "blocks made in one run at most"),
    ("distil.characters", 800, "characters of an orientation block at most"),
)
WHITTLE: Final[Table] = (
    (
        "whittle.cap",
        20,
        "orientation blocks that stay active at most; what a person ratified always stays",
    ),
    (
        "whittle.rubric",
        True,
        "a judge's rubric decides who stays; false: recency x frequency x magnitude",
    ),
)
DIALECTIC: Final[Table] = (
    ("dialectic.blocks", 3, "orientation blocks debated in one run at most"),
    ("dialectic.rounds", 2, "rounds of a debate at most"),
    (
        "dialectic.cooldown",
        7.0,
        "days for which a block that was changed or decided on is left alone",
    ),
)
DECAY: Final[Table] = (
    ("decay.forecast", 30.0, "days ahead for which the report says what will fade"),
)

LOOPS: Final[Table] = (
    *ENCODE,
    *CONSOLIDATE,
    *SPLIT,
    *SYNTHESIZE,
    *DISTIL,
    *WHITTLE,
    *DIALECTIC,
    *DECAY,
)
"""Every loop's table, in the order of a night: add yours here."""
SETTABLE: Final = frozenset({
    "consolidate.similarity", "distil.uses", "distil.sources", "whittle.cap", "whittle.rubric",
})  # fmt: skip
"""What people set: how strict a night is, and how much orientation is kept."""
