"""Exports take along what was asked for and nothing private, and write over nothing."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from pathlib import Path
from typing import Any, cast

import pytest

from oneiro_vault import answers
from oneiro_vault.app import App
from oneiro_vault.cli.commands.exchange import said
from oneiro_vault.errors import DiskProblem, InvalidInput
from oneiro_vault.operations.exchange.export_target import MANIFEST, opened
from tests.operations.conftest import Call, stored

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def lines(place: Path) -> list[dict[str, Any]]:
    text = (place / "memories.jsonl" if place.is_dir() else place).read_text()
    return [json.loads(line) for line in text.splitlines()]


def titles(place: Path) -> set[str]:
    return {one["title"] for one in lines(place)}


def test_an_export_is_what_was_asked_for(app: App, call: Call, tmp_path: Path) -> None:
    stored(call, "The harbour is deep.", title="Harbour", tags=["sea"], created="2024-05-01")
    stored(call, "Peter is the captain.", title="Peter", type="entity")
    call("capture", text="user: We sail at five.\n\nassistant: Good.", session="s1")
    place = str(tmp_path / "out")

    def asked(**given: Any) -> set[str]:
        call("export", format="jsonl", target=place, **given)
        return titles(Path(place))

    assert {"Harbour", "Peter"} < asked()
    assert asked(conversations=False) == {"Harbour", "Peter"}
    assert asked(type="entity") == asked(type=["entity"]) == {"Peter"}
    assert asked(tag="sea") == {"Harbour"}
    assert "Harbour" not in asked(since="2025-01-01")
    with pytest.raises(InvalidInput, match="no memory fits"):
        asked(tag="mountain")
    with pytest.raises(InvalidInput, match="there is no type"):
        asked(type="entitty")
    assert "Harbour" not in titles(Path(place))  # the last good one stays


def test_as_of_is_what_was_believed(app: App, call: Call, tmp_path: Path) -> None:
    old = stored(call, "The boat is called Petrel.")
    commit = app.house.vault.head()
    call("reframe", id=old, text="The boat is called Kittiwake.")
    stored(call, "The harbour is deep.")
    for form in ("okf", "book", "jsonl"):
        call("export", format=form, target=str(tmp_path / form), as_of=commit)
    (row,) = lines(tmp_path / "jsonl")
    assert row["text"] == "The boat is called Petrel.\n"
    assert row["history"]["commits"] == 1
    assert "Petrel" in (tmp_path / "book" / "book.md").read_text()
    assert "Kittiwake" not in (tmp_path / "book" / "book.md").read_text()


def test_nothing_private_goes_out(app: App, call: Call, root: Path, tmp_path: Path) -> None:
    (root / "diary.md").write_text(
        f"---\ntitle: Mine <private>hush</private>\n---\nHere <private>hush, no</private> I am.\n\n"
        f"The token is {TOKEN}.\n"
    )
    app.house.indexing.reconcile()
    for form in ("okf", "book", "jsonl"):
        found = call("export", format=form, target=str(tmp_path / form))
        assert found["withheld"] == 1
        everything = b"".join(
            path.name.encode() + path.read_bytes()
            for path in (tmp_path / form).rglob("*")
            if path.is_file()
        )
        assert b"I am." in everything
        assert b"hush" not in everything
        assert TOKEN[:12].encode() not in everything


def test_nor_does_it_in_the_files_that_notes_show(
    app: App, call: Call, root: Path, tmp_path: Path
) -> None:
    texts = {
        "keys.csv": f"service,key\ngit,{TOKEN}\n".encode(),
        "diary.txt": b"Here <private>hush, no</private> I am.",
        "wide.txt": f"The token is {TOKEN}.".encode("utf-16"),
        f"{TOKEN}.txt": b"The token is my name.",
        "plain.csv": b"a,b\n1,2\n",
        "picture.bin": b"\x89PNG\0\0\xff" + TOKEN.encode(),
    }
    for name, data in texts.items():
        (root / name).write_bytes(data)
    shows = "\n".join(f"![[{name}]]" for name in texts if TOKEN not in name)
    (root / "shows.md").write_text(f"---\ntitle: Files\n---\nLook:\n{shows}\n![[{TOKEN}.txt]]\n")
    app.house.indexing.reconcile()
    for form in ("okf", "book", "jsonl"):
        found = call("export", format=form, target=str(tmp_path / form))
        assert (found["files_cut"], found["files_kept"], found["attachments"]) == (2, 1, 4)
        out = content(tmp_path / form)
        assert out["keys.csv"] == b"service,key\ngit,[secret removed]\n"
        assert b"hush" not in out["diary.txt"]
        assert "wide.txt" not in out
        assert (out["plain.csv"], out["picture.bin"]) == (texts["plain.csv"], texts["picture.bin"])
        assert not any(TOKEN in name for name in out)
    again = app.call("export", {"format": "okf", "target": str(tmp_path / "okf")})
    text = said(cast("answers.Exported", again))
    assert "something private was taken out of 2 files that they show" in text
    assert "1 file that they show stayed here" in text


def test_what_no_export_made_stays(app: App, call: Call, root: Path, tmp_path: Path) -> None:
    stored(call, "The harbour is deep.")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "letter.md").write_text("dear")
    (tmp_path / "book.md").write_text("my own book")
    (tmp_path / "own.zip").write_bytes(b"PK no zip")
    cases = [
        ("okf", mine, "no export made it"),
        ("book", tmp_path / "book.md", "no export made it"),
        ("jsonl", tmp_path / "own.zip", "no export made it"),
        ("okf", root / "out", "outside of the vault"),
        ("okf", root, "is the vault"),
        ("okf", root.parent, "around it"),
        ("okf", tmp_path / "no" / "such", "there is no folder"),
        ("okf", Path("relative"), "no absolute path"),
        ("pdf", tmp_path / "x", "there is no format"),
    ]
    for form, place, words in cases:
        with pytest.raises(InvalidInput) as caught:
            call("export", format=form, target=str(place))
        assert words in f"{caught.value} {caught.value.hint}"
        assert caught.value.kept == "Nothing was written."
    assert (mine / "letter.md").read_text() == "dear"
    assert (tmp_path / "book.md").read_text() == "my own book"
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"vault", "mine", "book.md", "own.zip"}


@pytest.mark.parametrize("ending", ["", ".zip"])
def test_an_export_of_ours_is_made_anew_unless_it_was_changed(
    app: App, call: Call, tmp_path: Path, ending: str
) -> None:
    ident = stored(call, "The harbour is deep.")
    place = tmp_path / f"out{ending}"
    call("export", format="okf", target=str(place))
    before = content(place)
    call("export", format="okf", target=str(place))
    assert content(place) == before  # the same export is the same bytes
    call("forget", id=ident)
    stored(call, "The harbour is shallow.")
    call("export", format="okf", target=str(place))
    assert not [name for name in content(place) if "deep" in name]
    if ending:
        with zipfile.ZipFile(place, "a") as archive:
            archive.writestr("mine.txt", "mine")
    else:
        (place / "mine.txt").write_text("mine")
    with pytest.raises(InvalidInput, match=r"mine\.txt"):
        call("export", format="okf", target=str(place))
    assert content(place)["mine.txt"] == b"mine"


def content(place: Path) -> dict[str, bytes]:
    if place.is_dir():
        files = (path for path in place.rglob("*") if path.is_file())
        return {path.relative_to(place).as_posix(): path.read_bytes() for path in files}
    with zipfile.ZipFile(place) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_failure_leaves_nothing_half(app: App, call: Call, tmp_path: Path) -> None:
    stored(call, "The harbour is deep.")
    place = tmp_path / "out"
    call("export", format="jsonl", target=str(place))
    before = content(place)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        app.call("export", {"format": "jsonl", "target": str(place)}, interrupted)
    assert content(place) == before
    assert {path.name for path in tmp_path.iterdir()} == {"vault", "out"}
    closed = tmp_path / "closed"
    closed.write_text("a file is no folder")
    with pytest.raises((InvalidInput, DiskProblem)):
        call("export", format="jsonl", target=str(closed / "x"))


def test_the_list_of_files_is_beside_them(app: App, call: Call, tmp_path: Path) -> None:
    stored(call, "The harbour is deep.")
    call("export", format="book", target=str(tmp_path / "out"))
    said = json.loads((tmp_path / "out" / MANIFEST).read_text())
    assert (said["format"], [*said["files"]]) == ("book", ["book.md"])


def test_a_pipe_and_a_damaged_zip_are_refused(call: Call, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    place = tmp_path / "out.zip"
    stored(call, "The boat is called Petrel.")
    call("export", format="jsonl", target=str(place))
    data = bytearray(place.read_bytes())
    data[100] ^= 0xFF
    place.write_bytes(data)
    for target in (tmp_path / "pipe.jsonl", place):
        with pytest.raises(InvalidInput):
            call("export", format="jsonl", target=str(target))
    assert place.read_bytes() == data


@pytest.mark.parametrize("moment", ["before the first rename", "between", "after", "removing"])
def test_what_a_killed_export_left_is_tidied(
    app: App, call: Call, tmp_path: Path, moment: str
) -> None:
    stored(call, "The harbour is deep.")
    place, folder = tmp_path / "out", tmp_path / "out" / "semantic"
    call("export", format="okf", target=str(place))
    new, old = tmp_path / ".out.0123abcd.new", tmp_path / ".out.0123abcd.old"
    if moment == "before the first rename":
        shutil.copytree(folder, new)
        (tmp_path / ".out.0123abcd.new.part").write_bytes(b"{")
    else:
        shutil.copytree(place, new)
        place.rename(old)
    if moment in ("after", "removing"):
        new.rename(place)
    if moment == "removing":
        shutil.rmtree(old / "semantic")
    before = content(place if place.exists() else old)
    with pytest.raises(InvalidInput):
        call("export", format="okf", target=str(place), tag="nobody has it")
    others = (".out.0123abcd.newer", ".out.mine.new", ".out2.0123abcd.new")
    for name in others:
        (tmp_path / name).write_text("mine")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        app.call("export", {"format": "okf", "target": str(place)}, interrupted)
    assert content(place) == before
    assert {path.name for path in tmp_path.iterdir()} == {"vault", "out", *others}
    call("export", format="okf", target=str(place))


def test_what_is_not_as_an_export_left_it_stays(app: App, call: Call, tmp_path: Path) -> None:
    stored(call, "The harbour is deep.")
    place, old = tmp_path / "out", tmp_path / ".out.0123abcd.old"
    call("export", format="okf", target=str(place))
    shutil.copytree(place, old)
    (old / "mine.md").write_text("dear")
    call("export", format="okf", target=str(place))
    assert (old / "mine.md").read_text() == "dear"


def test_an_export_takes_nothing_away_that_another_one_is_making(
    app: App, call: Call, tmp_path: Path
) -> None:
    stored(call, "The harbour is deep.")
    with opened(str(tmp_path / "out"), "okf", tmp_path / "vault") as target:
        target.add("a.md", b"a")
        call("export", format="okf", target=str(tmp_path / "out"))
        shutil.rmtree(tmp_path / "out")
    assert content(tmp_path / "out")["a.md"] == b"a"
