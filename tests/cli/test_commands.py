"""Every command, as a person types it and as a program reads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.errors import LockTimeout
from tests.box import ENTRY, Box, eventually

ROW = {"id", "path", "title", "description", "type", "created"}


@pytest.fixture(scope="module")
def ids(box: Box) -> dict[str, str]:
    texts = {
        "boiler": "The boiler was serviced in March.",
        "ladder": "The ladder is at Mika's until Sunday.",
        "code": "The gate code is on the blue card.",
    }
    return {
        name: str(box.remember(text, "--tag", "house", "--title", name.title())["id"])
        for name, text in texts.items()
    }


SCHEMAS: list[tuple[list[str], set[str]]] = [
    (["recall", "boiler"], {"schema", "results", "degraded", "behind"}),
    (
        ["show", "boiler"],
        {
            "schema",
            "id",
            "path",
            "meta",
            "body",
            "text",
            "sha256",
            "links",
            "backlinks",
            "strength",
            "problems",
        },
    ),
    (["list"], {"schema", "results", "total"}),
    (["log"], {"schema", "entries"}),
    (["why", "boiler"], {"schema", "id", "title", "path", "story", "lineage", "uses"}),
    (["stats"], {"schema", "vault", "notes", "settings"}),
    (
        ["status"],
        {
            "schema",
            "vault",
            "notes",
            "chunks",
            "pending",
            "behind",
            "degraded",
            "unreadable",
            "model",
            "owner",
        },
    ),
    (["doctor"], {"schema", "problems"}),
    (["check"], {"schema", "problems", "notes"}),
    (["reindex"], {"schema", "notes", "chunks", "pending"}),
    (["adopt"], {"schema", "adopted", "skipped", "commit"}),
    (["completion", "bash"], {"schema", "shell", "source"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "keys"), SCHEMAS, ids=lambda value: value[0] if isinstance(value, list) else ""
)
def test_json_keeps_its_promises(
    box: Box, ids: dict[str, str], args: list[str], keys: set[str]
) -> None:
    found = box.json(*(ids.get(arg, arg) if args[0] in ("show", "why") else arg for arg in args))
    assert found["schema"] == 1
    assert keys <= found.keys()


def test_rows_of_recall_and_list(box: Box, ids: dict[str, str]) -> None:
    hit = box.json("recall", "boiler serviced")["results"][0]
    assert hit.keys() >= ROW | {"score", "why"}
    assert hit["id"] == ids["boiler"]
    assert all(row.keys() >= ROW for row in box.json("list")["results"])


def test_recall_for_people(box: Box, ids: dict[str, str]) -> None:
    first = box.ok("recall", "boiler", "serviced").splitlines()[0]
    assert first.split(" · ")[1:] == [
        "Boiler",
        ids["boiler"][:8],
        "The boiler was serviced in March.",
    ]
    assert "no relevant memory" in box.ok("recall", "xylophone quartz vacuum")
    assert "=" in box.ok("recall", "boiler", "--explain").splitlines()[1]


@pytest.mark.parametrize(
    "args",
    [
        ["-k", "1"],
        ["--type", "semantic"],
        ["--tag", "house"],
        ["--since", "last week", "--until", "tomorrow"],
        ["--fast"],
    ],
    ids=" ".join,
)
def test_recall_options_reach_the_operation(box: Box, ids: dict[str, str], args: list[str]) -> None:
    assert [row["id"] for row in box.json("recall", "boiler serviced March", *args)["results"]][
        :1
    ] == [ids["boiler"]]


def test_recall_filters_filter(box: Box, ids: dict[str, str]) -> None:
    assert box.json("recall", "boiler", "--type", "principle")["results"] == []
    assert box.json("recall", "boiler", "--until", "2020")["results"] == []
    assert box.json("list", "--tag", "nothing")["results"] == []
    assert len(box.json("list", "-n", "1")["results"]) == 1


def test_show_for_people_and_with_why(box: Box, ids: dict[str, str]) -> None:
    text = box.ok("show", ids["ladder"][:6])
    assert text.splitlines()[0] == "Ladder"
    assert "The ladder is at Mika's until Sunday." in text
    assert box.json("show", "--why", ids["ladder"])["why"]


def test_a_life(box: Box) -> None:
    """remember, reframe, forget, restore, undo: each a commit, each told by log and why."""
    ident = box.remember("The meeting is on Monday at ten.", "--title", "Meeting")["id"]
    path = box.vault / box.json("show", ident)["path"]
    assert ident in box.ok(
        "reframe", ident, "The meeting is", "on Tuesday.", "--reason", "Ana is away"
    )
    assert "Tuesday" in path.read_text()
    changed = path.read_bytes()
    assert "brings it back" in box.ok("forget", ident, "--reason", "cancelled")
    assert not path.exists()
    assert ident in box.ok("restore", ident)
    assert path.read_bytes() == changed
    entries = box.json("log", ident)["entries"]
    assert [entry["op"] for entry in entries] == ["restore", "forget", "reframe", "remember"]
    undone = box.json("undo", entries[2]["commit"])
    assert "Monday" in path.read_text()
    assert undone["paths"] == [path.relative_to(box.vault).as_posix()]
    story = box.ok("why", ident)
    assert [
        word for word in ("remember", "reframe", "forget", "restore") if word not in story
    ] == []
    assert "Ana is away" in story
    assert "reframe: " in box.ok("log", "-n", "20")


def test_reframe_from_standard_input(box: Box) -> None:
    ident = box.remember("The tap drips.")["id"]
    box.ok("reframe", ident, "-", stdin="The tap is mended ☕.\n".encode())
    assert box.json("show", ident)["body"].strip() == "The tap is mended ☕."


def test_reframe_of_a_note_that_changed_meanwhile_waits_as_a_proposal(box: Box) -> None:
    row = box.remember("The fence needs paint.")
    note = box.vault / row["path"]
    note.write_text(note.read_text() + "Blue, says Mika.\n")
    text = box.ok("reframe", row["id"], "The fence is painted.", "--base", row["sha256"])
    assert "your text waits in" in text
    assert "Blue, says Mika." in note.read_text()


def test_adopt_takes_paths_from_where_one_stands(box: Box) -> None:
    note = box.vault / "loose" / "Tea notes.md"
    note.parent.mkdir()
    note.write_text("# Tea\n\nOolong at 90 degrees.\n")
    argv = [sys.executable, "-c", ENTRY, "--json", "adopt", "Tea notes.md"]
    done = subprocess.run(argv, cwd=note.parent, env=box.env, capture_output=True, timeout=60)
    found = json.loads(done.stdout)
    assert [entry["path"] for entry in found["adopted"]] == ["loose/Tea notes.md"]
    assert found["adopted"][0]["id"] in note.read_text()
    nowhere = box("adopt", "nowhere.md")
    assert (nowhere.returncode, nowhere.stdout) == (3, b"")
    assert b"there is no note at 'nowhere.md'" in nowhere.stderr
    (box.vault / "loose/deep").mkdir()
    for name in ("one", "deep/two"):
        (box.vault / f"loose/{name}.md").write_text(f"Words of {name}.\n")
    (box.vault / "loose/broken.md").write_bytes(b"---\ntitle: [\n---\nx\n")
    mixed = box("--json", "adopt", "loose/", "nowhere.md")
    answer = json.loads(mixed.stdout)
    assert mixed.returncode == 3
    assert [entry["path"] for entry in answer["adopted"]] == ["loose/deep/two.md", "loose/one.md"]
    assert {entry["path"]: entry["code"] for entry in answer["skipped"]} == {
        "nowhere.md": "missing",
        "loose/broken.md": "unreadable",
    }
    assert b"Skipped loose/broken.md: it cannot be read" in mixed.stderr
    assert box("adopt", "loose").returncode == 2
    (box.vault / "loose/broken.md").unlink()
    assert "No note got an id" in box.ok("adopt", "loose")


def test_check_finds_errors_and_says_so_with_its_code(box: Box) -> None:
    bad = box.vault / "bad.md"
    bad.write_text("---\ntitle: [\n---\nx\n")
    try:
        done = box("check")
        assert done.returncode == 1
        assert "bad.md" in done.stdout.decode()
        assert "bad.md" in box.ok("status")
        done = box("check", "--format", "github")
        assert done.returncode == 1
        assert done.stdout.startswith(
            b"::error file=bad.md,line=3,title=oneiro broken::1 note cannot be read in full: "
        )
    finally:
        bad.unlink()
    assert box("check").returncode == 0


def test_doctor_is_calm_about_a_good_vault(box: Box) -> None:
    assert [
        problem for problem in box.json("doctor")["problems"] if problem["level"] == "error"
    ] == []


def test_watch_prints_what_happens(box: Box, ids: dict[str, str]) -> None:
    process = box.start("watch", stdout=subprocess.PIPE)
    assert process.stdout is not None
    # the first event may come before the watch has begun, so the note is saved until one is seen
    note = box.vault / "watched.md"
    os.set_blocking(process.stdout.fileno(), False)
    seen = b""
    for number in range(100):
        note.write_text(f"Seen {number}.\n")
        try:
            seen += process.stdout.read() or b""
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            pass
        if b"IDX watched.md " in seen:
            break
    assert len(seen.split(b"IDX watched.md ")[1].split()[0]) == 64
    note.unlink()


def test_global_options_before_and_after(box: Box, ids: dict[str, str]) -> None:
    for args in (["--json", "list"], ["list", "--json"], ["list", "--json", "-v"]):
        done = box(*args)
        assert json.loads(done.stdout)["schema"] == 1
        assert (b"vault: " in done.stderr) == ("-v" in args)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_ours(box: Box, shell: str) -> None:
    assert "_ONEIRO_COMPLETE" in box.ok("completion", shell)


def test_completion_completes(box: Box) -> None:
    env = {"_ONEIRO_COMPLETE": "bash_complete", "COMP_WORDS": "oneiro rec", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", ENTRY], env=box.env | env, capture_output=True, timeout=60
    )
    assert b"recall" in done.stdout


def test_help_and_version(box: Box) -> None:
    text = box.ok("--help")
    assert "Exit codes:" in text
    assert "remember" in text
    assert box.ok("--version").startswith("oneiro ")
    assert "--since" in box.ok("recall", "--help")


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["show", "zzzz"], 3, "no memory has the id"),
        (["show", "z"], 2, "too short"),
        (["show", "../x.md"], 2, "not an id"),
        (["recal", "x"], 2, "Did you mean 'recall'?"),
        (["frobnicate"], 2, "lists the commands"),
        (["recall", "x", "--since", "the day of the dragon"], 2, "dragon"),
        (["recall", "x", "-k", "0"], 2, "k must be"),
        (["undo", "nothing"], 3, "nothing"),
        (["restore", "zzzzzz"], 3, "zzzzzz"),
        (["reframe", "zzzz", "x"], 3, "zzzz"),
        (["init"], 2, "--here"),
        (["list", "-n", "-1"], 2, "limit"),
        (["remember", "x", "--nonsense"], 2, "No such option"),
        (["show"], 2, "Missing argument"),
        (["--vault", "/nowhere/at/all", "list"], 5, "there is no vault at /nowhere/at/all"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_errors_say_what_to_do(box: Box, args: list[str], code: int, says: str) -> None:
    done = box(*args)
    assert (done.returncode, done.stdout) == (code, b"")
    assert says in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    as_json = box("--json", *args)
    assert as_json.returncode == code
    assert says in json.loads(as_json.stdout)["error"]["message"]


def test_no_vault_anywhere(box: Box) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENTRY, "list"], cwd="/", env=box.env, capture_output=True, timeout=60
    )
    assert done.returncode == 5
    assert b"no vault was named" in done.stderr


def test_the_first_vault_is_the_default_and_a_captured_folder_is_answered_with_its_vault(
    tmp_path: Path,
) -> None:
    config = tmp_path / "config" / "oneiro" / "config.toml"
    passing = tmp_path / "tmp"
    env = {
        **os.environ,
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "ONEIRO_OWNER_START": "false",
        "TMPDIR": str(passing),
    }
    env.pop("ONEIRO_VAULT", None)
    folder = tmp_path / "project"
    folder.mkdir()
    passing.mkdir()

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-c", ENTRY, "--no-daemon", *argv]
        return subprocess.run(
            words, cwd=folder, env=env, capture_output=True, text=True, timeout=60
        )

    refused = run("list")
    assert refused.returncode == 5
    assert "settings --default" in refused.stderr
    none = run("init", str(passing / "none")).stdout
    assert "It is no default, for what lies there may vanish" in none
    assert f"oneiro --vault {passing / 'none'} settings --default" in none
    assert not config.exists()
    config.parent.mkdir(parents=True)
    config.write_bytes(b"# caf\xe9\n")
    failed = run("init", str(tmp_path / "zeroth"))
    assert (failed.returncode, "settings --default` makes it that" in failed.stdout) == (0, True)
    config.write_text('vault = "/gone"\n')
    for name in ("first", "second"):
        told = run("init", str(tmp_path / name)).stdout
        assert (str(config) in told) == (name == "first")
        assert config.read_text("utf-8") == f'vault = "{tmp_path / "first"}"\n'
    assert json.loads(run("--json", "status").stdout)["vault"] == str(tmp_path / "first")
    (folder / ".oneiro-capture").write_text('vault = "../second"\n')
    assert json.loads(run("--json", "status").stdout)["vault"] == str(tmp_path / "second")
    config.write_text('# mine\nvault="/gone" # old\n[embed]\nthreads = 2\n')
    assert run("settings", "--default").returncode == 0
    named = f'vault = "{tmp_path / "second"}"\n'
    assert config.read_text("utf-8") == f"{named}# mine\n# old\n[embed]\nthreads = 2\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "notes" / "Größe 🌱").mkdir(parents=True)
    files: dict[str, bytes] = {
        "plain.md": b"# Plain\n\nA kettle.\n",
        "Größe 🌱/ünï.md": "Die Teekanne ist grün.\r\n".encode(),
        "broken.md": b"---\nx: [\n---\nbody\n",
        "junk.md": bytes(range(256)),
        "empty.md": b"",
    }
    for name, data in files.items():
        (tmp_path / "notes" / name).write_bytes(data)
    return tmp_path / "notes"


@pytest.mark.slow
def test_a_note_that_is_too_long_is_said_to_be_searched_in_part(fresh: Box) -> None:
    fresh.vault.mkdir()
    (fresh.vault / "long.md").write_text("word " * 300_000)
    argv = [sys.executable, "-c", ENTRY, "init", "--here"]
    done = subprocess.run(argv, cwd=fresh.vault, env=fresh.env, capture_output=True, timeout=60)
    assert b"Of long.md only the beginning is searched" in done.stdout
    assert fresh.json("status")["partial"] == ["long.md"]
    assert "only the beginning of it is searched" in fresh("doctor").stdout.decode()


@pytest.mark.slow
def test_an_index_that_another_program_holds_is_said(box: Box) -> None:
    """Without an owner nobody makes it good by itself, and a person's commit would take the new
    memory out again."""
    box.ok("stop")
    held = box.vault / ".git/index.lock"
    with held.open("x"):
        done = box.process("--no-daemon", "remember", "The boat is called Petrel.")
        assert (done.returncode, b"another program holds git's index" in done.stderr) == (0, True)
    held.unlink()
    after = box.process("--no-daemon", "remember", "It leaks.")
    assert b"another program" not in after.stderr


def test_init_asks_for_one_folder(owned: Box) -> None:
    """`--vault` names a vault that is there; with `--here` it was passed over, and another folder
    became one."""
    done = owned("--vault", str(owned.folder / "elsewhere"), "init", "--here")
    assert (done.returncode, b"--vault names another folder" in done.stderr) == (2, True)
    assert not (owned.folder / "elsewhere").exists()


@pytest.mark.slow
def test_the_owner_that_init_starts_stays(fresh: Box, notes: Path) -> None:
    """It ended at once where the vault became the machine's default behind it, and nothing was
    embedded."""
    env = {key: value for key, value in fresh.env.items() if key != "ONEIRO_VAULT"}
    env["TMPDIR"] = str(fresh.folder / "passing")
    Path(env["TMPDIR"]).mkdir()
    fresh.vault, fresh.env = notes, env

    def run(*argv: str) -> dict[str, Any]:
        words = [sys.executable, "-c", ENTRY, "--json", *argv]
        done = subprocess.run(words, cwd=notes, env=env, capture_output=True, timeout=60)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    run("init", "--here")
    config, owner = Path(env["XDG_CONFIG_HOME"], "oneiro/config.toml"), ".git/oneiro/owner.json"
    assert config.stat().st_mtime_ns <= (notes / owner).stat().st_mtime_ns
    run("stop")


@pytest.mark.slow
def test_init_here_indexes_and_rewrites_nothing(fresh: Box, notes: Path) -> None:
    before = {path: path.read_bytes() for path in notes.rglob("*.md")}
    fresh.vault = notes
    argv = [sys.executable, "-c", ENTRY, "--json", "init", "--here"]
    done = subprocess.run(argv, cwd=notes, env=fresh.env, capture_output=True, timeout=60)
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in before} == before
    lost = {entry["path"] for entry in found["unreadable"] + found["skipped"]}
    assert "junk.md" in lost
    assert "broken.md" not in lost
    assert fresh.json("status")["broken"] == ["broken.md"]
    assert fresh.json("recall", "Teekanne")["results"][0]["path"] == "Größe 🌱/ünï.md"


IMPATIENT = "from oneiro_vault.cli.commands import init\ninit.LIMIT = 0.0\n" + ENTRY


@pytest.mark.slow
def test_init_says_what_is_left_to_the_owner(owned: Box, notes: Path) -> None:
    """The vault is made, whatever the owner takes: that is no error, and "nothing was changed"
    would not be true."""
    owned.vault = notes
    argv = [sys.executable, "-c", IMPATIENT, "init", "--here"]
    done = subprocess.run(argv, cwd=notes, env=owned.env, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (
        b"notes are not indexed yet: after 0 seconds the owner is being started still. `oneiro "
        b"status`" in done.stdout
    )
    assert b"Nothing was changed" not in done.stdout + done.stderr
    assert owned.json("recall", "Teekanne")["results"]


@pytest.mark.slow
def test_an_empty_vault_waits_for_nobody_and_an_owner_comes(owned: Box) -> None:
    argv = [sys.executable, "-c", IMPATIENT, "--json", "init", str(owned.vault)]
    done = subprocess.run(argv, cwd=owned.folder, env=owned.env, capture_output=True, timeout=60)
    found = json.loads(done.stdout)
    assert (done.returncode, found["indexed"], found["waiting"]) == (0, 0, None)
    eventually(lambda: owned.record, 20)


@pytest.mark.slow
def test_two_owners_at_once_are_one(owned: Box) -> None:
    """`init` has just begun one; a command does not wait for the second to give up."""
    owned.init()
    first = owned.start(
        "serve", "--wait", "300", stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    owned.numbers["git.wait"] = 300.0
    assert owned.json("list")["results"] == []
    assert owned.pid == first.pid or first.wait(timeout=60) == LockTimeout.exit_code


@pytest.mark.slow
def test_demo_is_real(owned: Box) -> None:
    owned.vault = owned.folder / "kept"
    argv = [sys.executable, "-c", ENTRY, "demo", "--keep", str(owned.vault)]
    done = subprocess.run(argv, cwd=owned.folder, env=owned.env, capture_output=True, timeout=100)
    text = done.stdout.decode()
    assert done.returncode == 0, text + done.stderr.decode()
    assert f"The vault is yours to keep or delete: {owned.vault}" in text
    subjects = subprocess.run(
        ["git", "log", "--format=%s"],
        cwd=owned.vault,
        env=owned.env,
        capture_output=True,
        text=True,
        timeout=20,
    ).stdout
    for op in ("remember: ", "reframe: ", "forget: ", "restore: "):
        assert op in subjects
    assert "$ oneiro recall zucchini" in text


@pytest.mark.slow
def test_demo_without_an_owner_and_as_json(fresh: Box) -> None:
    fresh.vault = fresh.folder / "alone"
    argv = [
        sys.executable,
        "-c",
        ENTRY,
        "--no-daemon",
        "--json",
        "demo",
        "--keep",
        str(fresh.vault),
    ]
    done = subprocess.run(argv, cwd=fresh.folder, env=fresh.env, capture_output=True, timeout=100)
    found = json.loads(done.stdout)
    assert (found["ok"], found["failure"]) == (True, None)
    assert len(found["steps"]) == 8
    assert fresh.record == {}


@pytest.mark.slow
def test_demo_that_finds_a_lie_says_so(owned: Box) -> None:
    """A history that tells nothing: the demo must not call that a success."""
    liar = """
import sys
from oneiro_vault.cli import run, session
from oneiro_vault.cli.context import Face
from oneiro_vault.daemon.protocol import Request, Terminal
import os
class Liar(session.VaultSession):
    def call(self, op, params, progress=None):
        return {"schema": 1, "entries": []} if op == "log" else super().call(op, params, progress)
code, out, err = run.execute(Face(Request(sys.argv[3:], os.getcwd(), dict(os.environ), Terminal()), Liar))
sys.stdout.buffer.write(out + err)
sys.exit(code)
"""
    owned.vault = owned.folder / "lied"
    done = owned("--no-daemon", "demo", "--keep", str(owned.vault), entry=liar)
    assert done.returncode == 1
    assert b"This is not what it should be: the log does not tell the whole story" in done.stdout
