from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.index.vectors import pointer
from oneiro_vault.index.vectors.pointer import Pointer


def test_it_comes_back_as_it_was_written(tmp_path: Path) -> None:
    given = Pointer("chroma-1", "store", "model", 8, [["a", 1, 2]])
    pointer.write(tmp_path, given)
    assert pointer.read(tmp_path) == given
    assert [path.name for path in tmp_path.iterdir()] == [pointer.NAME]
    pointer.forget(tmp_path)
    pointer.forget(tmp_path)
    assert pointer.read(tmp_path) is None


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
    (tmp_path / pointer.NAME).write_text(content)
    assert pointer.read(tmp_path) is None
