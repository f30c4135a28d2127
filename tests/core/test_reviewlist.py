"""A review as an editable text."""

from __future__ import annotations

from typing import Any

import pytest

from oneiro_vault.core.reviewlist import read, written


def row(ident: str, **more: Any) -> dict[str, Any]:
    change = {"is_new": False, "title": "Boat", "keys": {"status": "superseded"}, "words": "red ~~boat~~ **ship**"}
    given = {"id": ident, "branch": "dream/2026-11-22", "op": "merge", "title": "Boats # 2", "reason": "one\nboat", "stale": None}
    return {**given, "changes": [change], **more}


def test_a_list_that_is_saved_unread_changes_nothing() -> None:
    text = written(
        [row("aaaa1111"), row("bbbb2222", stale="it changed"), row("cccc3333", branch="dream/2026-11-23", reason="", changes=[])]
    )
    assert read(text) == []
    assert "3 proposals for review" in text
    assert text.index("dream/2026-11-22") < text.index("skip aaaa1111 merge: Boats ＃ 2") < text.index("dream/2026-11-23")
    assert "why: one boat" in text
    assert "no longer fits: it changed" in text
    assert "red ~~boat~~ **ship**" in text


def test_what_a_person_wrote_is_read() -> None:
    text = written([row("aaaa1111"), row("bbbb2222")]).replace("skip aaaa1111", "ACCEPT aaaa1111").replace("skip bbbb2222", "r bbbb2222")
    assert read(text.replace("r bbbb2222 merge: Boats ＃ 2", "r bbbb2222 merge: Boats ＃ 2 # they   differ")) == [
        ("accept", "aaaa1111", ""),
        ("reject", "bbbb2222", "they differ"),
    ]
    assert read("") == []


@pytest.mark.parametrize(
    ("text", "words"),
    [("skip a\npick b", "line 2 begins with 'pick'"), ("accept", "line 1 names no"), ("a x\nr x", "line 2 decides x a second time")],
)
def test_what_cannot_be_read_is_named_by_its_line(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read(text)
