"""`make bench`: every figure of the speed list as one table. `make bench BENCH="--only commands
--scale 1000"` for a part.

`make bench BENCH="--devset FILE.json"` scores a development set through the public API instead (see
devset.py).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench import (
    abstention,
    commands,
    contexts,
    corrections,
    devset,
    embedding,
    graphs,
    hooks,
    indexing,
    languages,
    longnotes,
    merging,
    models,
    months,
    named,
    nights,
    pages,
    recalling,
    syncing,
    walks,
    week,
)
from tests.bench.kit import Row

PARTS = {
    "embedding": embedding.run, "indexing": indexing.run, "recalling": recalling.run,
    "commands": commands.run, "contexts": contexts.run, "graphs": graphs.run, "hooks": hooks.run, "merging": merging.run, "syncing": syncing.run,
    "mcp": models.run, "nights": nights.run,
    "abstention": abstention.run, "languages": languages.run, "longnotes": longnotes.run,
    "months": months.run, "named": named.run, "corrections": corrections.run,
    "walks": walks.run, "pages": pages.run,
    "week": week.run,
}  # fmt: skip


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", choices=sorted(PARTS), action="append", help="measure only this part (repeatable)"
    )
    parser.add_argument(
        "--scale", type=int, default=10_000, help="memories in the vaults that are measured"
    )
    parser.add_argument(
        "--devset",
        type=Path,
        action="append",
        help="score this development set and show what each part of recall earns",
    )
    options = parser.parse_args()
    if options.devset:
        for path in options.devset:
            devset.main(path)
        return
    rows: list[Row] = []
    for name in options.only or PARTS:
        for row in PARTS[name](options.scale):
            Console(stderr=True).print(f"[dim]{row.what}: {row.ratio:.3g}[/dim]")
            rows.append(row)
    Console().print(table(rows))


def table(rows: list[Row]) -> Table:
    """The rows for a terminal."""
    found = Table(
        "what", "ours", "bare", "ratio", "bar", "holds", title="speed, as ratios within this run"
    )
    for row in rows:
        bare = f"{row.bare:.4g} {row.unit}" if row.bare else "-"
        found.add_row(
            row.what,
            f"{row.ours:.4g} {row.unit}",
            bare,
            f"{row.ratio:.3g}",
            row.bar,
            "yes" if row.holds else "NO",
        )
    return found


if __name__ == "__main__":
    main()
