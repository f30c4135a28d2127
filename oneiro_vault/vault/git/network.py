"""The other copy of a vault, by git's own programs: which one, what is there, sending ours, and
when we were last at one. No history is forced, no person is asked.

What was seen there last is kept under `refs/oneiro/seen/`, so that a rewritten history is noticed
even when somebody fetched by hand; what it replaced is kept under `refs/oneiro/rescue/`.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from oneiro_vault.errors import GitProblem, InvalidInput, NotFound, OneiroError, Unreachable
from oneiro_vault.vault.git.commands import LIMIT, STALLED
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.recovery import Recovery

PUSH_PATIENCE: Final = 3
"""A remote may think this many times longer after a push (its hooks run)."""
_TRIES: Final = 3
_SAFE: Final = "What was committed here stays; nothing is lost."
_USER: Final = re.compile(r"(?<=://)[^/\s]+@")
_SECRET: Final = re.compile(
    r"(?i)([?&][^=\s&]*(?:token|key|secret|password|auth)[^=\s&]*=)[^&\s'\"]+"
)
_PROGRESS: Final = re.compile(
    r"\d+%|^(?:remote: )?(?:Enumerating|Counting|Compressing|Delta|Total|Writing) |^hint:|^To |"
    r"^From |^Done"
)
_FETCH: Final = ("fetch", "--progress", "--no-tags", "--no-write-fetch-head")
_PUSH: Final = ("push", "--progress", "--porcelain", "--no-verify")
_ABSENT: Final = "couldn't find remote ref"
_LOCK: Final = re.compile(r"Unable to create '([^']+\.lock)'|cannot lock ref '([^']+)'")
_OFFLINE: Final = re.compile(
    r"(?i)could not resolve|name or service not known|temporary failure in name|connection "
    r"(?:refused|timed out|reset|closed)|network is unreachable|no route to host|could not "
    r"connect|couldn't connect|failed to connect|unable to connect|operation timed out|early eof|"
    r"unexpected disconnect|hung up unexpectedly|the remote end hung up|kex_exchange|empty reply|"
    r"ssl_|gnutls|returned error: 5\d\d|host is down"
)
_DENIED: Final = re.compile(
    r"(?i)permission denied|authentication failed|could not read (?:username|password)|access "
    r"denied|not found|host key verification failed|does not appear to be a git repository|"
    r"returned error: 4\d\d|terminal prompts disabled"
)
_RACE: Final = re.compile(
    r"(?i)\[rejected\]|fetch first|non-fast-forward|stale info|cannot lock ref|failed to (?:lock|"
    r"update ref)|incorrect old"
)


def clean(text: str) -> str:
    """A message of git's, or an address, without passwords and tokens."""
    return _SECRET.sub(r"\1***", _USER.sub("***@", text))


