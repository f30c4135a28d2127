"""What changes memories: every operation is one commit, loses nothing and can be taken back byte
for byte."""

from __future__ import annotations

import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.core import memory
from oneiro_vault.errors import InvalidInput, NotFound, OneiroError, UnsafePath
from tests.operations.conftest import Call, hits, stored


def git(root: Path, *argv: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *argv], check=True, capture_output=True, text=True
    ).stdout


def commits(root: Path) -> int:
    return int(git(root, "rev-list", "--count", "HEAD"))


def clean(root: Path) -> bool:
    return git(root, "status", "--porcelain") == ""


def test_remember_writes_one_note_in_one_commit(root: Path, call: Call) -> None:
    before = commits(root)
    done = call(
        "remember",
        items=[
            {"text": "The kiln is fired on Mondays.", "tags": ["pottery"], "created": "2024-03-05"}
        ],
    )
    row = done["results"][0]
    data = (root / row["path"]).read_bytes()
    assert row["sha256"] == sha256(data).hexdigest()
    assert row["path"].startswith("semantic/2024/03/the-kiln-is-fired-on-mondays-")
    found = memory.parse(row["path"], data)
    assert (found.id, found.tags, found.body) == (
        row["id"],
        ("pottery",),
        "The kiln is fired on Mondays.\n",
    )
    assert commits(root) == before + 1
    assert clean(root)
    message = git(root, "log", "-1", "--format=%B")
    assert message.startswith("remember: The kiln is fired on Mondays.")
    assert f"Oneiro-Memory: {row['id']}" in message


def test_many_memories_are_one_commit(root: Path, call: Call) -> None:
    before = commits(root)
    done = call("remember", items=[{"text": f"fact number {n}"} for n in range(50)])
    assert len({row["id"] for row in done["results"]}) == 50
    assert [row["title"] for row in done["results"]] == [f"fact number {n}" for n in range(50)]
    assert commits(root) == before + 1


def test_the_same_again_is_the_same_memory(root: Path, call: Call) -> None:
    first = stored(call, "Ana prefers the release on Fridays because support is quiet")
    before = commits(root)
    again = call(
        "remember",
        items=[{"text": "Because support is quiet, Ana prefers the release on Fridays."}],
    )["results"][0]
    assert (again["id"], again["duplicate_of"]) == (first, first)
    assert commits(root) == before
    assert call("why", id=first)["uses"]["days"] == 1


@pytest.mark.parametrize(
    "words",
    [
        "Straßenverkehr ruht sonntags früh",
        "l'été café naïve Zoë",
        "C++ node.js v2.10 e-mail well-known",
        "会議は 月曜日 Tokyo 大阪",
        "boats/harbours 50% of_all #tagged",
        "Ελλάδα Ёлка İstanbul",
    ],
)
def test_the_same_words_in_another_order_are_found_in_every_script(call: Call, words: str) -> None:
    """The keyword index and the comparison must agree on what a word is."""
    first = stored(call, words)
    for number in range(12):
        stored(call, f"{words} and much besides, number {number}: lighthouses and ferries.")
    again = call("remember", items=[{"text": " ".join(reversed(words.split()))}])["results"][0]
    assert again["duplicate_of"] == first


@pytest.mark.parametrize(
    "text",
    [
        "Ana prefers the release at 4 on Fridays because support is quiet",
        "Ana never prefers the release at 3 on Fridays because support is quiet",
        "Ana prefers the release at 3 on Fridays because support is quiet and cheap",
    ],
)
def test_a_number_a_negation_or_a_new_word_is_news(call: Call, text: str) -> None:
    first = stored(call, "Ana prefers the release at 3 on Fridays because support is quiet")
    assert stored(call, text) != first


def test_the_same_words_in_a_session_are_another_event(call: Call) -> None:
    one = stored(call, "Bo: thanks, see you tomorrow morning then", type="episodic", session="s1")
    assert (
        stored(call, "Bo: thanks, see you tomorrow morning then", type="episodic", session="s1")
        != one
    )


