"""Fitting texts into tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.core.markdown.token_budget import estimate, pack, shorten


def words(text: str) -> int:
    return len(text.split())


def test_the_best_come_first_and_large_ones_are_passed_over() -> None:
    assert pack(["a b", "c d e f", "g"], 3, words) == [0, 2]
    assert pack(["a b", "g"], 3, words, gap=1) == [0]
    assert pack(["a b", "g"], 4, words, gap=1) == [0, 1]
    assert pack([], 3, words) == []
    assert pack(["a", ""], 0, words) == [1]


@given(st.lists(st.text(max_size=20), max_size=10), st.integers(0, 20), st.integers(0, 2))
def test_a_pack_never_costs_more_than_it_may(pieces: list[str], tokens: int, gap: int) -> None:
    chosen = pack(pieces, tokens, words, gap)
    assert sum(words(pieces[i]) for i in chosen) + gap * max(0, len(chosen) - 1) <= tokens
    assert chosen == sorted(set(chosen))
    for position in set(range(len(pieces))) - set(chosen):
        assert (
            sum(words(pieces[i]) for i in chosen if i < position)
            + words(pieces[position])
            + gap * sum(i < position for i in chosen)
            > tokens
        )


def test_shorten_keeps_the_end_that_was_asked_for() -> None:
    text = "One two. Three four.\nFive six.\n\nSeven eight."
    assert shorten(text, 8, words) == text
    assert shorten(text, 7, words) == "One two. Three four.\nFive six.\n…"
    assert shorten(text, 5, words) == "One two. Three four.\n…"
    assert shorten(text, 3, words, keep="newest") == "…\nSeven eight."
    assert (
        shorten(text, 5, words, keep="newest", mark="[cut]") == "[cut]\nFive six.\n\nSeven eight."
    )
    assert shorten(text, 1, words) == ""
    assert shorten("no cut in here", 2, words) == ""


@given(
    st.text(st.sampled_from("ab .!?\n"), max_size=60),
    st.integers(0, 12),
    st.sampled_from(["oldest", "newest"]),
)
def test_shortened_text_fits_and_is_an_end_of_the_text(text: str, tokens: int, keep: str) -> None:
    short = shorten(text, tokens, words, keep=keep)
    assert words(short) <= tokens
    if short and short != text:
        kept = short.removeprefix("…\n") if keep == "newest" else short.removesuffix("\n…")
        assert text.endswith(kept) if keep == "newest" else text.startswith(kept)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("word", 1), ("words", 2), ("two words", 3), ("日本語", 3), ("a日b", 3), ("  \n", 0)],
)
def test_estimate(text: str, tokens: int) -> None:
    assert estimate(text) == tokens
