"""Capture happens only where a marker allows it, and a forbidding one always wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.capture.markers import ALLOW, DENY, find, named


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """a/b/c below a folder of its own."""
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    return tmp_path


def mark(folder: Path, name: str = ALLOW, text: str = "") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def test_nothing_is_captured_by_default(tree: Path) -> None:
    found = find(str(tree / "a"))
    assert (found.allows, found.path) == (False, "")


def test_a_marker_counts_for_everything_below(tree: Path) -> None:
    path = mark(tree / "a")
    assert find(str(tree / "a" / "b" / "c")).path == path
    assert find(str(tree / "a")).allows
    assert not find(str(tree)).allows


def test_the_nearest_of_two_decides(tree: Path) -> None:
    mark(tree / "a", text='project = "outer"')
    mark(tree / "a" / "b", text='project = "inner"')
    assert find(str(tree / "a" / "b" / "c")).project == "inner"
    assert find(str(tree / "a")).project == "outer"


@pytest.mark.parametrize(
    "where", [".", "a", "a/b", "a/b/c"], ids=["above", "beside", "nearer", "here"]
)
def test_a_forbidding_marker_wins_wherever_it_is(tree: Path, where: str) -> None:
    mark(tree / "a")
    path = mark(tree / where, DENY)
    found = find(str(tree / "a" / "b" / "c"))
    assert (found.allows, found.path) == (False, path)


def test_one_below_forbids_nothing_above(tree: Path) -> None:
    mark(tree / "a")
    mark(tree / "a" / "b", DENY)
    assert find(str(tree / "a")).allows


def test_a_forbidding_marker_may_be_anything(tree: Path) -> None:
    """A folder, a dangling link: somebody meant it."""
    mark(tree)
    (tree / "a" / DENY).mkdir()
    assert not find(str(tree / "a")).allows
    (tree / "a" / DENY).rmdir()
    (tree / "a" / DENY).symlink_to("nowhere")
    assert not find(str(tree / "a")).allows


def test_an_allowing_marker_is_a_file(tree: Path) -> None:
    (tree / ALLOW).mkdir()
    assert not find(str(tree)).allows


def test_vault_and_project(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark(tree / "a", text='# ours\nvault = "../notes"\nproject = "Ferry"\n')
    found = find(str(tree / "a" / "b"))
    assert (found.vault, found.project) == (str(tree / "notes"), "Ferry")
    monkeypatch.setenv("HOME", str(tree))
    mark(tree / "a", text='vault = "~/mine"')
    assert find(str(tree / "a")).vault == str(tree / "mine")


@pytest.mark.parametrize(
    "text",
    ["vault = ", "vault = 3", "project = ['x']", "\x00\x01 not toml ["],
    ids=["cut", "number", "list", "junk"],
)
def test_a_marker_that_cannot_be_read_allows_nothing(tree: Path, text: str) -> None:
    path = mark(tree / "a", text=text)
    found = find(str(tree / "a"))
    assert (found.allows, found.path, bool(found.problem)) == (False, path, True)


def test_comments_alone_are_an_empty_marker(tree: Path) -> None:
    mark(tree / "a", text="\n  # yes, here\n\n[later]\n")
    assert find(str(tree / "a")).allows


def test_links_are_followed_both_ways(tree: Path) -> None:
    """A folder reached through a link is below what it is reached through and below where it really
    is."""
    elsewhere = tree / "elsewhere"
    elsewhere.mkdir()
    link = tree / "a" / "link"
    link.symlink_to(elsewhere)
    mark(tree / "a")
    assert find(str(link)).allows
    mark(elsewhere, DENY)
    assert not find(str(link)).allows


def test_a_folder_that_is_gone_still_has_ancestors(tree: Path) -> None:
    mark(tree / "a")
    assert find(str(tree / "a" / "was" / "here")).allows


def test_a_marker_that_others_can_write_or_that_is_no_toml_does_not_count(tree: Path) -> None:
    path = mark(tree / "a", text='vault = "mine"')
    assert find(str(tree / "a")).vault
    Path(path).chmod(0o666)
    assert not find(str(tree / "a")).allows
    for text in ("vault = " + "[" * 30_000, 'vault = "a\\u0000b"'):
        mark(tree / "a" / "b", text=text)
        found = find(str(tree / "a" / "b"))
        assert (found.allows, found.vault) == (False, "")
        assert found.problem


def test_a_command_follows_a_marker_to_a_vault_only(tree: Path) -> None:
    mark(tree / "a", text='vault = "../mine"')
    assert named(str(tree / "a")) == ""
    (tree / "mine").mkdir()
    (tree / "mine" / "oneiro.toml").write_text("", encoding="utf-8")
    assert named(str(tree / "a" / "b")) == str(tree / "mine")
