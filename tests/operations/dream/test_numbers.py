"""What a report, its title, its commit and the answer say in numbers is the same thing, whatever
the judge did."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.question import Question, Raw
from oneiro_vault.errors import SettingsError
from oneiro_vault.judges.budget import AWAY
from oneiro_vault.settings.definitions import Settings
from tests.judges.scripted import TEMPERAMENTS, ScriptedJudge, temperament
from tests.judges.wire import Endpoint, endpoint
from tests.operations.dream.support import OTHERS, SETTINGS, TWINS, dream, fill, git, judged, merge

PAIRS = (
    *TWINS,
    "The ferry to Kiel leaves every day at six.",
    "The ferry to Kiel leaves each day at six.",
)
SECTIONS = {
    "decisions": "What changed",
    "left": "Looked at and left as it is",
    "turned_down": "Turned down",
    "failed": "What failed",
}
TITLE = re.compile(
    r"(?:(\d+) left as it is|(\d+) turned down|(\d+) of (\d+) questions? failed|(\d+) not asked|"
    r"(\d+) (?:waiting for an answer|left open)|a fault|(\d+) [a-z ]+?(?: \(proposed\))?)"
)


def entries(body: str, section: str) -> int:
    """Entries of a section of a report."""
    return len(re.findall(r"(?m)^- ", body.partition(f"## {section}\n")[2].partition("\n## ")[0]))


def titled(run: Mapping[str, Any]) -> dict[str, int]:
    """The numbers in a title."""
    names = ("left", "turned_down", "failed", "calls", "unasked", "waiting", "decisions")
    found = dict.fromkeys(names, 0)
    said = run["title"].partition(": ")[2]
    for part in said.split(", ") if said != "nothing to change" else ():
        match = TITLE.fullmatch(part)
        assert match, part
        for name, number in zip(names, match.groups(), strict=True):
            found[name] += int(number or 0)
    return found


def agree(root: Path, run: Mapping[str, Any]) -> None:
    """Title, lists, cost and commit of a run with a report of its own say the same."""
    if not run["report"]:
        assert not run["decisions"] + run["failed"]
        return
    _, body = yaml_block.read((root / str(run["report"])).read_text())
    subject = git(root, "log", "-1", "--format=%s", "--", run["report"]).strip()
    assert subject == f"ledger: report of {run['title']}"
    bad = sum(one["kind"] not in ("loop", "judge") for one in run["failed"])
    unasked = sum(one["questions"] for one in run["unasked"])
    lists = {name: entries(body, section) for name, section in SECTIONS.items()}
    assert lists == {name: len(run[name]) for name in SECTIONS}, body
    counted = titled(run)
    assert counted == lists | {
        "failed": bad,
        "calls": run["calls"] if bad else 0,
        "unasked": unasked,
        "waiting": run["waiting"],
    }
    cost = body.partition("## Cost\n\n")[2]
    asked = re.match(
        r"(\d+) questions? asked(?: \(([^)]*)\))?(?:: (\d+) answered, (\d+) failed)?; (\d+) "
        r"answered before; ([\d,]+) tokens in",
        cost,
    )
    assert asked, cost
    assert (
        int(asked[1])
        == run["calls"]
        == sum(int(part.split()[0]) for part in (asked[2] or "0 x").split(", "))
    )
    assert (asked[3] is None) == (bad == 0)
    assert bad == 0 or (int(asked[3]), int(asked[4])) == (run["calls"] - bad, bad)
    assert (int(asked[5]), int(asked[6].replace(",", ""))) == (run["known"], run["tokens_in"])
    assert run["calls"] or not run["tokens_in"] + run["tokens_out"] + run["estimated"]
    assert sum(int(number) for number in re.findall(r"(\d+) not asked", cost)) == unasked


@pytest.fixture
def full(app: App) -> App:
    """Something to ask for every kind of loop."""
    fill(app, *PAIRS[4:])
    app.call(
        "remember",
        {
            "items": [
                {"text": "The flat is in Porto.", "type": "orientation", "title": "Where Ana lives"}
            ]
        },
    )
    app.call(
        "capture",
        {"text": "User: Ana moved to Porto in May.\n\nUser: The boat now lies in Kiel, said Ana."},
    )
    return app


@pytest.mark.parametrize("name", [*TEMPERAMENTS, "breaks", "waits", "negative"])
def test_every_judge(full: App, root: Path, name: str) -> None:
    def broken(question: Question) -> Raw:
        raise OSError("gone")

    made = {
        "breaks": ScriptedJudge(broken),
        "waits": ScriptedJudge(lambda _: Raw(problem="later", waits=True)),
        "negative": ScriptedJudge(
            lambda question: Raw(merge(question), tokens_in=-5, tokens_out=-5)
        ),
    }
    judged(full, made.get(name) or temperament(name, seed=3))
    for _ in range(2):
        for run in full.call("dream")["runs"]:
            agree(root, run)


def test_an_honest_judge_within_a_ceiling(root: Path) -> None:
    with App.open(root, Settings(SETTINGS | {"dreams.calls": 2})) as app:
        fill(app, *PAIRS, *OTHERS)
        judged(app)
        run = dream(app)
        agree(root, run)
        assert run["title"] == "consolidate: 2 merged, 1 not asked"
        assert run["unasked"] == [
            {"problem": "the ceiling of calls is reached (2)", "questions": 1}
        ]
        run = dream(app)
        agree(root, run)
        assert run["title"] == "consolidate: 1 merged"


def test_what_waits_for_review_is_called_proposed(full: App, root: Path) -> None:
    run = dream(full, review=True)
    assert run["title"] == "consolidate: 2 merged (proposed), 1 turned down"
    assert f"report of {run['title']}" in git(root, "log", "-1", "--format=%s", run["branch"])


def test_what_was_not_carried_out_is_not_counted_as_made(full: App, root: Path) -> None:
    """Somebody stops the run between two decisions."""

    def stop(stage: str, done: int, _total: int) -> None:
        if stage == "consolidate: deciding" and done == 2:
            full.house.dreams.cancel.set()

    from oneiro_vault.operations.dream import run_now

    (run,) = run_now.dream(full.house, ["consolidate"], progress=stop)["runs"]
    agree(root, run)
    assert run["title"] == "consolidate: 1 merged, 1 turned down"
    assert "Not carried out any more: 1 of 2 decisions" in (root / str(run["report"])).read_text()


@pytest.fixture
def vendor() -> Iterator[Endpoint]:
    with endpoint() as state:
        yield state


Open = Callable[..., App]


@pytest.fixture(params=["anthropic", "openai"])
def wired(request: pytest.FixtureRequest, root: Path, vendor: Endpoint) -> Iterator[Open]:
    """Opens a vault with three pairs whose judge is a vendor's real SDK, with these settings."""
    url = vendor.url + ("/v1" if request.param == "openai" else "")
    key = root.parent / "key"
    key.write_text("k")
    with ExitStack() as opened:

        def build(**settings: Any) -> App:
            machine = {
                "dreams.judge": request.param,
                "dreams.model": "m",
                "dreams.url": url,
                "dreams.key_file": str(key),
            }
            app = opened.enter_context(
                App.open(
                    root,
                    Settings(SETTINGS | machine | {f"dreams.{k}": v for k, v in settings.items()}),
                )
            )
            fill(app, *PAIRS, *OTHERS)
            return app

        yield build


