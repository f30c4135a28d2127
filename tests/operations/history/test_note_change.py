"""What a commit made of a note is told to a person, without what no answer shows."""

from __future__ import annotations

from pathlib import Path

from oneiro_vault.app import App
from oneiro_vault.operations.history import note_change
from tests.vault.secrets.test_secret_scan import AWS
from tests.vault.support import git


def test_a_secret_is_in_no_change(app: App, root: Path) -> None:
    (root / "boat.md").write_text(f"The key is {AWS}.\n")
    git(root, "add", "boat.md")
    git(root, "commit", "-q", "--no-verify", "-m", "by hand")
    (found,) = note_change.in_commit(app.house.vault, git(root, "rev-parse", "HEAD").strip())
    assert found["words"].startswith("The key is ")
    assert AWS not in str(found)
