"""ChatGPT's export in all its shapes: only what was on screen, and who said it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.chats import chatgpt
from oneiro_vault.importers.chats.dialogue import NEWEST, Node, on_screen
from oneiro_vault.importers.records import Conversation, Record
from tests.importers.exports import (
    BEGAN,
    TALK,
    chain,
    chat,
    conversations,
    message,
    notes,
    records,
    said,
    skipped,
    tree,
    zipped,
)


def of(tmp_path: Path, *chats: Any, **files: object) -> list[Record]:
    path = zipped(tmp_path / "x.zip", {"conversations.json": list(chats), **files})
    return records(chatgpt.FORMAT, path)


def only(tmp_path: Path, one: Any) -> Conversation:
    (found,) = conversations(of(tmp_path, one))
    return found


def test_a_plain_conversation(tmp_path: Path) -> None:
    one = only(tmp_path, chat("c1", TALK))
    assert (one.id, one.title, said(one)) == ("c1", "About c1", [*TALK])
    assert one.at is not None
    assert one.at.isoformat() == "2024-03-05T10:00:00+00:00"
    assert one.turns[1].at is not None
    assert one.turns[1].at > one.at


def test_only_the_branch_on_screen(tmp_path: Path) -> None:
    edges = chain("c", [("user", "My cat is Tom."), ("assistant", "Hello Tom.")])
    edges += [
        ("e1", "c-root", message("e1", "user", "My cat is Tim.", BEGAN + 300)),
        ("e2", "e1", message("e2", "assistant", "Hello Tim.", BEGAN + 360)),
    ]
    new = chat("c", [], mapping=tree(edges), current_node="e2")
    assert [words for _, words in said(only(tmp_path, new))] == ["My cat is Tim.", "Hello Tim."]
    old = chat("c", [], mapping=tree(edges), current_node="c-1")
    assert [words for _, words in said(only(tmp_path, old))] == ["My cat is Tom.", "Hello Tom."]


@pytest.mark.parametrize("leaf", [None, "gone", 7])
def test_a_lost_leaf_is_the_newest_one_and_said_so(tmp_path: Path, leaf: object) -> None:
    edges = chain("c", [("user", "Old."), ("assistant", "Old answer.")])
    edges += [("e1", "c-root", message("e1", "user", "New.", BEGAN + 300))]
    one = only(tmp_path, chat("c", [], mapping=tree(edges), current_node=leaf))
    assert said(one) == [("user", "New.")]
    assert one.remark == NEWEST


def test_slim_nodes_without_children(tmp_path: Path) -> None:
    edges = [
        ("a", None, {"id": "a", "author": {"role": "user"}, "create_time": BEGAN,
                     "content": {"content_type": "text", "parts": ["Slim?"]}, "metadata": {}}),
        ("b", "a", {"id": "b", "author": {"role": "assistant"}, "create_time": BEGAN + 5,
                    "content": {"content_type": "thoughts", "thoughts": [{"content": "Hm."}]}}),
        ("c", "b", {"id": "c", "author": {"role": "assistant"}, "create_time": None,
                    "content": {"content_type": "text", "parts": ["Slim."]}, "metadata": {}}),
    ]  # fmt: skip
    one = only(tmp_path, chat("s", [], mapping=tree(edges, slim=True), current_node="gone"))
    assert said(one) == [("user", "Slim?"), ("assistant", "Slim.")]
    assert one.remark == ""


def test_what_was_not_on_screen_is_left_out(tmp_path: Path) -> None:
    edges = chain("c", TALK)
    hidden = {"is_visually_hidden_from_conversation": True}
    extra = [
        message("h", "user", "Hidden words.", metadata=hidden),
        message("w", "assistant", "No weight.", weight=0),
        message("s", "system", "You are a system."),
        message("n", "user", {"content_type": "text", "parts": None}),
        message("m", "user", {"content_type": "text", "parts": []}),
    ]
    for one in extra:
        edges.append((one["id"], edges[-1][0], one))
    edges.append(("null", edges[-1][0], None))
    edges.append(("end", "null", message("end", "user", "Seen.")))
    one = only(tmp_path, chat("c", [], mapping=tree(edges), current_node="end"))
    assert said(one) == [*TALK, ("user", "Seen.")]


def test_voice_pictures_and_odd_parts(tmp_path: Path) -> None:
    parts = [
        {"content_type": "audio_transcription", "text": "Spoken words.", "direction": "in"},
        {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1"},
        {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {}},
        7,
        {"text": "An object."},
        None,
    ]
    words = {"content_type": "multimodal_text", "parts": parts}
    one = only(tmp_path, chat("c", [], mapping=tree([("a", None, message("a", "user", words))])))
    assert said(one) == [("user", "Spoken words.\n[picture]\n7\nAn object.")]


def test_tools_quotations_and_attachments_have_their_own_speakers(tmp_path: Path) -> None:
    files = {"attachments": [{"id": "f", "name": "plan.pdf", "mime_type": "application/pdf"}]}
    code = {"content_type": "code", "language": "python", "text": "print(1)"}
    quote = {"content_type": "tether_quote", "title": "A page", "text": "Quoted words."}
    output = {"content_type": "execution_output", "text": "1"}
    doc = '{"name": "Letter", "type": "document", "content": "Dear Ana"}'
    nodes = [
        message("1", "user", "Look at this.", metadata=files),
        message("2", "assistant", code, recipient="python"),
        message("3", "tool", output, name="python"),
        message("4", "tool", quote, name="browser"),
        message("5", "assistant", {"content_type": "code", "text": doc},
                recipient="canmore.create_textdoc"),
        message("6", "assistant", "Done【1†source】 as \ue200cite\ue202turn0\ue201asked."),
    ]  # fmt: skip
    edges = [(one["id"], str(n) if n else None, one) for n, one in enumerate(nodes)]
    one = only(tmp_path, chat("c", [], mapping=tree(edges), current_node="6"))
    assert said(one) == [
        ("user", "Look at this."), ("tool", "[attached] plan.pdf"), ("tool", "[python] print(1)"),
        ("tool", "[python result] 1"), ("quoted", "[A page] Quoted words."),
        ("assistant", "**Letter**\n\nDear Ana"), ("assistant", "Done as asked."),
    ]  # fmt: skip


def test_custom_instructions_and_memories_become_notes_once(tmp_path: Path) -> None:
    about = {"about_user_message": "I am a potter.", "about_model_message": "Be brief."}
    context = {"content_type": "user_editable_context", "user_profile": "Preface: I am a potter."}
    memory = {
        "content_type": "model_editable_context",
        "model_set_context": "1. [2024-05-01]. Has a boat.\n2. [2024-06-02]. Likes rye bread.",
    }
    found = []
    for name in ("c1", "c2"):
        nodes = [
            message("i", "user", context, metadata={"user_context_message_data": about,
                    "is_user_system_message": True}),
            message("m", "assistant", memory),
            message("u", "user", f"Hello {name}."),
            message("b", "assistant", {"content_type": "code", "text": "Has a boat."},
                    recipient="bio"),
            message("t", "tool", "Model set context updated.", name="bio"),
        ]  # fmt: skip
        edges = [(one["id"], nodes[n - 1]["id"] if n else None, one) for n, one in enumerate(nodes)]
        found.append(chat(name, [], mapping=tree(edges), current_node="t"))
    all_of_it = of(tmp_path, *found)
    assert [said(one) for one in conversations(all_of_it)] == [
        [("user", "Hello c1.")], [("user", "Hello c2.")],
    ]  # fmt: skip
    assert [(one.text, one.trust) for one in notes(all_of_it)] == [
        ("I am a potter.", "said"), ("Be brief.", "said"), ("Has a boat.", "model"),
        ("Likes rye bread.", "model"),
    ]  # fmt: skip
    assert notes(all_of_it)[3].at is not None


def test_shards_with_a_manifest_a_missing_one_and_a_double(tmp_path: Path) -> None:
    shard = {f"conversations-00{n}.json": [chat(f"c{n}", TALK)] for n in (0, 1)}
    manifest = {
        "version": 1, "manifest_file": "export_manifest.json",
        "export_files": [{"path": f"conversations-00{n}.json", "size_bytes": 1} for n in (0, 1, 2)],
        "logical_files": {"conversations.json": {"sharded": True,
                          "files": [f"conversations-00{n}.json" for n in (0, 1, 2)]}},
    }  # fmt: skip
    files = {
        **shard, "export_manifest.json": manifest,
        "conversations-001 (1).json": shard["conversations-001.json"],
        "conversation_asset_file_names.json": {}, "user_settings.json": {},
    }  # fmt: skip
    found = records(chatgpt.FORMAT, zipped(tmp_path / "x.zip", files))
    assert [one.id for one in conversations(found)] == ["c0", "c1", "c1"]
    assert [one.where for one in skipped(found)] == ["conversations-002.json"]
    del files["export_manifest.json"]
    found = records(chatgpt.FORMAT, zipped(tmp_path / "y.zip", files))
    assert len(conversations(found)) == 3
    assert not skipped(found)


def test_the_privacy_portals_zips(tmp_path: Path) -> None:
    inner = {"conversations-001.json": [chat("c1", TALK)]}
    uploads = {"conversations.json": [{"a user's": "own file"}]}
    path = zipped(
        tmp_path / "OpenAI-export.zip",
        {
            "report.html": "",
            "User Online Activity/Conversations__ab-chatgpt-0001.zip": zipped(
                tmp_path / "i.zip", inner
            ).read_bytes(),
            "User Online Activity/Files__ab.zip": zipped(tmp_path / "f.zip", uploads).read_bytes(),
        },
    )
    assert [one.id for one in conversations(records(chatgpt.FORMAT, path))] == ["c1"]


def test_records_that_make_no_conversation_are_named(tmp_path: Path) -> None:
    bare = {"title": "Slim", "create_time": BEGAN, "conversation_id": "b"}
    private = chat("p", TALK, is_do_not_remember=True)
    found = of(tmp_path, None, 5, bare, chat("e", []), private, {"x": 1}, chat("c", TALK))
    assert [one.id for one in conversations(found)] == ["c"]
    whys = [one.why for one in skipped(found)]
    assert len(whys) == 6
    assert sum("no messages" in why for why in whys) == 1
    assert sum("asked ChatGPT not to remember" in why for why in whys) == 1
    assert all(one.where.startswith("conversations.json, record ") for one in skipped(found))


def test_missing_titles_dates_and_ids(tmp_path: Path) -> None:
    odd = chat("x", TALK, title=None, create_time=None, update_time="soon")
    del odd["id"], odd["conversation_id"]
    one, again = (only(tmp_path, odd) for _ in range(2))
    assert one.title == ""
    assert one.id == again.id != ""
    assert one.at == one.turns[0].at
    assert one.updated == one.turns[-1].at


def test_circles_and_two_roots_end(tmp_path: Path) -> None:
    edges = [
        ("a", "b", message("a", "user", "Round.")), ("b", "a", message("b", "user", "And round.")),
    ]  # fmt: skip
    one = only(tmp_path, chat("c", [], mapping=tree(edges), current_node="b"))
    assert len(one.turns) == 2
    roots = [("a", None, message("a", "user", "One.")), ("b", None, message("b", "user", "Two."))]
    assert len(only(tmp_path, chat("c", [], mapping=tree(roots), current_node="b")).turns) == 1


@pytest.mark.slow
def test_a_chain_of_thousands(tmp_path: Path) -> None:
    turns = [("user" if n % 2 else "assistant", f"Number {n}.") for n in range(20_000)]
    assert len(only(tmp_path, chat("c", turns)).turns) == 20_000


def test_a_wrapped_array_and_a_half_character(tmp_path: Path) -> None:
    one = chat("c", [("user", "Half \udcb2 a character.")])
    path = zipped(tmp_path / "x.zip", {"conversations.json": {"conversations": [one]}})
    assert len(conversations(records(chatgpt.FORMAT, path))) == 1


def test_another_services_file_is_an_error(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"conversations.json": [{"uuid": "k", "chat_messages": []}]})
    with pytest.raises(InvalidInput, match="none of the 1 records"):
        records(chatgpt.FORMAT, path)


def test_thousands_of_leaves_below_a_chain_without_dates() -> None:
    size = 20_000
    chain = {f"n{n}": Node(f"n{n}", f"n{n - 1}", (0.0, n), None) for n in range(size)}
    leaves = {f"x{n}": Node(f"x{n}", f"n{size - 1}", (0.0, size + n), None) for n in range(size)}
    begun = time.monotonic()
    path, known = on_screen(chain | leaves)
    assert (path[-1].id, len(path), known) == (f"x{size - 1}", size + 1, False)
    assert time.monotonic() - begun < 5
