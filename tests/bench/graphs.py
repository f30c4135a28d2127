"""What lies two steps around an entity of a large vault with ten relations each."""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from oneiro_vault.app import App, init_vault
from oneiro_vault.core.markdown.taxonomy import CATEGORY, RELATIONS
from oneiro_vault.settings.definitions import Settings
from tests.bench.kit import WORDS, Row, timed

ITEMS = 10
ASKED = 60
_TYPED = sorted(name for name in RELATIONS if CATEGORY[name] != "text")


def run(scale: int) -> Iterator[Row]:
    """Five times `scale` entities."""
    count = 5 * scale
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        write_entities(root, count)
        settings = Settings({"embed.model": "hash", "disk.reserve": 0})
        with App.open(root, settings, owner=True) as app:
            app.house.indexing.reconcile()
            app.house.index.settle()
            rng = random.Random(3)
            times = [around(app, f"Entity {rng.randrange(count)}") for _ in range(ASKED)]
    what = f"two steps around one of {count:,} entities, {ITEMS * count:,} relations"
    yield Row(what, statistics.median(times), None, "<= 0.02")


def around(app: App, name: str) -> float:
    """Seconds that one question takes."""
    return timed(lambda: app.call("graph", {"name": name, "depth": 2, "limit": 100}))


def write_entities(root: Path, count: int) -> None:
    """A vault of `count` entities in 200 folders."""
    init_vault(root)
    rng = random.Random(1)
    for number in range(count):
        place = root / "entities" / f"{number % 200:03}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"e{number}.md").write_text(_entity(rng, number, count), encoding="utf-8")


def _entity(rng: random.Random, number: int, count: int) -> str:
    ident = "".join(rng.choices("0123456789abcdefghjkmnpqrstvwxyz", k=12))
    head = f"id: {ident}\ntype: entity\ntitle: Entity {number}\ncreated: 2026-01-01T10:00:00Z"
    lines = [f"- {rng.choice(_TYPED)} [[Entity {rng.randrange(count)}]]\n" for _ in range(ITEMS)]
    return f"---\n{head}\n---\n{rng.choice(WORDS)} {rng.choice(WORDS)}.\n\n{''.join(lines)}"
