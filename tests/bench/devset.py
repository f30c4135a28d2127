"""Score a development set through the public API: one vault a unit, one memory a document, recall
as anybody calls it.

The set is a JSON list of units with `docs` (id, text, meta: speaker, session, date) and `queries`
(qid, text, cat, rel). It is not part of this repository; give its path. Notes that are part of no
conversation have an empty `meta`. The whole vault is built by `remember`; nothing about the
questions is known when it is indexed.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from oneiro_vault.app import App, init_vault
from oneiro_vault.core.ranking import Weights
from oneiro_vault.core.text.query import fts_expression
from oneiro_vault.settings.definitions import Settings
from tests.copies import indexed

ABLATIONS: dict[str, dict[str, float]] = {
    "own vector": {"cosine": 0},
    "vector in context": {"context_cosine": 0},
    "own words": {"keywords": 0},
    "words in context": {"context_keywords": 0},
    "names": {"names": 0},
    "dates": {"dates": 0},
    "words of the whole session": {"whole": 0},
    "the question before an answer": {"question_cosine": 0, "question_keywords": 0},
    "any vectors": {"cosine": 0, "context_cosine": 0, "question_cosine": 0},
    "any keywords": {"keywords": 0, "context_keywords": 0, "whole": 0, "question_keywords": 0},
    "anything but own vector and own words": dict.fromkeys(
        (
            "context_cosine",
            "context_keywords",
            "names",
            "dates",
            "whole",
            "question_cosine",
            "question_keywords",
        ),
        0,
    ),
    "the prior (importance, recency, use)": {"prior": 0},
}
LEFT_OUT = "c5"  # adversarial questions have no answer to find
Unit = Mapping[str, Any]


def main(path: Path) -> None:
    """Print the scores of the default configuration, of each part left out, and of notes without
    metadata."""
    units = json.loads(path.read_text(encoding="utf-8"))
    rows: list[tuple[str, dict[str, float]]] = []

    def add(name: str, found: dict[str, float]) -> None:
        rows.append((name, found))
        Console(stderr=True).print(
            f"[dim]{name}: {found['R@10']:.1f} / {found['nDCG@10']:.1f}[/dim]"
        )

    for plain in (False, True):
        vaults = [build(unit, plain) for unit in units]
        name = "bare notes (no about, session or names)" if plain else "everything (the default)"
        add(
            name,
            score(
                units,
                [
                    answers(unit, app, ids)
                    for unit, (app, ids, _) in zip(units, vaults, strict=True)
                ],
            ),
        )
        both = [fused(unit, app, ids) for unit, (app, ids, _) in zip(units, vaults, strict=True)]
        add(
            f"{'bare notes, ' if plain else ''}plain rank fusion of words and vectors",
            score(units, both),
        )
        for label, changes in ABLATIONS.items():
            weights = replace(
                Weights(), **changes
            )  # candidates stay the same: only their order changes
            found = [
                answers(unit, app, ids, weights)
                for unit, (app, ids, _) in zip(units, vaults, strict=True)
            ]
            add(f"{'bare notes, ' if plain else ''}without {label}", score(units, found))
        for app, _, folder in vaults:
            app.close()
            folder.cleanup()
    Console().print(table(path.name, rows))


def build(unit: Unit, plain: bool) -> tuple[App, dict[str, str], tempfile.TemporaryDirectory[str]]:
    """A vault that holds the unit's documents; also memory id -> document id."""
    folder = tempfile.TemporaryDirectory()
    root = Path(folder.name) / "vault"
    init_vault(root)
    app = App.open(root, Settings({"disk.reserve": 0}))
    items = [item(document, plain) for document in unit["docs"]]
    done = app.call("remember", {"items": items, "dedupe": False})
    indexed(app)
    return (
        app,
        {row["id"]: doc["id"] for row, doc in zip(done["results"], unit["docs"], strict=True)},
        folder,
    )


