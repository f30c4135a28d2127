"""Model endpoints on the loopback that answer as told and keep every request: what a client sent is
what its model would have read.

A script gets the request (parsed JSON) and returns what the model says: strings are text, `Call` is
a use of a tool.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]
_NUMBERS = itertools.count(1)
"""Ids are never used twice: clients take parts of one id for one message."""


@dataclass(frozen=True)
class Call:
    """The model uses a tool; `space::name` is one in a namespace."""

    name: str
    arguments: dict[str, Any]


Script = Callable[[Request], Sequence["str | Call"]]


@dataclass
class Endpoint:
    """A server for one client. `requests` holds every body that asked for an answer, in order."""

    script: Script
    speak: Callable[[Sequence[str | Call]], Iterator[tuple[str, Any]]]
    path: str
    requests: list[Request] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)

    def __enter__(self) -> Endpoint:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if not self.path.partition("?")[0].endswith(endpoint.path):
                    endpoint.others.append(self.path)
                    self.plain(b'{"input_tokens": 10}')
                    return
                request = json.loads(body)
                endpoint.requests.append(request)
                try:
                    events = endpoint.speak(endpoint.script(request))
                except Exception as error:  # 400: a client tries anything else again and again
                    endpoint.failures.append(error)
                    self.plain(b'{"error": {"message": "the script failed"}}', status=400)
                    return
                data = "".join(
                    f"event: {name}\ndata: {json.dumps(value)}\n\n" for name, value in events
                ).encode()
                self.plain(data, "text/event-stream")

            def do_GET(self) -> None:
                endpoint.others.append(self.path)
                self.plain(b"{}")

            do_HEAD = do_GET  # noqa: N815  # http.server calls it so

            def plain(self, data: bytes, kind: str = "application/json", status: int = 200) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"


def messages(parts: Sequence[str | Call]) -> Iterator[tuple[str, Any]]:
    """An answer as the Messages API streams it."""
    head: dict[str, Any] = {
        "id": f"msg_{next(_NUMBERS)}",
        "type": "message",
        "role": "assistant",
        "model": "fake",
        "content": [],
        "stop_reason": None,
    }
    yield (
        "message_start",
        {
            "type": "message_start",
            "message": head | {"usage": {"input_tokens": 10, "output_tokens": 1}},
        },
    )
    for number, part in enumerate(parts):
        if isinstance(part, str):
            block: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": part}
        else:
            block = {
                "type": "tool_use",
                "id": f"toolu_{next(_NUMBERS)}",
                "name": part.name,
                "input": {},
            }
            delta = {"type": "input_json_delta", "partial_json": json.dumps(part.arguments)}
        yield (
            "content_block_start",
            {"type": "content_block_start", "index": number, "content_block": block},
        )
        yield (
            "content_block_delta",
            {"type": "content_block_delta", "index": number, "delta": delta},
        )
        yield "content_block_stop", {"type": "content_block_stop", "index": number}
    reason = "tool_use" if any(isinstance(part, Call) for part in parts) else "end_turn"
    yield (
        "message_delta",
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}},
    )
    yield "message_stop", {"type": "message_stop"}


def responses(parts: Sequence[str | Call], tokens: int = 10) -> Iterator[tuple[str, Any]]:
    """An answer as the Responses API streams it; `tokens` is what the request is said to have
    had."""
    name = f"resp_{next(_NUMBERS)}"
    yield "response.created", {"type": "response.created", "response": {"id": name}}
    for number, part in enumerate(parts):
        if isinstance(part, str):
            content = [{"type": "output_text", "text": part}]
            item: dict[str, Any] = {
                "type": "message",
                "role": "assistant",
                "id": f"msg_{next(_NUMBERS)}",
                "content": content,
            }
        else:
            space, _, tool = part.name.rpartition("::")
            item = {
                "type": "function_call",
                "id": f"fc_{next(_NUMBERS)}",
                "call_id": f"call_{next(_NUMBERS)}",
                "name": tool,
            }
            item |= {"arguments": json.dumps(part.arguments)} | (
                {"namespace": space} if space else {}
            )
        yield (
            "response.output_item.done",
            {"type": "response.output_item.done", "output_index": number, "item": item},
        )
    usage = {"input_tokens": tokens, "output_tokens": 5, "total_tokens": tokens + 5}
    yield (
        "response.completed",
        {"type": "response.completed", "response": {"id": name, "usage": usage}},
    )
