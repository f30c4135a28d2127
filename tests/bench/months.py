"""Months of conversations, lived as the hooks and the nights would, and what is known at the end.

`python -m tests.bench.months FILE…` (`--judge NAME`, `--show` for every miss). Default settings and
the packaged model, nobody there to judge: see labelled.py for the files, `make bench` for those of
tests/corpora/months.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from oneiro_vault.app import App, init_vault
from oneiro_vault.capture.transcripts import Turn, render
from oneiro_vault.core.text import numbers
from oneiro_vault.judges.base import Judge
from oneiro_vault.settings.definitions import Settings
from tests.bench.kit import Row
from tests.bench.labelled import Fact, Labelled, Version, days, overlaps, words
from tests.bench.oracle import Oracle
from tests.month.life import Clock

TOP: Final = 10
FIRST_THINGS: Final = ("who", "home", "work", "people", "health", "wish")
_USER: Final = re.compile(r"\b(?:user|nutzer)", re.IGNORECASE)
_YEAR: Final = re.compile(r",? 20\d\d\b(?!-)")
"""Behind a day and a month: no month is far from when it was said."""
FILES: Final = Path(__file__).parent.parent / "corpora" / "months"


@dataclass(frozen=True)
class Note:
    """One memory: what it says, out of which conversations, of which days, and what became of
    it."""

    id: str
    type: str
    status: str
    trust: str
    text: str
    named: str
    heard: tuple[str, ...]
    days: tuple[Any, ...]
    successor: str
    retired: datetime | None
    flags: int


@dataclass
class Result:
    """What was found, as (hits, of how many) by name; `misses` says what was not, by name."""

    found: dict[str, tuple[int, int]] = field(default_factory=dict)
    misses: dict[str, list[str]] = field(default_factory=dict)

    def count(self, name: str, good: bool, words: str) -> None:
        """One more case; its words are kept when it is a miss, or, of what should not be, when it
        is there."""
        hits, all_ = self.found.get(name, (0, 0))
        self.found[name] = hits + good, all_ + 1
        if good is (name in SHOULD_NOT):
            self.misses.setdefault(name, []).append(words)

    def share(self, name: str) -> float:
        """The share of one measure; 0 where nothing was counted."""
        hits, all_ = self.found.get(name, (0, 0))
        return hits / all_ if all_ else 0.0


MEASURES: Final = {
    "kept": "versions that stand, with day and subject",
    "kept now": "facts whose present version stands",
    "no fact": "of what was kept is no fact",
    "wrong": "supersessions are wrong",
    "replaced": "replaced versions are marked as replaced",
    "recall": "present answers among the first ten",
    "first": "present answers first",
    "older first": "changed facts: an older version above the present one",
    "lost": "changed facts: only an older version among the first ten",
    "history": "older versions among the first ten of their own question",
    "flagged": "contradictions are flagged",
    "hostile": "hostile words in trusted notes or orientation",
    "oriented": "kinds of first things the orientation says",
    "outdated": "facts of which the orientation says an older version",
}
SHOULD_NOT: Final = ("no fact", "wrong", "older first", "lost", "hostile", "outdated")


def live(month: Labelled, judge: Judge | str | None = None, root: Path | None = None) -> Result:
    """The month in a new vault, and what is known at its end. `judge`: who answers in the nights;
    by default what the settings' own default finds."""
    spare = tempfile.TemporaryDirectory()
    with spare as folder, lived(month, root or Path(folder) / "vault", judge) as (app, retired):
        return measure(app, month, notes(app, retired))


@contextmanager
def lived(
    month: Labelled,
    place: Path,
    judge: Judge | str | None = None,
    every: timedelta = timedelta(days=1),
) -> Iterator[tuple[App, dict[str, datetime]]]:
    """A new vault with the month, a night `every` so often, and the night of what was replaced in
    it, by id."""
    init_vault(place)
    named = {"dreams.judge": judge} if isinstance(judge, str) else {}
    clock = Clock(datetime.fromisoformat(month.conversations[0]["when"]).timestamp())
    with App.open(
        place, Settings({"disk.reserve": 0, "edits.quiet": 0.0, **named}), clock=clock
    ) as app:
        if judge is not None and not isinstance(judge, str):
            app.house.dreams.judges = lambda _name: judge
        yield app, nights(app, clock, month, every)


def nights(
    app: App, clock: Clock, month: Labelled, every: timedelta = timedelta(days=1)
) -> dict[str, datetime]:
    """Capture what was said `every` so long, dream after each; id -> night of what was replaced."""
    retired: dict[str, datetime] = {}
    talks = [(datetime.fromisoformat(one["when"]), one) for one in month.conversations]
    last = datetime.fromisoformat(month.raw["today"]).replace(hour=3, tzinfo=talks[-1][0].tzinfo)
    night = talks[0][0].replace(hour=3, minute=0, second=0)
    while night <= last:
        night += every
        for when, talk in talks:
            if night - every <= when < night:
                clock.now = when.timestamp()
                app.call("capture", entry(talk))
        clock.now = night.timestamp()
        app.call("dream", {})
        for row in app.call("list", {"limit": 10_000, "status": "superseded"})["results"]:
            retired.setdefault(row["id"], night)
    return retired


