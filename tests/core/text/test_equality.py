"""The same words, written differently: a closed list of ways, and nothing besides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.core.text.equality import alone, english, same, says_all, timeless
from oneiro_vault.core.text.query import analyse


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana lives in Como.", "Ana lives in Como"),
        ("Ana lives  in Como", "- Ana lives in Como"),
        ("The boat in Como leaks.", "the boat in Como leaks"),
        ("Ana can't sail and didn't row.", "Ana cannot sail and did not row."),
        (
            "The fee is 1,000 euros since 5 March 2026.",
            "the fee is 1000 euros since March 5, 2026.",
        ),
        ("The shop opens at 3 pm and has 12 percent.", "The shop opens at 15:00 and has 12%."),
        ("The file has 5GB.", "The file has 5 GB."),
        ("**The boat leaks.**", "- The boat leaks"),
        ("- The boat leaks.\n- Bo rows it.", "The boat leaks. Bo rows it."),
        ("The boat leaks. It is red.", "The boat leaks.\n\nIt is red."),
        ("Der Kahn leckt.", "Der Kahn leckt"),
        ("It is \u22125 degrees in the shed.", "It is -5 degrees in the shed."),
    ],
)
def test_what_is_the_same(one: str, other: str) -> None:
    assert same(one, other)
    assert same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", ""),
        ("Ana sails.", ""),
        ("Ana beat Bo.", "Bo beat Ana."),
        ("Ana sails.", "Ana sails. Bo rows."),
        ("Ana sails. False.", "Ana sails."),
        ("Ana sails. Bo met Cy.", "Bo met Cy. Ana sails."),
        ("The US team sails.", "The us team sails."),
        ("On Friday Ana ended the talks.", "Ana ended the talks on Friday."),
        ("The cook, says Ana, is ill.", "The cook says Ana is ill."),
        ("Die Kiste wiegt 1,500 kg.", "Die Kiste wiegt 1500 kg."),
        ("The reviews are short.", "Reviews are short."),
        ("```\na  b\n```", "```\na b\n```"),
        ("- the boat\n  - is red", "- the boat\n- is red"),
        ("Ana owns 5!", "Ana owns 5"),
        ("# PasswordAuthentication no", "PasswordAuthentication no"),
        ("Ana prefers the method sort!", "Ana prefers the method sort"),
        (
            "The firewall opens the ports 80,443 for Ana.",
            "The firewall opens the ports 80443 for Ana.",
        ),
        ('The text is "don\'t" and so on.', 'The text is "do not" and so on.'),
        ("The password that Ana uses is can't", "The password that Ana uses is cannot"),
        ("The host that Ana runs is called sunday", "The host that Ana runs is called Sunday"),
        ("The file that Ana uses is log5MB", "The file that Ana uses is log5 MB"),
        ("The branches of Ana are:\n- Main\n- Dev", "The branches of Ana are:\n- main\n- dev"),
        (
            "The patch that Ana wrote:\n- use tabs\n+ use spaces",
            "The patch that Ana wrote:\nuse tabs\n+ use spaces",
        ),
        ("The gap is 10\u221220 and that is all.", "The gap is 10-20 and that is all."),
        (
            "Ana has Windows 10 October 2018 and likes it.",
            "Ana has Windows October 10, 2018 and likes it.",
        ),
        (
            "The server can not just store but also find.",
            "The server cannot just store but also find.",
        ),
        ("The link is https://x.org/Email", "The link is https://x.org/email"),
        ("The dose is .5 mg.", "The dose is 5 mg."),
        ("She will not 10", "She will not ten"),
    ],
)
def test_whatever_else_differs_is_a_difference(one: str, other: str) -> None:
    assert not same(one, other)
    assert not same(other, one)


@pytest.mark.parametrize(
    "text", ["Ana lives in Como.", "Ana works at the mill. Bo Lind speaks Dutch with the crew."]
)
def test_what_is_so_on_any_day(text: str) -> None:
    assert timeless(text)
    assert alone(text)


@pytest.mark.parametrize(
    "text",
    [
        "Ana lives in Como this week.", "Ana is at the mill.", "Ana missed the train.",
        "Ana works at the mill on Monday.",
        "Ana arbeitet in Köln.", "Ana lives in Como. The build is broken.",
        "Ana now lives in Como.", "",
    ],
)  # fmt: skip
def test_what_may_be_something_else_on_another_day(text: str) -> None:
    assert not timeless(text)


@pytest.mark.parametrize(
    "text",
    [
        "My boat is at the mill.",
        "She lives in Como.",
        "Ana likes this.",
        "Ich mag das.",
        "Ana mag Tee.",
        "The client prefers short calls.",
        "Someone on the team owns the page.",
        "Ana lives in Como. The server runs Debian.",
        "Both of the boats leak.",
    ],
)
def test_what_depends_on_who_says_it(text: str) -> None:
    assert not alone(text)


def test_only_plain_english_is_taken_for_english() -> None:
    assert english("The boat is red.")
    assert not english("De boot is rood en van Ana.")
    assert not english("Ana fährt with the boat.")
    assert not english("Ana.")


@given(st.text(max_size=200), st.text(max_size=200))
def test_anything_can_be_compared(one: str, other: str) -> None:
    assert same(one, one) == bool(one.strip())
    assert same(one, other) == same(other, one)
    alone(one)
    timeless(one)


@pytest.mark.parametrize(
    ("new", "old", "said"),
    [
        ("Ana ships on Fridays", "On Fridays Ana ships.", True),
        ("Ana ships on Fridays", "Ana ships on Fridays at 3", False),
        (
            "Ana ships boats, crates and barrels on Fridays",
            "Ana never ships boats, crates and barrels on Fridays",
            False,
        ),
        ("Ana ships boats on Fridays", "Ana ships on Fridays", False),
        (
            "Ana ships on Fridays",
            "Ana ships crates, boxes, barrels and sacks of coffee on Fridays",
            False,
        ),
    ],
)
def test_old_words_say_the_new_ones_only_if_nothing_is_lost(new: str, old: str, said: bool) -> None:
    assert says_all(new, old, analyse(new).words, 0.85) is said
