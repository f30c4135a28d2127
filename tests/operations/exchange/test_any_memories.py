"""Whatever memories are called and say, both exports give them back."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oneiro_vault.app import App
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.errors import OneiroError
from oneiro_vault.importers import okf, own
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.records import Note, Skipped
from tests.copies import new_vault
from tests.operations.conftest import QUICK

NAMES = ["index", "log", "Index", "LOG", "Größe", "größe", "a b", "naïve 🦊", "日本", "con (1)"]
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30)
PLAIN = st.one_of(WORDS, st.booleans(), st.integers(-9999, 9999), st.none())
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3), max_leaves=5)
KEYS = st.sampled_from(
    "type title description tags aliases created timestamp source status core mood generated "
    "verified sources stale_after resource oneiro okf_version derived_from valid_until".split()
)
DATES = st.sampled_from(["2024-02-30", "2024-03-05", "2024-03-05T10:00:00+01:00", "5 March 2024"])
BLOCKS = st.dictionaries(KEYS, st.one_of(VALUES, DATES), max_size=6)
PIECES = st.sampled_from(
    ["[[index]]", "[[a b|c]]", "![[a b]]", "[x](index.md)", "[x](/log.md \"[[log]]\")", "`[[log]]`",
     "[[Größe#Teil|\"so\" \\ %41]]", "\r\n", "\n", "# H\n", "---\n", "| [[log\\|l]] |", " ", "\t"]
)  # fmt: skip
BODIES = st.lists(st.one_of(PIECES, WORDS), max_size=8).map("".join)
NOTES = st.dictionaries(
    st.tuples(st.sampled_from(["", "Notes/", "notes/", "a/b/"]), st.sampled_from(NAMES)).map(
        lambda parts: f"{parts[0]}{parts[1]}.md"
    ),
    st.tuples(BLOCKS, BODIES),
    min_size=1,
    max_size=8,
)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("any") / "vault"
    new_vault(made)
    shutil.rmtree(made / ".oneiro", ignore_errors=True)
    return made


@pytest.mark.slow
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(notes=NOTES)
def test_any_memories_come_back(
    empty: Path, notes: Mapping[str, tuple[dict[str, Any], str]]
) -> None:
    with tempfile.TemporaryDirectory(dir=empty.parent) as folder:
        root = Path(folder, "vault")
        shutil.copytree(empty, root)
        written = {path: text for path, note in notes.items() if (text := written_as(*note))}
        for path, text in written.items():
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode())
        if not written:
            return
        with App.open(root, QUICK) as app:
            for form, reader in (("jsonl", own), ("okf", okf)):
                target = Path(folder, form)
                app.call("export", {"format": form, "target": str(target), "archived": True})
                with Archive.at(target) as archive:
                    found = list(reader.read(archive))
                assert not [one for one in found if isinstance(one, Skipped)]
                back = {
                    one.path: (one.data or b"").decode() for one in found if isinstance(one, Note)
                }
                if form == "jsonl":
                    assert back == written
                else:
                    same(back, written)


def written_as(meta: dict[str, Any], body: str) -> str:
    """ "" for what no note can hold."""
    try:
        return yaml_block.compose(meta, body)
    except OneiroError:
        return ""


def same(back: Mapping[str, str], written: Mapping[str, str]) -> None:
    """Only how the block is spelled may differ."""
    assert back.keys() == written.keys()
    for path, text in written.items():
        assert yaml_block.read(back[path]) == yaml_block.read(text), path
