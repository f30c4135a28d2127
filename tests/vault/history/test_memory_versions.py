"""Which version each sentence came from, through renames, merges and absence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oneiro_vault.core.memory import parse
from oneiro_vault.vault.change import Operation
from oneiro_vault.vault.history.memory_versions import Version, origins, versions
from oneiro_vault.vault.vault import Vault
from tests.vault.support import git, note, path_of, put

ID = f"{1:012d}"


def lines(one: Version) -> Sequence[str]:
    return parse(one.path, one.data or b"").body.split()


def blamed(vault: Vault, path: str, ident: str = ID) -> dict[str, str]:
    """Word -> title of the commit it came with."""
    words = parse(path, vault.read(path)).body.split()
    found = origins(versions(vault.repo, vault.head(), path, ident), words, lines)
    return {word: one.entry.title if one else "" for word, one in zip(words, found, strict=True)}


def by_hand(root: Path, title: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", title)


def test_a_rename_that_rewrites_is_followed_by_the_id(vault: Vault, root: Path) -> None:
    put(vault, 1, "one two")
    put(vault, 2, "one two three four five")
    put(vault, 1, "one two three")
    git(root, "mv", path_of(1), "elsewhere.md")
    (root / "elsewhere.md").write_bytes(note(1, "one " + " ".join(f"word{n}" for n in range(60))))
    by_hand(root, "moved and rewritten")
    git(root, "mv", "elsewhere.md", "again.md")
    by_hand(root, "moved")
    found = blamed(vault, "again.md")
    assert (found["one"], found["word9"]) == ("Note 1", "moved and rewritten")
    names = [one.path for one in versions(vault.repo, vault.head(), "again.md", ID)]
    assert names == ["again.md", "elsewhere.md", path_of(1), path_of(1)]


def test_a_note_without_an_id_is_followed_by_its_bytes(vault: Vault, root: Path) -> None:
    (root / "plain.md").write_text("one two\n")
    by_hand(root, "first")
    git(root, "mv", "plain.md", "moved.md")
    by_hand(root, "moved")
    (root / "moved.md").write_text("one two three\n")
    by_hand(root, "second")
    assert blamed(vault, "moved.md", "") == {"one": "first", "two": "first", "three": "second"}


def test_each_side_of_a_merge_keeps_its_words(vault: Vault, root: Path) -> None:
    put(vault, 1, "one\n\n\n\n\n\nend")
    git(root, "checkout", "-qb", "side")
    (root / path_of(1)).write_bytes(note(1, "one\n\n\n\n\n\nend theirs"))
    by_hand(root, "their side")
    git(root, "checkout", "-q", "-")
    (root / path_of(1)).write_bytes(note(1, "ours one\n\n\n\n\n\nend"))
    by_hand(root, "our side")
    git(root, "-c", "merge.oneiro.driver=", "merge", "-q", "--no-edit", "side")
    found = blamed(vault, path_of(1))
    assert found == {"ours": "our side", "one": "Note 1", "end": "Note 1", "theirs": "their side"}


def test_what_was_forgotten_and_came_back_is_as_old_as_it_is(vault: Vault, root: Path) -> None:
    put(vault, 1, "one two")
    git(root, "rm", "-q", path_of(1))
    by_hand(root, "gone")
    (root / path_of(1)).parent.mkdir(parents=True)
    (root / path_of(1)).write_bytes(note(1, "one two three"))
    by_hand(root, "back")
    assert blamed(vault, path_of(1)) == {"one": "Note 1", "two": "Note 1", "three": "back"}


def test_another_memory_that_had_the_place_before_is_not_it(vault: Vault, root: Path) -> None:
    (root / "place.md").write_bytes(note(7, "one two"))
    by_hand(root, "another")
    (root / "place.md").write_bytes(note(1, "one two three"))
    by_hand(root, "this one")
    assert set(blamed(vault, "place.md").values()) == {"this one"}


def test_what_is_only_on_disk_has_no_commit(vault: Vault, root: Path) -> None:
    put(vault, 1, "one")
    (root / path_of(1)).write_bytes(note(1, "one two"))
    assert blamed(vault, path_of(1)) == {"one": "Note 1", "two": ""}
    (root / "new.md").write_text("word")
    assert blamed(vault, "new.md", "") == {"word": ""}


def test_who_made_a_version_is_known(vault: Vault) -> None:
    put(vault, 1, "one")
    (entry,) = [one.entry for one in versions(vault.repo, vault.head(), path_of(1), ID)]
    assert (entry.op, entry.actor, entry.memories) == ("remember", "model", (ID,))
    vault.apply([], Operation("ledger", "nothing"))
    assert len(versions(vault.repo, vault.head(), path_of(1), ID)) == 1
