"""Loops at the command line: run, tried, answered by hand, told, taken back, put into the system's
own timer; and a person's review: by ids, and one by one at a terminal."""

from __future__ import annotations

import json
import os
import plistlib
import pty
import re
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.cli.commands.dream import Sitting
from oneiro_vault.cli.output import Style
from oneiro_vault.daemon.protocol import Terminal
from oneiro_vault.operations.dream import run_now
from oneiro_vault.settings.definitions import Settings
from tests.box import Box, eventually, until_closed
from tests.copies import new_vault
from tests.judges.wire import completion, endpoint
from tests.operations.dream.support import SETTINGS, dream, fill, git, judged
from tests.operations.dream.support import TWINS as TWO_PAIRS

TWINS = ("The tap in the kitchen drips all winter.", "The tap in the kitchen drips all winter.\n")
ALIKE = ("Ana prefers the release on Fridays.", "Ana prefers the releases on Fridays.")


def stored(box: Box, *texts: str) -> list[str]:
    """Store texts, whatever they repeat."""
    return [
        box.remember(text, "--title", f"{number} {text.strip()[:20]}")["id"]
        for number, text in enumerate(texts)
    ]


def test_a_night_from_the_first_question_to_undo(fresh: Box) -> None:
    fresh.init()
    fresh.env["ONEIRO_CONSOLIDATE_SIMILARITY"] = "0.5"
    stored(fresh, *ALIKE)
    tried = fresh.ok("dream", "consolidate", "--judge", "deferred", "--dry-run")
    assert "only tried" in tried
    early = fresh.ok("dream", "synthesize", "--judge", "none", "--dry-run")
    assert "2 memories wait for an insight, 5 make it due" in early
    assert "1 question waits for a model: the one you talk to" in fresh.ok(
        "dream", "consolidate", "--judge", "deferred"
    )
    asked = fresh.ok("dream", "answer")
    assert "<memory" in asked
    question = fresh.json("dream", "answer")["question"]
    first, *others = question["ids"]
    answer = json.dumps(
        {"action": "merge", "reason": "the same wish", "keep": first, "members": others}
    )
    said = fresh.ok("dream", "answer", question["id"], answer)
    assert "no other question waits" in said
    assert "merge" in said
    assert "no question waits" in fresh.ok("dream", "answer")
    run = next(
        run for run in fresh.json("runs", "--loop", "consolidate")["runs"] if run["decisions"]
    )
    told = fresh.ok("runs", "--since", "3 weeks ago")
    assert run["run"] in told
    assert "the same wish" in told
    story = fresh.ok("why", first)
    assert f"run {run['run']}" in story
    assert "judged by deferred" in story
    assert "the same wish" in story
    assert "Undid run" in fresh.ok("undo", "--run", run["run"])
    assert "[undone]" in fresh.ok("runs")
    assert {row["status"] for row in fresh.json("list", "--type", "semantic")["results"]} == {
        "active"
    }


def test_an_answer_that_no_loop_would_take_is_refused_where_it_is_given(fresh: Box) -> None:
    fresh.init()
    fresh.env["ONEIRO_CONSOLIDATE_SIMILARITY"] = "0.5"
    stored(fresh, *ALIKE)
    fresh.ok("dream", "consolidate", "--judge", "deferred")
    question = fresh.json("dream", "answer")["question"]
    others = question["ids"][1:]
    for answer, says in (
        (
            json.dumps(
                {"action": "merge", "reason": "r", "keep": "zzzzzzzzzzzz", "members": others}
            ),
            "not shown: zzzzzzzzzzzz",
        ),
        (json.dumps({"action": "burn", "reason": "r"}), "action"),
        ("[" * 20_000 + "]" * 20_000, "nested too deeply"),
    ):
        done = fresh("dream", "answer", question["id"], answer)
        assert done.returncode == 2
        assert says in done.stderr.decode()
        assert b"the question still waits" in done.stderr
        assert b"recursion" not in done.stderr
    assert fresh.json("dream", "answer")["waiting"] == 1


