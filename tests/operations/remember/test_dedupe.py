"""What counts as said already, when many memories come at once or in a stream; nothing that is news
is ever dropped."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.core import memory
from oneiro_vault.errors import InvalidInput
from tests.operations.conftest import Call, stored
from tests.operations.remember.test_write import commits, git

TURNS = [
    {"text": f"{who}: Ha!", "session": "s", "type": "episodic", "created": "2024-03-05"}
    for who in ("Ana", "Bo", "Ana", "Ana")
]


def ids(done: dict[str, Any]) -> list[str]:
    return [row["id"] for row in done["results"]]


def fresh(done: dict[str, Any]) -> list[bool]:
    return [row["duplicate_of"] is None for row in done["results"]]


def test_many_at_once_are_stored_once(root: Path, call: Call) -> None:
    items = [{"text": "One fact."}, {"text": "Another fact."}]
    first = call("remember", items=items)
    before = commits(root)
    again = call("remember", items=[*items, {"text": "A third fact."}])
    assert fresh(again) == [False, False, True]
    assert ids(again)[:2] == ids(first)
    assert [row["sha256"] for row in again["results"][:2]] == [
        row["sha256"] for row in first["results"]
    ]
    assert commits(root) == before + 1
    assert (
        call("why", id=ids(first)[0])["uses"]["days"] == 0
    )  # reading a file again is no use of a memory
    assert fresh(call("remember", items=items, dedupe=False)) == [True, True]


def test_equal_turns_of_a_conversation_are_different_events_and_the_same_file_is_not(
    call: Call,
) -> None:
    first = call("remember", items=TURNS)
    assert fresh(first) == [True] * 4
    assert ids(call("remember", items=TURNS)) == ids(first)
    more = call("remember", items=[*TURNS, TURNS[0]])
    assert fresh(more) == [False] * 4 + [True]


def test_a_conversation_without_a_session_is_known_again(call: Call) -> None:
    items = [{key: value for key, value in turn.items() if key != "session"} for turn in TURNS]
    first = call("remember", items=items)
    assert fresh(first) == [True] * 4
    assert ids(call("remember", items=items)) == ids(first)


def test_a_stream_tells_what_it_was_answered_with(call: Call) -> None:
    """Turns that come one by one: the second equal one is another event, the second run of the
    stream is not."""

    def stream() -> list[str]:
        taken: list[str] = []
        for turn in TURNS:
            taken += ids(call("remember", items=[turn], dedupe="exact", taken=taken))
        return taken

    first = stream()
    assert len(set(first)) == 4
    assert stream() == first


def test_one_by_itself_in_a_conversation_is_always_news(call: Call) -> None:
    assert (
        fresh(call("remember", items=[TURNS[0]]))
        == fresh(call("remember", items=[TURNS[0]]))
        == [True]
    )


def test_short_words_are_known_too(call: Call) -> None:
    assert stored(call, "Tea") == stored(call, "Tea")


def test_words_under_another_name_are_found_where_they_are(root: Path, call: Call) -> None:
    """A person moved the note and added a key: the words are the same."""
    done = call("remember", items=[{"text": "Moved about."}, {"text": "Left alone."}])
    path = root / done["results"][0]["path"]
    text = path.read_text().replace("\n---\n", "\nmood: calm\n---\n")
    path.unlink()
    (root / "elsewhere.md").write_text(text)
    again = call("remember", items=[{"text": "Moved about."}, {"text": "Left alone."}])
    assert fresh(again) == [False, False]
    assert again["results"][0]["path"] == "elsewhere.md"
    assert again["results"][0]["sha256"] == sha256(text.encode()).hexdigest()
    assert git(root, "show", "HEAD:elsewhere.md") == text  # what is acknowledged is in history


def test_an_uncommitted_word_of_a_person_is_not_acknowledged_as_durable(
    root: Path, call: Call
) -> None:
    row = call("remember", items=[{"text": "Durable one."}, {"text": "Durable two."}])["results"][0]
    path = root / row["path"]
    path.write_text(path.read_text().replace("\n---\n", "\nmood: calm\n---\n"))
    again = call("remember", items=[{"text": "Durable one."}, {"text": "Durable two."}])["results"][
        0
    ]
    assert again["sha256"] == row["sha256"]
    assert sha256(git(root, "show", f"HEAD:{row['path']}").encode()).hexdigest() == row["sha256"]


def test_superseded_words_count_and_pending_ones_do_not(call: Call) -> None:
    items = [
        {"text": "Old and replaced.", "status": "superseded"},
        {"text": "Only proposed.", "status": "pending"},
    ]
    call("remember", items=items)
    assert fresh(call("remember", items=[{"text": item["text"]} for item in items])) == [
        False,
        True,
    ]


def test_forgotten_words_stay_forgotten_unless_a_person_says_them(call: Call) -> None:
    ident = stored(call, "A thing to forget.")
    call("forget", id=ident)
    with pytest.raises(
        InvalidInput, match=f"memory 1: {ident} said this and was forgotten"
    ) as caught:
        call("remember", items=[{"text": "A thing to forget."}, {"text": "Something else."}])
    assert "restore" in caught.value.hint
    assert stored(call, "A thing to forget.") != ident


def test_an_id_that_is_brought_along(root: Path, call: Call) -> None:
    item = {"text": "From another vault.", "id": "7k2m9x4q8w3n"}
    assert stored(call, **item) == "7k2m9x4q8w3n"
    assert fresh(call("remember", items=[item])) == [False]
    with pytest.raises(InvalidInput, match="7k2m9x4q8w3n is already the id of"):
        call("remember", items=[item | {"text": "Other words."}])
    with pytest.raises(InvalidInput, match="given by the vault"):
        call("remember", items=[{"text": "x", "id": "7k2m9x4q8w30"}], actor="model")
    call("forget", id="7k2m9x4q8w3n")
    with pytest.raises(InvalidInput, match="was forgotten"):
        call("remember", items=[item])


def test_what_is_not_indexed_yet_is_not_stored_twice(root: Path, call: Call, app: App) -> None:
    items = [{"text": f"Fact {n} of the crash."} for n in range(5)]
    first = call("remember", items=items)
    app.house.index.rebuild()
    for row in first["results"]:
        app.house.index.refresh([row["path"]])
    assert ids(call("remember", items=items)) == ids(first)


def test_only_known_ways_to_compare(call: Call) -> None:
    with pytest.raises(InvalidInput, match="dedupe must be"):
        call("remember", items=[{"text": "x"}], dedupe="maybe")


def test_notes_name_no_twin_of_another_type(root: Path, call: Call) -> None:
    one, two = call(
        "remember", items=[{"text": "Same words."}, {"text": "Same words.", "type": "principle"}]
    )["results"]
    assert one["id"] != two["id"]
    assert {
        memory.parse(row["path"], (root / row["path"]).read_bytes()).type for row in (one, two)
    } == {"semantic", "principle"}
