"""What a person reads of a sync and a clone."""

from __future__ import annotations

import pytest

from tests.box import Box
from tests.sync.support import bare
from tests.vault.support import git


@pytest.mark.slow
def test_sync_and_clone(fresh: Box) -> None:
    remote = bare(fresh.folder / "remote.git")
    fresh.init()
    assert "no remote" in fresh("sync").stderr.decode()
    assert "failed" not in fresh.ok("status")
    git(fresh.vault, "remote", "add", "origin", str(remote))
    fresh.remember("The boat is called Petrel.")
    assert "would happen with origin" in fresh.ok("sync", "--dry-run")
    assert "In step with origin" in fresh.ok("sync")
    assert "sync     last with origin" in fresh.ok("status")
    two = Box(fresh.folder, fresh.env, fresh.folder / "two")
    try:
        assert "1 notes" in fresh.ok("clone", str(remote), str(two.vault))
        two.remember("It leaks.")
        assert "1 sent" in two.ok("sync")
    finally:
        two.close()
    assert "comes here" in fresh.ok("sync")
    git(fresh.vault, "remote", "set-url", "origin", "https://127.0.0.1:9/x.git")
    done = fresh("sync")
    assert done.returncode == 0
    assert done.stdout.startswith(b"Offline:")
    assert "failed" in fresh.ok("status")


def test_a_clone_that_fails_speaks_of_a_clone(fresh: Box) -> None:
    """There is no vault yet that anything could be safe in, or that `oneiro sync` could be run
    in."""
    place = fresh.folder / "copy"
    offline = fresh("clone", "http://127.0.0.1:9/x", str(place))
    nothing = fresh("clone", str(fresh.folder / "nowhere"), str(place))
    assert (offline.returncode, nothing.returncode) == (11, 11)
    assert b"run `oneiro clone` again" in offline.stderr
    for done in (offline, nothing):
        assert b"Nothing of it was left here." in done.stderr
        assert b"oneiro sync" not in done.stderr
    assert not place.exists()


def test_what_clashed_is_looked_for_where_it_is(fresh: Box) -> None:
    """A note bears a flag; settings and pictures cannot, so nobody is sent to look for theirs among
    the flags."""
    remote = bare(fresh.folder / "remote.git")
    fresh.init()
    git(fresh.vault, "remote", "add", "origin", str(remote))
    (fresh.vault / "day.md").write_text("# Day\n\nRain.\n")
    fresh.ok("--no-daemon", "sync")
    two = Box(fresh.folder, fresh.env, fresh.folder / "two")
    try:
        fresh.ok("clone", str(remote), str(two.vault))
        for box, number, word in ((fresh, 7, "Sun."), (two, 8, "Snow.")):
            settings = box.vault / "oneiro.toml"
            settings.write_text(settings.read_text().replace("# k = 10", f"k = {number}"))
            (box.vault / "day.md").write_text(f"# Day\n\n{word}\n")
        fresh.ok("--no-daemon", "sync")
        said = two.ok("--no-daemon", "sync")
    finally:
        two.close()
    assert "1 note says both things now" in said
    assert "look there: oneiro.toml. The other" in said