@pytest.mark.slow
def test_a_night_in_which_every_question_failed_says_so(fresh: Box) -> None:
    fresh.init()
    fresh.ok("stop")
    with endpoint() as vendor:
        vendor.plan = ["401"]
        fresh.env |= {
            "ONEIRO_CONSOLIDATE_SIMILARITY": "0.5", "ONEIRO_DREAMS_MODEL": "m",
            "ONEIRO_DREAMS_URL": vendor.url + "/v1", "OPENAI_API_KEY": "k",
        }  # fmt: skip
        stored(fresh, *ALIKE)
        said = fresh.ok("dream", "consolidate", "--judge", "openai")
    assert said.startswith("consolidate: 1 of 1 question failed")
    assert "merge: the model could not be asked" in said
    assert "nothing to change" not in said
    (run,) = fresh.json("runs")["runs"]
    assert run["title"] == "consolidate: 1 of 1 question failed"
    assert (
        "1 question asked (1 merge): 0 answered, 1 failed"
        in (fresh.vault / run["report"]).read_text()
    )
    assert "1 of 1 question failed" in fresh.ok("runs")
    assert "1 of 1 question failed" in fresh.ok("log", "-n", "1")


def test_wrong_words_are_named(fresh: Box) -> None:
    fresh.init()
    for words, text in (
        (("dream", "nap"), "nap"), (("dream", "--judge", "oracle"), "oracle"),
        (("dream", "answer", "x"), "dream answer ID JSON"),
        (("dream", "answer", "feedfeed", "{}"), "feedfeed"), (("undo",), "--run"),
        (("undo", "HEAD", "--run", "x"), "--run"),
        (("undo", "--run", "nobody"), "nobody"), (("dream", "decay", "--scheduled"), "--scheduled"),
        (("schedule", "later"), "later"),
    ):  # fmt: skip
        done = fresh(*words)
        assert done.returncode in (2, 3), words
        assert text in done.stderr.decode(), words
        assert b"Traceback" not in done.stderr


def test_nothing_is_due_in_a_new_vault(fresh: Box) -> None:
    fresh.init()
    assert "nothing is due" in fresh.ok("dream", "--scheduled")
    shown = fresh.ok("schedule")
    assert "last" not in shown
    assert "not run yet" in shown
    assert "no loop has decided anything yet" in fresh.ok("runs")
    assert fresh.ok("runs", "--loop", "decay").strip() == "no such run"
    assert "consolidate  00:00" in shown
    assert "dialectic    18:00" in shown


