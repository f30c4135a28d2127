"""What is private is gone before anything is written; what a client thought aloud is no summary."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.capture.privacy import redact, summary


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <private>secret</private> b", "a  b"),
        ("a <PRIVATE>secret</Private> b", "a  b"),
        ("a <private>one <private>two</private> three</private> b", "a  b"),
        ("a <private>never closed, secret", "a "),
        ("a <private>x</private> b <private>secret", "a  b "),
        ('a <private reason="x">secret</private> b', "a  b"),
        ("a < private >secret< / private > b", "a  b"),
        ("a <private\n>secret</private\n> b", "a  b"),
        ("a <private>one</private>two</private> b", "a two b"),
        ("a <private/> b", "a  b"),
        ("a <private>x<private/>secret</private> b", "a  b"),
        ("a <private", "a "),
        ("a <private secret", "a "),
        ("a <private-note>kept</private-note>", "a <private-note>kept</private-note>"),
        ("privately <privateer> kept", "privately <privateer> kept"),
        ("nothing to hide", "nothing to hide"),
        ("", ""),
    ],
)
def test_redaction(text: str, kept: str) -> None:
    assert redact(text) == kept


_PIECES = st.lists(
    st.sampled_from(
        [
            "<private>",
            "</private>",
            "<PRIVATE x='1'>",
            "word ",
            "< /private>",
            "<",
            ">",
            "\n",
            "<private/>",
        ]
    )
)


@given(_PIECES)
def test_what_is_kept_stood_outside_of_every_pair(pieces: list[str]) -> None:
    """Words are numbered, and the depth is counted by the pieces themselves."""
    text, outside, depth = "", [], 0
    for number, piece in enumerate(pieces):
        if piece == "word ":
            piece = f"w{number}w "
            outside += [] if depth else [f"w{number}w"]
        elif piece in ("<private>", "<PRIVATE x='1'>"):
            depth += 1
        elif piece in ("</private>", "< /private>"):
            depth = max(0, depth - 1)
        elif piece in ("<", ">"):
            piece = " "
        text += piece
    assert [word for word in redact(text).split() if word.startswith("w")] == outside


@pytest.mark.parametrize(
    "text",
    ["<" + " " * 400_000, "< " * 200_000, "<private" * 50_000, "<private>" * 50_000],
    ids=["blanks", "open", "cut", "deep"],
)
def test_no_text_takes_long(text: str) -> None:
    """A backtracking pattern would take minutes here."""
    start = time.monotonic()
    redact(text)
    assert time.monotonic() - start < 20


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<analysis>hm</analysis>\n<summary>We built it.</summary>", "We built it."),
        ("<ANALYSIS>hm</ANALYSIS><Summary>We built it.</SUMMARY>", "We built it."),
        ("We built it.", "We built it."),
        ("<summary>We built it.", "We built it."),
        ("<analysis>hm\n<summary>We built it.</summary>", "We built it."),
        ("<analysis>never closed, and all there is", "never closed, and all there is"),
        (
            "<analysis>about <summary> tags</analysis><summary>We built it.</summary>",
            "We built it.",
        ),
        ("<summary>The <analysis> tag is read now.</summary>", "The <analysis> tag is read now."),
        (
            "<summary>The </summary> tag is read now.</summary> Bye.",
            "The </summary> tag is read now. Bye.",
        ),
        (
            "Here it is: <analysis>hm</analysis><summary>We built it.</summary>",
            "Here it is: We built it.",
        ),
        ("", ""),
    ],
)
def test_summaries(text: str, said: str) -> None:
    assert summary(text) == said
