"""orient, flags, ratify."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import click

from oneiro_vault.cli import render
from oneiro_vault.cli.commands.daily.text_input import words
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line, safe
from oneiro_vault.errors import InvalidInput

OWN: Final = "orientation/person.md"
SKELETON: Final = Path(__file__).with_name("person.md").read_text("utf-8")
HINT: Final = (
    "`oneiro orient --edit` writes what every conversation should know of you, in your own words."
)
_COMMENT: Final = re.compile(r"<!--.*?-->[ \t]*\n?", re.DOTALL)
_EMPTY: Final = re.compile(r"^#+ [^\n]*\n\s*(?=^#|\Z)", re.MULTILINE)


@command("orient")
@click.option("--context", help="What it is about: then the rows are those that fit it.")
@click.option("-n", type=int, default=15, show_default=True, help="How many rows besides; 0: none.")
@click.option("--project", help="Where the model stands: memories of that project come first.")
@click.option(
    "--limit", type=int, default=8000, help="UTF-16 units of text at most (default: 8000)."
)
@click.option(
    "--edit",
    is_flag=True,
    help="Say in your own words what every conversation should know of you; in an editor, or on "
    "standard input.",
)
def orient_(
    face: Face, context: str | None, n: int, project: str | None, limit: int, edit: bool
) -> Output:
    """What a model wakes into: the orientation notes, and what is recent or fits."""
    if edit:
        return _own(face)
    found = face.ops.orient(context=context, n=n, project=project, limit=limit)
    text = [
        safe(found["text"]).strip()
        or "There is no orientation yet: notes of the type `orientation` are loaded at every "
        "beginning.\n"
        + HINT
    ]
    rows = render.rows(found["recent"], face.style)
    if rows:
        text.append(f"{face.style('recent' if not context else 'fitting', 'bold')}\n{rows}")
    if found["flagged"]:
        text.append(
            f"{found['flagged']} open "
            f"{'question waits' if found['flagged'] == 1 else 'questions wait'} for you: `oneiro "
            f"flags`"
        )
    return Output("\n\n".join(text), found, render.gaps(found))


def _own(face: Face) -> Output:
    """Write the person's own block: made from a skeleton, then edited as it is."""
    row = next(
        (
            one
            for one in face.ops.list(type="orientation", limit=1000)["results"]
            if one["path"] == OWN
        ),
        None,
    )
    text = words(face, (), lambda: str(face.ops.show(id=row["id"])["body"]) if row else SKELETON)
    text = _EMPTY.sub("", _COMMENT.sub("", text)).strip()
    if not text:
        raise InvalidInput(
            "there is nothing in it but headings",
            kept="Nothing was changed.",
            hint="Write something below one of them.",
        )
    if row:
        found = face.ops.reframe(id=row["id"], text=text)
        return Output(f"Changed {line(found['path'])}", found)
    item = {
        "text": text,
        "type": "orientation",
        "title": "The person, in their own words",
        "path": OWN,
        "priority": 100,
    }
    stored = face.ops.remember(items=[item], actor="user")["results"][0]
    return Output(
        f"Wrote {line(stored['path'])}: every conversation begins with it, and no loop or model "
        f"changes it.",
        stored,
    )


@command("flags")
@click.option("-n", "--limit", type=int, default=20, show_default=True, help="How many at most.")
@click.option("--resolve", metavar="ID", help="That note's questions are answered.")
def flags_(face: Face, limit: int, resolve: str | None) -> Output:
    """Notes with an open question for a person, and the question."""
    if resolve:
        done = face.ops.resolve(id=resolve)
        said = (
            f"Answered: {', '.join(map(line, done['flags']))}"
            if done["flags"]
            else "There was no open question"
        )
        return Output(f"{said}  {line(done['title'])}", done)
    found = face.ops.flagged(limit=limit)
    text = []
    for row in found["results"]:
        text.append(
            f"{render.rows([row], face.style)} · "
            f"{face.style(', '.join(map(line, row['flags'])), 'yellow')}"
        )
        text += [f"    {part}" for part in safe(row["question"]).splitlines()]
    rest = found["total"] - len(found["results"])
    more = [f"{rest} more are not shown"] if rest > 0 else []
    return Output("\n".join(text + more) or "No open questions.", found)


@command("ratify")
@click.argument("ident", metavar="ID")
@click.option("--undo", is_flag=True, help="Take it back: loops may change the block again.")
@click.option("--reason", help="Why; kept in the history.")
def ratify_(face: Face, ident: str, undo: bool, reason: str | None) -> Output:
    """Say that an orientation block holds: it is always loaded, and no loop or model changes its
    words; at a terminal only."""
    face.person("ratifies", "A model can only propose other words, with `reframe`.")
    found = face.ops.ratify(id=ident, undo=undo, reason=reason or "")
    if found["commit"] is None:
        return Output(
            f"{line(found['title'])} was {'core' if found['core'] else 'not core'} already.", found
        )
    text = (
        f"Ratified {line(found['title'])}"
        if found["core"]
        else f"{line(found['title'])} is an ordinary block again"
    )
    note = f"It does more than describe: {line(found['prescribes'])}" if found["prescribes"] else ""
    return Output(f"{text}  {line(found['path'])}", found, note)
