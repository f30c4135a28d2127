"""The pictures that imported notes show: taken in as any picture is, without what they say of place
and camera, and shown where they lie now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from oneiro_vault.core import picture
from oneiro_vault.errors import OneiroError
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.records import Note, Skipped
from oneiro_vault.operations.exchange.episodes import File
from oneiro_vault.operations.remember import images
from oneiro_vault.operations.runtime import House


@dataclass
class Pictures:
    """Those of one archive; `refused`: those that were looked at last and cannot be stored."""

    house: House
    archive: Archive
    refused: list[Skipped] = field(default_factory=list)
    _places: dict[str, str] = field(default_factory=dict)

    def shown(self, note: Note) -> Note:
        """The note, showing its pictures where they are to lie in the vault."""
        if not note.pictures:
            return note
        text, position, parts = note.text, 0, []
        for start, end, target in picture.embedded(text):
            if place := self._place(note.pictures.get(target, "")):
                parts += [text[position:start], _link(text, start, place, note.path)]
                position = end
        return replace(note, text="".join([*parts, text[position:]]))

    def files(self, note: Note) -> Iterator[File]:
        """Those of a note that are not in the vault yet, to be written with it."""
        for name in dict.fromkeys(note.pictures.values()):
            place = self._place(name)
            if place and self.house.vault.files.content(place) is None:
                yield File(place, place, {}, "", None, self._stored(name).data)

    def _place(self, name: str) -> str:
        """Where it is to lie, "" for what is no picture that can be stored."""
        if name and name not in self._places:
            try:
                self._places[name] = self._stored(name).path
            except OneiroError as error:
                self._places[name] = ""
                self.refused.append(Skipped(name, str(error)))
        return self._places.get(name, "")

    def _stored(self, name: str) -> images.Stored:
        data = self.archive.read(name, self.house.settings["images.bytes"])
        return images.stored(self.house, data)


def _link(text: str, start: int, place: str, note: str) -> str:
    """Obsidian finds a file by its place in the vault, Markdown from the note's own."""
    if text.startswith("[[", start - 2):
        return place
    return picture.relative(place, note)
