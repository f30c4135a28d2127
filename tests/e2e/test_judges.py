"""The real Claude Code and Codex as judges of a night (`dreams.command`), offline, against model
endpoints on this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.box import Box
from tests.conftest import sealed
from tests.e2e import clients
from tests.e2e.conftest import SESSION, _provided

TEXTS = (
    "Ana prefers the release on Fridays because support is quiet then.",
    "Ana prefers the releases on Fridays because support is quiet then.",
)
IDS = re.compile(r'memory id=\\?"(\w{12})')
pytestmark = pytest.mark.e2e


def merges(request: dict[str, Any]) -> list[str]:
    """A model that merges what it is shown, with words around its answer."""
    first, *others = dict.fromkeys(IDS.findall(json.dumps(request)))
    return [
        "```json\n"
        + json.dumps({"action": "merge", "reason": "the same", "keep": first, "members": others})
        + "\n```"
    ]


@pytest.fixture(params=["claude", "codex"])
def judge(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[clients.Client, Path]]:
    """A client of which only the program is used, with hooks and a server of ours in its
    settings."""
    box = Box(tmp_path, sealed(tmp_path)).init()
    claude = request.param == "claude"
    client = clients.claude_code(box, merges, SESSION) if claude else clients.codex(box, merges)
    try:
        with client.endpoint:
            client.env["ANTHROPIC_BASE_URL"] = client.endpoint.url
            box.env |= client.env
            box("setup", "claude-code" if claude else "codex")
            if not claude:
                config = Path(client.env["HOME"]) / ".codex" / "config.toml"
                config.write_text(_provided(config.read_text(), client.endpoint.url))
            yield client, clients.CLAUDE if claude else clients.CODEX
    finally:
        box.close()


def test_it_judges_a_night_without_tools_or_memory(judge: tuple[clients.Client, Path]) -> None:
    client, program = judge
    box = client.box
    box.env |= {"ONEIRO_DREAMS_COMMAND": str(program), "ONEIRO_CONSOLIDATE_SIMILARITY": "0.5"}
    for text in TEXTS:
        box("remember", text)
    done = box.json("dream", "consolidate")
    (run,) = done["runs"]
    assert [one["op"] for one in run["decisions"]] == ["merge"], done
    assert run["judge"] == f"command:{program.name}"
    (asked,) = client.endpoint.requests
    tools = {tool.get("name") for tool in asked.get("tools", ())}
    assert tools <= {"request_user_input"}, (
        "one that Codex always lists, and refuses without a person"
    )
    assert "SessionStart" not in json.dumps(asked)
    assert run["tokens_in"] == 10
