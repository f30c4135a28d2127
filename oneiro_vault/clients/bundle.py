"""The installable forms: a Claude Code plug-in with its marketplace file, and an `.mcpb` bundle for
Claude Desktop.

The plug-in in the repository (`skills/`, listed by `.claude-plugin/marketplace.json`) is what
`plugin_files` makes for the command `oneiro` on the PATH; `write` makes one for this machine's own
command and vault.
"""

from __future__ import annotations

import io
import json
import shlex
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import oneiro_vault
from oneiro_vault.clients.entries import NAME, hooks, server
from oneiro_vault.clients.known_clients import Ours
from oneiro_vault.errors import DiskProblem, InvalidInput

MARKET: Final = "oneiro-vault"
ON_PATH: Final = Ours(("oneiro",), "${user_config.vault}")
"""For a plug-in that does not know the machine: the command from the PATH, the vault a person
chooses (none: the machine's default)."""
_ABOUT: Final = "A memory for AI models that is a folder of Markdown in a git repository"
_AUTHOR: Final = {"name": "the oneiro-vault founders"}
_VAULT: Final = {
    "type": "directory",
    "title": "Vault",
    "description": "The folder of the vault (made by: oneiro init FOLDER)",
}
_STAMP: Final = (2020, 1, 1, 0, 0, 0)
"""Of every file in an archive, so that the same input makes the same bytes."""


def skills_dir() -> Path:
    """The skills: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "skills"
    return inside if inside.is_dir() else package.parent / "skills"


def skills() -> dict[str, bytes]:
    """`NAME/SKILL.md`, `NAME/references/…` -> bytes, of every skill."""
    folder = skills_dir()
    found = sorted(
        path
        for mark in folder.glob("*/SKILL.md")
        for path in mark.parent.rglob("*")
        if path.is_file()
    )
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def plugin_files(ours: Ours) -> dict[str, bytes]:
    """What makes the skills a plug-in: path -> bytes, without the skills themselves."""
    about: dict[str, Any] = {
        "name": NAME,
        "version": oneiro_vault.__version__,
        "description": _ABOUT,
        "author": _AUTHOR,
        "license": "MIT",
        "keywords": ["memory", "mcp", "markdown", "git"],
        "skills": [f"./{name}" for name in sorted({path.split("/")[0] for path in skills()})],
    }
    if ours.vault == ON_PATH.vault:
        about["userConfig"] = {"vault": _VAULT | {"required": False, "default": ""}}
    spelled = _for_a_shell if ours.vault == ON_PATH.vault else server
    listed = {want.path[1]: [want.entry] for want in hooks(ours.program, ours.vault, spelled)}
    return {
        ".claude-plugin/plugin.json": _json(about),
        ".mcp.json": _json({"mcpServers": {NAME: server(ours.mcp)}}),
        "hooks/hooks.json": _json(
            {"description": "Orientation, relevant memories, capture", "hooks": listed}
        ),
    }


def _for_a_shell(line: Sequence[str]) -> dict[str, Any]:
    """With the chosen vault from the environment: Claude Code runs no hook whose arguments name an
    option that nobody has set."""
    words = [
        '"$CLAUDE_PLUGIN_OPTION_VAULT"' if word == ON_PATH.vault else shlex.quote(word)
        for word in line
    ]
    return {"command": " ".join(words)}


def marketplace(source: str) -> bytes:
    """The file that lists the plug-in, which lies at `source` (from the marketplace's root)."""
    plugin = {"name": NAME, "source": source, "description": _ABOUT}
    return _json(
        {"name": MARKET, "owner": _AUTHOR, "metadata": {"description": _ABOUT}, "plugins": [plugin]}
    )


def mcpb(ours: Ours, platform: str) -> bytes:
    """A bundle for Claude Desktop on this machine: it starts the installed program and asks which
    vault to use."""
    launcher = f'#!/bin/sh\nexec {shlex.join(ours.program)} mcp "$@"\n'
    manifest = {
        "manifest_version": "0.4",
        "name": NAME,
        "display_name": "oneiro-vault",
        "version": oneiro_vault.__version__,
        "description": _ABOUT,
        "author": _AUTHOR,
        "license": "MIT",
        "keywords": ["memory", "markdown", "git"],
        "server": {
            "type": "binary",
            "entry_point": "server/oneiro",
            "mcp_config": server(Ours(ours.program, "${user_config.vault}").mcp),
        },
        "tools_generated": True,
        "user_config": {
            "vault": _VAULT
            | {"required": True}
            | ({"default": ours.vault} if ours.vault != ON_PATH.vault else {})
        },
        "compatibility": {"platforms": [platform if platform in ("darwin", "win32") else "linux"]},
    }
    return _zip(
        {"manifest.json": _json(manifest), "server/oneiro": launcher.encode()},
        executable={"server/oneiro"},
    )


def write(folder: Path, ours: Ours, platform: str) -> dict[str, Any]:
    """Both forms into a folder that is new, empty or holds earlier ones. Raises InvalidInput,
    DiskProblem."""
    market = folder / ".claude-plugin" / "marketplace.json"
    try:
        if folder.exists() and not _is_earlier(market) and next(folder.iterdir(), None) is not None:
            raise InvalidInput(
                f"{folder} is not empty", kept="Nothing was written.", hint="Name a new folder."
            )
        shutil.rmtree(folder / NAME, ignore_errors=True)
        for path, data in (skills() | plugin_files(ours)).items():
            _put(folder / NAME / path, data)
        _put(folder / NAME / "README.md", (skills_dir() / "README.md").read_bytes())
        _put(folder / f"{NAME}.mcpb", mcpb(ours, platform))
        _put(market, marketplace(f"./{NAME}"))
    except OSError as error:
        what = f"the bundle cannot be written to {folder}: {error.strerror}"
        raise DiskProblem(
            what, kept="The vault is untouched.", hint="Name a folder that can be written."
        ) from error
    return {
        "schema": 1,
        "marketplace": str(folder),
        "plugin": str(folder / NAME),
        "mcpb": str(folder / f"{NAME}.mcpb"),
    }


def _is_earlier(market: Path) -> bool:
    try:
        return bool(json.loads(market.read_bytes())["name"] == MARKET)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _zip(content: Mapping[str, bytes], executable: set[str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            about = zipfile.ZipInfo(name, _STAMP)
            about.compress_type = zipfile.ZIP_DEFLATED
            about.external_attr = (0o100755 if name in executable else 0o100644) << 16
            archive.writestr(about, text)
    return data.getvalue()
