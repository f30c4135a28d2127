"""The SDK's own classes over the six commands: what a tool runner is given."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import Any

from oneiro_vault.errors import OneiroError
from oneiro_vault.memory_tool.file_commands import COMMANDS, Memories, Vault

try:
    import anyio.to_thread
    from anthropic.tools import ToolError
    from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
except (
    ImportError
) as error:  # what to install is what the person who wrote the import wants to read
    raise ImportError(
        "the memory tool needs the anthropic SDK: pip install 'oneiro-vault[anthropic]'"
    ) from error


def _told(error: OneiroError) -> str:
    """What happened, what is safe and what to do next."""
    return " ".join(filter(None, (str(error), error.kept, error.hint)))


def _attempt(memories: Memories, name: object, command: object) -> str:
    given = {
        one: getattr(command, one, None) for one in (*COMMANDS.get(str(name), ()), "view_range")
    }
    try:
        return memories.run(str(name or ""), given)
    except OneiroError as error:
        raise ToolError(_told(error)) from error


class VaultMemoryTool(BetaAbstractMemoryTool):
    """For `client.beta.messages.tool_runner(tools=[…])`. `vault`: anything with `App.call`; `at`
    opens one by its folder."""

    def __init__(self, vault: Vault, **options: Any) -> None:
        super().__init__(**options)
        self._memories = Memories(vault)
        self._close: Callable[[], object] = bool

    @classmethod
    def at(cls, path: str | os.PathLike[str], **options: Any) -> VaultMemoryTool:
        """The vault at `path`, through its owner process. Raises VaultNotFound."""
        from oneiro_vault.cli import session

        found = session.at(path)
        made = cls(found, **options)
        made._close = found.close
        return made

    def execute(self, command: Any) -> str:
        """Whatever the model gave, well formed or not. Raises ToolError, which the SDK hands back
        to the model."""
        return _attempt(self._memories, getattr(command, "command", None), command)

    view = create = str_replace = insert = delete = rename = execute

    def close(self) -> None:
        """Let go of the vault."""
        self._close()

    def __enter__(self) -> VaultMemoryTool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncVaultMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for `AsyncAnthropic`; each command runs in a thread, so the event loop never waits
    for the disk."""

    def __init__(self, vault: Vault, **options: Any) -> None:
        super().__init__(**options)
        self._memories = Memories(vault)

    async def execute(self, command: Any) -> str:
        """Whatever the model gave, well formed or not. Raises ToolError, which the SDK hands back
        to the model."""
        return await anyio.to_thread.run_sync(
            _attempt, self._memories, getattr(command, "command", None), command
        )

    view = create = str_replace = insert = delete = rename = execute
