"""The facade: what the app can ask, over real files."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np
import pytest

from oneiro_vault.core.memory import fingerprint
from oneiro_vault.core.text.query import analyse, fts_expression
from oneiro_vault.errors import IndexProblem
from oneiro_vault.index.base import Filters
from oneiro_vault.index.embed.embedders import HashEmbedder, WorkerEmbedder
from oneiro_vault.index.keyword import database
from oneiro_vault.index.store import Index
from tests.index.conftest import Notes

Open = Callable[..., Index]
ANN, BEN = "0a1b2c3d4e5f", "0a1bzzzzzzzz"


@pytest.fixture
def index(vault: Notes, open_index: Open) -> Index:
    vault.put(
        "ann.md",
        "Ann grows apples in Kent.\n\n- knows [[Ben]]\n",
        id=ANN,
        type="entity",
        title="Ann Lee",
        aliases="[Annie]",
        tags="[Fruit]",
    )
    vault.put("ben.md", "Ben bakes bread.\n", id=BEN, type="entity", title="Ben")
    vault.put(
        "s/1.md",
        "Ann: Where were you on Monday?",
        type="episodic",
        session="s1",
        created="2024-01-01T10:00:00Z",
    )
    vault.put(
        "s/2.md",
        "Ben: I was at the harbour.",
        type="episodic",
        session="s1",
        created="2024-01-01T10:01:00Z",
    )
    vault.put(
        "s/3.md",
        "Ann: Did you see the ships?",
        type="episodic",
        session="s1",
        created="2024-01-01T10:02:00Z",
    )
    vault.put(
        "old.md",
        "Ann grows pears.",
        id="000000000001",
        status="superseded",
        superseded_by=ANN,
        project="garden",
    )
    vault.put(
        "pending.md",
        "Ann grows secrets [[Ben]].",
        id="000000000002",
        status="pending",
        about="[Ann Lee]",
    )
    vault.put(
        "long.md",
        "# Trees\n\n"
        + "Oaks are trees of long life and hard wood. " * 60
        + "\n\n# Sea\n\nWhales sing in the deep. " * 3,
    )
    index = open_index()
    index.refresh()
    index.embed()
    return index


def paths(index: Index, keys: object) -> list[str]:
    rows = index.rows(list(keys))  # type: ignore[call-overload]  # the column is a list of keys
    return [rows[key].path for key in keys]  # type: ignore[attr-defined]  # the type is wider than what is in it


def key(index: Index, path: str) -> int:
    row = index.by_path(path)
    assert row is not None
    return row.key


def words(text: str) -> str:
    return fts_expression(analyse(text))


def test_ids_prefixes_and_handles(index: Index) -> None:
    assert [row.path for row in index.get(ANN)] == ["ann.md"]
    assert [row.path for row in index.get("0A1B")] == ["ann.md", "ben.md"]
    assert index.get("") == []
    assert index.get("%") == []
    long = index.by_path("long.md")
    assert long is not None
    assert (long.id, len(long.handle)) == ("", 12)
    assert [row.path for row in index.get(long.handle[:6])] == ["long.md"]
    assert index.by_path("nowhere.md") is None


def test_listing_newest_first_and_by_every_filter(index: Index) -> None:
    assert [row.path for row in index.list(session="s1")] == ["s/3.md", "s/2.md", "s/1.md"]
    assert [row.path for row in index.list(type="entity")] == ["ann.md", "ben.md"]
    assert [row.path for row in index.list(type=("entity", "episodic"), limit=1)] == ["s/3.md"]
    assert [row.path for row in index.list(tag="#fruit")] == ["ann.md"]
    assert [row.path for row in index.list(status="superseded")] == ["old.md"]
    assert [row.path for row in index.list(project="garden")] == ["old.md"]
    assert [row.path for row in index.list(entity="annie")] == ["ann.md"]
    assert [row.path for row in index.list(entity="Ann")] == ["s/3.md", "s/1.md", "ann.md"]
    moment = 1704103260.0  # the second turn
    assert [row.path for row in index.list(since=moment, until=moment + 1)] == ["s/2.md"]
    assert index.matching(Filters()) is None
    assert paths(index, sorted(index.matching(Filters(tag=("fruit", "none"))) or [])) == []


def test_words_are_found_in_every_field(index: Index) -> None:
    for word in ("apple", "annie", "fruit", "LEE"):
        assert paths(index, [found for found, _ in index.search_text(words(word), 1)]) == ["ann.md"]


def test_pending_notes_are_listed_and_never_found(index: Index) -> None:
    assert index.by_path("pending.md") is not None
    assert index.search_text(words("secrets"), 5) == []
    assert key(index, "pending.md") not in index.named(["ann lee"])
    assert not any(link["path"] == "pending.md" for link in index.links_to(key(index, "ben.md")))
    assert index.explain("pending.md")["inert"]
    assert not index.knows(["secrets"])


def test_scores_are_those_of_the_search(index: Index) -> None:
    found = dict(index.search_text(words("Ann grows apples"), 10))
    assert len(found) >= 4
    assert index.text_scores(words("Ann grows apples"), list(found)) == pytest.approx(found)
    some = list(found)[:2]
    assert index.search_text(words("Ann grows apples"), 10, allowed=some) == [
        (key, found[key]) for key in some
    ]
    assert index.text_scores("", list(found)) == {}
    assert index.search_text(words("Ann"), 5, allowed=[]) == []


def test_an_episode_is_found_by_its_neighbours(index: Index) -> None:
    second = key(index, "s/2.md")
    assert second not in dict(index.search_text(words("ships Monday"), 5))
    assert second in dict(index.search_context(words("ships Monday"), 5))
    scores = index.context_scores(words("whales"), [second, key(index, "ann.md")])
    assert scores == {second: 0.0}
    assert set(index.session_scores(words("harbour"))) == {
        key(index, f"s/{n}.md") for n in (1, 2, 3)
    }
    assert index.previous([second, key(index, "s/1.md")]) == {second: key(index, "s/1.md")}


def test_passages_of_long_notes(index: Index) -> None:
    long, short = key(index, "long.md"), key(index, "ben.md")
    found = index.passage_scores(words("whales deep"), [long, short])
    assert found.keys() == {long}
    assert found[long] > 0
    assert [row for row, _ in index.search_passages(words("whales"), 3)] == [long]
    assert index.search_passages(words("whales"), 3, allowed=[short]) == []
    assert index.passage_scores(words("zebra"), [long]) == {long: 0.0}


def test_meaning_by_note_and_exactly(index: Index) -> None:
    vector = index.query("Where was Ben? At the harbour?")
    hits = index.search_vectors(vector, 5)
    second = key(index, "s/2.md")
    assert (hits[0].key, hits[0].kind) in {(second, "own"), (second, "context")}
    assert {hit.kind for hit in hits} == {"own", "context"}
    exact = index.cosines(vector, [hit.key for hit in hits] + [key(index, "pending.md")])
    for hit in hits:
        assert exact[hit.key][0 if hit.kind == "own" else 1] == pytest.approx(hit.cosine, abs=2e-3)
    assert all(math.isnan(value) for value in exact[key(index, "pending.md")])
    only = index.search_vectors(vector, 5, allowed=[key(index, "ann.md")])
    assert [hit.key for hit in only] == [key(index, "ann.md")]
    assert index.chunk(hits[0].key, hits[0].hash) is not None
    assert index.vectors([second])[second].shape == (256,)
    with pytest.raises(IndexProblem):
        index.cosines(np.ones(3, np.float32), [second])


def test_names_and_links(index: Index) -> None:
    ann, ben, first = key(index, "ann.md"), key(index, "ben.md"), key(index, "s/1.md")
    assert index.named(["Ann", "Ben", "nobody"]) == pytest.approx(
        {ann: 0.5, ben: 0.5, first: 0.5, key(index, "s/2.md"): 0.5, key(index, "s/3.md"): 0.5}
    )
    assert index.named(["Ann", "Ben"], keys=[ann]) == {ann: 0.5}
    assert index.names_of([ann, first])[ann] == {"ann lee", "annie"}
    assert index.links_from(ann)[0] | {} == {
        "relation": "knows",
        "id": BEN,
        "path": "ben.md",
        "title": "Ben",
        "status": "active",
    }
    assert [link["relation"] for link in index.links_to(ben)] == ["knows"]
    assert [row["path"] for row in index.lineage_of(ann)] == ["old.md"]


def test_lineage_leads_upward_and_succession_both_ways(index: Index, vault: Notes) -> None:
    """A source has a thousand facts; they are not where one of them comes from."""
    chain = ["000000000a01", "000000000a02", "000000000a03"]
    vault.put("talk.md", "---\nid: 0000000000ta\ntype: episodic\n---\nA talk.\n")
    for number, ident in enumerate(chain):
        heir = f"status: superseded\nsuperseded_by: {chain[number + 1]}\n" if number < 2 else ""
        vault.put(
            f"f{number}.md",
            f"---\nid: {ident}\nderived_from: [0000000000ta]\n{heir}---\nVersion {number}.\n",
        )
    vault.put(
        "other.md", "---\nid: 0000000000zz\nderived_from: [0000000000ta]\n---\nSomething else.\n"
    )
    index.refresh()
    found = {row["path"]: row["relation"] for row in index.lineage_of(key(index, "f1.md"))}
    assert found == {"talk.md": "derived_from", "f0.md": "supersedes"}
    assert index.lineage_of(key(index, "talk.md")) == []
    keys = [key(index, f"f{number}.md") for number in range(3)]
    assert index.succession([keys[1], key(index, "other.md")]) == {keys[1]: {keys[0], keys[2]}}
    assert index.succession([keys[2]]) == {keys[2]: {keys[0], keys[1]}}


@pytest.mark.parametrize(
    ("written", "asked"),
    [("Jürgen Groß", "Juergen Gross"), ("Juergen Gross", "Jürgen Groß"), ("Groß", "GROSS")],
)
def test_a_name_is_found_however_it_is_spelled(
    index: Index, vault: Notes, written: str, asked: str
) -> None:
    vault.put(
        "who.md",
        f"---\nid: 0000000000zz\ntype: entity\ntitle: {written}\n---\nHerr {written} zieht in die "
        f"Hauptstraße.\n",
    )
    vault.put("talk.md", f"---\nabout: ['{written}']\n---\nEin Gespräch.\n")
    index.refresh()
    assert {row.path for row in index.list(entity=asked)} == {"who.md", "talk.md"}
    found = index.search_text(fts_expression(analyse("hauptstrasse")), 5)
    assert index.rows([found[0][0]])[found[0][0]].path == "who.md"


def test_the_very_same_words_are_found_by_their_fingerprint(index: Index, vault: Notes) -> None:
    mark = fingerprint("semantic", "Tea", "Tea is at four.")
    assert index.same([mark, "0" * 32]) == {}
    for name, status in (("b", "active"), ("a", "superseded"), ("c", "pending")):
        vault.put(
            f"{name}.md",
            f"---\ntype: semantic\ntitle: Tea\nstatus: {status}\n---\n\nTea is at four.\n",
        )
    index.refresh()
    assert [row.path for row in index.same([mark, "0" * 32])[mark]] == ["a.md", "b.md"]
    vault.put("a.md", "---\ntype: semantic\ntitle: Tea\n---\nTea is at five.\n")
    index.refresh()
    assert [row.path for row in index.same([mark])[mark]] == ["b.md"]


def test_what_the_vault_knows(index: Index) -> None:
    assert index.knows(["annie"])
    assert index.knows(["whales"])
    assert not index.knows(["zebra"])
    found, counts, total = index.word_matches(
        analyse("apples zebra"), [key(index, "ben.md"), key(index, "ann.md")]
    )
    assert found.tolist() == [[False, True], [False, False]]
    assert counts == [1, 0]
    assert total == index.count()


def test_status_and_explain(index: Index, vault: Notes) -> None:
    status = index.status()
    assert status["notes"] == 8
    assert (status["pending"], status["degraded"], status["complete"]) == (0, None, True)
    assert (status["model"], status["schema"]) == ("hash-256", database.VERSION)
    story = index.explain("long.md")
    assert story["indexed"]
    assert story["current"]
    assert len(story["chunks"]) > 2
    assert all(chunk["vector"] for chunk in story["chunks"])
    assert index.explain("nowhere.md")["why_not"] == "there is no such file"
    vault.put("late.md", "late")
    assert index.explain("late.md")["why_not"] == "it was not looked at yet"


def test_checking_against_a_tree(index: Index, vault: Notes) -> None:
    tree = {row.path: row.blob for row in index.list(limit=99)}
    assert index.check(tree) == []
    wrong = {**tree, "ann.md": "0" * 40, "new.md": "1" * 40}
    del wrong["ben.md"]
    assert {(problem.code, problem.path) for problem in index.check(wrong)} == {
        ("index-stale", "ann.md"),
        ("index-missing", "new.md"),
        ("index-ghost", "ben.md"),
    }
    vault.put("copy.md", "again", id=ANN)
    index.refresh()
    assert {problem.code for problem in index.check()} == {"duplicate-id"}


def test_a_large_change_can_be_searched_before_it_is_taken_apart(
    vault: Notes, open_index: Open
) -> None:
    for number in range(500):
        vault.put(
            f"{number:03}.md",
            f"- word{number} [[{(number + 1) % 500:03}]]",
            session="s",
            created="2024-01-01",
        )
    index = open_index()
    index.refresh()
    assert paths(index, [found for found, _ in index.search_text(words("word77"), 1)]) == ["077.md"]
    assert index.status()["pending"] > 0
    assert index.links_from(key(index, "077.md")) == []
    index.settle()
    assert index.links_from(key(index, "077.md"))[0]["path"] == "078.md"
    assert index.embed() == index.status()["chunks"] > 500
    assert index.status()["pending"] == 0


@pytest.mark.slow
def test_searching_beside_writing(vault: Notes, open_index: Open) -> None:
    for number in range(300):
        vault.put(f"{number:03}.md", f"common word{number}")
    index = open_index()
    index.refresh()
    index.embed()
    wrong: list[BaseException] = []
    over = threading.Event()

    def search() -> None:
        try:
            while not over.is_set():
                found = index.search_text(words("common"), 10)
                index.rows([row for row, _ in found])
                index.search_vectors(index.query("common"), 5)
                index.status()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(0, 300, 10):
        vault.put(f"{number:03}.md", f"common other{number}")
        index.refresh([f"{number:03}.md"])
        index.embed()
        if number % 100 == 0:
            index.rebuild()
    over.set()
    for thread in threads:
        thread.join(30)
    assert wrong == []
    assert index.count() == 300


def test_scrubbing_leaves_no_words_behind(vault: Notes, open_index: Open) -> None:
    vault.put("a.md", "the password is xylophonequartz")
    vault.put("b.md", "nothing special")
    index = open_index(vectors="ram")
    index.refresh()
    index.embed()
    vault.drop("a.md")
    index.refresh()
    index.scrub()
    index.close()
    for file in index.folder.rglob("*"):
        assert not file.is_file() or b"xylophonequartz" not in file.read_bytes(), file


def test_another_model_gets_vectors_of_its_own_while_the_old_ones_answer(
    vault: Notes, open_index: Open
) -> None:
    for number in range(30):
        vault.put(f"{number}.md", f"word{number} and more")
    first = open_index(vectors="chroma", embedder=HashEmbedder(64))
    first.refresh()
    first.embed()
    first.close()
    second = open_index(
        vectors="chroma",
        embedder=HashEmbedder(96),
        former=lambda name: HashEmbedder(64) if name == "hash-64" else None,
    )
    assert second.open_vectors()
    assert second.query("word3").shape == (64,)
    assert paths(second, [second.search_vectors(second.query("word3 and more"), 1)[0].key]) == [
        "3.md"
    ]
    assert "passages wait for a vector" in str(second.degraded())
    assert second.embed() == 30
    assert second.query("word3").shape == (96,)
    assert paths(second, [second.search_vectors(second.query("word3 and more"), 1)[0].key]) == [
        "3.md"
    ]
    assert second.degraded() is None
    second.close()
    back = open_index(vectors="chroma", embedder=HashEmbedder(64))
    assert back.open_vectors()
    assert back.embed() == 30
    assert paths(back, [back.search_vectors(back.query("word4 and more"), 1)[0].key]) == ["4.md"]


@pytest.mark.model
@pytest.mark.parametrize(("model", "least"), [("default", 0.85), ("multilingual-e5-small", 0.95)])
def test_a_cosine_of_the_packaged_model_in_another(
    open_index: Open, model: str, least: float
) -> None:
    index = open_index(embedder=WorkerEmbedder(model))
    index.refresh()
    index.embed()
    assert index.near(0.85) == pytest.approx(least)


def test_copies_are_told_from_their_memories_though_a_run_was_stopped(
    index: Index, vault: Notes
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    vault.put("copy.md", "again", id=ANN)
    with pytest.raises(KeyboardInterrupt):
        index.refresh(progress=stopped)  # what is read so far is in the index
    assert len(index.get(ANN)) == 2
    index.refresh()
    assert [problem.path for problem in index.check()] == ["copy.md"]
    assert len(index.get(ANN)) == 1
