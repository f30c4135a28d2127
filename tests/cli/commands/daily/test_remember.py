"""remember: text from everywhere, thousands of lines, and what becomes of the bad ones."""

from __future__ import annotations

import hashlib
import json
import os
import select
import subprocess
import time
from pathlib import Path

import pytest

from tests.box import Box


def lines(*items: object) -> bytes:
    return b"".join(
        (item if isinstance(item, bytes) else json.dumps(item).encode()) + b"\n" for item in items
    )


def text_of(box: Box, ident: str) -> str:
    return str(box.json("show", ident)["body"]).strip()


def test_arguments_are_joined(box: Box) -> None:
    row = box.json(
        "remember",
        "two",
        "words here",
        "--type",
        "episodic",
        "--tag",
        "a",
        "--tag",
        "b",
        "--about",
        "Ana",
    )["results"][0]
    shown = box.json("show", row["id"])
    assert shown["body"].strip() == "two words here"
    assert (shown["meta"]["type"], shown["meta"]["tags"], shown["meta"]["about"]) == (
        "episodic",
        ["a", "b"],
        ["Ana"],
    )


@pytest.mark.parametrize("args", [["-"], []])
def test_standard_input(box: Box, args: list[str]) -> None:
    row = box.json("remember", *args, stdin=f"First line {len(args)}.\n\nSecond ☕.\n".encode())[
        "results"
    ][0]
    assert text_of(box, row["id"]) == f"First line {len(args)}.\n\nSecond ☕."