def test_a_session_keeps_its_order_in_the_files(root: Path, call: Call) -> None:
    items = [
        {"text": f"turn {n}", "type": "episodic", "session": "s", "created": "2024-01-01"}
        for n in range(3)
    ]
    first = call("remember", items=items)["results"]
    later = call(
        "remember",
        items=[{"text": "turn 3", "type": "episodic", "session": "s", "created": "2024-01-01"}],
    )["results"]
    turns = [
        memory.parse(row["path"], (root / row["path"]).read_bytes()).turn
        for row in [*first, *later]
    ]
    assert turns == [1, 2, 3, 4]


def test_a_conversation_given_turn_by_turn_is_one_session(root: Path, call: Call) -> None:
    texts = ["Ana: When do you sail?", "Bo: In June.", "Ana: Lovely!", "Cleo: Something else."]
    dates = ["2024-03-05T10:00:00Z"] * 3 + ["2024-03-06T10:00:00Z"]
    done = call(
        "remember", items=[{"text": t, "created": d} for t, d in zip(texts, dates, strict=True)]
    )["results"]
    notes = [memory.parse(row["path"], (root / row["path"]).read_bytes()) for row in done]
    assert [note.turn for note in notes] == [1, 2, 3, None]
    assert len({note.session for note in notes[:3]}) == 1
    assert notes[3].session == ""
    assert hits(call, "when does Bo sail?")[0] == done[1]["id"]


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"text": ""}, "empty"),
        ({"text": "  \n"}, "empty"),
        ({"text": " \u200b\u2060\ufeff \n"}, "is empty"),
        ({"text": "\u3164\u2800\u0301"}, "is empty"),
        ({"text": "x", "about": ["somebody"] * 3_000}, "about has 3,000 names; at most 200"),
        (
            {"text": "x", "tags": ["t" * 100_000]},
            "tags has a name of 100,000 characters; at most 200 are kept, each of at most 500",
        ),
        ({"text": None}, "must be a string"),
        ({"text": "a\0b"}, "NUL"),
        ({"text": "a\ud800b"}, "Unicode"),
        ({"text": "x" * 10_000_000}, "10,000,000 bytes"),
        ({"text": "x", "importance": 2}, "from 0 to 1"),
        ({"text": "x", "importance": True}, "from 0 to 1"),
        ({"text": "x", "level": 1.5}, "whole number"),
        ({"text": "x", "tags": [1]}, "tags must be a list of names"),
        ({"text": "x", "title": 7}, "title must be text"),
        ({"text": "x", "created": "soon"}, "not a date"),
        ({"text": "x", "id": "my-id"}, "id must be 12 lower-case letters"),
        ({"text": "x", "path": 7}, "must be a string"),
        ({"text": "x", "path": "note.txt"}, ".md"),
        ("x", "not an object"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(
    root: Path, call: Call, item: Any, words: str
) -> None:
    before = commits(root)
    with pytest.raises(InvalidInput, match=words):
        call("remember", items=[{"text": "a good one"}, item])
    assert commits(root) == before
    assert clean(root)


@pytest.mark.parametrize(
    "path",
    [
        "../out.md",
        "/etc/out.md",
        ".git/hooks/out.md",
        "a/../../out.md",
        ".oneiro/x.md",
        "a\\b.md",
        "a//b.md",
    ],
)
def test_a_path_out_of_the_vault_is_refused(root: Path, call: Call, path: str) -> None:
    before = commits(root)
    with pytest.raises(UnsafePath):
        call("remember", items=[{"text": "x", "path": path}])
    assert commits(root) == before
    assert not (root.parent / "out.md").exists()


@pytest.mark.parametrize(
    "given", ["8 May 2023", "May 8, 2023", "2023-05-08", "2023-05-08T10:00:00Z"]
)
def test_a_date_as_people_write_it(root: Path, call: Call, given: str) -> None:
    path = call("remember", items=[{"text": "It rained.", "created": given}])["results"][0]["path"]
    assert path.startswith("semantic/2023/05/")


def test_bad_ones_can_be_left_out(root: Path, call: Call) -> None:
    done = call(
        "remember",
        items=[{"text": "one"}, {"text": ""}, {"text": "three"}, {"text": "x", "level": "high"}],
        partial=True,
    )
    assert [row["title"] for row in done["results"]] == ["one", "three"]
    assert [bad["item"] for bad in done["rejected"]] == [1, 3]
    assert call("remember", items=[{"text": ""}], partial=True)["commit"] is None
    with pytest.raises(InvalidInput, match="memory 2: "):
        call("remember", items=[{"text": "one"}, {"text": ""}])


def test_nothing_to_remember(call: Call) -> None:
    with pytest.raises(InvalidInput):
        call("remember", items=[])


def test_reframe_changes_the_words_and_keeps_the_rest(root: Path, call: Call) -> None:
    ident = stored(call, "The release is on Fridays.", tags=["release"])
    path = root / call("show", id=ident)["path"]
    path.write_text(path.read_text().replace("tags:", "mood: calm # mine\ntags:"))
    done = call(
        "reframe",
        id=ident,
        text="The release is on Thursdays.",
        title="Release day",
        reason="she said so",
    )
    text = path.read_text()
    assert "mood: calm # mine\n" in text
    assert text.endswith("---\nThe release is on Thursdays.\n")
    assert done["proposal"] is None
    assert sha256(path.read_bytes()).hexdigest() == done["sha256"]
    ops = [entry["op"] for entry in call("log", id=ident)["entries"]]
    assert ops == ["reframe", "edit", "remember"]
    assert call("log", id=ident)["entries"][0]["reason"] == "she said so"
    assert git(root, "log", "--skip=1", "-1", "--format=%an") == "Pat Person\n"


def test_a_note_that_changed_meanwhile_gets_a_proposal(root: Path, call: Call) -> None:
    ident = stored(call, "The release is on Fridays.")
    seen = call("show", id=ident)
    path = root / seen["path"]
    path.write_text(path.read_text() + "A person wrote this.\n")
    done = call(
        "reframe", id=ident, text="The release is on Sundays.", base=seen["sha256"], actor="model"
    )
    assert "A person wrote this." in path.read_text()
    assert "Sundays" not in path.read_text()
    proposal = memory.parse("p.md", (root / done["proposal"]["path"]).read_bytes())
    assert (proposal.status, proposal.supersedes, proposal.body) == (
        "pending",
        (ident,),
        "The release is on Sundays.\n",
    )
    assert done["proposal"]["id"] not in hits(call, "release on Sundays")


def test_what_a_model_would_leave_little_of_waits_beside_a_person_s_own_file(
    root: Path, call: Call
) -> None:
    words = "# Home server\n\nBackups run at 03:30 with restic, logs are kept for a month.\n"
    (root / "server.md").write_text(words)
    (row,) = call("recall", query="home server backups")["results"]
    done = call("reframe", id=row["id"], text="Backup runs at 05:00.", actor="model")
    assert done["proposal"] is not None
    assert words in (root / "server.md").read_text()
    more = words.replace("03:30", "05:00")
    said = call("reframe", id=row["id"], text=more, actor="model")
    assert said["proposal"] is None
    assert call("reframe", id=said["id"], text="Gone.")["proposal"] is None
    (root / "numbers.md").write_text("0176 1234567\n2024-03-04 4711\n")
    (row,) = call("recall", query="4711")["results"][:1]
    assert call("reframe", id=row["id"], text="Gone.", actor="model")["proposal"] is not None


@pytest.mark.parametrize("base", ["junk", "0" * 64, "", "-x", "HEAD~99"])
def test_a_base_the_memory_never_had_is_no_reason_for_a_proposal(
    root: Path, call: Call, base: str
) -> None:
    ident = stored(call, "The release is on Fridays.")
    other = stored(call, "Something else altogether.")
    before = commits(root)
    for wrong in (base, call("show", id=other)["sha256"]):
        with pytest.raises(
            InvalidInput, match="neither the sha256 of a text this memory had nor a commit"
        ) as caught:
            call("reframe", id=ident, text="The release is on Sundays.", base=wrong)
        assert "sha256" in caught.value.hint
    assert commits(root) == before
    assert clean(root)


@pytest.mark.parametrize("moved", [False, True])
def test_a_base_is_a_hash_or_a_commit(root: Path, call: Call, moved: bool) -> None:
    ident = stored(call, "The release is on Fridays.")
    seen, commit = call("show", id=ident), git(root, "rev-parse", "HEAD").strip()
    assert (
        call("reframe", id=ident, text="It is on Thursdays.", base=seen["sha256"].upper())[
            "proposal"
        ]
        is None
    )
    if moved:
        (root / seen["path"]).rename(root / "release.md")
    late = call("reframe", id=ident, text="It is on Mondays.", base=seen["sha256"])
    assert late["proposal"] is not None
    if not moved:
        assert (
            call("reframe", id=ident, text="It is on Tuesdays.", base=commit)["proposal"]
            is not None
        )
    assert call("reframe", id=ident, text="It is on Sundays.")["proposal"] is None
    if not moved:
        assert (
            call("reframe", id=ident, text="It is on Saturdays.", base="HEAD")["proposal"] is None
        )


def test_core_is_a_persons(root: Path, call: Call) -> None:
    ident = stored(call, "The team ships small things often.", type="orientation")
    path = root / call("show", id=ident)["path"]
    path.write_text(path.read_text().replace("\n---\n", "\ncore: true\n---\n"))
    before = call("show", id=ident)["text"]
    done = call("reframe", id=ident, text="The team is the best in the world.", actor="dream")
    assert call("show", id=ident)["text"] == before
    assert done["proposal"] is not None
    assert call("reframe", id=ident, text="The team ships weekly.")["proposal"] is None


def test_forget_restore_undo_bring_back_exact_bytes(root: Path, call: Call) -> None:
    ident = stored(call, "The boat is called Petrel.")
    path = root / call("show", id=ident)["path"]
    original = path.read_bytes()
    call("forget", id=ident, reason="sold")
    assert not path.exists()
    assert hits(call, "boat Petrel") == []
    with pytest.raises(NotFound, match="was forgotten on") as caught:
        call("show", id=ident)
    assert ident in caught.value.hint
    call("restore", id=ident)
    assert path.read_bytes() == original
    assert hits(call, "boat Petrel") == [ident]
    undone = call("undo", commit="HEAD")
    assert not path.exists()
    call("undo", commit=undone["commit"])
    assert path.read_bytes() == original
    assert clean(root)
    assert git(root, "fsck", "--strict") == ""


@pytest.mark.parametrize("op", ["remember", "reframe", "forget", "adopt"])
def test_undo_of_any_operation(root: Path, call: Call, op: str) -> None:
    ident = stored(call, "The boat is called Petrel.")
    (root / "plain.md").write_text("no frontmatter\r\nat all")
    call("status")
    subprocess.run(["git", "-C", str(root), "add", "-A"], check=True)
    subprocess.run(["git", "-C", str(root), "commit", "-qm", "mine"], check=True)
    before = {p: p.read_bytes() for p in root.rglob("*.md")}
    done = {
        "remember": lambda: call("remember", items=[{"text": "Something else entirely happened."}]),
        "reframe": lambda: call("reframe", id=ident, text="The boat is called Plover."),
        "forget": lambda: call("forget", id=ident),
        "adopt": lambda: call("adopt"),
    }[op]()
    assert {p: p.read_bytes() for p in root.rglob("*.md")} != before
    call("undo", commit=done["commit"])
    assert {p: p.read_bytes() for p in root.rglob("*.md")} == before
    assert clean(root)


@pytest.mark.parametrize(
    ("ident", "error"),
    [
        ("", InvalidInput),
        ("abc", InvalidInput),
        ("zzzzzzzzzzzz", NotFound),
        ("../../etc/passwd", InvalidInput),
        ("semantic/2026/x.md", InvalidInput),
        ("a b c d", InvalidInput),
        ("; DROP TABLE notes", InvalidInput),
    ],
)
@pytest.mark.parametrize("op", ["show", "forget", "reframe", "why"])
def test_bad_ids(call: Call, op: str, ident: str, error: type[OneiroError]) -> None:
    with pytest.raises(error):
        call(op, id=ident, **({"text": "x"} if op == "reframe" else {}))


def test_a_copy_is_a_note_of_its_own_and_adopt_gives_it_an_id(root: Path, call: Call) -> None:
    ident = stored(call, "The boat is moored in Stromness.")
    path = root / call("show", id=ident)["path"]
    copy = path.with_name(f"{path.stem} 1.md")
    copy.write_bytes(path.read_bytes().replace(b"boat is moored in Str", b"kayak is stored in Str"))
    call("reindex")
    place = str(copy.relative_to(root))
    found = {
        row["path"]: row["id"] for row in call("recall", query="boat kayak Stromness")["results"]
    }
    assert found[str(path.relative_to(root))] == ident != found[place]
    assert (root / call("show", id=ident)["path"]) == path, "the name that tells the id"
    (wrong,) = call("check")["problems"]
    assert (wrong["code"], wrong["path"]) == ("duplicate-id", place)
    (adopted,) = call("adopt", paths=[place])["adopted"]
    assert (call("check")["problems"], call("show", id=adopted["id"])["path"]) == ([], place)
    assert b"kayak" in copy.read_bytes()


def test_a_forgotten_memory_says_that_a_copy_of_it_stays(root: Path, call: Call) -> None:
    ident = stored(call, "The boat is moored in Stromness.")
    path = root / call("show", id=ident)["path"]
    backup = root / "backup" / path.name
    backup.parent.mkdir()
    backup.write_bytes(path.read_bytes())
    (path.parent / f"Copy of {path.name}").write_bytes(path.read_bytes())
    call("reindex")
    assert root / call("show", id=ident)["path"] == path, "neither is the memory"
    (told,) = call("forget", id=ident)["notices"]
    assert "Copy of" in told
    assert call("show", id=ident)["path"].startswith("semantic/")


def test_a_path_is_answered_with_its_id(call: Call) -> None:
    ident = stored(call, "Where am I?")
    path = call("show", id=ident)["path"]
    with pytest.raises(InvalidInput) as caught:
        call("show", id=path)
    assert ident in caught.value.hint


def test_adopt_adds_an_id_and_nothing_else(root: Path, call: Call) -> None:
    (root / "journal").mkdir()
    plain = root / "journal" / "2024-03-05.md"
    plain.write_bytes(b"# Day\r\n\r\nwent sailing\r\n")
    keyed = root / "entities" / "ana.md"
    keyed.parent.mkdir(exist_ok=True)
    keyed.write_text("---\nmood: calm   # mine\n---\nAna.\n")
    done = call("adopt", paths=["./journal/2024-03-05.md", "entities/ana.md", "nowhere.md"])
    assert {row["path"] for row in done["adopted"]} == {"journal/2024-03-05.md", "entities/ana.md"}
    assert done["skipped"] == [
        {"path": "nowhere.md", "reason": "there is no note here", "code": "missing"}
    ]
    assert plain.read_bytes().endswith(b"# Day\r\n\r\nwent sailing\r\n")
    assert memory.parse("journal/2024-03-05.md", plain.read_bytes()).created.startswith(
        "2024-03-05"
    )
    assert "mood: calm   # mine\n" in keyed.read_text()
    assert memory.parse("entities/ana.md", keyed.read_bytes()).type == "entity"
    again = call("adopt", paths=["entities/ana.md"])
    assert again["commit"] is None
    assert "already has the id" in again["skipped"][0]["reason"]


def test_a_foreign_note_can_be_shown_reframed_and_forgotten_by_its_handle(
    root: Path, call: Call
) -> None:
    (root / "free.md").write_text("# Free\n\nA note without frontmatter about gliding.\n")
    handle = hits(call, "gliding")[0]
    assert call("show", id=handle)["path"] == "free.md"
    done = call("reframe", id=handle, text="# Free\n\nAbout soaring.\n")
    assert memory.parse("free.md", (root / "free.md").read_bytes()).id == done["id"]
    call("forget", id=done["id"])
    call("restore", id=done["id"])
    assert "soaring" in (root / "free.md").read_text()


def test_unknown_operations_and_parameters(app: App) -> None:
    with pytest.raises(InvalidInput, match="no operation"):
        app.call("destroy")
    with pytest.raises(InvalidInput, match="unknown 'colour'"):
        app.call("recall", {"query": "x", "colour": "red"})
    with pytest.raises(InvalidInput, match="'query' is needed"):
        app.call("recall")


def test_a_note_without_an_id_is_forgotten_and_the_way_back_is_one_that_works(
    root: Path, call: Call
) -> None:
    (root / "tern.md").write_text("Terns fly from pole to pole.\n")
    git(root, "add", "tern.md")
    git(root, "commit", "-qm", "a note of mine")
    call("status")
    (found,) = [row for row in call("list")["results"] if row["path"] == "tern.md"]
    done = call("forget", id=found["id"])
    assert not (root / "tern.md").exists()
    doing, commit = done["back"].split()
    assert (doing, commit) == ("undo", done["commit"][:12])
    call("undo", commit=commit)
    assert (root / "tern.md").read_text() == "Terns fly from pole to pole.\n"
    ident = stored(call, "The kiln is fired on Mondays.")
    assert call("forget", id=ident)["back"] == f"restore {ident}"


SAID = "My sister Ona lives in Riga."
BESIDE = "My brother Marek lives in Kiel."


def told(call: Call) -> str:
    """Everything that is said unasked, and what profiles say."""
    rows = call("list", type="entity", limit=100)["results"]
    profiles = [call("show", id=row["id"])["body"] for row in rows]
    return "\n".join([str(call("orient")["text"]), *profiles])


def quoted(call: Call) -> str:
    """Id of a fact that a night filed, and quoted in a block and a profile."""
    for number, text in enumerate((SAID, BESIDE, "Ona sold her boat.", "Marek has a new job.")):
        call("capture", text=f"User: {text}", kind="session", session=f"s{number}")
    night(call)
    assert told(call).count(SAID) >= 2
    rows = call("list", type="semantic", limit=100)["results"]
    return next(str(row["id"]) for row in rows if row["title"] == SAID)


def night(call: Call) -> None:
    call("dream", loops=["encode", "entities", "distil"], judge="offline")


def test_forgotten_words_leave_what_quotes_them_in_the_same_commit(root: Path, call: Call) -> None:
    ident = quoted(call)
    before = commits(root)
    done = call("forget", id=ident)
    assert commits(root) == before + 1
    assert SAID not in told(call)
    assert SAID not in (root / ".oneiro" / "orientation.md").read_text()
    assert BESIDE in told(call)
    call("undo", commit=done["commit"])
    assert told(call).count(SAID) >= 2


def test_no_night_quotes_what_was_forgotten_and_a_restored_fact_returns(call: Call) -> None:
    ident = quoted(call)
    call("forget", id=ident)
    night(call)
    assert SAID not in told(call), "the conversation still has these words"
    call("restore", id=ident)
    night(call)
    assert told(call).count(SAID) >= 2


def test_what_is_wrong_is_said_nowhere_unasked_until_it_is_useful(call: Call) -> None:
    ident = quoted(call)
    call("feedback", id=ident, useful=False)
    assert SAID not in told(call)
    night(call)
    assert SAID not in told(call)
    call("feedback", id=ident, useful=True)
    night(call)
    assert told(call).count(SAID) >= 2


def test_a_forgotten_conversation_takes_no_fact_of_it_from_its_block(call: Call) -> None:
    fact = quoted(call)
    (source,) = call("show", id=fact)["meta"]["derived_from"]
    call("forget", id=source)
    assert SAID in told(call)
