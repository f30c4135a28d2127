"""Where a code may be sent: letter by letter where the program said, but for the port of a loopback
address."""

from __future__ import annotations

import pytest

from oneiro_vault.errors import OAuthRefusal
from oneiro_vault.http.auth import registered_clients

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
    assert registered_clients.check(uri) == uri
    assert registered_clients.fits(uri, [uri])


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
        registered_clients.check(uri)
    assert caught.value.code == "invalid_redirect_uri"
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("uri", [None, 5, ["https://x.org"], {"a": 1}, b"https://x.org/"])
def test_what_is_no_text(uri: object) -> None:
    with pytest.raises(OAuthRefusal):
        registered_clients.check(uri)  # type: ignore[arg-type]  # wrong on purpose


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
    assert not registered_clients.fits(uri, [GOOD])


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
    assert registered_clients.fits(requested, ["http://127.0.0.1:33418/callback"]) is fits


def test_another_port_is_another_address_elsewhere() -> None:
    assert not registered_clients.fits("https://x.org:8443/cb", ["https://x.org/cb"])


def test_the_operators_list_narrows_and_adds() -> None:
    listed = {GOOD, "com.example.app:/cb", "https://intern.example.org/cb"}
    for uri in [*listed, "http://127.0.0.1:5/cb", "http://localhost/cb"]:
        assert registered_clients.check(uri, listed) == uri
    for uri in (
        "https://evil.org/cb",
        GOOD + "/",
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "com.example.app:/cb2",
    ):
        with pytest.raises(OAuthRefusal):
            registered_clients.check(uri, listed)


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
    assert (registered_clients.host(uri), registered_clients.source(uri)) == (host, source)


def test_fields_are_added_to_a_query() -> None:
    assert (
        registered_clients.with_query("https://x.org/cb", code="a&b", state="", iss="https://v.org")
        == "https://x.org/cb?code=a%26b&iss=https%3A%2F%2Fv.org"
    )
    assert (
        registered_clients.with_query("https://x.org/cb?a=1", code="c")
        == "https://x.org/cb?a=1&code=c"
    )
