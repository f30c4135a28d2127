from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from oneiro_vault.daemon.lifetime import Guard, Life, SettingsWatch
from oneiro_vault.settings.definitions import load


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_idle_time_ends_an_owner(tmp_path: Path) -> None:
    clock = Clock()
    life = Life(tmp_path, 10, clock=clock)
    clock.now += 9
    assert life.examine()
    clock.now += 1
    assert not life.examine()
    assert life.reason == "nobody asked for 10 seconds"


def test_a_request_keeps_it_alive_and_starts_the_count_again(tmp_path: Path) -> None:
    clock = Clock()
    life = Life(tmp_path, 10, clock=clock)
    with life.request():
        clock.now += 50
        assert life.idle == 0
        assert life.examine()
    clock.now += 9
    assert life.examine()


def test_background_work_keeps_it_alive(tmp_path: Path) -> None:
    clock = Clock()
    work = [True]
    life = Life(tmp_path, 10, busy=lambda: work[0], clock=clock)
    clock.now += 50
    assert life.examine()
    work.clear()
    work.append(False)
    assert not life.examine()


def test_changed_settings_wait_for_the_request_under_way(tmp_path: Path) -> None:
    life = Life(tmp_path, 10, outdated=lambda: True)
    with life.request():
        assert life.examine()
    assert not life.examine()
    assert "settings" in life.reason


def test_the_first_reason_stays(tmp_path: Path) -> None:
    life = Life(tmp_path, 10)
    life.end("first")
    life.end("second")
    assert life.reason == "first"
    assert not life.examine()


@pytest.mark.parametrize("how", ["deleted", "replaced", "folder"])
def test_a_guarded_file_that_goes_is_named(tmp_path: Path, how: str) -> None:
    path = tmp_path / "d" / "owner"
    path.parent.mkdir()
    path.touch()
    guard = Guard(path)
    assert guard.lost() == ""
    if how == "folder":
        shutil.rmtree(path.parent)
    else:
        path.rename(tmp_path / "kept")
        if how == "replaced":
            path.touch()
    assert guard.lost() == str(path)
    life = Life(tmp_path, 10, lost=guard.lost)
    assert not life.examine()
    assert str(path) in life.reason


def test_settings_that_change_on_disk(tmp_path: Path) -> None:
    file = tmp_path / "oneiro.toml"
    file.write_text("[recall]\nk = 5\n")
    watch = SettingsWatch(tmp_path, load(tmp_path))
    assert not watch.changed()
    file.write_text("# the same, said longer\n[recall]\nk = 5\n")
    assert not watch.changed()
    file.write_text("[recall]\nk = 7\n")
    assert watch.changed()


def test_settings_that_break_are_told_and_what_is_in_force_stays(tmp_path: Path) -> None:
    file = tmp_path / "oneiro.toml"
    file.write_text("[recall]\nk = 5\n")
    told: list[list[str]] = []
    watch = SettingsWatch(
        tmp_path, load(tmp_path), lambda wrong: told.append([str(error) for error in wrong])
    )
    file.write_text("k = = 5")
    assert not watch.changed()
    assert "not valid TOML" in told[-1][0]
    file.write_text("[recall]\nk = 7\nkk = 5\n")
    assert not watch.changed()
    assert "line 3" in told[-1][0]
    file.write_text("[recall]\nk = 5\n")
    assert not watch.changed()
    assert told[-1] == []
    file.write_text("[recall]\nk = 7\n\n")
    assert watch.changed()
