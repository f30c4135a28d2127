"""Claude Code's memory and its records of conversations, as they lie in `~/.claude`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.memories.claude_code import FORMAT
from tests.importers.exports import notes as notes_in_order
from tests.importers.exports import said
from tests.importers.memories.folders import (
    Files,
    folder,
    known,
    notes,
    records,
    skipped,
    talks,
    zipped,
)

ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"
PROJECT = "projects/-home-pat-petrel"

EARLY = """---
name: Small commits
description: Pat wants small commits: one idea each
type: feedback
originSessionId: 11111111-1111-4111-8111-111111111111
---
Commits hold one idea each.

**Why:** they are read in the evening.

**How to apply:** split before committing; see [[boat-name]] and [[gone]].
"""
LATER = """---
name: boat-name
description: What the boat is called
metadata:
  node_type: memory
  type: project
  originSessionId: 22222222-2222-4222-8222-222222222222
  modified: 2026-05-01T10:00:00.123Z
---
The boat is called Petrel.
"""
INDEX = "# Memory\n\n- [Small commits](feedback_commits.md) — one idea each\n- [[boat-name]]\n"


class Talk:
    """Lines of a record, each following the one before."""

    def __init__(self, session: str = ONE) -> None:
        self.session = session
        self.lines: list[dict[str, Any]] = []
        self._minute = 0

    def add(self, uuid: str, role: str, content: Any, **more: Any) -> Talk:
        """One line; `parentUuid` is the one before unless said."""
        before = next((line["uuid"] for line in reversed(self.lines) if "uuid" in line), None)
        message = {"role": role, "content": content, **more.pop("message", {})}
        self.lines.append(
            {
                "type": role,
                "uuid": uuid,
                "parentUuid": before,
                "sessionId": self.session,
                "timestamp": f"2026-05-01T10:{self._minute:02}:00.000Z",
                "cwd": "/home/pat/petrel",
                "message": message,
                **more,
            }
        )
        self._minute += 1
        return self

    def raw(self, **line: Any) -> Talk:
        """A line as it is."""
        self.lines.append(line)
        return self

    def __str__(self) -> str:
        return "".join(json.dumps(line) + "\n" for line in self.lines)


def first() -> Talk:
    return (
        Talk()
        .add("u1", "user", "What is the boat called?")
        .add("a1", "assistant", [{"type": "thinking", "thinking": "hm"}], message={"id": "m1"})
        .add("a2", "assistant", [{"type": "text", "text": "Petrel."}], message={"id": "m1"})
    )


def home(tmp_path: Path, files: Files) -> Path:
    return folder(tmp_path / ".claude", files)


def spoken(tmp_path: Path, talk: Talk | str, id_: str = ONE) -> list[tuple[str, str]]:
    """What one record says."""
    root = home(tmp_path, {f"{PROJECT}/{id_}.jsonl": str(talk)})
    return [turn for one in talks(records(root, FORMAT)).values() for turn in said(one)]


# -- the memory


def memory(tmp_path: Path) -> Path:
    return home(
        tmp_path,
        {
            f"{PROJECT}/memory/MEMORY.md": INDEX,
            f"{PROJECT}/memory/feedback_commits.md": EARLY,
            f"{PROJECT}/memory/boat-name.md": LATER,
            f"{PROJECT}/{ONE}.jsonl": str(first()),
        },
    )


def test_it_is_recognised_from_wherever_one_begins(tmp_path: Path) -> None:
    root = memory(tmp_path)
    for path in (root, root / "projects", root / PROJECT, root / PROJECT / "memory"):
        assert known(path) == "claude-code-memory"
    assert known(root / PROJECT / f"{ONE}.jsonl") == "claude-code-memory"
    assert known(folder(tmp_path / "x", {"MEMORY.md": "- buy milk", "a.md": "b"})) == "markdown"


def test_both_forms_of_a_topic(tmp_path: Path) -> None:
    found = notes(records(memory(tmp_path)))
    assert found.keys() == {"Small commits", "Boat name"}
    early, later = found["Small commits"], found["Boat name"]
    assert early.meta["kind"] == "instruction"
    assert early.meta["session"] == ONE
    assert early.text.startswith("Commits hold one idea each.\n\n**Why:**")
    assert early.meta["description"] == "Pat wants small commits: one idea each"
    assert later.meta["tags"] == ["project"]
    assert later.meta["description"] == "What the boat is called"
    assert later.meta["aliases"] == ["boat-name"]  # [[boat-name]] leads there
    assert later.updated == datetime(2026, 5, 1, 10, 0, 0, 123000, tzinfo=UTC)
    assert {note.meta["project"] for note in found.values()} == {"petrel"}
    assert {note.trust for note in found.values()} == {"model"}
    assert {note.meta["type"] for note in found.values()} == {"semantic"}


def test_an_index_that_only_points_is_no_memory_but_one_that_says_something_is(
    tmp_path: Path,
) -> None:
    files = {f"{PROJECT}/memory/MEMORY.md": "# Memory\n\n- The boat is called Petrel.\n"}
    assert [note.text for note in notes(records(home(tmp_path, files))).values()] == [
        files[f"{PROJECT}/memory/MEMORY.md"]
    ]


def test_one_project_is_the_same_from_wherever_one_begins(tmp_path: Path) -> None:
    root = memory(tmp_path)
    paths = (root, root / "projects", root / PROJECT, root / PROJECT / "memory")
    ids = [{note.id for note in notes(records(path)).values()} for path in paths]
    assert ids == [ids[0]] * 4
    assert len(ids[0]) == 2


def test_two_projects_may_have_a_file_of_one_name(tmp_path: Path) -> None:
    files = {
        "projects/-a/memory/boat-name.md": LATER,
        "projects/-b/memory/boat-name.md": LATER.replace("Petrel", "Dora"),
        "projects/-a/memory/MEMORY.md": INDEX,
    }
    found = records(home(tmp_path, files))
    assert len({note.id for note in notes_in_order(found)}) == len(found) == 2


def test_instructions_stay_with_claude_code(tmp_path: Path) -> None:
    root = folder(memory(tmp_path), {"CLAUDE.md": "Be brief."})
    found = records(root)
    assert len(notes(found)) == 2
    assert "CLAUDE.md" in skipped(found)


# -- conversations


def test_a_conversation_with_its_times_project_and_name(tmp_path: Path) -> None:
    talk = first().raw(type="ai-title", aiTitle="The boat", sessionId=ONE)
    found = talks(records(home(tmp_path, {f"{PROJECT}/{ONE}.jsonl": str(talk)})))
    assert found.keys() == {ONE}
    one = found[ONE]
    assert said(one) == [("user", "What is the boat called?"), ("assistant", "Petrel.")]
    assert [turn.id for turn in one.turns] == ["u1", "a2"]
    assert one.at == datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert one.updated == datetime(2026, 5, 1, 10, 2, tzinfo=UTC)
    assert (one.title, one.project) == ("The boat", "petrel")


def test_a_name_that_the_person_gave_counts_first(tmp_path: Path) -> None:
    talk = first().raw(type="custom-title", customTitle="Mine").raw(type="ai-title", aiTitle="Its")
    root = home(tmp_path, {f"{PROJECT}/{ONE}.jsonl": str(talk)})
    assert talks(records(root))[ONE].title == "Mine"


@pytest.mark.parametrize(
    ("content", "more"),
    [
        ("hidden", {"isMeta": True}),
        ("shown only", {"isVisibleInTranscriptOnly": True}),
        ("summary", {"isCompactSummary": True}),
        ("subagent", {"isSidechain": True}),
        ([{"type": "tool_result", "content": "x"}, {"type": "text", "text": "y"}], {}),
        ("output", {"toolUseResult": {"stdout": "x"}}),
        ("a task's", {"origin": {"kind": "task-notification"}}),
        ("[Request interrupted by user]", {}),
        ("This session is being continued from a previous conversation that ran out.", {}),
        ("<bash-input>ls</bash-input>", {}),
        ("<command-name>/clear</command-name>", {}),
        ("<system-reminder>be nice</system-reminder>", {}),
        ("<private>my pin</private>", {}),
        (7, {}),
        (None, {}),
    ],
)
def test_what_the_person_did_not_type_is_not_said(
    tmp_path: Path, content: Any, more: dict[str, Any]
) -> None:
    talk = first().add("u2", "user", content, **more)
    assert spoken(tmp_path, talk) == [
        ("user", "What is the boat called?"),
        ("assistant", "Petrel."),
    ]


def test_a_prompt_typed_while_it_worked_is_said(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "prompt": "And her harbour?", "origin": {"kind": "human"}}
    other = {"type": "queued_command", "prompt": "done", "origin": {"kind": "task"}}
    talk = (
        first()
        .raw(type="attachment", uuid="q1", parentUuid="a2", attachment=queued)
        .raw(type="attachment", uuid="q2", parentUuid="q1", attachment=other)
    )
    assert spoken(tmp_path, talk)[-1] == ("user", "And her harbour?")


def test_what_the_person_went_back_on_is_not_said(tmp_path: Path) -> None:
    talk = (
        first()
        .add("u2", "user", "Sell her!")
        .add("a3", "assistant", "Sold.")
        .add("u3", "user", "Paint her.", parentUuid="a2")
        .add("a4", "assistant", "Painted.")
    )
    assert spoken(tmp_path, talk) == [
        ("user", "What is the boat called?"),
        ("assistant", "Petrel."),
        ("user", "Paint her."),
        ("assistant", "Painted."),
    ]


def test_one_answer_in_several_records_stays_whole(tmp_path: Path) -> None:
    """Tools that run side by side leave records that nothing follows."""
    use = {"type": "tool_use", "name": "Read", "input": {"p": 1}}
    talk = (
        first()
        .add("b1", "assistant", [use], message={"id": "m2"})
        .add("b2", "assistant", [{"type": "text", "text": "Both."}], message={"id": "m2"})
        .add("r1", "user", [{"type": "tool_result", "content": "x"}], parentUuid="b1")
        .add("c1", "assistant", "Done.", parentUuid="r1")
    )
    assert [text for role, text in spoken(tmp_path, talk) if role == "assistant"] == [
        "Petrel.",
        "Both.",
        "Done.",
    ]


def test_what_was_said_before_a_compaction_is_kept_and_its_summary_is_not(tmp_path: Path) -> None:
    talk = (
        first()
        .raw(type="system", subtype="compact_boundary", uuid="s", parentUuid=None,
             logicalParentUuid="a2")
        .add("u2", "user", "This session is being continued …", isCompactSummary=True)
        .add("u3", "user", "And now?")
    )  # fmt: skip
    assert [text for _, text in spoken(tmp_path, talk)] == [
        "What is the boat called?",
        "Petrel.",
        "And now?",
    ]


def test_a_conversation_that_was_resumed_repeats_nothing(tmp_path: Path) -> None:
    copy = Talk(TWO)
    copy.lines = [{**line, "sessionId": TWO} for line in first().lines]
    copy._minute = 5
    copy.add("u9", "user", "Where does she lie?").add("a9", "assistant", "Berth 7.")
    files = {f"{PROJECT}/{ONE}.jsonl": str(copy), f"{PROJECT}/{TWO}.jsonl": str(first())}
    found = talks(records(home(tmp_path, files)))  # the copy has the name that sorts first
    assert said(found[TWO]) == [("user", "What is the boat called?"), ("assistant", "Petrel.")]
    assert said(found[ONE]) == [("user", "Where does she lie?"), ("assistant", "Berth 7.")]


def test_subagents_and_lists_of_prompts_are_no_conversations(tmp_path: Path) -> None:
    files = {
        f"{PROJECT}/{ONE}.jsonl": str(first()),
        f"{PROJECT}/agent-7.jsonl": str(Talk("x").add("x1", "user", "Search.")),
        f"{PROJECT}/{ONE}/subagents/agent-8.jsonl": str(Talk("y").add("y1", "user", "Look.")),
        f"{PROJECT}/{ONE}/tool-results/r.txt": "output",
        "history.jsonl": '{"display": "What is the boat called?"}\n',
    }
    assert talks(records(home(tmp_path, files))).keys() == {ONE}


def test_a_line_that_is_being_written_waits_and_a_broken_one_is_told(tmp_path: Path) -> None:
    half = str(first()) + '{"type":"user","uuid":"u2","message":{"content":"And'
    root = home(tmp_path, {f"{PROJECT}/{ONE}.jsonl": half})
    assert skipped(records(root)) == {}
    folder(root, {f"{PROJECT}/{ONE}.jsonl": '{"broken"\n' + str(first()) + "[]\n\n7\n"})
    found = records(root)
    assert skipped(found) == {f"{PROJECT}/{ONE}.jsonl, line 1": "it is no JSON"}
    assert len(talks(found)[ONE].turns) == 2


def test_halves_of_characters_become_ones_that_can_be_written(tmp_path: Path) -> None:
    talk = str(first()).replace("Petrel.", "\\udcb2 Petrel.")
    (_, (_, text)) = spoken(tmp_path, talk)
    assert text.encode().decode() == "? Petrel."


def test_a_record_that_went_since_stops_no_other(tmp_path: Path) -> None:
    files = {f"{PROJECT}/{ONE}.jsonl": str(first()), f"{PROJECT}/{TWO}.jsonl": "{}"}
    root = home(tmp_path, files)
    with Archive.at(root) as archive:
        (root / PROJECT / f"{TWO}.jsonl").unlink()
        found = list(FORMAT.read(archive))
    assert talks(found).keys() == {ONE}
    assert "No such file" in skipped(found)[f"{PROJECT}/{TWO}.jsonl"]


def test_circles_and_gaps_in_the_tree_end(tmp_path: Path) -> None:
    talk = first().add("u2", "user", "On.", parentUuid="gone")
    talk.lines[0]["parentUuid"] = "u2"
    talk.lines[-1]["parentUuid"] = "a2"
    assert [text for _, text in spoken(tmp_path, talk)][-1] == "On."


def test_the_folder_and_its_zip_say_the_same(tmp_path: Path) -> None:
    root = memory(tmp_path)
    files = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }
    archive = zipped(tmp_path / "z.zip", files)
    assert list(talks(records(archive))) == [ONE]
    assert {note.id for note in notes(records(archive)).values()} == {
        note.id for note in notes(records(root)).values()
    }
