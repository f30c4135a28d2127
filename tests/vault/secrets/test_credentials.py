"""What a secret looks like, and what does not: ordinary sentences, hashes, ids and examples
stay."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.vault.secrets.credentials import Found, find, joined

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
        ("postgres://app:sommer@db.firma.de/x", "password in an address", "sommer"),
        (
            "mongodb+srv://prem123:prem123@cluster0.md7kd1b.mongodb.net/",
            "password in an address",
            "prem123",
        ),
        ("mysql://root:brsz8bvb@localhost/stocks", "password in an address", "brsz8bvb"),
        ("mysql://root:sommer@127.0.0.1:3306/x", "password in an address", "sommer"),
        ("redis://:kartoffel@cache:6379", "password in an address", "kartoffel"),
        (
            "https://ada:correct-horse-battery@example.org/",
            "password in an address",
            "correct-horse-battery",
        ),
        ("https://abc:xyz@example.com.evil.io/", "password in an address", "xyz"),
        ("https://abc:xyz@notexample.com/", "password in an address", "xyz"),
        ("https://abc:xyz@latest/", "password in an address", "xyz"),
        (f"api_key = {_A}", "key", _A),
        (f"client secret is {_A}xyz", "key", f"{_A}xyz"),
        ("card 4111-1111-1111-1111.", "card number", "4111-1111-1111-1111"),
        ("Amex 3782 822463 10005 expires", "card number", "3782 822463 10005"),
        (f"curl -H 'Authorization: Bearer {_A}0'", "token of a header", f"{_A}0"),
        (
            f"-----BEGIN RSA PRIVATE KEY-----\nMIIE{_A}\n{_A}\n-----END RSA PRIVATE KEY-----\nSo "
            f"much.",
            "private key",
            f"-----BEGIN RSA PRIVATE KEY-----\nMIIE{_A}\n{_A}\n-----END RSA PRIVATE KEY-----",
        ),
        ("**Password:** Zx81kkq2!", "password", "Zx81kkq2!"),
        ("- __Password:__ `Zx81kkq2!`", "password", "Zx81kkq2!"),
        (f"**API key:** {_A}", "key", _A),
        (f"**Token:** `{_A}`", "key", _A),
        (
            "api key: wJalrXUtnFEMI/K7MDENG/bPxRfiCYZ3QMPLEKEY",
            "key",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYZ3QMPLEKEY",
        ),
        (
            "token = 550e8400-e29b-41d4-a716-446655440000",
            "key",
            "550e8400-e29b-41d4-a716-446655440000",
        ),
        ("secret: A1B2-C3D4-E5F6-G7H8", "key", "A1B2-C3D4-E5F6-G7H8"),
        ("token: aB3-x9Yq_Zk2Lm7-Pq", "key", "aB3-x9Yq_Zk2Lm7-Pq"),
        ("secret: G7#kd9!mPq2$vLw8x", "key", "G7#kd9!mPq2$vLw8x"),
    ],
)
def test_a_secret_is_found_whole(text: str, kind: str, secret: str) -> None:
    (one,) = find(text)
    assert (one.kind, text[one.start : one.end]) == (kind, secret)


_PEM = (
    "-----BEGIN RSA PRIVATE KEY-----",
    "Proc-Type: 4,ENCRYPTED",
    "DEK-Info: AES-128-CBC,0A1B2C3D",
    "",
    f"MIIE{_A}",
    f"{_A}==",
    "-----END RSA PRIVATE KEY-----",
)


@pytest.mark.parametrize("lines", [_PEM, (_PEM[0], *_PEM[4:])], ids=["with headers", "without"])
@pytest.mark.parametrize(
    "before", ["\n", "\n        ", "\n\t\t", "\n> ", "\n> > ", "\r\n", "\r\n    ", "\r\n> "]
)
@pytest.mark.parametrize("head", ["", "key: |", "key: |+", "key: >"])
def test_a_private_key_is_found_whole_however_it_is_set(
    head: str, before: str, lines: tuple[str, ...]
) -> None:
    text = f"Mine.{before}{head}{before}{before.join(lines)}{before}So much."
    (one,) = find(text)
    assert (one.kind, text[one.start : one.end]) == ("private key", before.join(lines))


@pytest.mark.parametrize("between", [" ", "\\n", "\\r\\n"])
def test_a_private_key_in_one_line_is_found_whole(between: str) -> None:
    text = f'{{"key": "{between.join((_PEM[0], *_PEM[4:]))}"}}'
    (one,) = find(text)
    assert (one.kind, text[one.start : one.end]) == ("private key", text[9:-2])


@pytest.mark.parametrize(
    "text",
    [
        "The password is in the safe behind the picture.",
        "Password: must be at least twelve characters long.",
        "password = ${DB_PASSWORD}",
        "api_key: <your-api-key-goes-here-1>",
        "export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "OPENAI_API_KEY=sk-your-key-here-1234567890abcdef",
        "OPENAI_API_KEY=sk-proj-xxxxxxxxxxxxxxxxxxxxxxxx1",
        "stripe.api_key = 'sk_test_4eC39HqLyjWDarjtT1zdp7dc'",
        "GITHUB_TOKEN=ghp_your_token_here_1234567890abcdef123456",
        "token = base64.b64decode(given)",
        "secret = given[0].partition(':')",
        "token: xxxxxxxxxxxxxxxxxxxxxxxx",
        "postgres://user:password@localhost/db",
        "new URL('https://abc:xyz@example.com');",
        "<span>'https://abc:xyz@example.com'</span> and https://123:xyz@example.com/",
        "http://alice:p%40ss@proxy.example:3128 or socks5://ada:geheim@proxy.example.net",
        "https://ada:pass123@www.example.org/x and ftp://ada:test@files.test",
        "http://ada:sesame@192.0.2.7:8080/",
        "amqp://guest:guest@rabbitmq:5672/ and postgres://postgres:postgres@localhost:5432/app",
        "http://admin:admin@127.0.0.1:8080 or http://admin:admin@[::1]:8080/",
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
        "tokenizer: meta-llama/Llama-3.1-8B",
        "max tokens: claude-3-5-sonnet-20241022",
        "tokenization token: DeepSeek-R1-0528-Qwen3-8B-Q4_K_M.gguf",
        "tokens: text-embedding-3-small",
        "access_token_expires_at: 2026-03-05T10:00:00Z",
        "encryption key: AES-256-GCM-with-HKDF",
        "credentials: op://Private/GitHub-2/token",
        "Secretary: j.miller1985@example.com",
        "Secretary: johannes.millerson1985@example.com",
        "password-manager: 1Password-8",
        "The password is argon2id-hashed",
        "The password is sha256-hashed",
        "Password: at-least-8-chars",
        "**Password:** must be at least twelve characters long.",
    ],
)
def test_what_only_looks_like_one_is_none(text: str) -> None:
    assert find(text) == []


def test_what_overlaps_is_one_named_by_the_longest() -> None:
    assert joined([Found("b", 3, 9), Found("a", 0, 4), Found("c", 12, 13)]) == [
        Found("b", 0, 9),
        Found("c", 12, 13),
    ]


@given(st.text(max_size=300))
def test_any_text_has_an_answer_in_bounds_and_order(text: str) -> None:
    last = 0
    for one in find(text):
        assert last <= one.start < one.end <= len(text)
        last = one.end


@pytest.mark.parametrize(
    "unit",
    [
        "-----BEGIN RSA PRIVATE KEY-----",
        "password: ",
        "token = ",
        "eyJa",
        "a1-",
        "://a:",
        "4111 ",
        "sk-",
        "bearer ",
        "-----BEGIN PRIVATE KEY-----\na: a: a: ",
        "token: **",
    ],
)
def test_no_text_makes_it_slow(unit: str) -> None:
    """Twice the text, about twice the time: what grows with the square would take a hundred times
    as long."""
    short, long = (_seconds(unit * (size // len(unit))) for size in (10_000, 200_000))
    assert long < 200 * max(short, 0.001)


@pytest.mark.parametrize("line", [76, 10**9])
def test_a_picture_inside_a_note_hides_nothing_around_it_and_is_not_looked_at(line: int) -> None:
    """Whatever stands in it by chance is no key."""
    run = ("aB3/" * 15_000 + "dapi0123456789abcdef0123456789" + "/Zx9" * 15_000) * 3
    lines = "\n".join(run[at : at + line] for at in range(0, len(run), line))
    text = f"token: ghp_{'a1B2' * 9}\n\n![x](data:image/png;base64,{lines})\npassword: hunter22x\n"
    assert [(one.kind, text[one.start : one.end]) for one in find(text)] == [
        ("GitHub token", "ghp_" + "a1B2" * 9),
        ("password", "hunter22x"),
    ]


def _seconds(text: str) -> float:
    start = time.process_time()
    find(text)
    return time.process_time() - start
