"""Erasure: history is written anew without what a trace names, and what led to the old one is
cleared away. Only a person starts it.

No copy of what goes is kept: the plan on disk, by which an interrupted purge is finished, holds
ids, lengths and clean versions only. Until then nothing is written to the vault.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from oneiro_vault.answers import Json
from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.errors import GitProblem, InvalidInput, NotFound, RepositoryBusy, few, shown
from oneiro_vault.vault.git import objects
from oneiro_vault.vault.git.activity import PURGING
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import EXECUTABLE, FILE, GONE, NEW, STAGED
from oneiro_vault.vault.parts import Parts
from oneiro_vault.vault.purge.filter_program import mark_of
from oneiro_vault.vault.purge.find import Trace
from oneiro_vault.vault.worktree.files import is_ours
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.disk import reach

_KEPT: Final = "Nothing was changed."
_HEADS: Final = (
    "FETCH_HEAD",
    "ORIG_HEAD",
    "COMMIT_EDITMSG",
    "MERGE_MSG",
    "SQUASH_MSG",
    "TAG_EDITMSG",
    "AUTO_MERGE",
    "NOTES_EDITMSG",
)
_FOLLOWED: Final = ("refs/remotes/", "refs/oneiro/seen/")
_HOURS: Final = 6 * 3600.0


# -- may it begin?


def check_ready(vault: Parts) -> None:
    """Raise RepositoryBusy or GitProblem unless the whole history is here, nobody else uses it, and
    nothing waits to be committed."""
    repo = vault.repo
    vault.gate.flush()
    repo.check_ready()
    common = repo.common_dir
    if any((common / "worktrees").glob("*")):
        raise RepositoryBusy(
            "other work trees share this repository",
            kept=_KEPT,
            hint="git worktree list; git worktree remove PATH",
        )
    if (common / "objects/info/alternates").exists():
        raise GitProblem(
            "this repository borrows objects of another one, which would keep them", kept=_KEPT,
            hint="git repack -a -d, then remove "
            ".git/objects/info/alternates",
        )  # fmt: skip
    packs = common / "objects/pack"
    if kept := sorted(path.name for path in (*packs.glob("*.keep"), *packs.glob("*.promisor"))):
        raise GitProblem(
            f"git is told to keep packs of objects as they are ({few(kept)}), which would keep it",
            kept=_KEPT,
            hint=f"When no git command is running here: take the .keep files out of {packs}. A "
                 f"partial clone (.promisor) lacks objects: "
            "make a whole one.",
        )  # fmt: skip
    if repo.shallow:
        raise GitProblem(
            "the beginning of this history is not here", kept=_KEPT, hint="git fetch --unshallow"
        )
    status = repo.staging.status().items()
    changed = {
        path: flags
        for path, flags in status
        if (flags != NEW or is_ours(path)) and not _left_out(repo, path, flags)
    }
    if changed:
        staged = any(flags & STAGED for flags in changed.values())
        what = "has staged changes" if staged else "has changes that are not committed"
        which = few([shown(path, 80) for path in sorted(changed)])
        raise RepositoryBusy(
            f"the work tree {what}: {which}",
            kept=_KEPT,
            hint="Commit them or take them back, then purge.",
        )


def _left_out(repo: Repo, path: str, flags: int) -> bool:
    """A link or a submodule that came with a sync is never in the folder."""
    entry = repo.entry(repo.tip(), path)
    return flags == GONE and entry is not None and entry.mode not in (FILE, EXECUTABLE)


def check_refs(vault: Parts, trace: Trace) -> None:
    """Raise GitProblem for names that hold it, and for refs that lead to it past every commit."""
    layout = "--format=%(refname) %(objectname) %(objecttype) %(*objectname) %(*objecttype)"
    named, straight = [], []
    for line in vault.repo.commands.text("for-each-ref", layout).splitlines():
        name, oid, kind, *peeled = line.split(" ")
        if name.startswith(_FOLLOWED):
            continue
        end = peeled if kind == "tag" and all(peeled) and peeled else [oid, kind]
        said = oid in trace.messages or oid in trace.people
        if trace.text.spans(name):
            named.append(name)
        elif end[1] in ("blob", "tree") and (said or _leads(vault, trace, *end)):
            straight.append(name)
    if named:
        hint = (
            f"Give each another name first (git branch -m OLD NEW), or be rid of it: git "
            f"update-ref -d {shown(named[0], 120)}"
        )
        raise GitProblem(
            f"branches or tags have it in their names: {few(named)}", kept=_KEPT, hint=hint
        )
    if straight:
        text = (
            f"these lead straight to a file or folder that holds it, past every commit, and "
            f"cannot be rewritten: {few(straight)}"
        )
        raise GitProblem(
            text, kept=_KEPT, hint=f"If you do not need them: git update-ref -d {straight[0]}"
        )


def _leads(vault: Parts, trace: Trace, oid: str, kind: str) -> bool:
    if kind == "blob":
        return oid in trace.blobs
    out = vault.repo.commands.run("ls-tree", "-r", "-z", "--full-tree", oid, timeout=600.0).decode(
        "utf-8", "surrogateescape"
    )
    rows = (row.partition("\t") for row in out.split("\0") if row)
    return any(fields.split()[2] in trace.blobs or path in trace.paths for fields, _, path in rows)


def beside(vault: Parts, trace: Trace) -> list[str]:
    """Files in the git directory that a person or another program wrote and that hold it."""
    common = vault.repo.common_dir
    ours = {
        vault.folder,
        *(
            common / name
            for name in ("objects", "logs", "refs", "rr-cache", "lost-found", "filter-repo")
        ),
    }
    files = (
        path
        for top in common.iterdir()
        if top not in ours
        for path in ([top] if top.is_file() else top.rglob("*"))
    )
    wanted = (
        path
        for path in files
        if path.is_file()
        and not path.is_symlink()
        and path.name not in (*_HEADS, "index", "packed-refs")
    )
    return sorted(str(path.relative_to(common.parent)) for path in wanted if _holds(path, trace))


def clean_loose(vault: Parts, trace: Trace) -> None:
    """Take it out of files of ours that no commit has."""
    for path, data in trace.loose.items():
        if data is None:
            Path(vault.files.absolute(path)).unlink(missing_ok=True)
            continue
        vault.files.write(path, data)
        if (target := trace.text.renamed(path)) != path:
            _rename(vault, path, target)


def _rename(vault: Parts, path: str, target: str) -> None:
    """The first name that is free, under which git goes on ignoring it."""
    place, end = Path(vault.files.absolute(path)), Path(target)
    for number in range(1, sys.maxsize):
        name = (
            target if number == 1 else end.with_name(f"{end.stem}-{number}{end.suffix}").as_posix()
        )
        if os.path.lexists(vault.files.absolute(name)):
            continue
        _ignore(vault, name)
        data = place.read_bytes()
        temp = vault.files.stage(name, data)
        shutil.copymode(place, temp)
        if vault.files.publish(name, temp, ""):
            vault.files.remove(path, blob_id(data))  # not what an editor has saved meanwhile
            return


def _ignore(vault: Parts, path: str) -> None:
    if vault.repo.commands.attempt("check-ignore", "-q", "--no-index", "--", path)[0] == 0:
        return
    file = vault.repo.common_dir / "info/exclude"
    file.parent.mkdir(exist_ok=True)
    with file.open("a", encoding="utf-8", errors="surrogateescape") as lines:
        lines.write("\n/" + "".join(f"\\{c}" if c in "\\*?[ " else c for c in path) + "\n")


def loose_ends(vault: Parts, trace: Trace) -> list[str]:
    """Files in the folder that git does not know and that hold it: a person's own to remove."""
    found = []
    for path, flags in vault.repo.staging.status().items():
        place = vault.root / path
        if (
            flags == NEW
            and place.is_file()
            and not place.is_symlink()
            and trace.text.count(place.read_bytes() + os.fsencode(path))
        ):
            found.append(path)
    return sorted(found)


