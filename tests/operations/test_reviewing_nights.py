"""Dreams reviewed through pull requests on a bare remote: the reviewer has plain git and nothing of
ours."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from oneiro_vault.app import App
from oneiro_vault.settings.definitions import Settings
from tests.copies import new_vault
from tests.operations.dream.support import SETTINGS, dream, fill, judged
from tests.vault.support import git

WAYS = ("merge", "squash", "rebase", "edit", "close")
"""What becomes of the pull requests, night after night: hosting sites know the first three; the
reviewer edits one, and closes one."""


def told(night: int) -> tuple[str, str]:
    """Two memories that say the same, and nothing like those of any other night."""
    words = " ".join(sha256(f"{night} {number}".encode()).hexdigest()[:6] for number in range(12))
    return f"{words} in spring", f"{words} in the spring"


def reviewed(reviewer: Path, branch: str, way: str) -> None:
    """What the reviewer does with the pull request, with git alone."""
    git(reviewer, "pull", "-q", "origin", "main")
    git(reviewer, "fetch", "-q", "origin", branch)
    if way == "squash":
        git(reviewer, "merge", "-q", "--squash", "FETCH_HEAD")
        git(reviewer, "commit", "-q", "-m", f"Dreams (#{branch})")
    elif way == "rebase":
        git(reviewer, "switch", "-q", "-C", "theirs", "FETCH_HEAD")
        git(reviewer, "-c", "core.editor=true", "rebase", "-q", "--force-rebase", "main")
        git(reviewer, "switch", "-q", "main")
        git(reviewer, "merge", "-q", "--ff-only", "theirs")
    elif way in ("merge", "edit"):
        git(
            reviewer,
            "merge",
            "-q",
            "--no-ff",
            "-m",
            f"Merge pull request from {branch}",
            "FETCH_HEAD",
        )
    if way == "edit":
        changed = git(reviewer, "diff", "--name-only", "HEAD^1", "--", "semantic").split()
        note = next(
            path for path in changed if "superseded_by" not in (reviewer / path).read_text()
        )
        (reviewer / note).write_text(
            (reviewer / note).read_text().rstrip("\n") + "\n\nThe reviewer has seen it.\n"
        )
        git(reviewer, "commit", "-q", "-am", "A word of the reviewer's")
    git(reviewer, "push", "-q", "origin", "main", f":{branch}")


def nights(folder: Path, count: int) -> None:
    """Live them, and check after each that both sides agree and nothing is decided twice."""
    remote, reviewer, root = folder / "remote.git", folder / "reviewer", folder / "vault"
    remote.mkdir()
    git(remote, "init", "-q", "--bare", "-b", "main")
    new_vault(root)
    git(root, "remote", "add", "origin", str(remote))
    for key, value in (("user.name", "Bo"), ("user.email", "bo@example.org")):
        git(root, "config", key, value)
    superseded = 0
    with App.open(root, Settings(SETTINGS | {"dreams.review": True, "dreams.brake": 1.0})) as app:
        judged(app)
        app.call("sync")
        git(folder, "clone", "-q", str(remote), str(reviewer))
        for night in range(count):
            way = WAYS[night % len(WAYS)]
            fill(app, *told(night))
            git(root, "push", "-q", "origin", "main")
            before = statuses(app)
            run = dream(app)
            assert len(run["decisions"]) == 1, (
                night,
                run,
            )  # nothing of an earlier night is done, or proposed, again
            assert statuses(app) == before
            git(root, "push", "-q", "origin", run["branch"])
            reviewed(reviewer, run["branch"], way)
            app.call("sync") if night % 2 else git(
                root, "pull", "-q", "--no-rebase", "origin", "main"
            )
            waits = app.call("review")["proposals"]
            if way == "close":
                assert [row["branch"] for row in waits] == [
                    run["branch"]
                ]  # the site's closing is no verdict of ours
                app.call("review_reject", {"ids": [run["branch"]], "reason": "closed"})
            else:
                assert waits == []
                superseded += 1
            assert statuses(app) == {
                "active": 2 * (night + 1) - superseded,
                "superseded": superseded,
            }
            assert git(root, "status", "--porcelain") == ""
        assert dream(app)["decisions"] == []
        app.call("sync")
        assert git(root, "branch", "--list", "dream/*") == ""
        git(reviewer, "pull", "-q", "origin", "main")
        assert git(reviewer, "rev-parse", "HEAD^{tree}") == git(root, "rev-parse", "HEAD^{tree}")
        kept = git(root, "for-each-ref", "--format=%(refname)", "refs/oneiro/reviewed").split()
        assert len(kept) == count
        assert git(root, "fsck", "--no-progress", "--no-dangling") == ""


def statuses(app: App) -> dict[str, int]:
    """How many memories of each status."""
    app.house.indexing.converge()
    found = [row.status for row in app.house.index.list(limit=10_000) if row.type == "semantic"]
    return {status: found.count(status) for status in sorted(set(found))}


@pytest.mark.slow
def test_a_few_nights(tmp_path: Path) -> None:
    nights(tmp_path, len(WAYS))


@pytest.mark.drill
def test_a_month(tmp_path: Path) -> None:
    nights(tmp_path, 30)
