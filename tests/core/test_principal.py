"""Who may do what: roles only ever grow, and whoever has no role may do nothing."""

from __future__ import annotations

import pytest

from oneiro_vault.core.principal import (
    ADMIN,
    CAPTURE,
    LOCAL,
    METHODS,
    ORIENT,
    READ,
    ROLES,
    TOOLS,
    WRITE,
    Caller,
)

EVERYTHING = {READ, WRITE, CAPTURE, ORIENT, ADMIN}


def test_roles_grow() -> None:
    assert ROLES["reader"] < ROLES["writer"] < ROLES["admin"] == ROLES["local"] == EVERYTHING
    assert ROLES["hook"] == {CAPTURE, ORIENT}


@pytest.mark.parametrize("role", ["", "owner", "ADMIN", "reader ", "user"])
def test_an_unknown_role_may_do_nothing(role: str) -> None:
    assert not any(Caller("model", role, "x").may(scope) for scope in EVERYTHING)


def test_the_users_own_program_may_do_everything_but_is_not_the_user() -> None:
    assert all(LOCAL.may(scope) for scope in EVERYTHING)
    assert LOCAL.actor == "model"
    assert not LOCAL.may("")


def test_every_need_is_a_scope() -> None:
    for table in (TOOLS, METHODS):
        assert set(table.values()) <= EVERYTHING
    assert {name for name, scope in TOOLS.items() if scope == WRITE} == {
        "remember",
        "remember_with_image",
        "reframe",
        "forget",
        "reflect",
        "learn",
    }
