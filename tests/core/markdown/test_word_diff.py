"""Words in a cell: escaped, on one line, and the change marked word by word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.core.markdown.word_diff import CELL, cell, changes, told


def marked(old: str, new: str) -> str:
    return told(changes(old, new), " ~~{}~~ ", " **{}** ", around=5, limit=700, clean=cell)


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
    assert len(marked("a " * 5000, " ".join(f"w{n} a" for n in range(2000)))) < 700 + 2 * CELL + 10


@given(st.text(max_size=200), st.text(max_size=200))
def test_one_line_and_no_bare_separator(old: str, new: str) -> None:
    for text in (cell(old), marked(old, new)):
        assert "\n" not in text
        assert "|" not in text.replace("\\|", "")


@given(st.text(max_size=60), st.text(max_size=60))
def test_changes_lose_nothing(old: str, new: str) -> None:
    found = changes(old, new)
    assert "".join(text for kind, text in found if kind != "new") == old
    assert "".join(text for kind, text in found if kind != "gone") == new
    assert all(text for _, text in found)


def test_changes_are_words() -> None:
    assert changes("I live in York now.\nAnd a dog.\n", "I live in Leeds.\nAnd a dog.\n") == [
        ("same", "I live in "),
        ("gone", "York now"),
        ("new", "Leeds"),
        ("same", ".\nAnd a dog.\n"),
    ]
    assert changes("", "") == []


def test_changes_of_much_text_are_quick() -> None:
    old = "\n".join(f"line {n} " + "word " * 8 for n in range(4_000))
    assert len(changes(old, old.replace("line 7 ", "line seven "))) >= 3
    assert changes("a " * 9_000 + "a", "b " * 9_000 + "b")[0] == ("gone", "a " * 9_000 + "a")
