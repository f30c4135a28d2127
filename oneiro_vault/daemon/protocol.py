"""What a client and the owner agree on. Light: it is imported by every `oneiro recall`.

The client sends `Expect: 100-continue` and keeps the body back until the owner answers: what goes
wrong before has certainly changed nothing and may be tried again.
"""

from __future__ import annotations

import oneiro_vault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = 1
VERSION_HEADER = "x-oneiro-version"
SURROUNDINGS_HEADER = "x-oneiro-surroundings"
NDJSON = "application/x-ndjson"
BRIDGE = "/mcp/stdio"
"""Where `oneiro mcp` connects: one request as long as its client lives, JSON-RPC messages a line in
both directions."""
OTHER_VERSION = 426
"""HTTP status: the owner is of another version than the client and should be replaced."""
STRANGER = 401
"""HTTP status: the request does not carry the owner's token."""
NOT_YET = 503
"""HTTP status: the owner has not opened the vault yet; `/status` says what it does."""
BACKLOG = 512
"""Connections that may wait for an owner to take them."""
OPENING = "opening the vault"
LEAVING = 410
"""HTTP status: the owner is ending itself; wait for its lock and start another."""

READS = frozenset(
    "recall show list log why blame diff stats settings status check watch orient get flagged "
    "image stamps complete reports inject context graph levels consult ponder influence "
    "browse runs review pr_summary dream_next strength usage versions grounds wake follow fading "
    "timeline whole_graph export plots".split()
)
"""Operations that change nothing: safe to repeat, and run beside a long write."""
ENDLESS = frozenset(("import_",))
"""Writes that go on for long, in steps that each are whole: they end when nobody waits for them."""
HOT = frozenset(
    "recall show list log why blame diff stats status orient remember correct reframe forget "
    "restore undo runs context graph consult learn ponder".split()
)
"""Commands the owner can run for a client, given nothing but the command line."""

BEAT = b"."
"""Begins the owner's sign of life while a command runs, a line that says what it does (empty:
nothing that holds the command up); then `=<code> <bytes of output>\\n<output><errors>`."""

_NAMES = frozenset({"HOME", "XDG_CONFIG_HOME", "PATH"})


def version() -> str:
    """The version that both sides must share."""
    return oneiro_vault.__version__


def doing(stage: str, done: int, total: int) -> str:
    """Progress as words: `indexing 2,579 of 6,289 (41%)`."""
    return f"{stage} {done:,} of {total:,} ({100 * done // total}%)" if stage and total else stage


def surroundings(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that may matter: the caller's settings, and where its programs
    are."""
    ours = [name for name in environ if name in _NAMES or name.startswith("ONEIRO_")]
    return {name: environ[name] for name in ours}


def pack_surroundings(env: Mapping[str, str]) -> str:
    """An environment as a header's value."""
    from binascii import b2a_base64

    text = "\0".join(f"{name}={value}" for name, value in env.items())
    return b2a_base64(text.encode("utf-8", "surrogateescape"), newline=False).decode("ascii")


def unpack_surroundings(value: str) -> dict[str, str]:
    """The reverse of `pack_surroundings`; raises ValueError for anything else."""
    from binascii import a2b_base64

    text = a2b_base64(value).decode("utf-8", "surrogateescape")
    return dict(entry.split("=", 1) for entry in text.split("\0") if entry)


class Terminal:
    """How the caller's output looks: `width` in columns (0: no terminal), and whether `color` is
    wanted."""

    __slots__ = ("color", "width")

    def __init__(self, width: int = 0, color: bool = False) -> None:
        self.width = width
        self.color = color


class Request:
    """A command line with the surroundings it was typed in."""

    __slots__ = ("argv", "cwd", "env", "terminal")

    def __init__(self, argv: list[str], cwd: str, env: dict[str, str], terminal: Terminal) -> None:
        self.argv = argv
        self.cwd = cwd
        self.env = env
        self.terminal = terminal

    def pack(self) -> bytes:
        """As NUL-separated fields: neither arguments nor variables can hold a NUL."""
        fields = [self.cwd, str(self.terminal.width), "color" if self.terminal.color else "plain"]
        fields += [f"{name}={value}" for name, value in self.env.items()]
        return "\0".join([*fields, "", *self.argv]).encode("utf-8", "surrogateescape")

    @classmethod
    def unpack(cls, data: bytes) -> Request:
        """The reverse of `pack`; raises ValueError for anything else."""
        cwd, width, color, *rest = data.decode("utf-8", "surrogateescape").split("\0")
        cut = rest.index("")
        env = dict(entry.split("=", 1) for entry in rest[:cut])
        return cls(rest[cut + 1 :], cwd, env, Terminal(int(width), color == "color"))


def pack_answer(code: int, out: bytes, err: bytes) -> bytes:
    """The outcome of a command as one frame."""
    return b"=%d %d\n%b%b" % (code, len(out), out, err)


def unpack_answer(data: bytes) -> tuple[int, bytes, bytes]:
    """(exit code, output, errors) of a frame after signs of life; raises ValueError without a whole
    one."""
    while data.startswith(BEAT):
        data = data.partition(b"\n")[2]
    head, newline, rest = data.partition(b"\n")
    if not newline or not head.startswith(b"="):
        raise ValueError("no answer")
    code, size = head[1:].split(b" ")
    return int(code), rest[: int(size)], rest[int(size) :]


ELSEWHERE = -1
"""Exit code in a frame: the owner did nothing, the client must run this command itself."""
