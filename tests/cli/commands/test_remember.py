"""remember: text from everywhere, files of memories, thousands of lines: what is stored, what is
there already, what is refused, and what becomes of each line."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.cli.commands.remember import batches
from tests.box import Box, eventually
from tests.vault.support import git


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_whole_intake_is_quick(box: Box) -> None:
    items = [{"text": f"Quick fact {n} of many, number {n}."} for n in range(500)]
    started = time.monotonic()
    box("remember", "--from-jsonl", "-", stdin=lines(*items))
    assert time.monotonic() - started < 30


def intake(
    box: Box, *items: object, options: tuple[str, ...] = (), code: int = 0
) -> dict[str, Any]:
    done = box("--json", "remember", "--from-jsonl", "-", *options, stdin=lines(*items))
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def counts(found: dict[str, Any]) -> tuple[int, int, int]:
    return found["stored"], found["already_there"], found["refused"]


FILE = [
    {"text": "The kiln is fired on Mondays."},
    {"text": "Tea"},
    {"text": "Bo moved to Lisbon.", "type": "episodic", "created": "2023-05-08"},
    {"text": "Titled words.", "title": "A title of its own"},
    {"text": "Ana: See you.", "session": "s9", "type": "episodic", "created": "2023-05-08"},
    {"text": "Bo: See you.", "session": "s9", "type": "episodic", "created": "2023-05-08"},
    {"text": "Ana: See you.", "session": "s9", "type": "episodic", "created": "2023-05-08"},
]


@pytest.mark.parametrize("options", [(), ("--ack",)])
def test_the_same_file_again_stores_nothing(box: Box, options: tuple[str, ...]) -> None:
    mark = f"once{len(options)}"
    items = [{**item, "text": f"{item['text']} {mark}"} for item in FILE]
    first = intake(box, *items, options=options)
    assert counts(first) == (7, 0, 0)
    total = box.json("list")["total"]
    again = intake(box, *items, options=options)
    assert counts(again) == (0, 7, 0)
    assert again["commits"] == []
    assert [row["duplicate_of"] for row in again["results"]] == [
        row["id"] for row in first["results"]
    ]
    assert box.json("list")["total"] == total
    assert counts(intake(box, *items, options=(*options, "--again"))) == (7, 0, 0)


def test_a_line_that_stands_twice_in_a_file_is_one_memory(box: Box) -> None:
    found = intake(
        box,
        {"text": "Twice in a file."},
        {"text": "Between."},
        {"text": "  Twice in a file.\n", "title": "Twice in a file."},
    )
    ids = [row["id"] for row in found["results"]]
    assert counts(found) == (2, 1, 0)
    assert ids[0] == ids[2] == found["results"][2]["duplicate_of"]
    assert found["results"][2]["sha256"] == found["results"][0]["sha256"]
    lines_ = box.ok(
        "remember",
        "--from-jsonl",
        "-",
        stdin=lines({"text": "Twice in a file."}, {"text": "Two."}, {"text": "Two."}),
    ).split()
    assert lines_[0] == ids[0]
    assert lines_[1] == lines_[2]


def test_the_same_words_on_another_day_or_of_another_type_are_news(box: Box) -> None:
    items = [
        {"text": "It rained all day.", **keys}
        for keys in ({"created": "2023-05-08"}, {"created": "2023-05-09"}, {"type": "principle"})
    ]
    assert counts(intake(box, *items)) == (3, 0, 0)
    assert counts(intake(box, {"text": "It rained all day."})) == (0, 1, 0)


def test_what_is_durable_already_is_acknowledged_with_its_own_bytes(box: Box) -> None:
    row = box.remember("Durable and known.")
    mine = box.vault / "mine.md"
    mine.write_text("---\ntype: semantic\ntitle: By hand.\n---\nBy hand.\n")
    done = box(
        "remember",
        "--from-jsonl",
        "-",
        "--ack",
        stdin=lines({"text": "Durable and known."}, {"text": "By hand."}),
    )
    acks = [ack.split() for ack in done.stdout.decode().splitlines()]
    assert [ack[1] for ack in acks] == [row["path"], "mine.md"]
    for _, path, sha in acks:
        committed = subprocess.run(
            ["git", "-C", str(box.vault), "show", f"HEAD:{path}"], capture_output=True, check=True
        ).stdout
        assert hashlib.sha256(committed).hexdigest() == sha
    assert git(box.vault, "log", "-1", "--format=%s", "--", "mine.md") == "edit: By hand.\n"
    assert done.stderr == b"stored 0, already there 2, refused 0\n"


def test_what_was_forgotten_does_not_come_back_with_its_file(box: Box) -> None:
    text = "A memory to be forgotten."
    ident = intake(box, {"text": text})["results"][0]["id"]
    box.ok("forget", ident)
    found = intake(box, {"text": text}, {"text": "Another one beside it."}, code=2)
    assert counts(found) == (1, 0, 1)
    assert f"{ident} said this and was forgotten" in found["problems"][0]["message"]
    assert f"oneiro restore {ident}" in found["problems"][0]["hint"]
    box.ok("restore", ident)
    assert counts(intake(box, {"text": text})) == (0, 1, 0)


def test_an_id_of_ones_own(box: Box) -> None:
    item = {"text": "Came with its id.", "id": "7k2m9x4q8w3n"}
    assert intake(box, item)["results"][0]["id"] == "7k2m9x4q8w3n"
    assert counts(intake(box, item)) == (0, 1, 0)
    other = intake(box, item | {"text": "Says something else."}, code=2)
    assert "7k2m9x4q8w3n is already the id of" in other["problems"][0]["message"]
    box.ok("forget", "7k2m9x4q8w3n")
    assert (
        "was forgotten"
        in intake(box, item | {"text": "Says something else."}, code=2)["problems"][0]["message"]
    )


CONFLICT = "How git shows a conflict:\n\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n"
BAD: list[tuple[object, str]] = [
    ({"text": "a\0b"}, "NUL character"),
    ({"text": "fine", "mood": ["a\0b"]}, "NUL character"),
    ({"text": "half \ud800"}, "surrogate"),
    ({"text": CONFLICT}, "conflict markers"),
    ({"text": "taken", "path": "taken.md"}, "taken.md exists already"),
    ({"text": "twice, second", "path": "Fresh.md"}, "is the path of another one here"),
    ({"text": "out", "path": "../out.md"}, "out.md"),
    ({"text": "git", "path": ".git/x.md"}, "cannot be used"),
    ({"text": "reserved", "path": "con.md"}, "cannot exist on every system"),
    ({"text": "case", "path": "TAKEN.md"}, "the same file"),
    ({"text": "folder", "path": "taken.md/x.md"}, "taken.md"),
    ({"text": 7}, '"text" is missing'),
    ({"text": "x", "type": ["a"]}, "type must be one word"),
    ({"text": "x", "type": "sematic"}, "did you mean 'semantic'"),
    ({"text": "x", "tags": {"a": 1}}, "tags must be a list of names"),
    ({"text": "x", "core": True}, "core is given by a person"),
    ({"text": "x", "trust": "god"}, "trust must be one of user, said, model, external"),
    ({"text": "x", "trust": "user", "source": "import:chat"}, "is trusted as external at most"),
    ({"text": "x", "source": "a\nb"}, "source must be user, model"),
    ({"text": "x", "source": "somebody"}, "source must be user, model"),
    ({"text": "x", "status": "done"}, "status must be one of active"),
    ({"text": "x", "keep": "middle"}, "keep must be oldest or newest"),
    ({"text": "x", "importance": "7"}, "importance must be a number from 0 to 1"),
    ({"text": "x", "level": -1}, "level must be a whole number, 0 or more"),
    ({"text": "x", "turn": True}, "turn must be a whole number"),
    ({"text": "x", "derived_from": ["nothing"]}, "derived_from must be a list of ids"),
    ({"text": "x", "superseded_by": "nobody"}, "superseded_by must be an id"),
    ({"text": "x", "valid_until": "soon"}, "is not a date"),
    ({"text": "x", "session": "a\tb"}, "session must be text on one line"),
    ({"text": "x", "a\nb": 1}, "cannot be the name of a key"),
    ({"text": "x", "id": "mine"}, "id must be 12 lower-case letters"),
    (b'{"text": "deep", "x": ' + b"[" * 900 + b"]" * 900 + b"}", "levels deep"),
    (b'{"text": "big", "x": 1' + b"0" * 30 + b"}", "cannot be written into frontmatter"),
    (b'{"text": "not a number", "x": NaN}', "cannot be written into frontmatter"),
    ({"text": "x", "notes": "y" * 70_000}, "would not read back"),
]


def test_every_bad_line_is_named_and_costs_nothing_but_itself(box: Box) -> None:
    box.ok("remember", "Here already.", "--path", "taken.md")
    total = box.json("list")["total"]
    items: list[object] = [{"text": "twice, first", "path": "Fresh.md"}]
    for number, (bad, _) in enumerate(BAD):
        items += [bad, {"text": f"Good line number {number} of many."}]
    found = intake(box, *items, code=2)
    assert [problem["line"] for problem in found["problems"]] == [
        2 * number + 2 for number in range(len(BAD))
    ]
    for problem, (_, says) in zip(found["problems"], BAD, strict=True):
        assert says in problem["message"], problem
    assert counts(found) == (len(BAD) + 1, 0, len(BAD))
    assert len(found["commits"]) == 1
    assert box.json("list")["total"] == total + len(BAD) + 1


def test_refused_lines_of_a_pipe_are_kept_to_be_mended(box: Box, tmp_path: Path) -> None:
    bad = [b'{"text": "day",  "created": "someday"}', b"{half a line"]
    done = box(
        "remember",
        "--from-jsonl",
        "-",
        stdin=b'{"text": "Good and kept."}\n' + b"\n".join(bad),
        env={"TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 2
    said = done.stderr.decode()
    assert "line 2: 'someday' is not a date (Use 2026-03-05" in said
    assert said.endswith("stored 1, already there 0, refused 2\n")
    kept = Path(re.search(r"The refused lines are in (\S+):", said)[1])  # type: ignore[index]  # it is there: the test made it
    assert kept.read_bytes() == b"\n".join(bad) + b"\n"


def test_refused_lines_of_a_file_are_mended_where_they_are(box: Box, tmp_path: Path) -> None:
    (box.folder / "some.jsonl").write_bytes(lines({"text": "Kept of a file."}, {"text": ""}))
    done = box("remember", "--from-jsonl", "some.jsonl", env={"TMPDIR": str(tmp_path)})
    assert b"Mend these lines in some.jsonl and run the command again" in done.stderr
    assert list(tmp_path.glob("oneiro-refused-*")) == []
    (box.folder / "some.jsonl").write_bytes(lines({"text": "Kept of a file."}, {"text": "Mended."}))
    assert (
        box("remember", "--from-jsonl", "some.jsonl").stderr
        == b"stored 1, already there 1, refused 0\n"
    )


def test_whoever_feeds_line_by_line_hears_of_a_bad_one_at_once(box: Box) -> None:
    with subprocess.Popen(
        box.argv("remember", "--from-jsonl", "-", "--ack"),
        env=box.env, cwd=box.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"{no\n")
        process.stdin.flush()
        assert select.select([process.stderr], [], [], 20)[0]
        assert process.stderr.readline().startswith(b"line 1: not JSON")
        process.stdin.write(lines({"text": "The next one is heard."}))
        process.stdin.flush()
        assert select.select([process.stdout], [], [], 20)[0]
        assert process.stdout.readline().startswith(b"ACK ")
        process.stdin.close()
        rest = process.stderr.read()
    assert rest.endswith(b"stored 1, already there 0, refused 1\n")
    assert b"line 1" not in rest
    done = box("--json", "remember", "--from-jsonl", "-", "--ack", stdin=b"{no\n")
    refused, whole = map(json.loads, done.stdout.splitlines())
    assert refused["refused"]["line"] == 1
    assert whole["problems"] == [refused["refused"]]


def test_very_many_refused_lines_do_not_flood_the_terminal(box: Box) -> None:
    done = box("remember", "--from-jsonl", "-", stdin=b"no\n" * 300)
    assert len(done.stderr.splitlines()) < 60
    assert b"and 250 more lines" in done.stderr
    assert b"line 300" not in done.stderr


def test_options_are_defaults_for_every_line(box: Box) -> None:
    options = ("--tag", "imported", "--type", "episodic", "--source", "import:diary")
    found = intake(
        box,
        {"text": "Defaults one.", "tags": ["own"]},
        {"text": "Defaults two.", "type": "principle", "tags": "x"},
        options=options,
    )
    metas = [box.json("show", row["id"])["meta"] for row in found["results"]]
    assert [meta["tags"] for meta in metas] == [["own", "imported"], ["x", "imported"]]
    assert [(meta["type"], meta["source"], meta["trust"]) for meta in metas] == [
        ("episodic", "import:diary", "external"),
        ("principle", "import:diary", "external"),
    ]


@pytest.mark.parametrize(
    "args", [["words"], ["-"], ["--title", "T"], ["--path", "a.md"], ["--description", "D"]]
)
def test_words_and_a_file_at_once_are_refused(box: Box, args: list[str]) -> None:
    total = box.json("list")["total"]
    done = box(
        "remember", *args, "--from-jsonl", "-", stdin=lines({"text": "Never stored with words."})
    )
    assert done.returncode == 2
    assert b"--from-jsonl" in done.stderr
    assert box.json("list")["total"] == total


def test_a_folder_is_no_file(box: Box) -> None:
    (box.folder / "folder").mkdir(exist_ok=True)
    done = box("remember", "--from-jsonl", "folder")
    assert (done.returncode, b"folder cannot be read: it is a folder" in done.stderr) == (2, True)


def test_acknowledged_work_shows_a_bar_on_a_terminal(box: Box, tmp_path: Path) -> None:
    """Nothing is shown for the first second, so the second line comes later than that."""
    acks = tmp_path / "acks"
    master, slave = pty.openpty()
    with acks.open("wb") as out:
        argv = box.argv("remember", "--from-jsonl", "-", "--ack")
        process = subprocess.Popen(
            argv, env=box.env | {"TERM": "xterm"}, stdin=subprocess.PIPE, stdout=out, stderr=slave
        )
    os.close(slave)
    assert process.stdin is not None
    process.stdin.write(lines({"text": "Bar fact one."}))
    process.stdin.flush()
    eventually(lambda: acks.read_bytes().endswith(b"\n"), 20)
    time.sleep(1.1)
    process.stdin.write(lines({"text": "Bar fact two."}))
    process.stdin.close()
    seen = b""
    while part := _read(master):
        seen += part
    os.close(master)
    assert process.wait(60) == 0
    assert b"remembering" in seen
    assert b"stored 2, already there 0, refused 0" in seen
    assert len(acks.read_bytes().splitlines()) == 2


def _read(file: int) -> bytes:
    try:
        return os.read(file, 65536)
    except OSError:  # the terminal has closed
        return b""


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    try:
        yield reader, writer
    finally:
        os.close(reader)


def test_waiting_lines_come_together_and_no_line_waits() -> None:
    with pipe() as (reader, writer):
        os.write(writer, b"a\nb\nc\nhalf")
        found = batches(reader, most=2)
        assert next(found) == [(1, b"a"), (2, b"b")]
        assert next(found) == [(3, b"c")]
        os.write(writer, b" line\nlast")
        assert next(found) == [(4, b"half line")]
        os.close(writer)
        assert list(found) == [[(5, b"last")]]


def test_a_patient_reader_takes_everything_at_once() -> None:
    with pipe() as (reader, writer):
        os.write(writer, b"a\n\nb\n")
        os.close(writer)
        assert list(batches(reader, most=100, patient=True)) == [[(1, b"a"), (2, b""), (3, b"b")]]
