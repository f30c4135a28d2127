"""A text is found however a file writes it, nothing else is, and what stays is still a note."""

from __future__ import annotations

import json

import pytest

from oneiro_vault.core import memory
from oneiro_vault.errors import InvalidInput
from oneiro_vault.vault.purge.text_search import Text, checked, words_of

HEAD = b"---\nid: 0123456789ab\ntype: semantic\ntitle: %b\n---\n%b\n"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Fred Smith", "FRED smith"),
        ("Fred Smith", "Fred\n    Smith"),
        ("Fred Smith", "> I met Fred\n> Smith."),
        ("Fred Smith", "**Fred** _Smith_"),
        ("Fred Smith", "[[fred-smith-0123456789ab]]"),
        ("Fred Smith", "?name=Fred%20Smith"),
        ("Fred Smith", "Fred\u00a0Smith"),
        ("Fred Smith", r"Fred\nSmith"),
        ("a+b (x) [y]?", "so a+b (x) [y]? it is"),
        ("Zoë's café", "Zoe\u0308's cafe\u0301"),
        ("Zoë's café", "'Zoë''s café'"),
        ("Zoë's café", r"Zo\u00eb's caf\u00e9"),
        ("Zoë's café", r"Zo\xeb's caf\xE9"),
        ("Zoë's café", "Zo%C3%AB's caf%c3%a9"),
        ("Zoë's café", "Zoë&#39;s café"),
        ('say "yes"', r"say \"yes\""),
        ("C:\\temp\\x", r"C:\\temp\\x"),
        ("👋 hello", r"\ud83d\udc4b hello"),
        ("👋 hello", r"\U0001f44b hello"),
        ("密码是猫", "他说密码是猫。"),
        ("Fred Smith", "Fr\u00aded Smi\u200bth"),
    ],
)
def test_forms_in_which_a_text_is_found(text: str, written: str) -> None:
    found = Text([text])
    assert found.count(written.encode()) == 1
    cleaned = found.cleaned(written.encode())
    assert b"[purged]" in cleaned
    assert not found.count(cleaned)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a.b.c.d", "axbxcxd"),
        ("a+b (x)", "aab (x)"),
        ("Fred Smith", "Fred Smythe"),
        ("Fred Smith", "FredSmith"),
        ("Fred Smith", "RnJlZCBTbWl0aA=="),
    ],
)
def test_what_is_not_the_text(text: str, written: str) -> None:
    assert not Text([text]).count(written.encode())


def test_a_file_in_another_encoding_is_told() -> None:
    assert Text(["Fred Smith"]).count("x".encode("utf-16-le") + "Fred Smith".encode("utf-16-le"))


@pytest.mark.parametrize(
    "title",
    [
        b"Fred Smith",
        b"Fred Smith calls",
        b'"Fred Smith"',
        b"'Fred Smith'",
        b"Fred\n  Smith",
        b">-\n  Fred\n  Smith",
    ],
)
def test_a_note_stays_a_note(title: bytes) -> None:
    data = Text(["Fred Smith"]).cleaned(HEAD % (title, b"About Fred Smith.\xff"), note=True)
    found = memory.parse("x.md", data.replace(b"\xff", b""))
    assert found.id == "0123456789ab"
    assert found.title.startswith("(purged)")
    assert data.endswith(b"About [purged].\xff\n")


def test_lists_and_ledger_lines_stay_what_they_are() -> None:
    note = HEAD % (b"x\ntags: [Fred Smith, other]\naliases:\n  - Fred Smith", b"x")
    found = memory.parse("x.md", Text(["Fred Smith"]).cleaned(note, note=True))
    assert "other" in found.tags
    line = json.dumps({"e": "use", "q": 'where is "Fred Smith"?'}).encode()
    assert json.loads(Text(['"Fred Smith"']).cleaned(line))["q"] == "where is [purged]?"


def test_what_notes_are_made_of_is_refused() -> None:
    for text in ("semantic", "0123456789ab", "title: Fr", "tags"):
        with pytest.raises(InvalidInput, match="how notes are written"):
            Text([text]).cleaned(HEAD % (b"Fred\ntags: [a]", b"x"), note=True)


def test_too_little_to_look_for() -> None:
    for text in ("abc", " a b ", "----", ""):
        with pytest.raises(InvalidInput, match="too short"):
            checked(text)
    assert checked(" Zoe\u0308! ") == "Zoë!"


def test_a_name_loses_it_too() -> None:
    assert (
        Text(["Fred Smith"]).renamed("semantic/fred-smith-0123456789ab.md")
        == "semantic/purged-0123456789ab.md"
    )


def test_echoes_of_a_memory() -> None:
    """Five of its words in a row, in any dress, and its short lines; nothing shorter, since anybody
    says that."""
    note = HEAD % (
        b"Where Fred lives",
        b"Fred lives at twelve Elm Street in Bath.\n\n- key 4711\n- yes\n",
    )
    text = Text(echoes=words_of(note))
    assert (
        text.cleaned(b"said: fred LIVES at twelve *elm* street, they say")
        == b"said: [purged], they say"
    )
    assert text.cleaned(b"Where Fred lives is a secret") == b"[purged] is a secret"
    assert text.cleaned(b"the key 4711 fits") == b"the [purged] fits"
    assert not text.count(b"Fred lives at home. yes. twelve Elm Street")


def test_a_memory_that_cannot_be_read_still_has_words() -> None:
    assert words_of(b"---\nid: [\n---\nFred lives here\n")[-1] == "Fred lives here"


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be", "latin-1"])
@pytest.mark.parametrize("written", ["Zoë's café", "ZOË'S  CAFÉ", "zoë's\ncafé"])
def test_other_encodings(code: str, written: str) -> None:
    assert Text(["Zoë's café"]).count(f"Ann met at {written}, she said.".encode(code))


def test_decomposed_in_utf16() -> None:
    assert Text(["Zoë's café"]).count("Zoe\u0308's cafe\u0301".encode("utf-16-le")) == 1
