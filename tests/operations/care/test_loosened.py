"""A vault that was pulled loosens no setting that protects: a person of this machine has to want
it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from oneiro_vault.app import App, clone_vault, trust
from oneiro_vault.errors import SecretFound
from oneiro_vault.settings import definitions
from oneiro_vault.settings.definitions import load
from tests.copies import new_vault
from tests.operations.erasure import remember
from tests.sync.support import bare
from tests.vault.support import git

TOKEN = "ghp_" + "AbCdEf0123456789" * 2 + "abcd"
MARK = hashlib.sha256(TOKEN.encode()).hexdigest()
LOOSE = f'[secrets]\nmode = "off"\nallowed = "{MARK}"\n[dreams]\nreview = false\nbrake = 1.0\n'
ENV = {"ONEIRO_EMBED_MODEL": "hash", "ONEIRO_EDITS_QUIET": "0", "ONEIRO_DISK_RESERVE": "0"}


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**ENV, "XDG_CONFIG_HOME": str(tmp_path / "config")}.items():
        monkeypatch.setenv(name, value)


def opened(root: Path) -> App:
    return App.open(root, load(root, strict=False))


def secret_goes_in(app: App, number: int = 0) -> bool:
    try:
        remember(app, f"Token {number}: {TOKEN}")
    except SecretFound:
        return False
    return True


def pushed(root: Path, settings: str) -> None:
    """Somebody changes the vault's settings elsewhere, and shares them."""
    (root / "oneiro.toml").write_text(settings)
    git(root, "commit", "-qam", "loose")
    git(root, "push", "-q", "origin", "main")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two copies around a remote."""
    remote = bare(tmp_path / "remote.git")
    one, two = tmp_path / "one", tmp_path / "two"
    new_vault(one)
    git(one, "remote", "add", "origin", str(remote))
    (one / "oneiro.toml").write_text("[dreams]\nreview = true\nbrake = 0.05\n")
    with opened(one) as app:
        remember(app, "The boat is called Petrel.")
        app.call("sync")
    clone_vault(str(remote), two, load(None))
    with opened(two):
        pass
    return one, two


@pytest.mark.parametrize("by_hand", [False, True])
def test_what_is_pulled_loosens_nothing(pair: tuple[Path, Path], by_hand: bool) -> None:
    one, two = pair
    pushed(one, LOOSE)
    if by_hand:
        git(two, "pull", "-q")
    with opened(two) as app:
        said = app.call("sync")["loosened"]
        assert [text.split(",")[0].split(" (")[0] for text in said] == [
            'oneiro.toml sets secrets.mode to "off"',
            "oneiro.toml allows a text that looks like a secret",
            "oneiro.toml sets dreams.review to false",
            "oneiro.toml sets dreams.brake to 1.0",
        ]
        assert all("`oneiro trust`" in text for text in said)
        assert app.call("status")["loosened"] == said
        assert [
            one["message"] for one in app.call("doctor")["problems"] if one["code"] == "loosened"
        ] == said
        assert [
            one["message"] for one in app.call("check")["problems"] if one["code"] == "loosened"
        ] == said
        assert not secret_goes_in(app)
    assert (two / "oneiro.toml").read_text() == LOOSE, "the file itself is what everybody has"
    with opened(two) as app:
        assert not secret_goes_in(app), "nor when it is opened once more"
        now = app.house.settings
        assert (
            now["secrets.mode"],
            now["secrets.allowed"],
            now["dreams.review"],
            now["dreams.brake"],
        ) == ("block", "", True, 0.05)


def test_a_person_agrees_and_what_becomes_strict_again_is_asked_again(
    pair: tuple[Path, Path],
) -> None:
    _, two = pair
    (two / "oneiro.toml").write_text(LOOSE)
    git(two, "commit", "-qam", "as if pulled")
    seen: list[str] = []

    def declines(found: Sequence[str]) -> bool:
        seen.extend(found)
        return False

    assert len(trust(two, os.environ, declines)) == 4
    assert "secrets.mode" in seen[0]
    with opened(two) as app:
        assert not secret_goes_in(app)
    assert trust(two, os.environ, lambda _found: True) == []
    with opened(two) as app:
        assert app.call("status")["loosened"] == []
        assert secret_goes_in(app)
    (two / "oneiro.toml").write_text("")
    with opened(two) as app:
        assert app.house.settings["secrets.mode"] == "block"
    (two / "oneiro.toml").write_text(LOOSE)
    git(two, "add", "oneiro.toml")
    git(two, "commit", "-qm", "again", "--allow-empty")
    with opened(two) as app:
        assert "secrets.mode" in app.call("status")["loosened"][0]


def test_what_is_changed_by_hand_is_asked_about_too(pair: tuple[Path, Path]) -> None:
    one, _ = pair
    (one / "oneiro.toml").write_text(f'[secrets]\nallowed = "{MARK}"\n')
    with opened(one) as app:
        assert not secret_goes_in(app)
    assert trust(one, os.environ, lambda _found: True) == []
    with opened(one) as app:
        assert app.call("status")["loosened"] == []
        assert secret_goes_in(app, 1)


def test_blanks_in_an_allow_list_loosen_nothing(pair: tuple[Path, Path]) -> None:
    one, _ = pair
    strict = "[dreams]\nreview = true\nbrake = 0.05\n"
    (one / "oneiro.toml").write_text(
        f'[secrets]\nallowed = """\n{MARK}\n\n  {"0" * 64}\n"""\n{strict}'
    )
    git(one, "commit", "-qam", "as if pulled")
    assert len(load(one, strict=False).loosened) == 1
    assert trust(one, os.environ, lambda _found: True) == []
    assert load(one, strict=False).loosened == ()


def test_the_machines_own_word_counts(pair: tuple[Path, Path], tmp_path: Path) -> None:
    one, _ = pair
    (one / "oneiro.toml").write_text('[secrets]\nmode = "off"\n')
    git(one, "commit", "-qam", "as if pulled")
    (tmp_path / "config/oneiro").mkdir(parents=True, exist_ok=True)
    (tmp_path / "config/oneiro/config.toml").write_text('[secrets]\nmode = "off"\n')
    with opened(one) as app:
        assert not [text for text in app.call("status")["loosened"] if "secrets" in text]
        assert secret_goes_in(app)


@pytest.mark.parametrize("setting", [f'allowed = "{MARK}"', 'mode = "off"'])
def test_what_a_vault_lets_pass_is_a_warning_of_check(
    pair: tuple[Path, Path], setting: str
) -> None:
    """Where nobody has agreed to anything (a workflow's fresh clone) a list that everybody shares
    must not stop a pull request."""
    one, two = pair
    (one / "note.md").write_text(f"It is {TOKEN}.\n")
    (one / "oneiro.toml").write_text(f"[secrets]\n{setting}\n")
    git(one, "add", "-A")
    git(one, "commit", "-qm", "by hand")
    git(one, "push", "-q", "origin", "main")
    git(two, "pull", "-q")
    with opened(two) as app:
        assert [
            found["level"] for found in app.call("check")["problems"] if found["code"] == "secret"
        ] == ["warning"]


@pytest.mark.parametrize(
    "record", ["", "[]", "{", '{"secrets.mode": 5, "dreams.brake": "x"}', "\0"]
)
def test_a_damaged_record_agrees_to_nothing(pair: tuple[Path, Path], record: str) -> None:
    one, _ = pair
    (one / "oneiro.toml").write_text('[secrets]\nmode = "off"\n')
    git(one, "commit", "-qam", "as if pulled")
    definitions.agreed_file(one).write_text(record)
    with opened(one) as app:
        assert not secret_goes_in(app)


def test_the_record_is_where_no_pull_reaches(pair: tuple[Path, Path], tmp_path: Path) -> None:
    one, _ = pair
    assert json.loads((one / ".git/oneiro/agreed.json").read_text())["dreams.review"] is True
    git(one, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    assert (
        definitions.agreed_file(tmp_path / "tree") == one / ".git/worktrees/tree/oneiro/agreed.json"
    )
