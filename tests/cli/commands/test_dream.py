"""Loops at the command line: run, tried, answered by hand, told, taken back, and put into the
system's own timer."""

from __future__ import annotations

import json
import plistlib
import re
import signal
import sqlite3
import subprocess
import threading
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.operations.dream import run_now
from tests.box import Box, eventually
from tests.judges.wire import completion, endpoint
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
    assert "1 question waits for an answer" in fresh.ok(
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
