"""What git runs for every note that both sides of a merge changed: `oneiro merge-driver %O %A %B
%P`.

It is started anew for each file, so it loads the merge and nothing else. Git takes what it writes
into %A, and goes on when it ends with 0.
"""
# pathlib is left out here: it costs a fifth of the whole start.
# ruff: noqa: PTH123

from __future__ import annotations

import sys

from oneiro_vault.core.merge.three_way import merge_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(words: Sequence[str]) -> int:
    """Merge the base, ours and theirs (names of files) for a vault path; returns 0, or 1 when a
    file cannot be read or written: then %A stays as it is and git calls the path conflicted.
    """
    base, ours, theirs, path = words
    try:
        versions = [_read(name) for name in (base, ours, theirs)]
        merged = merge_file(path, versions[0] or None, versions[1], versions[2])
        if merged.data != versions[1]:
            with open(ours, "wb") as file:
                file.write(merged.data)
    except OSError as error:
        _say(
            f"oneiro: {path} was not merged: {error}; nothing is lost, `git merge --abort` (or "
            f"rebase) goes back"
        )
        return 1
    if merged.clashes:
        _say(
            f"oneiro: {path}: both sides changed the same words; both are in it, look for "
            f"[!conflict]"
        )
    return 0


def _read(name: str) -> bytes:
    with open(name, "rb") as file:
        return file.read()


def _say(text: str) -> None:
    sys.stderr.write(text.encode("ascii", "backslashreplace").decode("ascii") + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
