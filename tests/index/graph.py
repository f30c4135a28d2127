"""ONNX graphs of BERT models, for onnxruntime's fused operators; `python -m tests.index.graph`
makes the packaged ones.

Linear layers multiply with the transposed weights as they are stored, so nothing is copied or
turned when a graph is loaded.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from oneiro_vault.classify import classifier
from oneiro_vault.index.embed import models

FUSED = "com.microsoft"
LAYERS = 4
"""Of the packaged model that the classifier of sentences looks through."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def bert(folder: Path, *, inline: bool = False, layers: int = 0) -> bytes:
    """The graph of the BERT model in a folder, or of its first layers. Its weights stay in
    `model.safetensors`, or are `inline`."""
    config = json.loads((folder / "config.json").read_text())
    graph = Graph(folder / "model.safetensors", inline)
    for name, to in zip(INPUTS, ("ids", "mask", "types"), strict=True):
        graph.add("Cast", [name], to, domain="", to=TensorProto.INT32)
    tables = [f"embeddings.{kind}_embeddings.weight" for kind in ("word", "position", "token_type")]
    norm = ["embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias"]
    eps = config["layer_norm_eps"]
    graph.add(
        "EmbedLayerNormalization",
        ["ids", "types", *map(graph.weight, [*tables, *norm])],
        "0",
        "lengths",
        epsilon=eps,
    )
    layers = layers or config["num_hidden_layers"]
    for number in range(layers):
        out = "last_hidden_state" if number == layers - 1 else str(number + 1)
        layer(
            graph, f"encoder.layer.{number}.", str(number), out, config["num_attention_heads"], eps
        )
    given = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in INPUTS
    ]
    states = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", config["hidden_size"]]
    )
    made = helper.make_graph(graph.nodes, "bert", given, [states], list(graph.weights.values()))
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    return bytes(
        helper.make_model(made, opset_imports=versions, ir_version=8).SerializeToString(
            deterministic=True
        )
    )


def layer(graph: Graph, at: str, states: str, out: str, heads: int, eps: float) -> None:
    """Attention and the two linear layers after it, each with its sum and norm."""
    parts = [f"{at}attention.self.{part}" for part in ("query", "key", "value")]
    turned = [graph.linear(states, part) for part in parts]
    bias = graph.add(
        "Concat", [graph.weight(f"{part}.bias") for part in parts], f"{at}bias", domain="", axis=0
    )
    seen = graph.add("MultiHeadAttention", [*turned, bias, "mask"], f"{at}seen", num_heads=heads)
    attended = graph.norm(seen, states, f"{at}attention.output", f"{at}attended", eps)
    wide = graph.linear(attended, f"{at}intermediate.dense")
    wide = graph.add("BiasGelu", [wide, graph.weight(f"{at}intermediate.dense.bias")], f"{at}wide")
    graph.norm(wide, attended, f"{at}output", out, eps)


class Graph:
    """Nodes and weights of a graph in the making."""

    def __init__(self, file: Path, inline: bool) -> None:
        self.nodes: list[Any] = []
        self.weights: dict[str, Any] = {}
        self._file = file
        self._inline = inline
        with file.open("rb") as opened:
            size = struct.unpack("<Q", opened.read(8))[0]
            self._tensors = json.loads(opened.read(size))
        self._start = 8 + size

    def add(
        self, kind: str, given: list[str], *out: str, domain: str = FUSED, **attributes: Any
    ) -> str:
        self.nodes.append(helper.make_node(kind, given, list(out), domain=domain, **attributes))
        return out[0]

    def linear(self, states: str, name: str) -> str:
        return self.add(
            "FusedMatMul", [states, self.weight(f"{name}.weight")], f"{name}.out", transB=1
        )

    def norm(self, states: str, before: str, name: str, out: str, eps: float) -> str:
        """A linear layer, the sum with what was before, and the norm of it."""
        turned = self.linear(states, f"{name}.dense")
        scale = [
            self.weight(f"{name}.{which}")
            for which in ("LayerNorm.weight", "LayerNorm.bias", "dense.bias")
        ]
        return self.add("SkipLayerNormalization", [turned, before, *scale], out, epsilon=eps)

    def weight(self, name: str) -> str:
        start, end = self._tensors[name]["data_offsets"]
        tensor = onnx.TensorProto(
            name=name, data_type=TensorProto.FLOAT, dims=self._tensors[name]["shape"]
        )
        if self._inline:
            tensor.raw_data = self._file.read_bytes()[self._start + start : self._start + end]
        else:
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in {
                "location": self._file.name,
                "offset": self._start + start,
                "length": end - start,
            }.items():
                tensor.external_data.add(key=key, value=str(value))
        self.weights[name] = tensor
        return name


if __name__ == "__main__":
    models.GRAPH.write_bytes(bert(models.model_folder()))
    classifier.GRAPH.write_bytes(bert(models.model_folder(), layers=LAYERS))
