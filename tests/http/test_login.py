"""OAuth against a real owner: the whole dance, every way to cheat at it, and the page on which a
person decides."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from oneiro_vault.core.principal import MEMORIES
from oneiro_vault.http.auth.access_tokens import challenge
from tests.box import eventually
from tests.http.remote import (
    BACK,
    PASSWORD,
    VERIFIER,
    Program,
    Remote,
    back,
    basic,
    decide,
    request,
    result,
    sealed,
)

STATUS = request("tools/list")


@pytest.fixture(scope="module")
def program(remote: Remote) -> Program:
    return Program(remote)


@pytest.fixture(autouse=True)
def _untouched_permits(remote: Remote) -> None:
    remote.be_somebody_else()


def works(remote: Remote, token: str) -> bool:
    status = remote.mcp(STATUS, token).status_code
    assert status in (200, 401)
    return status == 200


# -- the way it is meant
# --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_whole_dance_by_hand(remote: Remote, program: Program) -> None:
    tokens = program.tokens()
    assert tokens["scope"] == "vault:read vault:write"
    (made,) = result(
        remote.call(
            "remember", {"text": f"The ferry has {time.time_ns()} decks."}, tokens["access_token"]
        )
    )["_meta"][MEMORIES]
    note = next(remote.box.vault.rglob(f"*{made}.md")).read_text()
    assert "source: model" in note
    again = program.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"]).json()
    assert works(remote, again["access_token"])
    grant = next(
        entry
        for entry in remote.box.json("keys", "list")["grants"]
        if entry["client"] == program.id
    )
    assert (grant["name"], grant["host"], grant["role"]) == (
        "Test program",
        "127.0.0.1 (this computer)",
        "writer",
    )
    assert any(
        line["who"] == f"oauth:{grant['id']}" and line["op"] == "tools/call remember"
        for line in remote.audit
    )


def test_a_person_may_allow_reading_only(remote: Remote, program: Program) -> None:
    tokens = program.tokens("reader")
    assert tokens["scope"] == "vault:read"
    before = remote.head
    refused = remote.call("remember", {"text": "never"}, tokens["access_token"])
    assert (refused.status_code, remote.head) == (403, before)
    assert 'scope="vault:write"' in refused.headers["www-authenticate"]
    assert (
        remote.call("recall_check", {"topic": "ferry"}, tokens["access_token"]).status_code == 200
    )
    assert (
        remote.send(
            "GET", "/status", headers={"Authorization": f"Bearer {tokens['access_token']}"}
        ).status_code
        == 403
    )


def test_a_program_that_asks_for_less_gets_no_more(remote: Remote, program: Program) -> None:
    page = program.authorize(scope="vault:read")
    assert 'value="writer"' not in page.text
    done = program.decide(page, access="writer")
    assert program.token(code=back(done)["code"]).json()["scope"] == "vault:read"


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_program_with_a_secret(remote: Remote, method: str) -> None:
    found = Program(remote, token_endpoint_auth_method=method)
    secret = found.registered["client_secret"]
    given = {"grant_type": "authorization_code", "redirect_uri": BACK, "code_verifier": VERIFIER}
    wrong = {
        "client_secret_basic": (basic(found.id, "x"), {}),
        "client_secret_post": ({}, {"client_id": found.id, "client_secret": "x"}),
    }
    right = {
        "client_secret_basic": (basic(found.id, secret), {}),
        "client_secret_post": ({}, {"client_id": found.id, "client_secret": secret}),
    }
    code = found.code()
    for headers, fields in (wrong[method], ({}, {"client_id": found.id})):
        answer = remote.client.post(
            "/token", data={**given, **fields, "code": code}, headers=headers
        )
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    headers, fields = right[method]
    answer = remote.client.post("/token", data={**given, **fields, "code": code}, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"


class Memory(TokenStorage):
    """What an SDK client keeps."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """Whoever sits before the SDK client's browser."""

    def __init__(self, remote: Remote) -> None:
        self.remote, self.answer = remote, httpx2.Response(200)

    async def open(self, url: str) -> None:
        self.answer = decide(self.remote, self.remote.client.get(url))

    async def result(self) -> AuthorizationCodeResult:
        fields = back(self.answer)
        return AuthorizationCodeResult(
            code=fields["code"], state=fields["state"], iss=fields["iss"]
        )


