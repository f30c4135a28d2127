"""What was said is corrected when the correction is said: `python -m tests.bench.corrections
[--show]`, over every fact of tests/corpora/months that changes.

The first words of each fact are remembered on their day; on the day of a change the person's new
words go in, naming what they replace (or, `found`, without naming it). Then comes the night.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from oneiro_vault.app import App, init_vault
from oneiro_vault.errors import AmbiguousId, NotFound
from oneiro_vault.settings.definitions import Settings
from tests.bench.kit import Row
from tests.bench.labelled import Fact, Labelled, Version
from tests.bench.months import FILES
from tests.copies import indexed
from tests.month.life import Clock

TOP = 10


def measure(path: Path, told: list[str]) -> Counter[str]:
    """One month's changes, and how many of them came out right."""
    month = Labelled(path)
    score: Counter[str] = Counter()
    changes = [
        (fact, old, new)
        for fact in month.facts
        for old, new in zip(fact.versions, fact.versions[1 : fact.current + 1], strict=False)
        if old.day < new.day and old == fact.versions[0]
    ]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        init_vault(root)
        clock = Clock(_noon(min(one.versions[0].day for one in month.facts)))
        settings = Settings({"disk.reserve": 0, "edits.quiet": 0.0, "dreams.judge": "offline"})
        with App.open(root, settings, clock=clock) as app:
            ids = {
                (fact.key, fact.versions[0].quote): _said(app, clock, fact, fact.versions[0])
                for fact in sorted(month.facts, key=lambda one: one.versions[0].day)
            }
            indexed(app)
            app.call("dream", {})
            for fact, old, new in sorted(changes, key=lambda one: one[2].day):
                ident = _standing(app, ids[fact.key, old.quote])
                score["replaced by night"] += ident != ids[fact.key, old.quote]
                score["changes"] += 1
                score[_would_find(app, new.quote, ident)] += 1
                before = app.call("orient", {})["text"]
                ids[fact.key, new.quote] = _said(app, clock, fact, new, ident)
                clock.now += 43_200
                app.call("dream", {})
                after = app.call("orient", {})["text"]
                _judge(app, fact, (old, new), ids, score, told)
                if old.stated_by(before) and not new.stated_by(before):
                    score["oriented"] += 1
                    score["follows"] += new.stated_by(after)
                    late = old.stated_by(after) and not new.stated_by(after)
                    score["outdated"] += late
                    if late:
                        told.append(f"outdated: {fact.key}: {old.quote} -> {new.quote}")
    return score


def _standing(app: App, ident: str) -> str:
    while after := app.call("show", {"id": ident})["meta"].get("superseded_by"):
        ident = str(after)
    return ident


def _noon(day: object) -> float:
    return datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp()


def _said(app: App, clock: Clock, fact: Fact, version: Version, replaces: str = "") -> str:
    clock.now = max(clock.now, _noon(version.day))
    item = {"text": version.quote, "about": [fact.subject]}
    item |= {"replaces": replaces} if replaces else {}
    return str(app.call("remember", {"items": [item], "dedupe": False})["results"][0]["id"])


def _would_find(app: App, words: str, ident: str) -> str:
    """What `correct` does without an id (taken back at once)."""
    try:
        done = app.call("correct", {"text": words})
    except AmbiguousId:
        return "asked which"
    except NotFound:
        return "asked for an id"
    app.call("undo", {"commit": done["commit"]})
    return "found" if done["replaced"]["id"] == ident else "found another"


def _judge(
    app: App,
    fact: Fact,
    pair: tuple[Version, Version],
    ids: dict[tuple[str, str], str],
    score: Counter[str],
    told: list[str],
) -> None:
    old, new = (ids[fact.key, one.quote] for one in pair)
    now = _found(app, fact.question)
    score["now"] += new in now and old not in now[: now.index(new)]
    then = (datetime.fromisoformat(f"{pair[1].day}T00:00:00+00:00") - timedelta(hours=1)).date()
    past = _found(app, fact.history_question or fact.question, valid_at=str(then))
    score["then"] += old in past and new not in past
    entries = app.call("log", {"id": new, "limit": 20})["entries"]
    score["logged"] += any(one["op"] == "supersede" for one in entries)
    if new not in now or old not in past or new in past:
        told.append(f"{fact.question} | {pair[0].quote} -> {pair[1].quote} | now {new in now}, "
                    f"then {old in past}, {new in past}")  # fmt: skip


def _found(app: App, question: str, **more: str) -> list[str]:
    rows = app.call("recall", {"query": question, "k": TOP, **more})["results"]
    return [row["id"] for row in rows]


def run(scale: int) -> Iterator[Row]:
    """All months; `scale` changes nothing."""
    score = total([])
    for name, bar in (("now", ">= 1"), ("then", ">= 1"), ("logged", ">= 1")):
        yield Row(f"corrections: {name}", score[name] / score["changes"], None, bar, "")


def total(told: list[str]) -> Counter[str]:
    """Of all months together."""
    score: Counter[str] = Counter()
    for path in sorted(FILES.glob("*.json")):
        score += measure(path, told)
    return score


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true")
    told: list[str] = []
    options = parser.parse_args()
    print(dict(total(told)), *(told if options.show else ()), sep="\n  ")


if __name__ == "__main__":
    main()
