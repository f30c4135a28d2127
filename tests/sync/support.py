"""Copies of one vault around a bare repository, and what people and machines do to them."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from oneiro_vault.core.frontmatter.yaml_block import edit
from oneiro_vault.sync.engine import Done, Sync
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.git import network
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import digest
from tests.vault.support import git, reopen

if TYPE_CHECKING:
    from tests.copies import Copy

WAIT = 60.0
"""Patience with remotes that answer: a loaded machine is slow."""
DAY = "2026-11-%02dT12:00:00+00:00"


def memory(number: int, body: str = "hello", *, day: int = 1, **keys: str) -> bytes:
    """A whole memory; the id is made of the number."""
    more = "".join(f"{key}: {value}\n" for key, value in keys.items())
    text = (
        f"---\nid: {number:012d}\ntype: semantic\ntitle: Note {number}\ntimestamp: {DAY % day}\n"
        f"{more}---\n{body}\n"
    )
    return text.encode()


def where(number: int) -> str:
    return f"semantic/2026/11/note-{number:012d}.md"


def bare(folder: Path) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "--bare", "-b", "main")
    return folder


def copy(remote: Path | str, folder: Path, name: str = "Ada") -> Vault:
    """A plain git clone of the remote, as a person would make it, open."""
    git(folder.parent, "clone", "-q", str(remote), str(folder))
    for key, value in (
        ("user.name", name),
        ("user.email", f"{name.lower()}@example.org"),
        ("gc.auto", "0"),
    ):
        git(folder, "config", key, value)
    return reopen(folder)


def copies(tmp_path: Path, count: int = 2, notes: int = 3) -> list[Vault]:
    """That many copies of one vault with a few memories, all in step."""
    made, known = _made(count, notes)
    known.write(tmp_path, {made: bytes(tmp_path)})
    return [reopen(tmp_path / f"copy{number}") for number in range(count)]


@cache
def _made(count: int, notes: int) -> tuple[bytes, Copy]:
    """Where they were made once, and what stood there."""
    from tests.copies import Copy

    with tempfile.TemporaryDirectory(prefix="oneiro-copies-") as name:
        folder = Path(name)
        remote = bare(folder / "remote.git")
        first = copy(remote, folder / "copy0")
        for number in range(notes):
            learn(first, number)
        sync(first)
        vaults = [first, *(copy(remote, folder / f"copy{one}") for one in range(1, count))]
        for vault in vaults:
            vault.close()
            (vault.root / ".git" / "oneiro" / "device").unlink(missing_ok=True)
        return bytes(folder), Copy.of(folder)


def remote_of(vault: Vault, wait: float = WAIT) -> network.Remote:
    return network.choose(vault.repo, vault.recovery, "", wait)


def sync(vault: Vault, *, yes: bool = False, wait: float = WAIT) -> Done:
    """What `oneiro sync` does, without an index."""
    vault.edits.commit(quiet=0.0)
    vault.fold()
    return Sync(vault, remote_of(vault, wait), confirmed=yes).run()


def meet(*vaults: Vault) -> None:
    """Sync each, and once more, so that everybody has everything; they must be equal then, and
    sound."""
    for vault in (*vaults, *vaults[:-1]):
        sync(vault)
    assert len({tree(vault) for vault in vaults}) == 1
    for vault in vaults:
        assert git(vault.root, "fsck", "--strict", "--no-dangling") == ""
        assert git(vault.root, "status", "--porcelain", "--untracked-files=all") == ""
        assert [
            problem for problem in vault.health.problems() if problem.kind != "driver"
        ] == []  # plain clones have none: sync needs none


def tree(vault: Vault) -> str:
    return git(vault.root, "rev-parse", "HEAD^{tree}").strip()


def learn(vault: Vault, number: int, body: str = "hello", *, path: str = "", day: int = 1) -> str:
    path = path or where(number)
    vault.apply(
        [Write(path, memory(number, body, day=day))],
        Operation("remember", f"Note {number}", "model", (f"{number:012d}",)),
    )
    return path


def reframe(
    vault: Vault, path: str, body: str, *, day: int, actor: str = "model", **keys: object
) -> None:
    """A machine replaces what a memory says, which moves its date."""
    old = vault.read(path)
    text = edit(old.decode(), {"timestamp": DAY % day, **keys}, body + "\n")
    vault.apply([Write(path, text.encode(), digest(old))], Operation("reframe", "a memory", actor))


def person(vault: Vault, path: str, old: str, new: str) -> None:
    """A person changes words in an editor, and saves."""
    file = vault.root / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def forget(vault: Vault, number: int, path: str = "") -> None:
    path = path or where(number)
    vault.forget(f"{number:012d}", path, digest(vault.read(path)))


def text(vault: Vault, path: str) -> str:
    return vault.read(path).decode()
