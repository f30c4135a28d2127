"""A sentence replaces another only where it says so itself, of the same subject."""

from __future__ import annotations

import pytest

from oneiro_vault.core.text.corrections import corrects, denied


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("I no longer work at Helvetia Rail.", "I work at Helvetia Rail as an analyst."),
        (
            "The dentist appointment moved to 21 April [2026-04-21].",
            "The dentist appointment is on 14 April [2026-04-14].",
        ),
        ("My rent is now 1,180 euros.", "My rent is 1,450 francs."),
        ("I don't eat meat anymore.", "I eat meat twice a week."),
        ("I'm not vegan anymore.", "I am vegan."),
        ("my supervisor isnt dr lanyon anymore", "my supervisor is dr lanyon"),
        ("The exam is on Thursday, not Tuesday.", "The exam is on Tuesday."),
        ("Our stand-up was moved to 10:00.", "Our stand-up is at 9:15."),
        ("The stand-up moved to 10:00.", "Our stand-up is at 9:15."),
        (
            "Cafe Mokka deliveries moved to Thursdays from now on.",
            "We deliver to Cafe Mokka on Tuesdays.",
        ),
        ("I use Postgres instead of MySQL for the shop.", "I use MySQL for the shop."),
        (
            "and the launch of the shop was moved to the 27th of may [2026-05-27], visa has to "
            "approve us first",
            "launch of the new shop is on 15 may [2026-05-15]",
        ),
        ("beta was moved to 21 october", "beta 2 is on 14 october"),
        ("Staging got upgraded to Debian 12 last night.", "Staging is on Debian 11."),
        ("Der Termin wurde auf Freitag verschoben.", "Der Termin ist am Dienstag."),
        ("Ich wohne nicht mehr in Köln.", "Ich wohne in Köln."),
        (
            "The clearance of the bridge is not 18.4 metres but 17.9 metres.",
            "The clearance of the bridge is 18.4 metres.",
        ),
        (
            "The clearance of the bridge is 17.9 metres, not 18.4 metres.",
            "The clearance of the bridge is 18.4 metres.",
        ),
        (
            "Die Höhe der Brücke ist nicht 18,4 Meter, sondern 17,9 Meter.",
            "Die Höhe der Brücke ist 18,4 Meter.",
        ),
        (
            "Sorry, I was wrong: the exam is not on Tuesday but on Thursday.",
            "The exam is on Tuesday.",
        ),
        (
            "I was wrong about the clearance of the bridge: it is not 18.4 metres but 17.9 metres.",
            "The clearance of the bridge is 18.4 metres.",
        ),
    ],
)
def test_what_is_over_is_replaced(new: str, old: str) -> None:
    assert corrects(new, old)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("I live in Lyon.", "I live in Basel."),
        ("I no longer work at Helvetia Rail.", "My sister works at Helvetia Rail."),
        ("My sister no longer lives in Graz.", "I live in Graz."),
        ("The exam moved to 21 April.", "The biology exam is on 14 April."),
        ("The chemistry exam moved to 21 April.", "The biology exam is on 14 April."),
        ("We moved to Lyon.", "We work in Basel."),
        ("My rent is now 1,180 euros.", "My sister's rent is 900 euros."),
        ("I don't eat meat anymore.", "My brother eats meat."),
        ("I use Postgres instead of MySQL for the shop.", "I learned MySQL at school in 2010."),
        ("The meeting is on Thursday, not Tuesday.", "The choir rehearsal is on Tuesday."),
        ("I prefer tea rather than coffee.", "I bought coffee yesterday."),
        ("Our flight moved to 9:40.", "Our flight to Oslo costs 140 euros."),
        ("My stand-up moved to 10:00.", "Kurt's stand-up is at 9:15."),
        ("The launch was moved to 4 December at noon.", "The launch is on 4 December."),
        ("we moved our launch to 4 december", "the launch of adyen is on 3 december"),
        ("The class moved to Thursdays.", "My son's class is on Tuesdays."),
        ("Deliveries to the mill moved to Thursdays.", "We deliver to Cafe Mokka on Tuesdays."),
        ("I work with Ana, not Bo.", "I work on Bo's garden."),
        ("The exam is on Tuesday.", "The exam is on Thursday, not Tuesday."),
        (
            "Sorry, I was wrong: it is not 18.4 metres but 17.9 metres.",
            "The clearance of the bridge is 18.4 metres.",
        ),
        (
            "I was wrong about the height of the bridge: it is not 18.4 metres but 17.9 metres.",
            "The clearance of the mast is 18.4 metres.",
        ),
    ],
)
def test_another_subject_stays(new: str, old: str) -> None:
    assert not corrects(new, old)


MOVE = "Tim moves to Porto in January [2027-01] and Jo starts school in September [2027-09]."


