"""What `init --here` says of a folder somebody kept for years: each file once, in the words that
fit it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.box import ENTRY, Box


@pytest.mark.slow
def test_each_strange_file_is_one_sentence(fresh: Box) -> None:
    root = fresh.vault = fresh.folder / "notes"
    root.mkdir()
    (root / "adr.md").write_text("---\ntitle: ADR-1: use UTC\n---\nClocks run in universal time.\n")
    (root / "mine.md").write_text(
        "token ghp_" + "a8Fk3Lq9Zr2Xw7Vt5Bn1Mc4Yd6Hs0Jg8Pe2T\nThe boat needs paint.\n"
    )
    (root / "manual.md").write_text("export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\n")
    (root / "nul.md").write_bytes(b"a\0b")
    (root / "/".join(["d"] * 45)).mkdir(parents=True)
    (root / "/".join(["d"] * 45) / "deep.md").write_text("far down")
    with (root / "huge.md").open("wb") as file:
        file.truncate(200_000_000)
    with open(os.fsencode(root) + b"/caf\xe9.md", "wb") as file:
        file.write(b"words")
    argv = [sys.executable, "-c", ENTRY, "--no-daemon", "init", "--here"]
    done = subprocess.run(
        argv, cwd=root, env=fresh.env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert "3 notes are indexed" in said
    assert "Of 1 note the frontmatter is broken" in said
    lost, waits = said.split("4 files could not be read as notes")[1].split(
        "1 file can be read and found, but not committed"
    )
    for name, why in (
        ("huge.md", "larger than"),
        ("deep.md", "it is too deep"),
        ("caf\ufffd.md", "not valid UTF-8"),
        ("nul.md", "NUL bytes"),
    ):
        (told,) = [line for line in said.splitlines() if name in line]
        assert told in lost
        assert why in told
    assert "mine.md: it holds what looks like a GitHub token" in waits
    assert "manual.md" not in said
    assert sorted(
        entry.name for entry in root.iterdir() if not entry.name.startswith(".")
    ) == sorted(
        ["adr.md", "caf\udce9.md", "d", "huge.md", "manual.md", "mine.md", "nul.md", "oneiro.toml"]
    )
    found = json.loads(fresh.ok("--no-daemon", "--json", "recall", "boat paint", "--fast"))[
        "results"
    ]
    assert found[0]["path"] == "mine.md"
