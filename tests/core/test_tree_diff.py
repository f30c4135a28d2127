"""Two lists of files and their difference."""

from __future__ import annotations

import subprocess

from oneiro_vault.core.tree_diff import below, blob_id


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


def test_below() -> None:
    assert below("a/b.md", ["a"])
    assert below("a", ["a"])
    assert not below("ab/c.md", ["a"])
    assert not below("a.md", [])
