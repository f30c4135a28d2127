"""Vaults and stores of other memory tools through the import: twice, a newer one, and back out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import InvalidInput
from oneiro_vault.index.base import Row
from tests.importers.memories import test_basic_memory as basic_memory
from tests.importers.memories import test_claude_code as claude_code
from tests.importers.memories import test_claude_mem as claude_mem
from tests.importers.memories import test_mem0 as mem0
from tests.importers.memories import test_oubli as oubli
from tests.importers.memories.folders import folder, zipped
from tests.operations.conftest import Call
from tests.pictures import encoded

BERTH = "---\ntags: [harbour]\naliases: [Winter berth]\n---\nBerth 7 lies east of the lock.\n"
SAIL = "---\ncreated: 2024-05-01\n---\nSailed from [[Harbour/Berth 7|there]] with [[Ada Lane]].\n"
MADE: dict[str, Callable[[Path], Path]] = {
    "obsidian": lambda at: folder(
        at / "Petrel",
        {
            ".obsidian/app.json": "{}",
            "Harbour/Berth 7.md": BERTH,
            "Daily/2024-05-01.md": SAIL,
            "Ada Lane.md": "She surveys boats.",
        },
    ),
    "markdown": lambda at: folder(at / "plain", {"a.md": "# Boats\n\nPetrel is one.", "b.md": "x"}),
    "basic-memory": lambda at: basic_memory.project(
        at, {"boats/engine.md": basic_memory.NOTE, "chat.md": basic_memory.CHAT}
    ),
    "claude-code-memory": claude_code.memory,
    "claude-mem": lambda at: claude_mem.database(at / "claude-mem.db", claude_mem.ALL),
    "mem0-json": lambda at: zipped(
        at / "memories_export_pat.zip", {"memories.json": json.dumps(mem0.BACKUP)}
    ),
    "oubli": lambda at: oubli.dumped(at / "dump.json", [oubli.INSIGHT, oubli.RAW]),
}
TRUST = {
    "obsidian": {"external"},
    "markdown": {"external"},
    "basic-memory": {"external"},
    "claude-code-memory": {"model", "external"},
    "claude-mem": {"model", "external"},
    "mem0-json": {"model"},
    "oubli": {"model"},
}


def rows(app: App, source: str) -> list[Row]:
    """What is in force, or was, from a source."""
    return [one for one in app.house.index.list(limit=1000) if one.source == source]


@pytest.mark.parametrize("form", MADE)
def test_once_twice_and_back_out(app: App, call: Call, tmp_path: Path, form: str) -> None:
    path = str(MADE[form](tmp_path / "export"))
    counted = call("import_", path=path, dry_run=True)
    first = call("import_", path=path)
    assert first["format"] == form
    assert first["notes"] == counted["notes"]
    assert first["notes"]["new"] >= 1
    head = app.house.vault.head()
    again = call("import_", path=path)
    for kind in ("notes", "conversations"):
        assert again[kind]["known"] == first[kind]["new"]
        assert again[kind]["new"] == again[kind]["grown"] == 0
    assert app.house.vault.head() == head
    assert {row.trust for row in rows(app, f"import:{form}")} == TRUST[form]
    assert [one for one in call("check")["problems"] if one["level"] != "info"] == []
    call("undo", source=f"import:{form}")
    assert rows(app, f"import:{form}") == []


@pytest.fixture
def vault(call: Call, tmp_path: Path) -> Path:
    """A vault of Obsidian's that was imported."""
    made = MADE["obsidian"](tmp_path / "export")
    call("import_", path=str(made))
    return made


def text(root: Path, path: str) -> str:
    return (root / path).read_text()


def test_links_lead_where_they_led(call: Call, root: Path, vault: Path) -> None:
    assert text(root, "Petrel/Daily/2024-05-01.md").endswith(SAIL.split("---\n", 2)[2])
    for name in ("Harbour/Berth 7", "berth 7", "Winter berth", "Petrel/Harbour/Berth 7"):
        found = call("graph", name=name)
        assert [edge["relation"] for edge in found["edges"]] == ["mentions"], name


