"""Lists of JSON are read one element at a time, and a broken one stops no other."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import pytest

from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers import elements as module
from oneiro_vault.importers.elements import Damaged, elements


@pytest.fixture(params=[1, 3, 64, 1 << 20], autouse=True)
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much is read at once."""
    monkeypatch.setattr(module, "_CHUNK", request.param)


def read(data: bytes, **options: Any) -> list[Any]:
    found: list[Any] = []
    try:
        for one in elements(io.BytesIO(data), **options):
            found.append(one)  # noqa: PERF402 (what came before an error counts)
    except InvalidInput as error:
        found.append(str(error))
    return found


def test_any_element() -> None:
    data = b'\xef\xbb\xbf [1, -3.5e3 ,true,null,"a\\"b\\\\", {"x":[1,{"y":"]}"}]}, [] ]'
    assert read(data) == [1, -3500.0, True, None, 'a"b\\', {"x": [1, {"y": "]}"}]}, []]
    assert read(b"[]") == []


def test_the_list_under_a_key() -> None:
    data = b'{"x":{"chats":[9]},"n":[1,2],"chats":[{"a":1},2],"z":1}'
    assert read(data, keys=("chats",)) == [{"a": 1}, 2]
    assert read(b'{"x":1}', keys=("chats",)) == ["it is not a list of records"]
    assert read(b'{"x":1}') == ["it is not a list of records"]


def test_a_broken_element_stops_no_other() -> None:
    found = read(b'[{"a":1}, {"a": tru, "b":"x,]\\"\\\\"}, xx, {"a":2}, "\\q", "z"]')
    assert [one for one in found if not isinstance(one, Damaged)] == [{"a": 1}, {"a": 2}, "z"]
    assert [one.index for one in found if isinstance(one, Damaged)] == [1, 2, 4]


def test_a_cut_file_says_so_after_what_came_before() -> None:
    assert read(b'[{"a":1},{"b":"cu')[0] == {"a": 1}
    assert "after 1 whole records" in read(b'[{"a":1},{"b":"cu')[1]
    assert "after 1 whole records" in read(b'[{"a":1}')[1]
    assert "after 0 whole records" in read(b"[")[0]


def test_what_is_too_long_is_left_out() -> None:
    data = b'[1,"' + b"x" * 5000 + b'",{"y":"' + b'\\"' * 3000 + b'"},3]'
    found = read(data, most=1000)
    assert (found[0], found[3]) == (1, 3)
    assert all("more than any conversation" in one.why for one in found[1:3])


def test_depth_and_bytes_that_are_no_text_harm_nothing() -> None:
    found = read(b"[" + b"[" * 5000 + b"]" * 5000 + b', "\xff", 5]')
    assert isinstance(found[0], Damaged)
    assert found[1:] == ["\ufffd", 5]


def test_like_the_whole_at_once() -> None:
    rng = random.Random(5)
    whole = [{"t": "é😀" * rng.randrange(300), "l": [1.5] * rng.randrange(90)} for _ in range(20)]
    for ascii_only in (True, False):
        assert read(json.dumps(whole, ensure_ascii=ascii_only).encode()) == whole
