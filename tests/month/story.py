"""The story: what Maya tells a model in thirty days, in some two hundred conversations. Facts
change, contradict each other and are repeated.

Everything comes from one seed. A `Thread` is one thing that can be known; its values follow each
other in time, and the last one is the truth at the end. What is said of a value is said in several
ways, so the same fact is met again and again in other words.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

START: Final = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
DAYS: Final = 30
A_DAY: Final = 7
"""Conversations on one day, about."""


@dataclass(frozen=True)
class Thread:
    """One thing that can be known: `values` as (day, value); `ways` say a value, the first of them
    as a note would."""

    key: str
    topic: str
    question: str
    values: tuple[tuple[int, str], ...]
    ways: tuple[str, ...]
    lasting: bool = False
    """Worth knowing in every conversation."""

    def at(self, day: int) -> str:
        """What was true on that day; "" before it was known."""
        return next((value for since, value in reversed(self.values) if since <= day), "")

    def note(self, value: str) -> str:
        """The value as a note says it."""
        return self.ways[0].format(v=value)


@dataclass(frozen=True)
class Talk:
    """One conversation: when, in which session, what was said, and which (key, value) it told."""

    when: datetime
    session: str
    text: str
    told: tuple[tuple[str, str], ...]


def _t(
    key: str, topic: str, question: str, values: str, *ways: str, lasting: bool = False
) -> Thread:
    """`values`: `0 Basel | 12 Lyon`."""
    pairs = [entry.strip().split(" ", 1) for entry in values.split("|")]
    return Thread(
        key, topic, question, tuple((int(day), value) for day, value in pairs), ways, lasting
    )


THREADS: Final = (
    _t("home", "living", "In which town does Maya live?", "0 Basel | 14 Lyon",
       "Maya lives in {v}.", "I am at home in {v} these days.",
       "We live in {v} now, in case you wonder about the post code."),
    _t("flat", "living", "What does Maya pay for her flat?", "0 1,450 francs | 15 1,180 euros",
       "Maya pays {v} of rent a month for her flat.", "The flat costs us {v} every month.",
       "Rent is {v} a month, which still hurts."),
    _t("floor", "living", "On which floor is Maya's flat?", "1 the fourth floor | 15 the ground "
                                                            "floor",
       "Maya's flat is on {v}.", "Our flat is on {v}.",
       "They deliver to {v}, that is where the flat is."),
    _t("landlord", "living", "Who is Maya's landlord?", "2 Mr Oberholzer | 16 Madame Ferrand",
       "Maya's landlord is {v}.", "The landlord is called {v}.",
       "I have to write to {v}, our landlord."),
    _t("bins", "living", "On which day are the bins collected?", "1 Tuesday | 16 Friday",
       "The bins at Maya's house are collected on {v}.", "They empty our bins on {v}.",
       "Bin day is {v} here."),
    _t("boiler", "living", "Who repairs Maya's boiler?", "3 Keller & Sons",
       "Maya's boiler is serviced by {v}.", "{v} look after the boiler.",
       "For the boiler we call {v}."),
    _t("employer", "work", "For whom does Maya work?", "0 Helvetia Rail | 17 Atelier Rhone",
       "Maya works for {v}.", "I work at {v}.", "My job is at {v}."),
    _t("role", "work", "What is Maya's job title?", "0 timetable analyst | 17 lead network planner",
       "Maya's job title is {v}.", "On paper I am a {v}.", "My contract says {v}."),
    _t("manager", "work", "Who is Maya's manager?", "1 Regula Frei | 18 Olivier Blanc",
       "Maya's manager is {v}.", "I report to {v}.", "{v} is my boss."),
    _t("standup", "work", "When is the daily meeting of Maya's team?", "2 09:15 | 9 10:00 | 19 "
                                                                       "08:45",
       "The daily meeting of Maya's team is at {v}.", "Our stand-up is at {v}.",
       "We meet every morning at {v}."),
    _t("project", "work", "What is the project that Maya leads called?", "3 Night Network | 20 "
                                                                         "Quai Nord",
       "The project that Maya leads is called {v}.", "I am leading {v} at the moment.",
       "My project is {v}."),
    _t("deadline", "work", "When is the deadline of Maya's project?", "4 27 March | 11 10 April | "
                                                                      "22 30 June",
       "The deadline of Maya's project is {v}.", "We have to deliver by {v}.",
       "They want it finished on {v}."),
    _t("budget", "work", "How large is the budget of Maya's project?", "5 340,000 francs | 21 "
                                                                       "610,000 euros",
       "The budget of Maya's project is {v}.", "We have {v} for the project.",
       "The project may cost {v}."),
    _t("tool", "work", "With which program does Maya draw timetables?", "2 Viriato",
       "Maya draws timetables with {v}.", "I draw timetables in {v}.",
       "All our timetables are made with {v}."),
    _t("language", "code", "In which language does Maya write her scripts?", "0 Python | 13 Julia",
       "Maya writes her scripts in {v}.", "My scripts are in {v}.",
       "I write all my scripts in {v}."),
    _t("editor", "code", "Which editor does Maya use?", "0 Helix",
       "Maya's editor is {v}.", "I edit everything in {v}.", "I use {v} as my editor.",
       lasting=True),
    _t("shell", "code", "Which shell does Maya use?", "1 fish",
       "Maya's shell is {v}.", "My shell is {v}.", "I type all that into {v}.", lasting=True),
    _t("indent", "code", "How does Maya indent her code?", "1 four spaces",
       "Maya indents her code with {v}.", "I indent with {v}.",
       "Please note that my files use {v}.", lasting=True),
    _t("database", "code", "Which database holds Maya's measurements?", "4 SQLite | 18 DuckDB",
       "Maya's measurements are in {v}.", "The measurements live in {v}.",
       "I keep the measurements in {v}."),
    _t("server", "code", "What is the name of Maya's server?", "5 gotthard",
       "Maya's server is called {v}.", "The server is named {v}.", "I run it on {v}, my server."),
    _t("answers", "wishes", "How long does Maya like answers to be?", "0 short answers with the "
                                                                      "result first | 16 long "
                                                                      "answers with every step",
       "Maya prefers {v}.", "I like {v}.", "What helps me most: {v}.", lasting=True),
    _t("units", "wishes", "Which units does Maya want?", "1 metric units",
       "Maya prefers {v}.", "I think in {v}.", "It is easier for me with {v}.", lasting=True),
    _t("spelling", "wishes", "Which spelling does Maya use?", "2 British spelling",
       "Maya writes with {v}.", "I write with {v}.", "My texts use {v}.", lasting=True),
    _t("examples", "wishes", "What does Maya want before a theory?", "3 an example before the "
                                                                     "theory",
       "Maya understands best with {v}.", "I need {v} to follow.", "For me it works best with {v}.",
       lasting=True),
    _t("hours", "wishes", "When does Maya not want to be disturbed?", "4 after 19:00",
       "Maya does not work {v}.", "I do not work {v}.", "My laptop is closed {v}.", lasting=True),
    _t("partner", "people", "What is the name of Maya's partner?", "0 Jonas",
       "Maya's partner is called {v}.", "My partner {v} says hello.",
       "{v} and I have been together for years.", lasting=True),
    _t("daughter", "people", "What is the name of Maya's daughter?", "1 Lotte",
       "Maya's daughter is called {v}.", "Our daughter {v} laughs at me.",
       "{v}, our daughter, asked the same.", lasting=True),
    _t("age", "people", "How old is Maya's daughter?", "2 six | 23 seven",
       "Maya's daughter is {v} years old.", "She is {v} years old, our girl.",
       "Our daughter is {v} now."),
    _t("sister", "people", "Where does Maya's sister live?", "3 Tromsø",
       "Maya's sister lives in {v}.", "My sister is up in {v}.", "We visit my sister in {v}."),
    _t("school", "people", "Which school does Maya's daughter go to?", "4 the Gotthelf school | "
                                                                       "18 the Ecole Jean Macé",
       "Maya's daughter goes to {v}.", "Our daughter is at {v}.",
       "Our daughter goes to {v}, lessons start at eight."),
    _t("doctor", "health", "Who is Maya's doctor?", "5 Dr Amsler | 21 Dr Nguyen",
       "Maya's doctor is {v}.", "I see {v} when I am ill.", "{v} is my doctor."),
    _t("allergy", "health", "What is Maya allergic to?", "1 hazelnuts",
       "Maya is allergic to {v}.", "I cannot eat {v}, I am allergic.",
       "Mind that I am allergic to {v}.", lasting=True),
    _t("running", "health", "How far does Maya run in a week?", "2 15 kilometres | 10 22 "
                                                                "kilometres | 24 30 kilometres",
       "Maya runs {v} a week.", "I run {v} a week.", "My week has {v} of running in it."),
    _t("knee", "health", "Which knee hurts Maya?", "6 the left knee | 7 the right knee",
       "Maya's bad knee is {v}.", "What hurts is {v}.", "I have to be careful with {v}."),
    _t("sleep", "health", "When does Maya go to bed?", "3 22:30",
       "Maya goes to bed at {v}.", "I go to bed at {v}.", "Lights are out at {v}."),
    _t("diet", "health", "What does Maya not eat?", "0 meat | 19 meat and milk",
       "Maya eats no {v}.", "I eat no {v}.", "Dinner must be without {v}."),
    _t("bike", "going", "Which bicycle does Maya ride?", "1 a blue Tour de Suisse | 20 a grey "
                                                         "Moustache",
       "Maya rides {v}.", "My bicycle is {v}.", "I go to work on {v}."),
    _t("train", "going", "Which train does Maya take in the morning?", "2 the 07:12 | 18 the 07:48",
       "Maya takes {v} train in the morning.", "I take {v} train.", "My train is {v}."),
    _t("card", "going", "Which rail card does Maya have?", "3 a half-fare card | 19 a Carte "
                                                           "Avantage",
       "Maya has {v}.", "I travel with {v}.", "My rail card is {v}."),
    _t("car", "going", "Which car does Maya's family have?", "4 no car",
       "Maya's family has {v}.", "We have {v}.", "There is {v} in our family."),
    _t("instrument", "leisure", "Which instrument does Maya play?", "5 the viola",
       "Maya plays {v}.", "I play {v} on Thursdays.", "I practise {v} in the evening."),
    _t("piece", "leisure", "Which piece is Maya practising?", "6 the Telemann concerto | 17 the "
                                                              "Brahms sonata",
       "Maya is practising {v}.", "I am learning {v}.", "My piece is {v}."),
    _t("book", "leisure", "Which book is Maya reading?", "2 The Magic Mountain | 12 Middlemarch | "
                                                         "25 The Leopard",
       "Maya is reading {v}.", "I am reading {v}.", "The book I am reading is {v}."),
    _t("garden", "leisure", "What grows in Maya's garden?", "7 tomatoes | 21 tomatoes and basil",
       "Maya grows {v}.", "I grow {v} on the balcony.", "My plants are {v}."),
    _t("holiday", "leisure", "Where is Maya going on holiday?", "8 the Lofoten islands | 16 "
                                                                "Sardinia",
       "Maya's summer holiday is on {v}.", "In summer we go to {v}.",
       "We booked {v} for the summer."),
)  # fmt: skip
BY_KEY: Final = {thread.key: thread for thread in THREADS}

_OPENINGS: Final = (
    "Good morning, Maya here. Could you look at something with me?",
    "I have ten minutes before my next meeting.", "Maya again, with a quick one.",
    "It rains here, so I am in no hurry.", "I am back with the next question.",
    "Can we go on where we stopped?",
)  # fmt: skip
_TASKS: Final = (
    ("How do I sort a table by two columns?", "Sort by the second column first, then by the first "
                                              "with a stable sort."),
    ("What is a polite way to say no to an invitation?", "Thank them, say no in one line, and "
                                                         "wish them a good evening."),
    ("Why does dough stick to the bowl?", "It is wet, or it was not kneaded for long enough. A "
                                          "little flour at the rim helps."),
    ("Can you check this sentence: 'The data shows a rise'?", "Both 'the data shows' and 'the "
                                                              "data show' are used; keep one of "
                                                              "them."),
    ("How many weeks are there until summer?", "Count from today; it depends on which day you "
                                               "call the first of summer."),
    ("What does a median do that a mean does not?", "It ignores how far away the extremes are."),
    ("Give me a title for a talk about delays.", "How about: Five minutes, and where they go."),
    ("How do I fold a fitted sheet?", "Put the corners into each other, then fold it in thirds."),
)  # fmt: skip
_CLOSINGS: Final = (
    "Thank you, that is all.",
    "Good, I shall try that.",
    "That helps. Until later.",
    "Fine. Let us stop here.",
)
_REPLIES: Final = ("Noted.", "I see.", "Good to know, thank you.", "All right.")


def story(seed: int = 7, days: int = DAYS) -> list[list[Talk]]:
    """Conversations day by day; the same seed tells the same story."""
    chance = random.Random(seed)
    return [list(_day(chance, day)) for day in range(days)]


def _day(chance: random.Random, day: int) -> Iterator[Talk]:
    told = [
        (thread, thread.at(day))
        for thread in THREADS
        if any(since == day for since, _ in thread.values)
    ]
    known = [
        (thread, thread.at(day))
        for thread in THREADS
        if thread.at(day) and all(since != day for since, _ in thread.values)
    ]
    told += chance.sample(known, min(len(known), 9))  # what is known comes up again
    chance.shuffle(told)
    for number in range(max(A_DAY - 1, -(-len(told) // 3)) + chance.randrange(2)):
        share, told = told[:2], told[2:]
        when = START + timedelta(days=day, minutes=75 * number + chance.randrange(40))
        yield Talk(
            when,
            f"day{day:02d}-{number}",
            _conversation(chance, share),
            tuple((thread.key, value) for thread, value in share),
        )


def _conversation(chance: random.Random, told: list[tuple[Thread, str]]) -> str:
    ask, answer = chance.choice(_TASKS)
    lines = [
        ("User", chance.choice(_OPENINGS)),
        ("Assistant", "Of course."),
        ("User", ask),
        ("Assistant", answer),
    ]
    for thread, value in told:
        lines += [
            ("User", chance.choice(thread.ways[1:]).format(v=value)),
            ("Assistant", chance.choice(_REPLIES)),
        ]
    lines.append(("User", chance.choice(_CLOSINGS)))
    return "\n\n".join(f"{who}: {words}" for who, words in lines)


SAID: Final = {
    way.format(v=value): (thread.key, value)
    for thread in THREADS
    for _, value in thread.values
    for way in thread.ways
}
"""Every sentence of the story that tells something -> (key, value)."""
