"""How a memory's many small signs become one score: fuse scores, not ranks, and give every
candidate every score.

The recipe rests on five observations, the first four worth 2 points of nDCG@10 or more each on the
development set:

- keywords and vectors are worth the same, once both are scaled to 0..1 over the same candidates;
- an episode is found through its context: its own words, and its words together with its
  neighbours';
- an answer is found through the question that was asked just before it;
- who a memory is about counts, because a name is in most turns of a conversation and so tells
  keywords nothing; so does its date, which is in no text at all;
- what the machine believes about a memory (importance, use) only decides between candidates that
  fit about equally.
"""

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
_Key = TypeVar("_Key", bound=Hashable)
_MEANING = 9.0
"""How much a cosine weighs beside the words of a note that is part of nothing. A third less costs a
point of nDCG@10 on pages of questions and answers; a third more costs one on error messages and
turns."""
_OF_MEANING = ("vector", "vector in context")
_OF_WORDS = ("words", "words in context", "words of the whole")
_NEUTRAL = 0.5
_CALLED: Mapping[str, str] = {
    "vector": "meaning", "vector in context": "meaning of what stands around it",
    "vector of its question": "meaning of the question it answered", "words": "words",
    "words in context": "words around it", "words of the whole": "words of the whole conversation",
    "words of its question": "words of the question it answered",
    "name": "names in the question", "date": "a date in the question", "recency": "how new it is",
    "frequency": "how often it was used", "strength": "how much of it is left",
    "its capture": "the conversation it comes from", "its date": "it says what holds now",
    "a capture": "it is a conversation",
}  # fmt: skip
"""The parts of a score in a reader's words."""
_SEEN = 0.005
"""A part of less shows as nothing."""


@dataclass(frozen=True)
class Weights:
    """Shares of the score. Half or double any of them and nDCG@10 of single turns moves by at most
    1.4 points."""

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
    """Its date is one the question mentions (without: -2 points; -20 on questions with a date, none
    on others)."""
    whole: float = 0.15
    """The words of what it is part of: a session, or the note around a passage."""
    question_cosine: float = 0.10
    """The meaning of the question it answers."""
    question_keywords: float = 0.10
    """The words of the question it answers (without both: -3 points)."""
    prior: float = 0.05
    """How far the four below can move a score together; random values at this size cost less than
    half a point."""
    importance: float = 0.40
    """Share of the prior; the four shares are the seeds' (Oubli, Alma)."""
    recency: float = 0.30
    frequency: float = 0.20
    strength: float = 0.10


@dataclass(frozen=True)
class Scale:
    """What BM25 and cosines amount to in this vault, with this model, so that one can be compared
    with the other. Without vectors the cosines are 0."""

    notes: int = 1
    """How many there are (1 and more): a word that one of them has counts the more."""
    background: float = 0.0
    """Mean cosine (-1..1) of notes drawn at random: where all are alike, meaning tells little."""
    floor: float = 0.0
    """A cosine (-1..1), see `Evidence.floor`."""

    @property
    def word(self) -> float:
        """The most that BM25 gives a word for being rare, in units of BM25."""
        return math.log(2 * self.notes + 1)

    @property
    def meaning(self) -> float:
        """What a cosine of 1 is worth beside that, in units of BM25."""
        return _MEANING * ((1 - self.background) / (1 - self.floor)) ** 3 / (1 - self.floor)


