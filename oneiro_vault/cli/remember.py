"""remember: one memory from the command line, standard input or an editor, or thousands from JSON lines."""

from __future__ import annotations

import json
import os
import select
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from oneiro_vault.cli import terminal
from oneiro_vault.cli.face import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line
from oneiro_vault.cli.text import decode, words
from oneiro_vault.errors import InvalidInput

BATCH = 64
"""Lines that are waiting are stored together, up to this many in one commit."""
Numbered = tuple[int, dict[str, Any]]


@command("remember")
@click.argument("text", nargs=-1)
@click.option("--type", help="episodic, semantic, orientation, entity, procedure or principle (default: semantic).")
@click.option("--title", help="A title; otherwise the first line.")
@click.option("--description", help="One sentence that a search row shows.")
@click.option("--tag", "tags", multiple=True, help="A tag; repeatable.")
@click.option("--about", multiple=True, help="Whom or what it is about; repeatable.")
@click.option("--created", help="When it was learned, if not now.")
@click.option("--session", help="The conversation it comes from.")
@click.option("--project", help="Where it was learned.")
@click.option("--source", help="Who says so: user, model, capture, import:NAME.")
@click.option("--kind", help="What sort of fact, event or opinion.")
@click.option("--importance", type=float, help="0 to 1.")
@click.option("--path", help="Where in the vault the note goes.")
@click.option("--again", is_flag=True, help="Store it even when it says nothing new.")
@click.option("--from-jsonl", metavar="FILE|-", help="One JSON object a line: text, and any frontmatter key.")
@click.option("--ack", is_flag=True, help="Print `ACK <path> <sha256>` as each becomes durable.")
def remember_(
    face: Face,
    text: tuple[str, ...],
    tags: tuple[str, ...],
    about: tuple[str, ...],
    again: bool,
    from_jsonl: str | None,
    ack: bool,
    **meta: Any,
) -> Output:
    """Remember TEXT, - (standard input), or what you write in your editor."""
    if from_jsonl is not None:
        face.at_home()
        return _acknowledge(face, from_jsonl) if ack else _bulk(face, from_jsonl)
    item = {"text": words(face, text), "tags": list(tags), "about": list(about), **meta}
    item = {name: value for name, value in item.items() if value not in (None, [])}
    found = face.call("remember", items=[item], dedupe=False if again else None)
    row = found["results"][0]
    if ack:
        return Output(_ack(row), found)
    if row["duplicate_of"]:
        return Output(f"Known already: {row['id']}  {line(row['title'])}\n  {row['path']}  (--again stores it anyway)", found)
    return Output(f"Remembered {row['id']}  {line(row['title'])}\n  {row['path']}", found)


def _ack(row: dict[str, Any]) -> str:
    return f"ACK {row['path']} {row['sha256']}"


@dataclass
class _Intake:
    """What became of a stream of JSON lines: results in order, and what was refused with its line number."""

    face: Face
    results: list[dict[str, Any]] = field(default_factory=list)
    problems: list[dict[str, Any]] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)

    def parse(self, lines: Sequence[tuple[int, bytes]]) -> list[Numbered]:
        """The good ones; the others become problems. Blank lines are nothing."""
        good = []
        for number, data in lines:
            try:
                if data.strip():
                    good.append((number, _object(data)))
            except InvalidInput as error:
                self._refuse(number, error)
        return good

    def store(self, items: Sequence[Numbered]) -> list[dict[str, Any]]:
        """Remember them in one commit; one that is refused does not stop the others."""
        if not items:
            return []
        found = self.face.call("remember", items=[item for _, item in items], dedupe=False, partial=True)
        for bad in found["rejected"]:
            self.problems.append({"line": items[bad["item"]][0], "message": bad["message"]})
        if found["commit"]:
            self.commits.append(found["commit"])
        self.results += found["results"]
        return list(found["results"])

    def _refuse(self, number: int, error: InvalidInput) -> None:
        self.problems.append({"line": number, "message": str(error)})

    def output(self, text: str) -> Output:
        """The outcome of all of it; exit code 2 when a line was refused."""
        self.problems.sort(key=lambda problem: int(problem["line"]))
        note = "\n".join(f"line {problem['line']}: {line(problem['message'])}" for problem in self.problems)
        data = {"schema": 1, "results": self.results, "commits": self.commits, "problems": self.problems}
        return Output(text, data, note, code=InvalidInput.exit_code if self.problems else 0)


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(decode(data, "the line"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInput('not a JSON object such as {"text": "…"}')
    if not isinstance(found.get("text"), str) or not found["text"].strip():
        raise InvalidInput('"text" is missing or empty')
    try:
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:  # "\ud800" is JSON, but no text
        raise InvalidInput(f"not valid Unicode: {error.reason}") from error
    return found


def _open(face: Face, name: str) -> int:
    if name == "-":
        return 0
    try:
        return os.open(Path(face.request.cwd, name), os.O_RDONLY)
    except OSError as error:
        raise InvalidInput(f"{name} cannot be read: {error.strerror}", kept="Nothing was changed.") from error


def _bulk(face: Face, name: str) -> Output:
    intake = _Intake(face)
    everything = [entry for batch in batches(_open(face, name), most=1_000_000_000, patient=True) for entry in batch]
    intake.store(intake.parse(everything))
    return intake.output("\n".join(row["id"] for row in intake.results))


def _acknowledge(face: Face, name: str) -> Output:
    intake = _Intake(face)
    for batch in batches(_open(face, name), most=BATCH):
        rows = intake.store(intake.parse(batch))
        terminal.emit(terminal.OUT, terminal.encode("".join(_ack(row) + "\n" for row in rows)))
    return intake.output("")


def batches(file: int, most: int, patient: bool = False) -> Iterator[list[tuple[int, bytes]]]:
    """Numbered lines of a file descriptor: wait for the first, then take those that are there already. `patient` waits for the end."""
    rest, number, ended = b"", 0, False
    ready: list[tuple[int, bytes]] = []
    while not ended or ready:
        while not ended and len(ready) < most and (patient or not ready or select.select([file], [], [], 0)[0]):
            data = os.read(file, 1 << 16)
            ended = not data
            *whole, rest = (rest + data).split(b"\n") if data else ([rest, b""] if rest else [b""])
            for entry in whole:
                number += 1
                ready.append((number, entry))
        taken, ready = ready[:most], ready[most:]
        if taken:
            yield taken