def test_a_note_keeps_its_date_and_one_without_says_where_it_is_from(
    call: Call, root: Path, vault: Path
) -> None:
    assert "created: 2024-05-01T00:00:00+00:00" in text(root, "Petrel/Daily/2024-05-01.md")
    assert "created_from: file time" in text(root, "Petrel/Ada Lane.md")
    assert "trust:" not in text(root, "Petrel/Ada Lane.md")


def test_a_new_version_stands_where_links_lead_and_the_former_is_kept(
    call: Call, root: Path, vault: Path
) -> None:
    (vault / "Harbour/Berth 7.md").write_text(BERTH + "There is a crane.\n")
    found = call("import_", path=str(vault))
    assert (found["notes"]["grown"], found["notes"]["known"]) == (1, 2)
    assert len(found["commits"]) == 1
    now = text(root, "Petrel/Harbour/Berth 7.md")
    assert now.endswith("There is a crane.\n")
    assert "created: 2023-11-14" in now  # the file's own time is that of its last change
    (former,) = (root / "notes").glob("berth-7-*.md")
    assert "status: superseded" in former.read_text()
    assert "crane" not in former.read_text()
    assert call("import_", path=str(vault))["notes"]["known"] == 3
    best = call("recall", query="berth east of the lock")["results"][0]
    assert best["path"] == "Petrel/Harbour/Berth 7.md"


def test_a_note_that_somebody_moved_here_is_still_that_note(
    app: App, call: Call, root: Path, vault: Path
) -> None:
    (root / "Petrel/Ada Lane.md").rename(root / "Ada.md")
    app.house.indexing.reconcile()
    (vault / "Ada Lane.md").write_text("She retired.")
    assert call("import_", path=str(vault))["notes"]["grown"] == 1
    assert text(root, "Ada.md").endswith("She retired.\n")
    assert not (root / "Petrel/Ada Lane.md").exists()


@pytest.mark.parametrize("name", ["Marina/Berth 7.md", "Harbour/Berth seven.md"])
def test_a_note_that_was_moved_or_renamed_there_is_here_too(
    app: App, call: Call, root: Path, vault: Path, name: str
) -> None:
    (vault / name).parent.mkdir(exist_ok=True)
    (vault / "Harbour/Berth 7.md").rename(vault / name)
    assert call("import_", path=str(vault))["notes"]["grown"] == 1
    assert not (root / "Petrel/Harbour/Berth 7.md").exists()
    assert text(root, f"Petrel/{name}").endswith(BERTH.split("---\n", 2)[2])
    active = [row.path for row in rows(app, "import:obsidian") if row.status == "active"]
    assert sorted(active) == sorted(
        [f"Petrel/{name}", "Petrel/Ada Lane.md", "Petrel/Daily/2024-05-01.md"]
    )
    assert call("import_", path=str(vault))["notes"]["known"] == 3
    (vault / name).write_text(BERTH + "There is a crane.\n")
    assert call("import_", path=str(vault))["notes"]["grown"] == 1
    assert text(root, f"Petrel/{name}").endswith("There is a crane.\n")
    call("undo", source="import:obsidian")
    assert rows(app, "import:obsidian") == []


def test_a_copy_and_the_same_words_in_another_vault_move_nothing(
    app: App, call: Call, root: Path, vault: Path, tmp_path: Path
) -> None:
    (vault / "Copy of Ada.md").write_text("She surveys boats.")
    other = folder(tmp_path / "Work", {".obsidian/x": "", "Lane.md": "She surveys boats."})
    assert call("import_", path=str(vault))["notes"]["new"] == 1
    assert call("import_", path=str(other))["notes"]["new"] == 1
    active = [row for row in rows(app, "import:obsidian") if row.status == "active"]
    assert len(active) == 5


def test_what_a_person_changed_here_is_not_written_over(
    app: App, call: Call, root: Path, vault: Path
) -> None:
    mine = root / "Petrel/Ada Lane.md"
    mine.write_text(mine.read_text() + "She has a dog.\n")
    app.house.indexing.reconcile()
    (vault / "Ada Lane.md").write_text("She retired.")
    assert call("import_", path=str(vault))["notes"]["changed_here"] == 1
    assert mine.read_text().endswith("She has a dog.\n")


