"""Where vectors are searched: Chroma on disk, or exactly in memory. Ids are hashes of the embedded
text; nothing else is kept.

Chroma's folder belongs to one process at a time. Its Rust core panics, so everything it throws is
caught. Whether it still finds what it holds canary vectors tell, in a child process first, since a
damaged Chroma can take the process down with it: `python -m oneiro_vault.index.vectors.backends
FOLDER STORE`, canaries on stdin, exit status 0 if they are found.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from oneiro_vault.errors import IndexProblem
from oneiro_vault.index.base import Vectors, VectorStore
from oneiro_vault.index.embed import frames

if TYPE_CHECKING:
    from chromadb.config import Settings

LAYOUT: Final = 1
"""Raised when vectors of the same model and text would have to be stored differently."""

_BATCH: Final = 2_000
_SETTINGS: Final = {
    "hnsw": {
        "space": "cosine",
        "ef_construction": 100,
        "ef_search": 200,
        "max_neighbors": 16,
        "sync_threshold": 2_000,
    }
}
_HEADER: Final = struct.Struct("<iQQQ")
"""How header.bin begins: a version, an offset, for how many vectors there is room, and how many
there are."""
_WITH_ROOM: Final = ("data_level0.bin", "length.bin")
_NO_NETWORK: Final = {
    "ANONYMIZED_TELEMETRY": "False",
    "OTEL_SDK_DISABLED": "true",
    "CHROMA_OTEL_COLLECTION_ENDPOINT": "",
    "ORT_DISABLE_TELEMETRY": "1",
}


class Shelf(Protocol):
    """Several vector stores in one place, one for each model."""

    def store(self, name: str) -> VectorStore:
        """The store of that name, made if it is not there."""
        ...

    def names(self) -> list[str]:
        """Which stores there are."""
        ...

    def drop(self, name: str) -> None:
        """Delete a store, if it is there."""
        ...

    def close(self) -> None:
        """Let go of the files."""
        ...


def store_name(model: str, dimension: int) -> str:
    """The name of the store that holds a model's vectors: readable, and different for every model,
    dimension and layout."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", model).strip("-")[-40:].strip("-") or "model"
    return f"{readable}-{blake2b(model.encode(), digest_size=4).hexdigest()}-{dimension}-v{LAYOUT}"


