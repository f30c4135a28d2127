"""The only wiring: settings become a vault, an index, an embedder and the operations over them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from oneiro_vault import answers
from oneiro_vault.api import Operations, Progress, quiet
from oneiro_vault.errors import DiskProblem, InvalidInput, OneiroError, SettingsError, shown
from oneiro_vault.http.auth.authenticator import Access, Rules, folder_of
from oneiro_vault.index.base import Embedder, Refreshed
from oneiro_vault.index.embed.embedders import HashEmbedder, WorkerEmbedder
from oneiro_vault.index.store import Index
from oneiro_vault.operations import table
from oneiro_vault.operations.background import Background
from oneiro_vault.operations.read import orient
from oneiro_vault.operations.remember import store_captures
from oneiro_vault.operations.runtime import House
from oneiro_vault.settings import locations
from oneiro_vault.settings.definitions import Settings, accepted, keep_agreed, load, machine_file
from oneiro_vault.vault import layout
from oneiro_vault.vault.git import commands
from oneiro_vault.vault.secrets.secret_scan import Secrets
from oneiro_vault.vault.vault import Vault

if TYPE_CHECKING:
    from oneiro_vault.operations.care.purge import Purge
    from oneiro_vault.operations.exchange.export_target import Target
    from oneiro_vault.recall.graph_layout import Pairs, Points
from oneiro_vault.operations.table import OPS, Op

OTHER_SETTINGS: Final = "the owner that answers was started with other settings"
UNFINISHED: Final = (
    "A purge was begun and is not finished; until a person finishes it (`oneiro purge --resume`) "
    "nothing is written."
)
SMALL_INDEX: Final = 1_000_000
"""Bytes of `.git/index` (about 8,000 files) up to which an owner rewrites it with every commit, so
that a person's `git commit` never meets one that lags; a larger one follows within a second."""


