"""What a secret looks like, and what does not: ordinary sentences, hashes, ids and examples stay."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.core.credentials import Found, find, joined

_A = "AbCdEf0123456789"


@pytest.mark.parametrize(
    ("text", "kind", "secret"),
    [
        (f"It is ghp_{_A}{_A}abcd, he said.", "GitHub token", f"ghp_{_A}{_A}abcd"),
        (f"key: sk-ant-api03-{_A}-x.", "API key", f"sk-ant-api03-{_A}-x"),
        ("The password is Tr0ub4dor&3!", "password", "Tr0ub4dor&3!"),
        ("Das Passwort ist Sonne-2024-Mond", "password", "Sonne-2024-Mond"),
        ('{"password": "s3cr3tive"}', "password", "s3cr3tive"),
        ("export DB_PASSWORD='pa55wordly'", "password", "pa55wordly"),
        ("postgres://app:hunter2@db.example/x", "password in an address", "hunter2"),
        (f"api_key = {_A}", "key", _A),
        (f"client secret is {_A}xyz", "key", f"{_A}xyz"),
        ("card 4111-1111-1111-1111.", "card number", "4111-1111-1111-1111"),
        ("Amex 3782 822463 10005 expires", "card number", "3782 822463 10005"),
        (f"curl -H 'Authorization: Bearer {_A}0'", "token of a header", f"{_A}0"),
        (
            f"-----BEGIN RSA PRIVATE KEY-----\nMIIE{_A}\n{_A}\n-----END RSA PRIVATE KEY-----\nSo much.",
            "private key",
            f"-----BEGIN RSA PRIVATE KEY-----\nMIIE{_A}\n{_A}\n-----END RSA PRIVATE KEY-----",
        ),
    ],
)
def test_a_secret_is_found_whole(text: str, kind: str, secret: str) -> None:
    (one,) = find(text)
    assert (one.kind, text[one.start : one.end]) == (kind, secret)


@pytest.mark.parametrize(
    "text",
    [
        "The password is in the safe behind the picture.",
        "Password: must be at least twelve characters long.",
        "password = ${DB_PASSWORD}",
        "api_key: <your-api-key-goes-here-1>",
        "token = base64.b64decode(given)",
        "secret = given[0].partition(':')",
        "token: xxxxxxxxxxxxxxxxxxxxxxxx",
        "postgres://user:password@localhost/db",
        "A file that begins with -----BEGIN RSA PRIVATE KEY----- is one.",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixed it",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "attachments/ab/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.jpg",
        "550e8400-e29b-41d4-a716-446655440000",
        "created: 2026-11-22T10:06:35+00:00",
        "The order number is 4111 1111 1111 1112.",
        "Ring +44 20 7946 0958 about invoice 20261122000017.",
        "A risk-averse, task-oriented and desk-bound-by-inclination1 person",
        "https://example.org/a:b/c@d and ada@example.org",
        "The key to a good soup is patience; the secret is butter.",
    ],
)
def test_what_only_looks_like_one_is_none(text: str) -> None:
    assert find(text) == []


def test_what_overlaps_is_one_named_by_the_longest() -> None:
    assert joined([Found("b", 3, 9), Found("a", 0, 4), Found("c", 12, 13)]) == [Found("b", 0, 9), Found("c", 12, 13)]


@given(st.text(max_size=300))
def test_any_text_has_an_answer_in_bounds_and_order(text: str) -> None:
    last = 0
    for one in find(text):
        assert last <= one.start < one.end <= len(text)
        last = one.end


@pytest.mark.parametrize(
    "unit", ["-----BEGIN RSA PRIVATE KEY-----", "password: ", "token = ", "eyJa", "a1-", "://a:", "4111 ", "sk-", "bearer "]
)
def test_no_text_makes_it_slow(unit: str) -> None:
    """Twice the text, about twice the time: what grows with the square would take a hundred times as long."""
    short, long = (_seconds(unit * (size // len(unit))) for size in (10_000, 200_000))
    assert long < 200 * max(short, 0.001)


def _seconds(text: str) -> float:
    start = time.process_time()
    find(text)
    return time.process_time() - start
