"""git as a program, through GitPython's command interface: fixed arguments, nothing of the caller's
git environment, no prompt, no pager. GitPython's index and commit API is never used."""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from oneiro_vault.errors import GitProblem

STALLED: Final = -1
"""The status of a program that was ended because nothing came from it."""
LIMIT: Final = 3600.0
"""Seconds that it may take in all, however much comes."""
_LOOK: Final = 0.05
_GRACE: Final = 1.0
_KEPT_BYTES: Final = 1_000_000
_ENDS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
_DEFAULTS: Final = (signal.SIG_DFL, signal.default_int_handler)


def attend(
    process: subprocess.Popen[bytes], stall: float, limit: float, arrived: Sequence[int]
) -> tuple[int, bytes, bytes]:
    """Exit status (STALLED: it was ended, with its children, which a signal in `arrived` does too),
    output and error output of a process that leads a session of its own."""
    out, err = bytearray(), bytearray()
    begun = heard = time.monotonic()
    status = STALLED
    with selectors.DefaultSelector() as streams:
        for stream, text in ((process.stdout, out), (process.stderr, err)):
            assert stream is not None
            streams.register(stream, selectors.EVENT_READ, text)
        try:
            while process.poll() is None:
                now = time.monotonic()
                if arrived or now - begun > limit or now - heard > stall:
                    break
                if _read(streams, _LOOK):
                    heard = now
            else:
                status = process.returncode
        finally:
            _end(process)
            while _read(streams, 0):
                pass
    return status, bytes(out), bytes(err)


def _read(streams: selectors.BaseSelector, wait: float) -> bool:
    """Whether anything came within `wait` seconds; only the last bytes of it are kept."""
    if not streams.get_map():
        time.sleep(wait)
        return False
    ready = [key for key, _ in streams.select(wait)]
    for key in ready:
        if piece := os.read(key.fd, 65536):
            key.data.extend(piece)
            del key.data[:-_KEPT_BYTES]
        else:
            streams.unregister(key.fileobj)
    return bool(ready)


@contextmanager
def signals_deferred() -> Iterator[list[int]]:
    """The signals that arrived and would have ended us; what they do is done at the end.

    They reach only us: a process in a session of its own, of which nobody knows yet, would be left
    behind.
    """
    arrived: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    handlers = {sign: signal.getsignal(sign) for sign in _ENDS if main}
    handlers = {sign: handler for sign, handler in handlers.items() if handler in _DEFAULTS}
    for sign in handlers:
        signal.signal(sign, lambda number, _: arrived.append(number))
    try:
        yield arrived
    finally:
        for sign, handler in handlers.items():
            signal.signal(sign, handler)
        if arrived:
            ours = SystemExit(128 + arrived[0])
            raise KeyboardInterrupt if arrived[0] == signal.SIGINT else ours


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the session, politely first: git takes its lock files away then."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sign)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)


NEEDED: Final = (2, 38)
"""The oldest git that can do what we ask of it (`merge-tree --write-tree`)."""
_KEPT: Final = "No note was touched."
_INSTALL: Final = (
    "Install git 2.38 or newer (Debian/Ubuntu: apt install git; macOS: brew install git) and make "
    "sure it is on PATH."
)
_SETTINGS: Final = {
    "core.fsync": "committed,reference",
    "core.quotePath": "false",
    "core.hooksPath": "/dev/null",  # a person's hooks are for a person's commits
    "core.attributesFile": "/dev/null",
    "core.fsmonitor": "false",
    "core.editor": "false",
    "commit.gpgSign": "false",
    "log.showSignature": "false",
    "i18n.logOutputEncoding": "UTF-8",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_FIXED: Final = ["--no-pager", "--no-optional-locks", "--literal-pathspecs"] + [
    word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")
]
_AFAR: Final = [
    word
    for name, value in {
        "fetch.fsckObjects": "true",  # what others made is looked at before it is let in
        "fetch.recurseSubmodules": "false",
        "push.recurseSubmodules": "no",
        "push.gpgSign": "false",
        "protocol.ext.allow": "never",
        "credential.interactive": "false",
    }.items()
    for word in ("-c", f"{name}={value}")
]
_ALONE: Final = {"SSH_ASKPASS_REQUIRE": "never", "GCM_INTERACTIVE": "never"}
_QUIET: Final = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "LC_ALL": "C",
    "LANGUAGE": "C",
}
_KEPT_VARIABLES: Final = ("GIT_SSH", "GIT_SSH_COMMAND")
_environment = threading.Lock()
_offered: list[str] = []
_OFFERS: Final = 8


def offer(path: str) -> None:
    """A client came with this PATH: where ours leads to no usable git, its own may."""
    if path and path not in _offered[:1]:
        _offered[:] = [path, *(known for known in _offered if known != path)][:_OFFERS]


@contextmanager
def _scrubbed() -> Iterator[None]:
    """Take every GIT_* variable out of this process while a child is started: an inherited GIT_DIR
    (a hook, a rebase's `exec`) would send our commit into another repository, and GitPython can
    only add to our environment."""
    with _environment:
        names = [
            name for name in os.environ if name.startswith("GIT_") and name not in _KEPT_VARIABLES
        ]
        kept = {name: os.environ.pop(name) for name in names}
        try:
            yield
        finally:
            os.environ.update(kept)


