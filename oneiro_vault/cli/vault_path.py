"""Which vault a command means. Plain strings and `os` only: this is on the fast path of every
command."""

# pathlib imports re and urllib: 8 ms on a path that has 20.
# ruff: noqa: PTH111, PTH113, PTH118, PTH120, PTH123

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARK = "oneiro.toml"


def option(argv: Sequence[str]) -> str:
    """The value of `--vault` anywhere on a command line, or an empty string."""
    for number, word in enumerate(argv):
        if word == "--":
            break
        if word in ("--vault", "-C") and number + 1 < len(argv):
            return argv[number + 1]
        if word.startswith("--vault="):
            return word[8:]
    return ""


def find(given: str, cwd: str, env: Mapping[str, str]) -> str:
    """The vault's folder: `--vault`, else `ONEIRO_VAULT`, else the nearest folder upwards with an
    `oneiro.toml`; else an empty string."""
    named = given or env.get("ONEIRO_VAULT", "")
    if named:
        return os.path.normpath(os.path.join(cwd, os.path.expanduser(named)))
    return nearest(cwd)


def nearest(folder: str) -> str:
    """The first folder from here upwards that is a vault, or an empty string."""
    while True:
        if os.path.isfile(os.path.join(folder, MARK)):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above


def plain_default(env: Mapping[str, str]) -> str:
    """The machine's default vault when it is written so plainly that no TOML parser is needed; the
    careful way is `config.load`."""
    base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME", ""), ".config")
    try:
        with open(os.path.join(base, "oneiro", "config.toml"), encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, ValueError):
        return ""
    for line in lines:
        name, _, value = line.partition("=")
        quote = value.strip()[:1]
        if name.lstrip().startswith("["):
            return ""
        if (
            name.strip() == "vault"
            and quote in ("'", '"')
            and value.count(quote) == 2
            and "\\" not in value
            and "#" not in value
        ):
            return os.path.expanduser(value.strip().strip(quote))
    return ""
