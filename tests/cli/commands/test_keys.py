"""`oneiro keys`: a key is shown once, listed, revoked; the password comes from a pipe; a wrong word
says what to do."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.box import Box, Lone
from tests.conftest import sealed


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Box:
    """A folder is vault enough: keys are this machine's own, and nothing of the vault is opened."""
    folder = tmp_path_factory.mktemp("keys")
    made = Lone(folder, sealed(folder))
    made.vault.mkdir()
    (made.vault / "oneiro.toml").write_text("")
    return made


def test_a_key_is_shown_once(box: Box) -> None:
    done = box("keys", "add", "--role", "writer", "--name", "laptop", "--expires", "30d")
    secret = done.stdout.decode().strip()
    assert re.fullmatch(r"onk_writer_[0-9a-z]{8}_[\w-]{43}", secret)
    assert b"cannot be shown again" in done.stderr
    assert secret not in done.stderr.decode()
    listed = box("keys", "list")
    assert secret[-43:] not in (listed.stdout + listed.stderr).decode()
    assert re.search(r"writer +until \S+ \S+ +never used +laptop", listed.stdout.decode())
    assert b"No password is set" in listed.stderr
    files = [path for path in box.folder.rglob("*") if path.is_file()]
    assert not any(secret[-43:].encode() in path.read_bytes() for path in files)
    assert not list(box.vault.rglob("*.json")), "nothing of it is in the vault"


def test_json(box: Box) -> None:
    made = box.json("keys", "add", "--role", "reader")
    found = {key["id"]: key for key in box.json("keys", "list")["keys"]}[made["id"]]
    assert made["key"].startswith("onk_reader_")
    assert (found["role"], found["valid"], found["revoked"], found["used"]) == (
        "reader",
        True,
        None,
        None,
    )
    ended = box.json("keys", "revoke", made["id"])["revoked"]
    assert (ended["id"], ended["kind"]) == (made["id"], "key")
    assert not {key["id"]: key for key in box.json("keys", "list")["keys"]}[made["id"]]["valid"]
    assert "revoked" in box.ok("keys", "list")


def test_the_password_comes_from_a_pipe(box: Box) -> None:
    assert "is set" in box.ok("keys", "login", stdin=b"four calm words here\r\nand a second line\n")
    assert box.json("keys", "list")["login"] is True
    assert "Nobody can log in" in box.ok("keys", "login", "--remove")
    assert "No password was set" in box.ok("keys", "login", "--remove")


@pytest.mark.parametrize(
    ("args", "stdin", "code", "words"),
    [
        (("add", "--role", "owner"), b"", 2, "owner"), (("add",), b"", 2, "--role"),
        (("add", "--role", "reader", "--expires", "soon"), b"", 2, "not a moment"),
        (("add", "--role", "reader", "--expires", "2001-01-01"), b"", 2, "expired already"),
        (("add", "--role", "reader", "--name", "a\x1b[31m"), b"", 2, "visible"),
        (("revoke", "nothing"), b"", 3, "there is no"),
        (("login",), b"short\n", 2, "10 to 1000 characters"),
        (("login",), b"", 2, "10 to 1000 characters"),
    ],
)  # fmt: skip
def test_what_is_refused(
    box: Box, args: tuple[str, ...], stdin: bytes, code: int, words: str
) -> None:
    done = box("keys", *args, stdin=stdin)
    assert done.returncode == code, done.stderr
    assert words in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_without_a_vault(box: Box, tmp_path: Path) -> None:
    done = box("--vault", str(tmp_path / "none"), "--json", "keys", "list")
    assert done.returncode == 5
    assert json.loads(done.stdout)["error"]["error"] == "VaultNotFound"
