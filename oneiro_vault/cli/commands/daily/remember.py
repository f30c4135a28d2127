"""remember: one memory from the command line, standard input or an editor, or thousands from JSON
lines."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from oneiro_vault.cli.commands.daily import jsonl_import
from oneiro_vault.cli.commands.daily.text_input import words
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, line
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
    again: bool,
    from_jsonl: str | None,
    ack: bool,
    **meta: Any,
) -> Output:
    """Remember TEXT, - (standard input), or what you write in your editor."""
    item = {"tags": list(tags), "about": list(about), **meta}
    item = {name: value for name, value in item.items() if value not in (None, [])}
    if images:
        face.at_home()
        item["images"] = [_picture(face, name) for name in images]
    if from_jsonl is not None:
        _refuse_both(text, item)
        face.at_home()
        return jsonl_import.run(face, from_jsonl, item, again, ack)
    found = face.ops.remember(
        items=[{"text": words(face, text), **item}], dedupe=False if again else None
    )
    row = found["results"][0]
    if ack:
        return Output(jsonl_import.acknowledgement(row, False), found)
    if row["duplicate_of"]:
        return Output(
            f"Known already: {row['id']}  {line(row['title'])}\n  {row['path']}  (--again stores "
            f"it anyway)",
            found,
        )
    return Output(f"Remembered {row['id']}  {line(row['title'])}\n  {row['path']}", found)


def _refuse_both(text: tuple[str, ...], item: Mapping[str, Any]) -> None:
    """Words beside a file of memories would be lost, and what belongs to one memory cannot belong
    to each of many."""
    if text:
        raise click.UsageError("Give TEXT or --from-jsonl, not both. Nothing was stored.")
    single = [
        f"--{name.removesuffix('s')}"
        for name in ("title", "description", "path", "images")
        if name in item
    ]
    if single:
        raise click.UsageError(
            f"{' and '.join(single)} cannot be the same for every line of --from-jsonl. Nothing "
            f"was stored."
        )


def _picture(face: Face, name: str) -> dict[str, str]:
    """A file as `remember` takes it; what it is called stands for it where it cannot be seen.
    Raises InvalidInput."""
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
