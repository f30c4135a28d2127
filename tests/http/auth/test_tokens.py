"""Secrets are long, stored as hashes, and what we seal comes back unchanged or not at all."""

from __future__ import annotations

import pytest

from oneiro_vault.http.auth.tokens import (
    Seal,
    challenge,
    check_password,
    digest,
    hash_password,
    mint,
    same,
)


def test_secrets_have_256_bits_and_never_repeat() -> None:
    made = {mint() for _ in range(1000)}
    assert len(made) == 1000
    assert all(len(secret) == 43 and secret.isascii() for secret in made)


def test_a_hash_tells_nothing_and_compares() -> None:
    assert digest("a") != digest("b")
    assert len(digest("a")) == 64
    assert same(digest("a"), digest("a"))
    assert not same(digest("a"), digest("a")[:-1])
    assert not same("é", "e")
    assert not same("\ud800", "e")


def test_the_example_of_rfc_7636() -> None:
    assert (
        challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    )


def test_a_password() -> None:
    stored = hash_password("käse und brot ☕")
    assert "brot" not in str(stored)
    assert check_password("käse und brot ☕", stored)
    assert not check_password("käse und brot", stored)
    assert not check_password("", stored)
    assert hash_password("käse und brot ☕")["hash"] != stored["hash"]


def test_a_seal() -> None:
    seal = Seal(60)
    closed = seal.close({"a": ["☕", 1]}, 1000)
    assert seal.open(closed, 1060) == {"a": ["☕", 1]}
    assert seal.open(closed, 1060.1) is None


@pytest.mark.parametrize("text", ["", ".", "a.b", "é.é", "\ud800.", "." * 1000, "{}." + "0" * 64])
def test_what_was_not_sealed(text: str) -> None:
    assert Seal(60).open(text, 0) is None


def test_a_seal_of_somebody_else_and_a_changed_one() -> None:
    seal = Seal(60)
    closed = seal.close({"role": "reader"}, 0)
    assert Seal(60).open(closed, 0) is None
    for position in range(0, len(closed), 7):
        changed = (
            closed[:position] + ("A" if closed[position] != "A" else "B") + closed[position + 1 :]
        )
        assert seal.open(changed, 0) is None, position
