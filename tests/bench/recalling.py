"""A warm recall inside the owner, against the bare sum of its three queries, and how it grows."""

from __future__ import annotations

import random
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from oneiro_vault.app import App, init_vault
from oneiro_vault.settings.definitions import Settings
from tests.bench.kit import WORDS, Row, paired, pick, write_notes


def run(scale: int) -> Iterator[Row]:
    """`scale` memories with the real model, then growth from scale/10 to scale*10 with the hash
    embedder."""
    with tempfile.TemporaryDirectory() as folder:
        app = prepared(Path(folder) / "vault", scale, Settings({"disk.reserve": 0}))
        ours, bare = paired(one_recall(app), bare_sum(app, Path(folder)), times=60, warmup=5)
        yield Row(
            f"warm recall over {scale:,} / one embedding + one Chroma query + one FTS5 query",
            ours,
            bare,
            "<= 1.5",
        )
        app.close()
    large, small = growth(scale * 10, scale // 10)
    yield Row(f"warm recall, {scale * 10:,} memories / {scale // 10:,}", large, small, "<= 3")


def questions(seed: int, words: Sequence[str] = WORDS) -> Callable[[], str]:
    """Questions of five words, drawn as the notes' words are."""
    rng = random.Random(seed)
    return lambda: "what did " + " ".join(pick(rng, words) for _ in range(5)) + " say?"


def prepared(root: Path, count: int, settings: Settings) -> App:
    init_vault(root)
    write_notes(root, count, words=60)
    app = App.open(
        root, settings, owner=True
    )  # an owner's watcher says what changed; nobody writes here, so none is started
    app.house.indexing.reconcile()
    app.house.index.open_vectors()
    app.house.index.embed()
    return app


def one_recall(app: App, words: Sequence[str] = WORDS) -> Callable[[], Any]:
    ask = questions(3, words)
    return lambda: app.call("recall", {"query": ask()})


def bare_sum(app: App, folder: Path, words: Sequence[str] = WORDS) -> Callable[[], Any]:
    """The same questions through the bare parts, over the same texts and vectors."""
    import chromadb

    keys = [row.key for row in app.house.index.list(limit=1_000_000)]
    vectors, bodies = app.house.index.vectors(keys), app.house.index.bodies(keys)
    texts = [(str(key), bodies[key], vectors[key].tolist()) for key in keys]
    base = sqlite3.connect(folder / "bare.db", check_same_thread=False)
    base.execute(
        "CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter unicode61 remove_diacritics 2')"
    )
    base.executemany("INSERT INTO t VALUES (?)", [(text,) for _, text, _ in texts])
    base.commit()
    client = chromadb.PersistentClient(
        str(folder / "chroma"), chromadb.Settings(anonymized_telemetry=False)
    )
    table = client.create_collection(
        "bare", metadata={"hnsw:space": "cosine"}, embedding_function=None
    )
    for start in range(0, len(texts), 2000):
        part = texts[start : start + 2000]
        table.add(ids=[key for key, _, _ in part], embeddings=[vector for _, _, vector in part])
    ask = questions(4, words)  # other questions than ours: the embedder remembers recent ones

    def one() -> None:
        query = ask()
        vector = app.house.vectors.embedder.query(query)
        table.query(query_embeddings=[vector], n_results=100, include=["distances"])
        match = " OR ".join(f'"{word}"' for word in query.rstrip("?").split()[2:])
        base.execute(
            "SELECT rowid, bm25(t) FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 100", (match,)
        ).fetchall()

    return one


def growth(large: int, small: int) -> tuple[float, float]:
    """Both open at once and asked in turn: they are built minutes apart, and the machine is another
    one by then."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        settings = Settings({"embed.model": "hash", "disk.reserve": 0})
        apps = [
            stack.enter_context(closing(prepared(Path(folder) / str(count), count, settings)))
            for count in (large, small)
        ]
        one, other = map(one_recall, apps)
        return paired(one, other, times=80, warmup=5)
