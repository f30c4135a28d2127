"""A vendor's endpoint on loopback: speaks Anthropic's and OpenAI's wire formats and misbehaves on
request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"input_tokens": 120, "output_tokens": 30}


class Endpoint:
    """`plan`: what to do with the next requests, the last entry for ever; `text` is what the model
    says, `usage` what it claims to have used (None: nothing is said of it). What hangs does so
    until `released`."""

    def __init__(self) -> None:
        self.plan: list[str] = ["ok"]
        self.text = '{"reason": "same words", "same": true}'
        self.seen: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.usage: Any = USAGE
        self.released = threading.Event()
        self.url = ""

    def next(self) -> str:
        return self.plan.pop(0) if len(self.plan) > 1 else self.plan[0]


def message(text: str, stop: str = "end_turn", usage: Any = USAGE) -> dict[str, Any]:
    """Anthropic's answer."""
    content = [{"type": "text", "text": text}]
    return {
        "id": "m", "type": "message", "role": "assistant", "model": "x", "content": content,
        "stop_reason": stop, "stop_sequence": None,
        **({} if usage is None else {"usage": usage}),
    }  # fmt: skip


def completion(
    text: str | None, stop: str = "stop", refusal: str | None = None, usage: Any = USAGE
) -> dict[str, Any]:
    """OpenAI's answer."""
    choice = {
        "index": 0,
        "finish_reason": stop,
        "message": {"role": "assistant", "content": text, "refusal": refusal},
    }
    names = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
    used = {} if usage is None else {"usage": {names[name]: count for name, count in usage.items()}}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "x",
        "choices": [choice],
        **used,
    }


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """Listens on 127.0.0.1 until the end of the block."""
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

        def answer(self, status: int, body: Any, **headers: str) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(data)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            state.headers.append(dict(self.headers))
            state.seen.append(json.loads(body))
            self.say(state.next(), "messages" in self.path)

        def say(self, what: str, claude: bool) -> None:
            if what == "hang up":
                self.close_connection = True
            elif what == "slow":
                time.sleep(2)
                self.answer(200, message(state.text) if claude else completion(state.text))
            elif what == "hang":
                state.released.wait(60)
            elif what == "drip":  # a byte at a time: no single wait is long
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", "100000")
                self.end_headers()
                with suppress(OSError):
                    while not state.released.wait(0.05):
                        self.wfile.write(b" ")
            elif what.isdigit():
                error = {"type": "error", "error": {"type": "x", "message": f"status {what}"}}
                self.answer(int(what), error, retry_after="0")
            elif what == "not json":
                self.answer(200, b"<html>")
            elif what == "strange":
                self.answer(200, {"hello": 1})
            elif what == "refusal":
                self.answer(
                    200,
                    message("no", "refusal") if claude else completion(None, refusal="I will not"),
                )
            elif what == "cut":
                self.answer(
                    200,
                    message(state.text[:9], "max_tokens")
                    if claude
                    else completion(state.text[:9], "length"),
                )
            else:
                self.answer(
                    200,
                    message(state.text, usage=state.usage)
                    if claude
                    else completion(state.text, usage=state.usage),
                )

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        state.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
