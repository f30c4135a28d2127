"""Questions about a sentence, answered by small trained weights: does it prescribe, will it be
wanted later, does it ask about an earlier state, whose list does it begin, what does it say of its
speaker, what is a prompt for, and which memories does that need?

It is looked at in two ways: its hashed words and letters (`features`), and what the packaged
embedding model makes of it after four of its six layers, of which two have learned what is asked
here. That model runs in a process of its own, whatever model a vault is searched with; it begins
when a sentence is first judged and ends when none is for a while. Of a question the words alone are
asked: an answer waits for no model. The weights are data: `make train` makes them anew from the
lines in `tests/corpora`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args
from zlib import crc32

import numpy as np
import numpy.typing as npt

from oneiro_vault.index.embed.models import DEFAULT_SHA256, Model, model_folder

if TYPE_CHECKING:
    from oneiro_vault.index.embed.embedders import WorkerEmbedder

Head = Literal["gate", "keep", "history", "procedure", "lists", "topics", "intents"]
Intent = Literal[
    "action", "information", "status", "process", "recall", "comparison", "verification",
    "instruction", "correction", "opinion", "planning", "delegation",
]  # fmt: skip
Topic = Literal["who", "work", "home", "people", "health", "wishes"]
Vectors = npt.NDArray[np.float32]

LEARNED: Final = Path(__file__).with_name("weights")
"""The folder of all that `make train` writes."""
WEIGHTS: Final = LEARNED / "heads.npz"
GRAPH: Final = LEARNED / "minilm4.onnx"
"""Four layers of the packaged model, the last two as `tests.classify.train_layers` tuned them."""
THRESHOLD: Final = 0.5
"""Probability from which the answer is yes. They are calibrated on lines that the training had not
seen, both answers equally common."""
RARE: Final = 0.75
"""The same for a question about an earlier state, as few are: of those of eight made-up months 88
of 98 are recognised, 3 of their 276 others and 8 of 997 of a public collection taken for one (92,
12 and 28 from .5 on). None of these lines was learned; their kinds were partly in view."""
PROCEDURE: Final = 0.9
"""The same for a paragraph that says how something is done, as few do and a wrong one misleads: of
651 paragraphs held out .88 of the procedures are recognised and .95 of what is taken for one is;
of 630 turns of eight made-up months, none of them learned, 2 are."""
COUNTED: Final = 0.6
"""The same where three steps or more are marked: who dictates a list means it. Of 22 other lists of
the corpus, which were learned, the likeliest has .55."""
TOPICS: Final[tuple[Topic, ...]] = get_args(Topic)
"""What every conversation needs of a person, in the order in which it is shown: who they are, their
work, home, people and health, and what they always want."""
INTENTS: Final[tuple[Intent, ...]] = get_args(Intent)
"""What a person's prompt is for, of what a memory can help with (Octybot); several may hold, and
often none does."""
INTENDED: Final = 0.3
"""Probability from which a prompt has an intent. From .4 English prompts are told as well (macro F1
.82; of 31 for nothing 2 have one, not 5), in five other languages far fewer (.68 in place of
.75)."""
SPEAKERS: Final = ("user", "assistant", "tool")
"""Whose sentence it is; anybody else counts as a user."""
TOKENS: Final = 96
"""Of one sentence that the model looks at."""


def worth_keeping(sentences: Sequence[str], speakers: Sequence[str] = ()) -> list[float]:
    """How likely each sentence is one that will be wanted later, 0-1; from `THRESHOLD` on it is
    worth keeping.

    Decisions, preferences, dates, people, places, numbers, corrections, standing instructions and
    outcomes are; greetings, questions, requests of the moment, talk and what a model explains are
    not. `speakers`: `user`, `assistant` or `tool` for each sentence.
    """
    return probabilities("keep", sentences, speakers)


def looks_back(question: str) -> bool:
    """Does a question ask what was before what is, or how it came to be? One about what happened
    once, or how things are, does not."""
    return probabilities("history", [question], [SPEAKERS[0]])[0] >= RARE


def dictates(paragraphs: Sequence[str]) -> list[float]:
    """How likely each paragraph of a person's own words says how something is always done, in
    steps, 0-1; from `PROCEDURE` on it is a procedure.

    What happened once, plans for a day, requests, rules without steps and lists of things are not.
    """
    return probabilities("procedure", paragraphs)


def lists_own(line: str) -> float:
    """How likely somebody goes on behind a line to list what is their own, 0-1; what they were sent
    or found, or want worked on, is not. Raises EmbedderProblem where the packaged model is
    missing."""
    return probabilities("lists", [line])[0]


def topics(sentences: Sequence[str]) -> list[Mapping[Topic, float]]:
    """How likely the speaker of each sentence says each of `TOPICS` of themselves in it, 0-1; what
    is left to 1 is how likely they say none, as where it passes, is supposed, quoted or asked."""
    return [dict(zip(TOPICS, row, strict=False)) for row in chances("topics", sentences).tolist()]


def intents(prompt: str) -> Mapping[Intent, float]:
    """How likely a prompt has each of `INTENTS`, 0-1. Raises EmbedderProblem where the packaged
    model is missing."""
    return dict(zip(INTENTS, chances("intents", [prompt])[0].tolist(), strict=True))


def needed(
    signs: Vectors,
    sections: Sequence[int],
    intents: Mapping[Intent, float] | None = None,
    learned: Mapping[str, Any] | None = None,
) -> list[float]:
    """How likely a prompt needs each of n memories, 0-1. `signs`: n x 11 (`gather.table`);
    `sections`: n places in `gather.SECTIONS`; `intents`: what the prompt is for, else what prompts
    usually are for; `learned`: other weights than the packaged ones."""
    learned = weights() if learned is None else learned
    usual = learned["needed/usual"]
    wanted = np.array([intents[name] for name in INTENTS], np.float32) if intents else usual
    at = np.asarray(sections, dtype=np.int64)
    scores = (signs * learned["needed/signs"][at]).sum(axis=1)
    scores = scores + learned["needed/intents"][at] @ wanted + learned["needed/bias"][at]
    return [float(one) for one in sigmoid(scores)]


def answered(signs: Sequence[float]) -> float:
    """How likely rows answer a question, 0-1, by the signs of `result_lines.signs`."""
    learned = weights()
    return float(sigmoid(np.dot(learned["answered/signs"], signs) + learned["answered/bias"]))


def probabilities(
    head: Head, sentences: Sequence[str], speakers: Sequence[str] = ()
) -> list[float]:
    """How likely the answer of a head with one question is yes for each sentence, 0-1. Raises
    EmbedderProblem where the packaged model is missing, if the head has learned of it."""
    return [row[0] for row in chances(head, sentences, speakers).tolist()]


def chances(head: Head, sentences: Sequence[str], speakers: Sequence[str] = ()) -> Vectors:
    """How likely each answer of a head is yes, sentences x answers (of the topics the last is that
    there is none)."""
    learned = weights()
    words, bias = learned[f"{head}/words"], learned[f"{head}/bias"]
    if not sentences:
        return np.zeros((0, len(bias)), np.float32)
    scores = np.array([score(features(one), words) for one in sentences])
    scores = scores * learned[f"{head}/scale"] + bias
    if f"{head}/dense" in learned:
        scores += vectors(sentences) @ learned[f"{head}/dense"]
    if speakers:
        scores += learned[f"{head}/speakers"][
            [SPEAKERS.index(one) if one in SPEAKERS else 0 for one in speakers]
        ]
    return likely(head, scores)


def likely(head: Head, scores: Vectors) -> Vectors:
    """The chances that scores stand for."""
    # topics: one of them or none, what is left is the last
    return softmax(scores) if head == "topics" else sigmoid(scores)


def sigmoid(scores: Any) -> Vectors:
    """The chance of each yes, 0-1, of scores of any shape."""
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -30, 30))))


def softmax(scores: Vectors) -> Vectors:
    """The chances of answers of which one is right, n x answers: each row adds up to 1."""
    found = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def vectors(sentences: Sequence[str]) -> Vectors:
    """What the tuned layers make of sentences: one row each, of length 1."""
    return model().encode(sentences)


@cache
def weights(path: Path = WEIGHTS) -> Mapping[str, Any]:
    """The weights by `head/name`, read once: `words` one row a bucket (as bytes, times `scale`),
    `dense` one row a number of the vector where the model is asked, `speakers`, `bias`. Raises
    ValueError for weights that were trained with other features or another model."""
    with np.load(path) as found:
        learned = {name: found[name] for name in found.files}
    if str(learned.pop("trained with")) != trained_with():
        raise ValueError(
            f"{path} was trained with other features or another model; `make train` makes it anew"
        )
    return {
        name: array if array.dtype == np.int8 else array.astype(np.float32)
        for name, array in learned.items()
    }


@cache
def trained_with() -> str:
    """What weights depend on besides the lines they learned: the version of the features, the model
    and its tuned layers."""
    layers = crc32(GRAPH.read_bytes())
    return f"features {FEATURES}, model {DEFAULT_SHA256[:16]}, layers {layers:08x}"


@cache
def model() -> WorkerEmbedder:
    """The layers of the packaged model, in their process."""
    return layers(GRAPH, TOKENS)


def layers(graph: Path, tokens: int) -> WorkerEmbedder:
    """Layers of the packaged model, some of them tuned, in a process of their own: they look at so
    many tokens of a text. Raises EmbedderProblem where that model is missing."""
    from oneiro_vault.index.embed.embedders import WorkerEmbedder

    found = Model(
        graph.stem, "default", str(model_folder()), dimension=384, tokens=tokens, graph=str(graph)
    )
    return WorkerEmbedder(found, threads=1)


BUCKETS: Final = 1 << 18
FEATURES: Final = 2
"""Goes up with every change of what is counted: weights of another version fit no more."""
_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]")
_QUOTES: Final = {'"': '"', "“": "”", "„": "“", "«": "»", "‘": "’", "「": "」", "»": "«"}
_STARTS: Final = frozenset(".!?:;…•«")
_NAME: Final = "N"
_LETTERS: Final = range(2, 6)
"""Lengths of the runs of letters that are counted."""
_LONGEST: Final = 600
"""Characters of a sentence that are looked at."""

Sparse = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]
"""Buckets of one sentence and the value in each."""


def features(sentence: str) -> Sparse:
    """The words and letters of one sentence, hashed. Runs of words and runs of letters weigh the
    same, however long it is. Names count as one word, so that nothing is learned about anybody;
    words in quotation marks are other words than the same ones without."""
    words = list(_words(unicodedata.normalize("NFKC", sentence)[:_LONGEST]))
    runs = set(_word_runs(words)), set(_letter_runs(words))
    codes = [
        np.array([crc32(run.encode("utf-8", "replace")) for run in sorted(kind)], dtype=np.int64)
        for kind in runs
    ]
    values = [np.where(kind & 0x80000000, 1, -1) / np.sqrt(max(len(kind), 1)) for kind in codes]
    return np.concatenate(codes) % BUCKETS, np.concatenate(values).astype(np.float32)


def score(found: Sparse, weights: npt.NDArray[Any]) -> Vectors:
    """What weights, one row a bucket, make of the features of a sentence: one a column."""
    made: Vectors = found[1] @ weights[found[0]]
    return made


def _words(text: str) -> Iterator[tuple[str, str]]:
    """(the word in small letters, the word or what stands for it: a name, a beginning, something
    quoted)."""
    closing = ""
    first = True
    for word in _WORD.findall(text):
        if not closing and word in _QUOTES:
            closing, word, quoted = _QUOTES[word], "«", ""
        elif closing and word in (closing, "”" if closing == "“" else closing):
            closing, word, quoted = "", "»", ""
        else:
            quoted = "q" if closing else ""
        low = word.lower()
        capital = word[0].isupper()
        masked = f"^{low}" if first and capital else _NAME if capital and len(word) > 1 else low
        yield quoted + low, quoted + masked
        first = word in _STARTS


def _word_runs(words: Sequence[tuple[str, str]]) -> Iterator[str]:
    """One to three words in a row, and two with one or two between them."""
    for low, masked in words:
        yield f"1{low}"
        yield f"1{masked}"
    row = ["^", *(masked for _, masked in words), "$"]
    for one, two in pairwise(row):
        yield f"2{one} {two}"
    for one, two, three in zip(row, row[1:], row[2:], strict=False):
        yield f"3{one} {two} {three}"
        yield f"s{one} {three}"
    for one, far in zip(row, row[3:], strict=False):
        yield f"t{one} {far}"


def _letter_runs(words: Sequence[tuple[str, str]]) -> Iterator[str]:
    text = f" {' '.join(masked.lstrip('^') for _, masked in words)} "
    for length in _LETTERS:
        for start in range(len(text) - length + 1):
            yield text[start : start + length]