@pytest.mark.parametrize(
    ("new", "old", "rest"),
    [
        (
            "No wait, Tim moves in February [2027-02], not January.",
            MOVE,
            "Tim moves to Porto … and Jo starts school in September [2027-09].",
        ),
        ("The exam is on Thursday, not Tuesday.", "The exam is on Tuesday. I sing.", "I sing."),
        ("my rent is 980 euros, not 950", "My rent is 950 euros a month.", ""),
        ("My new boss is Tony, not Tom.", "Tom is my new boss.", ""),
        (
            "The tank holds 800 litres, not 900 litres.",
            "The tank holds 900 litres, checked on 12 November 2026.",
            "",
        ),
        (
            "Der Kessel hat 800 Liter, nicht 900 Liter.",
            "Der Kessel hat 900 Liter, gemessen am 3. Mai, und der Tank ist grün.",
            "Der Kessel … , und der Tank ist grün.",
        ),
        (
            "The rent is 310 euros, not 300 euros.",
            "The rent is 300 euros, Fred pays half of it.",
            "The rent … , Fred pays half of it.",
        ),
        ("We fly on Saturday, not Friday.", "We fly to Lisbon on Friday.", "We fly to Lisbon …"),
        (
            "The launch isn't in May, it's in July.",
            "The launch is in May [2027-05] and the fair is in June.",
            "The launch … and the fair is in June.",
        ),
        (
            "Der Umzug ist nicht am 3. Mai, sondern am 10. Mai.",
            "Der Umzug ist am 3. Mai und die Küche kommt am 5. Mai.",
            "Der Umzug … und die Küche kommt am 5. Mai.",
        ),
        (
            "Tim's train leaves at 10:30, not 9:30",
            "Tim's train leaves at 9:30 from platform 4.",
            "Tim's train leaves … from platform 4.",
        ),
        (
            "Scratch that, the dentist appointment is on the 14th of December, not the 4th.",
            "My dentist appointment is on the 4th of December [2026-12-04].",
            "",
        ),
    ],
)
def test_what_a_replaced_text_says_besides_is_left(new: str, old: str, rest: str) -> None:
    found = corrects(new, old)
    assert found is not None
    assert (found.rest, found.wrong) == (rest, True)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The fair is in February, not January.", MOVE),
        ("Jo starts school in August, not January.", MOVE),
        ("If Tim moves in February, not January, we need a van.", MOVE),
        ("Tim might move in February, not January.", MOVE),
        ("Tim moves in February, not January?", MOVE),
        ("Tim moves in February, not January.", "I move with Tim to Porto in January."),
        (
            "Tim moves in February, not January.",
            "Tim moves to Porto in March and Jo moves to Rome in January.",
        ),
        (
            "The exam in chemistry is on the 14th, not the 4th.",
            "The exam in biology is on the 4th.",
        ),
        ("The dentist is on the 14th, not the 4th.", "Kim's dentist is on the 4th."),
        ("I use Postgres instead of MySQL for the shop.", "I use MySQL for the blog."),
        ("We meet Ana on Saturday, not Friday.", "We meet Paul on Friday."),
        ("my knee is done on the 4th of August and not before", "My knee is done on 14 July."),
        ("Mom lives in Rome, not Berlin.", "My mom's sister lives in Berlin."),
        ("Mom's in Rome, not Berlin.", "My mom's sister is in Berlin."),
        ("The exam is in June, not in May, for Tim.", "The exam is in May for Jo."),
        ("The exam is in June, not in May.", "The exam is in May for Jo."),
        ("The exam is in June, not in May.", "The exam in biology is in May."),
        ("The exam is in June, not in May.", "The exam registration is in May."),
        ("The train is at 10:30, not 9:30.", "The train to Graz is at 9:30."),
        ("The flight is on Saturday, not Friday.", "Flight to Oslo on Friday."),
        ("The room opens at 10:30, not 9:30.", "Room 4 opens at 9:30."),
        ("Jo would live in Rome, not Berlin.", "Jo lives in Berlin."),
        ("Jo'd live in Rome, not Berlin.", "Jo lives in Berlin."),
        ("Jo could live in Rome, not Berlin.", "Jo lives in Berlin."),
        ("Jo should live in Rome, not Berlin.", "Jo lives in Berlin."),
        ("Jo würde in Rom wohnen, nicht in Bern.", "Jo wohnt in Bern."),
        ("Jo könnte in Rom wohnen, nicht in Bern.", "Jo wohnt in Bern."),
        ("I prefer tea, not coffee, in the morning.", "I prefer coffee after lunch."),
        ("I prefer tea, not coffee.", "I prefer coffee after lunch."),
    ],
)
def test_another_claim_stays(new: str, old: str) -> None:
    assert corrects(new, old) is None


def test_what_it_is_need_be_named_only_in_another_conversation() -> None:
    new, old = "No wait, it's at 10:30, not 9:30.", "The meeting with Paul is at 9:30."
    assert corrects(new, old) is None
    found = corrects(new, old, together=True)
    assert found is not None
    assert (found.rest, found.subject) == ("The meeting with Paul …", False)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("He likes red, not blue.", "My car is blue."),
        ("Likes red, not blue.", "My car is blue."),
        ("Mom likes red, not blue.", "My car is blue."),
        ("She leaves at 10:30, not 9:30.", "The meeting with Paul is at 9:30."),
        ("It has 3 rooms, not 4.", "The exam is on the 4th."),
        ("That exam is on the 14th, not the 4th.", "My dentist appointment is on the 4th."),
    ],
)
def test_what_names_another_subject_stays_within_a_conversation(new: str, old: str) -> None:
    assert corrects(new, old, together=True) is None


@pytest.mark.parametrize(
    "new",
    [
        "The 14th, not the 4th.",
        "That's on the 14th, not the 4th.",
        "It is not the 4th but the 14th.",
    ],
)
def test_a_value_alone_replaces_another_within_a_conversation(new: str) -> None:
    assert corrects(new, "My dentist appointment is on the 4th.", together=True)


def test_a_long_text_corrects_nothing_and_costs_nothing() -> None:
    assert corrects("not a " * 5_000, "Tim moves in January.") is None
    assert corrects("Tim moves in February, not January.", "Tim moves in January. " * 500) is None
    assert denied("not a " * 5_000) == []
