"""A decision becomes one commit: its edits as files, on exactly the notes it was decided on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from oneiro_vault.classify.spans import named, weakest_of
from oneiro_vault.core import memory as memories
from oneiro_vault.core.conversation import turns
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.errors import StaleMemory
from oneiro_vault.mind.base import NOW, Decision, New, Set, Snapshot
from oneiro_vault.mind.report import Done
from oneiro_vault.operations.dream.run_lease import Lease
from oneiro_vault.operations.dream.vault_snapshot import Picture
from oneiro_vault.operations.indexing import Indexing
from oneiro_vault.operations.remember.drafts import Names, title_of
from oneiro_vault.operations.runtime import new_id
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.history.proposal_branches import Branch, Check
from oneiro_vault.vault.vault import Vault

_KEPT: Final = "What was decided before it is committed."
_REMADE: Final = ("id", "source")
"""Keys of a new memory that are never the loop's to give."""


def apply(
    indexing: Indexing,
    picture: Picture,
    decision: Decision,
    now: str,
    run: str,
    judge: str,
    lease: Lease,
    branch: Branch | None = None,
) -> Done:
    """Commit one decision, or (with a `branch`) only propose it there.

    Raises StaleMemory when something it rests on has changed since, LockTimeout when the lease is
    gone.
    """
    snapshot, vault = picture.snapshot, indexing.vault
    changes, made = writes(vault, picture, decision, now)
    operation = Operation(
        decision.op,
        decision.title,
        "dream",
        tuple(dict.fromkeys((*decision.memories, *made))),
        decision.reason,
        run,
        decision.judge or judge,
        decision.loop,
        decision.id(snapshot),
        lease.fence,
    )
    if branch is not None:
        return Done(
            decision,
            branch.add(changes, operation, _beside(vault, picture, decision, lease, branch)),
            made,
        )
    receipt = indexing.apply(
        changes, operation, check=lambda tip: _check(vault, picture, decision, lease, tip)
    )
    return Done(decision, receipt.commit, made)


def _check(vault: Vault, picture: Picture, decision: Decision, lease: Lease, tip: str) -> None:
    lease.check()
    repo, files = vault.repo, vault.files
    for ident in based_on(decision):
        if ident not in picture.places:
            continue
        path, blob = picture.places[ident]
        entry = repo.entry(tip, path)
        if entry is None or entry.blob != blob or files.blob(path) not in (blob, None):
            raise StaleMemory(
                f"{path} changed since the run began: what was changed by hand stays", kept=_KEPT
            )


def _beside(
    vault: Vault, picture: Picture, decision: Decision, lease: Lease, branch: Branch
) -> Check:
    """The same for a branch: a note is also as it was if no other proposal there changed it."""

    def check(tip: str, parent: str) -> None:
        _check(vault, picture, decision, lease, tip)
        for ident in based_on(decision):
            path, blob = picture.places.get(ident, ("", ""))
            entry = vault.repo.entry(parent, path) if path else None
            if path and (entry is None or entry.blob != blob):
                raise StaleMemory(
                    f"{path} is not the same on {branch.name}: one proposal there at a time",
                    kept=_KEPT,
                )

    return check


def based_on(decision: Decision) -> list[str]:
    """Every memory a decision rests on or changes."""
    return list(
        dict.fromkeys(
            (*decision.memories, *(edit.id for edit in decision.edits if isinstance(edit, Set)))
        )
    )


def writes(
    vault: Vault, picture: Picture, decision: Decision, now: str
) -> tuple[list[Write], tuple[str, ...]]:
    """(the files, ids of new memories). Raises InvalidInput for what no note can hold."""
    fresh = {
        position: new_id() for position, edit in enumerate(decision.edits) if isinstance(edit, New)
    }
    names = {
        f"new:{edit.key}": fresh[position]
        for position, edit in enumerate(decision.edits)
        if isinstance(edit, New) and edit.key
    }
    changes: list[Write] = []
    files = Names(vault)
    for position, edit in enumerate(decision.edits):
        if isinstance(edit, New):
            changes.append(_new(picture.snapshot, edit, fresh[position], now, names, files))
        else:
            changes.append(_set(vault, picture, edit, now, names))
    return changes, tuple(fresh.values())


def _new(
    snapshot: Snapshot,
    edit: New,
    ident: str,
    now: str,
    names: Mapping[str, str],
    files: Names,
) -> Write:
    body = edit.body if edit.body.endswith("\n") else edit.body + "\n"
    given = {
        key: _filled(value, now, names)
        for key, value in edit.meta.items()
        if key not in _REMADE and value not in (None, "", [], ())
    }
    meta: dict[str, object] = (
        {"type": "semantic", "title": given.get("title") or title_of(body), "created": now}
        | given
        | {"id": ident, "source": "dream"}
    )
    if meta["created"] != now:
        meta.setdefault(
            "timestamp", now
        )  # when it was learned is the loop's to say, when it came in is not
    meta["trust"] = trust(snapshot, meta)
    path = files.filed(str(meta["type"]), str(meta["title"]), ident, str(meta["created"]))
    return Write(path, yaml_block.composed(meta, body))


def trust(snapshot: Snapshot, meta: Mapping[str, Any]) -> str:
    """The lowest trust of what a new memory came from, of a conversation by who said the words it
    rests on; a machine's own words are never a person's."""
    spans = [str(one) for one in meta.get(turns.KEY) or ()]
    lineage = [
        snapshot.notes[one].memory
        for one in meta.get("derived_from") or ()
        if one in snapshot.notes
    ]
    known = [
        weakest_of(one, named(one, spans)) if spans and one.type == "episodic" else one.trust
        for one in lineage
    ]
    if not spans:
        known += [
            snapshot.notes[one].memory.trust
            for one in meta.get("supersedes") or ()
            if one in snapshot.notes
        ]
    return memories.weakest(
        [str(meta.get("trust") or "model"), "said" if spans and lineage else "model", *known]
    )


def _set(vault: Vault, picture: Picture, edit: Set, now: str, names: Mapping[str, str]) -> Write:
    path, blob = picture.places[edit.id]
    changes = {key: _filled(value, now, names) for key, value in edit.changes.items()}
    body = edit.body if edit.body is None or edit.body.endswith("\n") else edit.body + "\n"
    if body is not None:
        changes.setdefault("timestamp", now)
    content = yaml_block.edited(vault.repo.data(blob), changes, body)
    return Write(path, content, picture.snapshot.notes[edit.id].sha256)


def _filled(value: Any, now: str, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return now if value == NOW else names.get(value, value)
    if isinstance(value, list | tuple):
        return [_filled(one, now, names) for one in value]
    return value
