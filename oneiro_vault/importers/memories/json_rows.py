"""Rows of other memory tools' JSON: a list, or lists under the keys of one object, as a stream."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final

from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.archive import UNTOUCHED, Archive
from oneiro_vault.importers.elements import Damaged, elements
from oneiro_vault.importers.records import Skipped

Row = dict[str, Any]
_LOOKED_AT: Final = 20
_MOST_FILES: Final = 200


@dataclass(frozen=True)
class Place:
    """Where a row stands, for a message."""

    name: str
    index: int

    def __str__(self) -> str:
        return f"{self.name}, record {self.index + 1:,}"


def rows(
    archive: Archive, name: str, keys: Collection[str] = ()
) -> Iterator[tuple[Place, Row] | Skipped]:
    """The objects of one list of a file; nothing where there is no such list. Raises InvalidInput
    for a file that is cut, after what came before."""
    with archive.open(name) as stream:
        try:
            for index, one in enumerate(elements(stream, keys=keys)):
                place = Place(name, index)
                if isinstance(one, dict):
                    yield place, one
                elif isinstance(one, Damaged):
                    yield Skipped(str(place), one.why)
                else:
                    yield Skipped(str(place), "it is no record, but something else")
        except InvalidInput as error:
            if error.kept != UNTOUCHED:  # it is a list, and it was cut
                raise InvalidInput(f"{name}: {error}", hint=error.hint) from error


def first(archive: Archive, name: str, keys: Collection[str] = ()) -> list[Row]:
    """The first of them, [] for what holds none."""
    found: list[Row] = []
    try:
        for one in rows(archive, name, keys):
            if not isinstance(one, Skipped):
                found.append(one[1])
            if len(found) >= _LOOKED_AT:
                break
    except InvalidInput:
        pass
    return found


def files(archive: Archive) -> list[str]:
    """The JSON files of an archive, as many as any store has."""
    return [name for name in archive.names() if name.lower().endswith(".json")][:_MOST_FILES]


def none_known(archive: Archive, what: str) -> InvalidInput:
    """The error for a file with records that are none of the format."""
    return InvalidInput(
        f"none of the records in {archive.name} is {what}",
        kept=UNTOUCHED,
        hint="It may be another tool's export, or a later version's: `oneiro import --help` names "
        "what is read.",
    )
