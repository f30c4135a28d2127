"""The model programs people have installed: how each is run once, headless and without tools, and
how its answer is read."""

from __future__ import annotations

import json
import shlex
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from oneiro_vault.judges.base import SYSTEM

SYSTEM_FILE: Final = "{system}"
"""In an argument: the path of a file that holds `SYSTEM`."""
Output = tuple[str, Any, Any]
"""What the model said, and the tokens read and written as the program counts them (None: it does
not)."""


class RefusedError(ValueError):
    """The program says that it has no answer, and why."""


@dataclass(frozen=True)
class Program:
    """`title` for people; `arguments` of one run with the prompt on standard input; `read` takes
    its output apart."""

    title: str
    arguments: tuple[str, ...]
    read: Callable[[str], Output]
    provider: str = ""
    """To whom the prompts go."""
    env: Mapping[str, str] = field(default_factory=dict)
    more: Callable[[Mapping[str, str]], list[str]] = lambda _: []
    """Arguments that depend on the person's own settings of the program."""


def _plain(text: str) -> Output:
    return text, None, None


PLAIN: Final = Program("a program", (), _plain)
"""One we know nothing of: what it prints is the answer."""


def _without_servers(env: Mapping[str, str]) -> list[str]:
    """Codex starts no MCP server that its settings name, ours included: a judge has no tools."""
    folder = Path(env.get("CODEX_HOME") or Path(env.get("HOME", ""), ".codex"))
    try:
        servers = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8")).get(
            "mcp_servers"
        )
    except (OSError, ValueError):
        servers = None
    return [
        word for name in _mapping(servers) for word in ("-c", f"mcp_servers.{name}.enabled=false")
    ]


def _claude(text: str) -> Output:
    found = _object(text)
    if found.get("is_error") or not isinstance(found.get("result"), str):
        raise RefusedError(str(found.get("result") or found.get("subtype") or "no result"))
    usage = _mapping(found.get("usage"))
    parts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    read = [usage[name] for name in parts if isinstance(usage.get(name), int)]
    return found["result"], sum(read) if read else None, usage.get("output_tokens")


def _codex(text: str) -> Output:
    said, problem = "", ""
    usage: Mapping[str, Any] = {}
    for event in _events(text):
        item = _mapping(event.get("item"))
        if event.get("type") == "item.completed" and item.get("type") == "agent_message":
            said = str(item.get("text") or "")
        if event.get("type") in ("turn.failed", "error"):
            problem = str(
                _mapping(event.get("error")).get("message") or event.get("message") or "it failed"
            )
        usage = _mapping(event.get("usage")) or usage
    if not said:
        raise RefusedError(problem or "no message")
    return said, usage.get("input_tokens"), usage.get("output_tokens")


def _gemini(text: str) -> Output:
    found = _object(text)
    if not isinstance(found.get("response"), str):
        raise RefusedError(str(_mapping(found.get("error")).get("message") or "no response"))
    models = _mapping(_mapping(found.get("stats")).get("models")).values()
    tokens = [_mapping(_mapping(model).get("tokens")) for model in models]
    counts = [
        sum(one[name] for one in tokens if isinstance(one.get(name), int)) or None
        for name in ("prompt", "candidates")
    ]
    return found["response"], counts[0], counts[1]


def _events(text: str) -> Iterator[Mapping[str, Any]]:
    for line in text.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


def _object(text: str) -> Mapping[str, Any]:
    """The JSON object a program printed, after whatever it printed before it."""
    try:
        found = json.loads(text[max(0, text.find("{")) :])
    except ValueError:
        raise RefusedError(f"it printed {text.strip()[:120]!r}") from None
    return _mapping(found)


def _mapping(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, dict) else {}


PROGRAMS: Final[Mapping[str, Program]] = {
    "claude": Program(
        "Claude Code",
        (
            "-p", "--output-format", "json", "--tools", "", "--strict-mcp-config",
            "--disable-slash-commands", "--no-session-persistence",
            "--settings", '{"disableAllHooks": true, "autoMemoryEnabled": false}',
            "--system-prompt", SYSTEM,
        ),
        _claude,
        "Anthropic",
        {"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1", "DISABLE_AUTOUPDATER": "1"},
    ),
    "codex": Program(
        "Codex",
        (
            "exec", "--json", "--ephemeral", "--skip-git-repo-check", "--ignore-rules", "--sandbox",
            "read-only",
            *(
                word
                for name in ("shell_tool", "view_image", "multi_agent", "goals", "hooks", "apps")
                for word in ("--disable", name)
            ),
            "-c", 'web_search="disabled"', "-c", "project_doc_max_bytes=0", "-c",
            "include_environment_context=false",
            "-c", "include_permissions_instructions=false", "-c",
            f"model_instructions_file={SYSTEM_FILE}", "-",
        ),
        _codex,
        "OpenAI",
        more=_without_servers,
    ),
    "gemini": Program(
        "Gemini CLI",
        (
            "--output-format", "json", "--approval-mode", "plan", "--extensions", "none",
            "--allowed-mcp-server-names", "none",
        ),
        _gemini,
        "Google",
    ),
}  # fmt: skip
"""File name of a program -> how to run it."""
PROVIDERS: Final[Mapping[str, str]] = {"anthropic": "Anthropic's API", "openai": "OpenAI's API"}


def known(command: str) -> str:
    """The name in `PROGRAMS` of the program a command line starts, "" for one of a person's own
    making."""
    words = split(command)
    name = Path(words[0]).name.removesuffix(".exe").removesuffix(".cmd") if words else ""
    return name if name in PROGRAMS else ""


def split(command: str) -> list[str]:
    """The words of a command line. Raises ValueError for an open quotation mark."""
    return shlex.split(command)


def found(path: str) -> dict[str, str]:
    """The programs in `PROGRAMS` that lie on a PATH: name -> full path."""
    places = {name: shutil.which(name, path=path) for name in PROGRAMS}
    return {name: place for name, place in places.items() if place}
