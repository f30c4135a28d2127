"""Lines of our own: what is broken in them, and what is no such file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers import own
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.records import Note, Skipped


def line(**changes: Any) -> str:
    found = {
        "oneiro_vault": 1, "id": "a" * 12, "path": "a.md", "title": "A",
        "meta": {"title": "A", "created": "2026-03-05"}, "text": "words\n",
    }  # fmt: skip
    return json.dumps({**found, **changes})


def read(place: Path, *lines: str) -> list[object]:
    place.write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode("utf-8", "surrogatepass"))
    with Archive.at(place) as archive:
        assert own.recognises(archive)
        return list(own.read(archive))


def test_a_broken_line_stops_no_other(tmp_path: Path) -> None:
    bad = [
        "{",
        '"text"',
        line(oneiro_vault=2),
        line(meta=[]),
        line(text=None),
        line(path=5),
        line(text="half \ud800"),
        line(meta={"deep": json.loads("[" * 40 + "]" * 40)}),
        "[" * 10_000,
        "\udcff",
    ]
    found = read(tmp_path / "x.jsonl", line(), *bad, "", line(path="b.md"))
    notes = [one for one in found if isinstance(one, Note)]
    skipped = [one for one in found if isinstance(one, Skipped)]
    assert [one.path for one in notes] == ["a.md", "b.md"]
    assert [one.where for one in skipped] == [f"x.jsonl, line {n}" for n in range(2, 12)]
    assert all(one.why for one in skipped)


def test_a_line_is_the_file_it_was(tmp_path: Path) -> None:
    spelled = "---\n# mine\ntitle:  'A'\n---\nwords\n"
    first, second = read(tmp_path / "x.jsonl", line(), line(file=spelled))
    assert isinstance(first, Note)
    assert isinstance(second, Note)
    assert first.data == b"---\ntitle: A\ncreated: 2026-03-05\n---\nwords\n"
    assert second.data == spelled.encode()
    assert (first.at and first.at.isoformat(), first.title) == ("2026-03-05T00:00:00+00:00", "A")


def test_files_that_are_shown_are_those_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    (folder / "attachments").mkdir(parents=True)
    (folder / "attachments" / "a.png").write_bytes(b"x")
    shown = ["attachments/a.png", "attachments/gone.png", "../../etc/passwd", 5]
    (folder / own.LINES).write_text(line(attachments=shown))
    with Archive.at(folder) as archive:
        (note,) = own.read(archive)
    assert isinstance(note, Note)
    assert note.files == {"attachments/a.png": "attachments/a.png"}


def test_other_lines_are_not_ours(tmp_path: Path) -> None:
    for number, text in enumerate(('{"text": "x"}', "", "{}", '{"oneiro_vaults": 1}')):
        place = tmp_path / f"{number}.jsonl"
        place.write_text(text)
        with Archive.at(place) as archive:
            assert not own.recognises(archive)
            with pytest.raises(InvalidInput, match=r"memories\.jsonl"):
                list(own.read(archive))