class Commands:
    """git in one repository: `git_dir` and `root` are given explicitly, nothing is searched for."""

    def __init__(self, root: Path, git_dir: Path) -> None:
        self._root = str(root)
        self._place = [f"--git-dir={git_dir}", f"--work-tree={root}"]
        self._ours = self._path = ""

    def run(self, *arguments: str, source: BinaryIO | None = None, timeout: float = 120.0) -> bytes:
        """Standard output of `git ARGUMENTS`. Raises GitProblem with git's own words."""
        status, out, err = self.attempt(*arguments, source=source, timeout=timeout)
        if status:
            words = err.decode("utf-8", "replace").strip() or f"exit status {status}"
            raise GitProblem(
                f"git {arguments[0]} failed: {words}",
                kept=_KEPT,
                hint="`oneiro doctor` checks the repository.",
            )
        return out

    def attempt(
        self, *arguments: str, source: BinaryIO | None = None, timeout: float = 120.0
    ) -> tuple[int, bytes, bytes]:
        """Exit status, output and error output of `git ARGUMENTS`."""
        return _call(
            self._root, [*_FIXED, *self._place, *arguments], source, timeout, self._found()
        )

    def _found(self) -> str:
        ours = _ours()
        if ours != self._ours or not shutil.which(
            "git", path=self._path
        ):  # an owner outlives an upgrade of git
            self._ours, self._path = ours, require(self._root)
        return self._path

    def program(self, words: list[str], timeout: float) -> None:
        """Run another program that calls git itself, with the same settings. Raises GitProblem."""
        env = {f"GIT_CONFIG_KEY_{i}": name for i, name in enumerate(_SETTINGS)}
        env |= {f"GIT_CONFIG_VALUE_{i}": value for i, value in enumerate(_SETTINGS.values())}
        handle = _started(
            self._root,
            words,
            None,
            self._found(),
            env | {"GIT_CONFIG_COUNT": str(len(_SETTINGS))},
            program="",
        )
        status, out, err = _ended(handle.proc, timeout)
        if status:
            text = (err or out).decode("utf-8", "replace").strip().splitlines()
            raise GitProblem(
                f"{Path(words[0]).name} ended with status {status}: {' '.join(text[-3:])}",
                hint="oneiro purge --resume",
            )

    def attend(self, *arguments: str, stall: float, limit: float = LIMIT) -> tuple[int, str, str]:
        """Exit status, output and error output of a `git ARGUMENTS` that talks to another machine.

        Ended, with every program it started, after `stall` seconds in which nothing came of it:
        status -1 then. Raises GitProblem.
        """
        path = self._found()
        words = [*_FIXED, *_AFAR, *self._place, *arguments]
        with signals_deferred() as arrived:
            handle = _started(self._root, words, None, path, _ALONE, start_new_session=True)
            status, out, err = attend(handle.proc, stall, limit, arrived)
        return status, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def text(self, *arguments: str, timeout: float = 120.0) -> str:
        """`run` as text without the last newline; surrogates for what is no UTF-8."""
        return self.run(*arguments, timeout=timeout).decode("utf-8", "surrogateescape").rstrip("\n")


def _ours() -> str:
    return os.environ.get("PATH", os.defpath)


def _started(
    root: str,
    arguments: list[str],
    source: BinaryIO | None,
    path: str,
    env: Mapping[str, str],
    program: str = "git",
    **extra: Any,
) -> Any:
    try:
        with _scrubbed():
            os.environ["GIT_PYTHON_REFRESH"] = (
                "quiet"  # else importing GitPython fails where git is missing
            )
            import git  # heavy (80 ms), and needless for most commands of a person
            from git.exc import GitCommandNotFound

            del os.environ["GIT_PYTHON_REFRESH"]
            words, env = [*filter(None, [program]), *arguments], {**_QUIET, **env, "PATH": path}
            return git.Git(root).execute(words, istream=source, as_process=True, env=env, **extra)
    except GitCommandNotFound as error:
        raise _missing() from error


def _call(
    root: str, arguments: list[str], source: BinaryIO | None, timeout: float, path: str
) -> tuple[int, bytes, bytes]:
    handle = _started(root, arguments, source, path, {})
    return _ended(handle.proc, timeout)


def _ended(process: subprocess.Popen[bytes], timeout: float) -> tuple[int, bytes, bytes]:
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        process.kill()
        process.communicate()
        raise GitProblem(
            f"git did not finish within {timeout:g} s",
            kept=_KEPT,
            hint="Try again when the machine is less busy.",
        ) from error
    return process.returncode, out, err


def _missing() -> GitProblem:
    return GitProblem("git is not installed", kept=_KEPT, hint=_INSTALL)


def version(root: str, path: str = "") -> tuple[int, ...]:
    """The version of the git on `path`, or on our PATH. Raises GitProblem when there is none."""
    _, out, _ = _call(root, ["--version"], None, 30.0, path or _ours())
    found = re.search(rb"(\d+)\.(\d+)(?:\.(\d+))?", out)
    return tuple(int(part) for part in found.groups(b"0")) if found else (0,)


def require(root: str) -> str:
    """The PATH, ours or a client's, that leads to a git that is new enough. Raises GitProblem."""
    problem: GitProblem | None = None
    for path in (_ours(), *_offered):
        if shutil.which("git", path=path):
            found = version(root, path)
            if found >= NEEDED:
                return path
            text = (
                f"git {'.'.join(map(str, found))} is too old: {'.'.join(map(str, NEEDED))} or "
                f"newer is needed"
            )
            problem = problem or GitProblem(text, kept=_KEPT, hint=_INSTALL)
    raise problem or _missing()
