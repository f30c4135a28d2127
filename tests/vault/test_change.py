"""What a writer wants, as data."""

from __future__ import annotations

import dataclasses

import pytest

from oneiro_vault.vault.change import OPS, Operation, Receipt, Remove, Write


def test_an_operation_is_one_of_the_closed_set() -> None:
    assert {"remember", "reframe", "forget", "restore", "edit", "ledger"} <= OPS
    for op in OPS:
        assert Operation(op, "title").actor == "user"
    with pytest.raises(ValueError, match="'Remember' is not an operation"):
        Operation("Remember", "title")


def test_changes_are_values() -> None:
    write = Write("a.md", b"x")
    assert write == Write("a.md", b"x", base=None, proposal=None)
    assert hash(write) != hash(Remove("a.md", "0" * 64))
    with pytest.raises(dataclasses.FrozenInstanceError):
        write.path = "b.md"  # type: ignore[misc]  # frozen: that is what is tried


def test_receipts_share_nothing() -> None:
    one, other = Receipt(""), Receipt("")
    one.written["a.md"] = "0"
    assert other.written == {}
    assert (other.removed, other.proposals) == ((), {})
