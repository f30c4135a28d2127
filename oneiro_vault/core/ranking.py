"""How a memory's many small signs become one score: fuse scores, not ranks, and give every candidate every score.

The recipe rests on five observations, the first four worth 2 points of nDCG@10 or more each on the development set:

- keywords and vectors are worth the same, once both are scaled to 0..1 over the same candidates;
- an episode is found through its context: its own words, and its words together with its neighbours';
- an answer is found through the question that was asked just before it;
- who a memory is about counts, because a name is in most turns of a conversation and so tells keywords nothing; so does its
  date, which is in no text at all;
- what the machine believes about a memory (importance, use) only decides between candidates that fit about equally.
"""

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["Evidence", "Features", "Scored", "Weights", "coverage", "diversify", "fuse", "rationed", "relevant", "voices"]

Array = npt.NDArray[np.float64]
_Key = TypeVar("_Key", bound=Hashable)
_EVEN = 0.85
"""How clearly the best meaning stands out, beside the best words, where both count alike for a note
that is part of nothing: nDCG@10 of questions to two collections of questions and answers and one of
manuals is 1.6 to 2.7 points above rank fusion of the same two lists (.7 below to .3 above without
this; from .75 to 1.0 it moves by a point)."""
_STEEP = 8.0
"""How fast the share goes from words to meaning around that."""
_NEUTRAL = 0.5
"""What is assumed of a memory whose importance, use or age is not known."""


@dataclass(frozen=True)
class Weights:
    """Shares of the score. Half or double any of them and nDCG@10 of single turns moves by at most 1.4 points."""

    cosine: float = 0.20
    """The memory's own meaning: its best passage."""
    context_cosine: float = 0.25
    """Its meaning together with its neighbours'."""
    keywords: float = 0.20
    """Its own words (without: -3 points)."""
    context_keywords: float = 0.25
    """Its words and its neighbours' (without: -1 point, without both contexts -2)."""
    names: float = 0.25
    """It is about whom the question names (without: -4 points)."""
    dates: float = 0.40
    """Its date is one the question mentions (without: -2 points; -20 on questions with a date, none on others)."""
    whole: float = 0.15
    """The words of what it is part of: a session, or the note around a passage."""
    question_cosine: float = 0.10
    """The meaning of the question it answers."""
    question_keywords: float = 0.10
    """The words of the question it answers (without both: -3 points)."""
    prior: float = 0.05
    """How far the four below can move a score together; random values at this size cost less than half a point."""
    importance: float = 0.40
    """Share of the prior; the four shares are the seeds' (Oubli, Alma)."""
    recency: float = 0.30
    frequency: float = 0.20
    strength: float = 0.10


@dataclass
class Features:
    """What is known of N candidates, as arrays of length N. NaN, or a missing array: this sign does not exist here.

    Give 0 where a search ran and the candidate did not match, NaN where there was nothing to search. BM25: higher is better.
    """

    cosine: Array | None = None
    """Exact cosine (-1..1) of the best chunk of the note itself."""
    context_cosine: Array | None = None
    """Exact cosine of the chunk of kind "context"."""
    bm25: Array | None = None
    """The note's own text (title, description, tags, body)."""
    passage_bm25: Array | None = None
    """The best passage of a long note; NaN for a note of one chunk."""
    context_bm25: Array | None = None
    """The note with its neighbours."""
    session_bm25: Array | None = None
    """The whole session the note belongs to."""
    question_cosine: Array | None = None
    """`cosine` of the episode just before, if that asks something (see `core.query.asks`); else NaN."""
    question_bm25: Array | None = None
    """`bm25` of the same episode."""
    names: Array | None = None
    """Share (0..1) of the question's names that the note is about (`core.query.name_shares`)."""
    dates: Array | None = None
    """How near (0..1) its date is to one in the question (`core.query.date_shares`)."""
    importance: Array | None = None
    """0..1, as are the next three; a value that all candidates share changes no order."""
    recency: Array | None = None
    frequency: Array | None = None
    strength: Array | None = None

    def __len__(self) -> int:
        given = {len(array) for item in fields(self) if (array := getattr(self, item.name)) is not None}
        if len(given) > 1:
            raise ValueError(f"features of different lengths: {sorted(given)}")
        return given.pop() if given else 0

    def of(self, candidates: Sequence[int]) -> "Features":
        """The same of some candidates only, by their places."""
        arrays = {item.name: array[candidates] for item in fields(self) if (array := getattr(self, item.name)) is not None}
        return Features(**arrays)


@dataclass(frozen=True)
class Scored:
    """A candidate's place in the answer: its index in the features, its score (0..1), and the parts that add up to it."""

    index: int
    score: float
    parts: dict[str, float] = field(default_factory=dict)