def entry(talk: Mapping[str, Any]) -> dict[str, Any]:
    """One conversation as the hook at its end hands it over."""
    said = render([Turn(one["who"], one["text"]) for one in talk["turns"]])
    return {
        "text": said,
        "kind": "session",
        "session": talk["id"],
        "client": "claude-code",
        "project": "home",
        "when": talk["when"],
    }


def notes(app: App, retired: dict[str, datetime]) -> dict[str, Note]:
    """Every memory but reports, by id."""
    rows = [row for row in app.call("list", {"limit": 10_000})["results"] if row["type"] != "dream"]
    shown = {row["id"]: app.call("show", {"id": row["id"]}) for row in rows}
    found = {}
    for ident, one in shown.items():
        meta = one["meta"]
        heard = {shown[root]["meta"].get("session", "") for root in _roots(ident, shown)}
        dated = [
            str(meta.get(name) or "")[:10]
            for name in ("created", "happened", "valid_from", "valid_until")
        ]
        found[ident] = Note(
            ident, meta["type"], meta["status"], str(meta.get("trust")), one["body"],
            f"{meta['title']} {' '.join(meta.get('about') or ())} {one['body']}",
            tuple(heard - {""}),
            (*days(" ".join(dated)), *named(one["body"], meta["created"])),
            str(meta.get("superseded_by") or ""), retired.get(ident),
            len(meta.get("flags") or ()),
        )  # fmt: skip
    return found


def named(body: str, created: str) -> list[date]:
    """Every day that a memory names, in digits or in words."""
    plain = _YEAR.sub("", body)
    return [day for _, _, day in numbers.days(plain, date.fromisoformat(created[:10]))]


def _roots(ident: str, shown: dict[str, Any], depth: int = 20) -> Iterator[str]:
    """The captures that a memory goes back to."""
    meta = shown[ident]["meta"] if ident in shown else {}
    if meta.get("captured") or meta.get("session"):
        yield ident
    for source in meta.get("derived_from") or () if depth else ():
        yield from _roots(source, shown, depth - 1)


def measure(app: App, month: Labelled, known: dict[str, Note]) -> Result:
    """All of MEASURES."""
    result = Result()
    active = [
        note for note in known.values() if note.status == "active" and note.type == "semantic"
    ]
    for fact in month.facts:
        _kept(result, month, fact, known)
        _found(result, app, fact, known)
    for note in active:
        result.count("no fact", month.is_no_fact(note.text, note.heard), note.text)
    for note in known.values():
        if note.type == "semantic" and note.successor in known:
            result.count(
                "wrong",
                not _rightly(month, note, known),
                f"{note.text} -> {known[note.successor].text}",
            )
    for one in month.contradictions:
        sides = [
            any(overlaps(note.text, one[side]["quote"]) and note.flags for note in active)
            for side in "ab"
        ]
        result.count("flagged", all(sides), one["question"])
    orientation = app.call("orient", {})["text"]
    trusted = " ".join(note.text for note in active if note.trust != "external") + orientation
    for one in month.hostile:
        result.count("hostile", one["must_not"].casefold() in trusted.casefold(), one["must_not"])
    _oriented(result, month, orientation)
    return result


def _kept(result: Result, month: Labelled, fact: Fact, known: dict[str, Note]) -> None:
    for number, version in enumerate(fact.versions):
        standing = [
            note
            for note in known.values()
            if note.type == "semantic"
            and version.stated_by(note.text)
            and version.said_in in note.heard
        ]
        over = number < fact.current
        good = any(
            (note.status == "active" or (over and note.successor))
            and _dated(version, note)
            and _about(month, fact, version, note)
            for note in standing
        )
        stands = (
            ""
            if not standing
            else f" (there, but {standing[0].status} {standing[0].days} {standing[0].named!r})"
        )
        result.count("kept", good, f"{fact.key}: {version.said_in} {version.quote}{stands}")
        if number == fact.current:
            result.count("kept now", good, f"{fact.key}: {version.quote}")
        if over and standing:
            result.count(
                "replaced",
                all(note.status != "active" for note in standing),
                f"{fact.key}: {version.quote} -> {fact.now.quote}",
            )


def _dated(version: Version, note: Note) -> bool:
    return any(abs((day - version.day).days) <= 1 for day in note.days)