@dataclass
class Features:
    """What is known of N candidates, as arrays of length N. NaN, or a missing array: this sign does
    not exist here; 0: a search ran and the candidate did not match."""

    cosine: Array | None = None
    """Exact cosine (-1..1) of the best chunk of the note itself."""
    context_cosine: Array | None = None
    """Exact cosine of the chunk of kind "context"."""
    whole_cosine: Array | None = None
    """Exact cosine of what stands for the whole note, however long."""
    speaker_cosine: Array | None = None
    """`cosine` to the question as its speaker would put it, for a person's own words; only raises
    what meaning tells of a note that is part of nothing."""
    bm25: Array | None = None
    """The note's own text (title, description, tags, body)."""
    passage_bm25: Array | None = None
    """The best passage of a long note; NaN for a note of one chunk."""
    context_bm25: Array | None = None
    """The note with its neighbours."""
    session_bm25: Array | None = None
    """The whole session the note belongs to."""
    question_cosine: Array | None = None
    """`cosine` of the episode just before, if that asks something (see `core.text.query.asks`);
    else NaN."""
    question_bm25: Array | None = None
    """`bm25` of the same episode."""
    names: Array | None = None
    """Share (0..1) of the question's names that the note is about
    (`core.text.query.name_shares`)."""
    dates: Array | None = None
    """How near (0..1) its date is to one in the question (`core.text.query.date_shares`)."""
    importance: Array | None = None
    """0..1, as are the next three; a value that all candidates share changes no order."""
    recency: Array | None = None
    frequency: Array | None = None
    strength: Array | None = None

    scale: Scale = field(default=Scale(), init=False)

    def __len__(self) -> int:
        given = {len(array) for array in self._arrays().values()}
        if len(given) > 1:
            raise ValueError(f"features of different lengths: {sorted(given)}")
        return given.pop() if given else 0

    def of(self, candidates: Sequence[int]) -> "Features":
        """The same of some candidates only, by their places."""
        some = Features(**{name: array[candidates] for name, array in self._arrays().items()})
        some.scale = self.scale
        return some

    def _arrays(self) -> dict[str, Array]:
        names = [item.name for item in fields(self) if item.name != "scale"]
        return {name: array for name in names if (array := getattr(self, name)) is not None}


@dataclass(frozen=True)
class Scored:
    """Its index in the features, its score (0..1), and the parts that add up to it."""

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
    columns = (
        zip(*(part[order].tolist() for part in parts.values()), strict=True)
        if parts
        else iter([()] * len(order))
    )
    rows = zip(order.tolist(), scores[order].tolist(), columns, strict=True)
    return [
        Scored(index, score, dict(zip(parts, values, strict=True))) for index, score, values in rows
    ]


def diversify(order: Iterable[_Key], lineage: Mapping[_Key, Collection[_Key]]) -> list[_Key]:
    """Every memory that is the source or the product of a better one goes behind all others.

    `lineage`: what a memory was derived from and what it supersedes.
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


def rationed(
    order: Iterable[_Key], origin: Mapping[_Key, Hashable], score: Mapping[_Key, float], most: int
) -> list[_Key]:
    """More than `most` of one origin go behind what fits about as well.

    `origin`: what memories that are not trusted have in common; whoever floods a vault with
    memories made for a question then fills no answer with them while there are others.
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
    return [
        *(key for key in kept if score[key] >= least),
        *surplus,
        *(key for key in kept if score[key] < least),
    ]


SAME = 0.6
"""Share of the shorter text's words that another must have to say the same."""
_FEW = 4
"""Fewer words than these are in many texts that say something else."""


def voices(words: Mapping[_Key, Collection[str]]) -> dict[_Key, _Key]:
    """Memory -> the first one that says the same in mostly the same words (itself when none does).

    Ten pages that repeat one thing are one voice, however many conversations they were pasted into.
    """
    found: dict[_Key, _Key] = {}
    heads: dict[_Key, frozenset[str]] = {}
    for key, given in words.items():
        mine = frozenset(given)
        same = (
            head
            for head, other in heads.items()
            if len(mine & other) >= SAME * min(len(mine), len(other))
        )
        found[key] = next(same, key) if len(mine) >= _FEW else key
        if found[key] == key and len(mine) >= _FEW:
            heads[key] = mine
    return found


