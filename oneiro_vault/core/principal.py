"""Who is asking: set by the door a request came through, never by what the request says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

READ: Final = "read"
WRITE: Final = "write"
CAPTURE: Final = "capture"
ORIENT: Final = "orient"
ADMIN: Final = "admin"

ROLES: Final[dict[str, frozenset[str]]] = {
    "local": frozenset((READ, WRITE, CAPTURE, ORIENT, ADMIN)),
    "reader": frozenset((READ, ORIENT)),
    "writer": frozenset((READ, WRITE, ORIENT)),
    "hook": frozenset((CAPTURE, ORIENT)),
    "admin": frozenset((READ, WRITE, CAPTURE, ORIENT, ADMIN)),
}
"""What each role may do."""
KEY_ROLES: Final = tuple(role for role in ROLES if role != "local")
"""Those that a key for another machine may have."""

TOOLS: Final[dict[str, str]] = {
    "recall_orient": ORIENT,
    "recall_check": READ,
    "recall_specific": READ,
    "recall_image": READ,
    "flagged": READ,
    "recall_story": READ,
    "graph": READ,
    "context": READ,
    "consult": READ,
    "learn": WRITE,
    "ponder": READ,
    "recall_down": READ,
    "recall_up": READ,
    "insights": READ,
    "remember": WRITE,
    "remember_with_image": WRITE,
    "reframe": WRITE,
    "forget": WRITE,
    "reflect": WRITE,
}
"""What calling a tool needs; one that is not named here needs WRITE, whatever it does."""

METHODS: Final[dict[str, str]] = {
    "resources/read": READ,
    "resources/subscribe": READ,
    "resources/unsubscribe": READ,
    "subscriptions/listen": READ,
    "prompts/get": READ,
    "completion/complete": READ,
}
"""Those not named here say nothing about memories, and anybody who may come in may send them."""

MEMORIES: Final = "oneiro-vault/ids"
"""In the `_meta` of what a tool answers: for programs and the audit log, never for a model."""

SCOPE: Final = "oneiro.caller"
"""Key of the ASGI scope under which a door leaves the Caller."""


@dataclass(frozen=True, slots=True)
class Caller:
    """`actor` is written into commits and `source`; `name` (a key id, an OAuth client, `local`)
    into the audit log."""

    actor: str
    role: str
    name: str

    def may(self, scope: str) -> bool:
        """Is this within the caller's role?"""
        return scope in ROLES.get(self.role, frozenset())


LOCAL: Final = Caller("model", "local", "local")
"""Whoever reaches the Unix socket is the user's own program, speaking for a model."""
