"""The memories of a vault as files for people and for other programs, outside of the vault: in
formats with a module of their own, or as lines of JSON, one object a memory, with everything its
file says, so that reading it back gives the same bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.memory import captured
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.errors import InvalidInput, shown
from oneiro_vault.importers.own import LINES, MARK, VERSION
from oneiro_vault.operations.exchange import export_book, export_okf
from oneiro_vault.operations.exchange.export_target import Target, opened
from oneiro_vault.operations.exchange.exported import STAGE, Exported, Selection, attach
from oneiro_vault.operations.read import recall_show
from oneiro_vault.operations.read.recall_show import many
from oneiro_vault.operations.remember.drafts import checked_types, did_you_mean
from oneiro_vault.operations.runtime import House, View


def _lines(chosen: Selection, target: Target, progress: Progress) -> None:
    """All of them into `memories.jsonl`, in the order of their paths, and what they show."""
    files: dict[str, None] = {}
    with target.growing(LINES) as out:
        for number, one in enumerate(chosen.each()):
            out.write(_line(one, dict(_links(chosen, one))))
            files |= dict.fromkeys(one.attachments)
            progress(STAGE, number + 1, len(chosen.rows))
    attach(chosen, target, files)


def _links(chosen: Selection, one: Exported) -> Iterator[tuple[str, str]]:
    """(what a link calls it, which memory that is), of those that go out too."""
    for link in parser.parse(one.body).links:
        if link.target and (row := chosen.named(link.target, one.path)) is not None:
            yield link.target, row.handle


def _line(one: Exported, links: Mapping[str, str]) -> bytes:
    """A memory as one line."""
    found: dict[str, Any] = {
        MARK: VERSION,
        "id": one.handle,
        "path": one.path,
        "title": one.memory.title,
        "meta": yaml_block.data(one.meta),
        "text": one.body,
    }
    if one.file:
        found["file"] = one.file
    found["history"] = {
        "learned": one.history.learned,
        "changed": one.history.changed,
        "commits": one.history.commits,
    }
    found["links"] = links
    found["attachments"] = list(one.attachments)
    return json.dumps(found, ensure_ascii=False).encode() + b"\n"


class _Form(NamedTuple):
    write: Callable[[Selection, Target, Progress], None]
    single: str = ""
    """The end of a name that asks for one file."""


FORMS: Final[Mapping[str, _Form]] = {
    "okf": _Form(export_okf.write),
    "jsonl": _Form(_lines, ".jsonl"),
    "book": _Form(export_book.write, ".md"),
}


def export(
    house: House,
    format: str,
    target: str,
    type: str | Sequence[str] = (),
    tag: str | Sequence[str] = (),
    since: str | None = None,
    as_of: str | None = None,
    conversations: bool = True,
    archived: bool = False,
    progress: Progress = quiet,
) -> answers.Exported:
    """Write memories as files at `target`, an absolute path outside of the vault: a folder, a
    `.zip`, or one `.jsonl` or `.md`. Nothing is written over that no export made, nothing half
    stays.

    `type`, `tag` and `since` choose some; `as_of`: as they were then; without `conversations`
    captured ones are left out; `archived` ones come along when asked for. Raises InvalidInput,
    DiskProblem.
    """
    form = FORMS.get(format)
    if form is None:
        raise InvalidInput(
            f"there is no format {shown(format)}{did_you_mean(format, FORMS)}",
            kept="Nothing was written.",
            hint=f"One of: {', '.join(FORMS)}.",
        )
    with recall_show.opened(house, as_of, progress) as view:
        chosen = select(view, many(type), many(tag), since, conversations, archived)
        if not chosen.rows:
            raise InvalidInput(
                "no memory fits, so there is nothing to export", kept="Nothing was written."
            )
        with opened(target, format, house.root, form.single) as place:
            form.write(chosen, place, progress)
    return {
        "schema": 1,
        "format": format,
        "target": str(place.place),
        "memories": len(chosen.rows),
        "files": place.files,
        "attachments": len(chosen.shown - chosen.kept),
        "left_beside": len(chosen.shown) if place.single else 0,
        "withheld": len(chosen.withheld),
        "files_cut": len(chosen.cut),
        "files_kept": len(chosen.kept),
        "conversations_left": chosen.conversations,
        "archived_left": chosen.archived,
    }


def select(
    view: View,
    types: Sequence[str] = (),
    tags: Sequence[str] = (),
    since: str | None = None,
    conversations: bool = True,
    archived: bool = False,
) -> Selection:
    """The memories that fit, by path; reports of dreams only when their type is asked for."""
    house = view.house
    recall_show.check_text(*types, *tags, since)
    if types and not view.past:
        types = checked_types(house, types)
    now = dates.local(house.clock())
    rows = view.index.list(
        type=tuple(types) or None,
        without=() if types else recall_show.REPORT,
        tag=tuple(tags) or None,
        since=dates.parse_range(since, now)[0] if since else None,
        limit=10_000_000,
    )
    kept = [row for row in rows if archived or row.status != "archived"]
    wanted = [row for row in kept if conversations or not captured(row)]
    wanted.sort(key=lambda row: row.path)
    return Selection(view, wanted, house.root.name, len(kept) - len(wanted), len(rows) - len(kept))
