"""What commits say about memories: messages written with trailers, the log read back as data, and
the versions of files in it.

Subject `<op>: <title>`, then one paragraph of `Oneiro-*` trailers. Every value is folded into one
line, so that no title or reason can forge a trailer.
"""

from __future__ import annotations

import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final, NamedTuple

from oneiro_vault.core.markdown.quoting import one_line
from oneiro_vault.errors import GitProblem
from oneiro_vault.vault.change import OPS, Operation
from oneiro_vault.vault.git.commands import Commands
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import EXECUTABLE, FILE

_BOOKS: Final = ("sync", "ledger")
_BY_HAND: Final = 2_000
"""Commits that name no memory, above which git follows a file itself."""
_SUBJECT: Final = 180
_VALUE: Final = 2000
_ANY_TRAILER: Final = re.compile(r"[A-Za-z][A-Za-z-]*: ")
_UNDO: Final = re.compile(r"undo of ([0-9a-f]{40,64})")
_OTHER: Final = {"undo": "redo", "redo": "undo"}
_TRAILER: Final = re.compile(r"(?m)^Oneiro-([A-Z][a-z]+): (.*)$")


@dataclass(frozen=True)
class Entry:
    """One commit. `when` is epoch seconds; `op` is "" for one made by hand; `paths`: what it
    touched (moved files: new names), `removed`: what of that it took out; `undoes`: the commit it
    takes back; `decision`: what a loop did at most once; `fence`: the number of its lease (0:
    none)."""

    commit: str
    op: str
    title: str
    when: float
    author: str
    actor: str = ""
    memories: tuple[str, ...] = ()
    reason: str = ""
    run: str = ""
    judge: str = ""
    device: str = ""
    paths: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    undoes: str = ""
    loop: str = ""
    decision: str = ""
    fence: int = 0

    @property
    def by_person(self) -> bool:
        """Did a person want it: with this program, in an editor, or with git itself?"""
        return not self.op or (self.actor == "user" and self.op not in _BOOKS)


class Line(NamedTuple):
    """The commit that brought a line ("" when none has it yet), the file's name and the time (epoch
    seconds) there, and the (commit, name) of the version before."""

    commit: str = ""
    path: str = ""
    when: float = float("inf")
    before: tuple[str, str] = ("", "")


def message(operation: Operation, device: str) -> str:
    """The commit message of an operation."""
    lines = [
        f"{operation.op}: {one_line(operation.title, _SUBJECT) or 'untitled'}",
        "",
        f"Oneiro-Op: {operation.op}",
    ]
    lines += [
        f"Oneiro-Memory: {one_line(memory, _VALUE)}"
        for memory in dict.fromkeys(operation.memories)
        if memory
    ]
    fields = (
        ("Actor", operation.actor),
        ("Device", device),
        ("Run", operation.run),
        ("Loop", operation.loop),
        ("Judge", operation.judge),
        ("Reason", operation.reason),
        ("Decision", operation.decision),
        ("Fence", str(operation.fence or "")),
    )
    lines += [
        f"Oneiro-{name}: {line}" for name, value in fields if (line := one_line(value, _VALUE))
    ]
    return "\n".join(lines) + "\n"


def trailers(text: str) -> dict[str, list[str]]:
    """Our trailers (name without `Oneiro-`) in the last paragraph of a message."""
    last = text.rstrip().rpartition("\n\n")[2]
    found: dict[str, list[str]] = {}
    if not all(_ANY_TRAILER.match(line) for line in last.split("\n")):
        return found  # prose that happens to mention one
    for name, value in _TRAILER.findall(last):
        found.setdefault(name, []).append(value)
    return found


def subject(text: str) -> tuple[str, str]:
    """(op, title) of a message; op is "" unless its trailers name one."""
    first = text.split("\n", 1)[0]
    op = "".join(trailers(text).get("Op", [])[:1])
    if op not in OPS:
        return "", first
    return op, first.removeprefix(f"{op}: ")


