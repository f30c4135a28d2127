"""What a person should know about a vault's files and history; every finding says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from oneiro_vault.errors import GitProblem, OneiroError, few
from oneiro_vault.vault.git import commands, merge_driver
from oneiro_vault.vault.health import repair
from oneiro_vault.vault.purge import denylist
from oneiro_vault.vault.worktree import edits
from oneiro_vault.vault.worktree.files import is_note, twin_key
from oneiro_vault.vault.write import disk

if TYPE_CHECKING:
    from oneiro_vault.vault.vault import Vault


SECRET: Final = (
    "Take it out, or allow it if it is none: `oneiro check` prints the line for oneiro.toml."
)
"""What to do about an edit with a secret."""
REWRITTEN: Final = "rewritten"
"""The kind of finding that mending accepts as it is."""
DAMAGE: Final = "damage"
"""The kind that is mended from the disk and from remotes."""


@dataclass(frozen=True)
class Problem:
    """One finding: `kind` is one word, `fixable` says whether `Vault.fix` can do it safely."""

    kind: str
    message: str
    hint: str = ""
    path: str = ""
    fixable: bool = False


def find(vault: Vault) -> list[Problem]:
    """All findings but damage, worst first."""
    return [
        *_program(vault),
        *_driver(vault),
        *_state(vault),
        *_journal(vault),
        *_history(vault),
        *_files(vault),
    ]


def _program(vault: Vault) -> Iterator[Problem]:
    try:
        commands.require(str(vault.root))
    except GitProblem as error:
        yield Problem("git", str(error), error.hint)


def _driver(vault: Vault) -> Iterator[Problem]:
    if (vault.root / "oneiro.toml").is_file() and (
        text := merge_driver.problem(vault.repo)
    ):  # else it is no vault yet
        yield Problem("driver", text, "`oneiro doctor --fix` registers it.", fixable=True)


def _state(vault: Vault) -> Iterator[Problem]:
    try:
        vault.repo.check_ready()
        vault.repo.staging.blobs(())
    except OneiroError as error:
        yield Problem("busy", str(error), error.hint, fixable=isinstance(error, GitProblem))
    if disk.free(str(vault.root)) < vault.gate.reserve:
        yield Problem(
            "space",
            f"fewer than {vault.gate.reserve // 1_000_000} MB are free: writes are refused",
            "Free some space.",
        )


def _journal(vault: Vault) -> Iterator[Problem]:
    vault.flush_index()
    if vault.recovery.needed():
        yield Problem(
            "unfinished",
            "a write was interrupted, or a lock was left behind",
            "`oneiro doctor --fix` settles it.",
            fixable=True,
        )
    if (found := vault.rewritten()) is not None:
        kept = f" (the old history is kept as {found.kept})" if found.kept else ""
        yield Problem(
            REWRITTEN,
            f"{found.message}{kept}: nothing is written until you say what is meant",
            found.hint,
            fixable=True,
        )


def _history(vault: Vault) -> Iterator[Problem]:
    try:
        blobs = denylist.purged(vault.repo, vault.head())
        back = denylist.returning(vault.repo, vault.head(), "", blobs)
    except GitProblem:
        return  # damage, or a git that is missing: said already
    if back:
        yield Problem(
            "purged",
            "what was purged is in the history again",
            "A copy that still had it was joined. Purge it again.",
        )


def damaged(vault: Vault) -> list[Problem]:
    """Objects that are damaged or missing, with the notes they belong to."""
    try:
        if not vault.head():
            return []
        status, out, err = vault.repo.commands.attempt(
            "fsck", "--strict", "--no-dangling", "--no-progress", timeout=600.0
        )
    except GitProblem:
        return []  # said already
    if not status:
        return []
    hits = repair.told(vault.files, repair.survey(vault.repo))
    if not hits:
        words = (err or out).decode("utf-8", "replace").strip().split("\n")[0]
        return [Problem(DAMAGE, f"git fsck: {words}", "No object is hit. `git fsck` says more.")]
    text = f"damaged or missing in the history: {few(hits, 20)}"
    hint = (
        "`oneiro doctor --fix` refills what the files on disk and the remotes have. Everything "
        "else can be read and written."
    )
    return [Problem(DAMAGE, text, hint, fixable=True)]


def _files(vault: Vault) -> Iterator[Problem]:
    look = vault.look()
    if look.asked:
        yield Problem("brake", look.question(), look.way_back())
    for path in look.conflicted:
        yield _conflict(vault, path)
    for path, what in look.secret.items():
        yield Problem(
            "secret",
            f"{path} holds what looks like {what}, so this edit is not committed",
            SECRET,
            path,
        )
    for path in look.staged:
        yield Problem(
            "staged",
            f"{path} has staged changes; they are left to you",
            "Commit or unstage it.",
            path,
        )
    for refused in {_shown(one.path): one for one in (*look.refused, *vault.refused())}.values():
        yield Problem(
            "unreadable",
            f"{_shown(refused.path) or 'the vault folder'}: {refused.reason}",
            "It stays as it is and is not indexed.",
            _shown(refused.path),
        )
    yield from _twins(vault)


def _shown(path: str) -> str:
    """What is no UTF-8 has two spellings otherwise."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _conflict(vault: Vault, path: str) -> Problem:
    why = edits.conflict(vault.files, path)
    if why == edits.MARKED:
        return Problem(
            "conflict",
            f"{path}: {why}; its last good version, if there is one, keeps serving",
            "Resolve it in any editor.",
            path,
        )
    try:
        vault.repo.staging.blobs(())
        hint = "`git status` says more."
    except OneiroError as error:
        hint = error.hint
    return Problem("conflict", f"{path}: {why}; git has left it to you", hint, path)


def _twins(vault: Vault) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for path in vault.repo.listing(vault.head()):
        other = seen.setdefault(twin_key(path), path)
        if other != path and is_note(path):
            yield Problem(
                "twins",
                f"{path} and {other} are one file on a case-insensitive disk",
                "Rename one of them.",
                path,
            )
