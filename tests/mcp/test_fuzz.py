"""Bar row 41: whatever is sent, the answer is the right one, the server stays, and nothing is
written. `make drills` sends thousands. The face for other machines gets the same in
`tests/http/test_fuzz.py`."""

from __future__ import annotations

import json

import pytest

from tests.box import Box
from tests.mcp.mess import ANY, CODES, PARAMS, PARSE, REQUEST, SILENT, TOOL, Case, Mess
from tests.mcp.raw import ENVELOPE, LEGACY, MODERN, Http, Stdio
from tests.vault.support import git

FEW, MANY = 100, 5_000
"""Of each era on each way; `MANY` on two eras are the ten thousand that a way has to bear."""
SIZES = [FEW, pytest.param(MANY, marks=pytest.mark.drill)]
SEED = 20261122


def still(box: Box) -> tuple[str, str]:
    """What would differ if anything had been written."""
    return git(box.vault, "rev-parse", "HEAD"), git(
        box.vault, "status", "--porcelain", "--untracked-files=all"
    )


def judge(case: Case, answers: list[dict[str, object]]) -> None:
    for found in answers:
        assert found["jsonrpc"] == "2.0"
        assert "result" in found or (
            isinstance(found["error"], dict) and found["error"]["code"] in CODES
        ), (case, found)
        assert "Traceback" not in json.dumps(found)
    if case.right == SILENT:
        assert not answers, (case, answers)
    elif case.right != ANY:
        (found,) = answers
        assert found["id"] == case.ident, (case, found)
        if case.right == TOOL:
            assert isinstance(found["result"], dict)
            assert found["result"].get("isError") is True, (case, found)
        else:
            assert isinstance(found["error"], dict)
            assert found["error"]["code"] == case.right, (case, found)


@pytest.mark.slow
@pytest.mark.parametrize("number", SIZES)
@pytest.mark.parametrize("era", [MODERN, LEGACY])
def test_over_stdio(box: Box, era: str, number: int) -> None:
    box.remember("The boat is called Petrel.")
    before = still(box)
    mess, late = Mess(SEED, era), set[object]()
    with Stdio(box.argv("mcp"), box.env, era) as client:
        client.rpc("tools/list")  # decides the era
        for step, case in enumerate(mess.cases(number)):
            client.write(case.data + b"\n")
            sentinel = f"s{step}"
            asked = {"name": "flagged", "arguments": {}} | (
                {"_meta": ENVELOPE} if era == MODERN else {}
            )  # not the bridge's to answer
            client.send({"jsonrpc": "2.0", "id": sentinel, "method": "tools/call", "params": asked})
            answers: list[dict[str, object]] = []
            seen = False
            while not seen or (case.right not in (SILENT, ANY) and not answers):
                found = client.read()
                if found.get("id") == sentinel:
                    seen = True
                elif found.get("id") in late:
                    late.discard(found["id"])
                elif "id" in found:
                    answers.append(found)
            judge(case, answers)
            if case.right == ANY and not answers:
                late.add(case.ident)
        assert client.rpc("tools/list")["result"]["tools"]
    assert still(box) == before


STATUS = {PARSE: {400}, REQUEST: {400}, PARAMS: {400, 200}, TOOL: {200}, SILENT: {202}}


@pytest.mark.slow
@pytest.mark.parametrize("number", SIZES)
@pytest.mark.parametrize("era", [MODERN, LEGACY])
def test_over_http(box: Box, era: str, number: int) -> None:
    box.remember("The boat is called Petrel.")
    before = still(box)
    with Http(box.record["socket"], era) as client:
        bombard(client, era, SEED + 1, number)
    assert still(box) == before


def bombard(client: Http, era: str, seed: int, number: int) -> None:
    """So many messages over HTTP, each with the right status and answer; afterwards it still lists
    its tools."""
    for case in Mess(seed, era).cases(number):
        headers = headers_for(case, era)
        status, data = client.post(case.data, headers)
        assert status < 500, (case, status, data)
        if b"-32020" in data:  # chance broke the names, or no header can say such a name
            assert case.right == ANY or not headers.get("Mcp-Name", "").strip(), case
        elif case.right in STATUS and era == MODERN and case.right != SILENT:
            assert status in STATUS[case.right], (case, status, data)
            found = json.loads(data)
            if case.right == TOOL:
                assert found["result"]["isError"], (case, found)
            else:
                assert found["error"]["code"] == case.right, (case, found)
        assert b"Traceback" not in data
    assert client.rpc("tools/list")["result"]["tools"]


def headers_for(case: Case, era: str) -> dict[str, str]:
    """The headers that belong to a message, as far as it has any."""
    if era != MODERN:
        return {}
    found = {"MCP-Protocol-Version": MODERN}
    try:
        message = json.loads(case.data)
        method, params = message["method"], message["params"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return found | {"Mcp-Method": "tools/list"}
    named = (params.get("name") or params.get("uri")) if isinstance(params, dict) else None
    name = named if isinstance(named, str) and named.isascii() and named.isprintable() else None
    plain = isinstance(method, str) and method.isascii() and method.isprintable()
    return found | ({"Mcp-Method": method} if plain else {}) | ({"Mcp-Name": name} if name else {})
