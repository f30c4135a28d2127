"""May conversations in this folder be captured? Only where a marker says so, and never below one
that forbids it.

`.oneiro-capture` in a folder allows it there and in everything below, and may name (TOML) the
`vault` and the `project`; one that somebody else owns or can write does not count.
`.oneiro-nocapture` forbids it there and in everything below, whatever else is there.
"""

# pathlib imports re and urllib: 8 ms on a path that has 20.
# ruff: noqa: PTH100, PTH111, PTH113, PTH116, PTH118, PTH119, PTH120, PTH123

from __future__ import annotations

import os

from oneiro_vault.settings import locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oneiro_vault.answers import Json

ALLOW = ".oneiro-capture"
DENY = ".oneiro-nocapture"
_LONGEST = 65_536


class Marker:
    """`path` is the marker that decided ("" without one), `problem` why an allowing one does not
    count."""

    __slots__ = ("allows", "path", "problem", "project", "vault")

    def __init__(
        self,
        path: str = "",
        allows: bool = False,
        vault: str = "",
        project: str = "",
        problem: str = "",
    ) -> None:
        self.path = path
        self.allows = allows
        self.vault = vault
        self.project = project
        self.problem = problem

    def place(self) -> str:
        """The `project` it names, else the folder it stands in unless that is somebody's home."""
        if self.project or not self.allows:
            return self.project
        folder = os.path.dirname(self.path)
        return "" if folder in ("/", os.path.expanduser("~")) else os.path.basename(folder)


def find(folder: str) -> Marker:
    """By the folder's own path and by where links lead: a forbidding one on either way wins."""
    ways = list(dict.fromkeys((os.path.abspath(folder), os.path.realpath(folder))))
    for way in ways:
        for place in _upwards(way):
            if os.path.lexists(
                os.path.join(place, DENY)
            ):  # also one that cannot be read: in doubt nothing is captured
                return Marker(os.path.join(place, DENY))
    for way in ways:
        for place in _upwards(way):
            if os.path.isfile(os.path.join(place, ALLOW)):
                return _read(place)
    return Marker()


def vault(given: str, cwd: str, env: Mapping[str, str]) -> str:
    """The vault that is named or near (`locations.find`), else the one that conversations in this
    folder go to; else ""."""
    return locations.find(given, cwd, env) or named(cwd)


def named(cwd: str) -> str:
    """The vault that the marker of a folder names, where there is one; else ""."""
    found = find(cwd).vault
    return found if os.path.isfile(os.path.join(found, locations.MARK)) else ""


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _read(place: str) -> Marker:
    path = os.path.join(place, ALLOW)
    try:
        known = os.stat(path)
        found = read_toml(path)
    except (OSError, ValueError, RecursionError) as error:
        return Marker(path, problem=f"it cannot be read: {error}")
    if hasattr(os, "getuid") and (known.st_uid not in (0, os.getuid()) or known.st_mode & 0o002):
        return Marker(path, problem="somebody else owns it or can write it")
    vault, project = found.get("vault", ""), found.get("project", "")
    if not isinstance(vault, str) or not isinstance(project, str):
        return Marker(path, problem="vault and project must be text")
    if "\0" in vault:
        return Marker(path, problem="no folder has such a name as its vault")
    if vault:
        vault = os.path.normpath(os.path.join(place, os.path.expanduser(vault)))
    return Marker(path, True, vault, project)


def read_toml(path: str) -> Json:
    """One that sets nothing is not worth loading a parser (3 ms). Raises OSError or ValueError."""
    with open(path, encoding="utf-8") as file:
        text = file.read(_LONGEST)
    if all(
        not line or line[0] == "#" or (line[0] == "[" and line[1:-1].isalpha())
        for line in map(str.strip, text.splitlines())
    ):
        return {}
    import tomllib

    return tomllib.loads(text)
