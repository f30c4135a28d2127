"""Sealed surroundings for every test: no home, no settings, no git identity but our own."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import coverage
import hypothesis
import pygit2
import pytest

from tests.box import Box

hypothesis.settings.register_profile("oneiro", deadline=None)  # users' machines are busy
hypothesis.settings.load_profile("oneiro")
GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
IDENTITY = (
    "[user]\n\tname = Pat Person\n\temail = pat@example.org\n[init]\n\tdefaultBranch = main\n"
)

OURS = ("ONEIRO_", "GIT_", "XDG_")
"""How variables begin that a sealed environment takes from nowhere else."""

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
    if not _MEASURING and _COUNTING is None:
        return
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
    return {k: v for k, v in os.environ.items() if not k.startswith(OURS)} | _settled(home)


def _settled(home: Path) -> dict[str, str]:
    """What a sealed environment sets."""
    places = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_RUNTIME_DIR": str(home),
    }
    return places | GIT | {"ONEIRO_EMBED_MODEL": "hash", "ONEIRO_DISK_RESERVE": "0"}


@dataclass(frozen=True)
class _Surroundings:
    """A folder with the home of the test's own process in it, and its state when it was made."""

    folder: Path
    state: object

    @classmethod
    def make(cls, base: Path) -> _Surroundings:
        folder = base / f"s{next(_NUMBERS)}"  # short: a socket's whole path has 107 bytes
        (folder / "own").mkdir(parents=True)
        sealed(folder / "own")
        return cls(folder, _state(folder))

    @property
    def untouched(self) -> bool:
        """Did nobody write there? Most tests do not, and the next one may have it."""
        with suppress(OSError):
            return _state(self.folder) == self.state
        return False


_SPARE: list[_Surroundings] = []
"""The one that the test before left as it was."""


def _state(folder: Path) -> object:
    """What stands in it, and when each of it was last changed."""
    own, home = f"{folder}/own", f"{folder}/own/home"
    names = [os.listdir(place) for place in (folder, own, home)]
    return names, [
        os.stat(place).st_ctime_ns for place in (folder, own, home, f"{home}/.gitconfig")
    ]


@pytest.fixture
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of this test for what is not its data. pytest's own numbering looks at every folder
    there is."""
    made = _SPARE.pop() if _SPARE else _Surroundings.make(tmp_path_factory.getbasetemp())
    yield made.folder
    if made.untouched:
        _SPARE.append(made)
    else:
        shutil.rmtree(made.folder, ignore_errors=True)


@pytest.fixture
def sealed_env(surroundings: Path) -> dict[str, str]:
    """The sealed environment for a subprocess."""
    return sealed(surroundings)


@pytest.fixture
def box(tmp_path: Path, sealed_env: dict[str, str]) -> Iterator[Box]:
    """A whole machine: a fresh vault behind the command line, its owner on demand, and nothing left
    behind."""
    made = Box(tmp_path, sealed_env)
    try:
        yield made.init()
    finally:
        made.close()


@pytest.fixture(autouse=True)
def _sealed(surroundings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for the test's own process."""
    wanted = _settled(surroundings / "own" / "home")
    for name in [name for name in os.environ if name.startswith(OURS) and name not in wanted]:
        monkeypatch.delenv(name)
    for name, value in wanted.items():
        monkeypatch.setenv(name, value)
    pygit2.settings.search_path[pygit2.enums.ConfigLevel.GLOBAL] = wanted[
        "HOME"
    ]  # libgit2 looked at HOME before we changed it
