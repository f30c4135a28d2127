"""Erasure is real: afterwards nothing of the repository, its indexes or its private files holds the
words, and nothing brings them back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from oneiro_vault.app import OPS, App
from oneiro_vault.daemon.protocol import HOT, READS
from oneiro_vault.errors import (
    AmbiguousId,
    GitProblem,
    InvalidInput,
    NotFound,
    OneiroError,
    RepositoryBusy,
)
from oneiro_vault.mcp import server
from oneiro_vault.operations.care import purge
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.worktree.files import digest
from tests.copies import new_vault
from tests.operations.conftest import QUICK
from tests.operations.erasure import TEXT, everything, remember, said_everywhere
from tests.vault.support import git

TYPES = (
    "commit messages",
    "file names",
    "stashes",
    "versions of dream reports",
    "versions of notes that stay",
)


def test_no_program_can_purge() -> None:
    assert not {name for name in {*OPS, *READS, *HOT} if "purge" in name}
    assert "purg" not in Path(server.__file__).read_text()


def test_a_text_is_nowhere_any_more(root: Path) -> None:
    with App.open(root, QUICK) as app:
        said_everywhere(app)
        before = int(git(root, "rev-list", "--count", "--all"))
        erasure = purge.look(app.house, matching=TEXT)
        plan = erasure.shown()
        assert set(TYPES) <= plan["found"].keys()
        assert plan["found"]["attachments and other files that go"] == 1
        assert len(everything(root)) > 5, "looking at the plan changes nothing"
        receipt = erasure.run()
        assert receipt["left"] == []
        assert TEXT not in json.dumps(receipt, ensure_ascii=False)
        kinds = {problem["code"] for problem in app.call("doctor")["problems"]}
        assert not kinds & {"rewritten", "damage", "purged", "busy"}
        assert everything(root) == []
    with App.open(root, QUICK) as app:
        assert everything(root) == []
        assert git(root, "status", "--porcelain") == ""
        assert int(git(root, "rev-list", "--count", "--all")) == before + 1, (
            "the one that a reflog led to is gone, tombstones came"
        )
        assert git(root, "stash", "list").strip() == "stash@{0}: On main: [purged]"
        assert "[purged]" in git(root, "stash", "show", "-p")
        assert "[purged]" in git(root, "tag", "-n1", "v1")
        assert git(root, "log", "-1", "--format=%s").strip() == "forget: purged a text"
        (row, *_) = app.call("recall", {"query": "She moved, says Bo"})["results"]
        assert app.call("show", {"id": row["id"]})["body"].startswith(
            "She moved. [purged] all the same"
        )
        again = remember(app, "Life goes on.")
        assert app.call("show", {"id": again})["body"].strip() == "Life goes on."


def test_a_memory_goes_with_all_that_was_made_of_it(root: Path) -> None:
    with App.open(root, QUICK) as app:
        ident = said_everywhere(app)
        twin = remember(app, f"Bystander. {TEXT}, as Ann says.", type="episodic")
        git(root, "stash", "drop", "-q")
        app.call("forget", {"id": ident})  # also what was forgotten long ago
        erasure = purge.look(app.house, [ident[:7]])
        plan = erasure.shown()
        assert [one["id"] for one in plan["memories"]] == [ident]
        assert any(twin in path for path in plan["also"]), (
            "another memory that says the same is a person's to name"
        )
        receipt = erasure.run()
        assert receipt["memories"] == [ident]
        assert receipt["left"] == []
        second = purge.look(app.house, [twin]).run()
        assert second["left"] == []
        left = [line for line in everything(root) if "object" not in line]
        assert all(line.startswith("attachments/") for line in left), left
        with pytest.raises(NotFound, match="was purged"):
            app.call("show", {"id": ident})
        with pytest.raises(NotFound):
            app.call("restore", {"id": ident})
        assert (
            git(root, "log", "--format=%s", "-2").split("\n")[:2] == ["forget: purged 1 memory"] * 2
        )
        assert git(root, "log", "-1", "--format=%B").count(twin) == 1


def test_what_was_purged_is_not_imported_again(root: Path) -> None:
    with App.open(root, QUICK) as app:
        item = {
            "text": "Kim has the keys to the shed in June.",
            "id": "0123456789ab",
            "title": "Keys",
        }
        app.call("remember", {"items": [item]})
        purge.look(app.house, ["0123456789ab"]).run()
        answer = app.call(
            "remember",
            {
                "items": [item, {"text": "Something else entirely."}],
                "partial": True,
                "dedupe": "exact",
            },
        )
        assert "purged" in json.dumps(answer)
        assert app.call("list")["total"] == 1


@pytest.mark.slow
def test_attachments_go_with_the_last_memory_that_shows_them(root: Path) -> None:
    with App.open(root, QUICK) as app:
        data = b"%PDF and so on"
        path = f"attachments/{digest(data)[:2]}/{digest(data)}.pdf"
        picture = (
            f"---\nid: 00000000abcd\ntype: semantic\ntitle: Shown\n---\n![[{path}]]\n".encode()
        )
        app.house.vault.apply(
            [Write(path, data), Write("semantic/shown.md", picture)], Operation("remember", "x")
        )
        plan = purge.look(app.house, ["00000000abcd"])
        assert plan.trace.paths[path] == ""
        last = remember(app, f"Also shown here: ![[{path}]]")
        plan.run()  # what it does is decided anew
        assert (root / path).exists()
        purge.look(app.house, [last]).run()
        assert not (root / path).exists()
        assert not {problem["code"] for problem in app.call("doctor")["problems"]} & {
            "purged",
            "attachment-missing",
        }


def dirty(root: Path) -> None:
    note = next(root.glob("semantic/*/*/*.md"))
    note.write_text(note.read_text() + "more\n")


def staged(root: Path) -> None:
    dirty(root)
    git(root, "add", "-A")


def merging(root: Path) -> None:
    (root / ".git/MERGE_HEAD").write_text(git(root, "rev-parse", "HEAD"))


def detached(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")


def elsewhere(root: Path) -> None:
    git(root, "worktree", "add", "-q", str(root.parent / "tree"), "-b", "side")


def borrowing(root: Path) -> None:
    (root / ".git/objects/info").mkdir(exist_ok=True)
    (root / ".git/objects/info/alternates").write_text(f"{root.parent}\n")


def shallow(root: Path) -> None:
    (root / ".git/shallow").write_text(git(root, "rev-parse", "HEAD"))


@pytest.mark.parametrize(
    ("spoil", "error", "text"),
    [
        (dirty, RepositoryBusy, "not committed"), (staged, RepositoryBusy, "staged"),
        (merging, RepositoryBusy, "merge"),
        (detached, RepositoryBusy, "detached"), (elsewhere, RepositoryBusy, "work trees"),
        (borrowing, GitProblem, "borrows"),
        (shallow, GitProblem, "beginning"),
    ],
)  # fmt: skip
def test_not_in_the_middle_of_something(
    root: Path, spoil: Callable[[Path], None], error: type[OneiroError], text: str
) -> None:
    with App.open(root, QUICK) as app:
        remember(app, "The boat is called Petrel.")
        tip = app.house.vault.head()
        erasure = purge.look(app.house, matching="Petrel")
        spoil(root)
        with pytest.raises(error, match=text):
            purge.look(app.house, matching="Petrel")
        with pytest.raises(error, match=text):
            erasure.run()
        assert git(root, "rev-parse", "main").strip() == tip


def test_what_cannot_be_looked_for(root: Path) -> None:
    with App.open(root, QUICK) as app:
        remember(app, "One.", id="abcd00000001")
        remember(app, "Two.", id="abcd00000002")
        for ids, matching, error in (
            ((), "", InvalidInput), (("abcd",), "x", InvalidInput), (("abcd",), "", AmbiguousId),
            (("abcx",), "", NotFound),
            (("a/b",), "", NotFound), ((), "nowhere at all", NotFound),
            ((), "semantic", InvalidInput), ((), "ab", InvalidInput),
        ):  # fmt: skip
            with pytest.raises(error):
                purge.look(app.house, ids, matching)
        (root / "mine.txt").write_text("an aardvark")
        assert purge.look(app.house, matching="aardvark").shown()["untouched"] == ["mine.txt"]
        with pytest.raises(NotFound, match="no purge was begun"):
            purge.resume(app.house)


@pytest.mark.slow
def test_the_receipt_says_what_remotes_must_do(root: Path, tmp_path: Path) -> None:
    with App.open(root, QUICK) as app:
        remember(app, "The boat is called Petrel.")
        git(tmp_path, "init", "-q", "--bare", "-b", "main", "far.git")
        git(root, "remote", "add", "far", str(tmp_path / "far.git"))
        git(root, "push", "-q", "far", "main", "main:gone")
        git(root, "tag", "v1")
        old = app.house.vault.head()
        receipt = purge.look(app.house, matching="Petrel").run()
        commands = [todo for todo in receipt["todo"] if todo.startswith("git ")]
        assert commands == [
            "git push far --delete gone",
            f"git push --force-with-lease=main:{old} far main",
            "git push --force far --tags",
        ]
        for command in commands:
            git(root, *command.split()[1:])
        assert git(root, "ls-remote", "far", "main").split()[0] == app.house.vault.head()
        assert json.loads(Path(receipt["receipt"]).read_text())["after"] == app.house.vault.head()


def test_a_new_vault_can_be_purged(tmp_path: Path) -> None:
    new_vault(tmp_path / "v")
    with App.open(tmp_path / "v", QUICK) as app, pytest.raises(NotFound):
        purge.look(app.house, matching="anything at all")


# -- where else it stands
# --------------------------------------------------------------------------------------------------

NAME = "Zora Ploverton"
WORDS = ("Ploverton", "ploverton", "PLOVERTON")


def left(root: Path) -> list[str]:
    """Where the name still is, in whatever encoding: objects, ref names, any file."""
    wide = "Ploverton".encode("utf-16-le")
    done = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch"],
        cwd=root,
        capture_output=True,
        check=True,
        timeout=60,
    )
    refs = [line for line in git(root, "for-each-ref").splitlines() if "loverton" in line]
    return [*everything(root, WORDS), *refs, *(["wide"] if wide in done.stdout else [])]


def test_authors_and_their_addresses_go(root: Path) -> None:
    with App.open(root, QUICK) as app:
        remember(app, f"{NAME} is ill.")
        someone = ("-c", f"user.name=Dr. {NAME}", "-c", "user.email=zora-ploverton@example.org")
        git(root, *someone, "commit", "-q", "--allow-empty", "-m", "hello")
        git(root, *someone, "tag", "-a", "-m", "nothing", "v1")
        git(
            root,
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "by another hand",
            f"--author={NAME} <z@example.org>",
        )
        erasure = purge.look(app.house, matching=NAME)
        assert erasure.shown()["found"]["names of authors"] == 3
        receipt = erasure.run()
        assert receipt["left"] == []
        assert left(root) == []
        assert git(root, "log", "-3", "--format=%an <%ae> %cn").splitlines()[1:] == [
            "[purged] <z@example.org> Ada", "Dr. [purged] <[purged]@example.org> Dr. [purged]"
        ]  # fmt: skip


@pytest.mark.slow
def test_notes_that_git_ignores_and_everybody_reads(root: Path) -> None:
    with App.open(root, QUICK) as app:
        (root / ".gitignore").write_text(".oneiro/\nprivate/\n")
        (root / "private").mkdir()
        (root / "private/journal.md").write_text(f"# Journal\n\n{NAME} is ill. So is the boat.\n")
        (root / f"private/{NAME}.md").write_text("# A page\n\nEmpty.\n")
        (root / "private/other.md").write_text(
            "---\nid: 00000000abcd\ntype: semantic\n---\nThe cellar is flooded again today.\n"
        )
        git(root, "add", ".gitignore")
        git(root, "commit", "-qm", "ignore")
        assert app.call("recall", {"query": NAME})["results"]
        erasure = purge.look(app.house, matching=NAME)
        assert erasure.shown()["found"] == {"files that git does not follow": 2}
        assert left(root), "looking changes nothing"
        receipt = erasure.run()
        assert receipt["left"] == []
        assert left(root) == []
        assert (
            root / "private/journal.md"
        ).read_text() == "# Journal\n\n[purged] is ill. So is the boat.\n"
        assert (root / "private/purged.md").exists()
        assert not app.call("recall", {"query": "Ploverton"})["results"]
        purge.look(app.house, ["00000000abcd"]).run()
        assert not (root / "private/other.md").exists()
        assert everything(root, ("flooded",)) == []
        with pytest.raises(NotFound, match="was purged"):
            app.call("show", {"id": "00000000abcd"})


def test_a_note_of_no_commit_that_gets_another_name_overwrites_none(root: Path) -> None:
    with App.open(root, QUICK) as app:
        (root / ".gitignore").write_text(".oneiro/\nprivate/*.md\nprivate/zora-ploverton/\n")
        texts = {
            f"private/{NAME}.md": "One.\n", "private/zora-ploverton.md": "Two.\n",
            "private/purged.md": "Three.\n",
            "private/zora-ploverton/x.md": "Four.\n",
        }  # fmt: skip
        for path, text in texts.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
            (root / path).chmod(0o600)
        git(root, "add", ".gitignore")
        git(root, "commit", "-qm", "ignore")
        app.house.indexing.reconcile()
        assert purge.look(app.house, matching=NAME).run()["left"] == []
        assert left(root) == []
        assert sorted(path.name for path in (root / "private").iterdir()) == [
            "purged",
            "purged-2.md",
            "purged-3.md",
            "purged.md",
        ]
        found = {path.read_text(): path for path in (root / "private").rglob("*.md")}
        assert set(found) == set(texts.values())
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in found.values())
        assert found["Four.\n"] == root / "private/purged/x.md"
        app.house.vault.edits.commit()
        assert git(root, "ls-files", "private") == "", "it stays out of history as before"


def tagged_blob(root: Path) -> str:
    git(root, "tag", "bt", git(root, "hash-object", "-w", "--stdin", stdin=NAME).strip())
    return "refs/tags/bt"


def tagged_tree(root: Path) -> str:
    (root / "sub").mkdir()
    (root / "sub/x.txt").write_text(NAME)
    git(root, "add", "sub")
    git(root, "commit", "-qm", "sub")
    git(root, "update-ref", "refs/oneiro/tree", git(root, "rev-parse", "HEAD:sub").strip())
    return "refs/oneiro/tree"


def said_of_a_blob(root: Path) -> str:
    git(
        root,
        "tag",
        "-a",
        "-m",
        f"for {NAME}",
        "anno",
        git(root, "hash-object", "-w", "--stdin", stdin="harmless").strip(),
    )
    return "refs/tags/anno"


def named(root: Path) -> str:
    git(root, "branch", "for/zora-ploverton")
    return "refs/heads/for/zora-ploverton"


@pytest.mark.parametrize("spoil", [tagged_blob, tagged_tree, said_of_a_blob, named])
def test_a_ref_that_cannot_be_rewritten_stops_it_beforehand(
    root: Path, spoil: Callable[[Path], str]
) -> None:
    with App.open(root, QUICK) as app:
        remember(app, f"{NAME} is ill.")
        ref = spoil(root)
        tip = app.house.vault.head()
        with pytest.raises(GitProblem, match=ref) as stopped:
            purge.look(app.house, matching=NAME)
        assert "git update-ref -d" in stopped.value.hint
        assert git(root, "rev-parse", "main").strip() == tip
        git(root, "update-ref", "-d", ref)
        assert purge.look(app.house, matching=NAME).run()["left"] == []
        assert left(root) == []


def test_harmless_refs_beside_commits_and_every_kind_of_them(root: Path) -> None:
    with App.open(root, QUICK) as app:
        remember(app, f"{NAME} is ill.")
        git(
            root, "tag", "blob", git(root, "hash-object", "-w", "--stdin", stdin="harmless").strip()
        )
        git(root, "notes", "add", "-m", f"about {NAME}", "HEAD")
        git(root, "update-ref", "refs/oneiro/rescue/x", "HEAD")
        git(root, "tag", "-a", "-m", NAME, "one")
        git(root, "tag", "-a", "-m", NAME, "two", "one")
        old = git(root, "rev-parse", "HEAD").strip()
        git(root, "commit", "-q", "--amend", "-m", f"in other words, {NAME}")
        git(root, "replace", old, "HEAD")
        app.call("doctor", {"fix": True})
        git(root, "pack-refs", "--all")
        assert purge.look(app.house, matching=NAME).run()["left"] == []
        assert left(root) == []
        assert git(root, "cat-file", "-p", "blob") == "harmless"


def test_packs_that_are_kept_stop_it_beforehand(root: Path) -> None:
    with App.open(root, QUICK) as app:
        remember(app, f"{NAME} is ill.")
        git(root, "repack", "-qad")
        pack = next((root / ".git/objects/pack").glob("*.pack"))
        pack.with_suffix(".keep").touch()
        with pytest.raises(GitProblem, match="keep packs"):
            purge.look(app.house, matching=NAME)
        pack.with_suffix(".keep").unlink()
        git(root, "config", "gc.bigPackThreshold", "1")
        assert purge.look(app.house, matching=NAME).run()["left"] == []
        assert left(root) == []


@pytest.mark.slow
def test_other_encodings_go(root: Path) -> None:
    with App.open(root, QUICK) as app:
        remember(app, "The boat is called Petrel.")
        (root / "attachments").mkdir(exist_ok=True)
        (root / "attachments/wide.txt").write_bytes(f"Ask {NAME.upper()} about it".encode("utf-16"))
        (root / "attachments/esc.json").write_text(json.dumps({"who": "Zoë Ploverton"}))
        (root / "attachments/nfd.txt").write_text("Zoe\u0308 Ploverton")
        (root / "attachments/latin.csv").write_bytes("1,Zoë Ploverton".encode("latin-1"))
        (root / "attachments/url.txt").write_text("?q=Zo%C3%AB%20Ploverton")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "files")
        for name in (NAME, "Zoë Ploverton"):
            assert purge.look(app.house, matching=name).run()["left"] == []
        assert left(root) == []


def test_files_of_git_itself_are_a_persons_to_change_and_named(root: Path) -> None:
    with App.open(root, QUICK) as app:
        remember(app, f"{NAME} is ill.")
        git(root, "config", "branch.main.description", NAME)
        erasure = purge.look(app.house, matching=NAME)
        assert erasure.shown()["untouched"] == [".git/config"]
        assert erasure.run()["left"] == [str(root / ".git/config")]