# -- what stands beside the history


def private_files(vault: Parts) -> Iterator[Path]:
    """Everything of ours in the git directory that may hold words."""
    for path in sorted(vault.folder.rglob("*")):
        if (
            path.is_file()
            and not path.is_symlink()
            and not path.name.endswith(".lock")
            and path.parent.name != "receipts"
        ):
            yield path


def clean_private(vault: Parts, trace: Trace) -> int:
    """How many held it. What judges said is dropped whole, and what was put aside if it holds
    it."""
    count = 0
    for path in private_files(vault):
        if path.name.startswith("verdicts.db"):
            path.unlink()
            continue
        data = path.read_bytes()
        if not trace.text.count(data) and not trace.text.spans(path.name):
            continue
        count += 1
        if path.suffix in (".json", ".jsonl") and vault.journal.aside not in path.parents:
            temp = path.with_name(path.name + ".new")
            temp.write_bytes(trace.text.cleaned(data))
            temp.replace(path)
        elif path.name != "journal":
            path.unlink()
    return count


# -- the plan on disk


def begin(vault: Parts, trace: Trace, about: Mapping[str, Any]) -> None:
    """From here on only going on is possible. `about` is kept for the receipt."""
    folder = (vault.folder / PURGING).parent
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    for oid, data in trace.blobs.items():
        if data is not None:
            disk.write_new(str(folder / oid), data, 0o600)
    disk.sync(
        [*map(str, folder.iterdir()), str(folder)]
    )  # a plan that outlived its texts would empty the notes
    plan = {
        "blobs": {oid: data is not None for oid, data in trace.blobs.items()},
        "messages": trace.messages,
        "people": trace.people,
        "paths": {mark_of(os.fsencode(path)): new for path, new in trace.paths.items()},
        "stash": trace.stash,
        "remotes": dict(_remote_tips(vault)),
        "before": vault.head(),
        "about": dict(about),
    }
    _write(vault.folder / PURGING, plan)


