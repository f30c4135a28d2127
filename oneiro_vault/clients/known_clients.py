"""The clients setup knows. To add one, write its function, a line in CLIENTS and a table in
`clients.toml`. Where programs keep their settings on Linux and macOS follows from
arguments alone, so that each can be asked from anywhere."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from oneiro_vault.clients.edit import HOOKS, NAME, Want, hooks, server


@dataclass(frozen=True)
class Machine:
    """`platform` is `sys.platform`'s word; `home` and `env` are the person's."""

    platform: str
    home: Path
    env: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls, env: Mapping[str, str]) -> Machine:
        """This machine, as an environment describes it."""
        home = Path(env.get("HOME", ""))
        return cls(sys.platform, home if home.is_absolute() else Path.home(), env)

    def named(self, variable: str) -> Path | None:
        """The folder a variable names; one that is not absolute is ignored, as the XDG rules
        say."""
        found = Path(self.env.get(variable, ""))
        return found if found.is_absolute() else None

    @property
    def config(self) -> Path:
        """`~/.config`, or what XDG_CONFIG_HOME says, for programs that keep to it everywhere."""
        return self.named("XDG_CONFIG_HOME") or self.home / ".config"

    @property
    def application_data(self) -> Path:
        """Where a desktop program keeps its settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
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

    def hook(self, event: str) -> list[str]:
        """The command line of the hook for one of our events."""
        return [*self.program, "hook", event, "--vault", self.vault]


@dataclass(frozen=True)
class Target:
    """One settings file: how it is written (json, jsonc, toml, yaml, whole, block), what of ours
    belongs in it, and whether its program locks it to write."""

    path: Path
    style: str
    wants: tuple[Want, ...] = ()
    locked: bool = False
    content: str = ""
    """Of a file that is wholly ours (`whole`), or that is not there before."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Of the block in our own settings (`block`)."""


@dataclass(frozen=True)
class Client:
    """A program models run in: its name for people, its files, what a person has to do
    afterwards."""

    targets: Callable[[Machine, Ours], list[Target]]
    skills: Callable[[Machine], Path] | None
    """The folder in which it looks for a person's skills."""
    title: str
    next: Sequence[str]
    judge: str = ""
    """The program among `judges.command` that it is."""
    hooks: Sequence[str] = ()
    """What its hooks do: `start` (orientation), `prompt` (memories), `capture`."""
    programs: Sequence[str] = ()
    """Names under which it may be found on the PATH."""

    def found(self, machine: Machine) -> str:
        """Where this machine shows that the client is there: its program, or the folder with its
        settings; "" when neither is."""
        for program in self.programs:
            if path := shutil.which(program, path=machine.env.get("PATH", "")):
                return path
        for target in self.targets(machine, Ours(("oneiro",), "")):
            folder = target.path.parent
            if target.path.exists():
                return str(target.path)
            if folder != machine.home and folder.is_dir():
                return str(folder)
        return ""


def _claude_code(machine: Machine, ours: Ours) -> list[Target]:
    path = (machine.named("CLAUDE_CONFIG_DIR") or machine.home) / ".claude.json"
    entry = {"type": "stdio"} | server(ours.mcp)
    ours_at = tuple(hooks(ours.program, ours.vault))
    return [
        Target(path, "json", (Want(("mcpServers",), entry),), locked=True),
        Target(_claude_folder(machine) / "settings.json", "json", ours_at),
    ]


def _codex(machine: Machine, ours: Ours) -> list[Target]:
    folder = machine.named("CODEX_HOME") or machine.home / ".codex"
    for_a_shell = hooks(ours.program, ours.vault, lambda words: {"command": shlex.join(words)})
    # an owner that has to load its model first can take longer than the ten seconds Codex waits
    entry = server(ours.mcp, startup_timeout_sec=30)
    return [
        Target(folder / "config.toml", "toml", (Want(("mcp_servers",), entry),)),
        Target(folder / "hooks.json", "json", tuple(for_a_shell)),
    ]


def _at(
    place: Callable[[Machine], Path],
    style: str = "jsonc",
    table: str = "mcpServers",
    **extra: str,
) -> Callable[[Machine, Ours], list[Target]]:
    """A client with one file, in which a server is `extra`, command and args."""
    return lambda machine, ours: [
        Target(place(machine), style, (Want((table,), extra | server(ours.mcp)),))
    ]


def _opencode(machine: Machine, ours: Ours) -> list[Target]:
    folder = machine.config / "opencode"
    commented = folder / "opencode.jsonc"
    path = commented if commented.exists() else folder / "opencode.json"
    entry = {"type": "local", "command": ours.mcp, "enabled": True}
    return [Target(path, "jsonc", (Want(("mcp",), entry),))]


