"""The authorization server's own decisions, without HTTP: who may register, where a code may be
sent (letter by letter, but for the port of a loopback address), what is asked, approved, exchanged,
and what a refusal may reveal to whom."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from oneiro_vault.errors import InvalidInput, OAuthRefusal, UnknownClient
from oneiro_vault.http.auth import oauth_server
from oneiro_vault.http.auth.access_tokens import Grants, challenge
from oneiro_vault.http.auth.client_documents import Documents
from oneiro_vault.http.auth.json_store import Store
from oneiro_vault.http.auth.oauth_server import (
    MOST,
    Ask,
    Authorization,
    Client,
    Clients,
    proved,
    shown_name,
)
from tests.http.auth.conftest import Clock

GOOD = "https://claude.ai/api/mcp/auth_callback"


@pytest.mark.parametrize(
    "uri",
    [
        GOOD, "https://claude.com/api/mcp/auth_callback",
        "https://chatgpt.com/connector/oauth/abc123", "https://example.org:8443/cb?a=b",
        "http://127.0.0.1/callback", "http://127.0.0.1:19876/mcp/oauth/callback",
        "http://localhost:3118/callback", "http://[::1]:7/cb",
        "cursor://anysphere.cursor-mcp/oauth/callback", "vscode://vscode.example/cb",
    ],
)  # fmt: skip
def test_what_programs_register(uri: str) -> None:
    assert oauth_server.check(uri) == uri
    assert oauth_server.fits(uri, [uri])


@pytest.mark.parametrize(
    "uri",
    [
        "", " ", "x", "/cb", "//evil.org/cb", "http://evil.org/cb", "http://127.0.0.1.evil.org/cb",
        "http://127.0.0.2/cb", "http://0.0.0.0/cb",
        "https://localhost/cb", "javascript:alert(1)", "javascript://localhost/%0aalert(1)",
        "data:text/html,x", "file:///etc/passwd", "ftp://x.org/",
        "https://user@evil.org/cb", "https://claude.ai@evil.org/cb",
        "https://claude.ai\\@evil.org/cb", "https://evil.org\\.claude.ai/cb",
        "https://evil.org/cb#code", "https://evil.org/cb#", "https://evil .org/",
        "https://evil.org/\n", "https://evil.org/\x00", "https://é.org/",
        "https://", "https:///cb", "https:/evil.org", "https:evil.org", "HTTPS://evil.org/cb",
        "https://[::2]/cb", "https://[::1/cb", "https://x:y/",
        "https://x.org:99999/", "https://evil.org;script-src/cb", "https://-x.org/",
        "https://x.org./", "com.example.app:/cb", "*://x", "https://*.org/cb",
        "https://evil%2eorg/cb", "blob:https://x.org/1", "https://x.org/" + "a" * 2000,
        "about:blank", "ws://x.org/", "tel:+1",
    ],
)  # fmt: skip
def test_what_nobody_may_register(uri: str) -> None:
    with pytest.raises(OAuthRefusal) as caught:
        oauth_server.check(uri)
    assert caught.value.code == "invalid_redirect_uri"
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("uri", [None, 5, ["https://x.org"], {"a": 1}, b"https://x.org/"])
def test_what_is_no_text(uri: object) -> None:
    with pytest.raises(OAuthRefusal):
        oauth_server.check(uri)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize(
    "uri",
    [
        GOOD + "/", GOOD + "x", GOOD + "?a=b", GOOD + "#x", GOOD[:-1],
        GOOD.replace("https", "http"), GOOD.upper(), GOOD + "/../evil", GOOD + "%2f..",
        "https://claude.ai.evil.org/api/mcp/auth_callback",
        "https://evil.org/?https://claude.ai/api/mcp/auth_callback",
        "https://claude.ai:443/api/mcp/auth_callback",
        "https://claude.ai", "https://claude.ai/", "https://x@claude.ai/api/mcp/auth_callback",
        "https://claude.ai/api/mcp/auth_callback\n", "",
        "http://127.0.0.1/callback",
    ],
)  # fmt: skip
def test_prefixes_suffixes_and_lookalikes_do_not_fit(uri: str) -> None:
    assert not oauth_server.fits(uri, [GOOD])


@pytest.mark.parametrize(
    ("requested", "fits"),
    [
        ("http://127.0.0.1:1/callback", True), ("http://127.0.0.1:65535/callback", True),
        ("http://127.0.0.1/callback", True),
        ("http://127.0.0.1:5/callback/", False), ("http://127.0.0.1:5/callbackx", False),
        ("http://127.0.0.1:5/callback?x=1", False),
        ("http://127.0.0.1:5/", False), ("http://localhost:5/callback", False),
        ("http://[::1]:5/callback", False), ("http://127.0.0.2:5/callback", False),
        ("https://127.0.0.1:5/callback", False), ("http://127.0.0.1:5@evil.org/callback", False),
        ("http://127.0.0.1:x/callback", False),
        ("http://127.0.0.1:99999/callback", False),
        ("http://127.0.0.1:5\\@evil.org/callback", False), ("http://evil.org:5/callback", False),
    ],
)  # fmt: skip
def test_on_loopback_only_the_port_may_differ(requested: str, fits: bool) -> None:
    assert oauth_server.fits(requested, ["http://127.0.0.1:33418/callback"]) is fits


def test_another_port_is_another_address_elsewhere() -> None:
    assert not oauth_server.fits("https://x.org:8443/cb", ["https://x.org/cb"])


def test_the_operators_list_narrows_and_adds() -> None:
    listed = {GOOD, "com.example.app:/cb", "https://intern.example.org/cb"}
    for uri in [*listed, "http://127.0.0.1:5/cb", "http://localhost/cb"]:
        assert oauth_server.check(uri, listed) == uri
    for uri in (
        "https://evil.org/cb",
        GOOD + "/",
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "com.example.app:/cb2",
    ):
        with pytest.raises(OAuthRefusal):
            oauth_server.check(uri, listed)


@pytest.mark.parametrize(
    ("uri", "host", "source"),
    [
        (GOOD, "claude.ai", "https://claude.ai"),
        ("http://127.0.0.1:5/cb", "127.0.0.1 (this computer)", "http://127.0.0.1:5"),
        ("http://[::1]:5/cb", "::1 (this computer)", "http:"),
        ("cursor://x.y/cb", "cursor: (a program on this computer)", "cursor:"),
        ("https://x.org:8443/cb;a,b'c", "x.org", "https://x.org:8443"),
    ],
)  # fmt: skip
def test_what_people_and_policies_see(uri: str, host: str, source: str) -> None:
    assert (oauth_server.host(uri), oauth_server.source(uri)) == (host, source)


def test_fields_are_added_to_a_query() -> None:
    assert (
        oauth_server.with_query("https://x.org/cb", code="a&b", state="", iss="https://v.org")
        == "https://x.org/cb?code=a%26b&iss=https%3A%2F%2Fv.org"
    )
    assert (
        oauth_server.with_query("https://x.org/cb?a=1", code="c") == "https://x.org/cb?a=1&code=c"
    )


ASKED: dict[str, Any] = {
    "redirect_uris": ["http://127.0.0.1/cb"],
    "client_name": "Claude",
    "token_endpoint_auth_method": "none",
}


@pytest.fixture
def clients(store: Store, clock: Clock) -> Clients:
    return Clients(store, clock=clock)


def test_registering(clients: Clients, store: Store, clock: Clock) -> None:
    made = clients.register(ASKED)
    assert made["redirect_uris"] == ["http://127.0.0.1/cb"]
    assert "client_secret" not in made
    found = Clients(Store(store.path)).find(made["client_id"])
    assert (found.name, found.redirects, found.method) == (
        "Claude",
        ("http://127.0.0.1/cb",),
        "none",
    )
    assert clients.register(ASKED)["client_id"] != made["client_id"]


@pytest.mark.parametrize("method", [None, "client_secret_basic", "client_secret_post"])
def test_a_program_with_a_secret(clients: Clients, store: Store, method: str | None) -> None:
    made = clients.register(ASKED | {"token_endpoint_auth_method": method})
    used = method or "client_secret_basic"
    assert made["token_endpoint_auth_method"] == used
    assert made["client_secret_expires_at"] == 0
    assert made["client_secret"] not in store.path.read_text()
    client = clients.find(made["client_id"])
    proved(client, used, made["client_secret"])
    for other, secret in ((used, "x"), (used, ""), ("none", ""), ("none", made["client_secret"])):
        with pytest.raises(UnknownClient):
            proved(client, other, secret)


def test_a_program_without_one_must_not_bring_one(clients: Clients) -> None:
    client = clients.find(clients.register(ASKED)["client_id"])
    proved(client, "none", "")
    with pytest.raises(UnknownClient):
        proved(client, "client_secret_post", "x")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": "http://127.0.0.1/"}, "invalid_redirect_uri"),
        ({"redirect_uris": None}, "invalid_redirect_uri"),
        ({"redirect_uris": [5]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["http://127.0.0.1/"] * 11}, "invalid_redirect_uri"),
        ({"redirect_uris": ["javascript:1"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["http://127.0.0.1/", "http://evil.org/"]}, "invalid_redirect_uri"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
        ({"token_endpoint_auth_method": ["none"]}, "invalid_client_metadata"),
        ({"grant_types": ["client_credentials"]}, "invalid_client_metadata"),
        ({"grant_types": "x"}, "invalid_client_metadata"),
        ({"response_types": ["token"]}, "invalid_client_metadata"),
    ],
)  # fmt: skip
def test_what_is_refused(clients: Clients, store: Store, change: dict[str, Any], code: str) -> None:
    with pytest.raises(OAuthRefusal) as caught:
        clients.register(ASKED | change)
    assert caught.value.code == code
    assert store.read() == {}


@pytest.mark.parametrize("ident", ["", "x", "onc_", "__proto__", "../x", "https://x.org/y"])
def test_nobody_else_is_known(clients: Clients, ident: str) -> None:
    clients.register(ASKED)
    with pytest.raises(UnknownClient) as caught:
        clients.find(ident)
    assert (caught.value.code, caught.value.http_status) == ("invalid_client", 401)


def test_they_are_bounded_and_approved_ones_stay_longest(
    clients: Clients, store: Store, clock: Clock
) -> None:
    approved = clients.register(ASKED)["client_id"]
    clients.approved(approved)
    clients.approved("nobody")
    entry = {
        "name": "x",
        "redirects": ["http://127.0.0.1/"],
        "method": "none",
        "secret": "",
        "approved": None,
    }
    with store.change() as known:
        known.update({f"idle{n}": entry | {"created": n} for n in range(MOST - 1)})
    newest = clients.register(ASKED)["client_id"]
    known = store.read()
    assert len(known) == MOST
    assert "idle0" not in known
    assert {approved, newest, "idle1"} <= known.keys()


def test_when_all_are_approved_the_oldest_goes(
    clients: Clients, store: Store, clock: Clock
) -> None:
    entry = {
        "name": "x",
        "redirects": ["http://127.0.0.1/"],
        "method": "none",
        "secret": "",
        "created": 0,
    }
    with store.change() as known:
        known.update({f"old{n}": entry | {"approved": 10.0 + n} for n in range(MOST)})
    clients.register(ASKED)
    assert "old0" not in store.read()
    assert "old1" in store.read()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Claude", "Claude"), ("  Claude\n", "Claude"), ("a\u202egpj.exe", "agpj.exe"),
        ("a\u200bb\ufeffc", "abc"), ("x" * 500, "x" * 60),
        ("", "A program without a name"), (None, "A program without a name"),
        (5, "A program without a name"), ("\x00\x1b[31m", "[31m"),
        ("<script>", "<script>"), ("\ud800a", "a"),
    ],
)  # fmt: skip
def test_names_can_be_looked_at(name: object, shown: str) -> None:
    assert shown_name(name) == shown


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
