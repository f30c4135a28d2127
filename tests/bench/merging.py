"""The merge driver as git runs it: a process for each note."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.kit import Row, note, paired

_TEXT = "\n\n".join(
    ["The boat is red.", "It was bought in May.", "- part_of [[Fleet]]", "The mast is new."]
)


def run(_scale: int) -> Iterator[Row]:
    """One note that both sides changed."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        base = note(random.Random(1)) + "\n" + _TEXT + "\n"
        versions = {
            "base": base,
            "ours": base.replace("red", "blue"),
            "theirs": base.replace("new", "old").replace("in May", "in June"),
        }
        for name, text in versions.items():
            (place / name).write_text(text, encoding="utf-8")
        # As installed: with the byte code of the first run.
        env = {
            name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
        } | {"PYTHONPYCACHEPREFIX": f"{folder}/pyc"}
        oneiro = Path(sys.executable).parent / "oneiro"
        ours = [f"cp ours mine; '{oneiro}' merge-driver base mine theirs semantic/boat.md"]
        bare = [f"cp ours mine; '{sys.executable}' -c pass; git merge-file -q mine base theirs"]

        def shell(lines: list[str]) -> None:
            subprocess.run(
                ["sh", "-c", *lines], cwd=place, env=env, check=True, stdout=subprocess.DEVNULL
            )

        times = paired(lambda: shell(ours), lambda: shell(bare), times=30, warmup=3)
        yield Row(
            "merge driver, start-up and one note / `python -c pass` and `git merge-file`",
            *times,
            "<= 3",
        )
