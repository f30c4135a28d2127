"""Every tool on every way: in memory, over the owner's socket, over the stdio bridge, in both protocol eras."""

from __future__ import annotations

import base64
import secrets

from oneiro_vault.core.quoting import PREFACE
from tests.mcp.conformance.fixtures import PNG
from tests.mcp.speaking import Speak, run, words

TEN = "recall_orient recall_check recall_specific recall_image remember remember_with_image reframe forget reflect flagged".split()


def fresh(text: str) -> str:
    """A sentence that no other test stores."""
    return f"{text} ({secrets.token_hex(4)})"


def test_there_are_ten_and_two_are_always_loaded(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            tools = (await found.client.list_tools()).tools
            assert [tool.name for tool in tools] == TEN
            marked = [tool.name for tool in tools if (tool.meta or {}).get("anthropic/alwaysLoad")]
            assert marked == ["recall_orient", "recall_check"]
            hints = {tool.name: tool.annotations for tool in tools}
            assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == {*TEN[:4], "flagged"}
            assert {name for name, hint in hints.items() if hint and hint.destructive_hint} == {"forget"}
            assert all(hint and hint.open_world_hint is False for hint in hints.values())
            assert all(tool.output_schema and tool.description for tool in tools)

    run(talk())


def test_remember_then_check_then_specific(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            text = fresh("Ana wants releases on Fridays, because support is quiet then.")
            stored = await found.data("remember", text=text, about=["Ana"], tags=["release"], when="2026-03-05")
            assert stored["duplicate_of"] is None
            assert stored["now"][:2] == "20"
            asked = await found.tool("recall_check", topic=text, entity="Ana", tag="release", limit=3)
            assert asked.structured_content is not None
            row = asked.structured_content["memories"][0]
            assert (row["id"], row["created"][:10], row["type"], row["trust"]) == (stored["id"], "2026-03-05", "semantic", "model")
            assert "text" not in row
            assert words(asked).startswith("Now: 20")
            assert PREFACE in words(asked)
            assert f"- {stored['id']} · 2026-03-05 · semantic · Ana wants" in words(asked)
            full = await found.tool("recall_specific", ids=[stored["id"][:6], "zzzz"])
            assert full.structured_content is not None
            (whole,) = full.structured_content["memories"]
            assert whole["text"].startswith(f'<memory id="{stored["id"]}" created="2026-03-05')
            assert whole["text"].endswith(f"{text}\n</memory>")
            assert whole["text"] in words(full)
            assert [one["id"] for one in full.structured_content["missing"]] == ["zzzz"]
            assert "recall_check returns ids." in full.structured_content["missing"][0]["reason"]

    run(talk())


def test_the_same_again_is_a_duplicate(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            text = fresh("The staging database is restored from its backup every night at two.")
            first = await found.data("remember", text=text)
            again = await found.data("remember", text=text)
            assert again["duplicate_of"] == again["id"] == first["id"]

    run(talk())


def test_nothing_relevant_is_said_plainly(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            asked = await found.tool("recall_check", topic="xylophone", tag="no-such-tag")
            assert asked.structured_content is not None
            assert asked.structured_content["memories"] == []
            assert "No relevant memory." in words(asked)

    run(talk())


def test_reframe_keeps_the_id_and_forget_takes_away(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            ident = (await found.data("remember", text=fresh("The boat lies in the north harbour."), type="episodic"))["id"]
            text = fresh("The boat lies in the south harbour.")
            changed = await found.data("reframe", id=ident, text=text, title="Where the boat lies", reason="it moved")
            assert changed == {"now": changed["now"], "id": ident, "proposal": None}
            assert text in (await found.data("recall_specific", ids=[ident]))["memories"][0]["text"]
            gone = await found.data("forget", id=ident, reason="sold")
            assert (gone["id"], gone["title"]) == (ident, "Where the boat lies")
            missing = (await found.data("recall_specific", ids=[ident]))["missing"]
            assert "was forgotten" in missing[0]["reason"]
            assert "A person can help" in missing[0]["reason"]

    run(talk())


def test_reflect_stores_an_episode_and_updates(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            ident = (await found.data("remember", text=fresh("The ferry leaves at nine.")))["id"]
            updates = [{"id": ident, "text": fresh("The ferry leaves at ten."), "summary": "Ten now."}, {"id": "zzzz", "text": "Nothing."}]
            done = await found.data("reflect", highlights=fresh("We found out that the timetable changed."), updates=updates)
            assert [one["id"] for one in done["updated"]] == [ident]
            (failed,) = done["failed"]
            assert (failed["id"], failed["hint"]) == ("zzzz", "recall_check returns ids.")
            assert (await found.data("recall_specific", ids=[done["id"]]))["memories"][0]["type"] == "episodic"

    run(talk())


def test_a_picture_there_and_back(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            stored = await found.data("remember_with_image", text=fresh("The harbour at noon."), image=PNG, alt="a dot")
            (picture,) = stored["images"]
            assert (picture["mime"], picture["width"], picture["height"]) == ("image/png", 1, 1)
            shown = await found.tool("recall_image", id=stored["id"], size="full")
            assert shown.structured_content is not None
            assert shown.structured_content["sha256"] == picture["sha256"]
            (image,) = [block for block in shown.content if block.type == "image"]
            assert image.mime_type == "image/png"
            assert base64.b64decode(image.data).startswith(b"\x89PNG")

    run(talk())


def test_orient_shows_what_is_recent(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            text = fresh("A person called Bo joined the team.")
            ident = (await found.data("remember", text=text))["id"]
            shown = await found.data("recall_orient", n=15)  # several may be of one second
            assert ident in [row["id"] for row in shown["recent"]]
            assert len((await found.data("recall_orient", n=1))["recent"]) == 1
            assert (await found.data("recall_orient", n=0))["recent"] == []
            assert ident in [row["id"] for row in (await found.data("recall_orient", context=text))["recent"]]

    run(talk())


def test_flagged_lists_open_questions(speak: Speak) -> None:
    async def talk() -> None:
        async with speak() as found:
            shown = await found.tool("flagged", limit=5)
            assert shown.structured_content is not None
            assert shown.structured_content["questions"] == []
            assert "No open questions." in words(shown)

    run(talk())


WRONG: list[tuple[str, dict[str, object], str]] = [
    ("recall_specific", {"ids": []}, "ids"),
    ("recall_specific", {"ids": ["x"] * 21}, "ids"),
    ("recall_check", {}, "topic"),
    ("recall_check", {"topic": "tea", "limit": "many"}, "limit"),
    ("recall_check", {"topic": " "}, "no question"),
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
