"""Fifty-five hostile names through every operation that takes one: no file outside of the vault is
written or read. strace is the witness."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from oneiro_vault.app import OPS
from tests.box import Box

CANARY = "canary.md"
NAMES = [
    "../canary.md", "../canary", "../../canary.md", "a/../../canary.md", "./../canary.md",
    "..\\canary.md", "....//canary.md", "..%2fcanary.md",
    "%2e%2e/canary.md", "..%c0%afcanary.md", "..;/canary.md", "/etc/passwd", "//etc/passwd",
    "/etc/passwd.md", "\\\\host\\share\\x.md", "C:\\x.md",
    "C:x.md", "file:///etc/passwd", "~/canary.md", "~root/x.md", "$HOME/x.md", "`id`.md",
    "$(id).md", "| id", "; rm -rf x", "-rf", "--help",
    "--upload-pack=id", ".git/config", ".git/hooks/post-commit", ".GIT/config", ".git./config",
    ".git /config", "git~1/config", "x/.git/config",
    ".gitmodules", ".oneiro/index.db", ".oneiro/socket", ".", "..", "", " ", "/", "\\", "\0",
    "x\0.md", "canary.md\0.md", "\n", "a\nb.md", "link.md",
    "linked/canary.md", "linked/new.md", "fifo.md", "HEAD", "HEAD:canary.md", "refs/heads/main",
    "main@{u}", "@", ":/x", "con.md", "nul", "aux.md",
    "x" * 300 + ".md", "a/" * 2000 + "x.md", "\ud800.md", "\u202e.md", "ﬀ/../x.md", "．．/canary.md",
    "semantic/../../canary.md", "*", "?", "[a-z]",
]  # fmt: skip
TRY = """
import json, sys
from pathlib import Path
from oneiro_vault.app import App
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.errors import OneiroError
root, names = Path(sys.argv[1]), json.load(open(sys.argv[2]))
bad = []
with App.open(root, Settings({"embed.model": "hash", "disk.reserve": 0, "edits.commit": False})) as app:
    print("READY", file=sys.stderr, flush=True)
    Path(sys.argv[3]).write_text("")
    moved = app.call("remember", {"items": [{"text": "to be moved"}]})["results"][0]["id"]
    for name in names:
        for op, params in {
            "show": {"id": name}, "why": {"id": name}, "log": {"id": name}, "forget": {"id": name}, "restore": {"id": name}, "undo": {"commit": name},
            "reframe": {"id": name, "text": "hacked"}, "adopt": {"paths": [name]}, "recall": {"query": "canary", "entity": name, "project": name},
            "remember": {"items": [{"text": "hostile", "path": name}]}, "list": {"session": name, "entity": name},
            "stamps": {"ids": [name], "dates": [name]}, "reports": {"date": name}, "get": {"ids": [name]}, "image": {"id": name}, "browse": {"path": name}, "move": {"id": moved, "path": name}, "orient": {"context": name, "project": name},
            "graph": {"name": name, "to": name}, "levels": {"id": name}, "feedback": {"id": name, "useful": False},
            "correct": {"id": name, "text": "hacked"}, "context": {"prompt": name, "project": name}, "consult": {"decision": name, "concept": name},
            "usage": {"id": name}, "versions": {"id": name}, "grounds": {"ids": [name]}, "wake": {"project": name}, "follow": {"to": name},
            "strength": {"id": name}, "fading": {"type": name, "as_of": name}, "whole_graph": {"project": name, "since": name, "as_of": name}, "timeline": {"within": name, "type": name}, "influence": {"ids": [name]}, "blame": {"id": name}, "review_accept": {"ids": [name]},
            "review_reject": {"ids": [name], "reason": name}, "diff": {"before": name}, "pr_summary": {"range": name},
            "ratify": {"id": name}, "resolve": {"id": name}, "dream_answers": {"answers": {name: {}}},
            "review_accept": {"ids": [name], "edited": {name: "hacked"}}, "review_reject": {"ids": [name]},
            "import_": {"path": name, "format": name, "project": name},
            "reflect": {"highlights": "hostile", "updates": [{"id": name, "text": "hacked"}]},
        }.items():
            try:
                found = app.call(op, params)
                if "secretcanaryword" in json.dumps(found):
                    bad.append([op, name, "read the canary"])
            except OneiroError:
                pass
            except Exception as error:
                bad.append([op, name, repr(error)[:300]])
print(json.dumps(bad))
"""
WRITES = re.compile(
    r'^\d+ +(?:openat?\w*\((?:[^,]*, )?"(?P<opened>[^"]*)", [^)]*(?:O_WRONLY|O_RDWR|O_CREAT)|'
    r"(?:rename|unlink|mkdir|rmdir|symlink|link|mknod|truncate|chmod|chown|"
    r"utimensat)\w*\((?P<changed>.*)\)) *= [^-]"
)


def test_names_of_every_kind_are_tried() -> None:
    assert len(set(NAMES)) >= 55
    takes = {
        name
        for name, op in OPS.items()
        if op.parameters.keys() & {"id", "ids", "commit", "path", "paths", "items"}
    }
    assert all(f'"{name}"' in TRY for name in takes)


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("strace") is None, reason="only strace sees every file that is touched"
)
def test_nothing_outside_is_touched(box: Box, tmp_path: Path) -> None:
    box.ok("stop")
    canary = tmp_path / CANARY
    canary.write_text("# Canary\n\nsecretcanaryword\n")
    (box.vault / "link.md").symlink_to(canary)
    (box.vault / "linked").symlink_to(tmp_path)
    before = {
        path: path.stat().st_mtime_ns
        for path in tmp_path.rglob("*")
        if box.vault not in path.parents and path != box.vault
    }
    (tmp_path / "names.json").write_text(json.dumps(NAMES))
    trace, mark = tmp_path / "trace", tmp_path / "mark"
    command = [
        "strace",
        "-f",
        "--seccomp-bpf",
        "-qq",
        "-y",
        "-s",
        "400",
        "-e",
        "trace=%file",
        "-o",
        str(trace),
        sys.executable,
        "-c",
        TRY,
        str(box.vault),
    ]
    env = {
        name: value for name, value in box.env.items() if not name.startswith("COVERAGE")
    }  # it writes its own files elsewhere
    done = subprocess.run(
        [*command, str(tmp_path / "names.json"), str(mark)],
        env=env,
        capture_output=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == []
    lines = trace.read_text(errors="replace").splitlines()
    start = next(number for number, line in enumerate(lines) if str(mark) in line)
    assert [
        line for line in lines[start:] if re.search(rf"= \d+<{re.escape(str(canary))}>", line)
    ] == [], "the canary was opened"
    assert [line for line in lines[start:] if re.search(r"= \d+</etc/passwd", line)] == []
    touched = [line for line in lines[start + 1 :] if WRITES.match(line)]
    assert touched, "the witness saw nothing at all"
    outside = [
        line
        for line in touched
        if re.search(r'"/(?!dev/|proc/)', line) and str(box.vault) not in line
    ]
    assert outside == []
    assert not [line for line in touched if "../" in line]
    after = {path: path.stat().st_mtime_ns for path in before if path.exists()}
    assert (
        after.items() >= {path: when for path, when in before.items() if path != tmp_path}.items()
    )
    assert canary.read_text() == "# Canary\n\nsecretcanaryword\n"
    assert not list(tmp_path.glob("*.md.*"))
    assert {path.name for path in tmp_path.iterdir()} <= {
        "vault",
        CANARY,
        "names.json",
        "trace",
        "mark",
    }
