"""Everything that decides about a caller of one vault: who it is, what it may do, how often, and
what is written down (who did what to which memories; never a word of a memory, a question or a
secret)."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from oneiro_vault.core.principal import WRITE, Caller
from oneiro_vault.core.time.date_ranges import local
from oneiro_vault.errors import InvalidInput, NotFound, OneiroError
from oneiro_vault.http.auth.access_tokens import (
    Grants,
    Key,
    Keys,
    Seal,
    Terms,
    check_password,
    hash_password,
)
from oneiro_vault.http.auth.json_store import Store, private_folder
from oneiro_vault.http.auth.oauth_server import Authorization, Clients

SHORTEST: Final = 10
LONGEST: Final = 1000
TRIES: Final = 5
"""Attempts from one address in TRY_SECONDS; from everywhere together six times as many."""
TRY_SECONDS: Final = 300.0
_KEPT: Final = "Nothing was changed."


class Buckets:
    """How often somebody may do something: `size` permits at once, all of them back after
    `seconds`; 0 means no limit. Thread-safe. Beyond `most` names the one idle longest is forgotten:
    nobody fills the memory with invented ones."""

    def __init__(
        self,
        size: float,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        most: int = 10_000,
    ) -> None:
        self._size, self._rate, self._clock, self._most = size, size / seconds, clock, most
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def spend(self, name: str, cost: float = 1.0) -> float:
        """0.0 when `cost` permits (at most all) were there and are taken, else the seconds until
        they will be."""
        if self._size <= 0:
            return 0.0
        cost = min(cost, self._size)
        with self._lock:
            now = self._clock()
            left, since = self._left.pop(name, (self._size, now))
            left = min(self._size, left + (now - since) * self._rate)
            enough = left >= cost
            self._left[name] = (left - cost if enough else left, now)
            if len(self._left) > self._most:
                self._left.popitem(last=False)
            return 0.0 if enough else (cost - left) / self._rate

    def give_back(self, name: str) -> None:
        """All permits of this name are there again."""
        with self._lock:
            self._left.pop(name, None)

    def refund(self, name: str) -> None:
        """What was spent a moment ago counts no more."""
        with self._lock:
            if name in self._left:
                left, since = self._left[name]
                self._left[name] = (min(self._size, left + 1.0), since)


class Login:
    """The password that lets a person approve programs. Checking takes a third of a second of one
    core, so only one is checked at a time."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._near = Buckets(TRIES, TRY_SECONDS, clock)
        self._far = Buckets(6 * TRIES, TRY_SECONDS, clock)
        self._one = threading.Lock()

    @property
    def exists(self) -> bool:
        """Was a password set?"""
        return "hash" in self._store.read()

    @property
    def mark(self) -> str:
        """Another one once another password was set; "" without one."""
        return str(self._store.read().get("hash", ""))

    def set(self, password: str) -> None:
        """From now on this is the password. Raises InvalidInput."""
        if not SHORTEST <= len(password) <= LONGEST:
            raise InvalidInput(
                f"the password must have {SHORTEST} to {LONGEST} characters",
                kept=_KEPT,
                hint="A sentence is easy to keep.",
            )
        with self._store.change() as known:
            known |= hash_password(password)

    def remove(self) -> bool:
        """Nobody can log in any more; False when nobody could."""
        with self._store.change() as known:
            existed = bool(known)
            known.clear()
        return existed

    def wait(self, address: str) -> float:
        """Take one attempt for somebody at this address: 0.0, or the seconds until the next is
        free."""
        return self._near.spend(address) or self._far.spend("all")

    def check(self, password: str, address: str) -> bool:
        """Is this the password? Never without `wait` before; who knows it gets all attempts
        back."""
        stored = self._store.read()
        if "hash" not in stored or len(password) > LONGEST:
            return False
        with self._one:
            right = check_password(password, stored)
        if right:
            self._near.give_back(address)
            self._far.refund("all")
        return right


