"""Words in a cell: escaped, on one line, and the change marked word by word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.core.markdown.word_diff import CELL, LONGEST, cell, marked, steps


def test_a_cell_holds_nothing_that_anybody_takes_for_their_own() -> None:
    assert (
        cell("a | b\n<img src=x> *c* [d](e) @ana")
        == "a \\| b \\<img src=x\\> \\*c\\* \\[d\\](e) ＠ana"
    )
    assert cell("word " * 100).endswith("…")


def test_only_what_changed_and_a_few_words_around_it() -> None:
    old = "Ana prefers the release on Fridays because support is quiet then and nobody calls"
    assert marked(old, old.replace("Fridays", "Thursdays")) == (
        "Ana prefers the release on ~~Fridays~~ **Thursdays** because support is quiet then and "
        "nobody calls"
    )
    assert (
        marked(f"first {'word ' * 20}end", f"other {'word ' * 20}end")
        == "~~first~~ **other** word word word word word …"
    )
    assert marked("a b", "a b c") == "a b **c**"
    assert marked("", "new words") == "**new words**"
    assert marked("gone", "") == "~~gone~~"


def test_long_changes_stay_short() -> None:
    assert (
        len(marked("a " * 5000, " ".join(f"w{n} a" for n in range(2000)))) < LONGEST + 2 * CELL + 10
    )


@given(st.text(max_size=200), st.text(max_size=200))
def test_one_line_and_no_bare_separator(old: str, new: str) -> None:
    for text in (cell(old), marked(old, new)):
        assert "\n" not in text
        assert "|" not in text.replace("\\|", "")


@given(st.text(max_size=200), st.text(max_size=200))
def test_steps_hold_every_word_of_both(old: str, new: str) -> None:
    found = steps(old, new)
    assert " ".join(words for kind, words in found if kind != "new").split() == old.split()
    assert " ".join(words for kind, words in found if kind != "gone").split() == new.split()
