"""Bar row 45: a secret is found before it is committed, whichever way it comes; what a caller
sends, also by mistake, is in no log and no trace; and what is private in nothing at all."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.capture.markers import ALLOW
from oneiro_vault.errors import OneiroError, SecretFound
from oneiro_vault.memory_tool import Memories
from oneiro_vault.vault.secrets.secret_scan import REMOVED
from tests.box import Box
from tests.copies import new_vault
from tests.mcp.raw import LEGACY, MODERN, Http
from tests.operations.conftest import QUICK
from tests.vault.support import git

_A = "AbCdEf0123456789"
SECRETS = (
    "AKIA" + "Q3EGRV5NZJ2YTLKW", "aws_secret_access_key=" + _A * 2 + "abcdEFGH",
    "ghp_" + _A * 2 + "abcd", "gho_" + _A * 2 + "efgh",
    "github_pat_11" + _A * 4, "glpat-" + _A + "abcd", "xoxb-123456789012-" + _A,
    "xoxp-987654321098-" + _A, "sk-ant-api03-" + _A * 4,
    "sk-proj-" + _A * 3, "sk-" + _A * 3, "AIza" + "Sy" + _A * 2 + "x", "ya29." + _A * 3,
    "SG." + _A + ".0" + _A, "sk_live_" + _A * 2,
    "rk_test_" + _A * 2, "whsec_" + _A * 2, "npm_" + _A * 2 + "wxyz",
    "pypi-AgEIcHlwaS5vcmc" + _A * 2, "dop_v1_" + "0a1b2c3d" * 8,
    "hf_" + _A * 2 + "qr", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx" + _A + ".s5" + _A,
    "-----BEGIN OPENSSH PRIVATE KEY-----b3BlbnNzaC" + _A,
    "postgres://app:hunter2" + _A + "@db.example/x", "mongodb+srv://u:pw" + _A + "@c.example",
    "https://user:tok3n" + _A + "@git.example/r",
    "Authorization: Bearer b3ar" + _A, "password=correct-horse-" + _A,
    "DefaultEndpointsProtocol=https;AccountKey=" + _A * 2 + "==",
    "onk_admin_01234567_" + _A * 2 + "abcdefghijk", "4111 1111 1111 1" + "111",
    "otpauth://totp/x?secret=JBSWY3DP" + _A,
)  # fmt: skip


def traces(box: Box) -> dict[Path, bytes]:
    """Everything the machine keeps besides notes, history and indexes: logs, records, spool,
    sessions, audit, settings."""
    folders = [
        box.vault / ".oneiro",
        box.vault / ".git" / "oneiro",
        box.folder / "home",
        box.folder / "serve.log",
    ]
    files = [path for folder in folders for path in [folder, *folder.rglob("*")] if path.is_file()]
    return {
        path: path.read_bytes()
        for path in files
        if path.suffix not in {".db", ".sqlite3", ".bin", ".db-wal", ".db-shm", ".sqlite3-wal"}
    }


def everything(box: Box) -> dict[str, bytes]:
    """All bytes of all files by name, and all objects of the repository."""
    files = {
        str(path.relative_to(box.folder)): path.read_bytes()
        for path in box.folder.rglob("*")
        if path.is_file()
    }
    return files | {
        "git log -p": git(box.vault, "log", "--all", "-p", "--format=%B%an%ae").encode()
    }


def named(secret: str, data: bytes) -> bool:
    """Is a telling part of the secret there?"""
    return any(part.encode() in data for part in (secret, secret[-20:], json.dumps(secret)[1:-1]))


def around(secret: str, data: bytes) -> bytes:
    """Where it stands, for whoever has to find out how it came there."""
    place = max(data.find(secret.encode()), data.find(secret[-20:].encode()))
    return data[max(0, place - 200) : place + 200]


def ill_use(client: Http, secret: str) -> None:
    """The secret everywhere a caller may put one by mistake, in right requests and in wrong
    ones."""
    calls: dict[str, dict[str, Any]] = {
        "recall_check": {"topic": secret}, "recall_orient": {"context": secret},
        "recall_specific": {"ids": [secret]}, "recall_image": {"id": secret},
        "remember": {"text": f"The key is {secret}.", "type": secret},
        "reframe": {"id": secret, "text": secret}, "forget": {"id": secret, "reason": secret},
        "reflect": {"highlights": secret, "updates": [{"id": secret, "text": secret}], secret[:30]: 1}, "flagged": {secret: secret},
        "remember_with_image": {"text": secret, "image": secret},
    }  # fmt: skip
    for name, given in calls.items():
        client.tool(name, **given)
    client.rpc(
        "tools/call",
        {"name": "remember", "arguments": {"text": f"It opens with {secret}, says Ana."}},
    )
    for method, params in {
        "prompts/get": {"name": secret},
        "resources/read": {"uri": f"memory://{secret}"},
        secret: {"x": secret},
    }.items():
        client.post(
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        )
    for path, body in {
        "/mcp": secret,
        "/api/recall": json.dumps({"query": [secret]}),
        "/api/show": json.dumps({"id": secret}),
        "/capture": secret,
    }.items():
        client.post(body.encode(), path=path)


def test_there_are_thirty_shapes() -> None:
    assert len(set(SECRETS)) >= 30


@pytest.mark.slow
def test_what_callers_send_is_in_no_log(box: Box) -> None:
    _ = box.pid
    for era in (MODERN, LEGACY):
        with Http(box.record["socket"], era) as client:
            for secret in SECRETS:
                ill_use(client, secret)
    for secret in SECRETS:
        assert box("show", secret).returncode in (2, 3)
        assert box("--no-such-option", secret).returncode == 2
    assert box.json("list")["results"] == [], "none of them became a memory"
    assert box.remember("It opens with a key, says Ana.")["id"], "and what holds none still does"
    found = traces(box)
    assert any(path.name == "owner.log" and data for path, data in found.items())
    told = {
        (secret, str(path))
        for secret in SECRETS
        for path, data in found.items()
        if named(secret, data)
    }
    assert told == set()


@pytest.mark.slow
def test_what_is_private_is_nowhere(box: Box) -> None:
    box.folder.joinpath(ALLOW).touch()
    for number, secret in enumerate(SECRETS):
        text = (
            f"User: the door of house {number} opens with <private>{secret}</private>, tell nobody."
        )
        if number % 2:
            box.ok("capture", "-", stdin=text.encode())
        else:
            with Http(
                box.record["socket"] if box.record else (box.pid, box.record["socket"])[1]
            ) as client:
                status, answer = client.post(
                    json.dumps({"text": text, "kind": "turns", "session": f"s{number}"}).encode(),
                    path="/capture",
                )
            assert status == 200, answer
    assert len(box.json("list")["results"]) == len(SECRETS)
    found = everything(box)
    assert b"the door of house 7 opens with" in found["git log -p"]
    assert {
        name: around(secret, data)
        for name, data in found.items()
        for secret in SECRETS
        if named(secret, data)
    } == {}


# -- before the commit
# --------------------------------------------------------------------------------------------------

Door = Callable[[App, str, str], Any]


def plain(app: App) -> str:
    """A note like any other; being remembered again it is only found."""
    found: str = app.call("remember", {"items": [{"text": "The harbour is closed on Mondays."}]})[
        "results"
    ][0]["id"]
    return found


REFUSE: dict[str, Door] = {
    "text": lambda app, _, s: app.call(
        "remember", {"items": [{"text": f"It opens with {s}, says Ana."}]}
    ),
    "title": lambda app, _, s: app.call("remember", {"items": [{"text": "Words.", "title": s}]}),
    "description": lambda app, _, s: app.call(
        "remember", {"items": [{"text": "Words.", "description": f"the key {s}"}]}
    ),
    "a key of their own": lambda app, _, s: app.call(
        "remember", {"items": [{"text": "Words.", "tags": ["a", s], "session": f"x {s}"}]}
    ),
    "an actor's": lambda app, _, s: app.call(
        "remember", {"items": [{"text": f"{s}"}], "actor": "model"}
    ),
    "one of several": lambda app, _, s: app.call(
        "remember", {"items": [{"text": "Good."}, {"text": f"Bad: {s}"}]}
    ),
    "reframe": lambda app, i, s: app.call("reframe", {"id": i, "text": f"It says {s} now."}),
    "reframe's title": lambda app, i, s: app.call(
        "reframe", {"id": i, "text": "Other words.", "title": s}
    ),
    "reframe's reason": lambda app, i, s: app.call(
        "reframe", {"id": i, "text": "Still other words.", "reason": f"because {s}"}
    ),
    "a model's reframe": lambda app, _, s: app.call(
        "reframe", {"id": plain(app), "text": f"It says {s} now.", "actor": "model"}
    ),
    "forget's reason": lambda app, i, s: app.call("forget", {"id": i, "reason": s}),
    "ratify's reason": lambda app, i, s: app.call("ratify", {"id": i, "reason": s}),
    "resolve's reason": lambda app, i, s: app.call("resolve", {"id": i, "reason": s}),
    "reflect": lambda app, _, s: app.call("reflect", {"highlights": f"We spoke of {s}."}),
    "the memory tool's create": lambda app, _, s: Memories(app).create(
        "/memories/semantic/x.md", f"It is {s}.\n"
    ),
    "a bad name": lambda app, i, s: app.call(
        "move", {"id": i, "path": f"semantic/{s.replace('/', '-')}.md"}
    ),
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    root = tmp_path_factory.mktemp("doors") / "vault"
    new_vault(root)
    with App.open(root, QUICK) as made:
        yield made


@pytest.fixture(scope="module")
def block(app: App) -> str:
    """An orientation note with a flag: every door that needs an id takes it."""
    meta = {"type": "orientation", "title": "The boat", "flags": ["conflict"]}
    found: str = app.call("remember", {"items": [{"text": "Petrel lies in the harbour.", **meta}]})[
        "results"
    ][0]["id"]
    plain(app)
    return found


def committed(root: Path) -> bytes:
    """Every object of a repository, reachable or not."""
    command = ["git", "-C", str(root), "cat-file", "--batch", "--batch-all-objects"]
    return subprocess.run(command, capture_output=True, check=True, timeout=60).stdout


@pytest.mark.parametrize("door", REFUSE)
def test_every_door_refuses_every_shape_and_repeats_none(app: App, block: str, door: str) -> None:
    before = app.house.vault.head()
    for secret in SECRETS:
        if door == "a bad name" and not app.house.vault.secrets.find(
            f"semantic/{secret.replace('/', '-')}.md"
        ):
            continue  # as a file's name it is not the secret any more
        with pytest.raises(OneiroError) as caught:
            REFUSE[door](app, block, secret)
        if isinstance(caught.value, SecretFound):
            assert not named(secret, json.dumps(caught.value.to_dict()).encode())
        else:
            assert door == "a bad name", caught.value
    assert app.house.vault.head() == before


def test_what_comes_by_itself_is_stored_without_them(app: App) -> None:
    """Nobody is there to say a captured conversation again: it loses its secrets and nothing
    else."""
    for number, secret in enumerate(SECRETS):
        text = (
            f"User: the door of house {number} opens with {secret}\n\nAssistant: I shall not tell."
        )
        done = app.call("capture", {"text": text, "kind": "turns", "session": f"s{number}"})
        assert "I shall not tell." in app.call("show", {"id": done["id"]})["body"]
    found = committed(app.house.root)
    assert b"the door of house 7 opens with" in found
    assert [secret for secret in SECRETS if named(secret, found)] == []


def test_a_file_of_memories_loses_only_the_lines_with_one(app: App) -> None:
    items = [
        item
        for secret in SECRETS
        for item in ({"text": f"Secret line: {secret}"}, {"text": f"Good line {hash(secret)}"})
    ]
    done = app.call("remember", {"items": items, "partial": True})
    assert [one["item"] for one in done["rejected"]] == list(range(0, 2 * len(SECRETS), 2))
    assert len(done["results"]) == len(SECRETS)
    assert not any(named(secret, json.dumps(done).encode()) for secret in SECRETS)


def test_a_question_with_one_is_not_noted_in_the_ledger(app: App) -> None:
    app.call("remember", {"items": [{"text": "The harbour master keeps the token of the gate."}]})
    for secret in SECRETS[:8]:
        for row in app.call("recall", {"query": f"harbour master token {secret}", "k": 1})[
            "results"
        ]:
            app.call("get", {"ids": [row["id"]]})
    app.house.vault.fold()
    assert not any(named(secret, committed(app.house.root)) for secret in SECRETS)


@pytest.mark.slow
def test_a_persons_own_edits_wait_on_disk(app: App) -> None:
    for number, secret in enumerate(SECRETS):
        (app.house.root / f"own-{number}.md").write_text(f"Mine: {secret}\n")
    app.house.commit_edits()
    held = {one["path"]: one["reason"] for one in app.call("status")["held"]}
    assert set(held) == {f"own-{number}.md" for number in range(len(SECRETS))}
    doctored = [one for one in app.call("doctor")["problems"] if one["code"] == "secret"]
    told = json.dumps([held, doctored]).encode()
    assert len(doctored) == len(SECRETS)
    assert [
        secret
        for secret in SECRETS
        if named(secret, told) or named(secret, committed(app.house.root))
    ] == []
    rows = app.call("recall", {"query": "Mine", "k": 200})["results"]
    assert {one["path"] for one in rows} >= held.keys(), "they are found by their other words"
    mine = [one["id"] for one in rows if one["path"] in held]
    answers = [
        rows,
        app.call("list", {"limit": 1000}),
        *(app.call("get", {"ids": [ident]}) for ident in mine),
        *(app.call("show", {"id": ident, "why": True}) for ident in mine),
        *(app.call("blame", {"id": ident}) for ident in mine),
        *(app.call("browse", {"path": path}) for path in held),
        *(app.call("recall", {"query": f"Mine: {secret}"}) for secret in SECRETS),
        *(app.call("inject", {"prompt": f"What is mine of {secret}?"}) for secret in SECRETS),
    ]
    handed = json.dumps(answers, ensure_ascii=False).encode()
    assert [secret for secret in SECRETS if named(secret, handed)] == []
    assert REMOVED.encode() in handed
    for number in range(len(SECRETS)):
        (app.house.root / f"own-{number}.md").unlink()


@pytest.mark.slow
def test_redacted_instead_everything_arrives_without_them(tmp_path: Path) -> None:
    new_vault(tmp_path / "vault")
    with App.open(tmp_path / "vault", QUICK.but(secrets_mode="redact")) as open_:
        ident = open_.call("remember", {"items": [{"text": "A first text."}]})["results"][0]["id"]
        for number, secret in enumerate(SECRETS):
            open_.call(
                "remember",
                {
                    "items": [
                        {"text": f"{secret} opens door {number}.", "tags": [f"t{number}", secret]}
                    ],
                    "dedupe": False,
                },
            )
            with suppress(SecretFound):  # a note's own name is never rewritten behind its back
                open_.call(
                    "reframe",
                    {"id": ident, "text": f"Text {number}: {secret}", "reason": f"heard {secret}"},
                )
        assert len(open_.call("list", {"limit": 100})["results"]) == 1 + len(SECRETS)
        found = (
            committed(tmp_path / "vault") + str(sorted((tmp_path / "vault").rglob("*"))).encode()
        )
    assert [secret for secret in SECRETS if named(secret, found)] == []


@pytest.mark.slow
def test_the_command_line_and_the_network_refuse_them_too(box: Box) -> None:
    """The same operations behind them were asked above with every shape: here one each, through the
    real doors."""
    ident = box.remember("Petrel lies in the harbour.")["id"]
    before = box.json("log")["entries"][0]["commit"]
    doors = [
        ("remember", "It is {}."), ("remember", "Words.", "--title", "{}"),
        ("reframe", ident, "Now {}."), ("forget", ident, "--reason", "{}"),
        ("remember", "--from-jsonl", "-"),
    ]  # fmt: skip
    for secret, door in zip(SECRETS, doors, strict=False):
        done = box(
            *(word.replace("{}", secret) for word in door),
            stdin=json.dumps({"text": secret}).encode(),
        )
        assert done.returncode != 0, (door, done)
        assert not named(secret, done.stdout + done.stderr), done
    with Http((box.pid, box.record["socket"])[1]) as client:
        for secret in SECRETS:
            status, answer = client.post(
                json.dumps({"items": [{"text": f"It is {secret}."}]}).encode(), path="/api/remember"
            )
            assert (status, named(secret, answer)) == (422, False), answer
            for tool, given in {
                "remember": {"text": f"So {secret}."},
                "reframe": {"id": ident, "text": f"So {secret}."},
            }.items():
                assert not named(secret, json.dumps(client.tool(tool, **given)).encode())
            client.tool("reflect", highlights=f"We spoke of {secret}.")
            client.tool("forget", id=ident, reason=f"of {secret}")
    assert box.json("log")["entries"][0]["commit"] == before
    assert [secret for secret in SECRETS if named(secret, committed(box.vault))] == []
