"""basic-memory's notes: observations, relations and addresses mean here what they meant there."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from oneiro_vault.core.markdown import parser
from oneiro_vault.importers.memories.basic_memory import FORMAT
from oneiro_vault.importers.records import Note
from tests.importers.exports import said
from tests.importers.memories.folders import Files, folder, known, notes, records, skipped, talks

UNIQUE = "0b1c2d3e-4f50-4162-8738-495a6b7c8d9e"
NOTE = """---
title: Petrel's engine
type: note
permalink: boats/petrels-engine
tags:
- engine
- '#boats'
created: 2025-02-01T09:30:00
modified: 2025-03-01
---

# Petrel's engine

## Observations
- [fact] It is a two-cylinder diesel #engine (said the yard)
- [decision] Serviced every spring
- [ ] Order a filter
- [x] Paid the yard
- just a line #todo

## Relations
- part_of [[Petrel]]
- "was serviced by" [[Yard of Ostend]] (every year)
- depends on [[Fuel]]
- see [[boats/berth-7]] before winter

```
- "not a" [[Relation]]
```
"""


def project(tmp_path: Path, files: Files) -> Path:
    return folder(tmp_path / "main", files)


def only(tmp_path: Path, text: str, name: str = "boats/Petrel's engine.md") -> Note:
    (note,) = (
        one for one in records(project(tmp_path, {name: text}), FORMAT) if isinstance(one, Note)
    )
    return note


def test_its_folder_is_recognised_also_when_obsidian_opened_it(tmp_path: Path) -> None:
    assert known(project(tmp_path / "1", {"a.md": NOTE})) == "basic-memory"
    with_app = {".obsidian/app.json": "{}", "a.md": NOTE, "b.md": NOTE, "c.md": "by hand"}
    assert known(project(tmp_path / "2", with_app)) == "basic-memory"
    published = {".obsidian/app.json": "{}", "a.md": "---\npermalink: a\n---\nx", "b.md": "y"}
    assert known(project(tmp_path / "3", published)) == "obsidian"


def test_observations_stay_as_they_are(tmp_path: Path) -> None:
    note = only(tmp_path, NOTE)
    for line in NOTE.split("## Relations")[0].split("---\n", 2)[2].splitlines():
        assert line in note.text.splitlines()
    assert set(parser.tags(note.text)) == {"engine", "todo"}


def test_relations_are_typed_edges_here(tmp_path: Path) -> None:
    links = parser.parse(only(tmp_path, NOTE).text).links
    assert [(link.relation, link.target) for link in links] == [
        ("part_of", "Petrel"),
        ("was_serviced_by", "Yard of Ostend"),
        ("depends_on", "Fuel"),
        ("mentions", "boats/berth-7"),
    ]


def test_its_address_is_a_name_that_links_find(tmp_path: Path) -> None:
    note = only(tmp_path, NOTE)
    assert note.meta["aliases"] == ["boats/petrels-engine"]
    assert note.title == "Petrel's engine"
    assert note.path == "main/boats/Petrel's engine.md"
    assert "aliases" not in only(tmp_path / "2", NOTE, "boats/petrels-engine.md").meta


def test_dates_and_tags(tmp_path: Path) -> None:
    note = only(tmp_path, NOTE)
    assert note.at == datetime(2025, 2, 1, 9, 30, tzinfo=UTC)
    assert note.updated == datetime(2025, 3, 1, tzinfo=UTC)
    assert note.meta["tags"] == ["engine", "boats"]
    assert only(tmp_path, "---\ntitle: t\n---\nx").at == datetime.fromtimestamp(1_700_000_000, UTC)


@pytest.mark.parametrize(
    ("front", "id_"),
    [
        (f"external_id: {UNIQUE}\npermalink: p", UNIQUE),
        ("permalink: boats/p", "main#boats/p"),
        ("title: t", "main/boats/Petrel's engine.md"),
    ],
)
def test_the_most_lasting_identity_there_is(tmp_path: Path, front: str, id_: str) -> None:
    assert only(tmp_path, f"---\n{front}\n---\nx").id == id_


def test_who_wrote_it_is_not_known(tmp_path: Path) -> None:
    assert only(tmp_path, NOTE).trust == "external"


CHAT = """---
title: Winter berth
type: conversation
permalink: conversations/20250101-winter-berth
created: 2025-01-01T10:00:00
modified: 2025-01-01T10:05:00
tags: [chat]
---

# Winter berth

### Human (2025-01-01 10:00:00)

Where should she lie?

**Attachment: paste.txt**
```
The harbour master says: berth 7.
```

### Assistant (2025-01-01 10:05:00)

At berth 7:

```
berth = 7
```
"""


def test_a_chat_it_imported_is_a_conversation_again(tmp_path: Path) -> None:
    found = records(project(tmp_path, {"c.md": CHAT}), FORMAT)
    talk = talks(found)["main#conversations/20250101-winter-berth"]
    assert said(talk) == [
        ("user", "Where should she lie?\n\n**Attachment: paste.txt**"),
        ("quoted", "```\nThe harbour master says: berth 7.\n```"),
        ("assistant", "At berth 7:\n\n```\nberth = 7\n```"),
    ]
    assert talk.title == "Winter berth"
    assert talk.at == datetime(2025, 1, 1, 10, tzinfo=UTC)
    assert talk.tags == ("chat",)
    assert not notes(found)


def test_a_conversation_without_speakers_is_a_note(tmp_path: Path) -> None:
    text = "---\ntitle: Talk\ntype: conversation\npermalink: talk\n---\nWe spoke.\n"
    assert notes(records(project(tmp_path, {"c.md": text})))["Talk"].meta["type"] == "conversation"


def test_broken_and_empty_notes_are_told(tmp_path: Path) -> None:
    files = {"a.md": NOTE, "b.md": "---\ntitle: [a\npermalink: x\n---\nWords.", "c.md": ""}
    found = records(project(tmp_path, files), FORMAT)
    assert skipped(found).keys() == {"b.md", "c.md"}
    assert len(notes(found)) == 2
