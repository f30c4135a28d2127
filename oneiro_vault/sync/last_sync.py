"""When this clone was last at one with its remote, and why not since: what `status` says about it,
and what a back-off goes by."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from oneiro_vault.vault.write import disk


@dataclass(frozen=True)
class State:
    """`at`: when we were last at one (epoch seconds, 0: never); `tried`: the last attempt;
    `problem`: why that failed, "" when it did not; `offline`: because the remote was out of reach;
    `failures` in a row.
    """

    remote: str = ""
    at: float = 0.0
    tried: float = 0.0
    problem: str = ""
    offline: bool = False
    failures: int = 0

    def done(self, remote: str, now: float) -> State:
        """After a sync that succeeded."""
        return State(remote, now, now)

    def failed(self, remote: str, now: float, problem: str, offline: bool) -> State:
        """After one that did not."""
        return replace(
            self,
            remote=remote or self.remote,
            tried=now,
            problem=problem,
            offline=offline,
            failures=self.failures + 1,
        )


def read(folder: Path) -> State:
    """What is written in `<git dir>/oneiro/`; an unreadable file is none."""
    try:
        found = json.loads((folder / "sync.json").read_bytes())
        known = asdict(State())
        return State(
            **{name: type(known[name])(value) for name, value in found.items() if name in known}
        )
    except (OSError, ValueError, TypeError, AttributeError):
        return State()


def write(folder: Path, state: State) -> None:
    """Put it there. Raises DiskProblem."""
    disk.note("Noting the sync", folder / "sync.json", json.dumps(asdict(state)))
