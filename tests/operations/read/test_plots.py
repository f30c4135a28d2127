"""The numbers behind the charts are those of the vault."""

from __future__ import annotations

from pathlib import Path

from oneiro_vault.app import App
from oneiro_vault.judges.budget import Spent
from oneiro_vault.mind import report
from oneiro_vault.mind.report import Run
from tests.operations.conftest import Call, stored


def test_the_numbers_of_a_small_vault(app: App, call: Call) -> None:
    boat = stored(call, "The boat is called Petrel.")
    stored(call, "Ask before deleting.", type="principle", title="Ask")
    stored(call, "We sailed.", type="episodic", created="2020-01-01", timestamp="2020-01-01")
    for _ in range(2):
        call("show", id=boat)
    call("feedback", id=boat, useful=True)
    found = call("plots")
    assert {name: sum(days.values()) for name, days in found["growth"].items()} == {
        "semantic": 1, "principle": 1, "episodic": 1,
    }  # fmt: skip
    assert found["growth"]["episodic"] == {"2020-01-01": 1}
    assert sum(found["strengths"]) == 2
    assert (found["strengths"][0], found["lasting"], found["faded"]) == (1, 1, 1)
    (only,) = found["influence"]
    assert (only["id"], only["useful"]) == (boat, 1)
    assert sum(found["uses"]["looked"].values()) == only["uses"] - 1
    assert found["nights"] == []


def test_what_a_night_cost_is_read_from_its_report(app: App, call: Call, root: Path) -> None:
    run = Run("r1", "distil", "api", "2026-03-05T03:00:00+00:00")
    run.asked.update({"same": 1200})
    run.spent = Spent(1200, 1_234_567, 89, 0.25, estimated=3)
    small = Run("r2", "link", "api", "2026-03-05T03:00:00+00:00")
    small.asked.update({"same": 1})
    small.spent = Spent(1, 10, 2)
    body = "\n".join(report._cost(one) for one in (run, small))
    assert report.costs_of(body) == (1201, 1_234_577, 91, 0.25)
    assert report.costs_of("## Cost\n\nnothing of that\n") == (0, 0, 0, 0.0)
    place = root / "dreams" / "2026" / "03"
    place.mkdir(parents=True)
    (place / "2026-03-05-distil-r1.md").write_text(
        f"---\ntype: dream\ntitle: distil\ncreated: 2026-03-05T03:00:00+00:00\n---\n{body}\n"
    )
    app.house.indexing.reconcile()
    (night,) = call("plots")["nights"]
    assert (night["day"], night["questions"], night["cost"]) == ("2026-03-05", 1201, 0.25)
