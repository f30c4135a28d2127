"""The authorization server's own decisions, without HTTP: what is asked, approved, exchanged, and
what a refusal may reveal to whom."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from oneiro_vault.errors import InvalidInput, OAuthRefusal, UnknownClient
from oneiro_vault.http.auth.client_documents import Documents
from oneiro_vault.http.auth.grants import Grants
from oneiro_vault.http.auth.json_store import Store
from oneiro_vault.http.auth.oauth_server import Ask, Authorization
from oneiro_vault.http.auth.registered_clients import Client, Clients
from oneiro_vault.http.auth.tokens import challenge
from tests.http.auth.conftest import Clock

BASE = "https://vault.example.org"
BACK = "https://claude.ai/cb"
VERIFIER = "a-verifier_of.some~length" * 2
DOCUMENT = "https://client.example.org/x"


class Library(Documents):
    """Documents that are known already."""

    async def find(self, url: str) -> Client:
        if url != DOCUMENT:
            raise OAuthRefusal("no such document", code="invalid_client")
        return Client(url, "Documented", (BACK,))


class Setting:
    """A server with one registered program."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.clients = Clients(Store(folder / "clients.json"), clock=clock)
        self.grants = Grants(Store(folder / "grants.json"), 3600, 86_400, clock)
        self.server = Authorization(self.clients, Library(), self.grants)
        made = self.clients.register(
            {"redirect_uris": [BACK], "client_name": "Claude", "token_endpoint_auth_method": "none"}
        )
        self.client: str = made["client_id"]

    def fields(self, **change: str | None) -> dict[str, str]:
        found = {
            "response_type": "code", "client_id": self.client, "redirect_uri": BACK, "state": "s&t",
            "code_challenge": challenge(VERIFIER),
            "code_challenge_method": "S256", "scope": "vault:read vault:write",
            "resource": f"{BASE}/mcp",
        } | change  # fmt: skip
        return {name: value for name, value in found.items() if value is not None}

    def ask(self, **change: str | None) -> Ask:
        return asyncio.run(self.server.ask(self.fields(**change), BASE))

    def code(self, role: str = "writer", **change: str | None) -> str:
        return answer(self.server.approve(self.ask(**change), role))["code"]

    def token(self, proof: tuple[str, str, str] | None = None, **fields: str) -> Mapping[str, Any]:
        given = {
            "grant_type": "authorization_code",
            "redirect_uri": BACK,
            "code_verifier": VERIFIER,
        } | fields
        return asyncio.run(self.server.token(given, *(proof or (self.client, "none", ""))))


@pytest.fixture
def setting(tmp_path: Path, clock: Clock) -> Setting:
    return Setting(tmp_path, clock)


def answer(location: str) -> dict[str, str]:
    assert location.startswith(BACK + "?")
    return {
        name: value
        for name, (value,) in parse_qs(urlsplit(location).query, strict_parsing=True).items()
    }


def test_the_whole_way(setting: Setting) -> None:
    ask = setting.ask()
    assert (ask.client.name, ask.host, ask.role, ask.resource) == (
        "Claude",
        "claude.ai",
        "writer",
        f"{BASE}/mcp",
    )
    back = answer(setting.server.approve(ask, "writer"))
    assert (back["state"], back["iss"]) == ("s&t", BASE)
    made = setting.token(code=back["code"])
    assert made["token_type"] == "Bearer"
    assert made["scope"] == "vault:read vault:write"
    assert made["expires_in"] == 3600
    grant = setting.grants.check(made["access_token"])
    assert grant is not None
    assert grant.terms.role == "writer"
    again = setting.token(grant_type="refresh_token", refresh_token=made["refresh_token"])
    assert setting.grants.check(again["access_token"])


def test_a_person_may_give_less_but_never_more(setting: Setting) -> None:
    made = setting.token(code=setting.code("reader"))
    assert made["scope"] == "vault:read"
    grant = setting.grants.check(made["access_token"])
    assert grant is not None
    assert grant.terms.role == "reader"
    for role in ("writer", "admin", "hook", "local", ""):
        with pytest.raises(InvalidInput):
            setting.server.approve(setting.ask(scope="vault:read"), role)


@pytest.mark.parametrize(
    ("scope", "role"),
    [
        ("vault:read", "reader"), ("vault:write", "writer"), ("vault:read vault:write", "writer"),
        ("", "writer"), (None, "writer"),
        ("offline_access", "writer"), ("vault:read offline_access openid", "reader"),
        ("vault:admin", "writer"), ("VAULT:WRITE vault:read", "reader"),
    ],
)  # fmt: skip
def test_scopes(setting: Setting, scope: str | None, role: str) -> None:
    assert setting.ask(scope=scope).role == role


def test_saying_no(setting: Setting) -> None:
    back = answer(setting.server.deny(setting.ask()))
    assert (back["error"], back["state"], back["iss"]) == ("access_denied", "s&t", BASE)
    assert "code" not in back


