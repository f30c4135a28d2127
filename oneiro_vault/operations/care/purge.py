"""`purge`: a person takes words out of the vault for good. Not among the operations that can be
called by name: no tool, no route."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.errors import NotFound, OneiroError
from oneiro_vault.operations.dream.vault_snapshot import NAMES
from oneiro_vault.operations.read import orient
from oneiro_vault.operations.remember import images
from oneiro_vault.operations.runtime import House
from oneiro_vault.vault import ledger
from oneiro_vault.vault.change import Operation, Remove
from oneiro_vault.vault.purge import denylist, rewrite
from oneiro_vault.vault.purge.find import Trace, Tracer
from oneiro_vault.vault.purge.text_search import checked
from oneiro_vault.vault.worktree.files import digest
from oneiro_vault.vault.write.disk import reach

RECEIPTS: Final = "receipts"
OTHERS: Final = (
    "Every other clone still holds it: keep what was not sent, delete it, and make a new one "
    "(`oneiro clone URL PATH`).",
    "A git host keeps what nothing leads to for a while, and what a pull request or a fork leads "
    "to: ask it to clean up.",
    "Backups, copies of the folder, and the transcripts of the programs in which it was said are "
    "not reached from here.",
)


@dataclass
class Purge:
    """A purge that was looked at and not begun; `untouched`: files that git does not know and that
    hold it."""

    house: House
    ids: tuple[str, ...]
    matching: str
    trace: Trace
    untouched: list[str]

    def shown(self) -> answers.PurgePlan:
        """The plan as data, for the person who is asked."""
        trace = self.trace
        return {
            "schema": 1,
            "memories": [
                {"id": ident, "title": title} for ident, title in sorted(trace.titles.items())
            ],
            "found": {kind: count for kind, count in sorted(trace.kinds.items()) if count},
            "also": sorted(set(trace.also)),
            "untouched": self.untouched,
        }

    def run(self, progress: Progress = quiet) -> answers.Purged:
        """Do it; returns the receipt. Raises RepositoryBusy when something changed meanwhile,
        DiskProblem, GitProblem."""
        house = self.house
        self.trace = look(
            house, tuple(self.trace.titles) or self.ids, self.matching
        ).trace  # the person took their time
        with house.vault.gate.locked():
            rewrite.clean_private(house.vault, self.trace)
            rewrite.clean_loose(house.vault, self.trace)
        reach("purge-cleaned")
        progress("tombstones", 0, 0)
        self._entomb()
        reach("purge-entombed")
        trace = self._in_history()
        rewrite.check_ready(house.vault)
        about = {
            "memories": sorted(trace.titles),
            "found": self.shown()["found"],
            "untouched": len(self.untouched),
        }
        rewrite.begin(house.vault, trace, about)
        return _finished(house, trace, progress)

    def _in_history(self) -> Trace:
        knows = self.house.vault.repo.knows
        idents = {ident for oid, ident in self.trace.owner.items() if knows(oid)}
        if self.trace.titles and not idents:
            return self.trace
        trace = _traced(self.house, sorted(idents), self.matching)
        trace.titles |= self.trace.titles
        return trace

    def _entomb(self) -> None:
        vault, trace = self.house.vault, self.trace
        gone = [path for path, blob in vault.listing().items() if blob in trace.owner]
        changes = [Remove(path, digest(vault.read(path))) for path in gone]
        idents = sorted(trace.titles)
        marks = {mark for words in trace.words.values() for mark in words}
        kept = {
            row.id for rows in self.house.index.same(marks).values() for row in rows if row.id
        } - {*idents, ""}
        events = [
            ledger.make(
                denylist.EVENT, ident, vault.clock(), actor="user",
                words=sorted(trace.words.get(ident, ())),
                kept=sorted(kept),
                blobs=sorted(oid for oid, owner in trace.owner.items() if owner == ident),
            )
            for ident in idents
        ]  # fmt: skip
        # a picture may be attached again some day; an old copy that still has it has the memory's
        # own versions too, and is known by them
        if others := sorted(trace.blobs.keys() - trace.owner.keys() - trace.pictures):
            events.append(
                ledger.make(denylist.EVENT, "", vault.clock(), actor="user", blobs=others)
            )
        what = (
            f"purged {len(idents)} {'memory' if len(idents) == 1 else 'memories'}"
            if idents
            else "purged a text"
        )
        vault.purge(changes, Operation("forget", what, "user", tuple(idents)), events)


def look(house: House, ids: Sequence[str] = (), matching: str = "") -> Purge:
    """What purging these memories, or a text, would do. Changes nothing.

    Raises InvalidInput, NotFound, AmbiguousId, RepositoryBusy or GitProblem.
    """
    rewrite.no_words(list(ids), matching)
    rewrite.check_ready(house.vault)
    trace = _traced(house, ids, matching)
    rewrite.check_refs(house.vault, trace)
    literal = [] if trace.titles else rewrite.beside(house.vault, trace)
    untouched = [*rewrite.loose_ends(house.vault, trace), *literal]
    if not untouched and not any(
        _in_private(path, trace) for path in rewrite.private_files(house.vault)
    ):
        rewrite.refuse_empty(trace)
    return Purge(house, tuple(ids), matching, trace, untouched)


def _traced(house: House, ids: Sequence[str], matching: str) -> Trace:
    tracer = Tracer(house.vault.repo, house.vault.files)
    return (
        tracer.of_text(checked(matching))
        if matching
        else tracer.of_memories([_id(ident) for ident in ids])
    )


def _in_private(path: Path, trace: Trace) -> bool:
    return bool(trace.text.count(path.read_bytes()))


def _id(text: str) -> str:
    wanted = text.strip().lower()
    if len(wanted) < 4 or not wanted.isalnum():
        raise NotFound(
            f"{text[:60]!r} is not an id",
            kept="Nothing was changed.",
            hint="`oneiro list` shows ids.",
        )
    return wanted


def resume(house: House, progress: Progress = quiet) -> answers.Purged:
    """Finish a purge that was interrupted; returns the receipt. Raises NotFound when none was
    begun."""
    return _finished(house, None, progress)


def _finished(house: House, trace: Trace | None, progress: Progress) -> answers.Purged:
    progress("rewriting history", 0, 0)
    plan = rewrite.carry_out(house.vault)
    progress("indexes", 0, 0)
    _derive(house, progress)
    progress("looking whether it is gone", 0, 0)
    literal = (
        trace if trace is not None and not trace.titles else None
    )  # others may rightly say the same as a memory
    left = rewrite.remaining(house.vault, plan["blobs"], literal, _folders(house))
    receipt = _receipt(house, plan, left)
    rewrite.finish(house.vault)
    return receipt


def _folders(house: House) -> list[Path]:
    return [
        house.vault.repo.common_dir,
        house.index.folder,
        *{house.root / orient.FOLDER} - {house.index.folder},
    ]


def _derive(house: House, progress: Progress) -> None:
    for folder in (house.index.folder, house.root / orient.FOLDER):
        for name in (*orient.FILES, NAMES):
            (folder / name).unlink(missing_ok=True)
        for name in (images.FOLDER, "logs"):
            shutil.rmtree(folder / name, ignore_errors=True)
    house.uses.forget_questions()
    house.index.refresh(None, progress, force=True)
    with suppress(OneiroError):  # without a model, vectors are made later
        house.index.scrub()
    house.indexing.reconcile(progress)
    with suppress(OSError, OneiroError):
        for one in orient.PUBLISHED:
            one.publish(house)


def _receipt(house: House, plan: Mapping[str, Any], left: list[str]) -> answers.Purged:
    now, about = ledger.moment(house.clock()), plan["about"]
    receipt: answers.Purged = {
        "schema": 1,
        "purged": now,
        "memories": about["memories"],
        "found": about["found"],
        "untouched": about["untouched"],
        "files": len(plan["blobs"]),
        "messages": len(plan["messages"]),
        "names": len(plan["paths"]),
        "commits": int(plan["map"]["commits"]),
        "before": plan["before"],
        "after": house.vault.head(),
        "left": left,
        "todo": [*_commands(house, plan["remotes"]), *OTHERS],
    }
    folder = house.vault.folder / RECEIPTS
    folder.mkdir(exist_ok=True)
    place = folder / f"{now.replace(':', '')}-{os.urandom(2).hex()}.json"
    place.write_text(json.dumps(receipt, indent=1) + "\n", encoding="utf-8")
    return {**receipt, "receipt": str(place)}


def _commands(house: House, remotes: Mapping[str, str]) -> list[str]:
    known = house.vault.repo.commands.text("remote").split()
    branches = set(
        house.vault.repo.commands.text(
            "for-each-ref", "--format=%(refname:short)", "refs/heads/"
        ).split()
    )
    found = []
    for name, tip in sorted(remotes.items()):
        remote = next((one for one in known if name.startswith(f"{one}/")), "")
        branch = name.removeprefix(f"{remote}/")
        if remote and branch in branches:
            found.append(f"git push --force-with-lease={branch}:{tip} {remote} {branch}")
        elif remote:
            found.append(f"git push {remote} --delete {branch}")
    tags = house.vault.repo.commands.text("tag").split()
    return found + [f"git push --force {remote} --tags" for remote in known if tags]
