"""The days somebody meant, from the day on which it was said."""

from __future__ import annotations

from datetime import date

import pytest

from oneiro_vault.core.time.relative_dates import begins, beside

SAID = date(2026, 3, 5)
"""A Thursday."""


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("I moved yesterday.", "I moved yesterday [2026-03-04]."),
        ("The deadline is next Friday.", "The deadline is next Friday [2026-03-06]."),
        ("The exam is on Thursday.", "The exam is on Thursday [2026-03-12]."),
        ("I met Bo on Monday.", "I met Bo on Monday [2026-03-02]."),
        ("I was there two weeks ago.", "I was there two weeks ago [2026-02-16 to 2026-02-22]."),
        ("We fly on 14 May.", "We fly on 14 May [2026-05-14]."),
        ("We fly on 14 May 2027.", "We fly on 14 May 2027."),
        ("We are moving in May.", "We are moving in May [2026-05]."),
        ("I started in November.", "I started in November [2025-11]."),
        (
            "Nächsten Montag habe ich einen Termin.",
            "Nächsten Montag [2026-03-09] habe ich einen Termin.",
        ),
        ("Gestern war ich dort.", "Gestern [2026-03-04] war ich dort."),
        ("I may march on.", "I may march on."),
        ("It is Monday the 16th at 10.20.", "It is Monday the 16th [2026-03-16] at 10.20."),
        (
            "mein mrt ist am dienstag, 24., um elf",
            "mein mrt ist am dienstag, 24. [2026-03-24], um elf",
        ),
        ("Rent is due by the 9th.", "Rent is due by the 9th [2026-03-09]."),
        ("We sit on the 3rd floor.", "We sit on the 3rd floor."),
        ("We move on Saturday, July 11.", "We move on Saturday, July 11 [2026-07-11]."),
        ("He owes me 90 since April.", "He owes me 90 since April [2025-04]."),
        ("Ich wohne seit Mai hier.", "Ich wohne seit Mai [2025-05] hier."),
        (
            "Je l'ai vu hier avec ma soeur dans la rue.",
            "Je l'ai vu hier [2026-03-04] avec ma soeur dans la rue.",
        ),
        ("I live in Graz.", "I live in Graz."),
        ("I start on Monday 16 March 2026.", "I start on Monday 16 March 2026."),
        ("I start on Monday 16 March.", "I start on Monday 16 March [2026-03-16]."),
        (
            "Launch was moved to 20 April. Freeze goes in on the 2nd.",
            "Launch was moved to 20 April [2026-04-20]. Freeze goes in on the 2nd [2026-04-02].",
        ),
        ("We pushed the demo to the 3rd.", "We pushed the demo to the 3rd [2026-04-03]."),
        ("I pushed it on the 3rd.", "I pushed it on the 3rd [2026-03-03]."),
        ("The build broke on the 2nd.", "The build broke on the 2nd [2026-03-02]."),
        (
            "I'm away from 9 to 14 April.",
            "I'm away from 9 to 14 April [2026-04-09 to 2026-04-14].",
        ),
        (
            "Der Kurs war vom 3. bis 5. Februar.",
            "Der Kurs war vom 3. bis 5. Februar [2026-02-03 to 2026-02-05].",
        ),
    ],
)
def test_absolute_days_stand_beside_relative_ones(text: str, dated: str) -> None:
    assert beside(text, SAID) == dated


