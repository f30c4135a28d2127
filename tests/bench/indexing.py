"""How fast a vault becomes searchable, against the bare steps nobody can leave out."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import frontmatter
import numpy as np

from oneiro_vault.app import App, init_vault
from oneiro_vault.settings.definitions import Settings
from tests.bench.kit import Row, median, timed, write_notes
from tests.index.conftest import waiting_texts

HASH = Settings({"embed.model": "hash", "disk.reserve": 0})


def run(scale: int) -> Iterator[Row]:
    """`scale` notes (10,000 for the published figures)."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        init_vault(root)
        paths = write_notes(root, scale)
        bare = timed(lambda: bare_index(paths, Path(folder) / "bare.db"))
        app = App.open(root, HASH)
        ours = timed(app.house.indexing.reconcile)
        yield Row(
            f"keyword search ready over {scale:,} notes / read + frontmatter + FTS5 insert",
            ours,
            bare,
            "<= 3",
        )
        walk, mine = median(lambda: bare_walk(root), 9), median(app.house.indexing.reconcile, 9)
        yield Row(
            f"no-change refresh of {scale:,} notes / os.scandir + stat walk", mine, walk, "<= 3"
        )
        app.house.index.close()
        app.house.vault.close()
    yield from vectors(max(400, scale // 10))


def bare_index(paths: list[Path], file: Path) -> None:
    """Read, parse the frontmatter, insert into FTS5: nothing else."""
    base = sqlite3.connect(file)
    base.execute(
        "CREATE VIRTUAL TABLE t USING fts5(title, tags, body, tokenize='porter unicode61 "
        "remove_diacritics 2')"
    )
    for path in paths:
        post = frontmatter.loads(path.read_text(encoding="utf-8"))
        base.execute(
            "INSERT INTO t VALUES (?, ?, ?)",
            (str(post.get("title")), str(post.get("tags")), post.content),
        )
    base.commit()
    base.close()


def bare_walk(folder: Path) -> int:
    """Every entry's stat by os.scandir, folders in turn."""
    found = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found += 0 if entry.name.startswith(".") else bare_walk(Path(entry.path))
            else:
                found += entry.stat(follow_symlinks=False).st_size
    return found


def vectors(count: int) -> Iterator[Row]:
    """Vectors per second through the whole path, as a share of bare `SentenceTransformer.encode` of
    the same chunks."""
    from sentence_transformers import SentenceTransformer

    from oneiro_vault.index.embed.models import model_folder

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        init_vault(root)
        write_notes(root, count, seed=7)
        with App.open(root, Settings({"disk.reserve": 0})) as app:
            app.house.indexing.reconcile()
            app.house.index.open_vectors()
            app.house.vectors.embedder.query("warm up")
            texts = waiting_texts(app.house.index)
            ours = timed(app.house.index.embed)
            assert not app.house.index.status()["pending"]
        model = SentenceTransformer(str(model_folder()), device="cpu")
        model.encode(["warm up"])
        bare = timed(lambda: np.asarray(model.encode(texts, normalize_embeddings=True)))
    yield Row(
        f"vectors per second over {len(texts):,} chunks / bare encode",
        len(texts) / ours,
        len(texts) / bare,
        ">= 0.85",
        "1/s",
    )
