"""What a writer may put under each key, and what the message says it must be."""

from __future__ import annotations

from typing import Any

import pytest

from oneiro_vault.core import memory
from oneiro_vault.core.frontmatter import fields
from oneiro_vault.errors import InvalidInput

GOOD: list[tuple[str, Any, Any]] = [
    ("title", "  two\nlines ", "two lines"),
    ("type", " Semantic ", "semantic"),
    ("tags", "one", ["one"]),
    ("tags", ("a", "", "b"), ["a", "b"]),
    ("derived_from", ["0123456789ab"], ["0123456789ab"]),
    ("superseded_by", "0123456789ab", "0123456789ab"),
    ("source", "import:My diary", "import:My diary"),
    ("source", "dream", "dream"),
    ("trust", "external", "external"),
    ("status", "dormant", "dormant"),
    ("keep", "newest", "newest"),
    ("importance", 1, 1),
    ("confidence", 0.6, 0.6),
    ("level", 0, 0),
    ("priority", -3, -3),
    ("core", False, False),
    ("mood", {"any": ["thing", 1]}, {"any": ["thing", 1]}),
]
BAD: list[tuple[str, Any]] = [
    ("title", 7), ("type", "two\nlines"), ("type", ["semantic"]), ("tags", [1]), ("tags", {"a": 1}),
    ("tags", ["a\nb"]),
    ("derived_from", ["a title"]), ("superseded_by", "abcd"), ("source", "import:"),
    ("source", "import:a\nb"), ("source", "me"),
    ("trust", "User"), ("status", "gone"), ("keep", "both"), ("importance", True),
    ("importance", "1"), ("importance", 1.01),
    ("confidence", float("nan")), ("level", -1), ("level", 1.0), ("turn", 10**10), ("budget", "5"),
    ("core", "yes"), ("id", "0123456789AB"),
    ("session", "a\u2028b"), ("created", 2024),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "written"), GOOD)
def test_what_may_be_written(key: str, value: Any, written: Any) -> None:
    assert fields.checked(key, value) == written


@pytest.mark.parametrize(("key", "value"), BAD)
def test_what_may_not_says_what_it_must_be(key: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        fields.checked(key, value)
    assert str(caught.value).startswith(f"{key} must be {fields.EXPECTED[key]}, not ")


@pytest.mark.parametrize("key", ["", " ", "a\nb", "a\x85b", 7])
def test_keys_that_are_no_names(key: Any) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name of a key"):
        fields.checked(key, 1)


@pytest.mark.parametrize(
    ("key", "value"), [(key, written) for key, _, written in GOOD if key != "mood"]
)
def test_whatever_is_let_through_reads_back_without_a_problem(key: str, value: Any) -> None:
    from oneiro_vault.core.frontmatter.yaml_block import compose, encode

    note = memory.parse("a.md", encode(compose({"type": "semantic", key: value}, "Words.\n")))
    assert note.problems == ()
