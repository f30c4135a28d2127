"""Hints of the App are for people at a command line; a model is told the same in the names of its tools."""

from __future__ import annotations

import pytest

from oneiro_vault.mcp.hints import advice


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        ("`oneiro list` or `oneiro recall` shows ids.", "recall_check returns ids."),
        ("An id is 12 letters and digits; `oneiro list` shows them.", "recall_check returns ids."),
        ("abc was forgotten on 2026-01-01. `oneiro restore abc` brings it back.", "abc was forgotten on 2026-01-01. A person can help: what was forgotten can be brought back."),
        ("`oneiro --json show abcd` says the sha256 it has now; without a base the change is made to that.", "recall_check returns ids."),
        ("Undo it: `oneiro undo HEAD`. Or run `oneiro doctor --fix`.", "A person can help at the command line."),
        ("Edit note.md first. `oneiro sync` goes on.", "Edit note.md first. A person can help at the command line."),
        ("`get` lists the pictures of a memory.", "recall_specific lists the pictures of a memory."),
        ("Give the earlier date to --since.", "Give the earlier date to `since`."),
        ("Give at least 4 characters of it.", "Give at least 4 characters of it."),
        ("", ""),
    ],
)  # fmt: skip
def test_hints_are_for_whoever_reads_them(hint: str, said: str) -> None:
    assert advice(hint) == said
