"""The two commands as a person starts them: in a real terminal of 80 by 24; and what they cost
those who do not."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

import pytest

from tests.box import Box, patient

TWICE = ("The tap in the kitchen drips all winter.", "The oven hums when it is cold outside.") * 2
_CODES = re.compile(rb"\x1b(?:\[[0-9;?<>=!$\"']*[a-zA-Z~]|[\]P_^].*?(?:\x07|\x1b\\)|.)", re.DOTALL)


def sit(box: Box, *args: str, keys: list[tuple[str, str]], **env: str) -> tuple[int, str]:
    """Exit code and all that was shown; each of the `keys` is pressed when its words are there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    box.env |= {"TERM": "xterm-256color", "ONEIRO_OWNER_START": "false"} | env
    child = box.start(*args, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said, seen, waiting = b"", 0, list(keys)
    limit = time.monotonic() + patient(15)  # a cursor that blinks is no progress
    while time.monotonic() < limit and select.select([ours], [], [], patient(15))[0]:
        try:
            said += os.read(ours, 65536)
        except OSError:  # the program has ended
            break
        shown = _CODES.sub(b"", said[seen:]).decode("utf-8", "replace")
        if waiting and waiting[0][0] in shown:
            seen = len(said)
            os.write(ours, waiting.pop(0)[1].encode())
    os.close(ours)
    assert not waiting, (waiting, _CODES.sub(b"", said).decode("utf-8", "replace"))
    return child.wait(60), _CODES.sub(b"", said).decode("utf-8", "replace")


@pytest.mark.slow
def test_a_night_is_reviewed_at_a_terminal(fresh: Box) -> None:
    fresh.init()
    fresh.env |= {"ONEIRO_DREAMS_REVIEW": "true", "EDITOR": "sed -i 's/kitchen/galley/'"}
    for text in TWICE:
        fresh.remember(text, "--again")
    fresh.ok("dream", "consolidate")
    keys = [("to decide", "/"), ("that it holds", "kitchen"), ("1 of 2", "\r"), ("a accept", "e")]
    keys += [("Accepted", "\x1b"), ("1 to", "q")]
    code, said = sit(fresh, "review", keys=keys)
    assert code == 0, said
    assert said.rstrip().endswith("1 still wait for review.")
    assert any("galley" in path.read_text() for path in (fresh.vault / "semantic").rglob("*.md"))


@pytest.mark.slow
@pytest.mark.parametrize("plain", ["", "1"])
def test_a_search_at_a_terminal(fresh: Box, plain: str) -> None:
    fresh.init()
    fresh.remember(TWICE[0])
    env = {"NO_COLOR": plain} if plain else {}
    keys = [("what do you look for", "tap winter"), ("drips", "\r\r"), ("strength: ", "q")]
    code, said = sit(fresh, "recall", "-i", keys=[*keys, ("Enter read", "q")], **env)
    assert code == 0, said


def test_without_a_terminal_it_is_said_and_a_question_is_still_needed(fresh: Box) -> None:
    fresh.init()
    done = fresh("recall", "-i", "boat")
    assert (done.returncode, b"-i wants a person's terminal" in done.stderr) == (2, True)
    done = fresh("recall")
    assert (done.returncode, b"Missing argument 'QUERY...'" in done.stderr) == (2, True)


def test_no_command_loads_the_library_of_screens_before_it_shows_one() -> None:
    code = (
        "import sys; from oneiro_vault.cli.group import COMMANDS, oneiro; "
        "[oneiro.get_command(None, name) for name in COMMANDS]; "
        "print([name for name in sys.modules if name.startswith(('textual', "
        "'oneiro_vault.cli.screens'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
