"""Messages that are wrong in every way we could think of, each with the answer that is right."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tests.mcp.raw import ENVELOPE, MODERN

PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
TOOL: Final = 1
"""A result with `isError`."""
SILENT: Final = 0
"""No answer: it was a notification, or an answer to nothing."""
ANY: Final = 2
"""Any answer of the protocol, or none: chance made the message."""
CODES: Final = {PARSE, REQUEST, METHOD, PARAMS, -32603, -32002, -32020, -32021, -32022}
WORDS: Final = (
    "",
    " ",
    "x",
    "\x00",
    "../../etc/passwd",
    "' OR 1=1 --",
    "ß" * 300,
    "🐝",
    "\u202e",
    "%00",
    "{{7*7}}",
    "a" * 20_000,
    "$(id)",
    "<memory>",
)
VALUES: Final[tuple[Any, ...]] = (None, True, 0, -1, 1e300, 10**40, [], {}, [[]], {"x": 1}, *WORDS)
READERS: Final = ("recall_orient", "recall_check", "recall_specific", "recall_image", "flagged")
NAMES: Final = (
    "topic",
    "limit",
    "entity",
    "type",
    "tag",
    "since",
    "until",
    "context",
    "n",
    "ids",
    "helped",
    "wrong",
    "id",
    "size",
    "sha256",
)


@dataclass(frozen=True)
class Case:
    """One line for the server. `right`: an error code, or one of the marks above; `ident`: the id
    of the answer, None for null."""

    data: bytes
    right: int
    ident: object = None


class Mess:
    """Seeded; `era` decides whether requests carry an envelope."""

    def __init__(self, seed: int, era: str) -> None:
        self.rng, self.era, self.count = random.Random(seed), era, 0

    def cases(self, number: int) -> Iterator[Case]:
        makers = (
            self.junk,
            self.shape,
            self.unknown,
            self.params,
            self.arguments,
            self.forbidden,
            self.silent,
            self.chance,
        )
        for step in range(number):
            yield makers[step % len(makers)]()

    def request(self, method: str, params: object = None, **more: Any) -> dict[str, Any]:
        """A request that is right as far as JSON-RPC is concerned."""
        self.count += 1
        sent = {} if params is None else params
        if self.era == MODERN and isinstance(sent, dict):
            sent = {**sent, "_meta": ENVELOPE}
        return {"jsonrpc": "2.0", "id": f"f{self.count}", "method": method, "params": sent} | more

    def case(self, message: Any, right: int) -> Case:
        ident = message.get("id") if isinstance(message, dict) else None
        usable = ident if isinstance(ident, str | int) and not isinstance(ident, bool) else None
        return Case(
            json.dumps(message, ensure_ascii=self.rng.random() < 0.5).encode(), right, usable
        )

    def junk(self) -> Case:
        """No JSON at all."""
        whole = json.dumps(self.request("tools/list")).encode()
        cut = whole[: self.rng.randrange(1, len(whole))]
        deep = b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * 5000
        wide = [
            b"nul",
            b"{]",
            b"}{",
            b"\xff\xfe\x00",
            b"'",
            b"{'a': 1}",
            b"<xml/>",
            b"GET / HTTP/1.1",
            b"\x00",
            deep,
            b'{"a":1,}',
        ]
        return Case(self.rng.choice([cut, self.rng.choice(wide)]), PARSE)

    def shape(self) -> Case:
        """JSON, but no message."""
        good = self.request("tools/list")
        wrong: list[Any] = [7, "x", None, True, [], [good], {}, {"id": 1}, {"method": "ping"}]
        wrong += [good | {"jsonrpc": version} for version in ("1.0", 2.0, None, "")]
        idents: list[Any] = [None, True, 1.5, [], {}, [1]]
        methods: list[Any] = [None, 7, [], {}]
        wrong += [good | {"id": ident} for ident in idents]
        wrong += [good | {"method": method} for method in methods]
        wrong += [good | {"params": params} for params in ("x", 7, [], [1, 2], True)]
        return self.case(self.rng.choice(wrong), REQUEST)

    def unknown(self) -> Case:
        """A request for what there is not."""
        methods = [
            "",
            "x",
            "tools/call/",
            "../tools/list",
            "sampling/createMessage",
            "tasks/list",
            "TOOLS/LIST",
            "rpc.discover",
            "__class__",
        ]
        return self.case(self.request(self.rng.choice(methods)), METHOD)

    def params(self) -> Case:
        """A method we have, with parameters it cannot have."""
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("tools/call", {}),
            ("tools/call", {"name": 7}),
            ("tools/call", {"name": "flagged", "arguments": [1]}),
            ("tools/call", {"name": "flagged", "arguments": "x"}),
            ("resources/read", {}),
            ("resources/read", {"uri": 7}),
            ("resources/read", {"uri": "memory://zzzzzzzzzzzz"}),
            ("resources/read", {"uri": "memory://..%2f..%2fetc%2fpasswd"}),
            ("resources/read", {"uri": "file:///etc/passwd"}),
            ("prompts/get", {"name": "no-such-prompt"}),
            ("prompts/get", {"name": "orient", "arguments": 7}),
            ("completion/complete", {"ref": {"type": "ref/none"}, "argument": {}}),
        ]
        method, params = self.rng.choice(wrong)
        return self.case(self.request(method, params), PARAMS)

    def arguments(self) -> Case:
        """A reading tool with arguments it cannot have: one that is not its own, or of the wrong
        kind."""
        name = self.rng.choice(READERS)
        given = {
            self.rng.choice(NAMES): self.rng.choice(VALUES) for _ in range(self.rng.randrange(4))
        }
        return self.case(
            self.request(
                "tools/call", {"name": name, "arguments": given | {"no_such_argument": 1}}
            ),
            TOOL,
        )

    def forbidden(self) -> Case:
        """A writing tool that must not write."""
        word, value = self.rng.choice(WORDS), self.rng.choice(VALUES)
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("remember", {"text": self.rng.choice(["", " ", "\n\t", 7, None, [], {}])}),
            ("remember", {"text": "Words.", "type": "orientation"}),
            (
                "remember",
                {
                    "text": "Words.",
                    self.rng.choice(
                        ["actor", "source", "trust", "path", "id", "status", "core"]
                    ): value,
                },
            ),
            ("remember", {"text": "Words.", "tags": [7]}),
            ("remember", {"text": "Words.", "when": "the day after never"}),
            (
                "remember_with_image",
                {"text": "Words.", "image": self.rng.choice(["", "%%%", "AAAA", word])},
            ),
            ("reframe", {"id": "zzzzzzzzzzzz", "text": "Words."}),
            ("reframe", {"id": word, "text": "Words."}),
            ("forget", {"id": word}),
            ("forget", {"id": value}),
            ("reflect", {"highlights": self.rng.choice(["", " ", 7, None])}),
            ("reflect", {"highlights": "Words.", "updates": [{"id": "zzzz"}]}),
            (word[:100] or "none", {}),
        ]
        name, given = self.rng.choice(wrong)
        return self.case(self.request("tools/call", {"name": name, "arguments": given}), TOOL)

    def silent(self) -> Case:
        """What nobody answers."""
        quiet: list[dict[str, Any]] = [
            {"method": "notifications/cancelled", "params": {"requestId": self.rng.choice(VALUES)}},
            {
                "method": "notifications/progress",
                "params": {"progressToken": self.rng.choice(VALUES), "progress": "x"},
            },
            {"method": "notifications/" + self.rng.choice(WORDS)[:50]},
            {"method": "tools/list"},
            {"id": 10**6, "result": {}},
            {"id": 10**6, "error": {"code": 1, "message": "x"}},
        ]
        return self.case({"jsonrpc": "2.0"} | self.rng.choice(quiet), SILENT)

    def chance(self) -> Case:
        """A reading call in which bytes were changed, taken out or doubled."""
        given = {self.rng.choice(NAMES): self.rng.choice(VALUES) for _ in range(3)}
        if self.rng.random() < 0.1:  # half a surrogate pair: JSON to some parsers, to others not
            half = self.request(
                "tools/call", {"name": "recall_check", "arguments": given | {"topic": "\ud800"}}
            )
            return Case(json.dumps(half).encode(), ANY, half["id"])
        data = bytearray(
            json.dumps(
                self.request("tools/call", {"name": self.rng.choice(READERS), "arguments": given})
            ).encode()
        )
        for _ in range(self.rng.randrange(1, 4)):
            at = self.rng.randrange(len(data))
            change = self.rng.randrange(3)
            if change == 0:
                data[at] = self.rng.randrange(256)
            elif change == 1:
                del data[at : at + self.rng.randrange(1, 20)]
            else:
                data[at:at] = data[at : at + self.rng.randrange(1, 40)]
            data = data or bytearray(b"{")
        return Case(bytes(data).replace(b"\n", b" "), ANY, f"f{self.count}")
