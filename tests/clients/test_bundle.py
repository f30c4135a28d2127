"""The installable forms: what is in the repository is what the code makes, and a bundle for this
machine names this machine's program."""

from __future__ import annotations

import io
import json
import os
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

import oneiro_vault
from oneiro_vault.clients import bundle, entries
from oneiro_vault.clients.known_clients import Ours
from oneiro_vault.errors import DiskProblem, InvalidInput
from tests.clients import servers

ROOT = Path(__file__).parents[2]
OURS = Ours(("/opt/a b/oneiro",), "/home/pat/vault")


def test_the_plug_in_in_the_repository_is_what_the_code_makes() -> None:
    files = {f"skills/{path}": data for path, data in bundle.plugin_files(bundle.ON_PATH).items()}
    files[".claude-plugin/marketplace.json"] = bundle.marketplace("./skills")
    for path, data in files.items():
        if os.environ.get("GOLDEN") == "write":
            (ROOT / path).parent.mkdir(exist_ok=True)
            (ROOT / path).write_bytes(data)
        assert (ROOT / path).read_bytes() == data, f"{path}: `make golden` rewrites it"


def test_every_skill_and_every_event_is_in_the_plug_in() -> None:
    made = {path: json.loads(data) for path, data in bundle.plugin_files(OURS).items()}
    about = made[".claude-plugin/plugin.json"]
    assert about["skills"] == [
        f"./{path.parent.name}" for path in sorted((ROOT / "skills").glob("*/SKILL.md"))
    ]
    assert about["version"] == oneiro_vault.__version__
    assert "userConfig" not in about
    assert set(made["hooks/hooks.json"]["hooks"]) == set(entries.HOOKS)
    commands = [
        hook
        for groups in made["hooks/hooks.json"]["hooks"].values()
        for group in groups
        for hook in group["hooks"]
    ]
    commands.append(made[".mcp.json"]["mcpServers"]["oneiro"])
    assert {command["command"] for command in commands} == {"/opt/a b/oneiro"}
    assert {command["args"][-1] for command in commands} == {"/home/pat/vault"}


def test_a_plug_in_that_does_not_know_the_machine_takes_the_chosen_vault_from_the_environment(
    tmp_path: Path,
) -> None:
    """Run as Claude Code would run it, with the option set and with nobody having chosen."""
    listed = json.loads(bundle.plugin_files(bundle.ON_PATH)["hooks/hooks.json"])["hooks"]
    command = listed["SessionStart"][0]["hooks"][0]["command"]
    servers.oneiro(tmp_path, "")
    for option, wanted in (({"CLAUDE_PLUGIN_OPTION_VAULT": "/a b"}, "/a b"), ({}, "")):
        subprocess.run(
            command, shell=True, env={"PATH": str(tmp_path)} | option, check=True, timeout=30
        )
        assert (tmp_path / "called").read_text().splitlines()[-1] == repr(
            ["hook", "SessionStart", "--vault", wanted]
        )


def unpacked(data: bytes) -> tuple[dict[str, Any], zipfile.ZipFile]:
    archive = zipfile.ZipFile(io.BytesIO(data))
    assert archive.testzip() is None
    return json.loads(archive.read("manifest.json")), archive


def test_the_bundle_for_claude_desktop() -> None:
    manifest, archive = unpacked(bundle.mcpb(OURS, "darwin"))
    assert manifest["server"]["mcp_config"] == {
        "command": "/opt/a b/oneiro",
        "args": ["mcp", "--vault", "${user_config.vault}"],
    }
    assert manifest["user_config"]["vault"]["default"] == "/home/pat/vault"
    assert manifest["compatibility"]["platforms"] == ["darwin"]
    launcher = archive.getinfo(manifest["server"]["entry_point"])
    assert launcher.external_attr >> 16 == 0o100755
    assert archive.read(launcher) == b"#!/bin/sh\nexec '/opt/a b/oneiro' mcp \"$@\"\n"
    assert bundle.mcpb(OURS, "darwin") == bundle.mcpb(OURS, "darwin"), (
        "the same input makes the same bytes"
    )
    assert (
        "default" not in unpacked(bundle.mcpb(bundle.ON_PATH, "linux2"))[0]["user_config"]["vault"]
    )
    assert unpacked(bundle.mcpb(OURS, "freebsd14"))[0]["compatibility"]["platforms"] == ["linux"]


def test_a_bundle_is_whole_and_can_be_written_again(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    found = bundle.write(folder, OURS, "linux")
    market = json.loads((folder / ".claude-plugin" / "marketplace.json").read_text())
    plugin = folder / market["plugins"][0]["source"]
    assert plugin.resolve() == Path(found["plugin"]).resolve()
    for path, data in bundle.skills().items():
        assert (plugin / path).read_bytes() == data
    assert (plugin / "README.md").stat().st_size > 200
    assert Path(found["mcpb"]).read_bytes() == bundle.mcpb(OURS, "linux")
    (plugin / "dropped-in-a-later-version").mkdir()
    bundle.write(folder, Ours(("/new/oneiro",), "/v"), "linux")
    assert not (plugin / "dropped-in-a-later-version").exists()
    assert "/new/oneiro" in (plugin / ".mcp.json").read_text()


def test_a_folder_with_something_else_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("x")
    with pytest.raises(InvalidInput, match="is not empty"):
        bundle.write(tmp_path, OURS, "linux")
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]
    (tmp_path / ".claude-plugin").mkdir()
    (tmp_path / ".claude-plugin" / "marketplace.json").write_text('{"name": "theirs"}')
    with pytest.raises(InvalidInput, match="is not empty"):
        bundle.write(tmp_path, OURS, "linux")
    with pytest.raises(DiskProblem, match="cannot be written"):
        bundle.write(tmp_path / "theirs", OURS, "linux")


def test_the_skills_are_found_where_they_are_installed() -> None:
    assert "oneiro/SKILL.md" in bundle.skills()
    assert bundle.skills_dir().name == "skills"
