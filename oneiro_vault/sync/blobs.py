"""What the plan asks about contents, answered from the repository; merged bytes wait here until
they are committed."""

from __future__ import annotations

from functools import cache

from oneiro_vault.core import memory
from oneiro_vault.core.frontmatter.yaml_block import edit
from oneiro_vault.core.merge import three_way
from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.errors import GitProblem, InvalidInput, UnreadableNote
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.history.commit_log import History
from oneiro_vault.vault.worktree.moves import id_of


class Contents:
    """Blobs of a repository and blobs that are being made (`made`: blob id -> bytes)."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self.made: dict[str, bytes] = {}
        self.tips = ("", "")
        """The two histories that meet."""
        self.ident = cache(self._ident)

    def data(self, blob: str) -> bytes:
        """The bytes of a blob, b"" for "". Raises GitProblem."""
        return self.made[blob] if blob in self.made else self._repo.data(blob) if blob else b""

    def keep(self, data: bytes) -> str:
        """The blob id of new bytes."""
        blob = blob_id(data)
        self.made[blob] = data
        return blob

    def _ident(self, blob: str) -> str:
        try:
            return id_of(self.data(blob))
        except GitProblem:
            return ""  # a submodule is no file

    def by_person(self, path: str, base: str, blob: str) -> bool:
        """Did a person change this note? A machine that changes words moves `timestamp`; what
        nobody can read only a person writes. A person who lets this program change it moves the
        date as well: who that was, the commits of its side say."""
        try:
            old, new = (memory.parse(path, self.data(each)) for each in (base, blob))
        except UnreadableNote:
            return True
        told = old.timestamp == new.timestamp and (old.body, old.title, old.description) != (
            new.body,
            new.title,
            new.description,
        )
        return told or any(
            self._persons(path, new.id, *tips)
            for tips in (self.tips, self.tips[::-1])
            if self._has(tips[0], path, blob)
        )

    def _has(self, tip: str, path: str, blob: str) -> bool:
        found = self._repo.entry(tip, path)
        return found is not None and found.blob == blob

    def _persons(self, path: str, ident: str, tip: str, other: str) -> bool:
        """Is one of the commits that changed the note up to `tip`, and not up to `other`, a
        person's?"""
        if not other:
            return False
        made = History(self._repo.commands).of(ident, path, start=f"{other}..{tip}")
        return any(entry.by_person for entry in made if len(self._repo.parents(entry.commit)) == 1)

    def merge(self, path: str, base: str, ours: str, theirs: str) -> tuple[str, int]:
        """The blob that holds the words of both, and how many clashes it shows."""
        found = three_way.merge_file(
            path, self.data(base) if base else None, self.data(ours), self.data(theirs)
        )
        return self.keep(found.data), found.clashes

    def superseded_by(self, path: str, blob: str) -> tuple[str, str]:
        """(id, id of what replaced it) of a note that is out of force; "" for others."""
        data = self.data(blob)
        if b"superseded_by" not in data:
            return "", ""
        try:
            found = memory.parse(path, data)
        except UnreadableNote:
            return "", ""
        return (found.id, found.superseded_by) if found.status == "superseded" else ("", "")

    def reinstated(self, blob: str, base: str) -> str:
        """The same note in force again, with the end it had in `base` (if any)."""
        text = self.data(blob).decode("utf-8", "surrogateescape")
        ended = b"valid_until" in self.data(base)
        try:
            text = edit(
                text,
                {"status": None, "superseded_by": None} | ({} if ended else {"valid_until": None}),
            )
        except InvalidInput:
            return blob
        return self.keep(text.encode("utf-8", "surrogateescape"))