class Remote:
    """The branch of a remote that ours is synced with. `wait`: seconds without a word after which
    it counts as unreachable; `limit`: in all."""

    def __init__(
        self,
        repo: Repo,
        recovery: Recovery,
        name: str,
        branch: str,
        wait: float,
        limit: float = LIMIT,
    ) -> None:
        self.name = name
        self.branch = branch
        self._repo = repo
        self._recovery = recovery
        self._wait = wait
        self._limit = limit
        self.tracking = f"refs/remotes/{name}/{branch}"
        self._seen = f"refs/oneiro/seen/{name}/{branch}"

    @property
    def url(self) -> str:
        """Its address, without passwords."""
        return clean(self._repo.config(f"remote.{self.name}.url"))

    # -- what is there

    def fetch(self) -> str:
        """Its tip after fetching everything up to it, "" for an empty remote. Raises Unreachable or
        GitProblem."""
        refspec = f"+refs/heads/{self.branch}:{self.tracking}"
        status, _, err = self._talk(*_FETCH, self.name, refspec, stall=self._wait)
        if status and _ABSENT in err:
            return ""
        if status:
            raise self._problem("fetch from", status, err)
        return self._repo.tip(self.tracking)

    def default_branch(self) -> str:
        """The branch a clone starts with, "" for an empty remote. Raises Unreachable or
        GitProblem."""
        status, out, err = self._talk(
            "ls-remote", "--symref", self.name, "HEAD", "refs/heads/*", stall=self._wait
        )
        if status:
            raise self._problem("read", status, err)
        head = re.search(r"(?m)^ref: refs/heads/(\S+)\tHEAD$", out)
        branches = re.findall(r"(?m)^[0-9a-f]+\trefs/heads/(\S+)$", out)
        return head[1] if head and head[1] in branches else branches[0] if branches else ""

    def known(self) -> str:
        """Its tip as far as is known here, "" when it was never seen."""
        return self._repo.tip(self.tracking)

    def seen(self) -> str:
        """Its tip when we were last at one with it, else what is known of it; "" when it was never
        seen."""
        return self._repo.tip(self._seen) or self.known()

    def settle(self, tip: str) -> None:
        """We are at one with it at `tip`."""
        if tip != self._repo.tip(self._seen):
            self._repo.commands.run("update-ref", "-m", "oneiro sync", self._seen, tip)

    def drop(self) -> None:
        """Forget what is there, with every object that nothing else here leads to."""
        for ref in (self.tracking, self._seen):
            self._repo.commands.run("update-ref", "--no-deref", "-d", ref)
        self._repo.commands.run("gc", "--quiet", "--prune=now", timeout=3600.0)

    def follow(self) -> None:
        """So that a plain `git pull` knows where from, unless the branch follows something
        already."""
        ours = self._repo.branch().removeprefix("refs/heads/")
        if not self._repo.config(f"branch.{ours}.remote"):
            self._repo.configure(
                {
                    f"branch.{ours}.remote": self.name,
                    f"branch.{ours}.merge": f"refs/heads/{self.branch}",
                }
            )

    def rescue(self, old: str, name: str = "") -> str:
        """Keep `old` reachable for ever under a name that is returned."""
        name = f"refs/oneiro/rescue/{self.name}/{name or f'{self.branch}/{old[:12]}'}"
        self._repo.commands.run("update-ref", "-m", "oneiro sync", name, old)
        return name

    def bases(self, one: str, other: str) -> list[str]:
        """The best common ancestors: none for unrelated histories, several after criss-cross
        merges."""
        status, out, _ = self._repo.commands.attempt("merge-base", "--all", one, other)
        return sorted(out.decode().split()) if status == 0 else []

    def deepen(self) -> None:
        """Fetch the beginning of the history. Raises Unreachable or GitProblem."""
        status, _, err = self._talk(
            "fetch", "--progress", "--no-tags", "--unshallow", self.name, stall=self._wait
        )
        if status:
            raise self._problem("fetch from", status, err)

    # -- sending

    def push(self, commit: str) -> bool:
        """Send our history up to `commit`; False when somebody else's arrived first. Raises
        Unreachable or GitProblem."""
        return self._pushed(f"{commit}:refs/heads/{self.branch}")

    def peek(self, ref: str, into: str) -> str:
        """What a ref of theirs points at, after fetching it into a ref of ours; "" when it is not
        there. Raises Unreachable or GitProblem."""
        for _ in range(_TRIES):
            status, _, err = self._talk(*_FETCH, self.name, f"+{ref}:{into}", stall=self._wait)
            if status and _ABSENT in err:
                return ""
            if not status:
                return self._repo.tip(into)
            if not _RACE.search(err):  # another process of ours may be looking at the same moment
                break
        raise self._problem("fetch from", status, err)

    def swap(self, ref: str, old: str, new: str) -> bool:
        """Move a ref of theirs from `old` ("": it must not be there) to `new`; False when it is
        elsewhere by now. Raises Unreachable, or GitProblem when they refuse such refs."""
        return self._pushed(f"{new}:{ref}", f"--force-with-lease={ref}:{old}")

    def _pushed(self, refspec: str, *options: str) -> bool:
        stall = self._wait * PUSH_PATIENCE
        status, out, err = self._talk(*_PUSH, *options, self.name, refspec, stall=stall)
        if status == 0:
            return True
        said = "\n".join(line for line in out.splitlines() if line.startswith("!"))
        if _RACE.search(said):
            return False
        raise self._problem("push to", status, f"{said}\n{err}")

    # -- talking

    def _talk(self, *arguments: str, stall: float) -> tuple[int, str, str]:
        found = self._repo.commands.attend(*arguments, stall=stall, limit=self._limit)
        lock = _LOCK.search(found[2]) if found[0] > 0 else None
        if lock is not None:
            place = Path(lock[1]) if lock[1] else self._repo.common_dir / f"{lock[2]}.lock"
            ours = place.resolve().is_relative_to(self._repo.common_dir.resolve())
            if ours and place.exists() and self._recovery.clear_lock(place):
                found = self._repo.commands.attend(*arguments, stall=stall, limit=self._limit)
        return found

    def _problem(self, doing: str, status: int, err: str) -> OneiroError:
        where = f"{self.name} ({self.url})"
        if status == STALLED:
            return Unreachable(
                f"{where} does not answer", kept=_SAFE, hint="Run `oneiro sync` again when it does."
            )
        text = (
            " ".join(line.strip() for line in clean(err).splitlines() if _tells(line))
            or f"exit status {status}"
        )
        if _OFFLINE.search(text) and not _DENIED.search(text):
            return Unreachable(
                f"{where} cannot be reached: {text}",
                kept=_SAFE,
                hint="Run `oneiro sync` again when it can.",
            )
        command = {"read": "ls-remote"}.get(doing.split()[0], doing.split()[0])
        hint = f"`git {command} {shlex.quote(self.url)}` says more, and may ask for a password."
        return GitProblem(f"git could not {doing} {where}: {text}", kept=_SAFE, hint=hint)


