"""A model by its name on the Hugging Face hub: from this machine's cache, else downloaded, else a
clear refusal within seconds.

Only the embedding process comes here, and only for a name that a person set. What is in the cache
is used without a word to the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from oneiro_vault.index.embed.onnx import best_graph, graph_in

Form: TypeAlias = Literal["graph", "weights"]
"""What a model is loaded from: an ONNX file, or the weights that sentence-transformers reads."""
CONNECT: Final = 5.0
"""Seconds in which the hub has to answer."""
_HINT: Final = (
    "Check the name in embed.model, or be online once so that it can be downloaded. "
    'Offline, embed.model may be a folder with a model, or "default".'
)
EXTRA: Final = (
    "pip install 'oneiro-vault[models]' brings sentence-transformers, or choose a model in "
    "embed.model that ships an ONNX file."
)
_SMALL: Final = ["*.json", "*.txt", "*.model"]
_NEEDLESS: Final = [
    "onnx/*",
    "openvino/*",
    "*.onnx",
    "*.h5",
    "*.msgpack",
    "*.ot",
    "*.tflite",
    "*.gguf",
]
"""The same weights in forms that sentence-transformers does not load."""


class NoModelError(Exception):
    """There is no such model, or none that can be used now. `hint` says what to do."""

    def __init__(self, reason: str, hint: str = _HINT) -> None:
        super().__init__(reason)
        self.hint = hint


def folder_of(name: str, forms: Sequence[Form], tell: Callable[[str], None]) -> Path:
    """The folder with the files of the model `name` on this machine, in the first of these forms
    there is. `tell` hears of a download. Raises NoModelError."""
    names = [name] if "/" in name else [f"sentence-transformers/{name}", name]
    return _cached(names, forms) or _downloaded(name, names, forms, tell)


def has(folder: Path, form: Form) -> bool:
    """Is the model in this folder there in this form?"""
    return (
        graph_in(folder) is not None
        if form == "graph"
        else any(_is_weights(path.name) for path in folder.rglob("*"))
    )


def _cached(names: list[str], forms: Sequence[Form]) -> Path | None:
    folders = [folder for name in names for folder in _snapshots(name)]
    return next((folder for form in forms for folder in folders if has(folder, form)), None)


def _snapshots(name: str) -> Iterator[Path]:
    """Every version of a model in the cache: the one that is meant by its name first, then the
    newest."""
    from huggingface_hub.constants import HF_HUB_CACHE

    place = Path(HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"
    main = place / "refs" / "main"
    named = main.read_text(encoding="utf-8").strip() if main.is_file() else ""
    versions = [
        path for path in (place / "snapshots").glob("*") if (path / "config.json").is_file()
    ]  # else the download broke off
    yield from sorted(
        versions, key=lambda path: (path.name == named, path.stat().st_mtime), reverse=True
    )


def _is_weights(file: str) -> bool:
    return file.endswith(".safetensors") or file.startswith("pytorch_model")


def _downloaded(
    asked: str, names: list[str], forms: Sequence[Form], tell: Callable[[str], None]
) -> Path:
    from huggingface_hub import HfApi, errors, snapshot_download

    for name in names:
        try:
            files = {
                file.rfilename for file in HfApi().model_info(name, timeout=CONNECT).siblings or ()
            }
        except (errors.RepositoryNotFoundError, errors.HFValidationError):
            continue
        except Exception as error:
            raise NoModelError(
                f"it is not on this machine, and the hub cannot be asked for it ({_said(error)})"
            ) from error
        wanted, needless = _patterns(files, forms)
        tell(f"downloading the embedding model {name}")
        try:
            for patterns in (_SMALL, wanted):  # when the large ones are there, everything is
                folder = snapshot_download(
                    name, etag_timeout=CONNECT, allow_patterns=patterns, ignore_patterns=needless
                )
        except Exception as error:
            raise NoModelError(f"it could not be downloaded ({_said(error)})") from error
        return Path(folder)
    raise NoModelError(
        f"there is no model {asked!r} on this machine, and none on the hub that may be read "
        f"without an account"
    )


def _patterns(files: set[str], forms: Sequence[Form]) -> tuple[list[str] | None, list[str]]:
    """What to download of a model, and what to leave."""
    graph = best_graph(files) if "graph" in forms else ""
    if graph:
        return [f"{graph}*"], []
    if "weights" not in forms:
        raise NoModelError(
            "it ships no ONNX file with a tokenizer.json, and sentence-transformers is not "
            "installed",
            EXTRA,
        )
    return None, [*_NEEDLESS, *(["*.bin"] if "model.safetensors" in files else [])]


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip() or 'no answer'}".split("\n")[0][:200]
