"""A program of the person's own as a judge: one run a question, the prompt on standard input, the
answer on standard output.

It runs in an empty folder and a process group of its own, which is killed with whatever it started
when its time is over or it has ended. `ONEIRO_JUDGE` in its environment tells our hooks and our MCP
server, should it start them, that there is no memory here.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from oneiro_vault.core.question import LONGEST_ANSWER, Question, Raw
from oneiro_vault.judges.base import ANSWER_FORM, SYSTEM, TIMEOUT, closed, json_in, used
from oneiro_vault.judges.concurrency import LONGEST, Patience, in_parallel
from oneiro_vault.judges.programs import (
    PLAIN,
    PROGRAMS,
    SYSTEM_FILE,
    Output,
    RefusedError,
    known,
    split,
)

MARK: Final = "ONEIRO_JUDGE"
_MOST: Final = 10 * LONGEST_ANSWER
"""Bytes of output after which a program is stopped: an answer has not a tenth of that."""
_TICK: Final = 0.05
_TAIL: Final = 300
_SESSION: Final = frozenset(
    "CLAUDECODE CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SESSION_ID CLAUDE_CODE_SSE_PORT "
    "CLAUDE_PROJECT_DIR CLAUDE_ENV_FILE".split()
)
"""Variables of a conversation the owner may have been started from: a program that sees them
believes that it runs inside of it."""


class _StoppedError(Exception):
    """The program was not waited for any longer."""


class CommandJudge:
    """Asks a program. `command` is a command line; one that starts with a known program
    (`judges.programs`) gets that program's arguments for a run without tools, followed by its
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
        words, name = split(command), known(command)
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
        """The program's full path; its folder joins the PATH, for what it needs often lies beside
        it. Raises FileNotFoundError."""
        place = shutil.which(os.path.expanduser(word), path=self._env.get("PATH"))  # noqa: PTH111  # a word, not yet a path
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
        sent = (
            f"{SYSTEM}\n\n{question.prompt()}\n\n{ANSWER_FORM}\n"
            f"{json.dumps(closed(question.schema), ensure_ascii=False)}\n"
        )
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
            return Raw(
                problem=f"the program {ended}: {' '.join(str(error).split())[:_TAIL]}",
                away=True,
                **used(sent, ""),
            )
        return Raw(json_in(said), **used(sent, said, tokens_in, tokens_out))

    def _run(self, sent: str, folder: Path) -> tuple[int, str, str]:
        """(exit code, standard output, the end of standard error). Raises OSError, and
        _StoppedError when it was stopped."""
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
        """Until it ends by itself. Raises _StoppedError."""
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
    """The program and everything in its process group, also what it left behind when it ended."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _text(file: IO[bytes], start: int) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size + start) if start < 0 else start)
    return file.read(_MOST).decode("utf-8", "replace").strip()


def _told(text: str, read: Callable[[str], Output]) -> str:
    """Why it failed, as its output says."""
    try:
        read(text)
    except RefusedError as error:
        return str(error)
    return ""