def _write(path: Path, plan: Mapping[str, Any]) -> None:
    temp = path.with_suffix(".new")
    temp.unlink(missing_ok=True)
    disk.write_new(str(temp), json.dumps(plan).encode("utf-8", "surrogatepass"), 0o600)
    disk.sync([str(temp)])
    temp.replace(path)
    disk.sync([str(path.parent)])


def _remote_tips(vault: Parts) -> Iterator[tuple[str, str]]:
    for line in vault.repo.commands.text(
        "for-each-ref", "--format=%(objectname) %(refname)", "refs/remotes/"
    ).splitlines():
        tip, _, name = line.partition(" ")
        if not name.endswith("/HEAD"):
            yield name.removeprefix("refs/remotes/"), tip


# -- doing it


def carry_out(vault: Parts) -> Json:
    """From wherever it stopped; returns the plan. Raises NotFound when there is none, or
    GitProblem."""
    folder = (vault.folder / PURGING).parent
    if not vault.purging:
        raise NotFound(
            "no purge was begun here",
            kept=_KEPT,
            hint="`oneiro purge ID…` or `oneiro purge --matching TEXT` begins one.",
        )
    plan: Json = json.loads((vault.folder / PURGING).read_bytes())
    with vault.gate.locked():
        if "map" not in plan:
            _let_go(vault)
            reach("purge-begun")
            _rewrite(vault, folder, plan["before"])
            reach("purge-rewritten")
            plan["map"] = _renamed(vault, plan)
            _write(vault.folder / PURGING, plan)
        _expire(vault, plan)
        reach("purge-expired")
        vault.repo.commands.run(
            "-c", "gc.bigPackThreshold=0", "gc", "--quiet", "--prune=now", timeout=_HOURS
        )
        _settle(vault)
    reach("purge-settled")
    return plan


def finish(vault: Parts) -> None:
    """Nothing is left to do."""
    plan = vault.folder / PURGING
    plan.unlink(missing_ok=True)
    shutil.rmtree(plan.parent, ignore_errors=True)


