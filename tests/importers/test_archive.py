"""An export is read whatever it is packed in, and nothing in it leads out of it."""

from __future__ import annotations

import io
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from oneiro_vault.errors import InvalidInput, NotFound
from oneiro_vault.importers.archive import Archive
from tests.importers.exports import zipped

TWO = {"a.json": "[1]", "sub/b.json": "[2]"}


def names(path: Path) -> list[str]:
    with Archive.at(path) as archive:
        return [*archive.names()]


def folder(path: Path) -> Path:
    (path / "sub").mkdir(parents=True)
    for name, text in TWO.items():
        (path / name).write_text(text)
    return path


def test_a_folder_a_zip_a_wrapped_zip_and_a_file_read_alike(tmp_path: Path) -> None:
    wrapped = {f"export/{name}": text for name, text in TWO.items()} | {"__MACOSX/._a.json": "x"}
    ways = [
        folder(tmp_path / "plain"),
        zipped(tmp_path / "x.zip", TWO),
        zipped(tmp_path / "w.zip", wrapped),
    ]
    for path in ways:
        assert names(path) == ["a.json", "sub/b.json"]
        with Archive.at(path) as archive:
            assert archive.read("sub/b.json") == b"[2]"
            assert archive.above == (tmp_path.name if path.is_dir() else "")
    assert names(tmp_path / "plain" / "a.json") == ["a.json"]


def test_zips_in_a_zip_are_opened_but_not_those_of_uploads(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", {"conversations-000.json": "[]"}).read_bytes()
    outer = zipped(
        tmp_path / "outer.zip",
        {"report.html": "", "User/Conversations__1.zip": inner, "User/Files__1.zip": inner},
    )
    assert names(outer) == [
        "User/Conversations__1.zip/conversations-000.json", "User/Files__1.zip", "report.html",
    ]  # fmt: skip


def test_zips_among_notes_stay_closed(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", {"x.md": "not a note"}).read_bytes()
    path = zipped(tmp_path / "vault.zip", {"note.md": "A note.", "files/inner.zip": inner})
    assert names(path) == ["files/inner.zip", "note.md"]


def test_zips_in_zips_without_end_are_not_followed(tmp_path: Path) -> None:
    data = b"[]"
    for depth in range(6):
        name = "x.json" if not depth else "x.zip"
        data = zipped(tmp_path / f"{depth}.zip", {name: data, "y.txt": ""}).read_bytes()
    assert len(names(tmp_path / "5.zip")) == 4


@pytest.mark.parametrize(
    "name", ["../x.json", "/etc/x.json", "a/../../x.json", "C:/x.json", "..\\x.json"]
)
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    path = zipped(tmp_path / "x.zip", {"a.json": "[]", name: "[]"})
    with pytest.raises(InvalidInput, match="would lead out of it") as caught:
        Archive.at(path)
    assert caught.value.kept == "Nothing was imported."


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as made:
        info = zipfile.ZipInfo("link.json")
        info.external_attr = 0o120777 << 16
        made.writestr(info, "/etc/passwd")
    with pytest.raises(InvalidInput, match="is a link"):
        Archive.at(path)


def test_links_in_a_folder_are_named_and_not_followed(tmp_path: Path) -> None:
    place = folder(tmp_path / "plain")
    (tmp_path / "secret.json").write_text("[3]")
    (place / "link.json").symlink_to(tmp_path / "secret.json")
    (place / "round").symlink_to(place)
    with Archive.at(place) as archive:
        assert [*archive.names()] == ["a.json", "sub/b.json"]
        assert sorted(name for name, _ in archive.left_out) == ["link.json", "round"]


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"a.json": b" " * (70 << 20)})
    with pytest.raises(InvalidInput, match="that is no export"):
        Archive.at(path)


def test_a_zip_with_a_password_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"a.json": "[]"})
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\x01\x02")
    data[at + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match="is locked by a password"):
        Archive.at(path)


def test_a_cut_zip_says_so(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"a.json": "[1]" * 5000})
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InvalidInput, match="its end is missing") as caught:
        Archive.at(path)
    assert "fetch it once more" in caught.value.hint


def test_a_broken_zip_in_a_folder_stops_nothing_else(tmp_path: Path) -> None:
    place = folder(tmp_path / "plain")
    (place / "cut.zip").write_bytes(b"PK\x03\x04 and no more")
    with Archive.at(place) as archive:
        assert "cut.zip" in archive.names()
        assert archive.left_out[0][0] == "cut.zip"


def test_damage_inside_is_told_when_it_is_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"a.json": "[1, 2]"}, zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b"[1, 2]", b"[1, 3]", 1))
    with Archive.at(path) as archive, pytest.raises(InvalidInput, match="damaged"):
        archive.read("a.json")


def test_more_than_was_asked_for_is_not_read(tmp_path: Path) -> None:
    with Archive.at(folder(tmp_path / "plain")) as archive:
        with pytest.raises(InvalidInput, match="more than 2 bytes"):
            archive.read("a.json", 2)
        with pytest.raises(NotFound):
            archive.open("nothing.json")
    with pytest.raises(NotFound, match="there is no file or folder"):
        Archive.at(tmp_path / "nowhere")


def test_dates_are_the_same_on_every_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zipped(tmp_path / "x.zip", TWO)
    for zone in ("UTC", "Asia/Tokyo"):
        monkeypatch.setenv("TZ", zone)
        with Archive.at(path) as archive:
            assert archive.modified("a.json") == datetime(2026, 8, 24, 12, tzinfo=UTC)


def test_what_was_read_is_counted(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"a.json": "[1]", "b.json": "[22]", "c.html": "x" * 100})
    with Archive.at(path) as archive:
        archive.read("c.html")
        archive.begin()
        archive.read("a.json")
        assert (archive.passed, archive.extent()) == (3, 7)


def test_temporary_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    inner = zipped(tmp_path / "inner.zip", {"x.json": "[]"}).read_bytes()
    path = zipped(tmp_path / "outer.zip", {"in.zip": inner, "y.txt": ""})
    with Archive.at(path) as archive:
        assert io.BytesIO(archive.read("in.zip/x.json")).read() == b"[]"
        assert any((tmp_path / "t").iterdir())
    assert not any((tmp_path / "t").iterdir())


def test_what_is_packed_otherwise_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "takeout.tgz"
    path.write_bytes(b"\x1f\x8b\x08")
    with pytest.raises(InvalidInput, match="not read here") as caught:
        Archive.at(path)
    assert "Unpack it" in caught.value.hint


def test_a_zip_inside_that_is_damaged_is_told(tmp_path: Path) -> None:
    inside, outside = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inside, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("conversations.json", "[]" * 5_000)
    with zipfile.ZipFile(outside, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("inner.zip", inside.getvalue())
    data = bytearray(outside.getvalue())
    data[30 + len("inner.zip") + 40] ^= 0xFF
    place = tmp_path / "x.zip"
    place.write_bytes(data)
    with pytest.raises(InvalidInput, match="in the export cannot be read: it is dam"):
        Archive.at(place)
