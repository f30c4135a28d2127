"""What `oneiro sync` brings, joined, sent, indexed and embedded, against a plain `git pull` and the
model alone."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from oneiro_vault.app import App, init_vault
from oneiro_vault.index.embed.embedders import WorkerEmbedder
from oneiro_vault.settings.definitions import Settings
from tests.bench.kit import Row, pick, timed, write_notes
from tests.index.conftest import waiting_texts
from tests.vault.support import git

SETTINGS = Settings({"embed.model": "hash", "disk.reserve": 0, "edits.quiet": 0.0})
"""Vectors of nothing for the notes that stay as they are; those that changed are embedded by the
real model afterwards."""


def run(scale: int) -> Iterator[Row]:
    """A tenth of `scale` notes changed there and one here, so that it takes a merge and not only an
    advance."""
    from sentence_transformers import SentenceTransformer

    from oneiro_vault.index.embed.models import model_folder

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, scale)
        with App.open(folder / "ours", SETTINGS) as app:
            app.house.indexing.reconcile()
            app.house.index.embed()
            joined = timed(lambda: app.call("sync"))
            changed = waiting_texts(app.house.index)
        pulled = timed(lambda: git(folder / "bare", "pull", "-q", "--no-rebase", "--no-edit"))
        assert git(folder / "bare", "rev-parse", "HEAD^2")
        worker = WorkerEmbedder("default")
        worker.query("warm up")
        ours = timed(lambda: worker.encode(changed))
        worker.close()
        model = SentenceTransformer(str(model_folder()), device="cpu")
        model.encode(["warm up"])
        bare = timed(lambda: model.encode(changed, normalize_embeddings=True))
        what = f"sync of {scale // 10:,} changed notes out of {scale:,}"
        yield Row(
            f"{what}, all told / `git pull` and bare encode of {len(changed):,} chunks",
            joined + ours,
            pulled + bare,
            "<= 2",
        )


def prepare(folder: Path, scale: int) -> None:
    """Copies `ours` and `bare` (no program of ours has been there), one change ahead of a remote
    that is a tenth ahead of them."""
    root, remote = folder / "theirs", folder / "remote.git"
    init_vault(root)
    paths = write_notes(root, scale)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "notes")
    git(folder, "clone", "-q", "--bare", str(root), str(remote))
    git(root, "remote", "add", "origin", str(remote))
    for name in ("ours", "bare"):
        git(folder, "clone", "-q", str(remote), str(folder / name))
        here = folder / name / paths[0].relative_to(root)
        here.write_text(here.read_text() + "\nChanged here.\n")
        git(folder / name, "commit", "-qam", "mine")
    rng = random.Random(2)
    for path in paths[1 :: max(1, len(paths) // (scale // 10))]:
        path.write_text(path.read_text() + "\n" + " ".join(pick(rng) for _ in range(30)) + ".\n")
    git(root, "commit", "-qam", "theirs")
    git(root, "push", "-q", "origin", "main")
    shutil.rmtree(root)