def test_what_was_forgotten_stays_away_and_what_vanished_there_stays_here(
    app: App, call: Call, root: Path, vault: Path
) -> None:
    (berth,) = (row for row in rows(app, "import:obsidian") if row.title == "Berth 7")
    call("forget", id=berth.id)
    (vault / "Ada Lane.md").unlink()
    found = call("import_", path=str(vault))
    assert found["notes"]["forgotten"] == 1
    assert not (root / "Petrel/Harbour/Berth 7.md").exists()
    assert (root / "Petrel/Ada Lane.md").exists()


def test_the_vault_as_a_zip_is_the_same_vault(call: Call, vault: Path, tmp_path: Path) -> None:
    files = {
        one.relative_to(vault).as_posix(): one.read_bytes()
        for one in vault.rglob("*")
        if one.is_file()
    }
    path = zipped(tmp_path / "Petrel-2026-11-20.zip", files)
    assert call("import_", path=str(path))["notes"]["known"] == 3


def test_a_name_that_not_every_system_takes_is_near_it_and_links_find_it(
    call: Call, root: Path, tmp_path: Path
) -> None:
    odd = ("a: b/x?.md", "con.md", "dots. .md", "tail..md", 'q"*|<>.md')
    files = {"Why red?.md": "So it is seen.", "b.md": "See [[Why red?]]."}
    files |= {name: f"This is {name}." for name in odd}
    found = call("import_", path=str(folder(tmp_path / "ledger", files)))
    assert (found["notes"]["new"], found["skipped"]) == (7, 0)
    there = root / "ledger notes"
    assert (there / "Why red.md").exists()
    assert len([*there.rglob("*.md")]) == 7
    assert [edge["relation"] for edge in call("graph", name="Why red?")["edges"]] == ["mentions"]


def test_two_vaults_may_have_notes_of_one_name(call: Call, vault: Path, tmp_path: Path) -> None:
    other = folder(tmp_path / "Work", {".obsidian/app.json": "{}", "Ada Lane.md": "A colleague."})
    assert call("import_", path=str(other))["notes"]["new"] == 1


def test_pictures_come_with_the_notes_that_show_them(
    app: App, call: Call, root: Path, tmp_path: Path
) -> None:
    body = (
        "![[boat.png|300]]\n![her](../assets/My%20yard.JPG) ![[boat.png]]\n\n"
        "![[broken.png]] ![[gone.png]] ![[Ada Lane]] `![[boat.png]]`\n"
    )
    files: dict[str, str | bytes] = {
        ".obsidian/app.json": "{}",
        "Log/a.md": body,
        "b.md": "![[ASSETS/boat.png]]\n",
        "assets/boat.png": encoded("PNG", 40, 30),
        "assets/My yard.JPG": encoded("JPEG", 40, 30),
        "assets/broken.png": b"\x89PNG",
        "assets/unused.png": encoded("PNG", 4, 3),
        "tax.pdf": b"%PDF",
    }
    vault = folder(tmp_path / "Petrel", files)
    first = call("import_", path=str(vault))
    assert {one["where"] for one in first["reasons"]} == {"assets/broken.png", "attachments"}
    assert "(1 .png, 1 .pdf)" in first["reasons"][-1]["why"]
    boat, yard = sorted(
        (one.relative_to(root).as_posix() for one in (root / "attachments").rglob("*.*")),
        reverse=True,
    )
    boat, yard = (boat, yard) if boat.endswith("png") else (yard, boat)
    assert text(root, "Petrel/Log/a.md").endswith(
        f"---\n![[{boat}|300]]\n![her](../../{yard}) ![[{boat}]]\n\n"
        "![[broken.png]] ![[gone.png]] ![[Ada Lane]] `![[boat.png]]`\n"
    )
    assert text(root, "Petrel/b.md").endswith(f"![[{boat}]]\n")
    (log,) = (row for row in rows(app, "import:obsidian") if row.title == "a")
    assert [one["present"] for one in call("show", id=log.id)["images"]] == [True, True]
    again = call("import_", path=str(vault))
    assert again["notes"]["known"] == 2
    assert again["commits"] == []


def test_parents_of_an_insight_are_memories_here(app: App, call: Call, tmp_path: Path) -> None:
    call("import_", path=str(MADE["oubli"](tmp_path)))
    raw, insight = sorted(rows(app, "import:oubli"), key=lambda row: row.level)
    assert insight.level == 1
    edges = call("graph", name=insight.title)["edges"]
    assert [edge["relation"] for edge in edges] == ["derived_from"]
    assert raw.id in json.dumps(edges)


