from __future__ import annotations

import os
from pathlib import Path

import pytest

from oneiro_vault.app import index_folder
from oneiro_vault.daemon import owner_paths
from oneiro_vault.settings.definitions import Settings


def test_git_dir_of_an_ordinary_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert owner_paths.git_dir(str(tmp_path)) == str(tmp_path / ".git")


@pytest.mark.parametrize(
    ("text", "where"), [("gitdir: ../real\n", "real"), ("gitdir: {}/abs dir\n", "abs dir")]
)
def test_git_dir_of_a_linked_work_tree(tmp_path: Path, text: str, where: str) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / ".git").write_text(text.format(tmp_path))
    assert owner_paths.git_dir(str(tmp_path / "vault")) == str(tmp_path / where)


def test_a_socket_lives_beside_the_index() -> None:
    assert owner_paths.socket_paths("/v/.oneiro")[0] == "/v/.oneiro/socket"
    assert len(owner_paths.socket_paths("/v/.oneiro")) == 2


def test_a_path_too_long_for_a_socket_moves_to_the_runtime_folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = tmp_path_factory.mktemp("r")
    long = "/v/" + "é" * 60  # under 100 characters, over 100 bytes
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    (found,) = owner_paths.socket_paths(long)
    assert found.startswith(f"{runtime}/oneiro/")
    assert [found] != owner_paths.socket_paths(long + "2")
    assert len(os.fsencode(found)) <= 108


@pytest.mark.parametrize("base", ["", "relative", "/not/there", "/tmp/" + "x" * 90])
def test_without_a_usable_runtime_folder_it_is_tmp(
    base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", base)
    assert owner_paths.runtime_dir() == f"/tmp/oneiro-{os.getuid()}"


@pytest.mark.parametrize("configured", ["", "/elsewhere/index", "~/index"])
def test_the_index_folder_is_the_apps(configured: str) -> None:
    settings = Settings({"index.dir": configured} if configured else {})
    assert owner_paths.index_dir("/v", configured) == str(index_folder(Path("/v"), settings))
