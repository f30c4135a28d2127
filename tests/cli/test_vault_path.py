from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.cli import vault_path


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
    assert vault_path.option(words.split()) == value


def test_the_order(tmp_path: Path) -> None:
    (tmp_path / "near" / "deep").mkdir(parents=True)
    (tmp_path / "near" / "oneiro.toml").touch()
    here, env = str(tmp_path / "near" / "deep"), {"ONEIRO_VAULT": "/named"}
    assert vault_path.find("rel", here, env) == f"{here}/rel"
    assert vault_path.find("", here, env) == "/named"
    assert vault_path.find("", here, {}) == str(tmp_path / "near")
    assert vault_path.find("", str(tmp_path), {}) in ("", vault_path.nearest(str(tmp_path.parent)))


def test_home_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    assert vault_path.find("", "/", {"ONEIRO_VAULT": "~/v"}) == "/h/v"


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
    assert vault_path.plain_default({"XDG_CONFIG_HOME": str(tmp_path)}) == vault
