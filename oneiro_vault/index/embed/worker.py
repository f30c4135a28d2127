"""The embedding process: `python -m oneiro_vault.index.embed.worker`, spoken to in messages on
stdin and stdout.

It loads one model, encodes bulk work in small batches and looks for a waiting question before each
of them. It ends with its parent (end of stdin), or after `idle` seconds without work. Whatever a
library prints goes to stderr.

A model that a person named is looked for on the Hugging Face hub: from this machine's cache,
without a word to the network, else downloaded, else a clear refusal within seconds.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, Literal, Protocol, TypeAlias

import numpy as np

from oneiro_vault.answers import Json
from oneiro_vault.index.base import Kind, Vectors
from oneiro_vault.index.embed import frames
from oneiro_vault.index.embed.models import prefixes_of
from oneiro_vault.index.embed.onnx import (
    LONGEST,
    Between,
    OnnxModel,
    UnfitError,
    batches,
    best_graph,
    graph_in,
    nothing,
)


class Encode(Protocol):
    """What makes vectors of texts."""

    def __call__(self, texts: Sequence[str], kind: Kind, between: Between = nothing, /) -> Vectors:
        """`len(texts)` x dimension; `between` is called before each batch of them."""


class Run(Protocol):
    """What makes vectors of texts with something before each of them."""

    def __call__(
        self, texts: Sequence[str], prefix: str = "", between: Between = nothing, /
    ) -> Vectors:
        """`len(texts)` x dimension; `between` is called before each batch of them."""


Words: TypeAlias = Callable[[Sequence[str], Between], Vectors]
"""What says something of every word of texts."""
_HASHED: Final = 32
"""Texts that are hashed at a time."""
_TOKEN: Final = 4
"""Bytes of a token, about, where only the model itself could count them."""
_TEXT: Final = 1_000
"""Bytes of one text that count: the model reads no more."""


class Work:
    """Frames that wait: questions first, then bulk, each in the order they came."""

    def __init__(self) -> None:
        self._ready = threading.Condition()
        self._urgent: deque[Json] = deque()
        self._bulk: deque[Json] = deque()

    def put(self, frame: Json) -> None:
        """Add a frame."""
        with self._ready:
            (self._urgent if frame.get("urgent") else self._bulk).append(frame)
            self._ready.notify()

    def urgent(self) -> Json | None:
        """A waiting question, if there is one."""
        with self._ready:
            return self._urgent.popleft() if self._urgent else None

    def take(self, timeout: float) -> Json | None:
        """The next frame; None if none comes in time."""
        with self._ready:
            self._ready.wait_for(lambda: self._urgent or self._bulk, timeout)
            waiting = self._urgent or self._bulk
            return waiting.popleft() if waiting else None


def load(spec: Json, tell: Callable[[str], None] = lambda _doing: None) -> tuple[Encode, int]:
    """The encode function and dimension of what `spec` names: model, folder, sha256 (of
    its weights, or ""), threads, online.

    `tell` hears what takes long. Raises whatever stands in the way; a `hint` on it says what to do.
    """
    if spec["model"] == "hash":
        from oneiro_vault.index.embed.embedders import HashEmbedder

        fake = HashEmbedder(int(spec.get("dimension") or 256))

        def hashed(texts: Sequence[str], _kind: Kind, between: Between = nothing) -> Vectors:
            parts = [fake.encode([])]
            for start in range(0, len(texts), _HASHED):
                between()
                parts.append(fake.encode(texts[start : start + _HASHED]))
            return np.concatenate(parts)

        return hashed, fake.dimension
    if spec["sha256"]:
        _verify(Path(spec["folder"], spec.get("packed") or "model.safetensors"), spec["sha256"])
    folder, encode_all, words = _model(spec, tell)
    prefixes = prefixes_of(folder, spec["model"])

    def encode(texts: Sequence[str], kind: Kind, between: Between = nothing) -> Vectors:
        return (
            words(texts, between) if kind == "words" else encode_all(texts, prefixes[kind], between)
        )

    return encode, encode(["warm"], "query").shape[1]


def _model(spec: Json, tell: Callable[[str], None]) -> tuple[Path, Run, Words]:
    """Where the model lies, what encodes texts with it (its ONNX file if it has one, else
    sentence-transformers), and what says something of their words."""
    extra = importlib.util.find_spec("sentence_transformers") is not None
    forms: tuple[Form, ...] = ("graph", "weights") if extra else ("graph",)
    folder = Path(spec["folder"]) if spec["folder"] else folder_of(spec["model"], forms, tell)
    tokens, threads = int(spec.get("tokens") or 0), int(spec["threads"])
    try:
        made = OnnxModel(
            folder,
            spec["model"],
            graph=spec.get("graph", ""),
            packed=spec.get("packed", ""),
            tokens=tokens,
            threads=threads,
        )
        return folder, made.encode, made.words
    except UnfitError as error:
        if not extra:
            raise NoModelError(
                f"{error}, and sentence-transformers is not installed", EXTRA
            ) from None
        if not spec["folder"] and not has(folder, "weights"):
            folder = folder_of(spec["model"], ("weights",), tell)
        return folder, sentence_transformer(folder, tokens, threads), _no_words


def _no_words(_texts: Sequence[str], _between: Between) -> Vectors:
    raise ValueError("this model says nothing of single words")


def sentence_transformer(folder: Path, tokens: int = 0, threads: int = 0) -> Run:
    """What encodes texts with a model that sentence-transformers loads (the extra `models`)."""
    import torch
    from sentence_transformers import SentenceTransformer

    if threads:
        torch.set_num_threads(threads)
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    model.max_seq_length = min(tokens or LONGEST, model.max_seq_length or LONGEST)

    def encode(texts: Sequence[str], prefix: str = "", between: Between = nothing) -> Vectors:
        found: list[Vectors | None] = [None] * len(texts)
        for part in batches(
            [min(len(text.encode("utf-8", "replace")), _TEXT) // _TOKEN + 1 for text in texts]
        ):
            between()
            given = [texts[i] for i in part]
            made = model.encode(
                given,
                prompt=prefix,
                batch_size=len(given),
                show_progress_bar=False,
                normalize_embeddings=True,
            )
            for i, vector in zip(part, made, strict=True):
                found[i] = vector
        return np.asarray(found, dtype=np.float32)

    return encode


def serve(work: Work, out: BinaryIO, encode: Encode, idle: float) -> None:
    """Answer frames until nothing comes for `idle` seconds; a question between two batches of what
    else is under way."""
    writing = threading.Lock()

    def answer(frame: Json, between: Between) -> None:
        try:
            made = encode(frame["texts"], frame["kind"], between)
        except Exception as error:
            said = {"id": frame["id"], "error": f"{type(error).__name__}: {error}"[:500]}
        else:
            said = {"id": frame["id"], "vectors": made}
        with writing:
            frames.send(out, said)

    def questions() -> None:
        while (question := work.urgent()) is not None:
            answer(question, nothing)

    while (frame := work.take(idle)) is not None:
        answer(frame, questions)


def main() -> None:
    """Run the process."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr  # whose lines do not wait in a buffer that `os._exit` drops
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    spec = frames.receive(sys.stdin.buffer)
    if spec is None:
        return
    work = Work()
    threading.Thread(target=_listen, args=(work,), daemon=True).start()
    try:
        encode, dimension = load(spec, lambda doing: frames.send(out, {"doing": doing}))
    except NoModelError as error:
        frames.send(out, {"failed": str(error), "hint": error.hint})
        return
    except BaseException as error:
        frames.send(out, {"failed": f"{type(error).__name__}: {error}"[:500]})
        return
    frames.send(out, {"ready": dimension})
    serve(work, out, encode, float(spec["idle"]))
    out.close()
    os._exit(0)


def _listen(work: Work) -> None:
    """Read frames; when the parent is gone, so are we, whatever is under way."""
    try:
        while (frame := frames.receive(sys.stdin.buffer)) is not None:
            work.put(frame)
    finally:
        os._exit(0)


def _verify(path: Path, expected: str) -> None:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != expected:
        raise ValueError(f"{path} is not the model it should be (its sha256 differs)")


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


if __name__ == "__main__":
    main()