@pytest.mark.parametrize(
    "change",
    [
        {"client_id": "onc_nobody"}, {"client_id": ""}, {"client_id": None},
        {"client_id": "https://evil.org/x"}, {"redirect_uri": "https://evil.org/cb"},
        {"redirect_uri": BACK + "/"}, {"redirect_uri": BACK + "?x=1"}, {"redirect_uri": ""},
        {"redirect_uri": None}, {"state": "x" * 2001}, {"state": "a\nb"},
    ],
)  # fmt: skip
def test_while_the_redirect_is_not_trusted_nobody_is_sent_there(
    setting: Setting, change: dict[str, str | None]
) -> None:
    with pytest.raises(OAuthRefusal) as caught:
        setting.ask(**change)
    assert caught.value.location == ""


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "s256"}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"), ({"code_challenge": ""}, "invalid_request"),
        ({"code_challenge": "x" * 42}, "invalid_request"),
        ({"code_challenge": "x" * 44}, "invalid_request"),
        ({"code_challenge": "é" * 43}, "invalid_request"),
        ({"resource": "https://evil.org/mcp"}, "invalid_target"),
        ({"resource": f"{BASE}/mcp/x"}, "invalid_target"),
        ({"resource": f"{BASE}.evil.org/mcp"}, "invalid_target"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"request": "eyJhbGciOiJub25lIn0.e30."}, "invalid_request"),
        ({"request_uri": "https://evil.org/"}, "invalid_request"),
    ],
)  # fmt: skip
def test_other_mistakes_go_back_to_the_program(
    setting: Setting, change: dict[str, str | None], code: str
) -> None:
    with pytest.raises(OAuthRefusal) as caught:
        setting.ask(**change)
    back = answer(caught.value.location)
    assert (back["error"], back["state"], back["iss"]) == (code, "s&t", BASE)
    assert caught.value.code == code


@pytest.mark.parametrize("resource", [None, "", BASE, f"{BASE}/", f"{BASE}/mcp"])
def test_the_resource_is_this_vault(setting: Setting, resource: str | None) -> None:
    made = setting.token(code=setting.code(resource=resource), resource=resource or "")
    grant = setting.grants.check(made["access_token"])
    assert grant is not None
    assert grant.terms.resource == f"{BASE}/mcp"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"code_verifier": VERIFIER[:-1] + "X"}, "invalid_grant"),
        ({"code_verifier": ""}, "invalid_grant"), ({"code_verifier": "short"}, "invalid_grant"),
        ({"code_verifier": challenge(VERIFIER)}, "invalid_grant"),
        ({"code_verifier": "x" * 129}, "invalid_grant"), ({"code": ""}, "invalid_grant"),
        ({"redirect_uri": "https://evil.org/cb"}, "invalid_grant"),
        ({"redirect_uri": ""}, "invalid_grant"),
        ({"resource": "https://evil.org/mcp"}, "invalid_grant"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": ""}, "unsupported_grant_type"),
    ],
)  # fmt: skip
def test_what_the_token_endpoint_refuses(
    setting: Setting, fields: dict[str, str], code: str
) -> None:
    with pytest.raises(OAuthRefusal) as caught:
        setting.token(None, **({"code": setting.code()} | fields))
    assert (caught.value.code, caught.value.http_status) == (code, 400)
    assert setting.grants.list() == []


def test_a_code_is_bound_to_its_program(setting: Setting) -> None:
    other = setting.clients.register(
        {"redirect_uris": [BACK], "token_endpoint_auth_method": "none"}
    )["client_id"]
    with pytest.raises(OAuthRefusal, match="another program"):
        setting.token((other, "none", ""), code=setting.code())


@pytest.mark.parametrize(
    "proof",
    [
        ("", "none", ""),
        ("onc_x", "none", ""),
        ("https://evil.org/x", "none", ""),
        (DOCUMENT, "client_secret_post", "x"),
    ],
)
def test_unknown_programs_at_the_token_endpoint(
    setting: Setting, proof: tuple[str, str, str]
) -> None:
    with pytest.raises(UnknownClient) as caught:
        setting.token(proof, code=setting.code())
    assert (caught.value.code, caught.value.http_status) == ("invalid_client", 401)


def test_a_program_named_by_a_document(setting: Setting) -> None:
    code = setting.code(client_id=DOCUMENT)
    assert setting.token((DOCUMENT, "none", ""), code=code)["access_token"]


def test_without_documents_such_programs_are_unknown(setting: Setting) -> None:
    server = Authorization(setting.clients, None, setting.grants)
    assert server.metadata(BASE)["client_id_metadata_document_supported"] is False
    with pytest.raises(UnknownClient):
        asyncio.run(server.ask(setting.fields(client_id=DOCUMENT), BASE))


def test_revoking(setting: Setting) -> None:
    made = setting.token(code=setting.code())
    other = setting.clients.register(
        {"redirect_uris": [BACK], "token_endpoint_auth_method": "none"}
    )["client_id"]
    assert asyncio.run(setting.server.revoke(made["access_token"], other, "none", "")) == ""
    with pytest.raises(UnknownClient):
        asyncio.run(setting.server.revoke(made["access_token"], "onc_x", "none", ""))
    assert setting.grants.check(made["access_token"])
    assert asyncio.run(setting.server.revoke(made["refresh_token"], setting.client, "none", ""))
    assert setting.grants.check(made["access_token"]) is None


def test_what_it_says_of_itself(setting: Setting) -> None:
    found = setting.server.metadata(BASE)
    assert found["issuer"] == BASE
    assert all(found[name].startswith(BASE + "/") for name in found if name.endswith("_endpoint"))
    assert found["code_challenge_methods_supported"] == ["S256"]
    assert found["authorization_response_iss_parameter_supported"] is True
    assert "none" in found["token_endpoint_auth_methods_supported"]
    assert dict(setting.server.resource(BASE)) | {
        "resource": f"{BASE}/mcp",
        "authorization_servers": [BASE],
    } == setting.server.resource(BASE)


def test_an_approved_program_is_kept(setting: Setting, clock: Clock) -> None:
    setting.code()
    assert setting.clients._store.read()[setting.client]["approved"] == clock.now