@pytest.mark.parametrize(
    "text",
    [
        "Mittagstisch gibt es nur mittwoch bis freitag.",
        "montag bis freitag ist auf",
        "Wir haben von Dienstag bis Sonntag offen.",
        "we open only wednesday until friday",
        "I work from Monday to Thursday.",
        "She is there from tuesday 9 am till friday 5 pm.",
        "The pool is closed on Mondays.",
        "The library is closed on Monday.",
        "Am Montag haben wir zu.",
        "Am Dienstag ist bei uns Ruhetag.",
        "I always swim on Thursday.",
        "Die Lieferung kommt immer am Donnerstag.",
        "We meet every week on Friday.",
        "Jede zweite Woche am Freitag koche ich.",
        "I see the physio on Wednesday mornings.",
        "Am Mittwoch abends probt der Chor.",
        "Twice a month on Friday there is a market.",
        "We usually go to Spain in May.",
    ],
)
def test_what_recurs_has_no_day(text: str) -> None:
    assert beside(text, SAID) == text


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("We are open until Friday.", "We are open until Friday [2026-03-06]."),
        ("From Monday we are always open.", "From Monday [2026-03-09] we are always open."),
        (
            "Ab Mai machen wir immer Mittagstisch.",
            "Ab Mai [2026-05] machen wir immer Mittagstisch.",
        ),
        (
            "From next Monday until Friday I am away.",
            "From next Monday [2026-03-09] until Friday I am away.",
        ),
        (
            "I always forget, so remind me on Monday.",
            "I always forget, so remind me on Monday [2026-03-09].",
        ),
        (
            "Each of you brings a dish on Friday.",
            "Each of you brings a dish on Friday [2026-03-06].",
        ),
        ("The shop will be closed on Friday.", "The shop will be closed on Friday [2026-03-06]."),
        (
            "The market is always good next Friday.",
            "The market is always good next Friday [2026-03-06].",
        ),
    ],
)
def test_what_does_not_recur_has_one(text: str, dated: str) -> None:
    assert beside(text, SAID) == dated


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("priti takes over from 4 january", "2027-01-04"),
        ("Our base is Barncoose from Monday 30 November.", "2026-11-30"),
        ("Our base is Barncoose from the 30th.", "2026-11-30"),
        ("Our base is Barncoose from 30 November 2026.", "2026-11-30"),
        ("From next Monday I work in Graz.", "2026-11-30"),
        ("We meet at nine from tomorrow.", "2026-11-27"),
        ("Starting on 1 December the rent is 900.", "2026-12-01"),
        ("neue küchenchefin wird dana ab 1. februar", "2027-02-01"),
        ("ab märz machen wir einen mittagstisch", "2027-03-01"),
        ("Das Menü kostet 58 Euro ab dem 15.", "2026-12-15"),
        ("Ab 2027-04-01 gilt der neue Tarif.", "2027-04-01"),
        ("The exam is on 4 January.", None),
        ("I stay until 4 January.", None),
        ("A letter from Monika came on 4 December.", None),
        ("From 4 January Priti leads, from 8 March Ana.", None),
        ("I have lived here from 3 May 2020.", None),
        ("I come from Ghent.", None),
        ("rent goes from 1 December to 900 euro", "2026-12-01"),
        ("the shop is open from 3 December till 9", "2026-12-03"),
        ("the shop is open from 3 December to 9pm", "2026-12-03"),
        ("from 1 December to 5 days a week", "2026-12-01"),
        ("I work from 4 January to 9 o'clock", "2027-01-04"),
        ("Ab 4. Januar bis 9 Uhr bin ich im Büro", "2027-01-04"),
    ],
)
def test_the_day_from_which_it_holds(text: str, day: str | None) -> None:
    found = begins(text, date(2026, 11, 26))
    assert (found and found.isoformat()) == day


