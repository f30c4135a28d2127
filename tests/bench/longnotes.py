"""A vault of long notes with many headings, lists and links: when it answers by meaning, how fast
it recalls."""

from __future__ import annotations

import random
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics

from oneiro_vault.app import App, init_vault
from oneiro_vault.settings.definitions import Settings
from tests.bench.kit import Row, pick, timed
from tests.bench.recalling import bare_sum, one_recall

REAL = 6.2
"""Megabytes of the vault that the bars are about; times of a smaller one are stretched to it."""

ENGLISH = [
    word
    for word, _ in Counter(re.findall("[a-z]+", " ".join(topics.values()).lower())).most_common()
]
"""Words of Python's own help: to the model a made-up word is as long as two of a language."""


def run(scale: int) -> Iterator[Row]:
    """A note for every five memories of `scale`, of 3 KB each: 6 MB for the published figures,
    where times need no stretching."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        init_vault(root)
        size = write(root, max(60, scale // 5)) / 1e6
        with App.open(root, Settings({"disk.reserve": 0}), owner=True) as app:
            app.house.indexing.reconcile()
            yield from filling(app, size)
            yield from recalls(app, Path(folder), size)


def filling(app: App, size: float) -> Iterator[Row]:
    """When every note has its first vector, and when every passage has one."""
    index = app.house.index
    app.house.vectors.embedder.query("warm up")
    index.open_vectors()
    began, first = time.perf_counter(), 0.0
    index.settle()
    keys = [row.key for row in index.list(limit=1_000_000)]

    def step(_doing: str, _done: int, _total: int) -> None:
        nonlocal first
        if not first and len(index.vectors(keys)) == len(keys):
            first = time.perf_counter() - began

    index.embed(step)
    every = time.perf_counter() - began
    yield Row(f"every note of {REAL} MB answers by meaning", first * REAL / size, None, "<= 120")
    yield Row(f"every passage of {REAL} MB has its vector", every * REAL / size, None, "<= 300")


def recalls(app: App, folder: Path, size: float) -> Iterator[Row]:
    """A warm recall in the owner, beside its three bare queries over whole notes."""
    ours, bare = one_recall(app, ENGLISH), bare_sum(app, folder, ENGLISH)
    for _ in range(5):
        ours()
        bare()
    pairs = [(timed(ours), timed(bare)) for _ in range(100)]
    mine, theirs = sorted(one for one, _ in pairs), statistics.median(other for _, other in pairs)
    yield Row(
        f"warm recall over {size:.2g} MB of long notes, p50 / one embedding + one Chroma query + "
        f"one FTS5 query",
        mine[50],
        theirs,
        "<= 4",
    )
    yield Row("the same, p50", mine[50], None, "<= 0.06")
    yield Row("the same, p95", mine[95], None, "<= 0.1")


def write(root: Path, count: int, seed: int = 11) -> int:
    """`count` notes with frontmatter; returns their bytes."""
    rng, size = random.Random(seed), 0
    titles = [f"{rng.choice(ENGLISH)} {rng.choice(ENGLISH)} {number}" for number in range(count)]
    people = [f"{rng.choice(ENGLISH).title()} {rng.choice(ENGLISH).title()}" for _ in range(40)]
    for number, title in enumerate(titles):
        file = root / "notes" / f"{number % 20:02}" / f"note-{number:05}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        about = ", ".join(f'"[[{person}]]"' for person in rng.sample(people, rng.randint(0, 4)))
        day = f"20{rng.randint(15, 25)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        source = rng.choice(["user", "https://example.org", "import"])
        head = (
            f"title: {title}\nabout: [{about}]\naliases: [{title.split()[0]}]\ncreated: "
            f"{day}T10:00:00Z\nsource: {source}"
        )
        file.write_text(f"---\n{head}\n---\n{_body(rng, titles)}", encoding="utf-8")
        size += file.stat().st_size
    return size


def _body(rng: random.Random, titles: list[str]) -> str:
    """Some sections of prose, of list items, or of both."""
    parts = []
    for _ in range(rng.randint(2, 7)):
        parts.append(f"## {_words(rng, 3).title()}\n")
        if rng.random() < 0.7:
            parts.append(
                "\n".join(
                    _words(rng, rng.randint(8, 22)).capitalize() + "."
                    for _ in range(rng.randint(2, 9))
                )
                + "\n"
            )
        if rng.random() < 0.25:
            parts.append(
                "\n".join(
                    f"- {_words(rng, rng.randint(3, 16))} [[{rng.choice(titles)}]]"
                    for _ in range(rng.randint(2, 7))
                )
                + "\n"
            )
    return "\n".join(parts)


def _words(rng: random.Random, count: int) -> str:
    return " ".join(pick(rng, ENGLISH) for _ in range(count))
