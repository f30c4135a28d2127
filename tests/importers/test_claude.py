"""Claude.ai's export, old and split: messages, what was pasted, projects and memories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.chats import claude, dialogue
from oneiro_vault.importers.records import Record
from tests.importers.exports import (
    claude_chat,
    claude_message,
    conversations,
    notes,
    records,
    said,
    skipped,
    zipped,
)

ROOT = "00000000-0000-4000-8000-000000000000"


def of(tmp_path: Path, *chats: Any, **files: object) -> list[Record]:
    whole = {"conversations.json": list(chats)} | {f"{name}.json": x for name, x in files.items()}
    return records(claude.FORMAT, zipped(tmp_path / "x.zip", whole))


def turns(tmp_path: Path, *messages: Any) -> list[tuple[str, str]]:
    (one,) = conversations(of(tmp_path, claude_chat("k", messages)))
    return said(one)


def test_a_plain_conversation(tmp_path: Path) -> None:
    messages = [
        claude_message("a", "human", "I moved to Porto."), claude_message("b", "assistant", "Nice.")
    ]  # fmt: skip
    (one,) = conversations(of(tmp_path, claude_chat("k", messages)))
    assert (one.id, one.title) == ("k", "About k")
    assert said(one) == [("user", "I moved to Porto."), ("assistant", "Nice.")]
    assert one.at is not None
    assert one.at.isoformat() == "2025-03-05T10:00:00+00:00"
    assert one.updated is not None
    assert one.updated.hour == 11
    assert [turn.id for turn in one.turns] == ["a", "b"]


@pytest.mark.parametrize("content", ["missing", [], json.dumps([{"type": "text", "text": "Yes."}])])
def test_old_messages_without_blocks_and_blocks_in_a_text(tmp_path: Path, content: Any) -> None:
    message = claude_message("a", "human", "Yes.")
    if content == "missing":
        del message["content"]
    else:
        message["content"] = content
    assert turns(tmp_path, message) == [("user", "Yes.")]


def test_only_the_newest_branch(tmp_path: Path) -> None:
    messages = [
        claude_message("a", "human", "One.", 0, parent_message_uuid=ROOT),
        claude_message("b", "assistant", "First.", 1, parent_message_uuid="a"),
        claude_message("c", "human", "Edited.", 5, parent_message_uuid=ROOT),
        claude_message("d", "assistant", "Second.", 5, parent_message_uuid="c"),
    ]
    (one,) = conversations(of(tmp_path, claude_chat("k", messages)))
    assert said(one) == [("user", "Edited."), ("assistant", "Second.")]
    assert one.remark == dialogue.NEWEST


def test_what_was_pasted_or_injected_is_nobodys(tmp_path: Path) -> None:
    blocks = [
        {"type": "text", "text": "See this."},
        {"type": "injected_prompt_block", "prompt": "Be a good model.", "injection_source": "x"},
        {"type": "voice_note", "title": "v", "text": "And I said this."},
    ]
    pasted = [
        {"file_name": "paste.txt", "file_type": "txt", "extracted_content": "I am a king."},
        {"file_name": "x.png", "extracted_content": ""},
    ]
    files = [{"file_uuid": "u", "file_name": "x.png"}, {"file_name": "y.pdf"}]
    message = claude_message("a", "human", "", content=blocks, attachments=pasted, files=files)
    assert turns(tmp_path, message) == [
        ("user", "See this."), ("quoted", "[injected] Be a good model."),
        ("user", "And I said this."), ("quoted", "[paste.txt] I am a king."),
        ("tool", "[attached] x.png"), ("tool", "[attached] y.pdf"),
    ]  # fmt: skip


def test_thoughts_are_left_out_and_artifacts_are_seen(tmp_path: Path) -> None:
    made = {"command": "create", "title": "Plan", "content": "# Plan", "type": "text/markdown"}
    blocks = [
        {"type": "thinking", "thinking": "Hm.", "summaries": []},
        {"type": "text", "text": "Here it is."},
        {"type": "tool_use", "name": "artifacts", "input": made},
        {"type": "tool_use", "name": "artifacts",
         "input": {"command": "update", "old_str": "a", "new_str": "b"}},
        {"type": "tool_result", "name": "web_search", "content": [{"type": "text", "text": "R"}]},
        {"type": "token_budget", "tokens": 5}, {"type": "quux"}, None,
    ]  # fmt: skip
    human = claude_message("a", "human", "A plan, please.")
    message = claude_message("b", "assistant", "Hm. Here it is.", content=blocks)
    found = turns(tmp_path, human, message)
    assert found[1:3] == [("assistant", "Here it is."), ("assistant", "**Plan**\n\n# Plan")]
    assert [speaker for speaker, _ in found[3:]] == ["tool", "tool"]
    assert found[4][1] == "[web search result] R" or found[4][1] == "[web_search result] R"


def test_empty_nameless_and_doubled(tmp_path: Path) -> None:
    twice = [claude_message("a", "human", "Once."), claude_message("a", "human", "Twice.", 1)]
    found = of(
        tmp_path, claude_chat("e", []), claude_chat("n", [None, *twice], name=""), {"uuid": "x"}
    )
    (one,) = conversations(found)
    assert (one.title, said(one)) == ("", [("user", "Once.")])
    assert "two messages" in one.remark
    assert len(skipped(found)) == 2


def test_projects_memories_and_their_names(tmp_path: Path) -> None:
    projects = [
        {"uuid": "p1", "name": "Kiln", "description": "", "prompt_template": "Think of glazes.",
         "created_at": "2025-01-02T03:04:05.000000+00:00", "is_starter_project": False,
         "docs": [{"uuid": "d1", "filename": "glaze.md", "content": "Cobalt.",
                   "created_at": "2025-02-02T00:00:00+00:00"}]},
        {"uuid": "p2", "name": "Kiln", "prompt_template": None, "docs": []},
        {"uuid": "p3", "name": "Sample", "is_starter_project": True,
         "docs": [{"uuid": "d3", "filename": "x", "content": "An example."}]},
    ]  # fmt: skip
    memories = [
        {"conversations_memory": "She is a potter.", "account_uuid": "a",
         "project_memories": {"p1": "The kiln is electric."}}
    ]  # fmt: skip
    found = notes(of(tmp_path, projects=projects, memories=memories))
    assert [(one.text, one.trust, one.meta.get("project")) for one in found] == [
        ("Think of glazes.", "said", "Kiln"), ("Cobalt.", "external", "Kiln"),
        ("She is a potter.", "model", None), ("The kiln is electric.", "model", "Kiln"),
    ]  # fmt: skip
    assert found[1].id == "d1"
    assert found[1].at is not None
    assert (found[1].at.month, found[1].path) == (2, "Kiln/glaze.md")


def split(tmp_path: Path, *categories: str) -> Path:
    place = tmp_path / "split"
    place.mkdir()
    chat = claude_chat("k", [claude_message("a", "human", "Hello.")])
    design = {
        "uuid": "dc", "title": "Logo", "created_at": "2026-08-01T00:00:00Z",
        "updated_at": "2026-08-02T00:00:00Z", "project": {"uuid": "q", "name": "Brand"},
        "messages": [{"uuid": "m", "role": "user", "content": {"content": "A logo, please."},
                      "created_at": "2026-08-01T00:00:00Z"},
                     {"uuid": "n", "role": "assistant", "created_at": "2026-08-01T00:01:00Z",
                      "content": {"contentBlocks": [{"type": "text", "text": "Here."}]}}],
    }  # fmt: skip
    parts: dict[str, dict[str, object]] = {
        "conversations": {"conversations.json": [chat]},
        "projects": {"projects/p1.json": {"uuid": "p1", "name": "Kiln", "prompt_template": "Hot.",
                                          "docs": []}},
        "memories": {"memories/acc-1.json": {"account_uuid": "acc-1", "memory_files": [
            {"path": "work.md", "content": "Works at night.",
             "updated_at": "2026-08-03T00:00:00Z"}]}},
        "light_metadata": {"users.json": [{"uuid": "u", "email_address": "x@example.com"}],
                           "login_history.json": []},
        "design_chats": {"design_chats/dc.json": design},
    }  # fmt: skip
    listed = [
        {"batch_index": 0, "category": name, "part": 0, "filename": f"{name}-000.zip",
         "export_url": "https://example.com/secret-link"} for name in parts
    ]  # fmt: skip
    (place / "manifest-1.json").write_text(json.dumps({"version": "1.0", "data_files": listed}))
    for name in categories or parts:
        zipped(place / f"{name}-000.zip", parts[name])
    return place


def test_a_split_export(tmp_path: Path) -> None:
    found = records(claude.FORMAT, split(tmp_path))
    assert [one.id for one in conversations(found)] == ["dc", "k"]
    assert conversations(found)[0].project == "Brand"
    assert said(conversations(found)[0]) == [("user", "A logo, please."), ("assistant", "Here.")]
    assert [one.text for one in notes(found)] == ["Hot.", "Works at night."]
    assert not skipped(found)


def test_a_part_that_is_missing_is_named_without_its_link(tmp_path: Path) -> None:
    found = records(claude.FORMAT, split(tmp_path, "conversations", "projects"))
    assert [one.where for one in skipped(found)] == ["memories-000.zip", "design_chats-000.zip"]
    assert "secret-link" not in str(found)


def test_one_part_by_itself(tmp_path: Path) -> None:
    place = split(tmp_path)
    for name in ("projects", "memories", "conversations", "design_chats"):
        found = records(claude.FORMAT, place / f"{name}-000.zip")
        assert len(conversations(found)) + len(notes(found)) == 1


def test_another_services_file_is_an_error(tmp_path: Path) -> None:
    path = zipped(tmp_path / "y.zip", {"conversations.json": [{"mapping": {}, "title": "x"}]})
    with pytest.raises(InvalidInput, match="none of the 1 records"):
        records(claude.FORMAT, path)


def test_blocks_of_a_kind_nobody_knows_leave_the_flat_copy(tmp_path: Path) -> None:
    new = claude_message("a", "human", "My words.", content=[{"type": "quux", "payload": 1}])
    only_thoughts = [{"type": "thinking", "thinking": "Hm."}]
    thought = claude_message("b", "assistant", "Hm.", 1, content=only_thoughts)
    assert turns(tmp_path, new, thought) == [("user", "My words.")]
