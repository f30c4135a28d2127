"""The versions of one memory as a graph, followed through renames by its id, and from which of them
each of its sentences came."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from oneiro_vault.core.text.attribution import inherited
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.history import commit_log
from oneiro_vault.vault.history.commit_log import Entry
from oneiro_vault.vault.paths import is_note
from oneiro_vault.vault.worktree import moves

_NAMES: Final = 50
"""Names one note had at most, as far as it is followed."""


@dataclass(frozen=True)
class Version:
    """What a commit made of the note: its path and bytes there, None where it was out of the tree.
    `parents`: the commits before it that touched it.
    """

    entry: Entry
    parents: tuple[str, ...]
    path: str
    data: bytes | None


def versions(repo: Repo, start: str, path: str, ident: str) -> list[Version]:
    """Every version up to the commit `start`, where the note is at `path`; a commit stands before
    those it came from."""
    names = [path]
    while True:
        found = [
            _version(repo, entry, parents, names, ident)
            for entry, parents in _log(repo, start, names)
        ]
        older = [name for name in _former_names(repo, found, ident) if name not in names]
        if not older or len(names) + len(older) > _NAMES:
            return found
        names += dict.fromkeys(older)


def origins(
    found: Sequence[Version], texts: Sequence[str], cut: Callable[[Version], Sequence[str]]
) -> list[Version | None]:
    """For each of today's sentences (`texts`) the version that brought it; None: it is not
    committed yet. `cut` gives a version's own."""
    answer: list[Version | None] = [None] * len(texts)
    if not found:
        return answer
    known = {one.entry.commit: one for one in found}
    waiting: dict[str, dict[int, str]] = {one.entry.commit: {} for one in found}
    first = found[0] if found[0].data is not None else next(_solid(found[0], known), None)
    if first is not None:
        waiting[first.entry.commit] = {at: texts[at] for at in inherited(texts, cut(first))}
    for one in found:
        mine = waiting.pop(one.entry.commit)
        for parent in _solid(one, known):
            places = sorted(mine)
            for at in inherited([mine[place] for place in places], cut(parent)):
                waiting[parent.entry.commit][places[at]] = mine.pop(places[at])
        for place in mine:
            answer[place] = one
    return answer


def _solid(one: Version, known: dict[str, Version]) -> Iterator[Version]:
    """The nearest earlier versions that have the note: while it was forgotten, nothing was said."""
    todo, seen = list(one.parents), set()
    while todo:
        commit = todo.pop(0)
        if commit in known and commit not in seen:
            seen.add(commit)
            if known[commit].data is None:
                todo += known[commit].parents
            else:
                yield known[commit]


def _log(repo: Repo, start: str, names: Sequence[str]) -> Iterator[tuple[Entry, tuple[str, ...]]]:
    """Commits that touched one of these files, with the ones before them that did."""
    mark = secrets.token_hex(16)  # no message can contain it
    layout = f"--format={mark}%H%x00%P%x00%an%x00%ct%x00%B"
    out = repo.commands.run("log", "--topo-order", "--parents", layout, start, "--", *names)
    for record in out.decode("utf-8", "surrogateescape").split(mark)[1:]:
        commit, parents, author, when, text = record.split("\0", 4)
        yield (
            commit_log.parse(commit, author, float(when), text.rstrip("\n"), ()),
            tuple(parents.split()),
        )


def _version(
    repo: Repo, entry: Entry, parents: tuple[str, ...], names: Sequence[str], ident: str
) -> Version:
    for name in names:
        known = repo.entry(entry.commit, name)
        data = repo.data(known.blob) if known else None
        if data is not None and (not ident or moves.id_of(data) in (ident, "")):
            return Version(entry, parents, name, data)
    return Version(entry, parents, "", None)


def _former_names(repo: Repo, found: Sequence[Version], ident: str) -> Iterator[str]:
    """Where the note was before commits that seem to have brought it: the same id, or for a note
    without one the same bytes, went there."""
    known = {one.entry.commit: one for one in found}
    for one in found:
        if one.data is None or next(_solid(one, known), None) is not None:
            continue
        for parent in repo.parents(one.entry.commit):
            for path, (before, after) in repo.difference(parent, one.entry.commit).items():
                if before is not None and after is None and is_note(path):
                    data = repo.data(before.blob)
                    if moves.id_of(data) == ident if ident else data == one.data:
                        yield path
