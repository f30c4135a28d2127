"""Where the owner of a vault keeps its things. Plain strings and `os` only: this is on the fast
path of every command."""

# pathlib imports re and urllib: 8 ms on a path that has 20.
# ruff: noqa: PTH111, PTH112, PTH117, PTH118, PTH123

from __future__ import annotations

import os

LONGEST_SOCKET = 100
"""Bytes; the kernel's limit is 108 (104 on macOS)."""


def git_dir(root: str) -> str:
    """The git directory of the vault at `root`, also when `.git` is a file that points
    elsewhere."""
    path = os.path.join(root, ".git")
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(4096)
    except OSError:
        return path
    target = text.removeprefix("gitdir:").strip()
    return (
        os.path.normpath(os.path.join(root, target))
        if text.startswith("gitdir:") and target
        else path
    )


def state_dir(root: str) -> str:
    """The folder for what must outlive the disposable indexes: the owner's lock and record."""
    return os.path.join(git_dir(root), "oneiro")


def record_file(root: str) -> str:
    """The file in which a running owner says how to reach it."""
    return os.path.join(state_dir(root), "owner.json")


def lock_file(root: str) -> str:
    """The file an owner holds locked as long as it lives."""
    return os.path.join(state_dir(root), "owner.lock")


def index_dir(root: str, configured: str = "") -> str:
    """The folder for what can be rebuilt. `configured` is the machine's setting `index.dir`: each
    vault has a folder of its own in it."""
    if not configured:
        return os.path.join(root, ".oneiro")
    import hashlib

    mark = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
    return os.path.join(os.path.expanduser(configured), mark)


def log_file(index: str) -> str:
    """The owner's log."""
    return os.path.join(index, "logs", "owner.log")


def socket_paths(index: str) -> list[str]:
    """Where the owner's socket may be: in the index folder, unless that path is too long for one,
    else in a private runtime folder."""
    import hashlib

    path = os.path.join(index, "socket")
    other = os.path.join(
        runtime_dir(), hashlib.sha256(os.fsencode(os.path.realpath(index))).hexdigest()[:32]
    )
    return [path, other] if len(os.fsencode(path)) <= LONGEST_SOCKET else [other]


def runtime_dir() -> str:
    """A folder of this user for sockets, under `$XDG_RUNTIME_DIR` or `/tmp`; short whatever the
    vault's path is."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    if (
        os.path.isabs(base)
        and len(os.fsencode(base)) <= LONGEST_SOCKET - 40
        and os.path.isdir(base)
    ):
        return os.path.join(base, "oneiro")
    return f"/tmp/oneiro-{os.getuid()}"
