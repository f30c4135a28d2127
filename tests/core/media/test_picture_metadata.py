"""Metadata leaves a picture; its pixels, orientation and colours do not."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageCms, PngImagePlugin

from oneiro_vault.core.media.picture_metadata import without
from tests.pictures import FORMATS, SECRET, chunk, drawn, encoded, exif, opened, segment, xmp


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
