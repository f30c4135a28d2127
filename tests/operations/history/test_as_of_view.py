"""What was believed then, what was true then, and the two apart."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.errors import InvalidInput, NotFound
from tests.copies import new_vault
from tests.operations.past import Life, life
from tests.vault.support import git

ROME, MILAN = "Ana lives in Rome.", "Ana lives in Milan."


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Life, dict[str, str]]]:
    """Day 0: Rome, a boat, bees. Day 10: it was Milan since 2024, the boat is blue, the bees are
    forgotten. Day 20: today."""
    root = tmp_path_factory.mktemp("past") / "vault"
    new_vault(root)
    with life(root) as found:
        told = [
            {"text": ROME, "valid_from": "2020-01-01", "title": "Ana"},
            {"text": "The boat is red.", "title": "Boat"},
        ]
        made = found.several(*told, {"text": "Bo keeps bees.", "title": "Bees"})
        ids = dict(zip(("rome", "boat", "bees"), made, strict=True))
        found("show", id=ids["boat"])
        found.day = 10
        ids["milan"] = found.remember(
            MILAN, valid_from="2024-06-01", title="Ana", supersedes=[ids["rome"]]
        )
        found.change(ids["rome"], "supersede", status="superseded", superseded_by=ids["milan"])
        found("reframe", id=ids["boat"], text="The boat is blue.")
        found("forget", id=ids["bees"], reason="sold")
        found.day = 20
        yield found, ids


Lived = tuple[Life, dict[str, str]]


def test_what_was_believed_then(lived: Lived) -> None:
    found, _ = lived
    assert found.said("where does Ana live?") == [MILAN]
    then = found("recall", query="where does Ana live?", as_of="15 days ago")
    assert then["results"][0]["snippet"] == ROME
    assert then["results"][0]["now"] == "superseded"
    assert then["as_of"]["asked"] == "15 days ago"
    assert then["as_of"]["title"].startswith("remember: ")
    assert git(found.root, "cat-file", "-t", then["as_of"]["commit"]).strip() == "commit"
    assert (then["degraded"], then["behind"]) == (None, 0)
    assert found.said("who keeps bees?", as_of="15 days ago") == ["Bo keeps bees."]
    assert found.said("who keeps bees?") == []


def test_what_became_of_it_since(lived: Lived) -> None:
    found, ids = lived
    rows = [
        found("recall", query=word, as_of="15 days ago")["results"][0]
        for word in ("Ana", "boat", "bees")
    ]
    now = {row["id"]: row["now"] for row in rows}
    assert now == {ids["rome"]: "superseded", ids["boat"]: "revised", ids["bees"]: "forgotten"}
    assert found("recall", query="boat", as_of="5 days ago")["results"][0]["now"] == "same"


def test_what_was_true_then_is_another_question(lived: Lived) -> None:
    found, _ = lived
    assert found.said("where does Ana live?", valid_at="2022") == [ROME]
    assert found.said("where does Ana live?", valid_at="2025") == [MILAN]
    assert found.said("where does Ana live?", valid_at="2025", as_of="15 days ago") == [ROME], (
        "so it was believed"
    )
    assert set(found.said("where does Ana live?", valid_at="2024")) == {ROME, MILAN}
    row = found("recall", query="Ana", valid_at="2022")["results"][0]
    assert (row["valid"]["from"][:4], row["valid"]["until"][:7], row["valid"]["stated"]) == (
        "2020",
        "2024-06",
        True,
    )
    answer = found("recall", query="Ana Rome", valid_at="2019")
    assert answer["results"] == []
    assert answer["valid_at"]["undated"] == 1, "nobody said since when the boat is blue"
    assert found.said("Ana", valid_at="tomorrow") == [MILAN]
    assert set(found.said("Ana", valid_at="since 2023")) == {ROME, MILAN}


def test_a_memory_as_it_was(lived: Lived) -> None:
    found, ids = lived
    then = found("show", id=ids["boat"][:6], as_of="15 days ago")
    assert (then["body"].strip(), then["now"]) == ("The boat is red.", "revised")
    assert then["as_of"]["commit"]
    uses = found("why", id=ids["boat"])["uses"]
    assert uses["days"] == 1, "a look at the past is no use"
    assert found("show", id=ids["rome"], as_of="15 days ago")["links"] == []


@pytest.mark.parametrize(
    ("which", "when", "words"),
    [
        ("milan", "15 days ago", "not known yet"),
        ("bees", "5 days ago", "already forgotten"),
        ("none", "5 days ago", "no memory had the id"),
    ],
)
def test_an_id_that_was_not_there_then(lived: Lived, which: str, when: str, words: str) -> None:
    found, ids = lived
    with pytest.raises(NotFound, match=words):
        found("show", id=ids.get(which, "zzzzzzzz"), as_of=when)


def test_what_a_person_deleted_or_moved_by_hand(tmp_path: Path) -> None:
    new_vault(tmp_path / "vault")
    with life(tmp_path / "vault") as found:
        ident = found.remember("Bo keeps bees.")
        (found.root / "walk.md").write_text("We walked along the harbour.\n")
        found.app.house.commit_edits()
        found.day = 5
        (found.root / found.app.house.indexing.resolve(ident).path).unlink()
        (found.root / "walk.md").rename(found.root / "long-walk.md")
        found.app.house.commit_edits()
        found.day = 10
        with pytest.raises(NotFound, match="was not there any more"):
            found("show", id=ident, as_of="2 days ago")
        rows = {
            row["path"]: row["now"]
            for row in found("recall", query="harbour bees", as_of="7 days ago")["results"]
        }
        assert (rows["walk.md"], sorted(rows.values())) == ("same", ["forgotten", "same"])


@pytest.mark.parametrize("ident", ["abc", "a/b.md", "", "x" * 4 + "!"])
def test_what_is_no_id(lived: Lived, ident: str) -> None:
    with pytest.raises(InvalidInput, match="is not an id"):
        lived[0]("show", id=ident, as_of="5 days ago")


@pytest.mark.parametrize(
    ("when", "error", "words"),
    [
        ("3 years ago", NotFound, "the history of this vault begins on"),
        ("tomorrow", InvalidInput, "lies in the future"),
        ("2999", InvalidInput, "lies in the future"),
        ("until 2999", InvalidInput, "lies in the future"),
        ("since May", InvalidInput, "has no end"),
        ("gibberish", InvalidInput, "not a time"),
        ("--all", InvalidInput, "not a time"),
        ("deadbeef", InvalidInput, "not a time"),
        ("", InvalidInput, "not a time"),
        ("a\nb", InvalidInput, "not a time"),
        ("\udce9", InvalidInput, "not a time"),
        ("x" * 5000, InvalidInput, "not a time"),
    ],
)
def test_moments_that_are_none(lived: Lived, when: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        lived[0]("recall", query="Ana", as_of=when)


def test_a_moment_may_be_a_commit(lived: Lived) -> None:
    found, _ = lived
    commit = found("recall", query="Ana", as_of="15 days ago")["as_of"]["commit"]
    for name in (commit, commit[:10], "HEAD~4"):
        assert found.said("Ana", as_of=name) == [ROME], name
    assert found.said("Ana", as_of="HEAD") == [MILAN]
    assert found.said("Ana", as_of="now") == [MILAN]
    assert found.said("Ana", as_of="main~1", status=["superseded"]) == [ROME]


def test_what_is_proposed_was_never_believed(lived: Lived, tmp_path: Path) -> None:
    found, ids = lived
    branch, kept, place = (
        "dream/2026-01-01",
        "refs/oneiro/reviewed/dream/2026-01-01",
        tmp_path / "tree",
    )
    git(found.root, "worktree", "add", "-q", "-b", branch, str(place))
    note = place / found.app.house.indexing.resolve(ids["boat"]).path
    note.write_text(note.read_text().replace("The boat is blue.", "The boat is forged."))
    git(place, "commit", "-qam", "forged")
    git(found.root, "update-ref", kept, branch)
    try:
        commit = git(found.root, "rev-parse", branch).strip()
        for name in (branch, kept, commit, commit[:10]):
            for op, asked in (("recall", {"query": "boat"}), ("show", {"id": ids["boat"]})):
                with pytest.raises(InvalidInput, match="never believed here"):
                    found(op, as_of=name, **asked)
            assert [row["id"] for row in found("diff", before="HEAD", after=name)["revised"]] == [
                ids["boat"]
            ], "one may compare"
    finally:
        git(found.root, "worktree", "remove", "--force", str(place))
        git(found.root, "branch", "-q", "-D", branch)
        git(found.root, "update-ref", "-d", kept)


@pytest.mark.parametrize(("day", "said"), [("0001-01-01", []), ("9999-12-30", [MILAN])])
@pytest.mark.parametrize("zone", ["UTC", "EAST-14", "WEST+11"])
def test_the_ends_of_the_calendar(lived: Lived, day: str, said: list[str], zone: str) -> None:
    before = os.environ.get("TZ")
    os.environ["TZ"] = zone
    time.tzset()
    try:
        answer = lived[0]("recall", query="where does Ana live?", valid_at=day)
    finally:
        os.environ.pop("TZ")
        os.environ.update({} if before is None else {"TZ": before})
        time.tzset()
    assert answer["valid_at"]["from"][:4] == day[:4]
    assert [row["snippet"] for row in answer["results"] if not row["weak"]] == said


def test_filters_and_weak_questions_work_in_the_past_too(lived: Lived) -> None:
    found, _ = lived
    assert found.said("boat", type="episodic", as_of="15 days ago") == []
    assert found.said("boat", type="semantic", as_of="15 days ago") == ["The boat is red."]
    assert found.said("quantum chromodynamics lattice", as_of="15 days ago") == []
    row = found("recall", query="boat", as_of="15 days ago", explain=True)["results"][0]
    assert "parts" in row["why"]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    """Words of old texts whose vectors are gone, and many of them: nobody waits for those."""
    new_vault(tmp_path / "vault")
    with life(tmp_path / "vault") as found:
        ids = found.several(
            *(
                {"text": f"Fact {number} about harbours.", "title": f"Fact {number}"}
                for number in range(4)
            )
        )
        found("recall", query="harbours")
        found.day = 5
        for ident in ids:
            found("reframe", id=ident, text=f"Another text about lighthouses {ident}.")
        house = found.app.house
        house.index.scrub()
        then = found("recall", query="harbours", as_of="3 days ago", fast=True)
        assert (
            then["degraded"]
            == "4 of 4 passages of that time have no vector any more: they are found by words"
        )
        assert len(then["results"]) == 4
        assert found("recall", query="harbours", as_of="3 days ago")["degraded"] is None, (
            "a few are computed when one may wait"
        )


def test_a_copy_of_then_is_not_the_memory(tmp_path: Path) -> None:
    new_vault(tmp_path / "vault")
    with life(tmp_path / "vault") as found:
        ident = found.remember("One.")
        row = found.app.house.indexing.resolve(ident)
        (found.root / "copy.md").write_bytes(found.app.house.vault.read(row.path))
        git(found.root, "add", "-A")
        git(found.root, "commit", "-qm", "a copy")
        assert found("show", id=ident, as_of="HEAD")["path"] == row.path


def test_a_commit_whose_date_is_wrong_counts_from_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rebase that kept an old date, a machine whose clock was years ahead: neither belongs to the
    belief of a day on which it was not there, and every copy of the history gives the same
    answer."""
    root = tmp_path / "vault"
    new_vault(root)
    with life(root) as found:
        found.remember(ROME, title="Ana")
        found.day = 10
        found.remember("The boat is red.", title="Boat")
        note = next(root.glob("semantic/**/boat*.md"))
        for day, words in (
            ("2020-03-05", "was dated before everything"),
            ("2035-03-05", "was dated after everything"),
        ):
            note.write_text(note.read_text() + f"\nThis {words}.\n")
            monkeypatch.setenv("GIT_COMMITTER_DATE", f"{day}T10:00:00+0000")
            git(root, "commit", "-qam", words)
        monkeypatch.delenv("GIT_COMMITTER_DATE")
        found.day = 20
        found.remember("Bo keeps bees.", title="Bees")
        found.day = 25
        git(tmp_path, "clone", "-q", str(root), "copy")
        with life(tmp_path / "copy") as copy:
            copy._start, copy.day = found._start, found.day
            for one in (found, copy):
                early = one("recall", query="boat", as_of="20 days ago")
                assert early["results"] == []
                assert early["as_of"]["disordered"], (
                    "its date alone would have put a later commit there"
                )
                later = one("recall", query="boat", as_of="10 days ago")
                assert (
                    "dated after"
                    in one("show", id=later["results"][0]["id"], as_of="10 days ago")["body"]
                )
                assert later["as_of"]["disordered"]
                now = one("recall", query="who keeps bees?", as_of="today")
                assert (now["results"][0]["title"], now["as_of"]["disordered"]) == ("Bees", False)
                changed = one("diff", before="20 days ago", after="now")
                assert sorted(row["title"] for row in changed["new"]) == ["Bees", "Boat"]
                assert changed["from"]["disordered"]
