"""What setup did is noted beside the machine's settings, and only while there is something to
note."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.clients.edit.trace import Trace
from oneiro_vault.clients.receipts import Receipts


def test_notes_come_back_and_go(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    receipts = Receipts(tmp_path / "theirs" / "config" / "oneiro" / "setup.json")
    assert receipts.get("/a") is None
    trace = Trace(
        existed=False, text="\r\n", made=["mcpServers"], empty={"": " "}, glue="\n", folders=["/x"]
    )
    receipts.put("/a", trace)
    receipts.put("/b", Trace())
    assert receipts.get("/a") == trace
    receipts.put("/a", None)
    assert receipts.get("/a") is None
    assert receipts.get("/b") == Trace()
    receipts.put("/b", None)
    receipts.put("/never", None)
    assert list(tmp_path.rglob("*")) == [tmp_path / "theirs"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "[]",
        '{"files": 3}',
        '{"files": {"/a": []}}',
        '{"files": {"/a": {"of a later version": 1}}}',
    ],
)
def test_a_damaged_note_is_no_note(tmp_path: Path, text: str) -> None:
    path = tmp_path / "setup.json"
    path.write_text(text)
    receipts = Receipts(path)
    assert receipts.get("/a") in (None, Trace())
    receipts.put("/a", Trace(glue="\n"))
    assert receipts.get("/a") == Trace(glue="\n")
