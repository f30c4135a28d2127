"""Every client, set up and given back: on real files, with a real process answering for the
server."""

from __future__ import annotations

import json
import os
import threading
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.clients import installing
from oneiro_vault.clients.known_clients import CLIENTS, Machine, Ours
from oneiro_vault.errors import DiskProblem, ForeignFile, InvalidInput
from tests.clients import servers

BEFORE = {
    "json": '{\n    "numStartups": 12,\n    "mcpServers": {\n        "files": {"command": '
    '"files"}\n    },\n\t"hooks": {}\n}',
    "jsonc": '\ufeff{\r\n  // what I like\r\n  "theme": "dark", /* really */\r\n  "servers": { '
    '"a": {}, },\r\n}\r\n',
    "toml": '# mine\nmodel = "m"  # the good one\n\n[mcp_servers.files]\ncommand = "files"\n\n'
    "[profiles.x]\n# end without a line end",
    "yaml": "# mine\nGOOSE_MODE: auto  # really\nextensions:\n    developer:\n        type: builtin\n"
    "\n    # the last one\n    memory: {type: builtin, enabled: true}\nGOOSE_X: |\n  a\n  b",
}
EDITS = {
    "json": ("{", '{"mine": 1, '),
    "jsonc": ("{", '{"mine": 1, '),
    "toml": ('model = "m"', 'model = "n"'),
    "yaml": ("GOOSE_MODE: auto", "GOOSE_MODE: chat"),
}
BROKEN = {
    "json": (b'{\n  "a": 1\n  "b": 2\n}', 3),
    "jsonc": (b'{\n  "a": 1\n  "b": 2\n}', 3),
    "toml": (b"a = 1\nb = = 2\n", 2),
    "yaml": (b"a: 1\nb: [2\nc: 3\n", 3),
}


