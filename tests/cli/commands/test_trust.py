"""`oneiro trust` needs a person: a real terminal and a yes; an owner that runs takes it over."""

from __future__ import annotations

import pytest

from tests.box import Box, eventually
from tests.cli.commands.test_maintenance import at_a_terminal
from tests.vault.support import git

TOKEN = "ghp_" + "AbCdEf0123456789" * 2 + "abcd"


@pytest.mark.slow
def test_a_person_takes_over_what_was_pulled(owned: Box) -> None:
    box = owned.init()
    box.remember("The boat is called Petrel.")
    owner = box.pid
    assert b"is in force here" in box.ok("trust").encode()
    (box.vault / "oneiro.toml").write_text('[secrets]\nmode = "off"\n')
    looser = (
        'oneiro.toml sets secrets.mode to "off", which is looser than "block". It is not in force'
    )
    eventually(lambda: looser in box.ok("status"), 30)
    git(box.vault, "commit", "-qam", "as if pulled")
    assert looser in box.ok("status"), "whoever wrote it"
    assert box("remember", f"It is {TOKEN}.").returncode == 2
    done = box("trust")
    assert done.returncode == 2
    assert b"only a person at a terminal" in done.stderr
    code, screen = at_a_terminal(box, "trust", typed={"on this machine?": "n"})
    assert code == 2
    assert "looser" in screen
    assert box("remember", f"It is {TOKEN}.").returncode == 2
    assert box.pid == owner
    code, screen = at_a_terminal(box, "trust", typed={"on this machine?": "y"})
    assert code == 0, screen
    eventually(lambda: box("remember", f"It is {TOKEN}.").returncode == 0, 30)


def test_a_file_that_cannot_be_read_is_not_called_in_force(fresh: Box) -> None:
    box = fresh.init()
    (box.vault / "oneiro.toml").write_text('[secrets]\nmode = "off"\n[secrets]\n')
    done = box("trust")
    assert done.returncode == 2
    assert b"not valid TOML" in done.stderr
    assert b"in force" not in done.stdout
