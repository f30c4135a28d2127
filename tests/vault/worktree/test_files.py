"""Listing, reading and writing the work tree: regular files only, old bytes or new bytes, never a
mixture."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from oneiro_vault.core.tree_diff import Refused, Stat, blob_id
from oneiro_vault.errors import UnsafePath
from oneiro_vault.vault.worktree import files
from oneiro_vault.vault.worktree.files import SPEC_MARK, Files
from oneiro_vault.vault.write import disk


@pytest.fixture
def tree(tmp_path: Path) -> Files:
    (tmp_path / "root").mkdir()
    return Files(tmp_path / "root")


def listed(tree: Files) -> tuple[set[str], dict[str, str]]:
    found = list(tree.scan())
    return {f.path for f in found if isinstance(f, Stat)}, {
        f.path: f.reason for f in found if isinstance(f, Refused)
    }


def test_scan_yields_notes_and_says_why_not(tree: Files, tmp_path: Path) -> None:
    root = tree.root
    for name in (
        "a.md",
        "B.MD",
        "deep/er/c.md",
        "ünï 💡.md",
        "empty.md",
        "x.txt",
        ".hidden.md",
        ".obsidian/y.md",
        "folder.md/inside.md",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    (tmp_path / "canary").write_text("secret")
    (root / "link.md").symlink_to(tmp_path / "canary")
    (root / "broken.md").symlink_to("nowhere")
    (root / "linked").symlink_to(tmp_path)
    os.mkfifo(root / "fifo.md")
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(root / "s.md"))
    sock.close()
    (root / "other/.git").mkdir(parents=True)
    (root / "other/x.md").write_text("theirs")
    open(os.fsencode(root) + b"/\xff.md", "w").close()
    notes, refused = listed(tree)
    assert notes >= {"a.md", "B.MD", "deep/er/c.md", "ünï 💡.md", "empty.md", "folder.md/inside.md"}
    assert not notes & {"x.txt", ".hidden.md", ".obsidian/y.md", "link.md"}
    assert set(refused) == {"link.md", "broken.md", "fifo.md", "s.md", "other", "\ufffd.md"}
    assert "symbolic link" in refused["link.md"]


def test_the_vaults_own_description_is_not_a_note_but_another_readme_is(tree: Files) -> None:
    tree.write("README.md", SPEC_MARK + b"\n# x\n")
    tree.write("sub/README.md", SPEC_MARK)
    assert listed(tree)[0] == {"sub/README.md"}
    assert tree.stat("README.md") is None
    tree.write("README.md", b"# my own\n")
    assert listed(tree)[0] == {"README.md", "sub/README.md"}
    assert isinstance(tree.stat("README.md"), Stat)


def test_a_readme_that_cannot_be_read_counts_as_a_note(
    tree: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.write("README.md", SPEC_MARK)

    def refuse(path: str, limit: int = 0) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tree, "read", refuse)
    assert listed(tree)[0] == {"README.md"}


def test_a_folder_that_cannot_be_opened_is_unknown_not_empty(
    tree: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.write("a/x.md", b"x")
    tree.write("b/y.md", b"y")
    real = os.scandir

    def scandir(path: str | int) -> object:
        if str(path).endswith("a/"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)  # root may open anything
    found = list(tree.scan())
    assert Refused("a", "the folder cannot be opened: Permission denied", folder=True) in found
    assert [f.path for f in found if isinstance(f, Stat)] == ["b/y.md"]


def test_stat_tells_absent_from_refused(tree: Files, tmp_path: Path) -> None:
    tree.write("a/x.md", b"12345")
    found = tree.stat("a/x.md")
    assert isinstance(found, Stat)
    assert (found.size, found.path) == (5, "a/x.md")
    assert tree.stat("a/y.md") is None
    assert tree.stat("b/y.md") is None
    (tree.root / "link").symlink_to(tmp_path)
    for path in ("../x", "link/x.md", "a/x.md/y.md"):
        assert isinstance(tree.stat(path), Refused)
    assert isinstance(tree.stat("a"), Refused)
    assert isinstance(tree.stat("x" * 200 + "/" + "y" * 250), type(None))


def test_a_note_that_vanishes_or_resists_while_listing(tree: Files) -> None:
    class Entry:
        path = "x"

        def __init__(self, error: OSError) -> None:
            self.error = error

        def stat(self, *, follow_symlinks: bool) -> os.stat_result:
            raise self.error

    assert tree._described("x.md", Entry(FileNotFoundError())) is None  # type: ignore[arg-type]  # only the error is looked at
    found = tree._described("x.md", Entry(PermissionError(13, "Permission denied")))  # type: ignore[arg-type]  # only the error is looked at
    assert isinstance(found, Refused)


def test_read_gives_at_most_one_byte_more_than_asked(tree: Files) -> None:
    tree.write("x.md", b"0123456789")
    assert tree.read("x.md", 4) == b"01234"
    assert tree.read("x.md", 10) == b"0123456789"
    with pytest.raises(FileNotFoundError):
        tree.read("y.md", 10)


def test_a_fifo_is_never_waited_for(tree: Files) -> None:
    os.mkfifo(tree.root / "x.md")
    with pytest.raises(OSError, match="FIFO"):
        tree.read("x.md")
    with pytest.raises(UnsafePath):
        tree.content("x.md")
    assert tree.blob("x.md") is None
    assert tree.publish("x.md", tree.stage("x.md", b"new"), "") is False


def test_a_file_the_system_will_not_open(tree: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.write("x.md", b"x")
    real = os.open

    def refuse(path: str, flags: int, *rest: int, **options: int) -> int:
        if path == "x.md":
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError):
        tree.content("x.md")
    assert tree.blob("x.md") is None
    assert tree._blob_at("x.md", real(tree.root, os.O_RDONLY)) is None
    monkeypatch.setattr(os, "open", real)
    stat = os.stat

    def no_stat(path: str, **options: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "stat", no_stat)
    found = tree.stat("x.md")
    monkeypatch.setattr(os, "stat", stat)
    assert found == Refused("x.md", "Permission denied")


def test_write_keeps_the_mode_and_leaves_nothing_behind(tree: Files) -> None:
    tree.write("a/b/x.md", b"one")
    (tree.root / "a/b/x.md").chmod(0o640)
    tree.write("a/b/x.md", b"two")
    assert (tree.root / "a/b/x.md").stat().st_mode & 0o777 == 0o640
    assert [p.name for p in (tree.root / "a/b").iterdir()] == ["x.md"]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    tree: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.write("x.md", b"one")

    def full(fd: int, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "write_all", full)
    for action in (lambda: tree.write("x.md", b"two"), lambda: tree.stage("x.md", b"two")):
        with pytest.raises(OSError, match="No space"):
            action()
    assert [p.name for p in tree.root.iterdir()] == ["x.md"]
    assert (tree.root / "x.md").read_bytes() == b"one"


def test_publish_only_replaces_what_was_expected(tree: Files) -> None:
    tree.write("x.md", b"one")
    assert tree.publish("x.md", tree.stage("x.md", b"two"), blob_id(b"other")) is False
    assert tree.publish("x.md", tree.stage("x.md", b"two"), "") is False
    assert tree.read("x.md") == b"one"
    assert tree.publish("x.md", tree.stage("x.md", b"two"), blob_id(b"one")) is True
    assert tree.publish("new/y.md", tree.stage("new/y.md", b"y"), "") is True
    assert tree.read("x.md") + tree.read("new/y.md") == b"twoy"
    assert not list(tree.root.rglob(".*"))


def test_a_save_in_the_last_moment_is_given_back(
    tree: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The editor's rename lands after our check and before our swap."""
    tree.write("x.md", b"one")
    temp = tree.stage("x.md", b"machine")
    real = files._exchange

    def late(folder: int, one: str, other: str) -> bool:
        if tree.read("x.md") == b"one":
            (tree.root / "save").write_bytes(b"person")
            os.replace(tree.root / "save", tree.root / "x.md")
        return real(folder, one, other)

    monkeypatch.setattr(files, "_exchange", late)
    assert tree.publish("x.md", temp, blob_id(b"one")) is False
    assert tree.read("x.md") == b"person"
    assert [p.name for p in tree.root.iterdir()] == ["x.md"]


