"""DeepSeek's export: fragments along the newest branch."""

from __future__ import annotations

from pathlib import Path

from oneiro_vault.importers.chats import deepseek, dialogue
from tests.importers.exports import conversations, records, said, zipped


def node(ident: str, parent: str | None, *fragments: tuple[str, str]) -> dict[str, object]:
    words = [{"type": kind, "content": text} for kind, text in fragments]
    message = {
        "files": [{"file_name": "a.pdf"}] if ident == "3" else [], "model": "deepseek-chat",
        "inserted_at": f"2025-03-05T10:0{ident}:00.000000+08:00", "fragments": words,
    }  # fmt: skip
    return {"id": ident, "parent": parent, "children": [], "message": message if words else None}


def test_the_newest_branch(tmp_path: Path) -> None:
    mapping = {
        "root": {"id": "root", "parent": None, "children": ["1"], "message": None},
        "1": node("1", "root", ("REQUEST", "My old words.")),
        "2": node("2", "1", ("THINK", "Hm."), ("RESPONSE", "Old answer.")),
        "3": node("3", "root", ("REQUEST", "My goat is called Bert.")),
        "4": node("4", "3", ("THINK", "Hm."), ("SEARCH", "goats"), ("RESPONSE", "Bert!")),
    }
    chat = {
        "id": "d1", "title": "Goats", "inserted_at": "2025-03-05T10:00:00.000000+08:00",
        "updated_at": "2025-03-05T11:00:00.000000+08:00", "mapping": mapping,
    }  # fmt: skip
    path = zipped(tmp_path / "x.zip", {"conversations.json": [chat], "user.json": {"mobile": "1"}})
    (one,) = conversations(records(deepseek.FORMAT, path))
    assert said(one) == [
        ("user", "My goat is called Bert."), ("tool", "[attached] a.pdf"),
        ("tool", "[search] goats"), ("assistant", "Bert!"),
    ]  # fmt: skip
    assert (one.id, one.remark) == ("d1", dialogue.NEWEST)
    assert one.at is not None
    assert one.at.isoformat() == "2025-03-05T10:00:00+08:00"
