"""remember: one memory from the command line, standard input or an editor, or thousands from JSON
lines, each stored, found to be there already, or refused with its number and the reason."""

from __future__ import annotations

import base64
import json
import os
import select
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, TypedDict

import click

from oneiro_vault import answers
from oneiro_vault.answers import Json
from oneiro_vault.cli import terminal
from oneiro_vault.cli.context import NOT_TEXT, Face, decode, words
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, as_json, line
from oneiro_vault.errors import InvalidInput, shown
from oneiro_vault.settings.definitions import load


@command("remember")
@click.argument("text", nargs=-1)
@click.option(
    "--type",
    help="episodic, semantic, orientation, entity, procedure or principle (default: semantic).",
)
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
@click.option(
    "--replaces", multiple=True, metavar="ID", help="A memory that holds no longer; repeatable."
)
@click.option(
    "--image",
    "images",
    multiple=True,
    metavar="FILE",
    help="A PNG, JPEG, WebP or GIF picture of it; repeatable.",
)
@click.option("--again", is_flag=True, help="Store it even when it says nothing new.")
@click.option(
    "--from-jsonl",
    metavar="FILE|-",
    help="One JSON object a line: text, and any frontmatter key; the options above are for lines "
    "without it.",
)
@click.option(
    "--ack",
    is_flag=True,
    help="Print `ACK <path> <sha256>` (a JSON line with --json) as each becomes durable.",
)
def remember_(
    face: Face,
    text: tuple[str, ...],
    tags: tuple[str, ...],
    about: tuple[str, ...],
    images: tuple[str, ...],
    replaces: tuple[str, ...],
    again: bool,
    from_jsonl: str | None,
    ack: bool,
    **meta: Any,
) -> Output:
    """Remember TEXT, - (standard input), or what you write in your editor."""
    item = {"tags": list(tags), "about": list(about), "replaces": list(replaces), **meta}
    item = {name: value for name, value in item.items() if value not in (None, [])}
    if images:
        face.at_home()
        item["images"] = [_picture(face, name) for name in images]
    if from_jsonl is not None:
        _refuse_both(text, item)
        face.at_home()
        return from_lines(face, from_jsonl, item, again, ack)
    found = face.ops.remember(
        items=[{"text": words(face, text), **item}], dedupe=False if again else None
    )
    row = found["results"][0]
    if ack:
        return Output(acknowledgement(row, False), found)
    told = f"{row['id']}  {line(row['title'])}\n  {row['path']}"
    if row["duplicate_of"]:
        return Output(f"Known already: {told}  (--again stores it anyway)", found)
    return Output(f"Remembered {told}", found)


@command("correct")
@click.argument("text", nargs=-1)
@click.option("--id", "ident", metavar="ID", help="What it corrects; otherwise that is found.")
@click.option("--from", "valid_from", metavar="DATE", help="Since when it holds, if not now.")
def correct_(
    face: Face, text: tuple[str, ...], ident: str | None, valid_from: str | None
) -> Output:
    """Say what holds now: it replaces what the vault said of it, and the old words stay."""
    found = face.ops.correct(text=words(face, text), id=ident, valid_from=valid_from)
    old = found["replaced"]
    told = f"{found['id']}  {line(found['title'])}\n  {found['path']}"
    told += f"\n  replaces {old['id']}  {line(old['title'])}"
    if rest := found["kept"]:
        told += f"\n  what that said besides is {rest['id']}  {line(rest['title'])}"
    return Output(f"Remembered {told}", found)


def _refuse_both(text: tuple[str, ...], item: Mapping[str, Any]) -> None:
    """Words beside a file of memories would be lost; what belongs to one cannot belong to each of
    many."""
    if text:
        raise click.UsageError("Give TEXT or --from-jsonl, not both. Nothing was stored.")
    names = ("title", "description", "path", "images", "replaces")
    options = {"images": "image"}
    single = " and ".join(f"--{options.get(name, name)}" for name in names if name in item)
    if single:
        told = f"{single} cannot be the same for every line of --from-jsonl."
        raise click.UsageError(f"{told} Nothing was stored.")


def _picture(face: Face, name: str) -> dict[str, str]:
    """A file as `remember` takes it. Raises InvalidInput."""
    path = Path(face.request.cwd, name).expanduser()
    limit = load(face.root, face.request.env)["images.bytes"]
    try:
        if not path.is_file():
            raise InvalidInput(f"{shown(name, 120)} is not a file", kept="Nothing was written.")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise InvalidInput(
            f"{shown(name, 120)} cannot be read: {error.strerror}", kept="Nothing was written."
        ) from error
    if len(data) > limit:
        raise InvalidInput(
            f"{shown(name, 120)} is larger than {limit:,} bytes",
            kept="Nothing was written.",
            hint="Make it smaller.",
        )
    return {"data": base64.b64encode(data).decode(), "alt": path.stem}


