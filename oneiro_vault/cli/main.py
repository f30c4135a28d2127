"""The entry point. With a living owner a short command is its command line sent over a socket."""

from __future__ import annotations

import gc
import os
import sys

from oneiro_vault.cli import terminal
from oneiro_vault.daemon import client, protocol
from oneiro_vault.settings import locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_AT_HOME = frozenset(
    {"-", "--help", "--version", "--ack", "--from-jsonl", "--image", "--with-model"}
)
"""Words that need the caller's own terminal, input or process, or take so long that it shows how
far they are."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    if len(args) == 5 and args[0] == "merge-driver":
        return merge(args[1:])
    if _command(args) == "hook" and "--help" not in args:
        return _hook(args)
    try:
        code = _bridge(args) if _command(args) == "mcp" else _thin(args)
        if code is None:
            from oneiro_vault.cli.run import run

            code = run(args)
            # all that was imported would be looked through once more for garbage before the process
            # goes
            gc.freeze()
    except BrokenPipeError:
        return terminal.leave_quietly()
    except KeyboardInterrupt:
        terminal.emit(terminal.ERR, b"\nStopped.\n")
        return terminal.INTERRUPTED
    return code


def merge(words: Sequence[str]) -> int:
    """What git starts anew for every note that both sides of a merge changed, with the names of
    files (base, ours, theirs) and the vault path. It loads the merge and nothing else. Returns 0,
    or 1 for a file that cannot be read or written: ours stays, and git calls the path
    conflicted."""
    from oneiro_vault.core.merge.three_way import merge_file

    base, ours, theirs, path = words
    try:
        versions = [_read(name) for name in (base, ours, theirs)]
        merged = merge_file(path, versions[0] or None, versions[1], versions[2])
        if merged.data != versions[1]:
            with open(ours, "wb") as file:  # noqa: PTH123  # no pathlib: a fifth of the whole start
                file.write(merged.data)
    except OSError as error:
        _say(
            f"oneiro: {path} was not merged: {error}; nothing is lost, `git merge --abort` (or "
            f"rebase) goes back"
        )
        return 1
    if merged.clashes:
        _say(
            f"oneiro: {path}: both sides changed the same words; both are in it, look for "
            f"[!conflict]"
        )
    return 0


def _read(name: str) -> bytes:
    with open(name, "rb") as file:  # noqa: PTH123  # the same
        return file.read()


def _say(text: str) -> None:
    sys.stderr.write(text.encode("ascii", "backslashreplace").decode("ascii") + "\n")


def _hook(args: list[str]) -> int:
    """Whatever goes wrong, it ends with 0 and without a word."""
    try:
        from oneiro_vault.hook import program

        return program.main(args)
    except BaseException:
        return 0


def _vault(args: list[str], cwd: str) -> str:
    """The vault of a command line; where none is named or near, what a marker names is looked for
    (1 ms), and then the machine's default."""
    root = locations.find(locations.option(args), cwd, os.environ)
    if not root:
        from oneiro_vault.capture import markers

        root = markers.named(cwd) or locations.plain_default(os.environ)
    return root


def _bridge(args: list[str]) -> int | None:
    """Serve a model's program by the short way; None for a line that needs more than a vault."""
    words = [word for word in args if not word.startswith("--vault=")]
    plain = words in (["mcp"], ["--vault", *words[1:2], "mcp"], ["mcp", "--vault", *words[2:]])
    try:
        here = os.getcwd()  # noqa: PTH109  # no pathlib on the way of a short command
        root = _vault(args, here)
    except OSError:
        return None
    if not plain or not os.path.isdir(root):  # noqa: PTH112  # the same
        return None
    from oneiro_vault.cli import bridge

    return bridge.run(root)


def _thin(args: list[str]) -> int | None:
    """Have the owner do all of it; None when that cannot be (and nothing has happened)."""
    command = shippable(args)
    if not command or "_ONEIRO_COMPLETE" in os.environ:
        return None
    try:
        cwd = os.getcwd()  # noqa: PTH109  # os.path: no pathlib on the way of a short command
    except OSError:
        return None
    root = _vault(args, cwd)
    owner = client.owner_of(root) if root else {}
    if owner.get("version") != protocol.version():
        return None
    env = protocol.surroundings(os.environ)
    recalls = command == "recall"
    waiting = terminal.Waiting(terminal.MODEL if recalls else "working", aloud="--json" not in args)
    request = protocol.Request(args, cwd, env, terminal.here())
    try:
        code, out, err = client.run_cli(owner, request, waiting)
    except client.UnreachedError:
        return None
    except client.BrokenError:
        if command in protocol.READS:
            return None
        from oneiro_vault.cli.run import report_lost

        return report_lost(args, owner)
    finally:
        waiting.close()
    if code == protocol.ELSEWHERE:
        return None
    terminal.emit(terminal.ERR, err)
    terminal.emit(terminal.OUT, out)
    return code


def shippable(args: Sequence[str]) -> str:
    """The command when the owner can run this line for us, else ""; a guess, the owner parses."""
    if not _AT_HOME.isdisjoint(args) or any(word.startswith("--from-jsonl=") for word in args):
        return ""
    command = _command(args)
    return command if command in protocol.HOT else ""


def _command(args: Sequence[str]) -> str:
    skip = False
    for word in args:
        if not skip and not word.startswith("-"):
            return word
        skip = word in ("--vault", "-C")
    return ""