class App(Operations):
    """An open vault: every operation is a method, and `call` takes one by name from a wire. It may
    be used from several threads."""

    def __init__(self, house: House) -> None:
        self.house = house
        self._background: Background | None = None
        self._writes: list[Callable[[], None]] = []

    @classmethod
    def open(
        cls,
        root: Path,
        settings: Settings,
        *,
        owner: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> App:
        """Open the vault at `root` (repairing what a crash left); only for the holder of the owner
        lock. Raises VaultNotFound, GitProblem, DiskProblem."""
        vault = Vault.open(
            root,
            clock=clock,
            quiet=settings["edits.quiet"],
            wait=settings["git.wait"],
            reserve=settings["disk.reserve"],
            lazy_index=owner,
            small_index=SMALL_INDEX,
            secrets=_secrets(settings),
        )
        _keep(root, settings)
        embedder = make_embedder(settings)
        folder = Path(locations.index_dir(str(root), settings["index.dir"]))
        try:
            index = Index.open(
                folder,
                vault.files,
                embedder,
                former=former_embedder,
                past=vault.past,
                screen=vault.erased,
                veil=vault.secrets.cleaned,
                indexed_bytes=settings["notes.indexed_bytes"],
                brake=settings["notes.brake"],
            )
        except OSError as error:
            raise DiskProblem(
                f"the index folder {folder} cannot be used: {error.strerror}",
                kept="The notes are untouched.",
                hint="Make it writable, or choose another with the setting index.dir.",
            ) from error
        house = House(root, settings, vault, index, embedder, owner=owner, clock=clock)
        house.indexing.refreshed.append(_publisher(house))
        if not owner and store_captures.left(house):
            # they stay where they are, and the next command tries again
            with suppress(OneiroError):
                store_captures.collect(house)
        return cls(house)

    def call(
        self,
        op: str,
        params: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        env: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Run one operation. Raises OneiroError for anything a caller did or met. `env`: the
        environment of a caller in another process; what cannot be followed of it, and wrong
        settings files, are said in `notices`."""
        found = OPS.get(op)
        if found is None:
            raise InvalidInput(
                f"there is no operation {shown(op)}", hint=f"One of: {', '.join(sorted(OPS))}."
            )
        given = dict(params or {})
        unknown = given.keys() - found.parameters.keys()
        missing = [
            n for n, p in found.parameters.items() if p.default is p.empty and n not in given
        ]
        if unknown or missing:
            raise InvalidInput(
                f"{op}: "
                + "; ".join(
                    [f"unknown {shown(n)}" for n in sorted(unknown)]
                    + [f"{n!r} is needed" for n in missing]
                )
            )
        table.check_arguments(op, found.run, given)
        looks = found.looks(given)
        if found.reports:
            given["progress"] = progress or quiet
        try:
            return self._for_caller(found, given, env)
        finally:
            # a page that looks anew whenever it hears would never come to rest
            for heard in () if looks else list(self._writes):
                heard()

    def _for_caller(
        self, found: Op, given: Mapping[str, Any], env: Mapping[str, str] | None
    ) -> dict[str, Any]:
        if env is None:
            return dict(self._run(found, given))
        commands.offer(env.get("PATH", ""))
        with self.house.settings.on_behalf(env) as unmet:
            answer = self._run(found, given)
        if unmet:
            text = (
                f"{OTHER_SETTINGS} ({', '.join(unmet)}); `oneiro stop`, and the next command uses "
                f"these"
            )
            answer = _noticed(answer, text)
        return dict(answer)

    def _run(self, op: Op, given: Mapping[str, Any]) -> answers.Answer:
        wrong = self.house.settings.wrong
        ours = [error for error in wrong if error.of_machine]
        if wrong and (ours or not op.brings) and not (op.reads_only or op.upkeep):
            raise (ours or wrong)[0]
        answer = self._braked(op, op.call(self.house, given))
        wrong = load(self.house.root, strict=False).wrong if wrong and op.brings else wrong
        if not wrong or op.upkeep:
            return answer
        text = (
            f"{wrong[0]}. {wrong[0].hint} Until then the setting is what it was before, and "
            f"changes are refused."
        )
        if answer.get("degraded", "") is None:
            answer["degraded"] = text
        return _noticed(answer, text)

    def _braked(self, op: Op, answer: answers.Answer) -> answers.Answer:
        brake = self.house.indexing.braked
        if not op.reads_only:
            return answer
        reason = "; ".join(filter(None, (brake, answer.get("degraded")))) or None
        answer["degraded"] = reason
        answer = _noticed(answer, UNFINISHED) if self.house.vault.purging else answer
        return _noticed(answer, brake) if brake else answer

    def misset(self, wrong: Sequence[SettingsError]) -> None:
        """Owner only: the settings files say this now, which cannot be; what was in force stays."""
        self.house.settings.wrong = tuple(wrong)

    def reread(self) -> Settings:
        """Owner only: what the settings files say now."""
        found = load(self.house.root, strict=False)
        _keep(self.house.root, found)
        return found

    def start(self) -> None:
        """Owner only: watch the disk, embed, commit a person's resting edits, compare everything
        once a minute."""
        self._background = Background(self.house)
        self._background.start()

    def doing(self) -> tuple[str, int, int]:
        """What indexing is at that calls may have to wait for: stage, done, total."""
        return self.house.indexing.doing

    def busy(self) -> bool:
        """Is background work under way?"""
        return self._background is not None and self._background.busy()

    def sample_with(self, sample: Callable[[str, str, int], str | None]) -> None:
        """Owner only: the way to the models of connected clients, for the judge `sampling`."""
        self.house.dreams.sample = sample

    def listen(self, heard: Callable[[], None], *, writes: bool = False) -> Callable[[], None]:
        """Call `heard`, on whichever thread it happens, after every refresh that changed something,
        with `writes` also after every operation that may have; returns how to end it."""

        def follow(done: Refreshed) -> None:
            if done.added or done.modified or done.removed:
                heard()

        def end() -> None:
            self.house.indexing.refreshed.remove(follow)
            if writes:
                self._writes.remove(heard)

        self.house.indexing.refreshed.append(follow)
        if writes:
            self._writes.append(heard)
        return end

    def close(self) -> bool:
        """Stop background work, flush what is owed to git's index, close the indexes. False: git's
        index still lacks what was written."""
        if self._background is not None:
            self._background.stop()
        if not self.house.indexing.owner:
            # resting edits are a courtesy: `doctor` says what is in their way
            with suppress(OneiroError):
                self.house.commit_edits()
        settled = self.house.vault.close()
        self.house.index.close()
        self.house.vectors.embedder.close()
        return settled

    def __enter__(self) -> App:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _noticed(answer: answers.Answer, text: str) -> answers.Answer:
    return {**answer, "notices": [*answer.get("notices", []), text]}


def _publisher(house: House) -> Callable[[Refreshed], None]:
    """What is called after every refresh: publishes at the first one and whenever a note of a
    published kind was touched."""
    known: dict[orient.Published, set[str]] = {}

    def after(done: Refreshed) -> None:
        changed = {*done.added, *done.modified}
        touched = {*changed, *done.removed, *done.unreadable}
        row_of = cache(house.index.by_path)  # at the first one, of every note, nobody asks
        for one in orient.PUBLISHED:
            new = one not in known or not touched.isdisjoint(known[one])
            if new or any((row := row_of(path)) and one.concerns(row) for path in changed):
                # nothing new to find: hooks read the notes themselves then
                with suppress(OSError, OneiroError):
                    known[one] = one.publish(house)

    return after


def _keep(root: Path, settings: Settings) -> None:
    """What became stricter is kept from now on."""
    if settings.agreed:
        with suppress(OSError):  # a disk that is full or read-only: it is asked again next time
            keep_agreed(root, settings.agreed)


def _secrets(settings: Settings) -> Secrets:
    return Secrets(settings["secrets.mode"], settings["secrets.allowed"].split())


def make_embedder(settings: Settings) -> Embedder:
    """The embedder the machine's settings name."""
    model = settings["embed.model"]
    if model == "hash":
        return HashEmbedder()
    return WorkerEmbedder(model, idle=settings["embed.idle"])


def former_embedder(name: str) -> Embedder | None:
    """The embedder whose vectors are called `name`, so that they answer while another model's are
    computed; None if it is not ours."""
    for found in (HashEmbedder(), WorkerEmbedder("default")):
        if found.name == name:
            return found
    return None


def export_target(path: str, form: str, vault: Path) -> AbstractContextManager[Target]:
    """Where a face writes an export of its own making, whole or not at all. Raises as `export`
    does."""
    from oneiro_vault.operations.exchange.export_target import opened

    return opened(path, form, vault)


def graph_places(count: int, edges: Pairs) -> Points:
    """Where a picture of a graph has its nodes."""
    from oneiro_vault.recall.graph_layout import places

    return places(count, edges)


def init_vault(
    path: Path, here: bool = False, progress: Progress = quiet, workflows: bool = False
) -> Mapping[str, Any]:
    """Make a vault of a new folder, or (`here`) of a folder of notes; rewrites nothing that is
    there. `workflows`: for GitHub too."""
    secrets = _secrets(load(path, strict=False))
    if here:
        made = layout.create_here(path, progress, secrets=secrets, workflows=workflows)
    else:
        made = layout.create(path, progress, secrets=secrets)
    return {
        "schema": 1,
        "vault": str(made.root),
        "commit": made.commit or None,
        "created": list(made.added),
        "notes": sum(1 for name in made.adopted if name.lower().endswith(".md")),
        "skipped": [
            {"path": entry.path, "reason": entry.reason, "waits": entry.waits}
            for entry in made.skipped
        ],
        "outer": str(made.outer) if made.outer else None,
    }


def clone_vault(
    url: str, path: Path, settings: Settings, progress: Progress = quiet
) -> Mapping[str, Any]:
    """A vault's copy in a new folder: nothing of it is run, none of its links is put on the
    disk."""
    from oneiro_vault.sync import clone

    made = clone.clone(url, path, settings["sync.wait"], progress)
    return {
        "schema": 1,
        "vault": str(made.root),
        "url": made.url,
        "branch": made.branch,
        "notes": made.notes,
        "is_vault": made.is_vault,
    }


def plan_purge(app: App, ids: Sequence[str], matching: str) -> Purge:
    """What a purge would do; its `run` does it. Only for whoever has asked a person: no operation
    by name leads here."""
    from oneiro_vault.operations.care import purge

    return purge.look(app.house, ids, matching)


def resume_purge(app: App, progress: Progress = quiet) -> answers.Purged:
    """Finish a purge that was interrupted; returns its receipt."""
    from oneiro_vault.operations.care import purge

    return purge.resume(app.house, progress)


def trust(root: Path, env: Mapping[str, str], ask: Callable[[Sequence[str]], bool]) -> list[str]:
    """What `oneiro.toml` makes looser than it is in force here; `ask` shows it to a person, who
    agrees to all of it or not. No operation by name leads here. Raises SettingsError,
    DiskProblem."""
    settings = load(root, env)
    found = [one.text for one in settings.loosened]
    if found and ask(found):
        try:
            keep_agreed(root, accepted(settings.agreed, settings.loosened))
        except OSError as error:
            raise DiskProblem(
                f"the answer cannot be kept: {error.strerror}",
                kept="The settings are as they were.",
            ) from error
        return []
    return found


def setup_client(
    name: str,
    vault: Path | None,
    env: Mapping[str, str],
    *,
    judge: str | None = None,
    capture: Path | None = None,
    offer: Path | None = None,
    ask: Callable[[str], bool] | None = None,
    dry_run: bool = False,
) -> Mapping[str, Any]:
    """Make a client use the vault, or (None) no longer any: into and out of its own settings files,
    with a real round trip after.

    `judge`: a program on this machine, "" the one that is found, "no" for the connected model; None
    leaves it as it is. Conversations below the folder `capture` are captured from now on. What is
    left open is asked with `ask`: the judge that was found, and captures below `offer`. Raises
    InvalidInput.
    """
    from oneiro_vault.capture import markers
    from oneiro_vault.clients import installing, known_clients
    from oneiro_vault.operations.dream import choose_judge

    here, listed = known_clients.Machine.here(env), machine_file(env).with_name("setup.json")
    if vault is None:
        return installing.remove(name, here, listed, marker=markers.ALLOW, dry_run=dry_run)
    client, settings = installing.find(name), load(vault, env, strict=False)
    if capture is not None and not capture.is_dir():
        hint = "Make it first, or name another."
        raise InvalidInput(
            f"there is no folder {shown(capture)}", kept="Nothing was written.", hint=hint
        )
    if (
        ask is not None
        and judge is None
        and (question := choose_judge.offer(client.judge, settings, env))
    ):
        judge = "" if ask(question) else "no"
    if judge is None and choose_judge.waits(settings, env):
        judge = "no"
    can_capture = "capture" in client.hooks
    if ask is not None and can_capture and offer is not None and not markers.find(str(offer)).path:
        capture = offer if ask(f"Capture the conversations held below {offer}?") else None
    values = choose_judge.to_set(judge, client.judge, env)
    found = installing.install(
        name,
        here,
        known_clients.Ours(_program(), str(vault)),
        listed,
        values=values,
        marker=capture and capture / markers.ALLOW,
        dry_run=dry_run,
    )
    chosen = choose_judge.choice(load(vault, env, strict=False), env)
    return {**found, "judge": chosen.data()}


def find_clients(env: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    """The clients that this machine has: name, title, where it was found, is it set up."""
    from oneiro_vault.clients import installing, known_clients

    return installing.found(known_clients.Machine.here(env))


def system_timer(
    root: Path, times: Sequence[str], env: Mapping[str, str], action: str, kind: str | None = None
) -> answers.Timer:
    """`show`, `install` or `remove` what lets this machine's own timer start the loops of a vault
    at these local times."""
    from oneiro_vault.operations.dream import system_timers

    timer = system_timers.Timer(root, _program(), tuple(times), env)
    act = {
        "show": system_timers.shown,
        "install": system_timers.install,
        "remove": system_timers.remove,
    }[action]
    return act(timer, kind or system_timers.kind_here(env))


def _program() -> tuple[str, ...]:
    from oneiro_vault.vault.git.merge_driver import own_program

    return own_program(sys.argv[0], sys.executable)


def open_access(root: Path, settings: Settings, env: Mapping[str, str] | None = None) -> Access:
    """Who may reach a vault over a network, whether the vault is open or not. Raises
    DiskProblem."""
    rules = Rules(
        reads=settings["access.reads"],
        writes=settings["access.writes"],
        access_seconds=settings["access.token_seconds"],
        redirects=frozenset(settings["access.redirects"].split()),
        documents=settings["access.documents"],
    )
    return Access(folder_of(root, machine_file(env).parent), rules)


def open_vault(path: str | os.PathLike[str], **overrides: bool | int | float | str) -> App:
    """The Python API: an open vault in this process. Keyword arguments are settings with `_` for
    `.`.

    >>> with open_vault("my-vault") as vault:
    ...     vault.remember(items=[{"text": "The release is on Friday."}])
    ...     vault.recall(query="when do we ship?")
    """
    root = Path(path).expanduser().resolve()
    env = dict(os.environ) | {
        "ONEIRO_" + name.upper(): str(value) for name, value in overrides.items()
    }
    return App.open(root, load(root, env, strict=False))


__all__ = [
    "OPS",
    "Access",
    "App",
    "OneiroError",
    "Op",
    "init_vault",
    "make_embedder",
    "open_access",
    "open_vault",
]
