"""Folders that people bring: not a byte is changed, every note is found by its words, and nearly
every one has a date."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.app import App, init_vault
from tests.drills.guests import KINDS, put
from tests.operations.conftest import QUICK


def drill(root: Path, kind: str, n: int) -> None:
    root.mkdir()
    files, phrases = put(root, kind, n)
    init_vault(root, here=True)
    with App.open(root, QUICK) as app:
        rows = {row["path"]: row for row in app.call("list", {"limit": 10 * n})["results"]}
        assert set(rows) == set(files)
        lost = []
        for path, words in phrases.items():
            results = app.call("recall", {"query": words, "k": 3, "fast": True})["results"]
            if path not in [row["path"] for row in results]:
                lost.append(path)
        dated = sum(bool(row["created"]) for row in rows.values())
        broken = app.call("status")["broken"]
        app.call("check")
        tagged = app.call("list", {"tag": "sea", "limit": 10 * n})["results"]
    print(
        f"{kind}: {len(lost)} of {n} not found by a phrase, {dated} dated, {len(broken)} broken, "
        f"{len(tagged)} below #sea"
    )
    assert len(lost) <= n // 1000, lost[:10]
    assert dated >= 0.95 * n
    assert {path: (root / path).read_bytes() for path in files} == files
    ours = {path.name for path in root.iterdir()} - {path.partition("/")[0] for path in files}
    assert ours <= {".git", ".gitattributes", ".gitignore", ".oneiro", "oneiro.toml"}
    if kind in ("hub", "diary"):
        assert len(tagged) >= 0.9 * n
    if kind == "attic":
        assert len(broken) >= 0.4 * n


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_somebody_kept(tmp_path: Path, kind: str) -> None:
    drill(tmp_path / "notes", kind, 30)


@pytest.mark.drill
@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_notes_somebody_kept(tmp_path: Path, kind: str) -> None:
    drill(tmp_path / "notes", kind, 3000)
