"""Which vault, project and settings a conversation has."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.app import init_vault
from oneiro_vault.capture.markers import ALLOW
from oneiro_vault.hook.hook_context import DEFAULTS, Place
from oneiro_vault.settings.definitions import BY_NAME


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    init_vault(tmp_path / "vault")
    return tmp_path / "vault"


def at(folder: Path, *argv: str) -> Place:
    return Place({"cwd": str(folder), "session_id": "s"}, argv)


def machine(text: str) -> None:
    import os

    path = Path(os.environ["XDG_CONFIG_HOME"], "oneiro", "config.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_defaults_are_those_of_the_table() -> None:
    assert {name: BY_NAME[name].default for name in DEFAULTS} == DEFAULTS


def test_the_ways_to_a_vault(vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "work"
    elsewhere.mkdir()
    assert at(elsewhere).root == ""
    assert at(vault / "semantic").root == str(vault)
    assert at(elsewhere, "SessionStart", "--vault", str(vault)).root == str(vault)
    machine(f'vault = "{vault}"\n')
    assert at(elsewhere).root == str(vault)
    machine('[other]\nx = 1\n["vault"]\n')
    assert at(elsewhere).root == ""
    machine(f'"vault" = """{vault}"""\n')
    assert at(elsewhere).root == str(vault)
    machine("broken [")
    assert at(elsewhere).root == ""
    monkeypatch.setenv("ONEIRO_VAULT", str(vault))
    assert at(elsewhere).root == str(vault)


def test_a_marker_chooses_the_vault_and_the_project(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    init_vault(tmp_path / "other")
    monkeypatch.setenv("ONEIRO_VAULT", str(vault))
    work = tmp_path / "ferry"
    (work / "src").mkdir(parents=True)
    (work / ALLOW).touch()
    assert (at(work / "src").root, at(work / "src").project) == (str(vault), "ferry")
    (work / ALLOW).write_text('vault = "../other"\nproject = "Ferry 2"')
    assert (at(work / "src").root, at(work / "src").project) == (str(tmp_path / "other"), "Ferry 2")
    (work / ALLOW).write_text('vault = "../nowhere"')
    assert at(work).root == ""


def test_a_marker_at_home_names_no_project(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ALLOW).touch()
    (tmp_path / "ferry").mkdir()
    assert at(tmp_path / "ferry").project == ""


def test_where_no_folder_is_named(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(vault))
    assert Place({}, ()).root == str(vault)
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    monkeypatch.chdir(vault)
    assert Place({"cwd": 7}, ()).root == str(vault)


@pytest.mark.parametrize(
    ("vaults", "machines", "variable", "expected"),
    [
        ("", "", "", 500),
        ("[inject]\ntokens = 90", "", "", 90),
        ("[inject]\ntokens = 90", "[inject]\ntokens = 80", "", 80),
        ("[inject]\ntokens = 90", "inject.tokens = 80", "70", 70),
        ("[inject]\ntokens = 0", "", "", 0),
        ("[inject]\ntokens = -1", "", "", 500),
        ("[inject]\ntokens = 'many'", "", "many", 500),
        ("[inject]\ntokens = true", "", "", 500),
        ("inject = 3", "broken [", "", 500),
    ],
)
def test_settings(
    vault: Path,
    monkeypatch: pytest.MonkeyPatch,
    vaults: str,
    machines: str,
    variable: str,
    expected: int,
) -> None:
    (vault / "oneiro.toml").write_text(vaults)
    machine(machines)
    monkeypatch.setenv("ONEIRO_INJECT_TOKENS", variable)
    assert at(vault).setting("inject.tokens") == expected


def test_a_vault_cannot_start_processes(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was pulled is untrusted: `owner.start` is the machine's own."""
    (vault / "oneiro.toml").write_text("[owner]\nstart = false")
    assert at(vault).setting("owner.start") is True
    machine("[owner]\nstart = false")
    assert at(vault).setting("owner.start") is False
    monkeypatch.setenv("ONEIRO_OWNER_START", "yes")
    assert at(vault).setting("owner.start") is True
