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
    "admin": frozenset((READ, WRITE, CAPTURE, ORIENT, ADMIN)),
    "writer": frozenset((READ, WRITE, ORIENT)),
    "reader": frozenset((READ, ORIENT)),
    "hook": frozenset((CAPTURE, ORIENT)),
}
"""What each role may do."""

SCOPE: Final = "oneiro.caller"
"""Key of the ASGI scope under which a door leaves the Caller."""


@dataclass(frozen=True, slots=True)
class Caller:
    """`actor` is written into commits and `source`; `name` (a key id, an OAuth client, `local`) goes into the audit log."""

    actor: str
    role: str
    name: str

    def may(self, scope: str) -> bool:
        """Is this within the caller's role?"""
        return scope in ROLES.get(self.role, frozenset())


LOCAL: Final = Caller("model", "local", "local")
"""Whoever reaches the Unix socket is the user's own program, speaking for a model."""
