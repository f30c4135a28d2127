from __future__ import annotations

import os
from pathlib import Path

import pytest

from oneiro_vault.settings import locations


def test_git_dir_of_an_ordinary_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert locations.git_dir(str(tmp_path)) == str(tmp_path / ".git")


@pytest.mark.parametrize(
    ("text", "where"), [("gitdir: ../real\n", "real"), ("gitdir: {}/abs dir\n", "abs dir")]
)
def test_git_dir_of_a_linked_work_tree(tmp_path: Path, text: str, where: str) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / ".git").write_text(text.format(tmp_path))
    assert locations.git_dir(str(tmp_path / "vault")) == str(tmp_path / where)


def test_a_socket_lives_beside_the_index() -> None:
    assert locations.socket_paths("/v/.oneiro")[0] == "/v/.oneiro/socket"
    assert len(locations.socket_paths("/v/.oneiro")) == 2


def test_a_path_too_long_for_a_socket_moves_to_the_runtime_folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = tmp_path_factory.mktemp("r")
    long = "/v/" + "é" * 60  # under 100 characters, over 100 bytes
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    (found,) = locations.socket_paths(long)
    assert found.startswith(f"{runtime}/oneiro/")
    assert [found] != locations.socket_paths(long + "2")
    assert len(os.fsencode(found)) <= 108


@pytest.mark.parametrize("base", ["", "relative", "/not/there", "/tmp/" + "x" * 90])
def test_without_a_usable_runtime_folder_it_is_tmp(
    base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", base)
    assert locations.runtime_dir() == f"/tmp/oneiro-{os.getuid()}"


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("--vault /v recall x", "/v"),
        ("recall x --vault=/v", "/v"),
        ("recall -C /v", "/v"),
        ("recall x", ""),
        ("recall -- --vault /v", ""),
        ("recall --vault", ""),
    ],
)
def test_the_option(words: str, value: str) -> None:
    assert locations.option(words.split()) == value


def test_the_order(tmp_path: Path) -> None:
    (tmp_path / "near" / "deep").mkdir(parents=True)
    (tmp_path / "near" / "oneiro.toml").touch()
    here, env = str(tmp_path / "near" / "deep"), {"ONEIRO_VAULT": "/named"}
    assert locations.find("rel", here, env) == f"{here}/rel"
    assert locations.find("", here, env) == "/named"
    assert locations.find("", here, {}) == str(tmp_path / "near")
    assert locations.find("", str(tmp_path), {}) in ("", locations.nearest(str(tmp_path.parent)))


def test_home_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    assert locations.find("", "/", {"ONEIRO_VAULT": "~/v"}) == "/h/v"


@pytest.mark.parametrize(
    ("text", "vault"),
    [
        ('vault = "/a b"\n', "/a b"),
        ("# mine\n vault='/a'", "/a"),
        ('[x]\nvault = "/a"', ""),
        ('vault = "/a" # "why"', ""),
        ('vault = "/a\\u0020b"', ""),
        ('vault = """/a"""', ""),
        ("vault = 3", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_a_default_that_needs_no_parser(tmp_path: Path, text: str | None, vault: str) -> None:
    (tmp_path / "oneiro").mkdir()
    if text is not None:
        (tmp_path / "oneiro" / "config.toml").write_text(text)
    assert locations.plain_default({"XDG_CONFIG_HOME": str(tmp_path)}) == vault


@pytest.mark.parametrize("configured", ["/elsewhere/index", "~/index"])
def test_a_folder_for_many_indexes_has_one_for_each_vault(
    configured: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/elsewhere")
    assert locations.index_dir("/v") == "/v/.oneiro"
    one, other = (locations.index_dir(vault, configured) for vault in ("/v", "/w"))
    assert one != other
    assert os.path.dirname(one) == os.path.dirname(other) == "/elsewhere/index"
