"""Ten questions to each of four kinds of folders, through the command line, with the packaged model
and default settings."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.box import ENTRY, Box
from tests.drills.keepsakes import KINDS, put

NOTES: Final = {"hub": 1_000, "docs": 400, "diary": 500, "attic": 400}
RIGHT: Final = {"hub": 6, "docs": 9, "diary": 9, "attic": 9}
"""Questions of ten with the right note among the first three. Nine are wanted of the hub, too:
three of its questions have no word of their note, which by meaning alone comes fourth, eighth and
143rd with the packaged model; other notes have one word of them. Of a fourth the note is third by
words and 32nd by meaning. They were written beside sentences that mislead; of 40 questions by
another hand, fixed before anything was asked, to 3,882 notes made of a distribution's descriptions,
people and handbooks, 37 find their note among the first three."""


@pytest.fixture
def box(tmp_path: Path, sealed_env: dict[str, str]) -> Iterator[Box]:
    """A machine with a folder of notes that is no vault yet."""
    del sealed_env["ONEIRO_EMBED_MODEL"]
    made = Box(tmp_path, sealed_env, tmp_path / "notes")
    made.vault.mkdir()
    try:
        yield made
    finally:
        made.close()


@pytest.mark.drill
@pytest.mark.parametrize("kind", KINDS)
def test_the_right_note_is_among_the_first_three(box: Box, kind: str) -> None:
    questions = put(box.vault, kind, NOTES[kind])
    init = [sys.executable, "-c", ENTRY, "init", "--here"]
    subprocess.run(init, env=box.env, cwd=box.vault, check=True, capture_output=True)
    while box.json("status")["pending"]:
        time.sleep(1)
    missed = []
    for question, path in questions:
        rows = [row["path"] for row in box.json("recall", question, "-k", "10")["results"]]
        if path not in rows[:3]:
            missed.append((question, path, rows[:3]))
    print(f"{kind}: {len(questions) - len(missed)} of {len(questions)}")
    assert len(questions) == 10
    assert len(questions) - len(missed) >= RIGHT[kind], missed
