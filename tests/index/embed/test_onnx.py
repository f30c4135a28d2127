"""Models on onnxruntime: the packaged one, and folders as the hub has them, against
sentence-transformers where it counts."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from safetensors.numpy import save_file

from oneiro_vault.classify import classifier, pasted
from oneiro_vault.index.embed import frames, models, worker
from oneiro_vault.index.embed.models import family_of, prefixes_of
from oneiro_vault.index.embed.onnx import (
    OnnxModel,
    UnfitError,
    batches,
    best_graph,
    packed_tokenizer,
)
from tests.index import graph

HIDDEN = 8
CONFIG = {
    "hidden_size": HIDDEN,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "intermediate_size": 16,
    "layer_norm_eps": 1e-12,
}
WORDS = (
    "the cat sat on a mat and purred at der Mond über 猫 が 座った 🐈 def f(x): return x*2 ; SELECT 1 "
    "-- naïve ‮"
).split()


def texts() -> list[str]:
    """Two hundred texts: several languages, code, emoji, nothing, one letter, and more than any
    model reads."""
    rng = random.Random(5)
    mixed = [" ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 30))) for _ in range(185)]
    return [
        *mixed,
        "",
        " ",
        "x",
        "\0",
        "x" * 50_000,
        "word " * 5_000,
        "猫" * 3_000,
        "🐈" * 700,
        "\ud800 lone",
        "a\n\nb\tc",
        *"zéß٤😀",
    ]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A BERT of few numbers in a folder as the hub has them, with its graph and the packaged
    model's tokenizer."""
    folder = tmp_path / "small"
    (folder / "onnx").mkdir(parents=True)
    (folder / "1_Pooling").mkdir()
    tokenizer = json.loads((models.model_folder() / "tokenizer.json").read_text())
    save_file(weights(len(tokenizer["model"]["vocab"])), str(folder / "model.safetensors"))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    put(
        folder,
        "config.json",
        CONFIG
        | {
            "model_type": "bert",
            "vocab_size": 30_522,
            "max_position_embeddings": 64,
            "type_vocab_size": 2,
        },
    )
    put(folder, "sentence_bert_config.json", {"max_seq_length": 32})
    put(folder, "modules.json", [module("", "Transformer"), module("1_Pooling", "Pooling")])
    put(
        folder,
        "1_Pooling/config.json",
        {
            "word_embedding_dimension": HIDDEN,
            "pooling_mode_cls_token": False,
            "pooling_mode_mean_tokens": True,
        },
    )
    (folder / "onnx/model.onnx").write_bytes(graph.bert(folder, inline=True))
    return folder


