"""A program of the person's own as a judge: one run a question, the prompt on standard input, the
answer on standard output; and how each known one is run headless and without tools.

It runs in an empty folder and a process group of its own, which is killed with whatever it started.
`ONEIRO_JUDGE` tells our hooks and MCP server, should it start them, that there is no memory here.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from oneiro_vault.core.question import LONGEST_ANSWER, Question, Raw
from oneiro_vault.judges.base import (
    LONGEST,
    SYSTEM,
    TIMEOUT,
    Patience,
    in_parallel,
    in_words,
    json_in,
    used,
)

SYSTEM_FILE: Final = "{system}"
"""In an argument: the path of a file that holds `SYSTEM`."""
Output = tuple[str, Any, Any]
"""What the model said, and the tokens read and written as the program counts them, if it does."""


class RefusedError(ValueError):
    """The program says that it has no answer, and why."""


@dataclass(frozen=True)
class Program:
    """`title` for people; `arguments` of one run; `read` takes its output apart."""

    title: str
    arguments: tuple[str, ...]
    read: Callable[[str], Output]
    env: Mapping[str, str] = field(default_factory=dict)
    more: Callable[[Mapping[str, str]], list[str]] = lambda _: []
    """Arguments that depend on the person's own settings of the program."""


def _plain(text: str) -> Output:
    return text, None, None


PLAIN: Final = Program("a program", (), _plain)
"""One we know nothing of: what it prints is the answer."""


def _without_servers(env: Mapping[str, str]) -> list[str]:
    """Codex starts no MCP server that its settings name: a judge has no tools."""
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
    read, written = (
        sum(one[name] for one in tokens if isinstance(one.get(name), int)) or None
        for name in ("prompt", "candidates")
    )
    return found["response"], read, written


def _events(text: str) -> Iterator[Mapping[str, Any]]:
    for line in text.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


def _object(text: str) -> Mapping[str, Any]:
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
        more=_without_servers,
    ),
    "gemini": Program(
        "Gemini CLI",
        (
            "--output-format", "json", "--approval-mode", "plan", "--extensions", "none",
            "--allowed-mcp-server-names", "none",
        ),
        _gemini,
    ),
}  # fmt: skip
"""File name of a program -> how to run it."""
PROVIDERS: Final[Mapping[str, str]] = {"anthropic": "Anthropic's API", "openai": "OpenAI's API"}


def known(command: str) -> str:
    """The name in `PROGRAMS` of the program a command line starts, "" for any other. Raises
    ValueError for an open quotation mark."""
    words = shlex.split(command)
    name = Path(words[0]).name if words else ""
    return name if name in PROGRAMS else ""


def found(path: str) -> dict[str, str]:
    """The programs in `PROGRAMS` that lie on a PATH: name -> full path."""
    places = {name: shutil.which(name, path=path) for name in PROGRAMS}
    return {name: place for name, place in places.items() if place}


MARK: Final = "ONEIRO_JUDGE"
_MOST: Final = 10 * LONGEST_ANSWER
"""Bytes of output after which a program is stopped: an answer has not a tenth of that."""
_TICK: Final = 0.05
_TAIL: Final = 300
_SESSION: Final = frozenset(
    "CLAUDECODE CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SESSION_ID CLAUDE_CODE_SSE_PORT "
    "CLAUDE_PROJECT_DIR CLAUDE_ENV_FILE".split()
)
"""Variables of a conversation the owner may come from: a program would believe to run inside of
it."""


class _StoppedError(Exception):
    """The program was not waited for any longer."""


