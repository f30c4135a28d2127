"""Whatever happens to the files of the index, up or down: no error reaches the caller for long, and
the answers are the same again."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from oneiro_vault.errors import IndexFull, IndexProblem
from oneiro_vault.index.keyword import chunk_rows, database
from oneiro_vault.index.keyword.database import FILE, Database
from oneiro_vault.index.store import Index
from tests.index.conftest import Notes
from tests.index.contents import dump

Open = Callable[..., Index]
COUNT = 60


def fill(vault: Notes) -> None:
    pick = random.Random(1)
    for number in range(COUNT):
        words = " ".join(
            pick.choices(
                ["oak", "elm", "ash", "fir", "yew", "ivy", "fig", "bay", "box", "may"], k=30
            )
        )
        vault.put(
            f"{number:02}.md",
            f"Pat: {words} word{number} 東京{number} [[{number // 2:02}]]",
            session=f"s{number % 5}",
            created="2024-01-01",
            turn=number,
        )


def answers(index: Index) -> list[list[str]]:
    """Top ten by words, context and meaning for a few questions, as paths."""
    found = []
    for number in range(0, COUNT, 7):
        question = f"word{number} fig"
        vector = index.query(question)
        lists = [
            index.search_text(f'"word{number}"', 10),
            index.search_context(f'"word{number}" OR "fig"', 10),
        ]
        keys = [[key for key, _ in one] for one in lists] + [
            [hit.key for hit in index.search_vectors(vector, 5)[:2]]
        ]
        rows = index.rows({key for one in keys for key in one})
        found += [[rows[key].path for key in one] for one in keys]
    return found


def healed(index: Index) -> list[list[str]]:
    """What the app does each minute, then the answers."""
    index.canaries()
    index.refresh()
    index.embed()
    assert index.status()["pending"] == 0
    assert index.degraded() is None
    assert index.canaries()
    return answers(index)


def delete(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def halve(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def garbage(path: Path) -> None:
    path.write_bytes(random.Random(2).randbytes(len(path.read_bytes())))


def header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"not what it was")


DAMAGE = [delete, empty, halve, garbage, header]


def essence(index: Index) -> dict[str, list[object]]:
    """The dump without derived texts: what FTS5 reads alike there (`ivy`, `ivi`) is alike, and they
    are never shown."""
    found = dump(index)
    return {
        name: rows for name, rows in found.items() if name not in ("context", "whole", "passages")
    }


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 0x10
    path.write_bytes(content)


@pytest.fixture
def lived(vault: Notes, open_index: Open) -> tuple[Path, list[list[str]]]:
    """The folder of an index in good order, closed, and its answers."""
    fill(vault)
    index = open_index(vectors="chroma")
    index.refresh()
    index.embed()
    wanted = answers(index)
    index.close()
    return index.folder, wanted


def test_closed_in_order_it_is_trusted(
    lived: tuple[Path, list[list[str]]], open_index: Open, vault: Notes
) -> None:
    folder, wanted = lived
    assert json.loads((folder / "index.sound").read_text())[0] == (folder / FILE).stat().st_size
    index = open_index(vectors="chroma")
    assert not (folder / "index.sound").exists()
    index.refresh()
    assert index.open_vectors()
    assert answers(index) == wanted


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("file", [FILE, "embeddings.db"])
def test_a_database_damaged_while_down(
    lived: tuple[Path, list[list[str]]], open_index: Open, file: str, damage: Callable[[Path], None]
) -> None:
    folder, wanted = lived
    damage(folder / file)
    assert healed(open_index(vectors="chroma")) == wanted


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_database_damaged_while_up(
    vault: Notes, open_index: Open, damage: Callable[[Path], None]
) -> None:
    fill(vault)
    index = open_index()
    index.refresh()
    index.embed()
    wanted = answers(index)
    damage(index.folder / FILE)
    assert healed(index) == wanted
    index.close()
    assert healed(open_index()) == wanted


def test_a_write_ahead_log_that_is_garbage(vault: Notes, open_index: Open) -> None:
    fill(vault)
    index = open_index()
    index.refresh()
    index.close()
    for name in ("-wal", "-shm"):
        (index.folder / (FILE + name)).write_bytes(b"\x37\x7f\x06\x82" + b"garbage" * 2000)
    again = open_index()
    again.refresh()
    assert again.count() == COUNT


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_flipped_bytes_are_noticed_or_do_not_matter(
    vault: Notes, open_index: Open, seed: int
) -> None:
    fill(vault)
    index = open_index()
    index.refresh()
    content = essence(index)
    index.embed()
    wanted = answers(index)
    pick = random.Random(seed)
    for _ in range(12):
        index.close()
        flip(index.folder / FILE, pick.randrange(1 << 30))
        index = open_index()
        index.refresh()
        assert essence(index) == content
        index.embed()
        assert answers(index) == wanted


@pytest.mark.parametrize("seed", range(3))
def test_bytes_flipped_while_up(vault: Notes, open_index: Open, seed: int) -> None:
    fill(vault)
    index = open_index()
    index.refresh()
    content = essence(index)
    pick = random.Random(seed)
    for _ in range(8):
        index._database.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        index.refresh()
        with (index.folder / FILE).open("r+b") as file:
            place = pick.randrange((index.folder / FILE).stat().st_size)
            file.seek(place)
            byte = file.read(1)
            file.seek(place)
            file.write(bytes([byte[0] ^ 0x10]))
        index.refresh()
        assert essence(index) == content


def test_another_schema_is_rebuilt(vault: Notes, open_index: Open) -> None:
    fill(vault)
    index = open_index()
    index.refresh()
    index.close()
    with sqlite3.connect(index.folder / FILE) as db:
        db.execute("PRAGMA user_version=77")
    again = open_index()
    assert again.count() == 0
    assert again.status()["complete"] is False
    assert len(again.refresh().added) == COUNT
    assert (index.folder / f"{FILE}.bad").exists()


def test_rows_changed_behind_the_words_are_noticed(vault: Notes, open_index: Open) -> None:
    """What SQLite's own checks do not see: a text that is no longer what its words are filed
    under."""
    fill(vault)
    for change in (
        "UPDATE own_content SET c3 = 'other words'",
        "UPDATE notes SET title = 'x'",
        "UPDATE chunks SET hash = 'y'",
        "DELETE FROM names",
    ):
        index = open_index()
        index.refresh()
        wanted = dump(index)
        index.close()
        with sqlite3.connect(index.folder / FILE) as db:
            db.execute(change)
        db.close()
        again = open_index()
        again.refresh()
        assert dump(again) == wanted
        again.close()


def test_the_whole_folder_deleted_while_up(vault: Notes, open_index: Open) -> None:
    fill(vault)
    index = open_index(vectors="chroma")
    index.refresh()
    index.embed()
    wanted = answers(index)
    shutil.rmtree(index.folder)
    assert healed(index) == wanted


def test_keywords_are_rebuilt_although_the_vectors_cannot_be_listed(
    vault: Notes, open_index: Open
) -> None:
    fill(vault)
    index = open_index(vectors="chroma")
    index.refresh()
    index.embed()
    wanted = answers(index)
    index._semantic._shelf.close()  # type: ignore[union-attr]  # as it is when its files have gone and it must open one again
    index.rebuild()
    assert healed(index) == wanted


def chroma_files(folder: Path) -> list[Path]:
    place = json.loads((folder / "vectors.json").read_text())["folder"]
    return sorted(path for path in (folder / place).rglob("*") if path.is_file())


@pytest.fixture
def large(vault: Notes, open_index: Open) -> tuple[Path, list[list[str]]]:
    """An index with enough vectors that Chroma writes segment files, closed."""
    fill(vault)
    for number in range(2200):
        vault.put(f"more/{number:04}.md", f"filler{number} text{number % 97} part{number % 31}")
    index = open_index(vectors="chroma")
    index.refresh()
    index.embed()
    wanted = answers(index)
    index.close()
    assert len(chroma_files(index.folder)) > 3
    return index.folder, wanted


@pytest.mark.drill
@pytest.mark.parametrize("damage", DAMAGE)
def test_every_file_of_chroma_damaged_while_down(
    large: tuple[Path, list[list[str]]], open_index: Open, damage: Callable[[Path], None]
) -> None:
    folder, wanted = large
    for number in range(len(chroma_files(folder))):
        damage(chroma_files(folder)[number])
        index = open_index(vectors="chroma")
        assert healed(index) == wanted, number
        index.close()


@pytest.mark.drill
@pytest.mark.parametrize("damage", DAMAGE)
def test_every_file_of_chroma_damaged_while_up(
    large: tuple[Path, list[list[str]]], open_index: Open, damage: Callable[[Path], None]
) -> None:
    folder, wanted = large
    for number in range(len(chroma_files(folder))):
        index = open_index(vectors="chroma")
        index.refresh()
        index.open_vectors()
        damage(chroma_files(folder)[number])
        index.canaries()
        index.refresh()
        index.embed()
        assert answers(index) == wanted, number
        index.close()
        again = open_index(vectors="chroma")
        assert healed(again) == wanted, number
        again.close()


@pytest.mark.slow
def test_a_chroma_that_lost_its_segment_is_replaced(
    large: tuple[Path, list[list[str]]], open_index: Open
) -> None:
    """It opens, counts right and finds next to nothing."""
    folder, wanted = large
    for path in chroma_files(folder):
        if path.name == "index_metadata.pickle":
            path.unlink()
    before = chroma_files(folder)[0].parent.name
    index = open_index(vectors="chroma")
    assert healed(index) == wanted
    assert before not in [path.name for path in folder.glob("chroma-*")]


def test_a_store_that_fails_while_up_is_replaced_and_words_answer_meanwhile(
    lived: tuple[Path, list[list[str]]], open_index: Open
) -> None:
    wanted = lived[1]
    index = open_index(vectors="chroma")
    index.refresh()
    index.open_vectors()
    assert index._semantic._serving.store.count()  # type: ignore[union-attr]  # it is open now
    index._semantic._serving.store._collection = None  # type: ignore[union-attr]  # it is there: the test made it
    assert index.search_vectors(index.query("word7 fig"), 5) == []
    assert "the vector index cannot" in str(index.degraded())
    assert index.search_text('"word7"', 5)
    assert healed(index) == wanted


def test_a_full_disk_is_an_index_problem(vault: Notes, open_index: Open) -> None:
    fill(vault)
    index = open_index()
    index.refresh()
    pages = index._database.db.execute("PRAGMA page_count").fetchone()[0]
    index._database.db.execute(f"PRAGMA max_page_count={pages}")
    for number in range(200):
        vault.put(f"more{number}.md", f"lots of words {number} " * 300)
    with pytest.raises(IndexProblem, match="full"):
        index.refresh()
    index._database.db.execute("PRAGMA max_page_count=1000000")
    index.refresh()
    assert index.count() == COUNT + 200


def test_put_aside_keeps_one_copy(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    for content in (b"one", b"two"):
        path.write_bytes(content)
        database.put_aside(path)
    assert [file.name for file in tmp_path.iterdir()] == ["x.db.bad"]
    assert (tmp_path / "x.db.bad").read_bytes() == b"two"


def test_a_full_disk_is_no_damage(tmp_path: Path) -> None:
    """Even a question may want a page of room."""
    db = sqlite3.connect(tmp_path / "small.db")
    db.execute("CREATE TABLE t (x)")
    db.execute("PRAGMA max_page_count = 2")
    with pytest.raises(sqlite3.OperationalError) as full:
        db.execute("INSERT INTO t VALUES (zeroblob(100000))")
    db.close()
    (tmp_path / "index").mkdir()
    database = Database(tmp_path / "index", chunk_rows.faults)
    problem = database.hurt(full.value)
    assert isinstance(problem, IndexFull)
    assert (problem.exit_code, problem.http_status) == (10, 507)
    assert "full" in str(problem)
    assert database.damage is None
