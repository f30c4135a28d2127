"""The plug-in in the repository: every skill, every event, the version, and the vault that was
chosen."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import oneiro_vault
from oneiro_vault.clients import edit
from oneiro_vault.vault.layout import packaged
from tests.clients import servers

ROOT = Path(__file__).parents[2]


def read(path: str) -> Any:
    return json.loads((ROOT / path).read_text())


def test_every_skill_and_every_event_is_in_the_plug_in() -> None:
    about = read("skills/.claude-plugin/plugin.json")
    assert about["skills"] == [
        f"./{path.parent.name}" for path in sorted((ROOT / "skills").glob("*/SKILL.md"))
    ]
    assert about["version"] == oneiro_vault.__version__
    (plugin,) = read(".claude-plugin/marketplace.json")["plugins"]
    assert (plugin["name"], plugin["source"]) == (about["name"], "./skills")
    server = {"command": "oneiro", "args": ["mcp", "--vault", "${user_config.vault}"]}
    assert read("skills/.mcp.json")["mcpServers"] == {edit.NAME: server}


def test_its_hooks_take_the_chosen_vault_from_the_environment(tmp_path: Path) -> None:
    """Claude Code runs no hook whose arguments name an option that nobody has set."""
    listed = read("skills/hooks/hooks.json")["hooks"]
    hooks = {event: groups[0]["hooks"][0] for event, groups in listed.items()}
    assert {event: hook["timeout"] for event, hook in hooks.items()} == edit.HOOKS
    servers.oneiro(tmp_path, "")
    for option, wanted in (({"CLAUDE_PLUGIN_OPTION_VAULT": "/a b"}, "/a b"), ({}, "")):
        for event, hook in hooks.items():
            env = {"PATH": str(tmp_path)} | option
            subprocess.run(hook["command"], shell=True, env=env, check=True, timeout=30)
            called = (tmp_path / "called").read_text().splitlines()[-1]
            assert called == repr(["hook", event, "--vault", wanted])


def test_the_skills_are_found_where_they_are_installed() -> None:
    assert (packaged("skills") / "oneiro" / "SKILL.md").is_file()
