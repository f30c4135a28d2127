"""Earlier versions of single files: what a note said before it could no longer be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Final

from oneiro_vault.errors import GitProblem
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import EXECUTABLE, FILE

_AT_ONCE: Final = 200
"""Paths in one command: a command line has an end."""
_NOTHING: Final = "0" * 40


class Past:
    """HEAD and what came before it, asked by path."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._births: dict[str, str] = {}
        self._born_at = ""
        self._lock = Lock()

    def heads(self, paths: Iterable[str]) -> dict[str, str]:
        """path -> blob id of the regular file HEAD has there; paths HEAD does not have are left
        out."""
        tip = self._repo.tip()
        entries = ((path, self._repo.entry(tip, path)) for path in paths)
        return {
            path: entry.blob
            for path, entry in entries
            if entry is not None and entry.mode in (FILE, EXECUTABLE)
        }

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

    def born(self, paths: Iterable[str]) -> dict[str, str]:
        """path -> author date of the commit that first had its file, before it was renamed too; {}
        when git cannot be asked.

        The history is walked once; later only what is new in it.
        """
        with self._lock:
            try:
                tip = self._repo.tip()
                if tip != self._born_at:
                    self._walk(f"{self._born_at}..{tip}" if self._born_at else tip)
                    self._born_at = tip
            except GitProblem:
                return {}
            return {path: self._births[path] for path in paths if path in self._births}

    def _walk(self, commits: str) -> None:
        """Add the births of these commits, oldest first: `\1<date>`, then `A`, path or `R<n>`, old
        path, new path, and so on."""
        layout = (
            "--format=%x01%aI",
            "--name-status",
            "-z",
            "--find-renames=70%",
            "--diff-filter=AR",
            "--topo-order",
            "--reverse",
        )
        out = self._repo.commands.run("log", *layout, commits, "--", timeout=600.0)
        day = ""
        words = iter(out.decode("utf-8", "surrogateescape").split("\0"))
        for word in words:
            word = word.lstrip("\n")
            if word.startswith("\1"):
                day = word[1:].strip()
            elif word == "A":
                self._births.setdefault(next(words, ""), day)
            elif word.startswith("R"):
                old, new = next(words, ""), next(words, "")
                self._births.setdefault(new, self._births.get(old, day))

    def _log(self, paths: list[str]) -> Iterator[tuple[str, str]]:
        """(path, blob) of what each commit made of these files: `:<mode> <mode> <blob> <blob>
        <status>`, path, and so on."""
        layout = (
            "--format=",
            "--raw",
            "-z",
            "--no-abbrev",
            "--no-renames",
            "--diff-merges=first-parent",
        )
        out = self._repo.commands.run("log", "--topo-order", *layout, "HEAD", "--", *paths)
        words = iter(out.decode("utf-8", "surrogateescape").split("\0"))
        for entry in words:
            path, fields = next(words, ""), entry.lstrip("\n").split(" ")
            if len(fields) == 5 and fields[3] != _NOTHING and fields[1] in ("100644", "100755"):
                yield path, fields[3]
