"""What the index is asked for and what it answers with: values and two seams (Embedder,
VectorStore)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from oneiro_vault.errors import EmbedderProblem

Vectors: TypeAlias = npt.NDArray[np.float32]
"""One vector per row (or one vector), L2-normalised."""


Kind: TypeAlias = Literal["passage", "query", "words"]


LOADING: Final = "loading the embedding model"
"""What `Embedder.load` waits for while nothing takes unusually long."""


class Embedder(Protocol):
    """Turns texts into unit vectors. `name` changes whenever the vectors would."""

    @property
    def name(self) -> str:
        """Model and version; vectors of different names are never compared."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers per vector. Raises EmbedderProblem if only the model could tell and cannot be
        loaded."""
        ...

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        """`len(texts)` x `dimension`, in order. Raises EmbedderProblem."""
        ...

    def query(self, text: str) -> Vectors:
        """The vector of one question, ahead of any bulk work under way. Raises EmbedderProblem."""
        ...

    def warm(self) -> bool:
        """Would `query` answer without loading a model first? Never blocks."""
        ...

    @property
    def problem(self) -> EmbedderProblem | None:
        """Why the model could not be used when it was last tried."""
        ...

    def wake(self) -> None:
        """Start loading in the background."""
        ...

    def load(self, waiting: Callable[[str], None]) -> None:
        """Wait until `query` would answer, telling `waiting` what for. Raises EmbedderProblem, and
        what that raises."""
        ...

    def close(self) -> None:
        """Free everything; the embedder starts again when asked again."""
        ...


class VectorStore(Protocol):
    """Nearest neighbours among unit vectors, by id. Raises IndexProblem when it cannot answer."""

    @property
    def awake(self) -> bool:
        """Was it needed yet? Until then it is as it was when it was closed in order."""
        ...

    def add(self, ids: Sequence[str], vectors: Vectors) -> None:
        """Store vectors under ids; an id that is there already is replaced."""
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Forget ids; unknown ones are ignored."""
        ...

    def ids(self) -> set[str]:
        """Every id stored."""
        ...

    def count(self) -> int:
        """Number of ids, which proves nothing about whether they can be found."""
        ...

    def search(self, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        """(id, cosine), nearest first; approximate."""
        ...


class Row(NamedTuple):
    """What the index knows of one note. `key` is local to this index file. `handle`: the id, or 12
    characters made from the path. `when`: `created` (else `timestamp`) in epoch seconds.
    `problems`: frontmatter keys of a wrong shape, plus `truncated` if only the beginning is
    indexed. `language`: as `core.text.language` tells it, "" for English."""

    key: int
    path: str
    id: str
    handle: str
    title: str
    description: str
    type: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    about: tuple[str, ...]
    topics: tuple[str, ...]
    created: str
    when: float | None
    timestamp: str
    valid_from: str
    valid_until: str
    status: str
    kind: str
    source: str
    trust: str
    importance: float | None
    confidence: float | None
    level: int
    session: str
    turn: int | None
    project: str
    outcome: str
    trigger: str
    derived_from: tuple[str, ...]
    supersedes: tuple[str, ...]
    superseded_by: str
    flags: tuple[str, ...]
    core: bool
    keep: str
    budget: int | None
    priority: int | None
    blob: str
    sha256: str
    size: int
    problems: tuple[str, ...]
    language: str


class Age(NamedTuple):
    """What the forgetting curve of a note depends on: fields of its Row."""

    key: int
    id: str
    type: str
    when: float | None
    timestamp: str


class Node(NamedTuple):
    """What a picture of all notes says of one: fields of its Row."""

    key: int
    handle: str
    title: str
    type: str
    kind: str
    created: str
    status: str
    project: str


class Hit(NamedTuple):
    """The nearest chunk of one note; `kind` is `own` (the note's words) or `context` (with its
    neighbours in the session)."""

    key: int
    cosine: float
    hash: str
    kind: str


class Near(NamedTuple):
    """Cosines of one note, NaN where it has no such vector."""

    own: float
    """Of its nearest chunk."""
    context: float
    """Of the note with its neighbours."""
    whole: float
    """Of the chunk that stands for the whole."""


class Edge(NamedTuple):
    """A link between two notes (keys), as the `source` note states it."""

    source: int
    relation: str
    target: int


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did. `complete`: disk and index agree, apart from what is `unreadable` or
    `held`; `braked`: why nothing of `held` was removed."""

    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    complete: bool = True
    braked: str | None = None
    held: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with the index or among the notes; a rebuild mends what has a code that
    begins with `index`. `level`: error or warning."""

    code: str
    message: str
    path: str = ""
    level: str = "error"
    hint: str = ""

    @property
    def fixable(self) -> bool:
        """Can it be mended without losing anything?"""
        return self.code.startswith("index")


@dataclass(frozen=True, slots=True)
class Filters:
    """Which notes: every given field must fit; several tags or entities all of them, else any of
    several; `without`: types that are left out; `level`: of this one or above. Times are epoch
    seconds [since, until)."""

    type: str | Collection[str] | None = None
    kind: str | Collection[str] | None = None
    without: str | Collection[str] | None = None
    tag: str | Collection[str] | None = None
    status: str | Collection[str] | None = None
    session: str | Collection[str] | None = None
    project: str | Collection[str] | None = None
    source: str | Collection[str] | None = None
    entity: str | Collection[str] | None = None
    level: int | None = None
    since: float | None = None
    until: float | None = None