@pytest.mark.parametrize(
    ("args", "stdin", "says"),
    [
        (["-"], b"caf\xe9", "standard input is not UTF-8 (byte 3)"),
        (["-"], b"", "empty"),
        (["-"], b"a\0b", "NUL"),
        ([" "], b"", "empty"),
        (["caf\udce9"], b"", "not valid text"),
        (["x", "--title", "\udce9"], b"", "not valid text"),
        (["x", "--importance", "7"], b"", "importance"),
        (["x", "--created", "soon"], b"", "not a date"),
        (["x", "--path", "../out.md"], b"", "out.md"),
        (["--from-jsonl", "missing.jsonl"], b"", "missing.jsonl cannot be read"),
        (["-"], b"x" * 10_000_000, "10,000,000 bytes"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(
    box: Box, args: list[str], stdin: bytes, says: str
) -> None:
    before = box.json("list")["total"]
    done = box("remember", *args, stdin=stdin)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert box.json("list")["total"] == before


def test_the_same_again_is_known(box: Box) -> None:
    first = box.remember("The gate code for the allotment is on the blue card.")
    again = box.json("remember", "The gate code for the allotment is on the blue card.")["results"][
        0
    ]
    assert again["duplicate_of"] == first["id"]
    assert "Known already" in box.ok(
        "remember", "The gate code for the allotment is on the blue card."
    )
    assert "Remembered" in box.ok(
        "remember", "The gate code for the allotment is on the blue card.", "--again"
    )


def test_many_lines_are_one_commit(box: Box) -> None:
    items = [
        {"text": f"Bulk fact {n} about item {n}.", "tags": ["bulk"], "type": "episodic"}
        for n in range(150)
    ]
    before = box.json("stats")["commits"]
    found = box.json("remember", "--from-jsonl", "-", stdin=lines(*items))
    assert box.json("stats")["commits"] == before + 1
    assert [row["title"] for row in found["results"]] == [item["text"] for item in items]
    assert len(found["commits"]) == 1


def test_a_file_and_ids_in_order(box: Box) -> None:
    path = box.folder / "in.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf"
        + lines(
            {"text": "File fact one."}, b"", {"text": "File fact two.", "x_custom": {"a": 1}}
        ).rstrip(b"\n")
    )
    ids = box.ok("remember", "--from-jsonl", "in.jsonl").split()
    assert [text_of(box, ident) for ident in ids] == ["File fact one.", "File fact two."]


def test_a_bad_line_is_named_and_loses_only_itself(box: Box) -> None:
    items = lines(
        {"text": "Good one of seven."},
        b"{not json",
        {"text": ""},
        ["list"],
        {"text": "Good two of seven."},
        {"text": "Bad date.", "created": "soon"},
        b'{"text": "caf\xe9"}',
        {"text": "surrogate \ud800"},
        {"text": "Good three of seven."},
    )
    done = box("--json", "remember", "--from-jsonl", "-", stdin=items)
    found = json.loads(done.stdout)
    assert done.returncode == 2
    assert [row["title"] for row in found["results"]] == [
        "Good one of seven.",
        "Good two of seven.",
        "Good three of seven.",
    ]
    assert [problem["line"] for problem in found["problems"]] == [2, 3, 4, 6, 7, 8]
    assert b"line 6: 'soon' is not a date" in done.stderr


def test_each_acknowledged_line_is_durable(box: Box) -> None:
    items = [{"text": f"Acknowledged fact {n} on subject {n}."} for n in range(200)]
    done = box("remember", "--from-jsonl", "-", "--ack", stdin=lines(*items))
    assert done.returncode == 0, done.stderr
    acks = [ack.split(" ") for ack in done.stdout.decode().splitlines()]
    assert len(acks) == 200
    for (word, path, sha), item in zip(acks, items, strict=True):
        data = (box.vault / path).read_bytes()
        assert (word, sha) == ("ACK", hashlib.sha256(data).hexdigest())
        assert item["text"].encode() in data


def test_an_acknowledgement_comes_before_the_next_line(box: Box) -> None:
    process = box.start(
        "remember", "--from-jsonl", "-", "--ack", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for number in range(3):
        process.stdin.write(lines({"text": f"One at a time: {number} and no other."}))
        process.stdin.flush()
        assert select.select([process.stdout], [], [], 20)[0]
        assert process.stdout.readline().startswith(b"ACK ")
    process.stdin.close()
    assert process.wait(20) == 0


def test_for_programs_every_line_is_json_and_the_last_is_the_whole(box: Box) -> None:
    items = [{"text": f"Lines for programs, number {n} of many."} for n in range(70)]
    done = box("--json", "remember", "--from-jsonl", "-", "--ack", stdin=lines(*items, b"{broken"))
    assert done.returncode == 2
    *said, whole = map(json.loads, done.stdout.decode().splitlines())
    acks = [line["ack"] for line in said if "ack" in line]
    assert acks == [
        {name: row[name] for name in ("id", "path", "sha256")} for row in whole["results"]
    ]
    assert (len(acks), [line["refused"]["line"] for line in said if "refused" in line]) == (
        70,
        [71],
    )


def test_one_text_with_ack(box: Box) -> None:
    assert box.ok("remember", "A single acknowledged thing.", "--ack").startswith("ACK ")
    assert box.json("remember", "Another acknowledged thing.", "--ack")["results"][0]["sha256"]


def test_an_editor(box: Box, tmp_path: Path) -> None:
    """On a terminal, without a text: $EDITOR. A pseudo-terminal stands in for the person."""
    import pty

    editor = tmp_path / "editor"
    editor.write_text(
        '#!/bin/sh\necho "Written in the editor." > "$1"\nsleep 1\ntouch -d "+2 seconds" "$1"\n'
    )
    editor.chmod(0o755)
    master, slave = pty.openpty()
    try:
        process = subprocess.Popen(
            box.argv("--json", "remember"),
            env=box.env | {"EDITOR": str(editor), "TERM": "dumb"},
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            cwd=box.folder,
        )
        out, _ = process.communicate(timeout=30)
    finally:
        os.close(master)
        os.close(slave)
    assert process.returncode == 0
    assert text_of(box, json.loads(out)["results"][0]["id"]) == "Written in the editor."


def test_the_whole_intake_is_quick(box: Box) -> None:
    items = [{"text": f"Quick fact {n} of many, number {n}."} for n in range(500)]
    started = time.monotonic()
    box("remember", "--from-jsonl", "-", stdin=lines(*items))
    assert time.monotonic() - started < 30
