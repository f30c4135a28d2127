"""Where a vault is, and where it and this machine keep their things. Plain strings and `os` only:
this is on the fast path of every command."""

# pathlib imports re and urllib: 8 ms on a path that has 20.
# ruff: noqa: PTH111, PTH112, PTH113, PTH117, PTH118, PTH120, PTH123

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARK = "oneiro.toml"
"""The file that makes a folder a vault."""
WORDS = dict.fromkeys(("1", "true", "yes", "on"), True)
WORDS |= dict.fromkeys(("0", "false", "no", "off"), False)
"""What a variable may say for a setting that is true or false."""
LONGEST_SOCKET = 100
"""Bytes; the kernel's limit is 108 (104 on macOS)."""


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
    """The vault's folder: `--vault`, else `ONEIRO_VAULT`, else the nearest upwards with an
    `oneiro.toml`; else ""."""
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
    """The machine's default vault when it is written so plainly that no TOML parser is needed."""
    try:
        with open(machine_file(env), encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, ValueError):
        return ""
    for line in lines:
        name, _, value = line.partition("=")
        quote = value.strip()[:1]
        if name.lstrip().startswith("["):
            return ""
        plain = value.count(quote) == 2 and "\\" not in value and "#" not in value
        if name.strip() == "vault" and quote in ("'", '"') and plain:
            return os.path.expanduser(value.strip().strip(quote))
    return ""


def machine_file(env: Mapping[str, str]) -> str:
    """The machine's settings file (it may not exist)."""
    base = env.get("XDG_CONFIG_HOME") or os.path.join(
        os.path.expanduser(env.get("HOME", "~")), ".config"
    )
    return os.path.join(base, "oneiro", "config.toml")


def git_dir(root: str) -> str:
    """The git directory of the vault at `root`, also when `.git` is a file."""
    path = os.path.join(root, ".git")
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(4096)
    except OSError:
        return path
    target = text.removeprefix("gitdir:").strip() if text.startswith("gitdir:") else ""
    return os.path.normpath(os.path.join(root, target)) if target else path


def state_dir(root: str) -> str:
    """The folder for what must outlive the disposable indexes: the owner's lock and record."""
    return os.path.join(git_dir(root), "oneiro")


def record_file(root: str) -> str:
    """The file in which a running owner says how to reach it."""
    return os.path.join(state_dir(root), "owner.json")


def lock_file(root: str) -> str:
    """The file an owner holds locked as long as it lives."""
    return os.path.join(state_dir(root), "owner.lock")


def index_dir(root: str, configured: str = "") -> str:
    """The folder for what can be rebuilt, in the machine's setting `index.dir` if `configured`."""
    if not configured:
        return os.path.join(root, ".oneiro")
    import hashlib

    mark = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
    return os.path.join(os.path.expanduser(configured), mark)


def log_file(index: str) -> str:
    """The owner's log."""
    return os.path.join(index, "logs", "owner.log")


def socket_paths(index: str) -> list[str]:
    """Where the owner's socket may be: in the index folder, or a runtime folder if that is too
    long."""
    import hashlib

    path = os.path.join(index, "socket")
    other = os.path.join(
        runtime_dir(), hashlib.sha256(os.fsencode(os.path.realpath(index))).hexdigest()[:32]
    )
    return [path, other] if len(os.fsencode(path)) <= LONGEST_SOCKET else [other]


def runtime_dir() -> str:
    """A folder of this user for sockets, short whatever the vault's path is."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    short = os.path.isabs(base) and len(os.fsencode(base)) <= LONGEST_SOCKET - 40
    if short and os.path.isdir(base):
        return os.path.join(base, "oneiro")
    return f"/tmp/oneiro-{os.getuid()}"


def stopped(pid: int) -> bool:
    """Is the process suspended (SIGSTOP, a debugger)? False where the system does not tell."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in "Tt"
    except (OSError, IndexError):
        return False