def item(document: Mapping[str, Any], plain: bool) -> dict[str, Any]:
    """One document as `remember` takes it. Without metadata the leading `Name: ` goes too, or names
    would come back by that door."""
    meta = document["meta"]
    text = document["text"]
    found: dict[str, Any] = {"text": text, "type": "episodic"}
    found |= {"created": moment(meta["date"])} if meta.get("date") else {}
    if plain:
        speaker = meta.get("speaker")
        found["text"] = text.removeprefix(f"{speaker}: ") if speaker else text
        found["type"] = "semantic"
    else:
        found |= {key: meta[key] for key in ("session",) if meta.get(key)}
        found |= {"about": [meta["speaker"]]} if meta.get("speaker") else {}
    return found


def moment(text: str) -> str:
    """`1:56 pm on 8 May, 2023` as RFC 3339; anything else is handed on as it is."""
    try:
        return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).isoformat()
    except ValueError:
        return text


def answers(
    unit: Unit, app: App, ids: Mapping[str, str], weights: Weights | None = None
) -> dict[str, list[str]]:
    """Question id -> document ids, best first."""
    app.house.weights = weights or Weights()
    found = {}
    for query in unit["queries"]:
        if query["cat"] != LEFT_OUT:
            results = app.call("recall", {"query": query["text"], "k": 10})["results"]
            found[query["qid"]] = [ids[row["id"]] for row in results]
    return found


def fused(unit: Unit, app: App, ids: Mapping[str, str]) -> dict[str, list[str]]:
    """The same by reciprocal rank fusion (constant 60) of the index's two lists over whole
    notes."""
    index, found = app.house.index, {}
    handles = {row.key: row.handle for row in index.list(limit=1_000_000)}
    for query in unit["queries"]:
        vector = app.house.vectors.embedder.query(query["text"])
        words = index.search_text(fts_expression(index.terms(query["text"])), 100)
        near = [hit.key for hit in index.search_vectors(vector, 100) if hit.kind == "own"]
        shares: dict[int, float] = defaultdict(float)
        for keys in ([key for key, _ in words], list(dict.fromkeys(near))):
            for rank, key in enumerate(keys, 1):
                shares[key] += 1 / (60 + rank)
        best = sorted(shares, key=lambda key: -shares[key])[:10]
        found[query["qid"]] = [ids[handles[key]] for key in best]
    return found


def score(units: Sequence[Unit], runs: Iterable[Mapping[str, Sequence[str]]]) -> dict[str, float]:
    """Mean Recall@10 and nDCG@10 (binary relevance) over all questions of all units, in percent."""
    rows = [
        one(run[query["qid"]], set(query["rel"]))
        for unit, run in zip(units, runs, strict=True)
        for query in unit["queries"]
        if query["cat"] != LEFT_OUT
    ]
    return {
        "R@10": 100 * sum(r for r, _ in rows) / len(rows),
        "nDCG@10": 100 * sum(n for _, n in rows) / len(rows),
        "n": len(rows),
    }


def one(ranked: Sequence[str], relevant: set[str]) -> tuple[float, float]:
    """(recall, nDCG) of the first ten for one question."""
    hits = [
        place
        for place, document in enumerate(dict.fromkeys(ranked))
        if document in relevant and place < 10
    ]
    gain = sum(1 / math.log2(place + 2) for place in hits)
    best = sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))
    return len(hits) / len(relevant), gain / best


def table(title: str, rows: Sequence[tuple[str, Mapping[str, float]]]) -> Table:
    """The scores for a terminal, each with its distance from the default."""
    found = Table("configuration", "R@10", "nDCG@10", "change", title=title)
    base = rows[0][1]
    for name, scores in rows:
        found.add_row(
            name,
            f"{scores['R@10']:.1f}",
            f"{scores['nDCG@10']:.1f}",
            f"{scores['nDCG@10'] - base['nDCG@10']:+.1f}",
        )
    return found
