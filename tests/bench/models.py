"""What the way of a model's call costs, over the stdio bridge and over HTTP, above the same App
call in process; and what it holds."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from oneiro_vault.app import App, init_vault
from oneiro_vault.settings.definitions import Settings
from tests.bench.kit import Row, timed, write_notes
from tests.bench.recalling import questions
from tests.box import Box
from tests.conftest import sealed
from tests.mcp.raw import LEGACY, MODERN, Http, Stdio

MOST = 1_000
ERAS = {"2026-07-28": MODERN, "2025-06-18": LEGACY}


def run(scale: int) -> Iterator[Row]:
    """The same memories in an owner and in this process, asked the same questions in turn; few, as
    it is the way that is measured."""
    scale = min(scale, MOST)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        box = Box(folder, sealed(folder))
        stack.callback(box.close)
        for root in (box.vault, folder / "here"):
            init_vault(root)
            write_notes(root, scale, words=60)
        app = stack.enter_context(
            App.open(
                folder / "here", Settings({"embed.model": "hash", "disk.reserve": 0}), owner=True
            )
        )
        app.house.indexing.reconcile()
        app.house.index.open_vectors()
        app.house.index.embed()
        box.ok("list")
        while box.json("status")["pending"]:
            time.sleep(0.5)
        yield Row(
            f"owner resident before the first model came, {scale:,} memories",
            resident(box),
            None,
            "<= 220",
            "MB",
        )
        for label, era in ERAS.items():
            for place in ("stdio", "HTTP"):
                with (
                    Stdio(box.argv("mcp"), box.env, era)
                    if place == "stdio"
                    else Http(box.record["socket"], era) as client
                ):
                    for row in added(app, client):
                        yield Row(
                            f"{row.what} over {place}, {label}, above the same App call",
                            row.ours,
                            None,
                            "<= 3",
                            "ms",
                        )
        yield Row(
            f"owner resident after all of it, {scale:,} memories",
            resident(box),
            None,
            "<= 220",
            "MB",
        )


def added(app: App, client: Stdio | Http) -> Iterator[Row]:
    """Milliseconds that a call takes longer than the App's own, for one that costs nothing and one
    that searches."""
    ask, same = questions(3), questions(3)
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "flagged": (lambda: client.tool("flagged"), lambda: app.call("flagged", {})),
        "recall_check": (
            lambda: client.tool("recall_check", topic=ask()),
            lambda: app.call("recall", {"query": same(), "k": 8}),
        ),
    }
    for name, (ours, bare) in pairs.items():
        there, here = calm(ours, bare)
        yield Row(name, 1000 * (there - here), None, "<= 3", "ms")


def calm(
    ours: Callable[[], object], bare: Callable[[], object], times: int = 150
) -> tuple[float, float]:
    """Lower quartiles of two things measured in turn: what is slower measures whatever else the
    machine does, not the way."""
    for _ in range(20):
        ours()
        bare()
    pairs = [(timed(ours), timed(bare)) for _ in range(times)]
    return statistics.quantiles(a for a, _ in pairs)[0], statistics.quantiles(b for _, b in pairs)[
        0
    ]


def resident(box: Box) -> float:
    """MB of memory that the owner's process holds."""
    found = next(
        line
        for line in Path(f"/proc/{box.pid}/status").read_text().splitlines()
        if line.startswith("VmRSS")
    )
    return int(found.split()[1]) / 1024
