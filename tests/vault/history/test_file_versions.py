"""Earlier versions by path, out of a real history."""

from __future__ import annotations

from pathlib import Path

from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.vault.vault import Vault
from tests.vault.support import git, note, path_of, put


def test_every_version_newest_first(vault: Vault, root: Path) -> None:
    old, new = put(vault, 1, "old"), put(vault, 1, "new")
    (root / path_of(1)).write_bytes(b"\0")
    git(root, "commit", "-qam", "broken by hand")
    put(vault, 2)
    found = vault.past.versions([path_of(1), path_of(2), "none.md"])
    assert found == {
        path_of(1): [blob_id(data) for data in (b"\0", new, old)],
        path_of(2): [blob_id(note(2))],
    }
    assert [vault.past.data(blob) for blob in found[path_of(1)]] == [b"\0", new, old]
    assert vault.past.heads([path_of(1), "none.md"]) == {path_of(1): blob_id(b"\0")}


def test_names_and_folders_and_links(vault: Vault, root: Path) -> None:
    """Names are taken literally; what HEAD has as a folder or a link is no version of a note."""
    (root / "[a]*.md").write_text("one")
    (root / "x.md").mkdir()
    (root / "x.md" / "b.md").write_text("two")
    (root / "link.md").symlink_to("[a]*.md")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "odd names")
    names = ["[a]*.md", "x.md", "link.md"]
    assert vault.past.heads(names) == {"[a]*.md": blob_id(b"one")}
    assert vault.past.versions(names)["[a]*.md"] == [blob_id(b"one")]
    assert "link.md" not in vault.past.versions(names)


def test_what_a_merge_brought_and_what_was_deleted(vault: Vault, root: Path) -> None:
    put(vault, 1, "base")
    git(root, "checkout", "-qb", "side")
    (root / path_of(1)).write_bytes(note(1, "side"))
    git(root, "commit", "-qam", "side")
    git(root, "checkout", "-q", "-")
    put(vault, 2)
    git(root, "merge", "-q", "--no-ff", "-m", "merge", "side")
    git(root, "rm", "-q", path_of(1))
    git(root, "commit", "-qm", "gone")
    found = vault.past.versions([path_of(1)])[path_of(1)]
    assert list(dict.fromkeys(found)) == [blob_id(note(1, "side")), blob_id(note(1, "base"))]
    assert vault.past.heads([path_of(1)]) == {}


def test_a_vault_without_commits(vault: Vault) -> None:
    assert vault.past.heads(["a.md"]) == {}
    assert vault.past.versions(["a.md"]) == {}