def sdk_call(remote: Remote, memory: Memory, mode: str) -> Any:
    """`tools/call recall_orient` with the SDK's own client and its OAuth provider."""
    import anyio

    person = Person(remote)
    about = OAuthClientMetadata(redirect_uris=[AnyUrl(BACK)], client_name="SDK client")
    url = f"{remote.base}/mcp"

    async def run() -> Any:
        provider = OAuthClientProvider(url, about, memory, person.open, person.result)
        async with (
            httpx2.AsyncClient(auth=provider, trust_env=False) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            return await client.call_tool("recall_orient", {})

    return anyio.run(run)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_whole_dance_with_the_sdks_own_client(remote: Remote, mode: str) -> None:
    memory = Memory()
    found = sdk_call(remote, memory, mode)
    assert not found.is_error
    assert memory.tokens is not None
    first = memory.tokens.access_token
    assert not sdk_call(remote, memory, mode).is_error
    assert memory.tokens.access_token == first, "the second time nobody is asked"
    memory.tokens = memory.tokens.model_copy(
        update={"access_token": "ona_" + "0" * 32 + "_" + "A" * 43}
    )
    assert not sdk_call(remote, memory, mode).is_error, (
        "a token that went bad leads to a new approval"
    )


# -- codes and tokens in other hands
# -------------------------------------------------------------------------------------------


def test_a_replayed_code_ends_what_came_of_it(remote: Remote, program: Program) -> None:
    code = program.code()
    tokens = program.token(code=code).json()
    assert works(remote, tokens["access_token"])
    again = program.token(code=code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert not works(remote, tokens["access_token"])
    assert (
        program.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"]).json()[
            "error"
        ]
        == "invalid_grant"
    )


def test_a_code_raced_by_twenty_thieves_is_exchanged_once(remote: Remote, program: Program) -> None:
    code = program.code()
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda: answers.append(program.token(code=code).status_code))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(answers)[:1] in ([200], [400])
    assert answers.count(200) <= 1
    assert len(answers) == 20


@pytest.mark.parametrize(
    "change",
    [
        {"code_verifier": "w" * 64}, {"code_verifier": ""}, {"code_verifier": challenge(VERIFIER)},
        {"code_verifier": "v" * 42}, {"redirect_uri": BACK + "x"},
        {"redirect_uri": ""}, {"redirect_uri": "https://evil.org/"},
        {"resource": "https://evil.org/mcp"},
    ],
)  # fmt: skip
def test_a_stolen_code_is_of_no_use_and_spent_by_the_attempt(
    program: Program, change: dict[str, str]
) -> None:
    code = program.code()
    for given in (change, {}):
        answer = program.token(code=code, **given)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


def test_a_code_stolen_by_another_program(remote: Remote, program: Program) -> None:
    thief = Program(remote)
    answer = thief.token(code=program.code())
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


@pytest.mark.parametrize(
    "fields", [{}, {"code": ""}, {"code": "x"}, {"code": "onc_" + "0" * 32 + "_" + "A" * 43}]
)
def test_missing_and_invented_codes(program: Program, fields: dict[str, str]) -> None:
    answer = program.token(**fields)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


@pytest.mark.parametrize(
    "kind",
    [
        "client_credentials",
        "password",
        "implicit",
        "",
        "urn:ietf:params:oauth:grant-type:jwt-bearer",
    ],
)
def test_other_grants(program: Program, kind: str) -> None:
    assert program.token(grant_type=kind, code="x").json()["error"] == "unsupported_grant_type"


def test_a_used_refresh_token_ends_the_family(remote: Remote, program: Program) -> None:
    first = program.tokens()
    second = program.token(grant_type="refresh_token", refresh_token=first["refresh_token"]).json()
    assert works(remote, second["access_token"])
    assert (
        program.token(grant_type="refresh_token", refresh_token=first["refresh_token"]).json()[
            "error"
        ]
        == "invalid_grant"
    )
    assert not works(remote, second["access_token"])
    assert not works(remote, first["access_token"])
    assert (
        program.token(grant_type="refresh_token", refresh_token=second["refresh_token"]).json()[
            "error"
        ]
        == "invalid_grant"
    )


