"""What a starter makes of a new owner's messages."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.daemon import spawn
from oneiro_vault.errors import DiskProblem, GitProblem, OwnerProblem
from oneiro_vault.settings import locations


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)


def tell(writer: int, *messages: object) -> None:
    os.write(writer, b"".join(json.dumps(message).encode() + b"\n" for message in messages))


def test_ready_means_the_record_can_be_read(pipe: tuple[int, int], tmp_path: Path) -> None:
    path = Path(locations.record_file(str(tmp_path)))
    path.parent.mkdir(parents=True)
    path.write_text('{"pid": 7}')
    tell(pipe[1], {"opening": 7}, {"ready": 7})
    assert spawn._await(pipe[0], tmp_path, tmp_path / "log")["pid"] == "7"
    os.close(pipe[1])


def test_what_it_raised_is_raised_here(pipe: tuple[int, int], tmp_path: Path) -> None:
    tell(pipe[1], {"error": DiskProblem("full", kept="k", hint="h").to_dict()})
    os.close(pipe[1])
    with pytest.raises(DiskProblem, match="full"):
        spawn._await(pipe[0], tmp_path, tmp_path / "log")


def test_an_owner_that_dies_at_once_leaves_its_log(pipe: tuple[int, int], tmp_path: Path) -> None:
    os.close(pipe[1])
    with pytest.raises(OwnerProblem, match="ended before it was ready") as caught:
        spawn._await(pipe[0], tmp_path, tmp_path / "log")
    assert str(tmp_path / "log") in caught.value.hint


def test_an_owner_that_lives_is_waited_for_but_not_forever(
    pipe: tuple[int, int], tmp_path: Path
) -> None:
    heard: list[str] = []

    tell(pipe[1], {"opening": 7})
    with pytest.raises(OwnerProblem, match=r"after \d+ seconds the owner is being started still"):
        spawn._await(pipe[0], tmp_path, tmp_path / "log", heard.append, time.monotonic() + 0.5)
    assert set(heard) == {spawn.STARTING}
    os.close(pipe[1])


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(GitProblem, match="not a git repository"):
        spawn.ensure(tmp_path, tmp_path / ".oneiro")


def test_a_state_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "oneiro").write_text("in the way")
    with pytest.raises(DiskProblem, match="cannot be used"):
        spawn.ensure(tmp_path, tmp_path / ".oneiro")