def _tells(line: str) -> bool:
    return bool(line.strip()) and not _PROGRESS.search(line)


def choose(repo: Repo, recovery: Recovery, name: str, wait: float, limit: float = LIMIT) -> Remote:
    """`name`, else the one the branch follows, else `origin`, else the only one there is.

    Raises NotFound when there is none, RepositoryBusy on a detached HEAD.
    """
    branch = repo.branch().removeprefix("refs/heads/")
    names = repo.remotes()
    follows = repo.config(f"branch.{branch}.remote")
    found = (
        name
        or (follows if follows in names else "")
        or ("origin" if "origin" in names else names[0] if len(names) == 1 else "")
    )
    if not found:
        several = (
            f": none of {', '.join(names)} is called origin or followed by this branch"
            if names
            else ""
        )
        add = "Add one: git remote add origin URL (any git host, or a bare repository on a disk)."
        hint = "Name one in the setting sync.remote." if names else add
        raise NotFound(
            f"this vault has no remote to sync with{several}",
            kept="Nothing was changed.",
            hint=hint,
        )
    if found not in names:
        raise InvalidInput(
            f"this vault has no remote called {found}",
            kept="Nothing was changed.",
            hint="`git remote -v` lists them.",
        )
    merges = (
        repo.config(f"branch.{branch}.merge").removeprefix("refs/heads/")
        if follows == found
        else ""
    )
    return Remote(repo, recovery, found, merges or branch, wait, limit)


@dataclass(frozen=True)
class LastSync:
    """`at`: when this clone was last at one with `remote` (epoch seconds, 0: never); `tried`: the
    last attempt; `problem`: why that failed, "" when it did not; `failures` in a row."""

    remote: str = ""
    at: float = 0.0
    tried: float = 0.0
    problem: str = ""
    failures: int = 0

    def done(self, remote: str, now: float) -> LastSync:
        """After a sync that succeeded."""
        return LastSync(remote, now, now)

    def failed(self, remote: str, now: float, problem: str) -> LastSync:
        """After one that did not."""
        return replace(
            self,
            remote=remote or self.remote,
            tried=now,
            problem=problem,
            failures=self.failures + 1,
        )


def last_sync(folder: Path) -> LastSync:
    """What is written in `<git dir>/oneiro/`; an unreadable file is none."""
    try:
        found = json.loads((folder / "sync.json").read_bytes())
        known = asdict(LastSync())
        return LastSync(
            **{name: type(known[name])(value) for name, value in found.items() if name in known}
        )
    except (OSError, ValueError, TypeError, AttributeError):
        return LastSync()


def note_sync(folder: Path, state: LastSync) -> None:
    """Put it there. Raises DiskProblem."""
    disk.note("Noting the sync", folder / "sync.json", json.dumps(asdict(state)))
