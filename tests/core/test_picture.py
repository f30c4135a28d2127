"""What bytes are, without believing a name and without decoding; and how a note refers to a
picture."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageCms, PngImagePlugin

from oneiro_vault.core import picture
from oneiro_vault.core.picture import Kind, references, sniff, without
from tests.pictures import (
    FORMATS,
    SECRET,
    chunk,
    drawn,
    encoded,
    exif,
    opened,
    png_of,
    segment,
    xmp,
)

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


def tagged(form: str, **options: Any) -> bytes:
    return encoded(form, exif=exif(), **options)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("options", [{}, {"quality": 60}, {"mode": "L"}])
def test_only_the_orientation_stays(form: str, options: dict[str, object]) -> None:
    before = tagged(form, **options)
    assert opened(before).getexif().get_ifd(0x8825)[2] == (51.0, 123456.0, 1.0)
    after = without(before, FORMATS[form])
    assert opened(after).tobytes() == opened(before).tobytes()
    assert dict(opened(after).getexif()) == {0x0112: 6}
    assert SECRET in before
    assert not any(one in after for one in (SECRET, b"Camera", b"2024:03:05"))
    assert without(after, FORMATS[form]) == after


@pytest.mark.parametrize("order", ["little", "big"])
def test_either_byte_order(order: str) -> None:
    def n(value: int, size: int) -> bytes:
        return value.to_bytes(size, order)  # type: ignore[arg-type]  # `order` is one of two words

    entry = n(0x0112, 2) + n(3, 2) + n(1, 4) + n(6, 2) + b"\0\0"
    tiff = (
        (b"II*\0" if order == "little" else b"MM\0*")
        + n(8, 4)
        + n(1, 2)
        + entry
        + n(0, 4)
        + b"SECRETPLACE"
    )
    before = b"\xff\xd8" + segment(0xE1, b"Exif\0\0" + tiff) + encoded("JPEG")[2:]
    after = without(before, "image/jpeg")
    assert b"SECRETPLACE" not in after
    assert dict(opened(after).getexif()) == {0x0112: 6}


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_a_colour_profile_stays(form: str) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    before = encoded(form, icc_profile=profile, exif=exif())
    assert opened(without(before, FORMATS[form])).info["icc_profile"] == profile


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"XX*\0",
        b"II*\0\xff\xff\xff\xff",
        b"II*\0\x08\0\0\0\xff\xff" + b"\0" * 40,
        b"II*\0\x08\0\0\0\x01\0\x25\x88\x04\0\x01\0\0\0\xff\xff\xff\0" + b"\0" * 8,
    ],
)
def test_exif_that_cannot_be_followed_goes_as_a_whole(damage: bytes) -> None:
    before = b"\xff\xd8" + segment(0xE1, b"Exif\0\0" + damage + b"GPSPLACE") + encoded("JPEG")[2:]
    after = without(before, "image/jpeg")
    assert b"GPSPLACE" not in after
    assert opened(after).tobytes() == opened(encoded("JPEG")).tobytes()


@pytest.mark.parametrize(
    "extra",
    [
        segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp()),
        segment(0xE1, b"http://ns.adobe.com/xmp/extension/\0" + b"x" * 40 + b"PLACE"),
        segment(0xED, b"Photoshop 3.0\x008BIM\x04\x04\0\0\0\0\0\x0c\x1c\x02Z\0\x04PLACE"),
        segment(0xEB, b"JP\0\0PLACE c2pa"),
        segment(0xE2, b"MPF\0II*\0PLACE"),
        segment(0xFE, b"a comment"),
    ],
)
def test_other_metadata_of_a_jpeg(extra: bytes) -> None:
    plain = encoded("JPEG")
    assert without(plain[:2] + extra + plain[2:], "image/jpeg") == plain


@pytest.mark.parametrize("form", FORMATS)
def test_what_hangs_on_behind_the_end_goes(form: str) -> None:
    """A motion photo's film, a second picture, a zip: each has a place of its own, or is none of
    ours."""
    plain = encoded(form)
    assert without(plain + tagged("JPEG") + b"PK\x03\x04", FORMATS[form]) == plain


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_plain_picture_is_left_alone(form: str, mode: str) -> None:
    plain = encoded(form, mode=mode)
    assert without(plain, FORMATS[form]) == plain


def test_progressive_and_restarted_jpegs() -> None:
    for options in (
        {"progressive": True},
        {"restart_marker_blocks": 2},
        {"quality": 100, "subsampling": 0},
    ):
        plain = encoded("JPEG", 300, 200, **options)
        assert without(plain + b"behind", "image/jpeg") == plain


def test_texts_of_a_png() -> None:
    info = PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", xmp().decode(), zip=True)
    info.add_text("Raw profile type exif", "PLACE" * 20, zip=True)
    info.add_text("GPSPosition", "PLACE")
    info.add_text("Comment", "words")
    out = BytesIO()
    drawn().save(out, "PNG", pnginfo=info)
    found = opened(without(out.getvalue(), "image/png"))
    assert found.text == {}  # type: ignore[attr-defined]  # the type is wider than what is in it
    assert found.tobytes() == drawn().tobytes()
    plain = encoded("PNG")
    assert without(plain[:33] + chunk(b"caBX", b"PLACE") + plain[33:], "image/png") == plain


def test_xmp_of_a_webp_and_its_flag() -> None:
    before = encoded("WEBP", xmp=xmp(), exif=exif())
    after = without(before, "image/webp")
    assert b"GPSLatitude" not in after
    assert after[20] & 0x04 == 0
    assert after[20] & 0x08
    assert opened(after).tobytes() == opened(before).tobytes()
    assert int.from_bytes(after[4:8], "little") + 8 == len(after)


def test_xmp_of_a_gif_and_its_frames() -> None:
    out = BytesIO()
    frames = [drawn(mode="P"), drawn(mode="P").rotate(90), drawn(mode="P").rotate(180)]
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], comment=b"words", xmp=xmp())
    plain = out.getvalue()
    at = plain.index(b"\x21\xf9")
    packet = b"\x21\xff\x0bXMP DataXMP" + xmp() + b"\x01" + bytes(range(255, -1, -1)) + b"\0"
    after = without(plain[:at] + packet + plain[at:], "image/gif")
    assert b"GPSLatitude" not in after
    found = Image.open(BytesIO(after))
    assert found.n_frames == 3  # type: ignore[attr-defined]  # the type is wider than what is in it
    assert b"words" not in after


@pytest.mark.parametrize("form", FORMATS)
@given(at=st.integers(0, 3000))
def test_a_cut_is_said_or_harmless(form: str, at: int) -> None:
    data = encoded(form, exif=exif()) if form != "GIF" else encoded(form)
    with suppress(ValueError):
        assert len(without(data[:at], FORMATS[form])) <= at + 12


@given(
    st.sampled_from(sorted(FORMATS)),
    st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), max_size=8),
)
def test_flipped_bytes_are_said_or_harmless(form: str, flips: list[tuple[int, int]]) -> None:
    data = bytearray(encoded(form, exif=exif()) if form != "GIF" else encoded(form))
    for place, value in flips:
        data[place % len(data)] = value
    with suppress(ValueError):
        assert len(without(bytes(data), FORMATS[form])) <= len(data) + 1