log = logging.getLogger("oneiro.access")
KEPT: Final = 3
"""Old logs that are kept, `audit.jsonl.1` the newest of them."""
MOST_IDS: Final = 20
_ID: Final = re.compile(r"[0-9a-hjkmnp-tv-z]{4,12}")
"""An id or the beginning of one; its letters make few words."""
_NAMES: Final = frozenset({"id", "ids"})
_BRANCHES: Final = frozenset({"results", "updates", "updated", "memories", "recent", "questions"})


class Audit:
    """Appends to `path`; when it is larger than `limit` bytes it becomes `.1` and a new one
    begins."""

    def __init__(
        self, path: Path, limit: int = 1_000_000, clock: Callable[[], float] = time.time
    ) -> None:
        self._path, self._limit, self._clock = path, limit, clock
        self._lock = threading.Lock()

    def write(
        self, who: str, op: str, status: int | str, *, about: Iterable[Any] = (), **more: str | int
    ) -> None:
        """One line; of a request and its answer (`about`) only ids. It never fails what it
        reports."""
        when = local(self._clock()).isoformat(timespec="milliseconds")
        entry = {
            "t": when,
            "who": who,
            "op": op,
            "status": status,
            "ids": ids_in(list(about)),
            **more,
        }
        try:
            with self._lock:
                self._rotate()
                number = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                try:
                    os.write(number, json.dumps(entry, ensure_ascii=True).encode() + b"\n")
                finally:
                    os.close(number)
        except OSError as error:
            log.warning("the audit log %s cannot be written: %s", self._path, error.strerror)

    def _rotate(self) -> None:
        try:
            if self._path.stat().st_size < self._limit:
                return
        except FileNotFoundError:
            return
        for number in range(KEPT, 0, -1):
            older = (
                self._path.with_name(f"{self._path.name}.{number - 1}")
                if number > 1
                else self._path
            )
            if older.exists():
                older.replace(self._path.with_name(f"{self._path.name}.{number}"))


def ids_in(message: Any, depth: int = 4) -> list[str]:
    """Memory ids in the arguments or the result of an operation, looked for only where ids
    stand."""
    found: list[str] = []
    if depth and isinstance(message, dict):
        for name, value in message.items():
            if name in _NAMES:
                named = value if isinstance(value, list) else [value]
                found += [one for one in named if isinstance(one, str) and _ID.fullmatch(one)]
            elif name in _BRANCHES:
                found += ids_in(value, depth - 1)
    elif depth and isinstance(message, list):
        for entry in message[:MOST_IDS]:
            found += ids_in(entry, depth - 1)
    return list(dict.fromkeys(found))[:MOST_IDS]


PAGE_SECONDS: Final = 600.0
"""Seconds a person may look at a consent page."""
FLUSH: Final = 10.0
"""Seconds between two notes on the disk of when keys were last used."""
_MOST_USED: Final = 1000
KNOCKS: Final = {
    "register": (20, 100, 3600.0),
    "login": (60, 600, 60.0),
    "token": (120, 1200, 60.0),
    "refused": (60, 600, 60.0),
}
"""What strangers may do: so often from one address, so often from everywhere, in so many
seconds."""
REFRESH_SECONDS: Final = 30 * 86_400.0
"""How long a program that is not used may come back without a login."""
_ACTORS: Final = {"hook": "capture"}
"""What a caller's writes are signed with; everybody else speaks for a model. Nobody who comes over
a network is the user."""


@dataclass(frozen=True)
class Rules:
    """What the machine's settings say of callers: per key and minute `reads` and `writes` (0: no
    limit), seconds tokens are good, the operator's redirects, whether documents name programs."""

    reads: float = 600
    writes: float = 120
    access_seconds: float = 3600.0
    redirects: frozenset[str] = frozenset()
    documents: bool = True


