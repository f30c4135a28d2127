"""What the bridge answers by itself: the handshake and the lists of tools, prompts and resources,
which are the same in every vault.

They lie beside the server as `mcp/constants.json`, because the server itself takes seconds to load
on a busy machine and a client that hears nothing for so long goes on without its tools. A test
compares every answer with the owner's. What is asked in any unusual way goes to the owner.
"""

# pathlib imports re and urllib: 8 ms on a path that has 20.
# ruff: noqa: PTH118, PTH120, PTH123

from __future__ import annotations

import json
import os

import oneiro_vault
from oneiro_vault.daemon import client, protocol
from oneiro_vault.settings import locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FILE = os.path.join(os.path.dirname(oneiro_vault.__file__), "mcp", "constants.json")
TOOLS = "tools/list"
ENVELOPE = "io.modelcontextprotocol/"
_ASKED = frozenset(
    (
        "initialize",
        "server/discover",
        "ping",
        TOOLS,
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    )
)


class Greeting:
    """Answers to one client. `initialized`: it has begun a handshake, as clients before 2026-07-28
    do."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.initialized = False
        self._constants: Mapping[str, Any] = {}

    def result(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The result of a request, None for one that the owner must see."""
        if method not in _ASKED:
            return None
        self._constants = self._constants or _read()
        if method == "initialize":
            return self._handshake(params)
        if not params.keys() <= {"_meta"}:
            return None
        meta = params.get("_meta", {})
        if not isinstance(meta, dict):
            return None
        modern = any(key.startswith(ENVELOPE) for key in meta)
        if not (self._modern(meta) if modern else self.initialized):
            return None
        return self._listed(method, "modern" if modern else "legacy")

    def _handshake(self, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        version, can, who = (
            params.get(name) for name in ("protocolVersion", "capabilities", "clientInfo")
        )
        named = (
            isinstance(who, dict)
            and isinstance(who.get("name"), str)
            and isinstance(who.get("version"), str)
        )
        if (
            self.initialized
            or not isinstance(version, str)
            or not isinstance(can, dict)
            or not named
        ):
            return None
        known = self._constants["legacy"]["versions"]
        self.initialized = True
        return {
            **self._constants["legacy"]["initialize"],
            "protocolVersion": version if version in known else known[-1],
        }

    def _modern(self, meta: Mapping[str, Any]) -> bool:
        version, can = (
            meta.get(f"{ENVELOPE}protocolVersion"),
            meta.get(f"{ENVELOPE}clientCapabilities"),
        )
        who = meta.get(f"{ENVELOPE}clientInfo", {"name": "", "version": ""})
        named = (
            isinstance(who, dict)
            and isinstance(who.get("name"), str)
            and isinstance(who.get("version"), str)
        )
        return version in self._constants["modern"]["versions"] and isinstance(can, dict) and named

    def _listed(self, method: str, era: str) -> Mapping[str, Any] | None:
        found, around = self._constants[era].get(method), self._constants[era]["around"]
        if found is not None:
            return {**found}
        listed = self._constants["lists"].get(method)
        if listed is None:
            return None  # a ping of the era that has none
        if method != TOOLS:
            return {**listed, **around}
        sets = self._sets()
        if not all(name in self._constants["sets"] for name in sets):
            return None
        return {
            "tools": [
                *listed["tools"],
                *(tool for name in sets for tool in self._constants["sets"][name]),
            ],
            **around,
        }

    def _sets(self) -> list[str]:
        """The sets of tools that the owner serves: one that lives knows it, one that is to come
        goes by the settings of this machine."""
        owner = client.owner_of(self.root)
        if owner.get("version") == protocol.version() and client.held(
            locations.lock_file(self.root)
        ):
            return owner.get("tools", "").split()
        from oneiro_vault.hook import hook_context

        return hook_context.tool_sets()


def _read() -> Mapping[str, Any]:
    with open(FILE, encoding="utf-8") as file:
        found: Mapping[str, Any] = json.loads(
            file.read().replace("{version}", oneiro_vault.__version__)
        )
    return found
