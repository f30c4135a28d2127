"""The order of a sync: fetch, gates, plan, one commit with two parents, push; again when somebody
else was faster. A gate stops it until a person has looked.

Nothing is ever rebased, stashed or forced. Fetching and pushing happen beside everything else; only
the joining holds the write lock. What a merge by plain git has left, two names that differ only in
case or one memory in two files, is put right by what is in the tree alone, so that two machines get
the same one; what one side had already is that side's own.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from oneiro_vault.api import Progress
from oneiro_vault.core.memory import by_name, circles_broken, epoch
from oneiro_vault.errors import Brake, LockTimeout, StaleMemory, few, shown
from oneiro_vault.sync import remote_lease
from oneiro_vault.sync.plan import Action, Contents, Differences, Plan, Which, apart, make
from oneiro_vault.vault import ledger
from oneiro_vault.vault.change import Change, Operation, Remove, Write
from oneiro_vault.vault.git.network import Remote
from oneiro_vault.vault.git.staging_area import FILE, Entry
from oneiro_vault.vault.purge import denylist
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import digest, is_note, is_ours, twin_key
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.disk import reach
from oneiro_vault.vault.write.merge_commit import Joined

FEW: Final = 10
"""Up to this many notes that vanish at once are always believed."""
SHARE: Final = 0.2
"""Beyond that, up to this share of all notes."""
_KEPT: Final = "Nothing was changed here or there."
_YES: Final = "If that is meant: oneiro sync --yes."
TRIES: Final = 8
_PAUSE: Final = 0.05
_NAMED: Final = 50


@dataclass
class Meeting:
    """What joining `theirs` to `ours` means; `late`: runs of ours that would be taken back
    before."""

    ours: str
    theirs: str
    plan: Plan = field(default_factory=Plan)
    late: list[remote_lease.Late] = field(default_factory=list)
    brings: bool = False
    forward: bool = False


@dataclass
class Done:
    """How a sync ended: the tip, what happened to which files, the commit that joined ("": none was
    needed), where a history that was rewritten is kept, the runs of ours that gave way."""

    tip: str
    actions: list[Action]
    commit: str = ""
    pushed: bool = False
    tries: int = 0
    rescued: str = ""
    late: list[remote_lease.Late] = field(default_factory=list)


class Sync:
    """One sync of a vault with a remote. `confirmed`: a person has looked at what a gate said."""

    def __init__(
        self,
        vault: Vault,
        remote: Remote,
        *,
        confirmed: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self._vault = vault
        self._remote = remote
        self._confirmed = confirmed
        self._progress = progress
        self._contents = Contents(vault.repo)
        self._known: Meeting | None = None
        self._tombstones: dict[str, str] = {}
        self._rescued = ""
        self.done = Done("", [])

    # -- the order

    def look(self) -> Meeting:
        """Fetch, and what a sync would do now; changes nothing. Raises Brake where one would."""
        met = self._meet(self._vault.head(), self._fetch())
        met.late = remote_lease.late_runs(self._vault, self._remote, met.ours, met.theirs)
        return met

    def run(self) -> Done:
        """Until both are at one; when it fails, `done` is how far it came.

        Raises Unreachable, GitProblem, Brake, UnsafePath, RepositoryBusy, LockTimeout, DiskProblem.
        """
        done, before = self.done, self._remote.seen()
        for done.tries in range(1, TRIES + 1):
            theirs = self._fetch()
            reach("sync-fetched")
            self._meet(
                self._vault.head(), theirs
            )  # every gate first: what they stop has changed nothing
            done.late += remote_lease.give_way(
                self._vault, self._remote, self._vault.head(), theirs
            )
            met = self._join(theirs, done)
            reach("sync-joined")
            done.actions += tidy(self._vault, self._contents, before)
            done.tip, done.rescued = self._vault.head(), self._rescued
            if not done.tip or self._vault.repo.contains(done.tip, theirs):
                break
            self._tell("sending")
            if self._remote.push(done.tip):
                done.pushed = True
                self._remote.follow()
                done.actions += [
                    action for action in met.plan.actions if action not in done.actions
                ]
                break
            time.sleep(random.uniform(0, min(1.0, _PAUSE * 2**done.tries)))
        else:
            raise LockTimeout(
                f"somebody else sent something to {self._remote.name} first, {TRIES} times in a "
                f"row",
                kept="Everything of theirs is here; ours is committed.",
                hint="Run `oneiro sync` again.",
            )
        reach("sync-pushed")
        if done.tip:
            self._remote.settle(done.tip)
        return done

    def _fetch(self) -> str:
        old = self._remote.seen()
        if old:
            self._remote.settle(old)
        self._tell("fetching")
        theirs = self._remote.fetch()
        self._check_erased(self._vault.head(), theirs)
        self._rescued = self._check_rewritten(old, theirs) or self._rescued
        if self._rescued and theirs:
            self._remote.settle(theirs)
        return theirs

    def _join(self, theirs: str, done: Done) -> Meeting:
        met = self._meet(self._vault.head(), theirs)
        if not met.brings:
            return met
        self._tell("joining")
        receipt = self._vault.merge(
            self._decide(theirs), Operation("sync", f"with {self._remote.name}"), self._progress
        )
        done.commit = receipt.commit or done.commit
        assert self._known is not None
        done.actions += self._known.plan.actions
        return self._known

    def _decide(self, theirs: str) -> Callable[[str], Joined | None]:
        """Known already unless somebody wrote meanwhile."""

        def decide(tip: str) -> Joined | None:
            met = self._meet(tip, theirs)
            if not met.brings:
                return None
            gone = [
                action.memory for action in met.plan.actions if action.doing == "forget"
            ]  # `restore` looks for them by name
            both = [
                action.memory
                for action in met.plan.actions
                if action.doing == "merge" and action.memory
            ]
            events = tuple(self._restored(memory) for memory in met.plan.revived)
            return Joined(
                theirs,
                met.plan.changes,
                self._contents.made,
                events,
                (*gone, *both[:_NAMED]),
                met.forward,
            )

        return decide

    def _restored(self, memory: str) -> ledger.Event:
        """Later than its tombstone, whatever the clocks say."""
        forgotten = epoch(self._tombstones.get(memory, "")) or 0.0
        return ledger.make(
            "restore", memory, max(self._vault.clock(), forgotten + 1.0), actor="user"
        )

    # -- what it means

    def _meet(self, ours: str, theirs: str) -> Meeting:
        if self._known is None or (self._known.ours, self._known.theirs) != (ours, theirs):
            self._known = self._met(ours, theirs)
        return self._known

    def _met(self, ours: str, theirs: str) -> Meeting:
        repo = self._vault.repo
        met = Meeting(ours, theirs)
        self._contents.tips = (ours, theirs)
        if ours == theirs:
            return met
        if not theirs:
            sides: tuple[Differences, Differences] = (repo.difference("", ours), {})
        elif not ours or repo.contains(ours, theirs):
            met.brings = met.forward = True
            sides = ({}, repo.difference(ours, theirs))
        elif repo.contains(theirs, ours):
            sides = (repo.difference(theirs, ours), {})
        else:
            met.brings = True
            sides = self._from_base(ours, theirs)
        met.plan = self._planned(sides, ours, theirs)
        self._check_loss(met)
        return met

    def _from_base(self, ours: str, theirs: str) -> tuple[Differences, Differences]:
        bases = self._remote.bases(ours, theirs)
        if not bases and self._vault.repo.shallow:
            self._remote.deepen()
            bases = self._remote.bases(ours, theirs)
        if not bases and not self._confirmed:
            raise Brake(
                f"{self._remote.name} ({self._remote.url}) holds a history that has nothing in "
                f"common with this vault's",
                kept=_KEPT,
                hint=f"Is it the right remote? {_YES} Every note of both is kept.",
            )
        repo = self._vault.repo
        if len(bases) < 2:
            base = bases[0] if bases else ""
            return repo.difference(base, ours), repo.difference(base, theirs)
        common = self._common(bases)
        return _between(common, repo.listing(ours)), _between(common, repo.listing(theirs))

    def _common(self, bases: list[str]) -> dict[str, Entry]:
        """After criss-cross merges there are several bases: their own joining is the base."""
        repo = self._vault.repo
        found = repo.listing(bases[0])
        for other in bases[1:]:
            before = next(iter(self._remote.bases(bases[0], other)), "")
            start, there = repo.listing(before), repo.listing(other)
            changes = make(_between(start, found), _between(start, there), self._contents).changes
            found = {
                path: entry for path, entry in {**found, **changes}.items() if entry is not None
            }
        return found

    def _planned(self, sides: tuple[Differences, Differences], ours: str, theirs: str) -> Plan:
        forgotten: dict[Which, frozenset[str]] = {}
        later: Which = "ours"
        if all(sides):
            forgotten = {"ours": self._forgotten(sides[0]), "theirs": self._forgotten(sides[1])}
            later = self._later(ours, theirs)
        names = partial(self._vault.repo.listing, ours)  # read only where it is asked for
        plan = make(*sides, self._contents, later=later, forgotten=forgotten, names=names)
        if all(sides):
            self._reinstate(plan, sides)
        return plan

    def _forgotten(self, side: Differences) -> frozenset[str]:
        """Ids that this side forgot since the base, and did not bring back."""
        gone: dict[str, bool] = {}
        for path, (before, after) in side.items():
            if path.startswith(f"{ledger.FOLDER}/") and after is not None:
                old = set(self._contents.data(before.blob if before else "").split(b"\n"))
                new = b"\n".join(
                    line for line in self._contents.data(after.blob).split(b"\n") if line not in old
                )
                for event in ledger.decode(new):
                    if event["e"] in ("tombstone", "restore"):
                        ident = str(event.get("id", ""))
                        gone[ident] = event["e"] == "tombstone"
                        self._tombstones[ident] = max(
                            self._tombstones.get(ident, ""), str(event.get("t", ""))
                        )
        return frozenset(ident for ident, out in gone.items() if ident and out)

    def _later(self, ours: str, theirs: str) -> Which:
        """Of two in one second the greater id."""
        times = self._vault.repo.commands.text(
            "show", "--no-patch", "--no-walk=unsorted", "--format=%ct", ours, theirs
        ).split()
        return "ours" if (int(times[0]), ours) > (int(times[-1]), theirs) else "theirs"

    def _reinstate(self, plan: Plan, sides: tuple[Differences, Differences]) -> None:
        """No circle of memories that replaced one another: one of each stays in force."""
        places: dict[str, tuple[str, Entry]] = {}
        replaced: dict[str, str] = {}
        for path, entry in {**plan.sends, **plan.changes}.items():
            if entry is not None and is_note(path):
                ident, by = self._contents.superseded_by(path, entry.blob)
                if ident and by:
                    places[ident], replaced[ident] = (path, entry), by
        for ident in circles_broken(replaced):
            path, entry = places[ident]
            base = next(
                (
                    before.blob
                    for side in sides
                    if (before := side.get(path, (None, None))[0]) is not None
                ),
                "",
            )
            plan.changes[path] = plan.sends[path] = Entry(
                self._contents.reinstated(entry.blob, base), entry.mode
            )

    # -- the gates

    def _check_rewritten(self, old: str, new: str) -> str:
        """Where the old tip is kept when it is no longer part of what is there now. Raises Brake
        unless that is confirmed, or what we have."""
        repo, remote = self._vault.repo, self._remote
        if not (old and new) or repo.contains(old, new):
            return ""
        kept = remote.rescue(old)
        if not self._confirmed and new != repo.tip():
            raise Brake(
                f"the history of {remote.name} was rewritten: it no longer contains {old[:10]}, "
                f"which was there when you synced last",
                kept=f"{_KEPT} The old history is kept as {kept}.",
                hint="`oneiro sync --yes` joins what is there now to what you have (also to what "
                f"was taken out there). To take theirs instead: git reset --keep {remote.tracking}"
                ", then `oneiro doctor --fix`",
            )
        return kept

    def _check_erased(self, ours: str, theirs: str) -> None:
        """Raise Brake, whatever was confirmed, where a sync would bring back, here or there, what a
        person purged; what was just fetched of it is cleared away."""
        repo, remote = self._vault.repo, self._remote
        gone = denylist.purged(repo, ours)
        if not repo.contains(theirs, ours) and denylist.returning(repo, theirs, ours, gone):
            with self._vault.gate.locked():  # what a writer has just stored has no branch yet
                remote.drop()
            raise Brake(
                f"{remote.name} still holds what was purged here",
                kept="It was not let in.",
                hint="Replace the history there with the git push --force-with-lease of the "
                "receipt (.git/oneiro/receipts). If git refuses it, something was sent there "
                "since: keep that from a new clone first, then git push --force "
                f"{remote.name} {remote.branch}.",
            )
        if denylist.returning(repo, ours, theirs, denylist.purged(repo, theirs)):
            raise Brake(
                f"memories were purged in another copy of this vault; this one still holds them, "
                f"and {remote.name} does not take them back",
                kept=_KEPT,
                hint=f"Make a new copy (oneiro clone {remote.url} PATH), add there what only this "
                f"one has, and delete this one.",
            )
        if denylist.returning(repo, ours, "", gone):
            raise Brake(
                "what was purged is in the history here again: git joined a copy that still had it",
                kept=f"{_KEPT} What {remote.name} has no longer is not sent there.",
                hint="`oneiro purge` takes it out once more; then replace the history there, as "
                "its receipt says.",
            )

    def _check_loss(self, met: Meeting) -> None:
        name = self._remote.name
        for tip, gone, where, whose in (
            (met.ours, met.plan.gone_here, "here", f"they are gone from {name}"),
            (met.theirs, met.plan.gone_there, f"from {name}", "they are gone here"),
        ):
            if self._confirmed or len(gone) <= FEW:
                continue
            if len(gone) > SHARE * (total := len(self._vault.listing(tip))):
                which = few([shown(path, 80) for path in sorted(gone)])
                raise Brake(
                    f"{len(gone)} of {total} notes would vanish {where}, because {whose}: {which}",
                    kept=_KEPT,
                    hint=_YES,
                )

    def _tell(self, what: str) -> None:
        if self._progress is not None:
            self._progress(what, 0, 0)


def _between(
    old: Mapping[str, Entry], new: Mapping[str, Entry]
) -> dict[str, tuple[Entry | None, Entry | None]]:
    return {
        path: (old.get(path), new.get(path))
        for path in old.keys() | new.keys()
        if old.get(path) != new.get(path)
    }


# -- what a plain merge left

Met = Callable[[str, str], bool]
"""Did these two paths come together only here?"""
TITLE: Final = "put right what a plain merge left"
_LEFT: Final = "untidy"
_FORMAT: Final = (
    "%H%x1f%P%x1f%at%x1f%ct%x1f%(trailers:key=Oneiro-Op,valueonly,unfold,separator=%x2C)"
)


def tidy(vault: Vault, contents: Contents, since: str) -> list[Action]:
    """One commit that gives twins two names and makes one note of a memory that is in two. `since`:
    the tip from which on commits are looked at ("": all).

    Raises what `Vault.apply` raises, except StaleMemory.
    """
    tip, left = vault.head(), vault.folder / _LEFT
    if left.exists():
        since = left.read_text().strip()
    origins = _origins(vault, since, tip) if tip else []
    if not origins:
        return []
    before = [vault.repo.listing(commit) for commit in origins]
    listing = {
        path: entry
        for path, entry in vault.repo.listing(tip).items()
        if entry.mode == FILE and is_ours(path)
    }

    def met(one: str, other: str) -> bool:
        return not any(one in there and other in there for there in before)

    actions: list[Action] = []
    changes: dict[str, str] = {}
    _join(contents, listing, met, changes, actions)
    _name(
        contents,
        {path: entry for path, entry in listing.items() if changes.get(path) != ""},
        met,
        changes,
        actions,
    )
    if actions:
        operation = Operation(
            "sync", TITLE, memories=tuple(action.memory for action in actions if action.memory)
        )
        try:
            vault.apply(_ordered(contents, listing, changes), operation)
        except StaleMemory:  # somebody is just changing one of them: the next time
            disk.note("Noting what is left", left, since)
            return []
    left.unlink(missing_ok=True)
    return actions


def _origins(vault: Vault, since: str, tip: str) -> list[str]:
    """The commits from which merges and rebases that were made without us set out."""
    span = f"{since}..{tip}" if since else tip
    text = vault.repo.commands.text(
        "log", "-z", "--topo-order", "--reverse", f"--format={_FORMAT}", span
    )
    mixed: set[str] = set()
    found: dict[str, None] = {}
    for row in text.split("\0"):
        commit, parents, authored, made, op = (*row.split("\x1f", 4), "", "", "", "")[:5]
        above = parents.split()
        if (len(above) > 1 and not op) or (authored != made and op):
            mixed.add(commit)
            found |= dict.fromkeys(parent for parent in above if parent not in mixed)
        elif not mixed.isdisjoint(above):
            mixed.add(commit)
    if not mixed:
        return []
    old = vault.repo.tip("ORIG_HEAD")  # where a rebase set out
    return [commit for commit in (*found, since, old if old not in mixed else "") if commit]


def _join(
    contents: Contents,
    listing: Mapping[str, Entry],
    met: Met,
    changes: dict[str, str],
    actions: list[Action],
) -> None:
    """The file whose name tells the memory stands, else the first, and takes in the others."""
    files: dict[str, list[str]] = defaultdict(list)
    for path, entry in listing.items():
        if is_note(path) and (ident := contents.ident(entry.blob)):
            files[ident].append(path)
    for ident, paths in files.items():
        stands, *others = by_name(ident, paths)
        for other in (other for other in others if met(stands, other)):
            blob, clashes = contents.merge(
                stands, "", changes.get(stands) or listing[stands].blob, listing[other].blob
            )
            changes |= {stands: blob, other: ""}
            actions.append(Action("merge", stands, other, ident, clashes))


def _name(
    contents: Contents,
    listing: Mapping[str, Entry],
    met: Met,
    changes: dict[str, str],
    actions: list[Action],
) -> None:
    twins: dict[str, list[str]] = defaultdict(list)
    for path in listing:
        twins[twin_key(path)].append(path)
    taken = set(twins)
    for paths in (paths for paths in twins.values() if len(paths) > 1):
        marks = {
            path: contents.ident(listing[path].blob) if is_note(path) else "" for path in paths
        }
        stands, *others = sorted(
            paths, key=lambda one: (bool(marks[one]), marks[one], listing[one].blob, one)
        )
        for path in (path for path in others if met(stands, path)):
            to = apart(path, marks[path] or listing[path].blob, taken)
            taken.add(twin_key(to))
            changes |= {path: "", to: changes.get(path) or listing[path].blob}
            actions.append(Action("rename", to, path, marks[path]))


def _ordered(
    contents: Contents, listing: Mapping[str, Entry], changes: Mapping[str, str]
) -> list[Change]:
    found: list[Change] = []
    for path, blob in changes.items():
        base = digest(contents.data(listing[path].blob)) if path in listing else None
        if blob:
            found.append(Write(path, contents.data(blob), base))
        elif base is not None:
            found.append(Remove(path, base))
    return found
