"""Who turns text into vectors: a process of its own with a real model, or a small deterministic
stand-in without one."""

from __future__ import annotations

import atexit
import itertools
import re
import subprocess
import sys
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from typing import Final

import numpy as np

from oneiro_vault.answers import Json
from oneiro_vault.core.text.query import fold
from oneiro_vault.errors import EmbedderProblem
from oneiro_vault.index.base import LOADING, Kind, Vectors
from oneiro_vault.index.embed import frames
from oneiro_vault.index.embed.models import KEPT, Model, resolve

_REMEMBERED: Final = 512
_LOAD: Final = 180.0
_WAIT: Final = 600.0
_REST: Final = 30.0
"""Seconds after a failed start during which nobody tries again."""
_STEP: Final = 0.1
Waiting = Callable[[str], None]
"""Called ten times a second with what is being waited for; what it raises ends the waiting, not the
work."""
_QUESTION: Final = 4_000
_SUFFIX: Final = re.compile(r"(?:ing|edly|ed|es|s|ly)$")


class HashEmbedder:
    """Feature hashing of words and their three-letter pieces: no model, always the same, similar
    words are near each other."""

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

    @property
    def problem(self) -> EmbedderProblem | None:
        """None: there is nothing that could fail."""
        return None

    def wake(self) -> None:
        """Nothing to start."""

    def load(self, waiting: Waiting) -> None:
        """Nothing to wait for."""

    def close(self) -> None:
        """Nothing to free."""


