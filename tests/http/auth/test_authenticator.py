"""Who holds a token is who, with which rights; how often; and what is left of it on the disk."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from oneiro_vault.core.principal import ADMIN, CAPTURE, ORIENT, READ, WRITE
from oneiro_vault.errors import DiskProblem, NotFound
from oneiro_vault.http.auth.access_tokens import Terms, challenge
from oneiro_vault.http.auth.authenticator import FLUSH, KNOCKS, Access, Rules, folder_of
from tests.http.auth.conftest import Clock

MCP = "https://vault.example.org/mcp"


@pytest.fixture
def access(tmp_path: Path, clock: Clock) -> Access:
    return Access(tmp_path / "a", Rules(reads=5, writes=2), clock)


def granted(access: Access, role: str = "writer") -> tuple[str, str]:
    """(access token, id of the grant)"""
    code = access.grants.open(
        Terms("c", "Claude", "claude.ai", role, MCP), "http://127.0.0.1/", challenge("v" * 43)
    )
    tokens = access.grants.redeem(code, "c", "http://127.0.0.1/", challenge("v" * 43), "")
    found = access.grants.check(tokens["access_token"])
    assert found is not None
    return tokens["access_token"], found.id


@pytest.mark.parametrize(
    ("role", "actor", "may"),
    [
        ("reader", "model", {READ, ORIENT}), ("writer", "model", {READ, ORIENT, WRITE}),
        ("hook", "capture", {ORIENT, CAPTURE}),
        ("admin", "model", {READ, ORIENT, WRITE, CAPTURE, ADMIN}),
    ],
)  # fmt: skip
def test_a_key_is_a_caller(access: Access, role: str, actor: str, may: set[str]) -> None:
    text, key = access.keys.add(role)
    caller = access.identify(text, ())
    assert caller is not None
    assert (caller.actor, caller.role, caller.name) == (actor, role, f"key:{key.id}")
    assert {scope for scope in (READ, WRITE, CAPTURE, ORIENT, ADMIN) if caller.may(scope)} == may
    assert access.holds(caller)
    access.revoke(key.id)
    assert not access.holds(caller)
    assert access.identify(text, ()) is None


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_a_grant_is_a_caller_for_its_own_resource_only(access: Access, role: str) -> None:
    token, grant = granted(access, role)
    caller = access.identify(token, {MCP, "https://x.org/mcp"})
    assert caller is not None
    assert (caller.actor, caller.role, caller.name) == ("model", role, f"oauth:{grant}")
    for others in (
        (),
        {"https://other.example.org/mcp"},
        {MCP + "/"},
        {"https://vault.example.org"},
    ):
        assert access.identify(token, others) is None
    access.revoke(grant)
    assert not access.holds(caller)
    assert access.identify(token, {MCP}) is None


def test_nobody_who_comes_over_a_network_is_the_user(access: Access) -> None:
    found = [
        access.identify(access.keys.add(role)[0], ())
        for role in ("reader", "writer", "hook", "admin")
    ]
    assert {caller.actor for caller in found if caller} == {"model", "capture"}


def test_each_caller_has_its_own_permits(access: Access) -> None:
    one, other = (access.identify(access.keys.add("writer")[0], ()) for _ in range(2))
    assert one is not None
    assert other is not None
    assert [access.spend(one, READ) > 0 for _ in range(6)] == [False] * 5 + [True]
    assert [access.spend(one, WRITE) > 0 for _ in range(3)] == [False, False, True]
    assert access.spend(other, WRITE, 2) == 0


@pytest.mark.parametrize("kind", KNOCKS)
def test_strangers_are_limited_by_address_and_together(access: Access, kind: str) -> None:
    near, far, _ = KNOCKS[kind]
    assert [access.knock(kind, "a") > 0 for _ in range(near + 1)] == [False] * near + [True]
    assert access.knock(kind, "b") == 0
    assert sum(access.knock(kind, f"x{n}") == 0 for n in range(far + 10)) <= far


def test_last_use_is_noted_now_and_then(access: Access, clock: Clock) -> None:
    text, key = access.keys.add("reader")
    assert access.listing()["keys"][0]["used"] is None
    access.identify(text, ())
    access.flush()
    first = clock.now
    clock.now += FLUSH / 2
    access.identify(text, ())
    assert access.listing()["keys"][0]["used"] == clock.now
    stored = json.loads((access.folder / "used.json").read_text())
    assert stored == {f"key:{key.id}": first}
    clock.now += FLUSH + 1
    access.identify(text, ())
    assert Access(access.folder, clock=clock).listing()["keys"][0]["used"] == clock.now


def test_a_disk_that_takes_no_notes_keeps_nobody_out(access: Access) -> None:
    text, _ = access.keys.add("reader")
    (access.folder / "used.json").mkdir()
    assert access.identify(text, ()) is not None


def test_a_damaged_file_lets_nobody_in(access: Access) -> None:
    text, _ = access.keys.add("reader")
    token, _ = granted(access)
    (access.folder / "keys.json").write_text("{")
    for secret in (text, token):
        with pytest.raises(DiskProblem):
            access.identify(secret, {MCP})


def test_listing_shows_no_secret(access: Access) -> None:
    text, _ = access.keys.add("reader", "laptop")
    token, grant = granted(access)
    found = access.listing()
    assert [(key["role"], key["name"], key["valid"]) for key in found["keys"]] == [
        ("reader", "laptop", True)
    ]
    assert [(entry["id"], entry["host"]) for entry in found["grants"]] == [(grant, "claude.ai")]
    assert found["login"] is False
    assert text[-43:] not in json.dumps(found)
    assert token[-43:] not in json.dumps(found)
    assert "hash" not in json.dumps(found)


def test_revoking_what_is_not_there(access: Access) -> None:
    with pytest.raises(NotFound):
        access.revoke("nothing")
    access.revoke(access.keys.add("reader", "laptop")[1].name)
    assert '"op": "revoke"' in (access.folder / "audit.jsonl").read_text()


def test_a_page_is_sealed_for_ten_minutes_and_for_this_process(
    access: Access, clock: Clock
) -> None:
    closed = access.pages.close({"a": 1})
    assert access.pages.open(closed) == {"a": 1}
    assert Access(access.folder, clock=clock).pages.open(closed) is None
    clock.now += 601
    assert access.pages.open(closed) is None


def test_everything_is_private(access: Access) -> None:
    before = os.umask(0)
    try:
        granted(access)
        access.identify(access.keys.add("reader")[0], ())
        access.login.set("a longer password")
        access.audit.write("x", "y", 1)
        access.flush()
    finally:
        os.umask(before)
    assert stat.S_IMODE(access.folder.stat().st_mode) == 0o700
    assert {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in access.folder.iterdir()
        if stat.S_IMODE(path.stat().st_mode) != 0o600
    } == {}


def test_each_vault_has_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "link").symlink_to("v")
    assert folder_of(tmp_path / "v", tmp_path) == folder_of(tmp_path / "link", tmp_path)
    assert folder_of(tmp_path / "v", tmp_path) != folder_of(tmp_path / "w", tmp_path)
    assert folder_of(tmp_path / "v", tmp_path).parent == tmp_path / "access"