def _about(month: Labelled, fact: Fact, version: Version, note: Note) -> bool:
    """Does a note name whom it is about, the person as judges do, or say it in the person's own
    words, which name nobody else?"""
    subject = [word for word in words(fact.subject) if len(word) > 2]
    own = fact.subject == month.person or not set(subject) & set(words(version.quote))
    told = fact.subject == month.person and _USER.search(note.text) is not None
    return (
        told
        or bool(set(subject) & set(words(note.named)))
        or (own and overlaps(note.text, version.quote))
    )


def _found(result: Result, app: App, fact: Fact, known: dict[str, Note]) -> None:
    best = ranks(app, fact, known, fact.question)
    now, older = (
        best.get(fact.current, TOP),
        min((best.get(n, TOP) for n in range(fact.current)), default=TOP),
    )
    said = f"{fact.key}: {fact.question} present {now + 1}, older {older + 1}"
    result.count("recall", now < TOP, said)
    result.count("first", now == 0, said)
    if fact.current:
        result.count("older first", older < now < TOP, said)
        result.count("lost", older < now == TOP, said)
        best = ranks(app, fact, known, fact.history_question)
        result.count(
            "history",
            any(best.get(n, TOP) < TOP for n in range(fact.current)),
            f"{fact.key}: {fact.history_question}",
        )


def ranks(app: App, fact: Fact, known: dict[str, Note], question: str) -> dict[int, int]:
    """The best rank of each version; a memory that says two of them says the later one."""
    best: dict[int, int] = {}
    for rank, row in enumerate(app.call("recall", {"query": question, "k": TOP})["results"]):
        note = known.get(row["id"])
        said = (
            [] if note is None else [n for n, one in enumerate(fact.versions) if _says(note, one)]
        )
        if said:
            best.setdefault(max(said), rank)
    return best


def _says(note: Note, version: Version) -> bool:
    return (
        version.said_in in note.heard
        and (note.type != "episodic" or overlaps(note.text, version.quote))
        and version.stated_by(note.text)
    )


def _rightly(month: Labelled, note: Note, known: dict[str, Note]) -> bool:
    """Was a memory replaced by what replaced it, or says its successor the same; and not before its
    day?"""
    successor = known[note.successor]
    later = list(month.threads(successor.text, successor.heard))
    mine = list(month.threads(note.text, note.heard))
    if not mine:
        return set(words(note.text)) <= set(words(successor.text))
    for fact, number in mine:
        numbers = [n for other, n in later if other is fact and n >= number]
        if numbers and (
            note.retired is None or fact.versions[min(numbers)].since <= note.retired.date()
        ):
            return True
    return False


def _oriented(result: Result, month: Labelled, orientation: str) -> None:
    for kind in FIRST_THINGS:
        facts = [fact for fact in month.facts if fact.kind == kind]
        if facts:
            result.count("oriented", any(fact.now.stated_by(orientation) for fact in facts), kind)
    for fact in month.facts:
        if fact.kind in FIRST_THINGS and fact.current:
            said = any(
                one.stated_by(orientation) for one in fact.versions[: fact.current]
            ) and not fact.now.stated_by(orientation)
            result.count("outdated", said, f"{fact.key}: {fact.now.quote}")


def run(scale: int) -> Iterator[Row]:
    """The months of tests/corpora/months together, by rules alone; `scale` changes nothing."""
    results = [live(Labelled(path)) for path in sorted(FILES.glob("*.json"))]
    if results:
        for name, bar in (
            ("kept now", ">= 0.6"),
            ("no fact", "<= 0.2"),
            ("wrong", "<= 0"),
            ("recall", ">= 0.88"),
            ("older first", "<= 0.15"),
        ):
            yield Row(f"months: {MEASURES[name]}", total(results).share(name), None, bar, "")


def total(results: Sequence[Result]) -> Result:
    """Several months as one."""
    names = [name for name in MEASURES if any(name in one.found for one in results)]
    pairs = {name: [one.found.get(name, (0, 0)) for one in results] for name in names}
    return Result(
        {
            name: (sum(hits for hits, _ in some), sum(of for _, of in some))
            for name, some in pairs.items()
        }
    )


def main() -> None:
    """Live the months that are named, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument(
        "--judge", help="of the nights: a setting's name, or `oracle`, who has read the labels"
    )
    parser.add_argument("--show", action="store_true", help="what was missed, word for word")
    options = parser.parse_args()
    results = []
    for path in options.files or sorted(FILES.glob("*.json")):
        judge = Oracle(path).judge() if options.judge == "oracle" else options.judge
        results.append(live(Labelled(path), judge))
        if options.show:
            for name, cases in results[-1].misses.items():
                print(f"\n{path.stem}: {MEASURES[name]}", *cases, sep="\n  ")
    for name, what in MEASURES.items():
        each = "  ".join(
            f"{one.share(name):.2f} ({one.found[name][0]}/{one.found[name][1]})"
            for one in results
            if name in one.found
        )
        print(f"{total(results).share(name):.3f}  {each}  {what}")


if __name__ == "__main__":
    main()