def _let_go(vault: Parts) -> None:
    """Delete what git remembers of other copies, and its notes to itself: they would hold the old
    history."""
    commands = vault.repo.commands
    for line in commands.text("for-each-ref", "--format=%(refname)", *_FOLLOWED).splitlines():
        commands.run("update-ref", "--no-deref", "-d", line)
    for name in _HEADS:
        (vault.repo.git_dir / name).unlink(missing_ok=True)
    for name in ("rr-cache", "lost-found", "filter-repo"):
        shutil.rmtree(vault.repo.git_dir / name, ignore_errors=True)


def _rewrite(vault: Parts, folder: Path, before: str) -> None:
    """In the folder only what became different: what a person saves meanwhile stays."""
    parent = str(Path(__file__).resolve().parents[3])
    found = f"import sys; {parent!r} in sys.path or sys.path.append({parent!r})"
    code = f"{found}; from oneiro_vault.vault.purge.filter_program import main; main()"
    vault.repo.commands.program([sys.executable, "-P", "-c", code, str(folder)], _HOURS)
    vault.repo.commands.attempt("update-index", "-q", "--refresh")
    vault.repo.commands.run("read-tree", "-m", "-u", before, "HEAD")


def _renamed(vault: Parts, plan: Mapping[str, Any]) -> dict[str, str]:
    file = vault.repo.git_dir / "filter-repo/commit-map"
    pairs = (
        dict(line.split()[:2] for line in file.read_text().splitlines()[1:])
        if file.exists()
        else {}
    )
    return {old: pairs.get(old, old) for old, _ in plan["stash"]} | {
        "commits": str(sum(old != new for old, new in pairs.items()))
    }


def _expire(vault: Parts, plan: Mapping[str, Any]) -> None:
    """No reflog leads to the old history; the list of stashes stays, in new words."""
    logs = vault.repo.common_dir / "logs"
    for path in sorted(logs.rglob("*")) if logs.is_dir() else ():
        if path.is_file():
            path.unlink()
    shutil.rmtree(vault.repo.git_dir / "filter-repo", ignore_errors=True)
    before = "0" * 40
    lines = []
    for old, rest in plan["stash"]:
        lines.append(f"{before} {plan['map'][old]} {rest}\n")
        before = plan["map"][old]
    if lines:
        (logs / "refs").mkdir(parents=True, exist_ok=True)
        (logs / "refs/stash").write_text("".join(lines), "utf-8", "surrogateescape")


def _settle(vault: Parts) -> None:
    """The history that journal and witness knew is gone, and that is meant."""
    shutil.rmtree(vault.journal.aside, ignore_errors=True)
    vault.journal.restart()
    if vault.head():
        disk.sync([vault.journal.witness(vault.repo.branch(), vault.head(), ())])


# -- is it gone?


def remaining(
    vault: Parts, blobs: Mapping[str, bool], trace: Trace | None, folders: list[Path]
) -> list[str]:
    """Objects by id, and (for a text that is known) every object, and every file of the folders."""
    found = []
    for oid, _, data in objects.every(str(vault.root)):
        if oid in blobs or (trace is not None and trace.text.count(data)):
            found.append(f"object {oid}")
    for path in (
        path for folder in folders if trace is not None for path in sorted(folder.rglob("*"))
    ):
        inside = (
            path.relative_to(vault.repo.common_dir).parts[:1]
            if path.is_relative_to(vault.repo.common_dir)
            else ()
        )
        if (
            inside != ("objects",)
            and path.is_file()
            and not path.is_symlink()
            and _holds(path, trace)
        ):
            found.append(str(path))
    return found


def _holds(path: Path, trace: Trace | None) -> bool:
    return trace is not None and bool(
        trace.text.count(path.read_bytes()) or trace.text.spans(path.name)
    )


def refuse_empty(trace: Trace) -> None:
    """Raise NotFound when there is nothing to do."""
    if not trace.found:
        raise NotFound(
            "this history does not hold it",
            kept=_KEPT,
            hint="What a purge finds and what not: `oneiro help purge`.",
        )


def no_words(ids: list[str], matching: str) -> None:
    """Raise InvalidInput unless one of the two was given."""
    if bool(ids) == bool(matching):
        raise InvalidInput("give ids, or --matching TEXT", kept=_KEPT, hint="`oneiro purge --help`")
