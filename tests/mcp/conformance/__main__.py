"""`make conformance`: installs node and the public programs, runs both requirement sets, the older
suite and the Inspector, and counts.

Exits 1 for any failure outside the scenarios that the suite itself does not score (the tasks
extension, which the SDK does not have).
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from oneiro_vault.core.principal import MEMORIES
from tests.box import Box
from tests.conftest import sealed
from tests.mcp.conformance.fixtures import PNG
from tests.mcp.conformance.front import Front

PACKAGES = {
    "node": "22",
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    "conformance-older": "npm:@modelcontextprotocol/conformance@0.1.16",
    "@modelcontextprotocol/inspector": "2.12.0",
}
SUITE, OLDER = "@modelcontextprotocol/conformance", "conformance-older"
UNSCORED = "tasks-"
PLAIN = (
    "server-initialize server-session-lifecycle ping tools-list resources-list prompts-list "
    "completion-complete server-sse-multiple-streams caching sep-2164-resource-not-found "
    "http-header-validation"
).split()
"""Scenarios that need no fixtures: they run against a real owner of a real vault."""
ERAS = ("legacy", "modern")


class Tools:
    """The node programs, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = os.environ | {"PATH": f"{folder / 'node_modules' / '.bin'}:{os.environ['PATH']}"}

    def install(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        wanted = json.dumps({"private": True, "dependencies": PACKAGES}, indent=1)
        package = self.folder / "package.json"
        if (
            package.exists()
            and package.read_text() == wanted
            and (self.folder / "node_modules").exists()
        ):
            return
        package.write_text(wanted)
        subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"],
            cwd=self.folder,
            check=True,
            timeout=900,
        )

    def conformance(self, name: str, *args: str) -> subprocess.CompletedProcess[str]:
        program = self.folder / "node_modules" / name / "dist" / "index.js"
        return self._run("node", str(program), "server", *args)

    def inspect(self, *args: str) -> subprocess.CompletedProcess[str]:
        return self._run("mcp-inspector", "--cli", *args)

    def _run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=600
        )


class Score:
    """What came out, and what of it counts against us."""

    def __init__(self) -> None:
        self.bad: list[str] = []

    def add(self, title: str, results: Path) -> None:
        """Count the checks that a run of the suite left in a folder."""
        passed = failed = unscored = 0
        for file in sorted(results.glob("*/checks.json")):
            scenario = file.parent.name.removeprefix("server-")
            for check in json.loads(file.read_text()):
                good, bad = check["status"] == "SUCCESS", check["status"] == "FAILURE"
                passed += good
                failed += bad and not scenario.startswith(UNSCORED)
                unscored += bad and scenario.startswith(UNSCORED)
                if bad and not scenario.startswith(UNSCORED):
                    self.bad.append(
                        f"{title}: {scenario}: {check['id']}: {check.get('errorMessage', '')[:300]}"
                    )
        if not passed:
            self.bad.append(f"{title}: nothing passed")
        print(
            f"{title}: {passed} passed, {failed} failed"
            + (f", {unscored} failed in unscored extensions" if unscored else ""),
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--tools",
        type=Path,
        default=Path(".venv/conformance"),
        help="folder for node and its programs",
    )
    tools = Tools(parser.parse_args().tools.resolve())
    tools.install()
    score = Score()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with fixtures(folder) as url:
            for requirements in ("2026-07-28", "2025-11-25"):
                out = folder / requirements
                tools.conformance(
                    SUITE, "--url", url, "--requirements", requirements, "-o", str(out)
                )
                score.add(f"fixtures, requirements {requirements}", out)
            tools.conformance(OLDER, "--url", url, "--suite", "active", "-o", str(folder / "older"))
            score.add("fixtures, suite 0.1.16", folder / "older")
        box = Box(folder, sealed(folder)).init()
        try:
            real(tools, box, score)
        finally:
            box.close()
    print("\n".join(score.bad) if score.bad else "nothing failed that counts")
    return 1 if score.bad else 0


@contextmanager
def fixtures(folder: Path) -> Iterator[str]:
    """The fixture server, once it listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    host = subprocess.Popen(
        [sys.executable, "-m", "tests.mcp.conformance.host", str(folder / "fixtures"), str(port)]
    )
    try:
        for _ in range(600):
            time.sleep(0.1)
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        host.terminate()
        host.wait(10)


def real(tools: Tools, box: Box, score: Score) -> None:
    """A real owner: the scenarios without fixtures, and the Inspector on both transports in both
    eras."""
    box.remember("The boat is called Petrel and lies in the north harbour.")
    with Front(box.record["socket"]) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        for scenario in PLAIN:
            tools.conformance(
                SUITE, "--url", url, "--scenario", scenario, "-o", str(box.folder / "plain")
            )
        score.add("real vault, scenarios without fixtures", box.folder / "plain")
        for era in ERAS:
            for place in ([*box.argv("mcp")], [url, "--transport", "http"]):
                where = f"Inspector, {era}, {'http' if place[0] == url else 'stdio'}"
                found = Inspection(tools, [*place, "--protocol-era", era], where)
                found.run()
                score.bad += found.bad
                print(f"{where}: {found.good} calls passed, {len(found.bad)} failed", flush=True)


class Inspection:
    """The Inspector lists and calls every tool, over one transport in one era."""

    def __init__(self, tools: Tools, target: list[str], where: str) -> None:
        self.tools, self.target, self.where = tools, target, where
        self.good, self.bad = 0, list[str]()

    def run(self) -> None:
        listed = self.ask("tools/list", "--strict")
        names = [tool["name"] for tool in listed.get("tools", [])]
        stored = self.call(
            "remember_with_image",
            text=f"The harbour as seen on {self.where}.",
            image=PNG,
            alt="a dot",
        )
        ident = stored[0] if stored else ""
        calls: dict[str, dict[str, Any]] = {
            "recall_orient": {"context": "the harbour"},
            "recall_check": {"topic": "harbour", "limit": 3},
            "recall_specific": {"ids": [ident]},
            "recall_image": {"id": ident},
            "remember": {
                "text": f"The ferry to the island was seen on {self.where}.",
                "tags": ["harbour"],
            },
            "reframe": {"id": ident, "text": "The north harbour."},
            "reflect": {
                "highlights": f"Spoken to on {self.where}.",
                "updates": [{"id": ident, "text": "The south harbour."}],
            },
            "flagged": {},
            "forget": {"id": ident, "reason": "only a trial"},
        }
        if set(names) != {*calls, "remember_with_image"}:
            self.bad.append(f"{self.where}: the tools are {names}")
        for name, arguments in calls.items():
            self.call(name, **arguments)
        self.ask("resources/templates/list")
        self.ask("resources/list")
        self.ask("resources/read", "--uri", "orientation://current")
        self.ask("prompts/list")
        self.ask("prompts/get", "--prompt-name", "orient", "--prompt-args", "context=harbour")

    def call(self, name: str, **arguments: Any) -> list[str]:
        found = self.ask(
            "tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments)
        )
        named: list[str] = found.get("_meta", {}).get(MEMORIES, [])
        return named

    def ask(self, method: str, *more: str) -> dict[str, Any]:
        done = self.tools.inspect(*self.target, "--method", method, *more)
        try:
            found: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            found = {"isError": True}
        if done.returncode or found.get("isError"):
            self.bad.append(
                f"{self.where}: {method} {more}: exit {done.returncode}: "
                f"{(done.stderr or done.stdout)[-400:]}"
            )
        else:
            self.good += 1
        return found


if __name__ == "__main__":
    sys.exit(main())