def test_file_systems_without_swap_or_links_still_work(
    tree: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.write("x.md", b"one")
    monkeypatch.setattr(files, "_renameat2", None)
    assert tree.publish("x.md", tree.stage("x.md", b"two"), blob_id(b"one"))

    def no_links(*args: object, **options: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    assert tree.publish("y.md", tree.stage("y.md", b"y"), "")

    def broken(*args: object, **options: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "link", broken)
    with pytest.raises(OSError, match="Input/output"):
        tree.publish("z.md", tree.stage("z.md", b"z"), "")
    assert (tree.read("x.md"), tree.read("y.md")) == (b"two", b"y")


def test_a_name_taken_in_the_last_moment_is_not_overwritten(
    tree: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    temp = tree.stage("x.md", b"machine")
    monkeypatch.setattr(tree, "_blob_at", lambda name, folder: "")
    (tree.root / "x.md").write_bytes(b"person")
    assert tree.publish("x.md", temp, "") is False
    assert (tree.root / "x.md").read_bytes() == b"person"


def test_remove_takes_only_what_was_expected_and_empty_month_folders(tree: Files) -> None:
    tree.write("semantic/2026/11/x.md", b"x")
    tree.write("semantic/2026/11/y.md", b"y")
    assert tree.remove("semantic/2026/11/x.md", blob_id(b"other")) is False
    assert tree.remove("semantic/2026/11/x.md", blob_id(b"x")) is True
    assert tree.remove("semantic/2026/11/x.md", blob_id(b"x")) is True
    assert tree.remove("semantic/2026/11/y.md", blob_id(b"y")) is True
    assert [p.name for p in tree.root.rglob("*")] == ["semantic"]
    assert tree.remove("none/x.md", "") is True


def test_names_of_a_folder(tree: Files) -> None:
    tree.write("a/x.md", b"")
    assert tree.names("a") == ["x.md"]
    assert tree.names("none") == []


def test_sync_does_not_mind_what_is_gone(tree: Files) -> None:
    tree.write("a/x.md", b"")
    tree.sync(["a/x.md", "a/gone.md", "no/where.md"])


def test_a_reader_never_sees_a_mixture(tree: Files) -> None:
    one, two = b"1" * 50_000, b"2" * 70_000
    tree.write("x.md", one)
    seen: set[bytes] = set()
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            seen.add(tree.read("x.md"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(20):
        tree.write("x.md", two)
        tree.publish("x.md", tree.stage("x.md", one), blob_id(two))
    stop.set()
    watcher.join()
    assert seen <= {one, two}
