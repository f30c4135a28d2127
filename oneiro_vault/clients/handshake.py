"""A configured server, started as a client would start it: does it answer and name its tools?"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mcp import ClientSession, StdioServerParameters, stdio_client

_TAIL: Final = 300
logging.getLogger("mcp.client").addHandler(logging.NullHandler())  # the reason is in the answer


@dataclass
class Answer:
    """What came back: `ok`, the server's name and version, its tools, seconds it took, and the
    reason when it did not work."""

    ok: bool = False
    server: str = ""
    version: str = ""
    tools: list[str] = field(default_factory=list)
    seconds: float = 0.0
    reason: str = ""


def greet(command: Sequence[str], env: Mapping[str, str], seconds: float = 60.0) -> Answer:
    """Start `command`, initialize, list its tools, end it. Never raises: `reason` says what was
    wrong."""
    began = time.monotonic()
    answer = Answer()
    parameters = StdioServerParameters(command=command[0], args=[*command[1:]], env=dict(env))
    with tempfile.TemporaryFile("w+", errors="replace") as errors:

        async def talk() -> None:
            async with (
                stdio_client(parameters, errlog=errors) as (reads, writes),
                ClientSession(reads, writes) as session,
            ):
                about = (await session.initialize()).server_info
                answer.server, answer.version = about.name, about.version
                answer.tools = [tool.name for tool in (await session.list_tools()).tools]

        try:
            asyncio.run(asyncio.wait_for(talk(), seconds))
            answer.reason = "" if answer.tools else "it has no tools"
        except TimeoutError:
            answer.reason = "no answer in time"
        except OSError as error:
            answer.reason = f"{command[0]} cannot be started: {error.strerror}"
        except Exception as error:
            answer.reason = str(_first(error))
        answer.ok = not answer.reason
        answer.seconds = round(time.monotonic() - began, 2)
        errors.seek(0)
        if not answer.ok and (said := errors.read()[-_TAIL:].strip()):
            answer.reason += f": {said}"
    return answer


def _first(error: BaseException) -> BaseException:
    """The cause within groups of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
