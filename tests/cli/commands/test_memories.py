"""orient, flags, and pictures: as a person types them and as a program reads them."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from oneiro_vault.classify import orientation_gate
from oneiro_vault.cli.commands import memories
from oneiro_vault.core.markdown.orientation import LIMIT
from tests.box import Box, eventually
from tests.pictures import encoded


def write(box: Box, name: str, text: str) -> None:
    (box.vault / "orientation").mkdir(exist_ok=True)
    (box.vault / "orientation" / name).write_text(text)


def test_orient_for_people_and_programs(fresh: Box) -> None:
    box = fresh.init()
    assert "There is no orientation yet" in box.ok("orient")
    write(
        box,
        "team.md",
        "---\ntype: orientation\ntitle: The team\n---\nFour people \x1b[31mbuild boats.\n",
    )
    ident = box.remember("The boat is called Petrel.")["id"]
    said = box.ok("orient")
    assert "## The team" in said
    assert "\x1b" not in said
    assert "recent\n" in said
    assert ident[:8] in said
    assert ident[:8] not in box.ok("orient", "-n", "0")
    assert "fitting\n" in box.ok("orient", "--context", "what is the boat called?")
    found = box.json("orient", "--context", "boat", "--project", "boats", "--limit", "4000")
    assert found.keys() >= {"schema", "text", "blocks", "recent", "flagged", "degraded"}
    assert (box.vault / ".oneiro" / "orientation.md").read_text() == found["text"]
    assert box("orient", "-n", "1000").returncode == 2
    assert box("orient", "--limit", "3").returncode == 2


def test_a_person_writes_their_own_block(fresh: Box) -> None:
    box = fresh.init()
    assert "oneiro orient --edit" in box.ok("orient")
    untouched = memories.templates()["person"]["text"]
    refused = box("orient", "--edit", stdin=untouched.encode())
    assert refused.returncode == 2
    assert b"nothing in it but headings" in refused.stderr
    written = untouched.replace("## Work\n", "## Work\nI repair organs.\n")
    assert "orientation/person.md" in box.ok("orient", "--edit", stdin=written.encode())
    text = (box.vault / "orientation/person.md").read_text()
    assert text.endswith("---\n## Work\nI repair organs.\n")
    assert "source: user\n" in text
    assert "I repair organs." in box.ok("orient", "-n", "0")
    assert box.ok("orient", "--edit", stdin=b"## Work\nI repair harps.").startswith("Changed ")
    assert (box.vault / "orientation/person.md").read_text().endswith("## Work\nI repair harps.\n")


def test_a_person_fills_a_template_whose_questions_nobody_else_reads(fresh: Box) -> None:
    box = fresh.init()
    first, second = memories.templates()["communication"]["text"].strip().split("\n\n")
    said = f"{memories.INTRO}\n\n{first}\n\nIn short sentences.\n\n{second}\n"
    wrote = box.ok("orient", "--edit", "communication", stdin=said.encode())
    assert wrote.startswith("Wrote orientation/communication.md")
    text = (box.vault / "orientation/communication.md").read_text()
    assert text.endswith(f"---\n{first}\n\nIn short sentences.\n")
    for line in ("source: user", "priority: 85", "budget: 600", "keep: oldest"):
        assert f"{line}\n" in text
    began = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s"}
    began |= {"cwd": str(box.folder)}
    for loaded in (
        box.ok("orient", "-n", "0"),
        box.ok("context", "how do I like answers?"),
        box.ok("recall", "how should answers be written"),
        box.ok("hook", "SessionStart", stdin=json.dumps(began).encode()),
    ):
        assert "In short sentences." in loaded
        assert "how formal" not in loaded
    rows = {row["kind"]: row for row in box.json("orient", "--templates")["templates"]}
    assert len(rows) == 14
    assert [kind for kind, row in rows.items() if row["id"]] == ["communication"]
    shown = box.ok("orient", "--templates").splitlines()
    assert "written" in next(one for one in shown if one.startswith("communication "))
    long = box("orient", "--edit", "scratchpad", stdin=b"Buy rope. " * 60)
    assert b"300 are loaded: its end" in long.stderr
    refused = box("orient", "--edit", "comunication", stdin=b"x")
    assert refused.returncode == 2
    assert b"there is no template 'comunication'" in refused.stderr


def test_templates_are_whole_and_fit_together() -> None:
    kinds = memories.templates()
    assert sum(one.get("budget", 0) for one in kinds.values()) < LIMIT
    assert len({one["priority"] for one in kinds.values()}) == len(kinds)
    for kind, one in kinds.items():
        parts = one["text"].strip().split("\n\n")
        assert memories._answered(memories._draft("", parts), parts) == "", kind
        assert not re.search(r"\byou (?:are|must|should)\b", f"{one['title']} {one['text']}", re.I)
        assert orientation_gate.prescribes(one["title"]) == "", kind
        for part in parts:
            filled = memories._draft("", parts).replace(part, f"{part}\nMine.")
            assert memories._answered(filled, parts) == f"{part}\nMine."
            assert memories._draft(f"{part}\nMine.", parts).count(part.splitlines()[0]) == 1


def test_what_a_person_adds_to_a_template_stays() -> None:
    parts = memories.templates()["rules"]["text"].strip().split("\n\n")
    own = "## Always\n\n%% mine %%\n\n## At home\n\nShoes off.\n\n## Never\n"
    assert memories._answered(own, parts) == own.removesuffix("\n\n## Never\n")
    assert memories._answered("%% mine %%\r\n\r\nYes.\r\n", parts) == "%% mine %%\n\nYes."


def test_flags(fresh: Box) -> None:
    box = fresh.init()
    assert "No open questions." in box.ok("flags")
    (box.vault / "kiln.md").write_text(
        "---\ntype: semantic\ntitle: Kiln\nflags: [conflict]\n---\nRed.\n\n> [!conflict] Which "
        "colour?\n> Blue, says Bo.\n"
    )
    eventually(lambda: box.json("flags")["results"], 60)  # the owner hears of it from its watcher
    said = box.ok("flags").splitlines()
    assert "Kiln" in said[0]
    assert "conflict" in said[0]
    assert said[1:] == ["    Which colour?", "    Blue, says Bo."]
    assert "1 open question waits for you: `oneiro flags`" in box.ok("orient")
    assert box.json("flags", "-n", "5")["results"][0]["question"] == "Which colour?\nBlue, says Bo."


def test_remember_with_pictures_and_show(fresh: Box) -> None:
    box = fresh.init()
    data = encoded("JPEG", 300, 200)
    (box.folder / "boat in harbour.jpg").write_bytes(data)
    (box.folder / "boat.png").write_bytes(encoded("PNG", 30, 20))
    row = box.remember(
        "The boat is called Petrel.",
        "--image",
        "boat in harbour.jpg",
        f"--image={box.folder / 'boat.png'}",
    )
    place = box.vault / row["images"][0]["path"]
    assert (place.read_bytes(), sha256(data).hexdigest()) == (data, row["images"][0]["sha256"])
    assert "![boat in harbour](" in (box.vault / row["path"]).read_text()
    said = box.ok("show", row["id"])
    assert f"image: {row['images'][0]['path']}  300 × 200" in said
    place.unlink()
    (box.vault / row["images"][1]["path"]).unlink()
    assert len(box.json("show", row["id"])["images"]) == 2
    assert "Remembered" in box.ok("--no-daemon", "remember", "Another one.", "--image", "boat.png")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.png", None, "is not a file"),
        ("page.png", b"<!doctype html>", "not a PNG, JPEG, WebP or GIF"),
        ("drawing.svg", b"<svg/>", "not a PNG, JPEG, WebP or GIF"),
        ("empty.png", b"", "not a PNG"),
        ("large.png", b"x" * 10_000_001, "larger than 10,000,000 bytes"),
    ],
)
def test_a_file_that_is_no_picture_is_refused(
    box: Box, name: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        (box.folder / name).write_bytes(content)
    done = box("remember", "With a picture.", "--image", name)
    assert done.returncode == 2
    assert words in done.stderr.decode()
    assert "safe: Nothing was written" in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_a_pipe_or_a_folder_is_no_picture(box: Box) -> None:
    os.mkfifo(box.folder / "pipe.png")
    for name in ("pipe.png", ".", str(Path("/dev/zero"))):
        assert "is not a file" in box("remember", "x y z", "--image", name).stderr.decode()


def test_a_picture_belongs_to_one_memory(box: Box) -> None:
    (box.folder / "one.png").write_bytes(encoded())
    (box.folder / "many.jsonl").write_text('{"text": "a"}\n')
    done = box("remember", "--from-jsonl", "many.jsonl", "--image", "one.png")
    assert done.returncode == 2
    assert "--image" in done.stderr.decode()


PROGRAM = """
import json, re, sys
found = re.findall(r'<memory id="(?!given)([^"]+)"', sys.stdin.read())
print(json.dumps({"reason": "PIRATE", "tool": "enough" if found else "search_facts", "of": None,
    "query": "winch\x1b[31m", "days": 0, "matters": found}))
"""


def test_a_model_chooses_and_what_it_cost_is_no_part_of_it(fresh: Box) -> None:
    judge = fresh.folder / "judge.py"
    judge.write_text(PROGRAM)
    fresh.env["ONEIRO_DREAMS_COMMAND"] = shlex.join([sys.executable, str(judge)])
    fresh.env["ONEIRO_DREAMS_PRICES"] = "3 15"
    box = fresh.init()
    box.remember("The winch is oiled in May.")
    done = box("context", "what about the boom?", "--with-model", "--trace", "--fast")
    assert b"The winch is oiled in May." in done.stdout
    assert "search_facts · winch" in done.stdout.decode()
    assert b"\x1b" not in done.stdout
    assert b"PIRATE" not in done.stdout
    assert re.search(
        rb": 2 questions, [\d,]+ tokens in, \d+ out \(estimated\), about 0\.", done.stderr
    )
    assert b"spent" not in done.stdout
    assert (
        box.json("context", "what about the boom?", "--with-model", "--fast")["model"]["calls"] == 2
    )