class CommandJudge:
    """Asks a program. One of `PROGRAMS` gets the arguments for a run without tools, then its
    own."""

    at_once = 4

    def __init__(
        self,
        command: str,
        *,
        env: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
        parallel: int = 2,
        waiting: Patience | None = None,
    ) -> None:
        words, name = shlex.split(command), known(command)
        program = PROGRAMS.get(name, PLAIN)
        self.name = f"command:{name or Path(words[0]).name}"
        self._read = program.read
        self._env = dict(os.environ if env is None else env)
        self._env |= program.env
        own = [*program.more(self._env), *words[1:]]
        self._argv = [self._found(words[0]), *_arguments(own, program.arguments)]
        self._timeout, self._parallel, self._waiting = timeout, parallel, waiting or Patience()
        self._running: set[subprocess.Popen[bytes]] = set()

    def _found(self, word: str) -> str:
        """The full path; its folder joins the PATH: what it needs often lies there. Raises
        FileNotFoundError."""
        plain = os.path.expanduser(word)  # noqa: PTH111  # a word, not yet a path
        place = shutil.which(plain, path=self._env.get("PATH"))
        if place is None:
            raise FileNotFoundError(f"there is no program {word}")
        self._env["PATH"] = os.pathsep.join(
            filter(None, [self._env.get("PATH"), str(Path(place).parent)])
        )
        return str(Path(place).absolute())

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """A few at a time."""
        yield from in_parallel(
            questions, self._one, self._parallel, self._waiting, max(LONGEST, 2 * self._timeout)
        )

    def close(self) -> None:
        """Nothing goes on behind a run that has ended."""
        for process in list(self._running):
            _kill(process)

    def _one(self, question: Question) -> Raw:
        sent = f"{SYSTEM}\n\n{in_words(question)}\n"
        with tempfile.TemporaryDirectory(
            prefix="oneiro-judge-", ignore_cleanup_errors=True
        ) as folder:
            try:
                code, text, errors = self._run(sent, Path(folder))
            except _StoppedError as error:
                return Raw(problem=str(error), away=True, **used(sent, ""))
            except OSError as error:
                return Raw(problem=f"the program cannot be started: {error.strerror}", away=True)
        try:
            if code:
                raise RefusedError(_told(text, self._read) or errors or "without a word")
            said, tokens_in, tokens_out = self._read(text)
        except RefusedError as error:
            ended = f"ended with code {code}" if code else "gave no answer"
            why = f"the program {ended}: {' '.join(str(error).split())[:_TAIL]}"
            return Raw(problem=why, away=True, **used(sent, ""))
        return Raw(json_in(said), **used(sent, said, tokens_in, tokens_out))

    def _run(self, sent: str, folder: Path) -> tuple[int, str, str]:
        """(exit code, standard output, the end of standard error). Raises OSError,
        _StoppedError."""
        empty, system = folder / "empty", folder / "system.md"
        empty.mkdir()
        system.write_text(SYSTEM, encoding="utf-8")
        argv = [word.replace(SYSTEM_FILE, str(system)) for word in self._argv]
        around = {name: value for name, value in self._env.items() if name not in _SESSION} | {
            MARK: "1",
            "PWD": str(empty),
        }
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as output,
            tempfile.TemporaryFile() as errors,
        ):
            given.write(sent.encode("utf-8", "replace"))
            given.seek(0)
            process = subprocess.Popen(
                argv,
                stdin=given,
                stdout=output,
                stderr=errors,
                env=around,
                cwd=empty,
                start_new_session=True,
            )
            self._running.add(process)
            try:
                self._await(process, (output, errors))
            finally:
                _kill(process)
                self._running.discard(process)
            return process.returncode, _text(output, 0), _text(errors, -_TAIL)

    def _await(self, process: subprocess.Popen[bytes], outputs: Sequence[IO[bytes]]) -> None:
        end = time.monotonic() + self._timeout
        while process.poll() is None:
            if why := self._waiting.over():
                raise _StoppedError(f"the program was stopped: {why}")
            if time.monotonic() > end:
                raise _StoppedError(f"the program gave no answer in {self._timeout:g} seconds")
            if sum(os.fstat(file.fileno()).st_size for file in outputs) > _MOST:
                raise _StoppedError(f"the program wrote more than {_MOST:,} bytes")
            with suppress(subprocess.TimeoutExpired):
                process.wait(_TICK)


def _arguments(own: Sequence[str], preset: Sequence[str]) -> list[str]:
    """The preset's, then a person's own; a `-` (standard input) stays the last."""
    return [*preset[:-1], *own, "-"] if tuple(preset[-1:]) == ("-",) else [*preset, *own]


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The program and everything in its process group, also when it has ended."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _text(file: IO[bytes], start: int) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size + start) if start < 0 else start)
    return file.read(_MOST).decode("utf-8", "replace").strip()


def _told(text: str, read: Callable[[str], Output]) -> str:
    try:
        read(text)
    except RefusedError as error:
        return str(error)
    return ""