class WorkerEmbedder:
    """A model in its own process: started when first asked, stopped after `idle` seconds, started
    again (once per request) if it dies.

    Safe to call from several threads; a question overtakes bulk work. `threads` 0 lets the model
    choose. A model that is not there is no error before it is asked for something.
    """

    def __init__(
        self, model: str | Model = "default", *, threads: int = 0, idle: float = 300.0
    ) -> None:
        self.problem: EmbedderProblem | None = None
        """Why the model could not be used when it was last tried."""
        try:
            self._model = model if isinstance(model, Model) else resolve(model)
        except EmbedderProblem as error:
            self.problem = error
            self._model = Model(f"missing:{model}", str(model))
        self._missing = self.problem
        self._doing = ""
        self._threads = threads
        self._idle = idle
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ready: Future[int] = Future()
        self._waiting: dict[int, tuple[subprocess.Popen[bytes], Future[Vectors]]] = {}
        self._numbers = itertools.count(1)
        self._recent: OrderedDict[str, Vectors] = OrderedDict()
        self._rest = 0.0
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
            threading.Thread(
                target=self._quietly_start, name="oneiro-embedder-start", daemon=True
            ).start()

    def load(self, waiting: Waiting) -> None:
        """Wait until the model is loaded, and downloaded if need be. Raises EmbedderProblem, and
        what `waiting` raises."""
        self._started(waiting)

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

    # -- asking

    def _ask(self, texts: list[str], kind: Kind, *, urgent: bool) -> Vectors:
        for attempt in (1, 2):
            self._started()
            number, answer = next(self._numbers), Future[Vectors]()
            try:
                self._send(
                    number, answer, {"id": number, "texts": texts, "kind": kind, "urgent": urgent}
                )
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

    def _send(self, number: int, answer: Future[Vectors], frame: Json) -> None:
        with self._lock:
            process = self._process
            if process is None or process.stdin is None:
                raise BrokenPipeError("it is not running")
            self._waiting[number] = process, answer
            frames.send(process.stdin, frame)

    # -- the process

    def _quietly_start(self) -> None:
        with suppress(EmbedderProblem):
            self._started()

    def _started(self, waiting: Waiting = lambda _doing: None) -> int:
        """Make sure the process is up and its model loaded; returns the dimension."""
        while not self._starting.acquire(timeout=_STEP):
            waiting(self._doing)
        try:
            if self._missing is not None:
                raise self._missing
            if self._process is None or self._process.poll() is not None:
                if self.problem is not None and time.monotonic() < self._rest:
                    raise self.problem
                self._start()
            found = self._await(waiting)
            self.problem = None
            return found
        except (FutureTimeoutError, OSError, ValueError) as error:
            self._rest = time.monotonic() + _REST
            self.problem = self._problem(
                str(error) or "it did not load in time", getattr(error, "hint", "")
            )
            self.close()
            raise self.problem from None
        finally:
            self._starting.release()

    def _await(self, waiting: Waiting) -> int:
        """The dimension, once the process is ready. A download takes as long as it takes: it ends
        by itself when nothing comes."""
        end = time.monotonic() + _LOAD
        while True:
            try:
                return self._ready.result(_STEP)
            except FutureTimeoutError:
                if self._ready.done():
                    return self._ready.result()
                if time.monotonic() > end and self._doing == LOADING:
                    raise
                waiting(self._doing)

    def _start(self) -> None:
        self._doing = LOADING
        command = [sys.executable, "-m", "oneiro_vault.index.embed.worker"]
        env = frames.environment(online=self._model.online)
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
        )
        assert process.stdin is not None
        ready: Future[int] = Future()
        with self._lock:
            self._process, self._ready = process, ready
        threading.Thread(
            target=self._read, args=(process, ready), name="oneiro-embedder", daemon=True
        ).start()
        spec = {**self._model.__dict__, "threads": self._threads, "idle": self._idle}
        with suppress(OSError):  # the reading thread reports it
            frames.send(process.stdin, spec)

    def _read(self, process: subprocess.Popen[bytes], ready: Future[int]) -> None:
        """Hand every answer to whoever waits for it, until the process ends."""
        assert process.stdout is not None
        with suppress(ValueError, OSError):
            while (frame := frames.receive(process.stdout)) is not None:
                self._deliver(frame, ready)
        if not ready.done():
            ready.set_exception(OSError("its process died while loading"))
        with self._lock:
            if self._process is process:
                self._process = None
            orphans = [
                answer for asked, answer in self._waiting.values() if asked is process
            ]  # its successor may be at work by now
        for answer in orphans:
            _settle(answer, OSError(f"its process ended ({process.poll()})"))
        _stop(process)

    def _deliver(self, said: Json, ready: Future[int]) -> None:
        if "doing" in said:
            self._doing = said["doing"]
        elif "failed" in said:
            ready.set_exception(_RefusedError(said["failed"], said.get("hint", "")))
        elif "ready" in said:
            ready.set_result(said["ready"])
        elif "error" in said:
            self._settle(said["id"], self._problem(said["error"]))
        else:
            self._settle(said["id"], said["vectors"])

    def _settle(self, number: int, value: Vectors | Exception) -> None:
        """Nobody may wait for it any more."""
        asked = self._waiting.get(number)
        if asked is not None:
            _settle(asked[1], value)

    def _problem(self, reason: str, hint: str = "") -> EmbedderProblem:
        hint = hint or (_REINSTALL if self._model.model == "default" else _ANOTHER)
        return EmbedderProblem(
            f"the embedding model {self._model.model!r} cannot be used: {reason}",
            kept=KEPT,
            hint=hint,
        )


_REINSTALL: Final = (
    'Reinstall oneiro-vault with its dependencies; embed.model = "hash" does without a model.'
)
_ANOTHER: Final = (
    'Set embed.model to a folder with a sentence-transformers model, or to "default", the '
    "packaged one."
)


class _RefusedError(ValueError):
    """What the process said instead of being ready, and what to do about it."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.hint = hint


def _settle(answer: Future[Vectors], value: Vectors | Exception) -> None:
    if answer.done():
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


def _features(text: str) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for word in re.findall(r"\w+", fold(text)):
        root = _SUFFIX.sub("", word) if len(word) > 4 else word
        found.append((root, 1.0))
        found += ((f"#{root[i : i + 3]}", 0.3) for i in range(len(root) - 2))
    return found
