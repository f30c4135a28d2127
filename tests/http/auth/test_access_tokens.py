"""Service keys: shown once, stored hashed, scoped, expiring, revoked for every process at once.
Codes once, tokens short, refresh tokens rotating; whoever shows a copy ends the family. What we
seal comes back unchanged or not at all, and nothing of a secret is readable on the disk."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from oneiro_vault.core.principal import KEY_ROLES
from oneiro_vault.errors import InvalidInput, NotFound, OAuthRefusal
from oneiro_vault.http.auth.access_tokens import (
    CODE_SECONDS,
    MOST_GRANTS,
    MOST_KEYS,
    SHORT,
    Grants,
    Keys,
    Seal,
    Terms,
    Tokens,
    challenge,
    check_password,
    digest,
    hash_password,
    mint,
    same,
)
from oneiro_vault.http.auth.json_store import Store
from tests.http.auth.conftest import Clock


def test_secrets_have_256_bits_and_never_repeat() -> None:
    made = {mint() for _ in range(1000)}
    assert len(made) == 1000
    assert all(len(secret) == 43 and secret.isascii() for secret in made)


def test_a_hash_tells_nothing_and_compares() -> None:
    assert digest("a") != digest("b")
    assert len(digest("a")) == 64
    assert same(digest("a"), digest("a"))
    assert not same(digest("a"), digest("a")[:-1])
    assert not same("é", "e")
    assert not same("\ud800", "e")


def test_the_example_of_rfc_7636() -> None:
    assert (
        challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    )


@pytest.mark.slow
def test_a_password() -> None:
    stored = hash_password("käse und brot ☕")
    assert "brot" not in str(stored)
    assert check_password("käse und brot ☕", stored)
    assert not check_password("käse und brot", stored)
    assert not check_password("", stored)
    assert hash_password("käse und brot ☕")["hash"] != stored["hash"]


def test_a_seal(clock: Clock) -> None:
    seal = Seal(60, clock)
    closed = seal.close({"a": ["☕", 1]})
    clock.now += 60
    assert seal.open(closed) == {"a": ["☕", 1]}
    clock.now += 0.1
    assert seal.open(closed) is None


@pytest.mark.parametrize("text", ["", ".", "a.b", "é.é", "\ud800.", "." * 1000, "{}." + "0" * 64])
def test_what_was_not_sealed(clock: Clock, text: str) -> None:
    assert Seal(60, clock).open(text) is None


def test_a_seal_of_somebody_else_and_a_changed_one(clock: Clock) -> None:
    seal = Seal(60, clock)
    closed = seal.close({"role": "reader"})
    assert Seal(60, clock).open(closed) is None
    for position in range(0, len(closed), 7):
        changed = (
            closed[:position] + ("A" if closed[position] != "A" else "B") + closed[position + 1 :]
        )
        assert seal.open(changed) is None, position


@pytest.fixture
def keys(store: Store, clock: Clock) -> Keys:
    return Keys(store, clock)


@pytest.mark.parametrize("role", KEY_ROLES)
def test_a_key_of_each_role(keys: Keys, role: str) -> None:
    text, made = keys.add(role, "the build server")
    assert re.fullmatch(rf"onk_{role}_[0-9a-z]{{8}}_[\w-]{{43}}", text)
    found = keys.check(text)
    assert found == made
    assert (made.role, made.name, made.expires, made.revoked) == (
        role,
        "the build server",
        None,
        None,
    )
    assert keys.list() == [made]


def test_the_secret_is_nowhere_on_the_disk(keys: Keys, store: Store) -> None:
    text, made = keys.add("reader")
    secret = text.partition(made.id)[2].lstrip("_")
    assert len(secret) > 20
    stored = store.path.read_text()
    assert secret not in stored
    assert text[-20:] not in stored


def test_another_process_takes_it_and_sees_it_revoked(
    keys: Keys, store: Store, clock: Clock
) -> None:
    running = Keys(Store(store.path), clock)
    text, made = keys.add("writer", "laptop")
    assert running.check(text) is not None
    assert running.holds(made.id)
    assert keys.revoke("laptop").revoked == clock.now
    assert running.check(text) is None
    assert not running.holds(made.id)
    assert not running.list()[0].valid(clock.now)


def test_it_expires(keys: Keys, clock: Clock) -> None:
    text, _ = keys.add("reader", expires=clock.now + 10)
    clock.now += 9.9
    assert keys.check(text) is not None
    clock.now += 0.2
    assert keys.check(text) is None


def test_what_is_no_key(keys: Keys) -> None:
    text, made = keys.add("reader")
    other, _ = keys.add("reader")
    head, _, secret = text.rpartition("_" + text[-43:-40])
    wrong = [
        "", " ", text + " ", " " + text, text[:-1], text + "A", text.upper(),
        text.replace("reader", "admin"), text.replace("onk", "onx"),
        text.replace(made.id, "00000000"), text[:-43] + other[-43:], text[:-43] + "A" * 43,
        text[:-43] + "é" * 43, text + "\n", "onk_reader__",
        f"onk_reader_{made.id}_", "Bearer " + text, text * 2, "\0" + text, head, secret,
        "x" * 100_000,
    ]  # fmt: skip
    assert [text for text in wrong if keys.check(text) is not None] == []
    assert keys.check(text) == made


@pytest.mark.parametrize("role", ["", "local", "owner", "ADMIN", "reader "])
def test_there_are_no_other_roles(keys: Keys, role: str) -> None:
    with pytest.raises(InvalidInput, match="no role"):
        keys.add(role)
    assert keys.list() == []


@pytest.mark.parametrize("name", ["a\nb", "a\u202eb", "a\u200bb", "\x1b[31m", "x" * 81, "\ud800"])
def test_names_are_plain(keys: Keys, name: str) -> None:
    with pytest.raises(InvalidInput, match="visible characters"):
        keys.add("reader", name)


def test_it_cannot_expire_in_the_past(keys: Keys, clock: Clock) -> None:
    with pytest.raises(InvalidInput, match="expired already"):
        keys.add("reader", expires=clock.now)


def test_revoking(keys: Keys, clock: Clock) -> None:
    first, one = keys.add("reader", "tea")
    second, two = keys.add("reader", "tea")
    with pytest.raises(InvalidInput, match="2 keys are called"):
        keys.revoke("tea")
    with pytest.raises(NotFound):
        keys.revoke("coffee")
    assert keys.check(first)
    keys.revoke(one.id)
    when = clock.now
    clock.now += 5
    assert keys.revoke(one.id).revoked == when, "the first time counts"
    assert keys.revoke("tea").id == two.id, "a name means the key that is still good"
    assert keys.check(second) is None


def test_keys_are_bounded(keys: Keys, store: Store, clock: Clock) -> None:
    with store.change() as stored:
        stored.update(
            {
                str(n): {
                    "role": "reader",
                    "name": "",
                    "hash": "",
                    "created": 0,
                    "expires": None,
                    "revoked": 1,
                }
                for n in range(MOST_KEYS)
            }
        )
    with pytest.raises(InvalidInput, match="keys already"):
        keys.add("reader")


MCP = "https://vault.example.org/mcp"
TERMS = Terms("client-1", "Claude", "claude.ai", "writer", MCP)
BACK = "https://claude.ai/cb"
MARK = challenge("v" * 43)


@pytest.fixture
def grants(store: Store, clock: Clock) -> Grants:
    return Grants(store, 3600, 86_400, clock)


@pytest.fixture
def code(grants: Grants) -> str:
    return grants.open(TERMS, BACK, MARK)


@pytest.fixture
def tokens(grants: Grants, code: str) -> Tokens:
    return grants.redeem(code, "client-1", BACK, MARK, "")


def ident(tokens: Tokens) -> str:
    return digest(tokens["access_token"].split("_")[1])[:SHORT]


def redeem(grants: Grants, code: str, **change: str) -> Tokens:
    given = {"client": "client-1", "redirect": BACK, "challenge": MARK, "resource": MCP} | change
    return grants.redeem(
        code, given["client"], given["redirect"], given["challenge"], given["resource"]
    )


def refused(call: object, *args: str) -> str:
    with pytest.raises(OAuthRefusal) as caught:
        call(*args)  # type: ignore[operator]  # a table of methods
    assert caught.value.code == "invalid_grant"
    return str(caught.value)


def test_a_code_becomes_tokens(grants: Grants, code: str, store: Store, clock: Clock) -> None:
    made = redeem(grants, code)
    found = Grants(Store(store.path), 3600, 86_400, clock).check(made["access_token"])
    assert found is not None
    assert (found.terms, found.id) == (TERMS, ident(made))
    assert made["expires_in"] == 3600
    assert made["scope"] == "vault:read vault:write"
    assert grants.list() == [found]


def test_nothing_of_it_is_on_the_disk(grants: Grants, code: str, store: Store) -> None:
    made = redeem(grants, code)
    stored = store.path.read_text()
    for text in (code, made["access_token"], made["refresh_token"]):
        assert text[-43:] not in stored
        assert text[4:36] not in stored, "the family's own number"


def test_a_code_works_once_and_a_second_time_ends_everything(grants: Grants, code: str) -> None:
    made = redeem(grants, code)
    assert grants.check(made["access_token"])
    assert "used before" in refused(lambda: redeem(grants, code))
    assert grants.check(made["access_token"]) is None
    refused(grants.refresh, made["refresh_token"], "client-1", "")
    assert not grants.holds(ident(made))
    assert grants.list() == []


def test_a_code_is_old_after_a_minute(grants: Grants, code: str, clock: Clock) -> None:
    assert CODE_SECONDS <= 60
    clock.now += CODE_SECONDS + 0.1
    assert "too old" in refused(lambda: redeem(grants, code))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"client": "client-2"}, "another program"),
        ({"redirect": "https://evil.org/cb"}, "redirect_uri"), ({"redirect": ""}, "redirect_uri"),
        ({"challenge": challenge("w" * 43)}, "code_verifier"), ({"challenge": ""}, "code_verifier"),
        ({"challenge": "v" * 43}, "code_verifier"),
        ({"resource": "https://other.example.org/mcp"}, "another resource"),
    ],
)  # fmt: skip
def test_a_wrong_attempt_spends_the_code(
    grants: Grants, code: str, change: dict[str, str], words: str
) -> None:
    assert words in refused(lambda: redeem(grants, code, **change))
    refused(lambda: redeem(grants, code))
    assert grants.list() == []


def test_invented_codes_leave_the_real_one_alone(grants: Grants, code: str) -> None:
    for wrong in (
        "",
        "x",
        code[:-1],
        code + "x",
        code[:-43] + "A" * 43,
        code.replace("onc", "ona"),
        code.replace("onc", "onr"),
        "é" * 80,
    ):
        refused(lambda wrong=wrong: redeem(grants, wrong))
    assert redeem(grants, code)


def test_an_access_token_expires(grants: Grants, tokens: Tokens, clock: Clock) -> None:
    clock.now += 3599
    assert grants.check(tokens["access_token"])
    clock.now += 1.1
    assert grants.check(tokens["access_token"]) is None


def test_what_is_no_access_token(grants: Grants, code: str, tokens: Tokens) -> None:
    access = tokens["access_token"]
    for wrong in (
        "",
        code,
        tokens["refresh_token"],
        access[:-1],
        access + "x",
        access[:-43] + "A" * 43,
        access.replace("ona", "onr"),
        access.upper(),
        " " + access,
    ):
        assert grants.check(wrong) is None, wrong


def test_refresh_tokens_rotate(grants: Grants, tokens: Tokens, clock: Clock) -> None:
    now = tokens
    for _ in range(5):
        clock.now += 80_000
        after = grants.refresh(now["refresh_token"], "client-1", MCP)
        assert after["refresh_token"] != now["refresh_token"]
        assert after["access_token"] != now["access_token"]
        assert ident(after) == ident(now)
        assert grants.check(after["access_token"])
        now = after
    assert len(grants.list()) == 1


def test_a_used_refresh_token_ends_the_family(grants: Grants, tokens: Tokens) -> None:
    second = grants.refresh(tokens["refresh_token"], "client-1", "")
    third = grants.refresh(second["refresh_token"], "client-1", "")
    assert grants.check(third["access_token"])
    assert "used before" in refused(grants.refresh, tokens["refresh_token"], "client-1", "")
    assert grants.check(third["access_token"]) is None
    assert grants.check(tokens["access_token"]) is None
    refused(grants.refresh, third["refresh_token"], "client-1", "")


@pytest.mark.parametrize(
    ("client", "resource"),
    [("client-2", ""), ("", ""), ("client-1", "https://other.example.org/mcp")],
)
def test_a_refresh_token_in_other_hands_ends_the_family(
    grants: Grants, tokens: Tokens, client: str, resource: str
) -> None:
    refused(grants.refresh, tokens["refresh_token"], client, resource)
    assert grants.check(tokens["access_token"]) is None


def test_a_refresh_token_that_rested_too_long(grants: Grants, tokens: Tokens, clock: Clock) -> None:
    clock.now += 86_401
    assert "too old" in refused(grants.refresh, tokens["refresh_token"], "client-1", "")


def test_what_is_no_refresh_token(grants: Grants, code: str, tokens: Tokens) -> None:
    for wrong in (
        "",
        code,
        tokens["access_token"],
        tokens["refresh_token"] + "x",
        "onr_" + "0" * 32 + "_" + "A" * 43,
    ):
        refused(grants.refresh, wrong, "client-1", "")
    assert grants.check(tokens["access_token"]), "none of that was ours, so nothing has ended"


@pytest.mark.parametrize("which", ["access", "refresh"])
def test_revoking_a_token_ends_the_grant(grants: Grants, tokens: Tokens, which: str) -> None:
    token = tokens["access_token"] if which == "access" else tokens["refresh_token"]
    assert grants.revoke(token, "client-2") == ""
    assert grants.revoke("x", "client-1") == ""
    assert grants.check(tokens["access_token"])
    assert grants.revoke(token, "client-1") == ident(tokens)
    assert grants.check(tokens["access_token"]) is None
    assert grants.revoke(token, "client-1") == ""


def test_a_token_that_looks_right_revokes_nothing(grants: Grants, tokens: Tokens) -> None:
    assert grants.revoke(tokens["access_token"][:-43] + "A" * 43, "client-1") == ""
    assert grants.check(tokens["access_token"])


def test_a_person_ends_a_grant_from_another_process(
    grants: Grants, tokens: Tokens, store: Store, clock: Clock
) -> None:
    other = Grants(Store(store.path), 3600, 86_400, clock)
    assert other.end(ident(tokens)).terms == TERMS
    assert grants.check(tokens["access_token"]) is None
    assert not grants.holds(ident(tokens))
    for wrong in (ident(tokens), "", "x"):
        with pytest.raises(NotFound):
            other.end(wrong)


def test_a_code_nobody_fetched_is_no_grant(grants: Grants, code: str, clock: Clock) -> None:
    assert grants.list() == []
    clock.now += 3600
    grants.open(TERMS, BACK, MARK)
    assert len(grants._store.read()) == 1, "old codes are dropped"


def test_grants_are_bounded(grants: Grants, store: Store, clock: Clock) -> None:
    entry = {
        "terms": ["c", "n", "h", "reader", MCP],
        "created": 0,
        "code": {"used": True},
        "refresh": "",
        "access": {},
    }
    with store.change() as known:
        known.update(
            {f"{n:064d}": entry | {"expires": clock.now + 100 + n} for n in range(MOST_GRANTS + 20)}
        )
    grants.open(TERMS, BACK, MARK)
    assert len(store.read()) == MOST_GRANTS
    assert f"{0:064d}" not in store.read()


def test_access_tokens_of_one_grant_are_bounded(
    grants: Grants, tokens: Tokens, store: Store
) -> None:
    now = tokens
    for _ in range(60):
        now = grants.refresh(now["refresh_token"], "client-1", "")
    (entry,) = store.read().values()
    assert len(entry["access"]) <= 51
    assert grants.check(now["access_token"])


def test_it_survives_a_restart(
    grants: Grants, code: str, store: Store, clock: Clock, tmp_path: Path
) -> None:
    made = redeem(Grants(Store(store.path), 3600, 86_400, clock), code)
    fresh = Grants(Store(store.path), 3600, 86_400, clock)
    assert fresh.check(made["access_token"])
    assert fresh.refresh(made["refresh_token"], "client-1", "")
