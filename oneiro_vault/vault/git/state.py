"""What a person, or git itself, has left half done in a repository, and the words that take it
back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from oneiro_vault.errors import RepositoryBusy

PURGING: Final = "purging/plan.json"
"""In our own folder, as long as a purge is not finished."""
KEPT: Final = "Every note is as it was."
_SYNC: Final = ("merge", "rebase")
"""What `oneiro sync` does without stopping half-way: git itself asks nobody about a note that one
side took away and the other changed."""


class State(NamedTuple):
    """`what` is under way; `undo`: the command that takes it back, "" when none does."""

    what: str
    undo: str


_MARKS: Final = {
    f"oneiro/{PURGING}": State("an unfinished purge", ""),
    "MERGE_HEAD": State("a merge", "git merge --abort"),
    "rebase-merge": State("a rebase", "git rebase --abort"),
    "rebase-apply/applying": State("git am", "git am --abort"),
    "rebase-apply": State("a rebase", "git rebase --abort"),
    "REVERT_HEAD": State("a revert", "git revert --abort"),
    "CHERRY_PICK_HEAD": State("a cherry-pick", "git cherry-pick --abort"),
    "BISECT_LOG": State("a bisect", "git bisect reset"),
    "sequencer": State("a sequence of picks", ""),
}


def check(root: Path, git_dir: Path, shared: Callable[[], object]) -> None:
    """Raise RepositoryBusy in the middle of something. `shared`: is there a remote to sync with?"""
    for name, state in _MARKS.items():
        if os.path.exists(git_dir / name):  # noqa: PTH110  # looked at before every write
            raise RepositoryBusy(
                f"{state.what} is in progress in {root}",
                kept=KEPT,
                hint=_hint(state, bool(shared())),
            )


def unmerged(root: Path, git_dir: Path, shared: Callable[[], object]) -> RepositoryBusy:
    """The refusal while git's index holds files that are not merged."""
    try:
        check(root, git_dir, shared)
    except RepositoryBusy as found:
        return found
    hint = (
        "`git status` lists them; `git add FILE` keeps what is on disk, `git rm FILE` takes it "
        "away. Then try again."
    )
    return RepositoryBusy(f"{root} has unmerged files", kept=KEPT, hint=hint)


def _hint(state: State, shared: bool) -> str:
    if "purge" in state.what:
        return "A person finishes it: oneiro purge --resume"
    if not state.undo:
        return "Finish or abort it (git status), then try again."
    if shared and state.undo.split()[1] in _SYNC:
        return (
            f"`{state.undo} && oneiro sync` joins both sides by rule instead. Or finish it by "
            f"hand (git status), then try again."
        )
    return f"Finish it (git status says how), or take it back: `{state.undo}`. Then try again."
