"""The memories of a vault as files for people and for other programs, outside of the vault."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core.memory import captured
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.errors import InvalidInput, shown
from oneiro_vault.operations.exchange import export_book, export_jsonl, export_okf
from oneiro_vault.operations.exchange.export_target import Target, opened
from oneiro_vault.operations.exchange.exported import Selection
from oneiro_vault.operations.read import recall_show
from oneiro_vault.operations.remember.drafts import checked_types, did_you_mean
from oneiro_vault.operations.runtime import House, View


class _Form(NamedTuple):
    write: Callable[[Selection, Target, Progress], None]
    single: str = ""
    """The end of a name that asks for one file."""


FORMS: Final[Mapping[str, _Form]] = {
    "okf": _Form(export_okf.write),
    "jsonl": _Form(export_jsonl.write, ".jsonl"),
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
        chosen = select(view, _many(type), _many(tag), since, conversations, archived)
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
    now = datetime.fromtimestamp(house.clock()).astimezone()
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


def _many(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