BATCH: Final = 64
"""Lines that are waiting are stored together, up to this many in one commit."""
SHOWN: Final = 50
"""Refused lines that are shown; all of them are in the JSON output."""
Numbered = tuple[int, bytes, Json]


def from_lines(
    face: Face, name: str, defaults: Mapping[str, Any], again: bool, ack: bool
) -> Output:
    """Take in a file, or standard input (`-`): in one commit, or with `ack` each line as it
    comes."""
    intake = Intake(face, defaults, again)
    file, size = _open(face, name)
    if ack:
        intake.as_they_come(file, size)
        text = ""
    else:
        whole = batches(file, most=1_000_000_000, patient=True)
        everything = [entry for batch in whole for entry in batch]
        text = "\n".join(row["id"] for row in intake.store(intake.parse(everything)))
    return intake.output(text, "" if file == 0 else name)


def acknowledgement(row: Mapping[str, Any], as_data: bool) -> str:
    """`ACK <path> <sha256>`, or a JSON line (with --json the last one is the whole result)."""
    if as_data:
        return as_json({"schema": 1, "ack": {name: row[name] for name in ("id", "path", "sha256")}})
    return f"ACK {row['path']} {row['sha256']}\n"


class BadLine(TypedDict):
    """A refused line, by its number."""

    line: int
    message: str
    hint: str


@dataclass
class Intake:
    """What became of a stream. `defaults`: keys for lines that lack them."""

    face: Face
    defaults: Mapping[str, Any]
    again: bool
    results: list[answers.RememberedRow] = field(default_factory=list)
    problems: list[BadLine] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    notices: dict[str, None] = field(default_factory=dict)
    _refused: dict[int, bytes] = field(default_factory=dict)
    _answered: dict[bytes, list[str]] = field(default_factory=dict)
    _said: int = 0

    def as_they_come(self, file: int, size: int) -> None:
        """Store what is there, say so, and wait for more. `size`: bytes to come, 0 if nobody
        knows."""
        done = 0
        shows = not self.face.json and not os.isatty(terminal.OUT)
        with terminal.Waiting(aloud=True, shows=shows) as sign:  # else the acknowledgements show it
            for batch in batches(file, most=BATCH):
                rows = self.store(self.parse(batch), streaming=True)
                text = "".join(acknowledgement(row, self.face.json) for row in rows)
                terminal.emit(terminal.OUT, terminal.encode(text))
                self._tell_refused()
                done += sum(len(data) + 1 for _, data in batch)
                sign.count("remembering", done, size)

    def _tell_refused(self) -> None:
        """At once: whoever feeds us must not wait for an acknowledgement that never comes."""
        fresh = sorted(self.problems[self._said :], key=lambda problem: problem["line"])
        shown = fresh if self.face.json else fresh[: max(0, SHOWN - self._said)]
        self._said = len(self.problems)
        text = "".join(
            as_json({"schema": 1, "refused": problem}) if self.face.json else _told(problem) + "\n"
            for problem in shown
        )
        terminal.emit(terminal.OUT if self.face.json else terminal.ERR, terminal.encode(text))

    def parse(self, lines: Sequence[tuple[int, bytes]]) -> list[Numbered]:
        """The good ones; the others become problems. Blank lines are nothing."""
        good = []
        for number, data in lines:
            try:
                if data.strip():
                    good.append((number, data, self._completed(_object(data))))
            except InvalidInput as error:
                self._refuse(number, data, str(error), error.hint)
        return good

    def store(
        self, items: Sequence[Numbered], streaming: bool = False
    ) -> list[answers.RememberedRow]:
        """Remember them in one commit; a refused one does not stop the others."""
        if not items:
            return []
        marks = [blake2b(item["text"].encode(), digest_size=12).digest() for _, _, item in items]
        taken = [ident for mark in dict.fromkeys(marks) for ident in self._answered.get(mark, ())]
        wanted = [item for _, _, item in items]
        quiet = (lambda *_: None) if streaming else None  # our own sign shows how it goes
        found = self.face.ops.remember(
            items=wanted,
            dedupe=False if self.again else "exact",
            partial=True,
            taken=taken,
            progress=quiet,
        )
        rejected = {bad["item"]: bad for bad in found["rejected"]}
        for position, bad in rejected.items():
            number, data, _ = items[position]
            self._refuse(number, data, bad["message"], bad["hint"])
        rows = found["results"]
        if streaming:
            taken_in = [mark for n, mark in enumerate(marks) if n not in rejected]
            for mark, row in zip(taken_in, rows, strict=True):
                self._answered.setdefault(mark, []).append(row["id"])
        self.commits += [found["commit"]] if found["commit"] else []
        self.notices |= dict.fromkeys(found.get("notices", ()))
        self.results += rows
        return rows

    def output(self, text: str, name: str) -> Output:
        """The outcome of all of it. `name`: of the file, "" for what cannot be read again."""
        self.problems.sort(key=lambda problem: problem["line"])
        known = sum(1 for row in self.results if row["duplicate_of"])
        counts = {
            "stored": len(self.results) - known,
            "already_there": known,
            "refused": len(self.problems),
        }
        kept = self._keep() if self._refused and (not name or self.again) else None
        data = {
            "schema": 1,
            "results": self.results,
            "commits": self.commits,
            "problems": self.problems,
            **counts,
            "refused_lines": kept,
        }
        data |= {"notices": list(self.notices)} if self.notices else {}
        note = [] if self._said else [_told(problem) for problem in self.problems[:SHOWN]]
        more = len(self.problems) - SHOWN
        note += [f"… and {more} more lines"] if more > 0 else []
        if kept:
            mend = "mend them and give that file to --from-jsonl."
            note.append(f"The refused lines are in {kept}: {mend}")
        elif self._refused:
            twice = "run the command again: what is stored is not stored twice."
            note.append(f"Mend these lines in {line(name)} and {twice}")
        summary = f"stored {counts['stored']}, already there {known}, refused {counts['refused']}"
        note += [] if self.face.json else [summary]
        code = InvalidInput.exit_code if self.problems else 0
        return Output(text, data, "\n".join(note), code=code)

    def _completed(self, item: Json) -> Json:
        """With the defaults: a list joins the line's own, anything else stands in for what it
        lacks."""
        for key, value in self.defaults.items():
            own = item.get(key)
            if own is None:
                item[key] = value
            elif isinstance(value, list) and isinstance(own, str | list):
                own = [own] if isinstance(own, str) else own
                item[key] = own + [entry for entry in value if entry not in own]
        return item

    def _refuse(self, number: int, data: bytes, message: str, hint: str) -> None:
        self.problems.append({"line": number, "message": message, "hint": hint})
        self._refused[number] = data

    def _keep(self) -> str:
        """The path of a new file with the refused lines, byte for byte: a pipe cannot be read
        again."""
        handle, name = tempfile.mkstemp(prefix="oneiro-refused-", suffix=".jsonl")
        with os.fdopen(handle, "wb") as file:
            file.writelines(self._refused[number] + b"\n" for number in sorted(self._refused))
        return name


