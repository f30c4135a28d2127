"""The operations with their types, written by `make golden` from `operations/table.py`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from oneiro_vault import answers

Progress = Callable[[str, int, int], None]
Call = Callable[[str, Mapping[str, Any], Progress | None], Any]
AsyncCall = Callable[[str, Mapping[str, Any], Progress | None], Awaitable[Any]]

def quiet(_stage: str, _done: int, _total: int) -> None: ...

class Operations:
    def remember(
        self,
        *,
        items: Sequence[Mapping[str, Any]],
        actor: str = "user",
        dedupe: bool | str | None = None,
        partial: bool = False,
        taken: Sequence[str] = (),
        near: bool = False,
        progress: Progress | None = None,
    ) -> answers.Remembered: ...
    def correct(
        self,
        *,
        text: str,
        id: str | None = None,
        valid_from: str | None = None,
        actor: str = "user",
        progress: Progress | None = None,
    ) -> answers.Corrected: ...
    def reframe(
        self,
        *,
        id: str,
        text: str,
        title: str | None = None,
        description: str | None = None,
        base: str | None = None,
        reason: str = "",
        actor: str = "user",
    ) -> answers.Reframed: ...
    def forget(self, *, id: str, reason: str = "", actor: str = "user") -> answers.Forgotten: ...
    def restore(self, *, id: str, actor: str = "user") -> answers.Restored: ...
    def undo(
        self,
        *,
        commit: str | None = None,
        run: str | None = None,
        source: str | None = None,
        actor: str = "user",
    ) -> answers.Undone: ...
    def adopt(
        self, *, paths: Sequence[str] = (), actor: str = "user", progress: Progress | None = None
    ) -> answers.Adopted: ...
    def browse(self, *, path: str = "") -> answers.Browsed: ...
    def move(self, *, id: str, path: str, actor: str = "user") -> answers.Moved: ...
    def reflect(
        self,
        *,
        highlights: str,
        updates: Sequence[Mapping[str, Any]] | None = None,
        actor: str = "model",
    ) -> answers.Reflected: ...
    def dream(
        self,
        *,
        loops: Sequence[str] = (),
        judge: str | None = None,
        dry_run: bool = False,
        review: bool = False,
        progress: Progress | None = None,
    ) -> answers.Dreamt: ...
    def dream_stop(self) -> answers.Answer: ...
    def dream_next(self) -> answers.NextQuestion: ...
    def dream_answers(
        self, *, answers: Mapping[str, Any] | str, progress: Progress | None = None
    ) -> answers.AnswersTaken: ...
    def scheduled(
        self, *, judge: str | None = None, progress: Progress | None = None
    ) -> answers.Dreamt: ...
    def schedule(self, *, begin: bool = False) -> answers.Schedule: ...
    def runs(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        loop: str | None = None,
        limit: int = 50,
        night: str | None = None,
        changes: bool = False,
    ) -> answers.Runs: ...
    def review(self) -> answers.Review: ...
    def review_accept(
        self, *, ids: Sequence[str], edited: Mapping[str, Any] | None = None, actor: str = "user"
    ) -> answers.Accepted: ...
    def review_reject(
        self, *, ids: Sequence[str], reason: str = "", actor: str = "user"
    ) -> answers.RejectedProposals: ...
    def capture(
        self,
        *,
        text: str,
        kind: str = "note",
        session: str | None = None,
        client: str | None = None,
        project: str | None = None,
        cwd: str | None = None,
        when: str | None = None,
        title: str | None = None,
        actor: str = "capture",
    ) -> answers.Captured: ...
    def import_(
        self,
        *,
        path: str,
        format: str | None = None,
        dry_run: bool = False,
        foreign: bool = False,
        project: str | None = None,
        progress: Progress | None = None,
    ) -> answers.Imported: ...
    def collect(self) -> answers.Collected: ...
    def graph(
        self,
        *,
        name: str,
        to: str | None = None,
        depth: int | None = None,
        relation: str | Sequence[str] = (),
        limit: int = 60,
        ever: bool = False,
        as_of: str | None = None,
        places: bool = False,
    ) -> answers.Graphed: ...
    def whole_graph(
        self,
        *,
        type: str | Sequence[str] = (),
        without: str | Sequence[str] = (),
        project: str | None = None,
        since: str | None = None,
        until: str | None = None,
        as_of: str | None = None,
        wait: float = 0.0,
    ) -> answers.WholeGraph: ...
    def levels(self, *, id: str, up: bool = False) -> answers.Levels: ...
    def context(
        self,
        *,
        prompt: str,
        tokens: int | None = None,
        project: str | None = None,
        fast: bool = False,
        trace: bool = False,
        with_model: bool = False,
        progress: Progress | None = None,
    ) -> answers.Assembled: ...
    def inject(
        self,
        *,
        prompt: str,
        tokens: int | None = None,
        session: str | None = None,
        known: Sequence[str] = (),
        project: str | None = None,
    ) -> answers.Injected: ...
    def orient(
        self,
        *,
        context: str | None = None,
        n: int = 15,
        project: str | None = None,
        limit: int = 8000,
        fast: bool = True,
        progress: Progress | None = None,
    ) -> answers.Oriented: ...
    def get(self, *, ids: Sequence[Any]) -> answers.Got: ...
    def feedback(
        self, *, id: str, useful: bool, reason: str = "", actor: str = "user"
    ) -> answers.Fedback: ...
    def consult(
        self,
        *,
        decision: str,
        context: str | None = None,
        concept: str | Sequence[str] = (),
        limit: int = 3,
        progress: Progress | None = None,
    ) -> answers.Consulted: ...
    def learn(
        self,
        *,
        text: str,
        title: str | None = None,
        concepts: Sequence[str] = (),
        about: Sequence[str] = (),
        actor: str = "user",
    ) -> answers.Remembered: ...
    def ponder(self, *, concept: str | None = None) -> answers.Pondered: ...
    def influence(self, *, ids: Sequence[str] = ()) -> answers.Influence: ...
    def flagged(self, *, limit: int = 20) -> answers.Flagged: ...
    def resolve(self, *, id: str, reason: str = "", actor: str = "user") -> answers.Resolved: ...
    def ratify(
        self, *, id: str, undo: bool = False, reason: str = "", actor: str = "user"
    ) -> answers.Ratified: ...
    def strength(self, *, id: str, days: int = 30) -> answers.Strength: ...
    def usage(self, *, id: str) -> answers.Usage: ...
    def versions(self, *, id: str, limit: int = 50) -> answers.Versions: ...
    def grounds(self, *, ids: Sequence[str]) -> answers.Grounds: ...
    def wake(self, *, project: str | None = None, as_of: str | None = None) -> answers.Woken: ...
    def follow(self, *, to: str, source: str | None = None) -> answers.Followed: ...
    def fading(
        self,
        *,
        days: int = 30,
        type: str | Sequence[str] = (),
        gone: bool = False,
        limit: int = 100,
        offset: int = 0,
        as_of: str | None = None,
        progress: Progress | None = None,
    ) -> answers.Fading: ...
    def timeline(
        self,
        *,
        within: str | None = None,
        type: str | Sequence[str] = (),
        limit: int = 50,
        offset: int = 0,
        as_of: str | None = None,
        progress: Progress | None = None,
    ) -> answers.Timeline: ...
    def image(
        self, *, id: str, size: str = "recall", sha256: str | None = None
    ) -> answers.Image: ...
    def stamps(self, *, ids: Sequence[str] = (), dates: Sequence[str] = ()) -> answers.Stamps: ...
    def complete(self, *, kind: str, prefix: str = "") -> answers.Completed: ...
    def reports(self, *, date: str) -> answers.Reports: ...
    def recall(
        self,
        *,
        query: str,
        k: int | None = None,
        type: str | Sequence[str] = (),
        tag: str | Sequence[str] = (),
        status: str | Sequence[str] = (),
        entity: str | None = None,
        project: str | None = None,
        since: str | None = None,
        until: str | None = None,
        as_of: str | None = None,
        valid_at: str | None = None,
        explain: bool = False,
        fast: bool = False,
        passive: bool = False,
        history: bool = False,
        noted: bool = True,
        progress: Progress | None = None,
    ) -> answers.Recalled: ...
    def show(
        self, *, id: str, why: bool = False, as_of: str | None = None, passive: bool = False
    ) -> answers.Shown: ...
    def list(
        self,
        *,
        type: str | Sequence[str] = (),
        tag: str | None = None,
        status: str | Sequence[str] = (),
        session: str | None = None,
        entity: str | None = None,
        since: str | None = None,
        until: str | None = None,
        level: int | None = None,
        limit: int = 50,
        project: str | None = None,
    ) -> answers.Listed: ...
    def log(self, *, id: str | None = None, limit: int = 20) -> answers.Log: ...
    def why(self, *, id: str) -> answers.Why: ...
    def blame(self, *, id: str) -> answers.Blame: ...
    def diff(self, *, before: str, after: str | None = None) -> answers.Diff: ...
    def export(
        self,
        *,
        format: str,
        target: str,
        type: str | Sequence[str] = (),
        tag: str | Sequence[str] = (),
        since: str | None = None,
        as_of: str | None = None,
        conversations: bool = True,
        archived: bool = False,
        progress: Progress | None = None,
    ) -> answers.Exported: ...
    def plots(self) -> answers.Plots: ...
    def stats(self) -> answers.Stats: ...
    def settings(self) -> answers.SettingsInForce: ...
    def status(self) -> answers.Status: ...
    def check(self, *, progress: Progress | None = None) -> answers.Checked: ...
    def mend(self, *, yes: bool = False) -> answers.Mended: ...
    def pr_summary(
        self, *, range: str, progress: Progress | None = None
    ) -> answers.PullRequest: ...
    def sync(
        self, *, dry_run: bool = False, yes: bool = False, progress: Progress | None = None
    ) -> answers.Synced: ...
    def doctor(
        self, *, fix: bool = False, cwd: str | None = None, progress: Progress | None = None
    ) -> answers.Diagnosis: ...
    def reindex(
        self, *, force: bool = False, missing: bool = False, progress: Progress | None = None
    ) -> answers.Reindexed: ...
    def watch(self, *, progress: Progress | None = None) -> answers.Answer: ...

class Calls(Operations):
    def __init__(self, call: Call) -> None: ...

class AsyncCalls:
    def __init__(self, call: AsyncCall) -> None: ...
    async def remember(
        self,
        *,
        items: Sequence[Mapping[str, Any]],
        actor: str = "user",
        dedupe: bool | str | None = None,
        partial: bool = False,
        taken: Sequence[str] = (),
        near: bool = False,
        progress: Progress | None = None,
    ) -> answers.Remembered: ...
    async def correct(
        self,
        *,
        text: str,
        id: str | None = None,
        valid_from: str | None = None,
        actor: str = "user",
        progress: Progress | None = None,
    ) -> answers.Corrected: ...
    async def reframe(
        self,
        *,
        id: str,
        text: str,
        title: str | None = None,
        description: str | None = None,
        base: str | None = None,
        reason: str = "",
        actor: str = "user",
    ) -> answers.Reframed: ...
    async def forget(
        self, *, id: str, reason: str = "", actor: str = "user"
    ) -> answers.Forgotten: ...
    async def restore(self, *, id: str, actor: str = "user") -> answers.Restored: ...
    async def undo(
        self,
        *,
        commit: str | None = None,
        run: str | None = None,
        source: str | None = None,
        actor: str = "user",
    ) -> answers.Undone: ...
    async def adopt(
        self, *, paths: Sequence[str] = (), actor: str = "user", progress: Progress | None = None
    ) -> answers.Adopted: ...
    async def browse(self, *, path: str = "") -> answers.Browsed: ...
    async def move(self, *, id: str, path: str, actor: str = "user") -> answers.Moved: ...
    async def reflect(
        self,
        *,
        highlights: str,
        updates: Sequence[Mapping[str, Any]] | None = None,
        actor: str = "model",
    ) -> answers.Reflected: ...
    async def dream(
        self,
        *,
        loops: Sequence[str] = (),
        judge: str | None = None,
        dry_run: bool = False,
        review: bool = False,
        progress: Progress | None = None,
    ) -> answers.Dreamt: ...
    async def dream_stop(self) -> answers.Answer: ...
    async def dream_next(self) -> answers.NextQuestion: ...
    async def dream_answers(
        self, *, answers: Mapping[str, Any] | str, progress: Progress | None = None
    ) -> answers.AnswersTaken: ...
    async def scheduled(
        self, *, judge: str | None = None, progress: Progress | None = None
    ) -> answers.Dreamt: ...
    async def schedule(self, *, begin: bool = False) -> answers.Schedule: ...
    async def runs(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        loop: str | None = None,
        limit: int = 50,
        night: str | None = None,
        changes: bool = False,
    ) -> answers.Runs: ...
    async def review(self) -> answers.Review: ...
    async def review_accept(
        self, *, ids: Sequence[str], edited: Mapping[str, Any] | None = None, actor: str = "user"
    ) -> answers.Accepted: ...
    async def review_reject(
        self, *, ids: Sequence[str], reason: str = "", actor: str = "user"
    ) -> answers.RejectedProposals: ...
    async def capture(
        self,
        *,
        text: str,
        kind: str = "note",
        session: str | None = None,
        client: str | None = None,
        project: str | None = None,
        cwd: str | None = None,
        when: str | None = None,
        title: str | None = None,
        actor: str = "capture",
    ) -> answers.Captured: ...
    async def import_(
        self,
        *,
        path: str,
        format: str | None = None,
        dry_run: bool = False,
        foreign: bool = False,
        project: str | None = None,
        progress: Progress | None = None,
    ) -> answers.Imported: ...
    async def collect(self) -> answers.Collected: ...
    async def graph(
        self,
        *,
        name: str,
        to: str | None = None,
        depth: int | None = None,
        relation: str | Sequence[str] = (),
        limit: int = 60,
        ever: bool = False,
        as_of: str | None = None,
        places: bool = False,
    ) -> answers.Graphed: ...
    async def whole_graph(
        self,
        *,
        type: str | Sequence[str] = (),
        without: str | Sequence[str] = (),
        project: str | None = None,
        since: str | None = None,
        until: str | None = None,
        as_of: str | None = None,
        wait: float = 0.0,
    ) -> answers.WholeGraph: ...
    async def levels(self, *, id: str, up: bool = False) -> answers.Levels: ...
    async def context(
        self,
        *,
        prompt: str,
        tokens: int | None = None,
        project: str | None = None,
        fast: bool = False,
        trace: bool = False,
        with_model: bool = False,
        progress: Progress | None = None,
    ) -> answers.Assembled: ...
    async def inject(
        self,
        *,
        prompt: str,
        tokens: int | None = None,
        session: str | None = None,
        known: Sequence[str] = (),
        project: str | None = None,
    ) -> answers.Injected: ...
    async def orient(
        self,
        *,
        context: str | None = None,
        n: int = 15,
        project: str | None = None,
        limit: int = 8000,
        fast: bool = True,
        progress: Progress | None = None,
    ) -> answers.Oriented: ...
    async def get(self, *, ids: Sequence[Any]) -> answers.Got: ...
    async def feedback(
        self, *, id: str, useful: bool, reason: str = "", actor: str = "user"
    ) -> answers.Fedback: ...
    async def consult(
        self,
        *,
        decision: str,
        context: str | None = None,
        concept: str | Sequence[str] = (),
        limit: int = 3,
        progress: Progress | None = None,
    ) -> answers.Consulted: ...
    async def learn(
        self,
        *,
        text: str,
        title: str | None = None,
        concepts: Sequence[str] = (),
        about: Sequence[str] = (),
        actor: str = "user",
    ) -> answers.Remembered: ...
    async def ponder(self, *, concept: str | None = None) -> answers.Pondered: ...
    async def influence(self, *, ids: Sequence[str] = ()) -> answers.Influence: ...
    async def flagged(self, *, limit: int = 20) -> answers.Flagged: ...
    async def resolve(
        self, *, id: str, reason: str = "", actor: str = "user"
    ) -> answers.Resolved: ...
    async def ratify(
        self, *, id: str, undo: bool = False, reason: str = "", actor: str = "user"
    ) -> answers.Ratified: ...
    async def strength(self, *, id: str, days: int = 30) -> answers.Strength: ...
    async def usage(self, *, id: str) -> answers.Usage: ...
    async def versions(self, *, id: str, limit: int = 50) -> answers.Versions: ...
    async def grounds(self, *, ids: Sequence[str]) -> answers.Grounds: ...
    async def wake(
        self, *, project: str | None = None, as_of: str | None = None
    ) -> answers.Woken: ...
    async def follow(self, *, to: str, source: str | None = None) -> answers.Followed: ...
    async def fading(
        self,
        *,
        days: int = 30,
        type: str | Sequence[str] = (),
        gone: bool = False,
        limit: int = 100,
        offset: int = 0,
        as_of: str | None = None,
        progress: Progress | None = None,
    ) -> answers.Fading: ...
    async def timeline(
        self,
        *,
        within: str | None = None,
        type: str | Sequence[str] = (),
        limit: int = 50,
        offset: int = 0,
        as_of: str | None = None,
        progress: Progress | None = None,
    ) -> answers.Timeline: ...
    async def image(
        self, *, id: str, size: str = "recall", sha256: str | None = None
    ) -> answers.Image: ...
    async def stamps(
        self, *, ids: Sequence[str] = (), dates: Sequence[str] = ()
    ) -> answers.Stamps: ...
    async def complete(self, *, kind: str, prefix: str = "") -> answers.Completed: ...
    async def reports(self, *, date: str) -> answers.Reports: ...
    async def recall(
        self,
        *,
        query: str,
        k: int | None = None,
        type: str | Sequence[str] = (),
        tag: str | Sequence[str] = (),
        status: str | Sequence[str] = (),
        entity: str | None = None,
        project: str | None = None,
        since: str | None = None,
        until: str | None = None,
        as_of: str | None = None,
        valid_at: str | None = None,
        explain: bool = False,
        fast: bool = False,
        passive: bool = False,
        history: bool = False,
        noted: bool = True,
        progress: Progress | None = None,
    ) -> answers.Recalled: ...
    async def show(
        self, *, id: str, why: bool = False, as_of: str | None = None, passive: bool = False
    ) -> answers.Shown: ...
    async def list(
        self,
        *,
        type: str | Sequence[str] = (),
        tag: str | None = None,
        status: str | Sequence[str] = (),
        session: str | None = None,
        entity: str | None = None,
        since: str | None = None,
        until: str | None = None,
        level: int | None = None,
        limit: int = 50,
        project: str | None = None,
    ) -> answers.Listed: ...
    async def log(self, *, id: str | None = None, limit: int = 20) -> answers.Log: ...
    async def why(self, *, id: str) -> answers.Why: ...
    async def blame(self, *, id: str) -> answers.Blame: ...
    async def diff(self, *, before: str, after: str | None = None) -> answers.Diff: ...
    async def export(
        self,
        *,
        format: str,
        target: str,
        type: str | Sequence[str] = (),
        tag: str | Sequence[str] = (),
        since: str | None = None,
        as_of: str | None = None,
        conversations: bool = True,
        archived: bool = False,
        progress: Progress | None = None,
    ) -> answers.Exported: ...
    async def plots(self) -> answers.Plots: ...
    async def stats(self) -> answers.Stats: ...
    async def settings(self) -> answers.SettingsInForce: ...
    async def status(self) -> answers.Status: ...
    async def check(self, *, progress: Progress | None = None) -> answers.Checked: ...
    async def mend(self, *, yes: bool = False) -> answers.Mended: ...
    async def pr_summary(
        self, *, range: str, progress: Progress | None = None
    ) -> answers.PullRequest: ...
    async def sync(
        self, *, dry_run: bool = False, yes: bool = False, progress: Progress | None = None
    ) -> answers.Synced: ...
    async def doctor(
        self, *, fix: bool = False, cwd: str | None = None, progress: Progress | None = None
    ) -> answers.Diagnosis: ...
    async def reindex(
        self, *, force: bool = False, missing: bool = False, progress: Progress | None = None
    ) -> answers.Reindexed: ...
    async def watch(self, *, progress: Progress | None = None) -> answers.Answer: ...
