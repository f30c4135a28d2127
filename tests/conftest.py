"""Sealed surroundings for every test: no home, no settings, no git identity but our own."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import coverage
import hypothesis
import pygit2
import pytest

hypothesis.settings.register_profile("oneiro", deadline=None)  # users' machines are busy
hypothesis.settings.load_profile("oneiro")
GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
IDENTITY = (
    "[user]\n\tname = Pat Person\n\temail = pat@example.org\n[init]\n\tdefaultBranch = main\n"
)

_NUMBERS = itertools.count()
_MEMORY = Path("/dev/shm")
_ROOM = 3_000_000_000
if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM:
    # Every write is synced to the disk several times: two thirds of a run on a disk are spent
    # waiting for it.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


_UNMEASURED = (
    "bar", "clients", "drills", "e2e", "daemon/http/test_attacks", "daemon/test_owner",
    "daemon/test_surroundings", "daemon/test_vanishing",
    "hook/test_program", "hook/test_recorded", "mcp/test_limits",
)  # fmt: skip
"""Tests whose programs run as they are: measuring a process costs more than starting it, and others
go through the same lines."""
_UNCOUNTED = (
    "month",
    "mind/test_orientation_nights",
    "operations/dream/test_scheduler.py::test_once_a_local_day",
)
"""Tests of many nights and days, whose lines others run too: counting them takes longer than
running them."""
_COUNTING = (
    coverage.Coverage.current()
)  # asked once: of one that is stopped it knows nothing any more
_MEASURING = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE")}


def pytest_collection_finish() -> None:
    """Ten thousand tests are no garbage, and need not be looked through for it again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before the first fixture: are the processes of this test measured?"""
    place = _place(item)
    for name, value in _MEASURING.items():
        if place.startswith(_UNMEASURED):
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if _COUNTING is not None and place.startswith(_UNCOUNTED):
        _COUNTING.stop()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """After the last fixture of a test that was not counted, the next one may be."""
    if _COUNTING is not None and _place(item).startswith(_UNCOUNTED):
        _COUNTING.start()


def _place(item: pytest.Item) -> str:
    return f"{item.path.relative_to(Path(__file__).parent).as_posix()}::{item.name}"


def sealed(folder: Path) -> dict[str, str]:
    """An environment whose home, settings and runtime folder lie in `folder`, with the hash
    embedder and no stray variable of ours."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    (home / ".gitconfig").write_text(IDENTITY, encoding="utf-8")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ONEIRO_", "GIT_", "XDG_"))}
    places = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_RUNTIME_DIR": str(home),
    }
    return kept | places | GIT | {"ONEIRO_EMBED_MODEL": "hash", "ONEIRO_DISK_RESERVE": "0"}


@pytest.fixture
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of this test for what is not its data. pytest's own numbering looks at every folder
    there is."""
    made = (
        tmp_path_factory.getbasetemp() / f"s{next(_NUMBERS)}"
    )  # short: a socket's whole path has 107 bytes
    made.mkdir()
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def sealed_env(surroundings: Path) -> dict[str, str]:
    """The sealed environment for a subprocess."""
    return sealed(surroundings)


@pytest.fixture(autouse=True)
def _sealed(surroundings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for the test's own process."""
    own = surroundings / "own"
    own.mkdir()
    wanted = sealed(own)
    for name in set(os.environ) - set(wanted):
        monkeypatch.delenv(name)
    for name, value in wanted.items():
        monkeypatch.setenv(name, value)
    pygit2.settings.search_path[pygit2.enums.ConfigLevel.GLOBAL] = wanted[
        "HOME"
    ]  # libgit2 looked at HOME before we changed it
