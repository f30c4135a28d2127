"""Which memories a line rests on."""

from __future__ import annotations

import pytest

from oneiro_vault.operations.read.grounds import grounds_of

SOURCES = {
    "boat": "i sail a boat called petrel, she lies in bergen",
    "kiln": "User: the kiln [2026-05-02] is in Leeds now, it was in York.",
    "none": "",
}


@pytest.mark.parametrize(
    ("line", "grounds"),
    [
        ("- On 2026-10-03 the person said: “i sail a boat called petrel”", ["boat"]),
        ("- “… a boat called petrel …”", ["boat"]),
        ("the kiln is in leeds now [2026-06-01]", ["kiln"]),
        ("The boat Petrel is called so and lies in Bergen.", ["boat"]),
        ("Nothing of the kind.", []),
        ("", []),
        ("“”", []),
    ],
)
def test_grounds(line: str, grounds: list[str]) -> None:
    assert grounds_of(line, SOURCES) == grounds


def test_without_sources() -> None:
    assert grounds_of("a boat", {}) == []
