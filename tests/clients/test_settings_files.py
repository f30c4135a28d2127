"""A client's files: whole or not at all, links stay links, modes stay, and nobody's newer text is
lost."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from oneiro_vault.clients import settings_files
from oneiro_vault.errors import DiskProblem, ForeignFile


def test_bytes_go_through_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    data = "\ufeff{\r\n}\r\u2028 ".encode()
    path.write_bytes(data)
    text = settings_files.read(path)
    settings_files.write(path, text, (text or "") + "!")
    assert path.read_bytes() == data + b"!"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o660, 0o400])
def test_the_mode_stays(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "s.json"
    path.write_text("{}")
    path.chmod(mode)
    settings_files.write(path, "{}", "{ }")
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_is_the_persons_alone_and_its_folders_go_with_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "s.json"
    assert settings_files.read(path) is None
    settings_files.write(path, None, "{}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    settings_files.write(path, "{}", None)
    settings_files.unmake(path, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_folders_somebody_uses_are_not_taken_away(tmp_path: Path) -> None:
    settings_files.write(tmp_path / "a" / "b" / "s.json", None, "{}")
    settings_files.write(tmp_path / "a" / "b" / "s.json", "{}", None)
    (tmp_path / "a" / "theirs").touch()
    settings_files.unmake(tmp_path / "a" / "b" / "s.json", tmp_path)
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["theirs"]


def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "claude.json"
    real.write_text("{}")
    between = tmp_path / "between.json"
    between.symlink_to(real)
    link = tmp_path / ".claude.json"
    link.symlink_to("between.json")
    settings_files.write(link, "{}", "{ }")
    assert link.is_symlink()
    assert between.is_symlink()
    assert real.read_text() == "{ }"
    assert sorted(path.name for path in real.parent.iterdir()) == ["claude.json"]


def test_a_link_to_nothing_yet(tmp_path: Path) -> None:
    link = tmp_path / ".claude.json"
    link.symlink_to(tmp_path / "dotfiles" / "claude.json")
    assert settings_files.read(link) is None
    settings_files.write(link, None, "{}")
    assert (tmp_path / "dotfiles" / "claude.json").read_text() == "{}"
    settings_files.write(link, "{}", None)
    settings_files.unmake(link, tmp_path)
    assert link.is_symlink()
    assert not (tmp_path / "dotfiles").exists()


@pytest.mark.parametrize("after", ["ours", None])
@pytest.mark.parametrize("now", ["newer", None])
def test_what_somebody_wrote_meanwhile_stays(
    tmp_path: Path, now: str | None, after: str | None
) -> None:
    path = tmp_path / "s.json"
    if now is not None:
        path.write_text(now)
    with pytest.raises(settings_files.ChangedError):
        settings_files.write(path, "older", after)
    assert settings_files.read(path) == now
    assert len(list(tmp_path.iterdir())) == (now is not None)


def test_a_file_that_appeared_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text("theirs")
    with pytest.raises(settings_files.ChangedError):
        settings_files.write(path, None, "ours")
    assert path.read_text() == "theirs"


def test_what_is_no_settings_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ForeignFile, match="is not a settings file"):
        settings_files.read(tmp_path)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(ForeignFile, match="is not a settings file"):
        settings_files.read(fifo)
    bad = tmp_path / "latin.json"
    bad.write_bytes('{"a": 1,\n"näme": 2}'.encode("latin-1"))
    with pytest.raises(ForeignFile, match="line 2, column 3: not UTF-8"):
        settings_files.read(bad)


def test_a_disk_that_refuses(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("x")
    with pytest.raises(DiskProblem, match="cannot be read"):
        settings_files.read(blocked / "s.json")
    with pytest.raises(DiskProblem, match="cannot be written"):
        settings_files.write(blocked / "s.json", None, "{}")
    assert blocked.read_text() == "x"
