"""Pickled messages between a process of ours and the child it started, and the child's
environment."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import IO, Any, Final

_PACKAGES: Final = Path(__file__).resolve().parents[3]
_OFFLINE: Final = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
_QUIET: Final = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "DISABLE_TELEMETRY": "1",
    "ORT_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "ANONYMIZED_TELEMETRY": "False",
    "OTEL_SDK_DISABLED": "true",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
}


def send(stream: IO[bytes], message: object) -> None:
    """Write one message. Raises OSError when the other side is gone."""
    pickle.dump(message, stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read one message; None at the end of the stream."""
    try:
        return pickle.load(stream)
    except (EOFError, pickle.UnpicklingError):
        return None


def environment(*, online: bool = False) -> dict[str, str]:
    """The environment of a child of ours: it finds this package, reports nothing to anybody, and is
    offline unless told otherwise."""
    path = os.pathsep.join(filter(None, (str(_PACKAGES), os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, **_QUIET, **({} if online else _OFFLINE), "PYTHONPATH": path}
