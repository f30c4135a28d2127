"""Where programs keep their settings on Linux, macOS and Windows: from arguments alone, so that
each can be asked from anywhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath


@dataclass(frozen=True)
class Machine:
    """`platform` is `sys.platform`'s word (linux, darwin, win32); `home` and `env` are the
    person's."""

    platform: str
    home: PurePath
    env: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls, env: Mapping[str, str]) -> Machine:
        """This machine, as an environment describes it."""
        home = env.get("USERPROFILE" if sys.platform == "win32" else "HOME")
        return cls(sys.platform, Path(home) if home and os.path.isabs(home) else Path.home(), env)  # noqa: PTH117  # a text that may be empty

    def named(self, variable: str) -> PurePath | None:
        """The folder a variable names; one that is not absolute is ignored, as the XDG rules
        say."""
        found = type(self.home)(self.env.get(variable, "") or ".")
        return found if found.is_absolute() else None

    @property
    def config(self) -> PurePath:
        """`~/.config`, or what XDG_CONFIG_HOME says, for programs that keep to it everywhere."""
        return self.named("XDG_CONFIG_HOME") or self.home / ".config"

    @property
    def application_data(self) -> PurePath:
        """Where a desktop program keeps its settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.named("APPDATA") or self.home / "AppData" / "Roaming"
        return self.config