def _told(problem: BadLine) -> str:
    hint = f" ({line(problem['hint'])})" if problem["hint"] else ""
    return f"line {problem['line']}: {line(problem['message'])}{hint}"


def _object(data: bytes) -> Json:
    try:
        found = json.loads(decode(data, "the line"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInput('not a JSON object such as {"text": "…"}')
    if not isinstance(found.get("text"), str) or not found["text"].strip():
        raise InvalidInput('"text" is missing or empty')
    _refuse_odd(found)
    return found


def _refuse_odd(value: object) -> None:
    """What is JSON and can be in no note."""
    from oneiro_vault.core.frontmatter.yaml_block import DEEPEST  # YAML takes a while to load

    todo: list[tuple[object, int]] = [(value, 0)]
    while todo:
        one, depth = todo.pop()
        if depth > DEEPEST:
            raise InvalidInput(f"it is nested more than {DEEPEST} levels deep")
        if isinstance(one, str) and (odd := NOT_TEXT.search(one)):
            half = "it is not valid Unicode: it holds half of a surrogate pair"
            what = "it holds a NUL character" if odd[0] == "\0" else half
            raise InvalidInput(what, hint="Take it out.")
        if isinstance(one, dict):
            one = [*one, *one.values()]
        todo += [(part, depth + 1) for part in (one if isinstance(one, list) else ())]


def _open(face: Face, name: str) -> tuple[int, int]:
    """(file descriptor, bytes to read from it or 0 if that is not known)."""
    try:
        file = 0 if name == "-" else os.open(Path(face.request.cwd, name), os.O_RDONLY)
        found = os.fstat(file)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(0, "it is a folder")
    except OSError as error:
        raise InvalidInput(
            f"{name} cannot be read: {error.strerror}", kept="Nothing was changed."
        ) from error
    return file, found.st_size if stat.S_ISREG(found.st_mode) else 0


def batches(file: int, most: int, patient: bool = False) -> Iterator[list[tuple[int, bytes]]]:
    """Numbered lines of a file descriptor: those that are there, or (`patient`) all of them."""
    rest, number, ended = b"", 0, False
    ready: list[tuple[int, bytes]] = []
    while not ended or ready:
        while not ended and len(ready) < most:
            if ready and not patient and not select.select([file], [], [], 0)[0]:
                break
            data = os.read(file, 1 << 16)
            ended = not data
            *whole, rest = (rest + data).split(b"\n") if data else ([rest, b""] if rest else [b""])
            for entry in whole:
                number += 1
                ready.append((number, entry))
        taken, ready = ready[:most], ready[most:]
        if taken:
            yield taken