@dataclass
class Access:
    """The state of one vault's door, in `folder` of this machine."""

    folder: Path
    rules: Rules = field(default_factory=Rules)
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        private_folder(self.folder)
        from oneiro_vault.http.auth.client_documents import Documents  # which needs our Buckets

        rules = self.rules
        clients = Clients(self._store("clients"), rules.redirects, self.clock)
        documents = Documents(rules.redirects) if rules.documents else None
        self.keys = Keys(self._store("keys"), self.clock)
        self.login = Login(self._store("login"))
        self.grants = Grants(
            self._store("grants"), rules.access_seconds, REFRESH_SECONDS, self.clock
        )
        self.audit = Audit(self.folder / "audit.jsonl", clock=self.clock)
        self.oauth = Authorization(clients, documents, self.grants)
        self._reads, self._writes = Buckets(rules.reads, 60), Buckets(rules.writes, 60)
        self._knocks = {
            kind: (Buckets(near, span), Buckets(far, span))
            for kind, (near, far, span) in KNOCKS.items()
        }
        self.pages = Seal(PAGE_SECONDS, self.clock)
        self._used, self._flushed = self._store("used"), 0.0
        self._fresh: dict[str, float] = {}

    def _store(self, name: str) -> Store:
        return Store(self.folder / f"{name}.json")

    def identify(self, token: str, resources: Iterable[str]) -> Caller | None:
        """Who holds this token, if it is good now and meant for one of these resources. Raises
        DiskProblem."""
        key = self.keys.check(token)
        if key is not None:
            return self._seen(Caller(_ACTORS.get(key.role, "model"), key.role, f"key:{key.id}"))
        grant = self.grants.check(token)
        if grant is None or grant.terms.resource not in resources:
            return None
        return self._seen(Caller("model", grant.terms.role, f"oauth:{grant.id}"))

    def holds(self, caller: Caller) -> bool:
        """Has the caller's key or grant not been revoked since?"""
        kind, _, ident = caller.name.partition(":")
        return self.keys.holds(ident) if kind == "key" else self.grants.holds(ident)

    def spend(self, caller: Caller, scope: str, count: int = 1) -> float:
        """Take permits for reads, or writes: 0.0, or the seconds until there are any."""
        return (self._writes if scope == WRITE else self._reads).spend(caller.name, count)

    def knock(self, kind: str, address: str) -> float:
        """Take a permit of KNOCKS for a stranger: 0.0, or the seconds until there is one."""
        near, far = self._knocks[kind]
        return near.spend(address) or far.spend("all")

    def _seen(self, caller: Caller) -> Caller:
        self._fresh[caller.name] = now = self.clock()
        if abs(now - self._flushed) > FLUSH:
            with suppress(OneiroError):  # nobody is kept out because the disk is full
                self.flush()
        return caller

    def flush(self) -> None:
        """Note on the disk when keys and grants were last used; a power cut may lose some seconds
        of it."""
        self._flushed = self.clock()
        fresh, self._fresh = self._fresh, {}
        if fresh:
            with self._used.change(durable=False) as used:
                used.update(fresh)
                for name in sorted(used, key=used.__getitem__)[:-_MOST_USED]:
                    del used[name]

    def listing(self) -> Mapping[str, Any]:
        """Keys and grants as people and programs may see them."""
        used, now = self._used.read() | self._fresh, self.clock()
        keys = [
            asdict(key) | {"used": used.get(f"key:{key.id}"), "valid": key.valid(now)}
            for key in self.keys.list()
        ]
        grants = [
            {
                "id": grant.id,
                "role": grant.terms.role,
                "name": grant.terms.name,
                "host": grant.terms.host,
                "client": grant.terms.client,
                "created": grant.created,
                "expires": grant.expires,
                "used": used.get(f"oauth:{grant.id}"),
            }
            for grant in self.grants.list()
        ]
        return {"schema": 1, "login": self.login.exists, "keys": keys, "grants": grants}

    def revoke(self, which: str) -> Mapping[str, Any]:
        """End a key (by id or name) or a grant (by id). Raises NotFound, InvalidInput."""
        ended: Key | Terms
        try:
            ended = self.keys.revoke(which)
            kind, ident = "key", ended.id
        except NotFound:
            grant = self.grants.end(which)
            kind, ident, ended = "grant", grant.id, grant.terms
        self.audit.write("local", "revoke", "ok", key=ident)
        told = {"id": ident, "kind": kind, "role": ended.role, "name": ended.name}
        return {"schema": 1, "revoked": told}


def folder_of(root: Path, config: Path) -> Path:
    """Where a machine whose settings lie in `config` keeps the access of the vault at `root`."""
    return config / "access" / sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