@dataclass(frozen=True)
class Evidence:
    """What speaks for the vault holding an answer at all; none of it depends on one model."""

    named: bool
    """The question names somebody or something."""
    known: bool
    """At least one of those names occurs in the vault (in its text, or as what a memory is
    about)."""
    coverage: float
    """0..1: the best memory's share of the question's words, rare words counting more
    (`coverage`)."""
    cosine: float = float("nan")
    """The best cosine among the candidates."""
    background: float = float("nan")
    """Mean cosine of random pairs of this vault: what "unrelated" means to this model here."""
    spread: float = float("nan")
    """Standard deviation of the same."""
    floor: float = float("nan")
    """A cosine that unrelated texts hardly reach with this model, whatever the vault holds."""
    asked_for: bool = False
    """The question says where to look (a filter, or a date that a candidate has)."""


def relevant(scored: Sequence[Scored], evidence: Evidence) -> list[Scored]:
    """The rows, or nothing when the vault most likely holds no answer: to say so wrongly is worse
    than to show a weak row.

    A question that names somebody the vault never heard of gets nothing when the best memory has
    less than a third of its words and its meaning does not stand out from the background. One
    without names gets nothing only when no memory has any of its words and none is nearer to it
    than unrelated texts are to each other: a vault all about boats must answer a question about a
    boat.
    """
    if evidence.asked_for or (evidence.named and evidence.known):
        return list(scored)
    if evidence.named:
        plausible = (
            evidence.coverage >= 1 / 3 or evidence.cosine > evidence.background + evidence.spread
        )
    else:
        plausible = (
            evidence.coverage > 0 or evidence.cosine > evidence.floor
        )  # False where a value is missing
    return list(scored) if plausible else []


def coverage(matches: npt.NDArray[np.bool_], frequency: Sequence[int], total: int) -> Array:
    """For each candidate the share (0..1) of the question's words that it has, weighted by rarity.

    `matches`: words x candidates; `frequency`: in how many of `total` memories each word is. A word
    that is nowhere weighs most.
    """
    counts = np.asarray(frequency, dtype=np.float64)
    rarity = np.log1p((total - counts + 0.5) / (counts + 0.5))
    return np.asarray(rarity @ matches / max(float(rarity.sum()), 1e-9), dtype=np.float64)


def _relevance(f: Features, w: Weights) -> dict[str, Array]:
    """Each already multiplied by its share; they add up to 0..1."""
    own = _column(f, "bm25")
    keywords = _filled(_scaled(_filled(_column(f, "passage_bm25"), own)), np.zeros(len(f)))
    cosine = _filled(_scaled(_column(f, "cosine")), keywords)
    values = {
        "vector": (w.cosine, cosine),
        "vector in context": (
            w.context_cosine,
            _filled(_scaled(_column(f, "context_cosine")), cosine),
        ),
        "words": (w.keywords, keywords),
        "words in context": (
            w.context_keywords,
            _filled(_scaled(_column(f, "context_bm25")), keywords),
        ),
        "words of the whole": (
            w.whole,
            _filled(_scaled(_column(f, "session_bm25")), _filled(_scaled(own), keywords)),
        ),
        "name": (w.names, np.nan_to_num(_column(f, "names"))),
        "date": (w.dates, np.nan_to_num(_column(f, "dates"))),
        "vector of its question": (
            w.question_cosine,
            _on_scale_of(_column(f, "cosine"), _column(f, "question_cosine")),
        ),
        "words of its question": (
            w.question_keywords,
            _on_scale_of(own, _column(f, "question_bm25")),
        ),
    }
    shares = {name: share for name, (share, value) in values.items() if value.any()}
    total = sum(shares.values()) * (1 + w.prior)  # room for the prior: no score exceeds 1
    parts = {name: share * values[name][1] for name, share in shares.items()}
    parts |= _of_plain(f, parts, shares)
    return {name: part / total for name, part in parts.items() if part.any()}


