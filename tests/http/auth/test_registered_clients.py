"""Programs that register themselves: bounded, harmless to look at, known again only by what they
were given."""

from __future__ import annotations

from typing import Any

import pytest

from oneiro_vault.errors import OAuthRefusal, UnknownClient
from oneiro_vault.http.auth.json_store import Store
from oneiro_vault.http.auth.registered_clients import (
    METHODS,
    MOST,
    Clients,
    is_document,
    proved,
    shown_name,
)
from tests.http.auth.conftest import Clock

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


def test_what_is_named_by_an_address() -> None:
    assert is_document("https://x.org/y")
    assert is_document("http://x")
    assert not is_document("onc_abc")
    assert METHODS[0] == "none"
