"""What bytes are, without believing a name and without decoding; and how a note refers to a
picture."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.core.media import picture
from oneiro_vault.core.media.picture import Kind, references, sniff
from tests.pictures import FORMATS, encoded, png_of, segment

SHA = "ab" + "0" * 62
OTHER = "cd" + "1" * 62


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("width", "height"), [(60, 40), (1, 1), (300, 700), (257, 3)])
def test_every_format_tells_its_size(form: str, width: int, height: int) -> None:
    assert sniff(encoded(form, width, height)) == Kind(FORMATS[form], width, height)


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("WEBP", {"lossless": True}),
        ("WEBP", {"lossless": True, "mode": "RGBA"}),
        ("WEBP", {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"}),
        ("JPEG", {"progressive": True}),
        ("JPEG", {"mode": "L"}),
        ("JPEG", {"mode": "CMYK"}),
        ("PNG", {"mode": "1"}),
        ("GIF", {"mode": "P"}),
    ],
)
def test_every_variant_of_a_format(form: str, options: dict[str, object]) -> None:
    assert sniff(encoded(form, 60, 40, **options)) == Kind(FORMATS[form], 60, 40)  # type: ignore[arg-type]  # Pillow's options differ by format


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        b"<?xml version='1.0'?><svg/>",
        b"<!doctype html><script>alert(1)</script>",
        b"%PDF-1.7",
        b"BM" + b"\0" * 60,
        b"II*\0" + b"\0" * 60,
        b"PK\x03\x04" + b"\0" * 60,
        b"\x00\x00\x00\x20ftypheic" + b"\0" * 40,
        b"\x00\x00\x00\x20ftypavif" + b"\0" * 40,
        b"GIF89a\0\0\0\0",
        b"GIF88a\x10\0\x10\0",
        b"\x89PNG\r\n\x1a\n<html>",
        b" " + encoded("PNG"),
        png_of(0, 10),
        b"\xff\xd8\xff\xe0\0\x10JFIF" + b"\0" * 20,
        b"\xff\xd8" + segment(0xC0, b"\x08\0\0\0\x10\x01\x01\x11\0") + b"\xff\xd9",
        b"RIFF\x10\0\0\0WEBPVP8 ",
        b"RIFF\x40\0\0\0WEBPVP8Z" + b"\0" * 40,
        b"RIFF\x40\0\0\0WAVEfmt " + b"\0" * 40,
    ],
)
def test_anything_else_is_no_picture(data: bytes) -> None:
    assert sniff(data) is None


def test_a_huge_claim_is_read_not_decoded() -> None:
    found = sniff(png_of(30_000, 30_000))
    assert found == Kind("image/png", 30_000, 30_000)
    assert found.pixels == 900_000_000


@given(st.binary(max_size=200))
def test_no_bytes_are_an_error(data: bytes) -> None:
    for head in (
        b"",
        b"\x89PNG\r\n\x1a\n",
        b"GIF89a",
        b"RIFF\0\0\0\0WEBP",
        b"RIFF\0\0\0\0WEBPVP8X",
        b"\xff\xd8\xff",
        b"\xff\xd8\xff\xff\xff",
    ):
        found = sniff(head + data)
        assert found is None or found.pixels > 0


@given(st.sampled_from(sorted(FORMATS)), st.integers(0, 400))
def test_no_cut_is_an_error(form: str, at: int) -> None:
    whole = sniff(encoded(form))
    assert sniff(encoded(form)[:at]) in (None, whole)


@pytest.mark.parametrize(
    ("body", "alt"),
    [
        (f"![The boat](../../../attachments/ab/{SHA}.png)", "The boat"),
        (f"text ![](attachments/ab/{SHA}.jpg) text", ""),
        (f'![a](<attachments/ab/{SHA}.webp> "title")', "a"),
        (f"![[{SHA}.png]]", ""),
        (f"![[attachments/ab/{SHA}.gif|200]]", ""),
        (f"> ![q](/attachments/ab/{SHA}.JPEG)".lower(), "q"),
    ],
)
def test_a_note_shows_a_picture(body: str, alt: str) -> None:
    found = references(f"Before.\n\n{body}\n\nAfter.")
    assert [(one.sha256, one.alt) for one in found] == [(SHA, alt)]
    assert found[0].path == f"attachments/ab/{SHA}.{found[0].extension}"


@pytest.mark.parametrize(
    "body",
    [
        "no picture",
        f"[a link](attachments/ab/{SHA}.png)",
        f"`![a](attachments/ab/{SHA}.png)`",
        f"```\n![a](attachments/ab/{SHA}.png)\n```",
        f"![a](attachments/ab/{SHA}.svg)",
        f"![a](attachments/ab/{SHA}.html)",
        f"![a](attachments/ab/{SHA[:-1]}.png)",
        f"![a](attachments/ab/0{SHA}.png)",
        f"![a](attachments/ab/{SHA.upper()}.png)",
        "![a](https://example.org/boat.png)",
    ],
)
def test_a_note_shows_none(body: str) -> None:
    assert references(body) == []


def test_each_picture_once_in_order() -> None:
    body = f"![x](attachments/cd/{OTHER}.png) ![y](a/{SHA}.jpg)\n![z](attachments/cd/{OTHER}.png)"
    assert [one.sha256 for one in references(body)] == [OTHER, SHA]


@pytest.mark.parametrize(
    ("note", "shown"),
    [
        ("boat.md", f"attachments/ab/{SHA}.png"),
        ("entities/boat.md", f"../attachments/ab/{SHA}.png"),
        ("semantic/2026/11/boat.md", f"../../../attachments/ab/{SHA}.png"),
        ("attachments/boat.md", f"ab/{SHA}.png"),
    ],
)
def test_links_are_relative_to_the_note(note: str, shown: str) -> None:
    link = picture.link(picture.path_of(SHA, "png"), note, "The boat")
    assert link == f"![The boat]({shown})"
    assert references(link)[0].sha256 == SHA


@given(st.text(max_size=300))
def test_no_alternative_text_breaks_the_link(alt: str) -> None:
    found = references(picture.link(picture.path_of(SHA, "png"), "a/b.md", alt))
    assert [one.sha256 for one in found] == [SHA]


def test_a_long_line_of_brackets_takes_no_time() -> None:
    for piece in ("![", "![](", "![[", "![a](" + "x" * 30):
        assert references(piece * (300_000 // len(piece))) == []