def _of_plain(
    f: Features, parts: Mapping[str, Array], shares: Mapping[str, float]
) -> dict[str, Array]:
    """A note that is part of nothing has two signs only, words and meaning: of each by halves the
    best passage and the whole.

    What each counts depends on how much the best candidate has of it: one question names the rare
    word of its note, another says it in its own.
    """
    plain = np.isnan(_column(f, "context_bm25")) & np.isnan(_column(f, "session_bm25"))
    if not plain.any():
        return {}
    own, cosine = _filled(_column(f, "bm25"), 0.0), _column(f, "cosine")
    words = (own + _filled(_column(f, "passage_bm25"), own)) / 2
    meaning = (cosine + _filled(_column(f, "whole_cosine"), cosine)) / 2
    meaning = np.fmax(meaning, _column(f, "speaker_cosine"))
    by_words = sum(shares.get(name, 0.0) for name in _OF_WORDS)
    by_meaning = sum(shares.get(name, 0.0) for name in _OF_MEANING)
    words, most = _of_highest(words)
    meaning, nearest = _of_highest(meaning)
    clear = by_meaning * f.scale.meaning * nearest, by_words / f.scale.word * most
    share = clear[0] / sum(clear) if any(clear) else 0.0
    signs = {"vector": share * _filled(meaning, words), "words": (1 - share) * words}
    nothing = np.zeros(len(f))
    concerned = (name for name in (*_OF_MEANING, *_OF_WORDS) if name in parts)
    whole = by_words + by_meaning
    return {
        name: np.where(plain, whole * signs.get(name, nothing), parts[name]) for name in concerned
    }


def _of_highest(values: Array) -> tuple[Array, float]:
    most = max(float(np.nanmax(values, initial=0.0)), 0.0)
    return (np.clip(values / most, 0.0, 1.0) if most else np.maximum(values, 0.0)), most


def _prior(f: Features, w: Weights, relevance: Array) -> dict[str, Array]:
    """At most `prior` of the relevance up or down, nothing at the neutral value."""
    shares = {
        name: getattr(w, name)
        for name in ("importance", "recency", "frequency", "strength")
        if getattr(f, name) is not None
    }
    total = w.importance + w.recency + w.frequency + w.strength
    lean = {
        name: share / total * 2 * (_filled(_column(f, name), _NEUTRAL) - _NEUTRAL)
        for name, share in shares.items()
    }
    return {name: w.prior * relevance * value for name, value in lean.items() if value.any()}


def _column(f: Features, name: str) -> Array:
    array = getattr(f, name)
    return np.full(len(f), np.nan) if array is None else np.asarray(array, dtype=np.float64)


def _filled(array: Array, fallback: Array | float) -> Array:
    """A missing sign leaves its weight to the next one like it."""
    return np.where(np.isnan(array), fallback, array)


def _scaled(array: Array) -> Array:
    return _on_scale_of(array, array, missing=np.nan)


def _on_scale_of(scale: Array, array: Array, missing: float = 0.0) -> Array:
    """The lowest of `scale` becomes 0 and its highest 1, cut at both; where all of it is one value,
    that counts as 1 if it is above zero."""
    known = scale[~np.isnan(scale)]
    if not known.size:
        return np.full(len(array), missing)
    low, high = float(known.min()), float(known.max())
    if high <= low:
        low = min(0.0, high)
    scaled = (
        np.clip((array - low) / (high - low), 0.0, 1.0)
        if high > low
        else np.where(np.isnan(array), np.nan, 0.0)
    )
    return _filled(scaled, missing)


def told(parts: Mapping[str, float]) -> list[tuple[str, str, float]]:
    """What a score is made of, the largest first: a part's name, what a reader calls it, and what
    it adds."""
    seen = [(name, float(value)) for name, value in parts.items() if abs(value) >= _SEEN]
    return [(one, _CALLED.get(one, one), value) for one, value in sorted(seen, key=lambda s: -s[1])]
