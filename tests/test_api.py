"""The typed Python API says what the operations are; `make golden` writes it anew."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import pytest

import oneiro_vault
from oneiro_vault.api import Operations
from oneiro_vault.app import open_vault
from oneiro_vault.errors import InvalidInput
from oneiro_vault.operations.table import OPS, Op

STUB = Path(oneiro_vault.__file__).with_name("api.pyi")
HEAD = '''"""The operations with their types, written by `make golden` from `operations/table.py`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from oneiro_vault import answers

Progress = Callable[[str, int, int], None]
Call = Callable[[str, Mapping[str, Any], Progress | None], Any]
AsyncCall = Callable[[str, Mapping[str, Any], Progress | None], Awaitable[Any]]

def quiet(_stage: str, _done: int, _total: int) -> None: ...
'''


def method(name: str, op: Op, kind: str) -> str:
    """One operation as a method of the stub."""
    given = [
        f"{one.name}: {one.annotation}"
        + ("" if one.default is one.empty else f" = {one.default!r}")
        for one in op.parameters.values()
    ]
    given += ["progress: Progress | None = None"] if op.reports else []
    arguments = ", ".join(["self", *(["*"] if given else []), *given])
    result = inspect.signature(op.run).return_annotation
    return f"    {kind}def {name}({arguments}) -> {result}: ...\n"


def stub() -> str:
    """What the stub has to be."""
    parts = [HEAD, "class Operations:\n"]
    parts += [method(name, op, "") for name, op in OPS.items()]
    parts += ["class Calls(Operations):\n    def __init__(self, call: Call) -> None: ...\n"]
    parts += ["class AsyncCalls:\n    def __init__(self, call: AsyncCall) -> None: ...\n"]
    parts += [method(name, op, "async ") for name, op in OPS.items()]
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(STUB), "-"]
    text = "\n".join(parts)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_types_are_those_of_the_operations() -> None:
    if os.environ.get("GOLDEN") == "write":
        STUB.write_text(stub(), encoding="utf-8")
    assert STUB.read_text(encoding="utf-8") == stub(), "`make golden` writes it anew"


def test_an_open_vault_has_every_operation_as_a_method(tmp_path: Path) -> None:
    oneiro_vault.app.init_vault(tmp_path / "vault")
    with open_vault(tmp_path / "vault", embed_model="hash") as vault:
        stored = vault.remember(items=[{"text": "The release is on Friday."}])
        found = vault.recall(query="when is the release?")
        assert found["results"][0]["id"] == stored["results"][0]["id"]
        heard: list[str] = []
        vault.check(progress=lambda stage, *_: heard.append(stage))
        assert heard
        with pytest.raises(InvalidInput, match="there is no operation 'remembr'"):
            vault.call("remembr")


def test_what_is_private_is_no_operation() -> None:
    with pytest.raises(AttributeError):
        attrgetter("__deepcopy__")(Operations())
