"""The clients setup knows: one entry each. To add one, write its function and a line in CLIENTS.
Where programs keep their settings on Linux, macOS and Windows follows from arguments alone, so
that each can be asked from anywhere."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Final

from oneiro_vault.clients.entries import Want, hooks, server


@dataclass(frozen=True)
class Machine:
    """`platform` is `sys.platform`'s word (linux, darwin, win32); `home` and `env` are the
    person's."""

    platform: str
    home: PurePath
    env: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls, env: Mapping[str, str]) -> Machine:
        """This machine, as an environment describes it."""
        home = env.get("USERPROFILE" if sys.platform == "win32" else "HOME")
        named = Path(home) if home else Path.home()
        return cls(sys.platform, named if named.is_absolute() else Path.home(), env)

    def named(self, variable: str) -> PurePath | None:
        """The folder a variable names; one that is not absolute is ignored, as the XDG rules
        say."""
        found = type(self.home)(self.env.get(variable, "") or ".")
        return found if found.is_absolute() else None

    @property
    def config(self) -> PurePath:
        """`~/.config`, or what XDG_CONFIG_HOME says, for programs that keep to it everywhere."""
        return self.named("XDG_CONFIG_HOME") or self.home / ".config"

    @property
    def application_data(self) -> PurePath:
        """Where a desktop program keeps its settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.named("APPDATA") or self.home / "AppData" / "Roaming"
        return self.config


@dataclass(frozen=True)
class Ours:
    """How our program is started on this machine, and the vault it is to use."""

    program: tuple[str, ...]
    vault: str

    @property
    def mcp(self) -> list[str]:
        """The command line of the MCP server."""
        return [*self.program, "mcp", "--vault", self.vault]


@dataclass(frozen=True)
class Target:
    """One settings file: how it is written (json, jsonc, toml, whole, block), what of ours belongs
    in it, and whether its program locks it to write."""

    path: PurePath
    style: str
    wants: tuple[Want, ...] = ()
    locked: bool = False
    content: str = ""
    """Of a file that is wholly ours (`whole`)."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Of the block in our own settings (`block`)."""


@dataclass(frozen=True)
class Client:
    """A program models run in: its name for people, its files, what a person has to do
    afterwards."""

    title: str
    targets: Callable[[Machine, Ours], list[Target]]
    next: tuple[str, ...]
    skills: Callable[[Machine], PurePath] | None = None
    """The folder in which it looks for a person's skills."""
    judge: str = ""
    """The program among `judges.command` that it is."""


def _claude_code(machine: Machine, ours: Ours) -> list[Target]:
    folder = machine.named("CLAUDE_CONFIG_DIR")
    entry = {"type": "stdio"} | server(ours.mcp)
    return [
        Target(
            (folder or machine.home) / ".claude.json",
            "json",
            (Want(("mcpServers",), entry),),
            locked=True,
        ),
        Target(
            (folder or machine.home / ".claude") / "settings.json",
            "json",
            tuple(hooks(ours.program, ours.vault)),
        ),
    ]


def _codex(machine: Machine, ours: Ours) -> list[Target]:
    folder = machine.named("CODEX_HOME") or machine.home / ".codex"
    joined = subprocess.list2cmdline if machine.platform == "win32" else shlex.join

    def for_a_shell(words: Sequence[str]) -> dict[str, object]:
        return {"command": joined(list(words))}

    return [
        # A vault whose owner has to load its model first can take longer than the ten seconds Codex
        # would wait.
        Target(
            folder / "config.toml",
            "toml",
            (Want(("mcp_servers",), server(ours.mcp, startup_timeout_sec=30)),),
        ),
        Target(folder / "hooks.json", "json", tuple(hooks(ours.program, ours.vault, for_a_shell))),
    ]


def _claude_desktop(machine: Machine, ours: Ours) -> list[Target]:
    path = machine.application_data / "Claude" / "claude_desktop_config.json"
    return [Target(path, "json", (Want(("mcpServers",), server(ours.mcp)),))]


def _gemini(machine: Machine, ours: Ours) -> list[Target]:
    path = (machine.named("GEMINI_CLI_HOME") or machine.home) / ".gemini" / "settings.json"
    return [Target(path, "jsonc", (Want(("mcpServers",), server(ours.mcp)),))]


def _opencode(machine: Machine, ours: Ours) -> list[Target]:
    folder = machine.config / "opencode"
    commented = folder / "opencode.jsonc"
    path = commented if Path(commented).exists() else folder / "opencode.json"
    return [
        Target(
            path,
            "jsonc",
            (Want(("mcp",), {"type": "local", "command": ours.mcp, "enabled": True}),),
        )
    ]


def _cursor(machine: Machine, ours: Ours) -> list[Target]:
    return [
        Target(
            machine.home / ".cursor" / "mcp.json",
            "jsonc",
            (Want(("mcpServers",), server(ours.mcp)),),
        )
    ]


def _vscode(machine: Machine, ours: Ours) -> list[Target]:
    path = machine.application_data / "Code" / "User" / "mcp.json"
    return [Target(path, "jsonc", (Want(("servers",), {"type": "stdio"} | server(ours.mcp)),))]


CLIENTS: Final[dict[str, Client]] = {
    "claude-code": Client(
        "Claude Code",
        _claude_code,
        (
            "Start a new session: hooks and servers are read at its start. `/mcp` and `/hooks` "
            "show them.",
            "The first use of each tool asks for permission; `mcp__oneiro` under "
            "permissions.allow in settings.json answers for all.",
            'Claude Code also keeps a memory of its own; two drift apart. "autoMemoryEnabled": '
            "false in settings.json turns it off.",
        ),
        skills=lambda machine: (
            (machine.named("CLAUDE_CONFIG_DIR") or machine.home / ".claude") / "skills"
        ),
        judge="claude",
    ),
    "codex": Client(
        "Codex",
        _codex,
        (
            "Start a new session. Codex runs new hooks only once you trust them: `/hooks` lists "
            "and trusts them.",
        ),
        skills=lambda machine: machine.home / ".agents" / "skills",
        judge="codex",
    ),
    "claude-desktop": Client(
        "Claude Desktop",
        _claude_desktop,
        (
            "Quit Claude Desktop completely and open it again; the tools are under the connectors "
            "of a chat and ask before their first use.",
        ),
    ),
    "gemini": Client(
        "Gemini CLI",
        _gemini,
        (
            "Start a new session in a folder you trust (`/permissions` or the question at the "
            "start): Gemini starts no server elsewhere.",
        ),
        skills=lambda machine: (
            (machine.named("GEMINI_CLI_HOME") or machine.home) / ".gemini" / "skills"
        ),
        judge="gemini",
    ),
    "opencode": Client(
        "OpenCode", _opencode, ("Start a new session; `opencode mcp list` shows the server.",)
    ),
    "cursor": Client(
        "Cursor",
        _cursor,
        ("Restart Cursor, then switch the server on under Settings, MCP if it is off.",),
    ),
    "vscode": Client(
        "VS Code",
        _vscode,
        (
            "In VS Code, `MCP: List Servers` starts it and asks whether you trust it; its tools "
            "are there in agent mode.",
        ),
    ),
}
