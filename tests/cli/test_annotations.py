"""Problems as GitHub annotations: nothing in a note can end a command or begin another."""

from __future__ import annotations

from typing import Any

from oneiro_vault.cli.render import workflow_commands


def problem(level: str, path: str, message: str, **more: Any) -> Any:
    return {
        "level": level,
        "path": path,
        "code": "shape",
        "message": message,
        "hint": "",
        "line": None,
    } | more


def test_levels_and_places() -> None:
    found = [
        problem("info", "", "all of it"),
        problem("warning", "b.md", "odd", hint="Mend it."),
        problem("error", "a.md", "bad", line=7),
    ]
    assert workflow_commands(found).splitlines() == [
        "::error file=a.md,line=7,title=oneiro shape::bad",
        "::warning file=b.md,line=1,title=oneiro shape::odd Mend it.",
        "::notice title=oneiro shape::all of it",
    ]


def test_what_separates_is_escaped() -> None:
    (line,) = workflow_commands(
        [problem("error", "a,b:c%.md", "one\r\n::error::two 100%")]
    ).splitlines()
    assert (
        line == "::error file=a%2Cb%3Ac%25.md,line=1,title=oneiro shape::one%0A::error::two 100%25"
    )
