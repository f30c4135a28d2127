"""What only a person decides: which proposals happen, which orientation is theirs, what answers a
note's questions. Models may look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from oneiro_vault import answers
from oneiro_vault.core import memory as memories
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.markdown import parser
from oneiro_vault.errors import (
    AmbiguousId,
    InvalidInput,
    NotFound,
    OneiroError,
    StaleMemory,
    UnreadableNote,
    shown,
)
from oneiro_vault.index.base import Row
from oneiro_vault.index.store import Index
from oneiro_vault.operations import proposals
from oneiro_vault.operations.history import note_change
from oneiro_vault.operations.indexing import Indexing
from oneiro_vault.operations.proposals import Proposal
from oneiro_vault.vault import ledger
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.git.staging_area import Entry as File
from oneiro_vault.vault.history import proposal_branches
from oneiro_vault.vault.history.proposal_branches import Open
from oneiro_vault.vault.history.undo import REPORTS
from oneiro_vault.vault.secrets.secret_scan import REMOVED
from oneiro_vault.vault.vault import Vault

_KEPT: Final = "Nothing was changed."
_SHORTEST: Final = 4
"""Characters of a prefix that stands for an id."""
_EDITED: Final = "edited in review"
_LEFT_OUT: Final = "left out when its branch was merged"


def review(vault: Vault, index: Index, /) -> answers.Review:
    """The proposals that wait, of all branches: what, why, and what would change, word by word,
    without secrets (what is accepted is what was proposed, whole)."""
    found = list(proposals.waiting(vault))
    rows = [_row(vault, index, one) for one in found]
    names = list(dict.fromkeys(one.branch.name for one in found))
    branches: list[answers.Branch] = [
        {"branch": name, "proposals": sum(row["branch"] == name for row in rows)} for name in names
    ]
    return {"schema": 1, "branches": branches, "proposals": rows, "total": len(rows)}


def _row(vault: Vault, index: Index, one: Proposal) -> answers.Proposal:
    entry, cleaned = one.entry, vault.secrets.cleaned
    changes = [_change(vault, path, *pair) for path, pair in one.files.items()]
    texts = [change for change in changes if change["text"]]
    texts.sort(key=lambda one: (not one["is_new"], not one["words"], "status" in one["keys"]))
    forged = (
        _forged(path, vault.repo.data(after.blob))
        for path, (before, after) in one.files.items()
        if after and not before
    )
    return {
        "id": one.id, "branch": one.branch.name, "commit": entry.commit, "op": entry.op,
        "loop": entry.loop, "title": cleaned(entry.title),
        "reason": cleaned(entry.reason), "judge": entry.judge, "run": entry.run,
        "memories": list(entry.memories),
        "stale": proposals.stale(vault, index, one) or next(filter(None, forged), None),
        "changes": changes, "editable": texts[0]["path"] if texts else None,
    }  # fmt: skip


def _change(vault: Vault, path: str, *sides: File | None) -> answers.ProposedChange:
    data = (vault.repo.data(side.blob) if side else None for side in sides)
    veiled = vault.secrets.shown
    before, after = (veiled(one) if one is not None else None for one in data)
    return note_change.change(path, before, after)


def _forged(path: str, data: bytes) -> str:
    """Why a new note cannot come from a branch, "" when it can: anybody can push a branch."""
    note = note_change.parsed(path, data)
    if note is not None and note.core:
        return f"{path} is new and says core: true, which only a person may say"
    return (
        f"{path} is new and trusted like a person's own words, which no loop writes"
        if note and note.trust == "user"
        else ""
    )


# -- deciding


def review_accept(
    indexing: Indexing,
    /,
    ids: Sequence[str],
    edited: Mapping[str, Any] | None = None,
    actor: str = "user",
) -> answers.Accepted:
    """Let proposals happen, each as the commit its loop would have made; an id may be a prefix, or
    a branch for all of it. `edited`: path -> the whole note as the person would rather have it.
    `stale`: what no longer fits, or failed after others were done."""
    _by_person(actor)
    accepted: list[answers.AcceptedRow] = []
    unfit: list[answers.StaleRow] = []
    words = {str(path): str(text) for path, text in (edited or {}).items()}
    wanted = _wanted(indexing.vault, ids)
    if strange := words.keys() - {path for one in wanted for path in one.files}:
        raise InvalidInput(f"{shown(min(strange))} is in none of these proposals", kept=_KEPT)
    for one in wanted:
        row = _reviewed(one)
        try:
            commit = _accept(indexing, one, words, actor)
            accepted.append({**row, "commit": commit or None})
        except OneiroError as error:
            if not isinstance(error, StaleMemory) and not accepted:
                raise
            unfit.append({**row, "why": str(error)})  # what was accepted before it must be told
    closed, left = _left(indexing)
    return {"schema": 1, "accepted": accepted, "stale": unfit, "closed": closed, "left": left}


def _reviewed(one: Proposal) -> answers.ReviewedRow:
    entry = one.entry
    return {"id": one.id, "branch": one.branch.name, "op": entry.op, "title": entry.title}


def _by_person(actor: str) -> None:
    if actor != "user":
        raise InvalidInput(
            "what loops propose is reviewed by a person",
            kept=_KEPT,
            hint="A person runs `oneiro review` in a terminal.",
        )


def _accept(indexing: Indexing, one: Proposal, words: Mapping[str, str], actor: str) -> str:
    entry, repo = one.entry, indexing.vault.repo
    changes: list[Write] = []
    for path, (before, after) in one.files.items():
        assert after is not None
        data = repo.data(after.blob)
        if path in words:
            if REMOVED in words[path] and indexing.vault.secrets.shown(data) != data:
                raise _hidden(path)
            data = _edited(path, data, words[path])
        if before is None and (why := _forged(path, data)):
            raise StaleMemory(why, kept=_KEPT, hint="Edit it, or reject it.")
        changes.append(
            Write(path, data, sha256(repo.data(before.blob)).hexdigest() if before else None)
        )
    reason = f"{entry.reason} ({_EDITED})" if words.keys() & one.files.keys() else entry.reason
    operation = Operation(
        entry.op, entry.title, actor, entry.memories, reason, entry.run, entry.judge, entry.loop,
        entry.decision
    )  # fmt: skip

    def check(_tip: str) -> None:
        if why := proposals.stale(indexing.vault, indexing.index, one):
            raise StaleMemory(
                why, kept="The note stays as it is.", hint="A later run looks at it again."
            )

    return indexing.apply(changes, operation, check=check).commit


def _hidden(path: str) -> InvalidInput:
    return InvalidInput(
        f"{shown(path)} holds what looks like a secret, and these words have only its place",
        kept=_KEPT,
        hint=f"Accept it as it is and change it in an editor; or say it without `{REMOVED}`.",
    )


def _edited(path: str, proposed_: bytes, text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    was = note_change.parsed(path, proposed_)
    try:
        now = memories.parse(path, data)
    except UnreadableNote as error:
        hint = "Mind the lines between the ---."
        raise InvalidInput(
            f"the edited {shown(path)} cannot be read: {error}", kept=_KEPT, hint=hint
        ) from error
    if was is not None and now.id != was.id:
        raise InvalidInput(
            f"the edited {shown(path)} has another id",
            kept=_KEPT,
            hint=f"Leave `id: {was.id}` as it is.",
        )
    return data


def review_reject(
    indexing: Indexing, /, ids: Sequence[str], reason: str = "", actor: str = "user"
) -> answers.RejectedProposals:
    """Say that proposals shall not happen, now or again; the reason is kept in the history."""
    _by_person(actor)
    wanted = _wanted(indexing.vault, ids)
    _record(indexing.vault, wanted, proposals.REJECTED, reason, actor)
    rows = [_reviewed(one) for one in wanted]
    closed, left = _left(indexing)
    return {"schema": 1, "rejected": rows, "closed": closed, "left": left}


def _record(vault: Vault, found: Sequence[Proposal], verdict: str, reason: str, actor: str) -> None:
    if found:
        now = vault.clock()
        events = [
            ledger.make(proposals.EVENT, "", now, d=one.id, v=verdict, actor=actor) for one in found
        ]
        title = (
            f"{found[0].entry.op}: {found[0].entry.title}"
            if len(found) == 1
            else f"{len(found)} proposals"
        )
        memories_ = tuple(dict.fromkeys(ident for one in found for ident in one.entry.memories))
        vault.apply(
            (), Operation("ledger", f"{verdict}: {title}", actor, memories_, reason), events=events
        )


def _wanted(vault: Vault, ids: Sequence[str]) -> list[Proposal]:
    found = proposals.waiting(vault)
    if not ids:
        raise InvalidInput(
            "no proposal was named", kept=_KEPT, hint="`oneiro review --list` shows their ids."
        )
    chosen = [one for name in ids for one in _named(found, name.strip())]
    return list({one.id: one for one in chosen}.values())


def _named(found: Sequence[Proposal], name: str) -> list[Proposal]:
    whole = [one for one in found if one.branch.name == name]
    prefix = name.lower() if len(name) >= _SHORTEST else "-"
    fits = whole or [one for one in found if one.id.startswith(prefix)]
    if not fits:
        hint = "`oneiro review --list` shows those that do."
        raise NotFound(f"no proposal {shown(name)} waits for review", kept=_KEPT, hint=hint)
    if not whole and len(fits) > 1:
        ids = ", ".join(one.id for one in fits[:8])
        raise AmbiguousId(f"{shown(name)} fits {len(fits)} proposals: {ids}", kept=_KEPT)
    return fits


def _left(indexing: Indexing) -> tuple[list[str], int]:
    closed = tidy(indexing, lapse=True)
    return closed, len(proposals.waiting(indexing.vault))


# -- branches whose work is done


def tidy(indexing: Indexing, lapse: bool = False) -> list[str]:
    """Put away every branch on which nothing waits any more, also one that was merged with plain
    git; returns their names. `lapse`: proposals that no longer fit hold none open. Raises
    OneiroError."""
    repo, gate = indexing.vault.repo, indexing.vault.gate
    found = proposal_branches.branches(repo)
    if not found:
        return []
    settled = proposals.made(indexing.vault) | proposals.verdicts(indexing.vault).keys()
    return [
        branch.name
        for branch in found
        if _is_done(indexing, branch, settled, lapse)
        and proposal_branches.close(repo, gate, branch)
    ]


def _is_done(indexing: Indexing, branch: Open, settled: set[str], lapse: bool) -> bool:
    if indexing.vault.repo.contains(branch.tip, indexing.vault.head()):
        return True
    every = list(proposals.on(indexing.vault, branch))
    new = [one for one in every if one.id not in settled]
    merged = proposals.decided(indexing.vault, branch, new)
    came = [
        one
        for one in new
        if merged.get(one.id) == proposals.ACCEPTED
        or (one.id not in merged and proposals.arrived(indexing.vault, one))
    ]
    gone = [one for one in new if merged.get(one.id) == proposals.REJECTED]
    if not every or any(
        one not in (*came, *gone)
        and not (lapse and proposals.stale(indexing.vault, indexing.index, one, disk=False))
        for one in new
    ):
        return False
    _record(indexing.vault, came, proposals.ACCEPTED, "", "user")
    _record(indexing.vault, gone, proposals.REJECTED, _LEFT_OUT, "user")
    _keep_reports(indexing, branch)
    return True


def _keep_reports(indexing: Indexing, branch: Open) -> None:
    made = {entry.run for entry in indexing.vault.history.runs() if entry.decision}
    repo = indexing.vault.repo
    for entry in proposals.entries(indexing.vault, branch):
        if entry.op != "ledger" or entry.decision or entry.run not in made:
            continue
        there = {
            path: repo.entry(branch.tip, path) for path in entry.paths if path.startswith(REPORTS)
        }
        writes = [
            Write(path, repo.data(file.blob))
            for path, file in there.items()
            if file and not repo.entry(indexing.vault.head(), path)
        ]
        if writes:
            indexing.vault.apply(
                writes,
                Operation(
                    "ledger",
                    entry.title,
                    "dream",
                    run=entry.run,
                    judge=entry.judge,
                    loop=entry.loop,
                ),
            )
            indexing.refresh([write.path for write in writes])


def ratify(
    indexing: Indexing, /, id: str, undo: bool = False, reason: str = "", actor: str = "user"
) -> answers.Ratified:
    """Make an orientation block `core`, or (`undo`) an ordinary one again. One that was whittled
    wakes up with it. `prescribes`: it speaks to its reader, which a person may."""
    from oneiro_vault.classify import orientation_gate  # as in `drafts`

    if actor != "user":
        raise InvalidInput(
            "only a person ratifies",
            kept=_KEPT,
            hint=f"A person runs `oneiro ratify {id}` in a terminal.",
        )
    row = indexing.resolve(id)
    data, known = indexing.load(row)
    if known.type != "orientation":
        hint = "Only what is always loaded is ratified: notes of the type `orientation`."
        raise InvalidInput(f"{row.title} is of the type {known.type}", kept=_KEPT, hint=hint)
    if known.status not in memories.LIVE and not undo:
        raise InvalidInput(
            f"{row.title} is {known.status}",
            kept=_KEPT,
            hint="Set its status to active first, if it holds.",
        )
    changes: dict[str, object | None] = {}
    if known.core == undo:
        changes["core"] = None if undo else True
    if known.status == "dormant" and not undo:
        changes["status"] = None
    why = "" if undo else orientation_gate.prescribes(f"{known.title}\n\n{known.body}")
    answer: answers.Ratified = {
        "schema": 1,
        "id": row.handle,
        "path": row.path,
        "title": row.title,
        "core": not undo,
        "prescribes": why or None,
        "commit": None,
    }
    if not changes:
        return answer
    title = f"{row.title} is no longer core" if undo else row.title
    ids = (known.id,) if known.id else ()
    operation = Operation("ratify", title, actor, ids, reason)
    return {**answer, "commit": _changed(indexing, row, data, changes, operation)}


def _changed(
    indexing: Indexing,
    row: Row,
    data: bytes,
    keys: Mapping[str, object | None],
    operation: Operation,
    body: str | None = None,
) -> str | None:
    content = yaml_block.edited(data, keys, body)
    change = Write(row.path, content, sha256(data).hexdigest())
    return indexing.apply([change], operation).commit or None


def resolve(
    indexing: Indexing, /, id: str, reason: str = "", actor: str = "user"
) -> answers.Resolved:
    """The open questions of a note are answered: its flags go, and with them the callouts by which
    a night asked; its words stay as they are."""
    if actor != "user":
        raise InvalidInput(
            "these are questions for a person",
            kept=_KEPT,
            hint=f"A person runs `oneiro flags --resolve {id}` in a terminal.",
        )
    row = indexing.resolve(id)
    data, known = indexing.load(row)
    answer: answers.Resolved = {
        "schema": 1,
        "id": row.handle,
        "path": row.path,
        "title": row.title,
        "flags": list(known.flags),
        "commit": None,
    }
    if not known.flags:
        return answer
    operation = Operation("resolve", row.title, actor, (known.id,) if known.id else (), reason)
    commit = _changed(indexing, row, data, {"flags": None}, operation, _unasked(known))
    return {**answer, "commit": commit}


def _unasked(known: memories.Memory) -> str | None:
    """The body without the question that a night wrote below a fact of its own; None where there
    is none. Answered, it would stand there for good, and be read and exported as a doubt."""
    if known.source != "dream" or "contradiction" not in known.flags:
        return None
    body = known.body
    asked = [one for one in parser.parse(body).callouts if one.kind == "contradiction"]
    for one in reversed(asked):
        after = body[one.end :].lstrip("\r\n")
        body = body[: one.start].rstrip() + ("\n\n" + after if after else "\n")
    return body if asked and body.strip() else None
