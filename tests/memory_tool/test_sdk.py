"""The real SDK's tool runner over a vault, against an endpoint that speaks the wire format: what a
model calls, and what it reads."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic.tools import ToolError

from oneiro_vault.app import App
from oneiro_vault.errors import VaultNotFound
from oneiro_vault.memory_tool import AsyncVaultMemoryTool, VaultMemoryTool
from tests.box import Box
from tests.memory_tool.wire import Model, speaking
from tests.operations.conftest import app as app
from tests.operations.conftest import root as root
from tests.vault.support import git

ASK: dict[str, Any] = {
    "model": "x",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "What do you remember?"}],
}
STORY = (
    {"command": "view", "path": "/memories"},
    {
        "command": "create",
        "path": "/memories/boat.md",
        "file_text": "The boat is called Petrel.\nShe lies in Kiel.\n",
    },
    {"command": "view", "path": "/memories/boat.md"},
    {"command": "str_replace", "path": "/memories/boat.md", "old_str": "Kiel", "new_str": "Lübeck"},
    {
        "command": "insert",
        "path": "/memories/boat.md",
        "insert_line": 2,
        "insert_text": "Ana sails her.",
    },
    {"command": "view", "path": "/memories/boat.md", "view_range": [2, -1]},
    {"command": "rename", "old_path": "/memories/boat.md", "new_path": "/memories/boats/petrel.md"},
    {"command": "view", "path": "/memories"},
    {"command": "delete", "path": "/memories/boats/petrel.md"},
    {"command": "view", "path": "/memories/boats/petrel.md"},
)


def run(model: Model, tool: VaultMemoryTool) -> list[tuple[bool, str]]:
    with anthropic.Anthropic(api_key="k", base_url=model.url, max_retries=0) as client:
        final = client.beta.messages.tool_runner(**ASK, tools=[tool]).until_done()
    assert final.content[0].type == "text"
    return model.results


def judge(results: list[tuple[bool, str]]) -> None:
    failed, said = [one for one, _ in results], [text for _, text in results]
    assert failed == [False] * 9 + [True], results
    header = (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden "
        "items:\n"
    )
    assert said[0] == f"{header}0B\t/memories"
    assert said[1] == "File created successfully at: /memories/boat.md"
    head, *lines = said[2].split("\n")
    assert head.startswith(
        "Here's the content of /memories/boat.md with line numbers (a stored note, quoted as "
        "data: created 2"
    )
    assert "trust model, source model, status active" in head
    assert lines == ["     1\tThe boat is called Petrel.", "     2\tShe lies in Kiel.", "     3\t"]
    edited = (
        "The memory file has been edited. Here is the snippet showing the change (with line "
        "numbers):"
    )
    assert said[3].split("\n") == [
        edited,
        "     1\tThe boat is called Petrel.",
        "     2\tShe lies in Lübeck.",
        "     3\t",
    ]
    assert said[4] == "The file /memories/boat.md has been edited."
    assert said[5].split("\n")[1:] == [
        "     2\tShe lies in Lübeck.",
        "     3\tAna sails her.",
        "     4\t",
    ]
    assert said[6] == "Successfully renamed /memories/boat.md to /memories/boats/petrel.md"
    assert [line.partition("\t")[2] for line in said[7].split("\n")[1:]] == [
        "/memories",
        "/memories/boats/",
        "/memories/boats/petrel.md",
    ]
    assert said[8].startswith("Successfully deleted /memories/boats/petrel.md")
    assert said[9].startswith(
        "The path /memories/boats/petrel.md does not exist. Please provide a valid path."
    )


def test_a_model_keeps_a_file(app: App) -> None:
    with speaking(*STORY) as model:
        judge(run(model, VaultMemoryTool(app, cache_control={"type": "ephemeral"})))
    assert model.seen[0]["tools"] == [
        {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
    ]
    story = git(app.house.root, "log", "--format=%an|%s", "--reverse").splitlines()[1:]
    assert [line.partition("|")[2].partition(":")[0] for line in story] == [
        "remember",
        "reframe",
        "reframe",
        "revise",
        "forget",
    ]
    assert {line.partition("|")[0] for line in story} == {"oneiro (model)"}
    gone = app.call("log", {})["entries"][0]["memories"][0]
    app.call("restore", {"id": gone})
    assert (
        (app.house.root / "boats/petrel.md")
        .read_text()
        .endswith("She lies in Lübeck.\nAna sails her.\n")
    ), "nothing is lost"


def test_the_same_for_asyncio(app: App) -> None:
    async def go(model: Model) -> None:
        async with anthropic.AsyncAnthropic(
            api_key="k", base_url=model.url, max_retries=0
        ) as client:
            await client.beta.messages.tool_runner(
                **ASK, tools=[AsyncVaultMemoryTool(app)]
            ).until_done()

    with speaking(*STORY) as model:
        asyncio.run(go(model))
        judge(model.results)


@pytest.mark.slow
def test_through_the_owner_of_a_vault(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in box.env.items():
        monkeypatch.setenv(name, value)
    with speaking(*STORY) as model, VaultMemoryTool.at(box.vault) as tool:
        judge(run(model, tool))
    assert box.record, "an owner did it"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "there is no command ''"),
        ({"command": "explode"}, "One of: view, create"),
        ({"command": 7}, "there is no command '7'"),
        ({"command": "view"}, "view needs `path` (text)"),
        ({"command": "view", "path": 7}, "view needs `path` (text)"),
        ({"command": "view", "path": "/memories", "view_range": [1, 2]}, None),
        ({"command": "create", "path": "/memories/x.md"}, "create needs `file_text` (text)"),
        ({"command": "create", "path": "/memories/x.md", "file_text": " "}, "empty"),
        ({"command": "create", "path": "/memories", "file_text": "x"}, "is the folder itself"),
        (
            {
                "command": "insert",
                "path": "/memories/x.md",
                "insert_line": "one",
                "insert_text": "x",
            },
            "`insert_line` (a whole number)",
        ),
        (
            {"command": "delete", "path": "/memories"},
            "Cannot delete the /memories directory itself",
        ),
        (
            {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
            "Cannot rename the /memories directory itself",
        ),
        ({"command": "view", "path": "/etc/passwd"}, "Path must start with /memories"),
        ({"command": "view", "path": "/memoriesx"}, "Path must start with /memories"),
    ],
)
def test_what_is_no_command_comes_back_with_a_reason(
    app: App, given: Any, told: str | None
) -> None:
    with speaking(given) as model:
        ((failed, text),) = run(model, VaultMemoryTool(app))
    assert failed is (told is not None), text
    assert (told or "") in text
    assert "Traceback" not in text
    assert app.call("list", {})["total"] == 0


@pytest.mark.parametrize("given", ["words", [], None, 7, {"command": None}, {"command": ["view"]}])
def test_what_is_no_object_is_refused_too(app: App, given: object) -> None:
    with pytest.raises(ToolError, match="there is no command"):
        VaultMemoryTool(app).call(given)


def test_a_folder_that_is_no_vault(tmp_path: Path) -> None:
    with pytest.raises(VaultNotFound, match="there is no vault at"):
        VaultMemoryTool.at(tmp_path)


def test_without_the_sdk_it_says_what_to_install(sealed_env: dict[str, str]) -> None:
    code = "import sys; sys.modules['anthropic'] = None; import oneiro_vault.memory_tool"
    done = subprocess.run(
        [sys.executable, "-c", code], env=sealed_env, capture_output=True, text=True, timeout=60
    )
    assert (
        done.stderr.strip().splitlines()[-1]
        == "ImportError: the memory tool needs the anthropic SDK: pip install "
        "'oneiro-vault[anthropic]'"
    )
