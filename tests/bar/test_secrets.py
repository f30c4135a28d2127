"""Bar row 45, as far as it is ours: what a caller sends, also by mistake, is in no log and no trace, and what is private in nothing at all.

(That a secret in a memory is found before it is committed belongs to the part that does not exist yet.)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from oneiro_vault.capture.markers import ALLOW
from tests.box import Box
from tests.mcp.raw import LEGACY, MODERN, Http
from tests.vault.support import git

_A = "AbCdEf0123456789"
SECRETS = (
    "AKIA" + "IOSFODNN7EXAMPLE", "aws_secret_access_key=" + _A * 2 + "abcdEFGH", "ghp_" + _A * 2 + "abcd", "gho_" + _A * 2 + "efgh",
    "github_pat_11" + _A * 4, "glpat-" + _A + "abcd", "xoxb-123456789012-" + _A, "xoxp-987654321098-" + _A, "sk-ant-api03-" + _A * 4,
    "sk-proj-" + _A * 3, "sk-" + _A * 3, "AIza" + "Sy" + _A * 2 + "x", "ya29." + _A * 3, "SG." + _A + ".0" + _A, "sk_live_" + _A * 2,
    "rk_test_" + _A * 2, "whsec_" + _A * 2, "npm_" + _A * 2 + "wxyz", "pypi-AgEIcHlwaS5vcmc" + _A * 2, "dop_v1_" + "0a1b2c3d" * 8,
    "hf_" + _A * 2 + "qr", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx" + _A + ".s5" + _A, "-----BEGIN OPENSSH PRIVATE KEY-----b3BlbnNzaC" + _A,
    "postgres://app:hunter2" + _A + "@db.example/x", "mongodb+srv://u:pw" + _A + "@c.example", "https://user:tok3n" + _A + "@git.example/r",
    "Authorization: Bearer b3ar" + _A, "password=correct-horse-" + _A, "DefaultEndpointsProtocol=https;AccountKey=" + _A * 2 + "==",
    "onk_admin_01234567_" + _A * 2 + "abcdefghijk", "4111 1111 1111 1" + "111", "otpauth://totp/x?secret=JBSWY3DP" + _A,
)  # fmt: skip


def traces(box: Box) -> dict[Path, bytes]:
    """Everything the machine keeps besides notes, history and indexes: logs, records, spool, sessions, audit, settings."""
    folders = [box.vault / ".oneiro", box.vault / ".git" / "oneiro", box.folder / "home", box.folder / "serve.log"]
    files = [path for folder in folders for path in [folder, *folder.rglob("*")] if path.is_file()]
    return {
        path: path.read_bytes() for path in files if path.suffix not in {".db", ".sqlite3", ".bin", ".db-wal", ".db-shm", ".sqlite3-wal"}
    }


def everything(box: Box) -> bytes:
    """All bytes of all files, and all objects of the repository."""
    objects = git(box.vault, "log", "--all", "-p", "--format=%B%an%ae")
    return b"".join(path.read_bytes() for path in box.folder.rglob("*") if path.is_file()) + objects.encode()


def named(secret: str, data: bytes) -> bool:
    """Is a telling part of the secret there?"""
    return any(part.encode() in data for part in (secret, secret[-20:], json.dumps(secret)[1:-1]))


def ill_use(client: Http, secret: str) -> None:
    """The secret everywhere a caller may put one by mistake, in right requests and in wrong ones."""
    calls: dict[str, dict[str, Any]] = {
        "recall_check": {"topic": secret}, "recall_orient": {"context": secret}, "recall_specific": {"ids": [secret]}, "recall_image": {"id": secret},
        "remember": {"text": f"The key is {secret}.", "type": secret}, "reframe": {"id": secret, "text": secret}, "forget": {"id": secret, "reason": secret},
        "reflect": {"highlights": secret, "updates": [{"id": secret, "text": secret}], secret[:30]: 1}, "flagged": {secret: secret},
        "remember_with_image": {"text": secret, "image": secret},
    }  # fmt: skip
    for name, given in calls.items():
        client.tool(name, **given)
    client.rpc("tools/call", {"name": "remember", "arguments": {"text": f"It opens with {secret}, says Ana."}})
    for method, params in {"prompts/get": {"name": secret}, "resources/read": {"uri": f"memory://{secret}"}, secret: {"x": secret}}.items():
        client.post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())
    for path, body in {
        "/mcp": secret,
        "/api/recall": json.dumps({"query": [secret]}),
        "/api/show": json.dumps({"id": secret}),
        "/capture": secret,
    }.items():
        client.post(body.encode(), path=path)


def test_there_are_thirty_shapes() -> None:
    assert len(set(SECRETS)) >= 30


def test_what_callers_send_is_in_no_log(box: Box) -> None:
    _ = box.pid
    for era in (MODERN, LEGACY):
        with Http(box.record["socket"], era) as client:
            for secret in SECRETS:
                ill_use(client, secret)
    for secret in SECRETS:
        assert box("show", secret).returncode in (2, 3)
        assert box("--no-such-option", secret).returncode == 2
    assert box.json("recall", "says Ana opens with")["results"], "the good ones among them did arrive"
    found = traces(box)
    assert any(path.name == "owner.log" and data for path, data in found.items())
    told = {(secret, str(path)) for secret in SECRETS for path, data in found.items() if named(secret, data)}
    assert told == set()


def test_what_is_private_is_nowhere(box: Box) -> None:
    box.folder.joinpath(ALLOW).touch()
    for number, secret in enumerate(SECRETS):
        text = f"User: the door of house {number} opens with <private>{secret}</private>, tell nobody."
        if number % 2:
            box.ok("capture", "-", stdin=text.encode())
        else:
            with Http(box.record["socket"] if box.record else (box.pid, box.record["socket"])[1]) as client:
                status, answer = client.post(json.dumps({"text": text, "kind": "turns", "session": f"s{number}"}).encode(), path="/capture")
            assert status == 200, answer
    assert len(box.json("list")["results"]) == len(SECRETS)
    found = everything(box)
    assert b"the door of house 7 opens with" in found
    assert [secret for secret in SECRETS if named(secret, found)] == []
