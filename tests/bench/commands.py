"""Whole processes and the owner behind them: recall, remember against git, an edit's way into the
index, resident memory."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from oneiro_vault.app import App, init_vault
from oneiro_vault.settings import locations
from oneiro_vault.settings.definitions import Settings
from tests.bench.kit import WORDS, Row, median, note, paired, write_notes
from tests.box import entry_with

DEBOUNCE = 0.15
IDLE = 5.0
ONEIRO = [sys.executable, "-m", "oneiro_vault"]


def run(scale: int) -> Iterator[Row]:
    """`scale` memories behind the owner; 1,000 and `scale` * 5 notes for the commit figures."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        init_vault(root)
        write_notes(root, scale, words=60)
        env = environment(Path(folder))
        owner = serve(env, root)
        command(env, root, "recall", "kaba")
        most = settle(env, root)
        yield Row(
            f"owner and embedding process, most memory while {scale:,} memories are embedded",
            most,
            None,
            "<= 450",
            "MB",
        )
        script = Path(sys.executable).parent / "oneiro"
        recall = [str(script), "--vault", str(root), "recall", "what did kaba lofin say?"]
        subprocess.run(recall, env=env, check=True, capture_output=True)
        ours, bare = paired(
            lambda: process(recall, env),
            lambda: process([sys.executable, "-c", "pass"], env),
            times=30,
            warmup=3,
        )
        yield Row(
            f"`oneiro recall`, warm owner, {scale:,} memories / `python -c pass`",
            ours,
            bare,
            "<= 6",
        )
        yield Row(
            "saved edit to keyword-searchable beyond the debounce",
            edit_latency(env, root),
            None,
            "<= 0.3",
        )
        yield idle_memory(env, root, scale)
        command(env, root, "stop")
        owner.wait()
        cold = [*recall[:3], "--no-daemon", *recall[3:]]
        seconds = median(lambda: process(cold, env), times=9)
        yield Row(
            f"`oneiro recall --no-daemon`, cold, by meaning, {scale:,} memories",
            seconds,
            None,
            "<= 1.5",
        )
    yield from commits(1_000, "<= 1.0")
    yield from commits(scale * 5, "<= 0.5")


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_RUNTIME_DIR": str(folder),
    }


def serve(env: dict[str, str], root: Path) -> subprocess.Popen[bytes]:
    """An owner whose embedding process stops after `IDLE` seconds without work."""
    program = [
        sys.executable,
        "-c",
        entry_with({"embed.idle": IDLE}),
        "--vault",
        str(root),
        "serve",
    ]
    owner = subprocess.Popen(program, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not Path(locations.record_file(str(root))).exists():
        time.sleep(0.1)
    return owner


def process(argv: list[str], env: dict[str, str]) -> None:
    subprocess.run(argv, env=env, check=True, stdout=subprocess.DEVNULL)


def command(env: dict[str, str], root: Path, *argv: str) -> Any:
    done = subprocess.run(
        [*ONEIRO, "--vault", str(root), "--json", *argv],
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def settle(env: dict[str, str], root: Path) -> float:
    """Wait until everything is embedded; returns the most MB that owner and embedding process held
    meanwhile, shared pages counted once."""
    end, most = time.monotonic() + 1800, 0.0
    while (status := command(env, root, "status"))["pending"] and time.monotonic() < end:
        for _ in range(10):
            most = max(most, held(status["owner"]["pid"]))
            time.sleep(0.1)
    return most


def held(pid: int) -> float:
    """MB of a process and its children, each page by how many processes share it (PSS)."""
    found = 0
    children = [
        child
        for task in Path(f"/proc/{pid}/task").glob("*/children")
        for child in task.read_text().split()
    ]
    for one in (pid, *children):
        with suppress(OSError):  # it has ended
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
            found += next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    return found / 1024


def edit_latency(env: dict[str, str], root: Path) -> float:
    """Median over ten saves of a new word: seconds from the save until a keyword recall finds it,
    less the debounce."""
    watch = subprocess.Popen(
        [*ONEIRO, "--vault", str(root), "watch"], env=env, stdout=subprocess.PIPE, text=True
    )
    assert watch.stdout is not None
    time.sleep(2)
    found = []
    for path in random.Random(5).sample(sorted(root.glob("semantic/*/*/*.md")), 10):
        with path.open("a", encoding="utf-8") as file:
            file.write("one more line\n")
        start = time.perf_counter()
        while path.name not in watch.stdout.readline():
            pass
        found.append(time.perf_counter() - start - DEBOUNCE)
        time.sleep(0.3)
    watch.terminate()
    watch.wait()
    watch.stdout.close()
    return sorted(found)[len(found) // 2]


def idle_memory(env: dict[str, str], root: Path, scale: int) -> Row:
    time.sleep(12)  # more than twice `IDLE`: the embedding process is gone by now
    pid = command(env, root, "status")["owner"]["pid"]
    resident = next(
        line
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmRSS")
    )
    return Row(
        f"owner resident, idle over {scale:,} memories, embedder stopped",
        int(resident.split()[1]) / 1024,
        None,
        "<= 220",
        "MB",
    )


def commits(count: int, bar: str) -> Iterator[Row]:
    """One `remember` in an open vault against `git add` + `git commit` with the same durability."""
    with tempfile.TemporaryDirectory() as folder:
        ours_root, git_root = Path(folder) / "ours", Path(folder) / "bare"
        for root in (ours_root, git_root):
            init_vault(root)
            write_notes(root, count, words=60)
            git(root, "add", "-A")
            git(root, "commit", "-qm", "notes")
        app = App.open(ours_root, Settings({"embed.model": "hash", "disk.reserve": 0}), owner=True)
        app.house.indexing.reconcile()
        rng = random.Random(9)
        ours, bare = paired(
            lambda: remember(app, rng), lambda: add_commit(git_root, rng), times=25, warmup=3
        )
        app.close()
    yield Row(
        f"remember, committed and fsynced, {count:,} notes / git add + git commit", ours, bare, bar
    )


def remember(app: App, rng: random.Random) -> None:
    app.call("remember", {"items": [{"text": " ".join(rng.choices(WORDS, k=60))}], "dedupe": False})


def add_commit(root: Path, rng: random.Random) -> None:
    path = root / "semantic" / "2026" / "11" / f"{rng.getrandbits(60):x}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(note(rng, 60), encoding="utf-8")
    git(root, "add", str(path.relative_to(root)))
    git(root, "commit", "-qm", "remember")


def git(root: Path, *argv: str) -> None:
    options = [
        "-c",
        "core.fsync=committed,reference",
        "-c",
        "user.name=bench",
        "-c",
        "user.email=bench@localhost",
    ]
    subprocess.run(["git", "-C", str(root), *options, *argv], check=True, capture_output=True)