class Place:
    """A home folder with a client's files in it, and our program."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.vault = str(folder / "my vault")
        self.machine = Machine("linux", self.home, {"PATH": "/usr/bin:/bin"})
        self.listed = self.home / ".config" / "oneiro" / "setup.json"
        self.ours = Ours((str(servers.oneiro(self.bin)),), self.vault)

    def install(self, name: str, **more: Any) -> Mapping[str, Any]:
        return installing.install(name, self.machine, self.ours, self.listed, **more)

    def remove(self, name: str, **more: Any) -> Mapping[str, Any]:
        return installing.remove(name, self.machine, self.listed, **more)

    def targets(self, name: str) -> list[tuple[Path, str]]:
        return [
            (Path(target.path), target.style)
            for target in CLIENTS[name].targets(self.machine, self.ours)
        ]

    def fill(self, name: str) -> None:
        for path, style in self.targets(name):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(BEFORE[style], newline="")

    def tree(self) -> dict[str, tuple[int, bytes | str]]:
        """Every file below home: its mode, and its bytes or where it leads. `.config` holds our own
        settings and the list of our files."""
        found: dict[str, tuple[int, bytes | str]] = {}
        for path in sorted(self.home.rglob("*")):
            data = (
                os.readlink(path)
                if path.is_symlink()
                else path.read_bytes()
                if path.is_file()
                else ""
            )
            found[str(path.relative_to(self.home))] = (path.lstat().st_mode, data)
        found.pop(".config", None)
        return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("filled", [True, False], ids=["theirs", "nothing"])
@pytest.mark.parametrize("name", CLIENTS)
def test_setup_and_remove_leave_every_byte_as_it_was(place: Place, name: str, filled: bool) -> None:
    if filled:
        place.fill(name)
    before = place.tree()
    found = place.install(name)
    assert [check["ok"] for check in found["checks"]] == [True], found["checks"]
    assert found["checks"][0]["tools"] == ["remember", "recall_check"]
    settings = [file["change"] for file in found["files"] if "/skills/" not in file["path"]]
    assert set(settings) == {"edited" if filled else "created"}
    assert (place.bin / "called").read_text() == repr(["mcp", "--vault", place.vault]) + "\n"
    during = place.tree()
    again = place.install(name)
    assert {file["change"] for file in again["files"]} == {"unchanged"}
    assert place.tree() == during, "a second setup changes nothing"
    removed = place.remove(name)
    settings = [file["change"] for file in removed["files"] if "/skills/" not in file["path"]]
    assert set(settings) == {"edited" if filled else "deleted"}
    assert place.tree() == before
    assert {file["change"] for file in place.remove(name)["files"]} == {"unchanged"}
    assert place.tree() == before


@pytest.mark.parametrize("name", CLIENTS)
def test_what_a_person_edits_in_between_stays(place: Place, name: str) -> None:
    place.fill(name)
    place.install(name)
    wanted = {}
    for path, style in place.targets(name):
        old, new = EDITS[style]
        path.write_text(path.read_bytes().decode().replace(old, new, 1), newline="")
        wanted[path] = BEFORE[style].replace(old, new, 1).encode()
    place.remove(name)
    assert {path: path.read_bytes() for path in wanted} == wanted
    assert not place.listed.exists()


@pytest.mark.parametrize("name", CLIENTS)
def test_dry_run_shows_and_writes_nothing(place: Place, name: str) -> None:
    place.fill(name)
    before = place.tree()
    found = place.install(name, dry_run=True)
    assert place.tree() == before
    assert not (place.bin / "called").exists()
    for file in found["files"]:
        assert file["change"] == ("created" if "/skills/" in file["path"] else "edited")
        assert "+" in file["diff"]
        assert file["path"] in file["diff"]
    place.install(name)
    during = place.tree()
    assert all("\n-" in file["diff"] for file in place.remove(name, dry_run=True)["files"])
    assert place.tree() == during


def test_a_diff_says_when_a_file_has_no_last_line_end(place: Place) -> None:
    path = place.home / ".claude.json"
    path.write_text('{"a": 1}')
    diff = place.install("claude-code", dry_run=True)["files"][0]["diff"]
    assert diff.count("\\ No newline at end of file") == 2


@pytest.mark.parametrize("name", CLIENTS)
def test_a_broken_file_is_refused_by_its_place_and_no_file_is_written(
    place: Place, name: str
) -> None:
    last, style = place.targets(name)[-1]
    place.fill(name)
    text, row = BROKEN[style]
    last.write_bytes(text)
    before = place.tree()
    for act in (place.install, place.remove):
        with pytest.raises(ForeignFile) as caught:
            act(name)
        assert f"{last}: line {row}, column " in str(caught.value)
        assert place.tree() == before


def test_somebody_elses_server_of_our_name_is_not_touched(place: Place) -> None:
    path = place.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {\n "oneiro": {"command": "another-oneiro"}}}')
    with pytest.raises(
        ForeignFile, match='line 2, column 2: there is another server called "oneiro"'
    ):
        place.install("cursor")
    assert place.remove("cursor")["files"][0]["change"] == "unchanged"


def test_links_and_modes_stay(place: Place) -> None:
    dotfiles = place.home / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "settings.json").write_text(BEFORE["json"])
    (dotfiles / "settings.json").chmod(0o640)
    (place.home / ".claude").symlink_to("dotfiles")
    (place.home / ".claude.json").symlink_to(place.home / "dotfiles" / "elsewhere" / "state.json")
    before = place.tree()
    place.install("claude-code")
    assert (place.home / ".claude.json").is_symlink()
    assert "oneiro" in (dotfiles / "settings.json").read_text()
    assert "oneiro" in (dotfiles / "elsewhere" / "state.json").read_text()
    place.remove("claude-code")
    assert place.tree() == before


def test_a_client_that_keeps_writing_its_file_loses_nothing(place: Place) -> None:
    """Claude Code rewrites its settings all the time, under its lock: every one of its writes is
    there in the end, and so is ours."""
    path = place.home / ".claude.json"
    path.write_text("{}")
    lock = path.with_name(".claude.json.lock")
    stop = threading.Event()
    written: list[int] = []

    def busy() -> None:
        while not stop.is_set():
            try:
                lock.mkdir()
            except FileExistsError:
                time.sleep(0.001)
                continue
            data = json.loads(path.read_text()) | {f"n{len(written)}": 1}
            time.sleep(0.002)
            path.write_text(json.dumps(data))
            written.append(len(written))
            lock.rmdir()
            time.sleep(0.005)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        place.install("claude-code")
    finally:
        stop.set()
        thread.join()
    found = json.loads(path.read_text())
    assert found.pop("mcpServers")["oneiro"]["command"] == place.ours.program[0]
    assert set(found) == {f"n{number}" for number in written}
    assert not lock.exists()


@pytest.mark.parametrize("age", [0, 60])
def test_a_lock_nobody_lets_go_of_does_not_stop_us_and_stays(place: Place, age: int) -> None:
    lock = place.home / ".claude.json.lock"
    lock.mkdir()
    os.utime(lock, (time.time() - age, time.time() - age))
    (place.home / ".claude.json").write_text("{}")
    assert place.install("claude-code")["files"][0]["change"] == "edited"
    assert lock.exists()


def test_a_failing_server_is_told_and_the_files_stay(place: Place) -> None:
    servers.oneiro(place.bin, servers.DIES)
    found = place.install("gemini")
    assert [check["ok"] for check in found["checks"]] == [False]
    assert "the vault is on fire" in found["checks"][0]["reason"]
    assert "oneiro" in (place.home / ".gemini" / "settings.json").read_text()


@pytest.mark.parametrize("name", CLIENTS)
def test_settings_are_given_back_without_a_note_of_what_was_done(place: Place, name: str) -> None:
    place.fill(name)
    before = place.tree()
    place.install(name)
    place.listed.unlink(missing_ok=True)
    place.remove(name)
    after = place.tree()
    assert {path: after[path] for path in before} == before


def test_the_plug_in_beside_setup_is_noticed(place: Place) -> None:
    settings = place.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(
        '{"enabledPlugins": {"oneiro@oneiro-vault": true, "other@x": true, "oneiro@old": false}}'
    )
    assert [note.split()[2] for note in place.install("claude-code")["notes"]] == [
        "oneiro@oneiro-vault"
    ]
    assert any("autoMemoryEnabled" in step for step in place.install("claude-code")["next"])


def test_an_unknown_client_and_a_folder_that_cannot_be_written(place: Place) -> None:
    with pytest.raises(InvalidInput, match="there is no client 'emacs'"):
        place.install("emacs")
    (place.home / ".cursor").write_text("a file where the folder should be")
    with pytest.raises(DiskProblem):
        place.install("cursor")


SKILL = ".claude/skills/oneiro/SKILL.md"


@pytest.mark.parametrize(
    "mine", [None, "", '# mine\nvault = "/v"\n[dreams]\ncalls = 9\n'], ids=["none", "empty", "mine"]
)
def test_skills_settings_and_marker_are_put_there_and_leave_every_byte_as_it_was(
    place: Place, mine: str | None
) -> None:
    settings, marker = (
        place.listed.with_name("config.toml"),
        place.home / "work" / ".oneiro-capture",
    )
    marker.parent.mkdir()
    if mine is not None:
        settings.parent.mkdir(parents=True)
        settings.write_text(mine)
    before = place.tree()
    values = {"dreams.command": '/opt/my "claude"', "dreams.calls": 5}
    for _ in range(2):
        found = place.install("claude-code", values=values, marker=marker)
    assert {file["change"] for file in found["files"]} == {"unchanged"}
    told = tomllib.loads(settings.read_text())
    assert (told["dreams.command"], "dreams.calls" in told) == ('/opt/my "claude"', not mine), (
        "what a person has set stays"
    )
    assert tomllib.loads(marker.read_text()) == {"vault": place.vault}
    assert "name: oneiro" in (place.home / SKILL).read_text()
    place.install("codex", values={"dreams.command": "codex", "mcp.tools": "dreams"})
    assert tomllib.loads(settings.read_text())["dreams.command"] == '/opt/my "claude"'
    place.remove("claude-code", marker=marker.name)
    assert tomllib.loads(settings.read_text())["mcp.tools"] == "dreams"
    place.remove("codex")
    assert place.tree() == before
    assert (settings.read_text() if settings.exists() else None) == mine


def test_a_skill_of_that_name_or_one_that_was_edited_stays(place: Place) -> None:
    theirs, edited = place.home / ".claude/skills/dream/SKILL.md", place.home / SKILL
    theirs.parent.mkdir(parents=True)
    theirs.write_text("theirs")
    place.install("claude-code")
    assert theirs.read_text() == "theirs"
    edited.write_text("edited")
    place.install("claude-code")
    place.remove("claude-code")
    assert (theirs.read_text(), edited.read_text()) == ("theirs", "edited")
    assert not (place.home / ".claude/skills/wisdom").exists()
