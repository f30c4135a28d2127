"""Sentences as a person reads them, and which of them were there before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.core.text.attribution import Sentence, inherited, said, sentences


def test_sentences_know_their_paragraph_and_code_is_one() -> None:
    body = (
        "# Boat\n\nShe is called Petrel. She is\nblue! 船は青い。速い。\n\n- one. two\n- three\n\n```\na. "
        "b\n\nc. d\n```\n"
    )
    assert sentences(body) == [
        Sentence(0, "# Boat"), Sentence(1, "She is called Petrel."), Sentence(1, "She is\nblue!"),
        Sentence(1, "船は青い。"),
        Sentence(1, "速い。"), Sentence(2, "- one."), Sentence(2, "two"), Sentence(3, "- three"),
        Sentence(4, "```\na. b\n\nc. d\n```"),
    ]  # fmt: skip
    assert said("She is\n  blue!") == "She is blue!"


def test_a_title_is_said_unless_the_body_begins_with_it() -> None:
    assert sentences("She is blue.", "Boat")[0] == Sentence(-1, "Boat")
    assert sentences("# Boat\n\nblue", "Boat")[0] == Sentence(0, "# Boat")
    assert sentences("She is blue and large.", "She is blue…") == [
        Sentence(0, "She is blue and large.")
    ]
    assert sentences("", "Boat") == [Sentence(-1, "Boat")]
    assert sentences("") == []


def test_moved_sentences_are_inherited_and_each_counts_once() -> None:
    assert inherited(["c", "a", "b", "x"], ["a", "b", "c"]) == {0, 1, 2}
    assert inherited(["a", "a", "a"], ["a", "b", "a"]) == {0, 1}
    assert inherited(["a"], []) == set()


@given(
    st.lists(st.sampled_from("abcde"), max_size=12), st.lists(st.sampled_from("abcde"), max_size=12)
)
def test_inherited_is_what_both_have(new: list[str], old: list[str]) -> None:
    kept = [new[at] for at in inherited(new, old)]
    assert sorted(kept) == sorted(
        letter for letter in "abcde" for _ in range(min(new.count(letter), old.count(letter)))
    )


def test_a_text_that_repeats_itself_ends_soon() -> None:
    assert len(inherited(["same"] * 5_000, ["same"] * 5_000)) == 5_000
