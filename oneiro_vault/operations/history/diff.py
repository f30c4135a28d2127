"""Two commits by memory, paired by id, with the reasons that the commits between them give; and
`diff`: what is believed at one moment and was not at another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from oneiro_vault import answers
from oneiro_vault.core import memory as memories
from oneiro_vault.core.markdown import orientation
from oneiro_vault.core.markdown.word_diff import changes
from oneiro_vault.core.memory import LIVE, Memory, captured
from oneiro_vault.core.time.date_ranges import iso
from oneiro_vault.errors import GitProblem, InvalidInput, NotFound, UnreadableNote, shown
from oneiro_vault.operations.history import as_of_view
from oneiro_vault.operations.history.as_of_view import Moment
from oneiro_vault.operations.indexing import Indexing
from oneiro_vault.vault.history.commit_log import Entry
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import is_note


def diff(
    vault: Vault,
    indexing: Indexing,
    clock: Callable[[], float],
    /,
    before: str,
    after: str | None = None,
) -> answers.Diff:
    """What became of each memory between two moments (dates, or commits; without `after`: until
    now), in the order of history; from before the first commit on, all is new. Raises InvalidInput,
    NotFound."""
    indexing.converge()
    first, last = _ends(vault, clock(), before, "HEAD" if after is None else after)
    found = between(vault, first.point.commit if first else "", last.point.commit)
    answer: answers.Diff = {
        "schema": 1, "from": first.data() if first else None, "to": last.data(),
        "commits": found.commits, "new": [], "revised": [], "merged": [], "retired": [],
        "moved": [], "contradicted": [], "pending": [], "orientation": _orientation(found),
        "kept": 0, "captures": found.captures, "runs": len(found.reports),
        "unreadable": found.unreadable,
    }  # fmt: skip
    for key, pair in found.pairs.items():
        _tell(answer, found, key, pair)
    return answer


def _ends(vault: Vault, now: float, before: str, after: str) -> tuple[Moment | None, Moment]:
    """Both moments, the earlier one first; None stands for the time before the first commit."""
    found: list[Moment] = []
    for text in (before, after):
        try:
            found.append(as_of_view.find(vault, now, text))
        except NotFound as error:
            missing = error
    if not found:
        raise missing
    if len(found) == 2 and vault.repo.contains(found[1].point.commit, found[0].point.commit):
        found.reverse()
    return (found[0] if len(found) == 2 else None), found[-1]


def _tell(answer: answers.Diff, found: Comparison, key: str, pair: Pair) -> None:
    """Put a memory into the list of its fate, unless it is always loaded, and besides among what
    was moved or contradicted; what is in none of them counts as kept."""
    row, note = _named(found, key, pair), pair.now
    says = note.body.strip()
    fate = "" if pair.loaded else found.fate(key)
    moved_from = pair.before.path if pair.before and pair.after else note.path
    if fate in ("new", "pending"):
        (answer["new"] if fate == "new" else answer["pending"]).append(
            {
                **row,
                "says": says,
                "source": note.source or "user",
                "trust": note.trust,
                "derived_from": list(note.derived_from),
            }
        )
    elif fate in ("merged", "retired"):
        was = pair.before.body.strip() if pair.before else ""
        (answer["merged"] if fate == "merged" else answer["retired"]).append(
            {**row, "said": was, "fate": _fate(pair), "into": _heir(found, note)}
        )
    elif fate == "revised":
        answer["revised"].append(_revised(row, pair.before, pair.after))
    if moved_from != note.path:
        answer["moved"].append({**row, "was": moved_from})
    if pair.contradicted:
        answer["contradicted"].append({**row, "doubts": pair.doubts, "says": says})
    if fate == "kept" and moved_from == note.path and not pair.contradicted:
        answer["kept"] += 1


def _named(found: Comparison, key: str, pair: Pair) -> answers.Difference:
    note, entry = pair.now, found.why.get(key)
    why: answers.ChangeWhy | None = None
    if entry:
        why = {
            "commit": entry.commit, "when": iso(entry.when), "op": entry.op, "actor": entry.actor,
            "reason": entry.reason or None,
            "run": entry.run or None, "judge": entry.judge or None,
        }  # fmt: skip
    return {
        "id": note.id or None,
        "path": note.path,
        "title": note.title,
        "type": note.type,
        "why": why,
    }


def _fate(pair: Pair) -> str:
    return (
        "forgotten"
        if pair.after is None
        else "ended"
        if pair.after.status in LIVE
        else pair.after.status
    )


def _heir(found: Comparison, note: Memory) -> answers.Titled | None:
    heir = found.pairs.get(note.superseded_by)
    return (
        {"id": note.superseded_by, "title": heir.now.title if heir else ""}
        if note.superseded_by
        else None
    )


def _revised(
    row: answers.Difference, before: Memory | None, after: Memory | None
) -> answers.RevisedRow:
    if before and after:
        old, new = said(before, after)
    else:
        old, new = (note.body.strip() if note else "" for note in (before, after))
    words = [list(step) for step in changes(old, new)]
    return {**row, "before": old, "after": new, "words": words}


def _orientation(found: Comparison) -> answers.OrientationDiff:
    before, after = found.blocks
    changes = [
        _revised(_named(found, key, pair), before.get(key), after.get(key))
        for key, pair in found.pairs.items()
        if pair.loaded and _differs(before.get(key), after.get(key))
    ]
    return {"before": _blocks(before), "after": _blocks(after), "changes": changes}


def _differs(before: Memory | None, after: Memory | None) -> bool:
    return (before is None) != (after is None) or (
        before is not None and after is not None and len(set(said(before, after))) > 1
    )


def _blocks(side: Mapping[str, Memory]) -> list[answers.BlockText]:
    return [
        {"id": note.id or None, "title": note.title, "text": note.body.strip()}
        for _, note in sorted(side.items())
    ]


_DOUBTS: Final = ("contradiction", "conflict")
_PROBES: Final = re.compile(
    r"(\d{1,9}) probes; (\d{1,9}) found their memory before, (\d{1,9}) after; (\d{1,9}) "
    r"decisions? dropped"
)


@dataclass(frozen=True)
class Pair:
    """One memory on both sides; None where it is not."""

    before: Memory | None
    after: Memory | None

    @property
    def now(self) -> Memory:
        """The newest of it that there is."""
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def kind(self) -> str:
        """new, pending, revised, retired, kept (only its frontmatter changed), or passing (came and
        went)."""
        was = self.before is not None and self.before.status in LIVE
        if self.after is None or self.after.status not in LIVE:
            return (
                "pending"
                if self.after and self.after.status == "pending" and not was
                else "retired"
                if was
                else "passing"
            )
        if not was:
            return "new"
        assert self.before is not None
        if self.after.valid_until and not self.before.valid_until:
            return "retired"
        return "revised" if len(set(said(self.before, self.after))) > 1 else "kept"

    @property
    def loaded(self) -> bool:
        """Is or was it a block of the orientation (not only a proposal)?"""
        return any(
            note is not None and note.type == "orientation" and note.status != "pending"
            for note in (self.before, self.after)
        )

    @property
    def doubts(self) -> list[str]:
        """Questions for a person that the note did not have before."""
        old = set(self.before.flags) if self.before else set()
        return (
            [flag for flag in self.after.flags if flag not in old]
            if self.after and self.after.status in LIVE
            else []
        )

    @property
    def contradicted(self) -> bool:
        """Does something speak against it now?"""
        return any(flag in _DOUBTS for flag in self.doubts)


def said(before: Memory, after: Memory) -> tuple[str, str]:
    """The words of both; without titles where they only repeat the first words, or did not
    change."""
    both = (before, after)
    if before.title == after.title or all(
        note.body.lstrip("#>-* \n").startswith(note.title.rstrip("…")) for note in both
    ):
        return before.body.strip(), after.body.strip()
    old, new = (f"{note.title}: {note.body.strip()}" for note in both)
    return old, new


@dataclass
class Comparison:
    """`pairs`: id (or path) -> what changed; `why`: id -> its newest commit; `reports`: (probes,
    before, after, dropped) of each run; `blocks`: id -> what is always loaded, on each side."""

    base: str
    head: str
    commits: int
    pairs: dict[str, Pair] = field(default_factory=dict)
    why: dict[str, Entry] = field(default_factory=dict)
    reports: list[tuple[int, int, int, int]] = field(default_factory=list)
    blocks: tuple[dict[str, Memory], dict[str, Memory]] = ({}, {})
    unreadable: list[str] = field(default_factory=list)
    captures: int = 0

    def fate(self, key: str) -> str:
        """The kind of a pair, `merged` for what was retired by becoming part of another."""
        kind = self.pairs[key].kind
        return (
            "merged"
            if kind == "retired" and key in self.why and self.why[key].op == "merge"
            else kind
        )


def compare(vault: Vault, span: str) -> Comparison:
    """What the commits of `BASE..HEAD` bring against where the two parted. Raises InvalidInput."""
    return between(vault, *_range(vault, span))


def between(vault: Vault, base: str, head: str) -> Comparison:
    """What was believed at one commit ("" = nothing yet) and at another."""
    entries = [
        vault.erased.veiled(entry)
        for entry in vault.history.log(start=f"{base}..{head}" if base else head)
    ]
    found = Comparison(base, head, len(entries))
    for entry in entries:
        for ident in entry.memories if entry.op != "ledger" else ():
            found.why.setdefault(ident, entry)
    sides = _sides(vault, found)
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        pair = Pair(sides[0].get(key), sides[1].get(key))
        brought = captured(pair.now) and pair.now.source not in ("", "user")
        if brought and pair.before is None:
            found.captures += 1
        else:
            found.pairs[key] = pair
    found.blocks = _loaded(vault, head, found.pairs)
    return found


def _range(vault: Vault, span: str) -> tuple[str, str]:
    first, _, second = span.replace("...", "..").partition("..")
    repo = vault.repo
    ends = [
        repo.resolve(name) if not name.startswith("-") else ""
        for name in (first.strip(), second.strip() or "HEAD")
    ]
    for name, commit in zip((first, second or "HEAD"), ends, strict=True):
        if not commit:
            hint = "For example main..HEAD; in CI, fetch the history (fetch-depth: 0)."
            raise InvalidInput(
                f"{shown(name)} names no commit here", kept="Nothing was changed.", hint=hint
            )
    try:
        return repo.commands.text("merge-base", *ends), ends[1]
    except GitProblem:
        return "", ends[1]  # nothing in common: all of it is new


def _sides(vault: Vault, found: Comparison) -> tuple[dict[str, Memory], dict[str, Memory]]:
    sides: tuple[dict[str, Memory], dict[str, Memory]] = ({}, {})
    for path, entries in sorted(vault.repo.difference(found.base, found.head).items()):
        for side, entry in zip((0, 1), entries, strict=True):
            if entry is None or not is_note(path) or path == "README.md":
                continue
            note = _read(vault, path, entry.blob)
            if note is None:
                found.unreadable += [path] if side else []
            elif note.type != "dream":
                sides[side][note.id or path] = note
            elif side and (probes := probes_of(note.body)):
                found.reports.append(probes)
    return sides


def probes_of(body: str) -> tuple[int, int, int, int] | None:
    """Of a report: probes asked, those that found their memory before and after, decisions dropped;
    None where it does not say."""
    if not (told := _PROBES.search(body)):
        return None
    return int(told[1]), int(told[2]), int(told[3]), int(told[4])


def _read(vault: Vault, path: str, blob: str) -> Memory | None:
    try:
        data = vault.repo.data(blob)
        return None if vault.erased.in_file(path, data) else memories.parse(path, data)
    except UnreadableNote:
        return None


def _loaded(
    vault: Vault, head: str, pairs: dict[str, Pair]
) -> tuple[dict[str, Memory], dict[str, Memory]]:
    after = {note.id or note.path: note for note in _loaded_at(vault, head)}
    before = {key: note for key, note in after.items() if key not in pairs}
    before |= {
        key: pair.before
        for key, pair in pairs.items()
        if pair.before is not None and orientation.belongs(pair.before)
    }
    return before, after


def _loaded_at(vault: Vault, head: str) -> Iterator[Memory]:
    for path, blob in vault.listing(head).items():
        if b"orientation" in vault.repo.data(blob):
            note = _read(vault, path, blob)
            if note is not None and orientation.belongs(note):
                yield note
