from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from oneiro_vault.index.vectors.vector_cache import VectorCache
from tests.index.vectors.test_backends import unit


def test_vectors_come_back_nearly_exact(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "e.db")
    given = unit(10, 384)
    cache.put("m", [f"{i:x}" for i in range(10)], given)
    names, found = cache.get("m", ["3", "f0", "7"], 384)
    assert sorted(names) == ["3", "7"]
    assert np.abs(found @ given.T - given[[int(n) for n in names]] @ given.T).max() < 1e-3
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert cache.known("m", ["3", "e"]) == {"3"}
    cache.close()


def test_models_are_apart(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "e.db")
    cache.put("m", ["a"], unit(1, 8))
    cache.put("n", ["a", "b"], unit(2, 16))
    assert cache.models() == {"m": 1, "n": 2}
    assert cache.get("m", ["a"], 8)[1].shape == (1, 8)
    assert cache.get("m", ["a"], 16)[0] == []
    cache.forget("m")
    assert cache.models() == {"n": 2}
    cache.close()


def test_a_damaged_value_counts_as_missing(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "e.db")
    cache.put("m", ["a", "b"], unit(2, 8))
    cache.close()
    with sqlite3.connect(tmp_path / "e.db") as db:
        db.execute("UPDATE vectors_1 SET vector = ? WHERE key = 10", (b"\xff\x7b" * 8,))
    cache = VectorCache(tmp_path / "e.db")
    assert cache.get("m", ["a", "b"], 8)[0] == ["b"]
    cache.close()


@pytest.mark.parametrize("damage", [b"", b"garbage" * 4000, b"SQLite format 3\0" + b"\0" * 5000])
def test_a_damaged_file_is_put_aside(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "e.db").write_bytes(damage)
    cache = VectorCache(tmp_path / "e.db")
    cache.put("m", ["a"], unit(1, 8))
    assert cache.known("m", ["a"]) == {"a"}
    cache.close()


def test_damage_under_way_begins_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "e.db"
    cache = VectorCache(path)
    cache.put("m", [str(i) for i in range(3000)], unit(3000, 64))
    cache.close()
    content = bytearray(path.read_bytes())
    for place in range(4096 * 60, len(content), 4096):
        content[place : place + 100] = b"\xff" * 100
    path.write_bytes(content)
    cache = VectorCache(path)
    with pytest.raises(sqlite3.DatabaseError):
        cache.get("m", [str(i) for i in range(3000)], 64)
    assert cache.models() == {}
    cache.put("m", ["a"], unit(1, 64))
    assert cache.models() == {"m": 1}
    cache.close()


def test_scrubbing_leaves_no_trace(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "e.db")
    given = unit(2, 64)
    cache.put("m", ["a1", "b2"], given)
    cache.scrub(["a1"])
    cache.close()
    content = (tmp_path / "e.db").read_bytes()
    assert given[1].astype(np.float16).tobytes() not in content
    assert given[0].astype(np.float16).tobytes() in content