def program(folder: Path, name: str, text: str) -> None:
    """A program of the system, as far as a test needs one."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def test_systemd_is_told_and_untold(fresh: Box, tmp_path: Path) -> None:
    fresh.init()
    said = tmp_path / "said"
    program(tmp_path / "bin", "systemctl", f'echo "$@" >> {said}')
    fresh.env["PATH"] = f"{tmp_path / 'bin'}:{fresh.env['PATH']}"
    found = fresh.json("schedule", "install", "--kind", "systemd")["timer"]
    service, timer = (Path(path).read_text() for path in found["files"])
    assert found["installed"]
    assert "OnCalendar=*-*-* 00:00:00\nOnCalendar=*-*-* 18:00:00\nPersistent=true" in timer
    assert f'"--vault" "{fresh.vault}" "dream" "--scheduled"' in service
    assert f"--user enable --now {found['name']}.timer" in said.read_text()
    assert "is installed" in fresh.ok("schedule", "show", "--kind", "systemd")
    assert not fresh.json("schedule", "remove", "--kind", "systemd")["timer"]["installed"]
    assert not any(Path(path).exists() for path in found["files"])
    assert f"--user disable --now {found['name']}.timer" in said.read_text()
    program(tmp_path / "bin", "systemctl", "echo no bus >&2; exit 1")
    done = fresh("schedule", "install", "--kind", "systemd")
    assert done.returncode == 1
    assert b"no bus" in done.stderr


def test_cron_keeps_other_lines(fresh: Box, tmp_path: Path) -> None:
    fresh.init()
    table = tmp_path / "table"
    table.write_text("5 4 * * * something else\n")
    program(
        tmp_path / "bin",
        "crontab",
        f'if [ "$1" = "-l" ]; then cat {table}; else cat > {table}.new && mv {table}.new {table}; '
        f"fi",
    )
    fresh.env["PATH"] = f"{tmp_path / 'bin'}:{fresh.env['PATH']}"
    for _ in range(2):
        found = fresh.json("schedule", "install", "--kind", "cron")["timer"]
        lines = table.read_text().splitlines()
        assert lines[0] == "5 4 * * * something else"
        assert [line.split(" ")[:2] for line in lines[1:]] == [["0", "0"], ["0", "18"]]
        assert all(line.endswith(f"dream --scheduled # {found['name']}") for line in lines[1:])
    fresh.ok("schedule", "remove", "--kind", "cron")
    assert table.read_text() == "5 4 * * * something else\n"


def test_launchd_is_told(fresh: Box, tmp_path: Path) -> None:
    fresh.init()
    program(tmp_path / "bin", "launchctl", "true")
    fresh.env["PATH"] = f"{tmp_path / 'bin'}:{fresh.env['PATH']}"
    (path,) = fresh.json("schedule", "install", "--kind", "launchd")["timer"]["files"]
    found = plistlib.loads(Path(path).read_bytes())
    assert found["StartCalendarInterval"] == [{"Hour": 0, "Minute": 0}, {"Hour": 18, "Minute": 0}]
    assert found["ProgramArguments"][-4:] == ["--vault", str(fresh.vault), "dream", "--scheduled"]
    assert not fresh.json("schedule", "remove", "--kind", "launchd")["timer"]["installed"]


@pytest.mark.slow
def test_ctrl_c_ends_a_dream_in_good_order(fresh: Box) -> None:
    """Without an owner the command itself dreams; the API it asks never answers."""
    import socket

    fresh.init()
    fresh.env["ONEIRO_CONSOLIDATE_SIMILARITY"] = "0.5"
    stored(fresh, *ALIKE)
    fresh.ok("stop")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        fresh.env |= {
            "ONEIRO_DREAMS_MODEL": "m",
            "ONEIRO_DREAMS_URL": f"http://127.0.0.1:{silent.getsockname()[1]}/v1",
            "OPENAI_API_KEY": "k",
        }  # fmt: skip
        process = fresh.start(
            "--no-daemon",
            "dream",
            "consolidate",
            "--judge",
            "openai",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        connection, _ = silent.accept()
        assert connection.recv(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(
            timeout=60
        )  # the endpoint is silent all the time: nobody waits for its two minutes
        connection.close()
    assert b"Traceback" not in err, err
    assert process.returncode in (0, 130)
    assert process.returncode == 130 or b"stopped" in out
    assert fresh.json("runs")["runs"] == [] or not fresh.json("runs")["runs"][0]["decisions"]
    assert "waits" not in fresh.ok("doctor")


class Model:
    """Speaks OpenAI's protocol on loopback and merges: the first question is answered, every later
    one waits until `answers` is set."""

    def __init__(self) -> None:
        self.asked, self.answers = threading.Semaphore(0), threading.Event()
        self.first = threading.Lock()
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

            def do_POST(self) -> None:
                words = self.rfile.read(int(self.headers["content-length"])).decode()
                if not model.first.acquire(blocking=False):
                    model.asked.release()
                    model.answers.wait(60)
                ids = list(dict.fromkeys(re.findall(r'<memory id=.{0,2}"([0-9a-z]{12})', words)))
                merge = {
                    "action": "merge",
                    "reason": "one wish",
                    "keep": ids[0],
                    "members": ids[1:],
                }
                data = json.dumps(completion(json.dumps(merge))).encode()
                with suppress(OSError):  # who asked may be gone
                    self.send_response(200)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.env = {
            "ONEIRO_DREAMS_MODEL": "m",
            "ONEIRO_DREAMS_URL": f"http://127.0.0.1:{self.server.server_port}/v1",
            "OPENAI_API_KEY": "k",
        }  # fmt: skip

    def __enter__(self) -> Model:
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.answers.set()
        self.server.shutdown()
        self.server.server_close()


def _verdicts(box: Box) -> int:
    with closing(
        sqlite3.connect(f"file:{box.vault / '.git' / 'oneiro' / run_now.FILE}?mode=ro", uri=True)
    ) as db:
        return int(db.execute("SELECT count(*) FROM said").fetchone()[0])


@pytest.mark.slow
def test_ctrl_c_ends_a_dream_that_an_owner_runs_and_keeps_what_was_decided(owned: Box) -> None:
    owned.init()
    with Model() as model:
        owned.env |= {"ONEIRO_CONSOLIDATE_SIMILARITY": "0.8"} | model.env
        owned.ok(
            "remember",
            "--from-jsonl",
            "-",
            stdin=b"".join(json.dumps({"text": text}).encode() + b"\n" for text in TWO_PAIRS),
        )
        owner = owned.pid
        process = owned.start(
            "dream",
            "consolidate",
            "--judge",
            "openai",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert model.asked.acquire(timeout=60), "two questions are asked at once"
        eventually(
            lambda: _verdicts(owned) == 1, 60
        )  # the second may come before what was said to the first is kept
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130, (out, err)
        assert b"Traceback" not in err
        eventually(lambda: owned.json("runs")["runs"], 60)  # the model hangs all the time
        (run,) = owned.json("runs")["runs"]
        assert "It was stopped" in (owned.vault / run["report"]).read_text()
        model.answers.set()
        assert owned.pid == owner, "the owner serves on"
        decided = len(run["decisions"])
        again = owned.json("dream", "consolidate", "--judge", "openai")["runs"][0]
    assert again["calls"] + again["known"] <= 2
    assert again["calls"] < 2, "what was answered is not asked again"
    assert decided + len(again["decisions"]) == 2, "and nobody holds the lease"


ALMOST = (
    *TWO_PAIRS,
    "The boat in the harbour is called Petrel.",
    "The boat in the harbour is called the Petrel.",
)

TWICE = ("The tap in the kitchen drips all winter.", "The oven hums when it is cold outside.") * 2


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """Three proposals wait."""
    new_vault(tmp_path / "vault")
    with App.open(
        tmp_path / "vault",
        Settings(
            SETTINGS | {"dreams.review": True, "consolidate.similarity": 0.6, "dreams.brake": 1.0}
        ),
    ) as found:
        fill(found, *ALMOST)
        judged(found)
        assert len(dream(found)["decisions"]) == 3
        yield found


def sit(app: App, *answers: str, edit: str = "", replace: tuple[str, str] = ("", "")) -> str:
    """Give these answers, one after the other; everything that was said."""
    given, said = iter(answers), []

    def ask(question: str) -> str:
        said.append(question)
        return next(given)

    sitting = Sitting(
        app,
        ask,
        said.append,
        lambda text: text.rstrip("\n").replace(*replace, 1) + edit,
        Style(Terminal(0, False)),
    )
    said.append(sitting.run(app.call("review")["proposals"]))
    assert next(given, None) is None
    return "\n".join(said)


def left(app: App) -> int:
    return int(app.call("review")["total"])


def test_one_by_one(app: App) -> None:
    said = sit(app, "?", "a", "r", "not the same", "q")
    for words in (
        "1 of 3",
        "why: they say the same",
        "Accepted merge",
        "Rejected merge",
        "3 of 3",
        "1 still wait",
    ):
        assert words in said
    assert left(app) == 1
    assert "Everything is reviewed." in sit(app, "e", edit="\n\nSays Bo.\n")
    (edited,) = [
        text
        for path in (app.house.root / "semantic").rglob("*.md")
        if "Says Bo." in (text := path.read_text())
    ]
    assert "status: superseded" not in edited, "what a person writes is in force"


def test_all_of_a_kind_and_what_cannot_be_done_is_asked_again(app: App) -> None:
    row = app.call("review")["proposals"][1]
    note = app.house.root / row["changes"][0]["path"]
    note.write_text(note.read_text() + "\nA person's line.\n")
    said = sit(app, "s", "k")
    assert "Not done merge" in said
    assert "no longer fits" in said
    assert said.count("Accepted") == 2
    assert "A person's line." in note.read_text()


def test_an_edit_that_is_refused_is_asked_again(app: App) -> None:
    said = sit(app, "e", "q", replace=("id: ", "id: 0"))
    assert "another id" in said
    assert left(app) == 3


def test_at_the_command_line(fresh: Box) -> None:
    fresh.init()
    fresh.env["ONEIRO_CONSOLIDATE_SIMILARITY"] = "0.6"
    assert "Nothing waits" in fresh.ok("review")
    for text in TWICE:
        fresh.remember(text, "--again")
    said = fresh.ok("dream", "consolidate", "--review")
    assert "waits on dream/" in said
    first, second = fresh.json("review", "--list")["proposals"]
    shown = fresh.ok("review")
    for words in (first["id"][:8], "why: ", "status: superseded"):
        assert words in shown
    assert "Rejected" in fresh.ok("review", "--reject", second["id"], "--reason", "not now")
    said = fresh.ok("review", "--accept", first["branch"])
    assert "Accepted" in said
    assert "is settled" in said
    assert "not now" in fresh.ok("log", "--json")
    for words, code in (
        (("--accept",), 2), (("abcd",), 2), (("--accept", "abcd"), 3), (("--list", "--accept"), 2),
        (("--reason", "x"), 2),
    ):  # fmt: skip
        assert fresh("review", *words).returncode == code, words
    assert "Nothing waits" in fresh.ok("review", "--list")


def test_at_a_terminal(fresh: Box) -> None:
    fresh.init()
    fresh.env |= {
        "ONEIRO_DREAMS_REVIEW": "true",
        "EDITOR": "sed -i 's/kitchen/galley/'",
        "TERM": "dumb",
    }
    for text in TWICE:
        fresh.remember(text, "--again")
    fresh.ok("dream", "consolidate")
    order = [row["title"] for row in fresh.json("review")["proposals"]]
    edits = ["e" if "kitchen" in title else "a" for title in order]
    ours, theirs = pty.openpty()
    child = fresh.start("review", stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, "".join(f"{key}\n" for key in ("x", *edits)).encode())
    said = until_closed(ours)
    assert child.wait(timeout=60) == 0, said
    assert b"Everything is reviewed." in said
    assert any("galley" in path.read_text() for path in (fresh.vault / "semantic").rglob("*.md"))


def proposed(fresh: Box) -> list[Any]:
    """The proposals of a first night in a new vault."""
    fresh.init()
    fresh.env["ONEIRO_DREAMS_REVIEW"] = "true"
    for text in TWICE:
        fresh.remember(text, "--again")
    fresh.ok("dream", "consolidate")
    found: list[Any] = fresh.json("review")["proposals"]
    return found


def test_ids_and_branches_at_the_command_line(fresh: Box) -> None:
    rows = proposed(fresh)
    head = git(fresh.vault, "rev-parse", "HEAD")
    for name in ("ffff0000ffff0000", "dream/1999-01-01"):
        done = fresh("review", "--accept", rows[0]["id"], name)
        assert (done.returncode, b"Nothing was changed" in done.stderr) == (3, True), name
    assert git(fresh.vault, "rev-parse", "HEAD") == head
    assert "1 still wait" in fresh.ok(
        "review", "--reject", rows[0]["id"][:8], "--reason", "they differ"
    )
    note = fresh.vault / rows[1]["changes"][0]["path"]
    kept = note.read_text()
    note.write_text(kept + "\nMine.\n")
    done = fresh("review", "--accept", rows[1]["id"])
    assert (done.returncode, b"changed since" in done.stdout) == (1, True)
    assert note.read_text() == kept + "\nMine.\n"


def test_a_list_says_that_reports_of_dreams_are_left_out(fresh: Box) -> None:
    fresh.init()
    stored(fresh, *ALIKE)
    count = len(fresh.json("list", "-n", "400")["results"])
    for number, said in enumerate(("1 report of dreams is", "2 reports of dreams are")):
        report = Path(fresh.vault, f"report-{number}.md")
        report.write_text(f"---\ntype: dream\ntitle: Night {number}\n---\nDone: {number}.\n")
        told = f"{said} not among them: `oneiro list --type dream`"
        rows = fresh.ok("list", "-n", "400").splitlines()
        assert (rows[-1], "not shown" in rows[-2]) == (told, False)
        *_, last = fresh.ok("list", "-n", str(count - 1)).splitlines()
        assert last == f"{number + 2} more are not shown: `-n {count + number + 1}`"
    assert len(fresh.json("list", "--type", "dream")["results"]) == 2


def test_what_rules_have_filed_is_no_backlog(fresh: Box) -> None:
    fresh.init()
    stored(fresh, *ALIKE)
    assert "waiting  0 captures to be encoded, 0 questions" in fresh.ok("status")
    fresh.ok("dream", "--judge", "offline")
    text = fresh.ok("status")
    found = fresh.json("status")["dreams"]
    told = f"{found['captures']} captures and {found['questions']} questions for a model"
    assert f"waiting  {told} (`oneiro help dreams`); rules have filed what they can" in text
