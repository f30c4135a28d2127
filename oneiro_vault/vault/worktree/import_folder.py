"""Take a folder of existing files into history in one commit, in portions, so that 50,000 notes and
large attachments fit in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from oneiro_vault.core.tree_diff import Refused
from oneiro_vault.errors import UnsafePath
from oneiro_vault.vault.change import Operation
from oneiro_vault.vault.git.staging_area import CONFLICTED, EXECUTABLE, FILE, NEW, STAGED, Entry
from oneiro_vault.vault.history import commit_log
from oneiro_vault.vault.paths import hidden, is_note, is_ours, objection
from oneiro_vault.vault.secrets.secret_scan import told
from oneiro_vault.vault.worktree.edits import has_markers, identify
from oneiro_vault.vault.worktree.files import LARGEST
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.writer import Order, Progress, Writer

if TYPE_CHECKING:
    from oneiro_vault.vault.vault import Vault

_PORTION: Final = 64_000_000


def adopt(
    vault: Vault,
    writer: Writer,
    ref: str,
    tip: str,
    everything: bool,
    also: set[str],
    progress: Progress | None,
) -> tuple[list[str], list[Refused]] | None:
    """See `Vault.adopt`; None asks for another try on a new tip."""
    left = {refused.path: refused for refused in _strange(vault)}
    entries: dict[str, Entry | None] = {}
    memories: list[str] = []
    paths = [
        path
        for path, flags in sorted(vault.repo.staging.status().items())
        if _wanted(path, flags, everything, also)
    ]
    held = 0
    for count, path in enumerate(paths):
        found = _read(vault, path)
        if isinstance(found, Refused):
            left.setdefault(path, found)
            continue
        data, mode = found
        entries[path] = Entry(vault.repo.add(data), mode)
        memories += [
            memory for memory in [identify(path, data)[0] if is_note(path) else ""] if memory
        ]
        held += len(data)
        if held > _PORTION:
            _store(vault)
            held = 0
        if progress is not None and (count % 100 == 0 or count == len(paths) - 1):
            progress("adopting", count + 1, len(paths))
    refused = sorted(left.values(), key=lambda r: r.path)
    if not entries:
        return [], refused
    title = f"{len(entries)} files" if set(entries) - also else "a new vault"
    text = commit_log.message(
        Operation("adopt", title, "user", tuple(memories)), vault.ledger.device
    )
    commit = writer.commit(
        Order(ref, tip, entries, text, vault.repo.person(), vault.clock()), progress=progress
    )
    return (sorted(entries), refused) if commit else None


def _wanted(path: str, flags: int, everything: bool, also: set[str]) -> bool:
    """New to git (not staged by the person, not in conflict), and of a kind that is asked for."""
    if flags & (STAGED | CONFLICTED) or not flags & NEW or path.endswith("/"):
        return False
    return path in also or is_ours(path) or (everything and not hidden(path))


def _read(vault: Vault, path: str) -> tuple[bytes, int] | Refused:
    try:
        data = vault.files.read(path)
        mode = EXECUTABLE if os.access(vault.files.absolute(path), os.X_OK) else FILE
    except UnsafePath as error:
        return Refused(
            path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
            objection(path) or str(error),
        )
    except OSError as error:
        return Refused(path, f"it cannot be read: {error.strerror}")
    if len(data) > LARGEST:
        return Refused(path, f"it is larger than {LARGEST // 1_000_000} MB")
    if is_note(path) and has_markers(data):
        return Refused(path, "it holds unresolved conflict markers", waits=True)
    if found := vault.secrets.new(path, data, ()):
        return Refused(
            path,
            f"it holds what looks like {told(found)}, and history could never lose it again",
            waits=True,
        )
    if why := vault.erased.in_file(path, data):
        return Refused(path, why)
    return data, mode


def _store(vault: Vault) -> None:
    """Write what was read so far and let it go; without a commit it is garbage git clears away."""
    with disk.guarded("Writing the notes"):
        stored = vault.repo.store()
        disk.sync(stored.files)
        disk.sync(stored.name())
    vault.repo.discard()


def _strange(vault: Vault) -> Iterator[Refused]:
    """Everything that is no regular file, and folders that are not ours to enter. Dot-names are
    other programs': not part of a vault."""
    for path, entry in vault.files.walk():
        if isinstance(entry, Refused):
            yield entry
            continue
        if not entry.is_file(follow_symlinks=False):
            found = vault.files.stat(path)
            if isinstance(found, Refused):
                yield found
