"""A model on loopback that calls the memory tool: every request to `/v1/messages` is answered with
the next of `calls`, then with words."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Model:
    """`calls`: the inputs of its tool calls, in order; `seen`: the requests; `results`: what the
    tool answered to each call."""

    def __init__(self, calls: list[Any]) -> None:
        self.calls, self.seen, self.url = calls, list[dict[str, Any]](), ""

    @property
    def results(self) -> list[tuple[bool, str]]:
        found = [block for request in self.seen[1:] for block in request["messages"][-1]["content"]]
        return [
            (bool(one.get("is_error")), said(one["content"]))
            for one in found
            if one["type"] == "tool_result"
        ]

    def answer(self) -> dict[str, Any]:
        step = len(self.seen) - 1
        block: dict[str, Any] = {"type": "text", "text": "Done."}
        if step < len(self.calls):
            block = {
                "type": "tool_use",
                "id": f"toolu_{step}",
                "name": "memory",
                "input": self.calls[step],
            }
        return {
            "id": f"msg_{step}", "type": "message", "role": "assistant", "model": "x",
            "content": [block], "stop_sequence": None,
            "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip


def said(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


@contextmanager
def speaking(*calls: Any) -> Iterator[Model]:
    """Listens on 127.0.0.1 until the end of the block."""
    model = Model(list(calls))

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

        def do_POST(self) -> None:
            assert self.path.startswith("/v1/messages")
            model.seen.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            data = json.dumps(model.answer()).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    model.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
