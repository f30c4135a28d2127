"""A power cut, modelled: at the moment of dying every file whose last bytes were not fsynced
becomes empty.

The writer's own fsyncs are recorded by inode (so a later rename keeps them); folders and renames
are taken as ordered, as ext4, xfs and btrfs order them. git's index and reflogs, which nobody
fsyncs at that moment, are among the victims.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oneiro_vault.vault.write.disk import POINTS
from tests.vault.support import make, note, path_of, put, reopen, run, sound
from tests.vault.write.test_recovery import NEW_STATE, ONE_WRITE, content, old_state

RECORD = """
import json, os
log = os.open(%r, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def recording(real):
    def call(fd):
        real(fd)
        try:
            with open(f"/proc/self/fd/{fd}", "rb") as file:
                os.write(log, json.dumps([os.fstat(fd).st_ino, file.read().hex()]).encode() + b"\\n")
        except IsADirectoryError:
            pass
    return call
os.fsync, os.fdatasync = recording(os.fsync), recording(os.fdatasync)
"""
Durable = dict[int, list[bytes]]


def snapshot(root: Path) -> Durable:
    """What is on disk for good before the drill begins: inode -> contents."""
    return {path.stat().st_ino: [path.read_bytes()] for path in root.rglob("*") if path.is_file()}


def cut(root: Path, durable: Durable, log: Path) -> list[str]:
    """Take every file back to its last durable content: the part that was there before an append,
    or nothing; returns the victims."""
    for line in log.read_text().splitlines() if log.exists() else []:
        inode, content_ = json.loads(line)
        durable.setdefault(inode, []).append(bytes.fromhex(content_))
    victims = []
    for path in root.rglob("*"):
        if not path.is_file() or path.is_symlink():
            continue
        now, known = path.read_bytes(), durable.get(path.stat().st_ino, [])
        if now not in known:
            path.chmod(0o644)
            path.write_bytes(
                max((old for old in known if now.startswith(old)), key=len, default=b"")
            )
            victims.append(path.relative_to(root).as_posix())
    return victims


def restart(root: Path) -> None:
    """The machine boots again: the boot id differs."""
    tip = root / ".git/oneiro/tip"
    lines = [json.loads(line) for line in tip.read_text().splitlines() if line]
    tip.write_text("".join(json.dumps(line | {"boot": "before"}) + "\n" for line in lines))


@pytest.mark.parametrize("point", [*POINTS, ""])
def test_the_power_goes_at_any_step(tmp_path: Path, point: str) -> None:
    root, log = tmp_path / "vault", tmp_path / "fsyncs"
    vault = make(root)
    put(vault, 1)
    put(vault, 2)
    before = snapshot(root)
    done = run(RECORD % str(log) + ONE_WRITE, root, fault=point)
    assert done.returncode == (137 if point else 0), done.stderr
    victims = cut(root, before, log)
    restart(root)
    after = reopen(root)
    sound(root)
    found = content(after)
    assert found in (old_state(after), NEW_STATE), victims
    if not point or (POINTS.index(point) >= POINTS.index("durable") and point != "folded"):
        assert found == NEW_STATE, victims
    assert after.edits.commit() == []
    put(after, 5)
    sound(root)
    assert not after.health.problems()


BULK = """
import sys
from pathlib import Path
from oneiro_vault.vault.change import Write
from tests.vault.support import REMEMBER, note, path_of, reopen
reopen(Path(sys.argv[1])).apply([Write(path_of(number), note(number)) for number in range(10, int(sys.argv[2]))], REMEMBER)
"""


@pytest.mark.parametrize("count", [40, 300])
def test_more_notes_than_the_witness_names_are_durable_by_themselves(
    tmp_path: Path, count: int
) -> None:
    root, log = tmp_path / "vault", tmp_path / "fsyncs"
    put(make(root), 1)
    before = snapshot(root)
    done = run(RECORD % str(log) + BULK, root, 10 + count)
    assert done.returncode == 0, done.stderr
    for pack in (root / ".git/objects/pack").glob("*"):
        before[pack.stat().st_ino] = [
            pack.read_bytes()
        ]  # git fsyncs its packs itself, in another process
    cut(root, before, log)
    restart(root)
    after = reopen(root)
    assert len(after.listing()) == count + 1
    assert all(after.read(path_of(number)) == note(number) for number in range(10, 10 + count))
    sound(root)


def test_the_model_bites(tmp_path: Path) -> None:
    """A writer that fsyncs nothing loses what it acknowledged: the drill above can fail."""
    root, log = tmp_path / "vault", tmp_path / "fsyncs"
    vault = make(root)
    put(vault, 1)
    put(vault, 2)
    before = snapshot(root)
    forgetful = "import os\nos.fsync = os.fdatasync = lambda fd: None\n"
    assert run(forgetful + ONE_WRITE, root).returncode == 0
    assert cut(root, before, log)
    restart(root)
    assert set(reopen(root).listing()) == {path_of(1), path_of(2)}
