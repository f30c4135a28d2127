"""Dates in other words and languages: found as dateparser finds them, and nonsense costs next to
nothing."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneiro_vault.core.time import date_words
from oneiro_vault.core.time.date_ranges import LONGEST

NOW = datetime(2026, 11, 21, 15, 30)  # noqa: DTZ001  # local time, as it is read


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("gestern", "2026-11-20"), ("vor 3 wochen", "2026-10-31"), ("le 5 mars 2023", "2023-03-05"),
        ("hace 2 semanas", "2026-11-07"),
        ("3 недели назад", "2026-10-31"), ("昨日", "2026-11-20"), ("2023年3月5日", "2023-03-05"),
        ("3 gün önce", "2026-11-18"),
        ("어제", "2026-11-20"), ("wczoraj", "2026-11-20"), ("πριν από 3 ημέρες", "2026-11-18"),
        ("אתמול", "2026-11-20"),
        ("5.3.2024", "2024-05-03"), ("2 hours and 5 minutes ago", "2026-11-21"),
        ("2024-03-05 10:00 est", "2024-03-05"),
    ],
)  # fmt: skip
def test_what_is_meant(words: str, day: str) -> None:
    found, _ = date_words.read(words, NOW)
    assert date(found.year, found.month, found.day).isoformat() == day


@pytest.mark.parametrize(
    "words", ["blah blah", "rubbish", "'; drop tables", "lorem ipsum 12", "5", "25:99"]
)
def test_nonsense_is_refused(words: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        date_words.read(words, NOW)


@given(
    st.lists(
        st.sampled_from(
            [
                "mar",
                "sek",
                "3",
                "am",
                "de",
                "x",
                "gestern",
                "昨日",
                "5.3.",
                "hari",
                "an",
                "-",
                "2024",
            ]
        ),
        max_size=30,
    )
)
@settings(max_examples=60)
def test_few_languages_are_tried_whatever_is_said(words: list[str]) -> None:
    assert len(date_words.languages(" ".join(words)[:LONGEST])) <= date_words.MOST


def loaded(text: str) -> int:
    """How many languages a fresh process loads to look at a text."""
    code = (
        "import sys; from datetime import datetime, timezone; from "
        "oneiro_vault.core.time.date_ranges import parse_range\n"
        f"try: parse_range({text!r}, datetime(2026, 1, 1, tzinfo=timezone.utc))\n"
        "except Exception as error: assert type(error).__name__ == 'InvalidInput', error\n"
        "print(sum(name.startswith('dateparser.data.date_translation_data.') for name in "
        "sys.modules))"
    )
    return int(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, timeout=60, check=True
        ).stdout
    )


def test_nonsense_does_not_load_every_language_there_is() -> None:
    assert 0 < loaded("blah blah") <= len(date_words.LANGUAGES)
    assert loaded("x" * (LONGEST + 1)) == 0
    assert loaded("3 weeks ago") == 0
