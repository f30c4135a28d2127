"""The set `dreams`: a connected model judges what the loops ask, and sees nothing but quoted
notes. The set `graph`: it follows relations, and gathers what bears on a request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.app import App, init_vault
from oneiro_vault.settings.definitions import Settings
from tests.mcp.speaking import connected, run, server_over, words

QUESTION = re.compile(r"^Question (\w+): ([\w ]+)$", re.MULTILINE)
ALIKE = (
    "Ana prefers the release on Fridays because support is quiet.",
    "Ana prefers the releases on Fridays because support is quiet.",
)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """A vault in which near is near enough."""
    init_vault(tmp_path / "vault")
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
                asked = await found.said(
                    "dream_decide", answers=said if era == "auto" else json.dumps(said)
                )
            assert asked.splitlines()[0].endswith(": 1 taken.")
            assert asked.splitlines()[1:] == ["consolidate: 1 merged", "No question waits."]

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
