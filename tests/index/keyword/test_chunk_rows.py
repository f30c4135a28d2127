"""The order of a session, and contexts that follow every change of it."""

from __future__ import annotations

from collections.abc import Callable

from oneiro_vault.index.keyword import chunk_rows
from oneiro_vault.index.store import Index
from tests.index.conftest import Notes
from tests.index.contents import dump

Open = Callable[..., Index]


def context(index: Index, path: str) -> str:
    return str(dict(dump(index)["context"]).get(path, ""))


def order(index: Index, session: str) -> list[str]:
    keys = [turn.key for turn in chunk_rows.turns(index._database.reading(), session)]
    rows = index.rows(keys)
    return [rows[key].path for key in keys]


def test_the_order_is_date_then_turn_then_path(vault: Notes, open_index: Open) -> None:
    vault.put("z.md", "first", session="s", created="2024-01-01")
    vault.put("b.md", "fourth", session="s", created="2024-01-02")
    vault.put("c.md", "second", session="s", created="2024-01-02", turn=1)
    vault.put("a.md", "third", session="s", created="2024-01-02", turn=2)
    vault.put("0.md", "last", session="s")
    index = open_index()
    index.refresh()
    assert order(index, "s") == ["z.md", "c.md", "a.md", "b.md", "0.md"]


def test_contexts_follow_their_neighbours(vault: Notes, open_index: Open) -> None:
    for number, word in enumerate(["one", "two", "three", "four", "five", "six"]):
        vault.put(f"{number}.md", word, session="s", created=f"2024-01-0{number + 1}")
    index = open_index()
    index.refresh()
    assert [
        word in context(index, "3.md") for word in ("one", "two", "three", "four", "five", "six")
    ] == [
        False,
        True,
        True,
        True,
        True,
        True,
    ]
    vault.put("4.md", "changed", session="s", created="2024-01-05")
    index.refresh(["4.md"])
    assert "changed" in context(index, "3.md")
    vault.drop("4.md")
    index.refresh(["4.md"])
    assert "changed" not in context(index, "3.md")
    assert "six" in context(index, "3.md")
    vault.put("5.md", "six", session="other", created="2024-01-06")
    index.refresh(["5.md"])
    assert "six" not in context(index, "3.md")
    assert context(index, "5.md") == ""


def test_pending_turns_are_nobodys_neighbours(vault: Notes, open_index: Open) -> None:
    vault.put("0.md", "one", session="s", created="2024-01-01")
    vault.put("1.md", "secret", session="s", created="2024-01-02", status="pending")
    vault.put("2.md", "three", session="s", created="2024-01-03")
    index = open_index()
    index.refresh()
    assert "three" in context(index, "0.md")
    assert "secret" not in str(dump(index)["context"]) + str(dump(index)["whole"])
    first, last = index.by_path("0.md"), index.by_path("2.md")
    assert first is not None
    assert last is not None
    assert index.previous([last.key]) == {last.key: first.key}


def test_only_what_changed_is_written(vault: Notes, open_index: Open) -> None:
    for number in range(30):
        vault.put(
            f"{number:02}.md", f"word{number}", session="s", created="2024-01-01", turn=number
        )
    index = open_index()
    index.refresh()
    index.embed()
    vault.put("15.md", "changed", session="s", created="2024-01-01", turn=15)
    index.refresh(["15.md"])
    assert (
        index.pending()[0] == 4
    )  # its own text, and three contexts of one neighbour on either side


def test_a_session_that_ends_leaves_nothing(vault: Notes, open_index: Open) -> None:
    vault.put("0.md", "one", session="s")
    vault.put("1.md", "two", session="s")
    index = open_index()
    index.refresh()
    for name in ("0.md", "1.md"):
        vault.drop(name)
    index.refresh()
    left = dump(index)
    assert (left["context"], left["whole"], left["sessions"], left["places"]) == ([], [], [], [])
