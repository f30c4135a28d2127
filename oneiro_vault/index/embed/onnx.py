"""An embedding model on onnxruntime: a graph, a tokenizer, and how the vectors of its tokens become
one.

The default model and every model that ships an ONNX file run here, without torch. What wants more
raises `UnfitError`.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from oneiro_vault.core.text.claims import words
from oneiro_vault.index.base import Vectors
from oneiro_vault.index.embed.models import family_of, settings_in

LONGEST: Final = 512
"""Tokens of one text, whatever a model says it can read."""
_BATCH: Final = 512
"""Tokens a batch may hold, padding counted: a sixth of a second on one core, for which a question
may wait. Larger ones are no faster."""
_MOST: Final = 128
"""Texts in a batch."""
_FULL: Final = ("onnx/model.onnx", "model.onnx")
_SMALLER: Final = ("quant", "int8", "q4", "bnb4", "fp16")
"""In the names of graphs whose vectors differ from those of the full one."""
_INPUTS: Final = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
WORDS: Final = 64
"""Words of a text of which something is said at once."""
_WORD_STATES: Final = "word_states"
"""The output of graphs that say something of every token."""
_SENTENCE: Final = "sentence_embedding"
"""The output of graphs that make one vector of a text themselves."""

Between: TypeAlias = Callable[[], None]
"""What is done before each batch; by whichever thread runs it."""


def nothing() -> None:
    """Nothing is to be done between batches."""


class UnfitError(Exception):
    """This model has no graph that can be run here, or wants more than a graph."""


class OnnxModel:
    """A model from its folder. `graph`: one that lies elsewhere and has its weights there;
    `packed`: the file with its tokens; `tokens` 0: as its files say.

    `threads` batches (0: one a core) run side by side, each on one core: that is a quarter faster
    than one batch on all of them, whose threads wait for each other after every product.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        graph: str = "",
        packed: str = "",
        tokens: int = 0,
        threads: int = 0,
    ) -> None:
        where = Path(graph) if graph else graph_in(folder)
        if where is None:
            raise UnfitError("it ships no ONNX file with a tokenizer.json")
        self._session = _session(where, folder)
        self._threads = threads or _cores()
        wanted = {value.name: value.type for value in self._session.get_inputs()}
        if not wanted.keys() <= _INPUTS:
            raise UnfitError(f"its ONNX file wants {', '.join(sorted(wanted.keys() - _INPUTS))}")
        self._inputs = {
            name: np.int32 if kind == "tensor(int32)" else np.int64 for name, kind in wanted.items()
        }
        outputs = [value.name for value in self._session.get_outputs()]
        self._output = _SENTENCE if _SENTENCE in outputs else outputs[0]
        self._pool = _POOLS.get(_pooling(folder, name))
        if self._pool is None and self._output != _SENTENCE:
            raise UnfitError("its vectors are made in a way that only sentence-transformers knows")
        self._tokenizer, self._padding = tokenizer(folder, packed, tokens)

    def encode(self, texts: Sequence[str], prefix: str = "", between: Between = nothing) -> Vectors:
        """`len(texts)` x dimension, each text after the prefix; `between` is called before each
        batch."""
        given = [_whole(prefix + text) for text in texts]
        return self._in_batches(given, self._vectors, between)

    def words(self, texts: Sequence[str], between: Between = nothing) -> Vectors:
        """What the graph says of each of the first `WORDS` words of a text: `len(texts)` x (`WORDS`
        times what it says of one), 0 where there is none."""
        return self._in_batches([_whole(text) for text in texts], self._words, between)

    def _in_batches(
        self, texts: Sequence[str], run: Callable[[list[str], list[Any]], Vectors], between: Between
    ) -> Vectors:
        tokens = self._tokenizer.encode_batch(texts)
        parts = batches([len(text.ids) for text in tokens])

        def one(part: Sequence[int]) -> Vectors:
            between()
            return run([texts[i] for i in part], [tokens[i] for i in part])

        if len(parts) <= 1 or self._threads == 1:
            made = [*map(one, parts)]
        else:
            with ThreadPoolExecutor(self._threads) as lanes:
                made = [*lanes.map(one, parts)]
        return np.concatenate(made)[np.argsort(np.concatenate(parts))]

    def _vectors(self, _texts: list[str], tokens: list[Any]) -> Vectors:
        found, mask = self._run(tokens, self._output)
        if found.ndim == 3 and self._pool is not None:
            found = self._pool(found, mask)
        return np.asarray(
            found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12),
            dtype=np.float32,
        )

    def _words(self, texts: list[str], tokens: list[Any]) -> Vectors:
        states, _ = self._run(tokens, _WORD_STATES)
        found = np.zeros((len(texts), WORDS, states.shape[2]), dtype=np.float32)
        for row, (text, one) in enumerate(zip(texts, tokens, strict=True)):
            for place, at in enumerate(tokens_of_words(text, one.offsets)):
                if at:
                    found[row, place] = states[row, at].mean(axis=0)
        return found.reshape(len(texts), -1)

    def _run(self, texts: Sequence[Any], output: str) -> tuple[Vectors, Any]:
        longest = max(len(text.ids) for text in texts)
        ids, mask = (
            np.full((len(texts), longest), self._padding),
            np.zeros((len(texts), longest), dtype=np.int64),
        )
        for row, text in enumerate(texts):
            ids[row, : len(text.ids)], mask[row, : len(text.ids)] = text.ids, 1
        places = np.broadcast_to(np.arange(longest), ids.shape)
        given = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
            "position_ids": places,
        }
        feed = {name: given[name].astype(kind, copy=False) for name, kind in self._inputs.items()}
        return np.asarray(self._session.run([output], feed)[0], dtype=np.float32), mask


