"""That a memory helped, or was wrong, moves its rank and its strength, never its words."""

from __future__ import annotations

import pytest

from oneiro_vault.errors import InvalidInput, NotFound
from tests.operations.conftest import Call, hits, stored

ASKED = "what is the boat called that lies in Bergen harbour?"


def test_what_was_wrong_comes_last_and_nowhere_unasked(call: Call) -> None:
    wrong = stored(call, "The boat is called Petrel and lies in Bergen harbour.")
    right = stored(call, "The boat in the harbour is a Fulmar.")
    assert hits(call, ASKED) == [wrong, right]
    assert call("inject", prompt=ASKED)["ids"] == [wrong]
    found = call("feedback", id=wrong, useful=False, reason="it was sold")
    assert (found["doubted"], found["strength"]) == (True, 0.0)
    assert hits(call, ASKED) == [right, wrong]
    assert wrong not in call("inject", prompt=ASKED)["ids"]
    assert call("show", id=wrong)["meta"]["status"] == "active"
    again = call("feedback", id=wrong, useful=True)
    assert again["strength"] > 0.9
    assert hits(call, ASKED) == [wrong, right]


def test_a_model_doubts_nothing_that_a_person_ratified(call: Call) -> None:
    ident = stored(call, "The boat is called Petrel.", type="orientation")
    call("ratify", id=ident)
    with pytest.raises(InvalidInput, match="ratified by a person"):
        call("feedback", id=ident, useful=False, actor="model")
    assert not call("feedback", id=ident, useful=True, actor="model")["doubted"]
    assert call("feedback", id=ident, useful=False)["doubted"]


def test_what_helped_fades_later(call: Call) -> None:
    ident = stored(call, "The staging database is reset at two.", created="2020-01-01")
    before = call("strength", id=ident)["strength"]
    call("feedback", id=ident, useful=True, reason="the import went well")
    assert call("strength", id=ident)["strength"] >= before
    assert call("why", id=ident)["uses"]["days"] == 1


def test_a_secret_in_a_reason_is_not_kept(call: Call, root: object) -> None:
    ident = stored(call, "The deploy key is in the safe.")
    call("feedback", id=ident, useful=False, reason="it is ghp_" + "a1B2" * 9)
    assert "ghp_" not in str(call("why", id=ident))
    with pytest.raises(NotFound):
        call("feedback", id="zzzzzzzzzzzz", useful=True)
