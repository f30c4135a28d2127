"""Hints of the App are for people at a command line; a model is told the same in the names of its
tools."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import oneiro_vault
from oneiro_vault import errors
from oneiro_vault.core.principal import TOOLS
from oneiro_vault.mcp.tools.tool import advice
from oneiro_vault.operations.table import OPS

PACKAGE = Path(oneiro_vault.__file__).parent
KINDS = {
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.OneiroError)
}
OPERATIONS = "|".join(sorted(OPS.keys() - TOOLS.keys() - {"image"}))
"""Those that no tool is called by; `image` is an argument."""
NOT_THEIRS = re.compile(rf"\boneiro (?:--?)?[a-z]|--[a-z]|`(?:{OPERATIONS})`")


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        ("`oneiro list` or `oneiro recall` shows ids.", "recall_check returns ids."),
        ("An id is 12 letters and digits; `oneiro list` shows them.", "recall_check returns ids."),
        ("abc was forgotten on 2026-01-01. `oneiro restore abc` brings it back.", "abc was "
                                                                                  "forgotten on "
                                                                                  "2026-01-01. "
                                                                                  "A person can "
                                                                                  "help: what "
                                                                                  "was "
                                                                                  "forgotten "
                                                                                  "can be "
                                                                                  "brought back."),
        ("`oneiro --json show abcd` says the sha256 it has now; without a base the change is made "
         "to that.", "recall_check returns ids."),
        ("Undo it: `oneiro undo HEAD`. Or run `oneiro doctor --fix`.", "A person can help at the "
                                                                       "command line."),
        ("Edit note.md first. `oneiro sync` goes on.", "Edit note.md first. A person can help at "
                                                       "the command line."),
        ("`get` lists the pictures of a memory.", "recall_specific lists the pictures of a memory."),
        ("Give the earlier date to --since.", "Give the earlier date to `since`."),
        ("Give at least 4 characters of it.", "Give at least 4 characters of it."),
        ("", ""),
    ],
)  # fmt: skip
def test_hints_are_for_whoever_reads_them(hint: str, said: str) -> None:
    assert advice(hint) == said


def _errors() -> Iterator[tuple[str, str, str]]:
    """(place, part, text) of every error that is raised below the faces; what is filled in stands
    as `x`."""
    for folder in (
        "core",
        "vault",
        "index",
        "judges",
        "mind",
        "recall",
        "capture",
        "sync",
        "access",
        "operations",
        "mcp",
        "daemon",
        ".",
    ):
        for path in sorted((PACKAGE / folder).glob("*.py" if folder == "." else "**/*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in KINDS:
                    where = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                    if where.startswith("vault/purge/rewrite.py"):  # a person's alone
                        continue
                    parts = [("message", argument) for argument in node.args[:1]]
                    parts += [(str(keyword.arg), keyword.value) for keyword in node.keywords]
                    yield from (
                        (where, part, text) for part, value in parts for text in _texts(value)
                    )


def _texts(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.JoinedStr):
        yield "".join(
            str(part.value) if isinstance(part, ast.Constant) else "x" for part in value.values
        )
    elif isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.IfExp):
        yield from _texts(value.body)
        yield from _texts(value.orelse)


@pytest.mark.slow
def test_no_error_names_what_a_model_cannot_run() -> None:
    """Commands of the command line, its options, and operations that no tool is called by."""
    found = list(_errors())
    assert len(found) > 400
    told = [(where, part, advice(text) if part == "hint" else text) for where, part, text in found]
    wrong = [one for one in told if NOT_THEIRS.search(one[2])]
    assert not wrong, "\n".join(map(str, wrong))