def _gemini(machine: Machine, ours: Ours) -> list[Target]:
    """Its hooks have names of their own, and milliseconds."""
    events = {"SessionStart": "SessionStart", "BeforeAgent": "UserPromptSubmit"}
    wants = [Want(("mcpServers",), server(ours.mcp))]
    for event, name in events.items():
        hook: dict[str, object] = {"type": "command", "command": shlex.join(ours.hook(name))}
        hook |= {"name": NAME, "timeout": 1000 * HOOKS[name]}
        wants.append(Want(("hooks", event), {"hooks": [hook]}, ""))
    return [Target(_gemini_folder(machine) / "settings.json", "jsonc", tuple(wants))]


def _cursor(machine: Machine, ours: Ours) -> list[Target]:
    folder = machine.home / ".cursor"
    hook = {"command": shlex.join(ours.hook("SessionStart"))}
    return [
        Target(folder / "mcp.json", "jsonc", (Want(("mcpServers",), server(ours.mcp)),)),
        _hooks_file(folder / "hooks.json", Want(("hooks", "sessionStart"), hook, "")),
    ]


def _copilot(machine: Machine, ours: Ours) -> list[Target]:
    folder = _copilot_folder(machine)
    entry = {"type": "local"} | server(ours.mcp, tools=["*"])
    command = shlex.join(ours.hook("SessionStart"))
    seconds = HOOKS["SessionStart"]
    hook: dict[str, object] = {"type": "command", "bash": command, "timeoutSec": seconds}
    return [
        Target(folder / "mcp-config.json", "jsonc", (Want(("mcpServers",), entry),)),
        _hooks_file(folder / "hooks" / "oneiro.json", Want(("hooks", "sessionStart"), hook, "")),
    ]


def _hooks_file(path: Path, want: Want) -> Target:
    """A file of hooks, which its client reads only with a version in it."""
    made = {"version": 1, "hooks": {want.path[1]: [want.entry]}}
    text = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
    return Target(path, "json", (want,), content=text)


def _zed(machine: Machine, ours: Ours) -> list[Target]:
    """It keeps to `~/.config` on a Mac, whatever XDG says there."""
    folder = machine.home / ".config" if machine.platform == "darwin" else machine.config
    entry = server(ours.mcp, env={})
    return [Target(folder / "zed" / "settings.json", "jsonc", (Want(("context_servers",), entry),))]


def _cline(machine: Machine, ours: Ours) -> list[Target]:
    """The extension in VS Code and the program for the terminal have a file each; the program's
    where neither is there yet."""
    name, wants = "cline_mcp_settings.json", (Want(("mcpServers",), server(ours.mcp)),)
    storage = machine.application_data / "Code" / "User" / "globalStorage"
    extension = storage / "saoudrizwan.claude-dev"
    folder = machine.named("CLINE_DIR") or machine.home / ".cline"
    both = [Target(extension / "settings" / name, "jsonc", wants)] if extension.is_dir() else []
    path = machine.named("CLINE_MCP_SETTINGS_PATH") or folder / "data" / "settings" / name
    if not both or folder.is_dir() or path.exists():
        both.append(Target(path, "jsonc", wants))
    return both


def _goose(machine: Machine, ours: Ours) -> list[Target]:
    entry: dict[str, object] = {
        "name": NAME,
        "type": "stdio",
        "enabled": True,
        "cmd": ours.mcp[0],
        "args": ours.mcp[1:],
        "timeout": 300,
    }
    path = machine.config / "goose" / "config.yaml"
    return [Target(path, "yaml", (Want(("extensions",), entry),))]


def _claude_folder(machine: Machine) -> Path:
    return machine.named("CLAUDE_CONFIG_DIR") or machine.home / ".claude"


def _gemini_folder(machine: Machine) -> Path:
    return (machine.named("GEMINI_CLI_HOME") or machine.home) / ".gemini"


def _copilot_folder(machine: Machine) -> Path:
    return machine.named("COPILOT_HOME") or machine.home / ".copilot"


_TABLE: Final = tomllib.loads(Path(__file__).with_name("clients.toml").read_text("utf-8"))
CLIENTS: Final[dict[str, Client]] = {
    name: Client(targets, skills, **_TABLE[name])
    for name, targets, skills in (
        ("claude-code", _claude_code, lambda machine: _claude_folder(machine) / "skills"),
        ("codex", _codex, lambda machine: machine.home / ".agents" / "skills"),
        (
            "claude-desktop",
            _at(lambda m: m.application_data / "Claude" / "claude_desktop_config.json", "json"),
            None,
        ),
        (
            "gemini",
            _gemini,
            lambda machine: _gemini_folder(machine) / "skills",
        ),
        ("opencode", _opencode, None),
        ("cursor", _cursor, None),
        (
            "vscode",
            _at(
                lambda machine: machine.application_data / "Code" / "User" / "mcp.json",
                table="servers",
                type="stdio",
            ),
            None,
        ),
        (
            "windsurf",
            _at(lambda machine: machine.home / ".codeium" / "windsurf" / "mcp_config.json"),
            None,
        ),
        ("zed", _zed, None),
        ("cline", _cline, None),
        ("goose", _goose, None),
        (
            "copilot-cli",
            _copilot,
            lambda machine: _copilot_folder(machine) / "skills",
        ),
    )
}
