"""What a tool's answer costs the model of each client, in tokens, as its real program forwards it:
`python -m tests.bench.tokens`.

Claude Code and Codex talk to a model endpoint on this machine (`make e2e` fetches them); counted is
what came back to it as the answer.
"""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import quicktok

from tests.box import Box
from tests.conftest import sealed
from tests.e2e import clients
from tests.e2e.clients import Client, Model
from tests.e2e.conftest import SESSION, _provided, set_up
from tests.mcp.conformance.fixtures import PNG

FACTS = [
    f"{who} wants the release {when}, because support is quiet then."
    for who, when in zip(
        "Ana Bo Cem Dora Emil Fay Gus Hana".split(),
        "early late daily weekly monthly yearly twice once".split(),
        strict=True,
    )
]


def answers(request: dict[str, Any]) -> Iterator[Any]:
    """What tools answered in a conversation, oldest first, as the model is given it."""
    for message in request.get("messages") or request.get("input") or []:
        if str(message.get("type", "")).endswith("_output"):
            yield message["output"]
        elif message.get("role") == "user" and isinstance(message["content"], list):
            yield from (
                part["content"] for part in message["content"] if part.get("type") == "tool_result"
            )


def forwarded(client: Client, shown: str, idents: list[str], picture: str) -> dict[str, Any]:
    """Tool -> its answer as the model of this client was given it; `shown` has a picture."""
    assert isinstance(client.endpoint.script, Model)
    asked: dict[str, dict[str, Any]] = {
        "recall_orient": {"n": 8},
        "recall_check": {"topic": "when is the release?"},
        "recall_specific": {"ids": idents[:2]},
        "recall_image": {"id": shown},
        "remember": {"text": "Ivo keeps the spare keys of the boat house."},
        "remember_with_image": {"text": "Ivo's boat.", "path": picture},
        "reframe": {"id": idents[0], "text": "Ana wants the release on Thursdays now."},
        "forget": {"id": idents[1]},
        "reflect": {"highlights": "We moved the release to Thursdays."},
        "flagged": {},
        "recall_story": {"id": idents[0]},
        "restore": {"id": idents[1]},
    }
    found = {}
    for name, arguments in asked.items():
        client.endpoint.script.calls = {f"use {name} now": (name, arguments)}
        client.run(f"use {name} now")
        found[name] = list(answers(client.endpoint.requests[-1]))[-1]
    return found


def measured(name: str) -> dict[str, Any]:
    """The answers of all tools in a vault of eight memories."""
    with tempfile.TemporaryDirectory() as folder:
        box = Box(Path(folder), sealed(Path(folder)) | {"ONEIRO_MCP_TOOLS": "history"}).init()
        try:
            picture = box.folder / "picture.png"
            picture.write_bytes(base64.b64decode(PNG))
            shown = box.remember("The plan of the boat house.", "--image", str(picture))["id"]
            idents = [box.remember(fact)["id"] for fact in FACTS]
            box.ok("recall", "the release")
            made = (
                clients.claude_code(box, Model(), SESSION)
                if name == "claude-code"
                else clients.codex(box, Model())
            )
            with made.endpoint:
                made.env["ANTHROPIC_BASE_URL"] = made.endpoint.url
                set_up(made, name)
                config = Path(made.env["HOME"]) / ".codex" / "config.toml"
                if name == "codex":
                    config.write_text(
                        _provided(config.read_text(), made.endpoint.url).replace(
                            "limit = 5000", "limit = 500000"
                        )
                    )
                return forwarded(made, shown, idents, str(picture))
        finally:
            box.close()


def main() -> None:
    """Print the table."""
    found = {name: measured(name) for name in ("claude-code", "codex")}
    count = quicktok.get_encoding("o200k_base").encode
    print("| answer of | " + " | ".join(found) + " |\n|---|" + "---|" * len(found))
    for tool in found["codex"]:
        print(
            f"| `{tool}` | "
            + " | ".join(str(len(count(_text(one[tool])))) for one in found.values())
            + " |"
        )


def _text(answer: Any) -> str:
    """The words of all parts."""
    return (
        answer
        if isinstance(answer, str)
        else "\n".join(str(part.get("text", "")) for part in answer)
    )


if __name__ == "__main__":
    main()
