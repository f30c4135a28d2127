"""A model by its name on the Hugging Face hub: from this machine's cache, else downloaded, else a clear refusal within seconds.

Only the embedding process comes here, and only for a name that a person set. What is in the cache is used without a word to the network.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

CONNECT: Final = 5.0
"""Seconds in which the hub has to answer."""
_HINT: Final = (
    "Check the name in embed.model, or be online once so that it can be downloaded. "
    'Offline, embed.model may be a folder with a model, or "default".'
)
_NEEDLESS: Final = ["onnx/*", "openvino/*", "*.onnx", "*.h5", "*.msgpack", "*.ot", "*.tflite", "*.gguf"]
"""The same weights in forms that are never loaded here."""


class NoModelError(Exception):
    """There is no such model, or none to be had now. `hint` says what to do."""

    hint = _HINT


def folder_of(name: str, tell: Callable[[str], None]) -> str:
    """The folder with the files of the model `name` on this machine. `tell` hears of a download. Raises NoModelError."""
    names = [name] if "/" in name else [f"sentence-transformers/{name}", name]
    return _cached(names) or _downloaded(name, names, tell)


def _cached(names: list[str]) -> str:
    from huggingface_hub import errors, try_to_load_from_cache

    for name in names:
        try:
            found = try_to_load_from_cache(name, "config.json")
        except errors.HFValidationError:
            continue
        if isinstance(found, str) and any(map(_is_weights, Path(found).parent.rglob("*"))):  # a download that broke off has none
            return str(Path(found).parent)
    return ""


def _is_weights(file: Path) -> bool:
    return file.suffix == ".safetensors" or file.name.startswith("pytorch_model")


def _downloaded(asked: str, names: list[str], tell: Callable[[str], None]) -> str:
    from huggingface_hub import HfApi, errors, snapshot_download

    for name in names:
        try:
            files = {file.rfilename for file in HfApi().model_info(name, timeout=CONNECT).siblings or ()}
        except (errors.RepositoryNotFoundError, errors.HFValidationError):
            continue
        except Exception as error:
            raise NoModelError(f"it is not on this machine, and the hub cannot be asked for it ({_said(error)})") from error
        tell(f"downloading the embedding model {name}")
        needless = [*_NEEDLESS, *(["*.bin"] if "model.safetensors" in files else [])]
        try:
            return str(snapshot_download(name, etag_timeout=CONNECT, ignore_patterns=needless))
        except Exception as error:
            raise NoModelError(f"it could not be downloaded ({_said(error)})") from error
    raise NoModelError(f"there is no model {asked!r} on this machine, and none on the hub that may be read without an account")


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip() or 'no answer'}".split("\n")[0][:200]
