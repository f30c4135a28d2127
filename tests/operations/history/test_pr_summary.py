"""`pr-summary`: two commits by memory, as tables that nothing in a note can break out of."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.errors import InvalidInput
from oneiro_vault.mind.base import Snapshot
from oneiro_vault.mind.report import Run, body_of
from oneiro_vault.operations.history.pr_summary import LARGEST
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.worktree.files import digest
from tests.operations.conftest import Call, stored
from tests.vault.support import git


def summary(app: App, base: str) -> dict[str, Any]:
    return app.call("pr_summary", {"range": f"{base}..HEAD"})


def edited(app: App, ident: str, op: str, reason: str = "", **changes: object) -> None:
    """What a loop would do to a note's frontmatter."""
    row = app.house.indexing.resolve(ident)
    data = app.house.vault.read(row.path)
    new = yaml_block.encode(yaml_block.edit(yaml_block.decode(data), changes))
    app.house.vault.apply(
        [Write(row.path, new, digest(data))],
        Operation(op, row.title, "dream", (ident,), reason, judge="offline"),
    )
    app.house.indexing.refresh([row.path])


def test_each_kind_of_change_has_its_table(app: App, call: Call) -> None:
    ids = [
        stored(call, f"Fact number {number} about the harbour.", title=f"Fact {number}")
        for number in range(6)
    ]
    block = stored(call, "Ana likes short answers.", type="orientation", title="Ana")
    base = app.house.vault.head()
    new = stored(call, "The boat is called Petrel.", title="Boat")
    call("reframe", id=ids[0], text="Fact number 0 about the lighthouse.", reason="she | said so")
    edited(app, ids[1], "merge", "the same", status="superseded", superseded_by=new)
    edited(app, ids[2], "supersede", "a new fact", status="superseded", superseded_by=new)
    call("forget", id=ids[3], reason="of no use")
    edited(app, ids[4], "flag", "they differ", flags=["contradiction"])
    edited(app, ids[5], "revise", "it ended", valid_until="2026-01-01")
    call("reframe", id=block, text="Ana likes long answers.")
    stored(call, "A proposal.", status="pending", title="Maybe")
    stored(call, "User: hello", type="episodic", source="capture", title="Talk")
    found = summary(app, base)
    assert found["counts"] == {
        "Newly believed": 1, "Revised": 1, "Merged": 1, "Retired": 3, "Contradicted": 1,
        "Orientation": 1, "Waiting for a decision": 1,
    }  # fmt: skip
    text = found["markdown"]
    assert (
        f"| **Boat** (semantic, `{new[:8]}`) | The boat is called Petrel. | user, trusted as user "
        f"| remember |" in text
    )
    assert "about the ~~harbour~~ **lighthouse** . | she \\| said so |" in text
    assert f"| **Boat** (semantic, `{new[:8]}`) | the same (judged by offline) |" in text
    assert "superseded by **Boat**" in text
    assert "| forgotten | of no use |" in text
    assert "held until 2026-01-01" in text
    assert "| contradiction |" in text
    assert "| Ana likes short answers. | Ana likes ~~short~~ **long** answers. |" in text
    assert "1 captured conversations" in text
    assert "Always loaded: 1 blocks with 25 characters before, 1 with 24 after." in text
    assert "Asked now by their titles" in text
    assert len([line for line in text.splitlines() if line.startswith("| ")]) == 9 + 7


def test_words_of_a_note_stay_in_their_cell(app: App, call: Call) -> None:
    base = app.house.vault.head()
    stored(
        call,
        "a | b\n\n| x | y |\n|---|---|\n# Approved by @everyone\n<script>alert(1)</script>",
        title="### Looks good | really",
    )
    text = summary(app, base)["markdown"]
    assert "@" not in text
    assert "<script" not in text.replace("\\<script", "")
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "## What this changes in the memory",
        "### Newly believed (1)",
        "### Recall",
    ]


