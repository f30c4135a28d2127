"""What a person reads of an import: what came, what did not and why, what is next, and the way
back."""

from __future__ import annotations

import json
from pathlib import Path

from tests.box import Box
from tests.importers.exports import TALK, chat, claude_chat, claude_message, zipped


def made(box: Box, *records: object, name: str = "export.zip") -> Path:
    return zipped(box.folder / name, {"conversations.json": list(records)})


def test_an_export_comes_in_and_is_taken_back(fresh: Box) -> None:
    fresh.init()
    made(fresh, chat("c1", TALK), chat("c2", TALK), chat("e", []), 5)
    assert "Nothing was written." in fresh.ok("import", "export.zip", "--dry-run")
    text = fresh.ok("import", "export.zip")
    assert text.splitlines()[:5] == [
        "Imported from ChatGPT's data export (export.zip)",
        "  conversations  2 new (4 new messages)",
        "  skipped        2",
        "    conversations.json, record 3 (About e): nobody said anything in it",
        "    conversations.json, record 4: it is not a conversation of ChatGPT",
    ]
    assert "  2 conversations of it wait to become memories: the next night" in text
    assert text.splitlines()[-1] == "Take it back: oneiro undo --source import:chatgpt"
    assert "Petrel" in fresh.ok("recall", "name of the boat")
    again = fresh.ok("import", "chatgpt", "export.zip")
    assert "2 known already" in again
    assert "Nothing was new" in again
    assert "taken out again" in fresh.ok("undo", "--source", "import:chatgpt")
    assert "2 new" in fresh.ok("import", str(fresh.folder / "export.zip"))


def test_what_is_told_is_of_this_import(fresh: Box) -> None:
    fresh.init()
    fresh.ok("import", str(made(fresh, chat("c1", TALK), chat("c2", TALK))))
    text = fresh.ok("import", str(made(fresh, chat("c3", TALK), name="other.zip")))
    assert (
        "  1 conversation of it waits to become memories (with 2 that waited before): the next "
        "night" in text
    )
    notes = fresh.folder / "notes"
    notes.mkdir()
    (notes / "tea.md").write_text("---\ntags: [a\n---\nI like tea.\n")
    (notes / "empty.md").write_text("")
    text = fresh.ok("import", "markdown", str(notes))
    assert "  notes          1 new" in text
    assert "  skipped        1\n    empty.md: it has no text" in text
    assert (
        "  faulty         1, taken all the same\n    tea.md: its properties cannot be read" in text
    )
    assert "wait" not in text


def test_as_data(fresh: Box) -> None:
    fresh.init()
    made(fresh, claude_chat("k", [claude_message("a", "human", "I moved to Porto.")]))
    found = json.loads(fresh.ok("--json", "import", "export.zip", "--project", "move"))
    assert (found["format"], found["conversations"]["new"], found["skipped"]) == ("claude", 1, 0)
    (row,) = json.loads(fresh.ok("--json", "list", "--type", "episodic"))["results"]
    assert "project: move" in (fresh.vault / row["path"]).read_text()


def test_what_cannot_be_imported_says_what_to_do(fresh: Box) -> None:
    fresh.init()
    (fresh.folder / "notes.txt").write_text("hello")
    for arguments, code, says in (
        (("nothing.zip",), 3, "there is no file or folder"),
        (("notes.txt",), 2, "is no export that is known here: what is in it has the form of none"),
        (("cuneiform", "notes.txt"), 2, "there is no format 'cuneiform'"),
        (("a", "b", "c"), 2, "Give one PATH"),
    ):
        done = fresh("import", *arguments)
        assert done.returncode == code
        assert says in done.stderr.decode()
        assert "Traceback" not in done.stderr.decode()
