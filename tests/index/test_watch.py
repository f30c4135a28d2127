"""Whatever happens to a file, its path is reported once it rests; nothing else is."""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oneiro_vault.index import watch
from oneiro_vault.index.watch import Watcher
from tests.box import patient


class Seen:
    """What a watcher reported."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.overflows = 0
        self.changed = threading.Event()

    def dirty(self, paths: set[str]) -> None:
        self.paths += sorted(paths)
        self.changed.set()

    def overflow(self) -> None:
        self.overflows += 1
        self.changed.set()

    def covers(self, path: str) -> bool:
        return path in self.paths or any(
            path.startswith(folder) for folder in self.paths if folder.endswith("/")
        )


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("vault/a/b", "vault/.git/objects", "vault/.oneiro"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "vault/a/old.md").write_text("old")
    return tmp_path / "vault"


@pytest.fixture
def watcher(root: Path, seen: Seen) -> Iterator[Watcher]:
    made = Watcher(root, seen.dirty, seen.overflow, debounce=0.05)
    made.start()
    yield made
    made.stop()


def wait(happened: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + patient(seconds)
    while not happened():
        assert time.monotonic() < end, "it was not reported"
        time.sleep(0.01)


def test_every_way_of_saving_is_seen(root: Path, seen: Seen, watcher: Watcher) -> None:
    assert watcher.mode == "events"
    (root / "a/plain.md").write_text("1")
    (root / "a/.tmp123").write_text("2")
    os.replace(root / "a/.tmp123", root / "a/atomic.md")
    os.rename(root / "a/old.md", root / "a/b/new.md")
    (root / "top.md").write_text("3")
    for path in ("a/plain.md", "a/atomic.md", "a/old.md", "a/b/new.md", "top.md"):
        wait(lambda path=path: seen.covers(path))  # type: ignore[misc]  # mypy cannot type a default of a lambda
    (root / "top.md").unlink()
    seen.paths.clear()
    wait(lambda: seen.covers("top.md"))


def test_reading_dot_folders_and_other_files_are_not_reported(
    root: Path, seen: Seen, watcher: Watcher
) -> None:
    (root / "a/old.md").read_text()
    (root / ".git/objects/x.md").write_text("1")
    (root / ".oneiro/y.md").write_text("1")
    (root / "a/image.png").write_bytes(b"1")
    (root / "a/.hidden.md").write_text("1")
    (root / "a/last.md").write_text("1")
    wait(lambda: seen.covers("a/last.md"))
    assert set(seen.paths) == {"a/last.md"}
    assert seen.overflows == 0


@pytest.mark.parametrize("folder", ["new", "a/b/new"])
def test_folders_that_come_and_go_and_come_again(
    root: Path, seen: Seen, watcher: Watcher, folder: str
) -> None:
    for number in range(3):
        (root / folder / "deep").mkdir(parents=True)
        (root / folder / "deep" / f"{number}.md").write_text("1")
        wait(lambda number=number: seen.covers(f"{folder}/deep/{number}.md"))  # type: ignore[misc]  # mypy cannot type a default of a lambda
        time.sleep(0.2)
        seen.paths.clear()
        (root / folder / "deep" / f"{number}.md").write_text("2")
        wait(lambda number=number: seen.covers(f"{folder}/deep/{number}.md"))  # type: ignore[misc]  # mypy cannot type a default of a lambda
        seen.paths.clear()
        shutil.rmtree(root / folder)
        wait(lambda number=number: seen.covers(f"{folder}/deep/{number}.md"))  # type: ignore[misc]  # mypy cannot type a default of a lambda
        seen.paths.clear()


@pytest.mark.parametrize(("old", "new"), [("a", "z"), ("a/b", "a/c"), ("a/b", "z")])
def test_moved_folders(root: Path, seen: Seen, watcher: Watcher, old: str, new: str) -> None:
    (root / "a/b/x.md").write_text("1")
    wait(lambda: seen.covers("a/b/x.md"))
    seen.paths.clear()
    os.rename(root / old, root / new)
    moved = "a/b/x.md".replace(old, new, 1)
    wait(lambda: seen.covers("a/b/x.md") and seen.covers(moved))
    seen.paths.clear()
    (root / moved).write_text("2")
    wait(lambda: seen.covers(moved))


def test_a_folder_moved_out_is_one_event_for_all_it_held(
    root: Path, seen: Seen, watcher: Watcher, tmp_path: Path
) -> None:
    os.rename(root / "a", tmp_path / "elsewhere")
    wait(lambda: seen.covers("a/old.md"))


def test_a_file_that_never_rests_is_reported_all_the_same(
    root: Path, seen: Seen, watcher: Watcher
) -> None:
    end = time.monotonic() + patient(3)
    while time.monotonic() < end and not seen.paths:
        (root / "busy.md").write_text(str(time.monotonic()))
        time.sleep(0.02)
    assert seen.covers("busy.md")


def test_lost_events_are_heard_of(seen: Seen, watcher: Watcher) -> None:
    logging.getLogger("watchdog.observers.inotify_c").warning(
        "Inotify queue overflowed; filesystem events were lost"
    )
    assert seen.overflows == 1


def test_after_stop_nothing_is_reported(root: Path, seen: Seen, watcher: Watcher) -> None:
    watcher.stop()
    (root / "late.md").write_text("1")
    time.sleep(0.2)
    assert seen.paths == []


def test_a_listener_that_fails_does_not_end_the_watch(root: Path, seen: Seen) -> None:
    def failing(paths: set[str]) -> None:
        seen.dirty(paths)
        raise RuntimeError("listener")

    watcher = Watcher(root, failing, seen.overflow, debounce=0.02)
    watcher.start()
    for name in ("one.md", "two.md"):
        (root / name).write_text("1")
        wait(lambda name=name: seen.covers(name))  # type: ignore[misc]  # mypy cannot type a default of a lambda
    watcher.stop()


def test_polling_compares_everything_again_and_again(root: Path, seen: Seen) -> None:
    watcher = Watcher(root, seen.dirty, seen.overflow, poll=True, every=0.05)
    watcher.start()
    assert (watcher.mode, watcher.reason) == ("polling", "asked for by watch.poll")
    wait(lambda: seen.overflows >= 3)
    watcher.stop()


def test_network_disks_are_recognised(tmp_path: Path) -> None:
    mounts = (
        "/dev/vda / ext4 rw 0 0\nhost:/x /home/me/nfs nfs4 rw 0 0\n//h/s /mnt/a\\040b cifs rw 0 0\n"
    )
    assert watch.network(Path("/home/me/nfs/vault"), mounts) == "nfs4"
    assert watch.network(Path("/mnt/a b/vault"), mounts) == "cifs"
    assert watch.network(Path("/home/me/vault"), mounts) == ""


@pytest.mark.drill
def test_when_no_watch_is_left_it_polls_and_says_so(root: Path, seen: Seen) -> None:
    limit = Path("/proc/sys/fs/inotify/max_user_watches")
    before = limit.read_text()
    try:
        limit.write_text("3")
    except OSError:
        pytest.skip("needs root")
    watcher = Watcher(root, seen.dirty, seen.overflow, every=0.05)
    try:
        watcher.start()
        assert watcher.mode == "polling"
        assert "limit of inotify watches" in watcher.reason
        wait(lambda: seen.overflows > 1)
    finally:
        watcher.stop()
        limit.write_text(before)
