"""Frames between the owner and its embedding process: a length, a JSON header of that length, then
as many raw bytes as the header says."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import IO, Any, Final

_LENGTH: Final = struct.Struct(">I")
_LARGEST: Final = 1 << 28
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


def send(stream: IO[bytes], header: dict[str, Any], payload: bytes = b"") -> None:
    """Write one frame. Raises OSError when the other side is gone."""
    head = json.dumps({**header, "bytes": len(payload)}).encode()
    stream.write(_LENGTH.pack(len(head)) + head)
    if payload:
        stream.write(payload)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Read one frame; None at the end of the stream. Raises ValueError if it makes no sense."""
    start = stream.read(_LENGTH.size)
    if len(start) < _LENGTH.size:
        return None
    length = _LENGTH.unpack(start)[0]
    if length > _LARGEST:
        raise ValueError("not a frame")
    head = stream.read(length)
    if len(head) < length:
        return None
    header = json.loads(head)
    payload = stream.read(int(header["bytes"]))
    return (header, payload) if len(payload) == header["bytes"] else None


def environment(*, online: bool = False) -> dict[str, str]:
    """The environment of a child of ours: it finds this package, reports nothing to anybody, and is
    offline unless told otherwise."""
    path = os.pathsep.join(filter(None, (str(_PACKAGES), os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, **_QUIET, **({} if online else _OFFLINE), "PYTHONPATH": path}
