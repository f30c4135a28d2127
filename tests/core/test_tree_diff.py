"""Two lists of files and their difference."""

from __future__ import annotations

import subprocess

from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.core.tree_diff import Stat, below, blob_id, compare


def stat(path: str, size: int = 1) -> Stat:
    return Stat(path, size, 2, 3, 4)


def test_blob_id_is_what_git_says() -> None:
    for data in (b"", b"hello\n", bytes(range(256))):
        done = subprocess.run(
            ["git", "hash-object", "--stdin"],
            input=data,
            capture_output=True,
            check=True,
            timeout=30,
        )
        assert blob_id(data) == done.stdout.decode().strip()


def test_compare() -> None:
    seen = {p: stat(p) for p in ("same.md", "new.md")} | {"changed.md": stat("changed.md", 9)}
    known = {p: stat(p) for p in ("same.md", "changed.md", "gone.md", "hidden/x.md")}
    found = compare(seen, known, gone=lambda path: not path.startswith("hidden/"))
    assert (found.added, found.modified, found.removed) == (["new.md"], ["changed.md"], ["gone.md"])


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2)),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2)),
)
def test_applying_the_difference_gives_what_was_seen(
    seen: dict[str, int], known: dict[str, int]
) -> None:
    new, old = {p: stat(p, s) for p, s in seen.items()}, {p: stat(p, s) for p, s in known.items()}
    found = compare(new, old, gone=lambda _: True)
    result = {p: s for p, s in old.items() if p not in found.removed} | {
        p: new[p] for p in found.added + found.modified
    }
    assert result == new
    assert not set(found.added) & set(found.modified)
    assert compare(new, new, gone=lambda _: True) == compare({}, {}, gone=lambda _: True)


def test_below() -> None:
    assert below("a/b.md", ["a"])
    assert below("a", ["a"])
    assert not below("ab/c.md", ["a"])
    assert not below("a.md", [])
