"""What resource addresses stand for: stamps that change when something behind them does,
completions, reports. None of it is a use."""

from __future__ import annotations

from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import InvalidInput, NotFound


def remembered(app: App, text: str) -> dict[str, Any]:
    row: dict[str, Any] = app.call("remember", {"items": [{"text": text}]})["results"][0]
    return row


def write(app: App, path: str, text: str) -> None:
    file = app.house.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_a_stamp_changes_with_what_is_behind_it(app: App) -> None:
    one, other = (
        remembered(app, "The boat is called Petrel."),
        remembered(app, "The ferry leaves at nine."),
    )
    asked = {
        "ids": [one["id"], other["id"][:5], "zzzz", "x", "../../etc"],
        "dates": ["2026-11-22", "nonsense"],
    }
    before = app.call("stamps", asked)
    assert before["memories"][one["id"]]
    assert before["memories"][other["id"][:5]]
    assert [before["memories"][name] for name in ("zzzz", "x", "../../etc")] == [None, None, None]
    app.call("reframe", {"id": one["id"], "text": "The boat is called Albatross."})
    after = app.call("stamps", asked)
    assert [
        name for name in asked["ids"] if after["memories"][name] != before["memories"][name]
    ] == [one["id"]]
    assert (after["orientation"], after["dreams"]) == (before["orientation"], before["dreams"])
    write(
        app,
        "orientation/harbour.md",
        "---\ntype: orientation\ntitle: Harbour\n---\nOpen from six.\n",
    )
    write(app, "dreams/2026/11/2026-11-22-decay.md", "# Decay\n\nNothing faded.\n")
    last = app.call("stamps", asked)
    assert last["orientation"] != after["orientation"]
    assert last["dreams"]["2026-11-22"] != after["dreams"]["2026-11-22"]
    app.call("forget", {"id": one["id"]})
    assert app.call("stamps", asked)["memories"][one["id"]] is None


def test_ids_are_completed_newest_first(app: App) -> None:
    old = app.call("remember", {"items": [{"text": "Long ago.", "created": "2020-01-01"}]})[
        "results"
    ][0]["id"]
    new = remembered(app, "Just now it rained.")["id"]
    assert app.call("complete", {"kind": "memory"})["values"] == [new, old]
    assert app.call("complete", {"kind": "memory", "prefix": old[:3]})["values"] == [old]
    assert app.call("complete", {"kind": "memory", "prefix": old})["total"] == 1
    for nonsense in ("../", "%", "a b", "' OR 1=1"):
        assert app.call("complete", {"kind": "memory", "prefix": nonsense})["values"] == []
    assert app.house.uses.all() == {}


def test_dates_that_have_a_report_are_completed(app: App) -> None:
    for path in (
        "2026/11/2026-11-22-decay.md",
        "2026/11/2026-11-22-distil.md",
        "2026/10/2026-10-01-decay.md",
        "2026/10/2026-11-01-misfiled.md",
        "2026/10/note.md",
    ):
        write(app, f"dreams/{path}", "# A report\n")
    assert app.call("complete", {"kind": "dream"})["values"] == ["2026-11-22", "2026-10-01"]
    assert app.call("complete", {"kind": "dream", "prefix": "2026-10"})["total"] == 1
    with pytest.raises(InvalidInput):
        app.call("complete", {"kind": "nonsense"})


def test_the_reports_of_a_date(app: App) -> None:
    write(app, "dreams/2026/11/2026-11-22-distil.md", "# Distilled\n\nOne block.\n")
    write(app, "dreams/2026/11/2026-11-22-consolidate.md", "# Consolidated\n\nTwo notes.\n")
    (app.house.root / "dreams/2026/11/2026-11-22-link.md").symlink_to("/etc/passwd")
    found = app.call("reports", {"date": "2026-11-22"})["reports"]
    assert [one["title"] for one in found] == ["Consolidated", "Distilled"]
    assert "Two notes." in found[0]["body"]
    with pytest.raises(NotFound):
        app.call("reports", {"date": "2026-11-23"})
    for nonsense in ("../../etc", "2026-11-22/../..", "", 7):
        with pytest.raises(InvalidInput):
            app.call("reports", {"date": nonsense})
