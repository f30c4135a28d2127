"""The real programs on a sealed machine, set up by `oneiro setup`, with a recorder between them and
our hook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.box import Box
from tests.e2e.fakes import Call, Endpoint, Script, messages, responses

PROGRAMS = Path(os.environ.get("E2E_CLIENTS") or Path(sys.prefix) / "clients") / "node_modules"
CLAUDE = PROGRAMS / "@anthropic-ai/claude-code-linux-x64/claude"
CODEX = PROGRAMS / "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
RECORDER = """#!{python}
import json, os, subprocess, sys, time
said = sys.stdin.buffer.read()
path = json.loads(said).get("transcript_path") or ""
lines = open(path, "rb").read().count(b"\\n") if os.path.isfile(path) else 0
start = time.monotonic()
done = subprocess.run([{oneiro!r}, *sys.argv[1:]], input=said, capture_output=True)
record = dict(event=sys.argv[2], stdin=json.loads(said), lines=lines, stdout=done.stdout.decode(), stderr=done.stderr.decode(), code=done.returncode)
with open({folder!r} + "/%020d.json" % time.time_ns(), "w") as file:
    json.dump(record | dict(seconds=time.monotonic() - start), file)
sys.stdout.buffer.write(done.stdout)
sys.exit(done.returncode)
"""


@dataclass
class Client:
    """One client in the folder `place`. `run(prompt)` is one turn with its real program;
    `exchanges` is what our hook was asked and said."""

    name: str
    box: Box
    endpoint: Endpoint
    command: Callable[[str, Client], list[str]]
    """The command line of a prompt."""
    env: dict[str, str]
    session: str = ""
    place: Path = field(init=False)
    started: bool = False

    def __post_init__(self) -> None:
        self.place = self.box.folder / "project"
        self.place.mkdir()
        (self.box.folder / "exchanges").mkdir()

    def run(self, prompt: str) -> subprocess.CompletedProcess[str]:
        """The first call starts a session, later ones resume it."""
        argv = self.command(prompt, self)
        self.started = True
        done = subprocess.run(
            argv,
            env=self.env,
            cwd=self.place,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, f"{done.stdout}{done.stderr}{self.endpoint.failures}"
        return done

    def begin(self) -> None:
        """What is said next begins another conversation."""
        self.session, self.started = str(uuid4()), False

    @property
    def exchanges(self) -> list[dict[str, Any]]:
        """event, stdin, lines of the transcript at that moment, stdout, stderr, code and seconds,
        in order."""
        return [
            json.loads(path.read_text())
            for path in sorted((self.box.folder / "exchanges").iterdir())
        ]

    def said(self, event: str) -> list[str]:
        """What our hook put into the conversation at each such event."""
        outputs = [one["stdout"] for one in self.exchanges if one["event"] == event]
        return [
            json.loads(text)["hookSpecificOutput"]["additionalContext"] if text else ""
            for text in outputs
        ]

    def read(self, since: int = 0) -> str:
        """Everything the model was given from that request on."""
        return json.dumps(self.endpoint.requests[since:], ensure_ascii=False)


def _tools(request: dict[str, Any]) -> list[str]:
    found = []
    for tool in request.get("tools", []):
        found.append(tool.get("name", ""))
        found += [f"{tool.get('name')}::{one.get('name')}" for one in tool.get("tools", [])]
    return found


def machine(box: Box) -> dict[str, str]:
    """An environment with nothing of ours or of the person's in it but the sealed machine."""
    kept = {
        name: value
        for name, value in box.env.items()
        if name.startswith(("XDG_", "GIT_", "ONEIRO_", "HOME"))
    }
    return kept | {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}


def recorded(box: Box, settings: Path) -> None:
    """Put the recorder where the settings call our program for a hook."""
    oneiro = str(Path(sys.executable).parent / "oneiro")
    script = box.folder / "recorder"
    script.write_text(
        RECORDER.format(python=sys.executable, oneiro=oneiro, folder=str(box.folder / "exchanges"))
    )
    script.chmod(0o755)
    text = settings.read_text()
    assert oneiro in text
    settings.write_text(text.replace(oneiro, str(script)))


def claude_code(box: Box, script: Script, session: str) -> Client:
    """Claude Code in headless mode; enter its `endpoint` before the first turn."""
    assert CLAUDE.exists(), f"{CLAUDE} is missing: `make e2e` installs it"
    endpoint = Endpoint(script, messages, "/v1/messages")
    tools = "mcp__oneiro"

    def command(prompt: str, client: Client) -> list[str]:
        who = ["--resume" if client.started else "--session-id", client.session]
        return [str(CLAUDE), "-p", prompt, *who, "--allowedTools", tools, "--output-format", "json"]

    offline = {
        "ANTHROPIC_API_KEY": "sk-ant-none",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    return Client("claude-code", box, endpoint, command, machine(box) | offline, session)


def codex(box: Box, script: Script) -> Client:
    """Codex without a terminal, with a model provider of its own; enter its `endpoint` before the
    first turn."""
    assert CODEX.exists(), f"{CODEX} is missing: `make e2e` installs it"
    endpoint = Endpoint(script, responses, "/responses")
    free = [
        "--skip-git-repo-check",
        "--dangerously-bypass-hook-trust",
        "--dangerously-bypass-approvals-and-sandbox",
    ]

    def command(prompt: str, client: Client) -> list[str]:
        return [
            str(CODEX),
            "exec",
            *free,
            *(["resume", "--last"] if client.started else []),
            prompt,
        ]

    return Client("codex", box, endpoint, command, machine(box) | {"NO_KEY": "none"})


class Model:
    """Says what a script of words tells it, uses our tools when told to, and can summarise."""

    def __init__(self) -> None:
        self.calls: dict[str, tuple[str, dict[str, Any]]] = {}
        """Words of a prompt -> the tool (its last name) to use and its arguments."""
        self.summary = (
            "<analysis>hm</analysis>\n<summary>We named the boat Petrel. "
            "<private>hunter2</private></summary>"
        )
        self._wanted: Call | None = None

    def __call__(self, request: dict[str, Any]) -> Sequence[str | Call]:
        """The answer to a request of either API."""
        words, is_result = last_words(request)
        if self._wanted is not None and is_result:  # the tool search has answered
            wanted, self._wanted = self._wanted, None
            return [wanted]
        if "summar" in words.lower() and "CONTEXT" in words.upper():
            return [self.summary]
        for told, (name, arguments) in self.calls.items():
            if told in words and not is_result:
                return self._use(request, name, arguments)
        return ["Done." if is_result else "Understood."]

    def _use(
        self, request: dict[str, Any], name: str, arguments: dict[str, Any]
    ) -> Sequence[str | Call]:
        found = [tool for tool in _tools(request) if tool.endswith((f"__{name}", f"::{name}"))]
        if found:
            return [Call(found[0], arguments)]
        self._wanted = Call(f"mcp__oneiro__{name}", arguments)
        return [Call("ToolSearch", {"query": f"select:mcp__oneiro__{name}"})]


def last_words(request: dict[str, Any]) -> tuple[str, bool]:
    """The last words that are not the client's own, and whether they are what a tool answered."""
    for message in reversed(request.get("messages") or request.get("input") or []):
        if str(message.get("type", "")).endswith("_output"):
            return json.dumps(message, ensure_ascii=False), True
        if message.get("role") == "user":
            content = message["content"]
            parts = [{"text": content}] if isinstance(content, str) else content
            result = any(part.get("type") == "tool_result" for part in parts)
            return "\n".join(str(part.get("text") or part.get("content")) for part in parts), result
    return "", False
