"""Somebody's own words answer a question that calls them by their name, though they never do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.operations.conftest import Call, stored

FILLER = ("The boat lies in Bergen harbour.", "Invoices are paid on the tenth.", "Hens want sun.")


def meaning(call: Call, query: str) -> dict[str, float]:
    """Id -> what meaning tells of it."""
    rows = call("recall", query=query, explain=True)["results"]
    return {row["id"]: row["why"]["parts"].get("vector", 0.0) for row in rows}


@pytest.fixture
def told(call: Call, root: Path) -> tuple[str, str]:
    """The same said by a person in a conversation, and filed by somebody: (said, filed)."""
    (root / "semantic").mkdir(exist_ok=True)
    head = "id: sa1dsa1dsa1d\ntype: semantic\ntrust: said\ncreated: 2026-03-01T10:00:00Z"
    text = f"---\n{head}\n---\nI keep my chisels in the barn.\n"
    (root / "semantic" / "said.md").write_text(text)
    filed = stored(call, "I keep my chisels in the shed.")
    for text in FILLER:
        stored(call, text)
    call("reindex")
    return "sa1dsa1dsa1d", filed


def test_whoever_speaks_is_asked_as_they_would_ask(call: Call, told: tuple[str, str]) -> None:
    said, filed = told
    found = meaning(call, "Where does Garvan keep Garvan's chisels?")
    assert found[said] > found[filed] > 0


def test_a_question_without_a_name_is_asked_as_it_stands(
    call: Call, root: Path, told: tuple[str, str]
) -> None:
    """What meaning tells of own words is what it tells of the same words that somebody filed."""
    said, _ = told
    named = "Where does Garvan keep Garvan's chisels?"
    before = meaning(call, "where are the chisels?"), meaning(call, named)
    path = root / "semantic" / "said.md"
    path.write_text(path.read_text("utf-8").replace("trust: said", "trust: user"), "utf-8")
    call("reindex")
    after = meaning(call, "where are the chisels?"), meaning(call, named)
    assert after[0][said] == pytest.approx(before[0][said], abs=1e-3)
    assert after[1][said] < before[1][said]


def test_own_words_with_the_name_are_asked_as_it_stands(call: Call, told: tuple[str, str]) -> None:
    said, filed = told
    found = meaning(call, "Where does Barn keep chisels?")
    assert found[said] >= found[filed] > 0
    assert found[said] < meaning(call, "Where does Garvan keep chisels?")[said]
