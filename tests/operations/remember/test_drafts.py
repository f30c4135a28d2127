"""A request to remember, checked key by key: what may be claimed, what is filled in, and what is
refused by name."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.core import memory
from oneiro_vault.errors import InvalidInput, OneiroError
from tests.operations.conftest import Call, hits, stored
from tests.operations.remember.test_write import clean, commits

CONFLICT = "Look:\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n"


def note(root: Path, call: Call, text: str, actor: str = "user", **keys: Any) -> memory.Memory:
    row = call("remember", items=[{"text": text, **keys}], actor=actor)["results"][0]
    return memory.parse(row["path"], (root / row["path"]).read_bytes())


@pytest.mark.parametrize(
    ("actor", "keys", "says"),
    [
        ("user", {"core": True}, "core is given by a person"),
        ("model", {"source": "user"}, "source cannot be 'user': this comes from 'model'"),
        ("import:chat", {"source": "model"}, "source cannot be 'model'"),
        (
            "model",
            {"trust": "user"},
            "trust cannot be user: what comes from 'model' is trusted as model at most",
        ),
        ("user", {"source": "capture", "trust": "model"}, "trusted as external at most"),
        ("user", {"valid_from": "soon"}, "'soon' is not a date"),
        ("user", {"timestamp": "whenever"}, "'whenever' is not a date"),
    ],
)
def test_nobody_claims_more_than_they_may(
    root: Path, call: Call, actor: str, keys: dict[str, Any], says: str
) -> None:
    before = commits(root)
    with pytest.raises(InvalidInput, match=says) as caught:
        call("remember", items=[{"text": "A claim.", **keys}], actor=actor)
    assert caught.value.kept == "Nothing was written."
    assert commits(root) == before


def test_less_trust_is_fine(root: Path, call: Call) -> None:
    assert note(root, call, "Told by a page.", "model", source="import:web").trust == "external"
    assert note(root, call, "Doubted by its author.", trust="external").trust == "external"
    assert note(root, call, "By the model itself.", "model").trust == "model"


def test_dates_are_written_in_one_form(root: Path, call: Call) -> None:
    found = note(root, call, "True for a while.", valid_from="8 May 2023", valid_until="2024-03")
    assert (found.valid_from[:10], found.valid_until[:10]) == ("2023-05-08", "2024-03-01")
    assert found.problems == ()


def test_unknown_keys_are_kept_and_empty_ones_of_ours_left_out(root: Path, call: Call) -> None:
    found = note(
        root,
        call,
        "With moods.",
        mood="calm",
        sizes=[1, 2],
        empty="",
        title="",
        tags=[],
        session="",
    )
    assert found.extra == {"mood": "calm", "sizes": [1, 2], "empty": ""}
    assert (found.title, found.tags, found.session) == ("With moods.", (), "")


def test_conflict_markers_are_refused_and_may_be_indented(root: Path, call: Call) -> None:
    with pytest.raises(InvalidInput, match="conflict markers of git") as caught:
        stored(call, CONFLICT)
    assert "Indent" in caught.value.hint
    ident = stored(call, CONFLICT.replace("\n", "\n    "))
    with pytest.raises(InvalidInput, match="conflict markers of git"):
        call("reframe", id=ident, text=CONFLICT)
    assert clean(root)


@pytest.mark.parametrize("path", ["taken.md", "TAKEN.md", "taken.md/under.md", "con.md", "a?.md"])
def test_a_place_that_cannot_be_had_costs_only_its_own_note(
    root: Path, call: Call, path: str
) -> None:
    stored(call, "Here first.", path="taken.md")
    items = [
        {"text": "Good and stored."},
        {"text": "Bad place.", "path": path},
        {"text": "Also good.", "path": "free/place.md"},
    ]
    done = call("remember", items=items, partial=True)
    assert [row["title"] for row in done["results"]] == ["Good and stored.", "Also good."]
    assert [bad["item"] for bad in done["rejected"]] == [1]
    assert (root / "taken.md").read_text().endswith("Here first.\n")
    with pytest.raises(OneiroError, match="memory 2: "):
        call("remember", items=items, dedupe=False)


def test_a_place_named_like_ours_is_looked_at_too(root: Path, call: Call) -> None:
    row = call("remember", items=[{"text": "Filed by the machine."}])["results"][0]
    done = call(
        "remember",
        items=[{"text": "Wants its place.", "path": row["path"]}, {"text": "Fine."}],
        partial=True,
    )
    assert ([bad["item"] for bad in done["rejected"]], len(done["results"])) == ([0], 1)


def test_what_cannot_be_written_costs_only_its_own_note(call: Call) -> None:
    deep: Any = "x"
    for _ in range(30):
        deep = [deep]
    items = [
        {"text": "one", "x": deep},
        {"text": "two", "x": 10**30},
        {"text": "three", "x": "y" * 70_000},
        {"text": "four"},
    ]
    done = call("remember", items=items, partial=True)
    assert [bad["item"] for bad in done["rejected"]] == [0, 1, 2]
    assert [row["title"] for row in done["results"]] == ["four"]


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
    app.house.indexing.owner = True
    app.house.indexing.reconcile()
    app.house.indexing.owe()
    assert call("recall", query="soup", type="recipe")["results"] == []
    with pytest.raises(InvalidInput):
        stored(call, "Soup.", type="recipe")


def test_a_bad_line_among_many_is_refused_alone(call: Call) -> None:
    items = [{"text": "One good thing."}, {"text": "A slip.", "type": "banana"}]
    found = call("remember", items=items, partial=True)
    assert [row["title"] for row in found["results"]] == ["One good thing."]
    assert [(bad["item"], "banana" in bad["message"]) for bad in found["rejected"]] == [(1, True)]


def filed(call: Call, *titles: str, **keys: Any) -> list[str]:
    """Where entities of these titles are filed that are remembered together."""
    items = [{"text": f"{title} {n}.", "title": title} for n, title in enumerate(titles)]
    given = {"type": "entity", **keys}
    rows = call("remember", items=[item | given for item in items], dedupe=False)["results"]
    return [row["path"] for row in rows]


@pytest.mark.parametrize(
    "title",
    ["Peter Novak", "Überblick", "Node.js", "Ana-Marie O'Neill", "李小龍", "Project 2.0 (old)"],
)
def test_an_entity_has_a_file_of_its_name(call: Call, title: str) -> None:
    assert filed(call, title) == [f"entities/{title}.md"]


@pytest.mark.parametrize(
    "title",
    [
        "AC/DC", "Part\\whole", "Plan: B", "Why?", "a*b", "<b>", 'The "boss"', "a|b", "C#", "x^2",
        "[[Ana]]", ".hidden", "..", "Acme Inc.", "Writes eight articles…", "~temp", "50%25",
        "CON", "con", "Aux.txt", "COM1", "LPT²", "CONIN$", "NUL .x", "notes.md", "Readme.MD",
        "a\u200bb", "a\u202eb", "x" * 81, "\U0001f600" * 70,
    ],
)  # fmt: skip
def test_what_names_no_file_everywhere_is_filed_by_its_id(call: Call, title: str) -> None:
    (path,) = filed(call, title)
    ident = path[-15:-3]
    assert memory.is_id(ident)
    assert path == f"entities/{memory.slug(title)}-{ident}.md"
    assert len(path) < 100


def test_blanks_around_a_title_are_not_in_the_name(call: Call) -> None:
    assert filed(call, "  Peter Novak ") == ["entities/Peter Novak.md"]


@pytest.mark.parametrize("other", ["Peter Novak", "peter novak", "PETER NOVAK"])
def test_a_name_is_given_once_in_whatever_case(call: Call, other: str) -> None:
    first, second = filed(call, "Peter Novak", other)
    assert first == "entities/Peter Novak.md"
    assert second.startswith("entities/peter-novak-")
    (third,) = filed(call, other)
    assert third.startswith("entities/peter-novak-")
    (fourth,) = filed(call, "Pe\u0301ter", other)[:1]
    assert fourth == "entities/P\u00e9ter.md", "as every system writes it"


def test_a_name_that_a_person_gave_stays_theirs(root: Path, call: Call) -> None:
    """Wherever that is: two files of one name would make their links lead elsewhere."""
    (root / "people").mkdir()
    (root / "people" / "peter novak.md").write_text("A friend.\n")
    (root / "entities").mkdir(exist_ok=True)
    (root / "entities" / "Dana.MD").write_text("An editor.\n")
    call("adopt", paths=["people/peter novak.md"])
    taken = filed(call, "Peter Novak", "Dana")
    assert [path.rpartition("-")[0] for path in taken] == ["entities/peter-novak", "entities/dana"]
    chosen = [
        {"text": "A firm.", "title": "WOBS", "type": "entity"},
        {"text": "Another.", "type": "entity", "path": "entities/wobs.md"},
    ]
    rows = call("remember", items=chosen)["results"]
    assert rows[0]["path"].startswith("entities/wobs-")
    assert rows[1]["path"] == "entities/wobs.md"


def test_other_types_and_paths_are_named_as_before(call: Call) -> None:
    (path,) = filed(call, "Peter Novak", type="procedure")
    assert path.startswith("procedures/peter-novak-")
    assert filed(call, "Peter Novak", path="people/P.md") == ["people/P.md"]


def test_a_forgotten_entity_comes_back_beside_one_that_has_its_name(root: Path, call: Call) -> None:
    first = call("remember", items=[{"text": "Peter writes.", "title": "Peter", "type": "entity"}])
    ident = first["results"][0]["id"]
    before = (root / "entities/Peter.md").read_bytes()
    call("forget", id=ident)
    assert filed(call, "peter") == ["entities/peter.md"]
    back = call("restore", id=ident)
    assert back["path"] == f"entities/Peter-{ident}.md"
    assert (root / back["path"]).read_bytes() == before
    assert clean(root)


@pytest.mark.parametrize("when", ["next year", "2031-03-05", "in 3 days", "in an hour"])
@pytest.mark.parametrize("key", ["created", "timestamp"])
def test_no_memory_is_of_a_day_to_come(
    root: Path, call: Call, app: App, key: str, when: str
) -> None:
    before = commits(root)
    given = after(app, 3600) if when == "in an hour" else when
    for actor in ("user", "model"):
        with pytest.raises(InvalidInput, match=f"`{key}` says when it was learned") as caught:
            call("remember", items=[{"text": "We moved.", key: given}], actor=actor)
        assert "valid_from" in (caught.value.hint or "")
    assert commits(root) == before


def after(app: App, seconds: float) -> str:
    return datetime.fromtimestamp(app.house.clock() + seconds, UTC).isoformat()


def test_a_clock_may_be_ahead_a_little_and_today_has_come(
    root: Path, call: Call, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    note(root, call, "We moved.", created=after(app, 240))
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    today = datetime.fromtimestamp(app.house.clock()).astimezone().date().isoformat()
    assert note(root, call, "It rains.", created=today).created[:10] == today
    monkeypatch.undo()
    time.tzset()
    made = note(root, call, "The new rate.", valid_from="2031-03-05", valid_until="2032-01-01")
    assert made.valid_from.startswith("2031-03-05")


def test_a_conversation_of_a_clock_ahead_is_of_now(root: Path, call: Call) -> None:
    found = call("capture", text="User: We moved to Porto.", kind="session", when="2031-03-05")
    made = memory.parse(found["path"], (root / found["path"]).read_bytes())
    assert not made.created.startswith("2031")
