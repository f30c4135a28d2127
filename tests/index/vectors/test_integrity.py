from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.index.vectors import integrity
from oneiro_vault.index.vectors.integrity import Pointer


def test_it_comes_back_as_it_was_written(tmp_path: Path) -> None:
    given = Pointer("chroma-1", "store", "model", 8, [["a", 1, 2]])
    integrity.write_pointer(tmp_path, given)
    assert integrity.read_pointer(tmp_path) == given
    assert [path.name for path in tmp_path.iterdir()] == [integrity.POINTER]
    integrity.forget_pointer(tmp_path)
    integrity.forget_pointer(tmp_path)
    assert integrity.read_pointer(tmp_path) is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "garbage",
        '{"folder": "chroma-../../x", "serving": "s", "model": "m", "dimension": 1}',
        '{"folder": "/etc", "serving": "s", "model": "m", "dimension": 1}',
        '{"folder": "chroma-1", "serving": 5, "model": "m", "dimension": 1}',
        '{"folder": "chroma-1", "serving": "s", "model": "m", "dimension": "x"}',
        '{"folder": "chroma-1", "serving": "s", "model": "m", "dimension": 1, "more": 2}',
    ],
)
def test_what_makes_no_sense_is_no_pointer(tmp_path: Path, content: str) -> None:
    (tmp_path / integrity.POINTER).write_text(content)
    assert integrity.read_pointer(tmp_path) is None
