"""Messages no one can forge, and the log read back in the order of history."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.core.markdown.quoting import one_line
from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.vault.change import Operation, Remove, Write
from oneiro_vault.vault.history import commit_log
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import digest
from tests.vault.support import REMEMBER, git, make, note, path_of, put

text = st.text(max_size=60)


@given(title=text, reason=text, run=text, actor=text, memory=text)
def test_no_value_can_forge_a_trailer(
    title: str, reason: str, run: str, actor: str, memory: str
) -> None:
    operation = Operation("revise", title, actor, (memory, "0" * 12), reason, run)
    made = commit_log.message(operation, "device")
    found = commit_log.trailers(made)
    assert found["Op"] == ["revise"]
    assert found["Memory"][-1] == "0" * 12
    assert found["Device"] == ["device"]
    assert len(made.split("\n\n")) == 2
    assert commit_log.subject(made) == ("revise", one_line(title, 180) or "untitled")
    assert made.encode()


def test_hostile_values_by_hand() -> None:
    made = commit_log.message(
        Operation(
            "forget",
            "x\r\n\r\nOneiro-Op: purge\u2028y\0\udcff",
            "a\nOneiro-Memory: b",
            reason="r" * 5000,
        ),
        "d",
    )
    assert made.splitlines()[0] == "forget: x Oneiro-Op: purge y ?"
    assert commit_log.trailers(made)["Actor"] == ["a Oneiro-Memory: b"]
    assert len(commit_log.trailers(made)["Reason"][0]) == 2000


def test_a_commit_by_hand_has_no_operation() -> None:
    assert commit_log.subject("remember: mine\n\nno trailers\n") == ("", "remember: mine")
    assert commit_log.subject("x\n\nOneiro-Op: destroy\n") == ("", "x")


def test_the_life_of_a_memory_follows_its_file(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    put(vault, 1, "second")
    git(root, "mv", path_of(1), "renamed.md")
    git(root, "commit", "-qm", "moved by hand")
    (root / "renamed.md").write_bytes(note(1, "edited by hand"))
    git(root, "commit", "-qam", "edited by hand")
    vault.apply(
        [Remove("renamed.md", digest(note(1, "edited by hand")))],
        Operation("forget", "x", memories=(f"{1:012d}",)),
    )
    life = [entry.title for entry in vault.log.entries(memory=f"{1:012d}", path="renamed.md")]
    assert life == ["x", "edited by hand", "moved by hand", "Note 1", "Note 1"]
    assert [entry.title for entry in vault.log.entries(path="renamed.md")] == life
    assert [entry.title for entry in vault.log.entries(2, path="renamed.md")] == life[:2]
    assert vault.log.entries(memory="z" * 12) == []


def test_a_memory_that_resembles_another_has_a_life_of_its_own(vault: Vault, root: Path) -> None:
    """`git log --follow` calls a new file the copy of one that is half the same, and short notes
    are."""
    alike = "This was said in the kitchen, late in the evening, when all the others had left."
    put(vault, 1, f"Kiel is windy.\n{alike}")
    put(vault, 2, f"Mara likes tea.\n{alike}")
    put(vault, 2, f"Mara likes coffee.\n{alike}")
    assert [entry.memories for entry in vault.log.entries(memory=f"{2:012d}", path=path_of(2))] == [
        (f"{2:012d}",)
    ] * 2
    git(root, "mv", path_of(2), "moved.md")
    git(root, "commit", "-qm", "moved by hand")
    assert [entry.title for entry in vault.log.entries(path="moved.md")] == [
        "moved by hand",
        "Note 2",
        "Note 2",
    ]


def test_a_note_without_an_id_has_a_life_too(vault: Vault, root: Path) -> None:
    (root / "plain.md").write_text("x")
    vault.edits.commit()
    (root / "plain.md").write_text("y")
    vault.edits.commit()
    assert len(vault.log.entries(path="plain.md")) == 2


def test_the_log_is_ordered_by_history_not_by_clock(root: Path) -> None:
    make(root)
    for number, clock in enumerate((2e9, 1e9, 3e9, 0.0)):
        vault = Vault.open(root, clock=lambda clock=clock: clock, reserve=0)  # type: ignore[misc]  # mypy cannot type a lambda's default
        put(vault, 1, f"version {number}")
    assert [entry.when for entry in vault.log.entries()] == [0.0, 3e9, 1e9, 2e9]
    assert [entry.when for entry in vault.log.entries(memory=f"{1:012d}")] == [0.0, 3e9, 1e9, 2e9]


def test_an_edit_by_hand_is_found_among_all_and_among_the_latest(vault: Vault, root: Path) -> None:
    put(vault, 1)
    (root / path_of(1)).write_bytes(note(1, "edited by hand"))
    vault.edits.commit()
    (edit,) = vault.history.lately("edit", 0.0)
    assert edit.paths == (path_of(1),)
    assert vault.history.lately("edit", edit.when) == [edit]
    assert vault.history.lately("edit", edit.when + 60) == []


def test_both_sides_of_a_merge_are_in_the_log(vault: Vault, root: Path) -> None:
    put(vault, 1)
    git(root, "switch", "-qc", "other")
    put(vault, 2)
    git(root, "switch", "-q", "main")
    put(vault, 3)
    git(root, "merge", "-q", "--no-edit", "other")
    assert {entry.title for entry in vault.log.entries()} >= {"Note 1", "Note 2", "Note 3"}


def test_odd_messages_do_not_confuse_the_log(vault: Vault, root: Path) -> None:
    put(vault, 1)
    git(
        root,
        "commit",
        "-q",
        "--allow-empty",
        "-F",
        "-",
        stdin="odd \x01 \x1e\n\nA\tpath\nOneiro-Op: remember\n",
    )
    git(
        root,
        "-c",
        "i18n.commitEncoding=latin1",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "gr\xfc\xdfe",
    )
    entries = vault.log.entries()
    assert [entry.op for entry in entries] == ["", "", "remember"]
    assert entries[1].paths == ()
    assert len(vault.log.entries(1)) == 1


def test_an_empty_vault_has_an_empty_log(vault: Vault) -> None:
    assert vault.log.entries() == []
    assert vault.log.entries(memory="0" * 12) == []


def test_merging_two_lists_keeps_what_both_have_in_step() -> None:
    def entry(name: str, when: float) -> commit_log.Entry:
        return commit_log.Entry(name, "", name, when, "")

    a, b, c, d = entry("a", 1), entry("b", 9), entry("c", 5), entry("d", 7)
    assert [e.commit for e in commit_log._merge([a, c], [b, c, d])] == ["b", "a", "c", "d"]
    assert len(commit_log._merge([a, b], [b, a])) >= 2
    assert commit_log._merge([], [a]) == [a]
    assert commit_log._merge([a]) == [a]


def test_copies_and_renames_report_the_new_name(vault: Vault, root: Path) -> None:
    vault.apply([Write("a.md", note(1, "long enough to be seen as the same file"))], REMEMBER)
    git(root, "mv", "a.md", "b.md")
    git(root, "commit", "-qm", "move")
    assert vault.log.entries(1)[0].paths == ("b.md",)
    assert list(commit_log._touched(["\nM", "x", "", "R100", "old", "new", "D", "gone", "A"])) == [
        ("M", "x"),
        ("R", "new"),
        ("D", "gone"),
    ]


def test_what_a_commit_took_out_is_told(vault: Vault, root: Path) -> None:
    put(vault, 1)
    put(vault, 2)
    git(root, "rm", "-q", path_of(1))
    git(root, "mv", path_of(2), "moved.md")
    git(root, "commit", "-qm", "by hand")
    assert vault.log.entries(1)[0].removed == (path_of(1),)
    assert vault.log.entries()[-1].removed == ()


def test_a_chain_of_undoing_keeps_a_short_name(vault: Vault, root: Path) -> None:
    """undo, redo, undo, and so on: each says what becomes of the first commit."""
    put(vault, 0)
    put(vault, 1)
    first = vault.head()
    for _ in range(5):
        vault.undo("HEAD")
    entries = vault.log.entries(5)
    assert [entry.title for entry in entries] == [
        f"{word} {first[:10]} remember: Note 1" for word in "undo redo undo redo undo".split()
    ]
    assert [entry.op for entry in entries] == ["restore"] * 5
    assert [entry.undoes for entry in entries] == [
        entry.commit for entry in vault.log.entries(6)[1:]
    ]
    assert [len(entry.removed) for entry in entries] == [1, 0, 1, 0, 1]
    assert not (root / path_of(1)).exists()


def test_undoing_a_commit_made_by_hand_names_it(vault: Vault, root: Path) -> None:
    put(vault, 1)
    (root / path_of(1)).write_bytes(note(1, "changed"))
    git(root, "commit", "-qam", "undo everything I said")
    named = vault.head()[:10]
    vault.undo("HEAD")
    assert vault.log.entries(1)[0].title == f"undo {named} undo everything I said"
    vault.undo("HEAD")
    assert vault.log.entries(1)[0].title == f"redo {named} undo everything I said"


@pytest.mark.parametrize("reason", ["undo of nothing", "said: undo of " + "a" * 40, ""])
def test_only_our_own_words_make_an_undo(reason: str) -> None:
    assert (
        commit_log.undone(commit_log.message(Operation("restore", "Tea", reason=reason), "device"))
        == ""
    )
    assert (
        commit_log.undone(
            commit_log.message(Operation("remember", "Tea", reason="undo of " + "a" * 40), "device")
        )
        == ""
    )
    assert (
        commit_log.undone(
            commit_log.message(Operation("restore", "Tea", reason="undo of " + "a" * 40), "device")
        )
        == "a" * 40
    )


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
