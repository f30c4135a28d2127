"""Earlier versions of single files: what a note said before it could no longer be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from oneiro_vault.vault.git import Repo
from oneiro_vault.vault.staging import EXECUTABLE, FILE

_AT_ONCE: Final = 200
"""Paths in one command: a command line has an end."""
_NOTHING: Final = "0" * 40


class Past:
    """HEAD and what came before it, asked by path."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo

    def heads(self, paths: Iterable[str]) -> dict[str, str]:
        """path -> blob id of the regular file HEAD has there; paths HEAD does not have are left out."""
        tip = self._repo.tip()
        entries = ((path, self._repo.entry(tip, path)) for path in paths)
        return {path: entry.blob for path, entry in entries if entry is not None and entry.mode in (FILE, EXECUTABLE)}

    def versions(self, paths: Iterable[str]) -> dict[str, list[str]]:
        """path -> blob ids of every version in HEAD's history, newest first. Raises GitProblem."""
        found: dict[str, list[str]] = {}
        wanted = sorted(set(paths))
        for start in range(0, len(wanted) if self._repo.tip() else 0, _AT_ONCE):
            for path, blob in self._log(wanted[start : start + _AT_ONCE]):
                found.setdefault(path, []).append(blob)
        return found

    def data(self, blob: str) -> bytes:
        """The bytes of a version. Raises GitProblem."""
        return self._repo.data(blob)

    def _log(self, paths: list[str]) -> Iterator[tuple[str, str]]:
        """(path, blob) of what each commit made of these files: `:<mode> <mode> <blob> <blob> <status>`, path, and so on."""
        layout = ("--format=", "--raw", "-z", "--no-abbrev", "--no-renames", "--diff-merges=first-parent")
        out = self._repo.commands.run("log", "--topo-order", *layout, "HEAD", "--", *paths)
        words = iter(out.decode("utf-8", "surrogateescape").split("\0"))
        for entry in words:
            path, fields = next(words, ""), entry.lstrip("\n").split(" ")
            if len(fields) == 5 and fields[3] != _NOTHING and fields[1] in ("100644", "100755"):
                yield path, fields[3]