def test_a_refresh_token_is_no_access_token_and_the_reverse(
    remote: Remote, program: Program
) -> None:
    tokens = program.tokens()
    assert not works(remote, tokens["refresh_token"])
    assert (
        program.token(grant_type="refresh_token", refresh_token=tokens["access_token"]).json()[
            "error"
        ]
        == "invalid_grant"
    )


def test_revoking_by_the_program(remote: Remote, program: Program) -> None:
    tokens = program.tokens()
    other = Program(remote)
    for given, status in (({"client_id": other.id}, 200), ({"client_id": "onc_x"}, 401), ({}, 401)):
        assert (
            remote.client.post(
                "/revoke", data={"token": tokens["access_token"]} | given
            ).status_code
            == status
        )
        assert works(remote, tokens["access_token"])
    assert (
        remote.client.post(
            "/revoke", data={"token": tokens["access_token"], "client_id": program.id}
        ).status_code
        == 200
    )
    assert not works(remote, tokens["access_token"])
    assert (
        remote.client.post(
            "/revoke", data={"token": "rubbish", "client_id": program.id}
        ).status_code
        == 200
    )


def test_revoking_by_the_person_takes_less_than_a_second(remote: Remote, program: Program) -> None:
    tokens = program.tokens()
    grant = [entry for entry in remote.access.listing()["grants"] if entry["client"] == program.id][
        -1
    ]
    remote.access.revoke(grant["id"])
    eventually(lambda: not works(remote, tokens["access_token"]), 1)


@pytest.mark.slow
def test_expired_tokens(proxied: Remote) -> None:
    program = seen_at(proxied, "203.0.113.1")
    tokens = program.tokens()
    assert works(proxied, tokens["access_token"])
    eventually(lambda: not works(proxied, tokens["access_token"]), 10)
    again = program.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"]).json()
    assert works(proxied, again["access_token"])


def seen_at(remote: Remote, address: str) -> Program:
    """A program and a browser at an address that the proxy told."""
    remote.client.headers["X-Forwarded-For"] = f"6.6.6.6, {address}"
    return Program(remote)


@pytest.mark.slow
def test_a_token_for_another_audience(solo: Callable[..., Remote]) -> None:
    remote = solo("--public-url", "https://one.example.org")
    program = Program(remote)
    tokens = program.tokens()
    assert works(remote, tokens["access_token"])
    remote = program.remote = restarted(remote, "https://two.example.org")
    assert not works(remote, tokens["access_token"]), (
        "what was meant for one address is nothing at another"
    )
    fresh = program.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"])
    assert fresh.status_code == 200, "grants survive a restart"
    assert not works(remote, fresh.json()["access_token"])


def restarted(remote: Remote, public: str) -> Remote:
    """The same vault's owner under another address."""
    remote.client.close()
    remote.box.ok("stop")
    remote.child.wait(20)
    return Remote(remote.box, "--public-url", public)


# -- the request
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "uri",
    [
        "https://evil.org/", BACK + "/", BACK + "/../x", BACK + "?x=1", BACK + "#x", BACK + "x",
        "http://127.0.0.1.evil.org/callback", "http://localhost:1/callback",
        "http://127.0.0.1:1@evil.org/callback", "https://127.0.0.1:45678/callback",
        "http://127.0.0.1/callback%2f", "http://127.0.0.1/CALLBACK", "", "javascript:1",
        "http://127.0.0.1\\@evil.org/callback", "//evil.org/callback",
        "http://127.0.0.1/callback\r\nX: y",
    ],
)  # fmt: skip
def test_redirect_tricks_send_nobody_anywhere(program: Program, uri: str) -> None:
    answer = program.authorize(redirect_uri=uri)
    assert answer.status_code == 400
    assert "location" not in answer.headers
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("port", [1, 8080, 65535])
def test_any_loopback_port_is_fine(program: Program, port: int) -> None:
    there = f"http://127.0.0.1:{port}/callback"
    done = program.decide(program.authorize(redirect_uri=there))
    assert done.headers["location"].startswith(there + "?code=")
    code = parse_qs(urlsplit(done.headers["location"]).query)["code"][0]
    assert program.token(code=code).status_code == 400, (
        "but the exchange must name the very same one"
    )


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "code id_token"}, "unsupported_response_type"),
        ({"resource": "https://evil.org/mcp"}, "invalid_target"),
        ({"request": "eyJhbGciOiJub25lIn0.e30."}, "invalid_request"),
        ({"response_mode": "fragment"}, "invalid_request"),
    ],
)  # fmt: skip
def test_bad_requests_go_back_with_the_issuers_name(
    remote: Remote, program: Program, change: dict[str, str | None], error: str
) -> None:
    fields = back(program.authorize(**change))
    assert (fields["error"], fields["state"], fields["iss"]) == (error, "st", remote.issuer)


