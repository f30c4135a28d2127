"""Hostile and broken notes: every one gets a verdict a person understands, quickly and in little
memory; none is a crash."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from oneiro_vault.core import memory
from oneiro_vault.errors import UnreadableNote
from tests.box import patient

BOMB = "a: &a [x, x]\n" + "".join(
    f"{new}: &{new} [*{old}, *{old}, *{old}, *{old}]\n"
    for old, new in zip("abcdefghij", "bcdefghijk", strict=True)
)

# name -> (bytes of the file, None when it is readable or a word of the reason, keys expected in
# `problems`)
SHAPES: dict[str, tuple[bytes, str | None, set[str]]] = {
    "bad indentation": (b"---\na: 1\n  b: 2\n---\n", "line 3", set()),
    "worse indentation": (b"---\na:\n    b: 1\n  c: 2\n---\n", "line 4", set()),
    "duplicate key": (b"---\ntitle: a\ntitle: b\n---\n", "line 3: 'title' is there twice", set()),
    "duplicate after quoting": (b"---\n'1': a\n1: b\n---\n", "twice", set()),
    "duplicate inside": (b"---\nx: {a: 1, a: 2}\n---\n", "twice", set()),
    "tab indentation": (b"---\na:\n\tb: 1\n---\n", "tab|cannot start", set()),
    "tab after the colon": (b"---\ntitle:\tx\n---\n", None, set()),
    "alias bomb": (b"---\n" + BOMB.encode() + b"---\n", "anchors", set()),
    "one alias": (b"---\na: &x 1\nb: *x\n---\n", "anchors", set()),
    "anchor alone": (b"---\na: &x 1\n---\n", "anchors", set()),
    "unknown alias": (b"---\na: *nope\n---\n", "anchors", set()),
    "alias to itself": (b"---\na: &x [*x]\n---\n", "anchors", set()),
    "star and ampersand in text": (b"---\ntitle: R&D 2*3\n---\n", None, set()),
    "merge key": (b"---\nbase: &b {x: 1}\n<<: *b\n---\n", "anchors", set()),
    "merge key without alias": (b"---\n<<: {x: 1}\n---\n", None, set()),
    "5,000 deep flow": (b"---\na: " + b"[" * 5000 + b"]" * 5000 + b"\n---\n", "nested|YAML", set()),
    "5,000 deep flow, open": (b"---\na: " + b"[" * 5000 + b"\n---\n", "nested|YAML", set()),
    "5,000 deep mappings": (b"---\na: " + b"{a: " * 5000 + b"\n---\n", "nested|YAML", set()),
    "5,000 deep dashes": (b"---\na:\n  " + b"- " * 5000 + b"\n---\n", "nested", set()),
    "300 deep dashes, wide": (b"---\na:\n  " + b"-   " * 300 + b"x\n---\n", "nested", set()),
    "5,000 deep question marks": (b"---\n" + b"? " * 5000 + b"\n---\n", "nested|YAML|key", set()),
    "300 deep by indentation": (b"---\n" + b"".join(b" " * i + b"a:\n" for i in range(300)) + b"---\n", "nested", set()),
    "30 deep in a short block": (b"---\na: " + b"[" * 30 + b"]" * 30 + b"\n---\n", "nested", set()),
    "26 deep, below every alarm": (
        b"---\n" + b"".join(b" " * i + b"a:\n" for i in range(11)) + b" " * 11 + b"- - " + b"[x: " * 6 + b"[" * 6 + b"]" * 12 + b"\n---\n",
        "nested",
        set(),
    ),
    "mixed depth below every alarm": (b"---\na:\n - - {b: [[{c: [{d: [[{e: 1}]]}]}]]}\n---\n", None, set()),
    "huge integer": (b"---\nimportance: " + b"9" * 20_000 + b"\n---\n", None, {"importance"}),
    "huge exponent": (b"---\nimportance: 1.0e999999\n---\n", None, {"importance"}),
    "impossible day": (b"---\ncreated: 2026-02-30\n---\n", None, {"created"}),
    "impossible hour": (b"---\ncreated: 2026-02-03T25:00:00Z\n---\n", None, {"created"}),
    "year 10000": (b"---\ncreated: 10000-01-01\n---\n", None, {"created"}),
    "first and last second": (b"---\ncreated: 0001-01-01T00:00:00+14:00\nvalid_until: "
                              b"9999-12-31T23:59:59-14:00\n---\n", None, set()),
    "number as key": (b"---\n1: a\n2.5: b\ntrue: c\n---\n", None, set()),
    "null as key": (b"---\n~: a\n---\n", None, set()),
    "list as key": (b"---\n? [a, b]\n: c\n---\n", "key is a list", set()),
    "mapping as key": (b"---\n{a: 1}: c\n---\n", "key is a list", set()),
    "list instead of keys": (b"---\n- a\n- b\n---\n", "key: value", set()),
    "text instead of keys": (b"---\njust words\n---\n", "key: value", set()),
    "mapping where a list belongs": (b"---\ntags: {a: 1}\naliases: {b: 2}\n---\n", None, {"tags", "aliases"}),
    "list where a text belongs": (b"---\ntitle: [a, b]\nsource: {x: 1}\n---\n", None, {"title", "source"}),
    "text where a flag belongs": (b"---\ncore: 'yes'\nlevel: high\nbudget: -1\nturn: 1.5\n---\n", None,
    {"core", "level", "budget", "turn"}),
    "unclosed": (b"---\ntitle: x\nbody\n", "never closed", set()),
    "unclosed rule": (b"---\n\nbody\n", None, set()),
    "only ---": (b"---", None, set()),
    "only --- and a line end": (b"---\n", None, set()),
    "two ---": (b"---\n---\n", None, set()),
    "empty file": (b"", None, set()),
    "only a BOM": (b"\xef\xbb\xbf", None, set()),
    "blank lines": (b"\n\n \n", None, set()),
    "random binary": (bytes(range(256)), "NUL", set()),
    "PNG named .md": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "NUL", set()),
    "NUL in the body": (b"---\na: 1\n---\nx\x00y", "NUL", set()),
    "escaped NUL": (b'---\ntitle: "a\\0b"\n---\n', None, set()),
    "UTF-16 with BOM": ("---\na: 1\n---\n".encode("utf-16"), "UTF-16", set()),
    "UTF-16 without BOM": ("---\na: 1\n---\n".encode("utf-16-le"), "NUL", set()),
    "UTF-32": ("a".encode("utf-32-be"), "NUL", set()),
    "latin-1": ("---\ntitle: caf\xe9\n---\n".encode("latin-1"), "line 2 is not UTF-8", set()),
    "surrogate bytes": (b"---\ntitle: \xed\xa0\x80\n---\n", "not UTF-8", set()),
    "escaped surrogate": (b'---\ntitle: "\\ud800"\n---\n', "YAML", set()),
    "control character": (b"---\ntitle: a\x07b\n---\n", "YAML", set()),
    "BOM": ("\ufeff---\ntitle: x\n---\nbody".encode(), None, set()),
    "BOM inside": ("---\ntitle: x\ufeffy\n---\nbody".encode(), None, set()),
    "CRLF": (b"---\r\ntitle: x\r\n---\r\nbody\r\n", None, set()),
    "lone CR": (b"---\rtitle: x\r---\rbody\r", None, set()),
    "mixed ends": (b"---\r\ntitle: x\ntags: [a]\r---\nbody\r\n", None, set()),
    "python object": (b"---\na: !!python/object/apply:os.system ['true']\n---\n", "python", set()),
    "own tag": (b"---\na: !secret x\n---\n", "secret", set()),
    "tagged list": (b"---\na: !!omap [x: 1]\n---\n", "omap", set()),
    "scalar tagged as a list": (b"---\na: !!seq x\n---\n", "seq", set()),
    "list tagged as a mapping": (b"---\na: !!map [x]\n---\n", "map", set()),
    "tagged root": (b"---\n!!set\n? a\n---\n", "key: value", set()),
    "set": (b"---\ntags:\n  ? a\n  ? b\n---\n", None, {"tags"}),
    "binary tag": (b"---\na: !!binary aGk=\n---\n", "binary", set()),
    "timestamp tag": (b"---\na: !!timestamp 2024-01-01\n---\n", "timestamp", set()),
    "octal, hex, infinity": (b"---\nimportance: 010\nconfidence: .inf\nlevel: 0x1f\npriority: "
                             b".nan\n---\n", None,
    {"importance", "confidence", "level", "priority"}),
    "infinity by name": (b"---\nimportance: nan\nbudget: inf\npriority: 1e400\n---\n", None, {"importance", "budget", "priority"}),
    "directive": (b"---\n%YAML 1.1\na: 1\n---\n", "YAML", set()),
    "second document": (b"---\na: 1\n--- b\nc: 1\n---\n", "YAML", set()),
    "very long key": (b"---\n" + b"k" * 2000 + b": 1\n---\n", "YAML", set()),
    "very long value": (b"---\ntitle: " + b"v" * 60_000 + b"\n---\n", None, set()),
    "70 KB of frontmatter": (b"---\ntitle: " + b"v" * 70_000 + b"\n---\n", "64 KB", set()),
    "8,000 keys": (b"---\n" + b"".join(b"%x:\n" % i for i in range(8_000)) + b"---\n", None, set()),
    "colon in a plain value": (b"---\ntitle: a: b\n---\n", "line 2", set()),
    "quote never closed": (b"---\ntitle: 'it\n---\n", "YAML", set()),
    "bracket never closed": (b"---\ntags: [a, b\n---\n", "YAML", set()),
    "at sign": (b"---\ntitle: @me\n---\n", "line 2", set()),
    "template": (b"---\ntitle: {{title}}\n---\n", "key is a list|YAML|key", set()),
    "conflict in the frontmatter": (b"---\n<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> theirs\n"
                                    b"---\n", "conflict markers", set()),
    "conflict in the body": (b"---\na: 1\n---\n<<<<<<< HEAD\nx\n||||||| base\ny\n=======\nz\n"
                             b">>>>>>> theirs\n", "conflict markers", set()),
    "conflict with CRLF": (b"x\r\n<<<<<<< HEAD\r\nx\r\n=======\r\nz\r\n>>>>>>> theirs\r\n", "conflict markers", set()),
    "conflict on the first line": (b"<<<<<<< HEAD\n=======\n>>>>>>> theirs", "conflict markers", set()),
    "heading underlined with seven": (b"Title\n=======\ntext\n", None, set()),
    "unknown status and id of our type": (b"---\ntype: semantic\nid: x\nstatus: odd\ntrust: me\n"
                                          b"---\n", None, {"id", "status", "trust"}),
    "unknown status and id of another tool": (b"---\ntype: task\nid: x-1\nstatus: done\n---\n", None, set()),
    "nothing but nulls": (b"---\ntitle:\ntags: ~\ncreated: null\ncore:\n---\nSome words.\n", None, set()),
    "1 MB line": (b"---\na: 1\n---\n" + b"x" * 1_000_000, None, set()),
    "1 MB of brackets": (b"[" * 1_000_000, None, set()),
    "1 MB of backticks": (b"# a `" + b"` `` " * 200_000, None, set()),
    "1 MB of quotes": (b"> " * 500_000 + b"#tag `x`", None, set()),
    "1 MB of hashes": (b"# #" * 333_333, None, set()),
    "1 MB of blanks": (b"x #t" + b" \t" * 500_000 + b"y", None, set()),
    "1 MB of fences": (b"```\n~~~\n" * 125_000, None, set()),
    "1 MB of emphasis": (b"*_" * 500_000, None, set()),
    "1 MB of comments": (b"%% #a %% " * 111_111, None, set()),
}  # fmt: skip


def verdict(data: bytes) -> tuple[str | None, set[str]]:
    """(reason, {}) or (None, problems)."""
    try:
        note = memory.parse("a/b.md", data)
    except UnreadableNote as error:
        return (str(error) if error.kept and error.hint else "nothing to hold on to"), set()
    note.when()
    return None, set(note.problems)


def test_there_are_enough_shapes() -> None:
    assert len(SHAPES) >= 60


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_has_its_verdict_in_time(name: str) -> None:
    data, expected, problems = SHAPES[name]
    began = time.process_time()
    reason, found = verdict(data)
    assert time.process_time() - began < patient(
        2
    )  # counted lines and a shared core cost processor time
    if expected is None:
        assert reason is None
        assert found == problems
    else:
        assert reason is not None
        assert any(word in reason for word in expected.split("|")), reason
        assert len(reason) < 300
        assert "\n" not in reason


def test_all_shapes_together_stay_small() -> None:
    """In a process of its own that may not grow by more than 200 MB."""
    code = (
        "import resource, sys\nfrom tests.core.frontmatter.test_strict_yaml import SHAPES, "
        "verdict\nverdict(SHAPES['1 MB of fences'][0][:1000])\nsize = "
        "int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize() + 200 * 2**20\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size, size))\nprint(sum(verdict(data)[0] is None "
        "for data, _, _ in SHAPES.values()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == sum(expected is None for _, expected, _ in SHAPES.values())
