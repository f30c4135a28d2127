from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.app import OPS
from oneiro_vault.cli.group import COMMANDS
from oneiro_vault.daemon import protocol
from oneiro_vault.daemon.protocol import Request, Terminal

WORD = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
NAME = st.text(st.characters(codec="utf-8", exclude_characters="\0="), min_size=1)


@given(st.lists(WORD), WORD, st.dictionaries(NAME, WORD), st.integers(0, 500), st.booleans())
def test_a_request_survives_the_way(
    argv: list[str], cwd: str, env: dict[str, str], width: int, color: bool
) -> None:
    found = Request.unpack(Request(argv, cwd, env, Terminal(width, color)).pack())
    assert (found.argv, found.cwd, found.env, found.terminal.width, found.terminal.color) == (
        argv,
        cwd,
        env,
        width,
        color,
    )


def test_bytes_that_are_not_text_survive_too() -> None:
    odd = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert Request.unpack(Request([odd, ""], odd, {}, Terminal()).pack()).argv == [odd, ""]


@pytest.mark.parametrize("data", [b"", b"a\0b", b"/\0x\0plain\0\0list"])
def test_rubbish_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        Request.unpack(data)


@given(st.integers(-1, 255), st.binary(), st.binary(), st.integers(0, 3))
def test_an_answer_survives_the_way(code: int, out: bytes, err: bytes, beats: int) -> None:
    assert protocol.unpack_answer(
        b"".join([protocol.BEAT + b"\n", protocol.BEAT + b"indexing 1 of 4 (25%)\n"] * beats)
        + protocol.pack_answer(code, out, err)
    ) == (code, out, err)


@pytest.mark.parametrize("data", [b"", b"...", b"=1 2", b"oops\n"])
def test_half_an_answer_is_none(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        protocol.unpack_answer(data)


def test_the_reads_are_the_apps() -> None:
    assert {name for name, op in OPS.items() if op.reads_only} == protocol.READS


def test_hot_commands_exist() -> None:
    assert set(COMMANDS) >= protocol.HOT
