"""A configured server is started for real and has to answer."""

from __future__ import annotations

import os
import re
import time

import pytest

from oneiro_vault.clients.installing import greet
from tests.clients import servers


def test_a_server_that_answers() -> None:
    found = greet(servers.python(servers.GOOD), os.environ)
    assert found.ok
    assert (found.server, found.version, found.tools, found.reason) == (
        "stand-in",
        "7",
        ["remember", "recall_check"],
        "",
    )


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (servers.REFUSES, "not today"),
        (servers.NO_TOOLS, "no tools"),
        (servers.CHATTERS, "Connection closed"),
        (servers.DIES, "the vault is on fire"),
        ("import sys; sys.stdin.close(); import time; time.sleep(0.5)", "Connection closed"),
    ],
)
def test_a_server_that_does_not_answer_and_why(code: str, reason: str) -> None:
    found = greet(servers.python(code), os.environ)
    assert not found.ok
    assert re.search(reason, found.reason), found.reason


def test_a_program_that_is_not_there() -> None:
    found = greet(["/nowhere/oneiro", "mcp"], {})
    assert found.reason == "/nowhere/oneiro cannot be started: No such file or directory"


@pytest.mark.slow
def test_waiting_ends_and_so_does_the_process() -> None:
    began = time.monotonic()
    found = greet(servers.python(servers.SLEEPS), os.environ, seconds=0.3)
    assert found.reason.startswith("no answer in time")
    assert time.monotonic() - began < 40, "it was not waited for"


@pytest.mark.slow
def test_a_server_that_does_not_leave_is_ended() -> None:
    assert greet(servers.python(servers.STAYS), os.environ).ok