class RamStore:
    """Exact search in memory, from any thread: the same vectors give the same answer, in whatever
    order they came. For tests, machines without Chroma, and small stores (`vector_cache.Lane`)."""

    awake = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: list[str] = []
        self._places: dict[str, int] = {}
        self._rows: Vectors = np.zeros((0, 0), np.float32)
        self._asked: tuple[Vectors, Vectors] | None = None

    def add(self, ids: Sequence[str], vectors: Vectors) -> None:
        """Store vectors under ids."""
        _check(ids, vectors)
        with self._lock:
            self._asked = None
            self._make_room(len(self._names) + len(ids), vectors.shape[1])
            for name, vector in zip(ids, vectors, strict=True):
                place = self._places.setdefault(name, len(self._names))
                if place == len(self._names):
                    self._names.append(name)
                self._rows[place] = vector

    def _make_room(self, count: int, dimension: int) -> None:
        if self._names and dimension != self._rows.shape[1]:
            raise IndexProblem(
                f"vectors of {dimension} numbers beside others of {self._rows.shape[1]}",
                kept="The notes are untouched.",
            )
        if count > len(self._rows):
            rows = np.zeros((max(count, len(self._rows) * 5 // 4), dimension), np.float32)
            if self._names:
                rows[: len(self._names)] = self._rows[: len(self._names)]
            self._rows = rows

    def delete(self, ids: Sequence[str]) -> None:
        """Forget ids."""
        with self._lock:
            self._asked = None
            for name in ids:
                if (place := self._places.pop(name, None)) is not None:
                    last = self._names.pop()
                    if last != name:
                        self._names[place], self._places[last] = last, place
                        self._rows[place] = self._rows[len(self._names)]

    def ids(self) -> set[str]:
        """Every id stored."""
        with self._lock:
            return set(self._names)

    def count(self) -> int:
        """Number of ids."""
        return len(self._names)

    def search(self, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        """(id, cosine), nearest first."""
        with self._lock:
            count = len(self._names)
            if not count:
                return []
            cosines = self._against(vector)
            least = (
                np.partition(cosines, count - limit)[count - limit] if limit < count else -math.inf
            )
            found = [
                (self._names[place], float(cosines[place]))
                for place in np.flatnonzero(cosines >= least)
            ]
        return sorted(found, key=lambda one: (-one[1], one[0]))[:limit]

    def cosines(self, ids: Collection[str], vector: Vectors) -> dict[str, float]:
        """Cosine of each of these ids that is stored."""
        with self._lock:
            held = [name for name in ids if name in self._places]
            places = [self._places[name] for name in held]
            return (
                dict(zip(held, self._against(vector)[places].tolist(), strict=True)) if held else {}
            )

    def _against(self, vector: Vectors) -> Vectors:
        """Whoever searches asks for those of what was found elsewhere next."""
        if self._asked is None or not np.array_equal(self._asked[0], vector):
            asked = np.asarray(vector, dtype=np.float32)
            # row by row, not as a matrix product: no threads that wait for each other, and no
            # cosine depends on the rows beside it
            self._asked = asked, np.vecdot(self._rows[: len(self._names)], asked)
        return self._asked[1]


class RamShelf:
    """Stores in memory."""

    def __init__(self) -> None:
        self._stores: dict[str, RamStore] = {}

    def store(self, name: str) -> RamStore:
        """The store of that name."""
        return self._stores.setdefault(name, RamStore())

    def names(self) -> list[str]:
        """Which stores there are."""
        return sorted(self._stores)

    def drop(self, name: str) -> None:
        """Delete a store."""
        self._stores.pop(name, None)

    def close(self) -> None:
        """Nothing to free."""


class ChromaStore:
    """One collection of a ChromaShelf, opened by whatever first needs it."""

    def __init__(self, shelf: ChromaShelf, name: str) -> None:
        self._shelf = shelf
        self._name = name
        self._begun = False

    @property
    def awake(self) -> bool:
        """Is Chroma loaded and the folder open?"""
        return self._shelf.awake

    @cached_property
    def _collection(self) -> Any:
        with _answering("open a collection"):
            return self._shelf.client.get_or_create_collection(
                self._name, embedding_function=None, configuration=_SETTINGS
            )

    def add(self, ids: Sequence[str], vectors: Vectors) -> None:
        """Store vectors under ids."""
        _check(ids, vectors)
        with _answering("store vectors"):
            if ids and not self._begun:
                self._add(
                    ids[:1], vectors[:1]
                )  # one vector makes the files, and is not yet written into them
                _empty(self._shelf.folder)
                self._begun, ids, vectors = True, ids[1:], vectors[1:]
            for start in range(0, len(ids), _BATCH):
                self._add(ids[start : start + _BATCH], vectors[start : start + _BATCH])

    def _add(self, ids: Sequence[str], vectors: Vectors) -> None:
        self._collection.upsert(ids=list(ids), embeddings=np.asarray(vectors, dtype=np.float32))

    def delete(self, ids: Sequence[str]) -> None:
        """Forget ids."""
        with _answering("delete vectors"):
            for start in range(0, len(ids), _BATCH):
                self._collection.delete(ids=list(ids[start : start + _BATCH]))

    def ids(self) -> set[str]:
        """Every id stored."""
        with _answering("list its vectors"):
            return set(self._collection.get(include=[])["ids"])

    def count(self) -> int:
        """Number of ids, as Chroma remembers it (which does not prove that they can be found)."""
        with _answering("count its vectors"):
            return int(self._collection.count())

    def search(self, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        """(id, cosine), nearest first."""
        with _answering("search"):
            found = self._collection.query(
                query_embeddings=np.asarray(vector, dtype=np.float32).reshape(1, -1),
                n_results=limit,
                include=["distances"],
            )
        return [
            (name, 1.0 - float(distance))
            for name, distance in zip(found["ids"][0], found["distances"][0], strict=True)
        ]

    def sample(self, limit: int) -> tuple[list[str], Vectors]:
        """Some ids with their vectors (n x dimension, float32)."""
        with _answering("read its vectors"):
            found = self._collection.get(include=["embeddings"], limit=limit)
        names = list(found["ids"])
        return names, np.asarray(found["embeddings"], dtype=np.float32).reshape(
            (len(names), -1) if names else (0, 0)
        )


@cache
def _ours() -> Settings:
    """Settings of Chroma, read once: that takes as long as a search, and somebody's `.env` is none
    of ours."""
    from chromadb.config import Settings

    return Settings(_env_file=None, anonymized_telemetry=False)


class ChromaShelf:
    """A Chroma folder, opened by whatever first needs it: loading Chroma takes longer than most
    questions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._client: Any = None

    @property
    def awake(self) -> bool:
        """Is Chroma loaded and the folder open?"""
        return self._client is not None

    @property
    def client(self) -> Any:
        """Chroma's client. Raises IndexProblem."""
        with self._lock, _answering("be opened"):
            return self._client or self._opened()

    def _opened(self) -> Any:
        os.environ.update(_NO_NETWORK)
        import chromadb

        self.folder.mkdir(
            exist_ok=True
        )  # not its parents: a vault that was moved away must not come back as an empty shell
        self._client = chromadb.PersistentClient(str(self.folder), settings=_ours().model_copy())
        return self._client

    def store(self, name: str) -> ChromaStore:
        """The collection of that name."""
        return ChromaStore(self, name)

    def names(self) -> list[str]:
        """Which collections there are."""
        with _answering("list its collections"):
            return sorted(collection.name for collection in self.client.list_collections())

    def drop(self, name: str) -> None:
        """Delete a collection."""
        if name in self.names():
            with _answering("delete a collection"):
                self.client.delete_collection(name)

    def close(self) -> None:
        """Let go of the files; a damaged Chroma that cannot even do that is left behind."""
        with suppress(IndexProblem), _answering("be closed"):
            if self._client is not None:
                self._client.close()


def _empty(folder: Path) -> None:
    """Overwrite files of Chroma that hold no vector yet: it writes them as malloc gave it the
    memory, with requests and private words that this process had there before."""
    for header in folder.glob("*/header.bin"):
        found = header.read_bytes()
        if len(found) >= _HEADER.size and _HEADER.unpack_from(found)[3] == 0:
            for name in _WITH_ROOM:
                file = header.with_name(name)
                with file.open("r+b") as open_:
                    open_.write(bytes(file.stat().st_size))


def _check(ids: Sequence[str], vectors: Vectors) -> None:
    if vectors.ndim != 2 or len(ids) != len(vectors) or not np.isfinite(vectors).all():
        raise IndexProblem(
            "vectors of a wrong shape or with values that are no numbers",
            kept="The notes are untouched.",
        )


@contextmanager
def _answering(what: str) -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, SystemExit, IndexProblem):
        raise
    except BaseException as error:  # a Rust panic is not an Exception
        raise IndexProblem(
            f"the vector index cannot {what}: {type(error).__name__}: {str(error)[:200]}",
            kept="The notes are untouched and keyword search works.",
            hint="It is rebuilt by itself; `oneiro doctor --fix` does it now.",
        ) from error


POINTER: Final = "vectors.json"
"""Which folder of vectors is in use, which store in it answers, and was it closed in order?"""
CANARIES: Final = 24

_ENOUGH: Final = 0.9
"""Share of the canaries that must be found: the search is approximate, but a vector finds
itself."""
_NEAR: Final = 10
_SAME: Final = 0.999
_PATIENCE: Final = 120.0


@dataclass(frozen=True)
class Pointer:
    """`folder` holds the store `serving` of `model`; `closed`: the folder's fingerprint if it was
    closed in order, `count`: how many vectors were listed then."""

    folder: str
    serving: str
    model: str
    dimension: int
    closed: object = None
    count: int = -1


def read_pointer(place: Path) -> Pointer | None:
    """The pointer in a folder; None if there is none or it makes no sense."""
    try:
        found = Pointer(**json.loads((place / POINTER).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    texts = (found.folder, found.serving, found.model)
    sensible = (
        all(isinstance(text, str) for text in texts)
        and isinstance(found.dimension, int)
        and found.folder.startswith("chroma-")
    )
    return found if sensible and "/" not in found.folder else None


def label(place: Path, model: str) -> str:
    """How the index's list of stored vectors names the store of this model, if it is the one that
    serves, else an empty string."""
    found = read_pointer(place)
    return f"{found.folder}/{found.serving}" if found is not None and found.model == model else ""


def write_pointer(place: Path, pointer: Pointer) -> None:
    """Put it there whole, or leave the old one."""
    temp = place / f"{POINTER}.tmp"
    temp.write_text(json.dumps(asdict(pointer)), encoding="utf-8")
    temp.replace(place / POINTER)


def forget_pointer(place: Path) -> None:
    """Nothing is in use any more."""
    (place / POINTER).unlink(missing_ok=True)


def finds(store: VectorStore, names: Sequence[str], vectors: Vectors) -> bool:
    """Does the store find these vectors by themselves? Raises IndexProblem if it cannot even
    search."""
    found = 0
    for name, vector in zip(names, vectors, strict=True):
        near = store.search(vector, _NEAR)
        found += any(other == name for other, _ in near) or (bool(near) and near[-1][1] > _SAME)
    return found >= _ENOUGH * len(names)


def probe(folder: Path, store: str, names: Sequence[str], vectors: Vectors) -> bool:
    """Open the folder in a child process and let it look for the canaries there."""
    child = subprocess.Popen(
        [sys.executable, "-m", "oneiro_vault.index.vectors.backends", str(folder), store],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=frames.environment(),
    )  # fmt: skip
    try:
        assert child.stdin is not None
        with child.stdin as stream:
            frames.send(stream, (list(names), vectors))
        return child.wait(_PATIENCE) == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def fingerprint(folder: Path) -> list[list[object]]:
    """Name, size and time of every file: equal means that nothing wrote there."""
    found: list[list[object]] = []
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            stat = path.stat()
            found.append([path.relative_to(folder).as_posix(), stat.st_size, stat.st_mtime_ns])
    return sorted(found, key=str)


def main() -> int:
    """The child: 0 sound, 1 not."""
    canaries = frames.receive(sys.stdin.buffer)
    if canaries is None:
        return 1
    names, vectors = canaries
    try:
        shelf = ChromaShelf(Path(sys.argv[1]))
        if sys.argv[2] not in shelf.names():
            return 1
        store = shelf.store(sys.argv[2])
        if not names:
            names, vectors = store.sample(CANARIES)
        sound = finds(store, names, vectors)
        shelf.close()
    except IndexProblem:
        return 1
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
