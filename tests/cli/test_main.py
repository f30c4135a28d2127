"""The command that git runs, as git runs it and as a person might."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from oneiro_vault.cli.main import main, merge

BASE, OURS, THEIRS = "One.\n\nTwo.\n", "Uno.\n\nTwo.\n", "One.\n\nDue.\n"


@pytest.fixture
def versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("base", BASE), ("ours", OURS), ("theirs", THEIRS)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_merge_is_written_into_ours(versions: Path) -> None:
    assert main(["merge-driver", "base", "ours", "theirs", "a note.md"]) == 0
    assert (versions / "ours").read_text() == "Uno.\n\nDue.\n"
    assert ((versions / "base").read_text(), (versions / "theirs").read_text()) == (BASE, THEIRS)


def test_an_empty_base_is_none_and_a_clash_is_told(
    versions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (versions / "base").write_text("")
    assert merge(("base", "ours", "theirs", "x.md")) == 0
    assert capsys.readouterr().err == ""
    (versions / "base").write_text("Zero.\n\nTwo.\n")
    (versions / "ours").write_text(OURS)
    assert merge(("base", "ours", "theirs", "bär.md")) == 0
    assert "b\\xe4r.md: both sides changed the same words" in capsys.readouterr().err
    assert "> [!conflict]" in (versions / "ours").read_text()


def test_what_cannot_be_read_leaves_ours_as_it_is(
    versions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert merge(("gone", "ours", "theirs", "x.md")) == 1
    assert "x.md was not merged" in capsys.readouterr().err
    assert (versions / "ours").read_text() == OURS


def test_as_a_person_types_it(versions: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["merge-driver", "--no-daemon", "base", "ours", "theirs", "x.md"]) == 0
    assert (versions / "ours").read_text() == "Uno.\n\nDue.\n"
    assert main(["merge-driver", "base"]) == 2
    assert "OURS" in capfd.readouterr().err


def test_it_loads_the_merge_and_nothing_else() -> None:
    code = (
        "import sys; from oneiro_vault.cli.main import merge; merge([*'abcd']); print([m for "
        "m in ('yaml', 'frontmatter', 'json', 'pathlib', 'dataclasses', 'click') if m in "
        "sys.modules])"
    )
    env = {
        name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")
    }  # which loads some of them
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
