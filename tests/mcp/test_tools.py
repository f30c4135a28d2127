"""Every tool on every way: in memory, over the owner's socket, over the stdio bridge, in both
protocol eras."""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.api import Progress
from oneiro_vault.core.markdown.quoting import PREFACE
from oneiro_vault.core.memory import make_id
from oneiro_vault.mcp.request_context import Desk
from oneiro_vault.mcp.server import build
from tests.box import Box
from tests.mcp.conformance.fixtures import PNG
from tests.mcp.speaking import Speak, connected, ids, over_stdio, run, words

TEN = (
    "recall_orient recall_check recall_specific recall_image remember remember_with_image reframe "
    "forget reflect flagged"
).split()


def fresh(text: str) -> str:
    """A sentence that no other test stores."""
    return f"{text} ({secrets.token_hex(4)})"


@pytest.mark.slow
def test_there_are_ten_and_three_are_always_loaded(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            tools = (await found.client.list_tools()).tools
            assert [tool.name for tool in tools] == TEN
            marked = [tool.name for tool in tools if (tool.meta or {}).get("anthropic/alwaysLoad")]
            assert marked == ["recall_orient", "recall_check", "remember"]
            hints = {tool.name: tool.annotations for tool in tools}
            assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == {
                *TEN[:4],
                "flagged",
            }
            assert {name for name, hint in hints.items() if hint and hint.destructive_hint} == {
                "forget"
            }
            assert all(hint and hint.open_world_hint is False for hint in hints.values())
            assert all(tool.description and tool.output_schema is None for tool in tools)

    run(talk())


def test_remember_then_check_then_specific(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            text = fresh("Ana wants releases on Fridays, because support is quiet then.")
            stored = await found.tool(
                "remember", text=text, about=["Ana"], tags=["release"], when="2026-03-05"
            )
            (ident,) = ids(stored)
            assert words(stored).startswith("20")
            assert f"Remembered as {ident} (Ana wants" in words(stored)
            about = {"entity": "Ana", "tag": "release"}
            asked = await found.tool("recall_check", topic=text, limit=6, **about)
            # Those of the other ways say the same: hashes of words put them in an order of chance.
            assert ident in ids(asked)
            now, preface, *rows = words(asked).splitlines()
            assert (now[:7], preface) == ("Now: 20", PREFACE)
            assert [row for row in rows if row.startswith(f"{ident} 2026-03-05 Ana wants")]
            full = await found.tool("recall_specific", ids=[ident[:6], "zzzz"])
            assert ids(full) == [ident]
            assert f'<memory id="{ident}" created="2026-03-05' in words(full)
            assert f"{text}\n</memory>" in words(full)
            assert words(full).endswith(
                "zzzz: no memory has the id 'zzzz'. recall_check returns ids."
            )

    run(talk())


def test_a_model_says_what_helped_and_what_was_wrong(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            good = await found.id("remember", text=fresh("The mooring at Bergen is number nine."))
            bad = await found.id("remember", text=fresh("The chandler of Bergen shuts at four."))
            told = await found.tool("recall_specific", helped=[good[:8]], wrong=[bad, "zzzzzzzz"])
            now, _, *lines = words(told).splitlines()
            assert now.startswith("Now: 20")
            assert lines[0].startswith(f"Noted: {good} (The mooring")
            assert lines[0].endswith("helped.")
            assert lines[1].startswith(f"Noted: {bad} (The chandler")
            assert "counts as wrong" in lines[1]
            assert lines[2:] == [
                "Not noted: no memory has the id 'zzzzzzzz'. recall_check returns ids."
            ]
            assert ids(told) == [good, bad]
            full = await found.said("recall_specific", ids=[good], helped=[bad])
            assert full.index(f"Noted: {bad}") < full.index(f'<memory id="{good}"')

    run(talk())


def test_one_text_is_all_there_is(speak: Speak) -> None:
    """Clients that find structured content hand their model that alone, or both: nobody may miss
    the preface, nobody pays twice."""

    async def talk() -> None:
        async with speak() as found:
            ident = await found.id("remember", text=fresh("The ferry has two decks."))
            for name, arguments in (
                ("recall_orient", {}),
                ("recall_specific", {"ids": [ident]}),
                ("forget", {"id": ident}),
                ("forget", {"id": "x"}),
            ):
                answer = await found.tool(name, **arguments)
                assert answer.structured_content is None
                assert [block.type for block in answer.content] == ["text"]

    run(talk())


def test_the_same_again_is_a_duplicate(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            text = fresh("The staging database is restored from its backup every night at two.")
            first = await found.id("remember", text=text)
            again = await found.tool("remember", text=text)
            assert ids(again) == [first]
            assert f"Known already as {first}" in words(again)
            assert "reframe that one" in words(again)

    run(talk())


def test_what_it_is_much_like_is_named(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            text = fresh("The lighthouse keeper sleeps in the western tower until October")
            first = await found.id("remember", text=text)
            second = await found.tool("remember", text=f"{text} or November")
            assert re.search(r"Much like \w{12} \(The lighthouse keeper", words(second))
            assert "reframe that one" in words(second)
            assert ids(second) != [first]
            other = " ".join(
                make_id(secrets.randbits(60)) for _ in range(8)
            )  # the vault is shared by all ways in
            assert "Much like" not in await found.said("remember", text=other)

    run(talk())


def test_a_document_is_no_memory(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            long = fresh("All work and no play. ") * 1_000
            ident = await found.id("remember", text=fresh("The crane is yellow."))
            for name, arguments in (
                ("remember", {"text": long}),
                ("reframe", {"id": ident, "text": long}),
                ("reflect", {"highlights": long}),
            ):
                refused = await found.tool(name, **arguments)
                assert refused.is_error, name
                assert "at most 20,000 are stored" in words(refused)
                assert "one idea a memory" in words(refused)

    run(talk())


def test_nothing_relevant_is_said_plainly(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            asked = await found.tool("recall_check", topic="xylophone", tag="no-such-tag")
            assert ids(asked) == []
            assert "No relevant memory." in words(asked)

    run(talk())


def test_reframe_keeps_the_id_and_forget_takes_away(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            ident = await found.id(
                "remember", text=fresh("The boat lies in the north harbour."), type="episodic"
            )
            text = fresh("The boat lies in the south harbour.")
            changed = await found.said(
                "reframe", id=ident, text=text, title="Where the boat lies", reason="it moved"
            )
            assert changed.endswith(f"{ident} says this now.")
            assert text in await found.said("recall_specific", ids=[ident])
            assert f"{ident} (Where the boat lies) is forgotten." in await found.said(
                "forget", id=ident, reason="sold"
            )
            missing = await found.said("recall_specific", ids=[ident])
            assert "was forgotten" in missing
            assert "A person can help" in missing

    run(talk())


def test_reflect_stores_an_episode_and_updates(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            ident = await found.id("remember", text=fresh("The ferry leaves at nine."))
            updates = [
                {"id": ident, "text": fresh("The ferry leaves at ten."), "summary": "Ten now."},
                {"id": "zzzz", "text": "Nothing."},
            ]
            done = await found.tool(
                "reflect",
                highlights=fresh("We found out that the timetable changed."),
                updates=updates,
            )
            assert f"Updated: {ident}." in words(done)
            assert (
                "Not updated: zzzz: no memory has the id 'zzzz'. recall_check returns ids."
                in words(done)
            )
            assert ids(done)[1:] == [ident]
            assert " · episodic · " in await found.said("recall_specific", ids=ids(done)[:1])

    run(talk())


def test_a_picture_there_and_back(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            ident = await found.id(
                "remember_with_image", text=fresh("The harbour at noon."), image=PNG, alt="a dot"
            )
            shown = await found.tool("recall_image", id=ident, size="full")
            assert f"memory {ident} (1 x 1, image/png)" in words(shown)
            (image,) = [block for block in shown.content if block.type == "image"]
            assert image.mime_type == "image/png"
            assert base64.b64decode(image.data).startswith(b"\x89PNG")

    run(talk())


def test_a_picture_by_its_path(speak: Speak, tmp_path: Path) -> None:
    async def talk() -> None:
        async with speak() as found:
            place = tmp_path / "harbour.png"
            place.write_bytes(base64.b64decode(PNG))
            ident = await found.id(
                "remember_with_image", text=fresh("The harbour at dusk."), path=str(place)
            )
            shown = await found.tool("recall_image", id=ident, size="full")
            assert [block.type for block in shown.content] == ["text", "image"]
            neither = await found.tool("remember_with_image", text="Nothing.")
            assert "Give one of them." in words(neither)

    run(talk())


def test_orient_shows_what_is_recent(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            text = fresh("A person called Bo joined the team.")
            ident = await found.id("remember", text=text)
            assert ident in ids(
                await found.tool("recall_orient", n=15)
            )  # several may be of one second
            assert len(ids(await found.tool("recall_orient", n=1))) == 1
            assert ids(await found.tool("recall_orient", n=0)) == []
            assert ident in ids(await found.tool("recall_orient", context=text))

    run(talk())


def test_flagged_lists_open_questions(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            shown = await found.tool("flagged", limit=5)
            assert ids(shown) == []
            assert "No open questions." in words(shown)

    run(talk())


@pytest.mark.model
def test_the_first_question_of_a_conversation_is_asked_by_meaning(box: Box) -> None:
    """The owner has just been started for it, and its model is not loaded."""
    box.ok("stop")
    box.env["ONEIRO_EMBED_MODEL"] = "default"
    boat = box.remember("Kasper's boat lies in the harbour of Vlissingen.")["id"]
    box.ok("stop")

    async def talk() -> None:
        async with over_stdio(box, "auto") as found:
            for tool, asked in (("recall_check", "topic"), ("recall_orient", "context")):
                answer = await found.tool(tool, **{asked: "where does he keep his yacht?"})
                assert ids(answer)[:1] == [boat]
                assert "Incomplete" not in words(answer)

    run(talk())


def test_a_question_does_not_wait_for_its_meaning_for_ever() -> None:
    asked: list[Any] = []

    async def call(_op: str, params: Mapping[str, Any], _progress: Progress) -> dict[str, Any]:
        asked.append(params["fast"])
        if not params["fast"]:
            await asyncio.Event().wait()
        return {"results": [], "degraded": "embedder warming", "behind": 0}

    async def talk() -> None:
        async with connected(build(call, patience=0.01), "auto") as found:
            answer = await found.tool("recall_check", topic="the boat")
            assert words(answer).endswith("Incomplete: embedder warming.")

    run(talk())
    assert asked == [False, True]


def test_a_time_out_of_something_else_is_no_reason_to_ask_by_words() -> None:
    asked: list[Any] = []

    async def ask(fast: bool) -> str:
        asked.append(fast)
        raise TimeoutError("a disk far away")

    async def call(*_: object) -> dict[str, Any]:
        raise AssertionError

    async def talk() -> None:
        with pytest.raises(TimeoutError, match="far away"):
            await Desk(call).by_meaning(ask)

    run(talk())
    assert asked == [False]


WRONG: list[tuple[str, dict[str, object], str]] = [
    ("recall_specific", {"ids": []}, "ids"),
    ("recall_specific", {"ids": ["x"] * 21}, "ids"),
    ("recall_specific", {"wrong": ["x"] * 21}, "None was noted. Give at most 20."),
    ("recall_check", {}, "topic"),
    ("recall_check", {"topic": "tea", "limit": "many"}, "limit"),
    ("recall_check", {"topic": ""}, "recall_check: topic is empty"),
    ("recall_check", {"topic": " "}, "recall_check: topic is empty"),
    ("recall_check", {"topic": "tea", "since": "not a date at all"}, "not a date"),
    ("remember", {"text": "x", "type": "orientation"}, "type"),
    ("remember", {"text": "Words.", "actor": "user"}, "no argument 'actor'"),
    ("remember", {"text": "Words.", "trust": "user"}, "It takes text, title"),
    ("remember", {"text": "   "}, "empty"),
    ("remember_with_image", {"text": "A picture.", "image": "not base64!"}, "base64"),
    ("reframe", {"id": "zzzzzzzzzzzz", "text": "x"}, "recall_check returns ids."),
    ("forget", {"id": "../../etc/passwd"}, "not an id"),
    ("recall_image", {"id": "zzzzzzzzzzzz"}, "no memory has the id"),
    ("no_such_tool", {}, "no_such_tool"),
]


def test_what_is_wrong_is_told_to_the_model(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            for name, arguments, said in WRONG:
                answer = await found.tool(name, **arguments)
                assert answer.is_error, name
                assert said in words(answer), words(answer)
                assert "Traceback" not in words(answer)
                assert "pydantic" not in words(answer)

    run(talk())
