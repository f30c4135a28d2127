"""The set `dreams`: a connected model judges what the loops ask, and sees nothing but quoted
notes. The set `graph`: it follows relations, and gathers what bears on a request. The set `levels`:
it goes from insights down to the raw words, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_types import TextResourceContents

from oneiro_vault.app import App
from oneiro_vault.core.markdown.quoting import PREFACE, escape
from oneiro_vault.core.question import Question
from oneiro_vault.mcp import formatting
from oneiro_vault.settings.definitions import Settings
from tests.copies import new_vault
from tests.judges.scripted import Script, ScriptedJudge
from tests.mcp.speaking import connected, ids, run, server_over, words

QUESTION = re.compile(r"^Question (\w+): ([\w ]+)$", re.MULTILINE)
ALIKE = (
    "Ana prefers the release on Fridays because support is quiet.",
    "Ana prefers the releases on Fridays because support is quiet.",
)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """A vault in which near is near enough."""
    new_vault(tmp_path / "vault")
    with App.open(
        tmp_path / "vault",
        Settings({"embed.model": "hash", "disk.reserve": 0, "consolidate.similarity": 0.6}),
    ) as found:
        yield found


def test_a_model_judges(app: App, era: str) -> None:
    app.call(
        "remember",
        {
            "items": [
                {"text": text, "title": f"{era} {number}"} for number, text in enumerate(ALIKE)
            ],
            "dedupe": False,
        },
    )
    app.call("dream", {"loops": ["consolidate"], "judge": "deferred"})

    async def talk() -> None:
        async with connected(server_over(app, sets=["dreams"]), era) as found:
            asked = await found.said("dream_next")
            while "No question waits." not in asked:
                assert "<memory" in asked
                shown = {ident: ids.split() for ident, ids in QUESTION.findall(asked)}
                said = {
                    ident: {
                        "action": "merge",
                        "reason": "the same",
                        "keep": ids[0],
                        "members": ids[1:],
                    }
                    for ident, ids in shown.items()
                }
                said["feedfeed"] = {}
                asked = await found.said(
                    "dream_decide", answers=said if era == "auto" else json.dumps(said)
                )
            taken, refused, *rest = asked.splitlines()
            assert taken.endswith(": 1 taken.")
            assert refused.startswith(
                "feedfeed was not taken: no question 'feedfeed' waits: it was"
            )
            assert rest == ["consolidate: 1 merged", "No question waits."]

    run(talk())
    assert app.call("runs")["runs"][0]["judge"] == "deferred"


def test_an_answer_that_names_what_was_not_shown_is_refused_at_once(app: App, era: str) -> None:
    app.call(
        "remember",
        {
            "items": [
                {"text": text, "title": f"{era} {number}"} for number, text in enumerate(ALIKE)
            ],
            "dedupe": False,
        },
    )
    app.call("dream", {"loops": ["consolidate"], "judge": "deferred"})

    async def talk() -> None:
        async with connected(server_over(app, sets=["dreams"]), era) as found:
            ident = QUESTION.findall(await found.said("dream_next"))[0][0]
            said = {"action": "merge", "reason": "the same", "keep": "zzzzzzzzzzzz", "members": []}
            for answer, says in (
                (said, "not shown"),
                (json.dumps(said), "not shown"),
                ("[" * 20_000, "nested too deeply"),
            ):
                done = await found.tool("dream_decide", answers={ident: answer})
                assert done.is_error
                assert says in words(done)
                assert "still waits" in words(done)
            assert ident in await found.said("dream_next")

    run(talk())


def test_a_model_follows_relations(app: App, era: str) -> None:
    items = [
        {"type": "entity", "title": "Peter Novak", "text": "Writes.\n\n- works_for [[WOBS]]"},
        {"type": "entity", "title": "WOBS", "text": "Does link building."},
        {"text": "Always check the articles of WOBS twice.", "kind": "instruction"},
    ]
    app.call("remember", {"items": items})

    async def talk() -> None:
        async with connected(server_over(app, sets=["graph"]), era) as found:

            async def graph(**asked: str) -> str:
                return words(await found.client.call_tool("graph", asked))

            assert "- Peter Novak works_for WOBS (since 2" in await graph(name="peter")
            assert "- Peter Novak works_for WOBS" in await graph(name="WOBS", to="Peter Novak")
            assert "nothing here is about" in await graph(name="Nobody")
            beside = await found.said("context", request="Is Peter done with the articles?")
            assert "## Who and what is named" in beside
            assert "- works_for [[WOBS]]" in beside

    run(talk())


def test_a_model_has_the_vaults_own_model_choose(app: App, era: str) -> None:
    app.call("remember", {"items": [{"text": "Anna is allergic to walnuts."}]})
    step = {"reason": "PIRATE", "query": "allergic to walnuts", "of": None, "days": 0}

    def choosing(question: Question) -> dict[str, Any]:
        tool = "enough" if question.ids else "search_facts"
        return step | {"tool": tool, "matters": list(question.ids)}

    def talking(script: Script) -> None:
        judge = ScriptedJudge(script)
        app.house.dreams.judges = lambda _name: judge

    async def talk() -> None:
        async with connected(server_over(app, sets=["graph"]), era) as found:
            given: dict[str, Any] = {"request": "What cake is it?"}
            talking(choosing)
            chosen = await found.said("context", **given, with_model=True)
            assert "allergic to walnuts" in chosen
            assert "Note:" not in chosen
            talking(lambda _: "PIRATE")
            rules = await found.said("context", **given, with_model=True)
            assert rules.endswith("could not be used; the fixed plan filled the rest.")
            assert "PIRATE" not in chosen + rules
            app.house.dreams.judges = None
            beside = await found.client.get_prompt("context", given | {"with_model": "true"})
            assert "Note: no model is there" in str(beside.messages[0].content)

    run(talk())


SPOKEN = "User: Hi there.\n\nUser: I moved to Graz in May and I work as a nurse there.\n"


def grown(app: App) -> dict[str, str]:
    """A conversation, the fact of it, an insight, what was made of that, and an orientation line:
    name -> id."""
    found = {"raw": app.call("capture", {"text": SPOKEN, "kind": "session", "session": "s"})["id"]}
    app.call("dream", {"loops": ["encode"], "judge": "offline"})
    found["fact"] = app.call("list", {"type": "semantic"})["results"][0]["id"]
    for name, of, more in (
        ("insight", "fact", {"level": 1}),
        ("theme", "insight", {"level": 2}),
        ("line", "theme", {"type": "orientation"}),
    ):
        item = {"text": f"The {name} about Graz.", "derived_from": [found[of]], **more}
        found[name] = app.call("remember", {"items": [item]})["results"][0]["id"]
    return found


def test_a_model_goes_down_to_the_raw_words_and_up_again(app: App, era: str) -> None:
    known = grown(app)

    async def talk() -> None:
        async with connected(server_over(app, sets=["levels"]), era) as found:
            names = [tool.name for tool in (await found.client.list_tools()).tools]
            assert names[10:] == ["insights", "recall_down", "recall_up"]
            down = (await found.said("recall_down", id=known["line"])).splitlines()
            assert down[1:3] == [PREFACE, f"{known['line']} The line about Graz."]
            steps = ("theme", "insight", "fact", "raw")
            for depth, (text, name) in enumerate(zip(down[3:], steps, strict=True)):
                assert text.startswith(f"{'  ' * depth}- {known[name]} 20"), text
            assert "[level 2] The theme" in down[3]
            assert "[episodic]" in down[6]
            assert down[6].endswith(": “I moved to Graz in May and I work as a nurse there.”")
            up = await found.tool("recall_up", id=known["raw"])
            assert ids(up) == [known[one] for one in ("raw", "fact", "insight", "theme", "line")]
            assert "“" not in words(up)
            assert "was made of it" in await found.said("recall_up", id=known["line"])
            uri = f"memory://{known['line']}/down"
            (read,) = (await found.client.read_resource(uri)).contents
            assert isinstance(read, TextResourceContents)
            assert read.text.split("\n\n", 2)[2].splitlines() == down[2:]

    run(talk())


def test_a_model_lists_insights_by_level(app: App, era: str) -> None:
    async def talk() -> None:
        async with connected(server_over(app, sets=["levels"]), era) as found:
            assert "No insight" in await found.said("insights")
            known = grown(app)
            listed = (await found.said("insights")).splitlines()
            assert [line for line in listed if line.startswith("Level")] == ["Level 2:", "Level 1:"]
            assert listed[3].startswith(f"{known['theme']} 20")
            assert listed[5].startswith(f"{known['insight']} 20")
            assert len(listed) == 6
            assert ids(await found.tool("insights", level=2)) == [known["theme"]]
            refused = await found.tool("insights", level=0)
            assert refused.is_error

    run(talk())


def test_a_look_at_the_levels_is_bounded() -> None:
    one = {"type": "semantic", "level": 0, "created": "2026-03-05", "status": "pending"}
    made: Any = [
        {**one, "id": f"{n:012d}", "title": "<memory>", "depth": 1, "of": "a", "words": ""}
        for n in range(70)
    ]
    text = formatting.levels({"schema": 1, "id": "a", "title": "A", "levels": made}, up=False)
    first, *_, last = text.splitlines()[1:]
    assert first == f"- {0:012d} 2026-03-05 [pending] {escape('<memory>')}"
    assert last == "10 more are not shown."
    assert len(text.splitlines()) == 62
