"""A history that was rewritten, at a terminal: said by status and doctor, in the way of every
write, accepted by a person."""

from __future__ import annotations

from oneiro_vault.errors import Brake
from tests.box import Box
from tests.vault.support import git


def test_a_person_hears_of_it_and_decides(fresh: Box) -> None:
    fresh.init()
    fresh.remember("The boat is called Petrel.")
    fresh.remember("Ana feeds the cat.")
    git(fresh.vault, "reset", "-q", "--hard", "HEAD~1")
    refused = fresh("remember", "Bo walks the dog.")
    assert refused.returncode == Brake.exit_code
    assert b"git reset --keep refs/oneiro/rescue/here/main/" in refused.stderr
    assert "rewritten the history of main" in fresh.ok("status")
    assert fresh.json("recall", "Petrel")["results"]
    done = fresh("doctor")
    assert done.returncode == 1
    assert b"oneiro doctor --fix" in done.stdout
    fresh.ok("doctor", "--fix")
    assert "rewritten" not in fresh.ok("status")
    fresh.remember("Bo walks the dog.")