def test_a_branch_is_compared_with_where_it_began(app: App, call: Call, root: Path) -> None:
    stored(call, "Of both.")
    git(root, "branch", "side")
    stored(call, "Of main only.", title="Mine")
    git(root, "switch", "-q", "side")
    (root / "side.md").write_text("---\ntype: semantic\ntitle: Theirs\n---\nOf the side.\n")
    git(root, "add", "side.md")
    git(root, "commit", "-qm", "by hand")
    git(root, "switch", "-q", "-")
    found = app.call("pr_summary", {"range": "HEAD..side"})
    assert found["counts"]["Newly believed"] == 1
    assert (
        "**Theirs** (semantic) | Of the side. | a person, trusted as user | by hand |"
        in found["markdown"]
    )
    assert found["recall"] is None, "the index is of another commit"


def test_reports_of_runs_are_summed_and_not_listed(app: App, call: Call, root: Path) -> None:
    base = app.house.vault.head()
    for number in (1, 2):
        told = Run("abcd1234", "consolidate", "scripted", "2026-11-22T00:00:00+01:00")
        told.probes = {"probes": 10 * number, "before": 9, "after": 8, "dropped": number}
        body = body_of(told, Snapshot(0.0, {}))
        (root / f"dream{number}.md").write_text(
            f"---\ntype: dream\ntitle: Run\nstatus: archived\n---\n{body}"
        )
    (root / "broken.md").write_bytes(b"---\ntitle: [\n---\n")
    app.house.vault.edits.commit()
    found = summary(app, base)
    assert (
        "2 runs of loops: 30 probes; 18 found their memory before, 16 after; 3 decisions dropped"
        in found["markdown"]
    )
    assert "nothing that is believed changes" in found["markdown"]
    assert found["unreadable"] == ["broken.md"]
    assert "Not readable as notes, so not looked at: broken.md" in found["markdown"]


@pytest.mark.parametrize("span", ["", "nothing..HEAD", "HEAD..nothing", "--output=x..HEAD", ".."])
def test_a_range_that_is_none(app: App, span: str) -> None:
    with pytest.raises(InvalidInput, match="names no commit"):
        app.call("pr_summary", {"range": span})


def test_nothing_new_says_so(app: App) -> None:
    assert "0 commits: nothing that is believed changes." in summary(app, "HEAD")["markdown"]


@pytest.mark.slow
def test_a_large_change_still_fits_into_a_pull_request(app: App, call: Call) -> None:
    def kept(number: int) -> str:
        return stored(
            call,
            f"Fact number {number}. " + "Words of it. " * 40,
            title=f"Fact {number} " + "with a long name " * 8,
        )

    old = [kept(number) for number in range(100, 160)]
    base = app.house.vault.head()
    ids = [kept(number) for number in range(90)]
    for ident in ids[:60]:
        edited(app, ident, "flag", "they differ in everything " * 20, flags=["contradiction"])
    for ident in old:
        call("forget", id=ident, reason="nobody asks for it any more " * 20)
    found = summary(app, base)
    assert len(found["markdown"]) <= LARGEST
    assert (found["counts"]["Newly believed"], found["counts"]["Retired"]) == (90, 60)
    rows = found["markdown"].split("### Newly believed (90)")[1].split("###")[0]
    shown = sum(line.startswith("| **Fact") for line in rows.splitlines())
    assert 0 < shown < 50
    assert f"and {90 - shown} more." in rows


def test_what_has_faded_is_not_lost(app: App, call: Call) -> None:
    """Nobody looked for a year, so no automatic load brings it; a question does, and that is what
    the summary tells."""
    base = app.house.vault.head()
    ident = stored(
        call, "The harbour of Kiel closes at nine.", title="Harbour hours", type="episodic"
    )
    now = time.time()
    app.house.clock = lambda: now + 400 * 86_400
    assert call("strength", id=ident)["strength"] < app.house.settings["decay.faded"]
    assert call("recall", query="Harbour hours", passive=True)["results"] == []
    found = summary(app, base)
    assert found["recall"] == {"asked": 1, "found": 1, "lost": []}
    assert "Not found" not in found["markdown"]


def test_what_is_not_found_is_named(app: App, call: Call) -> None:
    stored(call, "The harbour of Kiel closes at nine.", title="Harbour hours")
    base = app.house.vault.head()
    for number in range(12):
        stored(
            call,
            f"Harbour hours harbour hours, said for the {number}th time.",
            title="Harbour hours",
        )
    found = summary(app, base)["recall"]
    assert (found["asked"], found["found"], found["lost"]) == (
        12,
        12 - len(found["lost"]),
        ["Harbour hours"] * len(found["lost"]),
    )
    assert found["lost"]
