"""When a note came to be, as people write it down."""

from __future__ import annotations

import pytest

from oneiro_vault.core import memory
from oneiro_vault.core.time import note_dates


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2024-03-05", "2024-03-05"), ("2024/3/5", "2024-03-05"), ("20240305", "2024-03-05"),
        (20240305, "2024-03-05"),
        ("2024-03-05 10:00:00 -0500", "2024-03-05"), ("2024-03-05 9:00", "2024-03-05"),
        ("2024-03-05T10:00:00.000Z", "2024-03-05"),
        ("2024-03-05 10:00:00 +0000 UTC", "2024-03-05"),
        ("Tue, 05 Mar 2024 10:00:00 +0100", "2024-03-05"),
        ("March 5, 2024", "2024-03-05"), ("5th March 2024", "2024-03-05"),
        ("5 de marzo de 2024", "2024-03-05"),
        ("05.03.2024", "2024-03-05"), ("03/15/2024", "2024-03-15"), ("15/03/2024", "2024-03-15"),
        (["2024-03-05"], "2024-03-05"),
        ("[[2024-03-05]]", "2024-03-05"), (1709600000, "2024-03-05"), ("2024年3月5日", "2024-03-05"),
        ("2024-03", "2024-03-01"),
        ("03/04/2024", ""), ("yesterday", ""), ("since 2024", ""), ("TBD", ""), ("", ""),
        (True, ""), ({"a": 1}, ""), ("31.02.2024", ""),
    ],
)  # fmt: skip
def test_dates_as_people_write_them(value: object, day: str) -> None:
    assert note_dates.written(value)[:10] == day


@pytest.mark.parametrize(
    "key",
    [
        "date",
        "Date",
        "created_at",
        "createdAt",
        "date created",
        "Date Created",
        "published",
        "pubDate",
        "creation-date",
    ],
)
def test_the_usual_names_of_the_key(key: str) -> None:
    assert (
        memory.parse("x.md", f"---\n{key}: 2024-03-05\n---\nwords".encode()).created[:10]
        == "2024-03-05"
    )


def test_what_was_meant_for_it_comes_first() -> None:
    text = b"---\ndate: 2020-01-01\ncreated: 2021-01-01\nupdated: 2022-01-01\n---\nwords"
    found = memory.parse("2019-01-01.md", text)
    assert (found.created[:4], found.timestamp[:4], found.problems) == ("2021", "2022", ())
    assert memory.parse("2019-01-01.md", text.replace(b"created", b"born")).created[:4] == "2020"
    assert (
        memory.parse("2019-01-01.md", b"---\nupdated: 2022-01-01\n---\nwords").created[:4] == "2019"
    )
    assert (
        memory.parse("x.md", b"---\ncreated: March 5, 2021\n---\nwords").created[:10]
        == "2021-03-05"
    )
    assert memory.parse("x.md", b"---\ncreated: soon\n---\nwords").problems == ("created",)


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("2024-03-05 Boat.md", "2024-03-05"), ("a/20240305.md", "2024-03-05"),
        ("202403051230 zettel.md", "2024-03-05"),
        ("2024/03/x.md", "2024-03-01"), ("2024/2024-03/x.md", "2024-03-01"),
        ("2024/03 March/x.md", "2024-03-01"),
        ("2024/03/05.md", "2024-03-05"), ("Mar 5th, 2024.md", "2024-03-05"),
        ("5 March 2024 dinner.md", "2024-03-05"),
        ("2024-W10.md", "2024-03-04"), ("2024-03 Review.md", "2024-03-01"), ("2024-02-30.md", ""),
        ("x/12345678.md", ""),
        ("v2024.03/x.md", ""), ("1985-2020.md", ""), ("2024/12345.md", ""), ("2024/13/x.md", ""),
        ("ISO 2022-03.md", ""), ("05.03.2024 Besuch.md", "2024-03-05"),
        ("Besuch 5.3.2024.md", "2024-03-05"), ("15-03-2024.md", "2024-03-15"),
        ("03-04-2024.md", ""), ("v1.2.2024.1/x.md", ""), ("31.02.2024.md", ""),
        ("日記 2024年3月5日.md", "2024-03-05"),
    ],
)  # fmt: skip
def test_dates_in_names(path: str, day: str) -> None:
    assert note_dates.named(path)[:10] == day
