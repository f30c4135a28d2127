"""Where a conversation takes place: the folder, the marker in force, the vault it belongs to, and
the settings a hook needs."""

# pathlib imports re and urllib: 8 ms on a path that has 20.
# ruff: noqa: PTH109, PTH111, PTH112, PTH113, PTH118

from __future__ import annotations

import os

from oneiro_vault.capture import markers
from oneiro_vault.settings import locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

DEFAULTS: dict[str, bool | int] = {"inject.tokens": 500, "capture.every": 20, "owner.start": True}
"""Settings a hook reads by itself, with the defaults of the table in `config` (a test compares
them)."""
_MACHINE = frozenset(("owner.start",))


class Place:
    """What the client says of an `event`, the `cwd` of the conversation, its `marker`, `session`
    id, and the `root` of the vault ("" when there is none); `outcome`: what became of a prompt
    (`capture.prompts`), as far as is known."""

    def __init__(self, event: Mapping[str, Any], argv: Sequence[str]) -> None:
        self.event = event
        self.cwd = (
            _text(event.get("cwd")) or os.environ.get("CLAUDE_PROJECT_DIR", "") or os.getcwd()
        )
        self.session = _text(event.get("session_id"))
        self.marker = markers.find(self.cwd)
        self.root = self._vault(locations.option(argv))
        self.state = locations.state_dir(self.root) if self.root else ""
        self.outcome = ""
        self._files: list[tuple[Mapping[str, Any], bool]] = []

    def _vault(self, named: str) -> str:
        """The marker's vault, else the one every command would use here; "" for a folder that is no
        vault."""
        root = (
            self.marker.vault
            or locations.find(named, self.cwd, os.environ)
            or locations.plain_default(os.environ)
            or self._default()
        )
        root = os.path.expanduser(root)
        return (
            root
            if root
            and os.path.isdir(locations.git_dir(root))
            and os.path.isfile(os.path.join(root, locations.MARK))
            else ""
        )

    def _default(self) -> str:
        return _text(of_machine().get("vault"))

    @property
    def project(self) -> str:
        """What the marker calls this place."""
        return self.marker.place()

    def setting(self, name: str) -> bool | int:
        """A setting as the vault would have it: the environment, the machine's file, the vault's;
        the default when none makes sense."""
        default = DEFAULTS[name]
        told = os.environ.get("ONEIRO_" + name.upper().replace(".", "_"))
        if told:
            value = (
                locations.WORDS.get(told.lower())
                if isinstance(default, bool)
                else int(told)
                if told.isdigit()
                else None
            )
            return default if value is None else value
        for file, mine in self._settings():
            value = dotted(file, name)
            if (
                type(value) is type(default)
                and (mine or name not in _MACHINE)
                and (isinstance(value, bool) or value >= 0)
            ):
                return value
        return default

    def _settings(self) -> list[tuple[Mapping[str, Any], bool]]:
        if not self._files:
            self._files = [
                (of_machine(), True),
                (_toml(os.path.join(self.root, locations.MARK)), False),
            ]
        return self._files


def of_machine() -> Mapping[str, Any]:
    """What the machine's settings file says; {} when it cannot be read."""
    return _toml(locations.machine_file(os.environ))


def tool_sets() -> list[str]:
    """The sets of tools that a new owner would serve, by the settings of this machine."""
    named = os.environ.get("ONEIRO_MCP_TOOLS") or dotted(of_machine(), "mcp.tools")
    return named.split() if isinstance(named, str) else []


def _toml(path: str) -> Mapping[str, Any]:
    try:
        return markers.read_toml(path)
    except (OSError, ValueError):
        return {}


def dotted(data: Mapping[str, Any], name: str) -> Any:
    """A setting in a settings file, written in a table or as a quoted dotted name; None when it is
    not there."""
    first, _, rest = name.partition(".")
    found = data.get(first)
    if isinstance(found, dict) and rest:
        return found.get(rest)
    return data.get(name)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
