"""A sealed machine with the command `oneiro` and vaults on it; ends every process that was started
for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, chdir, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from oneiro_vault.cli.run import run
from oneiro_vault.settings import locations

ENTRY = "import sys; from oneiro_vault.cli.main import main; sys.exit(main())"


def entry_with(numbers: Mapping[str, float]) -> str:
    """`ENTRY` of a program that was built with other numbers than the table's."""
    table = "from oneiro_vault.settings.definitions import FIXED"
    return f"{table}; FIXED.update({dict(numbers)!r}); {ENTRY}" if numbers else ENTRY


class Box:
    """`box("recall", "x")` runs a command on the box's vault; one that may use no owner is run in
    this process. `numbers`: those of its commands that no setting sets."""

    def __init__(self, folder: Path, env: dict[str, str], vault: Path | None = None) -> None:
        self.folder = folder
        self.env = env | {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "TMPDIR": str(folder)}
        self.vault = vault or folder / "vault"
        self.numbers: dict[str, float] = {}
        self._children: list[subprocess.Popen[bytes]] = []

    def __call__(
        self, *args: str, stdin: bytes = b"", entry: str = ENTRY, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        if "--no-daemon" in args and entry == ENTRY and not self.numbers:
            return self.here(*args, stdin=stdin, env=env)
        return self.process(*args, stdin=stdin, entry=entry, env=env)

    def process(
        self, *args: str, stdin: bytes = b"", entry: str = ENTRY, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """A command in a process of its own."""
        return subprocess.run(
            self.argv(*args, entry=entry),
            input=stdin,
            env=self.env | (env or {}),
            cwd=self.folder,
            capture_output=True,
            timeout=60,
        )

    def here(
        self, *args: str, stdin: bytes = b"", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """The same by the ordinary way in this process, which has imported everything: a twentieth
        of the time."""
        words, around = ["--vault", str(self.vault), *args], self.env | (env or {})
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin)
            given.seek(0)
            with chdir(self.folder), _environment(around), _streams(given, out, err):
                code = run(words)
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(words, code, out.read(), err.read())

    def argv(self, *args: str, entry: str = ENTRY) -> list[str]:
        program = entry_with(self.numbers) if entry == ENTRY else entry
        return [sys.executable, "-c", program, "--vault", str(self.vault), *args]

    def ok(self, *args: str, stdin: bytes = b"") -> str:
        done = self(*args, stdin=stdin)
        assert done.returncode == 0, done
        return done.stdout.decode()

    def json(self, *args: str, stdin: bytes = b"") -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.ok("--json", *args, stdin=stdin))
        return found

    def init(self) -> Box:
        """A vault without indexes, as `oneiro init` made it once for all tests."""
        from tests.copies import new_vault  # with the whole app, which programs of tests need not

        new_vault(self.vault)
        return self

    def remember(self, text: str, *args: str) -> dict[str, Any]:
        row: dict[str, Any] = self.json("remember", text, *args)["results"][0]
        return row

    def start(self, *args: str, entry: str = ENTRY, **more: Any) -> subprocess.Popen[bytes]:
        # a run in the background of a shell hands on an ignored Ctrl-C
        child = subprocess.Popen(
            self.argv(*args, entry=entry),
            env=self.env,
            cwd=self.folder,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            **more,
        )
        self._children.append(child)
        return child

    @property
    def record(self) -> dict[str, Any]:
        """What the running owner published; {} without one."""
        try:
            found: dict[str, Any] = json.loads(
                Path(locations.record_file(str(self.vault))).read_text()
            )
        except FileNotFoundError:
            return {}
        return found

    @property
    def pid(self) -> int:
        """The owner's process; starts one when there is none."""
        if not self.record:
            self.ok("list")
        return int(self.record["pid"])

    @property
    def log(self) -> str:
        return (self.vault / ".oneiro" / "logs" / "owner.log").read_text()

    def close(self) -> None:
        """End the owner and every child, by process number, and only ones that are ours."""
        for child in self._children:
            if child.poll() is None:
                child.send_signal(signal.SIGCONT)
                child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout, child.stderr):
                if pipe is not None:
                    pipe.close()
        state = Path(locations.state_dir(str(self.vault)))
        for name in ("owner.json", "owner.lock"):
            with suppress(OSError, ValueError, KeyError):
                end(int(json.loads((state / name).read_text())["pid"]), str(self.vault))


class Lone(Box):
    """A machine on which no owner is started, and whose commands run in this process: what is shown
    needs neither."""

    def __call__(
        self, *args: str, stdin: bytes = b"", entry: str = "", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        assert not entry, "this takes a process"
        return self.here(*args, stdin=stdin, env={"ONEIRO_OWNER_START": "false"} | (env or {}))


@contextmanager
def _environment(env: dict[str, str]) -> Iterator[None]:
    """This process has that environment and no other."""
    before = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update(env)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _streams(*files: IO[bytes]) -> Iterator[None]:
    """Standard input, output and errors of this process are these three files."""
    own, before = [os.dup(number) for number in range(3)], (sys.stdin, sys.stdout, sys.stderr)
    try:
        for number, file in enumerate(files):
            os.dup2(file.fileno(), number)
        with ExitStack() as stack:
            sys.stdin, sys.stdout, sys.stderr = (
                stack.enter_context(open(number, "rww"[number], closefd=False))
                for number in range(3)
            )
            yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for number, kept in enumerate(own):
            os.dup2(kept, number)
            os.close(kept)


def end(pid: int, mark: str) -> None:
    """End a process whose command line holds `mark`: politely, then with kill -9."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if mark in command_line(pid):
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, number)
            with suppress(AssertionError):
                eventually(lambda: mark not in command_line(pid), 6)


def command_line(pid: int) -> str:
    """Of a running process; empty for one that has ended (also a zombie)."""
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    except OSError:
        return ""


def patient(seconds: float) -> float:
    """The longest something may take that alone takes `seconds` at most: beside other tests it has
    a share of the machine only."""
    return seconds * (6 if "PYTEST_XDIST_WORKER" in os.environ else 1)


def until_closed(terminal: int) -> bytes:
    """All that a program writes to its terminal, of which this is the other end, until it has
    ended."""
    said = b""
    with suppress(OSError):  # the terminal is gone when the program has ended
        while piece := os.read(terminal, 4096):
            said += piece
    os.close(terminal)
    return said


def eventually(condition: Callable[[], object], seconds: float) -> None:
    """Wait until the condition holds; fails when it does not within (patient) `seconds`."""
    limit = time.monotonic() + patient(seconds)
    while not condition():
        assert time.monotonic() < limit, f"not within {seconds} seconds"
        time.sleep(0.02)