def test_a_stage_has_its_model_and_a_run_its_price(wired: Open, vendor: Endpoint) -> None:
    run = dream(wired(model="large consolidate=small encode=other", prices="1000 2000", spend=5.0))
    assert {sent["model"] for sent in vendor.seen} == {"small"}
    assert run["cost"] == (run["tokens_in"] + 2 * run["tokens_out"]) / 1000
    with pytest.raises(SettingsError, match=r"without dreams\.prices"):
        dream(wired(spend=5.0))


@pytest.mark.parametrize("what", ["401", "400", "not json", "strange", "refusal", "cut"])
def test_a_night_in_which_every_question_failed_says_so(
    wired: Open, root: Path, vendor: Endpoint, what: str
) -> None:
    vendor.plan, app = [what], wired()
    run = dream(app)
    agree(root, run)
    assert run["title"] == "consolidate: 3 of 3 questions failed"
    assert run["decisions"] == []


@pytest.mark.slow
@pytest.mark.parametrize("what", ["hang", "drip"])
def test_a_run_with_a_hanging_endpoint_ends_with_its_report(
    wired: Open, root: Path, vendor: Endpoint, what: str
) -> None:
    """And what was answered before is decided."""
    vendor.plan, app = [what], wired(minutes=0.05)
    run = dream(app)
    agree(root, run)
    assert run["title"].startswith("consolidate: 3 of 3 questions failed")
    assert "the run's time is over (0.05 minutes)" in (root / str(run["report"])).read_text()
    assert run["estimated"] == 3


def test_who_fails_again_and_again_is_asked_nothing_more_that_night(
    wired: Open, root: Path, vendor: Endpoint
) -> None:
    """Four questions are with it at once: they fail once."""
    vendor.plan, app = ["401"], wired()
    for word in ("harbour", "kitchen", "lantern", "orchard", "violin", "garden"):
        fill(
            app,
            f"The {word} of Ana {word}s the {word}y every day at two.",
            f"The {word} of Ana {word}s the {word}y each day at two.",
        )
    app.call(
        "capture",
        {"text": "User: Ana moved to Porto in May.\n\nUser: The boat now lies in Kiel, said Ana."},
    )
    runs = {
        run["loop"]: run
        for run in app.call("dream", {"loops": ["encode", "consolidate", "split"]})["runs"]
    }
    for run in runs.values():
        agree(root, run)
    assert runs["encode"]["title"] == "encode: 1 of 1 question failed"
    assert 5 <= runs["consolidate"]["calls"] < 9, "the fifth is asked when the first has failed"
    assert len(vendor.seen) < 1 + 9
    assert f"failed {AWAY} times in a row" in runs["consolidate"]["unasked"][0]["problem"]
    vendor.plan, vendor.text = (
        ["ok"],
        '{"reason": "no", "action": "keep_distinct", "keep": null, "members": []}',
    )
    again = dream(app)
    assert (again["calls"], again["failed"], again["unasked"]) == (9, [], [])


def test_tokens_that_nobody_counted_are_called_estimated(
    wired: Open, root: Path, vendor: Endpoint
) -> None:
    vendor.text, vendor.usage = (
        '{"reason": "no", "action": "keep_distinct", "keep": null, "members": []}',
        None,
    )
    app = wired()
    run = dream(app)
    agree(root, run)
    assert run["estimated"] == run["calls"] == 3
    assert run["tokens_in"] > 300
    assert (
        app.call("runs")["runs"][0]["title"] == "consolidate: nothing to change (3 questions asked)"
    )