def test_what_was_switched_off_there_is_not_told_here(call: Call, tmp_path: Path) -> None:
    call("import_", path=str(MADE["mem0-json"](tmp_path / "x")))
    titles = [row["title"] for row in call("recall", query="boat")["results"]]
    assert "Owns Petrel" in titles
    assert not {"Secret boat", "Old boat", "Hates boats", "Was here"} & set(titles)


def test_a_conversation_that_went_on_brings_only_what_is_new(
    app: App, call: Call, tmp_path: Path
) -> None:
    root = claude_code.memory(tmp_path)
    call("import_", path=str(root))
    more = claude_code.first().add("u2", "user", "And where does she lie?")
    folder(root, {f"{claude_code.PROJECT}/{claude_code.ONE}.jsonl": str(more)})
    found = call("import_", path=str(root))
    assert (found["conversations"]["grown"], found["messages"]) == (1, 1)
    found_there = rows(app, "import:claude-code-memory")
    bodies = [text(app.house.vault.root, row.path) for row in found_there]
    assert sum("What is the boat called?" in body for body in bodies) == 1


def test_private_words_and_secrets_stay_outside(call: Call, root: Path, tmp_path: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    files = {"a.md": f"The pin is <private>4711</private>.\n\nToken: {key}\n", "b.md": "fine"}
    found = call("import_", path=str(folder(tmp_path / "plain", files)))
    remark = {"remark": "a text held a secret, which was taken out", "count": 1}
    assert found["remarks"] == [remark]
    written = "".join(one.read_text() for one in (root / "plain").glob("*.md"))
    assert "fine" in written
    assert "4711" not in written
    assert key not in written


def test_half_a_title_is_no_title(call: Call, root: Path, tmp_path: Path) -> None:
    files = {"boat.md": "---\ntitle: [unclosed\n---\nShe floats.\n", "b.md": "fine"}
    found = call("import_", path=str(folder(tmp_path / "plain", files)))
    assert (found["skipped"], found["faulty"]) == (0, 1)
    titles = [row["title"] for row in call("list")["results"]]
    assert "boat" in titles


def test_a_file_of_another_kind_says_what_it_is_not(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"a": 1}]')
    with pytest.raises(InvalidInput, match="none of the 1 records"):
        call("import_", path=str(path), format="mem0-json")


@pytest.mark.parametrize("place", [".", "..", "Petrel"])
def test_a_vault_is_not_imported_into_itself(
    app: App, call: Call, root: Path, vault: Path, place: str
) -> None:
    head = app.house.vault.head()
    with pytest.raises(InvalidInput, match="this vault itself"):
        call("import_", path=str((root / place).resolve()), format="markdown")
    assert app.house.vault.head() == head


def test_another_vault_of_ours_keeps_its_ids_by_its_export(call: Call, tmp_path: Path) -> None:
    other = folder(tmp_path / "other", {"oneiro.toml": "", "a.md": "x"})
    for form in (None, "markdown", "obsidian"):
        with pytest.raises(InvalidInput, match="a vault of this program") as caught:
            call("import_", path=str(other), format=form)
        assert "export jsonl" in caught.value.hint


@pytest.mark.parametrize("form", MADE)
def test_a_format_that_it_is_not_is_an_error_never_nothing(
    call: Call, tmp_path: Path, form: str
) -> None:
    path = folder(tmp_path / "songs", {"song.mp3": b"ID3"})
    with pytest.raises(InvalidInput, match="there is nothing of"):
        call("import_", path=str(path), format=form)


def test_a_name_that_differs_in_case_alone_gets_another(call: Call, tmp_path: Path) -> None:
    made = folder(
        tmp_path / "bundle",
        {
            "index.md": "---\nokf_version: '0.2'\n---\n",
            "Boat.md": "---\ntype: thing\n---\nPetrel.",
            "boat.md": "---\ntype: thing\n---\nKittiwake.",
        },
    )
    found = call("import_", path=str(made), format="okf")
    assert (found["notes"]["new"], found["skipped"]) == (2, 0)
    again = call("import_", path=str(made), format="okf")
    assert (again["notes"]["known"], again["commits"]) == (2, [])