def fuse(features: Features, weights: Weights | None = None) -> list[Scored]:
    """All candidates, best first; equals keep their order."""
    weights = weights or Weights()
    parts = _relevance(features, weights)
    parts |= _prior(features, weights, sum(parts.values(), np.zeros(len(features))))
    scores = sum(parts.values(), np.zeros(len(features)))
    order = np.argsort(-scores, kind="stable")
    columns = zip(*(part[order].tolist() for part in parts.values()), strict=True) if parts else iter([()] * len(order))
    rows = zip(order.tolist(), scores[order].tolist(), columns, strict=True)
    return [Scored(index, score, dict(zip(parts, values, strict=True))) for index, score, values in rows]


def diversify(order: Iterable[_Key], lineage: Mapping[_Key, Collection[_Key]]) -> list[_Key]:
    """The same order, with every memory that is the source or the product of a better one moved behind all others.

    `lineage` names for a memory what it was derived from and what it supersedes (or their ancestors too).
    """
    kept: dict[_Key, None] = {}
    sources: set[_Key] = set()
    later: list[_Key] = []
    for key in order:
        own = lineage.get(key, ())
        if key in sources or any(source in kept for source in own):
            later.append(key)
        else:
            kept[key] = None
            sources.update(own)
    return [*kept, *later]


ABOUT_AS_WELL = 0.4
"""Share of the best score of what came too often that other memories must reach to go before it."""


def rationed(order: Iterable[_Key], origin: Mapping[_Key, Hashable], score: Mapping[_Key, float], most: int) -> list[_Key]:
    """The same order, with more than `most` of one origin behind what fits about as well.

    `origin` names what memories that are not trusted have in common; whoever floods a vault with memories made for a question then fills
    no answer with them while there are others. Where there are no others nothing is moved.
    """
    kept: list[_Key] = []
    surplus: list[_Key] = []
    seen: dict[Hashable, int] = {}
    for key in order:
        source = origin.get(key)
        seen[source] = seen.get(source, 0) + 1
        (surplus if source is not None and seen[source] > most else kept).append(key)
    if not surplus:
        return kept
    least = ABOUT_AS_WELL * max(score[key] for key in surplus)
    return [*(key for key in kept if score[key] >= least), *surplus, *(key for key in kept if score[key] < least)]


SAME = 0.6
"""Share of the shorter text's words that another must have to say the same."""
_FEW = 4
"""Fewer words than these are in many texts that say something else."""


def voices(words: Mapping[_Key, Collection[str]]) -> dict[_Key, _Key]:
    """Memory -> the first one that says the same in mostly the same words (itself when none does); `words` are those that carry meaning.

    Ten pages that repeat one thing are one voice, however many conversations they were pasted into.
    """
    found: dict[_Key, _Key] = {}
    heads: dict[_Key, frozenset[str]] = {}
    for key, given in words.items():
        mine = frozenset(given)
        same = (head for head, other in heads.items() if len(mine & other) >= SAME * min(len(mine), len(other)))
        found[key] = next(same, key) if len(mine) >= _FEW else key
        if found[key] == key and len(mine) >= _FEW:
            heads[key] = mine
    return found


@dataclass(frozen=True)
class Evidence:
    """What speaks for the vault holding an answer at all; every value can come from the index, none depends on one model."""

    named: bool
    """The question names somebody or something."""
    known: bool
    """At least one of those names occurs in the vault (in its text, or as what a memory is about)."""
    coverage: float
    """0..1: the best memory's share of the question's words, rare words counting more (`coverage`)."""
    cosine: float = float("nan")
    """The best cosine among the candidates."""
    background: float = float("nan")
    """Mean cosine of pairs of memories drawn at random from this vault: what "unrelated" means to this model here."""
    spread: float = float("nan")
    """Standard deviation of the same."""
    floor: float = float("nan")
    """A cosine that texts with nothing to do with each other hardly reach with this model, whatever the vault holds."""
    asked_for: bool = False
    """The question says where to look (a filter, or a date that a candidate has): what is there is an answer."""


def relevant(scored: Sequence[Scored], evidence: Evidence) -> list[Scored]:
    """The rows, or nothing when the vault most likely holds no answer: to say so wrongly is worse than to show a weak row.

    A question that names somebody the vault never heard of gets nothing when the best memory has less than a third of its words and
    its meaning does not stand out from the vault's own background. A question without names gets nothing only when no memory has any
    of its words and none is nearer to it than unrelated texts are to each other. (A vault all about boats must answer a question about
    a boat, so its own background is no measure there.)
    """
    if evidence.asked_for or (evidence.named and evidence.known):
        return list(scored)
    if evidence.named:
        plausible = evidence.coverage >= 1 / 3 or evidence.cosine > evidence.background + evidence.spread
    else:
        plausible = evidence.coverage > 0 or evidence.cosine > evidence.floor  # False where a value is missing
    return list(scored) if plausible else []


