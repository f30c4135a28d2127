"""The audit log: who, what, which memories, how it ended; never words; private; rotated; and it
fails nobody."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.http.auth.authenticator import KEPT, Audit, ids_in
from tests.http.auth.conftest import Clock

ID, OTHER = "3xk9m2p7q4rt", "7qk9m2p7q4rt"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line(tmp_path: Path, clock: Clock) -> None:
    Audit(tmp_path / "a.jsonl", clock=clock).write(
        "key:abc", "tools/call forget", 200, about=[{"id": ID, "reason": "my secret"}], ms=3
    )
    (found,) = lines(tmp_path / "a.jsonl")
    assert found.pop("t").startswith("2027-01-1")
    assert found == {
        "who": "key:abc",
        "op": "tools/call forget",
        "status": 200,
        "ids": [ID],
        "ms": 3,
    }
    assert stat.S_IMODE((tmp_path / "a.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("message", "ids"),
    [
        ({"id": ID}, [ID]), ({"ids": [ID, OTHER, ID]}, [ID, OTHER]),
        ({"results": [{"id": ID, "title": OTHER}]}, [ID]),
        ({"updates": [{"id": ID, "text": "x"}], "highlights": OTHER}, [ID]),
        ([{"id": ID}, {"id": OTHER}], [ID, OTHER]),
        ({"id": "my password is hunter2"}, []), ({"id": "ignorant"}, []), ({"id": ID.upper()}, []),
        ({"id": ID + "x"}, []), ({"id": 5}, []),
        ({"text": ID}, []), ({"query": ID}, []), (ID, []), (None, []), ({"id": {"id": ID}}, []),
        ({"results": {"results": {"results": {"results": {"id": ID}}}}}, []),
        ({"ids": [ID] * 5 + ["x"]}, [ID]),
    ],
)  # fmt: skip
def test_ids_are_looked_for_only_where_ids_stand(message: Any, ids: list[str]) -> None:
    assert ids_in(message) == ids


def test_there_are_never_many() -> None:
    assert len(ids_in({"ids": [f"{n:012d}".replace("1", "x") for n in range(1000)]})) == 20


def test_it_is_rotated(tmp_path: Path, clock: Clock) -> None:
    audit = Audit(tmp_path / "a.jsonl", 200, clock)
    for number in range(40):
        audit.write("key:abc", "op", number)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["a.jsonl", *(f"a.jsonl.{n}" for n in range(1, KEPT + 1))]
    kept = [line["status"] for name in [*names[:0:-1], names[0]] for line in lines(tmp_path / name)]
    assert kept == list(range(kept[0], 40))
    assert all(path.stat().st_size < 400 for path in tmp_path.iterdir())


def test_a_log_that_cannot_be_written_stops_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.jsonl").mkdir()
    Audit(tmp_path / "a.jsonl").write("key:abc", "op", 200)
    assert "cannot be written" in caplog.text
