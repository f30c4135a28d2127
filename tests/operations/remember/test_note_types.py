"""Types are six of ours and whatever a person's own notes name; anything else is a slip, and said
to be one."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import InvalidInput
from tests.operations.conftest import Call, hits, stored

OWN = "---\ntype: Recipe\n---\nLentil soup with cumin and lemon.\n"


@pytest.mark.parametrize(
    "ask",
    [
        lambda call: call("recall", query="soup", type=["semantic", "banana"]),
        lambda call: call("recall", query="soup", type="banana"),
        lambda call: call("list", type="banana"),
        lambda call: call("remember", items=[{"text": "Soup is good.", "type": "banana"}]),
    ],
    ids="recall recall-one list remember".split(),
)
def test_an_unknown_type_is_an_error_that_lists_the_known_ones(call: Call, ask: object) -> None:
    with pytest.raises(InvalidInput, match="there is no type 'banana' here") as caught:
        ask(call)  # type: ignore[operator]  # a table of callables
    assert "episodic, semantic, orientation, entity, procedure, principle" in caught.value.hint
    assert "`type: banana`" in caught.value.hint
    assert call("list")["results"] == []


def test_the_nearest_one_is_named(call: Call) -> None:
    with pytest.raises(InvalidInput, match="did you mean 'semantic'"):
        call("list", type="semantc")
    with pytest.raises(InvalidInput, match="did you mean 'pending'"):
        call("list", status="pendin")
    with pytest.raises(InvalidInput, match="there is no status"):
        call("recall", query="x", status=["active", "open"])


def test_case_does_not_matter(call: Call) -> None:
    ident = stored(call, "Ana leads the release.", type="Entity")
    assert call("show", id=ident)["meta"]["type"] == "entity"
    assert hits(call, "Ana", type="ENTITY") == [ident]
    assert [row["id"] for row in call("list", type="Entity", status="Active")["results"]] == [ident]


def test_a_type_of_a_persons_own_is_served_filtered_and_written(call: Call, root: Path) -> None:
    (root / "soup.md").write_text(OWN)
    assert call("recall", query="lentil soup", type="recipe")["results"][0]["path"] == "soup.md"
    assert [row["path"] for row in call("list", type="recipe")["results"]] == ["soup.md"]
    stored(call, "Bread with rye and honey.", type="recipe")
    assert len(call("list", type="recipe")["results"]) == 2
    (root / "plain.md").write_text("Just words.\n")
    assert [row["path"] for row in call("list", type="note")["results"]] == ["plain.md"]


def test_check_names_types_that_are_not_ours_once_each_and_slips_louder(
    call: Call, root: Path
) -> None:
    for number in range(3):
        (root / f"soup{number}.md").write_text(OWN)
    (root / "slip.md").write_text("---\ntype: semantc\n---\nMistyped by hand.\n")
    found = {
        (p["level"], p["path"]): p["message"]
        for p in call("check")["problems"]
        if p["code"] == "type"
    }
    assert found.keys() == {("info", "soup0.md"), ("warning", "slip.md")}
    assert "3 notes have the type 'recipe'" in found["info", "soup0.md"]
    assert "did you mean 'semantic'" in found["warning", "slip.md"]
    assert (root / "slip.md").read_text().startswith("---\ntype: semantc\n")


def test_while_an_index_is_being_built_a_filter_is_not_refused(call: Call, app: App) -> None:
    app.house.owner = True
    app.house.reconcile()
    app.house.owe()
    assert call("recall", query="soup", type="recipe")["results"] == []
    with pytest.raises(InvalidInput):
        stored(call, "Soup.", type="recipe")


def test_a_bad_line_among_many_is_refused_alone(call: Call) -> None:
    items = [{"text": "One good thing."}, {"text": "A slip.", "type": "banana"}]
    found = call("remember", items=items, partial=True)
    assert [row["title"] for row in found["results"]] == ["One good thing."]
    assert [(bad["item"], "banana" in bad["message"]) for bad in found["rejected"]] == [(1, True)]
