"""Everything that decides about a caller of one vault, in one place: who it is, what it may do and
how often, and what is written down."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from oneiro_vault.core.principal import WRITE, Caller
from oneiro_vault.errors import NotFound, OneiroError
from oneiro_vault.http.auth.audit import Audit
from oneiro_vault.http.auth.grants import Grants
from oneiro_vault.http.auth.json_store import Store, private_folder
from oneiro_vault.http.auth.limits import Buckets
from oneiro_vault.http.auth.login import Login
from oneiro_vault.http.auth.oauth_server import Authorization, Lookup
from oneiro_vault.http.auth.registered_clients import Clients
from oneiro_vault.http.auth.service_keys import Keys
from oneiro_vault.http.auth.tokens import Seal

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
_ACTORS: Final = {"hook": "capture"}
"""What a caller's writes are signed with; everybody else speaks for a model. Nobody who comes over
a network is the user."""


@dataclass(frozen=True)
class Rules:
    """What the machine's settings say about callers: per key and minute `reads` and `writes` (0: no
    limit); seconds tokens are good; redirects the operator lists; whether programs may be named by
    a document; bytes of an audit log."""

    reads: float = 600
    writes: float = 120
    access_seconds: float = 3600.0
    refresh_seconds: float = 30 * 86_400.0
    redirects: frozenset[str] = frozenset()
    documents: bool = True
    audit_bytes: int = 1_000_000


@dataclass
class Access:
    """The state of one vault's door, in `folder` of this machine."""

    folder: Path
    rules: Rules = field(default_factory=Rules)
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        private_folder(self.folder)
        rules, clients = (
            self.rules,
            Clients(self._store("clients"), self.rules.redirects, self.clock),
        )
        self.keys = Keys(self._store("keys"), self.clock)
        self.login = Login(self._store("login"))
        self.grants = Grants(
            self._store("grants"), rules.access_seconds, rules.refresh_seconds, self.clock
        )
        self.audit = Audit(self.folder / "audit.jsonl", rules.audit_bytes, self.clock)
        self.oauth = Authorization(clients, _documents(rules), self.grants)
        self._reads, self._writes = Buckets(rules.reads, 60), Buckets(rules.writes, 60)
        self._knocks = {
            kind: (Buckets(near, span), Buckets(far, span))
            for kind, (near, far, span) in KNOCKS.items()
        }
        self._seal = Seal(PAGE_SECONDS)
        self._used, self._flushed = self._store("used"), 0.0
        self._fresh: dict[str, float] = {}

    def _store(self, name: str) -> Store:
        return Store(self.folder / f"{name}.json")

    def identify(self, token: str, resources: Iterable[str]) -> Caller | None:
        """Who holds this token, if it is good now and meant for one of these resources. Raises
        DiskProblem when nobody can tell."""
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
        """Take a permit of KNOCKS for somebody nobody knows yet: 0.0, or the seconds until there is
        one."""
        near, far = self._knocks[kind]
        return near.spend(address) or far.spend("all")

    def seal(self, statement: Mapping[str, Any]) -> str:
        """Let a browser carry this and bring it back unchanged, to this process and within
        PAGE_SECONDS."""
        return self._seal.close(statement, self.clock())

    def unseal(self, text: str) -> dict[str, Any] | None:
        """What was sealed; None when it was not, was changed or is too old."""
        return self._seal.open(text, self.clock())

    def _seen(self, caller: Caller) -> Caller:
        self._fresh[caller.name] = now = self.clock()
        if abs(now - self._flushed) > FLUSH:
            with suppress(OneiroError):  # nobody is kept out because the disk is full
                self.flush()
        return caller

    def flush(self) -> None:
        """Note on the disk when keys and grants were last used. What a power cut loses of this is a
        few seconds."""
        self._flushed = self.clock()
        fresh, self._fresh = self._fresh, {}
        if fresh:
            with self._used.change(durable=False) as used:
                used.update(fresh)
                for name in sorted(used, key=used.__getitem__)[:-_MOST_USED]:
                    del used[name]

    def used(self) -> dict[str, float]:
        """Name of a caller -> when it came last (epoch seconds), a few seconds behind."""
        return self._used.read() | self._fresh

    def listing(self) -> dict[str, Any]:
        """Keys and grants as people and programs may see them."""
        used, now = self.used(), self.clock()
        keys = [
            {
                "id": key.id,
                "role": key.role,
                "name": key.name,
                "created": key.created,
                "expires": key.expires,
                "revoked": key.revoked,
            }
            | {"used": used.get(f"key:{key.id}"), "valid": key.valid(now)}
            for key in self.keys.list()
        ]
        grants = [
            {
                "id": grant.id,
                "role": grant.terms.role,
                "name": grant.terms.name,
                "host": grant.terms.host,
                "client": grant.terms.client,
            }
            | {
                "created": grant.created,
                "expires": grant.expires,
                "used": used.get(f"oauth:{grant.id}"),
            }
            for grant in self.grants.list()
        ]
        return {"schema": 1, "login": self.login.exists, "keys": keys, "grants": grants}

    def revoke(self, which: str) -> dict[str, Any]:
        """End a key (by id or name) or a grant (by id). Raises NotFound, InvalidInput."""
        try:
            key = self.keys.revoke(which)
            ended = {"id": key.id, "kind": "key", "role": key.role, "name": key.name}
        except NotFound:
            grant = self.grants.end(which)
            ended = {
                "id": grant.id,
                "kind": "grant",
                "role": grant.terms.role,
                "name": grant.terms.name,
            }
        self.audit.write("local", "revoke", "ok", key=ended["id"])
        return {"schema": 1, "revoked": ended}


def _documents(rules: Rules) -> Lookup | None:
    if not rules.documents:
        return None
    from oneiro_vault.http.auth.client_documents import (
        Documents,
    )  # asyncio, TLS and h11: nothing for `oneiro keys`

    return Documents(rules.redirects)


def folder_of(root: Path, config: Path) -> Path:
    """Where a machine whose settings lie in `config` keeps the access of the vault at `root`."""
    return config / "access" / sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