class History:
    """The log of a repository that has commits, by git itself. Every method may raise
    GitProblem."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def log(
        self, limit: int | None = None, *, start: str = "HEAD", paths: Sequence[str] = ()
    ) -> list[Entry]:
        """Newest first by history (not by clock)."""
        return self._read([start, *_most(limit)], paths)

    def of(
        self, memory: str, path: str = "", *, limit: int | None = None, start: str = "HEAD"
    ) -> list[Entry]:
        """Commits that name the id of a memory or touched its file under any name it had."""
        lists: list[list[Entry]] = []
        if memory:
            lists.append(
                self._read([start, "--fixed-strings", f"--grep=Oneiro-Memory: {memory}"], ())
            )
            path = path or _last_path(lists[0], memory)
        if path:
            lists.append(self._read([start, "--follow"], [path], own=True))
        merged = _merge(*lists) if lists else []
        return merged[:limit] if limit else merged

    def touching(self, memory: str, path: str = "") -> list[Entry]:
        """`of` for a memory with an id, a tenth of the time in a large vault: every commit of ours
        names the memories it changes, so only of those that name none (made by hand, or by a sync)
        the files are looked at."""
        named = self._read(["HEAD", "--fixed-strings", f"--grep=Oneiro-Memory: {memory}"], ())
        others = self._commands.run(
            "log", "HEAD", "--format=%H", "--invert-grep",
            "--grep=^Oneiro-Memory: ", "--grep=^Oneiro-Op: ledger",
        )  # fmt: skip
        if others.count(b"\n") > _BY_HAND:
            return self.of(memory, path)
        names = dict.fromkeys(filter(None, [path, *_own_paths(named, memory)]))
        looked = ["--no-walk", "--stdin"]
        unnamed = self._read(looked, [*names], given=others) if others and names else []
        found = {one.commit: one for one in (*named, *unnamed) if one.paths or one.memories}
        if len(found) == len(named):
            return named
        order = self._commands.run("rev-list", "--topo-order", "HEAD").decode().split()
        return [found[commit] for commit in order if commit in found]

    def lately(self, operation: str, since: float) -> list[Entry]:
        """Commits of one operation since a moment (epoch seconds)."""
        return self._read(
            ["HEAD", f"--since=@{max(0, int(since))} +0000", f"--grep=^Oneiro-Op: {operation}$"], ()
        )

    def names(self, prefix: str) -> list[Entry]:
        """Commits whose trailers name an id that starts with `prefix`."""
        return self._read(
            ["HEAD", "--extended-regexp", f"--grep=^Oneiro-Memory: {re.escape(prefix)}[0-9a-z]*$"],
            (),
        )

    def runs(self, run: str = "") -> list[Entry]:
        """Commits of loops, of all runs or of one."""
        return self._read(
            [
                "HEAD",
                "--extended-regexp",
                f"--grep=^Oneiro-Run: {re.escape(run)}{'$' if run else ''}",
            ],
            (),
        )

    def decisions(self, tip: str, without: str = "") -> list[Entry]:
        """Commits in which loops decided something, up to `tip` and not up to `without`."""
        return self._read(
            [
                tip,
                *([f"^{without}"] if without else []),
                "--fixed-strings",
                "--grep=Oneiro-Decision: ",
            ],
            (),
        )

    def undoings(self, tip: str = "HEAD") -> list[Entry]:
        """Commits that took something back."""
        return self._read([tip, "--fixed-strings", "--grep=Oneiro-Reason: undo of "], ())

    def these(self, commits: Iterable[str]) -> list[Entry]:
        """The entries of some commits, by their ids."""
        wanted = sorted(commits)
        return self._read([*wanted, "--no-walk"], ()) if wanted else []

    def blame(self, path: str, data: bytes, start: str = "") -> list[Line]:
        """Who brought each line of a file at `start`, else with `data` for its contents; [] when no
        commit has it."""
        with tempfile.TemporaryFile() as contents:
            contents.write(data)
            contents.seek(0)
            what = [start] if start else ["--contents", "-"]
            status, out, _ = self._commands.attempt(
                "blame", "--porcelain", *what, "--", path, source=contents
            )
        return [] if status else list(_lines(out.decode("utf-8", "surrogateescape")))

    def since(self, commit: str, paths: Sequence[str], *, until: str = "HEAD") -> list[Entry]:
        """Commits after `commit` that touched `paths`."""
        return self._read([f"{commit}..{until}"], paths)

    def _read(
        self, arguments: list[str], paths: Sequence[str], *, own: bool = False, given: bytes = b""
    ) -> list[Entry]:
        mark = secrets.token_hex(16)  # no message can contain it
        layout = f"--format={mark}%H%x00%an%x00%ct%x00%B%x00"
        words = [
            "log",
            "--topo-order",
            "-z",
            "--name-status",
            "-M",
            "--diff-merges=first-parent",
            layout,
            *arguments,
            "--",
            *paths,
        ]
        if not given:
            return list(_entries(self._commands.run(*words), mark, own))
        with tempfile.TemporaryFile() as source:
            source.write(given)
            source.seek(0)
            out = self._commands.run(*words, source=source)
        return list(_entries(out, mark, own))


def _lines(porcelain: str) -> Iterator[Line]:
    known: dict[str, Line] = {}
    facts: dict[str, str] = {}
    commit = ""
    for row in porcelain.split("\n"):
        if row.startswith("\t"):
            if commit not in known:
                before, _, name = facts.get("previous", "").partition(" ")
                line = Line(
                    commit, facts["filename"], float(facts["committer-time"]), (before, name)
                )
                known[commit] = line if commit.strip("0") else Line()
            yield known[commit]
            commit, facts = "", {}
        elif not commit:
            commit = row.partition(" ")[0]
        else:
            key, _, value = row.partition(" ")
            facts[key] = value


def _most(limit: int | None) -> list[str]:
    return [] if limit is None else [f"--max-count={limit}"]


def _entries(out: bytes, mark: str, own: bool) -> Iterator[Entry]:
    """`own`: only until the file came to be; `--follow` takes a new note for a copy of any that it
    resembles."""
    for record in out.decode("utf-8", "surrogateescape").split(mark)[1:]:
        commit, author, when, text, *files = record.split("\0")
        touched = list(_touched(files))
        yield parse(
            commit,
            author,
            float(when),
            text,
            [path for _, path in touched],
            [path for status, path in touched if status == "D"],
        )
        if own and any(status == "C" for status, _ in touched):
            return


def parse(
    commit: str,
    author: str,
    when: float,
    text: str,
    paths: Iterable[str],
    removed: Iterable[str] = (),
) -> Entry:
    """An Entry from the parts of a commit."""
    found = trailers(text)
    op, title = subject(text)
    first = {name: values[0] for name, values in found.items()}
    return Entry(
        commit, op, title, when, author, first.get("Actor", ""), tuple(found.get("Memory", [])),
        first.get("Reason", ""),
        first.get("Run", ""), first.get("Judge", ""), first.get("Device", ""), tuple(paths),
        tuple(removed), undone(text),
        first.get("Loop", ""), first.get("Decision", ""), _number(first.get("Fence", "")),
    )  # fmt: skip


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,12}", text) else 0


def undone(text: str) -> str:
    """The commit that one with this message takes back, "" if it takes none back."""
    found = (
        _UNDO.fullmatch("".join(trailers(text).get("Reason", [])[:1]))
        if subject(text)[0] == "restore"
        else None
    )
    return found[1] if found else ""


def taken_back(undoings: Iterable[Entry]) -> set[str]:
    """The commits and runs that these took back."""
    return {entry.reason.removeprefix("undo of ").removeprefix("run ") for entry in undoings}


def undoing(commit: str, text: str) -> str:
    """The title of a commit that takes back `commit`; it stays short however long a chain of
    undoing gets."""
    op, title = subject(text)
    done, _, what = title.partition(" ")
    if undone(text) and done in _OTHER:
        return f"{_OTHER[done]} {what}"
    return one_line(f"undo {commit[:10]} {': '.join(filter(None, (op, title)))}", 140)


def _touched(words: list[str]) -> Iterator[tuple[str, str]]:
    """(status, path) of a `--name-status -z` list; for renames the new path."""
    left = iter(word.lstrip("\n") for word in words)
    for status in left:
        if status[:1] in ("R", "C"):
            next(left, "")
        if status:
            path = next(left, "")
            if path:
                yield status[:1], path


def _last_path(entries: list[Entry], memory: str) -> str:
    return next((path for entry in entries for path in entry.paths if memory in path), "")


def _own_paths(entries: list[Entry], memory: str) -> Iterator[str]:
    """The names that a memory's file had in commits that name it."""
    for entry in entries:
        alone = entry.memories == (memory,) and len(entry.paths) == 1
        yield from (path for path in entry.paths if alone or memory in path)


def _merge(first: list[Entry], second: list[Entry] | None = None) -> list[Entry]:
    """In the order of history; commits in both keep the lists in step, else the date decides."""
    left, right = list(first), list(second or [])
    known = {entry.commit for entry in left}, {entry.commit for entry in right}
    merged: list[Entry] = []
    while left or right:
        if left and right and left[0].commit == right[0].commit:
            right.pop(0)
            merged.append(left.pop(0))
        elif not right or (
            left
            and left[0].commit not in known[1]
            and (right[0].commit in known[0] or left[0].when >= right[0].when)
        ):
            merged.append(left.pop(0))
        else:
            merged.append(right.pop(0))
    return merged


_AT_ONCE: Final = 200
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
        """path -> author date of the commit that first had its file, under whatever name; {} when
        git cannot be asked. The history is walked once."""
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
        """Oldest first: `\1<date>`, then `A`, path or `R<n>`, old path, new path."""
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
        """(path, blob), from `:<mode> <mode> <blob> <blob> <status>`, path."""
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