def coverage(matches: npt.NDArray[np.bool_], frequency: Sequence[int], total: int) -> Array:
    """For each candidate the share (0..1) of the question's words that it has, each word weighted by its rarity.

    `matches`: words x candidates; `frequency`: in how many of `total` memories each word is. A word that is nowhere weighs most:
    what the vault never heard of is what the question is about.
    """
    counts = np.asarray(frequency, dtype=np.float64)
    rarity = np.log1p((total - counts + 0.5) / (counts + 0.5))
    return np.asarray(rarity @ matches / max(float(rarity.sum()), 1e-9), dtype=np.float64)


def _relevance(f: Features, w: Weights) -> dict[str, Array]:
    """The parts that depend on the question, each already multiplied by its share; they add up to 0..1."""
    own = _column(f, "bm25")
    keywords = _filled(_scaled(_filled(_column(f, "passage_bm25"), own)), np.zeros(len(f)))
    cosine = _filled(_scaled(_column(f, "cosine")), keywords)
    # What is part of nothing has neither neighbours nor a session: those shares go to the words that
    # it has, or to its meaning where that stands out.
    alone = np.isnan(_column(f, "context_bm25")) & np.isnan(_column(f, "session_bm25"))
    share = np.where(alone, _share_of_meaning(f), 0.0)
    whole = _filled(_scaled(own), keywords)
    context, whole = (share * cosine + (1 - share) * words for words in (keywords, whole))
    values = {
        "vector": (w.cosine, cosine),
        "vector in context": (w.context_cosine, _filled(_scaled(_column(f, "context_cosine")), cosine)),
        "words": (w.keywords, keywords),
        "words in context": (w.context_keywords, _filled(_scaled(_column(f, "context_bm25")), context)),
        "words of the whole": (w.whole, _filled(_scaled(_column(f, "session_bm25")), whole)),
        "name": (w.names, np.nan_to_num(_column(f, "names"))),
        "date": (w.dates, np.nan_to_num(_column(f, "dates"))),
        "vector of its question": (w.question_cosine, _on_scale_of(_column(f, "cosine"), _column(f, "question_cosine"))),
        "words of its question": (w.question_keywords, _on_scale_of(own, _column(f, "question_bm25"))),
    }
    total = sum(share for share, value in values.values() if value.any()) * (1 + w.prior)  # room for the prior: no score exceeds 1
    return {name: share / total * value for name, (share, value) in values.items() if value.any()}


def _share_of_meaning(f: Features) -> float:
    """0..1: how much clearer the best meaning stands out of the candidates than the best words do.

    Questions differ: one names the rare word of its note, another says it in words of its own.
    """
    own = _column(f, "bm25")
    words = _clarity(_filled(_filled(_column(f, "passage_bm25"), own), 0.0))
    meaning = _clarity(_column(f, "cosine"))
    if not words or not meaning:
        return 0.0 if words else 1.0
    return 1 / (1 + math.exp(-_STEEP * (meaning / words - _EVEN)))


def _clarity(values: Array) -> float:
    """How many standard deviations the highest value is above their mean; 0 where all are alike."""
    known = values[~np.isnan(values)]
    spread = float(known.std()) if known.size else 0.0
    return (float(known.max()) - float(known.mean())) / spread if spread else 0.0


def _prior(f: Features, w: Weights, relevance: Array) -> dict[str, Array]:
    """What is believed of the memory itself: at most `prior` of its relevance up or down, nothing at the neutral value."""
    shares = {name: getattr(w, name) for name in ("importance", "recency", "frequency", "strength") if getattr(f, name) is not None}
    total = w.importance + w.recency + w.frequency + w.strength
    lean = {name: share / total * 2 * (_filled(_column(f, name), _NEUTRAL) - _NEUTRAL) for name, share in shares.items()}
    return {name: w.prior * relevance * value for name, value in lean.items() if value.any()}


def _column(f: Features, name: str) -> Array:
    array = getattr(f, name)
    return np.full(len(f), np.nan) if array is None else np.asarray(array, dtype=np.float64)


def _filled(array: Array, fallback: Array | float) -> Array:
    """The array with `fallback` where it has no value: a missing sign leaves its weight to the next one like it."""
    return np.where(np.isnan(array), fallback, array)


def _scaled(array: Array) -> Array:
    return _on_scale_of(array, array, missing=np.nan)


def _on_scale_of(scale: Array, array: Array, missing: float = 0.0) -> Array:
    """`array` moved so that the lowest of `scale` is 0 and its highest 1, cut at both; `missing` where there is no value.

    Where all of `scale` is one value, that value counts as 1 if it is above zero.
    """
    known = scale[~np.isnan(scale)]
    if not known.size:
        return np.full(len(array), missing)
    low, high = float(known.min()), float(known.max())
    if high <= low:
        low = min(0.0, high)
    scaled = np.clip((array - low) / (high - low), 0.0, 1.0) if high > low else np.where(np.isnan(array), np.nan, 0.0)
    return _filled(scaled, missing)
