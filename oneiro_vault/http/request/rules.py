"""Which paths exist for whoever comes over a network, and what each takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from oneiro_vault.app import OPS
from oneiro_vault.core.principal import ROUTES

FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"
NOBODY: Final = "nobody"
"""A scope that no role has."""


@dataclass(frozen=True)
class Rule:
    """What a path takes: methods, the type of its body, and the scope its caller needs (empty:
    anybody may ask, in few words)."""

    methods: frozenset[str]
    kind: str = ""
    scope: str = ""


def _rule(methods: str, kind: str = "", scope: str = "") -> Rule:
    return Rule(frozenset(methods.split()), kind, scope)


RULES: Final[dict[str, Rule]] = {
    "/.well-known/oauth-authorization-server": _rule("GET"),
    "/.well-known/oauth-protected-resource": _rule("GET"),
    "/.well-known/oauth-protected-resource/mcp": _rule("GET"),
    "/authorize": _rule("GET POST", FORM),
    "/token": _rule("POST", FORM),
    "/revoke": _rule("POST", FORM),
    "/register": _rule("POST", JSON),
    "/mcp": _rule("GET POST DELETE", JSON, ROUTES["/mcp"]),
    "/orientation": _rule("GET", scope=ROUTES["/orientation"]),
    "/capture": _rule("POST", JSON, ROUTES["/capture"]),
    "/status": _rule("GET", scope=ROUTES["/status"]),
    "/stop": _rule("POST", scope=ROUTES["/stop"]),
    "/api": _rule("POST", JSON, ROUTES["/api"]),
}


def of(path: str) -> tuple[str, Rule | None]:
    """(the path as the audit log may name it, its rule); ("?", None) for a path that does not
    exist."""
    if path.startswith("/api/"):
        return (path, RULES["/api"]) if path.removeprefix("/api/") in OPS else ("?", None)
    return (path, RULES[path]) if path in RULES and path != "/api" else ("?", None)


def changes(path: str) -> bool:
    """May a request to this path, which is not MCP, change something?"""
    operation = OPS.get(path.removeprefix("/api/")) if path.startswith("/api/") else None
    return path == "/capture" or (operation is not None and not operation.reads_only)
