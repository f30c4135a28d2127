"""Has everybody and everything that a month of conversations names a note, and one only? `python -m
tests.bench.named [--judge oracle] [--show] [NAME…]`: the months of tests/corpora/months, with who
and what they name as a reader listed it who had seen their words only (tests/corpora/named)."""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from oneiro_vault.app import App, init_vault
from oneiro_vault.core.text.query import fold
from oneiro_vault.judges.base import Judge
from oneiro_vault.settings.definitions import Settings
from tests.bench.kit import Row
from tests.bench.labelled import Labelled
from tests.bench.months import FILES, nights
from tests.bench.oracle import Oracle
from tests.month.life import Clock

LISTED: Final = FILES.parent / "named"
OFTEN: Final = 2
"""Conversations that name somebody before a note is expected."""
_TITLES: Final = re.compile(r"^(?:mrs?|ms|dr|herr|frau|señora?|madame|monsieur)\.? ")


@dataclass
class Score:
    """`has` of `expected` have a note, `several` more than one; `merged` of `notes` stand for two;
    `people` of the notes of people say so, `mistaken` others say it too; `sourced` of `sentences`
    name their source."""

    expected: int = 0
    has: int = 0
    several: int = 0
    notes: int = 0
    merged: int = 0
    strangers: int = 0
    bodies: int = 0
    people: int = 0
    mistaken: int = 0
    sentences: int = 0
    sourced: int = 0
    told: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.has}/{self.expected} have one note, {self.several} several; {self.notes} notes,"
            f" {self.merged} of two people, {self.strangers} of none on the list;"
            f" {self.people}/{self.bodies} people are persons, {self.mistaken} others are; "
            f"{self.sourced}/{self.sentences} sentences with a source"
        )


def measure(name: str, judge: Judge | None = None) -> Score:
    """One month with its nights, and whom it gave a note."""
    month = Labelled(FILES / f"{name}.json")
    listed = json.loads((LISTED / f"{name}.json").read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "vault"
        init_vault(place)
        clock = Clock(datetime.fromisoformat(month.conversations[0]["when"]).timestamp())
        settings = Settings({"disk.reserve": 0, "edits.quiet": 0.0})
        with App.open(place, settings, clock=clock) as app:
            if judge is not None:
                app.house.dreams.judges = lambda _name: judge
            nights(app, clock, month)
            rows = app.call("list", {"type": "entity", "limit": 10_000})["results"]
            shown = [app.call("show", {"id": row["id"]}) for row in rows]
    return scored(listed, shown)


def scored(listed: Mapping[str, Any], shown: Sequence[Mapping[str, Any]]) -> Score:
    """Entity notes against the list."""
    score = Score(notes=len(shown))
    every = [*listed["people"], *listed["projects"], *listed.get("others", ())]
    mine = [_names([one["meta"]["title"], *(one["meta"].get("aliases") or ())]) for one in shown]
    known = [_names([one["name"], *one["names"]]) for one in every]
    for one, names in zip(every, known, strict=True):
        if one in listed.get("others", ()) or one["times"] < OFTEN:
            continue
        score.expected += 1
        notes = [at for at, own in enumerate(mine) if own & names]
        score.has += len(notes) == 1
        score.several += len(notes) > 1
        if len(notes) != 1:
            titles = [shown[at]["meta"]["title"] for at in notes]
            score.told.append(f"{'several' if notes else 'none'}: {one['name']} {titles}")
    people = known[: len(listed["people"])]
    for one, own in zip(shown, mine, strict=True):
        bearers = [names for names in people if own & names]
        person = one["meta"].get("kind") == "person"
        score.bodies += bool(bearers)
        score.people += bool(bearers) and person
        if person and not bearers:
            score.mistaken += 1
            score.told.append(f"no person: {one['meta']['title']}")
        score.merged += len(bearers) > 1 and not any(own <= names for names in bearers)
        if not any(own & names for names in known):
            score.strangers += 1
            score.told.append(f"stranger: {one['meta']['title']}")
        lines = [line for line in one["body"].splitlines() if line.strip()]
        score.sentences += len(lines)
        score.sourced += sum("[[" in line for line in lines)
    return score


def _names(names: Sequence[str]) -> frozenset[str]:
    return frozenset(_TITLES.sub("", fold(name)) for name in names)


def run(scale: int) -> Iterator[Row]:
    """By rules, over all months; `scale` changes nothing."""
    scores = [measure(path.stem) for path in sorted(LISTED.glob("*.json"))]
    expected = sum(one.expected for one in scores)
    has = sum(one.has for one in scores) / expected
    yield Row("people and projects of months with one note", has, None, ">= 0.9", "")


def main() -> None:
    """Measure the months that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--judge", choices=["oracle"])
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    for name in options.names or sorted(path.stem for path in LISTED.glob("*.json")):
        judge = Oracle(FILES / f"{name}.json").judge() if options.judge else None
        score = measure(name, judge)
        print(name, score, *(score.told if options.show else ()), sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
