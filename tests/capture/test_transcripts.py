"""Who said what, out of the clients' own records, whatever else is in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.capture import transcripts
from oneiro_vault.capture.transcripts import (
    LONGEST_LINE,
    clean,
    of_entry,
    parts,
    read,
    render,
    title,
)

FIXTURES = Path(__file__).parent / "fixtures"


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    """A line of Claude Code's."""
    return {
        "type": role,
        "timestamp": "2026-11-22T03:04:55.627Z",
        "message": {"role": role, "content": content},
        **more,
    }


def item(**payload: Any) -> dict[str, Any]:
    """A line of Codex's."""
    return {"timestamp": "2026-11-22T03:05:26.942Z", "type": "response_item", "payload": payload}


def transcript(folder: Path, *lines: dict[str, Any] | str | bytes) -> str:
    path = folder / "t.jsonl"
    data = [
        line
        if isinstance(line, bytes)
        else (line if isinstance(line, str) else json.dumps(line)).encode()
        for line in lines
    ]
    path.write_bytes(b"".join(line + b"\n" for line in data))
    return str(path)


def words(path: str) -> str:
    return render(read(path)[0])


def test_a_conversation_with_claude_code(tmp_path: Path) -> None:
    path = transcript(
        tmp_path,
        {"type": "summary", "summary": "not said"},
        said("user", "What is the boat called?"),
        {"type": "attachment", "attachment": {"content": "not said by any user"}},
        said(
            "assistant",
            [{"type": "thinking", "thinking": "hidden"}, {"type": "text", "text": "Let me look."}],
        ),
        said("assistant", [{"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]),
        said("user", [{"type": "tool_result", "tool_use_id": "x", "content": "boat.txt"}]),
        said("assistant", [{"type": "text", "text": "Petrel."}]),
        said("user", [{"type": "text", "text": "Thanks."}, {"type": "image", "source": {}}]),
    )
    assert (
        words(path)
        == 'User: What is the boat called?\n\nAssistant: Let me look.\n\n[Bash] {"command": '
        '"ls"}\n\nPetrel.\n\nUser: Thanks.'
    )
    assert read(path)[0][0].when == "2026-11-22T03:04:55.627Z"


def test_a_conversation_with_codex(tmp_path: Path) -> None:
    path = transcript(
        tmp_path,
        {"type": "session_meta", "payload": {"instructions": "not said by the user"}},
        item(type="message", role="developer", content=[{"type": "input_text", "text": "rules"}]),
        item(
            type="message",
            role="user",
            content=[
                {
                    "type": "input_text",
                    "text": "<environment_context>\n<cwd>/x</cwd>\n</environment_context>",
                }
            ],
        ),
        item(
            type="message",
            role="user",
            content=[
                {"type": "input_text", "text": "# AGENTS.md instructions for /x\n\nBe brief."}
            ],
        ),
        item(
            type="message",
            role="user",
            content=[{"type": "input_text", "text": "What is the boat called?"}],
        ),
        {
            "type": "event_msg",
            "payload": {"type": "user_message", "message": "What is the boat called?"},
        },
        item(type="reasoning", summary=[]),
        item(type="function_call", name="shell", arguments='{"command":["ls"]}'),
        item(type="function_call_output", output="boat.txt"),
        item(
            type="message", role="assistant", content=[{"type": "output_text", "text": "Petrel."}]
        ),
    )
    assert (
        words(path)
        == 'User: What is the boat called?\n\n[shell] {"command":["ls"]}\n\nAssistant: Petrel.'
    )


@pytest.mark.parametrize("mark", ["isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage"])
def test_what_nobody_said_in_this_conversation(tmp_path: Path, mark: str) -> None:
    path = transcript(tmp_path, said("user", "kept"), said("user", "not this", **{mark: True}))
    assert words(path) == "User: kept"


def test_a_fork_says_only_what_is_new(tmp_path: Path) -> None:
    origin = {"sessionId": "0a1b", "messageUuid": "c2d3"}
    path = transcript(
        tmp_path,
        said("user", "Before.", forkedFrom=origin),
        said("assistant", "Then.", forkedFrom=origin),
        said("user", "Now."),
    )
    assert words(path) == "User: Now."


def test_what_the_client_puts_into_the_users_mouth(tmp_path: Path) -> None:
    path = transcript(
        tmp_path,
        said("user", "<command-name>/compact</command-name>\n  <command-args></command-args>"),
        said("user", "Go on.<system-reminder>be good</system-reminder> Now."),
        said("user", "What does <system-reminder> mean?"),
        said("assistant", "It is a <system-reminder>tag</system-reminder>."),
    )
    assert words(path) == (
        "User: Go on. Now.\n\nWhat does <system-reminder> mean?\n\nAssistant: It is a "
        "<system-reminder>tag</system-reminder>."
    )


def test_private_words_are_gone_wherever_they_stand(tmp_path: Path) -> None:
    path = transcript(
        tmp_path,
        said("user", "Hello <private>hunter2</private>"),
        said(
            "assistant",
            [
                {"type": "text", "text": "I see <PRIVATE>hunter2"},
                {"type": "tool_use", "name": "Say", "input": {"x": "<private>hunter2"}},
            ],
        ),
        item(type="function_call", name="f", arguments="<private>hunter2</private>ok"),
    )
    found = words(path)
    assert "hunter2" not in found
    assert found.startswith("User: Hello")
    assert "[f] ok" in found


def test_an_offset_gives_what_is_new(tmp_path: Path) -> None:
    path = transcript(tmp_path, said("user", "one"))
    _, first = read(path)
    with open(path, "ab") as file:
        file.write(json.dumps(said("assistant", "two")).encode() + b"\n")
    turns, second = read(path, first)
    assert [turn.text for turn in turns] == ["two"]
    assert second == Path(path).stat().st_size
    assert read(path, second) == ([], second)


def test_a_last_line_that_is_being_written_waits(tmp_path: Path) -> None:
    path = transcript(tmp_path, said("user", "one"))
    whole = json.dumps(said("assistant", "two")).encode()
    for cut in (1, len(whole) // 2, len(whole) - 1):
        Path(path).write_bytes(json.dumps(said("user", "one")).encode() + b"\n" + whole[:cut])
        turns, end = read(path)
        assert [turn.text for turn in turns] == ["one"]
        assert end == len(json.dumps(said("user", "one"))) + 1
        with open(path, "ab") as file:
            file.write(whole[cut:])  # still without a newline: it is whole all the same
        assert [turn.text for turn in read(path, end)[0]] == ["two"]


def test_a_file_that_became_shorter_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = transcript(tmp_path, said("user", "new"))
    assert [turn.text for turn in read(path, 10_000)[0]] == ["new"]


def test_repeated_lines_are_said_once(tmp_path: Path) -> None:
    """A resumed session may copy what it resumes."""
    path = transcript(
        tmp_path,
        said("user", "one", uuid="a"),
        said("user", "one", uuid="a"),
        said("user", "one", uuid="b"),
    )
    assert [turn.text for turn in read(path)[0]] == ["one", "one"]


def test_a_huge_line_is_passed_over(tmp_path: Path) -> None:
    path = transcript(
        tmp_path, said("user", "one"), said("user", "x" * (2 * LONGEST_LINE)), said("user", "two")
    )
    turns, end = read(path)
    assert [turn.text for turn in turns] == ["one", "two"]
    assert end == Path(path).stat().st_size


def test_a_part_of_a_long_one(tmp_path: Path) -> None:
    path = transcript(tmp_path, *(said("user", f"turn {number}") for number in range(100)))
    turns, end = read(path, 0, 1_000)
    assert 1 < len(turns) < 20
    assert end >= 1_000
    assert read(path, end)[0][0].text == f"turn {len(turns)}"


JUNK: list[Any] = [
    "", "{", "null", "[]", '"user"', "[" * 5_000, b"\xff\xfe user", '{"type":"user"}',
    '{"type":"user","message":[]}',
    said("user", None), said("user", 3),
    said("user", [None, 3, "x", {"type": "text"}, {"type": "text", "text": 3}, {"type": []}]),
    said("assistant", [{"type": "tool_use"}, {"type": "tool_use", "name": 3, "input": [1]}]),
    {"type": "user", "message": None},
    {"type": ["user"]}, {"type": "response_item"},
    item(type="message", role="user", content="text"), item(type="message", role=["user"]),
    item(type="message", role="user", content=[None, 3]),
    item(type="function_call", name=None, arguments=None), said("user", "a", timestamp=5),
    said("user", "half a \ud800 pair", uuid=7),
]  # fmt: skip


@pytest.mark.parametrize("line", JUNK, ids=range(len(JUNK)))
def test_lines_that_make_no_sense_stop_nothing(tmp_path: Path, line: Any) -> None:
    path = transcript(tmp_path, said("user", "before"), line, said("user", "after"))
    found = [turn.text for turn in read(path)[0]]
    assert found[0] == "before"
    assert found[-1] == "after"
    "".join(found).encode("utf-8")


def test_a_file_of_tools_alone_is_no_conversation(tmp_path: Path) -> None:
    assert (
        words(
            transcript(
                tmp_path, said("assistant", [{"type": "tool_use", "name": "Bash", "input": {}}])
            )
        )
        == ""
    )


def test_no_file() -> None:
    with pytest.raises(OSError, match="nowhere"):
        read("/nowhere/t.jsonl")


def test_the_title_of_a_turn_is_how_a_turn_begins() -> None:
    assert render([transcripts.Turn("user", "x")]).startswith(transcripts.TURN)


def test_what_a_note_cannot_hold_is_taken_out_or_indented() -> None:
    text = (
        "a\0b <private>x</private>\r\n<<<<<<< ours\r\n=======\r\n>>>>>>> theirs\r\n========= "
        "kept\nhalf \ud800\n"
    )
    assert (
        clean(text)
        == "ab \n    <<<<<<< ours\n    =======\n    >>>>>>> theirs\n========= kept\nhalf ?"
    )


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (
            "User: What is the boat called?\n\nAssistant: Petrel.",
            "session",
            "Conversation: What is the boat called?",
        ),
        ("# We built a boat\n\nIt floats.", "compaction", "Summary: We built a boat"),
        ("buy milk", "note", "buy milk"),
        ("---\n***\n", "note", "untitled"),
        (
            "User: " + "long words " * 20,
            "turns",
            "Conversation: long words long words long words long words long words long words long…",
        ),
    ],
)
def test_titles(text: str, kind: str, expected: str) -> None:
    assert title(text, kind) == expected


@given(st.text(alphabet="aä漢\n ", max_size=400), st.integers(8, 60))
def test_parts_fit_and_lose_no_word(text: str, limit: int) -> None:
    found = parts(text, limit)
    assert all(len(piece.encode()) <= limit for piece in found)
    assert "".join("".join(found).split()) == "".join(text.split())


def test_parts_are_cut_between_paragraphs_where_that_is_possible() -> None:
    assert parts("one\n\ntwo\n\nthree", 10) == ["one\n\ntwo", "three"]
    assert parts("one\ntwo\nthree", 8) == ["one\ntwo", "three"]
    assert parts("short", 10) == ["short"]


@pytest.mark.parametrize(
    "entry", [{}, {"text": 3, "kind": "turns"}, {"text": "x"}, {"text": "x", "kind": "gossip"}]
)
def test_an_entry_without_sense_is_refused(entry: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="neither"):
        of_entry(entry)


def test_an_entry_becomes_parameters() -> None:
    entry = {
        "schema": 1,
        "text": "x",
        "kind": "turns",
        "session": "s",
        "client": "codex",
        "project": "",
        "when": None,
        "to": 7,
    }
    assert of_entry(entry) == {"text": "x", "kind": "turns", "session": "s", "client": "codex"}