def test_a_good_answer_names_its_issuer_too(remote: Remote, program: Program) -> None:
    """RFC 9207: a program that talks to several servers sees which one this came from."""
    fields = back(program.decide(program.authorize()))
    assert (
        fields["iss"]
        == remote.issuer
        == remote.client.get("/.well-known/oauth-authorization-server").json()["issuer"]
    )


def test_a_field_that_stands_twice(remote: Remote, program: Program) -> None:
    query = urlencode(program.query())
    for twice in (
        "redirect_uri=https%3A%2F%2Fevil.org",
        "client_id=x",
        "resource=https%3A%2F%2Fevil.org",
    ):
        answer = remote.client.get(f"/authorize?{query}&{twice}")
        assert answer.status_code == 400
        assert "location" not in answer.headers


@pytest.mark.parametrize("ident", ["", "onc_nobody", "../x", "http://127.0.0.1/x", "https://127.0.0.1/x", "https://localhost/x", "https://[::1]/x", "https://169.254.169.254/latest/meta-data", "https://2130706433/x", "https://user@localhost/x", "https://localhost:{port}/x", "https://nothing.invalid/x", "file:///etc/passwd"])  # fmt: skip
def test_programs_that_are_none_and_addresses_that_lead_inside(
    remote: Remote, program: Program, ident: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as inside:
        inside.settimeout(0.2)
        port = inside.getsockname()[1]
        answer = program.authorize(client_id=ident.format(port=port))
        assert answer.status_code == 400
        with pytest.raises(TimeoutError):
            inside.accept()
        assert (
            remote.client.post(
                "/token",
                data={
                    "grant_type": "authorization_code",
                    "client_id": ident.format(port=port),
                    "code": "x",
                },
            ).status_code
            == 401
        )


@pytest.mark.parametrize("asked", [[], "x", 5, {}, {"redirect_uris": ["http://evil.org/"]}, {"redirect_uris": ["javascript:alert(1)"]}, {"redirect_uris": [BACK], "grant_types": ["implicit"]}])  # fmt: skip
def test_bad_registrations(remote: Remote, asked: Any) -> None:
    answer = remote.client.post("/register", json=asked)
    assert answer.status_code == 400
    assert answer.json()["error"] in ("invalid_client_metadata", "invalid_redirect_uri")


def test_registrations_are_limited(proxied: Remote) -> None:
    proxied.client.headers["X-Forwarded-For"] = "203.0.113.2"
    asked = {"redirect_uris": [BACK]}
    answers = [proxied.client.post("/register", json=asked) for _ in range(25)]
    assert [answer.status_code for answer in answers] == [201] * 20 + [429] * 5
    assert int(answers[-1].headers["retry-after"]) > 0
    assert seen_at(proxied, "203.0.113.3").id, "others may still register"


def test_ways_to_prove_oneself_that_make_no_sense(remote: Remote, program: Program) -> None:
    form = {"grant_type": "authorization_code", "code": "x"}
    double = basic(program.id, "x")
    wrong: list[tuple[dict[str, str], dict[str, str], int]] = [
        ({"Authorization": "Basic !!!"}, form, 400), ({"Authorization": "Bearer x"}, form, 400),
        ({"Authorization": "Basic " + "eA=="}, form, 400),
        (double, form | {"client_secret": "x"}, 400), (double, form | {"client_id": "other"}, 400),
        (double, form, 401),
    ]  # fmt: skip
    for path in ("/token", "/revoke"):
        for headers, fields, status in wrong:
            assert remote.client.post(path, data=fields, headers=headers).status_code == status, (
                path,
                headers,
                fields,
            )
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    for body in (
        b"\xff=1",
        b"code=%ff",
        b"&".join(b"a%d=1" % n for n in range(40)),
        b"code=1&code=2",
    ):
        answer = remote.client.post("/token", content=body, headers=kind)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


@pytest.mark.slow
def test_while_nobody_can_tell_who_may_come_in_nobody_may(proxied: Remote) -> None:
    program = seen_at(proxied, "203.0.113.8")
    assert proxied.send("GET", "/status", "admin").status_code == 200
    for name in ("keys", "clients"):
        file = proxied.access.folder / f"{name}.json"
        kept = file.read_bytes()
        file.write_text("{")
        try:
            answer = (
                proxied.send("GET", "/status", "admin") if name == "keys" else program.authorize()
            )
            assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
            assert ".json" not in answer.text, "strangers hear nothing of files"
        finally:
            file.write_bytes(kept)
    assert f"{name}.json is damaged" in (proxied.box.folder / "serve.log").read_text()
    assert proxied.send("GET", "/status", "admin").status_code == 200
    assert program.authorize().status_code == 200


# -- the page
# --------------------------------------------------------------------------------------------------


def test_the_page_says_who_asks_for_what_and_runs_nothing(remote: Remote) -> None:
    name = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
    page = Program(remote, client_name=name).authorize()
    assert page.status_code == 200
    assert "<script" not in page.text
    assert "<img" not in page.text
    assert "&lt;script&gt;" in page.text
    assert "127.0.0.1 (this computer)" in page.text
    assert 'value="reader"' in page.text
    policy = page.headers["content-security-policy"]
    for part in (
        "default-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self' http://127.0.0.1:45678;",
    ):
        assert part in policy
    assert "unsafe" not in policy
    assert "script-src" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["cache-control"] == "no-store"
    cookie = page.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_the_style_is_the_one_that_the_policy_allows(program: Program) -> None:
    page = program.authorize()
    style = re.search('<link rel="stylesheet" href="(/[^"]+)">', page.text)
    assert style is not None
    assert "style-src 'self'" in page.headers["content-security-policy"]
    assert program.remote.client.get(style[1]).headers["content-type"].startswith("text/css")


@pytest.mark.parametrize(
    "uri", ["https://x.org/cb;script-src", "https://x.org/cb,x", "https://x.org/'unsafe-inline'"]
)
def test_a_redirect_cannot_widen_the_policy(remote: Remote, uri: str) -> None:
    page = Program(remote, redirect_uris=[uri]).authorize(redirect_uri=uri)
    assert "form-action 'self' https://x.org;" in page.headers["content-security-policy"]


def test_another_browser_cannot_send_the_form(remote: Remote, program: Program) -> None:
    page, other = program.authorize(), program.authorize()
    theirs = other.headers["set-cookie"].partition(";")[0]
    for cookie in ("", "oneiro=", "oneiro=x", theirs):
        answer = decide(remote, page, cookie=cookie)
        assert answer.status_code == 400
        assert "location" not in answer.headers
    assert program.decide(page).status_code == 303


def test_a_form_of_another_origin(remote: Remote, program: Program) -> None:
    page = program.authorize()
    fields = {"sealed": sealed(page), "password": PASSWORD, "decision": "allow"}
    cookie = {"Cookie": page.headers["set-cookie"].partition(";")[0]}
    for origin in ("https://evil.org", "null"):
        assert (
            remote.client.post(
                "/authorize", data=fields, headers=cookie | {"Origin": origin}
            ).status_code
            == 403
        )


def test_what_was_sealed_cannot_be_changed(remote: Remote, program: Program) -> None:
    page = program.authorize()
    good = sealed(page)
    for wrong in (
        "",
        "x",
        good[:-1] + ("0" if good[-1] != "0" else "1"),
        "A" + good[1:],
        good.partition(".")[0],
        good + "x",
    ):
        assert program.decide(page, sealed=wrong).status_code == 400


def test_fields_beside_the_seal_change_nothing(program: Program) -> None:
    done = program.decide(
        program.authorize(scope="vault:read"),
        redirect_uri="https://evil.org/",
        client_id="x",
        scope="vault:write",
        role="admin",
    )
    assert done.headers["location"].startswith(BACK + "?code=")
    assert program.token(code=back(done)["code"]).json()["scope"] == "vault:read"


def test_saying_no(program: Program) -> None:
    for decision in ("deny", "", "x"):
        fields = back(program.decide(program.authorize(), password="", decision=decision))
        assert fields["error"] == "access_denied"
        assert "code" not in fields


def test_guessing_the_password_is_slow(proxied: Remote) -> None:
    program = seen_at(proxied, "203.0.113.4")
    page = program.authorize()
    before = sum(line["op"] == "login" for line in proxied.audit)
    answers = [program.decide(page, password=f"guess number {number}") for number in range(6)]
    assert [answer.status_code for answer in answers] == [403] * 5 + [429]
    assert "location" not in answers[0].headers
    assert int(answers[-1].headers["retry-after"]) > 0
    assert program.decide(page).status_code == 429, "not even the right one now"
    assert [line["status"] for line in proxied.audit if line["op"] == "login"][before:] == [
        "failed"
    ] * 5
    assert "guess number" not in str(proxied.audit)
    proxied.client.headers["X-Forwarded-For"] = "203.0.113.4, 198.51.100.7"
    assert program.decide(page).status_code == 303, "somebody else is not kept waiting"


def test_without_a_password_nobody_can_log_in(proxied: Remote) -> None:
    program = seen_at(proxied, "203.0.113.5")
    page = program.authorize()
    stored = proxied.access.folder / "login.json"
    kept = stored.read_bytes()
    proxied.access.login.remove()
    try:
        assert program.decide(page).status_code == 403
        assert program.decide(page, password="").status_code == 403
        answer = program.authorize()
        assert answer.status_code == 403
        assert "oneiro keys login" in answer.text
    finally:
        stored.write_bytes(kept)


def test_behind_a_proxy(proxied: Remote) -> None:
    assert proxied.issuer == "https://vault.example.org"
    host = {"Host": "vault.example.org"}
    assert (
        proxied.client.get("/.well-known/oauth-protected-resource/mcp", headers=host).json()[
            "resource"
        ]
        == "https://vault.example.org/mcp"
    )
    refused = proxied.client.get("/mcp", headers=host)
    assert (
        'resource_metadata="https://vault.example.org/.well-known/oauth-protected-resource/mcp"'
        in refused.headers["www-authenticate"]
    )
    assert (
        proxied.send(
            "GET", "/status", "admin", host | {"Origin": "https://vault.example.org"}
        ).status_code
        == 200
    )
    for other in (
        {"Host": "vault.example.org.evil.org"},
        {"Host": "vault.example.org:8443"},
        {"Host": "evil.org"},
    ):
        assert proxied.send("GET", "/status", "admin", other).status_code == 421
    assert (
        proxied.send("GET", "/status", "admin", {"Origin": "http://vault.example.org"}).status_code
        == 403
    )
    program = seen_at(proxied, "203.0.113.6")
    page = program.authorize()
    assert page.headers["set-cookie"].startswith("__Host-oneiro=")
    assert "; secure" in page.headers["set-cookie"].lower()
    assert back(program.decide(page))["iss"] == "https://vault.example.org"


def test_the_state_files_hold_no_secret(remote: Remote, program: Program) -> None:
    tokens = program.tokens()
    code = program.code()
    everything = "".join(path.read_text() for path in remote.access.folder.iterdir())
    log = (remote.box.folder / "serve.log").read_text()
    for secret in (code, tokens["access_token"], tokens["refresh_token"], PASSWORD, VERIFIER):
        assert secret[-40:] not in everything + log
