"""Values of the wrong type are refused by name, before an operation sees them; what only looks is
heard by nobody."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from oneiro_vault.app import OPS, App
from oneiro_vault.errors import InvalidInput, OneiroError
from tests.operations.conftest import Call

STRANGE: tuple[Any, ...] = (
    5,
    None,
    [],
    ["x"],
    [1],
    [None],
    {},
    {"a": 1},
    True,
    -1,
    1.5,
    float("nan"),
    "",
    "\0",
    "\ud800",
    "x" * 1000,
)


@pytest.mark.parametrize("name", sorted(OPS.keys() - {"watch"}))  # watch ends when its caller does
def test_strange_values_are_answered_or_refused(app: App, name: str) -> None:
    parameters = OPS[name].parameters
    needed = {one.name: "kettle" for one in parameters.values() if one.default is one.empty}
    for parameter in parameters:
        for value in STRANGE:
            with suppress(OneiroError):
                assert isinstance(app.call(name, needed | {parameter: value}), dict)


@pytest.mark.parametrize(
    ("op", "params", "words"),
    [
        ("recall", {"query": 5}, "recall: query must be text, not '5'"),
        ("list", {"limit": True}, "list: limit must be a whole number, not 'True'"),
        (
            "recall",
            {"query": "x", "type": 1},
            "recall: type must be text or a list of texts, not '1'",
        ),
        (
            "remember",
            {"items": {"text": "x"}},
            "remember: items must be a list, not \"{'text': 'x'}\"",
        ),
        ("recall", {"query": "x", "explain": 1}, "recall: explain must be true or false, not '1'"),
    ],
)
def test_what_is_said(call: Call, op: str, params: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        call(op, **params)
    assert str(error.value) == words


def test_lists_take_one_type_or_several(call: Call) -> None:
    call(
        "remember",
        items=[{"text": "The kettle is blue."}, {"text": "We met in Basel.", "type": "episodic"}],
    )
    assert len(call("list", type=["semantic", "episodic"])["results"]) == 2
    assert len(call("list", type="episodic", status=["active"])["results"]) == 1


def test_who_only_looks_is_not_heard(app: App, call: Call) -> None:
    heard: list[str] = []
    end = app.listen(lambda: heard.append("changed"), writes=True)
    call("schedule")
    call("doctor")
    assert heard == []  # a page that shows them would ask anew for ever
    call("doctor", fix=True)
    assert heard
    end()