def weights(vocabulary: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    inner, layer = CONFIG["intermediate_size"], "encoder.layer.0."
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (vocabulary, HIDDEN),
        "embeddings.position_embeddings.weight": (64, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        **{
            f"{name}.LayerNorm.{part}": (HIDDEN,)
            for name in ("embeddings", f"{layer}attention.output", f"{layer}output")
            for part in ("weight", "bias")
        },
    }
    linear = {f"attention.self.{part}": (HIDDEN, HIDDEN) for part in ("query", "key", "value")}
    linear |= {
        "attention.output.dense": (HIDDEN, HIDDEN),
        "intermediate.dense": (int(inner), HIDDEN),
        "output.dense": (HIDDEN, int(inner)),
    }
    for name, shape in linear.items():
        shapes |= {f"{layer}{name}.weight": shape, f"{layer}{name}.bias": shape[:1]}
    return {name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def module(path: str, kind: str) -> dict[str, object]:
    return {
        "idx": 0,
        "name": path[:1] or "0",
        "path": path,
        "type": f"sentence_transformers.models.{kind}",
    }


def put(folder: Path, name: str, value: Any) -> None:
    (folder / name).write_text(json.dumps(value))


def agree(one: np.ndarray, other: np.ndarray) -> bool:
    """Every cosine of every pair, and each text with itself, is the same to a thousandth."""
    return bool(
        np.abs(one @ one.T - other @ other.T).max() < 1e-3
        and np.abs((one * other).sum(1) - 1).max() < 1e-3
    )


def packaged() -> OnnxModel:
    model = models.resolve("default")
    return OnnxModel(Path(model.folder), "default", graph=model.graph, tokens=model.tokens)


@pytest.mark.model
def test_every_cosine_is_that_of_sentence_transformers() -> None:
    reference = worker.sentence_transformer(models.model_folder(), models.resolve("default").tokens)
    clean = [text.encode("utf-8", "replace").decode() for text in texts()]
    assert agree(packaged().encode(texts()), reference(clean))


@pytest.mark.model
def test_a_folder_of_the_hub_gives_the_same_on_both(small: Path) -> None:
    put(
        small,
        "tokenizer_config.json",
        {"tokenizer_class": "BertTokenizer", "model_max_length": 64, "pad_token": "[PAD]"},
    )
    for mode in ("mean_tokens", "cls_token", "lasttoken"):
        put(
            small,
            "1_Pooling/config.json",
            {
                "word_embedding_dimension": HIDDEN,
                f"pooling_mode_{mode}": True,
                "pooling_mode_mean_tokens": mode == "mean_tokens",
            },
        )
        ours = OnnxModel(small, "small").encode(texts()[:40], "query: ")
        assert agree(ours, worker.sentence_transformer(small)(texts()[:40], "query: ")), mode


def test_the_packaged_graph_is_the_one_that_is_made() -> None:
    assert models.GRAPH.read_bytes() == graph.bert(models.model_folder())
    packed = models.packed_folder() / models.PACKED_FILE
    assert models.PACKED_GRAPH.read_bytes() == graph.packed(packed)


@pytest.mark.parametrize("file", [classifier.GRAPH, pasted.GRAPH], ids=lambda file: file.stem)
def test_the_graphs_of_tuned_layers_are_made_in_the_same_way(file: Path) -> None:
    """But for what they have learned."""
    packaged = onnx.load_from_string(file.read_bytes()).graph
    outside = [one for one in packaged.initializer if one.external_data]
    sizes = {one.name: tuple(one.dims) for one in packaged.initializer}
    tuned = {
        one.name.removesuffix(".bytes"): np.ones(tuple(one.dims), np.float32)
        for one in packaged.initializer
        if one.name.startswith("encoder.") and ".scale" not in one.name and not one.external_data
    }
    learned = {name: np.zeros(sizes[f"words.{name}"], np.float32) for name in ("in", "shift")}
    data = graph.bert(models.model_folder(), layers=graph.LAYERS, words=learned, tuned=tuned)
    made = onnx.load_from_string(data).graph
    assert [*made.node] == [*packaged.node]
    assert {one.name: tuple(one.dims) for one in made.initializer} == sizes
    assert outside == [one for one in made.initializer if one.external_data]


@pytest.mark.model
def test_the_model_of_the_extra_knows_what_is_meant_in_other_languages() -> None:
    encode, size = worker.load(vars(models.resolve("multilingual-e5-small")) | {"threads": 1})
    notes = encode(
        [
            "Der Ersatzschlüssel liegt unter dem Blumentopf.",
            "Vor dem Laufen trinkt Ana einen Espresso.",
            "La réunion a été repoussée au mardi suivant.",
        ],
        "passage",
    )
    asked = encode(
        [
            "Wie komme ich ins Haus, wenn ich mich ausgesperrt habe?",
            "what does she have before going jogging?",
            "¿Cuándo es la junta?",
        ],
        "query",
    )
    assert size == 384
    assert [*np.argmax(asked @ notes.T, axis=1)] == [0, 1, 2]


@pytest.mark.model
def test_the_pieces_of_the_model_of_the_extra_are_those_of_its_family() -> None:
    """The numbers are those that XLM-RoBERTa's own tokenizer gives these words."""
    tokenizer = packed_tokenizer(models.packed_folder() / models.PACKED_FILE)
    ids = tokenizer.encode("query: how much\u200b protein\n should a  female\x07 eat ").ids
    assert ids == [0, 41, 1294, 12, 3642, 5045, 21308, 5608, 10, 117776, 73203, 2]
    assert tokenizer.encode("").ids == [0, 2]


def test_batches_hold_every_text_once_and_alike_lengths_together() -> None:
    sizes = [i * 37 % 250 for i in range(500)]
    found = batches(sizes)
    assert sorted(i for batch in found for i in batch) == list(range(500))
    longest = [max(sizes[i] for i in batch) for batch in found]
    assert longest == sorted(longest, reverse=True)
    assert max(len(batch) for batch in found) <= 128
    assert max(len(batch) * size for batch, size in zip(found, longest, strict=True)) <= 512
    assert batches([]) == []


@pytest.mark.slow
def test_batches_side_by_side_give_what_one_gives(small: Path) -> None:
    given, seen = [f"the cat {'sat ' * (i % 40)}" for i in range(90)], []
    alone = np.concatenate([OnnxModel(small, "small").encode([text]) for text in given])
    for threads in (1, 3):
        model = OnnxModel(small, "small", threads=threads)
        assert np.allclose(model.encode(given, "", lambda: seen.append(1)), alone, atol=1e-5)
    assert len(seen) > 6


def test_vectors_are_unit_and_do_not_depend_on_their_neighbours(small: Path) -> None:
    model = OnnxModel(small, "small")
    given = ["the cat", "the cat sat on a mat and purred " * 9, "", "猫"]
    together = model.encode(given)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert np.allclose(
        together, np.concatenate([model.encode([text]) for text in given]), atol=1e-5
    )
    assert np.allclose(model.encode(["b"], "a "), model.encode(["a b"]), atol=1e-6)


def test_the_default_path_imports_neither_torch_nor_sentence_transformers_nor_chroma() -> None:
    code = (
        "import sys; from oneiro_vault.index.embed import worker; from "
        "oneiro_vault.index.embed.models import resolve\nencode, size = "
        "worker.load({**resolve('default').__dict__, 'threads': 1})\nassert (size, encode(['x'], "
        "'passage').shape) == (384, (1, 384))\nheavy = ('torch', 'transformers', "
        "'sentence_transformers', 'chromadb', 'huggingface_hub')\nprint([name for name in heavy "
        "if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=frames.environment(),
        timeout=120,
    )
    assert done.stdout.strip() == "[]", done.stderr


def spec(folder: Path | str, name: str = "") -> dict[str, Any]:
    return {"model": name or str(folder), "folder": str(folder), "sha256": "", "threads": 1}


def without_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where sentence-transformers is not installed."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)


def test_a_folder_with_an_onnx_file_needs_no_extra(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_extra(monkeypatch)
    encode, size = worker.load(spec(small))
    assert size == HIDDEN
    assert np.allclose(encode(["x"], "query"), encode(["x"], "passage"))
    (small / "onnx/model.onnx").unlink()
    with pytest.raises(worker.NoModelError, match="it ships no ONNX file") as caught:
        worker.load(spec(small))
    assert "pip install 'oneiro-vault[models]'" in caught.value.hint


def test_a_model_in_the_hubs_cache_is_loaded_offline_with_the_prefixes_of_its_family(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_extra(monkeypatch)
    place = tmp_path / "hub/models--some--e5-small"
    (place / "refs").mkdir(parents=True)
    (place / "refs/main").write_text("abc")
    for path in [path for path in small.rglob("*") if path.is_file()]:
        link = place / "snapshots/abc" / path.relative_to(small)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    encode, _ = worker.load(spec("", "some/e5-small"))
    plain = OnnxModel(small, "small")
    assert np.allclose(encode(["cat"], "query"), plain.encode(["query: cat"]), atol=1e-6)
    assert np.allclose(encode(["cat"], "passage"), plain.encode(["passage: cat"]), atol=1e-6)
    assert models.resolve("some/e5-small").name == "hub:some/e5-small+prefixes"
    assert models.resolve("some/model").name == "hub:some/model"


def test_weights_beside_the_graph_are_found_through_links(small: Path, tmp_path: Path) -> None:
    given, blob = OnnxModel(small, "small").encode(["cat"]), tmp_path / "blob"
    (small / "onnx/model.onnx").write_bytes(graph.bert(small))
    blob.write_bytes((small / "model.safetensors").read_bytes())
    (small / "onnx/model.safetensors").symlink_to(blob)
    assert np.allclose(OnnxModel(small, "small").encode(["cat"]), given, atol=1e-6)


def unlike(folder: Path) -> None:
    put(
        folder,
        "modules.json",
        [module("", "Transformer"), module("1_Pooling", "Pooling"), module("2_Dense", "Dense")],
    )


def two_pools(folder: Path) -> None:
    put(
        folder,
        "1_Pooling/config.json",
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
    )


def prompt_left_out(folder: Path) -> None:
    put(folder, "1_Pooling/config.json", {"pooling_mode": "mean", "include_prompt": False})


def no_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


@pytest.mark.parametrize("change", [unlike, two_pools, prompt_left_out, no_tokenizer])
def test_what_wants_more_than_a_graph_is_left_to_sentence_transformers(
    small: Path, change: Callable[[Path], None]
) -> None:
    change(small)
    with pytest.raises(UnfitError):
        OnnxModel(small, "small")


@pytest.mark.parametrize(
    ("files", "best"),
    [
        (["onnx/model_int8.onnx", "onnx/model.onnx", "model_O4.onnx"], "onnx/model.onnx"),
        (["model_quantized.onnx", "onnx/model_O2.onnx"], "onnx/model_O2.onnx"),
        (["onnx/model_quantized.onnx"], "onnx/model_quantized.onnx"),
        (["model.safetensors"], ""),
    ],
)
def test_the_full_graph_comes_first(files: list[str], best: str) -> None:
    assert best_graph({*files, "tokenizer.json"}) == best
    assert best_graph(set(files)) == ""


def test_families_and_what_a_models_own_files_say(tmp_path: Path) -> None:
    assert family_of("intfloat/multilingual-e5-small").passage == "passage: "
    assert family_of("intfloat/multilingual-e5-large-instruct").passage == ""
    assert (family_of("BAAI/bge-small-en-v1.5").pooling, family_of("BAAI/bge-m3").query) == (
        "cls",
        "",
    )
    assert family_of("/models/nomic-embed-text-v1.5").query == "search_query: "
    assert prefixes_of(tmp_path, "some/e5-base") == {"query": "query: ", "passage": "passage: "}
    put(
        tmp_path,
        "config_sentence_transformers.json",
        {"prompts": {"query": "q: ", "document": "d: "}},
    )
    assert prefixes_of(tmp_path, "some/e5-base") == {"query": "q: ", "passage": "d: "}
    put(
        tmp_path,
        "config_sentence_transformers.json",
        {"prompts": {"x": "x: "}, "default_prompt_name": "x"},
    )
    assert prefixes_of(tmp_path, "some/e5-base") == {"query": "x: ", "passage": "x: "}
