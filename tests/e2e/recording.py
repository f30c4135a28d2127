"""Real exchanges, kept for tests that run without the programs: what our hook was asked, and the
client's transcript at that moment.

What the client itself wrote into its transcript (its instructions, lists of its tools) is cut to a
stub: those words are not ours to keep.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.e2e.clients import Client

FIXTURES = Path(__file__).parent.parent / "capture" / "fixtures"
_SAID = frozenset(("user", "assistant"))
_LONGEST = 24


def keep(client: Client) -> None:
    """Write the fixtures of this client when GOLDEN=write; otherwise see that the kept ones have
    the same shape."""
    path = FIXTURES / f"{client.name}.json"
    found = _exchanges(client)
    if os.environ.get("GOLDEN") == "write":
        FIXTURES.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        (FIXTURES / f"{client.name}.jsonl").write_text(
            "".join(_transcript(client)), encoding="utf-8"
        )
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert [_shape(one) for one in kept] == [_shape(one) for one in found], (
        f"{client.name} changed: GOLDEN=write make e2e"
    )


def _exchanges(client: Client) -> list[dict[str, Any]]:
    return [
        {"event": one["event"], "lines": one["lines"], "stdin": _elsewhere(client, one["stdin"])}
        for one in client.exchanges
    ]


def _shape(one: dict[str, Any]) -> tuple[str, list[str], Any]:
    return one["event"], sorted(one["stdin"]), one["stdin"].get("source")


def _transcript(client: Client) -> list[str]:
    """Its lines; of a record that nobody said only what tells its kind."""
    path = Path(client.exchanges[-1]["stdin"]["transcript_path"])
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(text)
        spoken = (
            record.get("type") in _SAID
            and not record.get("isMeta")
            and not record.get("isCompactSummary")
        )
        payload = record.get("payload")
        if isinstance(payload, dict) and payload.get("type") in (
            "message",
            "function_call",
            "function_call_output",
        ):
            spoken = payload.get("role") != "developer"
        here = _elsewhere(client, record)
        lines.append(json.dumps(here if spoken else _stub(here), ensure_ascii=False) + "\n")
    return lines


def _stub(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _stub(one) for name, one in list(value.items())[:12]}
    if isinstance(value, list):
        return [_stub(one) for one in value[:2]]
    return value[:_LONGEST] if isinstance(value, str) else value


def _elsewhere(client: Client, value: Any) -> Any:
    """The same with the folder of this run replaced."""
    text = json.dumps(value, ensure_ascii=False)
    folder = str(client.box.folder)
    return json.loads(
        text.replace(folder, "/home/pat").replace(folder.replace("/", "-"), "-home-pat")
    )
