"""Rows of other memory tools' JSON: a list, or lists under the keys of one object, as a stream."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final

from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.archive import UNTOUCHED, Archive
from oneiro_vault.importers.elements import Damaged, elements
from oneiro_vault.importers.records import Skipped

Row = dict[str, Any]
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


def files(archive: Archive) -> list[str]:
    """The JSON files of an archive, as many as any store has."""
    return [name for name in archive.names() if name.lower().endswith(".json")][:_MOST_FILES]


class Kind:
    """The rows of an archive that are of one kind; `keys`: of the lists they are in, `what`: what
    they should be, for a message; `seen`: how many rows there were so far."""

    def __init__(
        self, archive: Archive, keys: Collection[str], fits: Callable[[Row], bool], what: str
    ) -> None:
        self._archive, self._keys, self._fits, self._what = archive, keys, fits, what
        self.seen = 0
        self._fitting = 0

    def rows(self, name: str) -> Iterator[tuple[Place, Row] | Skipped]:
        """Of one file. Raises InvalidInput for one that is cut, after what came before."""
        for found in rows(self._archive, name, self._keys):
            self.seen += 1
            if isinstance(found, Skipped):
                yield found
            elif self._fits(found[1]):
                self._fitting += 1
                yield found
            else:
                yield Skipped(str(found[0]), f"it is not {self._what}")

    def refuse_none(self) -> None:
        """Raise InvalidInput where there were rows, and none of the kind."""
        if self.seen and not self._fitting:
            raise InvalidInput(
                f"none of the records in {self._archive.name} is {self._what}",
                kept=UNTOUCHED,
                hint="It may be another tool's export, or a later version's: "
                "`oneiro import --help` names what is read.",
            )
