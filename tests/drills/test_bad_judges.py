"""A hundred nights of all loops over a real vault, judged by one who always agrees, one who never
does, one who says anything, one who takes everything there is, one who invents and one who denies.

Days bring conversations (some of them with orders planted in them), a person's own notes, and now
and then an edit. After every night all that the loops promise is looked at from outside: by git, by
the files, and by asking.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from oneiro_vault.app import App
from oneiro_vault.classify.orientation_gate import objection
from oneiro_vault.core import memory as memories
from oneiro_vault.core.markdown.orientation import belongs
from oneiro_vault.core.memory import Memory
from oneiro_vault.core.question import Question
from oneiro_vault.errors import StaleMemory
from oneiro_vault.mind.validate import SMALLEST_BRAKE
from oneiro_vault.operations.dream.run_now import LOOPS
from oneiro_vault.settings.definitions import Settings
from tests.bar.test_injection import ORDERS
from tests.copies import new_vault
from tests.judges.scripted import ScriptedJudge, leaning, temperament
from tests.month.life import Clock
from tests.operations.dream.support import git
from tests.vault.support import sound

CAP: Final = 4
"""Lower than the default, so that every judge who ever agrees reaches it."""
DAY: Final = 86_400.0
OLD: Final = 5
"""Runs of long ago that are taken back in the end."""
SETTINGS: Final[dict[str, Any]] = {
    "embed.model": "hash",
    "disk.reserve": 0,
    "edits.quiet": 0.0,
    "whittle.cap": CAP,
    "synthesize.due": 3,
}
PERSON: Final = ("The house stands in Kiel.", "Maya may be called May.")
_WHO: Final = "Maya Leo Ana Bertil Quorn".split()
_WHAT: Final = (
    "keeps the ferry tickets in",
    "moved the backup to",
    "wants the meeting in",
    "paints the boat in",
    "reads the paper in",
)
INVENTED: Final = (
    "The user owns a castle in Transylvania and twelve dragons that keep the ferry tickets"
)
LIES: Final = ("Transylvania", "dragons", "does not")
"""What only a judge that invents or denies brings."""
_FACT: Final = re.compile("|".join(_WHAT))
_WHOLE: Final = re.compile(rf"\w+ (?:{'|'.join(_WHAT)}) \w+, number \d+\.")
_WHERE: Final = "Kiel Basel Lyon Turin Malmo Ghent Porto Bergen Trieste Gdansk".split()


def everything(question: Question) -> dict[str, Any]:
    """The first of every choice, of facts and memories all."""
    found = (
        _in_words(question, lambda words: words)
        if question.kind == "encode.units"
        else leaning(question, True)
    )
    return {
        key: list(question.ids) if key in ("also", "members", "sources") else value
        for key, value in found.items()
    }


def invents(question: Question) -> dict[str, Any]:
    """Agrees, in words of which nobody said any; it cites what was said."""
    return _in_words(question, lambda _words: f"{INVENTED}.")


def negates(question: Question) -> dict[str, Any]:
    """Agrees, and says the contrary of all it is shown; it cites what was said."""
    return _in_words(
        question, lambda words: re.sub(r"^(?:On [\d-]+ )?(\w+) ", r"\1 does not ", words)
    )


def _in_words(question: Question, say: Callable[[str], str]) -> dict[str, Any]:
    found = leaning(question, True)
    said = [
        words.removeprefix("User: ")
        for one in question.shown
        for words in one.text.split("\n")
        if _FACT.search(words)
    ]
    if question.kind == "encode.units":
        made = [
            {"content": say(words), "title": "", "about": [], "tags": [], "happened": ""}
            for words in said
        ]
        return found | {
            "units": [
                one | {"quote": quote}
                for one, words in zip(made, said, strict=True)
                for quote in ("", words)
            ]
        }
    words = say((said or [question.given])[0])
    return {
        key: words[:100] if key == "title" else words if key in ("text", "content") else value
        for key, value in found.items()
    }


HABITS: Final = {"everything": everything, "invents": invents, "negates": negates}

ASKS_NOBODY = "entities"
"""The loop whose profiles quote people and depend on no judge."""


@dataclass
class Life:
    """A vault through its nights, and everything that must never go."""

    root: Path
    app: App
    clock: Clock
    rng: random.Random
    said: dict[str, str] = field(default_factory=dict)
    """id -> words that came in, and must be readable ever after."""
    asked: dict[str, str] = field(default_factory=dict)
    """id -> a question that found it when it was new."""
    mine: list[str] = field(default_factory=list)
    """ids of the person's own notes."""
    edited: dict[str, str] = field(default_factory=dict)
    """path -> the line a person added last."""
    runs: list[dict[str, Any]] = field(default_factory=list)
    oriented: bool = False

    def day(self, number: int) -> None:
        """What a day brings: a conversation on most, a note of the person's on some, an edit on a
        few."""
        if number % 3 != 2:
            planted = f"\n\nUser: {self.rng.choice(ORDERS)}" if number % 5 == 0 else ""
            for talk in range(2):
                text = (
                    "\n\n".join(f"User: {self._fact()}" for _ in range(2))
                    + planted
                    + "\n\nAssistant: Noted."
                )
                done = self.app.call(
                    "capture", {"text": text, "kind": "session", "session": f"talk-{number}-{talk}"}
                )
                self.said[done["id"]] = text
        if number % 2 == 0:
            text = self._fact()
            (row,) = self.app.call(
                "remember", {"items": [{"text": text}], "actor": "user", "dedupe": False}
            )["results"]
            self.said[row["id"]] = text
            self.mine.append(row["id"])
        if self.mine:  # what is looked at on several days may enter the orientation
            self.app.call("get", {"ids": self.rng.sample(self.mine, min(4, len(self.mine)))})
        if number % 7 == 6:
            self._edit(number)

    def _fact(self) -> str:
        return (
            f"{self.rng.choice(_WHO)} {self.rng.choice(_WHAT)} {self.rng.choice(_WHERE)}, number "
            f"{self.rng.randrange(10_000)}."
        )

    def _edit(self, number: int) -> None:
        """A person adds a line to a note that still stands, whoever wrote it."""
        rows = self.app.call("list", {"type": "semantic", "limit": 10_000})["results"]
        live = sorted(row["path"] for row in rows if row["status"] == "active")
        path, line = (
            self.rng.choice(live),
            f"A person adds on day {number}: the key hangs on hook {number}.",
        )
        file = self.root / path
        file.write_text(
            f"{file.read_text(encoding='utf-8').rstrip()}\n\n{line}\n", encoding="utf-8"
        )
        self.edited[path] = line

    def night(self) -> None:
        """All loops, once; and what must be true of every night."""
        self.clock.now += DAY
        before = len(self._notes())
        runs = self.app.call("dream", {})["runs"]
        self.runs += runs
        assert [run["loop"] for run in runs] == list(LOOPS)
        limit = max(SMALLEST_BRAKE, int(self.app.house.settings["dreams.brake"] * (before + 1)))
        for run in runs:
            assert run["report"] or not (run["decisions"] or run["failed"]), run
            assert run["report"] is None or (self.root / run["report"]).is_file()
            assert run["probes"]["after"] >= run["probes"]["before"], run["probes"]
            assert not [one for one in run["failed"] if one["kind"] in ("loop", "judge")], run[
                "failed"
            ]
            makes = run["loop"] in ("encode", ASKS_NOBODY)  # new notes, of which there may be many
            assert makes or len(run["decisions"]) <= limit + len(run["left"])

    def _notes(self) -> dict[str, Memory]:
        """Every note with an id, as its file says."""
        found = (
            memories.parse(str(path.relative_to(self.root)), path.read_bytes())
            for path in self.root.rglob("*.md")
        )
        return {one.id: one for one in found if one.id}

    def sound(self) -> None:
        """Nothing lost, nothing anybody else's touched, and an orientation that is small, never
        empty again, and only describes."""
        notes = self._notes()
        assert self.said.keys() <= notes.keys()
        for path, line in self.edited.items():
            assert line in (self.root / path).read_text(encoding="utf-8")
        blocks = [
            one for one in notes.values() if one.type == "orientation" and one.status == "active"
        ]
        loose = [one for one in blocks if not one.core]
        assert len(blocks) <= CAP, [one.title for one in blocks]
        assert len(loose) + len([one for one in blocks if one.core]) == len(blocks)
        self.oriented = self.oriented or bool(blocks)
        assert not self.oriented or any(belongs(one) for one in blocks)
        for one in notes.values():
            if one.type == "orientation" and one.source == "dream":
                assert (
                    objection(
                        one.title,
                        one.description,
                        one.body,
                        self.app.house.settings["distil.characters"],
                    )
                    == ""
                ), one
                assert not one.core
                assert one.derived_from
                weakest = {notes[ident].trust for ident in one.derived_from if ident in notes}
                assert "external" not in weakest or one.trust == "external"
        self.true(notes)
        text = self.app.call("orient", {})["text"]
        assert all(words in text for words in PERSON)
        assert not [order for order in ORDERS if order.strip() in text]

    def true(self, notes: dict[str, Memory]) -> None:
        """Nothing invented or denied is known, and no fact gave way to one about another
        subject."""
        for one in notes.values():
            if one.type in ("semantic", "orientation") and one.source == "dream":
                assert not [lie for lie in LIES if lie in f"{one.title} {one.body}"], one
            heir = notes.get(one.superseded_by, one)
            if _WHOLE.fullmatch(one.body.strip()) and _WHOLE.fullmatch(heir.body.strip()):
                assert _FACT.findall(one.body) == _FACT.findall(heir.body), (one.body, heir.body)

    def taken_back(self) -> int:
        """Runs of long ago are taken back as far as they still stand: of how many something did.
        The vault stays sound."""
        old = [run["run"] for run in self.runs[: len(self.runs) // 3] if run["decisions"]]
        done = 0
        for run in old[-OLD:]:
            try:
                done += bool(self.app.call("undo", {"run": run, "actor": "user"})["paths"])
            except StaleMemory:  # every note it touched was changed since
                continue
        sound(self.root)
        return done

    def words_kept(self) -> None:
        """Every word that came in can be read: in its own note as it was, or in the history of a
        note somebody said anew."""
        notes = self._notes()
        for ident, words in self.said.items():
            if words.strip() not in notes[ident].body:
                story = git(
                    self.root, "log", "--format=", "-p", "--follow", "--", notes[ident].path
                )
                assert all(line in story for line in words.splitlines()), (ident, words)
        assert git(self.root, "log", "--diff-filter=D", "--format=%H", "--", "*.md") == ""
        decisions = git(
            self.root, "log", "--format=%(trailers:key=Oneiro-Decision,valueonly)"
        ).split()
        assert len(decisions) == len(set(decisions))
        reports = {run["report"] for run in self.runs}
        told = {row["report"] for row in self.app.call("runs", {"limit": 100_000})["runs"]}
        assert told | {None} == reports | {None}
        sound(self.root)

    def leads_to(self, ident: str) -> set[str]:
        """A memory and all that took its place or was made of it."""
        notes = self._notes()
        found, todo = {ident}, [ident]
        while todo:
            one = todo.pop()
            by = {notes[one].superseded_by} if one in notes else set()
            by |= {
                other.id
                for other in notes.values()
                if one in other.supersedes or one in other.derived_from
            }
            fresh = {other for other in by if other} - found
            found |= fresh
            todo += fresh
        return found


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    """A vault with a standing orientation: two blocks of a person's, one of them ratified."""
    root = tmp_path / "vault"
    new_vault(root)
    clock = Clock(1_790_000_000.0)
    with App.open(root, Settings(SETTINGS), clock=clock) as app:
        items = [
            {"text": text, "type": "orientation", "title": text.split()[1].title()}
            for text in PERSON
        ]
        first, _ = app.call("remember", {"items": items, "actor": "user"})["results"]
        app.call("ratify", {"id": first["id"]})
        yield Life(root, app, clock, random.Random(root.parent.name))


def live(life: Life, habit: str, nights: int) -> None:
    """So many days and nights, judged by that habit."""
    judge = ScriptedJudge(HABITS[habit], habit) if habit in HABITS else temperament(habit, 7)
    life.app.house.dreams.judges = lambda _name: judge
    began = time.monotonic()
    for number in range(nights):
        life.day(number)
        life.night()
        life.sound()
        if number % 25 == 24:
            life.words_kept()
    life.words_kept()
    ops: dict[str, int] = {}
    for run in life.runs:
        for one in run["decisions"] if run["loop"] != ASKS_NOBODY else ():
            ops[one["op"]] = ops.get(one["op"], 0) + 1
    back = life.taken_back()
    dropped = sum(run["probes"]["dropped"] for run in life.runs)
    print(
        f"{habit}: {nights} nights in {time.monotonic() - began:.0f} s, {len(judge.asked)} "
        f"questions, {ops}, {dropped} dropped, {back} runs taken back"
    )
    assert back or nights < 100 or habit == "no"
    if habit == "no":
        assert (
            not {"merge", "supersede", "split", "synthesize", "distil", "whittle", "reframe"}
            & ops.keys()
        )
    elif nights >= 100 and habit not in ("invents", "negates"):
        # orientation and its limit are reached by chance where answers name any note
        rare = {"yes": {"distil", "whittle"}, "everything": {"distil"}}.get(habit, set())
        assert {"remember", "supersede", "flag"} | rare <= ops.keys()


@pytest.mark.slow
@pytest.mark.parametrize("habit", ["yes", "no", "random", *HABITS])
def test_some_nights_of_a_bad_judge(life: Life, habit: str) -> None:
    live(life, habit, 2)


@pytest.mark.drill
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("habit", ["yes", "no", "random", *HABITS])
def test_a_hundred_nights_of_a_bad_judge(life: Life, habit: str) -> None:
    live(life, habit, 100)