@pytest.mark.parametrize(
    "text",
    [
        "My mother Danuta visits from 12 to 16 December, not on 5 December.",
        "Ana is here from 1 to 5 December",
        "I am off from 27 December to 3 January",
        "The road is closed from 12 December 2026 until 16 December 2026",
        "Mama kommt vom 12. bis 16. Dezember",
        "Ab 12. Dezember bis zum 16. Dezember ist zu",
        "From March to May we are in Oslo",
        "We are away from 12 December to 16, then back",
        "Ab 12. Dezember bis 16. bin ich weg",
        "It is shut from 2026-12-12 to 2026-12-16",
    ],
)
def test_a_span_of_days_is_no_beginning(text: str) -> None:
    assert begins(text, date(2026, 11, 26)) is None


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        (
            "hm and i decided: no half marathon in april, ill do the 10k in innsbruck in may instead",
            "hm and i decided: no half marathon in april [2027-04], ill do the 10k in innsbruck in may "
            "[2027-05] instead",
        ),
        (
            "we agreed that the launch is in april",
            "we agreed that the launch is in april [2027-04]",
        ),
        ("I signed up for the run in may", "I signed up for the run in may [2026-05]"),
        ("we booked the cabin in june", "we booked the cabin in june [2026-06]"),
        ("she said the exam is in march", "she said the exam is in march [2027-03]"),
        (
            "wir haben beschlossen, dass der Launch im April ist",
            "wir haben beschlossen, dass der Launch im April [2027-04] ist",
        ),
        (
            "ich hab mich für den Lauf im Mai angemeldet",
            "ich hab mich für den Lauf im Mai [2027-05] angemeldet",
        ),
        ("we agreed the demo is on friday", "we agreed the demo is on friday [2026-11-27]"),
        (
            "we decided in march that the launch is in april",
            "we decided in march [2026-03] that the launch is in april [2027-04]",
        ),
        ("we decided in april", "we decided in april [2026-04]"),
        ("we agreed on the budget in march", "we agreed on the budget in march [2026-03]"),
        ("she told me she quit in april", "she told me she quit in april [2026-04]"),
        ("he said the parcel was lost in april", "he said the parcel was lost in april [2026-04]"),
        ("I booked the flights on monday", "I booked the flights on monday [2026-11-16]"),
        ("we're getting married in june", "we're getting married in june [2027-06]"),
        (
            "the café is called Rook and opens in may",
            "the café is called Rook and opens in may [2027-05]",
        ),
        ("im booked in for the op in march", "im booked in for the op in march [2027-03]"),
        ("we got engaged in june", "we got engaged in june [2026-06]"),
        ("the shop was closed in july", "the shop was closed in july [2026-07]"),
    ],
)
def test_what_was_decided_or_said_may_be_to_come(text: str, dated: str) -> None:
    assert beside(text, date(2026, 11, 21)) == dated


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("hab am 3.12. um 10 mrt", "hab am 3.12. [2026-12-03] um 10 mrt"),
        ("war am 3.11. beim Arzt", "war am 3.11. [2026-11-03] beim Arzt"),
        ("Freitag, den 4. 12. um 9", "Freitag, den 4. 12. [2026-12-04] um 9"),
        ("vom 24.12. bis 2.1. zu", "vom 24.12. [2026-12-24] bis 2.1. [2027-01-02] zu"),
        ("am 24.12.2026 und am 31.2. nicht", "am 24.12.2026 und am 31.2. nicht"),
        ("läuft auf Python 3.12. Danach 3.13.", "läuft auf Python 3.12. Danach 3.13."),
    ],
)
def test_a_german_date_in_digits(text: str, dated: str) -> None:
    assert beside(text, date(2026, 11, 21)) == dated


def test_the_day_in_digits_from_which_it_holds() -> None:
    assert begins("ab dem 1.2. fahr ich die 21", date(2026, 11, 21)) == date(2027, 2, 1)


@pytest.mark.parametrize(
    "text",
    [
        "I enrolled at the university in october",
        "we settled in Porto in may",
        "I signed up for the gym in may",
        "I registered the company in march",
        "I arranged his funeral in april",
        "we booked the wrong hotel in july",
        "we agreed she quit in april",
        "he told Bo's wife in april",
        "she said no to Bo in april",
        "what she told my mother in april is true",
        "wir haben den Umzug im April beschlossen",
    ],
)
def test_what_was_done_in_a_month_is_past(text: str) -> None:
    assert "[2025-" in beside(text, date(2025, 11, 10))
