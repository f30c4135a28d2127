"""`oneiro init --here` among thousands of notes nobody wrote for us: every readable one is indexed,
the others listed, no byte changes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import unicodedata
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.index.keyword.database import NOTE_COLUMNS
from tests.box import ENTRY, Box
from tests.drills.whole import differences, fresh_index, owners_index
from tests.vault.support import git

SECRET = "wolframcanary"
"""A word in files outside of the vault: it must be in no answer."""


def ordinary(number: int, rng: random.Random) -> bytes:
    """A note as people have them: with and without frontmatter, every kind of line ending, links,
    callouts, code."""
    newline = rng.choice(["\n", "\n", "\r\n", "\r"])
    head = rng.choice(
        [
            "",
            "---\ntags: [reise, Größe]\naliases:\n  - Alias %d\ncreated: 2021-03-0%d\n---\n"
            % (number, number % 9 + 1),
            "---\ncssclass: wide\nrating: 010\ntime: 12:30\ndraft: no\n# a comment\npublish:   "
            "yes\n---\n",
            "---\ntitle: 'Quoted: %d'\nnested:\n  deeper: {a: 1, b: [x, y]}\n---\n" % number,
            "\ufeff---\ntitle: With a BOM %d\n---\n" % number,
            "---\n---\n",
            "---\nnot closed, so it is text %d\n" % number,
        ]
    )
    body = (
        f"# Note {number} {rng.choice(['🌱', '北京', 'Ærø', 'plain'])}\n\nSee [[note {number // 2}|"
        f"that one]], ![[pic.png]], [[#Part]], [text](../x%20y.md).\n\n> [!note] "
        f"uniqueword{number}\n\n- works_for [[WOBS]]\n- [ ] task ^block{number}\n\n```\n[[no "
        f"link]]\n```\n"
        f"{rng.choice(['', '%%hidden%%', '$$x^2$$', '<div onclick=x>', chr(0x202E) + 'rtl'])}"
    )
    return (head + body).replace("\n", newline).encode()


def strange(root: Path, outside: Path) -> tuple[set[str], set[str]]:
    """Everything odd there is. Returns paths that must be indexed, and paths that must be listed
    with a reason."""
    outside.mkdir()
    (outside / "secret.md").write_text(f"# {SECRET}\n\n{SECRET}\n")
    good: dict[str, bytes] = {
        "empty.md": b"", "blank.md": b" \n\n", "only frontmatter.md": b"---\ntitle: x\n---",
        "UPPER.MD": b"shouting", "a.b.c.md": b"dots",
        "big.md": ("word " * 1_000_000).encode() + b"endofbig", "long line.md": b"x" * 1_200_000,
        "README.md": b"# My own readme\n",
        "x" * 252 + ".md": b"a name of 255 bytes", "🌱" * 63 + ".md": b"255 bytes of emoji",
        "emoji 🚀 note.md": b"rocket",
        unicodedata.normalize("NFC", "Ångström.md"): b"nfc twin",
        unicodedata.normalize("NFD", "Ångström.md"): b"nfd twin",
        "Twin.md": b"upper twin", "twin.md": b"lower twin",
        "folder.md/inside.md": b"in a folder called .md", "con.md": b"reserved on Windows",
        "trailing space .md": b"space", "tab\there.md": b"tab", "quote\"'`$(x).md": b"quotes",
        "-rf.md": b"dash", "new\nline.md": b"newline",
        "deep/" * 30 + "down.md": b"deep", "semicolon;name.md": b"semi",
        "back\\slash.md": b"backslash", "#hash.md": b"hash", "[[x]].md": b"brackets",
        "semantic/2020/01/mine.md": b"in a folder we use too", "oneiro.md": b"our name",
        "types.md": b"---\ntype: recipe\nid: hand-made\n---\nown type",
        "wrong shapes.md": b"---\nid: [1]\ntags: 7\nimportance: high\ncreated: yesterday\n---\nodd",
        "twice a.md": b"---\nid: 0123456789ab\n---\na",
        "twice b.md": b"---\nid: 0123456789ab\n---\nb", "dates/2024-05-17.md": b"a daily note",
        "crlf.md": b"---\r\ntitle: c\r\n---\r\nwindows\r\n",
        "broken yaml.md": b"---\na: [\n---\nx\n", "bomb.md": b"---\na: &a [x]\nb: [*a, *a]\n---\n",
        "utf16.md": "hello".encode("utf-16"),
        "deep yaml.md": b"---\na: " + b"[" * 3000 + b"\n---\n",
        "tabs.md": b"---\na:\n\tb: 1\n---\n", "latin1.md": "naïve café".encode("latin-1"),
        "conflict.md": b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n",
    }  # fmt: skip
    bad: dict[str, bytes] = {
        "binary.md": bytes(range(256)) * 40, "nul.md": b"text\0text",
        "png.md": b"\x89PNG\r\n\x1a\n" + bytes(5000),
    }  # fmt: skip
    for name, data in (good | bad).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    (root / "link.md").symlink_to(outside / "secret.md")
    (root / "linked folder").symlink_to(outside)
    (root / "dangling.md").symlink_to("nowhere")
    (root / "loop").symlink_to(".")
    os.mkfifo(root / "fifo.md")
    (root / "project").mkdir()
    git(root / "project", "init", "-q")
    (root / "project/theirs.md").write_text("in another repository\n")
    (root / "run me.md").write_text("executable")
    (root / "run me.md").chmod(0o755)
    (root / "read only.md").write_text("read only")
    (root / "read only.md").chmod(0o444)
    (root / ".obsidian").mkdir()
    (root / ".obsidian/hidden.md").write_text(f"{SECRET} of an app\n")
    with open(os.fsencode(root) + b"/not utf8 \xff.md", "wb") as file:
        file.write(b"x")
    odd_names = {"not utf8 \ufffd.md"}
    return {*good, "run me.md", "read only.md"}, {
        *bad,
        "link.md",
        "dangling.md",
        "fifo.md",
        "project",
    } | odd_names


def photograph(root: Path) -> dict[bytes, tuple[Any, ...]]:
    """Every file that is not ours: bytes, mode, times, where a link leads."""
    found: dict[bytes, tuple[Any, ...]] = {}
    for folder, folders, names in os.walk(os.fsencode(root)):
        folders[:] = [
            name
            for name in folders
            if not (folder == os.fsencode(root) and name in (b".git", b".oneiro"))
        ]
        for name in names + folders:
            path = os.path.join(folder, name)
            stat = os.lstat(path)
            if os.path.islink(path):
                said: Any = os.readlink(path)
            else:
                said = sha256(open(path, "rb").read()).hexdigest() if os.path.isfile(path) else None
            found[path] = (
                said,
                stat.st_mode,
                stat.st_uid,
                stat.st_ino,
                None if os.path.isdir(path) else stat.st_mtime_ns,
            )
    return found


def drill(box: Box, tmp_path: Path, count: int, seconds: float) -> None:
    rng = random.Random(count)
    root = box.vault = tmp_path / "my notes"
    root.mkdir()
    for number in range(count):
        place = root / rng.choice(["", "Projekte/", "daily/2023/", "日記/", "Größe 🌱/"])
        place.mkdir(parents=True, exist_ok=True)
        (place / f"note {number}.md").write_bytes(ordinary(number, rng))
    good, bad = strange(root, tmp_path / "outside")
    before = photograph(root)
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", ENTRY, "--json", "init", "--here"],
        cwd=root,
        env=box.env,
        capture_output=True,
        timeout=300,
    )
    took = time.monotonic() - started
    print(f"{count} notes and {len(good | bad)} strange ones in {took:.1f} s")
    assert done.returncode == 0, done.stderr
    assert took < seconds
    answer = json.loads(done.stdout)
    listed = {entry["path"]: entry["reason"] for entry in answer["unreadable"] + answer["skipped"]}
    assert bad <= listed.keys(), bad - listed.keys()
    assert all(listed.values())
    assert photograph(root).items() >= before.items(), [
        k for k, v in before.items() if photograph(root).get(k) != v
    ]
    indexed = {row[NOTE_COLUMNS.index("path")] for row in owners_index(box)["notes"]}
    expected = good | {path.relative_to(root).as_posix() for path in root.rglob("note *.md")}
    assert expected <= indexed, expected - indexed
    assert not indexed & bad
    assert answer["indexed"] == len(indexed)
    for number in rng.sample(range(count), 5):
        rows = box.json("recall", f"uniqueword{number}", "-k", "1")["results"]
        assert rows[0]["path"].endswith(f"note {number}.md")
    assert SECRET not in json.dumps(box.json("recall", SECRET)["results"])
    assert "README.md" in indexed
    assert git(root, "fsck", "--strict", "--no-dangling") == ""
    left = subprocess.run(
        ["git", "status", "--porcelain", "-z", "--untracked-files=all"],
        cwd=root,
        capture_output=True,
        check=True,
    ).stdout
    assert [line for line in left.split(b"\0") if line and line[:2] != b"??"] == []
    difference = differences(owners_index(box), fresh_index(box, tmp_path / "fresh"))
    assert difference == {}
    assert photograph(root).items() >= before.items()


@pytest.mark.slow
def test_a_repository_inside_is_listed_and_not_read(box: Box, tmp_path: Path) -> None:
    """What is said to be left out is left out: its notes are in nobody's answer, before and after a
    save in it."""
    inner = box.vault / "project"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "theirs.md").write_text(f"{SECRET} in another repository\n")
    box("doctor")  # compares everything
    assert [entry["path"] for entry in box.json("status")["unreadable"]] == ["project"]
    assert SECRET not in json.dumps(box.json("recall", SECRET)["results"])
    (inner / "theirs.md").write_text(f"{SECRET} saved again\n")
    time.sleep(0.5)
    assert SECRET not in json.dumps(box.json("recall", SECRET)["results"])
    assert "project" not in git(box.vault, "ls-tree", "-r", "--name-only", "HEAD")


@pytest.mark.slow
def test_sixty_notes_of_somebody(box: Box, tmp_path: Path) -> None:
    drill(box, tmp_path, 60, 30)


@pytest.mark.drill
@pytest.mark.timeout(600)
def test_five_thousand_notes_of_somebody(box: Box, tmp_path: Path) -> None:
    drill(box, tmp_path, 5000, 120)
