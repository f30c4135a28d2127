"""Text that is not UTF-8 is read all the same; what is no text is told."""

from __future__ import annotations

import pytest

from oneiro_vault.core.frontmatter import salvage


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Größe und Maß ändern sich am Hafen.\r\n", "latin-1"),
        ("A café", "cp1252"),
        ("naïve café", "utf-16"),
        ("naïve café", "utf-16-be"),
        ("Привет, это заметка о лодке и о море.", "cp1251"),
        ("日本語のメモです。船について書きました。", "shift_jis"),
        ("plain", "ascii"),
        ("Größe 🚤", "utf-8"),
    ],
)
def test_texts_in_other_encodings(text: str, encoding: str) -> None:
    mark = b"\xfe\xff" if encoding.endswith("be") else b""
    assert salvage.decoded(mark + text.encode(encoding)) == text


def test_one_bad_byte_does_not_spoil_good_utf8() -> None:
    assert salvage.decoded("Größe, Maß".encode() + b"\xff and more") == "Größe, Maß\ufffd and more"


@pytest.mark.parametrize("data", [b"\x89PNG\x01\x02", b"a\0b", b"\xff\xfe" + b"\x00\xd8" * 40])
def test_what_is_no_text(data: bytes) -> None:
    assert salvage.decoded(data) is None
