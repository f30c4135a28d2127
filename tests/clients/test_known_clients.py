"""Where each client keeps its settings on each system, asked from this one through arguments."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from oneiro_vault.clients import edit
from oneiro_vault.clients.known_clients import CLIENTS, Machine, Ours
from oneiro_vault.hook.program import NAMED

OURS = Ours(("/opt/a b/oneiro",), "/home/pat/my vault")
LINUX = Machine("linux", Path("/home/pat"))
MAC = Machine("darwin", Path("/Users/pat"))

PATHS = {
    "claude-code": (["/.claude.json", "/.claude/settings.json"],) * 2,
    "codex": (["/.codex/config.toml", "/.codex/hooks.json"],) * 2,
    "claude-desktop": (
        ["/.config/Claude/claude_desktop_config.json"],
        ["/Library/Application Support/Claude/claude_desktop_config.json"],
    ),
    "gemini": (["/.gemini/settings.json"],) * 2,
    "opencode": (["/.config/opencode/opencode.json"],) * 2,
    "cursor": (["/.cursor/mcp.json", "/.cursor/hooks.json"],) * 2,
    "vscode": (
        ["/.config/Code/User/mcp.json"],
        ["/Library/Application Support/Code/User/mcp.json"],
    ),
    "windsurf": (["/.codeium/windsurf/mcp_config.json"],) * 2,
    "zed": (["/.config/zed/settings.json"],) * 2,
    "cline": (["/.cline/data/settings/cline_mcp_settings.json"],) * 2,
    "goose": (["/.config/goose/config.yaml"],) * 2,
    "copilot-cli": (["/.copilot/mcp-config.json", "/.copilot/hooks/oneiro.json"],) * 2,
}


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize(("number", "machine"), list(enumerate([LINUX, MAC])), ids=["linux", "mac"])
def test_paths(name: str, number: int, machine: Machine) -> None:
    wanted = [f"{machine.home}{path}" for path in PATHS[name][number]]
    assert [str(target.path) for target in CLIENTS[name].targets(machine, OURS)] == wanted


MOVED = [
    ("claude-code", "CLAUDE_CONFIG_DIR", ["/x/.claude.json", "/x/settings.json"]),
    ("codex", "CODEX_HOME", ["/x/config.toml", "/x/hooks.json"]),
    ("gemini", "GEMINI_CLI_HOME", ["/x/.gemini/settings.json"]),
    ("opencode", "XDG_CONFIG_HOME", ["/x/opencode/opencode.json"]),
    ("claude-desktop", "XDG_CONFIG_HOME", ["/x/Claude/claude_desktop_config.json"]),
    ("vscode", "XDG_CONFIG_HOME", ["/x/Code/User/mcp.json"]),
    ("zed", "XDG_CONFIG_HOME", ["/x/zed/settings.json"]),
    ("goose", "XDG_CONFIG_HOME", ["/x/goose/config.yaml"]),
    ("cline", "CLINE_DIR", ["/x/data/settings/cline_mcp_settings.json"]),
    ("copilot-cli", "COPILOT_HOME", ["/x/mcp-config.json", "/x/hooks/oneiro.json"]),
]


@pytest.mark.parametrize(("name", "variable", "paths"), MOVED)
def test_variables_move_them(name: str, variable: str, paths: list[str]) -> None:
    moved = Machine("linux", Path("/home/pat"), {variable: "/x"})
    assert [str(target.path) for target in CLIENTS[name].targets(moved, OURS)] == paths
    for value in ("", "relative/x"):
        same = Machine("linux", Path("/home/pat"), {variable: value})
        assert [target.path for target in CLIENTS[name].targets(same, OURS)] == [
            target.path for target in CLIENTS[name].targets(LINUX, OURS)
        ]


def test_opencode_with_comments_is_edited_where_it_is(tmp_path: Path) -> None:
    (tmp_path / ".config" / "opencode").mkdir(parents=True)
    (tmp_path / ".config" / "opencode" / "opencode.jsonc").touch()
    assert [
        target.path.name for target in CLIENTS["opencode"].targets(Machine("linux", tmp_path), OURS)
    ] == ["opencode.jsonc"]


def test_cline_has_a_file_for_each_of_its_two_programs(tmp_path: Path) -> None:
    machine = Machine("linux", tmp_path)
    name = "cline_mcp_settings.json"
    storage = tmp_path / ".config/Code/User/globalStorage/saoudrizwan.claude-dev"
    storage.mkdir(parents=True)

    def paths() -> list[Path]:
        return [target.path for target in CLIENTS["cline"].targets(machine, OURS)]

    assert paths() == [storage / "settings" / name]
    (tmp_path / ".cline").mkdir()
    assert paths() == [storage / "settings" / name, tmp_path / ".cline/data/settings" / name]
    moved = Machine("linux", tmp_path, {"CLINE_MCP_SETTINGS_PATH": "/x/mine.json"})
    assert CLIENTS["cline"].targets(moved, OURS)[-1].path == Path("/x/mine.json")


def test_zed_on_a_mac_does_not_follow_xdg() -> None:
    moved = Machine("darwin", Path("/Users/pat"), {"XDG_CONFIG_HOME": "/x"})
    (target,) = CLIENTS["zed"].targets(moved, OURS)
    assert target.path == Path("/Users/pat/.config/zed/settings.json")


def test_a_client_is_found_by_its_program_or_by_the_folder_of_its_settings(tmp_path: Path) -> None:
    machine = Machine("linux", tmp_path / "home", {"PATH": str(tmp_path / "bin")})
    (tmp_path / "bin").mkdir()
    machine.home.mkdir()
    assert [name for name, client in CLIENTS.items() if client.found(machine)] == []
    goose = tmp_path / "bin" / "goose"
    goose.write_text("#!/bin/sh\n")
    assert CLIENTS["goose"].found(machine) == "", "what cannot be run is no program"
    goose.chmod(0o755)
    assert CLIENTS["goose"].found(machine) == str(goose)
    (machine.home / ".copilot").mkdir()
    (machine.home / ".claude.json").write_text("{}")
    assert CLIENTS["copilot-cli"].found(machine) == str(machine.home / ".copilot")
    assert CLIENTS["claude-code"].found(machine) == str(machine.home / ".claude.json")
    assert CLIENTS["cursor"].found(machine) == ""


@pytest.mark.parametrize("name", CLIENTS)
def test_every_entry_starts_the_server_or_a_hook_of_the_named_vault_and_is_known_again(
    name: str,
) -> None:
    for target in CLIENTS[name].targets(LINUX, OURS):
        for want in target.wants:
            entry = want.entry if want.key else want.entry.get("hooks", [want.entry])[0]
            assert edit.is_ours(entry)
            event = NAMED.get(want.path[-1], want.path[-1])
            verb = ["mcp"] if want.key else ["hook", event]
            assert edit.words(entry) == ["/opt/a b/oneiro", *verb, "--vault", "/home/pat/my vault"]
    assert CLIENTS[name].next


@pytest.mark.parametrize(
    ("entry", "ours"),
    [
        ({"command": "oneiro", "args": ["mcp"]}, True),
        (
            {"command": "/usr/bin/python3", "args": ["-m", "oneiro_vault", "mcp", "--vault", "/v"]},
            True,
        ),
        ({"type": "local", "command": ["/opt/oneiro", "mcp"]}, True),
        ({"command": "'/opt/my oneiro/oneiro' hook SessionStart"}, True),
        ({"command": "/x/oneiro", "args": ["hook", "Stop"]}, True),
        ({"command": "oneiro", "args": ["serve"]}, False),
        ({"command": "oneiro-mcp", "args": ["mcp"]}, False),
        ({"command": "npx", "args": ["oneiro", "mcp"]}, False),
        ({"command": "it's unbalanced"}, False),
        ({"command": "oneiro", "args": "mcp"}, False),
        ({"url": "http://x"}, False),
        ({"command": ""}, False),
        ({"cmd": "/opt/oneiro", "args": ["mcp", "--vault", "/v"]}, True),
        ({"type": "command", "bash": "/opt/oneiro hook SessionStart"}, True),
        ("oneiro mcp", False),
        (None, False),
    ],
)
def test_what_is_known_as_ours(entry: object, ours: bool) -> None:
    assert edit.is_ours(entry) is ours


def test_this_machine(tmp_path: Path) -> None:
    assert Machine.here({"HOME": str(tmp_path)}) == Machine(
        sys.platform, tmp_path, {"HOME": str(tmp_path)}
    )
    assert isinstance(Machine.here({"HOME": "relative"}).home, Path)
    assert Machine.here({}).home == Path.home()
