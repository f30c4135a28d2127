"""The person's password: stored by scrypt, changed at once, guessed at only slowly."""

from __future__ import annotations

import hashlib

import pytest

from oneiro_vault.errors import InvalidInput
from oneiro_vault.http.auth.authenticator import LONGEST, TRIES, TRY_SECONDS, Login
from oneiro_vault.http.auth.json_store import Store
from tests.http.auth.conftest import Clock

WORD = "four calm words here"


@pytest.fixture
def login(store: Store, clock: Clock) -> Login:
    return Login(store, clock)


@pytest.mark.slow
def test_setting_and_checking(login: Login, store: Store) -> None:
    assert not login.exists
    assert not login.check("", "a")
    login.set(WORD)
    assert login.exists
    assert WORD not in store.path.read_text()
    assert Login(Store(store.path)).check(WORD, "a")
    assert not login.check(WORD + " ", "a")
    login.set("another word entirely")
    assert not login.check(WORD, "a")
    assert login.remove()
    assert not login.remove()
    assert not login.check("another word entirely", "a")


@pytest.mark.parametrize("word", ["", "short", "x" * (LONGEST + 1)])
def test_what_is_no_password(login: Login, word: str) -> None:
    with pytest.raises(InvalidInput, match="characters"):
        login.set(word)
    assert not login.exists


def test_an_endless_one_is_not_even_tried(login: Login) -> None:
    login.set(WORD)
    assert not login.check("x" * 10_000_000, "a")


def test_guessing_is_slow_for_each_and_for_all(login: Login, clock: Clock) -> None:
    assert [login.wait("a") for _ in range(TRIES)] == [0.0] * TRIES
    assert login.wait("a") > 0
    assert login.wait("b") == 0
    for number in range(200):
        login.wait(f"bot{number}")
    assert login.wait("c") > 0, "everybody together is limited too"
    clock.now += TRY_SECONDS
    assert login.wait("a") == 0


@pytest.mark.slow
def test_who_knows_it_starts_afresh(login: Login) -> None:
    login.set(WORD)
    for _ in range(TRIES - 1):
        login.wait("a")
        assert not login.check("wrong word entirely", "a")
    assert login.wait("a") == 0
    assert login.check(WORD, "a")
    assert [login.wait("a") for _ in range(TRIES)] == [0.0] * TRIES


def test_many_right_logins_lock_nobody_out(login: Login, store: Store) -> None:
    cost = {"n": 2, "r": 1, "p": 1}  # stored as `set` does, but cheap to check thirty times
    with store.change() as known:
        known |= {
            "scheme": "scrypt",
            **cost,
            "salt": "00",
            "hash": hashlib.scrypt(WORD.encode(), salt=b"\0", **cost, dklen=32).hex(),
        }
    for number in range(6 * TRIES + 2):
        assert login.wait(f"program{number}") == 0
        assert login.check(WORD, f"program{number}")
