"""Disk and index agree after every refresh, whatever happened in between and however it ended."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from oneiro_vault.core.tree_diff import Refused, Stat, blob_id
from oneiro_vault.index.store import Index
from tests.index.conftest import FolderSource, Notes
from tests.index.contents import dump

Open = Callable[..., Index]


def rest(vault: Notes) -> None:
    """Make every file old enough that its stat can be trusted."""
    for path in vault.root.rglob("*.md"):
        stat = path.stat()
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns - 10_000_000_000))
    time.sleep(2.05)  # the change time cannot be set


def found(index: Index, word: str) -> list[str]:
    keys = [key for key, _ in index.search_text(f'"{word}"', 10)]
    return sorted(row.path for row in index.rows(keys).values())


def test_added_modified_and_removed_notes_are_named(vault: Notes, open_index: Open) -> None:
    index = open_index()
    vault.put("a.md", "apples")
    vault.put("b/c.md", "bananas")
    first = index.refresh()
    assert (first.added, first.modified, first.removed, first.complete) == (
        ("a.md", "b/c.md"),
        (),
        (),
        True,
    )
    vault.put("a.md", "cherries")
    vault.drop("b/c.md")
    second = index.refresh()
    assert (second.added, second.modified, second.removed) == ((), ("a.md",), ("b/c.md",))
    assert found(index, "apples") == []
    assert found(index, "cherries") == ["a.md"]
    assert index.count() == 1


def test_paths_limit_the_refresh(vault: Notes, open_index: Open) -> None:
    index = open_index()
    for name in ("a", "b", "c"):
        vault.put(f"{name}.md", name)
    assert index.refresh(["a.md", "nowhere.md"]).added == ("a.md",)
    assert index.refresh(["b.md"]).added == ("b.md",)
    assert index.count() == 2


@pytest.mark.parametrize("folder", ["old", "old/"])
def test_a_folder_stands_for_everything_below_it(
    vault: Notes, open_index: Open, folder: str
) -> None:
    index = open_index()
    vault.put("old/a.md", "apples")
    vault.put("old/deep/b.md", "bananas")
    vault.put("older.md", "figs")
    index.refresh()
    (vault.root / "old").rename(vault.root / "new")
    done = index.refresh([folder, "new/"])
    assert set(done.added) == {"new/a.md", "new/deep/b.md"}
    assert set(done.removed) == {"old/a.md", "old/deep/b.md"}


def test_files_that_rest_are_not_read_again(vault: Notes, open_index: Open) -> None:
    index = open_index()
    for number in range(5):
        vault.put(f"{number}.md", "words")
    rest(vault)
    index.refresh()
    vault.source.reads = 0
    index.refresh()
    assert vault.source.reads == 0


def test_a_file_changed_just_now_is_looked_at_again(vault: Notes, open_index: Open) -> None:
    index = open_index()
    vault.put("a.md", "apples")
    index.refresh()
    stat = (vault.root / "a.md").stat()
    (vault.root / "a.md").write_text("cherry")  # same size
    os.utime(vault.root / "a.md", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert index.refresh().modified == ("a.md",)
    assert found(index, "cherry") == ["a.md"]


def test_what_a_closed_folder_holds_stays(vault: Notes, open_index: Open) -> None:
    index = open_index()
    vault.put("shut/a.md", "apples")
    vault.put("b.md", "bananas")
    index.refresh()
    vault.source.closed.add("shut")
    vault.drop("b.md")
    done = index.refresh()
    assert done.removed == ("b.md",)
    assert found(index, "apples") == ["shut/a.md"]
    assert ("shut", "no permission") in index.unreadable()
    assert index.refresh(["shut/a.md"]).removed == ()
    vault.source.closed.clear()
    vault.drop("shut/a.md")
    assert index.refresh().removed == ("shut/a.md",)
    assert index.unreadable() == []


def test_a_closed_root_removes_nothing(vault: Notes, open_index: Open) -> None:
    index = open_index()
    vault.put("a.md", "apples")
    index.refresh()
    vault.source.closed.add("")
    assert index.refresh().removed == ()
    assert index.count() == 1


def test_an_unreadable_note_keeps_its_last_good_version(vault: Notes, open_index: Open) -> None:
    index = open_index()
    vault.put("a.md", "apples", title="Fruit")
    (vault.root / "bad.md").write_bytes(b"a\0b")
    assert index.refresh().unreadable == ("bad.md",)
    (vault.root / "a.md").write_text("---\ntitle: Fruit\n---\n" + MARKED)
    done = index.refresh()
    assert done.unreadable == ("a.md", "bad.md")
    assert (done.modified, done.removed) == ((), ())
    assert found(index, "apples") == ["a.md"]
    assert index.explain("a.md")["current"] is False
    vault.put("a.md", "cherries", title="Fruit")
    assert index.refresh().modified == ("a.md",)
    assert [path for path, _ in index.unreadable()] == ["bad.md"]


class Commits:
    """A history: every version of each path, newest first."""

    def __init__(self, **versions: list[str]) -> None:
        self.all = {
            f"{name}.md": [data.encode() for data in datas] for name, datas in versions.items()
        }
        self.asked: list[str] = []

    def heads(self, paths: Iterable[str]) -> dict[str, str]:
        return {path: blob_id(self.all[path][0]) for path in paths if path in self.all}

    def versions(self, paths: Iterable[str]) -> dict[str, list[str]]:
        self.asked += paths
        return {
            path: [blob_id(data) for data in self.all[path]] for path in paths if path in self.all
        }

    def data(self, blob: str) -> bytes:
        return next(data for datas in self.all.values() for data in datas if blob_id(data) == blob)

    def born(self, paths: Iterable[str]) -> dict[str, str]:
        return {path: "2024-03-05T10:00:00+01:00" for path in paths if path in self.all}


MARKED = "<<<<<<< ours\nbroken\n=======\nbroken too\n>>>>>>> theirs\n"


def test_what_was_committed_speaks_for_a_note_that_cannot_be_read(
    vault: Notes, open_index: Open
) -> None:
    vault.put("a.md", MARKED)
    vault.put("b.md", MARKED)
    index = open_index(past=Commits(a=["committed words"]))
    done = index.refresh()
    assert (done.added, done.unreadable) == (("a.md", "b.md"), ("a.md", "b.md"))
    assert (found(index, "committed"), found(index, "broken")) == (["a.md"], ["b.md"])
    index.refresh()  # files this new are read again
    assert [path for path, _ in index.unreadable()] == ["a.md", "b.md"]
    vault.put("b.md", MARKED + "more words")
    index.refresh()
    assert (found(index, "committed"), found(index, "more words")) == (["a.md"], ["b.md"])
    vault.put("b.md", "merged words")
    index.refresh()
    assert (found(index, "merged"), [path for path, _ in index.unreadable()]) == (
        ["b.md"],
        ["a.md"],
    )


def test_broken_frontmatter_hides_no_word(vault: Notes, open_index: Open) -> None:
    """Its words are those on disk; who it is comes from the last good version."""
    good = "---\nid: 0123456789ab\ntype: semantic\ntrust: model\ntitle: Keel\n---\napples"
    past = Commits(a=[good])
    index = open_index(past=past)
    vault.put("a.md", good.partition("---\n")[2])
    (vault.root / "a.md").write_text(
        good.replace("Keel", "Keel: painted").replace("apples", "cherries")
    )
    vault.put(
        "new.md", "plums", title="@who", trust="user", id="abcdefghjkmn", created="2024-03-05"
    )
    vault.put("16.md", "")
    (vault.root / "16.md").write_bytes("melons".encode("utf-16"))
    done = index.refresh()
    assert (done.unreadable, index.unreadable(), index.broken()) == (
        (),
        [],
        ["16.md", "a.md", "new.md"],
    )
    assert [found(index, word) for word in ("apples", "cherries", "plums", "melons")] == [
        [],
        ["a.md"],
        ["new.md"],
        ["16.md"],
    ]
    old, new = index.by_path("a.md"), index.by_path("new.md")
    assert old is not None
    assert new is not None
    assert (old.id, old.type, old.trust, old.title) == (
        "0123456789ab",
        "semantic",
        "model",
        "Keel: painted",
    )
    assert (new.id, new.type, new.trust, new.title, new.created[:10]) == (
        "",
        "note",
        "external",
        "@who",
        "2024-03-05",
    )
    index.refresh()
    assert index.broken() == ["16.md", "a.md", "new.md"]
    vault.put("new.md", "plums", title="Who")
    index.refresh()
    assert index.broken() == ["16.md", "a.md"]


def test_the_first_commit_dates_what_names_no_date(vault: Notes, open_index: Open) -> None:
    past = Commits(a=["apples"])
    index = open_index(past=past)
    vault.put("a.md", "apples")
    vault.put("b.md", "bananas")
    vault.put("c.md", "cherries", date="2023-01-02")
    index.refresh()

    def days() -> list[str]:
        return [
            row.created[:10] for path in ("a.md", "b.md", "c.md") if (row := index.by_path(path))
        ]

    assert days() == ["2024-03-05", "", "2023-01-02"]
    past.all["b.md"] = [b"bananas"]  # committed, and the file is as it was
    index.refresh()
    assert days() == ["2024-03-05", "2024-03-05", "2023-01-02"]
    assert index.check() == []
    before = dump(index)
    index.rebuild()
    assert dump(index) == before


def test_it_is_never_older_than_what_head_says(vault: Notes, open_index: Open) -> None:
    past = Commits(a=["first words"])
    index = open_index(past=past)
    vault.put("a.md", "first words")
    index.refresh()
    past.all["a.md"].insert(
        0, b"second words"
    )  # somebody commits, nobody indexes, and the file breaks
    vault.put("a.md", MARKED)
    index.refresh()
    assert (found(index, "first"), found(index, "second")) == ([], ["a.md"])
    past.all["a.md"].insert(0, b"third words")  # HEAD moves on under the broken file
    assert index.refresh(["a.md"]).modified == ("a.md",)
    assert (found(index, "second"), found(index, "third")) == ([], ["a.md"])
    past.all["a.md"].insert(0, b"fourth words")
    assert index.refresh().modified == ("a.md",)
    assert found(index, "fourth") == ["a.md"]
    vault.put("a.md", "fifth words")
    index.refresh()
    assert (found(index, "fourth"), found(index, "fifth"), index.unreadable()) == ([], ["a.md"], [])


def test_a_broken_head_lets_the_version_before_it_speak(vault: Notes, open_index: Open) -> None:
    past = Commits(a=[MARKED, MARKED + ".", "good words", "older words"])
    vault.put("a.md", MARKED)
    index = open_index(past=past)
    index.refresh()
    assert found(index, "good") == ["a.md"]
    index.refresh()
    assert past.asked == ["a.md"], "the history is asked once for each HEAD"
    index.rebuild()
    assert found(index, "good") == ["a.md"]


def test_words_that_were_never_committed_keep_serving(vault: Notes, open_index: Open) -> None:
    index = open_index(past=Commits())
    vault.put("a.md", "apples")
    index.refresh()
    vault.put("a.md", MARKED)
    index.refresh()
    assert found(index, "apples") == ["a.md"]


def test_a_file_without_permission_is_listed_and_kept(vault: Notes, open_index: Open) -> None:
    class Denying(FolderSource):
        denied = ""

        def read(self, path: str, limit: int) -> bytes:
            if path == self.denied:
                raise PermissionError(13, "Permission denied", path)
            return super().read(path, limit)

    vault.source = Denying(vault.root)
    index = open_index()
    vault.put("a.md", "apples")
    index.refresh()
    vault.source.denied = "a.md"
    done = index.refresh()
    assert done.removed == ()
    assert dict(index.unreadable())["a.md"].startswith("cannot be read")
    assert found(index, "apples") == ["a.md"]


def test_half_the_notes_vanishing_is_not_believed_until_somebody_insists(
    vault: Notes, open_index: Open
) -> None:
    index = open_index()
    for number in range(30):
        vault.put(f"{number:02}.md", f"word{number}")
    index.refresh()
    for number in range(20):
        vault.drop(f"{number:02}.md")
    first = index.refresh()
    assert first.braked is not None
    assert "20 of 30" in first.braked
    assert len(first.held) == 20
    assert not first.complete
    assert index.count() == 30
    assert index.refresh().braked is not None
    assert index.refresh(["00.md"]).complete is False
    second = index.refresh(force=True)
    assert (second.braked, len(second.removed), second.complete) == (None, 20, True)


@pytest.mark.parametrize("text", ["---\nid: 7k2m9x4q8w3n\n---\nturnips", "turnips without an id"])
def test_a_moved_note_is_never_served_twice(vault: Notes, open_index: Open, text: str) -> None:
    """The two events of a move may come one by one, from the watches of two folders."""
    index = open_index()
    vault.put("a.md", text)
    vault.put("copied.md", "---\nid: 0k2m9x4q8w3n\n---\nturnips and a copy")
    index.refresh()
    (vault.root / "copy.md").write_bytes((vault.root / "copied.md").read_bytes())
    (vault.root / "a.md").rename(vault.root / "b.md")
    done = index.refresh(["b.md", "copy.md"])
    assert (done.added, done.removed) == (("b.md", "copy.md"), ("a.md",))
    assert sorted(found(index, "turnips")) == ["b.md", "copied.md", "copy.md"]
    assert index.refresh(["a.md"]).removed == ()


def test_moving_everything_is_no_reason_to_brake(vault: Notes, open_index: Open) -> None:
    index = open_index()
    for number in range(30):
        vault.put(f"old/{number}.md", f"---\nid: {number:012d}\n---\nnote {number}")
    index.refresh()
    (vault.root / "old").rename(vault.root / "new")
    done = index.refresh()
    assert (len(done.removed), done.braked) == (30, None)


def test_the_brake_lets_other_changes_through_and_can_be_forced(
    vault: Notes, open_index: Open
) -> None:
    index = open_index(brake=0.3)
    for number in range(40):
        vault.put(f"{number:02}.md", f"word{number}")
    index.refresh()
    for number in range(15):
        vault.drop(f"{number:02}.md")
    vault.put("new.md", "novelty")
    assert index.refresh().added == ("new.md",)
    assert len(index.refresh(force=True).removed) == 15
    assert index.refresh().complete


def test_a_few_notes_may_always_vanish(vault: Notes, open_index: Open) -> None:
    index = open_index()
    for number in range(10):
        vault.put(f"{number}.md", "word")
    index.refresh()
    for number in range(10):
        vault.drop(f"{number}.md")
    assert len(index.refresh().removed) == 10


def test_a_refresh_that_is_cut_short_is_continued(vault: Notes, open_index: Open) -> None:
    class Dying(FolderSource):
        left = 700

        def read(self, path: str, limit: int) -> bytes:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return super().read(path, limit)

    for number in range(1200):
        vault.put(f"{number:04}.md", f"word{number}")
    vault.source = Dying(vault.root)
    index = open_index()
    with pytest.raises(KeyboardInterrupt):
        index.refresh()
    assert index.count() == 500  # whole batches only
    assert index.status()["complete"] is False
    index.close()
    vault.source.left = 10_000
    again = open_index()
    assert len(again.refresh().added) == 700
    assert again.status()["complete"] is True


def test_names_that_are_not_utf8_are_listed(vault: Notes, open_index: Open) -> None:
    (vault.root / os.fsdecode(b"caf\xe9.md")).write_text("coffee")
    vault.put("ok.md", "tea")
    index = open_index()
    done = index.refresh()
    assert done.added == ("ok.md",)
    assert done.unreadable == ("caf\\xe9.md",)


def test_only_the_beginning_of_a_large_note_is_indexed(vault: Notes, open_index: Open) -> None:
    index = open_index(indexed_bytes=1000)
    vault.put("big.md", "first\n" + "filler words\n" * 200 + "last\n")
    index.refresh()
    row = index.by_path("big.md")
    assert row is not None
    assert row.problems == ("truncated",)
    assert row.size > 2000
    assert found(index, "first") == ["big.md"]
    assert found(index, "last") == []
    assert index.explain("big.md")["current"] is True


def test_a_file_that_vanishes_while_it_is_read_is_gone(vault: Notes, open_index: Open) -> None:
    class Vanishing(FolderSource):
        def read(self, path: str, limit: int) -> bytes:
            (self.root / path).unlink()
            return super().read(path, limit)

    vault.source = Vanishing(vault.root)
    vault.put("a.md", "apples")
    index = open_index()
    assert index.refresh().added == ()
    assert index.refresh().complete
    assert index.count() == 0


def test_a_link_in_place_of_a_note_is_refused_and_the_note_kept(
    vault: Notes, open_index: Open, tmp_path: Path
) -> None:
    index = open_index()
    vault.put("a.md", "apples")
    index.refresh()
    vault.drop("a.md")
    (vault.root / "a.md").symlink_to(tmp_path / "elsewhere")
    assert index.refresh().removed == ()
    assert index.unreadable() == [("a.md", "not a regular file")]
    (vault.root / "a.md").unlink()
    assert index.refresh().removed == ("a.md",)
    assert index.unreadable() == []


def test_progress_counts_files(vault: Notes, open_index: Open) -> None:
    seen: list[tuple[str, int, int]] = []
    for number in range(3):
        vault.put(f"{number}.md", "word")
    open_index().refresh(None, lambda *step: seen.append(step))
    assert ("indexing", 3, 3) in seen


def test_another_process_writing_to_the_index_is_noticed(vault: Notes, open_index: Open) -> None:
    index = open_index()
    vault.put("a.md", "apples")
    index.refresh()
    other = open_index()
    vault.put("b.md", "bananas")
    other.refresh()
    assert index.refresh().added == ()
    assert index.count() == 2


def test_the_source_protocol_is_all_that_is_needed(vault: Notes, open_index: Open) -> None:
    vault.put("a.md", "apples")
    assert isinstance(vault.source.stat("a.md"), Stat)
    assert isinstance(vault.source.stat("."), Refused)
    assert open_index().refresh().added == ("a.md",)


def test_a_rebuild_beside_changes_loses_none_of_them(
    vault: Notes, open_index: Open, tmp_path: Path
) -> None:
    """While the new file is built the old one answers and takes in what changes; afterwards the new
    one knows it too."""

    class Slow(FolderSource):
        begun, go_on, held = threading.Event(), threading.Event(), False

        def scan(self) -> Iterator[Stat | Refused]:
            seen = list(super().scan())
            if self.held:
                self.held = False
                self.begun.set()
                assert self.go_on.wait(30)
            yield from seen

    vault.source = source = Slow(vault.root)
    index = open_index()
    vault.put("a.md", "apples")
    vault.put("b.md", "bananas")
    index.refresh()
    source.held = True
    rebuilding = threading.Thread(target=index.rebuild)
    rebuilding.start()
    try:
        assert source.begun.wait(30)
        vault.put("c.md", "cherries")
        vault.put("a.md", "apricots")
        vault.drop("b.md")
        done = index.refresh(["a.md", "b.md", "c.md"])
        assert (done.added, done.modified, done.removed) == (("c.md",), ("a.md",), ("b.md",))
        assert (found(index, "cherries"), found(index, "bananas")) == (["c.md"], [])
    finally:
        source.go_on.set()
        rebuilding.join(30)
    assert (found(index, "cherries"), found(index, "apricots"), found(index, "apples"), found(index, "bananas")) == (
        ["c.md"], ["a.md"], [], [],
    )  # fmt: skip
    assert [path.name for path in (tmp_path / "index").glob("*.new*")] == []


def test_what_a_rebuild_that_was_killed_left_is_cleared_away(
    vault: Notes, open_index: Open, tmp_path: Path
) -> None:
    (tmp_path / "index").mkdir()
    for name in ("index.db.new", "index.db.0badcafe.new", "index.db.0badcafe.new-wal"):
        (tmp_path / "index" / name).write_bytes(b"half")
    open_index().refresh()
    assert [path.name for path in (tmp_path / "index").glob("*.new*")] == []


def test_the_types_in_use(vault: Notes, open_index: Open) -> None:
    index = open_index()
    vault.put("a.md", "x", type="recipe")
    vault.put("b.md", "y", type="semantic")
    vault.put("c.md", "z")
    index.refresh()
    assert list(index.types()) == ["note", "recipe", "semantic"]
