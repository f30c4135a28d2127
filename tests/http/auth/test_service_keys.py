"""Service keys: shown once, stored hashed, scoped, expiring, revoked for every process at once."""

from __future__ import annotations

import re

import pytest

from oneiro_vault.errors import InvalidInput, NotFound
from oneiro_vault.http.auth.json_store import Store
from oneiro_vault.http.auth.service_keys import KEY_ROLES, MOST, Keys
from tests.http.auth.conftest import Clock


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


def test_they_are_bounded(keys: Keys, store: Store, clock: Clock) -> None:
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
                for n in range(MOST)
            }
        )
    with pytest.raises(InvalidInput, match="keys already"):
        keys.add("reader")
