"""Permits are spent, come back with time, and nobody fills the memory with invented names."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from oneiro_vault.http.auth.authenticator import Buckets
from tests.http.auth.conftest import Clock


def test_permits_come_back(clock: Clock) -> None:
    buckets = Buckets(3, 60, clock)
    assert [buckets.spend("a") for _ in range(3)] == [0, 0, 0]
    assert buckets.spend("a") == 20
    assert buckets.spend("b") == 0
    clock.now += 19
    assert 0 < buckets.spend("a") <= 1.001
    clock.now += 1
    assert buckets.spend("a") == 0
    clock.now += 1_000_000
    assert [buckets.spend("a") > 0 for _ in range(4)] == [False, False, False, True]


def test_being_refused_costs_nothing(clock: Clock) -> None:
    buckets = Buckets(1, 10, clock)
    buckets.spend("a")
    for _ in range(100):
        assert buckets.spend("a") == 10
    clock.now += 10
    assert buckets.spend("a") == 0


def test_many_at_once(clock: Clock) -> None:
    buckets = Buckets(10, 60, clock)
    assert buckets.spend("a", 8) == 0
    assert buckets.spend("a", 3) == 6
    clock.now += 60
    assert buckets.spend("a", 500) == 0, "more than there can ever be means all of them"
    assert buckets.spend("a") == 6


def test_no_limit(clock: Clock) -> None:
    assert {Buckets(0, 60, clock).spend("a", 1e9) for _ in range(100)} == {0.0}


def test_they_can_be_given_back(clock: Clock) -> None:
    buckets = Buckets(2, 60, clock)
    buckets.spend("a", 2)
    buckets.give_back("a")
    buckets.give_back("nobody")
    assert buckets.spend("a", 2) == 0


def test_one_can_be_refunded(clock: Clock) -> None:
    buckets = Buckets(2, 60, clock)
    buckets.refund("nobody")
    assert [buckets.spend("a"), buckets.spend("a")] == [0, 0]
    buckets.refund("a")
    assert buckets.spend("a") == 0
    assert buckets.spend("a") > 0
    for _ in range(100):
        buckets.refund("a")
    assert [buckets.spend("a") > 0 for _ in range(3)] == [False, False, True], (
        "never more than there were"
    )


def test_the_memory_is_bounded(clock: Clock) -> None:
    buckets = Buckets(1, 60, clock, most=100)
    for number in range(1000):
        buckets.spend(str(number))
    assert len(buckets._left) == 100
    assert buckets.spend("999") > 0


def test_threads_share_them_fairly(clock: Clock) -> None:
    buckets = Buckets(500, 60, clock)
    with ThreadPoolExecutor(8) as threads:
        waits = list(threads.map(lambda _: buckets.spend("a"), range(2000)))
    assert waits.count(0.0) == 500
