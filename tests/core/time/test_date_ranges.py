"""Times as people say them."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneiro_vault.core.time.date_ranges import LONGEST, parse_moment, parse_range
from oneiro_vault.errors import InvalidInput

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 21, 15, 30, 45, tzinfo=BERLIN)  # a Saturday


def said(text: str, now: datetime = NOW) -> tuple[str | None, str | None]:
    start, end = (
        None
        if t is None
        else datetime.fromtimestamp(t, now.tzinfo).strftime("%Y-%m-%d %H:%M").removesuffix(" 00:00")
        for t in parse_range(text, now)
    )
    return start, end


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2024", "2024-01-01", "2025-01-01"), ("2024-03", "2024-03-01", "2024-04-01"),
        ("2024-12", "2024-12-01", "2025-01-01"),
        ("2024-03-05", "2024-03-05", "2024-03-06"), ("2024/3/5", "2024-03-05", "2024-03-06"),
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("2024-03-05T10:00", "2024-03-05 10:00", "2024-03-05 10:01"),
        ("2024-03-05t09:00:00Z", "2024-03-05 10:00", "2024-03-05 10:00"),
        ("today", "2026-11-21", "2026-11-22"), ("now", "2026-11-21", "2026-11-22"),
        ("Yesterday", "2026-11-20", "2026-11-21"),
        ("last night", "2026-11-20", "2026-11-21"), ("tomorrow", "2026-11-22", "2026-11-23"),
        ("the day before yesterday", "2026-11-19", "2026-11-20"),
        ("this week", "2026-11-16", "2026-11-23"), ("last week", "2026-11-09", "2026-11-16"),
        ("next week", "2026-11-23", "2026-11-30"), ("in 3 days", "2026-11-24", "2026-11-25"),
        ("in two weeks", "2026-12-05", "2026-12-06"), ("in a month", "2026-12-21", "2026-12-22"),
        ("this month", "2026-11-01", "2026-12-01"), ("previous month", "2026-10-01", "2026-11-01"),
        ("this year", "2026-01-01", "2027-01-01"),
        ("last year", "2025-01-01", "2026-01-01"), ("last quarter", "2026-07-01", "2026-10-01"),
        ("this hour", "2026-11-21 15:00", "2026-11-21 16:00"),
        ("3 days ago", "2026-11-18", "2026-11-19"), ("3 weeks ago", "2026-10-26", "2026-11-02"),
        ("a month ago", "2026-10-01", "2026-11-01"),
        ("two years back", "2024-01-01", "2025-01-01"),
        ("a couple of days ago", "2026-11-19", "2026-11-20"),
        ("a few weeks ago", "2026-10-26", "2026-11-02"),
        ("an hour ago", "2026-11-21 14:00", "2026-11-21 15:00"),
        ("10 minutes ago", "2026-11-21 15:20", "2026-11-21 15:21"),
        ("last 3 days", "2026-11-18 15:30", "2026-11-21 15:30"),
        ("the past two weeks", "2026-11-07 15:30", "2026-11-21 15:30"),
        ("within the last 3 months", "2026-08-21 15:30", "2026-11-21 15:30"),
        ("last 2 years", "2024-11-21 15:30", "2026-11-21 15:30"),
        ("March", "2026-03-01", "2026-04-01"), ("last March", "2026-03-01", "2026-04-01"),
        ("in december", "2025-12-01", "2026-01-01"),
        ("November", "2026-11-01", "2026-12-01"), ("last November", "2025-11-01", "2025-12-01"),
        ("this December", "2026-12-01", "2027-01-01"),
        ("next December", "2026-12-01", "2027-01-01"),
        ("next November", "2027-11-01", "2027-12-01"),
        ("March 2023", "2023-03-01", "2023-04-01"),
        ("sept. of 2023", "2023-09-01", "2023-10-01"), ("5 March 2023", "2023-03-05", "2023-03-06"),
        ("March 5th, 2023", "2023-03-05", "2023-03-06"),
        ("the 5th of March", "2026-03-05", "2026-03-06"), ("Dec 24", "2025-12-24", "2025-12-25"),
        ("summer 2024", "2024-06-01", "2024-09-01"),
        ("last winter", "2025-12-01", "2026-03-01"), ("autumn", "2026-09-01", "2026-12-01"),
        ("Q1 2025", "2025-01-01", "2025-04-01"),
        ("q4", "2026-10-01", "2027-01-01"),
        ("Monday", "2026-11-16", "2026-11-17"), ("on Saturday", "2026-11-14", "2026-11-15"),
        ("last tues", "2026-11-17", "2026-11-18"),
        ("this Sunday", "2026-11-22", "2026-11-23"), ("next Saturday", "2026-11-28", "2026-11-29"),
        ("last weekend", "2026-11-14", "2026-11-16"),
        ("this weekend", "2026-11-21", "2026-11-23"), ("next weekend", "2026-11-28", "2026-11-30"),
        ("since May", "2026-05-01", None), ("after May", "2026-06-01", None),
        ("before 2023", None, "2023-01-01"),
        ("until yesterday", None, "2026-11-21"),
        ("up to 2024-03", None, "2024-04-01"), ("since the 5th of March", "2026-03-05", None),
        ("between March and June 2024", "2024-03-01", "2024-07-01"),
        ("from 2024-01 to 2024-03", "2024-01-01", "2024-04-01"),
        ("2024-01-01..2024-02-01", "2024-01-01", "2024-02-02"),
        ("October 2025 - December 2025", "2025-10-01", "2026-01-01"),
        ("june to march", "2026-03-01", "2026-07-01"),
        ("last week until yesterday", "2026-11-09", "2026-11-21"),
        ("2023-2024", "2023-01-01", "2025-01-01"), ("2024 – 2022", "2022-01-01", "2025-01-01"),
        ("march 25 2026", "2026-03-25", "2026-03-26"),
    ],
)  # fmt: skip
def test_what_is_meant(text: str, start: str | None, end: str | None) -> None:
    assert said(text) == (start, end)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("vor 3 Wochen", "2026-10-26", "2026-11-02"),
        ("le 5 mars 2023", "2023-03-05", "2023-03-06"),
        ("märz 2023", "2023-03-01", "2023-04-01"),
    ],
)
def test_other_languages_go_to_dateparser(text: str, start: str, end: str) -> None:
    assert said(text) == (start, end)


@pytest.mark.parametrize(
    "text",
    ["", " ", "rubbish", "sunshine", "decimal", "marching", "0000", "9999", "December 9999", "99999 years ago", "99999 months ago",
    "2026-02-30",
     "30 February", "2024-13", "between x and y", "since never", "since", "x" * (LONGEST + 1),
     "'; drop table", "5", "25:99",
     "2024-03-05T25:00", "\x00"],
)  # fmt: skip
def test_what_is_no_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_range(text, NOW)
    assert "2024-03-05" in caught.value.hint


def test_days_are_the_days_of_the_time_zone() -> None:
    start, end = parse_range("2026-10-25", NOW)
    assert start is not None
    assert end is not None
    assert end - start == 25 * 3600, "the day the clocks go back has 25 hours"
    assert parse_range("2026-03-05", NOW)[0] == datetime(2026, 3, 5, tzinfo=BERLIN).timestamp()


def test_a_clock_without_zone_is_utc() -> None:
    assert (
        parse_range("2026-03-05", datetime(2026, 11, 21))[0]  # noqa: DTZ001  # none is tested
        == datetime(2026, 3, 5, tzinfo=UTC).timestamp()
    )


@pytest.mark.parametrize(
    ("english", "others"),
    [
        ("last week", ("la semana pasada", "letzte Woche", "la semaine dernière", "la semaine derniere")),
        ("last Tuesday", ("el martes pasado", "letzten Dienstag", "mardi dernier")),
        ("last month", ("el mes pasado", "letzten Monat", "le mois dernier")),
        ("last year", ("el año pasado", "letztes Jahr", "l'année dernière")),
        ("yesterday", ("ayer", "gestern", "hier")),
        ("this week", ("esta semana", "diese Woche", "cette semaine")),
        ("the day before yesterday", ("anteayer", "vorgestern", "avant-hier")),
        ("3 weeks ago", ("hace 3 semanas", "vor 3 Wochen", "il y a 3 semaines")),
        ("in March", ("en marzo", "im März", "en mars")),
        ("5 March 2023", ("el 5 de marzo de 2023", "am 5. März 2023", "le 5 mars 2023")),
        ("since May", ("desde mayo", "seit Mai", "depuis mai")),
        ("until yesterday", ("hasta ayer", "bis gestern", "jusqu'à hier")),
        ("before May", ("antes de mayo", "vor dem Mai", "avant mai")),
        ("after May", ("después de mayo", "nach Mai", "après mai")),
        ("between March and May 2024", ("entre marzo y mayo de 2024", "zwischen März und Mai 2024", "entre mars et mai 2024")),
        ("from March to May 2024", ("de marzo a mayo de 2024", "von März bis Mai 2024", "de mars à mai 2024")),
        ("last 3 months", ("los últimos 3 meses", "die letzten 3 Monate", "les 3 derniers mois")),
    ],
)  # fmt: skip
def test_other_languages_mean_what_english_means(english: str, others: tuple[str, ...]) -> None:
    assert {text: said(text) for text in others} == dict.fromkeys(others, said(english))


def test_the_first_days_of_a_year() -> None:
    new_year = datetime(2026, 1, 1, 0, 30, tzinfo=UTC)
    assert said("yesterday", new_year) == ("2025-12-31", "2026-01-01")
    assert said("last month", new_year) == ("2025-12-01", "2026-01-01")
    assert said("January", new_year) == ("2026-01-01", "2026-02-01")
    assert said("last quarter", new_year) == ("2025-10-01", "2026-01-01")
    assert said("last 3 months", datetime(2026, 5, 31, 12, tzinfo=UTC)) == (
        "2026-03-01",
        "2026-05-31 12:00",
    )


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("3 weeks ago", "2026-10-31", "2026-11-01"), ("a month ago", "2026-10-21", "2026-10-22"),
        ("2 years ago", "2024-11-21", "2024-11-22"),
        ("9 months back", "2026-02-21", "2026-02-22"),
        ("a quarter ago", "2026-08-21", "2026-08-22"), ("3 days ago", "2026-11-18", "2026-11-19"),
        ("about an hour ago", "2026-11-21 14:30", "2026-11-21 14:31"),
        ("last week", "2026-11-09", "2026-11-16"),
        ("2024-03", "2024-03-01", "2024-04-01"), ("before May", None, "2026-05-01"),
        ("since May", "2026-05-01", None),
        ("vor 3 Wochen", "2026-10-31", "2026-11-01"),
        ("il y a 3 semaines", "2026-10-31", "2026-11-01"),
    ],
)  # fmt: skip
def test_a_moment_is_the_day_that_lies_so_far_back(
    text: str, start: str | None, end: str | None
) -> None:
    seconds = parse_moment(text, NOW)
    said_ = [
        None
        if t is None
        else datetime.fromtimestamp(t, BERLIN).strftime("%Y-%m-%d %H:%M").removesuffix(" 00:00")
        for t in seconds
    ]
    assert said_ == [start, end]


def test_a_month_that_is_too_short_has_its_last_day() -> None:
    start, _ = parse_moment("a month ago", datetime(2026, 3, 31, 12, tzinfo=UTC))
    assert datetime.fromtimestamp(start or 0, UTC) == datetime(2026, 2, 28, tzinfo=UTC)
    with pytest.raises(InvalidInput, match="not a time"):
        parse_moment("99999 years ago", NOW)


def test_dateparser_is_not_imported_for_common_forms() -> None:
    code = (
        "import sys; from datetime import datetime, timezone; from "
        "oneiro_vault.core.time.date_ranges import parse_range;parse_range('last March', "
        "datetime(2026, 1, 1, tzinfo=timezone.utc)); sys.exit('dateparser' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


FORMS = [
    "last {}",
    "since {}",
    "{} ago",
    "3 {}",
    "between {} and {}",
    "{}",
    "{} 2024",
    "until {}",
    "{}-{}",
]
WORDS = [
    "march",
    "monday",
    "week",
    "3 days",
    "2024",
    "winter",
    "q1",
    "yesterday",
    "5 may",
    "may 5",
    "a",
    "1",
    "31",
    "weekend",
    "hour",
]


@given(
    st.sampled_from(FORMS),
    st.sampled_from(WORDS),
    st.sampled_from(WORDS),
    st.integers(-20_000, 20_000),
)
@settings(max_examples=200)
def test_any_combination_is_a_range_or_refused(form: str, one: str, other: str, days: int) -> None:
    try:
        start, end = parse_range(form.format(one, other), NOW + timedelta(days=days))
    except InvalidInput:
        return
    assert start is not None or end is not None
    assert start is None or end is None or start < end
