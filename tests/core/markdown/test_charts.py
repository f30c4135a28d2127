"""Uses over time: in days, weeks or months without gaps, and as a chart that any viewer can read."""

from __future__ import annotations

from datetime import date
from xml.etree import ElementTree

import pytest

from oneiro_vault.answers import Influencing, Plots
from oneiro_vault.core.markdown.charts import (
    PANELS,
    PERIODS,
    TYPES,
    all_of,
    binned,
    blocks,
    columns,
    growth,
    influence,
    periods,
    strengths,
    svg,
)

SVG = "{http://www.w3.org/2000/svg}"


def row(title: str = "Ask first", **days: dict[str, int]) -> Influencing:
    known = {kind: days.get(kind, {}) for kind in ("looked", "found", "useful", "wrong")}
    useful, wrong = (sum(known[kind].values()) for kind in ("useful", "wrong"))
    uses = sum(known["looked"].values()) + useful
    return {
        "id": "a" * 12,
        "title": title,
        "uses": uses,
        "useful": useful,
        "wrong": wrong,
        "months": {},
        "days": known,
    }


@pytest.mark.parametrize(
    ("first", "last", "number", "second"),
    [
        ("2026-03-05", "2026-03-05", 1, None),
        ("2026-03-05", "2026-03-08", 4, "2026-03-06"),
        ("2026-02-05", "2026-03-08", 32, "2026-02-06"),
        ("2026-02-05", "2026-03-09", 6, "2026-02-09"),
        ("2025-11-30", "2026-03-09", 16, "2025-12-01"),
        ("2025-01-31", "2026-02-01", 14, "2025-02-01"),
        ("2001-01-01", "2026-02-01", PERIODS, "2023-08-01"),
    ],
)
def test_periods_have_no_gaps(first: str, last: str, number: int, second: str | None) -> None:
    starts = periods([last, first])
    assert len(starts) == number
    assert starts == sorted(set(starts))
    assert second is None or starts[1] == date.fromisoformat(second)
    assert starts[-1] <= date.fromisoformat(last)
    assert periods([]) == []


def test_every_day_falls_into_its_period() -> None:
    days = {"2024-12-31": 5, "2025-01-31": 1, "2025-02-01": 2, "2026-02-28": 3}
    starts = periods(list(days)[1:])
    counts = binned(days, starts)
    assert (counts[0], counts[1], counts[-1], sum(counts)) == (1, 2, 3, 6)


def test_a_chart_is_xml_with_labels_and_a_legend() -> None:
    rows = [
        row(
            'Why <b> & "how"\x00',
            looked={"2026-03-05": 3},
            found={"2026-03-05": 1},
            useful={"2026-03-05": 2},
            wrong={"2026-03-06": 4},
        ),
        row("Never"),
    ]
    chart = ElementTree.fromstring(svg([influence(rows)]))
    said = [one.text for one in chart.iter(f"{SVG}text")]
    assert {"looked at otherwise", "called useful", "called wrong"} <= set(said)
    assert 'Why <b> & "how"' in said
    assert "2026-03-05" in said
    assert "5 uses, 2 useful, 4 wrong" in said
    drawn = {
        title.text: float(bar.get("height", 0))
        for bar in chart.iter(f"{SVG}rect")
        for title in bar.iter(f"{SVG}title")
    }
    assert list(drawn) == [
        "2026-03-05: 1 looked at after a question had found it",
        "2026-03-05: 2 looked at otherwise",
        "2026-03-05: 2 called useful",
        "2026-03-06: 4 called wrong",
    ]
    one, two, useful, wrong = drawn.values()
    assert two == useful == pytest.approx(2 * one, abs=0.1)
    assert wrong == pytest.approx(4 * one, abs=0.1)
    assert wrong <= 20.1
    style = chart.find(f"{SVG}style")
    assert style is not None
    assert "prefers-color-scheme:dark" in str(style.text)
    assert "http" not in svg([influence(rows)]).replace("http://www.w3.org/2000/svg", "")


def test_a_chart_of_many_or_of_nothing_stays_one() -> None:
    many = ElementTree.fromstring(svg([influence([row(str(n)) for n in range(PANELS + 5)])]))
    assert len(list(many.iter(f"{SVG}line"))) == PANELS
    assert ElementTree.fromstring(svg([influence([])])).tag == f"{SVG}svg"


def numbers() -> Plots:
    return {
        "schema": 1,
        "growth": {
            "semantic": {"2026-03-05": 3, "2026-03-07": 2},
            **{f"own{n}": {"2026-03-06": 1} for n in range(TYPES + 1)},
        },
        "strengths": [4, 0, 0, 0, 0, 0, 0, 0, 0, 2],
        "lasting": 7,
        "faded": 3,
        "uses": {"looked": {"2026-03-05": 3}, "found": {"2026-03-05": 1}, "wrong": {}},
        "influence": [row("Ask first", looked={"2026-03-05": 2})],
        "nights": [
            {"day": "2026-03-05", "run": "r1", "title": "a night", "path": "dreams/a.md",
             "questions": 3, "tokens_in": 1200, "tokens_out": 300, "cost": 0.25},
        ],
    }  # fmt: skip


def test_growth_adds_up_and_keeps_few_types_apart() -> None:
    chart = growth(numbers())
    assert [one.name for one in chart.series] == [
        "semantic", *(f"own{n}" for n in range(TYPES - 1)), "other",
    ]  # fmt: skip
    (panel,) = chart.panels
    assert panel.values["type0"] == [3, 3, 5]
    assert [panel.values[one.key][-1] for one in chart.series] == [5, 1, 1, 1, 1, 2]


def test_the_weakest_are_those_that_only_a_search_finds() -> None:
    (panel,) = strengths(numbers()).panels
    assert (panel.values["faded"][0], panel.values["kept"][0], panel.values["kept"][9]) == (3, 1, 2)
    assert panel.labels[0] == "0% to 10%"


def test_everything_is_one_picture_with_words_for_who_cannot_see_it() -> None:
    text = svg([*all_of(numbers()).values()])
    chart = ElementTree.fromstring(text)
    title, said = chart.find(f"{SVG}title"), chart.find(f"{SVG}desc")
    assert title is not None
    assert said is not None
    assert "1 runs, 3 questions (about 0.25 spent; a bar is a day)" in str(said.text)
    drawn = [one.text for bar in chart.iter(f"{SVG}rect") for one in bar.iter(f"{SVG}title")]
    assert "2026-03-05: 1,200 tokens asked" in drawn
    # no two kinds of one chart look alike to who sees no colours
    patterns = {
        one.get("id"): ElementTree.tostring(one)[-60:] for one in chart.iter(f"{SVG}pattern")
    }
    assert len({patterns[f"s0-type{n}"] for n in range(6)}) == 6
    fills = {bar.get("fill") for bar in chart.iter(f"{SVG}rect")} - {None}
    assert {fill[5:-1] for fill in fills if fill} <= patterns.keys()
    assert "<script" not in text
    assert "style=" not in text


def test_blocks_and_columns_show_the_least_there_is() -> None:
    assert blocks([0, 1, 50, 100], 100) == " ▁▄█"
    assert columns([0, 1, 50, 100], 100, 2) == ["   █", " ▁██"]
    assert blocks([], 0) == ""
