"""The seam the drills use to die at a named step of a write; does nothing unless
`ONEIRO_FAULT=name` or `name:n` is set."""

from __future__ import annotations

import os
from collections import Counter
from typing import Final

POINTS: Final = (
    "locked",  # the write lock is held, nothing was looked at
    "built",  # blobs, trees and the commit exist in memory only
    "objects",  # their files are written, not yet durable
    "journal",  # objects and intent are durable, the branch has not moved
    "moved",  # the branch has moved, not yet durable
    "durable",  # the branch is durable: from here on the write survives anything
    "note-temp",  # the new bytes of a note lie beside it under a temporary name
    "note",  # the note has its new bytes
    "files",  # every note of the commit has its new bytes
    "index",  # `.git/index` holds the new entries
    "witness",  # the tip witness names the commit
    "cleared",  # the journal is empty again
    "folded",  # the pending ledger is renamed, about to be part of a commit
    "unfolded",  # its events are in the branch, the renamed file is still there
)
"""Every step of a write after which a process can be made to die."""
SYNC_POINTS: Final = (
    "sync-fetched",  # their history is here, nothing else has happened
    "sync-joining",  # what joining the two means is decided, nothing is written
    "sync-joined",  # ours contains theirs, they know nothing of it yet
    "sync-pushed",  # they have ours, it is not written down that we are at one
)
"""And of a sync, which goes through those of a write as well."""
PURGE_POINTS: Final = (
    "purge-cleaned",  # the spool and the like are clean, the history is as it was
    "purge-entombed",  # the tombstones are committed, no plan is written
    "purge-begun",  # the plan is on disk; from here on only going on is possible
    "purge-rewritten",  # every ref leads to the new history, the reflogs to the old
    "purge-expired",  # nothing leads to the old history, its objects are there
    "purge-settled",  # the history is clean, the indexes are not
)
"""And of a purge."""

_reached: Counter[str] = Counter()


def reach(name: str) -> None:
    """Die like a killed process (no clean-up, exit status 137) when the environment asks for it at
    this step."""
    wanted = os.environ.get("ONEIRO_FAULT")
    if not wanted:
        return
    _reached[name] += 1
    point, _, count = wanted.partition(":")
    if point == name and _reached[name] >= int(count or 1):
        os._exit(137)  # pragma: no cover  (nothing is left to count it)
