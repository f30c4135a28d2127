"""Does a configured server answer? A client of a few lines that starts it, says hello and asks for
its tools (standard library only)."""

from __future__ import annotations

import json
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any, Final

_PROTOCOL: Final = "2025-06-18"
_TAIL: Final = 300


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


class _SilentError(Exception):
    pass


def greet(command: Sequence[str], env: Mapping[str, str], seconds: float = 60.0) -> Answer:
    """Start `command`, initialize, list its tools, end it. Never raises: `reason` says what was
    wrong."""
    began = time.monotonic()
    answer = Answer()
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=dict(env)
            )
        except OSError as error:
            answer.reason = f"{command[0]} cannot be started: {error.strerror}"
            return answer
        line = _Line(process, began + seconds)
        try:
            _talk(line, answer)
        except _SilentError as error:
            answer.reason = str(error)
        finally:
            line.hang_up()
            answer.seconds = round(time.monotonic() - began, 2)
        if not answer.ok:
            errors.seek(0)
            answer.reason = ": ".join(
                filter(
                    None, [answer.reason, errors.read()[-_TAIL:].decode(errors="replace").strip()]
                )
            )
    return answer


def _talk(line: _Line, answer: Answer) -> None:
    hello = {
        "protocolVersion": _PROTOCOL,
        "capabilities": {},
        "clientInfo": {"name": "oneiro-setup", "version": "1"},
    }
    found = line.ask("initialize", hello)
    about = found.get("serverInfo", {})
    answer.server, answer.version = str(about.get("name", "")), str(about.get("version", ""))
    line.say({"method": "notifications/initialized"})
    answer.tools = [str(tool.get("name")) for tool in line.ask("tools/list", {}).get("tools", [])]
    answer.ok = bool(answer.tools)
    answer.reason = "" if answer.ok else "it has no tools"


class _Line:
    """JSON-RPC over a process's standard streams, with an end to waiting."""

    def __init__(self, process: subprocess.Popen[bytes], end: float) -> None:
        self._process, self._end = process, end
        self._answers: queue.Queue[bytes] = queue.Queue()
        self._asked = 0
        self._ear = threading.Thread(target=self._listen, args=(process.stdout,), daemon=True)
        self._ear.start()

    def _listen(self, stream: IO[bytes]) -> None:
        with suppress(OSError, ValueError):
            for line in stream:
                self._answers.put(line)
        self._answers.put(b"")

    def say(self, message: dict[str, Any]) -> None:
        """Send one message. Raises _SilentError."""
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise _SilentError("it ended before it was asked anything") from error

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and wait for its result. Raises _SilentError."""
        self._asked += 1
        self.say({"id": self._asked, "method": method, "params": params})
        while True:
            try:
                line = self._answers.get(timeout=max(self._end - time.monotonic(), 0.01))
            except queue.Empty:
                raise _SilentError(f"no answer to {method} in time") from None
            if not line:
                raise _SilentError(f"it ended without an answer to {method}")
            try:
                found = json.loads(line)
            except ValueError:
                raise _SilentError(f"it wrote something that is not JSON: {line[:80]!r}") from None
            if isinstance(found, dict) and found.get("id") == self._asked:
                if isinstance(found.get("result"), dict):
                    result: dict[str, Any] = found["result"]
                    return result
                raise _SilentError(f"{method} was refused: {str(found.get('error'))[:200]}")

    def hang_up(self) -> None:
        """Close its input, which ends a server; what does not end then is ended."""
        process = self._process
        with suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)
        self._ear.join(1)
        if (
            process.stdout is not None and not self._ear.is_alive()
        ):  # a process it left behind may hold the other end
            process.stdout.close()
