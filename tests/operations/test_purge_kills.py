"""Death at any step of a purge: the next command says so, nothing is written until it is finished,
and finishing it leaves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import NotFound, RepositoryBusy
from oneiro_vault.operations.care import purge
from oneiro_vault.vault.write.disk import PURGE_POINTS
from tests.operations.conftest import QUICK
from tests.operations.erasure import TEXT, everything, remember, said_everywhere
from tests.vault.support import git, run

SCRIPT = """
import sys
from pathlib import Path
from oneiro_vault.app import App
from oneiro_vault.operations.care import purge
from tests.operations.conftest import QUICK
from tests.operations.erasure import TEXT
with App.open(Path(sys.argv[1]), QUICK) as app:
    purge.resume(app.house) if sys.argv[2:] else purge.look(app.house, matching=TEXT).run()
"""


def dies_and_is_finished(root: Path, point: str) -> None:
    with App.open(root, QUICK) as app:
        said_everywhere(app)
    assert run(SCRIPT, root, fault=point).returncode == 137
    assert git(root, "fsck", "--strict", "--no-dangling").strip() == ""
    with App.open(root, QUICK) as app:
        if point in (
            "purge-cleaned",
            "purge-entombed",
        ):  # nothing was begun: once more, from the start
            assert "notices" not in app.call("status")
            assert purge.look(app.house, matching=TEXT).run()["left"] == []
        else:
            assert "--resume" in app.call("status")["notices"][0]
            assert any("purge" in problem["message"] for problem in app.call("doctor")["problems"])
            with pytest.raises(RepositoryBusy, match="unfinished purge"):
                remember(app, "In between.")
            assert purge.resume(app.house)["left"] == []
        remember(app, "Life goes on.")
        with pytest.raises(NotFound):
            purge.resume(app.house)
    assert everything(root) == []
    assert git(root, "stash", "list").strip() == "stash@{0}: On main: [purged]"
    assert "[purged]" in git(root, "stash", "show", "-p")
    assert git(root, "fsck", "--strict", "--no-dangling").strip() == ""


@pytest.mark.slow
@pytest.mark.parametrize("point", ["purge-entombed", "purge-rewritten"])
def test_a_killed_purge_is_finished(root: Path, point: str) -> None:
    dies_and_is_finished(root, point)


@pytest.mark.drill
@pytest.mark.parametrize("point", PURGE_POINTS)
def test_a_purge_killed_anywhere_is_finished(root: Path, point: str) -> None:
    dies_and_is_finished(root, point)


@pytest.mark.slow
def test_what_a_person_saves_meanwhile_stays(root: Path) -> None:
    with App.open(root, QUICK) as app:
        said_everywhere(app)
        other = (
            root / app.call("show", {"id": remember(app, "The pier is closed in winter.")})["path"]
        )
    assert run(SCRIPT, root, fault="purge-begun").returncode == 137
    other.write_text(other.read_text() + "\nSaved while the history was rewritten.\n")
    with App.open(root, QUICK) as app:
        assert purge.resume(app.house)["left"] == []
        assert "Saved while the history was rewritten." in other.read_text()
        app.house.commit_edits()
    assert everything(root) == []
    assert "Saved while" in git(root, "log", "-1", "-p")
