"""What an export is, is told by what is in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.formats import FORMATS, named
from tests.importers.exports import TALK, chat, claude_chat, claude_message, zipped
from tests.importers.memories.folders import known

CLAUDE = claude_chat("k", [claude_message("a", "human", "Hello.")])
DEEPSEEK = {
    "id": "d", "title": "x", "inserted_at": "2025-03-05T10:00:00+08:00",
    "mapping": {"1": {"message": {"fragments": [{"type": "REQUEST", "content": "Hi"}]}}},
}  # fmt: skip
SLIM = {"title": "no mapping", "create_time": 1.0, "conversation_id": "s"}
ACTIVITY = {"header": "Gemini Apps", "title": "Prompted x", "time": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"conversations.json": [chat("c", TALK)]}, "chatgpt"),
        ({"conversations.json": [SLIM, chat("c", TALK)]}, "chatgpt"),
        ({"conversations.json": [], "chat.html": "", "message_feedback.json": []}, "chatgpt"),
        ({"conversations.json": [CLAUDE]}, "claude"),
        ({"conversations.json": [None, CLAUDE], "projects.json": []}, "claude"),
        ({"memories.json": [{"conversations_memory": "x"}]}, "claude"),
        ({"conversations.json": [DEEPSEEK], "user.json": {}}, "deepseek"),
        ({"Takeout/Mi actividad/Gemini/MiActividad.json": [ACTIVITY]}, "gemini"),
        ({"Prompt": {"runSettings": {}, "chunkedPrompt": {"chunks": []}}}, "gemini"),
    ],
)
def test_each_by_its_shape(tmp_path: Path, files: dict[str, object], name: str) -> None:
    assert known(zipped(tmp_path / "x.zip", files)) == name


def test_a_loose_file_of_any_name(tmp_path: Path) -> None:
    path = tmp_path / "my chats (2).json"
    with (tmp_path / "x.zip").open("wb"):
        pass
    zipped(tmp_path / "x.zip", {"y": [CLAUDE]})
    with Archive.at(tmp_path / "x.zip") as archive:
        path.write_bytes(archive.read("y"))
    assert known(path) == "claude"


@pytest.mark.parametrize(
    "files", [{}, {"notes.txt": "x"}, {"conversations.json": []}, {"conversations.json": "[1"}]
)
def test_what_is_none_says_what_was_seen(tmp_path: Path, files: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="is no export that is known here") as caught:
        known(zipped(tmp_path / "x.zip", files))
    assert all(name in str(caught.value) for name in files)
    assert "chatgpt" in caught.value.hint


def test_names() -> None:
    assert len({one.name for one in FORMATS}) == len(FORMATS)
    assert named(" ChatGPT ").name == "chatgpt"
    with pytest.raises(InvalidInput, match="there is no format 'x'"):
        named("x")