def tokens_of_words(text: str, offsets: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """The tokens of each of the first words."""
    tokens = [(at, *span) for at, span in enumerate(offsets) if span[1] > span[0]]
    for _, start, end in words(text)[:WORDS]:
        yield [at for at, begins, stops in tokens if begins < end and stops > start]


def batches(sizes: Sequence[int]) -> list[list[int]]:
    """Indexes of texts of so many tokens in batches of about equal length, the longest first."""
    found: list[list[int]] = []
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        if (
            not found
            or len(found[-1]) >= _MOST
            or (len(found[-1]) + 1) * sizes[found[-1][0]] > _BATCH
        ):
            found.append([])
        found[-1].append(i)
    return found


def graph_in(folder: Path) -> Path | None:
    """The graph to run in a model's folder, if it has one and a tokenizer."""
    name = best_graph(
        {
            path.relative_to(folder).as_posix()
            for path in folder.rglob("*")
            if path.suffix in (".onnx", ".json")
        }
    )
    return folder / name if name else None


def best_graph(files: Collection[str]) -> str:
    """The graph to run among a model's files: the full one, a smaller one only if there is no
    other; "" if none can be."""
    graphs = [name for name in files if name.endswith(".onnx")] if "tokenizer.json" in files else []
    return min(
        graphs,
        key=lambda name: (name not in _FULL, any(word in name for word in _SMALLER), name),
        default="",
    )


def _session(graph: Path, folder: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # it would keep the memory of the largest batch
    options.log_severity_level = 3
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(folder)
    )
    at = str(graph) if folder in graph.parents else graph.read_bytes()
    return onnxruntime.InferenceSession(at, options, providers=["CPUExecutionProvider"])


def _cores() -> int:
    """Processors this process may use; not every system can tell which those are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def tokenizer(folder: Path, packed: str = "", tokens: int = 0) -> tuple[Any, int]:
    """What cuts texts into tokens, and the token that fills up a batch."""
    from tokenizers import Tokenizer

    made = (
        packed_tokenizer(folder / packed)
        if packed
        else Tokenizer.from_file(str(folder / "tokenizer.json"))
    )
    said = settings_in(folder, "tokenizer_config.json")
    most = (
        tokens
        or settings_in(folder, "sentence_bert_config.json").get("max_seq_length")
        or said.get("model_max_length")
        or settings_in(folder, "config.json").get("max_position_embeddings")
    )
    made.enable_truncation(int(min(most or LONGEST, LONGEST)))
    token = (made.padding or {}).get("pad_token") or said.get("pad_token") or "[PAD]"
    token = token["content"] if isinstance(token, dict) else token
    made.no_padding()
    return made, made.token_to_id(token) or 0


_SIZES: Final = 44
"""Where a packed file says how many pieces it has; before that stand the sizes of the model."""
_CLEAN: Final = (
    (r"[\x01-\x08\x0b\x0e-\x1f\x7f\u008f\u009f]", ""),
    (r"[\u200b-\u200f\u2581\ufeff\ufffd]", " "),
)
"""How SentencePiece differs from NFKC in what it makes of letters."""


def packed_tokenizer(file: Path) -> Any:
    """What cuts texts into pieces, by a packed file: SentencePiece's unigram pieces, each with its
    score."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    with file.open("rb") as opened:
        opened.seek(_SIZES)
        count, start, end, _, unknown, size = struct.unpack("<5iQ", opened.read(28))
        places = np.frombuffer(opened.read(4 * (count + 1)), "<u4").tolist()
        scores = np.frombuffer(opened.read(4 * count), "<f4").tolist()
        text = opened.read(size)
    pieces = [text[a:b].decode() for a, b in pairwise(places)]
    made = Tokenizer(models.Unigram([*zip(pieces, scores, strict=True)], unknown, False))
    clean = [normalizers.Replace(Regex(letters), by) for letters, by in _CLEAN]
    made.normalizer = normalizers.Sequence([*clean, normalizers.NFKC()])
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    made.post_processor = processors.TemplateProcessing(
        single=f"{pieces[start]} $A {pieces[end]}",
        special_tokens=[(pieces[start], start), (pieces[end], end)],
    )
    return made


def _pooling(folder: Path, name: str) -> str:
    """How the vectors of tokens become one; a name that is not in `_POOLS` if that takes more."""
    modules = {
        str(module["type"]).rpartition(".")[2]: str(module["path"])
        for module in settings_in(folder, "modules.json")
    }
    if not modules:
        return family_of(name).pooling
    if modules.keys() - {"Transformer", "Pooling", "Normalize"}:
        return "with more modules"
    said = settings_in(folder / modules.get("Pooling", ""), "config.json")
    older = [
        key.removeprefix("pooling_mode_")
        for key, on in said.items()
        if key.startswith("pooling_mode_") and on is True
    ]
    modes = said.get("pooling_mode") or "+".join(older)
    if said.get("include_prompt") is False:
        return "without the prompt"
    return str(modes).removesuffix("_token").removesuffix("_tokens")


def _mean(states: Vectors, mask: Any) -> Vectors:
    return np.asarray(np.einsum("btd,bt->bd", states, mask.astype(np.float32)))


_POOLS: Final[dict[str, Callable[[Vectors, Any], Vectors]]] = {
    "mean": _mean,  # the length of the sum does not matter: it becomes 1
    "cls": lambda states, _: states[:, 0],
    "lasttoken": lambda states, mask: states[np.arange(len(states)), mask.sum(axis=1) - 1],
}


def _whole(text: str) -> str:
    """No tokenizer reads half a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8")
