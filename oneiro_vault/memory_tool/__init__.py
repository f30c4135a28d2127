"""The vault behind Anthropic's memory tool (`memory_20250818`): notes as files below `/memories`,
for programs on the `anthropic` SDK.

    import anthropic
    from oneiro_vault.memory_tool import VaultMemoryTool

    with VaultMemoryTool.at("~/my-vault") as memory:
        runner = anthropic.Anthropic().beta.messages.tool_runner(model=…, max_tokens=…,
        messages=[…], tools=[memory]) print(runner.until_done())

A path below `/memories` is the note's path in the vault, and what is read and edited is its body.
Every change goes through the vault's one door and is signed `model`: an edit is a `reframe`, a
deletion a `forget`, and the old words stay in the history. Nothing is ever opened by a path that a
model gave: paths are looked up among the notes there are, and new ones are checked.
"""

from __future__ import annotations

from oneiro_vault.memory_tool.sdk import AsyncVaultMemoryTool, VaultMemoryTool

__all__ = ["AsyncVaultMemoryTool", "VaultMemoryTool"]
